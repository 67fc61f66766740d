"""Branches and loops as TensorFlow's own: `switch`, `loop` and `loop_back` inside its graphs.

What steps leave behind is put into tensor lists, which grow as the loop runs and whose elements may be lists. A history
is what every step saved where the memory budget has room for it, else states before some steps, in a fixed number of
slots: at the steps that the binomial schedule names where the number of steps is known, else at distances that double
each time the slots are full. The backward pass fills free slots by the same schedule, as a stack of states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..._control.loop import History, Loop
from ..._control.loop_back import LoopBack
from ..._control.switch import Branches
from ..._core.budget import limit
from ..._transforms.snapshots import NEVER, EvenSnapshots, Snapshots
from .common import TensorHistory, extents, flat, rebuilt
from .programs import run_of

AUTO_SLOTS = 64
LIKELY_STEPS = 1 << 18  # a loop of unknown length keeps all if so many steps fit the budget

_raw = tf.raw_ops


def integer(value: Any) -> Any:
    """An integer as step counters are."""
    return tf.cast(value, tf.int64)


# -- tensor lists ------------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """What an array of a history is: a list of elements of a type, or (not `is_list`) one tensor of that type."""

    dtype: Any
    shape: tuple[int | None, ...] | None
    is_list: bool = True


def kind_of(x: Any, is_list: bool = True) -> Kind:
    return Kind(x.dtype, (*x.shape,) if x.shape.rank is not None else None, is_list)


def _shape(kind: Kind) -> Any:
    if kind.shape is None:
        return tf.constant(-1)
    return tf.constant([-1 if n is None else n for n in kind.shape], tf.int32, (len(kind.shape),))


def _reserved(kind: Kind, count: Any) -> Any:
    return _raw.TensorListReserve(
        element_shape=_shape(kind), num_elements=tf.cast(count, tf.int32), element_dtype=kind.dtype
    )


def place_of(step: Any) -> Any:
    """The number of a step as lists take it: made once for all that a step reads and writes."""
    return tf.cast(step, tf.int32)


def _put(handle: Any, place: Any, value: Any) -> Any:
    return _raw.TensorListSetItem(input_handle=handle, index=place, item=value, resize_if_index_out_of_bounds=True)


def _got(handle: Any, place: Any, kind: Kind) -> Any:
    out = _raw.TensorListGetItem(input_handle=handle, index=place, element_shape=_shape(kind), element_dtype=kind.dtype)
    if kind.shape is not None:
        out.set_shape(kind.shape)
    return out


def _stacked(handle: Any, kind: Kind) -> Any:
    return _raw.TensorListStack(input_handle=handle, element_shape=_shape(kind), element_dtype=kind.dtype)


def _empty(kind: Kind) -> Any:
    """A stand-in of a kind: a list without elements, or zeros."""
    if kind.is_list:
        return _reserved(kind, 0)
    return tf.zeros([n or 0 for n in kind.shape or ()], kind.dtype)


# -- results of programs before they run -------------------------------------------------------------------------------


def example_of(run: Callable[..., Any], operands: Sequence[Any]) -> list[Any]:
    """What a program gives, built in a graph that nobody runs."""
    leaves, form = flat(operands)
    found: list[Any] = []

    def body(*tensors: Any) -> Any:
        found[:] = run(*rebuilt(form, tensors))
        return ()

    tf.function(body, autograph=False).get_concrete_function(*[tf.TensorSpec(x.shape, x.dtype) for x in leaves])
    return found


# -- switch ------------------------------------------------------------------------------------------------------------


def switch(index: Any, *operands_and_branches: Any) -> tuple[Any, ...]:
    """`tf.cond` or `tf.switch_case` over the branches; histories that a branch lacks are empty."""
    *operands, branches = operands_and_branches
    runs = [run_of(program) for program in branches.programs]
    forms = [None] * len(branches.programs[0].graph.outputs)
    if any(v.dtype == object for program in branches.programs for v in program.graph.outputs):
        found = [flat(example_of(run, operands))[1] for run in runs]
        forms = [max(column, key=_content) for column in zip(*found, strict=True)]

    def branch(run: Any) -> Any:
        return lambda: flat([*map(_filled, run(*operands), forms)])[0]

    if index.dtype == tf.bool and len(runs) == 2:
        outs = tf.cond(index, branch(runs[0]), branch(runs[1]))
    else:
        outs = tf.switch_case(_number(index, branches), [branch(run) for run in runs])
    return (*rebuilt(forms, outs if isinstance(outs, (list, tuple)) else [outs]),)


def _content(form: Any) -> int:
    """How much a history of a form holds: a whole one may hold nothing, and is more than one that nobody kept."""
    return 0 if form is None else 2 * len(form[0]) + form[1]


def _number(index: Any, branches: Branches) -> Any:
    """True is the first branch; an index out of range is the last."""
    count = len(branches.programs)
    if index.dtype == tf.bool:
        return tf.where(index, 0, count - 1)
    return tf.cast(tf.where(tf.logical_or(index < 0, index >= count), tf.cast(count - 1, index.dtype), index), tf.int32)


def _filled(x: Any, form: Any) -> Any:
    if form is None or x.kinds == form[0]:
        return x
    return TensorHistory([*map(_empty, form[0])], *form)


# -- loop --------------------------------------------------------------------------------------------------------------


def loop(*operands_and_spec: Any) -> tuple[Any, ...]:
    """One run of a loop, as `tf.while_loop`."""
    *operands, spec = operands_and_spec
    return _LoopRun(spec, operands).results()


def _while(goes_on: Any, body: Any, state: Sequence[Any], shapes: Sequence[Any] | None = None) -> list[Any]:
    """`tf.while_loop` over a flat list of tensors; what a step gives has the shapes that it was given."""

    def one(*tensors: Any) -> list[Any]:
        found = body(*tensors)
        for x, before in zip(found, tensors, strict=True):
            x.set_shape(before.shape)
        return [*found]

    return [*tf.while_loop(goes_on, one, [*state], shapes, parallel_iterations=1)]


class _LoopRun:
    """One run: what it carries is the number of the step, the carries, the lists, and the histories."""

    def __init__(self, spec: Loop, operands: Sequence[Any]) -> None:
        self.spec = spec
        self.count = None
        if spec.is_counted:
            self.count, operands = integer(operands[0]), operands[1:]
        first = spec.invariants_from()
        self.carries = [*operands[: spec.carries]]
        self.xs = operands[spec.carries : first]
        self.invariants = operands[first:]
        self.known = self._known_trips()
        self.bound = self.known if self.known is not None else spec.most if isinstance(spec.most, int) else None
        self.stacked = [e for e in spec.emits if isinstance(e, int)]
        self._example: list[Any] | None = None
        self.recorders = [recorder(e, self) for e in spec.emits if isinstance(e, History)]
        is_thin = all(e < spec.carries + spec.own for e in self.stacked) and not any(r.is_whole for r in self.recorders)
        self.body = run_of(spec.thin if is_thin else spec.body)

    def _known_trips(self) -> int | None:
        """The number of steps, where that is known beforehand."""
        if self.count is None:
            return None
        if isinstance(self.spec.length, int):
            return self.spec.length
        if self.xs and isinstance(self.xs[0], tf.Tensor) and self.xs[0].shape[0] is not None:
            return self.xs[0].shape[0]
        value = tf.get_static_value(self.count)
        return None if value is None else int(value)

    def example(self, position: int) -> Any:
        """A tensor or history like one that a step gives."""
        value = self.spec.body.graph.outputs[position]
        if value.dtype != object and all(isinstance(n, int) for n in value.shape):
            return tf.zeros((), tf.as_dtype(value.dtype)) if not value.shape else _Like(value)
        if self._example is None:
            rows = [_row(x, place_of(0)) for x in self.xs]
            self._example = example_of(run_of(self.spec.body), [*self.carries, *rows, *self.invariants])
        return self._example[position]

    def results(self) -> tuple[Any, ...]:
        spec, body = self.spec, self.body
        stacks = [Stack.like(self.example(e)) for e in self.stacked]
        kept = [r.start() for r in self.recorders]
        condition = None if spec.condition is None else run_of(spec.condition)
        last = self.count
        carried, carry_form = flat(self.carries)
        parts = _Parts([1, len(carried), *[len(s.kinds) for s in stacks], *[len(k) for k in kept]])

        def goes_on(*state: Any) -> Any:
            (step,), carries = parts.cut(state)[:2]
            if condition is None:
                return step < last
            return tf.reshape(condition(*rebuilt(carry_form, carries), *self.invariants)[0], ())

        def one(*state: Any) -> list[Any]:
            (step,), carries, *rest = parts.cut(state)
            rows, histories = rest[: len(stacks)], rest[len(stacks) :]
            histories = [r.before(step, carries, h) for r, h in zip(self.recorders, histories, strict=True)]
            index = place_of(last - 1 - step if spec.is_reversed else step)  # pyright: ignore[reportOptionalOperand]  # counted if reversed
            outs = body(*rebuilt(carry_form, carries), *[_row(x, index) for x in self.xs], *self.invariants)
            rows = [s.put(h, index, outs[e]) for s, h, e in zip(stacks, rows, self.stacked, strict=True)]
            histories = [r.after(step, outs, h) for r, h in zip(self.recorders, histories, strict=True)]
            following = flat([*outs[: spec.carries]])[0]
            return [step + 1, *following, *[h for row in rows for h in row], *[h for row in histories for h in row]]

        room = self.known if self.known is not None else 0
        state = [integer(0), *carried, *[h for s in stacks for h in s.start(room)], *[h for k in kept for h in k]]
        found = parts.cut(_while(goes_on, one, state, self._invariants(state, carried)))
        (steps,), carries, *rest = found
        between = [] if spec.is_counted else [steps]
        given = iter(zip(stacks, rest, strict=False))
        histories = iter(zip(self.recorders, rest[len(stacks) :], strict=True))
        emitted = []
        for e in spec.emits:
            if isinstance(e, History):
                maker, arrays = next(histories)
                emitted.append(maker.finished(arrays))
            else:
                stack, handles = next(given)
                emitted.append(stack.finished(handles, self.known))
        return (*rebuilt(carry_form, carries), *between, *emitted)

    def _invariants(self, state: Sequence[Any], carried: Sequence[Any]) -> list[Any]:
        """The shapes that are the same at each step: those of the graph's inputs, where that knows them."""
        shapes = [x.shape for x in state]
        values = self.spec.body.graph.inputs[: self.spec.carries]
        if len(carried) == len(values):
            for place, value in enumerate(values, start=1):
                shapes[place] = tf.TensorShape([n if isinstance(n, int) else None for n in value.shape])
        return shapes


