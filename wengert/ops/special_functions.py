"""The special functions that Keras names; `wengert/special.py` has SciPy's list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.op import Op
from .._prims import bessel as B
from .._prims import special as P
from .promotion import named, names_errors, unary_float


def described(
    f: Callable[..., Any], name: str, op: Op, arguments: str, example: str, module: str
) -> Callable[..., Any]:
    """Gives a function of one primitive its name and a docstring of the primitive's own facts."""
    text = op.facts.doc
    kink = f"\n\n    At kinks: {op.facts.kink}." if op.facts.kink else ""
    named(f, name)
    f.__module__ = module
    f.__doc__ = (
        f"{text[:1].upper()}{text[1:]}, element by element.{kink}\n\n    Args:\n{arguments}\n\n"
        f"    Returns:\n        The values in the kind of array that came in.\n\n"
        f"    Example:\n        >>> import wengert as wg\n        >>> {example}.shape\n        (2,)\n    "
    )
    return names_errors(f)


def of_one(name: str, op: Op, prefix: str = "wg.ops", module: str = __name__) -> Callable[[Any], Any]:
    """The function of one real argument that a primitive is."""

    def function(x: ArrayLike) -> Any:
        return unary_float(op, x)

    argument = "        x: an array of real values, or a number."
    return described(function, name, op, argument, f"{prefix}.{name}([0.25, 0.5])", module)


erf = of_one("erf", P.erf)
erfc = of_one("erfc", P.erfc)
erfinv = of_one("erfinv", P.erfinv)
i0 = of_one("i0", B.i0)

__all__ = ["erf", "erfc", "erfinv", "i0"]
