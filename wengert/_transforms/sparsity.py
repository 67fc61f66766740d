"""Which elements of a graph's results depend on which elements of its sources, found on the graph without running it.

Every value that depends on the sources has *rows*: a boolean matrix with a row for each of its elements and a column
for each source element. Ops pass rows on: those that only move elements are run on element numbers instead of
values, elementwise ops unite, sums unite groups, and what no rule is known of depends on all of its operands. Values
that do not depend on the sources are computed, so that constant indices, masks and matrices count as what they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.analysis import needed_for
from .._core.apply import apply
from .._core.constant import constant
from .._core.dims import Dim
from .._core.dtypes import is_inexact
from .._core.engine import ndarray_of
from .._core.graph import Graph, Node
from .._core.op import Op, named
from .._core.state import building
from .._core.tensor import Tensor, Value
from .._core.user_line import at_user_line
from .._prims.buffer import buffer_get, buffer_new, buffer_value
from .replay import run_again

MOST_ENTRIES = 400_000_000
"""A pattern with more entries than this is refused: a dense derivative takes less memory."""
MOST_TERMS = 20_000_000  # products whose constant factor is looked at term by term

Rows = Any  # scipy.sparse.csr_array of bool, or None: no element depends on the sources
Array = np.ndarray[Any, Any]


class Known(NamedTuple):
    """What is known of a value: the value itself if it does not depend on the sources, else perhaps its rows.

    Neither is known of what depends on the sources in a way that carries no derivative, such as `argsort(x)`.
    """

    value: Tensor | None
    rows: Rows


UNKNOWN = Known(None, None)


class Site(NamedTuple):
    """One application of an op."""

    op: Op
    inputs: Sequence[Any]  # their types
    outputs: Sequence[Any]
    attrs: Sequence[Any]
    operands: Sequence[Known]
    width: int  # how many source elements there are

    def attr(self, name: str) -> Any:
        return self.attrs[self.op.attrs.index(name)]

    def is_of_one_shape(self) -> bool:
        """Whether the operands that depend on the sources have the shape of the first, as a user's own need not."""
        return all(x.shape == self.inputs[0].shape for x, k in zip(self.inputs, self.operands) if k.rows is not None)


Rule = Callable[[Site], "Sequence[Rows]"]
RULES: dict[str, Rule] = {}
REGIONS: dict[str, Callable[[Site], Sequence[Known]]] = {}
"""Rules of ops that hold programs, by what they hold, and of a user's rules; `_control/dependence.py` fills it."""


def pattern(graph: Graph, sources: Sequence[bool]) -> list[Rows]:
    """The rows of each output of a finished graph, None where an output depends on no source.

    Args:
        graph: whose inputs have static shapes.
        sources: which inputs are sources; their elements are counted through, in order.

    Raises:
        ValueError: an extent is known at run time only, or the pattern is not sparse.
    """
    width = sum(size_of(v) for v, flag in zip(graph.inputs, sources, strict=True) if flag)
    start, inputs = 0, []
    for value, flag in zip(graph.inputs, sources, strict=True):
        inputs.append(Known(None, _identity(start, size_of(value), width)) if flag else UNKNOWN)
        start += size_of(value) if flag else 0
    return [known.rows for known in interpret(graph, inputs, width)]


def interpret(graph: Graph, inputs: Sequence[Known], width: int) -> list[Known]:
    """What is known of a graph's outputs, from what is known of its inputs."""
    env = environment(graph, inputs)
    for node in needed_for(graph.nodes, [v.key for v in graph.outputs])[0]:
        operands = [env[v.key] for v in node.inputs]
        for value, known in zip(node.outputs, results_of(node, operands, width), strict=True):
            env[value.key] = known
    return [env[value.key] for value in graph.outputs]


def environment(graph: Graph, inputs: Sequence[Known]) -> dict[int, Known]:
    """What is known of a graph's free values, by their keys: the inputs, captured tensors, Variables."""
    env = {value.key: known for value, known in zip(graph.inputs, inputs, strict=True)}
    for tensor, value in graph.captures.values():
        env[value.key] = _given(tensor)
    for variable, value in graph.reads.values():
        env[value.key] = _given(variable._held)
    return env


def _given(tensor: Tensor) -> Known:
    return UNKNOWN if type(tensor._data) is Value else Known(tensor, None)


