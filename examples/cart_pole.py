"""Optimal control: a cart swings its pole up with as little force as it can.

Direct transcription: the unknowns are the states of all steps and the forces between them, and that a state follows
from the one before is a constraint (Heun's rule). Each constraint reads few of the unknowns, which
`wg.optimize.minimize` finds out by itself: trust-constr gets the constraints' Jacobian and the Lagrangian's Hessian as
sparse matrices, exact and compiled. With cyipopt, `method="ipopt"` takes the same problem.

    python examples/cart_pole.py [--steps 40] [--method trust-constr]
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

SECONDS = 2.0
CART, POLE, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81
START, END = np.array([0.0, 0.0, 0.0, 0.0]), np.array([1.0, np.pi, 0.0, 0.0])  # place, angle, and their speeds


class Plan(NamedTuple):
    states: Any
    forces: Any
    effort: float
    defects: Any


def rates(state: Any, force: Any) -> Any:
    """How fast states change under forces; any number of them along the first axes."""
    angle, speed, turning = state[..., 1], state[..., 2], state[..., 3]
    sin, cos = np.sin(angle), np.cos(angle)
    mass = CART + POLE * sin**2
    push = (force + POLE * sin * (LENGTH * turning**2 + GRAVITY * cos)) / mass
    return np.stack([speed, turning, push, -(push * cos + GRAVITY * sin) / LENGTH], -1)


def parts(unknowns: Any, steps: int) -> tuple[Any, Any]:
    """The states, one more than there are steps, and the forces."""
    return unknowns[: 4 * steps + 4].reshape(steps + 1, 4), unknowns[4 * steps + 4 :]


def effort(unknowns: Any, steps: int) -> Any:
    """The force squared, over time."""
    return (parts(unknowns, steps)[1] ** 2).sum() * SECONDS / steps


def defects(unknowns: Any, steps: int) -> Any:
    """What is zero where the states follow from one another, from the start to the end."""
    states, forces = parts(unknowns, steps)
    before, step = states[:-1], SECONDS / steps
    first = rates(before, forces)
    second = rates(before + step * first, forces)
    moved = before + 0.5 * step * (first + second)
    return np.concatenate([states[0] - START, (states[1:] - moved).reshape(-1), states[-1] - END])


def guess(steps: int) -> Any:
    """Straight from the start to the end, without force."""
    states = START + np.linspace(0, 1, steps + 1)[:, None] * (END - START)
    return np.concatenate([states.reshape(-1), np.zeros(steps)])


def solve(steps: int, method: str = "trust-constr") -> Any:
    """The plan of least effort, as SciPy's result."""
    return wg.optimize.minimize(
        lambda z: effort(z, steps), guess(steps), method=method,
        constraints={"type": "eq", "fun": lambda z: defects(z, steps)}, options={"maxiter": 500},
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> Plan:
    """Runs the example, checks and prints what it finds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--method", default="trust-constr", choices=["trust-constr", "SLSQP", "ipopt"])
    options = parser.parse_args(arguments)
    found = solve(options.steps, options.method)
    unknowns = np.asarray(found.x)
    plan = Plan(*parts(unknowns, options.steps), float(found.fun), defects(unknowns, options.steps))
    pattern = wg.sparsity(lambda z: defects(z, options.steps))(unknowns)
    print(f"{len(unknowns)} unknowns, {pattern.shape[0]} constraints with {pattern.nnz} entries in their Jacobian")
    print(f"effort {plan.effort:.2f}, largest force {abs(plan.forces).max():.2f}")
    print(f"ends at a height of {-np.cos(plan.states[-1, 1]):.4f} pole lengths, place {plan.states[-1, 0]:.4f}")
    assert abs(plan.defects).max() < 1e-6, "the states follow from one another"
    return plan


if __name__ == "__main__":
    main()
