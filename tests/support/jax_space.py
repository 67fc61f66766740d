"""The names that random programs use (`tests/support/control_programs.py`), as JAX has them: a reference from another house."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.support.control_checks import Point
from tests.support.control_programs import Program

jax.config.update("jax_enable_x64", True)

# JAX has no gradient of loops that end by a condition, and no Variables to assign
REFUSED = frozenset({"while", "dynamic", "assign"})


class JaxSpace:
    """Offers JAX's functions under our names; what loops keep is not its business."""

    conj, real, sin, cos, tanh, exp, sqrt = jnp.conj, jnp.real, jnp.sin, jnp.cos, jnp.tanh, jnp.exp, jnp.sqrt
    stack, where, arange, grad = jnp.stack, jnp.where, jnp.arange, jax.grad
    stop_gradient, custom_gradient, recompute_grad, function = (
        lax.stop_gradient,
        jax.custom_gradient,
        jax.checkpoint,
        jax.jit,
    )
    cond, map, Variable = lax.cond, lax.map, jnp.asarray

    @staticmethod
    def asarray(x: Any, dtype: Any = None) -> Any:
        return jnp.asarray(x, dtype=dtype)

    @staticmethod
    def sum(x: Any, axis: Any = None) -> Any:
        return jnp.sum(x, axis=axis)

    @staticmethod
    def switch(index: Any, branches: Any, *operands: Any) -> Any:
        # an index out of range takes the last branch; JAX takes the nearest one, and none is negative here
        return lax.switch(index, branches, *operands)

    @staticmethod
    def fori_loop(lower: int, upper: int, body: Callable[..., Any], start: Any, checkpoint: Any) -> Any:
        return lax.fori_loop(lower, upper, body, start)

    @staticmethod
    def scan(f: Callable[..., Any], init: Any, xs: Any = None, checkpoint: Any = None, **options: Any) -> Any:
        return lax.scan(f, init, xs, **options)


def slopes(program: Program, point: Point) -> tuple[Any, Any, Any]:
    """The value and the gradients of x and v."""
    f = program.build(JaxSpace)
    value, (of_x, of_v) = jax.value_and_grad(f, (0, 1))(
        jnp.asarray(point.x), jnp.asarray(point.v), jnp.asarray(point.n)
    )
    return np.asarray(value), np.asarray(of_x), np.asarray(of_v)
