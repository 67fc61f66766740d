"""`x[mask]` with a mask that is known at run time only: compiled, batched, forward and reverse, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

X = np.array([1.1, 2.2, 3.3, -1.2])
W = np.array([0.5, -1.5, 2.5, 3.5])
Program = Callable[[Any, Any], Any]


def minus_its_square(np: Any, x: Any) -> Any:
    a = x * 1.0
    m = a > 1.5
    a[m] -= a[m] ** 2
    return a.sum()


def the_condition_written_twice(np: Any, x: Any) -> Any:
    a = x * 1.0
    a[a < 0] = -a[a < 0] * 2
    for _ in range(3):
        a[a > 1] -= 0.3 * a[a > 1]
    return (a * a).sum()


def out_of_the_domain_elsewhere(np: Any, x: Any) -> Any:
    a = x * 1.0
    a[a > 0] *= np.sqrt(a[a > 0])
    a[a > 0] = np.log(a[a > 0])
    a[a > 1] = np.arctanh(1 / a[a > 1])
    return (a * a).sum()


def a_mask_of_two_axes(np: Any, x: Any) -> Any:
    a = np.outer(x, x + 1)
    m = a > 1
    a[m] = np.where(a[m] > 2, a[m] ** 2, 3 * a[m])
    return a.sum()


def masks_beside_slices_and_integers(np: Any, x: Any) -> Any:
    a = np.outer(x, x + 1)
    m = x > 1
    a[m] *= x
    a[:, m] += 1.0
    a[m, 0] -= a[m, 1]
    a[1, m] = a[0, m]
    a[..., m] *= a[..., m]
    return a.sum()


def sums_and_their_kin(np: Any, x: Any) -> Any:
    y = x[x > 0]
    n = np.count_nonzero(y > 1) + y.size
    return n * y.sum() + np.mean(y) * y.max() - np.min(y) + y.std() * np.prod(y) + y @ y + np.dot(y, 2 * y)


def chosen_again_and_written_to(np: Any, x: Any) -> Any:
    b = x[x > 0]
    c = b
    b[b > 2] = 0.0
    c += 1
    b[:] *= 2
    np.multiply(b, b, out=b)
    return b.sum() + (b[b > 3] ** 2).sum()


def rows(np: Any, x: Any) -> Any:
    a = np.outer(x, x + 1)[:, :3]
    m = a[:, 0] > 1
    p = a[m]
    p[:, 0] += p[:, 1]
    p = p / np.sum(p * p, axis=1)[:, None]
    a[m] = p @ np.diag(np.arange(1.0, 4.0))
    return (a**2).sum() + np.sum(a[m], axis=0)[1] + a[m].sum(axis=0, keepdims=True)[0, 2]


def a_view_and_the_rest(np: Any, x: Any) -> Any:
    a = x * 1.0
    r = a[1:]
    m = r > 2
    r[m] += (x * 3)[1:][m] * r[m]
    r[~m] = 7.0 * x[0]
    return (a**2).sum()


def written_by_numpys_functions(np: Any, x: Any) -> Any:
    a = x * 1.0
    np.place(a, a > 3, [2.5])
    np.putmask(a, a < 0, x[::-1])
    np.copyto(a, 2 * x, where=a > 1.2)
    np.add.at(a, a > 4, 1.5)
    np.multiply.at(a, a > 2, 3.0)
    return a.sum() * np.linalg.norm(a[a > 2]) + np.average(a[a > 2]) + np.average(x[x > 0], weights=(x**2)[x > 0])


def a_lone_truth(np: Any, x: Any) -> Any:
    a = x[0] * x
    a[x[1] > 2] *= 3.0
    a[x[1] > 5] = 0.0
    return a.sum()


PROGRAMS = [
    minus_its_square, the_condition_written_twice, out_of_the_domain_elsewhere, a_mask_of_two_axes,
    masks_beside_slices_and_integers, sums_and_their_kin, chosen_again_and_written_to, rows, a_view_and_the_rest,
    written_by_numpys_functions, a_lone_truth,
]  # fmt: skip


def slopes(f: Program) -> np.ndarray[Any, Any]:
    e = 1e-6
    return np.array([(f(np, X + e * d) - f(np, X - e * d)) / (2 * e) for d in np.eye(4)])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_are_numpys(program: Program) -> None:
    def f(x: Any) -> Any:
        return program(wnp, x)

    compiled, slope, other = wg.function(f), slopes(program), X * 1.5 + 0.1
    np.testing.assert_allclose(compiled(X), program(np, X))
    np.testing.assert_allclose(compiled(other), program(np, other))
    np.testing.assert_allclose(wg.vmap(f)(np.stack([X, other])), [program(np, X), program(np, other)])
    for gradient in (wg.grad(f), wg.grad(compiled), wg.function(wg.grad(f))):
        np.testing.assert_allclose(gradient(X), slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(np.stack([X, other]))[0], slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(wg.jvp(compiled, (X,), (W,))[1], slope @ W, rtol=1e-5)
    np.testing.assert_allclose(wg.hessian(compiled)(X), wg.hessian(f)(X), rtol=1e-8, atol=1e-8)


def test_numpys_own_functions_take_them() -> None:
    np.testing.assert_allclose(wg.function(lambda x: np.sum(np.maximum(x[x > 0], 2.0)))(X), 2 + 2.2 + 3.3)
    np.testing.assert_allclose(wg.function(lambda x: np.add.reduce(x[x > 0] ** 2))(X), (X[X > 0] ** 2).sum())


def test_loops_and_branches_take_them() -> None:
    def f(x: Any) -> Any:
        a = x * 1.0

        def step(i: Any, s: Any) -> Any:
            a[a > i] *= 0.5
            return s + a[a > 0].sum()

        return wg.fori_loop(0, 3, step, 0.0) + wg.cond(x[0] > 0, lambda: a[a > 1].sum(), lambda: a[a < 0].sum())

    wanted = f(wg.tensor(X))
    np.testing.assert_allclose(wg.function(f)(X), np.asarray(wanted))
    np.testing.assert_allclose(wg.grad(wg.function(f))(X), wg.grad(f)(X))


def test_integers_keep_their_dtype() -> None:
    def f(x: Any) -> Any:
        a = x * 2
        a[a > 4] //= 3
        a[a == 2] = 2.7
        return a

    found = wg.function(f)(np.arange(5))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, f(np.arange(5)))


def test_no_element_chosen_is_an_empty_sum() -> None:
    assert wg.function(lambda x: x[x > 9].sum())(X) == 0.0
    assert math.isnan(wg.function(lambda x: x[x > 9].mean())(X))
    np.testing.assert_array_equal(wg.grad(wg.function(lambda x: wnp.linalg.norm(0 * x[x > 9])))(X), np.zeros(4))
    np.testing.assert_array_equal(wg.grad(wg.function(lambda x: wnp.linalg.norm(0 * x[x > 0])))(X), np.zeros(4))


@pytest.mark.parametrize(
    ("use", "word"),
    [
        (lambda x: np.concatenate([x[x > 0], x]), "concatenate"),
        (lambda x: np.cumsum(x[x > 0]), "cumsum"),
        (lambda x: np.sort(x[x > 0]), "sort"),
        (lambda x: x[x > 0] - x, "sub"),
        (lambda x: x[x > 0] - x[x > 1], "two masks"),
        (lambda x: x[x > 0].shape, "shape"),
        (lambda x: len(x[x > 0]), "len"),
        (lambda x: [*x[x > 0]], "iteration"),
        (lambda x: np.asarray(x[x > 0]), "asarray"),
        (lambda x: wg.fft.fft(x[x > 0]), "fft"),
        (lambda x: x[x > 0], "mask"),
        (lambda x: x[x > 0, None, [1]], "while tracing"),
    ],
)
def test_what_needs_their_number_is_refused(use: Callable[[Any], Any], word: str) -> None:
    with pytest.raises(wg.TracingError, match=word):
        wg.function(use)(X)


def test_a_value_for_each_chosen_element_is_refused() -> None:
    def f(x: Any) -> Any:
        a = x * 1.0
        a[a > 0] = x[:3]
        return a

    with pytest.raises(wg.TracingError, match="one entry for each element"):
        wg.function(f)(X)


def test_frameworks_programs_take_them() -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X, "float32")

    def f(x: Any) -> Any:
        return minus_its_square(wnp, x) + sums_and_their_kin(wnp, x)

    np.testing.assert_allclose(jax.jit(wg.function(f))(x), f(wg.tensor(X)).numpy(), rtol=1e-5)
    np.testing.assert_allclose(wg.grad(wg.function(f))(x), wg.grad(f)(X), rtol=1e-4)
