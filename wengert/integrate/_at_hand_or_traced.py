"""`AtHand` and `InTrace`: what a solver step does differently with concrete values and with the symbols of a trace.

`_steps.py` writes a step once, by these methods and NumPy's functions, which are recorded when they are given tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, NamedTuple

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.engine import ndarray_of
from .._core.state import pausing, watchers
from .._core.tensor import Tensor
from .._prims.structural import full, regular, stop_gradient
from ..ops.promotion import as_tensor, stack_rows
from ..programs.control import cond, while_loop
from ..programs.graph import Function
from ._field import Field
from ._radau import Newton, followed_stages
from ._step_sizes import EPS

State = dict[str, Any]

_DTYPES = {bool: dtypes.bool_, int: dtypes.int64, float: dtypes.float64}
_TINY = 5e-323  # ten times the least positive number


class Problem(NamedTuple):
    """The initial value problem: right-hand side, initial value, interval and tolerances.

    Attributes:
        field: the right-hand side.
        y0: an ndarray, or a tensor if somebody follows the solution.
        t0, t1: the interval: numbers or tensors.
        direction: 1 or -1.
        rtol, atol: tolerances.
        longest: no step is longer.
        first: the length of the first step to try; None: the method chooses.
    """

    field: Field
    y0: Any
    t0: Any
    t1: Any
    direction: Any
    rtol: Any
    atol: Any
    longest: float = np.inf
    first: float | None = None


class AtHand:
    """Values at hand: conditions are known, and what is not followed is an ndarray or a float.

    Args:
        is_followed: whether somebody may follow the solution, which then holds tensors.
    """

    def __init__(self, is_followed: bool) -> None:
        self.is_followed = is_followed
        self._residual: Any = None
        self._compiled: tuple[Any, Any] | None = None

    def held(self, x: ArrayLike) -> Any:
        """The value as a constant for derivatives."""
        return ndarray_of(x._data) if type(x) is Tensor else x

    def number(self, x: ArrayLike) -> float:
        """The same for a single number."""
        return float(self.held(x))

    def constant(self, x: ArrayLike) -> Any:
        """A truth value, a count or a number that starts a state."""
        return x

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """One of two values that are there."""
        return x if condition else y

    def choose(self, condition: ArrayLike, f: Callable[[], Any], g: Callable[[], Any]) -> Any:
        """The result of one of two functions; the other one is not run."""
        return f() if condition else g()

    def repeated(self, test: Callable[[Any], Any], step: Callable[[Any], Any], start: Newton) -> Newton:
        """Steps as long as the test holds; nobody follows them."""
        found = start
        while test(found):
            found = step(found)
        return found

    def ends(self, failed: ArrayLike) -> bool:
        """Whether a step that is too short need not be tried."""
        return bool(failed)

    def least(self, t: Any, direction: float) -> float:
        """Steps shorter than this are lost in rounding."""
        return float(10 * np.abs(np.nextafter(t, direction * np.inf) - t))

    def blank(self, row: Any, count: int) -> Any:
        """Rows like this one that hold zeros, for a state before the first step."""
        return np.zeros((count, *row.shape))

    def stacked(self, rows: ArrayLike) -> Any:
        """The rows of a step as a state holds them."""
        return rows

    def regular(self, y: Any) -> Any:
        """The solution, for a step that is rejected where anything computed of it has an infinite slope."""
        return y

    def guarded(self, field: Field, y: ArrayLike) -> Field:
        """The right-hand side for a step from y that may be rejected."""
        return field

    def checked(self, field: object, error: float) -> Any:
        """The error of a step through the guarded right-hand side."""
        return error

    def unfollowed(self) -> AbstractContextManager[Any]:
        """In which what is computed from held values is a constant."""
        return pausing(watchers())

    def quietly(self) -> AbstractContextManager[Any]:
        """The same, without warnings."""
        both = ExitStack()
        both.enter_context(pausing(watchers()))
        both.enter_context(np.errstate(all="ignore"))
        return both

    def slope(self, field: Field, t: Any, y: Any) -> Any:
        """The right-hand side at held values."""
        return self._functions(field)[0](np.float64(t), y)

    def jacobian(self, field: Field, t: Any, y: Any) -> Any:
        """Its derivative with respect to y there."""
        return self._functions(field)[1](np.float64(t), y)

    def _functions(self, field: Field) -> tuple[Any, Any]:
        """The right-hand side and its derivative, compiled: they can be, for the derivative needs a trace anyway."""
        if self._compiled is None:
            self._compiled = (
                Function(field.evaluate, None, None, "fun"), Function(field.jacobian, None, None, "jacobian")
            )  # fmt: skip
        return self._compiled

    def followed_stages(self, z: ArrayLike, field: Field, t: ArrayLike, h: ArrayLike, y: ArrayLike) -> Any:
        """The stages of a step of Radau as a function of all that they depend on."""
        if not self.is_followed:
            return z
        if self._residual is None:
            self._residual = field.residual()
        return followed_stages(z, self._residual, t, h, y)

    def beginning(self, problem: Problem, f: Callable[..., Any]) -> Any:
        """The value at t0, where the slope is f."""
        return problem.y0

    def state(self, values: State) -> State:
        """A state in the form in which it goes from attempt to attempt."""
        return values


class InTrace(AtHand):
    """The same of symbols: both sides of a condition are computed unless they are branches."""

    def __init__(self) -> None:
        super().__init__(is_followed=True)

    def held(self, x: ArrayLike) -> Tensor:
        return stop_gradient(as_tensor(x))

    def number(self, x: ArrayLike) -> Tensor:
        return self.held(x)

    def constant(self, x: ArrayLike) -> Tensor:
        return full(shape=(), value=x, dtype=_DTYPES[type(x)])

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        return np.where(condition, x, y)

    def choose(self, condition: ArrayLike, f: Callable[[], Any], g: Callable[[], Any]) -> Any:
        return cond(as_tensor(condition), lambda: _tensors(f()), lambda: _tensors(g()))

    def repeated(self, test: Callable[[Any], Any], step: Callable[[Any], Any], start: Newton) -> Newton:
        def again(*newton: Tensor) -> Any:
            return test(Newton(*newton))

        def iteration(*newton: Tensor) -> list[Tensor]:
            return [*map(as_tensor, step(Newton(*newton)))]

        # nothing flows back through the iterations: a history would be for nothing
        found = while_loop(again, iteration, [*map(as_tensor, start)], checkpoint=1)
        return Newton(*map(self.held, found))

    def ends(self, failed: Tensor) -> bool:
        return False

    def least(self, t: Any, direction: ArrayLike) -> Any:
        return np.maximum(10 * EPS * np.abs(t), _TINY)

    def blank(self, row: Tensor, count: int) -> Tensor:
        return full(shape=(count, *row.shape), value=0.0, dtype=row.dtype)

    def stacked(self, rows: list[Any]) -> Tensor:
        return stack_rows(rows)

    def regular(self, y: Any) -> Tensor:
        return regular(as_tensor(y))  # infinite terms make no step

    def guarded(self, field: Field, y: Any) -> Guard:
        return Guard(field, y)

    def checked(self, field: Guard, error: Tensor) -> Any:
        return np.where(field.is_fine(), error, np.nan)

    def unfollowed(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def quietly(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def slope(self, field: Field, t: ArrayLike, y: ArrayLike) -> Any:
        return field(t, y)

    def jacobian(self, field: Field, t: Any, y: Any) -> Tensor:
        return self.held(field.jacobian(t, y))

    def followed_stages(self, z: ArrayLike, field: Field, t: ArrayLike, h: ArrayLike, y: ArrayLike) -> Any:
        return followed_stages(z, field.residual(), t, h, y)

    def beginning(self, problem: Problem, f: Callable[..., Any]) -> Tensor:
        # over an interval of no length nothing is added, but the derivatives with respect to its ends are
        p = problem
        return as_tensor(p.y0 + np.where(p.t0 == p.t1, p.t1 - p.t0, 0.0) * f)

    def state(self, values: State) -> State:
        return {name: as_tensor(x) for name, x in values.items()}


class Guard:
    """The right-hand side, evaluated at y instead of where a stage is not finite.

    The step is rejected then; but where cotangents that are zero meet infinities in the backward pass there would be
    NaNs.
    """

    def __init__(self, field: Callable[[Any, Any], Any], y: Tensor) -> None:
        self.field = field
        self.y = y
        self.flags: list[Any] = []

    def __call__(self, t: Tensor, y: Tensor) -> Any:
        finite = np.all(np.isfinite(stop_gradient(as_tensor(y))))
        self.flags.append(finite)
        return self.field(t, np.where(finite, y, self.y))

    def is_fine(self) -> Any:
        """Whether all stages were finite."""
        return np.all(stack_rows(self.flags))


def _tensors(value: ArrayLike) -> Any:
    return {name: as_tensor(x) for name, x in value.items()} if isinstance(value, dict) else as_tensor(value)
