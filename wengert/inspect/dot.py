"""Graphs in GraphViz's language."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from .._core.graph import Graph
from .picture import Box, boxes_of, fitted

__all__ = ["to_dot"]

_LOOKS = {
    "input": 'shape=box, style="rounded,filled", fillcolor="#dbeafe", color="#1b6ca8"',
    "variable": 'shape=box, style="rounded,filled", fillcolor="#e6f4ea", color="#2f855a"',
    "constant": 'shape=box, style="rounded,filled,dashed", fillcolor="#f4f5f7", color="#9aa5b1"',
    "op": 'shape=box, style=filled, fillcolor="#ffffff", color="#616e7c"',
    "fold": 'shape=box, style="filled,diagonals", fillcolor="#ffffff", color="#616e7c"',
    "output": 'shape=box, style="rounded,filled", fillcolor="#1f2933", fontcolor="#ffffff", color="#1f2933"',
}
_GRADIENT = 'fillcolor="#fdf0e3", color="#c05621"'


def to_dot(graph: Graph) -> str:
    """The graph in GraphViz's language, to be drawn by `dot` or another program.

    Inputs, Variables, constants, ops and results look differently, and so do the ops of a gradient; the tooltip of an
    op has its line of the listing and the user's source line. In graphs of more than 80 ops chains that only change a
    value's form are one box.

    Returns:
        The text of a `digraph`.

    Example:
        >>> import wengert as wg
        >>> print(wg.function(lambda x: x * x, name="square").trace(2.0).to_dot().splitlines()[0])
        digraph "square" {
    """
    lines = [f"digraph {_quoted(graph.name)} {{"]
    lines += ['  node [fontname="monospace", fontsize=11];', '  edge [color="#616e7c"];']
    boxes = boxes_of(graph)
    lines += [f"  n{i} [{_attributes(box)}];" for i, box in enumerate(boxes)]
    lines += [f"  n{source} -> n{i};" for i, box in enumerate(boxes) for source in box.sources]
    return "\n".join([*lines, "}", ""])


def _attributes(box: Box) -> str:
    label = _quoted(f"{fitted(box.title)}\n{fitted(box.subtitle)}")
    look = _LOOKS[box.kind] + (f", {_GRADIENT}" if box.is_gradient and box.kind in ("op", "fold") else "")
    return f"label={label}, tooltip={_quoted(box.tip)}, {look}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{"".join(c if c.isprintable() else " " for c in escaped)}"'
