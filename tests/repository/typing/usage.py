"""How typed code uses the library; pyright reads this file and must find nothing to say (`tests/repository/test_typing.py`).

A line that must be refused has an ignore with its rule: it is an error itself where the refusal is gone.
"""

# pyright: strict

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import wengert as wg

Array = NDArray[np.float64]


def loss(w: Array, x: Array, scale: float = 1.0) -> Array:
    return wg.sum((x @ w) ** 2) * scale


w, x = np.ones(3), np.ones((2, 3))


# -- gradient functions take what f takes ----------------------------------------------------------------------

gradient = wg.grad(loss)
gradient(w, x)
gradient(w, x, scale=2.0)
gradient(w, x, dy=np.float64(2.0))
gradient(w)  # pyright: ignore[reportCallIssue]
gradient(w, x, 2.0, 3.0)  # pyright: ignore[reportCallIssue]
gradient(w, x, size=2.0)  # pyright: ignore[reportCallIssue]
gradient(w, "x")  # pyright: ignore[reportArgumentType]

assert_type(wg.value_and_grad(loss, argnums=(0, 1))(w, x), wg.ValueAndGrad)
value, slope = wg.value_and_grad(loss)(w, x)
slope = wg.value_and_grad(loss)(w, x).gradient  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
wg.value_and_grad(loss)(x=x)  # pyright: ignore[reportCallIssue]
wg.grad(3.0)  # pyright: ignore[reportArgumentType]
wg.grad(loss, axis=0)  # pyright: ignore[reportCallIssue]
wg.grad(wg.grad(loss))(w, x)

assert_type(wg.grads(loss)([w, x]), list[Any])
assert_type(wg.value_and_grads(loss)([w, x]), wg.ValueAndGrads)


# -- compiled functions are typed as the plain ones ------------------------------------------------------------

compiled = wg.function(loss)
assert_type(compiled(w, x), Array)
assert_type(compiled.trace_count, int)
compiled(w)  # pyright: ignore[reportCallIssue]
compiled(w, x, scale="2")  # pyright: ignore[reportArgumentType]


@wg.function(input_signature=[wg.TensorSpec((None, 3), "float32")])
def norms(x: wg.Tensor) -> wg.Tensor:
    return wg.sqrt(wg.sum(x * x, axis=-1))


assert_type(norms(wg.tensor(x)), wg.Tensor)
norms(wg.tensor(x), 2)  # pyright: ignore[reportCallIssue]
wg.TensorSpec("float32")  # pyright: ignore[reportArgumentType]


@wg.function
def step(w: Array, x: Array) -> wg.ValueAndGrad:
    return wg.value_and_grad(loss)(w, x)


assert_type(step(w, x), wg.ValueAndGrad)


# -- gradients of one's own -----------------------------------------------------------------------------------------


@wg.custom_gradient
def log1pexp(x: wg.Tensor) -> tuple[wg.Tensor, Callable[[wg.Tensor], wg.Tensor]]:
    e = wg.exp(x)
    return wg.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))


assert_type(log1pexp(wg.tensor(1.0)), wg.Tensor)
log1pexp(wg.tensor(1.0), 2)  # pyright: ignore[reportCallIssue]


@wg.custom_gradient  # pyright: ignore[reportArgumentType, reportCallIssue, reportUntypedFunctionDecorator]
def no_pair(x: float) -> float:
    return x


@wg.recompute_grad
def layer(w: Array, x: Array) -> Array:
    return wg.tanh(x @ w)


assert_type(layer(w, x), Array)
layer(w)  # pyright: ignore[reportCallIssue]


# -- tensors have NumPy's operators, methods and functions ---------------------------------------------------------

t = wg.tensor(x)
assert_type(1.0 @ t[0] - t // 2 % 3 / t**2, wg.Tensor)
assert_type((-t < 3) & ~(t >= 1) | (abs(t) > 2), wg.Tensor)
numbers = ((t == 1).sum(), t.T.reshape(3, 2).sum(axis=0), abs(t).mean(), t.at[0].set(1.0), len(t))
everything = (wg.where(t > 0, wg.log(t), wg.pi), wg.linalg.inv(t @ t.T), wg.nn.relu(t), wg.special.gammaln(t))
more = (wg.ops.logsumexp(t), wg.random.normal(wg.random.key(0), (2,)), wg.tree.map(wg.sin, {"t": t}), wg.rsqrt(t))
wg.sinn(t)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
assert_type(t.numpy(), np.ndarray[Any, Any])
assert_type(t.dtype, np.dtype[Any])


# -- state and checks --------------------------------------------------------------------------------------------------

variable = wg.Variable(w, name="w")
assert_type(variable.value, wg.Tensor)
assert_type(2 * variable**2 - variable[0] @ variable / 2, wg.Tensor)
assert_type(variable.assign_add(w), wg.Variable)
assert_type(variable.shape, tuple[int, ...])
variable.shape = (3,)  # pyright: ignore[reportAttributeAccessIssue]
assert_type(wg.variable_grads(lambda: wg.sum(variable.value**2)), wg.VariableGrads)
assert_type(wg.check_gradients(loss, w, x).largest_error, float)
wg.check_gradients(loss, w, x, orders=2)  # pyright: ignore[reportCallIssue]
