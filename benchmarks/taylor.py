"""Times Taylor's method beside the explicit ones, compiled: a solution, its gradient and its Jacobian by forward mode.

Lorenz' system over 5 units of time and van der Pol's over 10, at a tolerance of 1e-9. The error is the largest at the
end, against SciPy's DOP853 at 3e-14. Least of `--repeat` calls, in microseconds. heyoka, where it is installed, gets
the same equations, for its Jacobian with the variational ones beside them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp as scipy_solve_ivp

import wengert as wg

try:
    import heyoka
except ImportError:
    heyoka = None

METHODS = ("RK45", "DOP853", "taylor")
Array = np.ndarray[Any, Any]


def lorenz(t: Any, y: Any) -> Any:
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


def van_der_pol(t: Any, y: Any) -> Any:
    return [y[1], (1 - y[0] * y[0]) * y[1] - y[0]]


PROBLEMS: dict[str, tuple[Callable[..., Any], Array, float]] = {
    "Lorenz": (lorenz, np.array([1.0, 1.0, 1.0]), 5.0), "van der Pol": (van_der_pol, np.array([2.0, 0.0]), 10.0)
}  # fmt: skip


def least(f: Callable[[Array], Any], y0: Array, repeat: int) -> tuple[Any, float, float]:
    """The result, seconds to it, and the microseconds of a call."""
    began = time.perf_counter()
    found = f(y0)
    first = time.perf_counter() - began
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        f(y0)
        times.append(time.perf_counter() - began)
    return found, first, min(times) * 1e6


def of_heyoka(fun: Callable[..., Any], y0: Array, end: float, rtol: float, repeat: int) -> tuple[Any, list[float]]:
    """The value, and the microseconds to it and to it with its Jacobian."""
    unknowns = heyoka.make_vars(*"xyz"[: y0.size])
    equations = [*zip(unknowns, fun(0.0, unknowns), strict=True)]
    both = heyoka.var_ode_sys(equations, heyoka.var_args.vars, order=1)
    value, times = None, []
    for system in (equations, both):
        solver = heyoka.taylor_adaptive(system, [*y0], tol=rtol)
        start = np.array(solver.state)

        def run(_: Array, solver: Any = solver, start: Array = start) -> Array:
            solver.time, solver.state[:] = 0.0, start
            solver.propagate_until(end)
            return np.array(solver.state[: y0.size])

        found, _, us = least(run, y0, repeat)
        value = found if value is None else value
        times.append(us)
    return value, times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rtol", type=float, default=1e-9)
    parser.add_argument("--repeat", type=int, default=100)
    options = parser.parse_args()
    print(f"{'':28}{'value':>9}{'gradient':>10}{'Jacobian':>10}{'first call':>12}{'error':>10}")
    for name, (fun, y0, end) in PROBLEMS.items():
        exact = scipy_solve_ivp(fun, (0, end), y0, method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1]
        if heyoka is not None:
            value, (us, both) = of_heyoka(fun, y0, end, options.rtol, options.repeat)
            error = np.max(np.abs(value - exact) / (1 + np.abs(exact)))
            print(f"{name:16}{'heyoka':12}{us:>9.0f}{'':>10}{both:>10.0f}{'':>12}{error:>10.1e}")
        for method in METHODS:

            def last(y: Any, fun: Any = fun, end: float = end, method: str = method) -> Any:
                tolerances = {"rtol": options.rtol, "atol": options.rtol}
                return wg.integrate.solve_ivp(fun, (0, end), y, method=method, **tolerances).y[:, -1]

            ways = [last, wg.grad(lambda y, last=last: last(y)[0]), wg.jacobian(last, mode="forward")]
            found = [least(wg.function(way), y0, options.repeat) for way in ways]
            times = [f"{us:.0f}" for _, _, us in found]
            error = np.max(np.abs(found[0][0] - exact) / (1 + np.abs(exact)))
            print(f"{name:16}{method:12}{times[0]:>9}{times[1]:>10}{times[2]:>10}{found[0][1]:>11.2f}s{error:>10.1e}")


if __name__ == "__main__":
    main()
