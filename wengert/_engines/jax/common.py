"""Helpers of this engine's files: dtypes, half floats in float32, whether values are at hand, kernels that run on the
host, and histories of loops.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from ..._core import dtypes
from ..._core.types import type_of
from ..on_host import host_kernel
from .callbacks import called_back
from .meshes import as_program

Kernel = Callable[..., Any]

TRACING = threading.local()  # `depth`: how many programs are being traced by JAX, where control flow must be JAX's own


def canonical(dtype: object) -> np.dtype[Any]:
    """A dtype as JAX's own 64-bit switch, which is the user's, has it."""
    if jax.config.jax_enable_x64 and isinstance(dtype, np.dtype):  # pyright: ignore[reportAttributeAccessIssue]  # set by JAX as it loads
        return dtype
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype))


def is_concrete(x: XlaHistory | jax.Array | np.ndarray[Any, Any]) -> bool:
    """Whether an array holds values; JAX's tracers do not."""
    return not isinstance(x, jax.core.Tracer)


def values_of(*xs: Any) -> tuple[np.ndarray[Any, Any], ...] | None:
    """Arrays as ndarrays if their values are at hand, for checks; None in JAX's own traces."""
    if not all(map(is_concrete, xs)):
        return None
    return (*map(np.asarray, xs),)


def widened(x: Any) -> Any:
    """A half float array in float32; anything else as it is."""
    return x.astype(jnp.float32) if dtypes.is_half(getattr(x, "dtype", dtypes.float64)) else x


def in_float32(function: Kernel) -> Kernel:
    """A kernel that computes half floats in float32 and rounds once, at the end."""

    def kernel(x: Any, *rest: Any) -> Any:
        if not dtypes.is_half(x.dtype):
            return function(x, *rest)
        return _narrowed(function(widened(x), *map(widened, rest)), x.dtype)

    return kernel


def _narrowed(result: Any, dtype: Any) -> Any:
    if isinstance(result, tuple):
        return (*[_narrowed(r, dtype) for r in result],)
    return result.astype(dtype) if result.dtype == jnp.float32 else result


def host_call(function: Callable[..., Any], natives: Any, types: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a function on ndarrays gives; where JAX compiles, it calls back."""

    def run(*arrays: jax.Array | np.ndarray[Any, Any]) -> tuple[Any, ...]:
        return (*map(_canonical_array, function(*map(np.asarray, arrays))),)

    in_program = getattr(TRACING, "depth", 0) > 0
    if all(map(is_concrete, natives)) and not in_program:
        return (*map(jnp.asarray, run(*natives)),)
    shapes = [jax.ShapeDtypeStruct(t[0], canonical(t[1])) for t in types]
    return called_back(run, shapes, natives, in_program)


def on_host(name: str) -> Kernel:
    """NumPy's kernel of a primitive, for those that JAX has no functions for.

    Where JAX follows an operand of the op alone it is a program, whose derivatives and batches are ours: JAX has none
    of a function on the host.
    """
    kernel = host_kernel(name, host_call, type_of)

    def run(*operands: object) -> Any:
        is_followed = any(isinstance(x, jax.core.Tracer) for x in operands)
        return as_program(name, operands) if is_followed and not getattr(TRACING, "depth", 0) else kernel(*operands)

    setattr(run, "is_on_host", True)  # noqa: B010 - read by `support_of`
    return run


def _canonical_array(x: np.generic | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(x, canonical(x.dtype))


class XlaHistory:
    """A history: a pytree of arrays that passes where arrays do.

    Attributes:
        arrays: the stacks of what each step saved; or the slots, the blocks of steps before which the states in them
            were, and how many are filled. Empty where nobody reads it.
        is_whole: whether every step's values are kept.
        budget: how many slots the backward pass may fill.
        block: how many steps are a block.
    """

    shape = ()
    ndim = 0
    dtype = dtypes.HISTORY

    def __init__(self, arrays: Any, is_whole: bool, budget: int, block: int = 0) -> None:
        self.arrays = arrays
        self.is_whole = is_whole
        self.budget = budget
        self.block = block


jax.tree_util.register_pytree_node(
    XlaHistory,
    lambda kept: ((kept.arrays,), (kept.is_whole, kept.budget, kept.block)),
    lambda fixed, arrays: XlaHistory(arrays[0], *fixed),
)
