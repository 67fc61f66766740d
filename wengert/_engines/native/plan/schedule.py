"""Fuses the nodes of a graph into loops: assigns each to a stage, and within its stage to a group that shares a loop.

Each node is of a `Kind`. A value is *ready* at a stage. Singles and small nodes come first in their stage, in program
order, then its groups: all members of one shape that are computed from one another or from the same operands share one
loop. What a member gives is ready in the next stage, and is stored if anything outside its group reads it. A member
that its own stage does not need moves to the latest stage that reads it, where it often need not be stored at all.
"""

from __future__ import annotations

import enum
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ...._core.analysis import atoms_named, atoms_told
from ...._core.dims import Atom
from ...._core.dtypes import is_half
from ...._core.graph import Node
from ...._core.tensor import Value
from ..lower.reduces import RUNNING
from .fission import NEAR, pieces
from .partners import partners

SMALL = 8  # elements up to which a value is in registers ...
SMALL_HALVES = 7  # ... and half floats: of so many that they fill a vector LLVM makes none in straight code
LONG = 400  # nodes from which on fewer elements are few
MOST_READS = 3  # of an array near the processor that is joined from parts: each has a piece of code for each part
DEEP = 30  # points that one map may compute one from the other
HEAVY = 16  # maps that one map may read through others before it is stored


# How often points that cost little are computed at most.
MOST_REPEATS = 3
MOST_IN_LANES = 6  # of comparisons: where vectors of booleans would have to be packed into bytes


class Kind(enum.Enum):
    """How a node is computed, and where."""

    SMALL = enum.auto()  # few elements, computed one by one where the node stands, in registers
    POINT = enum.auto()  # elementwise, one of many members of a loop over its shape
    REDUCE = enum.auto()  # a reduction of something large, a member of the loop over its operand's shape
    MAP = enum.auto()  # moves elements; computed where it is read, never stored unless it must be
    REPEAT = enum.auto()  # a map that reads elements many times
    INLINE = enum.auto()  # a point that one map alone reads, computed there
    ASSEMBLE = enum.auto()  # puts parts together in memory, one by one
    SINGLE = enum.auto()  # everything else (products of matrices, scatters, loops), each by itself

    def __init__(self, number: int) -> None:
        # attributes, since each is asked for several times for each node of a graph
        self.is_read_through = self.name in ("MAP", "REPEAT", "INLINE")  # whether it is computed where it is read
        self.is_member = self.name in ("POINT", "REDUCE")  # whether it shares a loop with others


# Kinds that compute what they alone read.
_READING = (Kind.MAP, Kind.INLINE, Kind.ASSEMBLE)


# Maps that take elements at positions, which are all of their operands but the first.
_BY_POSITION = frozenset({"gather", "take_along"})


class Group:
    """Members of one loop nest: points, reductions, and values that are copied to where they must be."""

    __slots__ = ("copies", "members", "shape")

    def __init__(self, shape: tuple[Any, ...]) -> None:
        self.shape = shape
        self.members: list[Node] = []
        self.copies: list[Value] = []


class Schedule:
    """The order in which a graph is lowered.

    Attributes:
        kinds: of the nodes, in program order.
        steps: nodes by themselves (small, map, inline, single) and groups, in order.
        stored: keys of the values of members that something outside their group reads.
    """

    def __init__(self, kinds: list[Kind], steps: list[Node | Group], stored: set[int]) -> None:
        self.kinds = kinds
        self.steps = steps
        self.stored = stored


def static_size(shape: Sequence[Any]) -> int | None:
    """The number of elements, if it is known now."""
    size = 1
    for n in shape:
        if type(n) is not int:
            return None
        size *= n
    return size


class _Limit(threading.local):
    """How many elements are few, in the function that a thread is lowering."""

    small = SMALL


_LIMIT = _Limit()


def set_limit(nodes: int) -> None:
    """Sets how many elements are few for a function of so many nodes: a long one is not written out many times over."""
    _LIMIT.small = SMALL if nodes <= LONG else 4 if nodes <= 2 * LONG else 1


