"""The JAX engine: kernels on `jax.Array`s and on the tracers of JAX's own transformations.

Loads with the first JAX array that arrives, and changes nothing of JAX's global state: dtypes are what the 64-bit
switch of the user makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from ..._core.engine import ENGINE_OF, PLAIN_TYPES, STAND_INS, Engine, Kernel, register_engine
from ..regions import Arrays, region_kernels
from . import regions
from .common import XlaHistory, canonical, host_call, is_concrete
from .fast_path import looks, ready
from .meshes import whole_where_it_varies
from .programs import call_kernel, is_tracing, run_of
from .table import KERNELS


def _to_numpy(x: jax.Array) -> np.ndarray[Any, Any]:
    return np.asarray(x)


def _device(x: jax.Array) -> str:
    """Where an array lies: "cpu", "gpu:0"; for a tracer, where JAX will run it."""
    devices = [*x.devices()] if is_concrete(x) else [jax.devices()[0]]
    if len(devices) > 1:
        return f"{devices[0].platform} ({len(devices)} devices)"
    (device,) = devices
    return "cpu" if device.platform == "cpu" and device.id == 0 else f"{device.platform}:{device.id}"


JAX = Engine(
    "jax", (jax.Array, jax.core.Tracer, XlaHistory), to_numpy=_to_numpy, from_numpy=jnp.asarray, device=_device,
    is_concrete=is_concrete, is_weak=attrgetter("aval.weak_type"), canonical_dtype=canonical, is_framework=True,
    host_call=host_call, looks=looks, ready=ready,
)  # fmt: skip
JAX.kernels = KERNELS


def _stack(rows: Sequence[Any]) -> Any:
    first = rows[0].shape
    if all(row.shape == first for row in rows):
        return jnp.stack([*rows])
    apart = np.empty(len(rows), object)
    for index, row in enumerate(rows):
        apart[index] = row
    return apart


JAX.kernels["call"] = call_kernel
_eager = region_kernels(Arrays(
    run=run_of, number=lambda x: np.asarray(x).item(), row=lambda x, i: x[i], stack=_stack,
    zeros=lambda shape, dtype: jnp.zeros((*shape,), canonical(dtype)), like=jnp.zeros_like,
))  # fmt: skip


def _region(name: str) -> Kernel:
    """A region as Python where its operands hold values, as XLA's own in what JAX compiles."""
    eager, compiled = _eager[name], whole_where_it_varies(name, getattr(regions, name))
    return lambda *operands: (compiled if is_tracing(operands[:-1]) else eager)(*operands)


JAX.kernels.update({name: _region(name) for name in _eager})
register_engine(JAX)
# not keys of random numbers, which are arrays only in name
PLAIN_TYPES.update({kind: JAX for kind in jax.Array.__subclasses__() if kind.__name__ == "ArrayImpl"})

if hasattr(jax, "Ref"):  # its mutable arrays: each stands for what it holds
    ENGINE_OF[jax.Ref] = JAX
    STAND_INS[jax.Ref] = lambda ref: ref[...]
