"""Eigenvalues and vectors of symmetric tridiagonal matrices of a known number of rows, by LAPACK's own steps.

`Tridiagonal` does what LAPACK's `stedc` does, operation for operation, so that vectors have the same signs. What it
spends most time with is machine code of ours: matrices of up to `LEAF` rows (`rotations.py`). Larger ones are divided
into such matrices, which `laed1` joins. Matrices with rare needs (a part that stands for itself, a scale of its own, no
end after many sweeps) are LAPACK's from the start.
"""

from __future__ import annotations

from ..ir.loops import Address, Operand, Typed
from .blocks import Block
from .factorisations import Lapack, address_of, scratch
from .forms import Stored
from .products import fortran_int, letter
from .rotations import LANES, LEAF, PREFIX
from .unsolved import Unsolved


def parts_of(n: int) -> list[list[int]]:
    """How many rows the parts of a matrix have into which it is divided, again and again."""
    found = [[n]]
    while found[-1][-1] > LEAF:
        found.append([half for size in found[-1] for half in (size // 2, size - size // 2)])
    return found


class Tridiagonal:
    """Room for one matrix after the other.

    Attributes:
        d, e: the diagonal and what is beside it, to be set; d becomes the eigenvalues.
        vectors: by columns.
        order: at which place among d and the vectors each one is, counted from 1, in the order of the values.
    """

    def __init__(self, block: Block, n: int, unsolved: Unsolved) -> None:
        self.block, self.b, self.n = block, block.b, n
        self.lapack = Lapack.of(block, "f64", unsolved)
        self.parts = parts_of(n)
        leaves = self.parts[-1]
        self._width = -(-leaves[-1] // LANES) * LANES
        self.d, self.e = self._room("f64", n), self._room("f64", n)
        self._rows = self._room("f64", leaves[-1], self._width)
        self.vectors, self.order = self._room("f64", n, n), self._room("i32", n)
        self._whole, self._work = self._room("i32", 3 + 5 * n), self._room("f64", 1 + 4 * n + n * n)
        self._bounds = block.b.local("i64", len(leaves) + 1)
        for place in range(len(leaves) + 1):
            block.b.store(self._bounds, place, sum(leaves[:place]))

    def _room(self, type_: str, *shape: int) -> Stored:
        return scratch(self.block, type_, *shape)

    def solve(self) -> Operand:
        """Sets values, vectors and their order; by what values are to be multiplied."""
        b, n = self.b, self.n
        arrays = self.d, self.e, self.vectors, self.order, self._rows, self._work
        numbers = n, len(self.parts[-1]), self._width
        status = b.call(
            f"{PREFIX}leaves",
            [Address(self._bounds), *map(address_of, arrays), *[Typed("i64", number) for number in numbers]], "i32",
        )  # fmt: skip
        with b.when(b.let("eq", "i32", status, 0)) as usual:
            self._join()
        with b.inside(usual.other):
            self._by_lapack()
        return self.e.at(b, (n - 1,))

    def _by_lapack(self) -> None:
        b, n = self.b, self.n
        self.lapack.call(
            "stedc", letter("I"), fortran_int(b, n), *map(address_of, (self.d, self.e, self.vectors)),
            fortran_int(b, n), address_of(self._work), fortran_int(b, 1 + 4 * n + n * n), address_of(self._whole),
            fortran_int(b, 3 + 5 * n),
        )  # fmt: skip
        self.lapack.note()
        with b.loop(0, n) as i:
            self.order.store(b, (i,), b.convert("i32", "i64", b.add(i, 1)))

    def _join(self) -> None:
        b, n = self.b, self.n
        for sizes, halves in zip(self.parts[-2::-1], self.parts[:0:-1], strict=True):
            first = 0
            for place, size in enumerate(sizes):
                cut = halves[2 * place]
                self.lapack.call(
                    "laed1", fortran_int(b, size), Address(self.d.array, first),
                    Address(self.vectors.array, first * (n + 1)), fortran_int(b, n), Address(self.order.array, first),
                    Address(self.e.array, first + cut - 1), fortran_int(b, cut), address_of(self._work),
                    address_of(self._whole),
                )  # fmt: skip
                self.lapack.note()
                first += size
