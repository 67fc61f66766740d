"""A layer whose output is a fixed point, iterated to a tolerance and differentiated.

The layer's output for an input x is the z that solves z = tanh(W z + U x + b). `iterated` finds it by damped iteration
in a `while_loop`; its gradient goes back through all steps, from a fixed number of stored states (`checkpoint`).
`implicit` has a gradient rule instead, from the implicit function theorem: it solves u = dy + u dstep/dz, again by
iteration, with a gradient inside the loop's body. Both gradients agree to the tolerance, and both can be trained
through; here a curve is fitted with L-BFGS.

    python examples/fixed_point.py [--plot fixed_point.svg]
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import wengert as wg

DAMPING = 0.3  # of the old state that is kept in a step
SNAPSHOTS = 8  # states that the gradient of the loop keeps


def step(z: Any, p: Any, x: Any) -> Any:
    """One undamped step, for a batch of inputs: z is (batch, hidden), x is (batch, inputs)."""
    return np.tanh(z @ p["W"].T + x @ p["U"].T + p["b"])


def settle(advance: Any, start: Any, tolerance: float) -> Any:
    """Iterates until no element changes by more than a tolerance: the state, and the number of steps."""

    def is_moving(z: Any, change: Any, steps: Any) -> Any:
        return change > tolerance

    def damped(z: Any, change: Any, steps: Any) -> Any:
        following = DAMPING * z + (1 - DAMPING) * advance(z)
        return following, np.max(np.abs(following - z)), steps + 1

    first = start, np.inf, 0
    z, _, steps = wg.while_loop(is_moving, damped, first, maximum_iterations=500, checkpoint=SNAPSHOTS)
    return z, steps


def start_of(p: Any, x: Any) -> np.ndarray:
    return np.zeros((x.shape[0], p["b"].shape[0]))


def iterated(p: Any, x: Any, tolerance: float = 1e-10) -> Any:
    """The fixed point, with the gradient through the iteration."""
    return settle(lambda z: step(z, p, x), start_of(p, x), tolerance)[0]


def implicit(p: Any, x: Any, tolerance: float = 1e-10) -> Any:
    """The fixed point, with the gradient by the implicit function theorem."""

    @wg.custom_gradient
    def layer(W: Any, U: Any, b: Any, x: Any) -> Any:
        z = iterated({"W": W, "U": U, "b": b}, x, tolerance)

        def grad_fn(upstream: Any) -> Any:
            def step_at(z: Any, W: Any, U: Any, b: Any, x: Any) -> Any:
                return step(z, {"W": W, "U": U, "b": b}, x)

            # first u = dy + u dstep/dz at the fixed point, then u dstep/dp
            u, _ = settle(lambda u: upstream + wg.grad(step_at)(z, W, U, b, x, dy=u), np.zeros(z.shape), tolerance)
            return wg.grad(step_at, argnums=(1, 2, 3, 4))(z, W, U, b, x, dy=u)

        return z, grad_fn

    return layer(p["W"], p["U"], p["b"], x)


def initial_parameters(hidden: int = 8, seed: int = 1) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    W = draw.normal(size=(hidden, hidden))
    W *= 0.7 / np.linalg.norm(W, 2)  # a contraction to begin with: the iteration converges
    U, b, out = draw.normal(size=(hidden, 1)), draw.normal(size=hidden), 0.1 * draw.normal(size=hidden)
    return {"W": W, "U": U, "b": b, "out": out}


def loss(layer: Any, p: Any, x: Any, y: Any, tolerance: float = 1e-10) -> Any:
    """Mean squared error of the fitted curve, with a small penalty on W, which keeps the step contracting."""
    return np.mean((layer(p, x, tolerance) @ p["out"] - y) ** 2) + 1e-4 * np.sum(p["W"] ** 2)


class Result(NamedTuple):
    """What the example finds."""

    changes: np.ndarray  # the change of z in each step, before training
    differences: dict[float, float]  # between the two gradients, by tolerance
    losses: list[float]
    x: np.ndarray
    y: np.ndarray
    fitted: np.ndarray
    steps: int  # to the fixed point, after training


def changes_of(p: Any, x: Any, count: int = 40) -> np.ndarray:
    """How much each of the first steps changes z."""

    def advance(z: Any, _: Any) -> Any:
        following = DAMPING * z + (1 - DAMPING) * step(z, p, x)
        return following, np.max(np.abs(following - z))

    return wg.scan(advance, start_of(p, x), length=count)[1]


def run(iterations: int = 80) -> Result:
    """Compares both gradients and fits a curve."""
    x = np.linspace(-2, 2, 41)[:, None]
    y = np.sin(2 * x[:, 0]) * np.exp(-(x[:, 0] ** 2) / 4)
    p = initial_parameters()

    gradient_of_loss = wg.grad(loss, argnums=1)
    differences = {}
    for tolerance in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        found = [gradient_of_loss(layer, p, x, y, tolerance) for layer in (iterated, implicit)]
        through, exact = (wg.tree.ravel(gradient)[0] for gradient in found)
        differences[tolerance] = float(np.max(np.abs(through - exact)) / np.max(np.abs(exact)))

    start, rebuild = wg.tree.ravel(p)
    objective = wg.function(wg.value_and_grad(lambda flat: loss(implicit, rebuild(flat), x, y, 1e-8)))
    losses: list[float] = []
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations},
        callback=lambda intermediate_result: losses.append(float(intermediate_result.fun)),
    )  # fmt: skip
    p = rebuild(found.x)
    z, steps = settle(lambda z: step(z, p, x), start_of(p, x), 1e-10)
    return Result(changes_of(initial_parameters(), x), differences, losses, x[:, 0], y, z @ p["out"], int(steps))


def plot(result: Result, path: str) -> None:
    """Draws the convergence, the agreement of the gradients and the fitted curve."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    left.semilogy(result.changes)
    left.set(xlabel="step", title="largest change of z")
    middle.loglog([*result.differences], [*result.differences.values()], "o-")
    middle.set(xlabel="tolerance", title="relative difference of the gradients")
    middle.invert_xaxis()
    right.plot(result.x, result.y, "k.", label="data")
    right.plot(result.x, result.fitted, label="layer")
    right.set(xlabel="x", title="fit through the layer")
    right.legend(frameon=False)
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> Result:
    """Runs the example, checks and prints what it finds."""
    parser = argparse.ArgumentParser(description="A layer whose output is a fixed point")
    parser.add_argument("--plot", metavar="FILE", help="write a picture, as SVG or PNG (needs the extra wengert[plot])")
    options = parser.parse_args(arguments)
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib, which is not installed: pip install 'wengert[plot]'")
    result = run()
    print("tolerance   relative difference of the gradients, through the iteration and implicit")
    for tolerance, difference in result.differences.items():
        print(f"{tolerance:9.0e}   {difference:.1e}")
    assert all(difference < 100 * tolerance for tolerance, difference in result.differences.items())
    error = np.sqrt(np.mean((result.fitted - result.y) ** 2))
    print(f"fit: root mean square error {error:.3f}, loss {result.losses[0]:.4f} -> {result.losses[-1]:.4f}")
    print(f"after training the fixed point takes {result.steps} steps")
    assert error < 0.03
    if options.plot:
        plot(result, options.plot)
    return result


if __name__ == "__main__":
    main()
