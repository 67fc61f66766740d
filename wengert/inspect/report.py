"""`Function.report`: what of a call ran as machine code, by a library, by NumPy and why, and what each part cost.

A program's parts are run one after the other under a clock, some times each. What stands in one function of machine
code cannot be timed line by line: its time is shared out by the operations of its lines, and marked so.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import html
import math
import os
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._compile.cache import Compiled
from .._control.loop import Loop
from .._core import system
from .._core.argument_types import ArrayLike
from .._core.dims import Atom, Dim
from .._core.graph import Graph, Node
from .._core.op import REGISTRY, named, stated
from .._core.printer import programs_of
from .._core.user_line import Site
from .._engines.native.engine import Segment, is_on, lack
from .._engines.native.plan.support import called_within, culprit_of, reason_against
from .._engines.native.run.memory import taken_by
from .._engines.numpy.execute import executable, observed
from .._engines.refine import COMPILED

__all__ = ["Part", "Report", "report_of"]

MACHINE_CODE, LIBRARY, NUMPY = "machine code", "library", "NumPy"
_CLOCKED = 0.2  # seconds that are spent on the clock, about
_MOST_RUNS = 20
_COLOURS = {MACHINE_CODE: "#2f855a", LIBRARY: "#1b6ca8", NUMPY: "#c05621"}


class Part(NamedTuple):
    """A user's line in a piece of a program that runs as a whole.

    Attributes:
        by: what runs it: "machine code", "library" (functions of libraries, or kernels of NumPy's, that machine code
            calls), "NumPy", or the name of a framework.
        ops: the ops of the line, each once.
        why: why it is not machine code, or which functions of a library are called.
        line: where the user wrote it, as `file:line`, or "" where that is not known.
        source: the text of the line.
        seconds: what it takes.
        is_shared: whether that is its share, by operations, of the time of several lines that are one function.
        bytes: of the arrays that it takes from other parts and gives them.
        flops: operations on numbers; of loops whose steps are not known beforehand those of one step.
        is_least: whether there may be more operations than that.
    """

    by: str
    ops: tuple[str, ...]
    why: str
    line: str
    source: str
    seconds: float
    is_shared: bool
    bytes: int
    flops: int
    is_least: bool


class Report:
    """What ran where, and what it cost; printed as a table, shown in notebooks as a picture.

    Attributes:
        name: of the function.
        seconds: what a call of the compiled program takes: the least of some.
        parts: the lines of its pieces, in the order in which they run.
        memory: the bytes that a call takes beside those of its arguments, at most at any time.
        compile: seconds to the first result, by stage.
        traces: for each trace why there was one.
    """

    def __init__(
        self, name: str, seconds: float, parts: Sequence[Part], memory: int, compile: Mapping[str, float],
        traces: Sequence[str],
    ) -> None:  # fmt: skip
        self.name = name
        self.seconds = seconds
        self.parts = [*parts]
        self.memory = memory
        self.compile = dict(compile)
        self.traces = [*traces]

    def by(self) -> dict[str, float]:
        """The share of the time that each way to run takes, in 0..1."""
        total = sum(part.seconds for part in self.parts)
        found: dict[str, float] = {}
        for part in self.parts:
            found[part.by] = found.get(part.by, 0.0) + (part.seconds / total if total else 0.0)
        return found

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON holds."""
        return {
            "name": self.name, "seconds": self.seconds, "memory": self.memory, "by": self.by(),
            "parts": [{**part._asdict(), "ops": [*part.ops]} for part in self.parts], "compile": self.compile,
            "trace_count": len(self.traces), "traces": self.traces,
        }  # fmt: skip

    def __str__(self) -> str:
        shares = ", ".join(f"{share:.0%} {by}" for by, share in self.by().items())
        head = f"{self.name}: {_time(self.seconds)} a call; {shares or 'nothing to run'}"
        lines = [head, ""]
        lines += _table([_HEADINGS, *[_row(part) for part in self.parts]])
        lines += ["", f"memory      {_size(self.memory)} at most, beside the arguments"]
        stages = ", ".join(f"{stage} {_time(s)}" for stage, s in self.compile.items())
        lines.append(f"compiling   {_time(sum(self.compile.values()))}: {stages}")
        lines.append(f"traces      {len(self.traces)}")
        lines += [f"  {number}. {reason}" for number, reason in enumerate(self.traces, 1)]
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"<report of {self.name}: {len(self.parts)} parts, {_time(self.seconds)}>"

    def _repr_html_(self) -> str:
        total = sum(part.seconds for part in self.parts) or 1.0
        left, bars = 0.0, ""
        for part in self.parts:
            width = 100 * part.seconds / total
            colour = _COLOURS.get(part.by, "#616e7c")
            tip = html.escape(f"{part.line} {part.source}\n{part.by}: {', '.join(part.ops)}\n{_time(part.seconds)}")
            bars += f'<rect x="{left:.3f}%" width="{width:.3f}%" height="28" fill="{colour}" stroke="#fff">'
            bars += f"<title>{tip}</title></rect>"
            left += width
        keys = " ".join(
            f'<span style="color:{_COLOURS.get(by, "#616e7c")}">&#9632;</span> {html.escape(by)} {share:.0%}'
            for by, share in self.by().items()
        )
        heads = "".join(f"<th style='text-align:left'>{html.escape(h)}</th>" for h in _HEADINGS)
        cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in _row(part)) for part in self.parts]
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        stages = ", ".join(f"{stage} {_time(s)}" for stage, s in self.compile.items())
        traces = "".join(f"<li>{html.escape(reason)}</li>" for reason in self.traces)
        return (
            f"<div><b>{html.escape(self.name)}</b>: {_time(self.seconds)} a call, {_size(self.memory)} at most"
            f'<br><svg width="100%" height="28" role="img">{bars}</svg><br>{keys}'
            f"<table><tr>{heads}</tr>{rows}</table>"
            f"<p>compiled in {_time(sum(self.compile.values()))}: {html.escape(stages)}</p><ol>{traces}</ol></div>"
        )


