"""Matrices that machine code has no answer for: NumPy's kernel computes the node, and gives results or the error.

Where a program has loops or branches, the code calls the kernel where the node stands, and goes on: NaN in a step, or
a singular matrix there, do not end the machine code of the loop. In other programs, and in code that stands alone, the
function ends with the status LINALG. A node's code goes on until then, and its results are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.complex_numbers import Pair
from ..ir.loops import COMPLEX, Operand, Status
from .blocks import Block
from .elimination import WRITTEN_OUT
from .forms import Form, Index, Stored, all_indices, count_of
from .numpy_calls import call_kernel
from .standalone import is_alone

FEW = 64  # numbers of an array that may be in registers


class Unsolved:
    """Whether one of a node's matrices is for NumPy's kernel."""

    def __init__(self, b: Builder) -> None:
        self._b = b
        self._found = b.var("bool", False)

    def note(self, is_one: Operand) -> None:
        """Notes whether a matrix is one."""
        self._b.set(self._found, self._b.either(self._b.get(self._found), is_one))

    def leave(
        self, block: Block, node: Node, forms: Sequence[Form], outs: Sequence[Stored], is_usual: bool = False
    ) -> None:
        """Behind the node's code: if there was one, the kernel fills the results.

        Args:
            block: where the node is.
            node: what is computed.
            forms: of its operands.
            outs: of its results.
            is_usual: whether there often is one, so that the kernel is called in any program.
        """
        with self._b.when(self._b.get(self._found)):
            if not is_alone() and (is_usual or block.setting.calls_kernels):
                _call_apart(block, node, forms, outs)
            else:
                self._b.leave(Status.LINALG)


def _call_apart(block: Block, node: Node, forms: Sequence[Form], outs: Sequence[Stored]) -> None:
    """Calls the kernel with copies of few numbers: what a function is given the address of can be in no register."""

    given = [_copy(block, x) if type(x) is Stored else x for x in forms]
    for x, own in zip(forms, given, strict=True):
        if type(x) is Stored and type(own) is Stored:
            _move(block.b, x, own)
    found = [_copy(block, x) for x in outs]
    call_kernel(block, node, given, found)
    for own, x in zip(found, outs, strict=True):
        _move(block.b, own, x)


def _copy(block: Block, x: Stored) -> Stored:
    """Room for few numbers; else the array itself."""
    return x if _few(x) is None else block.fresh(x.shape, x.type)


def _move(b: Builder, x: Stored, out: Stored) -> None:
    for index in _few(x) or ():
        out.store(b, index, x.at(b, index))


def _few(x: Stored) -> list[tuple[int, ...]] | None:
    """The indices of an array of few elements; None of another one."""
    extents = [n for n in x.shape if type(n) is int]
    return all_indices(extents) if len(extents) == len(x.shape) and prod(extents) <= FEW else None


def wild_noted(unsolved: Unsolved, b: Builder, x: Stored) -> Harmless:
    """The matrix; if an element is not finite, one of ones and zeros: of others, LAPACKs of several builds make
    different things, or do not end."""
    is_bad = is_wild(b, x)
    unsolved.note(is_bad)
    return Harmless(x, is_bad)


class Harmless:
    """A matrix, or an identity in its place."""

    def __init__(self, x: Stored, is_bad: Operand) -> None:
        self.type, self.shape = x.type, x.shape
        self._x, self._is_bad = x, is_bad

    def at(self, b: Builder, index: Index) -> Operand:
        """An element."""
        one = of_identity(b, self.type, index[0], index[1])
        return b.select(self.type, self._is_bad, one, self._x.at(b, index))


def of_identity(b: Builder, t: str, i: Operand, j: Operand) -> Operand:
    """An element of a matrix with ones on its diagonal."""
    one, zero = (Pair(1.0, 0.0), Pair(0.0, 0.0)) if t in COMPLEX else (1.0, 0.0)
    return b.select(t, b.let("eq", "i64", i, j), one, zero)  # pyright: ignore[reportArgumentType]  # pairs are operands


def is_wild(b: Builder, x: Stored) -> Operand:
    """Whether an element of a matrix is not finite."""
    nothing = b.var(x.type, 0.0)

    def look(element: Operand) -> None:
        b.set(nothing, b.let("sum", x.type, b.get(nothing), b.let("sub", x.type, element, element)))

    is_short = type(x.shape[1]) is int and x.shape[1] <= WRITTEN_OUT  # and stays in registers
    if x.is_flat() and not is_short:  # of many rows LLVM would make vectors along the columns, by gathers
        with b.loop(0, count_of(b, x.shape)) as place:
            look(x.at_flat(b, place))
    else:
        with b.loop(0, x.shape[0]) as i, b.loop(0, x.shape[1]) as j:
            look(x.at(b, (i, j)))
    return b.negated(b.let("eq", x.type, b.get(nothing), 0.0))


__all__ = ["Harmless", "Unsolved", "is_wild", "of_identity", "wild_noted"]
