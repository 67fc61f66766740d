"""Compiles a function of many small ops, when it is called again with the same types, to one Python function.

`repeated` is called for the densities of `stats/`. A density is some dozens of ops, and each of them checks and
dispatches. Where one comes again on small arrays, its ops are traced once, and run from then on as one function: the
same kernels on the same arrays, hence the same bits, without the overhead. Each open tape gets the entries that the ops
would have left on it, so that whatever reads it finds nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from .._core.analysis import needed_for
from .._core.dtypes import default_float
from .._core.engine import ENGINES, KERNELS_OF
from .._core.graph import Graph, Node
from .._core.recorder import Recorder
from .._core.repeat_cache import UNKNOWN, RepeatCache
from .._core.state import STATE, building, next_serial
from .._core.tensor import Cut, Tensor, Value
from .._core.user_line import user_site
from .compiled_rules import function_of, step_of
from .tape import Entry, Tape, cut_reason

LARGEST = 20_000  # elements of an argument; beyond, the questions cost nothing beside the kernels


def repeated(f: Callable[..., Tensor], operands: Sequence[Tensor]) -> Tensor:
    """What a function of tensors gives, which applies primitives and does nothing else.

    Args:
        f: the function; one object for all of its calls.
        operands: what it is called with.
    """
    tapes = STATE.recorders
    key = look_of(f, operands, tapes) if STATE.builder is None else None
    if key is None:
        return f(*operands)
    known = REPEATS.get(key, UNKNOWN)
    if known is UNKNOWN:
        known = REPEATS.met(key, partial(_made, f, operands, tapes))
    if known is None:
        return f(*operands)
    try:
        return known.run(tapes, user_site() if known.cuts_off else None, *operands)[0]
    except Exception:  # nothing is recorded yet, and the op that refuses says why
        return f(*operands)


def look_of(f: object, operands: Sequence[Any], tapes: Sequence[Any]) -> tuple[Any, ...] | None:
    """What a call of something looks like; None where it is no everyday one."""
    for tape in tapes:
        if type(tape) is not Tape or tape.trail is not None:
            return None
    kernels = ENGINES["numpy"].kernels
    found: list[Any] = [f, default_float(), len(tapes)]
    for x in operands:
        if type(x) is not Tensor:
            return None
        data = x._data
        if KERNELS_OF.get(type(data)) is not kernels or data.size > LARGEST:
            return None
        found += (data.shape, data.dtype, x._weak, x._cut is None)
        for tape in tapes:
            found.append(x._key in tape.tracked)
    return (*found,)


class Alike(NamedTuple):
    """Symbols like some tensors: inputs of a graph, what of them each tape follows, and which bear a cut."""

    graph: Graph
    inputs: list[Tensor]
    followed: list[set[int]]
    cut: list[bool]


def alike(operands: Sequence[Tensor], tapes: Sequence[Recorder]) -> Alike:
    """Symbols like some tensors, to trace what is done with these."""
    graph = Graph()
    inputs = [graph.add_input(x.shape, x.dtype, "", x._weak) for x in operands]
    followed = [{s._key for s, x in zip(inputs, operands, strict=True) if tape.tracks(x._key)} for tape in tapes]
    return Alike(graph, inputs, followed, [x._cut is not None for x in operands])


def _made(f: Callable[..., Tensor], operands: Sequence[Tensor], tapes: Sequence[Recorder]) -> Repeat | None:
    """The function's ops as one function; None if they cannot be."""
    symbols = alike(operands, tapes)
    try:
        with building(symbols.graph):
            result = f(*symbols.inputs)
        return None if result._weak else Repeat(symbols, [result])
    except Exception:  # what is wrong is said by the call itself
        return None


