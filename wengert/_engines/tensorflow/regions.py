"""Branches and loops as TensorFlow's own: `switch`, `loop` and `loop_back` inside its graphs.

`_control/checkpointed.py` has the loops; here is what they are made of. Rows are tensor lists, which grow as a loop
runs and whose elements may be lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import tensorflow as tf

from ..._control import checkpointed
from ..._control.call import Program
from ..._control.switch import Branches
from ..._core.tensor import Value
from .common import (
    Bundle,
    Kind,
    Rows,
    TensorHistory,
    extents,
    flat,
    form_of,
    kind_of,
    leaves_of,
    nested,
    rebuilt,
)
from .programs import run_of

LIKELY_STEPS = 1 << 18  # a loop of unknown length keeps all if so many steps fit the budget

_raw = tf.raw_ops


# -- tensor lists ------------------------------------------------------------------------------------------------------


def _shape(kind: Kind) -> Any:
    if kind.shape is None:
        return tf.constant(-1)
    return tf.constant([-1 if n is None else n for n in kind.shape], tf.int32, (len(kind.shape),))


def _reserved(kind: Kind, count: Any) -> Any:
    return _raw.TensorListReserve(
        element_shape=_shape(kind), num_elements=tf.cast(count, tf.int32), element_dtype=kind.dtype
    )


def _put(handle: tf.Tensor, place: tf.Tensor, value: tf.Tensor) -> Any:
    return _raw.TensorListSetItem(input_handle=handle, index=place, item=value, resize_if_index_out_of_bounds=True)


def _got(handle: tf.Tensor, place: tf.Tensor, kind: Kind) -> Any:
    out = _raw.TensorListGetItem(input_handle=handle, index=place, element_shape=_shape(kind), element_dtype=kind.dtype)
    if kind.shape is not None:
        out.set_shape(kind.shape)
    return out


def _empty(kind: Kind) -> Any:
    """A stand-in of a kind: a list without elements, or zeros."""
    if kind.is_list:
        return _reserved(kind, 0)
    return tf.zeros([n or 0 for n in kind.shape or ()], kind.dtype)


_SMALL = 4096  # bytes: of larger arrays a copy costs more than a list of their own


def _bundles(examples: Sequence[Any]) -> tuple[Bundle, ...]:
    """Small arrays of one type go together: in a loop on such, what a step runs costs by the node."""
    alike: dict[Any, list[int]] = {}
    for place, x in enumerate(examples):
        is_small = type(x) is not TensorHistory and x.shape.is_fully_defined() and _size_of(x) <= _SMALL
        alike.setdefault((x.dtype, (*x.shape,)) if is_small else place, []).append(place)
    return (*[_bundle(places, examples[places[0]]) for places in alike.values()],)


def _bundle(places: Sequence[int], example: Any) -> Bundle:
    if type(example) is TensorHistory:
        return Bundle((*places,), (*map(kind_of, example.arrays),), form_of(example))
    kind = kind_of(example)
    if len(places) > 1:
        kind = Kind(kind.dtype, (len(places), *(kind.shape or ())))
    return Bundle((*places,), (kind,), None)


def _size_of(x: Any) -> int:
    if type(x) is TensorHistory:
        return 64  # what lists of its hold is not known
    return prod(1 if n is None else n for n in x.shape) * x.dtype.size


class _Like:
    """The type of a value, as one reads it from a tensor."""

    def __init__(self, dtype: Any, shape: Sequence[Any]) -> None:
        self.dtype = tf.as_dtype(dtype)
        self.shape = tf.TensorShape([n if isinstance(n, int) else None for n in shape])


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
    if any(v.is_history for program in branches.programs for v in program.graph.outputs):
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
    return 0 if form is None else 2 * len(form.kinds) + form.is_whole


def _number(index: Any, branches: Branches) -> Any:
    """True is the first branch; an index out of range is the last."""
    count = len(branches.programs)
    if index.dtype == tf.bool:
        return tf.where(index, 0, count - 1)
    return tf.cast(tf.where(tf.logical_or(index < 0, index >= count), tf.cast(count - 1, index.dtype), index), tf.int32)


def _filled(x: Any, form: Any) -> Any:
    if form is None or x.kinds == form.kinds:
        return x
    return nested(form, map(_empty, form.kinds))


# -- loops -------------------------------------------------------------------------------------------------------------


def loop(*operands_and_spec: Any) -> tuple[Any, ...]:
    """One run of a loop, as `tf.while_loop`."""
    *operands, spec = operands_and_spec
    return checkpointed.run_loop(BUILDER, spec, operands)


def loop_back(history: TensorHistory, steps: tf.Tensor, *operands_and_back: Any) -> tuple[Any, ...]:
    """The reverse pass of a loop, from its history."""
    *operands, back = operands_and_back
    return checkpointed.run_loop_back(BUILDER, back, history, steps, operands)


class _Examples:
    """What a step gives, by positions: from its graph, or where that does not tell from one that is built to see."""

    def __init__(self, program: Program, operands: Callable[[], Sequence[Any]]) -> None:
        self.program = program
        self.operands = operands
        self.found: list[Any] | None = None

    def __getitem__(self, position: int) -> Any:
        value = self.program.graph.outputs[position]
        if not value.is_history and all(isinstance(n, int) for n in value.shape):
            return _Like(value.dtype, value.shape)
        if self.found is None:
            self.found = example_of(run_of(self.program), self.operands())
        return self.found[position]


class _Builder:
    """Builds the loops of `_control/checkpointed.py` as TensorFlow's."""

    grows = True
    likely = LIKELY_STEPS

    def run_of(self, program: Program) -> Callable[..., tuple[Any, ...]]:
        return run_of(program)

    def integer(self, value: int | tf.Tensor) -> Any:
        return tf.cast(value, tf.int64)

    def known(self, count: tf.Tensor) -> int | None:
        value = tf.get_static_value(count)
        return None if value is None else int(value)

    def place(self, step: tf.Tensor) -> Any:
        return tf.cast(step, tf.int32)

    def is_true(self, x: tf.Tensor) -> Any:
        return tf.reshape(x, ())

    def either(self, flag: tf.Tensor, yes: tf.Tensor, no: tf.Tensor) -> Any:
        return tf.where(flag, yes, no)

    def entry(self, numbers: np.ndarray[Any, Any], place: tf.Tensor) -> Any:
        return tf.constant(numbers, tf.int64)[place]

    def repeat(
        self,
        goes_on: Callable[[Any], Any],
        step: Callable[[Any], object],
        state: Sequence[object],
        types: Sequence[Value] = (),
    ) -> Any:
        """`tf.while_loop` over the tensors; what a step gives has the shapes that it was given."""
        leaves, form = flat(state)
        shapes = [x.shape for x in leaves]
        if types and len(leaves_of(state[1])) == len(types):
            shapes[1 : 1 + len(types)] = [_Like(v.dtype, v.shape).shape for v in types]

        def one(*tensors: tf.Tensor) -> list[Any]:
            found = leaves_of(step(rebuilt(form, tensors)))
            for x, before in zip(found, tensors, strict=True):
                x.set_shape(before.shape)
            return found

        def more(*tensors: tf.Tensor) -> Any:
            return goes_on(rebuilt(form, tensors))

        return rebuilt(form, tf.while_loop(more, one, leaves, shapes, parallel_iterations=1))

    def extent(self, x: Any) -> int | None:
        return x.shape[0] if isinstance(x, tf.Tensor) else None

    def slice(self, x: Any, place: tf.Tensor) -> Any:
        return self.row(x.opened, place)[0] if type(x) is TensorHistory else x[place]

    def examples(
        self, program: Program, carries: Sequence[object], xs: Sequence[object], rest: Sequence[object]
    ) -> Any:
        first = tf.constant(0)
        return _Examples(program, lambda: [*carries, *[self.slice(x, first) for x in xs], *rest])

    def like(self, carries: Sequence[Any], types: Sequence[Value]) -> Sequence[Any]:
        return [x if type(x) is TensorHistory else _Like(v.dtype, v.shape) for x, v in zip(carries, types, strict=True)]

    def size(self, example: object) -> int:
        return _size_of(example)

    def room(self, examples: Sequence[object], count: object, what: str = "") -> Rows:
        bundles = _bundles(examples)
        return Rows([_reserved(kind, 0 if count is None else count) for b in bundles for kind in b.kinds], bundles)

    def room_for_slices(self, x: tf.Tensor, lanes: Sequence[int | None]) -> Rows:
        return self.room([_Like(x.dtype, (*lanes, *x.shape[1:]))], extents(x)[0])

    def row(self, rows: Rows, place: tf.Tensor) -> list[Any]:
        found: dict[int, Any] = {}
        handles = iter(rows.handles)
        for b in rows.bundles:
            arrays = [_got(next(handles), place, kind) for kind in b.kinds]
            if b.form is not None:
                found[b.places[0]] = nested(b.form, iter(arrays))
            else:
                values = tf.unstack(arrays[0], len(b.places)) if len(b.places) > 1 else arrays
                found.update(zip(b.places, values, strict=True))
        return [found[p] for p in range(len(found))]

    def put(self, rows: Rows, place: tf.Tensor, values: Sequence[Any]) -> Rows:
        handles = iter(rows.handles)
        after = []
        for b in rows.bundles:
            arrays = leaves_of([values[p] for p in b.places])
            arrays = [tf.stack(arrays)] if len(b.places) > 1 else arrays
            after += [_put(next(handles), place, x) for x in arrays]
        return Rows(after, rows.bundles)

    def stacked(self, rows: Rows, count: int | None) -> Any:
        """One tensor, or a pile of histories."""
        (bundle,) = rows.bundles
        if bundle.form is not None:
            return TensorHistory(rows, is_whole=True)
        (kind,), (handle,) = bundle.kinds, rows.handles
        stack = _raw.TensorListStack(input_handle=handle, element_shape=_shape(kind), element_dtype=kind.dtype)
        if kind.shape is not None:
            stack.set_shape([count, *kind.shape])
        return stack

    def zeros(self, lanes: Sequence[Any], x: tf.Tensor) -> Any:
        return tf.zeros([*lanes, *extents(x)], x.dtype)

    def history(self, arrays: object, is_whole: bool, budget: int, block: int) -> TensorHistory:
        return TensorHistory(arrays, is_whole, budget, block)

    def opened(self, history: TensorHistory) -> Any:
        return history.opened


BUILDER = _Builder()


__all__ = ["loop", "loop_back", "switch"]
