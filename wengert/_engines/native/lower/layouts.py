"""Memory layouts: the order of axes in which a rule stores its result, as its readers want it, and copies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import Address, Operand, Typed
from ..llvm.transposes import TYPES
from . import nests
from .blocks import Block
from .convolution_tiling import Axis, merged
from .factorisations import loops_over
from .forms import Extents, Stored, is_numbers
from .maps import MAPS
from .ranges import number_of
from .standalone import is_alone

LINE = 16  # elements that are copied together where an order changes
SHORT = 3  # elements side by side from which on vectors are worth it
STRIP = 64  # rows of a matrix that are transposed at a time, where there is nothing around it
PAIR = 2  # elements that take as long as what `work` counts


def readers_order(block: Block, value: Value) -> tuple[int, ...] | None:
    """The order of axes in which all readers of a value want it; None where they do not agree or take it as it is."""
    if any(v.key == value.key for v in block.graph.outputs):
        return None
    found: set[tuple[int, ...] | None] = {
        node.attrs[0] if node.op.name == "transpose" else None for node in block.readers_of(value)
    }
    return found.pop() if len(found) == 1 else None


def fresh_in(block: Block, shape: Extents, order: Sequence[int], type_: str) -> Stored:
    """A fresh array whose axes lie in an order."""
    made = block.fresh((*[shape[a] for a in order],), type_)
    strides: list[Operand] = [0] * len(order)
    for axis, step in zip(order, made.strides, strict=True):
        strides[axis] = step
    return Stored(shape, made.array, made.offset, (*strides,))


def laid_out(block: Block, value: Value) -> Stored:
    """A value in memory; one that is computed where it is read, and turned then, is stored as it is computed."""
    form = block.forms[value.key]
    if type(form) is Stored:
        return form
    node = block.maker_of(value)
    if node is not None and node.op.name in MAPS and MAPS[node.op.name].is_whole:
        viewed = MAPS[node.op.name].view(block.b, block.info(node), [laid_out(block, node.inputs[0])])
        if viewed is not None:
            return viewed
    return block.stored(form)


def memory_order(x: Stored) -> list[int]:
    """The axes, the largest step first."""
    return sorted(range(len(x.shape)), key=lambda a: -abs(number_of(x.strides[a])) if x.shape[a] != 1 else 0)


def copy_in_order(b: Builder, source: Stored, target: Stored) -> None:
    """Copies elements in the order of the target's memory, neighbouring axes as one where that can be."""
    if not is_numbers([*source.strides, *target.strides]):
        nests.copy(b, source, target)
        return
    columns = zip(target.shape, map(number_of, source.strides), map(number_of, target.strides), strict=True)
    axes = merged(sorted((Axis(*c) for c in columns), key=lambda a: -abs(a.other)))
    if _in_vectors(b, source, target, axes):
        return
    near = min(range(len(axes)), key=lambda i: abs(axes[i].step), default=-1)
    extent = axes[near].extent if axes else 0
    if near == len(axes) - 1 or type(extent) is not int or extent < LINE:
        _copy_axes(b, source, target, axes, 0)
        return
    # the elements of a line of the source are copied while it is there, to as many lines of the target
    axis, rest = axes[near], extent % LINE
    blocks = Axis(extent // LINE, LINE * axis.step, LINE * axis.other)
    others = [*axes[:near], blocks, *axes[near + 1 :]]
    _copy_axes(b, source, target, [*others, Axis(LINE, axis.step, axis.other)], 0)
    if rest:
        others = [*axes[:near], *axes[near + 1 :]]
        _copy_axes(b, source, target, [*others, Axis(rest, axis.step, axis.other)], extent - rest, axis)


def _in_vectors(b: Builder, source: Stored, target: Stored, axes: list[Axis]) -> bool:
    """Copies what is transposed matrices (`llvm/transposes.py`): where neighbours in the source are others than those
    in the target. Says whether it does."""
    along = next((a for a in axes if abs(a.step) == 1), None)
    down = next((a for a in axes if a.other == 1), None)
    if along is None or down is None or along is down or is_alone() or source.type not in TYPES or b.width:
        return False
    if not is_numbers([a.extent for a in axes]) or min(number_of(along.extent), number_of(down.extent)) < SHORT:
        return False
    around = [a for a in axes if a is not along and a is not down]
    if around:
        _transposed(b, source, target, around, along, down)
        return True
    whole, rest = divmod(number_of(down.extent), STRIP)
    strips = Axis(whole, STRIP * down.step, STRIP)
    if whole:
        _transposed(b, source, target, [strips], along, down._replace(extent=STRIP))
    if rest:
        left = [Axis(1, 0, 0)]
        _transposed(b, source, target, left, along, down._replace(extent=rest), whole)
    return True


def _transposed(
    b: Builder, source: Stored, target: Stored, around: list[Axis], along: Axis, down: Axis, strips: int = 0
) -> None:  # fmt: skip
    """Transposes matrices, one for each place around them; of some rows only, behind so many strips of them."""
    is_back = along.step < 0  # from the last element of each row on, then
    last = number_of(along.extent) - 1 if is_back else 0
    first, to = strips * STRIP * down.step + last * along.step, strips * STRIP + last * along.other
    numbers = [down.extent, along.extent, down.step, -along.other if is_back else along.other]
    each = prod(number_of(a.extent) for a in (along, down, *around))
    with b.loop(0, around[0].extent, each // PAIR) as i, loops_over(b, [a.extent for a in around[1:]]) as rest:
        x, y = b.add(source.offset, first), b.add(target.offset, to)
        for axis, place in zip(around, (i, *rest), strict=True):
            x, y = b.add(x, b.mul(place, axis.step)), b.add(y, b.mul(place, axis.other))
        addresses = Address(source.array, x), Address(target.array, y)
        b.call(f"turned.{source.type}", [*addresses, *(Typed("i64", n) for n in numbers)])


def _copy_axes(
    b: Builder, source: Stored, target: Stored, axes: list[Axis], first: int, along: Axis | None = None
) -> None:  # fmt: skip
    """Copies elements axis by axis, from a first one along one of them."""
    start, to = (0, 0) if along is None else (first * along.step, first * along.other)
    shape, own, others = ((*[axis[i] for axis in axes],) for i in range(3))
    nests.copy(
        b, Stored(shape, source.array, b.add(source.offset, start), own, False),
        Stored(shape, target.array, b.add(target.offset, to), others, False),
    )  # fmt: skip


__all__ = ["copy_in_order", "fresh_in", "laid_out", "memory_order", "readers_order"]
