"""NumPy's scalars beside tensors of torch and TensorFlow take their dtype, as these have it; beside arrays of NumPy they
don't.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

TWO = np.float64(2.0)
with_weak_scalars = pytest.mark.parametrize("engine", ["torch", "tensorflow"])


def tensor(engine: str, numbers: Any = (0.3, 0.8), dtype: str = "float32") -> Any:
    library: Any = pytest.importorskip(engine, reason="the framework is not installed")
    make = library.tensor if engine == "torch" else library.constant
    return make(np.asarray(numbers).tolist(), dtype=getattr(library, dtype))


def name_of(dtype: Any) -> str:
    return getattr(dtype, "name", str(dtype)).removeprefix("torch.")


def everything(x: Any) -> tuple[Any, ...]:
    """One result for each way in which a scalar meets a tensor."""
    doubled = wg.custom_gradient(lambda x: (x * TWO, lambda upstream: upstream * TWO))
    return (
        wg.add(x, TWO), TWO - wg.sin(x), wg.where(x > 0.5, x, TWO), wg.power(x, TWO), wg.multiply(np.int64(3), x),
        wg.clip(x, np.float64(0.1), np.float64(0.5)), wg.maximum(x, np.float64(0.5)), wg.stack([x[0], TWO]),
        wg.sum(wg.tanh(x * np.pi / np.sqrt(3.0))), doubled(x), wg.cond(wg.sum(x) > 0, lambda: x * TWO, lambda: x + TWO),
        wg.fori_loop(0, 3, lambda i, c: c * TWO + np.float64(1), x), wg.scan(lambda c, y: (c * TWO + y, c), x[0], x)[0],
        wg.vmap(lambda r: r * TWO)(x), wg.grad(lambda x: wg.sum(wg.exp(x * TWO)))(x),
    )  # fmt: skip


compiled = wg.function(everything)


def dtypes_of(f: Callable[..., Any], *arguments: Any) -> set[str]:
    return {name_of(y.dtype) for y in f(*arguments)}


@with_weak_scalars
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("way", ["eager", "function", "to_framework"])
def test_they_take_the_tensors_dtype(engine: str, way: str, dtype: str) -> None:
    x = tensor(engine, dtype=dtype)
    f = everything if way == "eager" else compiled if way == "function" else getattr(compiled, f"to_{engine}")()
    assert dtypes_of(f, x) == {dtype}
    if engine == "torch":
        x.requires_grad_()
        sum(y.sum() for y in f(x)[:10]).backward()
        assert name_of(x.grad.dtype) == dtype
        return
    tf = importlib.import_module("tensorflow")

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.add_n([tf.reduce_sum(y) for y in f(x)[:10]])
        return tape.gradient(y, x)

    for run in (slope, tf.function(slope)):
        assert name_of(run(x).dtype) == dtype


@with_weak_scalars
def test_they_are_of_the_tensors_kind_or_a_higher_one(engine: str) -> None:
    kinds = {"int32": ("int32", "float64", "complex128"), "float32": ("float32", "float32", "complex64")}
    for dtype, wanted in kinds.items():
        x = tensor(engine, [1, 2], dtype)
        for scalar, want in zip((np.int64(2), TWO, np.complex128(2j)), wanted, strict=True):
            for f in (lambda x, s: wg.multiply(x, s), wg.function(lambda x, s: s * x)):
                assert name_of(f(x, scalar).dtype) == want


@with_weak_scalars
def test_one_function_serves_both_kinds_of_arrays(engine: str) -> None:
    x = tensor(engine)
    f = wg.function(lambda x: x * TWO + np.pi)
    outer = wg.function(lambda x: f(x) * TWO)
    for g in (f, outer):
        assert [name_of(g(x).dtype) for x in (x.numpy(), x, x.numpy(), x)] == ["float64", "float32"] * 2
        assert g.trace_count == 2


@with_weak_scalars
def test_where_no_scalar_is_met_one_trace_serves_both(engine: str) -> None:
    x = tensor(engine)
    f = wg.function(lambda x: wg.sin(x) * 2.0 + np.float32(1.0))
    assert (name_of(f(x).dtype), f(x.numpy()).dtype, f.trace_count) == ("float32", np.float32, 1)


@with_weak_scalars
def test_numbers_that_are_arguments(engine: str) -> None:
    x = tensor(engine)
    f = wg.function(lambda x, by: wg.sin(x) * by)
    rule = wg.custom_gradient(lambda x, by: (x * by, lambda u: (u * by, wg.sum(u * x))))
    for g in (f, getattr(f, f"to_{engine}")(), rule):
        for by in (2.0, TWO, np.int64(2)):
            assert name_of(g(x, by).dtype) == "float32"
            if g in (f, rule):
                assert name_of(wg.grad(lambda x, by=by, g=g: wg.sum(g(x, by)))(x).dtype) == "float32"
            if engine == "torch":
                followed = x.clone().requires_grad_()
                y = g(followed, by)
                y.sum().backward()
                assert name_of(y.dtype) == name_of(followed.grad.dtype) == "float32"


@pytest.mark.parametrize("name", ["grad", "vmap"])
def test_transforms_of_torch(name: str) -> None:
    x = tensor("torch")
    transform = getattr(importlib.import_module("torch.func"), name)
    assert name_of(transform(wg.function(lambda x: wg.sum(wg.exp(x * TWO))))(x).dtype) == "float32"


@with_weak_scalars
@pytest.mark.parametrize("three", [3, np.int64(3), np.float64(3)], ids=["int", "int64", "float64"])
def test_functions_of_scipy_make_no_float64_of_integers(engine: str, three: Any) -> None:
    x = tensor(engine)
    for f in (wg.special.gammainc, wg.special.zeta, lambda a, x: wg.special.betainc(a, 2.0, x)):
        for g in (lambda x, f=f: f(three, x), wg.function(lambda x, f=f: f(three, x))):
            assert name_of(g(x).dtype) == "float32"
