"""`solve_ivp` and `odeint` with all of SciPy's arguments, by the methods of `wg.integrate`.

SciPy's own run on numbers finds events and tells stiff problems; the solution that is followed is ours. BDF and LSODA,
which carry a history from step to step, are Radau's and Dormand and Prince's methods here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.engine import ndarray_of
from .._core.scipy_modules import scipy
from .._core.state import STATE, pausing, watchers
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..differentiation.derivatives import jvp
from ..errors import TracingError
from ..integrate import OdeResult
from ..integrate import solve_ivp as ours
from ..ops.conversion import stop_gradient
from ..ops.promotion import as_tensor
from ._conversions import Array, fixed, floats, recorded
from ._namespace import only

_OF_OURS = {"BDF": "Radau", "LSODA": "DOP853"}


def _numbers(x: ArrayLike) -> Array:
    """The values of what may hold tensors, as SciPy takes them."""
    with pausing(watchers()):
        return numpy.array(ndarray_of(as_tensor(np.asarray(x))._data))


def _of_numbers(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """A function for SciPy."""

    def call(*place: object) -> Any:
        with pausing(watchers()):
            found = _numbers(f(*place, *args))
        return found if found.ndim else found[()]

    return call


def _require_values(what: str, why: str) -> None:
    if STATE.builder is not None:
        raise TracingError(
            at_user_line(
                f"scipy.integrate.{what}: {why} depends on values, which a trace does not have; call it outside of the "
                f"compiled function"
            )
        )


class _Problem:
    """An initial value problem, solved by ours as often as it takes."""

    def __init__(
        self, fun: Callable[..., Any], start: Any, y0: Any, args: tuple[Any, ...], method: str, options: Any
    ) -> None:
        self.fun, self.start, self.args, self.method, self.options = fun, start, args, method, options
        self.y0 = np.asarray(y0)
        if self.y0.dtype.kind in "iub":
            self.y0 = self.y0.astype(float)

    def slope(self, t: Tensor | float, y: Tensor, *args: Any) -> Any:
        return np.asarray(self.fun(t, y, *args))

    def solve(self, end: float, t_eval: Any = None) -> OdeResult:
        return ours(self.slope, (self.start, end), self.y0, self.method, t_eval, self.args, **self.options)

    def at(self, times: Any) -> Tensor:
        """The solution at times, which are in the order of the integration, one row each."""
        return as_tensor(self.solve(times[-1], times).y).T

    def anywhere(self, t: Any) -> Any:
        """The solution at any times: what `dense_output` gives; each call integrates again."""
        places = floats(t)
        flat = np.reshape(places, (-1,))
        if STATE.builder is not None and (isinstance(t, Tensor) or isinstance(self.start, Tensor)):
            _require_values("solve_ivp", "on which side of the start a time of dense_output lies")
        values = numpy.ravel(t) if STATE.builder is not None else _numbers(flat)
        first = float(self.start if STATE.builder is not None else _numbers(self.start))
        rows: Any = [None] * len(values)
        for side in (values >= first, values < first):
            chosen = numpy.flatnonzero(side)
            chosen = chosen[numpy.argsort(abs(values[chosen] - first), kind="stable")]
            if len(chosen):
                # times that are equal are asked for once
                _, once, back = numpy.unique(abs(values[chosen] - first), return_index=True, return_inverse=True)
                found = self.at(flat[chosen[once]])
                for place, row in zip(chosen, back, strict=True):
                    rows[place] = found[int(row)]
        found = np.stack(rows, axis=-1)
        return np.reshape(found, (found.shape[0], *places.shape))


def _events(events: Callable[..., Any]) -> list[Any]:
    return [events] if callable(events) else list(events)


def _event_places(problem: _Problem, event: Callable[..., Any], times: Array) -> tuple[Tensor, Tensor]:
    """When an event happens, and the states then, as functions of all that the solution is followed in."""
    states = problem.at(as_tensor(times))
    if not STATE.recorders:
        return as_tensor(times), states
    found = [_event_place(problem, event, float(t), states[i]) for i, t in enumerate(times)]
    return np.stack([time for time, _ in found]), np.stack([state for _, state in found])


def _event_place(problem: _Problem, event: Callable[..., Any], t: float, here: Tensor) -> tuple[Any, Any]:
    """An event's time and state: three steps of Newton's method, which go nowhere, along the solution from there.

    The steps double the orders of derivatives that are right, to seven; the solution is right to the fourth.
    """

    def signal(time: Tensor, y: Tensor) -> Any:
        return np.reshape(as_tensor(np.asarray(event(time, y, *problem.args))), ())

    time, y = as_tensor(t), here
    rest = stop_gradient(signal(time, y))
    for _ in range(3):
        slope = problem.slope(time, y, *problem.args)
        value, speed = jvp(signal, (time, y), (1.0, slope), unconnected_gradients="zero")
        time = time - (value - rest) / speed
        y = _along(problem, t, here, time - t)
    return time, y


def _along(problem: _Problem, t: float, y: Tensor, step: Any) -> Any:
    """The solution a step further on, by the classical method of Runge and Kutta."""
    half = step / 2
    first = problem.slope(t, y, *problem.args)
    second = problem.slope(t + half, y + half * first, *problem.args)
    third = problem.slope(t + half, y + half * second, *problem.args)
    fourth = problem.slope(t + step, y + step * third, *problem.args)
    return y + step * ((first + fourth) / 6 + (second + third) / 3)


@recorded
def solve_ivp(
    fun: Any, t_span: Sequence[Any], y0: Any, method: Any = "RK45", t_eval: Any = None, dense_output: bool = False,
    events: Any = None, vectorized: bool = False, args: Any = None, **options: object,
) -> Any:  # fmt: skip
    """An initial value problem, with gradients in y0, args, t_span, t_eval and what fun uses from outside.

    Events are differentiated, too, up to the fourth derivative. "BDF" and "LSODA" are carried out by "Radau"
    and "DOP853"; `jac` is not needed. `sol` of `dense_output` integrates again at each call.
    """
    only("integrate.solve_ivp", method=(method, "RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"))
    args = () if args is None else args
    kept = {key: options[key] for key in ("rtol", "atol", "max_step", "first_step") if key in options}
    unknown = options.keys() - {*kept, "jac", "jac_sparsity", "lband", "uband", "min_step"}
    if unknown:
        raise TypeError(at_user_line(f"scipy.integrate.solve_ivp: unknown options {', '.join(sorted(unknown))}"))
    problem = _Problem(fun, t_span[0], y0, args, _OF_OURS.get(method) or method, kept)
    end = t_span[1]
    told: dict[str, Any] = {}
    if events is not None:
        end, t_eval, told = _with_events(problem, t_span, t_eval, _events(events), kept)
    elif method == "LSODA":
        problem.method = _method_by_stiffness(problem, t_span, kept)
    found = problem.solve(end, t_eval)
    if dense_output:
        found["sol"] = problem.anywhere
    found.update(told)
    return found


def _method_by_stiffness(problem: _Problem, t_span: Any, options: dict[str, Any]) -> str:
    """Radau's method if the explicit one takes far more steps, and in a trace, which cannot tell: it serves both."""
    if STATE.builder is not None:
        return "Radau"
    settings = {key: value for key, value in options.items() if key in ("rtol", "atol")}
    field, span = _of_numbers(problem.slope, problem.args), [float(_numbers(t)) for t in t_span]
    run = functools.partial(scipy("integrate").solve_ivp, field, span, _numbers(problem.y0), **settings)
    stiff = run(method="LSODA")
    return "Radau" if stiff.nfev and _gives_up(field, 20 * stiff.nfev + 200, run) else "DOP853"


