"""Host callbacks: calls of Python functions on ndarrays from programs that XLA runs.

JAX's own `pure_callback` puts what a function is given into arrays of JAX's, which the function then waits for: where
XLA has one thread, that is the one it runs on, and nothing goes on. So on a CPU our calls get the ndarrays that XLA
hands over. Where there are several devices JAX's has to say on which one it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.core
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from ..._core.user_line import at_user_line
from ..subnormals import with_subnormals
from .checkified import looked_at

Run = Callable[..., tuple[Any, ...]]

host_p = Primitive("wengert_host")
host_p.multiple_results = True
looked_at(host_p)


def called_back(run: Run, shapes: Sequence[Any], natives: Sequence[Any], in_program: bool) -> tuple[Any, ...]:
    """The results of a function from ndarrays to ndarrays of these shapes and dtypes.

    Args:
        run: the function.
        shapes: of its results.
        natives: its operands.
        in_program: whether this is a part of one of our programs, which JAX's transformations do not look into.
    """
    run = with_subnormals(run)
    if not in_program:
        return (*jax.pure_callback(run, (*shapes,), *natives, vmap_method="sequential"),)
    return (*host_p.bind(*natives, run=run, shapes=(*[(s.shape, s.dtype) for s in shapes],)),)


def _by_jax(*natives: Any, run: Run, shapes: Any) -> Any:
    return jax.pure_callback(
        run, (*[jax.ShapeDtypeStruct(*s) for s in shapes],), *natives, vmap_method="sequential"
    )  # fmt: skip


def _types(*avals: object, run: Run, shapes: Any) -> Any:
    return [jax.core.ShapedArray(shape, dtype) for shape, dtype in shapes]


def _lowered(ctx: Any, *values: Any, run: Run, shapes: tuple[Any, ...]) -> Any:
    if any(not isinstance(n, int) for shape, _ in shapes for n in shape):
        message = (
            "what is computed on the host gets arrays of known sizes, and jax.export has none for extents that vary"
        )
        raise TypeError(at_user_line(message))
    where = ctx.module_context
    if getattr(where.axis_context, "num_devices", 0) != 1 or (*where.platforms,) != ("cpu",):
        return _lowered_by_jax(ctx, *values, run=run, shapes=shapes)

    def call(*arrays: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        return (*[np.asarray(y, order="C") for y in run(*arrays)],)

    found, _, _ = mlir.emit_python_callback(
        ctx, call, None, [*values], ctx.avals_in, ctx.avals_out, has_side_effect=False
    )
    return found


def _batched(natives: Sequence[Any], axes: Sequence[Any], **params: Any) -> Any:
    outs = jax.vmap(lambda *xs: _by_jax(*xs, **params), in_axes=(*axes,))(*natives)
    return outs, [0] * len(outs)


_lowered_by_jax = mlir.lower_fun(_by_jax, multiple_results=True)
host_p.def_impl(_by_jax)
host_p.def_abstract_eval(_types)
mlir.register_lowering(host_p, _lowered)
batching.primitive_batchers[host_p] = _batched

__all__ = ["called_back"]
