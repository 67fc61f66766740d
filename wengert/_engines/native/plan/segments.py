"""Which nodes of a graph become machine code: segments of native nodes, between them what NumPy's kernels run.

Segments are as large as can be: a node joins that of its operands unless a node that is not native stands between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...._core.analysis import atoms_named, atoms_told, holders
from ...._core.dims import Dim, dims_in
from ...._core.graph import Graph, Node
from ...._core.op import BRANCHES_AND_LOOPS
from ...._core.tensor import Value
from ..lower.maps import MAPS
from .schedule import static_size


class Part(NamedTuple):
    """A piece of a graph: nodes that become one function, or one node that a kernel runs."""

    nodes: list[Node]
    is_native: bool
    inputs: list[Value]
    outputs: list[Value]

    def graph(self, name: str) -> Graph:
        """The part as a graph."""
        return Graph.of(name, self.inputs, self.nodes, self.outputs)


def parts(graph: Graph, is_native: Callable[[Node], bool]) -> list[Part]:
    """The parts of a graph, in an order in which they can run."""
    kept = _held_outside(graph)
    natives = [place not in kept and is_native(node) for place, node in enumerate(graph.nodes)]
    while True:
        levels = _levels(graph, natives)
        refused = _without_source(graph, natives)
        if not refused:
            found: dict[int, list[Node]] = {}
            for node, level in zip(graph.nodes, levels, strict=True):
                found.setdefault(level, []).append(node)
            result = _as_parts(graph, found)
            atoms = {a for part in result if part.is_native for a in _untold(part)}
            atoms |= _untold_outside(graph, result)
            if not atoms:
                return result
            refused = [p for p, node in enumerate(graph.nodes) if natives[p] and atoms & _atoms_of(node)]
            if not refused:
                return result
        for place in refused:
            natives[place] = False


def _held_outside(graph: Graph) -> set[int]:
    """Nodes that read or write buffers of the caller's: NumPy's kernels do that in place, machine code on a copy.

    An array that is written to for this graph alone is none of them: no version of it is handed back, but its value is.
    """
    root_of = {v.key: v.key for v in graph.inputs}
    users: dict[int, list[int]] = {}  # of an input, the nodes that read or write a version of it as a buffer
    read_whole: set[int] = set()  # inputs of which a later version is read as an array
    for place, node in enumerate(graph.nodes):
        facts = node.op.facts
        buffer = node.inputs[node.op.operands.index(facts.buffer)].key if facts.buffer else -1
        is_part = facts.buffer and facts.moves != "all"
        read_whole |= {
            root_of[v.key] for v in node.inputs
            if root_of.get(v.key, v.key) != v.key and not (is_part and v.key == buffer)
        }  # fmt: skip
        if buffer in root_of:
            users.setdefault(root_of[buffer], []).append(place)
            if facts.writes:
                root_of[node.outputs[0].key] = root_of[buffer]
    handed_back = {root_of[v.key] for v in graph.outputs if v.key in root_of}
    return {
        place for root, places in users.items() if root in handed_back or root not in read_whole for place in places
    }


def _levels(graph: Graph, natives: list[bool]) -> list[int]:
    """Even for native nodes, odd for others; never lower than an operand's. What has an effect stays in order.

    A node that needs a dimension which another one's results tell comes after that one, too.
    """
    level_of: dict[int, int] = {}
    told: dict[Any, int] = {}
    levels: list[int] = []
    effects = 0
    known = atoms_told(graph.inputs)
    for node, native in zip(graph.nodes, natives, strict=True):
        level = 0
        for value in node.inputs:
            other = level_of.get(value.key, 0)
            if other > level:
                level = other
        if told:
            level = max([level, *[told[atom] for atom in _atoms_of(node) if atom in told]])
        if node.op.has_effect:
            level = effects = max(level, effects)
        if native == bool(level % 2):
            level += 1
        levels.append(level)
        if node.op.has_effect:
            effects = level
        for value in node.outputs:
            level_of[value.key] = level
            if Dim in map(type, value.shape):
                for atom in atoms_told((value,)) - known:
                    told.setdefault(atom, level)
    return _with_constants_beside_readers(graph, levels)


def _with_constants_beside_readers(graph: Graph, levels: list[int]) -> list[int]:
    """Constants that only machine code reads are part of it, where they are known, and not arrays that it is passed."""
    places = [k for k, node in enumerate(graph.nodes) if node.op.name == "constant" and levels[k] == 0]
    if not places:
        return levels
    constants = {graph.nodes[k].outputs[0].key: k for k in places}
    lowest: dict[int, int] = {v.key: 0 for v in graph.outputs if v.key in constants}
    for node, level in zip(graph.nodes, levels, strict=True):
        for value in node.inputs:
            if value.key in constants:
                lowest[value.key] = min(lowest.get(value.key, level), level * (level % 2 == 0))
    found = [*levels]
    for key, place in constants.items():
        found[place] = lowest.get(key, levels[place])
    return found


def _without_source(graph: Graph, natives: list[bool]) -> list[int]:
    """Native nodes that take a history which NumPy's kernels make: machine code could not read it."""
    if all(natives):
        return []
    made = {v.key for place, node in enumerate(graph.nodes) if not natives[place] for v in node.outputs}
    return [
        place for place, node in enumerate(graph.nodes)
        if natives[place] and any(v.is_history and v.key in made for v in node.inputs)
    ]  # fmt: skip


