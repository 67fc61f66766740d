"""Writes casplan.c: the cost of examples/pendulum.py and its gradient, by CasADi. Needs `pip install casadi`."""

from __future__ import annotations

import casadi

HORIZON, STEP = 40, 0.02

state, forces = casadi.SX.sym("state", 2), casadi.SX.sym("forces", HORIZON)
angle, speed = state[0], state[1]
off = 0
for k in range(HORIZON):
    speed = speed + STEP * (forces[k] - 9.81 * casadi.sin(angle) - 0.05 * speed)
    angle = angle + STEP * speed
    off = off + 20.0 * (1.0 + casadi.cos(angle)) + 0.5 * speed**2 + 0.01 * forces[k] ** 2
cost = STEP * off + 20.0 * (1.0 + casadi.cos(angle)) + speed**2
casadi.Function("casplan", [state, forces], [cost, casadi.gradient(cost, forces)]).generate("casplan.c")