class Repeat:
    """Writes the Python source of a function from the nodes of a graph.

    `run(tapes, site, *operands)` gives the results, and leaves on each tape what the ops leave there; `cuts_off` says
    whether it cuts results off a tape, for which it needs the place of the user's line.
    """

    def __init__(self, symbols: Alike, results: Sequence[Tensor]) -> None:
        graph, inputs, followed, cut = symbols
        if graph.captures or graph.reads or graph.writes:
            raise ValueError("it reads or writes more than its operands")
        self.lines = ["run(tapes, site, " + ", ".join(f"x{i}" for i in range(len(graph.inputs))) + "):"]
        self.constants: dict[str, Any] = {"kernels": ENGINES["numpy"].kernels, "Tensor": Tensor, "serial": next_serial}
        self.constants.update(Cut=Cut, entry=partial(tuple.__new__, Entry))
        self.arrays: dict[int, str] = {}  # by value: the name of its array,
        self.tensors: dict[int, str] = {}  # of its tensor, where something holds one,
        self.keys: dict[int, str] = {}  # of its serial number, where a tape follows it,
        self.cuts: dict[int, tuple[str, ...]] = {}  # and of what cut it off a tape
        self.known: dict[int, Any] = {}  # arrays that are the same in each call
        self.followed = followed
        self.entries: list[list[str]] = [[] for _ in followed]
        self.marks: list[list[str]] = [[] for _ in followed]  # the serial numbers that each tape follows from now on
        for number, value in enumerate(map(graph.value_of, inputs)):
            if followed and cut[number]:
                self.cuts[value.key] = (f"x{number}._cut",)
            self.arrays[value.key], self.tensors[value.key] = f"a{number}", f"x{number}"
            self.lines.append(f"a{number} = x{number}._data")
            self.keys[value.key] = f"x{number}._key"
        values = [graph.value_of(result) for result in results]
        for number, node in enumerate(needed_for(graph.nodes, [v.key for v in values])[0]):
            self._add(number, node)
        if any(v.key in self.known for v in values):
            raise ValueError("a result is the same in each call")
        self._end(values)
        self.run: Callable[..., tuple[Tensor, ...]] = function_of(self.lines, self.constants)

    def _add(self, number: int, node: Node) -> None:
        """What computes a node, and what the tapes get of it."""
        op, out = node.op, node.outputs[0]
        if op.is_multi or op.has_effect or op.facts.holds or op.spectrum is not None or op.prepare is not None:
            raise ValueError(f"{op.name} is more than a kernel")
        if all(v.key in self.known for v in node.inputs):
            self._fold(number, node)
            return
        attrs = [f"k{number}_{place}" for place in range(len(node.attrs))]
        self.constants.update(zip(attrs, node.attrs, strict=True))
        self.arrays[out.key] = f"v{number}"
        self.lines.append(f"v{number} = {step_of(node, [*[self.arrays[v.key] for v in node.inputs], *attrs])}")
        marks = [mark for v in node.inputs for mark in self.cuts.get(v.key, ())]
        for place, followed in enumerate(self.followed):
            flags = (*[v.key in followed for v in node.inputs],)
            if not any(flags):
                continue
            reason = cut_reason(op, node.outputs)
            if reason:
                # a cut that each call makes anew, for its place and its serial number are the call's
                marks.append(f"Cut({op.name!r}, {reason!r}, site, {self.keys[node.inputs[flags.index(True)].key]})")
            else:
                followed.add(out.key)
                self._record(number, node, place, flags)
        if marks:
            self.cuts[out.key] = (*dict.fromkeys(marks),)

    def _fold(self, number: int, node: Node) -> None:
        """Computes now what depends on no operand."""
        out, kernel = node.outputs[0], ENGINES["numpy"].kernels[node.op.name]
        array = kernel(*[self.known[v.key] for v in node.inputs], *node.attrs)
        if array.size > LARGEST:
            raise ValueError("it would hold a long array for good")
        self.known[out.key] = self.constants[f"c{number}"] = array
        self.constants[f"tc{number}"] = Tensor(array, next_serial())
        self.arrays[out.key], self.tensors[out.key] = f"c{number}", f"tc{number}"

    def _record(self, number: int, node: Node, place: int, flags: tuple[bool, ...]) -> None:
        """The line of a tape for a node with operands that it follows."""
        op, out = node.op, node.outputs[0]
        plan = op.plans.get(flags) or op.plan(flags)
        if out.key not in self.keys:
            self.keys[out.key] = f"q{number}"
            self.lines.append(f"q{number} = serial()")
        saved = [self._tensor(v) if v is not None else "None" for v in plan.keep((*node.inputs, out, None))]
        keys = [self.keys.get(v.key, "0") for v in node.inputs]  # 0 is nobody's
        self.constants[f"h{number}_{place}"] = (op, node.attrs, plan)
        self.constants[f"g{number}"] = (*[(v.shape, v.dtype) for v in node.inputs],)
        self.entries[place].append(
            f"entry((*h{number}_{place}, ({', '.join(keys)},), g{number}, (q{number},), (), ({', '.join(saved)},)))"
        )
        self.marks[place].append(f"q{number}")

    def _tensor(self, value: Value) -> str:
        """The name of a value's tensor."""
        name = self.tensors.get(value.key)
        if name is None:
            array = self.arrays[value.key]
            name = self.tensors[value.key] = f"t{array}"
            self.lines.append(f"{name} = Tensor({array}, {self.keys.setdefault(value.key, 'serial()')})")
            if self.keys[value.key] == "serial()":
                self.keys[value.key] = f"{name}._key"
        return name

    def _end(self, results: Sequence[Value]) -> None:
        names = [self._tensor(v) for v in results]
        cuts = {name: self.cuts[v.key] for name, v in zip(names, results, strict=True) if v.key in self.cuts}
        self.cuts_off = any(mark.startswith("Cut(") for marks in cuts.values() for mark in marks)
        for name, (first, *others) in cuts.items():
            self.lines.append(f"{name}._cut = {first}{''.join(f'.joined({other})' for other in others)}")
        for place, (entries, marks) in enumerate(zip(self.entries, self.marks, strict=True)):
            if entries:
                self.lines.append(f"tapes[{place}].entries += ({', '.join(entries)},)")
                self.lines.append(f"tapes[{place}].tracked.update(({', '.join(marks)},))")
        self.lines.append(f"return ({''.join(f'{name}, ' for name in names)})")


REPEATS = RepeatCache[Repeat](512)  # by a function and what it was given, what runs in its place
