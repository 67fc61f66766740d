"""Finds what the function of a custom gradient uses beside its arguments, as far as its results depend on it.

No gradient flows there: the rule answers for the arguments only. So a tensor that is being differentiated and is used
this way is refused (`rules/custom_call.py`, `custom.py`). Tapes and traces keep what they see, and are asked
afterwards; under other recorders `Outside` listens while the function runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from types import FunctionType, MethodType, ModuleType
from typing import Any

from .._core.dtypes import is_inexact
from .._core.engine import ENGINE_OF
from .._core.graph import symbol
from .._core.op import Op
from .._core.recorder import Recorder
from .._core.state import STATE
from .._core.tensor import Tensor, Value
from .._core.user_line import at_user_line
from .._transforms.tape import Entry, Tape
from ..errors import CapturedError
from .operand_dependence import lines_of, read_by, sources

_key_of = attrgetter("_key")


class Outside:
    """Context manager around the run of a function: finds the outer tensors that its results depend on.

    Used only where something listens (an open recorder) or is built.

    Args:
        since: the serial number from which on tensors are the function's own.
    """

    __slots__ = ("_before", "_builder", "_listener", "_marks", "_start", "since")

    def __init__(self, since: int) -> None:
        self.since = since

    def __enter__(self) -> Outside:
        recorders = self._before = STATE.recorders
        builder = self._builder = STATE.builder
        self._start = 0 if builder is None else len(builder.nodes)
        self._listener: _Listener | None = None
        self._marks: list[tuple[Tape, int]] = []
        others: list[Any] = []
        for recorder in recorders:
            if type(recorder) is Tape:
                self._marks.append((recorder, len(recorder.entries)))
            elif not recorder.is_watch:
                others.append(recorder)
        if others:
            self._listener = _Listener(self.since, others)
            STATE.recorders = (*recorders, self._listener)
        return self

    def __exit__(self, *exc: object) -> None:
        STATE.recorders = self._before

    def followed(self, results: Sequence[Tensor], inputs: Sequence[Tensor]) -> int | None:
        """The key of a tensor from outside that an open recorder follows and some result depends on, if there is one.

        Args:
            results: what the function returned.
            inputs: its arguments, and what else its rule answers for.
        """
        own = set(map(_key_of, inputs))
        keys = set(map(_key_of, results))
        for tape, start in self._marks:
            entries = tape.entries[start:]
            if _uses_others(entries, self.since, own, tape.tracked) or min(keys) < self.since:
                needed = sources(lines_of(entries), keys)
                for key in sorted(needed):
                    if key < self.since and key not in own and key in tape.tracked:
                        return key
        if self._listener is not None:
            return min(self._listener.sources(keys) - own, default=None)
        return None

    def symbols(self, results: Sequence[Tensor], own: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
        """In a trace, the values from outside that some result depends on: who will follow them is not known yet.

        Each with the tensor that the user knows: a captured one is another than its symbol.
        """
        builder = self._builder
        if builder is None:
            return []
        nodes = builder.nodes[self._start :]
        made = {v.key for node in nodes for v in node.outputs}
        made.update(builder.value_of(x).key for x in own)
        values = {v.key: v for v in (*(v for node in nodes for v in node.inputs), *map(builder.value_of, results))}
        lines = (
            (n.op, n.attrs, [v.key for v in n.inputs], [v.key if is_inexact(v.dtype) else -1 for v in n.outputs])
            for n in reversed(nodes)
        )
        needed = sources(lines, {builder.value_of(y).key for y in results})
        found = [symbol(v) for key, v in values.items() if key in needed and key not in made and is_inexact(v.dtype)]
        captured = {value.key: tensor for tensor, value in builder.captures.values()}
        return [(x, captured.get(x._key, x)) for x in found]


def _uses_others(entries: Sequence[Entry], since: int, own: set[int], tracked: set[int]) -> bool:
    """Whether a tape saw any of this at all: each call of a custom gradient asks, and hardly one is told yes."""
    for entry in entries:
        for key in entry[3]:
            if key < since and key not in own and key in tracked:
                return True
    return False


class _Listener(Recorder):
    """The recorder that follows what depends on followed tensors from outside, where no tape keeps what ran.

    Args:
        since: the serial number from which on tensors are the function's own.
        outer: the recorders that may follow others.
    """

    __slots__ = ("_from", "_outer", "_since")
    is_passive = True

    def __init__(self, since: int, outer: Sequence[Recorder]) -> None:
        self._since = since
        self._outer = outer
        self._from: dict[int, frozenset[int]] = {}

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        for place, out in enumerate(outs):
            if is_inexact(out.dtype):
                read = read_by(op, attrs, len(operands), (place,))
                found = self.sources(operands[i]._key for i in read)
                if found:
                    self._from[out._key] = found

    def sources(self, keys: Iterable[int]) -> frozenset[int]:
        """The followed tensors from before the function began that these depend on."""
        found: set[int] = set()
        for key in keys:
            if key >= self._since:
                found.update(self._from.get(key, ()))
            elif any(recorder.tracks(key) for recorder in self._outer):
                found.add(key)
        return frozenset(found)


# -- the words --------------------------------------------------------------------------------------------------------


def refused(name: str, what: str) -> CapturedError:
    """The error for a value that is being differentiated and would be lost.

    Args:
        name: of the user's function.
        what: the value, as `described` says it.
    """
    return CapturedError(
        at_user_line(
            f"{name}: its output depends on {what}, which is being differentiated and is not an argument, so that its "
            f"gradient would be lost: a custom gradient answers for its arguments only; pass it as an argument and "
            f"return its gradient, too, or use wg.stop_gradient of it"
        )
    )


def described(wanted: int | Tensor, within: object) -> str:
    """The name by which a function (with what it is bound to) reaches a tensor (or its key), and the tensor's type."""
    key, native = (wanted, None) if isinstance(wanted, int) else (wanted._key, _native(wanted))
    for label, value in _reached(within):
        if type(value) is Tensor and value._key == key:
            return f"{label} ({_type_in_words(value)})"
        if value is native and isinstance(wanted, Tensor) and native is not None:
            return f"{label} ({_type_in_words(wanted)})"
    made = "that was made outside of it"
    return f"a tensor ({_type_in_words(wanted)}) {made}" if isinstance(wanted, Tensor) else f"a tensor {made}"