def _as_parts(graph: Graph, found: dict[int, list[Node]]) -> list[Part]:
    asked = {v.key for v in graph.outputs}
    first_read: dict[int, int] = {}  # by value, a level that reads it
    for level, nodes in found.items():
        for node in nodes:
            for value in node.inputs:
                if first_read.setdefault(value.key, level) != level:
                    asked.add(value.key)  # read in several: in one that is not its own, at least
    result: list[Part] = []
    for level in sorted(found):
        nodes = found[level]
        repeating = [node for node in nodes if node.op.name == "broadcast_to"]
        repeated = {node.outputs[0].key for node in repeating if _repeats_much(node)}
        if level % 2 or not any(_computes(node) or _copies_repeated(node, repeated) for node in nodes):
            result += [Part([node], False, [*node.inputs], [*node.outputs]) for node in nodes]
            continue
        made = {v.key: v for node in nodes for v in node.outputs}
        inputs = {v.key: v for node in nodes for v in node.inputs if v.key not in made}
        outputs = [v for key, v in made.items() if key in asked or first_read.get(key, level) != level]
        tellers = _tellers(graph, nodes, [*inputs.values()])
        result.append(Part(nodes, True, [*inputs.values(), *tellers], outputs))
    return result


# -- dimensions -------------------------------------------------------------------------------------------------------


def _atoms_of(node: Node) -> set[Any]:
    """The dimensions that a node has to do with."""
    return _all_atoms([node], node.inputs)


def _all_atoms(nodes: Iterable[Node], taken: Iterable[Value]) -> set[Any]:
    """The dimensions that nodes have to do with, which take these values beside one another's."""
    shapes = [v.shape for v in taken]
    shapes += [v.shape for node in nodes for v in node.outputs]
    dims = [d for shape in shapes if Dim in map(type, shape) for d in shape if type(d) is Dim]
    for node in nodes:
        if node.attrs:
            dims += dims_in(node.attrs)
    return {a for d in dims for a in d.atoms}


def _tellers(graph: Graph, nodes: list[Node], inputs: list[Value]) -> list[Value]:
    """Inputs of the graph that a part takes only because they tell a dimension."""
    missing = _all_atoms(nodes, inputs) - atoms_told(inputs)
    return holders([v for v in graph.inputs if not v.is_history], missing)[0]


def _untold(part: Part) -> set[Any]:
    """The dimensions of a part that nothing tells."""
    given = atoms_told(part.inputs)
    regions = [node for node in part.nodes if node.op.facts.holds in BRANCHES_AND_LOOPS]
    made = atoms_told(v for node in regions for v in node.outputs)
    taken = [v for v in part.inputs if Dim in map(type, v.shape)]
    if taken:  # some may be there only to tell a dimension
        read = {v.key for node in part.nodes for v in node.inputs}
        taken = [v for v in taken if v.key in read]
    needed = _all_atoms(part.nodes, taken)
    return needed - given - made


def _untold_outside(graph: Graph, result: Iterable[Part]) -> set[Any]:
    """The dimensions that kernels are told as attributes and that only the inside of a native part tells."""
    given = atoms_told(graph.inputs) | atoms_told(v for part in result for v in part.outputs)
    others = [node for part in result if not part.is_native for node in part.nodes]
    return atoms_named(others) - given


_COPIES = ("full", "concatenate", "pad")
# of which NumPy's kernels take several times as long for short rows, or a mask of the whole
_BY_NUMBER = ("gather", "permute_along", "take_along", "tril", "triu")
_LARGE = 64 * 1024  # bytes from which on an array of NumPy's may be mapped anew at each call, and ours are kept


def _repeats_much(node: Node) -> bool:
    """Whether a copy of what is broadcast had better be ours: NumPy copies equal elements side by side each by itself,
    and to a new array where ours is kept."""
    is_one_by_one = node.inputs[0].shape[-1:] == (1,) and node.outputs[0].shape[-1:] != (1,)
    return is_one_by_one or _is_large(node)


def _copies_repeated(node: Node, repeated: set[int]) -> bool:
    """Whether a node copies repeated elements: a reshape that is no view, as several axes come into one."""
    if node.op.name != "reshape":
        return False
    (x,), (out,) = node.inputs, node.outputs
    return x.key in repeated and len(out.shape) < len(x.shape)


def _computes(node: Node) -> bool:
    """Whether a node does more than to move or repeat elements, of which NumPy makes a view or a small copy."""
    name = node.op.name
    if name in _COPIES:
        return _is_large(node)
    return name in _BY_NUMBER or (name not in MAPS and name not in ("constant", "dim_value"))


def _is_large(node: Node) -> bool:
    """Whether the array that a node makes is known to be large."""
    (out,) = node.outputs
    size = static_size(out.shape)
    return size is not None and size * out.dtype.itemsize >= _LARGE