def results_of(node: Node, operands: Sequence[Known], width: int) -> Sequence[Known]:
    """What is known of a node's results, from what is known of its operands."""
    op = node.op
    if all(known.value is not None for known in operands):
        return _computed(node, [known.value for known in operands])
    site = Site(op, node.inputs, node.outputs, node.attrs, operands, width)
    region = REGIONS.get(op.facts.holds or op.kind)
    if region is not None:
        return region(site)
    if op.kind in ("zero", "stop") or all(known.rows is None for known in operands):
        return (UNKNOWN,) * len(node.outputs)
    rule = RULES.get(op.name) or _rule_by_facts(op)
    return [
        Known(None, rows if is_inexact(value.dtype) else None)
        for value, rows in zip(node.outputs, rule(site), strict=True)
    ]


def _computed(node: Node, operands: Sequence[Any]) -> Sequence[Known]:
    """The values of what does not depend on the sources; unknown where computing fails, which f itself will tell."""
    try:
        with building(None), np.errstate(all="ignore"):
            results = run_again(node, (*operands,), node.attrs)
    except Exception:
        return (UNKNOWN,) * len(node.outputs)
    return [Known(x, None) for x in (results if node.op.is_multi else (results,))]


# -- rows -------------------------------------------------------------------------------------------------------------


def size_of(value: Any) -> int:
    """How many elements a value has."""
    if any(isinstance(extent, Dim) for extent in value.shape):
        raise ValueError(
            at_user_line(f"sparsity: an array of shape {value.shape} depends on values; give the pattern instead")
        )
    return math.prod(value.shape)


def matrix(data: object, indices: Any, indptr: object, shape: tuple[int, int]) -> Rows:
    """A boolean matrix from compressed rows (`data` None: all true)."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(indices), bool) if data is None else data, indices, indptr), shape=shape)


def _identity(start: int, size: int, width: int) -> Rows:
    return matrix(None, np.arange(start, start + size), np.arange(size + 1), (size, width))


def nothing(size: int, width: int) -> Rows:
    """Rows of elements that depend on no source."""
    return matrix(None, np.empty(0, np.int64), np.zeros(size + 1, np.int64), (size, width))


def union(terms: Iterable[Rows]) -> Rows:
    """What depends on any of the terms' sources; None if there are none."""
    total: Rows = None
    for term in terms:
        if term is not None and term is not total:
            total = term if total is None else total + term
    return total


def stacked(parts: Sequence[Rows], sizes: Sequence[int], width: int) -> Rows:
    """The rows of several values below each other."""
    from scipy.sparse import vstack

    found = [nothing(size, width) if rows is None else rows for rows, size in zip(parts, sizes, strict=True)]
    return found[0] if len(found) == 1 else vstack(found, format="csr")


def picked(rows: Rows, places: Array) -> Rows:
    """The rows at places; a negative place has none."""
    places = places.reshape(-1)
    padded = matrix(
        rows.data, rows.indices, np.append(rows.indptr, rows.indptr[-1]), (rows.shape[0] + 1, rows.shape[1])
    )
    _require_sparse(int(np.diff(padded.indptr)[places].sum()))
    return padded[np.where(places < 0, rows.shape[0], places)]


def _require_sparse(entries: int) -> None:
    if entries > MOST_ENTRIES:
        raise ValueError(
            at_user_line(f"sparsity: the pattern has more than {MOST_ENTRIES:,} entries on the way; it is not sparse")
        )


def gathered(rows: Rows, targets: Array, sources: Array, size: int) -> Rows:
    """Rows of `size` elements, of which number `targets[k]` depends on element `sources[k]`."""
    from scipy.sparse import csr_array

    targets, sources = targets.reshape(-1), sources.reshape(-1)
    kept = sources >= 0
    targets, sources = targets[kept], sources[kept]
    links = csr_array((np.ones(len(targets), bool), (targets, sources)), shape=(size, rows.shape[0]))
    return links @ rows


def grouped(rows: Rows, shape: Sequence[int], axes: Sequence[int]) -> Rows:
    """The union over axes of an array of this shape; the other axes stay, in order."""
    if not axes:
        return rows
    kept = [i for i in range(len(shape)) if i not in axes]
    order = numbers(shape).transpose((*kept, *axes)).reshape(-1)
    step = math.prod(shape[i] for i in axes)
    count = math.prod(shape[i] for i in kept)
    links = matrix(None, order, np.arange(count + 1) * step, (count, rows.shape[0]))
    return links @ rows


