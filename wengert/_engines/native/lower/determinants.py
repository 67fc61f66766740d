"""Determinants, and rows of matrices in an order.

A determinant is the product of the pivots of Gauss's elimination; only where that leaves the range of its type is it
added up by logarithms, as NumPy has it always. `cofactors.py` has the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import COMPLEX, ITEM, Operand, Status
from .blocks import Block, singles
from .complex_scalars import COMPLEX_SCALARS, scaled
from .elimination import Written, is_little, size_of, system
from .factorisations import Columns, loops_over, matrix_at
from .forms import Form, Index, Stored
from .unsolved import Unsolved

# -- determinants -----------------------------------------------------------------------------------------------------

_FAR = {"f64": 2.0**900, "f32": 2.0**100}  # products of pivots that are larger, or smaller than 1 over this, are far


def _det(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, target = block.b, block.room(node.outputs[0])
    a, t = block.stored(forms[0]), target.type
    n = a.shape[-1]

    def by_size(index: Index, sign: Operand, size: Operand) -> None:
        target.store(b, index, scaled(b, t, sign, b.let("exp", ITEM[t], size)))

    if not is_little(n, 0):
        _by_lapack(block, a, by_size).leave(block, node, [a], [target])
        return [target]
    assert type(n) is int
    found, unsolved, is_far = system(b, t, n, 0), Unsolved(b), b.var("bool", False)
    with loops_over(b, a.shape[:-2]) as index:
        _eliminate(b, found, matrix_at(b, a, index), unsolved)
        total = Product(b, t, found.sign)
        found.pivots(total.join)
        target.store(b, index, total.value())
        if type(found) is Written:
            b.set(is_far, b.either(b.get(is_far), total.is_far()))
        else:
            with b.when(total.is_far()):
                by_size(index, *_by_logarithms(b, t, found))
    if type(found) is Written:  # a branch in the loop above would keep it from being vector code
        with b.when(b.get(is_far)):
            _little_sizes(b, a, by_size)
    unsolved.leave(block, node, [a], [target])
    return [target]


class Product:
    """The product of pivots, and whether it was far from 1 at some step."""

    def __init__(self, b: Builder, t: str, sign: Operand) -> None:
        self.b, self.type = b, t
        self._total, self._far = b.var(t, sign), b.var("bool", False)

    def join(self, pivot: Operand) -> None:
        b, t = self.b, self.type
        total = b.let("mul", t, b.get(self._total), pivot)
        size, real = size_of(b, t, total), ITEM[t]
        is_near = b.both(b.let("gt", real, size, 1 / _FAR[real]), b.let("lt", real, size, _FAR[real]))
        b.set(self._total, total)
        b.set(self._far, b.either(b.get(self._far), b.negated(is_near)))

    def value(self) -> Operand:
        return self.b.get(self._total)

    def is_far(self) -> Operand:
        return self.b.get(self._far)


def _slogdet(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, a = block.b, block.stored(forms[0])
    signs, sizes = map(block.room, node.outputs)

    def store(index: Index, sign: Operand, size: Operand) -> None:
        signs.store(b, index, sign)
        sizes.store(b, index, size)

    unsolved = _little_sizes(b, a, store) if is_little(a.shape[-1], 0) else _by_lapack(block, a, store)
    unsolved.leave(block, node, [a], [signs, sizes])
    return [signs, sizes]


def _by_lapack(block: Block, a: Stored, store: Callable[[Index, Operand, Operand], None]) -> Unsolved:
    """The sign and the logarithm of the size of each determinant."""
    b, n, t = block.b, a.shape[-1], a.type
    columns = Columns(block, t, n, n)
    with loops_over(b, a.shape[:-2]) as index:
        columns.take(matrix_at(b, a, index))
        columns.factorise()
        total = _Size(b, t, 1.0)
        with b.loop(0, n) as i:
            stays = b.let("eq", "i32", b.load(columns.pivots, i), b.convert("i32", "i64", b.add(i, 1)))
            total.join(columns.matrix.at(b, (i, i)), b.negated(stays))
        store(index, *total.result())
    return columns.unsolved


def _little_sizes(b: Builder, a: Stored, store: Callable[[Index, Operand, Operand], None]) -> Unsolved:
    """As `_by_lapack`, of few rows."""
    n = a.shape[-1]
    assert type(n) is int
    found, unsolved = system(b, a.type, n, 0), Unsolved(b)
    with loops_over(b, a.shape[:-2]) as index:
        _eliminate(b, found, matrix_at(b, a, index), unsolved)
        store(index, *_by_logarithms(b, a.type, found))
    return unsolved


def _eliminate(b: Builder, found: Any, matrix: Stored, unsolved: Unsolved) -> None:
    found.take(lambda i, j: matrix.at(b, (i, j)), lambda i, c: 0.0)
    unsolved.note(found.wild)


def _by_logarithms(b: Builder, t: str, found: Any) -> tuple[Operand, Operand]:
    total = _Size(b, t, found.sign)
    found.pivots(lambda pivot: total.join(pivot, False))
    return total.result()


class _Size:
    """The product of pivots: its sign, and the logarithm of its size."""

    def __init__(self, b: Builder, t: str, sign: Operand) -> None:
        self.b, self.type = b, t
        self.sign, self.size = b.var(t, sign), b.var(ITEM[t], 0.0)

    def join(self, pivot: Operand, is_turned: Operand) -> None:
        """A factor, of which the rows may have changed places."""
        b, t = self.b, self.type
        if t in COMPLEX:
            self._join_complex(pivot, is_turned)
            return
        is_negative = b.let("lt", t, pivot, 0.0)
        flips = is_negative if is_turned is False else b.let("xor", "bool", is_turned, is_negative)
        turned = b.select(t, flips, b.let("neg", t, b.get(self.sign)), b.get(self.sign))
        b.set(self.sign, b.select(t, b.let("eq", t, pivot, 0.0), 0.0, turned))
        b.set(self.size, b.let("add", t, b.get(self.size), b.let("log", t, b.let("abs", t, pivot))))

    def _join_complex(self, pivot: Operand, is_turned: Operand) -> None:
        """As `join`, of a factor with a direction."""
        b, t, real = self.b, self.type, ITEM[self.type]
        size = COMPLEX_SCALARS["abs"](b, t, (), pivot)
        divisor = b.select(real, b.let("eq", real, size, 0.0), 1.0, size)
        parts = pair_of(pivot)
        direction: Any = Pair(*[b.let("div", real, part, divisor) for part in (parts.re, parts.im)])
        sign = b.let("mul", t, b.get(self.sign), direction)
        b.set(self.sign, sign if is_turned is False else b.select(t, is_turned, b.let("neg", t, sign), sign))
        b.set(self.size, b.let("add", real, b.get(self.size), b.let("log", real, size)))

    def result(self) -> tuple[Operand, Operand]:
        """The sign, 0 if it is singular, and the logarithm."""
        b, t = self.b, self.type
        sign = b.get(self.sign)
        return b.select(t, b.let("eq", t, sign, 0.0), 0.0, sign), b.get(self.size)


# -- rows in an order -------------------------------------------------------------------------------------------------


def _rows(is_back: bool) -> Any:
    """`permute_rows`, or its way back."""

    def rule(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
        b, x, order = block.b, block.stored(forms[0]), block.stored(forms[1])
        target = block.room(node.outputs[0])
        with loops_over(b, x.shape[:-2]) as index:
            source, places, out = (matrix_at(b, y, index) for y in (x, order, target))
            with b.loop(0, source.shape[0]) as i:
                other = b.convert("i64", order.type, places.at(b, (i,)))
                inside = b.both(b.let("ge", "i64", other, 0), b.let("lt", "i64", other, source.shape[0]))
                with b.when(b.negated(inside)):
                    b.leave(Status.INDEX)
                down, up = (other, i) if is_back else (i, other)
                with b.loop(0, source.shape[1]) as j:
                    out.store(b, (down, j), source.at(b, (up, j)))
        return [target]

    return rule


LOWERED = singles({
    "det": _det, "slogdet": _slogdet, "permute_rows": _rows(False), "unpermute_rows": _rows(True),
}, of_complex=True)  # fmt: skip