class _Like:
    """The type of a value, as one reads it from a tensor."""

    def __init__(self, value: Any) -> None:
        self.dtype = tf.as_dtype(value.dtype)
        self.shape = tf.TensorShape(value.shape)


class _Parts:
    """Lengths of the parts of a flat list."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = lengths

    def cut(self, values: Sequence[Any]) -> list[Any]:
        found, start = [], 0
        for n in self.lengths:
            found.append([*values[start : start + n]])
            start += n
        return found


class Stack(NamedTuple):
    """Lists for one value (a tensor, or a history) of each step."""

    kinds: tuple[Kind, ...]
    form: Any  # of the history

    @classmethod
    def like(cls, example: Any) -> Stack:
        if type(example) is TensorHistory:
            return cls((*map(kind_of, example.arrays),), example.form())
        return cls((kind_of(example),), None)

    def start(self, room: Any) -> list[Any]:
        return [_reserved(kind, room) for kind in self.kinds]

    def put(self, handles: Sequence[Any], index: Any, value: Any) -> list[Any]:
        arrays = value.arrays if type(value) is TensorHistory else (value,)
        return [_put(h, index, x) for h, x in zip(handles, arrays, strict=True)]

    def got(self, handles: Sequence[Any], index: Any) -> Any:
        arrays = [_got(h, index, kind) for h, kind in zip(handles, self.kinds, strict=True)]
        return arrays[0] if self.form is None else TensorHistory(arrays, *self.form)

    def finished(self, handles: Sequence[Any], count: int | None = None) -> Any:
        """All rows, so many of them where that is known: one tensor, or a list of histories."""
        if self.form is None:
            rows = _stacked(handles[0], self.kinds[0])
            rows.set_shape(tf.TensorShape([count]).concatenate(rows.shape[1:]))
            return rows
        return TensorHistory(handles, self.kinds, True, 0, self.form)


def _row(x: Any, index: Any) -> Any:
    if type(x) is TensorHistory:
        return Stack(x.kinds, x.rows).got(x.arrays, index)
    return x[index]


# -- histories ---------------------------------------------------------------------------------------------------------


def recorder(history: History, run: _LoopRun) -> Any:
    """What keeps a history as its policy says."""
    policy, trips, bound = history.policy, run.known, run.bound
    if policy == "auto":
        saved = [run.example(p) for p in history.positions]
        size = sum(map(_size_of, saved))
        if (LIKELY_STEPS if bound is None else bound) * size <= limit():
            return _Whole(history, saved, bound or 0)
        policy = AUTO_SLOTS
    if policy == "sqrt":
        if trips is not None:
            steps = _schedule(EvenSnapshots(None, trips))
            return _Scheduled(steps, 2 * len(steps) + 1, run)
        half = isqrt(2 * (LIKELY_STEPS if bound is None else bound)) + 2
        return _Doubling(half + half % 2, 2 * half + 2, run)
    if trips is not None:
        return _Scheduled(_schedule(Snapshots(policy, trips)), policy, run)
    # half of the slots are left for the backward pass, which would run stretches again and again without
    half = max(policy // 2, 1)
    return _Doubling(half - half % 2 or 1, policy, run)


def _size_of(x: Any) -> int:
    if type(x) is TensorHistory:
        return 64  # what lists of its hold is not known
    return prod(1 if n is None else n for n in x.shape) * x.dtype.size


def _schedule(plan: Any) -> np.ndarray[Any, Any]:
    """The steps at which a plan for a known number of steps keeps a state."""
    steps = []
    while plan.next_step != NEVER:
        steps.append(plan.next_step)
        plan.offer(plan.next_step, None)
    return np.array(steps, np.int64)


_SMALL = 4096  # bytes: of larger arrays a copy costs more than a list of their own


class Bundle(NamedTuple):
    """Some of the values that a step saves, kept in one list as rows of one array, or one of them as it is."""

    places: tuple[int, ...]
    stack: Stack

    def put(self, handles: Sequence[Any], index: Any, saved: Sequence[Any]) -> list[Any]:
        values = [saved[p] for p in self.places]
        return self.stack.put(handles, index, tf.stack(values) if len(values) > 1 else values[0])

    def got(self, handles: Sequence[Any], index: Any) -> list[Any]:
        value = self.stack.got(handles, index)
        return tf.unstack(value, len(self.places)) if len(self.places) > 1 else [value]


def _bundles(saved: Sequence[Any]) -> list[Bundle]:
    """Small arrays of one type go together: in a loop on such, what a step runs costs by the node."""
    alike: dict[Any, list[int]] = {}
    for place, x in enumerate(saved):
        is_small = type(x) is not TensorHistory and x.shape.is_fully_defined() and _size_of(x) <= _SMALL
        alike.setdefault((x.dtype, (*x.shape,)) if is_small else place, []).append(place)
    found = []
    for places in alike.values():
        stack = Stack.like(saved[places[0]])
        if len(places) > 1:
            (kind,) = stack.kinds
            stack = Stack((Kind(kind.dtype, (len(places), *(kind.shape or ()))),), None)
        found.append(Bundle((*places,), stack))
    return found


class _Whole:
    """Keeps what every step saves."""

    is_whole = True

    def __init__(self, history: History, saved: Sequence[Any], room: int) -> None:
        self.positions = history.positions
        self.room = room
        self.bundles = _bundles(saved)
        self.parts = _Parts([len(b.stack.kinds) for b in self.bundles])

    def start(self) -> list[Any]:
        return [h for b in self.bundles for h in b.stack.start(self.room)]

    def before(self, step: Any, carries: Any, kept: Any) -> Any:
        return kept

    def after(self, step: Any, outs: Any, kept: Any) -> Any:
        cut, place, saved = self.parts.cut(kept), place_of(step), [outs[p] for p in self.positions]
        return [h for b, hs in zip(self.bundles, cut, strict=True) for h in b.put(hs, place, saved)]

    def finished(self, arrays: Any) -> TensorHistory:
        kinds = [kind for b in self.bundles for kind in b.stack.kinds]
        rows = (*[(len(b.stack.kinds), b.stack.form, b.places) for b in self.bundles],)
        return TensorHistory(arrays, kinds, True, 0, rows)


class _Slots:
    """Keeps states in slots; the last one takes what is written when there is nothing to keep."""

    is_whole = False

    def __init__(self, budget: int, run: _LoopRun) -> None:
        self.budget = budget
        leaves, self.form = flat(run.carries)
        self.kinds = [*map(kind_of, leaves)]

    def start(self) -> list[Any]:
        slots = [_reserved(kind, self.budget + 1) for kind in self.kinds]
        return [*slots, tf.zeros(self.budget + 1, tf.int64), integer(0), integer(1)]

    def after(self, step: Any, outs: Any, kept: Any) -> Any:
        return kept

    def keep(self, is_due: Any, step: Any, carries: Any, kept: Any) -> list[Any]:
        *slots, steps, filled, distance = kept
        place = tf.where(is_due, filled, self.budget)
        slots = [_put(s, place_of(place), x) for s, x in zip(slots, carries, strict=True)]
        return [*slots, with_element(steps, place, step), filled + integer(is_due), distance]

    def finished(self, arrays: Any) -> TensorHistory:
        whole = Kind(tf.int64, (self.budget + 1,), False)
        single = Kind(tf.int64, (), False)
        return TensorHistory(arrays, [*self.kinds, whole, single, single], False, self.budget, self.form)


def with_element(x: Any, place: Any, value: Any) -> Any:
    """A short array of integers with one of them replaced."""
    return tf.where(tf.equal(tf.range(x.shape[0], dtype=tf.int64), place), value, x)


class _Scheduled(_Slots):
    """At the steps of a schedule that was made beforehand."""

    def __init__(self, steps: np.ndarray[Any, Any], budget: int, run: _LoopRun) -> None:
        super().__init__(max(budget, len(steps)), run)
        self.schedule = np.append(steps, np.iinfo(np.int64).max)

    def before(self, step: Any, carries: Any, kept: Any) -> Any:
        return self.keep(tf.equal(step, tf.constant(self.schedule)[kept[-2]]), step, carries, kept)


class _Doubling(_Slots):
    """At even distances; each time the slots are full every other state goes, and the distance doubles."""

    def __init__(self, most: int, budget: int, run: _LoopRun) -> None:
        super().__init__(max(budget, most), run)
        self.most = most

    def before(self, step: Any, carries: Any, kept: Any) -> Any:
        if self.most == 1:
            return self.keep(tf.equal(step, 0), step, carries, kept)
        *_, filled, distance = kept
        is_due = tf.equal(step, filled * distance)
        is_full = tf.logical_and(is_due, tf.equal(filled, self.most))
        kept = [*tf.cond(is_full, lambda: self._halved(kept), lambda: [*kept])]
        return self.keep(is_due, step, carries, kept)

    def _halved(self, kept: Any) -> list[Any]:
        *slots, steps, filled, distance = kept
        chosen = np.arange(0, self.most, 2)
        thinned = []
        for handle, kind in zip(slots, self.kinds, strict=True):
            fresh = _reserved(kind, self.budget + 1)
            for place, source in enumerate(chosen):
                fresh = _put(fresh, place, _got(handle, source, kind))
            thinned.append(fresh)
        indices = np.minimum(np.arange(self.budget + 1) * 2, self.budget)
        return [*thinned, tf.gather(steps, indices), filled // 2, distance * 2]


# -- the backward pass -------------------------------------------------------------------------------------------------


def loop_back(history: Any, steps: Any, *operands_and_back: Any) -> tuple[Any, ...]:
    """The reverse pass of a loop, from its history."""
    *operands, back = operands_and_back
    return _LoopBackRun(back, integer(steps), operands).results(history)


class _LoopBackRun:
    """The backward pass of one run. It carries cotangents and sums, then lists of cotangents of consumed arrays."""

    def __init__(self, back: LoopBack, count: Any, operands: Sequence[Any]) -> None:
        spec, step = back.spec, back.step
        self.spec, self.step, self.count = spec, step, count
        inputs = operands[: back.inputs]
        rest = operands[back.inputs :]
        lanes = back.lane_shape(rest)
        width = len(step.carries)
        totals = [tf.zeros([*lanes, *extents(inputs[i])], inputs[i].dtype) for i in step.sums]
        first = spec.invariants_from()
        self.start = [*rest[:width], *totals]
        self.slices = [inputs[i] for i in step.slices]
        self.lanes = lanes
        self.rows = [Kind(x.dtype, (*lanes, *x.shape[1:])) for x in self.slices]
        self.xs, self.invariants = inputs[spec.carries : first], inputs[first:]
        self.read = [*(inputs[i] for i in step.xs), *rest[width:]]
        self.back_invariants = [inputs[i] for i in step.invariants]
        self.positions = back.stage.saved
        self.pull_step, self.full, self.thin = run_of(step.program), run_of(spec.body), run_of(spec.thin)

    def results(self, kept: TensorHistory) -> tuple[Any, ...]:
        lists = [_reserved(kind, tf.shape(x)[0]) for kind, x in zip(self.rows, self.slices, strict=True)]
        way = [*self.start, *lists]
        found = self._from_whole(kept, way) if kept.is_whole else self._from_slots(kept, way)
        width = len(self.start)
        slices = [_stacked(h, kind) for h, kind in zip(found[width:], self.rows, strict=True)]
        for stack, x in zip(slices, self.slices, strict=True):
            stack.set_shape([x.shape[0], *self.lanes, *x.shape[1:]])
        return (*found[:width], *slices)

    def _index(self, step: Any) -> Any:
        return place_of(self.count - 1 - step if self.spec.is_reversed else step)

    def _pulled(self, way: Any, saved: Any, step: Any) -> list[Any]:
        """What is carried before a step."""
        index, width = self._index(step), len(self.start)
        state, lists = way[:width], way[width:]
        outs = self.pull_step(*state, *saved, *[_row(x, index) for x in self.read], *self.back_invariants)
        return [*outs[:width], *[_put(h, index, row) for h, row in zip(lists, outs[width:], strict=True)]]

    def _from_whole(self, kept: TensorHistory, way: Sequence[Any]) -> list[Any]:
        parts = _Parts([n for n, _, _ in kept.rows])
        kinds, handles = parts.cut(kept.kinds), parts.cut(kept.arrays)
        bundles = [Bundle(places, Stack((*k,), form)) for k, (_, form, places) in zip(kinds, kept.rows, strict=True)]

        def one(step: Any, *way: Any) -> list[Any]:
            step = step - 1
            place = place_of(step)
            saved: dict[int, Any] = {}
            for bundle, own in zip(bundles, handles, strict=True):
                saved.update(zip(bundle.places, bundle.got(own, place), strict=True))
            return [step, *self._pulled(way, [saved[p] for p in range(len(saved))], step)]

        return _while(lambda step, *_: step > 0, one, [self.count, *way])[1:]

    def _from_slots(self, kept: TensorHistory, way: Sequence[Any]) -> list[Any]:
        """A stack of states, the latest on top: from it either to the middle of what is left, where a slot is free to
        keep the state there, or to the last step, which is pulled."""
        *slots, steps, filled, _ = kept.arrays
        budget, kinds, count = kept.budget, kept.kinds[:-3], len(kept.arrays) - 3
        is_used = tf.logical_and(steps < tf.maximum(self.count, 1), tf.range(budget + 1, dtype=tf.int64) < filled)
        filled = tf.minimum(filled, tf.reduce_sum(integer(is_used)))

        def one(end: Any, steps: Any, filled: Any, *slots_and_way: Any) -> list[Any]:
            slots, way = slots_and_way[:count], slots_and_way[count:]
            top = filled - 1
            start, free = tf.gather(steps, top), budget - filled
            is_kept = tf.logical_and(end - start > 1, free > 0)
            target = tf.where(is_kept, start + first_stretch(end - start, free + 1), end - 1)
            begun = [_got(h, place_of(top), kind) for h, kind in zip(slots, kinds, strict=True)]
            state = self._advanced(rebuilt(kept.rows, begun), start, target)
            spot = tf.where(is_kept, filled, budget)
            slots = [_put(h, place_of(spot), x) for h, x in zip(slots, flat(state)[0], strict=True)]
            steps = with_element(steps, spot, target)
            way = tf.cond(is_kept, lambda: [*way], lambda: self._pulled_from(way, state, target))
            end = tf.where(is_kept, end, target)
            after = tf.where(tf.logical_and(tf.equal(end, start), end > 0), filled - 1, filled)
            return [end, steps, tf.where(is_kept, filled + 1, after), *slots, *_listed(way)]

        state = [self.count, steps, filled, *slots, *way]
        return _while(lambda end, *_: end > 0, one, state)[3 + count :]

    def _pulled_from(self, way: Any, state: Any, step: Any) -> list[Any]:
        """A step run again, and pulled."""
        index = self._index(step)
        outs = self.full(*state, *[_row(x, index) for x in self.xs], *self.invariants)
        found = self._pulled(way, [outs[p] for p in self.positions], step)
        for x, before in zip(found, way, strict=True):
            x.set_shape(before.shape)
        return found

    def _advanced(self, state: Sequence[Any], start: Any, stop: Any) -> list[Any]:
        width = self.spec.carries
        leaves, form = flat(state)

        def one(step: Any, *carries: Any) -> list[Any]:
            outs = self.thin(*rebuilt(form, carries), *[_row(x, self._index(step)) for x in self.xs], *self.invariants)
            return [step + 1, *flat([*outs[:width]])[0]]

        return rebuilt(form, _while(lambda step, *_: step < stop, one, [start, *leaves])[1:])


def _listed(x: Any) -> list[Any]:
    return [*x] if isinstance(x, (list, tuple)) else [x]


def first_stretch(length: Any, slots: Any) -> Any:
    """Where the next snapshot is best taken: `_transforms/snapshots.py` has the formula, which counts up to the number
    of repetitions that `length` steps need."""
    one = tf.ones_like(length)

    def more(t: Any, _: Any, short: Any, reach: Any) -> list[Any]:
        t = t + 1
        return [t, short, reach, reach * (slots + t) // t]

    t, shorter, _, reach = _while(
        lambda t, _, short, reach: reach < length, more, [one, tf.zeros_like(length), one, slots + 1]
    )
    found = tf.maximum(shorter, length - reach * slots // (slots + t))
    return tf.where(length <= slots + 1, one, found)


__all__ = ["loop", "loop_back", "switch"]
