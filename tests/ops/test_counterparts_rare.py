"""What serious libraries have beyond Keras's list and their users sometimes ask for.

`ROWS` says what ours gives, what an independent reference gives, and the operands, as in
`tests/ops/test_counterparts_common.py`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.special as sp
import scipy.stats

import wengert as wg
from wengert import linalg, nn, ops

RNG = np.random.default_rng(92)


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape)


def banded(ab: Any) -> Any:
    """The matrix of two diagonals below and one above."""
    n = ab.shape[1]
    return np.array([[ab[1 + i - j, j] if -1 <= i - j <= 2 else 0.0 for j in range(n)] for i in range(n)])


def tridiagonal(dl: Any, d: Any, du: Any) -> Any:
    return np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)


def put(x: Any, key: Any, value: Any) -> Any:
    y = np.array(x)
    y[key] = value
    return y


X = np.array([0.0, 0.7, 1.1, 2.5])

ROWS: dict[str, Any] = {
    **{
        f"{name} {kind} {norm}": (
            functools.partial(getattr(wg.fft, name), type=kind, axis=0, norm=norm),
            functools.partial(getattr(scipy.fft, name), type=kind, axis=0, norm=norm), draw(5, 2),
        )
        for name in ("dct", "idct") for kind in (1, 2, 3, 4) for norm in ("backward", "ortho", "forward")
    },
    "dct of another length": (lambda x: wg.fft.dct(x, n=6), lambda x: scipy.fft.dct(x, n=6), draw(4)),
    "dct of two elements": (lambda x: wg.fft.dct(x, 1), lambda x: scipy.fft.dct(x, 1), draw(2)),
    "cumulative_trapezoid": (
        lambda y: ops.cumulative_trapezoid(y, X, axis=0), lambda y: scipy.integrate.cumulative_trapezoid(y, X, axis=0),
        draw(4, 2),
    ),
    "cumulative_trapezoid in x": (
        lambda y, x: ops.cumulative_trapezoid(y, x, initial=0),
        lambda y, x: scipy.integrate.cumulative_trapezoid(y, x, initial=0), draw(2, 4), X + 0.1 * draw(4),
    ),
    "solve_banded": (
        lambda ab, b: linalg.solve_banded((2, 1), ab + np.array([[0], [4], [0], [0]]), b),
        lambda ab, b: np.linalg.solve(banded(ab + np.array([[0], [4], [0], [0]])), b), draw(4, 5), draw(5, 2),
    ),
    "solve_banded for a vector": (
        lambda ab, b: linalg.solve_banded((0, 0), ab + 4, b), lambda ab, b: b / (ab[0] + 4), draw(1, 3), draw(3)
    ),
    "tridiagonal_solve": (
        lambda dl, d, du, b: linalg.tridiagonal_solve(dl, d + 4, du, b),
        lambda dl, d, du, b: np.stack([np.linalg.solve(tridiagonal(dl[i], d[i] + 4, du[i]), b[i]) for i in range(2)]),
        draw(2, 3), draw(2, 3), draw(2, 3), draw(2, 3, 2),
    ),
    "fractional_matrix_power": (
        lambda x, t: linalg.fractional_matrix_power(x @ wg.swapaxes(x, -1, -2) + 2 * np.eye(3), t),
        lambda x, t: scipy.linalg.fractional_matrix_power(x @ x.T + 2 * np.eye(3), float(t)), draw(3, 3), np.array(0.3),
    ),
    "polar: u": (lambda x: linalg.polar(x)[0], lambda x: scipy.linalg.polar(x)[0], draw(4, 3)),
    "polar: p": (lambda x: linalg.polar(x, "left")[1], lambda x: scipy.linalg.polar(x, "left")[1], draw(2, 3)),
    "mish": (nn.mish, lambda x: x * np.tanh(np.log1p(np.exp(x))), draw(4)),
    "prelu": (nn.prelu, lambda x, a: np.where(x > 0, x, a * x), draw(3, 4), draw(4)),
    "softmin": (nn.softmin, lambda x: sp.softmax(-x, axis=-1), draw(3, 4)),
    "diag_embed": (ops.diag_embed, lambda x: x[..., None] * np.eye(3), draw(2, 3)),
    "diag_embed below, elsewhere": (
        lambda x: ops.diag_embed(x, -1, 2, 0),
        lambda x: np.moveaxis(np.stack([np.diag(v, -1) for v in x]), (0, 1, 2), (1, 2, 0)), draw(2, 3),
    ),
    "select_scatter": (
        lambda x, v: ops.select_scatter(x, v, 1, -1), lambda x, v: put(x, np.s_[:, -1], v), draw(2, 3, 2), draw(2, 2)
    ),
    "slice_scatter": (
        lambda x, v: ops.slice_scatter(x, v, 1, 0, None, 2), lambda x, v: put(x, np.s_[:, ::2], v), draw(2, 3), draw(2, 2)
    ),
    "diagonal_scatter": (
        lambda x, v: ops.diagonal_scatter(x, v, 1), lambda x, v: put(x, ([0, 1], [1, 2]), v.T), draw(2, 3, 2),
        draw(2, 2),
    ),
    "kthvalue": (lambda x: ops.kthvalue(x, 2, axis=0).values, lambda x: np.sort(x, axis=0)[1], draw(4, 3)),
    "mode": (lambda x: ops.mode(x).values, lambda x: x.min(-1), draw(2, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_value(name: str) -> None:
    ours, theirs, *operands = ROWS[name]
    np.testing.assert_allclose(np.asarray(ours(*operands)), theirs(*operands), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_gradients(name: str) -> None:
    """First and second derivatives, in both modes."""
    ours, _, *operands = ROWS[name]
    wg.check_gradients(ours, *operands)


@pytest.mark.parametrize("name", ROWS)
def test_a_batch_is_its_examples(name: str) -> None:
    ours, _, *operands = ROWS[name]
    batches = [np.stack([x, x * 0.75]) for x in operands]
    wanted = np.stack([np.asarray(ours(*[b[i] for b in batches])) for i in range(2)])
    np.testing.assert_allclose(np.asarray(wg.vmap(ours)(*batches)), wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ROWS)
def test_dtype_is_kept(name: str) -> None:
    ours, _, *operands = ROWS[name]
    # these rows have a constant of float64
    is_wide = name in ("solve_banded", "fractional_matrix_power", "cumulative_trapezoid")
    wanted = np.float64 if is_wide else np.float32
    assert np.asarray(ours(*[x.astype(np.float32) for x in operands])).dtype == wanted


def test_places_of_ranks() -> None:
    x = np.array([[3.0, 1.0, 3.0, 1.0], [2.0, 5.0, 5.0, 0.0]])
    assert ops.mode(x).values.tolist() == [1.0, 5.0]
    assert ops.mode(x).indices.tolist() == [1, 1]
    assert ops.mode(x, axis=0, keepdims=True).values.tolist() == [[2.0, 1.0, 3.0, 0.0]]
    assert ops.kthvalue(x, 3).indices.tolist() == [0, 1]
    with pytest.raises(ValueError, match="k is 5 for 4 elements"):
        ops.kthvalue(x, 5)


def test_unique_says_where() -> None:
    values, index, inverse = ops.unique(np.array([3.0, 1.0, 3.0]), return_index=True, return_inverse=True)
    assert values.tolist() == [1.0, 3.0] and index.tolist() == [1, 0] and inverse.tolist() == [1, 0, 1]


def test_searchsorted_in_rows() -> None:
    rows, values = np.sort(draw(2, 3, 5), axis=-1), draw(2, 3, 4)
    for side in ("left", "right"):
        wanted = [[np.searchsorted(r, v, side) for r, v in zip(a, b)] for a, b in zip(rows, values)]
        assert (ops.searchsorted(rows, values, side) == np.array(wanted)).all()
    with pytest.raises(ValueError, match="rows"):
        ops.searchsorted(rows, values[0])


def test_multinomial() -> None:
    p = np.array([0.1, 0.6, 0.3])
    counts = wg.random.multinomial(wg.random.key(3), 20, p, (3000,)).numpy()
    assert (counts.sum(-1) == 20).all()
    for i in range(3):
        wanted = scipy.stats.binom(20, p[i])
        assert abs(counts[:, i].mean() - wanted.mean()) < 5 * wanted.std() / 3000**0.5
        assert abs(counts[:, i].var() / wanted.var() - 1) < 0.15
    assert abs(np.corrcoef(counts.T)[0, 1] + np.sqrt(0.1 * 0.6 / 0.9 / 0.4)) < 0.08
    sure = wg.random.multinomial(wg.random.key(3), [4, 7], [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    assert sure.numpy().tolist() == [[0, 4, 0], [0, 0, 7]]
    traced = wg.function(lambda k: wg.random.multinomial(k, 5, p, (2,)))(wg.random.key(1))
    assert (traced == wg.random.multinomial(wg.random.key(1), 5, p, (2,)).numpy()).all()


@pytest.mark.parametrize("call", [
    lambda: wg.fft.dct(np.ones(3), 5), lambda: wg.fft.dct(np.ones(3), norm="other"), lambda: wg.fft.dct(np.ones(1), 1),
    lambda: linalg.solve_banded((1, 1), np.ones((2, 3)), np.ones(3)), lambda: ops.diag_embed(1.0),
    lambda: linalg.tridiagonal_solve(np.ones(3), np.ones(3), np.ones(2), np.ones((3, 1))),
    lambda: ops.select_scatter(np.ones((2, 2)), np.ones(3), 0, 0), lambda: ops.mode(np.ones((2, 0))),
    lambda: wg.random.multinomial(wg.random.key(1), 3, 0.5),
])  # fmt: skip
def test_what_does_not_fit_is_told(call: Any) -> None:
    with pytest.raises(ValueError, match=r"\w+: "):
        call()


def test_no_samples_have_no_areas() -> None:
    for f in (ops.cumulative_trapezoid, wg.function(ops.cumulative_trapezoid)):
        assert f(np.zeros((1, 0))).shape == (1, 0)


def test_running_extrema_of_truth_values_are_truth_values() -> None:
    x = np.array([[True, False], [False, True]])
    for f, expected in ((ops.cummin, np.logical_and.accumulate(x)), (ops.cummax, np.logical_or.accumulate(x))):
        for run in (f, wg.function(f)):
            found = run(x, axis=0)
            assert found.dtype == bool
            np.testing.assert_array_equal(found, expected)