def numbers(shape: Sequence[int]) -> Array:
    """The elements of an array of this shape, counted through."""
    return np.arange(math.prod(shape)).reshape(tuple(shape))


def array_of(known: Known) -> Array | None:
    """A known value as a NumPy array."""
    return None if known.value is None else ndarray_of(known.value._data)


# -- rules ------------------------------------------------------------------------------------------------------------


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Makes a function the rule of these ops."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def dense(site: Site) -> Sequence[Rows]:
    """Every element of the results depends on all that any operand depends on."""
    found = union(
        grouped(known.rows, (known.rows.shape[0],), (0,)) for known in site.operands if known.rows is not None
    )
    return [picked(found, np.zeros(size_of(out), np.int64)) for out in site.outputs]


def elementwise(site: Site) -> Sequence[Rows]:
    """Element by element."""
    rules = site.op.rules
    if not site.is_of_one_shape() or site.outputs[0].shape != site.inputs[0].shape:
        return dense(site)
    return [union(
        known.rows for i, known in enumerate(site.operands) if not rules or rules[site.op.position(i)] is not None
    )]  # fmt: skip


@rule("copysign", "ldexp", "after", "buffer_new", "buffer_value")
def first(site: Site) -> Sequence[Rows]:
    """The first operand's."""
    return [site.operands[0].rows]


@rule("reassign", "heaviside")
def second(site: Site) -> Sequence[Rows]:
    """The second operand's."""
    return [site.operands[1].rows]


@rule("barrier")
def each(site: Site) -> Sequence[Rows]:
    """Result i is operand i."""
    return [known.rows for known in site.operands]


@rule("mul", "scale")
def product(site: Site) -> Sequence[Rows]:
    """Nothing depends on what is multiplied by a constant 0."""
    terms = []
    for known, other in zip(site.operands, site.operands[::-1], strict=True):
        factor = array_of(other)
        if known.rows is not None and factor is not None and not factor.all():
            terms.append(picked(known.rows, np.where(factor != 0, numbers(factor.shape), -1)))
        else:
            terms.append(known.rows)
    return [union(terms)]


def _rule_by_facts(op: Op) -> Rule:
    """The rule of an op that has none of its own here."""
    if op.facts.moves:
        return first if op.facts.moves == "same" else moved_by_known
    return _MIXED[op.facts.mixes]


def moved_by_known(site: Site) -> Sequence[Rows]:
    """What moves elements of the first operand: run on element numbers, if what says where they go is known."""
    return _moved(site, (0,)) if _all_known(site.operands[1:]) else dense(site)


@rule("pad", "concatenate", "unstack", "tril", "triu", "make_diagonal")
def moved(site: Site) -> Sequence[Rows]:
    """Ops that move elements of several operands, to several results, or insert zeros: run on element numbers."""
    return _moved(site, range(len(site.operands)))


def _moved(site: Site, data: Sequence[int]) -> Sequence[Rows]:
    """The rows where the results come from elements of the operands `data`; the other operands are known."""
    sizes = [size_of(site.inputs[i]) for i in data]
    offsets = dict(zip(data, itertools.accumulate(sizes, initial=1), strict=False))  # 0 is no element
    rows = stacked([site.operands[i].rows for i in data], sizes, site.width)
    results = on_numbers(site, offsets)
    return [picked(rows, places - 1) for places in results]


def on_numbers(site: Site, offsets: dict[int, int]) -> list[Array]:
    """The op's results for element numbers, which start at `offsets` for each operand that has them."""
    with building(None):
        operands = []
        for i, (value, known) in enumerate(zip(site.inputs, site.operands, strict=True)):
            if i not in offsets:
                operands.append(known.value)
                continue
            counted = constant(numbers(value.shape) + offsets[i])
            operands.append(buffer_new(counted) if _is_buffer_operand(site.op, i) else counted)
        found = apply(site.op, (*operands,), (*site.attrs,))
        found = found if site.op.is_multi else (found,)
        if site.op.name == "buffer_set":
            found = (buffer_value(found[0]),)
    return [ndarray_of(x._data) for x in found]


def _is_buffer_operand(op: Op, index: int) -> bool:
    return op.operands[op.position(index)] == op.facts.buffer


