"""Checks of derivatives against differences."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

from ..._core.argument_types import ArrayLike
from . import util
from .core import make_jvp, make_vjp, vspace
from .wrap_util import get_name, unary_to_nary

TOL, RTOL, EPS = 1e-6, 1e-6, 1e-6


def scalar_close(a: float, b: float) -> bool:
    """Whether two numbers agree."""
    return abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL


def make_numerical_jvp(f: Callable[..., Any], x: Any) -> Callable[[Any], Any]:
    """The derivative along a direction, by central differences."""
    space, value = vspace(x), f(x)
    of = vspace(value)

    def at(v: Any, step: float) -> Any:
        return f(space.add(x, space.scalar_mul(v, step)))

    return lambda v: of.scalar_mul(of.add(at(v, EPS / 2), of.scalar_mul(at(v, -EPS / 2), -1.0)), 1.0 / EPS)


def check_vjp(f: Callable[..., Any], x: Any) -> None:
    """Compares a vector-Jacobian product with differences, along a random direction."""
    vjp, y = make_vjp(f, x)
    space, of = vspace(x), vspace(y)
    numerical = make_numerical_jvp(f, x)
    x_v, y_v = space.randn(), of.randn()
    covector = of.covector(y_v)
    found = vjp(covector)
    found_space = vspace(found)
    assert space == found_space, f"Vector spaces don't match: {found_space} {space}"
    wanted = of.inner_prod(numerical(x_v), y_v)
    got = space.inner_prod(x_v, space.covector(found))
    assert scalar_close(wanted, got), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\nanalytic: {got}\nnumeric:  {wanted}"
    )


def check_jvp(f: Callable[..., Any], x: Any) -> None:
    """Compares a Jacobian-vector product with differences, along a random direction."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], make_numerical_jvp(f, x)(v))


def check_equivalent(x: Any, y: ArrayLike) -> None:
    """Checks that two values lie in the same space at the same place."""
    space, other = vspace(x), vspace(y)
    assert space == other, f"VSpace mismatch:\nx: {space}\ny: {other}"
    v = space.randn()
    assert scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)), f"Value mismatch:\nx: {x}\ny: {y}"


@unary_to_nary
def check_grads(f: Callable[..., Any], x: Any, modes: Any = ("fwd", "rev"), order: int = 2) -> None:
    """
    Returns a function which checks the derivatives of `f`, in both modes and up to an order.
    """
    assert all(m in ("fwd", "rev") for m in modes)
    for mode, check in (("fwd", check_jvp), ("rev", check_vjp)):
        if mode not in modes:
            continue
        check(f, x)
        if order > 1:
            derived, direction = (_jvp_of(f), vspace(x).randn()) if mode == "fwd" else (_vjp_of(f), _cotangent(f, x))
            check_grads(derived, (0, 1), modes, order=order - 1)(x, direction)


def _cotangent(f: Callable[..., Any], x: Any) -> Any:
    return vspace(f(x)).randn()


def _jvp_of(f: Callable[..., Any]) -> Callable[..., Any]:
    def derived(x: Any, v: Any) -> Any:
        return make_jvp(f, x)(v)[1]

    derived.__name__ = f"jvp_{get_name(f)}"
    return derived


def _vjp_of(f: Callable[..., Any]) -> Callable[..., Any]:
    def derived(x: Any, v: Any) -> Any:
        return make_vjp(f, x)[0](v)

    derived.__name__ = f"vjp_{get_name(f)}"
    return derived


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """A function that checks the derivatives at all combinations of the arguments that it is given lists of."""

    def check(*choices: Any, **named: Any) -> None:
        settings = [[(key, value) for value in values] for key, values in named.items()]
        for chosen, extra in itertools.product(itertools.product(*choices), itertools.product(*settings)):
            check_grads(lambda *a, extra=extra: fun(*a, **dict(extra)), *args, **kwargs)(*chosen)

    return check


def quick_grad_check(fun: Callable[..., Any], arg0: Any, extra_args: Any = (), kwargs: Any = None, **_: object) -> None:
    """Deprecated: checks a gradient against differences."""
    warnings.warn("quick_grad_check is deprecated, use test_util.check_grads", DeprecationWarning, stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)


util.quick_grad_check = quick_grad_check  # pyright: ignore[reportAttributeAccessIssue]  # where autograd has it

__all__ = [
    "check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check", "make_numerical_jvp",
    "quick_grad_check", "scalar_close",
]  # fmt: skip
