"""TensorFlow's functions as ops of ours: run, differentiated and batched by TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ..._control.foreign import Foreign, chosen, filled
from ..._core.tensor import Tensor, entered
from ..._core.types import TensorType, tensor_type
from .common import Native, is_eager, is_inexact, numpy_dtype
from .programs import takes_part

Function = Callable[..., Sequence[Any]]


class TensorFlowFunction(Foreign):
    """A function from tensors to a tuple of them.

    The first operands may be the values of `tf.Variable`s: the function reads the variables itself, and its cotangents
    for them are those of the operands.
    """

    engine = "tensorflow"
    framework = "TensorFlow"
    reads_anew = True
    keeps_numbers = True

    def __init__(self, function: Function, name: str, variables: Sequence[Any] = ()) -> None:
        super().__init__(name)
        self._function = function
        self._compiled = tf.function(function, autograph=False)
        self._variables = (*variables,)

    def types(self, operands: Sequence[TensorType]) -> tuple[TensorType, ...]:
        outs = self._compiled.get_concrete_function(*_specs(operands)).structured_outputs
        for y in outs:
            if not y.shape.is_fully_defined():
                raise TypeError(f"{self}: a result has shape {tuple(y.shape)}; give sizes that are known")
        return (*[tensor_type((*y.shape,), numpy_dtype(y)) for y in outs],)

    def after_read(self, operands: Sequence[TensorType]) -> tuple[TensorFlowFunction, Sequence[Any]]:
        # another graph than that which runs: this one is to have read what the user's names stand for now
        graph: Any = tf.function(self._function, autograph=False).get_concrete_function(*_specs(operands))
        known = {*map(id, self._variables)}
        variables = [v for v in graph.trainable_variables if id(v) not in known]
        tensors = [x for x in graph.captured_inputs if x.dtype != tf.resource and is_inexact(x)]
        read = [x for x in (*variables, *tensors) if not is_eager(x) or takes_part([tf.convert_to_tensor(x)])]

        def after_read(*values: tf.Tensor) -> Sequence[Any]:
            return self._function(*values[len(read) :])

        return TensorFlowFunction(after_read, self.name, [*read, *self._variables]), read

    def tensor_of(self, read: Any) -> Tensor:
        if isinstance(read, tf.Variable):
            return entered(read)  # again at each call of a trace
        # not what was read: the function reads that itself, so that no other may take its place without a new trace
        return super().tensor_of(tf.identity(read))

    def run(self, natives: Sequence[Any]) -> Sequence[Any]:
        run = self._compiled if self.is_compiled else self._function
        return (*map(Native, run(*[x.array for x in natives])),)

    def direct(self, natives: Sequence[Any]) -> Sequence[Any]:
        # not compiled by us: it is to read what it closes over as it is now
        return (*map(Native, self._function(*[x.array for x in natives])),)

    def pullback(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> TensorFlowFunction:
        def pull(*operands_and_cts: tf.Tensor) -> Sequence[Any]:
            operands, cts = operands_and_cts[: len(wanted)], iter(operands_and_cts[len(wanted) :])
            sources = self._sources(operands)
            with tf.GradientTape() as tape:
                tape.watch([x for x in sources if not isinstance(x, tf.Tensor) or is_inexact(x)])
                outs = self._function(*operands)
            seeds = [tf.cast(next(cts), y.dtype) if flag else None for flag, y in zip(given, outs, strict=True)]
            pairs = [(y, s) for y, s in zip(outs, seeds, strict=True) if s is not None]
            found = tape.gradient(
                [y for y, _ in pairs], chosen(sources, wanted),
                [s for _, s in pairs], tf.UnconnectedGradients.ZERO,
            )  # fmt: skip
            return (*map(tf.convert_to_tensor, found),)

        return self._made(("pullback", wanted, given), pull)

    def pushforward(self, active: tuple[bool, ...]) -> TensorFlowFunction:
        def push(*operands_and_dots: tf.Tensor) -> Sequence[Any]:
            operands, dots = operands_and_dots[: len(active)], operands_and_dots[len(active) :]
            some = chosen(self._sources(operands), active)
            dots = [tf.cast(d, x.dtype) for d, x in zip(dots, some, strict=True)]
            with tf.autodiff.ForwardAccumulator(some, dots) as accumulator:
                outs = self._function(*operands)
            return (*[
                accumulator.jvp(y, tf.UnconnectedGradients.ZERO) if is_inexact(y) else tf.zeros_like(y) for y in outs
            ],)  # fmt: skip

        return self._made(("pushforward", active), push)

    def batched(self, flags: tuple[bool, ...]) -> TensorFlowFunction:
        def many(*operands: tf.Tensor) -> Sequence[Any]:
            def one(moving: list[tf.Tensor]) -> Any:
                return (*self._function(*filled(operands, flags, moving)),)

            return (*tf.vectorized_map(one, chosen(operands, flags)),)

        return self._made(("batched", flags), many)

    def _sources(self, operands: Sequence[Any]) -> list[Any]:
        """What TensorFlow differentiates with respect to: variables stand for the operands that are their values."""
        return [*self._variables, *operands[len(self._variables) :]]

    def _made(self, key: tuple[Any, ...], function: Function) -> TensorFlowFunction:
        return self.kept(key, lambda: TensorFlowFunction(function, f"{key[0]} of {self.name}", self._variables))


def _specs(operands: Sequence[TensorType]) -> list[tf.TensorSpec]:
    return [tf.TensorSpec(t.shape, tf.as_dtype(t.dtype)) for t in operands]  # pyright: ignore[reportArgumentType]  # a trace for TensorFlow has no unknown sizes
