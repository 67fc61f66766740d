"""`Function.report`: what of a call ran as machine code, by a library, by NumPy and why, and what each part cost.

A program's parts are run one after the other under a clock, some times each. Machine code of several lines is made once
more with a clock in it, which times its loops and large steps; what stands in one of these is shared out by the
operations of its lines, and marked so (`parts.py`).
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import gc
import html
import math
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._compile.cache import Compiled
from .._core import system
from .._core.argument_types import ArrayLike
from .._core.garbage import uncollected
from .._core.graph import Graph, Node
from .._core.op import REGISTRY
from .._core.printer import programs_of
from .._core.user_line import Site
from .._engines.native.engine import Segment, Timed, is_on, lack
from .._engines.native.plan.numpy_calls import OUTSIDE
from .._engines.native.plan.support import called_within, culprit_of, reason_against
from .._engines.native.run.memory import taken_by
from .._engines.numpy.execute import executable, observed
from .._engines.refine import COMPILED
from .operations import Known, note_steps
from .parts import Frame, Part, line_of, of_cells, parts_of

__all__ = ["Part", "Report", "report_of"]

MACHINE_CODE, LIBRARY, NUMPY = "machine code", "library", "NumPy"
_CLOCKED = 0.2  # seconds that are spent on the clock, about
_MOST_RUNS = 20
_COLOURS = {MACHINE_CODE: "#2f855a", LIBRARY: "#1b6ca8", NUMPY: "#c05621"}


class Report:
    """What ran where, and what it cost; printed as a table, shown in notebooks as a picture.

    Attributes:
        name: of the function.
        seconds: what a call of the compiled program takes: the least of some.
        parts: the lines of its pieces, in the order in which they run.
        memory: the bytes that a call takes beside those of its arguments, at most at any time; 0 where nothing tells.
        compile: seconds to the first result, by stage; what a framework compiles is not in it.
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
        for by, seconds in (leaf for part in self.parts for leaf in part.leaves()):
            found[by] = found.get(by, 0.0) + (seconds / total if total else 0.0)
        return found

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON holds."""
        return {
            "name": self.name, "seconds": self.seconds, "memory": self.memory, "by": self.by(),
            "parts": [part.to_dict() for part in self.parts], "compile": self.compile,
            "trace_count": len(self.traces), "traces": self.traces,
        }  # fmt: skip

    def __str__(self) -> str:
        shares = ", ".join(f"{share:.0%} {by}" for by, share in self.by().items())
        head = f"{self.name}: {_time(self.seconds)} a call; {shares or 'nothing to run'}"
        lines = [head, ""]
        lines += _table([_HEADINGS, *[_row(part, "  " * depth) for part, depth in _listed(self.parts)]])
        lines += ["", f"memory      {self._memory()}"]
        stages = ", ".join(f"{stage} {_time(s)}" for stage, s in self.compile.items())
        lines.append(f"compiling   {_time(sum(self.compile.values()))}: {stages}")
        lines.append(f"traces      {len(self.traces)}")
        lines += [f"  {number}. {reason}" for number, reason in enumerate(self.traces, 1)]
        return "\n".join(line.rstrip() for line in lines)

    def _memory(self) -> str:
        return f"{_size(self.memory)} at most, beside the arguments" if self.memory else "not known"

    def __repr__(self) -> str:
        return f"<report of {self.name}: {len(self.parts)} parts, {_time(self.seconds)}>"

    def _repr_html_(self) -> str:
        bars, rows = _bars(self.parts), [*_listed(self.parts)]
        height = _BAR + _INNER_BAR * max((depth for _, depth in rows), default=0)
        keys = " ".join(
            f'<span style="color:{_colour(by)}">&#9632;</span> {html.escape(by)} {share:.0%}'
            for by, share in self.by().items()
        )
        heads = "".join(f"<th style='text-align:left'>{html.escape(h)}</th>" for h in _HEADINGS)
        cells = [
            f"<td style='padding-left:{depth * 1.5}em'>"
            + "<td>".join(f"{html.escape(cell)}</td>" for cell in _row(part))
            for part, depth in rows
        ]
        stages = ", ".join(f"{stage} {_time(s)}" for stage, s in self.compile.items())
        traces = "".join(f"<li>{html.escape(reason)}</li>" for reason in self.traces)
        return (
            f"<div><b>{html.escape(self.name)}</b>: {_time(self.seconds)} a call; memory: {self._memory()}"
            f'<br><svg width="100%" height="{height}" role="img">{bars}</svg><br>{keys}'
            f"<table><tr>{heads}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
            f"<p>compiled in {_time(sum(self.compile.values()))}: {html.escape(stages)}</p>"
            f"<p>traces:</p><ol>{traces}</ol></div>"
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
    meter = _Meter(graph, has_effects)
    watched = observed(graph, meter.kernel)
    for _ in range(repeats):
        watched(*_own(natives, has_effects))
    if not has_effects:  # what looks for warnings in the first calls does no more
        seconds = min(seconds, _clocked(lambda: run(*natives), False)[0])
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
    is_once = bool(compiled.written) or _has_effects(graph)
    seconds, _ = _clocked(call, is_once)
    sizes = dict(zip((v.key for v in graph.inputs), map(_bytes, natives), strict=False))
    by = engine, "one program of the framework"
    parts = parts_of([Frame(graph, 1, False, sizes=sizes)], seconds, lambda nodes: by, Known({}, {}))
    memory = 0 if is_once else system.SYSTEM.grown_by(call) or 0
    return Report(name, seconds, parts, memory, stages, traces)


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
    system tells that and it is more. What goes meanwhile would count as given back by the run, so garbage goes before.
    """
    gc.collect()
    is_ours = not tracemalloc.is_tracing()
    if is_ours:
        tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        blocks = uncollected.run(taken_by, run)
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

    def __init__(self, graph: Graph, has_effects: bool) -> None:
        self.graph = graph
        self.most_alive = 0
        self._has_effects = has_effects
        self._seconds: dict[int, float] = {}
        self._given: dict[int, tuple[list[int], list[int]]] = {}  # bytes of operands and results
        self._refusals: dict[int, int] = {}
        self._clocks: dict[int, Timed | None] = {}
        self._cells: dict[int, Sequence[int]] = {}
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
                self._look_inside(place, node.attrs[0], natives[:count])
            results = found if node.op.is_multi else (found,)
            self._given[place] = ([*map(_bytes, natives[:count])], [*map(_bytes, results)])
            note_steps(node, natives[:count], results, self._known)
            self.most_alive = max(self.most_alive, sum(self._given[place][1]))
            return found

        return timed

    def _look_inside(self, place: int, segment: Segment, natives: Sequence[Any]) -> None:
        """Runs a function of several lines once more with a clock in it, and keeps what the shortest run told."""
        if self._has_effects or self._refusals[place] or not _has_lines(segment.graph):
            return
        if place not in self._clocks:
            self._clocks[place] = segment.timed()
        clock = self._clocks[place]
        found = None if clock is None else clock.cells(natives)
        if clock is None or found is None:
            return
        whole, before = clock.clock.whole.cell, self._cells.get(place)
        if before is None or found[whole] < before[whole]:
            self._cells[place] = found.tolist()

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
        why, site, inside = _why(node)
        whole = Graph.of("", [*node.inputs], [node], [*node.outputs])
        (part,) = parts_of([Frame(whole, 1, False)], self._seconds[place], _of_host, self._known)
        line, source = line_of(site or node.site)
        return part._replace(
            by=NUMPY, ops=(node.op.name, *(() if inside is None else (inside,))), why=why, line=line, source=source,
            bytes=sum(taken) + sum(given),
        )  # fmt: skip

    def _of_segment(self, place: int, segment: Segment) -> list[Part]:
        taken, given = self._given[place]
        seconds, clock, cells = self._seconds[place], self._clocks.get(place), self._cells.get(place)
        frames = [Frame(segment.graph, 1, False)]
        if clock is not None and cells is not None:
            self._known.sizes.update(clock.sizes)
            frames = of_cells(clock.clock, cells, seconds)
        (frame,) = frames
        values = (*frame.graph.inputs, *frame.graph.outputs)
        sizes = dict(zip((v.key for v in values), (*taken, *given), strict=False))
        by = self._of_code(segment, bool(self._refusals.get(place)))
        return parts_of([frame._replace(sizes=sizes)], seconds, by, self._known)

    @staticmethod
    def _of_code(segment: Segment, is_refused: bool) -> Callable[[Sequence[Node]], tuple[str, str]]:
        libraries = {name: code.lowered.callers.get(name, set()) for code in segment.codes for name in code.libraries}
        refused = "machine code does not take the values of this call" if is_refused else ""
        why = refused or ("" if segment.codes else "compiling it failed")

        def by(nodes: Sequence[Node]) -> tuple[str, str]:
            called = sorted(n for n, ops in libraries.items() if any(_calls(node, n, ops) for node in nodes))
            called += sorted({_kernel_of(name) for node in nodes for name in _kernels_in(node)})
            return NUMPY if why else LIBRARY if called else MACHINE_CODE, why or ", ".join(called)

        return by


