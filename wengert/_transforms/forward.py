"""Forward mode: the recorder that pushes tangents through ops as they run, with limits at equal eigenvalues."""

from __future__ import annotations

from typing import Any

from .._core.op import ZERO, Op
from .._core.tensor import Tensor
from .limits import Remainder, has_equal
from .pushing import Pushing


class Tangents(Pushing):
    """The forward recorder: `of` gives a value's tangent.

    At equal eigenvalues or singular values the vectors' tangents have parts without a bound. What is pushed through
    ops are the bounded parts; what the others leave in a value from whose tangent they cancel, `of` adds.
    """

    def __init__(self, rebinds: bool = False) -> None:
        super().__init__()
        self.rebinds = rebinds  # as of a tape
        self._remainder: Remainder | None = None

    def of(self, primal: Tensor) -> Any:
        """The tangent of a value: a tensor, ZERO, or None if it does not depend on the sources."""
        found = self.pushed(primal)
        return found if self._remainder is None else self._remainder.added_to(found, primal)

    def follow(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        if op.spectrum is not None:
            dot = self.pushed(operands[0])
            if dot is not None and dot is not ZERO and has_equal(op, outs):
                if self._remainder is None:
                    self._remainder = Remainder()
                tangents = self._remainder.start(op, operands, attrs, outs, dot)
                masked = self.may_hold_zeros(operands[0])
                self.file(outs, tangents, (masked,) * len(outs))
                return
        super().follow(op, operands, attrs, outs)
        if self._remainder is not None:
            self._remainder.observe(op, operands, attrs, outs)


__all__ = ["Tangents"]