# -- making one -------------------------------------------------------------------------------------------------------


def report_of(
    name: str, compiled: Compiled, natives: Sequence[Any], engine: str, traces: Sequence[str], call: Callable[[], Any]
) -> Report:  # fmt: skip
    """The report of a program that has been called.

    Args:
        name: of the function.
        compiled: the signature's compiled form.
        natives: what the program takes.
        engine: the name of the engine that runs it.
        traces: why each trace was made.
        call: calls the function once more.
    """
    stages = dict(compiled.seconds)
    if engine != "numpy":
        return _of_framework(name, compiled, natives, engine, stages, traces, call)
    run = executable(compiled.program)
    graph: Graph = run.graph  # pyright: ignore[reportFunctionMemberAccess]
    has_effects = _has_effects(graph)
    seconds, repeats = _clocked(lambda: run(*_own(natives, has_effects)), has_effects)
    meter = _Meter(graph)
    watched = observed(graph, meter.kernel)
    for _ in range(max(repeats, 1)):
        watched(*_own(natives, has_effects))
    memory = max(meter.most_alive, _high_water(lambda: run(*_own(natives, has_effects))))
    stages |= {stage: stages.get(stage, 0.0) + s for stage, s in run.seconds.items()}  # pyright: ignore[reportFunctionMemberAccess]
    for node in graph.nodes:
        for stage, s in _stages_of(node).items():
            stages[stage] = stages.get(stage, 0.0) + s
    return Report(name, seconds, meter.parts(), memory, stages, traces)


def _of_framework(
    name: str, compiled: Compiled, natives: Sequence[Any], engine: str, stages: dict[str, float],
    traces: Sequence[str], call: Callable[[], Any],
) -> Report:  # fmt: skip
    """The report of a program that a framework runs as a whole."""
    graph = compiled.program.graph
    seconds, _ = _clocked(call, bool(compiled.written) or _has_effects(graph))
    known, why = Known({}, {}), "one program of the framework"
    groups = _by_line(graph.nodes)
    sizes = dict(zip((v.key for v in graph.inputs), map(_bytes, natives), strict=False))
    parts = [
        _part_of_line(engine, nodes, why, seconds * share, len(groups) > 1, sizes, known)
        for nodes, share in zip(groups, _shares(groups, known), strict=True)
    ]
    return Report(name, seconds, parts, 0, stages, traces)


def _stages_of(node: Node) -> dict[str, float]:
    if node.op is not COMPILED:
        return {}
    total: dict[str, float] = {}
    for code in node.attrs[0].codes:
        for stage, s in code.seconds.items():
            total[stage] = total.get(stage, 0.0) + s
    return total


