"""Special functions on one element: mostly calls of SciPy's, in double precision.

SciPy's ufuncs, which NumPy's kernels use, are made of the same functions, so values agree to the last bit in float64.
Where `approximations.py` has a formula, exported programs use it, and so does code in memory where the formula is as
exact and can be vectorised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...refine import PARTS
from ...special_numerics import KV_FAR, STIRLING
from ..ir.builder import Builder
from ..ir.loops import Operand, Typed
from . import gamma_function, log_gamma
from .approximations import IN_VECTORS, SLOW_ALONE, STANDING
from .numbers import Number, Some, operand
from .scalars import Rule, f64, is_nan, larger, smaller
from .single_precision import SHORT
from .standalone import is_alone

# from the primitive's name to SciPy's
_NAMES = {
    **{name: name for name in (
        "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr", "gamma", "expi", "exp1", "i0", "i1", "i0e",
        "i1e", "gammainc", "gammaincc", "betainc", "betaincc", "gammaincinv", "betaincinv",
    )},
    "digamma": "psi",
}  # fmt: skip
# functions of a real order: for these whole ones SciPy has more exact ones
_WHOLE = {
    "jv": ("j0", "j1"), "yv": ("y0", "y1"), "iv": ("i0", "i1"), "ive": ("i0e", "i1e"), "kv": ("k0", "k1"),
    "kve": ("k0e", "k1e"),
}  # fmt: skip


def call(b: Builder, name: str, t: str, *xs: Operand) -> Operand:
    """SciPy's function of doubles, for operands of a type."""
    wide = [b.convert("f64", t, x) for x in xs]
    is_ours = name in IN_VECTORS and not (b.is_single and name in SLOW_ALONE)
    if name in STANDING and (is_alone() or is_ours):
        return b.convert(t, "f64", STANDING[name](b, *wide))
    return b.convert(t, "f64", b.call(f"special.{name}", [*[Typed("f64", x) for x in wide], Typed("i32", 0)], "f64"))


def of_scipy(b: Builder, name: str, *xs: Some) -> Number:
    """SciPy's function of numbers of float64, as a number."""
    return Number(b, call(b, name, "f64", *map(operand, xs)))


def _plain(name: str) -> Rule:
    return lambda b, t, attrs, *xs: call(b, name, t, *xs)


