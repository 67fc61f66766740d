"""Gradient methods, chained of the building blocks in `transformations.py`, with optax's names and defaults.

Each gives a pair: `opt.init(params) -> state` and `opt.update(gradients, state, params=None) -> (updates, state)`. A
learning rate is a number, an array without axes, or a schedule. All of it runs in a `function` too, traced once.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.public import public
from .._core.user_line import at_user_line
from ._pairs import GradientTransformation, known
from ._picklable import remembered
from .linesearch import scale_by_zoom_linesearch
from .quasi_newton import scale_by_lbfgs
from .transformations import (
    add_decayed_weights,
    chain,
    identity,
    scale_by_adam,
    scale_by_learning_rate,
    scale_by_lion,
    scale_by_rms,
    scale_by_rss,
    scale_by_stddev,
    trace,
)

__all__ = ["adagrad", "adam", "adamw", "lbfgs", "lion", "momentum", "rmsprop", "sgd"]


@public
def sgd(
    learning_rate: ArrayLike | Callable[..., Any], momentum: ArrayLike | None = None, nesterov: bool = False
) -> GradientTransformation:
    """Steps down the gradient: stochastic gradient descent, with momentum or not.

    Args:
        learning_rate: the size of a step, or a schedule.
        momentum: what is kept of the sum of past gradients at each step; None: no momentum.
        nesterov: looks a step ahead.

    Returns:
        The pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.sgd(0.1)
        >>> opt.update(2.0, opt.init(1.0))[0]
        np.float64(-0.2)
    """
    first = identity() if momentum is None else trace(momentum, nesterov)
    return chain(first, scale_by_learning_rate(learning_rate))


@public
def momentum(
    learning_rate: ArrayLike | Callable[..., Any], momentum: ArrayLike = 0.9, nesterov: bool = False
) -> GradientTransformation:
    """`sgd` with momentum (Polyak 1964).

    Args:
        learning_rate: the size of a step, or a schedule.
        momentum: what is kept of the sum of past gradients at each step.
        nesterov: looks a step ahead.

    Returns:
        The pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.momentum(0.1)
        >>> opt.update(2.0, opt.init(1.0))[0]
        np.float64(-0.2)
    """
    return sgd(learning_rate, momentum, nesterov)


@public
def adam(
    learning_rate: ArrayLike | Callable[..., Any],
    b1: ArrayLike = 0.9,
    b2: ArrayLike = 0.999,
    eps: ArrayLike = 1e-8,
    eps_root: ArrayLike = 0.0,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Adam (Kingma and Ba 2015): steps of about the learning rate in each parameter.

    Args:
        learning_rate: the size of a step, or a schedule.
        b1: what a step keeps of the moving average of gradients.
        b2: what a step keeps of that of their squares.
        eps: added to the root of the latter.
        eps_root: added under the root.
        nesterov: looks a step ahead (Dozat 2016).

    Returns:
        The pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.adam(0.1)
        >>> opt.update(2.0, opt.init(1.0))[0].round(6)
        np.float64(-0.1)
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov), scale_by_learning_rate(learning_rate))


@public
def adamw(
    learning_rate: ArrayLike | Callable[..., Any],
    b1: ArrayLike = 0.9,
    b2: ArrayLike = 0.999,
    eps: ArrayLike = 1e-8,
    eps_root: ArrayLike = 0.0,
    weight_decay: ArrayLike = 1e-4,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Adam with decay of the weights beside the gradients' statistics (Loshchilov and Hutter 2019).

    Args:
        learning_rate, b1, b2, eps, eps_root, nesterov: as for `adam`.
        weight_decay: times the learning rate, which part of a parameter a step takes away.

    Returns:
        The pair `(init, update)`; `update` needs the parameters.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.adamw(0.1, weight_decay=0.5)
        >>> opt.update(2.0, opt.init(1.0), 1.0)[0].round(6)
        np.float64(-0.15)
    """
    first = scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov)
    return chain(first, add_decayed_weights(weight_decay), scale_by_learning_rate(learning_rate))


