"""Type-consistent changes of a saved function: an attribute, an operand, a region; and all types behind it follow.

A change that leaves the types as they were is refused for them, and what it would have done is never seen. So a changed
file is read once by a decoder that believes everything and writes into it the types that its ops' rules give.
"""

from __future__ import annotations

import contextlib
import random
from typing import Any

from wengert._compile import saved
from wengert._core.dims import Dim
from wengert._core.op import REGISTRY
from wengert._core.state import building
from wengert._core.types import Guards

_INTEGERS = (-1, 0, 1, 2, 3, 7, 100, 4097, 2**31, 2**40, 2**62)
_TEXTS = ("float32", "float64", "int64", "bool", "all", "sqrt", "auto", "ij", "ji", "i", "")


def changed(data: dict[str, Any], rng: random.Random) -> None:
    """Changes one or two things in a file, in place, and makes its types consistent."""
    for _ in range(rng.choice((1, 1, 1, 2))):
        graph = rng.choice([trace["traced"] for trace in data["traces"]])
        _change(graph, rng)
    with contextlib.suppress(Exception):  # what cannot be made consistent is left: it is to be refused
        follow_types(data)


def _change(graph: dict[str, Any], rng: random.Random) -> None:
    """One change of a graph, or of a graph in it."""
    graphs = [graph, *graphs_in(graph["nodes"])]
    graph = rng.choice(graphs)
    kind = rng.randrange(10)
    nodes = graph["nodes"]
    if kind < 5 and nodes:
        _change_somewhere(rng.choice(nodes)[2], rng)
    elif kind < 8 and nodes:
        place = rng.randrange(len(nodes))
        inputs = nodes[place][1]
        held = len(graph["inputs"]) + len(graph["captures"]) + len(graph["reads"])
        known = held + sum(len(node[3]) for node in nodes[:place])
        if inputs and known:
            inputs[rng.randrange(len(inputs))] = rng.randrange(known)
    elif kind == 8 and graph["inputs"]:
        _change_somewhere(rng.choice(graph["inputs"])[:1], rng)
    else:
        rng.shuffle(graph["outputs"])


def graphs_in(item: Any) -> list[dict[str, Any]]:
    """All graphs in a part of a file, those in graphs, too."""
    if isinstance(item, list):
        return [g for child in item for g in graphs_in(child)]
    if not isinstance(item, dict):
        return []
    own = [item] if "nodes" in item else []
    return own + [g for child in item.values() for g in graphs_in(child)]


def _change_somewhere(item: Any, rng: random.Random) -> None:
    """Another value in place of one leaf, or an entry more or less."""
    leaves: list[tuple[Any, Any]] = []
    waiting = [item]
    while waiting:
        holder = waiting.pop()
        for key, child in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(child, (dict, list)) and key not in ("nodes", "inputs", "captures", "reads"):
                waiting.append(child)
            elif key not in ("is", "name") and not isinstance(child, (dict, list)):
                leaves.append((holder, key))
    if not leaves:
        return
    holder, key = rng.choice(leaves)
    if isinstance(holder, list) and rng.random() < 0.08:
        holder.insert(key, holder[key]) if rng.random() < 0.5 else holder.pop(key)
        return
    holder[key] = _another(holder[key], rng)


def _another(old: Any, rng: random.Random) -> Any:
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return rng.choice([old + 1, old - 1, -old, 2 * old, rng.randrange(-9, 10), rng.choice(_INTEGERS)])
    if isinstance(old, str):
        return rng.choice([*_TEXTS, old[::-1]])
    return rng.choice([0, 1, None, old])


# -- types ------------------------------------------------------------------------------------------------------------


class _Scratch:
    """Where type rules may say what they take to be equal."""

    def __init__(self) -> None:
        self.guards = Guards()


class _Believer(saved.Decoder):
    """A decoder that writes the types that rules give into what it reads."""

    def node(self, item: Any, graph: Any) -> Any:
        name, inputs, attrs, outputs, _ = item
        op = REGISTRY.get(name)
        if op is not None:
            operands = tuple(self._values[i] for i in inputs)
            values = [self.attribute(a) for a in attrs]
            with building(_Scratch()):  # type: ignore[arg-type]  # rules want nothing else of a builder
                types = op.type_rule(*op.group(operands), *values)
            types = types if op.is_multi else (types,)
            for output, (shape, dtype) in zip(outputs, types, strict=False):
                if not any(isinstance(d, Dim) for d in shape):
                    output[0], output[1] = {"tuple": [int(d) for d in shape]}, dtype.name
        return super().node(item, graph)


def follow_types(data: dict[str, Any]) -> None:
    """Writes the types that the ops' rules give into a file, wherever extents are known."""
    verify, saved.verify = saved.verify, lambda *args, **options: None  # type: ignore[assignment]
    try:
        for trace in data["traces"]:
            decoder = _Believer([], [])
            decoder.arrays = _Anything()  # type: ignore[assignment]
            graph = decoder.graph(trace["traced"])
            arrays = [key for key in trace["keys"] if "shape" in key]
            for key, value in zip(arrays, graph.inputs, strict=False):
                if not any(isinstance(d, Dim) for d in value.shape):
                    key["shape"], key["dtype"] = {"tuple": [*value.shape]}, value.dtype.name
    finally:
        saved.verify = verify


class _Anything:
    """Stands in for a table of arrays of which only the types matter, which a change does not touch."""

    def __len__(self) -> int:
        return 0
