"""The TensorFlow engine: kernels on eager tensors and on the symbolic ones of its graphs.

Loads with the first TensorFlow tensor or variable that arrives, and changes nothing of TensorFlow's global state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.engine import PLAIN_TYPES, STAND_INS, Engine, register_engine
from ..regions import Arrays, region_kernels
from . import regions
from .autograph import mark_ours
from .common import Native, TensorHistory, entered, held, host_call, is_eager, ndarray_from, on_natives, opened
from .programs import called, form_of, run_of, run_plain, takes_part
from .table import KERNELS


def _to_numpy(x: Native | tf.Tensor) -> np.ndarray[Any, Any]:
    return ndarray_from(opened(x))


def _device(x: Native) -> str:
    """Where a tensor lies: "cpu", "gpu:0"; a symbolic one, where its graph will run it."""
    name = opened(x).device
    kind, _, number = name.rpartition("device:")[2].lower().partition(":")
    return "cpu" if kind in ("", "cpu") else f"{kind}:{number}"


def _is_followed(x: object) -> bool:
    """Whether TensorFlow's tapes watch a tensor, native or variable, or a graph of its owns it."""
    tensor = opened(x)
    if not isinstance(tensor, tf.Tensor):
        tensor = entered(x).array  # read, and so watched by the tapes that watch what is read
    return not is_eager(tensor) or takes_part([tensor])


def _from_numpy(array: np.ndarray[Any, Any]) -> Native:
    return Native(tf.constant(array))


def _host_call(function: Callable[..., Any], natives: list[Any], types: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*map(Native, host_call(function, [*map(opened, natives)], types)),)


TENSORFLOW = Engine(
    "tensorflow", (Native, TensorHistory), array_types=(tf.Tensor, tf.Variable), to_numpy=_to_numpy,
    from_numpy=_from_numpy,
    device=_device, is_concrete=lambda x: is_eager(opened(x)), is_framework=True, has_weak_scalars=True,
    host_call=_host_call, enter=entered, leave=opened, give=opened, is_followed=_is_followed, run_plain=run_plain,
)  # fmt: skip


def _stack(rows: Sequence[Any]) -> Any:
    if all(row.shape == rows[0].shape for row in rows):
        return tf.stack([*rows])
    apart = np.empty(len(rows), object)
    for index, row in enumerate(rows):
        apart[index] = row
    return apart


_eager = region_kernels(Arrays(
    run=run_of, number=lambda x: np.asarray(x).item(), row=lambda x, i: x[i], stack=_stack,
    zeros=lambda shape, dtype: tf.zeros((*shape,), tf.as_dtype(dtype)), like=tf.zeros_like,
))  # fmt: skip


def _region(name: str) -> Any:
    """A region as Python where its operands hold values, as TensorFlow's own in a graph."""
    eager, compiled = _eager[name], getattr(regions, name)

    def kernel(*operands: object) -> tuple[Any, ...]:
        if not tf.executing_eagerly():
            return compiled(*operands)
        found = eager(*operands)
        return (*[tf.constant(x) if isinstance(x, np.generic) else x for x in found],)  # pyright: ignore[reportArgumentType]  # the stubs know less than TensorFlow

    return kernel


KERNELS["call"] = called
KERNELS.update({name: _region(name) for name in _eager})
for _name, _kernel in KERNELS.items():
    TENSORFLOW.kernels[_name] = on_natives(_kernel)
register_engine(TENSORFLOW)
STAND_INS[tf.Variable] = tf.convert_to_tensor
mark_ours(__name__.partition(".")[0])
# what users pass eagerly; a type of TensorFlow's that it does not name in public
PLAIN_TYPES[type(TENSORFLOW.from_numpy(np.zeros(())).array)] = TENSORFLOW

__all__ = ["TENSORFLOW", "form_of", "held"]
