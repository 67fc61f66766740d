"""A call of a `recompute_grad` function: it keeps what went in, and its backward pass runs the function again."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

from .._compile.arguments import array_argument
from .._control.closed import Closed
from .._control.custom import follow
from .._control.outside_tensors import Telling
from .._control.recompute import ClosedRun, RecomputeRule, Run
from .._core import dtypes
from .._core.caller import TENSORS, Caller, caller_of
from .._core.constant import renamed, with_weak
from .._core.op import Op
from .._core.recorder import Observer, Recorder
from .._core.state import STATE, next_serial, observing_reads, pausing, pinning, recording, watchers
from .._core.structure import flatten, unflatten
from .._core.tensor import Tensor
from .._core.types import type_of
from ..ops.memory.versions import Memory
from ..programs.variables import Variable
from .custom_call import Output, Reads, holds_tensors, is_following, name_of, number_as_tensor, with_dtype


class _Captures(Telling, Observer):
    """The recorder of a first run: follows what depends on the inputs, and notes followed tensors from elsewhere and
    buffers from outside that are written to."""

    __slots__ = ("found", "keys", "outer", "own", "since", "written")
    is_passive = True

    def __init__(self, keys: set[int], outer: tuple[Recorder, ...], own: Iterable[Tensor]) -> None:
        self.since = next_serial()
        self.own = frozenset(x._key for x in own)  # keys of the arguments: the function may write to them
        self.keys = keys
        self.outer = outer
        self.found: dict[int, Tensor] = {}
        self.written: dict[int, Memory] = {}

    def tracks(self, key: int) -> bool:
        return key in self.keys or any(recorder.tracks(key) for recorder in self.outer)

    def on_read(self, variable: Variable, tensor: Tensor) -> None:
        self.keys.add(tensor._key)

    def on_write(self, buffer: Memory) -> None:
        if buffer._key not in self.written:
            self.written[buffer._key] = buffer
            self.keys.add(buffer._held._key)  # what it held before is an input: it counts as read, for all observers

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        is_followed = False
        for operand in operands:
            key = operand._key
            if key in self.keys:
                is_followed = True
            elif any(recorder.tracks(key) for recorder in self.outer):
                self.found[key] = copy(operand)  # whoever holds this one may write to it
                self.keys.add(key)
                is_followed = True
        if is_followed and op.kind != "stop":
            self.keys.update(out._key for out in outs if dtypes.is_inexact(out.dtype))

    def note_results(self, tensors: Sequence[Tensor]) -> None:
        """Notes tensors from elsewhere that are returned as they are."""
        for x in tensors:
            if x._key not in self.keys and any(recorder.tracks(x._key) for recorder in self.outer):
                self.found[x._key] = x


class _Repeated:
    """f on arguments whose arrays are replaced: what a backward pass repeats."""

    __slots__ = ("_f", "_head", "_leaves", "_name", "_pins", "_places", "_spec")

    def __init__(self, f: Callable[..., Any], head: tuple[Any, ...], arguments: tuple[Any, Any]) -> None:
        self._f = f
        self._head = head
        self._name = name_of(f)
        self._leaves, self._spec = flatten(arguments)
        self._places = [i for i, leaf in enumerate(self._leaves) if type(leaf) is Tensor]
        self._pins: dict[int, Tensor] = {}

    def inputs(self) -> list[Tensor]:
        """The tensors among the arguments; they are not held here from now on, but where the rule keeps them."""
        found = [self._leaves[i] for i in self._places]
        for i in self._places:
            self._leaves[i] = None
        return found

    def first(self, inputs: Sequence[Tensor]) -> Output:
        """Runs f."""
        leaves = list(self._leaves)
        for i, tensor in zip(self._places, inputs, strict=True):
            leaves[i] = copy(tensor)  # f may write to it
        args, kwargs = unflatten(self._spec, leaves)
        return Output(self._f(*self._head, *args, **kwargs), self._name)

    def pin(self, variables: Sequence[Variable], constants: dict[int, Tensor], written: Iterable[int]) -> Run:
        """f as a function of its arguments and of these Variables, the rest of which hold what they held; what these
        buffers hold at the end are results."""
        count = len(self._places)
        keys = [v._key for v in variables]

        def run(inputs: Sequence[Tensor]) -> list[Tensor]:
            pins = {**constants, **dict(zip(keys, inputs[count:], strict=True))}
            with pinning(pins):
                return [*self.first(inputs[:count]).tensors, *map(pins.__getitem__, written)]

        return run


def call_recompute(f: Callable[..., Any], head: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    caller = caller_of((*args, *kwargs.values())) if args or kwargs else TENSORS
    arguments = ((*map(array_argument, args),), {k: array_argument(v) for k, v in kwargs.items()})
    if not holds_tensors(arguments):
        arguments = ((*map(number_as_tensor, arguments[0]),), arguments[1])
    if not is_following():
        output = Output(f(*head, *arguments[0], **arguments[1]), name_of(f))
        return output.unfollowed(caller)
    repeated = _Repeated(f, head, arguments)
    del arguments
    run = _recompute_traced if STATE.builder is not None else _recompute_eager
    return run(repeated, name_of(f), caller)


def _recompute_eager(repeated: _Repeated, name: str, caller: Caller) -> Any:
    inputs = repeated.inputs()
    outer = STATE.recorders
    with pausing(()):  # f may also use an argument from outside, and that is another way to it
        own = [renamed(x) for x in inputs]
    keys = {y._key for x, y in zip(inputs, own, strict=True) if any(r.tracks(x._key) for r in outer)}
    captures, reads = _Captures(keys, outer, own), Reads(own)
    with pausing(watchers()), recording(captures), observing_reads(reads), observing_reads(captures):
        output = repeated.first(own)
    arrays = [*captures.written.values()]
    found = [*output.tensors, *[array._held for array in arrays]]
    captures.note_results(found)
    del own
    if not found:
        return output.result((), caller)
    floats = {k: (v, t) for k, (v, t) in reads.first.items() if dtypes.is_inexact(t.dtype)}
    constants = {k: t for k, (_, t) in reads.first.items() if k not in floats}
    read_keys = {t._key for _, t in floats.values()}
    captured = [t for key, t in captures.found.items() if key not in read_keys]
    held = [*inputs, *(t for _, t in floats.values())]
    everything = [*held, *captured]
    run = repeated.pin([v for v, _ in floats.values()], constants, [*captures.written])
    rule = RecomputeRule(name, run, len(inputs), len(held), len(everything), len(found))
    returned = len(output.tensors)
    results = follow(rule, everything, [*with_dtype(found[:returned], inputs), *found[returned:]], everything)
    for array, value in zip(arrays, results[returned:], strict=True):
        array._put(value)
    return output.result(results[:returned], caller)


def _recompute_traced(repeated: _Repeated, name: str, caller: Caller) -> Any:
    """f as a graph of its own: replayed once now, without recorders, and again in the backward pass.

    What arrays from outside hold at the end, where f writes to them, are results like those that it returns.
    """
    inputs = repeated.inputs()
    found: list[Output] = []
    arrays: list[Memory] = []

    def whole(tensors: list[Tensor]) -> list[Tensor]:
        found.append(repeated.first(with_weak(tensors, [x._weak for x in inputs])))
        assert STATE.builder is not None
        written = [(v, t) for v, t in STATE.builder.writes.values() if isinstance(v, Memory)]
        arrays[:] = [v for v, _ in written]
        return [*found[0].tensors, *[t for _, t in written]]

    closed = Closed(whole, [type_of(x) for x in inputs], name)
    if closed.error is not None:
        raise closed.error
    (output,) = found
    variables = closed.take_reads()
    held = [*inputs, *closed.captured, *(v._held for v in variables)]
    closed.captured = ()
    returned = len(output.tensors)
    count = returned + len(arrays)
    with pausing(watchers()):
        values = closed.values(held)
    for variable, value in zip(closed.writes, values[count:], strict=True):
        if not isinstance(variable, Memory):
            variable._put(value)
    if not count:
        return output.result((), caller)
    with_weak(values[:returned], [y._weak for y in output.tensors])
    rule = RecomputeRule(name, ClosedRun(closed, count), len(inputs), len(held), len(held), count)
    results = follow(rule, held, [*with_dtype(values[:returned], inputs), *values[returned:count]], held)
    for array, value in zip(arrays, results[returned:], strict=True):
        array._put(value)
    return output.result(results[:returned], caller)