def _all_known(known: Iterable[Known]) -> bool:
    return all(k.value is not None for k in known)


@rule("select")
def chosen(site: Site) -> Sequence[Rows]:
    """By a constant condition one of the two, else both."""
    if site.operands[0].value is not None:
        return _moved(site, (1, 2))
    return [union(known.rows for known in site.operands[1:])]


@rule("gather")
def gather(site: Site) -> Sequence[Rows]:
    """By constant indices what they address; by others all along the addressed axes."""
    if _all_known(site.operands[1:]):
        return _moved(site, (0,))
    lead = len(site.operands) - 1
    shape = site.inputs[0].shape
    found = grouped(site.operands[0].rows, shape, range(lead)) if site.operands[0].rows is not None else None
    return [_repeated(found, shape[lead:], site.outputs[0].shape)]


def _repeated(rows: Rows, shape: Sequence[int], wanted: Sequence[int]) -> Rows:
    """The rows of an array repeated along new leading axes (and axes of extent 1)."""
    return None if rows is None else picked(rows, np.broadcast_to(numbers(shape), tuple(wanted)))


@rule("take_along", "permute_along", "permute_rows", "unpermute_rows")
def along(site: Site) -> Sequence[Rows]:
    """Elements from places of their own along an axis."""
    if site.operands[1].value is not None:
        return _moved(site, (0,))
    axis = site.attr("axis") if "axis" in site.op.attrs else -2 if "rows" in site.op.name else -1
    return _over_axes(site, [axis])


@rule("scatter_set", "buffer_set")
def written(site: Site) -> Sequence[Rows]:
    """What is written, and what is left of the array."""
    if _all_known(site.operands[2:]):
        return _moved(site, (0, 1))
    return scattered(site) if site.op.name == "scatter_set" else dense(site)


@rule("scatter_add", "scatter_max", "scatter_min", "scatter_mul")
def scattered(site: Site) -> Sequence[Rows]:
    """The array, and the updates that go to each place."""
    rows, updates = site.operands[0].rows, site.operands[1].rows
    if updates is None:
        return [rows]
    x, y, indices = site.inputs[0], site.inputs[1], site.operands[2:]
    arrays = [array_of(k) for k in indices]
    if all(a is not None for a in arrays):
        places = numbers(x.shape)[(*arrays,)]
        return [union((rows, gathered(updates, places, numbers(y.shape), size_of(x))))]
    lead = len(indices)
    found = grouped(updates, y.shape, range(len(site.inputs[2].shape)))
    return [union((rows, _repeated(found, x.shape[lead:], x.shape)))]


@rule("buffer_add")
def buffer_added(site: Site) -> Sequence[Rows]:
    """The version, and the value added at a place."""
    value, rows = site.operands[0].rows, site.operands[1].rows
    if value is None:
        return [rows]
    if not _all_known(site.operands[2:]):
        return dense(site)
    from_place = Site(
        buffer_get, site.inputs[1:], site.inputs[:1], site.attrs, (UNKNOWN, *site.operands[2:]), site.width
    )
    (places,) = on_numbers(from_place, {0: 0})
    return [union((rows, gathered(value, places, numbers(places.shape), size_of(site.inputs[1]))))]


@rule("add_along")
def added_along(site: Site) -> Sequence[Rows]:
    """Elements added to places of their own along the last axis."""
    index = array_of(site.operands[1])
    if index is None:
        return _over_axes(site, [-1])
    places = np.take_along_axis(numbers(site.outputs[0].shape), index.astype(np.int64), axis=-1)
    return [gathered(site.operands[0].rows, places, numbers(index.shape), size_of(site.outputs[0]))]


def over_axes(site: Site) -> Sequence[Rows]:
    """Dense along some axes, which a reduction's result does not have."""
    attrs = named(site.op, site.attrs)
    if len(site.operands) != 1 or not attrs.keys() & {"axes", "axis"}:
        return dense(site)
    axes = attrs["axes"] if "axes" in attrs else (attrs["axis"],)
    if len(site.outputs[0].shape) < len(site.inputs[0].shape):
        return [grouped(site.operands[0].rows, site.inputs[0].shape, axes)]
    return _over_axes(site, axes)


def _over_axes(site: Site, axes: Sequence[int]) -> Sequence[Rows]:
    shape, out = site.inputs[0].shape, site.outputs[0].shape
    axes = [a % len(shape) for a in axes]
    found = grouped(site.operands[0].rows, shape, axes)
    kept = [1 if i in axes else n for i, n in enumerate(shape)]
    return [_repeated(found, kept, out)]


