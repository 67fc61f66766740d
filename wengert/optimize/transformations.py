"""Gradient transformations in optax's shape: pairs of `init` and `update`, the building blocks of gradient methods.

`update` runs on tensors, whatever kind of array comes: `_adopted` lets arguments in and hands results back in the
caller's kind. Floats keep their precision; the number of steps is an array, so that a `function` is traced once.
"""

# pyright: strict, reportPrivateUsage=false
# the leaves of structures, which may be anything, have no types of their own
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from .._compile.arguments import require_callable
from .._compile.bridge import bridged
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import caller_of
from .._core.constant import constant
from .._core.public import public
from .._core.structure import difference, flatten, passes_through, paths, unflatten
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.complex_parts import real
from ..ops.creation import zeros_like
from ..ops.elementwise import absolute, greater, less, sign, sqrt
from ..ops.indexing import where
from ..ops.joining import concatenate
from ..ops.piecewise import maximum, minimum
from ..ops.promotion import as_tensor
from ..ops.reductions import sum as total_of
from ..ops.shapes import expand_dims
from ._picklable import Made, remembered
from .schedules import Schedule

Tree = Any


class GradientTransformation(NamedTuple):
    """A pair of functions.

    `init(params)` gives the state before the first step. `update(gradients, state, params=None)` gives
    `(updates, state)`: what is to be added to the parameters, and the state for the next step.

    Example:
        >>> import wengert as wg
        >>> halve = wg.optimize.GradientTransformation(lambda p: (), lambda g, state, p=None: (0.5 * g, state))
        >>> wg.optimize.chain(halve, wg.optimize.sgd(1.0)).update(3.0, ((), ((), ())))[0]
        np.float64(-1.5)
    """

    init: Callable[[Tree], Tree]
    update: Callable[..., tuple[Tree, Tree]]


