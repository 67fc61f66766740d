"""Sums over rows of a group: arrays that a row's numbers, or the products of two of its vectors, are added to.

`tiles.py`, which runs the rows, makes these and adds up their parts in the end.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.loops import FLOATS, Operand, Reg
from .forms import Extents, Form, Index, Stored, spill

SLOTS = 8  # parts of a sum: as many as a vector holds
UNROLLED = 16  # products of a row that are written out
SPARSE = 4  # products that are worth to look whether their common factor is zero


class Accumulated(Stored):
    """An array that what is stored is added to."""

    __slots__ = ()

    def store(self, b: Builder, index: Index, value: Operand) -> None:
        self.add(b, self.place(b, index), value)

    def add(self, b: Builder, place: Operand, value: Operand) -> None:
        """Adds to the element of a number."""
        b.accumulate(self.array, place, value)


class Wide(Accumulated):
    """Sums of float32, added up as float64."""

    __slots__ = ()

    def add(self, b: Builder, place: Operand, value: Operand) -> None:
        b.accumulate(self.array, place, b.convert("f64", "f32", value))


class Slotted(Accumulated):
    """Sums in several parts, which are added up in the end; those of float32 as float64."""

    __slots__ = ()

    def add(self, b: Builder, place: Operand, value: Operand) -> None:
        source = "f32" if type(value) is Reg and value.type == "f32" else "f64"
        b.accumulate(self.array, place, b.convert("f64", source, value), SLOTS)


class Products:
    """Adds the products of two vectors of a row to a matrix, one after the other for the elements of one of them.

    Where such an element is zero in all rows side by side, its products are left out: of what a choice of one element
    leaves there are few others. That needs the other vector to be finite.
    """

    def __init__(self, b: Builder, vector: Form, target: Accumulated, is_first: bool) -> None:
        self.b = b
        self.vector = vector
        self.target = target
        self.is_first = is_first  # whether the vector's elements are the matrix's rows
        self.type = vector.type
        spill(b, [vector])
        self.is_bad = self.is_infinite()

    def is_infinite(self) -> Operand:
        b = self.b
        if self.type not in FLOATS or length_of(self.vector) < SPARSE:
            return False
        found = b.var("bool", False)
        with b.loop(0, self.vector.shape[0]) as j:
            product = b.let("mul", self.type, self.vector.at(b, (j,)), 0.0)
            b.set(found, b.either(b.get(found), b.let("ne", self.type, product, 0.0)))
        return b.get(found)

    def add(self, i: Operand, factor: Operand) -> None:
        """The products with one element."""
        if length_of(self.vector) < SPARSE:
            self.products(i, factor)
            return
        b = self.b
        counts = b.let("ne", self.type, factor, 0.0 if self.type in FLOATS else 0)
        with b.when(b.either(counts, self.is_bad)):
            self.products(i, factor)

    def products(self, i: Operand, factor: Operand) -> None:
        b, count = self.b, self.vector.shape[0]
        if type(count) is int and count <= UNROLLED:
            for j in range(count):
                self.one(i, j, factor)
            return
        with b.loop(0, count) as j:
            self.one(i, j, factor)

    def one(self, i: Operand, j: Operand, factor: Operand) -> None:
        b = self.b
        product = b.let("mul", self.type, factor, self.vector.at(b, (j,)))
        self.target.store(b, (j, i) if self.is_first else (i, j), product)


class Multiplied(Stored):
    """No array: what is stored here is multiplied by a vector, and the products are added to a matrix."""

    __slots__ = ("products",)

    def __init__(self, products: Products, shape: Extents) -> None:
        super().__init__(shape, products.target.array, 0, (0,) * len(shape), False)
        self.products = products

    def store(self, b: Builder, index: Index, value: Operand) -> None:
        self.products.add(index[0], value)


def length_of(form: Form) -> int:
    (n,) = form.shape
    return n if type(n) is int else 1 << 30


__all__ = ["SLOTS", "Accumulated", "Multiplied", "Products", "Slotted", "Wide", "length_of"]