def _of_host(nodes: Sequence[Node]) -> tuple[str, str]:
    """What runs nodes of a loop whose steps run in Python: machine code where it can, between the others."""
    whys = [why for node in nodes if not node.op.facts.holds and node.op.facts.cost != "free"
            and (why := reason_against(node))]  # fmt: skip
    is_held = any(node.op.facts.holds for node in nodes)
    return (NUMPY, ", ".join(dict.fromkeys(whys))) if whys or is_held or not is_on() else (MACHINE_CODE, "")


def _has_lines(graph: Graph) -> bool:
    """Whether there is something to be shared out in a graph."""
    lines = {line_of(node.site) for node in graph.nodes if node.inputs}
    return len(lines) > 1 or any(node.op.facts.holds for node in graph.nodes)


def _kernels_in(node: Node) -> set[str]:
    """The kernels that a node's machine code calls."""
    return {node.attrs[0].op.name} if node.op is OUTSIDE else called_within(node)


def _kernel_of(name: str) -> str:
    """A kernel that machine code calls, in words."""
    return f"NumPy's kernel of {name}" if name in REGISTRY else f"the user's own {name}"


def _bytes(x: ArrayLike) -> int:
    return int(getattr(x, "nbytes", 8))


def _why(node: Node) -> tuple[str, Site | None, str | None]:
    """Why a node is not machine code; of a loop or a branch, the line and the op inside that it is for, too."""
    if not is_on():
        return f"there is no compiler: {lack()}", None, None
    culprit = culprit_of(node)
    if culprit is node:
        reason = reason_against(node)
        return reason or "a buffer of the caller's, or a size that only another part tells", None, None
    return f"{culprit.op.name}: {reason_against(culprit)}", culprit.site, culprit.op.name


