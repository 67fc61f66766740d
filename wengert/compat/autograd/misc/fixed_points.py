"""`fixed_point`: where an iteration ends, differentiated by the equation that holds there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._core.argument_types import ArrayLike
from ..core import defvjp, make_vjp, vspace
from ..tracer import primitive


@primitive
def fixed_point(f: Callable[..., Any], a: ArrayLike, x0: ArrayLike, distance: Callable[..., Any], tol: float) -> Any:
    """The x at which `f(a)(x)` is x, found from x0 by iteration until `distance` of two steps is less than `tol`."""
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


def _pull_back(ans: object, f: Any, a: ArrayLike, x0: ArrayLike, distance: Any, tol: float) -> Callable[[Any], Any]:
    def vjp(g: object) -> Any:
        of_a, _ = make_vjp(lambda a: f(a)(ans), a)
        of_x, _ = make_vjp(lambda x: f(a)(x), ans)
        adjoint = fixed_point(lambda g: lambda u: vspace(g).add(g, of_x(u)), g, vspace(x0).zeros(), distance, tol)
        return of_a(adjoint)

    return vjp


defvjp(fixed_point, None, _pull_back, None)

__all__ = ["fixed_point"]
