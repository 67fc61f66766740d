"""NumPy's scalars beside torch's tensors take their dtype, as torch itself has it; beside arrays of NumPy they don't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch", reason="torch is not installed")

X = torch.tensor([0.3, 0.8], dtype=torch.float32)
TWO = np.float64(2.0)


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


def dtypes_of(f: Callable[..., Any], *arguments: Any) -> set[Any]:
    return {y.dtype for y in f(*arguments)}


@pytest.mark.parametrize("way", ["eager", "function", "to_torch"])
def test_they_take_the_tensors_dtype(way: str) -> None:
    f = everything if way == "eager" else compiled if way == "function" else compiled.to_torch()
    assert dtypes_of(f, X) == {torch.float32}
    leaf = X.clone().requires_grad_()
    found = f(leaf)
    assert {y.dtype for y in found} == {torch.float32}
    sum(y.sum() for y in found[:10]).backward()
    assert leaf.grad.dtype == torch.float32


def test_one_function_serves_both_kinds_of_arrays() -> None:
    f = wg.function(lambda x: x * TWO + np.pi)
    outer = wg.function(lambda x: f(x) * TWO)
    numpy_x = X.numpy()
    for g in (f, outer):
        assert [g(x).dtype for x in (numpy_x, X, numpy_x, X)] == [np.float64, torch.float32] * 2
        assert g.trace_count == 2


def test_where_no_scalar_is_met_one_trace_serves_both() -> None:
    f = wg.function(lambda x: wg.sin(x) * 2.0 + np.float32(1.0))
    assert (f(X).dtype, f(X.numpy()).dtype, f.trace_count) == (torch.float32, np.float32, 1)


def test_numbers_that_are_arguments() -> None:
    f = wg.function(lambda x, by: wg.sin(x) * by)
    for g in (f, f.to_torch(), wg.custom_gradient(lambda x, by: (x * by, lambda u: (u * by, wg.sum(u * x))))):
        assert [g(X, by).dtype for by in (2.0, TWO, np.int64(2))] == [torch.float32] * 3


@pytest.mark.parametrize("transform", [torch.func.grad, lambda f: torch.func.vmap(f)], ids=["grad", "vmap"])
def test_transforms_of_torch(transform: Any) -> None:
    assert transform(wg.function(lambda x: wg.sum(wg.exp(x * TWO))))(X).dtype == torch.float32


@pytest.mark.parametrize("three", [3, np.int64(3), np.float64(3)], ids=["int", "int64", "float64"])
def test_functions_of_scipy_make_no_float64_of_integers(three: Any) -> None:
    for f in (wg.special.gammainc, wg.special.zeta, lambda a, x: wg.special.betainc(a, 2.0, x)):
        for g in (lambda x, f=f: f(three, x), wg.function(lambda x, f=f: f(three, x))):
            assert g(X).dtype == torch.float32
