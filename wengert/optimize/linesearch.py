"""`scale_by_zoom_linesearch`: how far to go along an update, in optax's shape.

The search of Nocedal and Wright (2006, algorithms 3.5 and 3.6) with the approximate decrease of Hager and Zhang (2006),
as optax has it. It is one loop, of which each round asks for one value and gradient: it runs in a `function`, too.
"""

# pyright: strict, reportPrivateUsage=false
# the leaves of structures, which may be anything, have no types of their own
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.constant import constant
from .._core.graph import quietly
from .._core.public import public
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..differentiation.functional import value_and_grad
from ..ops.complex_parts import conj, real
from ..ops.creation import zeros_like
from ..ops.elementwise import absolute, isinf, isnan, logical_not, sqrt
from ..ops.indexing import where
from ..ops.piecewise import maximum, minimum
from ..ops.promotion import cast
from ..ops.reductions import sum as total_of
from ..programs.control import while_loop
from ._pairs import GradientTransformation, Tree, each, known, numbers, sum_of, transformation
from ._picklable import remembered

_NAME = "scale_by_zoom_linesearch"


class ZoomLinesearchInfo(NamedTuple):
    """How the last search went: its rounds, and by how much it missed either criterion (0: it did not)."""

    num_linesearch_steps: Any
    decrease_error: Any
    curvature_error: Any


class ScaleByZoomLinesearchState(NamedTuple):
    """The step that was found, and the value and gradient there."""

    learning_rate: Any
    value: Any
    grad: Any
    info: ZoomLinesearchInfo


class _Point(NamedTuple):
    """A point on the line: how far it is, the value there, and the slope."""

    at: Any
    value: Any
    slope: Any


class _Search(NamedTuple):
    """A search under way."""

    count: Any
    has_interval: Any
    is_done: Any
    has_failed: Any
    info: ZoomLinesearchInfo
    here: _Point
    grad: Any
    low: _Point
    high: _Point
    third: _Point  # beside the two, for a cubic
    safe: _Point  # the best that decreases the value enough
    safe_grad: Any


class _Rules(NamedTuple):
    """The options, by optax's names."""

    max_linesearch_steps: Any
    max_learning_rate: Any
    tol: Any
    increase_factor: Any
    slope_rtol: Any
    curv_rtol: Any
    approx_dec_rtol: Any
    stepsize_precision: Any


@public
@remembered(known)
def scale_by_zoom_linesearch(
    max_linesearch_steps: object,
    max_learning_rate: object = None,
    tol: ArrayLike = 0.0,
    increase_factor: object = 2.0,
    slope_rtol: object = 1e-4,
    curv_rtol: object = 0.9,
    approx_dec_rtol: object = 1e-6,
    stepsize_precision: object = 1e-5,
    initial_guess_strategy: str = "keep",
) -> GradientTransformation:
    """Multiplies by a step that decreases the value enough and flattens the slope (the strong Wolfe conditions).

    Args:
        max_linesearch_steps: the most values that a search asks for.
        max_learning_rate: the largest step; None: any.
        tol: by how much the conditions may be missed.
        increase_factor: how the step grows until it goes too far.
        slope_rtol: the decrease wanted, as a part of what the slope promises.
        curv_rtol: the slope wanted, as a part of that at the start.
        approx_dec_rtol: below which change of the value, relative to it, the slope alone decides; None: never.
        stepsize_precision: an interval of steps so short is searched no further.
        initial_guess_strategy: "keep", the last step comes first, or "one".

    Returns:
        A transformation, the pair `(init, update)`. Its update needs the parameters and, by name, `value` and `grad` of
        the function there, and `value_fn`, from parameters to a number; other arguments by name go to that.

    Raises:
        ValueError: the strategy is another word.

    Example:
        >>> import numpy as np, wengert as wg
        >>> f = lambda x: wg.sum(x**2)
        >>> opt = wg.optimize.chain(wg.optimize.sgd(1.0), wg.optimize.scale_by_zoom_linesearch(15))
        >>> x = np.array([1.0, 2.0, 3.0])
        >>> value, grad = wg.value_and_grad(f)(x)
        >>> updates, state = opt.update(grad, opt.init(x), x, value=value, grad=grad, value_fn=f)
        >>> np.abs(x + updates).max()
        np.float64(0.0)
    """
    if initial_guess_strategy not in ("keep", "one"):
        raise ValueError(
            at_user_line(f"{_NAME}: initial_guess_strategy: wanted 'keep' or 'one', got {initial_guess_strategy!r}")
        )
    rules = _Rules(
        max_linesearch_steps, max_learning_rate, tol, increase_factor, slope_rtol, curv_rtol, approx_dec_rtol,
        stepsize_precision,
    )  # fmt: skip

    def init(params: Tree) -> Tree:
        one = _number(1.0, params)
        info = ZoomLinesearchInfo(constant(np.zeros((), np.int32)), one * np.inf, one * np.inf)
        return ScaleByZoomLinesearchState(one, one * np.inf, each(zeros_like, params), info)

    def update(
        updates: Tree, state: Tree, params: Tree, *, value: Any = None, grad: object = None, value_fn: Any = None,
        **extra: object,
    ) -> tuple[Tree, Tree]:  # fmt: skip
        given = {"params": params, "value": value, "grad": grad, "value_fn": value_fn}
        missing = [name for name, found in given.items() if found is None]
        if missing:
            raise ValueError(at_user_line(
                f"update needs {' and '.join(missing)}: opt.update(gradients, state, params, value=value, "
                f"grad=gradients, value_fn=f)"
            ))  # fmt: skip
        first = state.learning_rate if initial_guess_strategy == "keep" else _number(1.0, params)
        found = _searched(_Line(value_fn, extra, params, updates), value, grad, first, rules)
        steps = each(lambda u: u * _in(u, found.here.at), updates)
        return steps, ScaleByZoomLinesearchState(found.here.at, found.here.value, found.grad, found.info)

    return transformation(init, update, _NAME)


