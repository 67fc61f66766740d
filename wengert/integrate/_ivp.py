"""`solve_ivp`: integrates from an initial value.

Checks the arguments and makes the result. A step is in `_steps.py`; `_eager.py` runs steps where values are at hand,
`_traced.py` in a trace.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._compile.arguments import require_callable
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import Caller, caller_of
from .._core.engine import ndarray_of
from .._core.progress import following
from .._core.public import public
from .._core.state import STATE, watchers
from .._core.tensor import Tensor, Value
from .._core.user_line import at_user_line, warn
from ..ops.promotion import as_tensor, cast
from ..programs.control import checkpoint_policy
from ._at_hand_or_traced import AtHand, InTrace, Problem
from ._eager import Found, integrate
from ._field import Field, State
from ._radau import Radau
from ._runge_kutta import EXPLICIT
from ._step_sizes import EPS
from ._steps import attempts_of
from ._taylor import Taylor
from ._traced import integrate_traced

__all__ = ["OdeResult", "solve_ivp"]

METHODS = ("RK23", "RK45", "DOP853", "Radau", "taylor")
_REACHED = "The solver successfully reached the end of the integration interval."
_TOO_SMALL = "Required step size is less than spacing between numbers."


class OdeResult(dict[str, Any]):
    """What `solve_ivp` found; its fields are attributes, too.

    Attributes:
        t: the times, shape (m,).
        y: the solution at them: (n, m), or the structure of y0 with the times along a last axis.
        sol, t_events, y_events: None.
        nfev, njev, nlu: how often `fun` and its Jacobian were evaluated and matrices inverted.
        status: 0 if the end was reached, -1 if not.
        message: says so.
        success: whether the end was reached.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


