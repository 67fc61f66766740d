"""Checks of derivatives against differences."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..._core.argument_types import ArrayLike
from .core import make_jvp, make_vjp, vspace
from .wrap_util import get_name, unary_to_nary

TOL, RTOL, EPS = 1e-6, 1e-6, 1e-6


def scalar_close(a: float, b: float) -> bool:
    """Whether two numbers agree."""
    return abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL


def make_numerical_jvp(f: Callable[..., Any], x: object) -> Callable[[Any], Any]:
    """The derivative along a direction, by central differences."""
    space, of = vspace(x), vspace(f(x))

    def at(v: object, step: float) -> Any:
        return f(space.add(x, space.scalar_mul(v, step)))

    return lambda v: of.scalar_mul(of.add(at(v, EPS / 2), of.scalar_mul(at(v, -EPS / 2), -1.0)), 1.0 / EPS)


def check_vjp(f: Callable[..., Any], x: object) -> None:
    """Compares a vector-Jacobian product with differences, along a random direction."""
    vjp, y = make_vjp(f, x)
    space, of = vspace(x), vspace(y)
    x_v, y_v = space.randn(), of.randn()
    found = vjp(of.covector(y_v))
    assert space == vspace(found), f"Vector spaces don't match: {vspace(found)} {space}"
    wanted = of.inner_prod(make_numerical_jvp(f, x)(x_v), y_v)
    got = space.inner_prod(x_v, space.covector(found))
    assert scalar_close(wanted, got), f"Derivative (VJP) check of {get_name(f)} failed at {x}: {got}, numeric {wanted}"


def check_jvp(f: Callable[..., Any], x: object) -> None:
    """Compares a Jacobian-vector product with differences, along a random direction."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], make_numerical_jvp(f, x)(v))


def check_equivalent(x: object, y: ArrayLike) -> None:
    """Checks that two values lie in the same space at the same place."""
    space, other = vspace(x), vspace(y)
    assert space == other, f"VSpace mismatch:\nx: {space}\ny: {other}"
    v = space.randn()
    assert scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)), f"Value mismatch:\nx: {x}\ny: {y}"


@unary_to_nary
def check_grads(f: Callable[..., Any], x: object, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """
    Returns a function which checks the derivatives of `f`, in both modes and up to an order.
    """
    assert all(m in ("fwd", "rev") for m in modes)
    for mode, check in (("fwd", check_jvp), ("rev", check_vjp)):
        if mode in modes:
            check(f, x)
        if mode in modes and order > 1:
            direction = vspace(x if mode == "fwd" else f(x)).randn()
            check_grads(_derived(f, mode), (0, 1), modes, order=order - 1)(x, direction)


def _derived(f: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """The derivative of f along a direction, or its gradient for a cotangent, as a function of x and that."""

    def derived(x: object, v: object) -> Any:
        return make_jvp(f, x)(v)[1] if mode == "fwd" else make_vjp(f, x)[0](v)

    derived.__name__ = f"{'jvp' if mode == 'fwd' else 'vjp'}_{get_name(f)}"
    return derived


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """A function that checks the derivatives at all combinations of the arguments that it is given lists of."""

    def check(*choices: Any, **named: Any) -> None:
        for chosen, values in itertools.product(itertools.product(*choices), itertools.product(*named.values())):
            extra = dict(zip(named, values))
            check_grads(lambda *a, extra=extra: fun(*a, **extra), *args, **kwargs)(*chosen)

    return check


def quick_grad_check(fun: Callable[..., Any], arg0: Any, extra_args: Any = (), kwargs: Any = None, **_: object) -> None:
    """Deprecated: checks a gradient against differences."""
    warnings.warn("quick_grad_check is deprecated, use test_util.check_grads", DeprecationWarning, stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)


__all__ = [
    "check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check", "make_numerical_jvp",
    "quick_grad_check", "scalar_close",
]  # fmt: skip
