"""Branches and loops as XLA's own: `switch`, `loop` and `loop_back` inside what JAX compiles.

XLA wants all sizes beforehand. A stack of what the steps give has one row a step of a bound: the number of steps where
it is known, else `maximum_iterations`; a loop that ran shorter leaves the rest. `_control/checkpointed.py` has the
loops; here is what they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._control import checkpointed
from ..._control.call import Program
from ..._control.switch import Branches
from ..._core.dims import byte_count
from ..._core.tensor import Value
from .common import XlaHistory, canonical, is_concrete
from .programs import run_of

# -- switch ------------------------------------------------------------------------------------------------------------


def switch(index: Any, *operands_and_branches: Any) -> tuple[Any, ...]:
    """`lax.switch` over the branches; slots that a branch leaves empty are filled up with zeros."""
    *operands, branches = operands_and_branches
    runs = [run_of(program) for program in branches.programs]
    return lax.switch(_number(index, branches), _alike([lambda *xs, run=run: run(*xs) for run in runs], operands),
                      *operands)  # fmt: skip


def _number(index: Any, branches: Branches) -> Any:
    """True is the first branch; an index out of range is the last."""
    count = len(branches.programs)
    if index.dtype == bool:
        return jnp.where(index, 0, 1).astype(jnp.int32)
    return jnp.where((index < 0) | (index >= count), count - 1, index).astype(jnp.int32)


def _alike(functions: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Branches whose results have one structure and one set of shapes: what differs is a slot that one leaves empty."""
    found = [jax.eval_shape(f, *operands) for f in functions]
    wanted = [_largest(column) for column in zip(*found, strict=True)]

    def filled(f: Callable[..., Any]) -> Any:
        return lambda *xs: (*map(_filled, f(*xs), wanted),)

    return [*map(filled, functions)]


def _largest(column: Sequence[Any]) -> Any:
    """What a slot must hold: the history, if a branch has one, else the largest extents of all."""
    histories = [x for x in column if isinstance(x, XlaHistory) and x.arrays]
    if histories or isinstance(column[0], XlaHistory):
        return histories[0] if histories else column[0]
    shape = (*map(max, zip(*[x.shape for x in column], strict=True)),) if column[0].shape else ()
    return jax.ShapeDtypeStruct(shape, column[0].dtype)


def _filled(x: Any, wanted: Any) -> Any:
    if isinstance(wanted, XlaHistory):
        return x if x.arrays or not wanted.arrays else jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), wanted)
    if x.shape != wanted.shape:
        x = jnp.pad(x, [(0, want - have) for have, want in zip(x.shape, wanted.shape, strict=True)])
    return strong(x)


# -- loops -------------------------------------------------------------------------------------------------------------


def loop(*operands_and_spec: Any) -> tuple[Any, ...]:
    """One run of a loop, as `lax.while_loop`."""
    *operands, spec = operands_and_spec
    return checkpointed.run_loop(BUILDER, spec, operands)


def loop_back(history: Any, steps: jax.Array, *operands_and_back: Any) -> tuple[Any, ...]:
    """The reverse pass of a loop, from its history."""
    *operands, back = operands_and_back
    return checkpointed.run_loop_back(BUILDER, back, history, steps, operands)


def strong(x: Any) -> Any:
    """An array that is not weakly typed, as what a loop carries must stay what it is."""
    return lax.convert_element_type(x, x.dtype)


class _Builder:
    """What `checkpointed` wants: rows are lists of values whose arrays have one axis more."""

    grows = False
    likely = None

    def run_of(self, program: Program) -> Callable[..., tuple[Any, ...]]:
        return run_of(program)

    def integer(self, value: object) -> Any:
        return jnp.asarray(value, canonical(np.int64))

    def known(self, count: jax.Array) -> int | None:
        return int(count) if is_concrete(count) else None

    def place(self, step: jax.Array) -> Any:
        return step

    def is_true(self, x: jax.Array) -> Any:
        return jnp.reshape(x, ())

    def either(self, flag: jax.Array, yes: jax.Array, no: jax.Array) -> Any:
        return jnp.where(flag, yes, no)

    def entry(self, numbers: np.ndarray[Any, Any], place: jax.Array) -> Any:
        return self.integer(numbers)[place]

    def repeat(
        self,
        goes_on: Callable[[Any], Any],
        step: Callable[[Any], object],
        state: Sequence[object],
        types: Sequence[Value] = (),
    ) -> Any:
        def one(state: object) -> Any:
            return jax.tree.map(lambda x, before: lax.convert_element_type(x, before.dtype), step(state), state)

        return lax.while_loop(goes_on, one, jax.tree.map(strong, state))

    def extent(self, x: object) -> int | None:
        leaves = jax.tree.leaves(x)
        return leaves[0].shape[0] if leaves else None

    def slice(self, x: object, place: jax.Array) -> Any:
        return jax.tree.map(lambda a: lax.dynamic_index_in_dim(a, place, keepdims=False), x)

    def row(self, rows: object, place: jax.Array) -> Any:
        return self.slice(rows, place)

    def examples(
        self, program: Program, carries: Sequence[object], xs: Sequence[object], rest: Sequence[object]
    ) -> Any:
        rows = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), [*xs])
        return jax.eval_shape(run_of(program), *carries, *rows, *rest)

    def like(self, carries: Sequence[object], types: Sequence[Value]) -> Sequence[object]:
        return carries

    def size(self, example: object) -> int:
        return sum(byte_count(x.shape, x.dtype.itemsize) for x in jax.tree.leaves(example))

    def room(self, examples: Sequence[object], count: int | None, what: str = "") -> Any:
        if count is None:
            raise ValueError(
                f"{what} of a loop whose number of steps is not known beforehand needs maximum_iterations where JAX "
                f"compiles it (or checkpoint= a number of snapshots)"
            )
        return jax.tree.map(lambda x: jnp.zeros((count, *x.shape), x.dtype), [*examples])

    def room_for_slices(self, x: jax.Array, lanes: Sequence[int]) -> Any:
        return [jnp.zeros((x.shape[0], *lanes, *x.shape[1:]), x.dtype)]

    def put(self, rows: object, place: jax.Array, values: Sequence[object]) -> Any:
        def one(a: jax.Array, x: jax.Array) -> Any:
            return lax.dynamic_update_index_in_dim(a, lax.convert_element_type(x, a.dtype), place, 0)

        return jax.tree.map(one, rows, [*values])

    def stacked(self, rows: Sequence[object], count: int | None) -> Any:
        return rows[0]

    def zeros(self, lanes: Sequence[int], x: jax.Array) -> Any:
        return jnp.zeros((*lanes, *x.shape), x.dtype)

    def history(self, arrays: object, is_whole: bool, budget: int, block: int) -> XlaHistory:
        return XlaHistory(arrays, is_whole, budget, block)

    def opened(self, history: XlaHistory) -> Any:
        return history.arrays


BUILDER = _Builder()


__all__ = ["loop", "loop_back", "switch"]
