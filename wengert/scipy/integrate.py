"""`scipy.integrate`: quadrature and differential equations."""

from __future__ import annotations

from typing import Any

from ._followed import followed
from ._initial_values import odeint, solve_ivp
from ._namespace import namespace
from ._quadrature import dblquad, nquad, quad, tplquad
from ._sampled_integrals import cumulative_simpson, cumulative_trapezoid, fixed_quad, romb, simpson, trapezoid

_FUNCTIONS = (
    cumulative_simpson, cumulative_trapezoid, dblquad, fixed_quad, nquad, odeint, quad, romb, simpson, solve_ivp,
    tplquad, trapezoid,
)  # fmt: skip
OURS: dict[str, Any] = {f.__name__: f for f in _FUNCTIONS}
OURS |= followed("scipy.integrate", "quad_vec cubature nsum")
NEAR = {
    "solve_bvp": "optimize.root of the collocation equations",
    "newton_cotes": "simpson or romb", "qmc_quad": "quad or nquad", "tanhsinh": "quad",
    "ode": "solve_ivp", "complex_ode": "solve_ivp, which takes complex y0",
}  # fmt: skip

__getattr__, __dir__ = namespace(__name__, OURS, near=NEAR)
