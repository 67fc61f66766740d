"""Gradient transformations in optax's shape, the building blocks of gradient methods (`methods.py`)."""

# pyright: strict, reportPrivateUsage=false
# the leaves of structures, which may be anything, have no types of their own
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .._compile.arguments import require_callable
from .._core.argument_types import ArrayLike
from .._core.public import public
from .._core.structure import difference, flatten, passes_through, unflatten
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.complex_parts import real
from ..ops.creation import zeros_like
from ..ops.elementwise import greater, less, sign, sqrt
from ..ops.indexing import where
from ..ops.piecewise import maximum, minimum
from ._pairs import (
    GradientTransformation,
    Tree,
    adopted,
    each,
    known,
    like,
    no_steps,
    norm_of,
    require_params,
    squared,
    stateless,
    transformation,
    zeros_of,
)
from ._picklable import remembered
from .schedules import Schedule


def _apply_updates(params: Tree, updates: Tree) -> Tree:
    leaves, spec = flatten(params)
    found, other = flatten(updates, 0, spec)
    if other != spec:
        raise ValueError(at_user_line(f"apply_updates: {difference(spec, other, 'params')}"))
    added = [p if u is None or passes_through(p) else p + like(u, p) for p, u in zip(leaves, found, strict=True)]
    return unflatten(spec, added)


_applied = adopted(_apply_updates, "apply_updates")


@public
def apply_updates(params: Tree, updates: Tree) -> Tree:
    """The parameters after a step: each with its update added.

    Args:
        params: a nested structure of arrays.
        updates: of the same structure; None leaves a parameter as it is.

    Returns:
        New parameters, in their dtypes and kind of array.

    Raises:
        ValueError: the structures differ; the message shows both.

    Example:
        >>> import wengert as wg
        >>> wg.optimize.apply_updates({"w": 1.0}, {"w": -0.25})
        {'w': np.float64(0.75)}
    """
    return _applied(params, updates)


@public
def global_norm(tree: Tree) -> Any:
    """The square root of the sum of the squares of all numbers in a structure.

    Args:
        tree: a nested structure of arrays.

    Returns:
        A number, in the structure's kind of array.

    Example:
        >>> import wengert as wg
        >>> float(wg.optimize.global_norm({"a": 3.0, "b": [4.0, 0.0]}))
        5.0
    """
    return adopted(norm_of, "global_norm")(tree)


@public
@remembered(known)
def chain(*transformations: Any) -> GradientTransformation:
    """Transformations one after the other, each on what the one before gives.

    Args:
        *transformations: pairs of `init` and `update`, ours, optax's or one's own.

    Returns:
        A transformation whose state is the tuple of theirs.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.chain(wg.optimize.clip_by_global_norm(1.0), wg.optimize.sgd(0.5))
        >>> opt.update({"w": 4.0}, opt.init({"w": 0.0}))[0]
        {'w': np.float64(-0.5)}
    """
    for pair in transformations:
        if not is_pair(pair):
            raise TypeError(
                at_user_line(f"chain: wanted transformations, pairs (init, update), got {type(pair).__name__}")
            )

    def init(params: Tree) -> Tree:
        return (*[pair[0](params) for pair in transformations],)

    def update(gradients: Tree, state: Tree, params: Tree, **extra: Any) -> tuple[Tree, Tree]:
        if type(state) is not tuple or len(state) != len(transformations):
            raise ValueError(at_user_line(
                f"chain.update: wanted the state of {len(transformations)} transformations as of init, got "
                f"{state!r:.60}"
            ))  # fmt: skip
        states: list[Any] = []
        for pair, its in zip(transformations, state, strict=True):
            known = extra if extra and _takes_any_name(pair[1]) else {}
            gradients, new = pair[1](gradients, its, params, **known)
            states.append(new)
        return gradients, (*states,)

    return transformation(init, update, "chain")


def _takes_any_name(update: Callable[..., Any]) -> bool:
    """Whether an update takes arguments by any name, as those of line searches are given to all of a chain."""
    parameters = inspect.signature(update).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def is_pair(value: ArrayLike) -> bool:
    """Whether something is a pair of functions: a transformation, ours or optax's."""
    return isinstance(value, tuple) and [callable(x) for x in value] == [True, True]


@public
@remembered(known)
def identity() -> GradientTransformation:
    """Gives the gradients as they are.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.identity()
        >>> opt.update(1.0, opt.init(0.0))[0]
        np.float64(1.0)
    """
    return stateless(lambda gradients, params: gradients, "identity")