def _with_order(name: str, whole: tuple[str, ...]) -> Callable[..., Operand]:
    def rule(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
        (order,) = attrs
        if order in (0, 1):
            return call(b, whole[int(order)], t, x)
        wide = [Typed("f64", float(order)), Typed("f64", b.convert("f64", t, x))]
        return b.convert(t, "f64", b.call(f"special.{name}", [*wide, Typed("i32", 0)], "f64"))

    return rule


# -- where SciPy gives up, as NumPy's kernels have it ------------------------------------------------------------------

_TINY = 2.0**-1022


def _lgamma(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    if not (b.is_single or is_alone()):
        return b.convert(t, "f64", log_gamma.log_gamma(Number(b, b.convert("f64", t, x))).x)
    size = b.let("abs", t, x)
    is_tiny = b.both(b.let("lt", t, size, _TINY), b.let("gt", t, size, 0.0))
    small = b.let("neg", t, b.let("log", t, b.select(t, is_tiny, size, 1.0)))
    return b.select(t, is_tiny, small, call(b, "gammaln", t, x))


def _kv(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    found = b.var(t, math.nan)
    with b.when(b.let("gt", t, x, KV_FAR)):
        scaled = _with_order("kve", _WHOLE["kve"])(b, t, attrs, x)
        b.set(found, b.let("mul", t, scaled, b.let("exp", t, b.let("neg", t, x))))
    with b.when(is_nan(b, t, b.get(found))):
        b.set(found, _with_order("kv", _WHOLE["kv"])(b, t, attrs, x))
    return b.get(found)


# -- the beta function, as NumPy's kernel has it: by Stirling's formula where SciPy's large terms cancel ---------------

_LARGE = 10.0


def _beyond_stirling(b: Builder, x: Operand) -> Operand:
    square, total = f64(b, "div", 1.0, f64(b, "mul", x, x)), 0.0
    for coefficient in reversed(STIRLING):
        total = f64(b, "add", f64(b, "mul", total, square), coefficient)
    return f64(b, "div", total, x)


def _betaln_of_large(b: Builder, x: Operand, y: Operand) -> Operand:
    """log(beta(x, y)) for 0 < x <= y and y large."""
    whole, beyond = f64(b, "add", x, y), _beyond_stirling(b, y)
    low, high = smaller(b, "f64", x, _LARGE), larger(b, "f64", x, _LARGE)
    one = f64(b, "sub", f64(b, "add", _lgamma(b, "f64", (), low), low), f64(b, "mul", low, f64(b, "log", whole)))
    tail = f64(b, "log1p", f64(b, "div", f64(b, "neg", low), whole))
    one = f64(b, "add", one, f64(b, "mul", f64(b, "sub", y, 0.5), tail))
    one = f64(b, "sub", f64(b, "add", one, beyond), _beyond_stirling(b, f64(b, "add", low, y)))
    rest = f64(b, "sub", f64(b, "add", _beyond_stirling(b, high), beyond), _beyond_stirling(b, f64(b, "add", high, y)))
    share = f64(b, "div", high, y)
    two = f64(b, "mul", 0.5, f64(b, "sub", math.log(2 * math.pi), f64(b, "log", y)))
    part = f64(b, "log", f64(b, "div", share, f64(b, "add", 1.0, share)))
    two = f64(b, "add", two, f64(b, "mul", f64(b, "sub", high, 0.5), part))
    two = f64(b, "add", f64(b, "sub", two, f64(b, "mul", y, f64(b, "log1p", share))), rest)
    return b.select("f64", f64(b, "lt", x, _LARGE), one, two)


def _beta(name: str) -> Rule:
    def rule(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
        x, y = b.convert("f64", t, x), b.convert("f64", t, y)
        low, high = smaller(b, "f64", x, y), larger(b, "f64", x, y)
        is_large = b.both(f64(b, "gt", high, _LARGE), f64(b, "lt", high, math.inf))
        is_large = b.both(is_large, f64(b, "gt", low, 0.0))
        found = b.var("f64", 0.0)
        with b.when(is_large) as branch:
            ours = _betaln_of_large(b, low, high)
            b.set(found, f64(b, "exp", ours) if name == "beta" else ours)
        with b.inside(branch.other):
            b.set(found, call(b, name, "f64", x, y))
        return b.convert(t, "f64", b.get(found))

    return rule


def _poch(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand, y: Operand) -> Operand:
    """gamma(x + y) / gamma(x) for positive x and x + y, as NumPy's kernel has it: moved up, then by a series."""
    low, step = b.convert("f64", t, x), b.convert("f64", t, y)
    is_inside = b.both(f64(b, "gt", low, 0.0), f64(b, "gt", f64(b, "add", low, step), 0.0))
    low, step = b.select("f64", is_inside, low, 1.0), b.select("f64", is_inside, step, 1.0)
    factor: Operand = 1.0
    for k in range(int(_LARGE)):
        place = f64(b, "add", low, float(k))
        factor = f64(b, "mul", factor, f64(b, "div", place, f64(b, "add", f64(b, "add", low, step), float(k))))
    low = f64(b, "add", low, _LARGE)
    high = f64(b, "add", low, step)
    exponent = f64(b, "mul", step, f64(b, "log", high))
    grown = f64(b, "log1p", f64(b, "div", step, low))
    exponent = f64(b, "sub", f64(b, "add", exponent, f64(b, "mul", f64(b, "sub", low, 0.5), grown)), step)
    exponent = f64(b, "sub", f64(b, "add", exponent, _beyond_stirling(b, high)), _beyond_stirling(b, low))
    value = f64(b, "mul", factor, f64(b, "exp", exponent))
    return b.convert(t, "f64", b.select("f64", is_inside, value, math.nan))


def _hazard(b: Builder, t: str, attrs: tuple[Any, ...], x: Operand) -> Operand:
    tail = call(b, "erfcx", t, b.let("mul", t, x, -math.sqrt(0.5)))
    return b.let("div", t, math.sqrt(2 / math.pi), tail)


_SHORT = {**SHORT, "gamma": gamma_function.gamma, "lgamma": log_gamma.short}


def _or_short(name: str, rule: Rule) -> Rule:
    """A rule, or that of float32 where there is one."""
    short = _SHORT.get(name)
    if short is None:
        return rule
    return lambda b, t, attrs, *xs: short(b, *xs) if t == "f32" else rule(b, t, attrs, *xs)


_RULES: dict[str, Rule] = {
    **{name: _beta(name) for name in ("beta", "betaln")},
    **{PARTS[name][0]: rule for name, rule in gamma_function.PLAIN.items()},
    "poch": _poch,
    "normal_hazard": _hazard,
    **{name: _plain(scipys) for name, scipys in _NAMES.items()},
    **{name: _with_order(name, whole) for name, whole in _WHOLE.items()},
    "lgamma": _lgamma,
    "kv": _kv,
}
IN_PROCESS = {name: _or_short(name, rule) for name, rule in _RULES.items()}
