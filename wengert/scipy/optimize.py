"""`scipy.optimize`: roots, minima and fits."""

from __future__ import annotations

from typing import Any

from ._followed import followed
from ._namespace import namespace
from ._solvers import (
    bisect,
    brenth,
    brentq,
    curve_fit,
    fsolve,
    least_squares,
    leastsq,
    linear_sum_assignment,
    lsq_linear,
    minimize,
    minimize_scalar,
    newton,
    nnls,
    ridder,
    root,
    root_scalar,
    toms748,
)

_FUNCTIONS = (
    bisect, brenth, brentq, curve_fit, fsolve, least_squares, leastsq, linear_sum_assignment, lsq_linear, minimize,
    minimize_scalar, newton, nnls, ridder, root, root_scalar, toms748,
)  # fmt: skip
OURS: dict[str, Any] = {f.__name__: f for f in _FUNCTIONS}
OURS |= followed("scipy.optimize", "rosen rosen_der rosen_hess rosen_hess_prod fixed_point")
_GLOBAL = "minimize from what it finds, outside of what is followed"
NEAR = {
    "fmin": "minimize", "fmin_bfgs": "minimize", "fmin_l_bfgs_b": "minimize", "fmin_cg": "minimize",
    "broyden1": "root",
    "newton_krylov": "root",
    "linprog": "minimize with method='SLSQP'", "basinhopping": _GLOBAL, "differential_evolution": _GLOBAL,
    "dual_annealing": _GLOBAL, "shgo": _GLOBAL, "brute": _GLOBAL, "approx_fprime": "wg.grad",
}  # fmt: skip

__getattr__, __dir__ = namespace(__name__, OURS, near=NEAR)