def _has_effects(graph: Graph) -> bool:
    """Whether running a graph twice does something else than running it once."""
    return any(node.op.has_effect or node.op.facts.writes for node in graph.nodes) or any(
        _has_effects(inner) for node in graph.nodes for inner in programs_of(node)
    )


def _own(natives: Sequence[Any], has_effects: bool) -> list[Any]:
    """The arguments; copies of them where they may be written to."""
    return [x.copy() if type(x) is np.ndarray else x for x in natives] if has_effects else [*natives]


def _clocked(run: Callable[[], Any], is_once: bool) -> tuple[float, int]:
    """The least seconds of some runs, and how many there were."""
    least, spent, count = math.inf, 0.0, 0
    while count < (1 if is_once else _MOST_RUNS) and (spent < _CLOCKED or count == 0):
        began = time.perf_counter()
        run()
        took = time.perf_counter() - began
        least, spent, count = min(least, took), spent + took, count + 1
    return least, count


def _high_water(run: Callable[[], Any]) -> int:
    """The bytes that a run takes: of NumPy's arrays and of machine code's, or what the process grows by where the
    system tells that and it is more."""
    is_ours = not tracemalloc.is_tracing()
    if is_ours:
        tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        blocks = taken_by(run)
        arrays = tracemalloc.get_traced_memory()[1] - before
    finally:
        if is_ours:
            tracemalloc.stop()
    return max(arrays + blocks, system.SYSTEM.grown_by(run) or 0)


# -- the parts --------------------------------------------------------------------------------------------------------


class _Meter:
    """Times the parts of a graph as they run.

    Attributes:
        most_alive: the bytes of arrays that were alive at once between parts, at most.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.most_alive = 0
        self._seconds: dict[int, float] = {}
        self._given: dict[int, tuple[list[int], list[int]]] = {}  # bytes of operands and results
        self._refusals: dict[int, int] = {}
        self._known = Known({}, {})

    def kernel(self, place: int, node: Node, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A node's kernel under the clock."""
        count = len(node.inputs)

        def timed(*natives: Any) -> Any:
            before = node.attrs[0].refusals if node.op is COMPILED else 0
            began = time.perf_counter()
            found = kernel(*natives)
            took = time.perf_counter() - began
            self._seconds[place] = min(self._seconds.get(place, math.inf), took)
            if node.op is COMPILED:
                self._refusals[place] = node.attrs[0].refusals - before
            results = found if node.op.is_multi else (found,)
            self._note(place, node, natives[:count], results)
            return found

        return timed

    def _note(self, place: int, node: Node, natives: Sequence[Any], results: Sequence[Any]) -> None:
        self._given[place] = ([*map(_bytes, natives)], [*map(_bytes, results)])
        _note_steps(node, natives, results, self._known)
        for values, arrays in ((node.inputs, natives), (node.outputs, results)):
            for value, array in zip(values, arrays, strict=False):
                for dim, extent in zip(value.shape, np.shape(array), strict=False):
                    if isinstance(dim, Dim) and dim.is_atom:
                        self._known.sizes[dim.atom] = extent
        self.most_alive = max(self.most_alive, sum(self._given[place][1]))

    def parts(self) -> list[Part]:
        """The parts, in the order in which they run."""
        found: list[Part] = []
        for place, node in enumerate(self.graph.nodes):
            if place not in self._seconds:  # a constant, which nothing runs
                continue
            if node.op is COMPILED:
                found += self._of_segment(place, node.attrs[0])
            else:
                found.append(self._of_kernel(place, node))
        return found

    def _of_kernel(self, place: int, node: Node) -> Part:
        taken, given = self._given[place]
        count, is_least = _flops_of(node, self._known)
        why, site, inside = _why(node)
        ops = (node.op.name, *(() if inside is None else (inside,)))
        return Part(
            NUMPY, ops, why, *_line(site or node.site), self._seconds[place], False, sum(taken) + sum(given), count,
            is_least,
        )  # fmt: skip

    def _of_segment(self, place: int, segment: Segment) -> list[Part]:
        graph = segment.graph
        _note_stated(graph, self._known)
        taken, given = self._given[place]
        libraries = {name for code in segment.codes for name in code.libraries}
        refused = "its code does not take these arguments" if self._refusals.get(place) else ""
        why = refused or ("" if segment.codes else "compiling it failed")
        groups = _by_line(graph.nodes)
        shares = _shares(groups, self._known)
        sizes = dict(zip((v.key for v in (*graph.inputs, *graph.outputs)), (*taken, *given), strict=False))
        parts: list[Part] = []
        for nodes, share in zip(groups, shares, strict=True):
            called = sorted(n for n in libraries if any(_calls(node, n) for node in nodes))
            called += sorted({_kernel_of(name) for node in nodes for name in called_within(node)})
            by = NUMPY if why else LIBRARY if called else MACHINE_CODE
            seconds, why_so = self._seconds[place] * share, why or ", ".join(called)
            parts.append(_part_of_line(by, nodes, why_so, seconds, len(groups) > 1, sizes, self._known))
        return parts


