"""Singular values and vectors of upper bidiagonal matrices of a known number of rows, by LAPACK's own steps.

`Bidiagonal` does what LAPACK's `bdsdc` does, operation for operation, as `Tridiagonal` does what `stedc` does: parts of
few rows are machine code of ours (`bidiagonal_rotations.py`), `lasd1` joins them, and rare matrices are LAPACK's.
"""

from __future__ import annotations

from ..ir.loops import Address
from .blocks import Block
from .factorisations import address_of
from .forms import Stored
from .in_parts import InParts
from .products import fortran_int, letter
from .unsolved import Unsolved


class Bidiagonal(InParts):
    """Room for one matrix after the other.

    Attributes:
        left, right: the vectors: u and vh by columns, from the greatest value on; `order` counts from the least.
    """

    function = "bidiagonal"

    def __init__(self, block: Block, n: int, unsolved: Unsolved) -> None:
        super().__init__(block, n, unsolved, between=1)
        self.left, self.right = self.room("f64", n, n), self.room("f64", n, n)
        self._rows = self.room("f64", 2 * self.most, self.width)
        self._whole, self._work = self.room("i32", 8 * n), self.room("f64", n * (3 * n + 4))
        self._between = block.b.local("f64", 1)

    def arrays(self) -> tuple[Stored, ...]:
        """Both diagonals and all vectors."""
        return self.d, self.e, self.left, self.right, self.order, self._rows, self._work

    def by_lapack(self) -> None:
        """By `bdsdc`."""
        b, n = self.b, self.n
        unused = address_of(self._work), address_of(self._whole)
        self.lapack.call(
            "bdsdc", letter("U"), letter("I"), fortran_int(b, n), address_of(self.d), address_of(self.e),
            address_of(self.left), fortran_int(b, n), address_of(self.right), fortran_int(b, n), *unused,
            address_of(self._work), address_of(self._whole),
        )  # fmt: skip
        self.lapack.note()
        b.store(self.e.array, n - 1, 1.0)
        with b.loop(0, n) as i:
            self.order.store(b, (i,), b.convert("i32", "i64", b.sub(n, i)))

    def join(self) -> None:
        """By `lasd1`."""
        b, n = self.b, self.n
        for sizes, halves in zip(self.parts[-2::-1], self.parts[:0:-1], strict=True):
            first = 0
            for place, size in enumerate(sizes):
                above, below = halves[2 * place : 2 * place + 2]
                between = first + above
                b.store(self._between, 0, self.d.at(b, (between,)))
                self.lapack.call(
                    "lasd1", fortran_int(b, above), fortran_int(b, below), fortran_int(b, int(place < len(sizes) - 1)),
                    Address(self.d.array, first), Address(self._between), Address(self.e.array, between),
                    Address(self.left.array, first * (n + 1)), fortran_int(b, n),
                    Address(self.right.array, first * (n + 1)), fortran_int(b, n), Address(self.order.array, first),
                    address_of(self._whole), address_of(self._work),
                )  # fmt: skip
                self.lapack.note()
                first += size + 1