def running(site: Site) -> Sequence[Rows]:
    """All that stands before along an axis: united over 1, 2, 4, ... places."""
    attrs, shape = named(site.op, site.attrs), site.inputs[0].shape
    if "axis" not in attrs or not site.is_of_one_shape() or site.outputs[0].shape != shape:
        return dense(site)
    rows = union(known.rows for known in site.operands)
    axis = attrs["axis"] % len(shape)
    places, extent, step = numbers(shape), shape[axis], 1
    while step < extent:
        before = np.full_like(places, -1)
        ahead, behind = [slice(None)] * len(shape), [slice(None)] * len(shape)
        ahead[axis], behind[axis] = slice(step, None), slice(None, extent - step)
        if attrs.get("reverse"):
            ahead, behind = behind, ahead
        before[(*ahead,)] = places[(*behind,)]
        rows = union((rows, picked(rows, before)))
        _require_sparse(rows.nnz)
        step *= 2
    return [rows]


def of_matrices(site: Site) -> Sequence[Rows]:
    """Dense in each matrix of a batch."""
    batch = site.inputs[0].shape[:-2]
    if any(x.shape[: len(batch)] != batch or len(x.shape) < len(batch) + 1 for x in site.inputs):
        return dense(site)
    terms = (
        grouped(known.rows, x.shape, range(len(batch), len(x.shape)))
        for x, known in zip(site.inputs, site.operands, strict=True) if known.rows is not None
    )  # fmt: skip
    found = union(terms)
    counted = numbers(batch)
    return [
        picked(found, np.broadcast_to(counted.reshape((*batch, *(1,) * (len(out.shape) - len(batch)))), out.shape))
        for out in site.outputs
    ]


_MIXED: dict[str, Rule] = {
    "nothing": elementwise, "axes": over_axes, "earlier": running, "matrices": of_matrices, "all": dense
}  # fmt: skip


@rule("matmul")
def matmul(site: Site) -> Sequence[Rows]:
    """Rows with columns."""
    letters = "abcdefghijklmnopqrstuvw"[: len(site.inputs[0].shape) - 2]
    return _contracted(site, (letters + "xy", letters + "yz"), letters + "xz")


@rule("einsum")
def einsum(site: Site) -> Sequence[Rows]:
    """Axes that are summed up are united, the others stay."""
    return _contracted(site, site.attr("labels"), site.attr("out"))


def _contracted(site: Site, labels: Sequence[str], out: str) -> Sequence[Rows]:
    extents = {c: n for x, names in zip(site.inputs, labels, strict=True) for c, n in zip(names, x.shape, strict=True)}
    wanted = tuple(extents[c] for c in out)
    arrays = [array_of(k) for k in site.operands]
    factors = [(names, a != 0) for names, a in zip(labels, arrays, strict=True) if a is not None and not a.all()]
    if factors and math.prod(extents.values()) <= MOST_TERMS:
        return [_by_terms(site, labels, out, extents, factors)]
    terms = []
    for known, x, names in zip(site.operands, site.inputs, labels, strict=True):
        if known.rows is None:
            continue
        rows = grouped(known.rows, x.shape, [i for i, c in enumerate(names) if c not in out])
        kept = [c for c in names if c in out]
        order = numbers([extents[c] for c in kept]).transpose(
            sorted(range(len(kept)), key=lambda i: out.index(kept[i]))
        )
        order = order.reshape([extents[c] if c in kept else 1 for c in out])
        terms.append(picked(rows, np.broadcast_to(order, wanted)))
    return [union(terms)]


def _by_terms(
    site: Site, labels: Sequence[str], out: str, extents: dict[str, int], factors: Sequence[tuple[str, Array]]
) -> Rows:  # fmt: skip
    """A product with constants that hold zeros: each term of the sum is looked at."""
    names = "".join(extents)

    def spread(array: Array, own: str) -> Array:
        order = sorted(range(len(own)), key=lambda i: names.index(own[i]))
        return array.transpose(order).reshape([extents[c] if c in own else 1 for c in names])

    shape = tuple(extents[c] for c in names)
    is_there = np.ones((1,) * len(names), bool)
    for own, mask in factors:
        is_there = is_there & spread(mask, own)
    is_there = np.broadcast_to(is_there, shape)
    targets = np.broadcast_to(spread(numbers([extents[c] for c in out]), out), shape)[is_there]
    terms = []
    for known, x, own in zip(site.operands, site.inputs, labels, strict=True):
        if known.rows is not None:
            places = np.broadcast_to(spread(numbers(x.shape), own), shape)[is_there]
            terms.append(gathered(known.rows, targets, places, size_of(site.outputs[0])))
    return union(terms)


