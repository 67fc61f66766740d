"""The general convolution: by tiles where its geometry is known (`direct_convolutions.py`), those of one tap, channels
first, as products of matrices, and else the windows of one image as a matrix, then one product of matrices.

Both of its gradients are convolutions of the same family, so they come here, too. The matrix has a row for each channel
and tap and a column for each position; where there are more taps than positions along the last axis (a gradient with
respect to the kernel), it is filled by columns, so that what lies together is copied together. Zeros between the
elements of a dilated operand, and those around it, are put in where the matrix is filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as combinations_of
from math import prod

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import FLOATS, WIDTHS, Operand
from . import depthwise_planes, plane_convolutions
from .blocks import Block, singles
from .convolution_products import Shape
from .convolution_tiling import Axis, merged
from .depthwise import fill_vectors
from .direct_convolutions import convolved, every, is_depthwise, serves, target_of
from .factorisations import loops_over
from .forms import Extents, Form, Index, Stored, count_of, is_numbers, strides_of
from .layouts import copy_in_order, fresh_in, laid_out
from .products import batched, product
from .ranges import clamped, divided_up, is_one, number_of
from .window_geometry import Phase, Window, borders_of, is_inside, phases_of

LARGE = 1 << 19  # bytes of an image
MOST_PIECES = 16  # of a convolution, with code of their own


def _conv(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b = block.b
    lhs, rhs = (laid_out(block, value) for value in node.inputs)
    strides, padding, spreads, dilations, groups, batch_groups = block.attrs(node)
    out = block.shape(node.outputs[0])
    windows = [
        Window(*sizes) for sizes in zip(
            lhs.shape[2:], out[2:], rhs.shape[2:], strides, [low for low, _ in padding], dilations, spreads,
            strict=True,
        )
    ]  # fmt: skip
    columns = b.divided(out[1], groups * batch_groups)
    shape = Shape(out[0], rhs.shape[1], columns, groups, batch_groups)
    grouped = _grouped(lhs, rhs, shape, windows)
    if grouped is not None and (depthwise_planes.serves(grouped) or serves(lhs, rhs, shape, windows)):
        target = target_of(block, node.outputs[0], lhs.type)
        _by_groups(block, target, grouped, shape)
        return [target]
    if serves(lhs, rhs, shape, windows):
        target = target_of(block, node.outputs[0], lhs.type)
        if _multiplied(block, target, lhs, rhs, shape, windows):
            return [target]
        if plane_convolutions.serves(target, lhs, rhs, shape, windows):
            plane_convolutions.convolved(block, target, lhs, rhs, shape, windows)
        else:
            convolved(block, target, lhs, rhs, shape, windows)
        return [target]
    return [_by_matrices(block, node, lhs, block.dense(rhs), shape, windows)]


def _multiplied(
    block: Block, target: Stored, x: Stored, kernel: Stored, shape: Shape, windows: Sequence[Window]
) -> bool:  # fmt: skip
    """Computes a convolution of one tap, channels first, as what it is: for each image the kernel's matrix times one
    whose columns are places. Says whether it does."""
    if (shape.groups, shape.batch_groups) != (1, 1) or not all(map(_is_one_tap, windows)) or is_one(x.strides[1]):
        return False
    image = every(block.b, x, [(0, w.stride) for w in windows], target.shape[2:])
    out = _in_line(target)
    if out is None:
        return False
    if _in_line(image) is None:
        made = fresh_in(block, image.shape, range(len(image.shape)), x.type)
        copy_in_order(block.b, image, made)
        image = made
    matrices = _in_line(image)
    assert matrices is not None
    (images, channels, _), many = matrices.shape, kernel.shape[0]
    steps = (0, *kernel.strides[:2])
    weights = Stored((images, many, channels), kernel.array, kernel.offset, steps, False)
    batched(block, weights, matrices, out)
    return True


def _is_one_tap(window: Window) -> bool:
    """Whether an axis has one tap, which sees no zeros."""
    return window.spread == 1 and window.low == 0 and is_one(window.taps) and is_inside(window)


def _in_line(x: Stored) -> Stored | None:
    """Images whose places lie one behind the other, as one axis; None for others."""
    if not is_numbers([*x.shape[2:], *x.strides[2:]]):
        return None
    places = zip(x.shape[2:], map(number_of, x.strides[2:]), strict=True)
    joined = merged([Axis(n, step, step) for n, step in places])
    if len(joined) != 1 or joined[0].step != 1:
        return None
    return Stored((*x.shape[:2], joined[0].extent), x.array, x.offset, (*x.strides[:2], 1), False)


def _grouped(lhs: Stored, rhs: Stored, shape: Shape, windows: list[Window]) -> depthwise_planes.Grouped | None:
    """A convolution of many groups with one channel each, of the operand and of the result."""
    if not windows or not is_depthwise(shape) or 1 not in (shape.groups, shape.batch_groups):
        return None
    is_sum = shape.batch_groups > 1
    if not is_one(shape.images if is_sum else shape.channels):
        return None
    return depthwise_planes.Grouped(lhs, rhs, windows, shape.groups * shape.batch_groups, is_sum)


def _by_groups(block: Block, target: Stored, conv: depthwise_planes.Grouped, shape: Shape) -> None:
    """Each group by itself, or many that lie side by side in tiles of their own, for which no kernel is repeated.

    Where groups lie side by side in large images, positions whose windows see no zeros are computed apart from the
    others: so only what the others see is copied to have zeros around it.
    """
    pieces = [[Phase(w, 0, 1, 0, 1)] for w in conv.windows]
    if conv.inner > 1 and serves(conv.x, conv.kernel, shape, conv.windows) and _is_large(conv):
        pieces = _pieces(conv.windows) or pieces
    for chosen in combinations_of(*pieces):
        windows = [piece.window for piece in chosen]
        part = every(block.b, target, [p.places for p in chosen], [w.positions for w in windows])
        kernel = every(block.b, conv.kernel, [p.kernel_places for p in chosen], [w.taps for w in windows])
        one = conv._replace(kernel=kernel, windows=windows)
        by_lanes = fill_vectors(conv.inner, conv.x.type) and serves(conv.x, kernel, shape, windows)
        if depthwise_planes.serves(one) and not by_lanes:
            depthwise_planes.convolved(block, one, part)
        else:
            convolved(block, part, conv.x, kernel, shape, windows)


def _is_large(conv: depthwise_planes.Grouped) -> bool:
    """Whether an image is better not copied, since a copy would take much of the second cache."""
    extents = [n for axis, n in enumerate(conv.x.shape) if axis != conv.images_axis]
    return not conv.is_sum and prod(map(number_of, extents)) * WIDTHS[conv.x.type] >= LARGE


def _pieces(windows: Sequence[Window]) -> list[list[Phase]]:
    """For each axis its phases, cut where windows begin to see zeros; none if there would be too many."""
    found = [[phase.part(inner) for phase in phases_of(w) for inner in borders_of(phase.window)] for w in windows]
    pieces = [piece.window for axis in found for piece in axis]
    is_plain = all(w.spread == 1 and number_of(w.taps) for w in pieces)
    return found if is_plain and prod(map(len, found)) <= MOST_PIECES else []


def _by_matrices(
    block: Block, node: Node, lhs: Stored, rhs: Stored, shape: Shape, axes: list[Window]
) -> Stored:  # fmt: skip
    """Image by image: its windows as the columns of a matrix."""
    b, (images, channels, height, groups, batch_groups) = block.b, shape
    target = block.room(node.outputs[0])
    if not target.is_dense:
        target = block.fresh(target.shape, target.type)
    positions, taps = (*[a.positions for a in axes],), (*[a.taps for a in axes],)
    taps_last = bool(axes) and _is_more(taps[-1], positions[-1])
    columns, depth = count_of(b, positions), count_of(b, (channels, *taps))
    extents = (*positions, channels, *taps) if taps_last else (channels, *taps, *positions)
    windows = Stored(extents, b.alloc(lhs.type, count_of(b, extents)), 0, strides_of(b, extents), True)
    matrix = _as_matrix(b, windows, (columns, depth) if taps_last else (depth, columns))
    if taps_last:
        matrix = Stored((depth, columns), matrix.array, 0, (1, depth), False)
    with b.loop(0, batch_groups) as part, b.loop(0, images) as n, b.loop(0, groups) as group:
        image = lhs.row(b, b.add(b.mul(part, images), n))
        source = _from(b, image, b.mul(group, channels))
        _fill(b, source, windows, axes, channels, taps_last)
        first = b.mul(b.add(b.mul(part, groups), group), height)
        weights = _as_matrix(b, _from(b, rhs, first), (height, depth))
        out = _as_matrix(b, _from(b, target.row(b, n), first), (height, columns))
        product(block, weights, matrix, out)
    return target


def _is_more(taps: Operand, positions: Operand) -> bool:
    return type(taps) is int and type(positions) is int and taps > positions


def _from(b: Builder, x: Stored, start: Operand) -> Stored:
    """x from a place along its first axis on."""
    return Stored(x.shape, x.array, b.add(x.offset, b.mul(start, x.strides[0])), x.strides, x.is_dense)


def _as_matrix(b: Builder, x: Stored, shape: Extents) -> Stored:
    return Stored(shape, x.array, x.offset, strides_of(b, shape), True)


def _fill(b: Builder, x: Stored, windows: Stored, axes: list[Window], channels: Operand, taps_last: bool) -> None:
    """Each window of x (channels, *spatial) into its place."""
    count = len(axes)
    outer = [*[a.positions for a in axes], channels, *[a.taps for a in axes]]
    if not taps_last:
        outer = [channels, *[a.taps for a in axes], *[a.positions for a in axes]]
    if not axes:
        with loops_over(b, outer) as index:
            windows.store(b, index, x.at(b, index))
        return
    with loops_over(b, outer[:-1]) as index:
        if taps_last:
            positions, (channel, *taps) = index[:count], index[count:]
        else:
            channel, taps, positions = index[0], [*index[1 : 1 + count]], index[1 + count :]
        inside, places = _places(b, axes[:-1], positions, taps)
        row = windows.place(b, (*index, 0))
        axis = axes[-1]
        last = positions[-1] if taps_last else taps[-1]
        with b.when(inside) as branch:
            _copy_row(b, x, (channel, *places), windows, row, axis, last, taps_last)
        with b.inside(branch.other):
            b.fill(windows.array, row, outer[-1])


def _places(
    b: Builder, axes: list[Window], positions: Sequence[Operand], taps: Sequence[Operand]
) -> tuple[Operand, list[Operand]]:  # fmt: skip
    """Whether all places that these positions and taps read along some axes are there, and which they are."""
    inside: Operand = True
    places: list[Operand] = []
    for axis, p, k in zip(axes, positions, taps, strict=False):
        is_there, place = _place(b, axis, p, k)
        inside = b.both(inside, is_there)
        places.append(place)
    return inside, places


def _place(b: Builder, axis: Window, p: Operand, k: Operand) -> tuple[Operand, Operand]:
    """Whether a position and a tap read an element, and which (a valid one in any case)."""
    place = b.sub(b.add(b.mul(p, axis.stride), b.mul(k, axis.dilation)), axis.low)
    reach = b.add(b.mul(b.sub(axis.size, 1), axis.spread), 1)
    is_there = b.both(b.let("ge", "i64", place, 0), b.let("lt", "i64", place, reach))
    safe = b.select("i64", is_there, place, 0)
    if axis.spread > 1:
        is_there = b.both(is_there, b.let("eq", "i64", b.remainder(safe, axis.spread), 0))
        safe = b.divided(safe, axis.spread)
    return is_there, safe


def _copy_row(
    b: Builder, x: Stored, lead: Index, windows: Stored, row: Operand, axis: Window, fixed: Operand, taps_last: bool
) -> None:  # fmt: skip
    """One run along the last axis: over its taps at one position, or over its positions at one tap."""
    count, step = (axis.taps, axis.dilation) if taps_last else (axis.positions, axis.stride)
    start = b.sub(b.mul(fixed, axis.stride if taps_last else axis.dilation), axis.low)
    if axis.spread > 1:
        zero: Operand = 0.0 if x.type in FLOATS else False if x.type == "bool" else 0
        with b.loop(0, count) as i:
            p, k = (fixed, i) if taps_last else (i, fixed)
            is_there, place = _place(b, axis, p, k)
            b.store(windows.array, b.add(row, i), b.select(x.type, is_there, x.at(b, (*lead, place)), zero))
        return
    # element i reads start + i step: those from `first` up to `end` are there
    first = clamped(b, divided_up(b, b.sub(0, start), step), count)
    end = clamped(b, divided_up(b, b.sub(axis.size, start), step), count)
    end = b.select("i64", b.let("lt", "i64", end, first), first, end)
    b.fill(windows.array, row, first)
    with b.loop(first, end) as i:
        value = x.at(b, (*lead, b.add(start, b.mul(i, step))))
        b.store(windows.array, b.add(row, i), value)
    b.fill(windows.array, b.add(row, end), b.sub(count, end))


LOWERED = singles({"conv": _conv}, any_order=True)
