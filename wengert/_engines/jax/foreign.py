"""JAX's functions as ops of ours: run, differentiated and batched by JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.core
import jax.experimental
import jax.numpy as jnp
import numpy as np

from ..._control.foreign import Foreign, chosen, filled
from ..._core import dtypes
from ..._core.tensor import Tensor, entered
from ..._core.types import TensorType, tensor_type
from . import keras_variables
from .common import canonical
from .meshes import off_meshes

Function = Callable[..., Sequence[Any]]


_WIDE = ("float64", "complex128")
# new releases of JAX have the context manager in one place, old ones in the other
_home: Any = jax if hasattr(jax, "enable_x64") else jax.experimental


class JaxFunction(Foreign):
    """A function from JAX arrays to a tuple of them."""

    engine = "jax"
    framework = "JAX"

    def __init__(self, function: Function, name: str) -> None:
        super().__init__(name)
        self._function = function
        self._variables: list[Any] = []  # of Keras's, which it reads
        self._looked_at: set[Any] = set()
        self._jitted = jax.jit(self._with_values)

    def _with_values(self, values: Sequence[Any], *natives: jax.Array) -> Sequence[Any]:
        """The function where the first variables hold these values."""
        with keras_variables.holding(self._variables[: len(values)], values):
            return self._function(*natives)

    def _read(self, operands: Sequence[Any]) -> list[Any]:
        """The variables of Keras's that the function reads."""
        if keras_variables.is_in_use() and (known := (*_looks(operands),)) not in self._looked_at:
            with keras_variables.noting(self._variables):
                jax.eval_shape(_anew(self._function), *map(_like, operands))
            self._looked_at.add(known)
        return self._variables

    def types(self, operands: Sequence[TensorType]) -> tuple[TensorType, ...]:
        with self.at_width(operands):
            outs = jax.eval_shape(self._function, *map(_like, operands))
        return (*[tensor_type(y.shape, y.dtype) for y in outs],)

    @property
    def takes_ndarrays(self) -> bool:
        return self.is_compiled  # else the user's own code would get them

    def run(self, natives: Sequence[Any]) -> Sequence[Any]:
        if not self.is_compiled:
            return self._function(*natives)
        return self._jitted([v.value for v in self._read(natives)], *natives)

    def direct(self, natives: Sequence[Any]) -> Sequence[Any]:
        return self._function(*natives)  # not compiled by us: it is to read what it closes over as it is now

    def after_read(self, operands: Sequence[TensorType]) -> tuple[JaxFunction, Sequence[Any]]:
        with self.at_width(operands), off_meshes():  # as programs are, of which this is to be a part
            variables = [*self._read(operands)]
            held = [v.value for v in variables]

            def of_all(*everything: jax.Array) -> Sequence[Any]:
                with keras_variables.holding(variables, everything[: len(variables)]):
                    return self._function(*everything[len(variables) :])

            likes = [*map(_like, (*held, *operands))]
            converted, read = _converted(of_all, likes)
        known, count = _looks(likes), len(read)

        def after_read(*values: jax.Array) -> Sequence[Any]:
            given = values[count:]
            function = converted if _looks(given) == known else _converted(of_all, given)[0]
            return function(*given, *values[:count])

        return JaxFunction(after_read, self.name), [*read, *variables]

    def tensor_of(self, read: Any) -> Tensor:
        return entered(read)  # a variable is read again at each call of a trace

    def at_width(self, operands: Sequence[Any]) -> AbstractContextManager[Any]:
        """float64 and complex128 stay what they are, though JAX narrows them unless a process asks for 64 bits."""
        is_wide = any(x.dtype.name in _WIDE for x in operands)
        return _home.enable_x64(True) if is_wide and canonical(np.float64) != np.float64 else nullcontext()

    def pullback(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> JaxFunction:
        def pull(*operands_and_cts: jax.Array) -> Sequence[Any]:
            operands, cts = operands_and_cts[: len(wanted)], iter(operands_and_cts[len(wanted) :])
            outs, back = jax.vjp(_of_some(self._function, operands, wanted), *chosen(operands, wanted))
            found = back((*[
                jnp.conj(next(cts)).astype(y.dtype) if flag else _no_cotangent(y)
                for flag, y in zip(given, outs, strict=True)
            ],))  # fmt: skip
            return (*map(jnp.conj, found),)

        return self._made(("pullback", wanted, given), pull)

    def pushforward(self, active: tuple[bool, ...]) -> JaxFunction:
        def push(*operands_and_dots: jax.Array) -> Sequence[Any]:
            operands, dots = operands_and_dots[: len(active)], operands_and_dots[len(active) :]
            some = (*chosen(operands, active),)
            dots = (*[d.astype(x.dtype) for d, x in zip(dots, some, strict=True)],)
            outs, found = jax.jvp(_of_some(self._function, operands, active), some, dots)
            # the tangents of integers have a type that no array of ours has
            return (*[
                d if dtypes.is_inexact(y.dtype) else jnp.zeros_like(y) for d, y in zip(found, outs, strict=True)
            ],)  # fmt: skip

        return self._made(("pushforward", active), push)

    def batched(self, flags: tuple[bool, ...]) -> JaxFunction:
        many = jax.vmap(self._function, in_axes=(*[0 if flag else None for flag in flags],))
        return self._made(("batched", flags), lambda *operands: (*many(*operands),))

    def _made(self, key: tuple[Any, ...], function: Function) -> JaxFunction:
        return self.kept(key, lambda: JaxFunction(function, f"{key[0]} of {self.name}"))


def _converted(function: Function, values: Sequence[Any]) -> tuple[Function, Sequence[Any]]:
    """A function that takes behind its own arguments what it closes over and JAX follows, and these values.

    `jax.closure_convert` passes only what JAX differentiates, and keeps what it batches.
    """
    jaxpr = jax.make_jaxpr(_anew(function))(*values)
    flags = [isinstance(x, jax.core.Tracer) for x in jaxpr.consts]

    def converted(*given_and_read: jax.Array) -> Sequence[Any]:
        given, read = given_and_read[: len(values)], given_and_read[len(values) :]
        return (*jax.core.eval_jaxpr(jaxpr.jaxpr, filled(jaxpr.consts, flags, read), *given),)

    return converted, chosen(jaxpr.consts, flags)


def _anew(function: Function) -> Function:
    """The same function as another object: JAX keeps what it has found of one that it knows."""
    return lambda *xs: function(*xs)


def _like(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _looks(values: Sequence[Any]) -> list[Any]:
    return [(*x.shape, x.dtype) for x in values]


def _of_some(function: Function, operands: Sequence[Any], flags: Sequence[bool]) -> Function:
    """A function of the flagged operands alone."""

    def of_some(*some: jax.Array) -> Sequence[Any]:
        return function(*filled(operands, flags, some))

    return of_some


def _no_cotangent(y: jax.Array) -> Any:
    return jnp.zeros_like(y) if dtypes.is_inexact(y.dtype) else np.zeros(y.shape, jax.dtypes.float0)
