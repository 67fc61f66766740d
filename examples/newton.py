"""Newton's method, differentiated through its own stopping test.

Kepler's equation E - e sin(E) = M gives the eccentric anomaly E of a planet from the mean anomaly M (the time) and the
eccentricity e of its orbit. `solve` iterates Newton's method in a `while_loop` until the residual is small; how many
steps that takes depends on M and e. The derivative of what comes out is taken through all of these steps and compared
with the one that the implicit function theorem gives.

The derivative lags behind the value. A Newton step from an error h leaves an error of order h**2 in E, but of order h
in dE/dM, and the second derivative is one step further behind. So a stop at a residual of 1e-6 may leave 1e-3 in the
first derivative; and where the guess passes the test at once, the derivative is that of the guess. The cure: take one
more step for each order, as `extra` does here.

    python examples/newton.py [--plot newton.svg]
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

TOLERANCE = 1e-6


def residual(E: Any, M: Any, e: Any) -> Any:
    return E - e * np.sin(E) - M


def newton_step(E: Any, M: Any, e: Any) -> Any:
    return E - residual(E, M, e) / (1 - e * np.cos(E))


def solve(M: Any, e: Any, extra: int = 2) -> tuple[Any, Any]:
    """The eccentric anomaly for one mean anomaly, and the number of steps to the tolerance; `extra` steps follow."""

    def is_far(E: Any, steps: Any) -> Any:
        return np.abs(residual(E, M, e)) > TOLERANCE

    def advance(E: Any, steps: Any) -> tuple[Any, Any]:
        return newton_step(E, M, e), steps + 1

    E, steps = wg.while_loop(is_far, advance, (M + e * np.sin(M), 0), maximum_iterations=50)
    return wg.fori_loop(0, extra, lambda i, E: newton_step(E, M, e), E), steps


def curve(M: Any, e: Any, extra: int = 2) -> tuple[Any, Any]:
    """`solve` for each mean anomaly of an array: each takes the steps that it needs."""
    return wg.map(lambda m: solve(m, e, extra), M)


# Each E depends on its own M only, so the gradient of their sum is the array of the derivatives dE/dM.
dE_dM = wg.grad(curve, has_aux=True)
d2E_dM2 = wg.grad(lambda M, e, extra: dE_dM(M, e, extra)[0])


def exact_derivatives(E: Any, e: Any) -> tuple[Any, Any]:
    """dE/dM and its derivative, by the implicit function theorem."""
    slope = 1 / (1 - e * np.cos(E))
    return slope, -e * np.sin(E) * slope**3


class Result(NamedTuple):
    """What the example finds; `E`, `slope` and `steps` by eccentricity, `errors` by extra steps, for both orders."""

    M: np.ndarray
    E: dict[float, np.ndarray]
    slope: dict[float, np.ndarray]
    steps: dict[float, np.ndarray]
    errors: dict[int, tuple[float, float]]
    de: tuple[float, float]


def run(points: int = 61) -> Result:
    """Solves Kepler's equation on a grid of times and compares derivatives."""
    M = np.linspace(0.05, np.pi, points)
    first, second = wg.function(dE_dM), wg.function(d2E_dM2)
    E, slope, steps = {}, {}, {}
    for e in (0.1, 0.5, 0.9):
        E[e], steps[e] = curve(M, e)
        slope[e], _ = first(M, e, 2)
    wanted = exact_derivatives(E[0.9], 0.9)
    errors = {}
    for extra in (0, 1, 2):
        found = first(M, 0.9, extra)[0], second(M, 0.9, extra)
        errors[extra] = (*[float(np.max(np.abs(f - w) / (1 + np.abs(w)))) for f, w in zip(found, wanted, strict=True)],)
    # with respect to the eccentricity, which all the equations share
    through, _ = wg.grad(curve, argnums=1, has_aux=True)(M, 0.5)
    return Result(M, E, slope, steps, errors, (float(through), float(np.sum(np.sin(E[0.5]) * slope[0.5]))))


def plot(result: Result, path: str) -> None:
    """Draws the solutions, their derivatives and the errors."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for e in result.E:
        left.plot(result.M, result.E[e], label=f"e = {e}")
        middle.plot(result.M, result.slope[e])
        middle.plot(result.M[::8], exact_derivatives(result.E[e], e)[0][::8], "k.", markersize=3)
    left.set(xlabel="M", ylabel="E", title="E(M)")
    left.legend(frameon=False)
    middle.set(xlabel="M", title="dE/dM (dots: implicit)")
    for order, label in enumerate(("dE/dM", "d²E/dM²")):
        right.plot([*result.errors], [max(pair[order], 1e-17) for pair in result.errors.values()], "o-", label=label)
    right.set(xlabel="extra steps", yscale="log", xticks=[*result.errors], title="largest relative error, e = 0.9")
    right.legend(frameon=False)
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> Result:
    """Runs the example, checks and prints what it finds."""
    parser = argparse.ArgumentParser(description="Newton's method, differentiated through its stopping test")
    parser.add_argument("--plot", metavar="FILE", help="write a picture, as SVG or PNG (needs the extra wengert[plot])")
    options = parser.parse_args(arguments)
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib, which is not installed: pip install 'wengert[plot]'")
    result = run()
    print(f"Kepler's equation, Newton's method to a residual of {TOLERANCE:g}")
    print("steps taken, by eccentricity:", {e: f"{n.min()} to {n.max()}" for e, n in result.steps.items()})
    print("extra steps   error of dE/dM   error of d2E/dM2")
    for extra, (first, second) in result.errors.items():
        print(f"{extra:11}   {first:14.1e}   {second:16.1e}")
    assert result.errors[1][0] < 1e-10, "one extra step makes the first derivative exact"
    assert max(result.errors[2]) < 1e-10, "two make the second derivative exact"
    print(f"d(sum E)/de: {result.de[0]:.10f} through the loop, {result.de[1]:.10f} implicit")
    assert np.isclose(*result.de, rtol=1e-12)
    if options.plot:
        plot(result, options.plot)
    return result


if __name__ == "__main__":
    main()