def _gives_up(field: Callable[..., Any], most: int, run: Callable[..., Any]) -> bool:
    """Whether the explicit method takes more evaluations than that."""
    left = [most]

    def counted(t: ArrayLike, y: ArrayLike) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise StopIteration
        return field(t, y)

    try:
        scipy("integrate").solve_ivp(counted, *run.args[1:], method="DOP853", **run.keywords)
    except StopIteration:
        return True
    return False


def _with_events(
    problem: _Problem, t_span: Any, t_eval: Any, events: list[Any], options: dict[str, Any]
) -> tuple[Any, Any, dict[str, Any]]:  # fmt: skip
    """Where the integration ends, at which times it is wanted, and what is told of events."""
    _require_values("solve_ivp", "when events happen")
    given = [_watched(event, problem.args) for event in events]
    span = [float(_numbers(t)) for t in t_span]
    field = _of_numbers(problem.slope, problem.args)
    with pausing(watchers()):
        plain = scipy("integrate").solve_ivp(
            field, span, _numbers(problem.y0), problem.method, events=given, dense_output=True, **options
        )
    places = [
        _event_places(problem, event, t) if len(t) else (as_tensor(t), as_tensor(y))
        for event, t, y in zip(events, plain.t_events, plain.y_events, strict=True)
    ]
    times = [time for time, _ in places]
    told: dict[str, Any] = {"t_events": times, "y_events": [state for _, state in places]}
    end = t_span[1]
    if plain.status == 1:
        last = [float(t[-1]) if len(t) else numpy.nan for t in plain.t_events]
        which = int(numpy.nanargmin([abs(t - plain.t[-1]) for t in last]))
        end = times[which][-1]
        told |= {"status": 1, "message": plain.message, "success": True}
    if t_eval is not None:
        values, stop = _numbers(t_eval), float(_numbers(end))
        keep = numpy.flatnonzero(values <= stop if span[1] >= span[0] else values >= stop)
        t_eval = np.asarray(t_eval)[keep]
    return end, t_eval, told