class _Known(Made, GradientTransformation):
    """A transformation that knows which call made it, and whose functions know it, too."""

    def remember(self, maker: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for part in (self, *self):
            Made.remember(cast("Made", part), maker, args, kwargs)

    # no call made what it gives
    def _replace(self, **kwargs: object) -> GradientTransformation:  # pyright: ignore[reportIncompatibleMethodOverride]
        return GradientTransformation(*self)._replace(**kwargs)


_Known.__name__ = _Known.__qualname__ = "GradientTransformation"


class _Part(Made):
    """A function of a transformation: processes get it as a part of what the same call makes there."""

    def __init__(self, function: Callable[..., Any], place: int) -> None:
        functools.update_wrapper(self, function)
        self._function, self._place = function, place

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        return self._function(*args, **kwargs)

    def __reduce__(self) -> Any:
        return _part, (super().__reduce__(), self._place)

    def __repr__(self) -> str:
        return f"<function {self._function.__name__}>"


def _part(whole: tuple[Callable[..., Any], Any], place: int) -> Any:
    make, call = whole
    return make(*call)[place]


def known(pair: GradientTransformation) -> GradientTransformation:
    return _Known(_Part(pair.init, 0), _Part(pair.update, 1))


class EmptyState(NamedTuple):
    """The state of a transformation that has none.

    Example:
        >>> import wengert as wg
        >>> wg.optimize.scale(2.0).init(1.0)
        EmptyState()
    """


# -- trees ------------------------------------------------------------------------------------------------------------


def _entered(tree: Tree) -> Tree:
    """A structure with tensors for its arrays and numbers; a list of numbers is one array, as it is to `grad`."""
    leaves, spec = flatten(tree)
    return unflatten(
        spec, [as_tensor(x, "optimize") if isinstance(x, list) or not passes_through(x) else x for x in leaves]
    )


def each(f: Callable[..., Any], tree: Tree, *rest: Tree) -> Tree:
    """f of the leaves in the same places; where one of them is None, the result is None."""
    leaves, spec = flatten(tree)
    columns: list[list[Any]] = [leaves]
    for other in rest:
        found, other_spec = flatten(other, 0, spec)
        if other_spec != spec:
            raise ValueError(at_user_line(
                f"{difference(spec, other_spec, 'params')}; gradients, parameters and what init made of these must "
                f"have one structure"
            ))  # fmt: skip
        columns.append(found)
    groups = [*zip(*columns, strict=True)]
    return unflatten(spec, [_of_group(f, spec, i, group) for i, group in enumerate(groups)])


def _of_group(f: Callable[..., Any], spec: Any, place: int, group: tuple[Any, ...]) -> Any:
    if any(x is None for x in group):
        return None
    if passes_through(group[0]):
        return group[0]
    shapes = {x.shape for x in group if x.shape != ()}
    if len(shapes) > 1:
        raise ValueError(at_user_line(
            f"shapes differ at {paths(spec, 'params')[place]}: {' and '.join(str(x.shape) for x in group)}"
        ))  # fmt: skip
    return f(*group)


def numbers(tree: Tree) -> list[Tensor]:
    """A structure's arrays, without what else is in it."""
    return [x for x in flatten(tree)[0] if not passes_through(x)]


def _zeros(params: Tree) -> Tree:
    return each(zeros_like, params)


def _squared(x: Tensor) -> Tensor:
    return real(x) ** 2 + (x - real(x)) * (real(x) - x) if dtypes.is_complex(x.dtype) else x * x


def _inner(a: Tree, b: Tree) -> Tensor:
    """The inner product of two structures, a number."""
    products = numbers(each(lambda x, y: total_of(x * y), a, b))
    return sum_of(products)


def sum_of(terms: list[Tensor]) -> Tensor:
    """The sum of tensors; of none a 0."""
    found = terms[0] if terms else constant(np.zeros(()))
    for term in terms[1:]:
        found = found + term
    return found


def _like(value: ArrayLike, x: Tensor) -> Any:
    """A number in x's precision, which it does not change."""
    return value.astype(x.dtype) if isinstance(value, Tensor) and value.dtype != x.dtype else value


# -- arguments and results --------------------------------------------------------------------------------------------


def _adopted(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """f on tensors as a function on arrays of any kind, with results in that kind."""

    def run(*args: Any, **kwargs: Any) -> Any:
        caller = caller_of((*args, *kwargs.values()))
        return caller.result(f(*map(_entered, args), **{key: _kept(x) for key, x in kwargs.items()}))

    run.__name__ = run.__qualname__ = name
    return bridged(run)


def _kept(value: ArrayLike) -> Any:
    return value if callable(value) else _entered(value)


def transformation(
    init: Callable[[Tree], Tree], update: Callable[[Tree, Tree, Tree], tuple[Tree, Tree]], name: str
) -> GradientTransformation:
    """A transformation of two functions of tensors.

    Args:
        init: the state for parameters.
        update: `update(gradients, state, params)`; params are None where the caller gives none.
        name: in error messages.
    """

    def with_params(gradients: Tree, state: Tree, params: Tree = None, **extra: object) -> tuple[Tree, Tree]:
        return update(gradients, state, params, **extra)

    return GradientTransformation(_adopted(init, f"{name}.init"), _adopted(with_params, f"{name}.update"))


def _stateless(update: Callable[[Tree, Tree], Tree], name: str) -> GradientTransformation:
    def of_state(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        return update(gradients, params), state

    return transformation(lambda params: EmptyState(), of_state, name)


def _count() -> Tensor:
    return constant(np.zeros((), np.int32))


def _require_params(params: Tree) -> None:
    if params is None:
        raise ValueError(at_user_line("update needs the parameters: opt.update(gradients, state, params)"))


# -- building blocks --------------------------------------------------------------------------------------------------


def _apply_updates(params: Tree, updates: Tree) -> Tree:
    leaves, spec = flatten(params)
    found, other = flatten(updates, 0, spec)
    if other != spec:
        raise ValueError(at_user_line(f"apply_updates: {difference(spec, other, 'params')}"))
    added = [p if u is None or passes_through(p) else p + _like(u, p) for p, u in zip(leaves, found, strict=True)]
    return unflatten(spec, added)


_applied = _adopted(_apply_updates, "apply_updates")


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
    return _adopted(_norm, "global_norm")(tree)


def _norm(tree: Tree) -> Tensor:
    return sqrt(real(sum_of([total_of(_squared(x)) for x in numbers(tree)])))


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
    return _stateless(lambda gradients, params: gradients, "identity")


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
    return _stateless(lambda gradients, params: each(lambda g: g * _like(step_size, g), gradients), "scale")


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
        scaled = each(lambda g: g * _like(size, g), gradients)
        return scaled, ScaleByScheduleState(state.count + 1)

    return transformation(lambda params: ScaleByScheduleState(_count()), update, "scale_by_schedule")


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

    return transformation(lambda params: TraceState(_zeros(params)), update, "trace")


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
        nu = _averaged(each(_squared, gradients), state.nu, b2)
        if nesterov:
            ahead, now = _unbiased(mu, b1, count + 1), _unbiased(gradients, b1, count)
            first = each(lambda a, g: b1 * a + (1.0 - b1) * g, ahead, now)
        else:
            first = _unbiased(mu, b1, count)
        second = _unbiased(nu, b2, count)
        steps = each(lambda m, n: m / (sqrt(n + eps_root) + eps), first, second)
        return _none_where(gradients, steps), ScaleByAdamState(count, mu, nu)

    def init(params: Tree) -> Tree:
        return ScaleByAdamState(_count(), _zeros(params), each(lambda p: zeros_like(real(p)), params))

    return transformation(init, update, "scale_by_adam")


def _averaged(values: Tree, average: Tree, decay: Any) -> Tree:
    """A moving average with a new value; where there is none it stays."""
    new = each(lambda g, m: (1.0 - decay) * g + decay * m, values, average)
    return _kept_where_none(new, average)


def _unbiased(average: Tree, decay: ArrayLike, count: Tensor) -> Tree:
    """A moving average that began with zeros, without their share."""
    share = 1.0 - decay**count
    return each(lambda m: m / _like(share, m), average)


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
        nu = _averaged(each(_squared, gradients), state.nu, decay)
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
        nu = _averaged(each(_squared, gradients), state.nu, decay)
        steps = each(lambda g, m, n: g / _root(n - _squared(m), eps, eps_in_sqrt), gradients, mu, nu)
        return steps, ScaleByStddevState(mu, nu)

    def init(params: Tree) -> Tree:
        return ScaleByStddevState(_zeros(params), _filled(params, initial_scale))

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
        new = each(lambda g, s: _squared(g) + s, gradients, state.sum_of_squares)
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

    return transformation(lambda params: ScaleByLionState(_zeros(params)), update, "scale_by_lion")


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
        _require_params(params)
        return each(lambda g, p: g + _like(weight_decay * p, g), gradients, params)

    return _stateless(update, "add_decayed_weights")


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
    return _stateless(
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
        norm = _norm(gradients)
        is_small = less(norm, max_norm)
        return each(lambda g: where(is_small, g, g / _like(norm, real(g)) * max_norm), gradients)

    return _stateless(update, "clip_by_global_norm")


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
        norm = _norm(g)
        share = where(greater(norm, max_norm), max_norm / where(greater(norm, 0.0), norm, 1.0), 1.0)
        return g * _like(share, g)

    return _stateless(lambda gradients, params: each(clipped, gradients), "clip_by_norm")


# -- a quasi-Newton method --------------------------------------------------------------------------------------------


class ScaleByLbfgsState(NamedTuple):
    """What the last steps say of the curvature, the newest first.

    `params` and `gradients` are those of the step before; `differences`, `slopes` and `weights` hold changes of the
    parameters, changes of the gradients, and the inverses of their products.
    """

    count: Any
    params: Any
    gradients: Any
    differences: Any
    slopes: Any
    weights: Any


@public
@remembered(known)
def scale_by_lbfgs(memory_size: int = 10, scale_init_precond: bool = True) -> GradientTransformation:
    """Multiplies by an approximation of the inverse Hessian from the last steps (Nocedal and Wright 2006).

    Args:
        memory_size: how many steps are remembered.
        scale_init_precond: starts from the identity times the last step's curvature; else from the identity.

    Returns:
        A transformation, the pair `(init, update)`.

    Raises:
        ValueError: `memory_size` is not positive.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_lbfgs()
        >>> opt.update(4.0, opt.init(1.0), 1.0)[0]
        np.float64(1.0)
    """
    if memory_size < 1:
        raise ValueError(at_user_line(f"scale_by_lbfgs: memory_size: wanted a positive number, got {memory_size!r}"))

    def init(params: Tree) -> Tree:
        stacked = each(lambda p: concatenate([expand_dims(zeros_like(p), 0)] * memory_size), params)
        found = numbers(params)
        weights = constant(np.zeros(memory_size, found[0].dtype if found else np.float64))
        return ScaleByLbfgsState(_count(), params, _zeros(params), stacked, stacked, weights)

    def update(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        _require_params(params)
        is_first = less(state.count, 1)
        difference = each(lambda p, q: where(is_first, 0.0 * p, p - q), params, state.params)
        slope = each(lambda g, h: where(is_first, 0.0 * g, g - h), gradients, state.gradients)
        product = _inner(slope, difference)
        known = absolute(product) > 0.0
        weight = where(known, 1.0 / where(known, product, 1.0), 0.0)
        differences, slopes = _remembered(difference, state.differences), _remembered(slope, state.slopes)
        weights = _pushed(weight, state.weights)
        size = _first_scale(gradients, slope, product, is_first) if scale_init_precond else 1.0
        steps = _preconditioned(gradients, differences, slopes, weights, size, memory_size)
        return steps, ScaleByLbfgsState(state.count + 1, params, gradients, differences, slopes, weights)

    return transformation(init, update, "scale_by_lbfgs")


def _remembered(new: Tree, memory: Tree) -> Tree:
    """The structure's memory with new entries: None where a parameter has no gradient."""
    found, spec = flatten(memory)
    pairs = zip(flatten(new, 0, spec)[0], found, strict=True)
    return unflatten(spec, [m if n is None or passes_through(m) else _pushed(n, m) for n, m in pairs])


def _pushed(new: Tensor, memory: Tensor) -> Tensor:
    """The memory with a new entry in front, and without the oldest."""
    return concatenate([expand_dims(_like(new, memory), 0), memory[:-1]])


def _first_scale(gradients: Tree, slope: Tree, product: Tensor, is_first: Tensor) -> Tensor:
    squares = _inner(slope, slope)
    known = squares > 0.0
    later = where(known, product / where(known, squares, 1.0), 1.0)
    norm = _norm(gradients)
    return where(is_first, minimum(1.0, 1.0 / where(norm > 0.0, norm, 1.0)), later)


def _preconditioned(gradients: Tree, differences: Tree, slopes: Tree, weights: Tensor, size: Any, memory: int) -> Tree:
    def entry(tree: Tree, i: int) -> Tree:
        return each(lambda x: x[i], tree)

    found, shares = gradients, [weights[0]] * memory
    for i in range(memory):
        shares[i] = share = weights[i] * _inner(entry(differences, i), found)
        found = each(lambda g, s, a=share: g - _like(a, g) * s, found, entry(slopes, i))
    found = each(lambda g: g * _like(size, g), found)
    for i in reversed(range(memory)):
        rest = shares[i] - weights[i] * _inner(entry(slopes, i), found)
        found = each(lambda g, d, b=rest: g + _like(b, g) * d, found, entry(differences, i))
    return found


__all__ = [
    "EmptyState", "GradientTransformation", "ScaleByAdamState", "ScaleByLbfgsState", "ScaleByLionState",
    "ScaleByRmsState", "ScaleByRssState", "ScaleByScheduleState", "ScaleByStddevState", "TraceState",
    "add_decayed_weights", "apply_updates", "chain", "clip", "clip_by_global_norm", "clip_by_norm", "each",
    "global_norm", "identity", "numbers", "scale", "scale_by_adam", "scale_by_lbfgs", "scale_by_learning_rate",
    "scale_by_lion", "scale_by_rms", "scale_by_rss", "scale_by_schedule", "scale_by_stddev", "sum_of", "trace",
    "transformation",
]  # fmt: skip
