"""Eigenvalues and vectors of symmetric tridiagonal matrices of a known number of rows, by LAPACK's own steps.

`Tridiagonal` does what LAPACK's `stedc` does, operation for operation, so that vectors have the same signs. What it
spends most time with is machine code of ours: matrices of up to `LEAF` rows (`rotations.py`). Larger ones are divided
into such matrices, which `laed1` joins. Matrices with rare needs (a part that stands for itself, a scale of its own, no
end after many sweeps) are LAPACK's from the start.
"""

from __future__ import annotations

from ..ir.loops import Address
from .blocks import Block
from .factorisations import address_of
from .forms import Stored
from .in_parts import InParts
from .products import fortran_int, letter
from .unsolved import Unsolved


class Tridiagonal(InParts):
    """Room for one matrix after the other.

    Attributes:
        vectors: by columns; `order` is that of the values.
    """

    function = "tridiagonal"

    def __init__(self, block: Block, n: int, unsolved: Unsolved) -> None:
        super().__init__(block, n, unsolved)
        self._rows = self.room("f64", self.most, self.width)
        self.vectors = self.room("f64", n, n)
        self._whole, self._work = self.room("i32", 3 + 5 * n), self.room("f64", 1 + 4 * n + n * n)

    def arrays(self) -> tuple[Stored, ...]:
        """Both diagonals and the vectors."""
        return self.d, self.e, self.vectors, self.order, self._rows, self._work

    def by_lapack(self) -> None:
        """By `stedc`."""
        b, n = self.b, self.n
        self.lapack.call(
            "stedc", letter("I"), fortran_int(b, n), *map(address_of, (self.d, self.e, self.vectors)),
            fortran_int(b, n), address_of(self._work), fortran_int(b, 1 + 4 * n + n * n), address_of(self._whole),
            fortran_int(b, 3 + 5 * n),
        )  # fmt: skip
        self.lapack.note()
        with b.loop(0, n) as i:
            self.order.store(b, (i,), b.convert("i32", "i64", b.add(i, 1)))

    def join(self) -> None:
        """By `laed1`."""
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