@public
def rmsprop(
    learning_rate: ArrayLike | Callable[..., Any],
    decay: ArrayLike = 0.9,
    eps: ArrayLike = 1e-8,
    initial_scale: ArrayLike = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: ArrayLike | None = None,
    nesterov: bool = False,
) -> GradientTransformation:
    """RMSProp (Tieleman and Hinton 2012): gradients divided by the root of a moving average of their squares.

    Args:
        learning_rate: the size of a step, or a schedule.
        decay: what a step keeps of the average.
        eps: added to it (or to its root).
        initial_scale: the average at first.
        eps_in_sqrt: where `eps` is added; PyTorch adds it to the root.
        centered: the variance in place of the mean of squares.
        momentum: as for `sgd`.
        nesterov: looks a step ahead.

    Returns:
        The pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.rmsprop(0.1, decay=0.0)
        >>> opt.update(2.0, opt.init(1.0))[0].round(6)
        np.float64(-0.1)
    """
    scaled = scale_by_stddev if centered else scale_by_rms
    last = identity() if momentum is None else trace(momentum, nesterov)
    return chain(scaled(decay, eps, initial_scale, eps_in_sqrt), scale_by_learning_rate(learning_rate), last)


@public
def adagrad(
    learning_rate: ArrayLike | Callable[..., Any], initial_accumulator_value: object = 0.1, eps: ArrayLike = 1e-7
) -> GradientTransformation:
    """AdaGrad (Duchi, Hazan and Singer 2011): gradients divided by the root of the sum of all their squares.

    Args:
        learning_rate: the size of a step, or a schedule.
        initial_accumulator_value: the sum at first.
        eps: added to it.

    Returns:
        The pair `(init, update)`.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.adagrad(0.1, 0.0)
        >>> opt.update(2.0, opt.init(1.0))[0].round(6)
        np.float64(-0.1)
    """
    return chain(scale_by_rss(initial_accumulator_value, eps), scale_by_learning_rate(learning_rate))


@public
def lion(
    learning_rate: ArrayLike | Callable[..., Any],
    b1: ArrayLike = 0.9,
    b2: ArrayLike = 0.99,
    weight_decay: ArrayLike = 1e-3,
) -> GradientTransformation:
    """Lion (Chen and others 2023): steps of the learning rate's size by signs alone.

    Args:
        learning_rate: the size of a step, or a schedule.
        b1: the moving average's weight beside the gradient.
        b2: what a step keeps of the average.
        weight_decay: times the learning rate, which part of a parameter a step takes away.

    Returns:
        The pair `(init, update)`; `update` needs the parameters.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.lion(0.1, weight_decay=0.0)
        >>> opt.update(2.0, opt.init(1.0), 1.0)[0]
        np.float64(-0.1)
    """
    return chain(scale_by_lion(b1, b2), add_decayed_weights(weight_decay), scale_by_learning_rate(learning_rate))


@public
def lbfgs(
    learning_rate: ArrayLike | Callable[..., Any] = 1.0,
    memory_size: int = 10,
    scale_init_precond: bool = True,
    linesearch: object = None,
) -> GradientTransformation:
    """L-BFGS (Liu and Nocedal 1989), for gradients without noise, with a search along each step.

    Args:
        learning_rate: the size of a step in units of the quasi-Newton step, or a schedule.
        memory_size: how many steps are remembered.
        scale_init_precond: whether the last step's curvature scales the first guess of the inverse Hessian.
        linesearch: the transformation that searches; None: `scale_by_zoom_linesearch(20, initial_guess_strategy="one")`
            where `update` is given what that needs, and steps as they are where it is not.

    Returns:
        The pair `(init, update)`; `update` needs the parameters, and for a search by name `value` and `grad` of the
        function there and `value_fn`, from parameters to a number.

    Raises:
        ValueError: `memory_size` is not positive.

    Example:
        >>> import wengert as wg
        >>> f = lambda x: (x - 1.0) ** 2 + (x - 1.0) ** 4
        >>> opt, x = wg.optimize.lbfgs(), 3.0
        >>> state = opt.init(x)
        >>> for _ in range(12):
        ...     value, grad = wg.value_and_grad(f)(x)
        ...     updates, state = opt.update(grad, state, x, value=value, grad=grad, value_fn=f)
        ...     x = wg.optimize.apply_updates(x, updates)
        >>> abs(float(x) - 1.0) < 1e-3
        True
    """
    search = _searching_where_it_can() if linesearch is None else linesearch
    if memory_size < 1:
        raise ValueError(at_user_line(f"lbfgs: memory_size: wanted a positive number, got {memory_size!r}"))
    return chain(scale_by_lbfgs(memory_size, scale_init_precond), scale_by_learning_rate(learning_rate), search)


@remembered(known)
def _searching_where_it_can() -> GradientTransformation:
    search = scale_by_zoom_linesearch(20, initial_guess_strategy="one")

    def update(steps: Any, state: object, params: object = None, **given: object) -> tuple[Any, Any]:
        return search.update(steps, state, params, **given) if given else (steps, state)

    return GradientTransformation(search.init, update)