def _number(value: float, params: Tree) -> Tensor:
    """A number in the precision of the parameters."""
    found = numbers(params)
    return constant(np.asarray(value, real(found[0]).dtype if found else np.float64))


def _in(x: Tensor, number: Tensor) -> Tensor:
    return number if x.dtype.kind == "c" else cast(number, x.dtype)


class _Line:
    """A function along an update."""

    def __init__(self, value_fn: Callable[..., Any], extra: dict[str, Any], params: Tree, updates: Tree) -> None:
        self.both: Callable[[Tree], tuple[Any, Tree]] = value_and_grad(lambda params: value_fn(params, **extra))
        self.params, self.updates = params, updates

    def slope(self, grad: Tree) -> Tensor:
        return sum_of([*map(total_of, numbers(each(lambda g, u: real(conj(g) * u), grad, self.updates)))])

    def at(self, size: Tensor) -> tuple[_Point, Tree]:
        """The point at a distance, and the gradient there."""
        value, grad = self.both(each(lambda p, u: p + u * _in(u, size), self.params, self.updates))
        return _Point(size, cast(value, size.dtype), cast(self.slope(grad), size.dtype)), grad


def _searched(line: _Line, value: Tensor, grad: Tree, first: Tensor, rules: _Rules) -> _Search:
    zero = 0.0 * first
    start = _Point(zero, cast(value, first.dtype), cast(line.slope(grad), first.dtype))
    info = ZoomLinesearchInfo(constant(np.zeros((), np.int32)), zero + np.inf, zero + np.inf)
    no = constant(np.zeros((), bool))
    begun = _Search(info[0], no, no, no, info, start, grad, start, start, start, start, grad)

    def goes_on(search: _Search) -> Tensor:
        return logical_not(search.is_done | search.has_failed)

    def step(search: _Search) -> list[_Search]:
        return [_one_round(search, line, start, first, rules)]

    (found,) = while_loop(goes_on, step, [begun])
    return found


