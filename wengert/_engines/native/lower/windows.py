"""Windows that slide over the last axes: sums, their adjoint, and the places of extrema; additions along the last axis.

What lies outside an operand counts as zero in a sum and never holds the extremum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...._core.graph import Node
from ..builder import Builder
from ..forms import Form, Index, count_of, flat_place
from ..loops import FLOATS, INDEX, Operand
from .blocks import SINGLES, Block
from .factorisations import loops_over
from .maps import wrapped
from .reduces import in_order
from .scalars import is_nan


class _Windows(NamedTuple):
    """Where the windows lie along the last axes."""

    sizes: tuple[Operand, ...]
    window: tuple[Operand, ...]
    strides: tuple[int, ...]
    low: tuple[Operand, ...]
    dilation: tuple[int, ...]
    is_padded: bool  # if not, all elements of all windows are there

    def places(self, b: Builder, positions: Index, taps: Index) -> tuple[Operand, Index]:
        """Whether the element of a window is there, and at which index (a valid one only if it is)."""
        inside: Operand = True
        places: list[Operand] = []
        columns = (self.sizes, self.strides, self.low, self.dilation, positions, taps)
        for size, stride, low, gap, p, k in zip(*columns, strict=True):
            place = b.sub(b.add(b.mul(p, stride), b.mul(k, gap)), low)
            if self.is_padded:
                inside = b.both(inside, b.both(b.let("ge", "i64", place, 0), b.let("lt", "i64", place, size)))
            places.append(place)
        return inside, (*places,)


@contextmanager
def _inside(b: Builder, cond: Operand) -> Any:
    """What is emitted inside runs if cond, which may be known already."""
    if cond is True:
        yield
    else:
        with b.when(cond):
            yield


def _geometry(sizes: Sequence[Operand], attrs: Sequence[Any]) -> _Windows:
    window, strides, padding, dilation = attrs
    is_padded = any(not (type(n) is int and n == 0) for pair in padding for n in pair)
    return _Windows((*sizes,), (*window,), strides, (*[low for low, _ in padding],), dilation, is_padded)


def _window_sum(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, x = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    rank = len(node.attrs[0])
    windows = _geometry(x.shape[-rank:] if rank else (), block.attrs(node))
    lead = len(x.shape) - rank
    with loops_over(b, target.shape) as index:
        total = b.var(x.type, _zero(x.type))
        with loops_over(b, windows.window) as taps:
            is_there, places = windows.places(b, index[lead:], taps)
            with _inside(b, is_there):
                b.set(total, b.let("add", x.type, b.get(total), x.at(b, (*index[:lead], *places))))
        target.store(b, index, b.get(total))
    return [target]


def _window_spread(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, x = block.b, block.stored(forms[0])
    target = block.room(node.outputs[0])
    sizes, *geometry = block.attrs(node)
    windows = _geometry(sizes, geometry)
    lead = len(x.shape) - len(sizes)
    b.fill(target.array, target.offset, count_of(b, target.shape))
    with loops_over(b, x.shape) as index:
        value = x.at(b, index)
        with loops_over(b, windows.window) as taps:
            is_there, places = windows.places(b, index[lead:], taps)
            with _inside(b, is_there):
                place = (*index[:lead], *places)
                target.store(b, place, b.let("add", x.type, target.at(b, place), value))
    return [target]


def _zero(type_: str) -> Operand:
    return 0.0 if type_ in FLOATS else 0


def _window_place(wins: str) -> Callable[..., Sequence[Form]]:
    """The first place of each window's extremum; of NaN the first."""

    def rule(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
        b, x = block.b, block.stored(forms[0])
        target = block.room(node.outputs[0])
        rank = len(node.attrs[0])
        windows = _geometry(x.shape[-rank:] if rank else (), block.attrs(node))
        lead = len(x.shape) - rank
        with loops_over(b, target.shape) as index:
            found, best = b.var("i64", -1), b.var(x.type, _zero(x.type))
            with loops_over(b, windows.window) as taps:
                is_there, places = windows.places(b, index[lead:], taps)
                with _inside(b, is_there):
                    value, held = x.at(b, (*index[:lead], *places)), b.get(best)
                    better = b.let(wins, x.type, value, held)
                    if x.type in FLOATS:
                        better = b.either(better, is_nan(b, x.type, value))
                        better = b.both(better, b.negated(is_nan(b, x.type, held)))
                    better = b.either(better, b.let("lt", "i64", b.get(found), 0))
                    place = flat_place(b, windows.sizes, places)
                    b.set(best, b.select(x.type, better, value, held))
                    b.set(found, b.select("i64", better, place, b.get(found)))
            target.store(b, index, b.convert(target.type, "i64", b.get(found)))
        return [target]

    return rule


def _add_along(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b = block.b
    x, places = block.stored(forms[0]), block.stored(forms[1])
    target = block.room(node.outputs[0])
    size = target.shape[-1]
    b.fill(target.array, target.offset, count_of(b, target.shape))
    with loops_over(b, x.shape) as index:
        place = b.convert("i64", places.type, places.at(b, index))
        outside = b.either(b.let("lt", "i64", place, b.sub(0, size)), b.let("ge", "i64", place, size))
        with b.when(outside):
            b.leave(INDEX)
        where = (*index[:-1], wrapped(b, place, size))
        target.store(b, where, in_order(b, x.type, target.at(b, where), x.at(b, index)))
    return [target]


SINGLES.update({
    "window_sum": _window_sum, "window_spread": _window_spread, "window_argmax": _window_place("gt"),
    "window_argmin": _window_place("lt"), "add_along": _add_along,
})  # fmt: skip
