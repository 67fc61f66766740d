"""The domains of attributes: which values may stand in the declaration of a node, and which fit its operands.

Machine code and NumPy's strided views trust attributes: a slice that ends behind its array reads what lies there. The
type rules say what comes out of an op and know nothing of that, for the ops layer has seen to it. But a file comes from
elsewhere. So each attribute's name has a domain here, each op whose attributes depend on its operands has a `check`
(`_core/op.py`), and the verifier asks both: of every graph that is loaded, and in tests of every graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .argument_types import ArrayLike
from .dims import Dim, DimLike, Monomial, is_frameworks_dim
from .state import STATE
from .types import TensorType

LARGEST = 2**62  # sizes and places beyond it do not fit the machine's integers when they are added

Predicate = Callable[[Any], bool]


def is_whole(value: object) -> bool:
    """An integer, and no truth value."""
    return isinstance(value, (int, np.integer)) and type(value) is not bool and bool(-LARGEST < value < LARGEST)


def _is_count(value: Any) -> bool:
    return is_whole(value) and value >= 0


def _is_extent(value: object) -> bool:
    return isinstance(value, Dim) or _is_count(value) or is_frameworks_dim(value)


def _is_offset(value: object) -> bool:
    return isinstance(value, Dim) or is_whole(value) or is_frameworks_dim(value)


def is_number(value: object) -> bool:
    """A number of Python or NumPy, a truth value among them."""
    return isinstance(value, (bool, int, float, complex, np.generic))


def _is_flag(value: object) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_LARGEST_ORDER = 1_000  # far beyond what float64 holds: 170! is finite, 171! is not


def _each(predicate: Predicate) -> Predicate:
    return lambda value: isinstance(value, tuple) and all(map(predicate, value))


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_offset, value))


def _is_place(value: object) -> bool:
    """An entry of a buffer's template."""
    if isinstance(value, tuple):
        return len(value) == 3 and _is_offset(value[0]) and _is_offset(value[1]) and is_whole(value[2])
    return value is None or _is_offset(value)


def _is_order(value: int) -> bool:
    """The order of a derivative, for which kernels do as many steps."""
    return is_whole(value) and 0 <= value <= _LARGEST_ORDER


def _is_anything(value: object) -> bool:
    return True


_WHOLES, _EXTENTS, _OFFSETS = _each(is_whole), _each(_is_extent), _each(_is_offset)

# By name: one name means one thing in all declarations. Regions, arrays and dtypes are checked where they are decoded.
DOMAINS: dict[str, tuple[str, Predicate]] = {
    **dict.fromkeys(("axis", "k", "trans", "position"), ("an integer", is_whole)),
    **dict.fromkeys(("axes", "perm"), ("integers", _WHOLES)),
    **dict.fromkeys(("window", "strides", "lhs_dilation", "rhs_dilation", "dilation"), ("integers", _WHOLES)),
    **dict.fromkeys(("groups", "batch_groups"), ("a count", _is_count)),
    "interior": ("counts", _each(_is_count)),
    "padding": ("pairs of integers", _each(_is_pair)),
    **dict.fromkeys(("shape", "extents", "sizes"), ("extents", _EXTENTS)),
    **dict.fromkeys(("size", "height", "count"), ("an extent", _is_extent)),
    **dict.fromkeys(("starts", "limits", "low", "high"), ("integers", _OFFSETS)),
    "dim": ("an integer", _is_offset),
    "template": ("a place", _each(_is_place)),
    **dict.fromkeys(
        ("descending", "reverse", "inverse", "right", "lower", "upper", "unit_diagonal", "or_nan", "is_adjoint"),
        ("True or False", _is_flag),
    ),
    **dict.fromkeys(("number", "factor", "rcond"), ("a number", is_number)),
    **dict.fromkeys(("order", "order_a", "order_b"), ("a whole number from 0 to 1,000", _is_order)),
    **dict.fromkeys(("text", "out"), ("a text", _is_text)),
    "labels": ("texts", _each(_is_text)),
    "dtype": ("a dtype", lambda value: isinstance(value, np.dtype)),
    # of `constant` an array, of `full` a number: each has a check of its own
    **dict.fromkeys(("value", "program", "branches", "spec", "back"), ("anything", _is_anything)),
}  # fmt: skip


ANY: tuple[str, Predicate] = ("", _is_anything)  # of attributes of users' primitives

# of Bessel functions the order is any number, and takes no steps
OWN_DOMAINS: dict[tuple[str, str], tuple[str, Predicate]] = {
    (op, "order"): ("a number", is_number) for op in ("jv", "yv", "iv", "ive", "kv", "kve")
}


def require_attributes(op: str, names: Sequence[str], values: Sequence[Any]) -> None:
    """Raises `ValueError` unless each attribute is in the domain of its name."""
    for name, value in zip(names, values, strict=True):
        # an attribute of a user's primitive is the user's
        wanted, fits = OWN_DOMAINS.get((op, name)) or DOMAINS.get(name, ANY)
        if not fits(value):
            raise ValueError(f"{op}: {name} is {value!r}, wanted {wanted}")


# -- what checks are written in ----------------------------------------------------------------------------------------


def require_lengths(op: str, rank: int, **attributes: Any) -> None:
    """Raises unless attributes have one entry an axis."""
    for name, value in attributes.items():
        if len(value) != rank:
            raise ValueError(f"{op}: {name} is {value}, wanted one entry for each of {rank} axes")


def require_positive(op: str, **attributes: Any) -> None:
    """Raises unless all entries of attributes are 1 or more."""
    for name, value in attributes.items():
        if any(v < 1 for v in value):
            raise ValueError(f"{op}: {name} is {value}, wanted integers of at least 1")


def require_at_most(op: str, what: str, x: DimLike, y: DimLike) -> None:
    """Raises if x is larger than y. Where only a call tells, it is a condition on the calls (`Conditions`)."""
    left = y - x
    if isinstance(left, Dim):
        conditions = getattr(STATE.builder, "conditions", None)
        if conditions is not None and not is_never_negative(left):
            conditions.append((x, y))
    elif not is_frameworks_dim(left) and left < 0:
        raise ValueError(f"{op}: {what} is {x}, wanted at most {y}")


def require_equal_extents(op: str, what: str, x: DimLike, y: DimLike) -> None:
    """Raises if x and y are known to differ."""
    left = y - x
    if not isinstance(left, Dim) and not is_frameworks_dim(left) and left:
        raise ValueError(f"{op}: {what} is {x}, wanted {y}")


def require_range(op: str, x: TensorType, starts: tuple[Any, ...], limits: tuple[Any, ...], strides: ArrayLike) -> None:
    """Raises unless slices lie in an array."""
    require_positive(op, strides=strides)
    for size, start, limit in zip(x.shape, starts, limits, strict=True):
        require_at_most(op, "0 before the start", 0, start)
        require_at_most(op, "the start before the limit", start, limit)
        require_at_most(op, "a limit", limit, size)


def is_never_negative(dim: DimLike) -> bool:
    """Whether a dimension is 0 or more, whatever its atoms are; False where that is not plain to see."""
    if not isinstance(dim, Dim):
        return dim >= 0
    return all(c > 0 and _is_extent_product(m) for m, c in dim.terms.items())


def _is_extent_product(monomial: Monomial) -> bool:
    """Whether a product is of extents and of what is computed of them without getting negative."""
    for atom in monomial:
        if atom.operation == "max":
            if not any(map(is_never_negative, atom.arguments)):
                return False
        elif atom.operation and not all(map(is_never_negative, atom.arguments)):
            return False
    return True
