"""The parameters of an ordinary differential equation, fitted to data with `wg.integrate.solve_ivp`.

Predators hunt prey (Lotka and Volterra): u' = a u - b u v, v' = -c v + d u v. From noisy counts of both, the four rates
and the two initial counts are fitted by least squares. The solver chooses its own steps; the gradient of the misfit
goes back through those that it took, and SciPy's BFGS uses it. Standard errors come from the second derivatives.

    python examples/ode_fit.py [--plot ode_fit.svg]
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from scipy.optimize import minimize

import wengert as wg

NAMES = ("a", "b", "c", "d", "u(0)", "v(0)")
TRUE = np.array([1.1, 0.4, 0.9, 0.25, 6.0, 2.0])
TIMES = np.linspace(0.0, 15.0, 46)
NOISE = 0.05  # of the logarithms of the counts
SOLVER: dict[str, Any] = {"method": "RK45", "rtol": 1e-7, "atol": 1e-7}


def rates(t: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The rates of change of both counts."""
    u, v = y[0], y[1]
    return np.stack([a * u - b * u * v, -c * v + d * u * v])


def counts(parameters: Any) -> Any:
    """Both counts at the times of the data, for six parameters: (2, times)."""
    a, b, c, d = (parameters[i] for i in range(4))
    span = (TIMES[0], TIMES[-1])
    return wg.integrate.solve_ivp(rates, span, parameters[4:], t_eval=TIMES, args=(a, b, c, d), **SOLVER).y


def simulate(seed: int = 5) -> np.ndarray:
    """Noisy counts, from SciPy's solver."""
    span = (TIMES[0], TIMES[-1])
    found = scipy.integrate.solve_ivp(rates, span, TRUE[4:], t_eval=TIMES, args=(*TRUE[:4],), rtol=1e-10, atol=1e-10)
    return found.y * np.exp(NOISE * np.random.default_rng(seed).normal(size=found.y.shape))


class Result(NamedTuple):
    """What the example finds."""

    data: np.ndarray
    start: np.ndarray  # parameters
    found: np.ndarray
    errors: np.ndarray  # relative standard errors of what is found
    curves: tuple[np.ndarray, np.ndarray]  # counts at the start and as fitted
    gradients: tuple[np.ndarray, np.ndarray]  # at the start, by reverse mode and by central differences
    evaluations: int


def run() -> Result:
    """Simulates data and fits the logarithms of all parameters, which are positive."""
    data = simulate()

    def misfit(logs: Any) -> Any:
        return 0.5 * np.sum((np.log(counts(np.exp(logs))) - np.log(data)) ** 2) / NOISE**2

    objective = wg.function(wg.value_and_grad(misfit))
    start = np.log(TRUE * [0.9, 1.2, 1.15, 0.85, 1.1, 0.8])
    gradient = objective(start)[1]
    h = 1e-4
    differences = np.array([
        (objective(start + h * e)[0] - objective(start - h * e)[0]) / (2 * h) for e in np.eye(len(start))
    ])  # fmt: skip
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-2})
    curvature = wg.function(lambda logs, v: wg.grad(lambda x: np.sum(wg.grad(misfit)(x) * v))(logs))
    hessian = np.array([curvature(found.x, v) for v in np.eye(len(start))])
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    curves = counts(np.exp(start)), counts(np.exp(found.x))
    return Result(data, np.exp(start), np.exp(found.x), errors, curves, (gradient, differences), found.nfev)


def plot(result: Result, path: str) -> None:
    """Draws the data, and the solutions before and after the fit."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    for row, (name, color) in enumerate((("prey", "tab:blue"), ("predators", "tab:orange"))):
        axes.plot(TIMES, result.data[row], ".", color=color)
        axes.plot(TIMES, result.curves[0][row], ":", color=color, label=f"{name}, start")
        axes.plot(TIMES, result.curves[1][row], color=color, label=f"{name}, fitted")
    axes.set(xlabel="time", ylabel="count")
    axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> Result:
    """Runs the example, checks and prints what it finds."""
    parser = argparse.ArgumentParser(description="The parameters of a differential equation, fitted to data")
    parser.add_argument("--plot", metavar="FILE", help="write a picture, as SVG or PNG (needs the extra wengert[plot])")
    options = parser.parse_args(arguments)
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib, which is not installed: pip install 'wengert[plot]'")
    result = run()
    print("gradient of the misfit at the start, and by central differences:")
    for pair in result.gradients:
        print("  ", *(f"{value:11.4f}" for value in pair))
    assert np.allclose(*result.gradients, rtol=1e-4)
    print(f"fitted in {result.evaluations} evaluations:")
    for name, start, found, error, true in zip(NAMES, result.start, result.found, result.errors, TRUE, strict=True):
        print(f"  {name:4} {start:.3f} -> {found:.3f} (true {true}, standard error {found * error:.3f})")
    assert np.all(np.abs(np.log(result.found / TRUE)) < 4 * result.errors)
    if options.plot:
        plot(result, options.plot)
    return result


if __name__ == "__main__":
    main()