def _kernel_of(name: str) -> str:
    """A kernel that machine code calls, in words."""
    return f"NumPy's kernel of {name}" if name in REGISTRY else f"the user's own {name}"


def _bytes(x: ArrayLike) -> int:
    return int(getattr(x, "nbytes", 8))


def _by_line(nodes: Sequence[Node]) -> list[list[Node]]:
    """Nodes by the user's line that asks for them; what no line asks for belongs to the first."""
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        place = ":".join(_line(node.site)) if node.inputs or node.op.facts.holds else ":"  # constants take no time
        groups.setdefault(place, []).append(node)
    if len(groups) > 1 and ":" in groups:
        rest = groups.pop(":")
        groups[next(iter(groups))] += rest
    return [*groups.values()]


def _shares(groups: Sequence[Sequence[Node]], known: Known) -> list[float]:
    """The share of each line in the time of them all."""
    weights = [_work(nodes, known) for nodes in groups]
    total = sum(weights)
    return [w / total if total else 1 / len(weights) for w in weights]


def _part_of_line(
    by: str, nodes: Sequence[Node], why: str, seconds: float, is_shared: bool, sizes: Mapping[int, int], known: Known
) -> Part:  # fmt: skip
    """A line of a program that runs as a whole; `sizes` are the bytes of what the program takes and gives."""
    names = (*dict.fromkeys(node.op.name for node in nodes if node.op.facts.cost != "free"),)
    flops = [_flops_of(node, known) for node in nodes]
    touched = {v.key for node in nodes for v in (*node.inputs, *node.outputs)}
    size = sum(n for key, n in sizes.items() if key in touched)
    return Part(
        by, names, why, *_line(nodes[0].site), seconds, is_shared, size, sum(n for n, _ in flops),
        any(flag for _, flag in flops),
    )  # fmt: skip


def _why(node: Node) -> tuple[str, Site | None, str | None]:
    """Why a node is not machine code; of a loop or a branch, the line and the op inside that it is for, too."""
    if not is_on():
        return f"there is no compiler: {lack()}", None, None
    culprit = culprit_of(node)
    if culprit is node:
        reason = reason_against(node)
        return reason or "a buffer of the caller's, or a size that only another part tells", None, None
    return f"{culprit.op.name}: {reason_against(culprit)}", culprit.site, culprit.op.name


def _calls(node: Node, library: str) -> bool:
    """Whether a node's machine code is what calls a function of a library."""
    inner = [n for graph in programs_of(node) for n in graph.nodes]
    if any(_calls(n, library) for n in inner):
        return True
    if library.startswith("special."):
        return not node.op.facts.holds and node.op.kind == "elementwise"
    return node.op.facts.flops is not None and node.op.kind != "linear"  # transforms have loops of their own


def _line(site: Site | None) -> tuple[str, str]:
    """A place as `file:line`, and the text of the line."""
    if site is None:
        return "", ""
    return f"{site.code.co_filename}:{site.lineno}", site.line


# -- operations -------------------------------------------------------------------------------------------------------


class Known(NamedTuple):
    """What is known of a run beside its graph.

    Attributes:
        sizes: what dimensions are.
        steps: how many steps a loop took, by the keys of its results.
    """

    sizes: dict[Atom, int]
    steps: dict[int, int]


def _note_steps(node: Node, natives: Sequence[Any], results: Sequence[Any], known: Known) -> None:
    """Takes note of the steps of a loop that ran by itself."""
    if node.op.facts.holds == "a loop" and results:
        spec = node.attrs[0]
        count = int(natives[0] if spec.is_counted else results[spec.carries])
        known.steps.update((v.key, count) for v in node.outputs)


