"""Fourier transforms: NumPy's own C functions (`llvm/numpy_transforms.py`), along one axis after the other; where code
stands alone, loops of our own (`transforms.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from ...._core.graph import Node
from ..ir.loops import COMPLEX, WIDTHS, Address, Operand, Status, Typed
from . import transforms
from .alone import is_alone
from .blocks import Block, singles
from .forms import Form, Stored, count_of
from .nests import copy
from .scalars import smaller

AT_ONCE = 1 << 15  # numbers of one call: between calls the user may interrupt


def _dft(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    axes, is_inverse = node.attrs
    source = block.dense(forms[0])
    out = block.room(node.outputs[0])
    if not axes:
        copy(block.b, source, out)
        return [out]
    for axis in reversed(axes):  # as NumPy has it
        _along(block, "ifft" if is_inverse else "fft", source, out, axis)
        source = out
    return [out]


def _rfft(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    (axis,) = node.attrs
    x = block.dense(forms[0])
    out = block.room(node.outputs[0])
    b, size = block.b, x.shape[axis]
    with b.when(b.let("le", "i64", size, 0)):  # which NumPy words
        b.leave(Status.REFUSED)
    if is_alone():
        transforms.along(b, "rfft", x, out, axis)
        return [out]
    odd = b.let("eq", "i64", b.remainder(size, 2), 1)
    for is_one, name in ((odd, "rfft_n_odd"), (b.negated(odd), "rfft_n_even")):
        if is_one is not False:
            with b.when(is_one):
                _along(block, name, x, out, axis)
    return [out]


def _irfft(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, x = block.b, block.dense(forms[0])
    out = block.room(node.outputs[0])
    with b.when(b.let("le", "i64", out.shape[node.attrs[0]], 0)):
        b.leave(Status.REFUSED)
    _along(block, "irfft", x, out, node.attrs[0])
    return [out]


def _along(block: Block, name: str, x: Stored, out: Stored, axis: int) -> None:
    """Transforms lines along an axis: side by side behind it or, along the last axis, one behind the other."""
    b, n, m = block.b, x.shape[axis], out.shape[axis]
    if is_alone():
        transforms.along(b, name, x, out, axis)
        return
    blocks, lines = count_of(b, x.shape[:axis]), count_of(b, x.shape[axis + 1 :])
    step, between = lines, (1, 1)  # within a line, and from one line of a block to the next
    if type(lines) is int and lines == 1:
        lines, blocks, between = blocks, 1, (n, m)
    if any(type(k) is int and k == 0 for k in (n, m, lines, blocks)):
        return
    complex_ = x.type if x.type in COMPLEX else out.type
    most = max(1, AT_ONCE // n) if type(n) is int else 64

    def address(a: Stored, length: Operand, gap: Operand, number: Operand, first: Operand) -> Address:
        return Address(a.array, b.add(a.offset, b.add(b.mul(number, b.mul(length, step)), b.mul(first, gap))))

    steps = [b.mul(gap, WIDTHS[a.type]) for a, gap in zip((x, out), between, strict=True)]
    steps += [b.mul(step, WIDTHS[a.type]) for a in (x, out)]
    parts = b.divided(b.add(lines, most - 1), most)
    with b.when(b.let("gt", "i64", n, 0)), b.loop(0, blocks) as i, b.loop(0, parts) as part:
        first = b.mul(part, most)
        count = smaller(b, "i64", most, b.sub(lines, first))
        places = [address(x, n, between[0], i, first), address(out, m, between[1], i, first)]
        b.call(f"fourier.{name}.{complex_}", [*places, *(Typed("i64", k) for k in (count, n, m, *steps))])
        b.poll(1)


LOWERED = singles({"dft": _dft, "rfft": _rfft, "irfft": _irfft}, of_complex=True)
