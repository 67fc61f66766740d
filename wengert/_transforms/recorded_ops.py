"""`Steps`: the recorder that keeps every op which a source reaches, with its operands and results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .._core.dtypes import is_inexact
from .._core.op import Op
from .._core.recorder import Recorder
from .._core.tensor import Tensor, Written, as_recorded


class RecordedOp(NamedTuple):
    """An op that ran."""

    op: Op
    operands: tuple[Tensor, ...]
    attrs: tuple[Any, ...]
    outs: tuple[Tensor, ...]


class Steps(Recorder):
    """The recorder that keeps everything which depends on its sources."""

    def __init__(self, keys: Iterable[int]) -> None:
        self._steps: list[RecordedOp] = []
        self._tracked = set(keys)

    @property
    def steps(self) -> list[RecordedOp]:
        """What ran, in order."""
        for place, step in enumerate(self._steps):
            if Written in map(type, step.operands + step.outs):
                self._steps[place] = RecordedOp(step.op, as_recorded(step.operands), step.attrs, as_recorded(step.outs))
        return self._steps

    def tracks(self, key: int) -> bool:
        return key in self._tracked

    def watch(self, tensor: Tensor) -> None:
        """Makes a tensor a source."""
        self._tracked.add(tensor._key)

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Appends an op with an operand that depends on a source."""
        if op.kind != "stop":
            self.keep(op, operands, attrs, outs)

    def keep(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Appends an op, whatever its kind, if it depends on a source."""
        if any(x._key in self._tracked for x in operands):
            self._steps.append(RecordedOp(op, operands, attrs, outs))
            self._tracked.update(out._key for out in outs if is_inexact(out.dtype))

    def mark(self) -> tuple[int, set[int]]:
        """What `back_to` goes back to."""
        return len(self._steps), set(self._tracked)

    def back_to(self, mark: tuple[int, set[int]]) -> None:
        """Forgets what was kept since a mark."""
        del self._steps[mark[0] :]
        self._tracked = mark[1]

    def extend(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Takes note that an op has more results now than when it was observed."""
        for index in range(len(self._steps) - 1, -1, -1):
            known = self._steps[index].outs  # none of what only has an effect
            if known and known[0]._key == outs[0]._key:
                self._steps[index] = self._steps[index]._replace(attrs=attrs, outs=outs)
                self._tracked.update(out._key for out in outs if is_inexact(out.dtype))
                return


__all__ = ["RecordedOp", "Steps"]
