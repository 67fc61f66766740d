"""Initial value problems of ordinary differential equations, with SciPy's names; differentiable."""

# pyright: strict

from ._ivp import OdeResult, solve_ivp

__all__ = ["OdeResult", "solve_ivp"]
