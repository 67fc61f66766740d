"""Special functions on one element: SciPy's own, called in double precision.

SciPy's ufuncs, which NumPy's kernels use, are made of the same functions, so values agree to the last bit in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..builder import Builder
from ..loops import Operand, Typed
from .scalars import SCALARS, Rule

# from the primitive's name to SciPy's
_NAMES = {
    **{name: name for name in (
        "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr", "gamma", "beta", "betaln", "expi", "exp1", "i0", "i1", "i0e",
        "i1e", "gammainc", "gammaincc", "betainc", "betaincc", "gammaincinv", "betaincinv",
    )},
    "digamma": "psi", "lgamma": "gammaln",
}  # fmt: skip
# functions of a real order: for these whole ones SciPy has more exact ones
_WHOLE = {
    "jv": ("j0", "j1"), "yv": ("y0", "y1"), "iv": ("i0", "i1"), "ive": ("i0e", "i1e"), "kv": ("k0", "k1"),
    "kve": ("k0e", "k1e"),
}  # fmt: skip


def call(b: Builder, name: str, t: str, *xs: Operand) -> Operand:
    """SciPy's function of doubles, for operands of a type."""
    wide = [Typed("f64", b.convert("f64", t, x)) for x in xs]
    return b.convert(t, "f64", b.call(f"special.{name}", [*wide, Typed("i32", 0)], "f64"))


def _plain(name: str) -> Rule:
    return lambda b, t, attrs, *xs: call(b, name, t, *xs)


def _with_order(name: str, whole: tuple[str, ...]) -> Callable[..., Operand]:
    def rule(b: Builder, t: str, attrs: Any, x: Operand) -> Operand:
        (order,) = attrs
        if order in (0, 1):
            return call(b, whole[int(order)], t, x)
        wide = [Typed("f64", float(order)), Typed("f64", b.convert("f64", t, x))]
        return b.convert(t, "f64", b.call(f"special.{name}", [*wide, Typed("i32", 0)], "f64"))

    return rule


SCALARS.update({name: _plain(scipys) for name, scipys in _NAMES.items()})
SCALARS.update({name: _with_order(name, whole) for name, whole in _WHOLE.items()})