def _calls(node: Node, library: str, ops: set[str]) -> bool:
    """Whether a node's machine code is what calls a function of a library, which these ops do."""
    inner = [n for graph in programs_of(node) for n in graph.nodes]
    if any(_calls(n, library, ops) for n in inner):
        return True
    if library.startswith("special."):  # where it is called, one of several nodes is computed
        return not node.op.facts.holds and node.op.kind == "elementwise"
    return node.op.name in ops


# -- text -------------------------------------------------------------------------------------------------------------

_HEADINGS = ["by", "time", "runs", "bytes", "flops", "line", "source", "ops", "why"]
_BAR, _INNER_BAR = 28, 16  # heights in the picture


def _listed(parts: Sequence[Part], depth: int = 0) -> Iterator[tuple[Part, int]]:
    """Parts with those inside of them, and how deep they are."""
    for part in parts:
        yield part, depth
        yield from _listed(part.inner, depth + 1)


def _colour(by: str) -> str:
    return _COLOURS.get(by, "#616e7c")


def _bars(parts: Sequence[Part], left: float = 0.0, per_second: float = 0.0, depth: int = 0) -> str:
    """A bar for each part, as wide as its share of the time; below it those of what is inside."""
    scale = per_second or 100 / (sum(part.seconds for part in parts) or 1.0)
    top, height = (0, _BAR) if depth == 0 else (_BAR + _INNER_BAR * (depth - 1), _INNER_BAR)
    bars = ""
    for part in parts:
        width = scale * part.seconds
        tip = html.escape(f"{part.line} {part.source}\n{part.by}: {', '.join(part.ops)}\n{_time(part.seconds)}")
        bars += f'<rect x="{left:.3f}%" y="{top}" width="{width:.3f}%" height="{height}" fill="{_colour(part.by)}" '
        bars += f'stroke="#fff"><title>{tip}</title></rect>'
        bars += _bars(part.inner, left, scale, depth + 1)
        left += width
    return bars


def _row(part: Part, indent: str = "") -> list[str]:
    names = ", ".join(part.ops[:4]) + (f" + {len(part.ops) - 4}" if len(part.ops) > 4 else "")
    line = os.path.basename(part.line)
    source = part.source if len(part.source) <= 44 else part.source[:43] + "…"
    count = f"{'>= ' if part.is_least and part.flops else ''}{_number(part.flops)}"
    return [indent + part.by, f"{'~' if part.is_shared else ''}{_time(part.seconds)}", f"{part.runs:,}",
            _size(part.bytes), count, line, source, names, part.why]  # fmt: skip


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
