"""`Recorder`: what `apply` shows each op as it runs; tapes, forward mode and loops follow values so.

`Observer`: what Variables and buffers tell of their reads and writes, for those who differentiate or repeat a function.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType
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
        is_forward: whether it pushes tangents along, and marks no cuts (`Tensor._cut`) where they end.
    """

    __slots__ = ("__weakref__",)
    is_watch = False
    is_passive = False
    rebinds = False
    is_forward = False

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


class Observer:
    """One that hears of reads and writes while it is open (`state.observing_reads`); this one does nothing about them.

    Attributes:
        since: the serial number from which on buffers are the observed function's own, and of no interest.
        own: the keys of its arguments, of which it is not told either.
        standing: what variables of frameworks are to hold, by their identity.
    """

    __slots__ = ()
    since: int = 0
    own: Set[int] = frozenset()
    standing: Mapping[int, Tensor] = MappingProxyType({})

    def on_read(self, variable: Any, tensor: Tensor) -> None:
        """Hears that a Variable or a buffer is read, and what it held."""

    def on_write(self, buffer: Any) -> None:
        """Hears that a buffer is written to; what is written is computed by recorded ops, which have gradients."""

    def on_standing(self, variable: Any, tensor: Tensor) -> None:
        """Hears that a framework's variable is read."""