def _one_round(search: _Search, line: _Line, start: _Point, first: Tensor, rules: _Rules) -> _Search:
    """One value more, for an interval or within it."""
    larger = where(search.count < 1, first, rules.increase_factor * search.here.at)
    is_largest = constant(np.zeros((), bool))
    if rules.max_learning_rate is not None:
        is_largest = larger >= rules.max_learning_rate
        larger = minimum(larger, rules.max_learning_rate)
    here, grad = line.at(where(search.has_interval, _between(search), larger))
    decrease, curvature = _missed(here, start, rules)
    error = maximum(decrease, curvature)
    info = ZoomLinesearchInfo(search.count + 1, decrease, curvature)
    fits = error <= rules.tol

    is_safe = (decrease <= rules.tol) & (logical_not(search.has_interval) | (here.value < search.safe.value))
    safe, safe_grad = _chosen(is_safe, (here, grad), (search.safe, search.safe_grad))
    common = (search, here, decrease)
    low, high, third, has_interval = _chosen(search.has_interval, _narrowed(*common), _opened(*common, fits))
    is_short = absolute(search.high.at - search.low.at) <= rules.stepsize_precision
    is_last = info.num_linesearch_steps >= rules.max_linesearch_steps
    is_done = fits | (logical_not(search.has_interval | has_interval) & is_largest)
    has_failed = (is_last | (search.has_interval & is_short & (safe.at > 0.0))) & logical_not(is_done)
    takes_safe = has_failed & ((safe.at > 0.0) | isinf(decrease))
    here, grad = _chosen(takes_safe, (safe, safe_grad), (here, grad))
    return _Search(info[0], has_interval, is_done, has_failed, info, here, grad, low, high, third, safe, safe_grad)


def _opened(search: _Search, here: _Point, decrease: Tensor, fits: Tensor) -> tuple[_Point, _Point, _Point, Tensor]:
    """The ends of the interval between the last step and this one, and whether a good step is known to be in it."""
    is_high = (decrease > 0.0) | ((here.value >= search.here.value) & (search.count > 0))
    is_low = (here.slope >= 0.0) & logical_not(is_high)
    low, high = _chosen(is_low, (here, search.here), (search.here, here))
    return low, high, low, is_high | is_low | fits


def _narrowed(search: _Search, here: _Point, decrease: Tensor) -> tuple[_Point, _Point, _Point, Tensor]:
    """The ends of the interval when a point within it is known."""
    is_high = (decrease > 0.0) | (here.value >= search.low.value)
    turns = (here.slope * (search.high.at - search.low.at) >= 0.0) & logical_not(is_high)
    high = _chosen(is_high, here, _chosen(turns, search.low, search.high))
    low = _chosen(is_high, search.low, here)
    return low, high, _chosen(is_high | turns, search.high, search.low), search.has_interval


def _chosen(condition: Tensor, one: Tree, other: Tree) -> Any:
    return each(lambda x, y: where(condition, x, y), one, other)


def _missed(here: _Point, start: _Point, rules: _Rules) -> tuple[Tensor, Tensor]:
    """By how much a point decreases the value too little, and by how much its slope is too steep."""
    gain = here.value - start.value
    decrease = gain - rules.slope_rtol * here.at * start.slope
    if rules.approx_dec_rtol is not None:
        by_slope = here.slope - (2 * rules.slope_rtol - 1.0) * start.slope
        decrease = minimum(maximum(by_slope, gain - rules.approx_dec_rtol * absolute(start.value)), decrease)
    curvature = absolute(here.slope) - rules.curv_rtol * absolute(start.slope)
    found = [maximum(error, 0.0) for error in (decrease, curvature)]
    first, second = [where(isnan(error), np.inf, error) for error in found]
    return first, second


def _between(search: _Search) -> Tensor:
    """Where a cubic through what is known has its minimum, else where a parabola has, else the middle."""
    low, high, third = search.low, search.high, search.third
    left, right = minimum(low.at, high.at), maximum(low.at, high.at)
    length = right - left
    with quietly():  # where there is no minimum they are not finite
        cubic, parabola = _minimum_of_cubic(low, high, third), _minimum_of_parabola(low, high)
        found = (low.at + high.at) / 2.0
        for place, share in ((parabola, 0.1), (cubic, 0.2)):
            is_inside = (place > left + share * length) & (place < right - share * length)
            found = where(is_inside, place, found)
    return found


def _minimum_of_cubic(a: _Point, b: _Point, c: _Point) -> Tensor:
    x, y = b.at - a.at, c.at - a.at
    scale = (x * y) ** 2 * (x - y)
    f, g = b.value - a.value - a.slope * x, c.value - a.value - a.slope * y
    third, second = (y**2 * f - x**2 * g) / scale, (x**3 * g - y**3 * f) / scale
    return a.at + (sqrt(second * second - 3.0 * third * a.slope) - second) / (3.0 * third)


def _minimum_of_parabola(a: _Point, b: _Point) -> Tensor:
    x = b.at - a.at
    return a.at - a.slope / (2.0 * ((b.value - a.value - a.slope * x) / x**2))


__all__ = ["ScaleByZoomLinesearchState", "ZoomLinesearchInfo", "scale_by_zoom_linesearch"]
