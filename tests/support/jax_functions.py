"""Functions written once for two libraries: `tests/spec/make_jax_values.py` differentiates them with JAX and records the
results, `tests/test_against_jax.py` does it with Wengert and compares.

Each takes the library first: `n` is its NumPy, the rest its loops and branches under common names.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Library(NamedTuple):
    """What a function may use."""

    n: Any
    cond: Any
    switch: Any
    while_loop: Any  # (condition, body, value) with one value
    fori_loop: Any
    scan: Any
    stop_gradient: Any
    vmap: Any
    grad: Any
    jvp: Any
    solve: Any
    cholesky: Any
    inv: Any
    slogdet: Any
    eigh: Any
    sigmoid: Any
    logsumexp: Any
    at_set: Any  # (x, i, v)
    at_add: Any
    expm1: Any
    gammaln: Any
    erf: Any


class Case(NamedTuple):
    """A function and the shapes of its arguments."""

    name: str
    f: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    is_scalar: bool

    def arguments(self) -> list[np.ndarray[Any, Any]]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [rng.uniform(0.3, 1.7, shape) for shape in self.shapes]

    def batches(self, count: int = 3) -> list[np.ndarray[Any, Any]]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()) + 1)
        return [rng.uniform(0.3, 1.7, (count, *shape)) for shape in self.shapes]

    def tangents(self) -> list[np.ndarray[Any, Any]]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()) + 2)
        return [rng.normal(size=shape) for shape in self.shapes]


CASES: list[Case] = []


def case(*shapes: tuple[int, ...], is_scalar: bool = True) -> Callable[..., Any]:
    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(f.__name__, f, shapes, is_scalar))
        return f

    return register


def _one_liners() -> None:
    """Functions that one expression says."""
    table: dict[str, tuple[Any, tuple[tuple[int, ...], ...], bool]] = {
        "cube": (lambda l, x: (x**3).sum(), ((3,),), True),
        "power": (lambda l, x, y: (x**y).sum(), ((3,), (3,)), True),
        "quotient": (lambda l, x, y: x / (1 + y), ((3,), (3,)), False),
        "trigonometry": (lambda l, x: l.n.sin(x) * l.n.cos(x[::-1]), ((4,),), False),
        "arctan2": (lambda l, x, y: l.n.arctan2(x, y).sum(), ((3,), (3,)), True),
        "hyperbolic": (lambda l, x: (l.n.tanh(x) + l.n.sinh(x) / l.n.cosh(x)).sum(), ((3,),), True),
        "inverse_trigonometry": (lambda l, x: l.n.arcsin(x / 2) + l.n.arccos(x / 2) * l.n.arctan(x), ((3,),), False),
        "exponentials": (lambda l, x: (l.n.exp(-x) * l.n.log1p(x) + l.expm1(x)).sum(), ((3,),), True),
        "square_root": (lambda l, x: l.n.sqrt(x @ x), ((3,),), True),
        "sigmoid_product": (lambda l, x, w: l.sigmoid(x @ w).sum(), ((3,), (3, 2)), True),
        "logsumexp": (lambda l, x: l.logsumexp(x), ((4,),), True),
        "softmax": (lambda l, x: l.n.exp(x) / l.n.exp(x).sum(), ((4,),), False),
        "matmul": (lambda l, a, b: a @ b, ((2, 3), (3, 2)), False),
        "quadratic_form": (lambda l, x, a: x @ a @ x, ((3,), (3, 3)), True),
        "einsum": (lambda l, a, b: l.n.einsum("ij,jk->ki", a, b), ((2, 3), (3, 2)), False),
        "outer": (lambda l, x, y: l.n.outer(x, y), ((2,), (3,)), False),
        "trace_of_cube": (lambda l, a: l.n.trace(a @ a @ a), ((3, 3),), True),
        "mean_and_variance": (lambda l, x: l.n.stack([x.mean(), x.var()]), ((4,),), False),
        "standard_deviation": (lambda l, x: l.n.std(x), ((4,),), True),
        "maximum": (lambda l, x, y: l.n.maximum(x, y * y).sum(), ((4,), (4,)), True),
        "largest": (lambda l, x: l.n.max(x) * l.n.min(x), ((5,),), True),
        "absolute": (lambda l, x: l.n.abs(x - 1).sum() ** 2, ((4,),), True),
        "where": (lambda l, x: l.n.where(x > 1, x**3, 2 * x), ((5,),), False),
        "clip": (lambda l, x: l.n.clip(x, 0.5, 1.5) * x, ((5,),), False),
        "product": (lambda l, x: l.n.prod(x), ((4,),), True),
        "cumulative_sum": (lambda l, x: l.n.cumsum(x**2), ((4,),), False),
        "cumulative_product": (lambda l, x: l.n.cumprod(x), ((4,),), False),
        "sorted": (lambda l, x: l.n.sort(x) * l.n.arange(1.0, 5.0), ((4,),), False),
        "gathered": (lambda l, x: x[l.n.array([0, 2, 2, 1])] ** 2, ((3,),), False),
        "strided": (lambda l, x: x[1::2] * x[::-2][:2], ((5,),), False),
        "reshaped": (lambda l, x: (l.n.reshape(x, (3, 2)) @ l.n.reshape(x, (2, 3))).ravel(), ((6,),), False),
        "transposed": (lambda l, x: x.T @ x, ((2, 3),), False),
        "concatenated": (lambda l, x, y: l.n.concatenate([x * 2, y[:1] ** 2, x]), ((2,), (3,)), False),
        "padded": (lambda l, x: l.n.pad(x, (1, 2))[:4] * l.n.pad(x, (2, 0)), ((2,),), False),
        "rolled": (lambda l, x: l.n.roll(x, 1) * x, ((4,),), False),
        "tiled": (lambda l, x: l.n.tile(x, 2) * l.n.repeat(x, 2), ((3,),), False),
        "triangles": (lambda l, x: l.n.tril(x) @ l.n.triu(x), ((3, 3),), False),
        "diagonal": (lambda l, x: l.n.diag(x) @ x, ((3,),), False),
        "solve": (lambda l, a, b: l.solve(a + 3 * l.n.eye(3), b), ((3, 3), (3,)), False),
        "inverse": (lambda l, a: l.inv(a + 3 * l.n.eye(2)), ((2, 2),), False),
        "log_determinant": (lambda l, a: l.slogdet(a @ a.T + l.n.eye(3))[1], ((3, 3),), True),
        "cholesky": (lambda l, a: l.cholesky(a @ a.T + l.n.eye(2)).sum(), ((2, 2),), True),
        "eigenvalues": (lambda l, a: l.eigh(a @ a.T)[0], ((3, 3),), False),
        "log_gamma": (lambda l, x: l.gammaln(x).sum(), ((3,),), True),
        "error_function": (lambda l, x: l.erf(x) * x, ((3,),), False),
        "set_element": (lambda l, x: (l.at_set(x, 1, x[0] ** 2) ** 2).sum(), ((3,),), True),
        "add_to_element": (lambda l, x: l.at_add(x, 1, x[0] ** 2) * x, ((3,),), False),
        "floored": (lambda l, x: (x * l.n.floor(2 * x)).sum(), ((4,),), True),
        "hypotenuse": (lambda l, x, y: l.n.hypot(x, y), ((3,), (3,)), False),
        "logaddexp": (lambda l, x, y, z: (l.n.logaddexp(x, y) * z).sum(), ((3,), (3,), (3,)), True),
        "interplay": (lambda l, x, y, z: l.n.sin(x @ y) * l.n.exp(-z) + (x * y).sum(), ((3,), (3,), (2,)), False),
        "stopped": (lambda l, x: (x * l.stop_gradient(x**2)).sum(), ((3,),), True),
        "linear": (lambda l, x: 3 * x.sum(), ((3,),), True),
        "nested_gradient": (lambda l, x: (x * l.grad(lambda y: (x * y**2).sum())(x)).sum(), ((3,),), True),
        "nested_tangent": (lambda l, x: x * l.jvp(lambda y: x * y**3, (x,), (l.n.cos(x),))[1], ((3,),), False),
        "nested_batch": (lambda l, x, w: l.vmap(lambda row: l.n.tanh(row @ w))(x), ((2, 3), (3,)), False),
        "batch_of_gradients": (lambda l, x: l.vmap(l.grad(lambda row: (row**3).sum()))(x), ((2, 3),), False),
    }  # fmt: skip
    for name, (f, shapes, is_scalar) in table.items():
        CASES.append(Case(name, f, shapes, is_scalar))


_one_liners()


@case((3,), (2, 3), (2,))
def two_layers(l: Library, x: Any, w: Any, b: Any) -> Any:
    return (l.n.tanh(w @ x + b) ** 2).sum()


@case((5,))
def rosenbrock(l: Library, x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@case((4, 2))
def pairwise_energy(l: Library, x: Any) -> Any:
    difference = x[:, None, :] - x[None, :, :]
    return (1 / (0.5 + (difference**2).sum(-1))).sum()


@case((3, 3), (3,))
def gaussian(l: Library, a: Any, x: Any) -> Any:
    c = a @ a.T + l.n.eye(3)
    return x @ l.solve(c, x) + l.slogdet(c)[1]


@case((3,))
def branch(l: Library, x: Any) -> Any:
    return l.cond(x.sum() > 3, lambda v: (v**3).sum(), lambda v: l.n.sin(v).prod(), x)


@case((3,), is_scalar=False)
def branch_of_vectors(l: Library, x: Any) -> Any:
    return l.cond(x[0] > 1, lambda v: v[::-1] * v, lambda v: l.solve(l.n.eye(3) + l.n.outer(v, v), v), x)


@case((3,))
def one_of_three(l: Library, x: Any) -> Any:
    index = l.n.floor(2 * x[0]).astype("int32")
    return l.switch(index, [lambda v: (v**2).sum(), lambda v: l.n.cos(v).sum(), lambda v: v.prod()], x)


@case((3,))
def until_large(l: Library, x: Any) -> Any:
    """A loop whose length depends on the values."""
    return (l.while_loop(lambda v: (v * v).sum() < 40, lambda v: v * 1.4 + l.n.sin(v), x) ** 2).sum()


@case((2,))
def square_root_by_newton(l: Library, x: Any) -> Any:
    def step(state: Any) -> Any:
        r, _ = state
        return (r + x.sum() / r) / 2, r

    return l.while_loop(lambda s: abs(s[0] - s[1]) > 1e-9, step, (x[0] + 1, x[0]))[0]


@case((3,), (3, 3), is_scalar=False)
def iterated_map(l: Library, x: Any, w: Any) -> Any:
    return l.fori_loop(0, 5, lambda i, v: l.n.tanh(w @ v + x), x)


@case((2,), (4, 2), (2, 2))
def recurrent(l: Library, h: Any, xs: Any, w: Any) -> Any:
    last, ys = l.scan(lambda c, x: (l.n.tanh(w @ c + x), (c * x).sum()), h, xs)
    return last.sum() + (ys**2).sum()


@case((2,), (4, 2), is_scalar=False)
def recurrent_stack(l: Library, h: Any, xs: Any) -> Any:
    return l.scan(lambda c, x: (l.n.sin(c) * x, c * c), h, xs)[1]


@case((2,), (3, 2))
def scan_with_branches(l: Library, h: Any, xs: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        return l.cond(x[0] > 1, lambda v: v * x, lambda v: l.n.exp(-v) + x, c), c.sum()

    last, ys = l.scan(step, h, xs)
    return last.sum() * ys.sum()


@case((3,))
def gradient_inside_a_loop(l: Library, x: Any) -> Any:
    descend = l.grad(lambda v: ((v * v - x) ** 2).sum())
    return l.fori_loop(0, 4, lambda i, v: v - 0.05 * descend(v), x + 0.5).sum()


@case((2,))
def loop_in_a_loop(l: Library, x: Any) -> Any:
    def outer(i: Any, v: Any) -> Any:
        return l.while_loop(lambda u: (u * u).sum() < 9, lambda u: u * 1.3 + x, v) / 3

    return l.fori_loop(0, 3, outer, x).sum()


def with_many_steps(l: Library, x: Any, steps: Any) -> Any:
    """A while loop whose number of steps is an argument (for jvp)."""

    def step(state: Any) -> Any:
        i, v = state
        return i + 1, l.n.sin(v) * x

    return l.while_loop(lambda s: s[0] < steps, step, (0, x))[1]


def questions(case: Case, f: Any, jacobian: Any, hessian: Any, grad: Any, vmap: Any, jvp: Any) -> dict[str, Any]:
    """What is asked of a case, as functions of no arguments.

    Args:
        case: the function and its arguments.
        f: the function, with the library given already.
        jacobian, hessian, grad: `(f, argnums)` -> a function of f's arguments.
        vmap: `f` -> a function of batches.
        jvp: `(f, primals, tangents)` -> `(y, dy)`.
    """
    args, batches, tangents = case.arguments(), case.batches(), case.tangents()
    every = tuple(range(len(args)))

    def total(*batch: Any) -> Any:
        return vmap(f)(*batch).sum()

    asked = {
        "jacobian": lambda: jacobian(f, every)(*args),
        "jvp": lambda: jvp(f, tuple(args), tuple(tangents)),
        "grad of vmap": lambda: grad(total, every)(*batches),
        "vmap of jacobian": lambda: vmap(jacobian(f, every))(*batches),
    }
    if case.is_scalar:
        asked["hessian"] = lambda: hessian(f, every)(*args)
        asked["vmap of grad"] = lambda: vmap(grad(f, every))(*batches)
    return asked