def is_small(value: Value) -> bool:
    """Whether a value has few elements."""
    size = static_size(value.shape)
    most = min(_LIMIT.small, SMALL_HALVES) if is_half(value.dtype) else _LIMIT.small
    return size is not None and size <= most


def schedule(
    nodes: Sequence[Node], kinds: list[Kind], outputs: Sequence[Value], repeats: int = MOST_REPEATS
) -> Schedule:  # fmt: skip
    """Plans a graph.

    Args:
        nodes: in program order.
        kinds: of the nodes; no `Kind.INLINE`, which is found here.
        outputs: what the graph gives; all of it is stored.
        repeats: how often a comparison is computed at most.
    """
    return _Scheduling(nodes, kinds, outputs, repeats).run()


class _Scheduling:
    def __init__(self, nodes: Sequence[Node], kinds: list[Kind], outputs: Sequence[Value], repeats: int) -> None:
        self.repeats = repeats
        self.nodes = nodes
        self.kinds = kinds
        self.outputs = outputs
        self.readers: dict[int, list[int]] = defaultdict(list)
        self.producer: dict[int, int] = {}
        for place, node in enumerate(nodes):
            for value in node.inputs:
                readers = self.readers[value.key]
                if not readers or readers[-1] != place:  # an operand may come twice
                    readers.append(place)
            for value in node.outputs:
                self.producer[value.key] = place
        self.asked = {v.key for v in outputs}
        self.ready: dict[int, int] = {}
        self.stage = [0] * len(nodes)
        self.weight: dict[int, int] = {}
        self.last_read: dict[int, int] = {}  # by the key of a value the last stage in which something reads it
        self.partners = partners(nodes)
        self.moving: set[int] = set()  # maps that became members, as they would be read too often
        self.kept: set[int] = set()  # maps that will

    def run(self) -> Schedule:
        self.store_joined()
        self.keep_written()
        self.find_inlined()
        self.set_stages()
        if self.repeat_light():
            self.set_stages()
        self.sink()
        groups = self.groups()
        return Schedule(self.kinds, self.ordered(groups), self.stored(groups))

    # -- what is computed where it is read ------------------------------------------------------------------------

    def store_joined(self) -> None:
        """Stores arrays that are joined from parts: small ones that are read in many places, through other maps too,
        and those of which indices take about as many elements as there are, if each would be computed in every part."""
        if not any(node.op.name == "concatenate" for node in self.nodes):
            return
        reads: dict[int, int] = {}
        taken: dict[int, int] = {}  # by the key of a value how many elements indices take of it
        for place in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[place]
            for value in node.outputs:
                readers = self.readers[value.key]
                reads[value.key] = sum(reads[self.nodes[r].outputs[0].key] if self.is_map(r) else 1 for r in readers)
            if not self.is_map(place):
                continue
            key, size = node.outputs[0].key, static_size(node.outputs[0].shape)
            count = (size or 0) if node.op.name == "gather" else taken.get(key, 0)
            for value in node.inputs:
                taken[value.key] = taken.get(value.key, 0) + count
            if node.op.name == "concatenate" and size is not None:
                is_near = size <= NEAR and reads[key] > MOST_READS
                if is_near or (len(node.inputs) > MOST_READS and 2 * count >= size):
                    self.kinds[place] = Kind.ASSEMBLE
                    reads[key] = 1

    def keep_written(self) -> None:
        """Finds writes that are stored, since what is written would be computed in many places: a step of a stencil is
        read by all of its neighbours. What the same loop reads at its own index is computed once."""
        if not any(node.op.name == "native written" for node in self.nodes):
            return
        computing = set[int]()  # keys of values that would be computed where they are read
        for place, node in enumerate(self.nodes):
            (key,) = keys = [v.key for v in node.outputs][:1] or [-1]
            is_computed = any(v.key in computing for v in node.inputs)
            if self.kinds[place] is Kind.POINT and len(self.readers[key]) == 1 and key not in self.asked:
                computing.update(keys)
            if self.kinds[place] is not Kind.MAP:
                continue
            most = 1 if is_computed else MOST_READS
            if node.op.name == "native written" and self.count_reads(node.outputs[0]) > most:
                self.kept.add(place)
            elif is_computed:
                computing.update(keys)

    def count_reads(self, value: Value) -> int:
        """In how many places a value is read, those that do at their own index as one."""
        readers = self.readers[value.key]
        direct = [r for r in readers if self.kinds[r].is_member and self.domain(r) == value.shape]
        return len(readers) - len(direct) + (bool(direct) or value.key in self.asked)

    def is_map(self, place: int) -> bool:
        return self.kinds[place] in (Kind.MAP, Kind.REPEAT)

    def find_inlined(self) -> None:
        """Finds points that are computed where one map or the like reads them.

        A function that is computed in two loops need not have the same bits in both, by vectors in one and element by
        element in the other; and rules ask whether values are equal, as that of a maximum does: a dear one is computed
        only where all that reads it is itself read in one place.
        """
        depth: dict[int, int] = {}
        read_once: set[int] = set()  # the reading nodes whose results are read in one place, and so on to its end
        for place in range(len(self.nodes) - 1, -1, -1):
            if self.is_inlined(place, depth, read_once):
                self.kinds[place] = Kind.INLINE
            if self.kinds[place] in _READING and self.is_read_once(place, read_once):
                read_once.add(place)

    def is_inlined(self, place: int, depth: dict[int, int], read_once: set[int]) -> bool:
        if self.kinds[place] is not Kind.POINT or self.nodes[place].op.name in RUNNING:
            return False
        (value,) = self.nodes[place].outputs
        readers = self.readers[value.key]
        if len(readers) != 1 or value.key in self.asked:
            return False
        if self.kinds[readers[0]] not in _READING and not self.is_looked_up_once(readers[0], value):
            return False
        if self.nodes[place].op.facts.cost == "dear" and (readers[0] not in read_once or self.is_repeated(readers[0])):
            return False
        depth[place] = depth.get(readers[0], 0) + 1
        return depth[place] <= DEEP

    def is_looked_up_once(self, place: int, positions: Value) -> bool:
        """Whether a node takes one element at each of some positions: it repeats those, but no position."""
        node = self.nodes[place]
        return (
            node.op.name in _BY_POSITION
            and self.kinds[place] is Kind.REPEAT
            and node.inputs[0].key != positions.key
            and static_size(node.outputs[0].shape) == static_size(positions.shape) is not None
        )

    def is_repeated(self, place: int) -> bool:
        """Whether a map, or one that reads it, repeats elements: a loop may come to each of them many times, and of
        functions that are computed once for each row LLVM makes no vectors."""
        while True:
            node = self.nodes[place]
            (value,) = node.outputs
            size = static_size(node.inputs[0].shape)
            if node.op.name == "broadcast_to" and size != static_size(value.shape):
                return size != 1
            readers = self.readers[value.key]
            if len(readers) != 1 or not self.is_map(readers[0]):
                return False
            place = readers[0]

    def is_read_once(self, place: int, read_once: set[int]) -> bool:
        if self.kinds[place] is Kind.ASSEMBLE or place in self.kept:
            return True
        (value,) = self.nodes[place].outputs
        readers = self.readers[value.key]
        if len(readers) + (value.key in self.asked) > 1:
            return False
        return all(r in read_once for r in readers if self.kinds[r] in _READING)

    def is_direct(self, place: int, value: Value) -> bool:
        """Whether a member reads a value at its own index from another member of the same shape."""
        source, kind = self.producer.get(value.key), self.kinds[place]
        if source is None or self.kinds[source] is not Kind.POINT or place in self.moving:
            return False
        # one extent may have several names, which a guard makes equal: their loops are different ones all the same
        if kind is Kind.POINT:
            return value.shape == self.nodes[place].outputs[0].shape
        return kind is Kind.REDUCE and value.shape == self.nodes[place].inputs[0].shape

    def is_direct_only(self, readers: Sequence[int], value: Value) -> bool:
        """Whether all readers of a value are members that read it at their own index."""
        return all(self.is_direct(reader, value) for reader in readers)

    def domain(self, place: int) -> Any:
        """The shape over which a member runs."""
        node = self.nodes[place]
        return node.inputs[0].shape if self.kinds[place] is Kind.REDUCE else node.outputs[0].shape

    def set_stages(self) -> None:
        told: dict[Atom, int] = {}  # of dimensions that results tell: the stage from which on they are known
        for place, node in enumerate(self.nodes):
            kind, stage = self.kinds[place], self.dims_known(node, told) if told else 0
            for value in node.inputs:
                at = self.ready.get(value.key, 0)
                if at and self.is_direct(place, value):
                    at -= 1
                stage = max(stage, at)
            if kind.is_read_through:
                self.limit_weight(place)
                kind = self.kinds[place]
            self.stage[place] = stage
            after = stage + (kind.is_member)
            for value in node.outputs:
                self.ready[value.key] = after
            if kind is Kind.SINGLE:
                told.update(dict.fromkeys(atoms_told(node.outputs) - told.keys(), after))

    def dims_known(self, node: Node, told: Mapping[Atom, int]) -> int:
        """The stage from which on the dimensions are known that a node names: zeros of a shape read no operand."""
        return max((told[atom] for atom in atoms_named((node,)) & told.keys()), default=0)

    def limit_weight(self, place: int) -> None:
        """A map of maps of maps is stored at some depth: reading it would take too long."""
        node = self.nodes[place]
        weight = 1 + sum(self.weight.get(v.key, 0) for v in node.inputs)
        if weight > HEAVY or place in self.kept:
            self.kinds[place] = Kind.POINT
            self.moving.add(place)
            weight = 0
        self.weight[node.outputs[0].key] = weight

    # -- twice rather than stored ---------------------------------------------------------------------------------

    def repeat_light(self) -> bool:
        """Finds points that are better computed twice than stored; whether there are any.

        They take next to no time, would be stored for a later stage, and need only what is there for it anyway.
        """
        found = False
        for place, node in enumerate(self.nodes):
            if self.kinds[place] is not Kind.POINT:
                continue
            key, stage = node.outputs[0].key, self.stage[place]
            readers = self.readers[key]
            if len(readers) < 2 or key in self.asked or len(readers) > self.most_repeats(node):
                continue
            if node.op.facts.cost == "dear" or place in self.moving:
                continue
            if not self.is_direct_only(readers, node.outputs[0]):
                continue
            if min(self.stage[r] for r in readers) == max(self.stage[r] for r in readers) == stage:
                continue
            if all(self.is_there(v, stage) for v in node.inputs):
                self.kinds[place] = Kind.INLINE
                found = True
        return found

    def most_repeats(self, node: Node) -> int:
        """How often a point may be computed."""
        return self.repeats if node.outputs[0].dtype == bool else MOST_REPEATS

    def is_there(self, value: Value, stage: int) -> bool:
        """Whether a value can be read at a stage and later on without being stored for that."""
        read, seen = [value], {value.key}
        while read:
            value = read.pop()
            source = self.producer.get(value.key)
            if source is None or self.kinds[source] in (Kind.SINGLE, Kind.ASSEMBLE, Kind.SMALL, Kind.REDUCE):
                continue
            if self.kinds[source] is Kind.POINT:
                if self.ready[value.key] > stage:
                    return False
                continue
            if self.kinds[source] is Kind.INLINE and self.nodes[source].op.facts.cost == "dear":
                return False  # it would be computed in two loops
            read += [v for v in self.nodes[source].inputs if v.key not in seen]
            seen.update(v.key for v in self.nodes[source].inputs)
        return True

    # -- later, where that is no loss -----------------------------------------------------------------------------

    def sink(self) -> None:
        """Moves members to the stage where they are read first, if no more values are stored for it."""
        stage = self.stage
        self.last_read = {
            key: stage[readers[0]] if len(readers) == 1 else max([stage[r] for r in readers])
            for key, readers in self.readers.items() if readers
        }  # fmt: skip
        for place in range(len(self.nodes) - 1, -1, -1):
            if self.kinds[place] is not Kind.POINT:
                continue
            node = self.nodes[place]
            key = node.outputs[0].key
            readers = self.readers[key]
            if not readers or key in self.asked:
                continue
            first = stage[readers[0]] if len(readers) == 1 else min([stage[r] for r in readers])
            if first <= stage[place] or not self.is_direct_only(readers, node.outputs[0]):
                continue
            if self.newly_stored(place, first) <= self.most_stored(place):
                stage[place] = first
                self.ready[key] = first + 1
                for value in node.inputs:
                    self.last_read[value.key] = max(first, self.last_read[value.key])

    def most_stored(self, place: int) -> int:
        """How many more values may be stored for a member to move: what one routine computes together with another
        member is as good as there where that one is computed, so that it is stored rather than what it is made of, and
        stays in any case where memory is near."""
        other = self.partners.get(place)
        if other is None or self.kinds[other] is not Kind.POINT or self.stage[other] != self.stage[place]:
            return 1
        key = self.nodes[other].outputs[0].key
        is_read = key in self.asked or any(self.stage[r] == self.stage[other] for r in self.readers[key])
        size = static_size(self.nodes[place].outputs[0].shape)
        return 1 if not is_read else -1 if size is not None and size <= NEAR else 0

    def newly_stored(self, place: int, stage: int, depth: int = 3) -> int:
        """How many operands would have to be stored that are not, or for longer, were the node in a later stage.

        An operand that nothing else reads can be computed there, too, from its own operands.
        """
        count = 0
        for value in {v.key: v for v in self.nodes[place].inputs}.values():
            source = self.producer.get(value.key)
            if source is None or value.key in self.asked:
                continue
            readers = self.readers[value.key]
            if self.kinds[source] in (Kind.SINGLE, Kind.ASSEMBLE):
                count += not is_small(value) and self.last_read[value.key] < stage
                continue
            if self.kinds[source] is not Kind.POINT or self.is_read_later(source, value, place):
                continue
            moves = len(readers) == 1 and depth > 0 and self.is_direct(place, value)
            count += min(1, self.newly_stored(source, stage, depth - 1)) if moves else 1
        return count

    def is_read_later(self, source: int, value: Value, place: int) -> bool:
        """Whether a value is read in a later stage than its own by others than the node at a place."""
        last, own = self.last_read[value.key], self.stage[source]
        if last <= own or self.stage[place] < last:
            return last > own
        # what is read by thousands of nodes is mostly read by one of the last of them
        return any(self.stage[r] > own for r in reversed(self.readers[value.key]) if r != place)

    # -- loops ----------------------------------------------------------------------------------------------------

    def groups(self) -> list[tuple[int, Group, list[int]]]:
        """The members that share a loop: of one stage and shape, and connected."""
        found: dict[Any, list[int]] = defaultdict(list)
        for place, kind in enumerate(self.kinds):
            if kind.is_member:
                found[self.stage[place], self.domain(place)].append(place)
        result: list[tuple[int, Group, list[int]]] = []
        for (stage, shape), places in found.items():
            size = static_size(shape)
            for part in (piece for whole in self.connected(places) for piece in pieces(whole, self.nodes, size)):
                group = Group(shape)
                group.members = [self.nodes[p] for p in part]
                result.append((stage, group, part))
        self.add_copies(result)
        result.sort(key=lambda item: item[0])
        return result

    def connected(self, places: list[int]) -> list[list[int]]:
        """The parts of a set of members that share operands or read one another."""
        root = {p: p for p in places}

        def find(p: int) -> int:
            while root[p] != p:
                root[p] = root[root[p]]
                p = root[p]
            return p

        reader: dict[int, int] = {}
        for place in places:
            for key in (*self.roots(place), *[v.key for v in self.nodes[place].outputs]):
                other = reader.setdefault(key, place)
                if other != place:
                    root[find(place)] = find(other)
        parts: dict[int, list[int]] = defaultdict(list)
        for place in places:
            parts[find(place)].append(place)
        return [*parts.values()]

    def roots(self, place: int) -> set[int]:
        """What a member reads, by itself or through what is computed where it is read."""
        found: set[int] = set()
        waiting = [place]
        for reader in waiting:  # which grows
            for value in self.nodes[reader].inputs:
                source = self.producer.get(value.key)
                if source is not None and self.kinds[source] is Kind.INLINE and value.key not in found:
                    waiting.append(source)
                found.add(value.key)
        return found

    def add_copies(self, groups: list[tuple[int, Group, list[int]]]) -> None:
        """Results that no member and no single makes are copied, each in a loop of its own."""
        seen: set[int] = set()
        for value in self.outputs:
            source = self.producer.get(value.key)
            if source is not None and self.kinds[source].is_read_through and value.key not in seen:
                seen.add(value.key)
                group = Group(value.shape)
                group.copies.append(value)
                groups.append((self.ready[value.key], group, []))

    def stored(self, groups: list[tuple[int, Group, list[int]]]) -> set[int]:
        """What members give to others than members of their own group."""
        stored: set[int] = set()
        home: dict[int, int] = {}
        for number, (_, _, places) in enumerate(groups):
            home.update(dict.fromkeys(places, number))
        for place, kind in enumerate(self.kinds):
            if kind is Kind.POINT:
                key = self.nodes[place].outputs[0].key
                own = home[place]
                if key in self.asked:
                    stored.add(key)
                    continue
                for reader in self.readers[key]:
                    if home.get(reader) != own or reader in self.moving:
                        stored.add(key)
                        break
        return stored

    def ordered(self, groups: list[tuple[int, Group, list[int]]]) -> list[Node | Group]:
        alone: dict[int, list[Node]] = defaultdict(list)
        for place, kind in enumerate(self.kinds):
            if not kind.is_member:
                alone[self.stage[place]].append(self.nodes[place])
        loops: dict[int, list[Group]] = defaultdict(list)
        for stage, group, _ in groups:
            loops[stage].append(group)
        steps: list[Node | Group] = []
        for stage in sorted({*alone, *loops}):
            steps += self.readers_first(alone[stage])
            steps += loops[stage]
        return steps

    def readers_first(self, nodes: Sequence[Node]) -> list[Node]:
        """Nodes in an order in which what reads a value comes before what might overwrite it, where that can be."""
        found = [*nodes]
        places = {id(node): place for place, node in enumerate(found)}
        for writer in [n for n in nodes if n.op.facts.writes]:
            place = places[id(writer)]
            old = writer.inputs[writer.op.operands.index(writer.op.facts.writes)].key
            reading = [places.get(id(self.nodes[reader]), -1) for reader in self.readers[old]]
            later = sorted(at for at in reading if at > place)
            if not later:
                continue
            stretch = slice(place, later[-1] + 1)  # all that could have to move: a long program has many writers
            moved = _with_sources([found[at] for at in later], found[stretch])
            if all(node is not writer for node in moved):
                kept = {id(node) for node in moved}
                found[stretch] = [*moved, *[node for node in found[stretch] if id(node) not in kept]]
                places.update({id(node): place + k for k, node in enumerate(found[stretch])})
        return found


def _with_sources(nodes: Sequence[Node], among: Sequence[Node]) -> list[Node]:
    """Nodes and those of a list that they are computed from, in the order of the list."""
    needed = {v.key for node in nodes for v in node.inputs}
    found = {id(node) for node in nodes}
    for node in reversed(among):
        if id(node) in found or any(v.key in needed for v in node.outputs):
            found.add(id(node))
            needed.update(v.key for v in node.inputs)
    return [node for node in among if id(node) in found]
