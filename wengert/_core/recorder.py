"""`Recorder`: what `apply` shows each op as it runs; tapes, forward mode and loops follow values so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .op import Op
    from .tensor import Tensor


class Recorder:
    """One that is shown ops while it is open (`state.recording`); this one follows nothing.

    Attributes:
        is_watch: whether it looks at every op and follows none, so that it stays open where others pause.
        is_passive: whether it keeps nothing of what it sees, so that a loop may run again although it listens.
        rebinds: whether what would be refused puts tensors in the place of arrays: `ndarray += tensor`, and arrays of
            objects.
    """

    __slots__ = ()
    is_watch = False
    is_passive = False
    rebinds = False

    def tracks(self, key: int) -> bool:
        """Whether it follows the tensor with a key."""
        return False

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Sees an op that ran, or became part of a trace."""

    def extend(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Sees again an op that has more results now; who only files results files them once more."""
        self.observe(op, operands, attrs, outs)

    def note_exit(self, tensor: Tensor, what: str) -> None:
        """Hears that a tensor becomes numbers, and by what."""