@public
@remembered(known)
def scale(step_size: Any) -> GradientTransformation:
    """Multiplies by a number.

    Args:
        step_size: the factor.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale(-0.1)
        >>> opt.update(1.0, opt.init(0.0))[0]
        np.float64(-0.1)
    """
    return stateless(lambda gradients, params: each(lambda g: g * like(step_size, g), gradients), "scale")


class ScaleByScheduleState(NamedTuple):
    """How many steps were done."""

    count: Any


@public
@remembered(known)
def scale_by_schedule(step_size_fn: Schedule) -> GradientTransformation:
    """Multiplies by a function of the number of steps done.

    Args:
        step_size_fn: the schedule.

    Returns:
        A transformation, the pair `(init, update)`.

    Raises:
        TypeError: it is not callable.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_schedule(wg.optimize.linear(1.0, 0.0, 10))
        >>> opt.update(2.0, opt.init(0.0))[0]
        np.float64(2.0)
    """
    require_callable(step_size_fn, "scale_by_schedule")

    def update(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        size = step_size_fn(state.count)
        scaled = each(lambda g: g * like(size, g), gradients)
        return scaled, ScaleByScheduleState(state.count + 1)

    return transformation(lambda params: ScaleByScheduleState(no_steps()), update, "scale_by_schedule")


@public
@remembered(known)
def scale_by_learning_rate(learning_rate: Any, *, flip_sign: bool = True) -> GradientTransformation:
    """Multiplies by minus a learning rate, which may be a number, an array without axes or a schedule.

    Args:
        learning_rate: the rate, or a function of the number of steps done.
        flip_sign: downhill.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_learning_rate(0.5)
        >>> opt.update(1.0, opt.init(0.0))[0]
        np.float64(-0.5)
    """
    factor = -1.0 if flip_sign else 1.0
    if callable(learning_rate):
        schedule: Schedule = learning_rate
        return scale_by_schedule(lambda count: factor * schedule(count))
    return scale(factor * learning_rate)


class TraceState(NamedTuple):
    """The sum of past gradients, each weighted less."""

    trace: Any


@public
@remembered(known)
def trace(decay: object, nesterov: bool = False) -> GradientTransformation:
    """The sum of past gradients, of which each step forgets a part (momentum).

    Args:
        decay: what is kept of it at each step.
        nesterov: looks a step ahead (Nesterov 1983).

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.trace(0.9)
        >>> opt.update(1.0, opt.init(0.0))[0]
        np.float64(1.0)
    """

    def update(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        new = each(lambda g, t: g + decay * t, gradients, state.trace)
        return (each(lambda g, t: g + decay * t, gradients, new) if nesterov else new), TraceState(
            _kept_where_none(new, state.trace)
        )

    return transformation(lambda params: TraceState(zeros_of(params)), update, "trace")


def _kept_where_none(new: Tree, old: Tree) -> Tree:
    """Of a parameter without a gradient the state stays."""
    leaves, spec = flatten(old)
    return unflatten(spec, [o if n is None else n for n, o in zip(flatten(new, 0, spec)[0], leaves, strict=True)])


class ScaleByAdamState(NamedTuple):
    """How many steps were done, and moving averages of gradients and of their squares."""

    count: Any
    mu: Any
    nu: Any


@public
@remembered(known)
def scale_by_adam(
    b1: Any = 0.9, b2: ArrayLike = 0.999, eps: ArrayLike = 1e-8, eps_root: ArrayLike = 0.0, *, nesterov: bool = False
) -> GradientTransformation:
    """Divides a moving average of gradients by the root of one of their squares (Kingma and Ba 2015).

    Args:
        b1: what a step keeps of the average.
        b2: what a step keeps of the average of squares.
        eps: added to the root.
        eps_root: added under it, so that the step can be differentiated where squares are 0.
        nesterov: looks a step ahead (Dozat 2016).

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_adam()
        >>> opt.update(4.0, opt.init(0.0))[0].round(6)
        np.float64(1.0)
    """

    def update(gradients: Tree, state: Any, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        count = state.count + 1
        mu = _averaged(gradients, state.mu, b1)
        nu = _averaged(each(squared, gradients), state.nu, b2)
        if nesterov:
            ahead, now = _unbiased(mu, b1, count + 1), _unbiased(gradients, b1, count)
            first = each(lambda a, g: b1 * a + (1.0 - b1) * g, ahead, now)
        else:
            first = _unbiased(mu, b1, count)
        second = _unbiased(nu, b2, count)
        steps = each(lambda m, n: m / (sqrt(n + eps_root) + eps), first, second)
        return _none_where(gradients, steps), ScaleByAdamState(count, mu, nu)

    def init(params: Tree) -> Tree:
        return ScaleByAdamState(no_steps(), zeros_of(params), each(lambda p: zeros_like(real(p)), params))

    return transformation(init, update, "scale_by_adam")


def _averaged(values: Tree, average: Tree, decay: Any) -> Tree:
    """A moving average with a new value; where there is none it stays."""
    new = each(lambda g, m: (1.0 - decay) * g + decay * m, values, average)
    return _kept_where_none(new, average)


def _unbiased(average: Tree, decay: ArrayLike, count: Tensor) -> Tree:
    """A moving average that began with zeros, without their share."""
    share = 1.0 - decay**count
    return each(lambda m: m / like(share, m), average)


def _none_where(gradients: Tree, steps: Tree) -> Tree:
    """No step where there is no gradient."""
    leaves, spec = flatten(gradients)
    return unflatten(spec, [None if g is None else s for g, s in zip(leaves, flatten(steps, 0, spec)[0], strict=True)])


class ScaleByRmsState(NamedTuple):
    """A moving average of the gradients' squares."""

    nu: Any


@public
@remembered(known)
def scale_by_rms(
    decay: object = 0.9, eps: ArrayLike = 1e-8, initial_scale: ArrayLike = 0.0, eps_in_sqrt: bool = True
) -> GradientTransformation:
    """Divides by the root of a moving average of the gradients' squares (Tieleman and Hinton 2012).

    Args:
        decay: what a step keeps of the average.
        eps: added to it (or to its root).
        initial_scale: the average at first.
        eps_in_sqrt: where `eps` is added.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_rms(0.0)
        >>> opt.update(4.0, opt.init(0.0))[0].round(6)
        np.float64(1.0)
    """

    def update(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        nu = _averaged(each(squared, gradients), state.nu, decay)
        steps = each(lambda g, n: g / _root(n, eps, eps_in_sqrt), gradients, nu)
        return steps, ScaleByRmsState(nu)

    return transformation(lambda params: ScaleByRmsState(_filled(params, initial_scale)), update, "scale_by_rms")


def _root(x: Tensor, eps: ArrayLike, is_inside: bool) -> Tensor:
    return sqrt(x + eps) if is_inside else sqrt(x) + eps


def _filled(params: Tree, value: ArrayLike) -> Tree:
    return each(lambda p: zeros_like(real(p)) + value, params)


class ScaleByStddevState(NamedTuple):
    """Moving averages of gradients and of their squares."""

    mu: Any
    nu: Any


@public
@remembered(known)
def scale_by_stddev(
    decay: object = 0.9, eps: ArrayLike = 1e-8, initial_scale: ArrayLike = 0.0, eps_in_sqrt: bool = True
) -> GradientTransformation:
    """Divides by the root of the gradients' moving variance (Graves 2013).

    Args:
        decay: what a step keeps of the averages.
        eps: added to the variance (or to its root).
        initial_scale: the average of squares at first.
        eps_in_sqrt: where `eps` is added.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_stddev(0.5)
        >>> opt.update(4.0, opt.init(0.0))[0].round(6)
        np.float64(2.0)
    """

    def update(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        mu = _averaged(gradients, state.mu, decay)
        nu = _averaged(each(squared, gradients), state.nu, decay)
        steps = each(lambda g, m, n: g / _root(n - squared(m), eps, eps_in_sqrt), gradients, mu, nu)
        return steps, ScaleByStddevState(mu, nu)

    def init(params: Tree) -> Tree:
        return ScaleByStddevState(zeros_of(params), _filled(params, initial_scale))

    return transformation(init, update, "scale_by_stddev")


class ScaleByRssState(NamedTuple):
    """The sum of the gradients' squares."""

    sum_of_squares: Any


@public
@remembered(known)
def scale_by_rss(initial_accumulator_value: Any = 0.1, eps: ArrayLike = 1e-7) -> GradientTransformation:
    """Divides by the root of the sum of all squares so far (Duchi, Hazan and Singer 2011).

    Args:
        initial_accumulator_value: the sum at first.
        eps: added to it.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_rss(0.0)
        >>> opt.update(4.0, opt.init(0.0))[0].round(6)
        np.float64(1.0)
    """

    def update(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        new = each(lambda g, s: squared(g) + s, gradients, state.sum_of_squares)
        steps = each(lambda g, s: where(greater(s, 0.0), g / sqrt(s + eps), 0.0 * g), gradients, new)
        return steps, ScaleByRssState(_kept_where_none(new, state.sum_of_squares))

    return transformation(
        lambda params: ScaleByRssState(_filled(params, initial_accumulator_value)), update, "scale_by_rss"
    )


class ScaleByLionState(NamedTuple):
    """A moving average of the gradients."""

    mu: Any


@public
@remembered(known)
def scale_by_lion(b1: Any = 0.9, b2: object = 0.99) -> GradientTransformation:
    """The sign of a mean of the gradient and a moving average of gradients (Chen and others 2023).

    Args:
        b1: the average's weight in that mean.
        b2: what a step keeps of the average.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_lion()
        >>> opt.update(-4.0, opt.init(0.0))[0]
        np.float64(-1.0)
    """

    def update(gradients: Tree, state: Any, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        steps = each(lambda g, m: sign((1.0 - b1) * g + b1 * m), gradients, state.mu)
        return steps, ScaleByLionState(_averaged(gradients, state.mu, b2))

    return transformation(lambda params: ScaleByLionState(zeros_of(params)), update, "scale_by_lion")


@public
@remembered(known)
def add_decayed_weights(weight_decay: ArrayLike = 0.0) -> GradientTransformation:
    """Adds a part of the parameters to their gradients.

    Args:
        weight_decay: which part.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.add_decayed_weights(0.5)
        >>> opt.update(1.0, opt.init(2.0), 2.0)[0]
        np.float64(2.0)
    """

    def update(gradients: Tree, params: Tree) -> Tree:
        require_params(params)
        return each(lambda g, p: g + like(weight_decay * p, g), gradients, params)

    return stateless(update, "add_decayed_weights")


@public
@remembered(known)
def clip(max_delta: Any) -> GradientTransformation:
    """Bounds each number.

    Args:
        max_delta: the largest magnitude.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.clip(1.0)
        >>> opt.update([-3.0, 0.5], opt.init([0.0, 0.0]))[0]
        array([-1. ,  0.5])
    """
    return stateless(
        lambda gradients, params: each(lambda g: minimum(maximum(g, -max_delta), max_delta), gradients), "clip"
    )


@public
@remembered(known)
def clip_by_global_norm(max_norm: object) -> GradientTransformation:
    """Scales gradients down where their common norm is too large.

    Args:
        max_norm: the largest norm.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.clip_by_global_norm(1.0)
        >>> opt.update([3.0, 4.0], opt.init([0.0, 0.0]))[0].round(6)
        array([0.6, 0.8])
    """

    def update(gradients: Tree, params: Tree) -> Tree:
        norm = norm_of(gradients)
        is_small = less(norm, max_norm)
        return each(lambda g: where(is_small, g, g / like(norm, real(g)) * max_norm), gradients)

    return stateless(update, "clip_by_global_norm")


@public
@remembered(known)
def clip_by_norm(max_norm: object) -> GradientTransformation:
    """Scales each array down whose own norm is too large.

    Args:
        max_norm: the largest norm of an array.

    Returns:
        A transformation, the pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.clip_by_norm(1.0)
        >>> opt.update({"a": [3.0, 4.0], "b": 0.5}, opt.init({"a": [0.0, 0.0], "b": 0.0}))[0]
        {'a': array([0.6, 0.8]), 'b': np.float64(0.5)}
    """

    def clipped(g: Tensor) -> Tensor:
        norm = norm_of(g)
        share = where(greater(norm, max_norm), max_norm / where(greater(norm, 0.0), norm, 1.0), 1.0)
        return g * like(share, g)

    return stateless(lambda gradients, params: each(clipped, gradients), "clip_by_norm")


__all__ = [
    "ScaleByAdamState", "ScaleByLionState", "ScaleByRmsState", "ScaleByRssState", "ScaleByScheduleState",
    "ScaleByStddevState", "TraceState", "add_decayed_weights", "apply_updates", "chain", "clip", "clip_by_global_norm",
    "clip_by_norm", "global_norm", "identity", "scale", "scale_by_adam", "scale_by_learning_rate", "scale_by_lion",
    "scale_by_rms", "scale_by_rss", "scale_by_schedule", "scale_by_stddev", "trace",
]  # fmt: skip
