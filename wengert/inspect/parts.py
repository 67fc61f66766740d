"""The user's lines in a program that ran: `parts_of` shares its time out, and counts bytes and operations.

A graph that ran is a `Frame`: how often it did, and which of its steps were timed by themselves. Frames are made of
graphs alone (`standing`), or of the cells of code that had a clock in it (`of_cells`). What stands in one timed step is
shared out by the operations of its lines, and marked so.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .._core.graph import Graph, Node
from .._core.printer import programs_of
from .._core.user_line import Site
from .._engines.native.lower.clocks import Clock, Region, Span, is_large
from .._engines.native.plan.numpy_calls import OUTSIDE
from .._engines.native.plan.tiles import TILED
from .operations import Known, bytes_of, flops_of, note_stated, steps_of, work_of

__all__ = ["Frame", "Part", "By", "line_of", "of_cells", "parts_of", "standing"]

By = Callable[[Sequence[Node]], tuple[str, str]]  # from the nodes of a line to what runs them, and why


class Part(NamedTuple):
    """A user's line in a piece of a program that runs as a whole.

    Attributes:
        by: what runs it: "machine code", "library" (functions of libraries, or kernels of NumPy's, that machine code
            calls), "NumPy", or the name of a framework.
        ops: the ops of the line, each once.
        why: why it is not machine code, or which functions of a library are called.
        line: where the user wrote it, as `file:line`, or "" where that is not known.
        source: the text of the line.
        seconds: what it takes, in all its runs together.
        is_shared: whether that is its share, by operations, of the time of several lines that run as one.
        bytes: of the arrays that it takes from other parts and gives them, in all its runs together.
        flops: operations on numbers, those of the lines inside of it with them.
        is_least: whether there may be more operations than that.
        runs: how often it runs; at least so often where `is_least`.
        inner: of a line with loops or branches the lines that run inside of them.
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
    runs: int = 1
    inner: tuple[Part, ...] = ()

    def leaves(self) -> Iterator[tuple[str, float]]:
        """What ran how long, lines inside by themselves."""
        yield self.by, self.seconds - sum(part.seconds for part in self.inner)
        for part in self.inner:
            yield from part.leaves()

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON holds."""
        return {**self._asdict(), "ops": [*self.ops], "inner": [part.to_dict() for part in self.inner]}


class Step(NamedTuple):
    """Nodes that were timed as one."""

    nodes: Sequence[Node]
    seconds: float
    frames: list[Frame]


class Frame(NamedTuple):
    """A graph that ran.

    Attributes:
        graph: it.
        runs: how often.
        is_least: whether it may have run more often.
        steps: those of its steps that were timed.
        sizes: the bytes of what it takes and gives, by key; None: those of its inputs and outputs, in each run.
    """

    graph: Graph
    runs: int
    is_least: bool
    steps: Sequence[Step] = ()
    sizes: dict[int, int] | None = None


def line_of(site: Site | None) -> tuple[str, str]:
    """A place as `file:line`, and the text of the line."""
    if site is None:
        return "", ""
    return f"{site.code.co_filename}:{site.lineno}", site.line


# -- frames -----------------------------------------------------------------------------------------------------------


def standing(node: Node, runs: int, is_least: bool, known: Known) -> list[Frame]:
    """The graphs that a node runs, as far as it tells: of branches the dearest, of a loop step and condition."""
    holds, graphs = node.op.facts.holds, programs_of(node)
    if not holds or not graphs:
        return []
    for graph in graphs:
        note_stated(graph, known)
    if holds == "branches":
        return [Frame(max(graphs, key=lambda graph: _work(graph, known)), runs, True)]
    if holds == "a program":
        return [Frame(graph, runs, is_least) for graph in graphs]
    steps = steps_of(node, known)
    return [Frame(graph, runs * (1 if steps is None else steps), steps is None or is_least) for graph in graphs]


def _work(graph: Graph, known: Known) -> float:
    """About what a run of a graph takes."""
    inner = [frame for node in graph.nodes for frame in standing(node, 1, False, known)]
    return sum(work_of(node, known) for node in graph.nodes) + sum(f.runs * _work(f.graph, known) for f in inner)


def of_cells(clock: Clock, cells: Sequence[int], seconds: float) -> list[Frame]:
    """The graphs of code with a clock, of which a run takes so many seconds without one."""
    look = cells[clock.look]

    def taken(span: Span, runs: int) -> float:
        looks = runs + 2 * sum(cells[region.cell] * len(region.spans) for region in _regions_in(span))
        return max(0.0, cells[span.cell] - looks * look)

    def frame(region: Region) -> Frame:
        runs = cells[region.cell]
        steps = [Step(s.nodes, taken(s, runs) * scale, [*map(frame, s.regions)]) for s in region.spans]
        return Frame(region.graph, runs, False, steps)

    whole = taken(clock.whole, 1)
    scale = seconds / whole if whole else 0.0
    return [*map(frame, clock.whole.regions)]


def _regions_in(span: Span) -> Iterator[Region]:
    for region in span.regions:
        yield region
        for inner in region.spans:
            yield from _regions_in(inner)


# -- lines ------------------------------------------------------------------------------------------------------------


class _Row:
    """A node that ran.

    Attributes:
        frames: the graphs that it ran.
        work: about what it took in all its runs.
        seconds: its share.
        is_shared: whether that is a share of what several lines took.
    """

    def __init__(self, node: Node, frame: Frame, frames: list[Frame], work: float) -> None:
        self.node = node
        self.frame = frame
        self.frames = frames
        self.work = work
        self.seconds = 0.0
        self.is_shared = False


def parts_of(frames: Sequence[Frame], seconds: float, by: By, known: Known) -> list[Part]:
    """The lines of graphs that took so many seconds together."""
    rows: list[_Row] = []
    loose: list[_Row] = []
    for frame in frames:
        note_stated(frame.graph, known)
        timed = _steps_by_node(frame)
        of_steps: dict[int, list[_Row]] = {}
        for node in frame.graph.nodes:
            step = timed.get(id(node))
            made = [*_rows_of(node, frame, step, known)]
            rows += made
            if step is None:
                loose += made
            else:
                of_steps.setdefault(id(step), []).extend(made)
        for step in frame.steps:
            _share(of_steps.get(id(step), []), step.seconds)
    rest = seconds - sum(row.seconds for row in rows)
    if rest == seconds:  # the clock has seen nothing, or is too slow for it
        _share(rows, seconds)
    elif rest > 0 and any(row.work for row in loose):
        _share(loose, rest)
    else:  # what the steps took beside what the clock saw
        found = sum(row.seconds for row in rows)
        for row in rows:
            row.seconds = row.seconds * seconds / found if found else seconds / len(rows)
    return [_part(*line, group, by, known) for line, group in _by_line(rows).items()]


def _steps_by_node(frame: Frame) -> dict[int, Step]:
    """By node the step that it is timed with: also what is computed where a step reads it, and not by itself."""
    found = {id(node): step for step in frame.steps for node in step.nodes}
    makers = {v.key: node for node in frame.graph.nodes for v in node.outputs}
    for step in frame.steps:
        waiting = [*step.nodes]
        while waiting:
            for value in waiting.pop().inputs:
                node = makers.get(value.key)
                if node is not None and id(node) not in found and is_large(node.outputs[0]):
                    found[id(node)] = step
                    waiting.append(node)
    return found


def _rows_of(node: Node, frame: Frame, step: Step | None, known: Known) -> Iterator[_Row]:
    """A node, or those that it stands for."""
    if node.op is TILED:
        for inner in node.attrs[0].plain.nodes:
            yield from _rows_of(inner, frame, step, known)
        return
    itself = node.attrs[0] if node.op is OUTSIDE else node
    frames = step.frames if step is not None and step.frames else standing(itself, frame.runs, frame.is_least, known)
    work = work_of(itself, known) * frame.runs + sum(f.runs * _work(f.graph, known) for f in frames)
    yield _Row(node, frame, frames, work)


def _share(rows: Sequence[_Row], seconds: float) -> None:
    """Shares seconds out among nodes, by their work."""
    total = sum(row.work for row in rows)
    is_shared = len({line_of(row.node.site) for row in rows if row.node.inputs}) > 1
    for row in rows:
        row.seconds = seconds * (row.work / total if total else 1 / len(rows))
        row.is_shared = is_shared


def _by_line(rows: Sequence[_Row]) -> dict[tuple[str, str], list[_Row]]:
    """Nodes by the user's line that asks for them; what is there in no time, or asked for by no line, is told with its
    line where that has something else, too, or with the first."""
    lines = {id(row): line_of(row.node.site) for row in rows}
    works = [row for row in rows if lines[id(row)][0] and _takes_time(row.node)] or rows
    groups: dict[tuple[str, str], list[_Row]] = {lines[id(row)]: [] for row in works}
    for row in rows:
        groups.get(lines[id(row)], groups[lines[id(works[0])]]).append(row)
    return groups


def _takes_time(node: Node) -> bool:
    return bool(node.op.facts.holds) or (bool(node.inputs) and node.op.facts.cost != "free")


def _part(line: str, source: str, rows: Sequence[_Row], by: By, known: Known) -> Part:
    """A line."""
    nodes = [row.node.attrs[0] if row.node.op is OUTSIDE else row.node for row in rows]
    told = [node for node in nodes if node.op.facts.cost != "free" and node.op.facts.states is None]
    names = (*dict.fromkeys(node.op.name for node in told),)
    counts = [(*flops_of(node, known), row.frame) for node, row in zip(nodes, rows, strict=True)]
    inner = _merged(part for row in rows if row.frames for part in parts_of(row.frames, row.seconds, by, known))
    is_least = any(flag or (count and frame.is_least) for count, flag, frame in counts)
    who, why = by([row.node for row in rows])
    return Part(
        who, names, why, line, source, sum(row.seconds for row in rows),
        any(row.is_shared for row in rows), _bytes_of(rows, known),
        sum(count * frame.runs for count, _, frame in counts) + sum(part.flops for part in inner),
        bool(is_least) or any(part.is_least for part in inner), max(row.frame.runs for row in rows), (*inner,),
    )  # fmt: skip


def _bytes_of(rows: Sequence[_Row], known: Known) -> int:
    """The bytes of what the nodes of a line read from outside of their graphs, and give there."""
    total = 0
    for frame in {id(row.frame): row.frame for row in rows}.values():
        nodes = [row.node for row in rows if row.frame is frame]
        touched = {v.key for node in nodes for v in (*node.inputs, *node.outputs)}
        if frame.sizes is not None:
            total += sum(size for key, size in frame.sizes.items() if key in touched)
        else:
            outside = {v.key: v for v in (*frame.graph.inputs, *frame.graph.outputs) if v.key in touched}
            total += frame.runs * sum(bytes_of(v, known) for v in outside.values())
    return total


def _merged(parts: Iterable[Part]) -> list[Part]:
    """Parts of which no two are of one line: what a loop and its backward pass do there is told together."""
    found: dict[tuple[str, str, str], Part] = {}
    for part in parts:
        key = part.by, part.line, part.source
        found[key] = part if key not in found else _both(found[key], part)
    return [*found.values()]


def _both(x: Part, y: Part) -> Part:
    return Part(
        x.by, (*dict.fromkeys((*x.ops, *y.ops)),), ", ".join(dict.fromkeys(w for w in (x.why, y.why) if w)), x.line,
        x.source, x.seconds + y.seconds, x.is_shared or y.is_shared, x.bytes + y.bytes, x.flops + y.flops,
        x.is_least or y.is_least, max(x.runs, y.runs), (*_merged((*x.inner, *y.inner)),),
    )  # fmt: skip