@public
def solve_ivp(
    fun: Callable[..., Any], t_span: Sequence[Any], y0: ArrayLike, method: str = "RK45",
    t_eval: ArrayLike | None = None, args: Sequence[Any] = (), rtol: float = 1e-3, atol: float = 1e-6,
    checkpoint: str = "auto", max_step: float = np.inf, first_step: float | None = None, progress: object = None,
) -> OdeResult:  # fmt: skip
    """Solves dy/dt = fun(t, y) from y(t0) = y0, as `scipy.integrate.solve_ivp` does; differentiable.

    The solution may be differentiated with respect to `y0`, `args`, `t_span`, `t_eval` and whatever `fun` uses from
    outside, to any order. Derivatives are those of the steps that were taken: their lengths count as constants (what
    the error control does with them is noise, not part of the solution), but the first step begins at t0 and the last
    ends at t1. So they agree with the derivatives of the exact solution about as well as the tolerances ask of the
    solution; ask for smaller ones where that matters.

    Args:
        fun: `fun(t, y, *args)` gives dy/dt with the structure of y0. t is a tensor of no axes, y holds tensors.
        t_span: `(t0, t1)`; t1 may be less than t0.
        y0: a vector of n real or complex numbers, or a nested structure of arrays of any shape.
        method: "RK45" (order 5, the default), "RK23" (order 3) or "DOP853" (order 8), all explicit, or "Radau" (order
            5, implicit), for stiff problems; that one is for real numbers, and `fun` must be traceable. "taylor" takes
            the series of the solution, to the order that `rtol` asks for (16 for 1e-9), in long steps: for small
            tolerances and a `fun` that is smooth, best inside a `function`. It counts two evaluations a step, one of
            them of the series.
        t_eval: the times at which the solution is wanted, a vector within `t_span` and in its order; it is computed by
            the interpolant of the method. None: the solution at every step; in a trace, where their number is not
            known, at t0 and t1.
        args: more arguments of `fun`: arrays, numbers, nested structures, anything.
        rtol: the error tolerated in a step, relative to y.
        atol: the error tolerated beside that: a number or one for each of the n numbers.
        checkpoint: what the reverse pass of a trace keeps, as for `while_loop`. Outside a trace all that the steps
            computed is kept; put the call into a `function` where that is too much.
        max_step: no step is longer.
        first_step: the length of the first step to try; None: the method chooses.
        progress: True shows how far the steps have come, with tqdm where that is installed; a function is called after
            each step with a `Progress(what, done, total, note)`, times from t0. In a trace there are no steps yet.

    Returns:
        An `OdeResult` with SciPy's fields: `t`, `y`, `nfev`, `njev`, `nlu`, `status`, `message`, `success`; `sol`,
        `t_events` and `y_events` are None. If steps become too short (status -1), t and y end where they did; in a
        trace, y is NaN from there on, and counts, `status` and `success` are tensors.

    Raises:
        TypeError: `fun` is not callable or returns another structure than y0's; `args` cannot be unpacked; `progress`
            is neither True nor a function.
        ValueError: an unknown method; y0 is not a vector of finite numbers; `t_eval` is not sorted or not within
            `t_span`; `atol` is negative or of a wrong shape; an unknown `checkpoint`; `max_step` or `first_step` is
            not positive.

    At kinks of `fun` derivatives are those of its ops.

    Example:
        >>> import numpy as np, wengert as wg
        >>> decay = lambda t, y, rate: -rate * y
        >>> sol = wg.integrate.solve_ivp(decay, (0, 1), np.array([2.0]), args=(0.5,), rtol=1e-8)
        >>> sol.success, np.round(sol.y[0, -1], 5)
        (True, np.float64(1.21306))
        >>> end = lambda rate: wg.integrate.solve_ivp(decay, (0, 1), np.array([2.0]), args=(rate,), rtol=1e-8).y[0, -1]
        >>> np.round(wg.grad(end)(0.5), 5)
        np.float64(-1.21306)
    """
    require_callable(fun, "solve_ivp")
    if method not in METHODS:
        raise ValueError(at_user_line(f"`method` must be one of {METHODS}, got {method!r}."))
    state = State(y0)
    if method == "Radau" and dtypes.is_complex(state.dtype):
        raise ValueError(
            at_user_line("`y0` is complex, but the chosen solver does not support integration in a complex domain.")
        )
    try:
        field = Field(fun, state, [*args])
    except TypeError:
        raise TypeError(
            at_user_line(f"Supplied 'args' cannot be unpacked. Please supply `args` as a tuple (e.g. `args=({args},)`)")
        ) from None
    t0, t1 = (_time(t) for t in t_span)
    wanted = None if t_eval is None else _times(t_eval, t0, t1)
    tolerances = (*_tolerances(rtol, atol, state), *_lengths(max_step, first_step))
    caller = caller_of((y0, args, t_span, t_eval))
    policy = checkpoint_policy(checkpoint, "solve_ivp")
    scheme = Taylor(tolerances[0]) if method == "taylor" else Radau() if method == "Radau" else EXPLICIT[method]
    if STATE.builder is not None:
        direction = as_tensor(np.where(t1 >= t0, 1.0, -1.0))
        traced = Problem(field, state.start, t0, t1, direction, *tolerances)
        return _traced_result(integrate_traced(attempts_of(scheme, traced, InTrace()), wanted, policy), state)
    problem = _problem(field, t0, t1, *tolerances)
    is_followed = type(problem.y0) is Tensor
    if wanted is not None and not is_followed:
        wanted = _values(wanted)
    with following(progress, "solve_ivp", abs(float(_values(t1)) - float(_values(t0)))) as step:
        return _result(integrate(attempts_of(scheme, problem, AtHand(is_followed)), wanted, step), state, caller)


# -- arguments --------------------------------------------------------------------------------------------------------


def _time(t: float) -> Tensor:
    tensor = as_tensor(t, "solve_ivp: t_span")
    if tensor.shape != () or dtypes.is_complex(tensor.dtype):
        raise ValueError(at_user_line(f"solve_ivp: wanted two numbers as t_span, got one of shape {tensor.shape}"))
    found = cast(tensor, dtypes.float64)
    if _is_known(found) and not np.isfinite(_values(found)):
        raise ValueError(at_user_line(f"solve_ivp: t_span: wanted finite numbers, got {_values(found)}"))
    return found


def _is_known(x: Tensor) -> bool:
    return type(x._data) is not Value


