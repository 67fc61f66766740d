"""Products of sparse matrices, whose values and places are operands, with matrices."""

from __future__ import annotations

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import Operand, Status
from .blocks import Block, singles
from .forms import Form, Index
from .maps import zero_of
from .scatters import over, over_columns


def _matmul(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    """Each value adds its multiple of a row to a row; threads share the columns."""
    b = block.b
    data, rows, columns, x = map(block.stored, forms)
    target = block.room(node.outputs[0])
    height, width = target.shape
    _refuse_outside(b, [(rows, height), (columns, x.shape[0])])
    over(b, target.shape, lambda index: target.store(b, index, zero_of(target.type)))

    def add(index: Index) -> None:
        k, j = index
        place = (b.convert("i64", rows.type, rows.at(b, (k,))), j)
        source = (b.convert("i64", columns.type, columns.at(b, (k,))), j)
        term = b.let("mul", x.type, data.at(b, (k,)), x.at(b, source))
        target.store(b, place, b.let("add", x.type, target.at(b, place), term))

    over_columns(b, (data.shape[0], width), 1, add)
    return [target]


def _refuse_outside(b: Builder, places: list[tuple[Form, Operand]]) -> None:
    """Ends the function where a place is none of so many: of that NumPy's kernel tells."""
    some = b.var("bool", False)
    for x, count in places:

        def look(index: Index, x: Form = x, count: Operand = count) -> None:
            place = b.convert("i64", x.type, x.at(b, index))
            is_outside = b.either(b.let("lt", "i64", place, 0), b.let("ge", "i64", place, count))
            b.set(some, b.either(b.get(some), is_outside))

        over(b, x.shape, look)
    with b.when(b.get(some)):
        b.leave(Status.REFUSED)


LOWERED = singles({"sparse_matmul": _matmul}, of_complex=True)
