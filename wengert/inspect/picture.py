"""What a drawing of a graph shows: its boxes and which follows from which; how it looks is `dot` and `svg`'s matter.

Constants get a box for every use, so that no line crosses the picture for a number; in large graphs chains of
ops that only change a value's form are one box.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._core.graph import Graph, Node
from .._core.op import stated
from .._core.printer import graph_text, node_text, programs_of, type_text, value_names
from .._core.tensor import Value

__all__ = ["Box", "boxes_of", "fitted", "width_of"]

FOLD_ABOVE = 80  # nodes
_MOST_CHARACTERS = 30  # in one line of a box


@dataclass
class Box:
    """One box: a value that comes from outside, an op, a chain of them, or a result.

    Attributes:
        kind: "input", "variable", "constant", "op", "fold" or "output".
        title, subtitle: the two lines in it, short enough for a box.
        tip: the whole story, for a tooltip.
        is_gradient: whether a reverse sweep made it.
        sources: the boxes that it is computed from, by their place in the list, each once.
    """

    kind: str
    title: str
    subtitle: str
    tip: str
    is_gradient: bool = False
    sources: list[int] = field(default_factory=list[int])


def boxes_of(graph: Graph) -> list[Box]:
    """The boxes of a graph, sources before what is computed from them."""
    return _Drafter(graph).boxes


class _Drafter:
    """Makes the boxes of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names = value_names(graph)
        self.boxes: list[Box] = []
        self.made_by: dict[int, int] = {}  # value key -> its box
        self.forms: set[int] = set()  # boxes that chains begin with
        self.numbers: dict[int, Node] = {}  # value key -> the node of a constant, drawn at each use
        self.uses: Counter[int] = Counter(v.key for n in graph.nodes for v in n.inputs)
        self.uses.update(v.key for v in graph.outputs)
        self.folds = len(graph.nodes) > FOLD_ABOVE
        self._draw_free_values()
        for node in graph.nodes:
            self._draw_node(node)
        self._draw_results()

    def _draw_free_values(self) -> None:
        for value in self.graph.inputs:
            self._add(Box("input", self.names[value.key].removeprefix("%"), type_text(value), "an input"), value)
        for tensor, value in self.graph.captures.values():
            is_symbolic = type(tensor._data) is Value
            text = "from outside" if is_symbolic or tensor.shape != () else f"{tensor}"
            self._add(Box("constant", text, type_text(value), "a value captured from outside the function"), value)
        for variable, value in self.graph.reads.values():
            self._add(Box("variable", str(variable.name), type_text(value), "a Variable, read"), value)

    def _draw_node(self, node: Node) -> None:
        if stated(node.op, node.attrs) is not None:
            self.numbers[node.outputs[0].key] = node
            return
        if self.folds and self._joins_chain(node):
            return
        subtitle = ", ".join(map(type_text, node.outputs))
        box = Box("op", _title(node), subtitle, self._tip(node), node.is_quiet, self._sources(node.inputs))
        if _is_form(node):
            self.forms.add(len(self.boxes))
        self._add(box, *node.outputs)

    def _joins_chain(self, node: Node) -> bool:
        """Makes a node part of the box before it, where both change a value but little and nothing else reads it."""
        if not _is_form(node) or self.uses[node.inputs[0].key] != 1:
            return False
        place = self.made_by.get(node.inputs[0].key)
        if place is None:
            return False
        before = self.boxes[place]
        if before.kind != "fold" and not (before.kind == "op" and before.tip.count("\n") <= 1 and place in self.forms):
            return False
        if before.is_gradient != node.is_quiet:
            return False
        before.title = f"{before.title.split(' ')[0] if before.kind == 'op' else before.title} · {node.op.name}"
        before.kind = "fold"
        before.subtitle = type_text(node.outputs[0])
        before.tip += f"\n{self._tip(node)}"
        self.made_by[node.outputs[0].key] = place
        return True

    def _draw_results(self) -> None:
        written = len(self.graph.writes)
        plain = self.graph.outputs[: len(self.graph.outputs) - written] if self.graph.is_frozen else []
        for index, value in enumerate(plain):
            title = "result" if len(plain) == 1 else f"result {index}"
            self._add(Box("output", title, type_text(value), "a result", sources=self._sources((value,))))
        for variable, tensor in self.graph.writes.values():
            value: Any = tensor._data
            if type(value) is Value and (value.key in self.made_by or value.key in self.numbers):
                title, sources = f"{variable.name} :=", self._sources((value,))
                self._add(Box("output", title, type_text(value), "a Variable, written", sources=sources))

    def _sources(self, values: tuple[Value, ...]) -> list[int]:
        found: list[int] = []
        for value in dict.fromkeys(values):
            node = self.numbers.get(value.key)
            if node is not None:
                box = Box("constant", _number_text(node), type_text(value), self._tip(node), node.is_quiet)
                self.boxes.append(box)
                found.append(len(self.boxes) - 1)
            elif value.key in self.made_by:
                found.append(self.made_by[value.key])
        return [*dict.fromkeys(found)]

    def _tip(self, node: Node) -> str:
        text = "\n".join([node_text(node, self.names), *map(graph_text, programs_of(node))])
        return f"{text}\n  at {node.site}" if node.site else text

    def _add(self, box: Box, *values: Value) -> None:
        for value in values:
            self.made_by[value.key] = len(self.boxes)
        self.boxes.append(box)


def _is_form(node: Node) -> bool:
    """Whether a node changes one value a little: its shape, its order, its sign."""
    return node.op.facts.cost != "dear" and len(node.inputs) == 1


def _title(node: Node) -> str:
    """The op with what distinguishes it: `reduce_sum axes=(0,)`, or the name of the function called."""
    name = node.op.name
    shown = [_attribute(n, a) for n, a in zip(node.op.attrs, node.attrs, strict=True) if n not in ("dtype", "shape")]
    programs = programs_of(node)
    if programs:
        return f"{name} · {sum(len(p.nodes) for p in programs)} ops inside"
    return " ".join([name, *filter(None, shown)])


def _attribute(name: str, value: object) -> str:
    if value is None or isinstance(value, np.ndarray):
        return ""
    if isinstance(value, (bool, int, float, complex, str, tuple)):
        return f"{name}={value}".replace(", ", ",")
    known = getattr(value, "name", None) or getattr(getattr(value, "graph", None), "name", "")
    return str(known)


def _number_text(node: Node) -> str:
    value = stated(node.op, node.attrs)
    if np.size(value) > 4:
        return "constant array"
    if np.ndim(value):
        return " ".join(str(value).split())
    return str(value)


def width_of(text: str) -> int:
    """How many columns of a fixed-width font a text takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fitted(text: str, columns: int = _MOST_CHARACTERS) -> str:
    """A text cut down to so many columns, free of characters that a drawing cannot hold."""
    text = "".join(c if c.isprintable() else "�" for c in text)
    if width_of(text) <= columns:
        return text
    while width_of(text) > columns - 1:
        text = text[:-1]
    return text + "…"