def _note_stated(graph: Graph, known: Known) -> None:
    """Takes note of the steps of loops in a graph that constants and what they consume tell."""
    numbers: dict[int, int] = {}
    for node in graph.nodes:
        if node.op.facts.holds == "a loop":
            spec: Loop = node.attrs[0]
            consumed = node.inputs[1 + spec.carries] if spec.is_counted and spec.xs else None
            length = spec.length if consumed is None else consumed.shape[0]
            count, is_known = (1, False) if length is None else _size_of((length,), known)
            count = count if is_known else numbers.get(node.inputs[0].key) if spec.is_counted else None
            if count is not None:
                known.steps.update((v.key, count) for v in node.outputs)
        elif not node.inputs and node.outputs[0].shape == () and node.outputs[0].dtype.kind in "iu":
            value = stated(node.op, node.attrs)
            if value is not None:
                numbers[node.outputs[0].key] = int(value)


def _size_of(shape: Sequence[Any], known: Known) -> tuple[int, bool]:
    """The elements of a shape, and whether all its extents are known (those that are not count as 1)."""
    total, is_known = 1, True
    for dim in shape:
        if isinstance(dim, Dim):
            if dim.atoms <= known.sizes.keys():
                dim = dim.evaluate(known.sizes)
            else:
                dim, is_known = 1, False
        total *= int(dim)
    return total, is_known


def _flops(graph: Graph, known: Known) -> tuple[int, bool]:
    """The operations of a graph, and whether there may be more."""
    _note_stated(graph, known)
    found = [_flops_of(node, known) for node in graph.nodes]
    return sum(n for n, _ in found), any(flag for _, flag in found)


def _flops_of(node: Node, known: Known) -> tuple[int, bool]:
    """The operations of a node on numbers, by the usual counts; a function such as exp is one."""
    op, facts = node.op, node.op.facts
    if facts.holds:
        return _flops_inside(node, known)
    if facts.moves or facts.cost == "free" or not node.inputs:
        return 0, False
    shapes = [[_size_of((n,), known) for n in v.shape] for v in (*node.outputs[:1], *node.inputs)]
    is_least = not all(is_known for shape in shapes for _, is_known in shape)
    extents = [(*[n for n, _ in shape],) for shape in shapes]
    if facts.flops is not None:
        return int(facts.flops(*extents, **named(op, node.attrs))), is_least
    out = math.prod(extents[0]) if node.outputs else 0
    if op.kind == "elementwise" or facts.cost == "light":
        return out, is_least
    return max(out, math.prod(extents[bool(node.outputs)])), is_least


def _flops_inside(node: Node, known: Known) -> tuple[int, bool]:
    """The operations of branches (the dearest of them), of a loop (steps times those of one) or of a program."""
    holds = node.op.facts.holds
    inner = [_flops(graph, known) for graph in programs_of(node)]
    if holds == "branches":
        return max((n for n, _ in inner), default=0), True
    once, is_least = sum(n for n, _ in inner), any(flag for _, flag in inner)
    if holds == "a program":
        return once, is_least
    # a backward pass takes what its loop has kept
    steps = next((known.steps[v.key] for v in (*node.outputs, *node.inputs) if v.key in known.steps), None)
    return once * (1 if steps is None else steps), steps is None or is_least


_DEAR = 8.0  # a function such as exp is so many additions, to share time out


def _work(nodes: Sequence[Node], known: Known) -> float:
    """About what nodes take, to share the time of one function out among its lines."""
    total = 0.0
    for node in nodes:
        count, _ = _flops_of(node, known)
        is_dear = node.op.kind == "elementwise" and node.op.facts.cost == "dear"
        out = sum(_size_of(v.shape, known)[0] for v in node.outputs)
        total += count * (_DEAR if is_dear else 1.0) + 0.5 * out * (node.op.facts.cost != "free")
    return total


# -- text -------------------------------------------------------------------------------------------------------------

_HEADINGS = ["by", "time", "bytes", "flops", "line", "source", "ops", "why"]


def _row(part: Part) -> list[str]:
    names = ", ".join(part.ops[:4]) + (f" + {len(part.ops) - 4}" if len(part.ops) > 4 else "")
    line = os.path.basename(part.line)
    source = part.source if len(part.source) <= 44 else part.source[:43] + "…"
    count = f"{'>= ' if part.is_least and part.flops else ''}{_number(part.flops)}"
    return [part.by, f"{'~' if part.is_shared else ''}{_time(part.seconds)}", _size(part.bytes), count, line, source,
            names, part.why]  # fmt: skip


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _time(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} B"


def _number(count: int) -> str:
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:.3g}{name}"
    return str(count)
