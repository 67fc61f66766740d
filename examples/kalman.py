"""A Kalman filter by `scan`: noise levels fitted by the likelihood's gradient.

A mass on a spring is pushed at random; its position is measured with noise, and some measurements are missing (NaN).
The filter goes over the measurements by `scan`; a `cond` in its step takes the measurement in or, where there is none,
leaves the prediction as it is. The log-likelihood of the measurements is differentiated with respect to both noise
levels, which SciPy's BFGS then fits. Their standard errors come from the second derivatives.

    python examples/kalman.py [--plot kalman.svg]
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import wengert as wg

DT = 0.1
STEPS = 300
GAP = slice(120, 150)  # no measurements here
TRUE_DRIVE, TRUE_NOISE = 1.5, 0.5
MOVE = np.array([[0.995, DT], [-DT, 0.975]])  # of position and velocity, in a time DT: the spring, with some friction
SPREAD = np.array([[DT**3 / 3, DT**2 / 2], [DT**2 / 2, DT]])  # what the pushes add
SEEN = np.array([1.0, 0.0])  # of the state, what is measured: the position
FIRST_MEAN, FIRST_COVARIANCE = np.zeros(2), np.diag([1.0, 4.0])


def simulate(seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """The true positions, and their measurements."""
    draw = np.random.default_rng(seed)
    root = TRUE_DRIVE * np.linalg.cholesky(SPREAD)
    state = draw.multivariate_normal(FIRST_MEAN, FIRST_COVARIANCE)
    positions = np.empty(STEPS)
    for k in range(STEPS):
        state = MOVE @ state + root @ draw.normal(size=2)
        positions[k] = state[0]
    measured = positions + TRUE_NOISE * draw.normal(size=STEPS)
    measured[GAP] = np.nan
    return positions, measured


def kalman(log_levels: Any, measured: Any) -> tuple[Any, tuple[Any, Any]]:
    """The log-likelihood of measurements, and each step's filtered position and its variance.

    Args:
        log_levels: the logarithms of the two standard deviations, of the pushes and of the measurements.
        measured: one measurement for each step; NaN where there is none.
    """
    drive, noise = np.exp(2 * log_levels[0]), np.exp(2 * log_levels[1])  # variances

    def update(mean: Any, covariance: Any, y: Any) -> Any:
        surprise = y - SEEN @ mean
        variance = SEEN @ covariance @ SEEN + noise
        gain = covariance @ SEEN / variance
        logp = -0.5 * (surprise**2 / variance + np.log(2 * np.pi * variance))
        return mean + gain * surprise, covariance - np.outer(gain, gain) * variance, logp

    def skip(mean: Any, covariance: Any, y: Any) -> Any:
        return mean, covariance, 0.0

    def step(state: Any, y: Any) -> Any:
        mean, covariance = state
        mean, covariance = MOVE @ mean, MOVE @ covariance @ MOVE.T + drive * SPREAD
        mean, covariance, logp = wg.cond(np.isnan(y), skip, update, mean, covariance, y)
        return (mean, covariance), (logp, mean[0], covariance[0, 0])

    _, (logps, means, variances) = wg.scan(step, (FIRST_MEAN, FIRST_COVARIANCE), measured)
    return np.sum(logps), (means, variances)


def dense_log_likelihood(log_levels: np.ndarray, measured: np.ndarray) -> float:
    """The same log-likelihood without a filter: all measurements are one draw from one normal distribution."""
    drive, noise = np.exp(2 * log_levels)
    states = [MOVE @ FIRST_COVARIANCE @ MOVE.T + drive * SPREAD]
    for _ in range(1, len(measured)):
        states.append(MOVE @ states[-1] @ MOVE.T + drive * SPREAD)
    covariance = np.empty((len(measured), len(measured)))
    for j, state in enumerate(states):
        for i in range(j, len(measured)):  # Cov(x_i, x_j) = MOVE^(i - j) Cov(x_j)
            covariance[i, j] = covariance[j, i] = SEEN @ state @ SEEN
            state = MOVE @ state
    there = ~np.isnan(measured)
    covariance = covariance[np.ix_(there, there)] + noise * np.eye(there.sum())
    return float(multivariate_normal(np.zeros(there.sum()), covariance).logpdf(measured[there]))


class Result(NamedTuple):
    """What the example finds."""

    positions: np.ndarray
    measured: np.ndarray
    levels: np.ndarray  # fitted
    errors: np.ndarray  # their standard errors, of the logarithms
    log_likelihood: tuple[float, float]  # by the filter and dense, at the fitted levels
    gradients: tuple[np.ndarray, np.ndarray]  # at the start, by reverse mode and by central differences
    means: np.ndarray
    variances: np.ndarray
    evaluations: int


def run() -> Result:
    """Simulates, fits the noise levels and filters with them."""
    positions, measured = simulate()

    def loss(levels: Any) -> Any:
        return -kalman(levels, measured)[0]

    objective = wg.function(wg.value_and_grad(loss))
    start = np.log([0.5, 2.0])
    gradient = objective(start)[1]
    h = 1e-5
    differences = np.array([
        (objective(start + h * e)[0] - objective(start - h * e)[0]) / (2 * h) for e in np.eye(2)
    ])  # fmt: skip
    found = minimize(objective, start, jac=True, method="BFGS")
    curvature = wg.function(lambda levels, v: wg.grad(lambda x: np.sum(wg.grad(loss)(x) * v))(levels))
    hessian = np.array([curvature(found.x, v) for v in np.eye(2)])
    value, (means, variances) = kalman(found.x, measured)
    return Result(
        positions, measured, np.exp(found.x), np.sqrt(np.diag(np.linalg.inv(hessian))),
        (float(value), dense_log_likelihood(found.x, measured)), (gradient, differences), means, variances, found.nfev,
    )  # fmt: skip


def plot(result: Result, path: str) -> None:
    """Draws the track: what is true, what was measured, what the filter makes of it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    time = DT * np.arange(1, STEPS + 1)
    band = 2 * np.sqrt(result.variances)
    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    axes.fill_between(time, result.means - band, result.means + band, alpha=0.25, label="filter, 2 standard deviations")
    axes.plot(time, result.means, label="filter")
    axes.plot(time, result.positions, "k", linewidth=0.8, label="true position")
    axes.plot(time, result.measured, ".", color="tab:red", markersize=3, label="measured")
    axes.set(xlabel="time", ylabel="position")
    axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> Result:
    """Runs the example, checks and prints what it finds."""
    parser = argparse.ArgumentParser(description="A Kalman filter by scan, fitted by maximum likelihood")
    parser.add_argument("--plot", metavar="FILE", help="write a picture, as SVG or PNG (needs the extra wengert[plot])")
    options = parser.parse_args(arguments)
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib, which is not installed: pip install 'wengert[plot]'")
    result = run()
    print(f"gradient at the start: {result.gradients[0].round(5)}, by differences {result.gradients[1].round(5)}")
    assert np.allclose(*result.gradients, rtol=1e-7)
    print(f"fitted in {result.evaluations} evaluations:")
    for name, level, error, true in zip(
        ("drive", "noise"), result.levels, result.errors, (TRUE_DRIVE, TRUE_NOISE), strict=True
    ):
        print(f"  {name}: {level:.3f} (true {true}, standard error {level * error:.3f})")
        assert abs(np.log(level / true)) < 3 * error
    print(f"log-likelihood there: {result.log_likelihood[0]:.8f}, without a filter {result.log_likelihood[1]:.8f}")
    assert np.isclose(*result.log_likelihood, rtol=1e-9)
    if options.plot:
        plot(result, options.plot)
    return result


if __name__ == "__main__":
    main()
