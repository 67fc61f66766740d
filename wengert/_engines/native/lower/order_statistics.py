"""Sorts of which a few places are read, as medians and quantiles do, find what is there and sort nothing else; so do
their gradients, which put something where the elements at a few places came from.

`with_few_places(graph)` puts a `SORTED_AT` in the stead of such a sort, which takes the places as operands: they may be
computed after the sort, so nodes are put in order anew. A sorted sample of the lane tells between which two keys the
one at a place is, as good as surely. One pass gathers those and counts what stands before them, and they alone are
sorted (Floyd and Rivest's selection). Where the sample was wrong, all are. Keys that equal a bound are told from those
between two: where there are many, the place is among them or they are out of the way.

`with_few_origins(graph)` puts an `ORDER_AT` in the stead of the order of all: of keys that equal the one at a place,
the one is looked for before which as many others stand. What stands at the places it takes from a sort of the same
keys, or finds it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...._core.dims import is_large_dim
from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ...._passes.rewrite import in_order
from ...patterns import Parts, is_nothing, private
from ..ir.builder import Builder
from ..ir.loops import FLOATS, Operand, Var
from ..plan.schedule import static_size
from .blocks import Block, singles
from .digit_orders import order_number
from .forms import TYPE_OF, Form, Index, Stored, with_place
from .nests import between
from .ranges import is_one, smaller
from .scalars import larger
from .scatters import over
from .sorting import Keys, Sorter, result_room, zeros_in_order

SORTED_AT = private("native sorted_at", "x *places", ("axis", "fixed"))
ORDER_AT = private("native order_at", "x *sorted", ("places",))

FEWEST = 512  # keys of a lane, below which they are sorted in less time than a few of them are found
MOST_PLACES = 8  # that are read, at most: each may take a pass
_TYPES = ("f64", "f32", "i64", "i32")  # shorter keys are counted
_EACH, _MOST_SAMPLED = 64, 1 << 12  # one of so many keys is in the sample, and no more than so many
_NARROWED = 128  # keys of a sample of those that were gathered, and no fewer are in the first one
_WIDER = 8  # times as far in the sample the bounds are where the key was not between them
_CHUNK = 1024  # keys between two looks whether to stop
_SPREAD = 1.5  # square roots of the sample's size: three deviations of what stands in it before a key, at most

# -- which sorts ------------------------------------------------------------------------------------------------------


def with_few_places(graph: Graph) -> Graph:
    """The graph with sorts that find a few places only, where nothing else of them is read."""
    graph = _taken_first(graph)
    sorts = {node.outputs[0].key: node for node in graph.nodes if _is_long(node)}
    readers: dict[int, list[Node]] = {key: [] for key in sorts.keys() - {v.key for v in graph.outputs}}
    for node in graph.nodes:
        for key in {v.key for v in node.inputs} & readers.keys():
            readers[key].append(node)
    found = {sorts[key]: partial for key, reading in readers.items() if (partial := _partial(sorts[key], reading))}
    if not found or any(node.op.has_effect or node.op.facts.holds or node.op.facts.buffer for node in graph.nodes):
        return graph
    nodes = in_order([found.get(node, node) for node in graph.nodes])
    if nodes is None:
        return graph
    return Graph.of(graph.name, graph.inputs, nodes, graph.outputs, graph.guards)


def _taken_first(graph: Graph) -> Graph:
    """The graph in which elements of sorts are taken first and converted then, as those of half floats are."""
    sorts = {node.outputs[0].key for node in graph.nodes if _is_long(node)}
    converts = {v.key: n for n in graph.nodes for v in n.outputs if n.op.name == "convert" and n.inputs[0].key in sorts}
    for key in {v.key for v in graph.outputs} & converts.keys():
        del converts[key]
    for node in graph.nodes:
        for place, value in enumerate(node.inputs):
            if place or node.op.name not in ("gather", "slice"):
                converts.pop(value.key, None)
    if not converts:
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        convert = converts.get(node.inputs[0].key) if node.inputs else None
        if convert is not None:
            (out,), (whole,) = node.outputs, convert.inputs
            taken = Value(out.shape, whole.dtype, out.graph, "taken")
            inputs = whole, *node.inputs[1:]
            nodes.append(Node(node.op, inputs, (taken,), node.attrs, node.site, node.is_quiet, node.label))
            nodes.append(Node(convert.op, (taken,), (out,), convert.attrs, node.site, node.is_quiet))
        elif not (node.outputs and node.outputs[0].key in converts):
            nodes.append(node)
    return Graph.of(graph.name, graph.inputs, nodes, graph.outputs, graph.guards)


def _is_long(node: Node) -> bool:
    if node.op.name != "sort" or TYPE_OF.get(node.inputs[0].dtype) not in _TYPES:
        return False
    axis, is_descending = node.attrs
    n = node.inputs[0].shape[axis]
    return not is_descending and not (type(n) is int and n < FEWEST)


def _partial(node: Node, readers: Sequence[Node]) -> Node | None:
    """The same sort of the places that are read, if these are few."""
    (out,), shape = node.outputs, node.inputs[0].shape
    axis = node.attrs[0] % len(shape)
    places, fixed = {}, dict[Any, None]()
    for reader in readers:
        if reader.op.name == "gather" and axis == 0 and len(reader.inputs) == 2 and reader.inputs[1].key != out.key:
            places[reader.inputs[1].key] = reader.inputs[1]
        elif reader.op.name == "slice" and type(count := reader.outputs[0].shape[axis]) is int and count <= MOST_PLACES:
            start, _, step = (ends[axis] for ends in reader.attrs)
            fixed.update(dict.fromkeys(start + k * step for k in range(count)))
        else:
            return None
    sizes = [static_size(v.shape) for v in places.values()]
    if None in sizes or not 0 < len(fixed) + sum(map(int, filter(None, sizes))) <= MOST_PLACES:
        return None
    inputs = node.inputs[0], *places.values()
    return Node(SORTED_AT, inputs, node.outputs, (axis, (*fixed,)), node.site, node.is_quiet, node.label)


def with_few_origins(graph: Graph) -> Graph:
    """The graph with gradients of sorts of which a few places are known: what is put there goes to where the elements
    at them came from, and nobody needs the whole order."""
    parts = Parts(graph)
    sorts: list[Node] = []
    has_found = False
    for node in graph.nodes:
        made = _from_few(node, parts, sorts) if node.op.name == "add_along" else None
        has_found |= made is not None
        for each in made or [node]:
            parts.add(each)
        if node.op.name in ("sort", SORTED_AT.name):
            sorts.append(node)
    return parts.without_unused(graph) if has_found else graph


def _from_few(node: Node, parts: Parts, sorts: Sequence[Node]) -> list[Node] | None:
    """Nodes that do what `add_along` does with zeros, among which a few places have something, by an order."""
    given, order = node.inputs
    turned = [parts.made_by(v, "transpose") for v in node.inputs] if len(given.shape) > 1 else []
    if turned:
        first, second = turned
        if first is None or second is None or first.attrs != second.attrs or first.attrs[0][-1] != 0:
            return None
        given, order = first.inputs[0], second.inputs[0]
    put, ordered = parts.made_by(given, "scatter_add"), parts.made_by(order, "argsort")
    if put is None or ordered is None or not _is_first_axis(ordered):
        return None
    zeros, values, places = put.inputs
    known = parts.made_by(places, "constant")
    if known is None or not (parts.made_by(zeros, "absent") or is_nothing(zeros, parts)):
        return None
    x = ordered.inputs[0]
    found = np.asarray(known.attrs[0])
    n = x.shape[0]
    if found.ndim != 1 or not 0 < found.size <= MOST_PLACES or found.min() < 0 or (type(n) is int and found.max() >= n):
        return None
    origins = Value((found.size, *x.shape[1:]), order.dtype, order.graph, "origins")
    asked = (*map(int, found),)
    keys = [sort.outputs[0] for sort in sorts if sort.inputs[0].key == x.key and _has_all(sort, asked, parts)]
    made = [Node(ORDER_AT, (x, *keys[:1]), (origins,), (asked,), node.site, node.is_quiet, node.label)]
    operands = [values, origins]
    for place, turning in enumerate(turned):
        assert turning is not None
        from_ = operands[place]
        to = operands[place] = Value((*[from_.shape[a] for a in turning.attrs[0]],), from_.dtype, order.graph, "turned")
        made.append(Node(turning.op, (from_,), (to,), turning.attrs, node.site, node.is_quiet, node.label))
    parts.replaced.update((given.key, order.key))
    return [*made, node.remade(node.op, (*operands,), node.attrs)]


def _has_all(sort: Node, places: Sequence[int], parts: Parts) -> bool:
    """Whether the keys at some places along the first axis are in what a sort gives."""
    axis, rest = sort.attrs
    if axis % len(sort.inputs[0].shape):
        return False
    if sort.op is not SORTED_AT:
        return not rest  # it does not descend
    known = [parts.made_by(v, "constant") for v in sort.inputs[1:]]
    there = {*rest, *(int(p) for each in known if each is not None for p in np.ravel(each.attrs[0]))}
    return there.issuperset(places)


def _is_first_axis(ordered: Node) -> bool:
    """Whether an order of long lanes along the first axis is searched in less time than found."""
    x, (axis, is_descending) = ordered.inputs[0], ordered.attrs
    if is_descending or axis % len(x.shape) or TYPE_OF.get(x.dtype) not in _TYPES:
        return False
    n = x.shape[0]
    return n >= FEWEST if type(n) is int else is_large_dim(n)


# -- finding ----------------------------------------------------------------------------------------------------------


def _sorted_at(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    """An array in which the keys at the places stand as in the sorted one, and anything at others."""
    b, x = block.b, block.stored(forms[0])
    axis, fixed = block.attrs(node)
    target, wanted = result_room(block, node), [*_places(block, forms[1:])]
    each = _each(b, [*fixed, *(read() for read in wanted)])
    search = _Search(block, x, axis, target)

    def lane(index: Index) -> None:
        search.begin(index)
        each(lambda slot, place: search.find(index, place))

    over(b, with_place(x.shape, axis, 1), lane)
    return [target]


def _order_at(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    """Where the keys at a few places of the order along the first axis came from."""
    b, x = block.b, block.stored(forms[0])
    (places,), target = node.attrs, block.room(node.outputs[0])
    each, search = _each(b, places), None
    if len(forms) > 1:
        lanes = _Lanes(block, x, 0, block.stored(forms[1]))
    else:
        steps = (1, *[0] * (len(x.shape) - 1))  # a lane is done when the next one begins
        lanes = search = _Search(block, x, 0, Stored(x.shape, b.alloc(x.type, x.shape[0]), 0, steps, False))

    def lane(index: Index) -> None:
        lanes.begin(index)

        def look(slot: Operand, place: Operand) -> None:
            if search is not None:
                search.find(index, place)
            target.store(b, with_place(index, 0, slot), lanes.origin(index, place))

        each(look)

    over(b, with_place(x.shape, 0, 1), lane)
    return [target]


def _each(b: Builder, places: Sequence[Operand]) -> Callable[[Callable[[Operand, Operand], None]], None]:
    """What does the same at each of some places, in a loop: there is code for one alone, a search is long."""
    asked = b.local("i64", len(places))
    for slot, place in enumerate(places):
        b.store(asked, slot, place)

    def do(what: Callable[[Operand, Operand], None]) -> None:
        with b.loop(0, len(places)) as slot:
            what(slot, b.load(asked, slot))

    return do


def _places(block: Block, forms: Sequence[Form]) -> Iterator[Callable[[], Operand]]:
    """What reads each of the places that arrays hold."""
    b = block.b
    for form in forms:
        x = block.stored(form)
        shape = [n for n in x.shape if type(n) is int]  # all of them: `_partial` asks for that
        for index in itertools.product(*map(range, shape)):
            yield lambda x=x, index=index: b.convert("i64", x.type, x.at(b, index))


class _Lanes:
    """Lanes of keys, and what holds the sorted ones at some places."""

    def __init__(self, block: Block, x: Stored, axis: int, target: Stored) -> None:
        b = self.b = block.b
        self.x, self.axis, self.target = x, axis, target
        n = self.n = x.shape[axis]
        self.bits = x.type.replace("f", "i")
        self.lane = None if is_one(x.strides[axis]) else b.alloc(x.type, n)  # if its keys lie apart

    def begin(self, index: Index) -> None:
        """Starts on another lane."""
        b = self.b
        if self.lane is not None:
            with b.loop(0, self.n) as i:
                b.store(self.lane, i, self.x.at(b, with_place(index, self.axis, i)))

    def origin(self, index: Index, place: Operand) -> Operand:
        """Where in the lane the key was that is at a place now: equal ones keep their order."""
        b = self.b
        wanted = self._number(self.target.at(b, with_place(index, self.axis, place)))
        (below,) = self._counted(self.n, lambda i: self._key(index, i), ("lt", wanted))
        rank, seen, found = b.sub(place, below), b.var("i64", 0), b.var("i64", 0)

        def is_equal(i: Operand) -> Operand:
            return b.let("eq", self.bits, self._number(self._key(index, i)), wanted)

        def look(begin: Operand, end: Operand) -> None:
            count, before = b.var("i64", 0), b.get(seen)
            with b.loop(begin, end) as i:
                b.set(count, b.add(b.get(count), b.convert("i64", "bool", is_equal(i))))
            behind = b.add(before, b.get(count))
            is_here = b.both(b.let("le", "i64", before, rank), b.let("lt", "i64", rank, behind))
            with b.when(is_here), b.loop(begin, end) as i:
                is_it = is_equal(i)
                is_wanted = b.both(is_it, b.let("eq", "i64", b.get(seen), rank))
                b.set(found, b.select("i64", is_wanted, i, b.get(found)))
                b.set(seen, b.add(b.get(seen), b.convert("i64", "bool", is_it)))
            b.set(seen, behind)

        self._in_chunks(self.n, look)
        return b.get(found)

    def _key(self, index: Index, place: Operand) -> Operand:
        if self.lane is not None:
            return self.b.load(self.lane, place)
        return self.x.at(self.b, with_place(index, self.axis, place))

    def _number(self, key: Operand) -> Operand:
        return order_number(self.b, self.x.type, self.bits, key) if self.x.type in FLOATS else key

    def _in_chunks(self, count: Operand, look: Callable[[Operand, Operand], None]) -> None:
        b = self.b
        with b.loop(0, b.divided(b.add(count, _CHUNK - 1), _CHUNK)) as chunk:
            begin = b.mul(chunk, _CHUNK)
            look(begin, smaller(b, b.add(begin, _CHUNK), count))
            b.poll(1)

    def _counted(
        self, count: Operand, key: Callable[[Operand], Operand], *bounds: tuple[str, Operand]
    ) -> list[Operand]:  # fmt: skip
        """How many of some keys are below each bound, or below or at it."""
        b, found = self.b, [self.b.var("i64", 0) for _ in bounds]

        def look(begin: Operand, end: Operand) -> None:
            with b.loop(begin, end) as i:
                number = self._number(key(i))
                for total, (name, bound) in zip(found, bounds, strict=True):
                    is_counted = b.let(name, self.bits, number, bound)
                    b.set(total, b.add(b.get(total), b.convert("i64", "bool", is_counted)))

        self._in_chunks(count, look)
        return [b.get(total) for total in found]


class _Search(_Lanes):
    """Finds places of a lane's order. What one search has sorted around its place serves the next ones."""

    def __init__(self, block: Block, x: Stored, axis: int, target: Stored) -> None:
        super().__init__(block, x, axis, target)
        b, n = self.b, self.n
        self.sampled = between(b, b.divided(n, _EACH), _NARROWED, _MOST_SAMPLED)
        self.end = 2 ** (int(self.bits[1:]) - 1)
        # one more than there are keys: each is stored before it is known whether it stays
        self.room = Keys.of(b, x.type, b.add(n, 1), has_places=False)
        self.sorter = Sorter(block, x.type, n, is_descending=False, has_places=False)
        self.sample = Keys.of(b, x.type, self.sampled, has_places=False)
        self.sample_sorter = Sorter(block, x.type, self.sampled, is_descending=False, has_places=False)
        self.is_taken = b.local("bool", _CHUNK)
        self.first, self.stop = b.var("i64"), b.var("i64")  # the places whose keys are in the room
        self.is_put = b.var("bool", False)  # whether they are in the target already

    def begin(self, index: Index) -> None:
        """Starts on another lane."""
        super().begin(index)
        self.b.set(self.first, 0)
        self.b.set(self.stop, 0)

    def find(self, index: Index, place: Operand) -> None:
        """Puts the key of a place there, if it is one: what reads the others tells what is wrong with them."""
        b = self.b
        place = b.select("i64", b.let("lt", "i64", place, 0), b.add(place, self.n), place)
        is_one = b.both(b.let("le", "i64", 0, place), b.let("lt", "i64", place, self.n))
        is_done = b.var("bool", b.either(b.negated(is_one), self._is_there(place)))
        with b.when(b.both(b.negated(b.get(is_done)), b.let("eq", "i64", place, b.sub(self.n, 1)))):
            self._put_last(index, is_done)
        with b.when(b.negated(b.get(is_done))):
            self._take_sample(self.sampled, self.n, lambda i: self._key(index, i))
            spread = b.var("i64", self._spread(self.sampled))

            def attempt() -> None:
                self._gather(index, place, b.get(spread))
                b.set(spread, b.add(b.mul(b.get(spread), _WIDER), 1))

            b.repeat(lambda: b.negated(self._is_there(place)), attempt)
            self._narrow(index, place)
            with b.when(b.negated(b.get(self.is_put))):
                self._sort(index)

    def _is_there(self, place: Operand) -> Operand:
        b = self.b
        return b.both(b.let("le", "i64", b.get(self.first), place), b.let("lt", "i64", place, b.get(self.stop)))

    # -- the last place -----------------------------------------------------------------------------------------------

    def _put_last(self, index: Index, is_done: Var) -> None:
        """Puts the largest key, which who looks for NaN asks for, at its place; a zero only its sign tells apart."""
        b, t = self.b, self.bits
        most = b.var(t, -self.end)

        def look(begin: Operand, end: Operand) -> None:
            with b.loop(begin, end) as i:
                b.set(most, larger(b, t, b.get(most), self._number(self._key(index, i))))

        self._in_chunks(self.n, look)
        number = b.get(most)
        is_told: Operand = True
        if self.x.type in FLOATS:
            is_told = b.let("ne", t, number, 0)
        with b.when(is_told):
            self.target.store(b, with_place(index, self.axis, b.sub(self.n, 1)), self._key_of(number))
            b.set(is_done, True)

    def _key_of(self, number: Operand) -> Operand:
        """The key that a number stands for; of zeros it tells no sign."""
        b, t = self.b, self.bits
        if self.x.type not in FLOATS:
            return number
        word = b.select(t, b.let("lt", t, number, 0), b.let("sub", t, -self.end, number), number)
        return b.convert(self.x.type, t, word, bits=True)

    # -- around a place -----------------------------------------------------------------------------------------------

    def _take_sample(self, size: Operand, count: Operand, key: Callable[[Operand], Operand]) -> None:
        b = self.b
        with b.loop(0, size) as i:
            # as far apart as they can be: of a lane in order the sample would have too few of the last keys
            self.sample.set_key(b, i, key(b.divided(b.mul(i, count), size)))
        self.sample_sorter.n = size
        self.sample_sorter.run(self.sample)

    def _spread(self, size: Operand) -> Operand:
        """How far in the sample the bounds are from a key's place: of few keys beyond its ends."""
        b = self.b
        if type(size) is int:
            near: Operand = int(_SPREAD * math.sqrt(size))
        else:
            root = b.let("sqrt", "f64", b.convert("f64", "i64", size))
            near = b.convert("i64", "f64", b.let("mul", "f64", root, _SPREAD))
        return b.select("i64", b.let("lt", "i64", self.n, FEWEST), size, near)

    def _bounds(self, place: Operand, count: Operand, size: Operand, spread: Operand) -> tuple[Operand, Operand]:
        """The numbers of two keys of a sample, between which the one at a place of so many is."""
        b = self.b
        rank = b.divided(b.mul(place, size), count)
        return self._bound(b.sub(rank, spread), size, -1), self._bound(b.add(rank, b.add(spread, 1)), size, 1)

    def _bound(self, rank: Operand, size: Operand, side: int) -> Operand:
        """The number of a key of the sample, or beyond its ends the last number that there is."""
        b = self.b
        number = self._number(self.sample.key(b, between(b, rank, 0, b.sub(size, 1))))
        is_beyond = b.let("lt", "i64", rank, 0) if side < 0 else b.let("ge", "i64", rank, size)
        return b.select(self.bits, is_beyond, -self.end if side < 0 else self.end - 1, number)

    def _compared(self, key: Operand, least: Operand, most: Operand) -> tuple[Operand, Operand]:
        """Whether a key is below two bounds, and whether it is between them."""
        b, number = self.b, self._number(key)
        is_below = b.let("lt", self.bits, number, least)
        return is_below, b.both(b.negated(is_below), b.let("le", self.bits, number, most))

    def _gather(self, index: Index, place: Operand, spread: Operand) -> None:
        """Takes the keys between two of the sample, and counts those before them; if the two are one, puts them."""
        b = self.b
        least, most = self._bounds(place, self.n, self.sampled, spread)
        with b.when(b.let("eq", self.bits, least, most)) as branch:
            below, up_to = self._counted(self.n, lambda i: self._key(index, i), ("lt", least), ("le", least))
            self._put_equal(index, least, (0, below, up_to), (self.n, lambda i: self._key(index, i)))
        with b.inside(branch.other):
            self._gather_between(index, least, most)

    def _gather_between(self, index: Index, least: Operand, most: Operand) -> None:
        b, held, below = self.b, self.b.var("i64", 0), self.b.var("i64", 0)

        def look(begin: Operand, end: Operand) -> None:
            with b.loop(begin, end) as i:  # vectors: nothing here waits for the key before
                is_below, is_taken = self._compared(self._key(index, i), least, most)
                b.store(self.is_taken, b.sub(i, begin), is_taken)
                b.set(below, b.add(b.get(below), b.convert("i64", "bool", is_below)))
            with b.loop(begin, end) as i:
                at = b.get(held)
                self.room.set_key(b, at, self._key(index, i))
                taken = b.load(self.is_taken, b.sub(i, begin))
                b.set(held, b.add(at, b.convert("i64", "bool", taken)))

        self._in_chunks(self.n, look)
        b.set(self.first, b.get(below))
        b.set(self.stop, b.add(b.get(below), b.get(held)))
        b.set(self.is_put, False)

    def _narrow(self, index: Index, place: Operand) -> None:
        """Keeps of what was gathered the keys around the place, again and again, while these are many and get fewer."""
        b, goes_on = self.b, self.b.var("bool", True)
        spread = int(_SPREAD * math.sqrt(_NARROWED))

        def narrow() -> None:
            first, count = b.get(self.first), b.sub(b.get(self.stop), b.get(self.first))
            self._take_sample(_NARROWED, count, lambda i: self.room.key(b, i))
            least, most = self._bounds(b.sub(place, first), count, _NARROWED, spread)
            ends = self._counted(
                count, lambda i: self.room.key(b, i), ("lt", least), ("le", least), ("lt", most), ("le", most)
            )  # fmt: skip
            at = b.sub(place, first)
            self._put_if_equal(index, least, (at, first, ends[0], ends[1]), count)
            self._put_if_equal(index, most, (at, first, ends[2], ends[3]), count)
            is_inside = b.both(b.let("le", "i64", ends[1], at), b.let("lt", "i64", at, ends[2]))
            amid = b.sub(ends[2], ends[1])
            b.set(goes_on, b.both(is_inside, b.let("lt", "i64", b.mul(amid, 2), count)))
            with b.when(b.get(goes_on)):
                self._keep(count, least, most)
                b.set(self.first, b.add(first, ends[1]))
                b.set(self.stop, b.add(first, ends[2]))

        def is_wide() -> Operand:
            count = b.sub(b.get(self.stop), b.get(self.first))
            is_open = b.both(b.get(goes_on), b.negated(b.get(self.is_put)))
            return b.both(is_open, b.let("lt", "i64", 4 * _NARROWED, count))

        b.repeat(is_wide, narrow)

    def _put_if_equal(
        self, index: Index, number: Operand, places: tuple[Operand, Operand, Operand, Operand], count: Operand
    ) -> None:
        """Puts the keys of the room that equal a number, if the place, counted from the first one, is among them."""
        b, (at, first, below, up_to) = self.b, places
        is_among = b.both(b.let("le", "i64", below, at), b.let("lt", "i64", at, up_to))
        with b.when(b.both(is_among, b.negated(b.get(self.is_put)))):
            self._put_equal(index, number, (first, below, up_to), (count, lambda i: self.room.key(b, i)))

    def _put_equal(
        self, index: Index, number: Operand, places: tuple[Operand, Operand, Operand],
        among: tuple[Operand, Callable[[Operand], Operand]],
    ) -> None:  # fmt: skip
        """Puts the keys that equal a number where they belong; zeros keep the order of their signs.

        Args:
            index: of the lane.
            number: what they equal.
            places: what stands before all keys that were looked at, and how many of these are below, and up to them.
            among: how many were looked at, and what reads one.
        """
        b, (before, below, up_to) = self.b, places
        first = b.add(before, below)
        b.set(self.first, first)
        b.set(self.stop, b.add(before, up_to))
        b.set(self.is_put, True)

        def fill() -> None:
            value = self._key_of(number)
            with b.loop(first, b.get(self.stop)) as i:
                self.target.store(b, with_place(index, self.axis, i), value)

        if self.x.type not in FLOATS:
            fill()
            return
        with b.when(b.let("ne", self.bits, number, 0)) as branch:
            fill()
        with b.inside(branch.other):
            self._put_zeros(index, first, *among)

    def _put_zeros(self, index: Index, first: Operand, count: Operand, key: Callable[[Operand], Operand]) -> None:
        b, at = self.b, self.b.var("i64", first)

        def look(begin: Operand, end: Operand) -> None:
            with b.loop(begin, end) as i:
                value = key(i)
                with b.when(b.let("eq", self.bits, self._number(value), 0)):
                    self.target.store(b, with_place(index, self.axis, b.get(at)), value)
                    b.set(at, b.add(b.get(at), 1))

        self._in_chunks(count, look)

    def _keep(self, count: Operand, least: Operand, most: Operand) -> None:
        """Moves the keys between two bounds, and none that equal them, to the beginning of the room."""
        b, held = self.b, self.b.var("i64", 0)

        def look(begin: Operand, end: Operand) -> None:
            with b.loop(begin, end) as i:
                key, at = self.room.key(b, i), b.get(held)
                self.room.set_key(b, at, key)
                number = self._number(key)
                is_kept = b.both(b.let("lt", self.bits, least, number), b.let("lt", self.bits, number, most))
                b.set(held, b.add(at, b.convert("i64", "bool", is_kept)))

        self._in_chunks(count, look)

    def _sort(self, index: Index) -> None:
        """Sorts what the room holds, where it belongs; zeros keep the order of their signs."""
        b = self.b
        first = b.get(self.first)
        count = b.sub(b.get(self.stop), first)

        def placed(i: Operand) -> Index:
            return with_place(index, self.axis, b.add(first, i))

        def put() -> None:
            with b.loop(0, count) as i:
                self.target.store(b, placed(i), self.room.key(b, i))

        if self.x.type in FLOATS:
            put()  # as they stand in the lane
        self.sorter.n = count
        self.sorter.run(self.room)
        if self.x.type in FLOATS:
            zeros_in_order(b, lambda i: self.target.at(b, placed(i)), self.room, count, self.x.type, False)
        put()


LOWERED = singles({SORTED_AT.name: _sorted_at, ORDER_AT.name: _order_at})