def _watched(event: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    call = _of_numbers(event, args)
    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(call, name, getattr(event, name))
    return call


@recorded
def odeint(
    func: Callable[..., Any],
    y0: ArrayLike,
    t: ArrayLike,
    args: tuple[Any, ...] = (),
    Dfun: object = None,
    col_deriv: object = 0,
    full_output: object = 0,
    ml: object = None,
    mu: object = None,
    rtol: float | None = None,
    atol: float | None = None,
    tcrit: object = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: object = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: object = 0,
    tfirst: bool = False,
) -> Any:
    """An initial value problem at given times, with gradients in y0, t, args and what func uses from outside.

    Where SciPy's LSODA takes its stiff method, and in a trace, Radau's is taken here, else Dormand and Prince's of
    order 8.
    """
    args = args if isinstance(args, tuple) else (args,)

    def field(time: ArrayLike, y: ArrayLike, *further: object) -> Any:
        return func(time, y, *further) if tfirst else func(y, time, *further)

    start = np.atleast_1d(np.asarray(y0))
    times = np.asarray(t)
    settings = {"rtol": 1.49012e-8 if rtol is None else rtol, "atol": 1.49012e-8 if atol is None else atol}
    if STATE.builder is not None:  # a trace cannot tell whether the method for stiff problems is needed: it serves both
        if full_output:
            _require_values("odeint", "full_output")
        return _Problem(field, times[0], start, args, "Radau", settings).at(times)
    problem = _Problem(field, times[0], start, args, "DOP853", settings)
    with pausing(watchers()):
        _, info = scipy("integrate").odeint(
            _of_numbers(field, args), _numbers(problem.y0), _numbers(fixed_times(times)), full_output=1, tfirst=True,
            mxstep=mxstep, **settings,
        )  # fmt: skip
    is_stiff = bool((info["mused"] == 2).any()) and int(info["nfe"][-1]) > 0
    # of a problem that is not truly stiff LSODA may choose that method near the end, too
    if is_stiff:
        problem.method = "Radau"
    found = problem.at(times)
    return (found, info) if full_output else found


def fixed_times(t: ArrayLike) -> Any:
    """Times as numbers; SciPy's run only tells which method it takes."""
    return fixed(_numbers(t), "t", "odeint")


__all__ = ["odeint", "solve_ivp"]