def _values(x: Tensor) -> Any:
    return ndarray_of(x._data)


def _times(t_eval: ArrayLike, t0: Tensor, t1: Tensor) -> Tensor:
    times = cast(as_tensor(t_eval, "solve_ivp: t_eval"), dtypes.float64)
    if len(times.shape) != 1:
        raise ValueError(at_user_line("`t_eval` must be 1-dimensional."))
    if _is_known(times) and _is_known(t0) and _is_known(t1):
        values, first, last = _values(times), float(_values(t0)), float(_values(t1))
        if not np.all((values >= min(first, last)) & (values <= max(first, last))):
            raise ValueError(at_user_line("Values in `t_eval` are not within `t_span`."))
        steps = np.diff(values)
        if (last > first and np.any(steps <= 0)) or (last < first and np.any(steps >= 0)):
            raise ValueError(at_user_line("Values in `t_eval` are not properly sorted."))
    return times


def _tolerances(rtol: float, atol: float, state: State) -> tuple[Any, Any]:
    try:
        relative, absolute = np.asarray(rtol, float), np.asarray(atol, float)
    except TypeError:
        raise TypeError(at_user_line(f"solve_ivp: rtol is {rtol!r} and atol {atol!r}, wanted real numbers")) from None
    if np.any(np.isnan(relative)) or np.any(np.isnan(absolute)):
        raise ValueError(at_user_line(f"solve_ivp: rtol is {rtol} and atol {atol}, wanted numbers"))
    if np.any(relative < 100 * EPS):
        warn(at_user_line(
            f"At least one element of `rtol` is too small. Setting `rtol = np.maximum(rtol, {100 * EPS})`."
        ))  # fmt: skip
        relative = np.maximum(relative, 100 * EPS)
    if absolute.ndim > 0 and absolute.shape != state.start.shape:
        raise ValueError(at_user_line("`atol` has wrong shape."))
    if np.any(absolute < 0):
        raise ValueError(at_user_line("`atol` must be positive."))
    return relative, absolute


def _lengths(max_step: float, first_step: float | None) -> tuple[float, float | None]:
    for name, value in (("max_step", max_step), ("first_step", first_step)):
        if value is not None and not value > 0:
            raise ValueError(at_user_line(f"`{name}` must be positive."))
    return float(max_step), None if first_step is None else float(first_step)


def _problem(field: Field, t0: Tensor, t1: Tensor, *settings: Any) -> Problem:
    """The problem in plain numbers, or in tensors if somebody may follow the solution."""
    start, stop = float(_values(t0)), float(_values(t1))
    y0, direction = field.state.start, 1.0 if stop >= start else -1.0
    if len(STATE.recorders) == len(watchers()):
        return Problem(field, _values(y0), start, stop, direction, *settings)
    first, last = (x if x.is_followed else float(_values(x)) for x in (t0, t1))
    return Problem(field, y0, first, last, direction, *settings)


# -- results ----------------------------------------------------------------------------------------------------------


def _result(found: Found, state: State, caller: Caller) -> OdeResult:
    t, rows, end = as_tensor(found.t), as_tensor(found.rows), found.state
    failed = bool(end["failed"])
    return OdeResult(
        t=caller.result(t), y=caller.result(state.opened_rows(rows, rows.shape[0])), sol=None, t_events=None,
        y_events=None, nfev=int(end["nfev"]), njev=int(end.get("njev", 0)), nlu=int(end.get("nlu", 0)),
        status=-1 if failed else 0, message=_TOO_SMALL if failed else _REACHED, success=not failed,
    )  # fmt: skip


def _traced_result(found: Found, state: State) -> OdeResult:
    end = found.state
    return OdeResult(
        t=found.t, y=state.opened_rows(found.rows, found.t.shape[0]), sol=None, t_events=None, y_events=None,
        nfev=end["nfev"], njev=end.get("njev", 0), nlu=end.get("nlu", 0), status=-cast(end["failed"], dtypes.int64),
        message="A trace: `status` says whether the end of the integration interval was reached.",
        success=~end["failed"],
    )  # fmt: skip
