"""Between which whole numbers the elements of a graph's values lie, where the graph itself tells: what is clipped,
counted or found by a search. Positions that are known to lie within an array are not looked through before they are
used (`check_range` in `maps.py`), so that they need not be in memory for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...._core.graph import Node
from ...._core.tensor import Value
from ..ir.builder import Builder
from .forms import Form

Bounds = tuple[int, int]
Of = Callable[[int], "Bounds | None"]  # from the number of an operand to its bounds

DEEP = 32  # nodes from a position to what bounds it, at most
MOST_READ = 1 << 22  # elements of a constant that are looked at

# primitives that look positions up
LOOKING = frozenset({
    "gather", "take_along", "permute_along", "scatter_add", "scatter_set", "scatter_max", "scatter_min", "scatter_mul",
    "last_writes", "buffer_get", "buffer_set", "buffer_add",
})  # fmt: skip


MakerOf = Callable[[Value], "Node | None"]  # the node that makes a value; None of an input


class IndexBounds:
    """The bounds of a graph's whole numbers."""

    def __init__(self) -> None:
        self._found: dict[int, Bounds | None] = {}

    def tell(self, b: Builder, node: Node, forms: Sequence[Form], maker_of: MakerOf) -> None:
        """Remembers the bounds of the whole numbers that a node looks up, by their forms."""
        for value, form in zip(node.inputs, forms, strict=True):
            found = self._of(value, maker_of)
            if found is not None:
                b.remember(("bounds", form), found)

    def _of(self, value: Value, maker_of: MakerOf, depth: int = 0) -> Bounds | None:
        """The least and the largest that an element may be; None where nothing is known."""
        if value.dtype.kind not in "biu" or depth > DEEP:
            return None
        if value.key not in self._found:
            self._found[value.key] = self._computed(value, maker_of, depth)
        return self._found[value.key]

    def _computed(self, value: Value, maker_of: MakerOf, depth: int) -> Bounds | None:
        if value.dtype.kind == "b":
            return 0, 1
        node = maker_of(value)
        rule = None if node is None else _RULES.get(node.op.name)
        if node is None or rule is None:
            return None
        found = rule(node, lambda k: self._of(node.inputs[k], maker_of, depth + 1))
        info = np.iinfo(value.dtype)
        return found if found is not None and info.min <= found[0] and found[1] <= info.max else None


def _constant(node: Node, of: Of) -> Bounds | None:
    value = np.asarray(node.attrs[0])
    return (int(value.min()), int(value.max())) if 0 < value.size <= MOST_READ else None


def _full(node: Node, of: Of) -> Bounds | None:
    value = node.attrs[1]
    return (int(value), int(value)) if isinstance(value, (int, np.integer)) else None


def _below(size: Any) -> Bounds | None:
    """Numbers from 0 on, fewer than a size; of an extent that only a call tells nothing is known."""
    return (0, max(size - 1, 0)) if type(size) is int else None


def _search(node: Node, of: Of) -> Bounds | None:
    size = node.inputs[0].shape[-1]
    return (0, size) if type(size) is int else None


def _by_corners(apply: Callable[[int, int], int]) -> Callable[[Node, Of], Bounds | None]:
    """The rule of what is least and largest at ends of its two operands' bounds."""

    def rule(node: Node, of: Of) -> Bounds | None:
        xs, ys = of(0), of(1)
        if xs is None or ys is None:
            return None
        corners = [apply(x, y) for x in xs for y in ys]
        return min(corners), max(corners)

    return rule


def _with_number(apply: Callable[[int, int], int]) -> Callable[[Node, Of], Bounds | None]:
    def rule(node: Node, of: Of) -> Bounds | None:
        xs, number = of(0), node.attrs[0]
        if xs is None or int(number) != number:
            return None
        ends = [apply(x, int(number)) for x in xs]
        return min(ends), max(ends)

    return rule


def _clip(node: Node, of: Of) -> Bounds | None:
    """The upper bound wins where it is the smaller of the two."""
    low, high = of(1), of(2)
    if low is None or high is None:
        return None
    x = of(0) or (min(low[0], high[0]), max(low[1], high[1]))
    return min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1])


def _half_open(keeps: Callable[[int, int], int], side: int) -> Callable[[Node, Of], Bounds | None]:
    """The rule of a maximum or a minimum: known on one side where one operand is."""

    def rule(node: Node, of: Of) -> Bounds | None:
        xs, ys = of(0), of(1)
        if xs is None or ys is None:
            info, known = np.iinfo(node.outputs[0].dtype), xs or ys
            if known is None:
                return None
            return (known[0], int(info.max)) if side == 0 else (int(info.min), known[1])
        return keeps(xs[0], ys[0]), keeps(xs[1], ys[1])

    return rule


def _remainder(node: Node, of: Of) -> Bounds | None:
    """By positive numbers; it has their sign."""
    divisor = of(1)
    return (0, divisor[1] - 1) if divisor is not None and divisor[0] > 0 else None


def _quotient(node: Node, of: Of) -> Bounds | None:
    divisor = of(1)
    return _by_corners(lambda x, y: x // y)(node, of) if divisor is not None and divisor[0] > 0 else None


def _joined(*operands: int) -> Callable[[Node, Of], Bounds | None]:
    """The rule of what has elements of these operands (of all where none is named)."""

    def rule(node: Node, of: Of) -> Bounds | None:
        found = [of(k) for k in (operands or range(len(node.inputs)))]
        known = [bounds for bounds in found if bounds is not None]
        if not known or len(known) < len(found):
            return None
        return min(low for low, _ in known), max(high for _, high in known)

    return rule


def _padded(node: Node, of: Of) -> Bounds | None:
    x = of(0)
    return None if x is None else (min(x[0], 0), max(x[1], 0))


_first = _joined(0)

_RULES: dict[str, Callable[[Node, Of], Bounds | None]] = {
    "constant": _constant,
    "full": _full,
    "absent": lambda node, of: (0, 0),
    "iota": lambda node, of: _below(node.attrs[0]),
    "searchsorted": _search,
    **dict.fromkeys(("argsort", "argmax", "argmin"), lambda node, of: _below(node.inputs[0].shape[node.attrs[0]])),
    "add": _by_corners(lambda x, y: x + y),
    "sub": _by_corners(lambda x, y: x - y),
    "mul": _by_corners(lambda x, y: x * y),
    "add_number": _with_number(lambda x, y: x + y),
    "times_number": _with_number(lambda x, y: x * y),
    "neg": lambda node, of: (lambda x: None if x is None else (-x[1], -x[0]))(of(0)),
    "maximum": _half_open(max, 0),
    "minimum": _half_open(min, 1),
    "clip": _clip,
    "mod": _remainder,
    "floor_divide": _quotient,
    "select": _joined(1, 2),
    "concatenate": _joined(),
    "pad": _padded,
    **dict.fromkeys(
        ("convert", "alias", "barrier", "stop_gradient", "reshape", "transpose", "broadcast_to", "slice", "row", "flip",
         "diagonal", "gather", "take_along", "permute_along", "sort", "cummax", "cummin", "reduce_max", "reduce_min"),
        _first,
    ),
}  # fmt: skip

__all__ = ["LOOKING", "IndexBounds"]