def _native(tensor: Tensor) -> Any:
    """A framework's own array behind a tensor; None for a symbol."""
    data = tensor._data
    return None if type(data) is Value else ENGINE_OF[type(data)].leave(data)


def _type_in_words(tensor: Tensor) -> str:
    return f"shape {tuple(tensor.shape)}, {tensor.dtype.name}"


_MOST_LOOKED_AT = 2000


def _reached(start: object) -> Iterator[tuple[str, Any]]:
    """What a function reaches by name (closures, globals, attributes, containers), the nearest first."""
    waiting: list[tuple[str, Any]] = [("", start)]
    seen: set[int] = set()
    for label, value in waiting:
        yield label, value
        if id(value) in seen or len(waiting) > _MOST_LOOKED_AT:
            continue
        seen.add(id(value))
        waiting += _inside(label, value)


def _inside(label: str, value: object) -> list[tuple[str, Any]]:
    if isinstance(value, FunctionType):
        return _named_in(value)
    if isinstance(value, MethodType):
        return [("self", value.__self__), (label, value.__func__)]
    if isinstance(value, partial):
        return [(label, value.func), *((f"{label}[{i}]", x) for i, x in enumerate(value.args)), *value.keywords.items()]
    if isinstance(value, dict):
        return [(f"{label}[{key!r}]", x) for key, x in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"{label}[{i}]" if label else "self", x) for i, x in enumerate(value)]
    if isinstance(value, (type, ModuleType, Tensor)):
        return []
    return [(f"{label}.{name}" if label else name, x) for name, x in getattr(value, "__dict__", {}).items()]


def _named_in(function: FunctionType) -> list[tuple[str, Any]]:
    code = function.__code__
    found: list[tuple[str, Any]] = []
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # the cell is empty still
            continue
    values = function.__globals__
    found += [(name, values[name]) for name in code.co_names if name in values]
    defaults = function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return [*found, *zip(names, defaults, strict=True)]
