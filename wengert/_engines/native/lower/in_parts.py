"""Matrices of two diagonals in parts of few rows: solved by machine code of ours, joined by steps of LAPACK's."""

from __future__ import annotations

from ..ir.loops import Address, Operand, Typed
from .blocks import Block
from .factorisations import Lapack, address_of, scratch
from .forms import Stored
from .rotations import LANES, LEAF
from .unsolved import Unsolved


def parts_of(n: int, between: int = 0) -> list[list[int]]:
    """How many rows the parts of a matrix have into which it is divided, again and again.

    `between`: rows between two parts, which belong to neither.
    """
    found = [[n]]
    while max(found[-1]) > LEAF:
        found.append([half for size in found[-1] for half in (size // 2, size - size // 2 - between)])
    return found


class InParts:
    """Room for one matrix of a known number of rows after the other.

    Args:
        block: what asks.
        n: the number of rows.
        unsolved: what becomes of matrices that LAPACK cannot solve.
        between: rows between two parts.

    Attributes:
        d, e: the diagonal and what is beside it, to be set; d becomes the values.
        order: at which place among d and the vectors each one is, counted from 1.
        parts: the numbers of rows of the parts, from the whole matrix on.
        function: the name of what solves the parts, a `rotations.NAME` of the tables.
    """

    function = ""

    def __init__(self, block: Block, n: int, unsolved: Unsolved, between: int = 0) -> None:
        self.block, self.b, self.n = block, block.b, n
        self.lapack = Lapack.of(block, "f64", unsolved)
        self.parts = parts_of(n, between)
        leaves = self.parts[-1]
        self.most = max(leaves) + between  # columns of a part's vectors
        self.width = -(-self.most // LANES) * LANES
        self.d, self.e, self.order = self.room("f64", n), self.room("f64", n), self.room("i32", n)
        self._bounds = block.b.local("i64", len(leaves) + 1)
        for place in range(len(leaves) + 1):
            block.b.store(self._bounds, place, sum(leaves[:place]) + place * between)

    def room(self, type_: str, *shape: int) -> Stored:
        return scratch(self.block, type_, *shape)

    def solve(self) -> Operand:
        """Sets values, vectors and their order; by what values are to be multiplied."""
        b, n = self.b, self.n
        numbers = n, len(self.parts[-1]), self.width
        status = b.call(
            f"rotations.{self.function}",
            [
                Address(self._bounds), *map(address_of, self.arrays()), *[Typed("i64", number) for number in numbers],
            ],
            "i32",
        )  # fmt: skip
        with b.when(b.let("eq", "i32", status, 0)) as usual:
            self.join()
        with b.inside(usual.other):
            self.by_lapack()
        return self.e.at(b, (n - 1,))

    def arrays(self) -> tuple[Stored, ...]:
        """What the function is given beside bounds and numbers."""
        raise NotImplementedError

    def join(self) -> None:
        """The whole from the parts, which are solved."""
        raise NotImplementedError

    def by_lapack(self) -> None:
        """All of it from LAPACK, where the parts ask for what is rare."""
        raise NotImplementedError


__all__ = ["InParts"]