# -- windows ----------------------------------------------------------------------------------------------------------


def _windows(
    shape: Sequence[int], window: Any, strides: Any, padding: Any, dilation: Any, spread: Any = None
) -> Iterable[Array]:  # fmt: skip
    """For each place in a window the element that stands there in every window (-1: padding or a gap).

    The window slides over the last axes of an array of this shape, whose elements are `spread` apart.
    """
    count = len(window)
    lead = tuple(shape[: len(shape) - count])
    places = numbers(shape)
    for axis, gap in enumerate(spread or (), len(lead)):
        if gap > 1:
            wide = [*places.shape]
            wide[axis] = (wide[axis] - 1) * gap + 1 if wide[axis] else 0
            into = np.full(wide, -1)
            into[(slice(None),) * axis + (slice(None, None, gap),)] = places
            places = into
    for axis, (low, high) in enumerate(padding, len(lead)):
        places = _padded(places, axis, low, high)
    spatial = places.shape[len(lead) :]
    sizes = [
        max((n - (w - 1) * d - 1) // s + 1, 0)
        for n, w, d, s in zip(spatial, window, dilation, strides, strict=True)
    ]  # fmt: skip
    for offset in itertools.product(*map(range, window)):
        yield places[(..., *[
            slice(o * d, o * d + max((n - 1) * s + 1, 0), s)
            for o, d, n, s in zip(offset, dilation, sizes, strides, strict=True)
        ])]  # fmt: skip


def _padded(places: Array, axis: int, low: int, high: int) -> Array:
    """Padding with nothing; a negative one cuts off."""
    widths = [(0, 0)] * places.ndim
    widths[axis] = (max(low, 0), max(high, 0))
    places = np.pad(places, widths, constant_values=-1)
    stop = places.shape[axis] + min(high, 0)
    return places[(slice(None),) * axis + (slice(max(-low, 0), stop),)]


@rule("window_sum")
def window_sum(site: Site) -> Sequence[Rows]:
    """All in a window."""
    rows = site.operands[0].rows
    return [union([picked(rows, places) for places in _windows(site.inputs[0].shape, *site.attrs)])]


@rule("window_spread")
def window_spread(site: Site) -> Sequence[Rows]:
    """To all places of a window."""
    x, out = site.inputs[0], site.outputs[0]
    found = [*_windows(out.shape, *site.attrs[1:])]
    targets = np.concatenate([places.reshape(-1) for places in found])
    sources = np.tile(np.arange(size_of(x)), len(found))
    return [gathered(site.operands[0].rows, np.maximum(targets, 0), np.where(targets < 0, -1, sources), size_of(out))]


@rule("conv")
def conv(site: Site) -> Sequence[Rows]:
    """Windows over the positions, dense in the channels of a group."""
    strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups = site.attrs
    (lhs, rhs), (out,) = site.inputs, site.outputs
    if batch_groups != 1:
        return dense(site)
    terms = []
    if site.operands[0].rows is not None:
        n, channels, *spatial = lhs.shape
        rows = grouped(site.operands[0].rows, (n, groups, channels // groups, *spatial), (2,))
        window = _windows((n, groups, *spatial), rhs.shape[2:], strides, padding, rhs_dilation, lhs_dilation)
        found = union([picked(rows, places) for places in window])
        positions = out.shape[2:]
        counted = numbers((n, groups, 1, *positions))
        terms.append(picked(found, np.broadcast_to(counted, (n, groups, out.shape[1] // groups, *positions))))
    if site.operands[1].rows is not None:
        found = grouped(site.operands[1].rows, rhs.shape, range(1, len(rhs.shape)))
        counted = numbers(rhs.shape[:1]).reshape((-1, *(1,) * (len(out.shape) - 2)))
        terms.append(picked(found, np.broadcast_to(counted, out.shape)))
    return [union(terms)]
