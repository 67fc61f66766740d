"""What the PyTorch engine makes of a graph: fewer kernels, the numbers of single ops, hard points included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls
from wengert._passes import optimise

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(4)
X, W, B = RNG.normal(size=(5, 4)), RNG.normal(size=(4, 3)), RNG.normal(size=3)
HARD = np.array([[0.0, -0.0, np.inf, -np.inf], [np.nan, 1.0, -1.0, 0.5], [2.0, 0.0, np.nan, -np.inf]])
LARGE = RNG.normal(size=(100, 100))


def gates(x: Any) -> Any:
    """Slices whose derivatives are padded pieces, and products with structural zeros."""
    a, b, c, d = (x[:, i] for i in range(4))
    return (wg.sigmoid(a) * wg.tanh(b) + wg.sigmoid(c) * d).sum()


def joined(x: Any) -> Any:
    """Pieces that cover their axis."""
    return (wg.sin(x[:, :1]) * wg.exp(x[:, 1:2]) + (x[:, 2:] ** 2).sum(1, keepdims=True)).sum()


def layers(x: Any) -> Any:
    return (wg.tanh(x @ W + B) ** 2).sum() + wg.nn.relu(x @ W - B).sum()


def vectors(x: Any) -> Any:
    v = x[0]
    return (wg.tanh(wg.transpose(W) @ v) @ wg.transpose(W) @ v) + (W.T @ wg.sin(v)).sum()


def masked(x: Any) -> Any:
    return wg.where(x > 0, wg.log(x) * wg.tanh(x), wg.sigmoid(wg.sqrt(x))).sum()


def hidden(x: Any) -> Any:
    """A NaN in a branch that is not chosen, behind every derivative that is one kernel."""
    bad = wg.log(-wg.abs(x) - 1)
    return wg.where(x > 100, wg.tanh(bad) + wg.sigmoid(bad) + wg.nn.relu(bad) + bad * bad, x).sum()


def numbers(x: Any) -> Any:
    return (-0.0 * x + 2.5 * x + (1 - x) * (1 - x * x) - 3 + x / 7 + 0 * x).sum()


def spread(x: Any) -> Any:
    return wg.maximum(x - x.mean(0), x.std(1, keepdims=True)).sum() * x[0, 0]


def pooled(x: Any) -> Any:
    """Windows that overlap, with and without padding."""
    planes = wg.reshape(x[: x.shape[0] // 2 * 2, :4], (1, 1, -1, 4))
    plain = wg.nn.max_pool(planes, 2, strides=1, data_format="channels_first")
    padded = wg.nn.max_pool(planes, 3, strides=2, padding="same", data_format="channels_first")
    return (plain**2).sum() + (padded * wg.tanh(padded)).sum()


def chosen(x: Any) -> Any:
    """Both branches behind products and sums, and a branch that is nothing but zeros."""
    y = wg.where(x > 0.2, wg.sin(x) * x, x * x) + wg.where(x > 0.4, 0.0, wg.exp(x) * x)
    return (wg.where(y > 0.1, wg.log(y), wg.sqrt(x)) * wg.where(y > 0.1, y, 1.0)).sum()


def softened(x: Any) -> Any:
    """Softmax along either axis and along the only one; something like its derivative, which is another."""
    total = (wg.nn.softmax(x, axis=-1) ** 2).sum() + (wg.nn.softmax(x * 0.3, axis=0) * wg.sin(x)).sum()
    other = (x - (x * x[0]).sum(0)) * x[0]
    return total + (wg.nn.softmax(x[0]) ** 2).sum() + other.sum()


PROGRAMS: list[Callable[[Any], Any]] = [
    gates,
    joined,
    layers,
    vectors,
    masked,
    hidden,
    numbers,
    spread,
    pooled,
    chosen,
    softened,
]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("x", [X, HARD, LARGE], ids=["plain", "hard", "large"])
def test_compiled_as_single_ops(f: Callable[[Any], Any], x: Any) -> None:
    if f in (layers, vectors) and x is LARGE:
        x = LARGE[:, :4]
    t = torch.tensor(x)
    want = wg.value_and_grad(f)(x)
    compiled = wg.function(wg.value_and_grad(f))
    for _ in range(2):  # as instructions, then as source
        got = compiled(t)
        np.testing.assert_allclose(got.value.numpy(), want.value, rtol=1e-12)
        np.testing.assert_allclose(got.grad.numpy(), want.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex128"])
def test_other_dtypes(dtype: str) -> None:
    f = lambda x: (wg.tanh(x[0] * 2.5) * wg.exp(1 - x[1] * x[1]) + x[2] * x[0]).sum()
    x = (RNG.normal(size=(3, 4)) + (1j * RNG.normal(size=(3, 4)) if dtype == "complex128" else 0)).astype("complex128")
    t = torch.tensor(x if dtype == "complex128" else x.real).to(getattr(torch, dtype))
    dy = np.ones((), "complex128") if dtype == "complex128" else None
    want = wg.grad(f)(t, dy=dy)
    compiled = wg.function(lambda v: wg.grad(f)(v, dy=dy))
    tolerance = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-5, "complex128": 1e-12}[dtype]  # as the dtype rounds
    for _ in range(2):
        np.testing.assert_allclose(
            torch.view_as_real(compiled(t)).numpy() if dtype == "complex128" else compiled(t).float().numpy(),
            torch.view_as_real(want).numpy() if dtype == "complex128" else want.float().numpy(),
            rtol=tolerance, atol=tolerance,
        )  # fmt: skip


def kernels(f: Callable[..., Any], *shapes: tuple[int, ...]) -> list[str]:
    """The kernels that a compiled gradient runs."""
    from wengert._engines.torch.fusion import fused

    graph = wg.function(wg.grad(f, argnums=(*range(len(shapes)),))).trace(
        *[wg.TensorSpec(s, "float64") for s in shapes]
    )
    return [node.op.name for node in fused(optimise(graph)).nodes]


def test_what_is_one_kernel() -> None:
    assert kernels(lambda x: (wg.tanh(x) ** 2).sum(), (5,)).count("torch tanh_back") == 1
    assert kernels(lambda x: (wg.nn.relu(x) ** 2).sum(), (5000,)).count("torch where_positive") == 1
    few = kernels(
        lambda x: (wg.nn.relu(x) ** 2).sum(), (5,)
    )  # of which a function of Python's costs more than two kernels
    assert "full" not in few and few.count("select") == few.count("gt") == 1
    dense = kernels(lambda x, w, b: ((x @ w + b) ** 2).sum(), (5, 4), (4, 3), (3,))
    assert dense.count("torch matmul_plus") == 1
    assert "broadcast_to" not in dense
    assert dense.count("torch transposed") == 2 and "transpose" not in dense
    pieces = kernels(lambda x: (wg.sin(x[:2]) * wg.cos(x[2:])).sum(), (4, 3))
    assert "pad" not in pieces
    assert pieces.count("concatenate") == 1
    for axis in (0, 1, -1):
        soft = kernels(lambda x, axis=axis: (wg.nn.softmax(x, axis=axis) ** 2).sum(), (5, 4))
        assert soft.count("torch softmax_back") == 1
        assert "torch sum" not in soft
    either = kernels(lambda x: (wg.where(x > 0.5, wg.sin(x), x * x) ** 2).sum(), (5,))
    assert either.count("select") == 2  # of values, and of cotangents
    images = kernels(lambda x: (wg.nn.max_pool(x, 2) ** 2).sum(), (2, 4, 4, 3))
    assert images.count("torch pool") == images.count("torch pool_back") == 1
    assert "take_along" not in images
    assert kernels(lambda w, v: wg.tanh(w @ v).sum(), (3, 4), (4,)).count("torch matrix_by_vector") >= 1


def test_few_elements_are_computed_by_functions_of_torchs_alone() -> None:
    def masked(x: Any) -> Any:
        chosen = wg.where(x > 0.5, wg.sin(x), x * x) + wg.nn.relu(x) + wg.where(x < 0.2, wg.tanh(x), 0.0)
        return wg.nn.softmax(chosen) ** 2 + wg.clip(x, 0.3, 0.7)

    f = wg.function(masked)
    x = torch.linspace(-1.0, 1.0, 10, dtype=torch.float64, requires_grad=True)
    back = lambda: torch.autograd.grad(f(x).sum(), x)
    for _ in range(4):
        back()
    own = python_calls(lambda: torch.autograd.grad(torch.sin(x).sum(), x))
    assert len(python_calls(back)) <= len(own) + 6  # the call, its guard, two passes, and the program of each


@pytest.mark.parametrize("dtype", ["float32", "complex64", "uint16", "uint32", "int64", "bool"])
def test_choices_and_comparisons_of_every_dtype_in_programs_as_one_by_one(dtype: str) -> None:
    values = np.array([0, 1, 5, 2]) + (np.array([1, -1, 0, 2]) * 1j if dtype == "complex64" else 0)
    x, y = (torch.tensor(v).to(getattr(torch, dtype)) for v in (values, values[::-1].copy()))
    f = lambda x, y: (wg.where(np.array([True, False, True, False]), x, y), wg.greater_equal(x, y), wg.less(x, y))
    compiled = wg.function(f)
    for _ in range(3):
        for got, want in zip(compiled(x, y), f(x, y), strict=True):
            assert got.dtype == want.dtype and got.tolist() == want.tolist()


@pytest.mark.parametrize("power", [1, 2, 3])
def test_results_of_powers_are_written_to_apart_from_what_they_were_computed_of(power: int) -> None:
    f = lambda x: (wg.power(x, power), wg.exp(x))
    for g in (f, wg.function(f)):
        for _ in range(4):
            x = torch.linspace(0.5, 1.0, 4, dtype=torch.float64)
            y, _ = g(x)
            torch.testing.assert_close(y, x**power)
            y.zero_()
            assert x[0] == 0.5


@pytest.mark.parametrize("size", [10, 5000])
def test_where_relu_is_not_positive_its_derivative_is_zero_at_any_size(size: int) -> None:
    """Few elements are compared one by one, many are looked through for NaN, of which torch's own kernel is no judge."""
    x = torch.linspace(-1.0, 1.0, size, dtype=torch.float64)
    x[1] = 0.0
    for place, value in ((0, -1.0), (0, float("nan"))):
        x[place] = value
        given = x.clone().requires_grad_()
        (found,) = torch.autograd.grad(wg.function(lambda x: 3.0 * wg.nn.relu(x))(given).sum(), given)
        assert found.tolist() == [3.0 if v > 0 else 0.0 for v in x.tolist()]


def test_clip_by_what_is_no_number_gives_none() -> None:
    x, nan = torch.linspace(-1.0, 1.0, 5, dtype=torch.float64), torch.full((5,), torch.nan, dtype=torch.float64)
    bounds = torch.linspace(0.5, -0.5, 5, dtype=torch.float64)
    clip = wg.function(wg.clip)
    for lo, hi in ((bounds, -bounds), (nan, bounds), (bounds, nan)):
        np.testing.assert_array_equal(clip(x, lo, hi).numpy(), np.clip(x.numpy(), lo.numpy(), hi.numpy()))
    assert clip(nan, bounds, bounds).isnan().all()
