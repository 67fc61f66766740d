"""NumPy's namespace on tensors: unmodified `np` functions are recorded, and so is `import wengert.numpy as np`.

Each row is a function written with a namespace; it runs with NumPy itself and with wengert.numpy, its gradient is
compared with differences, and its values, shapes and dtypes with NumPy's.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support.slopes import check

V = numpy.array([0.31, -0.52, 0.73, 1.24])
W = numpy.array([1.1, 0.6, 2.3, 0.4])
M = numpy.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.7]])
N = numpy.array([[0.9, -1.2], [0.3, 0.8], [1.7, 0.1]])
S = numpy.array([[2.0, 0.3, 0.1], [0.2, 3.0, 0.4], [0.1, 0.5, 4.0]])

Row = tuple[str, Callable[..., Any], tuple[Any, ...]]

# Each of these runs as plain NumPy code on tensors too.
ROWS: list[Row] = [
    ("sin", lambda np, x: np.sin(x), (V,)),
    ("exp of sum", lambda np, x: np.exp(np.sum(x)), (V,)),
    ("logistic loss", lambda np, w: np.sum(np.log1p(np.exp(-(M @ w) * W[:2]))), (V[:3],)),
    ("hypot", lambda np, x, y: np.hypot(x, y), (V, W)),
    ("arctan2", lambda np, x, y: np.arctan2(x, y), (V, W)),
    ("power", lambda np, x, y: np.power(x, y), (W, V)),
    ("float_power", lambda np, x: np.float_power(x, 2), (V,)),
    ("maximum", lambda np, x, y: np.maximum(x, y) * x, (V, W)),
    ("minimum", lambda np, x: np.minimum(x, 0.5), (V,)),
    ("fmax", lambda np, x, y: np.fmax(x, y) * x, (V, W)),
    ("logaddexp", lambda np, x, y: np.logaddexp(x, y), (V, W)),
    ("mod", lambda np, x: np.mod(x, 0.5), (V,)),
    ("fmod", lambda np, x: np.fmod(x, 0.5), (V,)),
    ("divmod", lambda np, x: np.divmod(x, 0.5)[1], (V,)),
    ("modf", lambda np, x: np.modf(x)[0] * x, (W,)),
    ("sinc", lambda np, x: np.sinc(x), (V,)),
    ("absolute", lambda np, x: np.abs(x) ** 3, (V,)),
    ("deg2rad", lambda np, x: np.sin(np.deg2rad(x)) + np.degrees(x), (V,)),
    ("ldexp", lambda np, x: np.ldexp(x, 2), (V,)),
    ("nan_to_num", lambda np, x: np.nan_to_num(x * numpy.array([1.0, numpy.nan, 2.0, 3.0])) * x, (V,)),
    ("clip", lambda np, x: np.clip(x, 0.0, 1.0) * x, (V,)),
    ("clip by tensors", lambda np, x, y: np.clip(x, -y, y) ** 2, (V, W)),
    ("clip from below", lambda np, x: np.clip(x, 0.0, None) ** 2, (V,)),
    ("round", lambda np, x: np.round(x, 1) + x, (V,)),
    ("real", lambda np, x: np.real(x * 1j) + np.imag(x * 2j), (V,)),
    ("conj", lambda np, x: np.real(np.conj(x * 1j) * x * 1j), (V,)),
    ("angle", lambda np, x: np.angle(x + 1j), (V,)),
    ("sum", lambda np, x: np.sum(x, axis=1, keepdims=True) ** 2, (M,)),
    ("sum where", lambda np, x: np.sum(x**2, where=M > 0, initial=2.0), (M,)),
    ("prod", lambda np, x: np.prod(x, axis=0), (M,)),
    ("prod with a zero", lambda np, x: np.prod(x), (numpy.array([0.0, 2.0, 3.0]),)),
    ("mean", lambda np, x: np.mean(x, axis=(0, 1)) * x, (M,)),
    ("mean where", lambda np, x: np.mean(x**2, axis=1, where=M > 0), (M,)),
    ("var", lambda np, x: np.var(x, axis=1, ddof=1), (M,)),
    ("std", lambda np, x: np.std(x, axis=0), (M,)),
    ("max", lambda np, x: np.max(x, axis=1) ** 2, (M,)),
    ("min", lambda np, x: np.min(x, axis=0, initial=0.1) ** 2, (M,)),
    ("amax where", lambda np, x: np.amax(x, where=M < 1, initial=-5.0) ** 2, (M,)),
    ("ptp", lambda np, x: np.ptp(x, axis=1) ** 2, (M,)),
    ("average", lambda np, x, w: np.average(x, weights=w), (V, W)),
    ("average by rows", lambda np, x, w: np.average(x, axis=1, weights=w), (M, W[:3])),
    ("cumsum", lambda np, x: np.cumsum(x, axis=1) ** 2, (M,)),
    ("cumprod", lambda np, x: np.cumprod(x), (V,)),
    ("cumulative_sum", lambda np, x: np.cumulative_sum(x, include_initial=True) ** 2, (V,)),
    ("nansum", lambda np, x: np.nansum(x * numpy.array([1.0, numpy.nan, 2.0, 1.0])), (V,)),
    ("nanmean", lambda np, x: np.nanmean(x * numpy.array([1.0, numpy.nan, 2.0, 1.0])), (V,)),
    ("nanvar", lambda np, x: np.nanvar(x * numpy.array([1.0, numpy.nan, 2.0, 1.0])), (V,)),
    ("nanmax", lambda np, x: np.nanmax(x * numpy.array([1.0, numpy.nan, 2.0, 1.0])), (V,)),
    ("diff", lambda np, x: np.diff(x, n=2) ** 2, (V,)),
    ("diff with ends", lambda np, x: np.diff(x, prepend=0.0, append=x[:1]) ** 2, (V,)),
    ("ediff1d", lambda np, x: np.ediff1d(x, to_begin=x[0]) ** 2, (V,)),
    ("trapezoid", lambda np, y, x: np.trapezoid(y, x), (V, W)),
    ("gradient", lambda np, x: np.gradient(x, 0.5) ** 2, (V,)),
    ("cov", lambda np, x: np.cov(x), (M,)),
    ("cov weighted", lambda np, x, w: np.cov(x, aweights=w), (M, W[:3])),
    ("corrcoef", lambda np, x: np.corrcoef(x)[0, 1], (M,)),
    ("reshape", lambda np, x: np.reshape(x, (3, -1)) @ x, (M,)),
    ("reshape in Fortran's order", lambda np, x: np.reshape(x, (3, 2), order="F") @ x, (M,)),
    ("ravel", lambda np, x: np.ravel(x)[1:] ** 2, (M,)),
    ("transpose", lambda np, x: np.transpose(x) @ x, (M,)),
    ("swapaxes", lambda np, x: np.swapaxes(x, 0, 1) @ x, (M,)),
    ("moveaxis", lambda np, x: np.moveaxis(x, 0, -1) @ x, (M,)),
    ("squeeze", lambda np, x: np.squeeze(np.expand_dims(x, (0, 2)))[0] ** 2, (M,)),
    ("broadcast_to", lambda np, x: np.broadcast_to(x, (3, 4)) * W, (V,)),
    ("atleast_2d", lambda np, x: np.atleast_2d(x) @ np.atleast_3d(x)[0], (V,)),
    ("concatenate", lambda np, x, y: np.concatenate([x, y, [1.0]]) ** 2, (V, W)),
    ("concatenate flat", lambda np, x, y: np.concatenate([x, y], axis=None) ** 2, (M, N)),
    ("stack", lambda np, x, y: np.stack([x, y], axis=1) ** 2, (V, W)),
    ("vstack", lambda np, x, y: np.vstack([x, y]) @ x, (V, W)),
    ("hstack", lambda np, x, y: np.hstack([x, y]) ** 2, (V, W)),
    ("dstack", lambda np, x, y: np.dstack([x, y]) ** 2, (V, W)),
    ("column_stack", lambda np, x, y: np.column_stack([x, y]) ** 2, (V, W)),
    ("block", lambda np, x, y: np.block([[x, y.T], [numpy.ones((1, 3)), numpy.zeros((1, 3))]]) ** 2, (M, N)),
    ("append", lambda np, x, y: np.append(x, y) ** 2, (V, W)),
    ("split", lambda np, x: np.split(x, 2)[1] ** 2, (V,)),
    ("array_split", lambda np, x: np.array_split(x, 3)[0] ** 2, (V,)),
    ("hsplit", lambda np, x: np.hsplit(x, [1])[1] ** 2, (M,)),
    ("unstack", lambda np, x: np.unstack(x)[0] * np.unstack(x)[1], (M,)),
    ("tile", lambda np, x: np.tile(x, (2, 2)) ** 2, (V,)),
    ("repeat", lambda np, x: np.repeat(x, [1, 0, 2, 3]) ** 2, (V,)),
    ("roll", lambda np, x: np.roll(x, 1) * x, (V,)),
    ("roll along axes", lambda np, x: np.roll(x, (1, 2), axis=(0, 1)) * x, (M,)),
    ("flip", lambda np, x: np.flip(x) * x, (V,)),
    ("rot90", lambda np, x: np.rot90(x) @ x, (M,)),
    ("pad", lambda np, x: np.pad(x, (1, 2)) ** 2, (V,)),
    ("pad by reflection", lambda np, x: np.pad(x, 1, mode="reflect") ** 2, (M,)),
    ("pad odd", lambda np, x: np.pad(x, ((1, 0), (5, 4)), mode="reflect", reflect_type="odd") ** 2, (M,)),
    ("pad odd with edges", lambda np, x: np.pad(x, (2, 3), mode="symmetric", reflect_type="odd") ** 2, (M,)),
    ("pad by a ramp", lambda np, x: np.pad(x, ((1, 2), (0, 3)), mode="linear_ramp", end_values=((1, 4), (2, 3))) ** 2, (M,)),
    ("pad by means", lambda np, x: np.pad(x, 1, mode="mean", stat_length=((1, 2), (3, 2))) ** 2, (M,)),
    ("pad by medians", lambda np, x: np.pad(x, 2, mode="median", stat_length=2) ** 2, (M,)),
    ("pad by the largest", lambda np, x: np.pad(x, ((0, 2), (1, 1)), mode="maximum") * np.pad(x, ((0, 2), (1, 1)), mode="minimum"), (M,)),
    ("diag", lambda np, x: np.diag(x, 1)[0] ** 2, (V,)),
    ("diagonal", lambda np, x: np.diagonal(x, 1) ** 2, (S,)),
    ("trace", lambda np, x: np.trace(x @ x), (S,)),
    ("tril", lambda np, x: np.tril(x) @ np.triu(x, 1), (S,)),
    ("where", lambda np, x, y: np.where(x > y, x**2, y), (V, W)),
    ("where guards", lambda np, x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0), (V,)),
    ("select", lambda np, x: np.select([x > 1, x > 0], [x**2, x**3], 2 * x), (V,)),
    ("choose", lambda np, x: np.choose([0, 1, 0, 1], [x, x**2]), (V,)),
    ("take", lambda np, x: np.take(x, [[0, 2], [2, 1]], axis=1) ** 2, (M,)),
    ("take_along_axis", lambda np, x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1)[:, 0] ** 2, (M,)),
    ("compress", lambda np, x: np.compress([True, False, True], x, axis=1) ** 2, (M,)),
    ("extract", lambda np, x: np.extract(M > 0, x) ** 2, (M,)),
    ("delete", lambda np, x: np.delete(x, 1) ** 2, (V,)),
    ("insert", lambda np, x: np.insert(x, 1, x[0]) ** 2, (V,)),
    ("sort", lambda np, x: np.sort(x, axis=0)[0] ** 2, (M,)),
    ("bincount", lambda np, w: np.bincount([0, 2, 0, 1], weights=w) ** 2, (V,)),
    ("dot", lambda np, x, y: np.dot(x, y), (M, N)),
    ("matmul", lambda np, x, y: np.matmul(x, y), (M, N)),
    ("vdot", lambda np, x, y: np.vdot(x, y), (V, W)),
    ("inner", lambda np, x, y: np.inner(x, y), (M, N.T)),
    ("outer", lambda np, x, y: np.outer(x, y) ** 2, (V, W)),
    ("tensordot", lambda np, x, y: np.tensordot(x, y, axes=([0], [1])), (M, N)),
    ("einsum", lambda np, x, y: np.einsum("ij,jk->ik", x, y) ** 2, (M, N)),
    ("einsum by axes", lambda np, x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]) ** 2, (M, N)),
    ("kron", lambda np, x, y: np.kron(x, y) ** 2, (M, N)),
    ("cross", lambda np, x, y: np.cross(x, y) ** 2, (V[:3], W[:3])),
    ("vecdot", lambda np, x, y: np.vecdot(x, y), (M, N.T)),
    ("polyval", lambda np, p, x: np.polyval(p, x), (V, W)),
    ("convolve", lambda np, x, y: np.convolve(x, y) ** 2, (V, W[:3])),
    ("convolve to the same size", lambda np, x, y: np.convolve(x, y, "same") ** 2, (V, W[:3])),
    ("correlate", lambda np, x, y: np.correlate(x, y, "full") ** 2, (V, W[:3])),
    ("unwrap", lambda np, x: np.unwrap(x * 6) ** 2, (V,)),
    ("vander", lambda np, x: np.vander(x, 3), (V,)),
    ("full_like", lambda np, x: np.full_like(x, 2.0) * x, (V,)),
    ("zeros_like", lambda np, x: np.zeros_like(x) + x**2, (V,)),
    ("astype", lambda np, x: np.astype(x, numpy.float64) ** 2, (V,)),
    ("norm", lambda np, x: np.linalg.norm(x), (V,)),
    ("solve", lambda np, a, b: np.linalg.solve(a, b), (S, N)),
    ("inv", lambda np, a: np.linalg.inv(a), (S,)),
    ("matrix_power", lambda np, a: np.linalg.matrix_power(a, 3), (S,)),
    ("multi_dot", lambda np, a, b: np.linalg.multi_dot([b.T, a, b]), (S, N)),
    ("norm of rows", lambda np, a: np.linalg.norm(a, axis=1, ord=3), (M,)),
    ("cholesky", lambda np, a: np.linalg.cholesky(a @ a.T), (S,)),
]  # fmt: skip

# These build arrays from tensors, or from tensors inside lists, which NumPy itself does not show us.
BUILDERS: list[Row] = [
    ("array", lambda np, x: np.array([x[0], 2 * x[1]]) ** 2, (V,)),
    ("array of rows", lambda np, x: np.array([[x[0], 1.0], [2.0, x[1]]]) ** 2, (V,)),
    ("asarray", lambda np, x: np.asarray([x, x**2]) ** 2, (V,)),
    ("sum of list", lambda np, x: np.sum([x[0], x[1] ** 2]), (V,)),
    ("mean of list", lambda np, x: np.mean([x, x**2], axis=0) ** 2, (M,)),
    ("max of list", lambda np, x: np.max([x[0], x[1]]) ** 2, (V,)),
    ("full", lambda np, x: np.full((2, 2), x[0]) ** 2, (V,)),
    ("linspace", lambda np, x: np.linspace(x[0], x[1], 5) ** 2, (V,)),
    ("logspace", lambda np, x: np.logspace(x[0], x[1], 3), (V,)),
    ("geomspace", lambda np, x: np.geomspace(x[0], x[1], 3) ** 2, (W,)),
    ("meshgrid", lambda np, x, y: np.meshgrid(x, y)[0] * np.meshgrid(x, y, indexing="ij")[1].T, (V, W)),
    ("meshgrid, sparse", lambda np, x, y: math.prod(np.meshgrid(x, y, sparse=True)), (V, W)),
    ("dot of lists", lambda np, x: np.dot([x[0], x[1]], [x[2], x[3]]), (V,)),
    ("loop", lambda np, x: np.stack([np.sin(v) for v in x]) ** 2, (V,)),
]  # fmt: skip


def rows(table: list[Row]) -> Any:
    return pytest.mark.parametrize(("f", "points"), [pytest.param(f, points, id=name) for name, f, points in table])


def with_namespace(f: Callable[..., Any], np: Any) -> Callable[..., Any]:
    return lambda *arrays: f(np, *arrays)


def test_the_table_is_long_enough() -> None:
    assert len(ROWS) >= 80


@rows(ROWS)
def test_numpy_itself_is_recorded(f: Callable[..., Any], points: Any) -> None:
    check(with_namespace(f, numpy), *points)


@rows(ROWS + BUILDERS)
def test_the_namespace_is_recorded(f: Callable[..., Any], points: Any) -> None:
    check(with_namespace(f, wnp), *points, plain=with_namespace(f, numpy))


@rows(ROWS + BUILDERS)
@pytest.mark.parametrize("kind", ["array", "tensor", "float32"])
def test_values_shapes_and_dtypes_are_numpys(f: Callable[..., Any], points: Any, kind: str) -> None:
    arrays = [p.astype(numpy.float32) if kind == "float32" else p for p in points]
    theirs = f(numpy, *arrays)
    if kind == "array":
        ours = f(wnp, *arrays)
    else:
        ours = f(wnp, *(wg.tensor(a) for a in arrays))
        assert isinstance(ours, wg.Tensor)
    assert ours.shape == numpy.shape(theirs)
    if kind != "float32" or theirs.dtype == numpy.float32:
        assert ours.dtype == theirs.dtype
    numpy.testing.assert_allclose(numpy.asarray(ours), theirs, rtol=2e-4 if kind == "float32" else 1e-12, atol=1e-6)


@rows([row for row in ROWS if row[0] not in ("full_like", "zeros_like")])
def test_arrays_in_give_fresh_arrays_out(f: Callable[..., Any], points: Any) -> None:
    result = f(wnp, *points)
    assert isinstance(result, (numpy.ndarray, numpy.generic))
    if isinstance(result, numpy.ndarray):
        assert result.flags.writeable
        assert result.flags.c_contiguous
        assert not any(numpy.shares_memory(result, p) for p in points)


@rows(ROWS + BUILDERS)
@pytest.mark.parametrize("np", [pytest.param(numpy, id="numpy"), pytest.param(wnp, id="wengert.numpy")])
def test_traced_functions_give_the_same(f: Callable[..., Any], points: Any, np: Any) -> None:
    if np is numpy and f in [g for _, g, _ in BUILDERS]:
        np = wnp
    traced = wg.function(with_namespace(f, np))
    numpy.testing.assert_allclose(numpy.asarray(traced(*points)), f(numpy, *points), rtol=1e-12, atol=1e-12)


# -- what is not differentiated --------------------------------------------------------------------------------------


DISCRETE: list[Row] = [
    ("argmax", lambda np, x: np.argmax(x, axis=1), (M,)),
    ("argsort", lambda np, x: np.argsort(x), (M,)),
    ("count_nonzero", lambda np, x: np.count_nonzero(x > 0, axis=1), (M,)),
    ("nonzero", lambda np, x: np.nonzero(x > 0)[1], (M,)),
    ("flatnonzero", lambda np, x: np.flatnonzero(x > 0), (M,)),
    ("argwhere", lambda np, x: np.argwhere(x > 0), (M,)),
    ("searchsorted", lambda np, x: np.searchsorted(numpy.sort(V), x), (M,)),
    ("searchsorted, right", lambda np, x: np.searchsorted(np.sort(x), [0.31, 0.5], side="right"), (V,)),
    ("digitize", lambda np, x: np.digitize(x, [-1.0, 0.0, 0.5, 1.0]), (V,)),
    ("digitize downwards", lambda np, x: np.digitize(x, [1.0, 0.5, 0.0, -1.0], right=True), (V,)),
    ("any", lambda np, x: np.any(x > 0, axis=0), (M,)),
    ("all", lambda np, x: np.all(x > 0, axis=1, keepdims=True), (M,)),
    ("isclose", lambda np, x: np.isclose(x, V + 1e-9), (V,)),
    ("isin", lambda np, x: np.isin(x, [0.31, 1.24]), (V,)),
    ("isnan", lambda np, x: np.isnan(x) | np.isinf(x) | np.signbit(x), (V,)),
    ("isposinf", lambda np, x: np.isposinf(x / 0.0), (V,)),
    ("iscomplex", lambda np, x: np.iscomplex(x) | np.isreal(x), (V,)),
    ("logical", lambda np, x: np.logical_and(x, x > 0) ^ np.logical_not(x), (V,)),
]  # fmt: skip


@rows(DISCRETE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integers_and_booleans_under_differentiation(f: Callable[..., Any], points: Any) -> None:
    seen = []

    def counted(*xs: Any) -> Any:
        seen.append((f(numpy, *xs), f(wnp, *xs)))
        return wnp.sum(xs[0])

    wg.grad(counted)(*points)
    expected = f(numpy, *points)
    for ours in (*seen[0], f(wnp, *points)):
        numpy.testing.assert_array_equal(numpy.asarray(ours), expected)
        assert ours.dtype == expected.dtype


def test_questions_about_tensors_have_plain_answers() -> None:
    x = wg.tensor(M)
    for np in (numpy, wnp):
        assert np.shape(x) == (2, 3)
        assert np.ndim(x) == 2
        assert np.size(x) == 6
        assert np.allclose(x, M) is True
        assert np.array_equal(x, M) is True
        assert np.array_equiv(x, M) is True
        assert np.isrealobj(x)
        assert np.result_type(x, numpy.float32) == numpy.float64
        assert "1.3" in np.array_repr(x)


def test_operators_with_arrays_on_the_left() -> None:
    x = wg.tensor(V)
    for result, expected in [
        (W + x, W + V), (W - x, W - V), (W * x, W * V), (W / x, W / V), (W**x, W**V), (N.T @ wg.tensor(N), N.T @ N),
        (numpy.float64(2) * x, 2 * V), (numpy.float32(2) - x, 2 - V), (x == W, W == V), (x < W, W > V),
        (numpy.int64(3) // x, 3 // V), (W % x, W % V), (-x + W, W - V),
    ]:  # fmt: skip
        assert isinstance(result, wg.Tensor)
        numpy.testing.assert_allclose(numpy.asarray(result), expected)
        assert result.dtype == expected.dtype


def test_methods_of_ufuncs() -> None:
    x = wg.tensor(M)
    for result, expected in [
        (numpy.add.reduce(x), numpy.add.reduce(M)), (numpy.add.reduce(x, axis=None), M.sum()),
        (numpy.multiply.reduce(x, axis=1, keepdims=True), M.prod(1, keepdims=True)),
        (numpy.maximum.reduce(x, 1), M.max(1)), (numpy.minimum.reduce(x), M.min(0)),
        (numpy.logical_and.reduce(x > 0), (M > 0).all(0)), (numpy.logical_or.reduce(x > 0, axis=None), True),
        (numpy.logaddexp.reduce(x), numpy.logaddexp.reduce(M)), (numpy.add.accumulate(x, 1), M.cumsum(1)),
        (numpy.maximum.accumulate(x, axis=1), numpy.maximum.accumulate(M, 1)),
        (numpy.subtract.outer(x, x), numpy.subtract.outer(M, M)), (numpy.add(x, 1, dtype="float32"), M + 1),
    ]:  # fmt: skip
        assert isinstance(result, wg.Tensor)
        numpy.testing.assert_allclose(numpy.asarray(result), expected, rtol=1e-6)


def test_out_of_plain_tensors_is_written() -> None:
    buffer = numpy.zeros(4)
    assert numpy.add(wg.tensor(V), 1, out=buffer) is buffer
    numpy.testing.assert_array_equal(buffer, V + 1)
    assert wnp.cumsum(wg.tensor(V), out=buffer) is buffer
    numpy.testing.assert_array_equal(buffer, V.cumsum())
    buffer += wg.tensor(V)
    numpy.testing.assert_array_equal(buffer, V.cumsum() + V)


MAKERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("zeros", lambda np: np.zeros((2, 3))),
    ("ones", lambda np: np.ones(3, int)),
    ("empty", lambda np: np.empty(0)),
    ("eye", lambda np: np.eye(3, 4, 1)),
    ("identity", lambda np: np.identity(2)),
    ("tri", lambda np: np.tri(3, k=-1)),
    ("arange of integers", lambda np: np.arange(2, 9, 3)),
    ("arange of floats", lambda np: np.arange(3.0)),
    ("linspace", lambda np: np.linspace(0, 1, 7, endpoint=False)),
    ("linspace of integers", lambda np: np.linspace(0, 9, 5, dtype=int)),
    ("full", lambda np: np.full((2,), 3)),
    ("array", lambda np: np.array([[1, 2], [3, 4]], ndmin=3)),
    ("array of float32", lambda np: np.array([1, 2], dtype="float32")),
    ("array of array", lambda np: np.array(V)),
    ("ascontiguousarray", lambda np: np.ascontiguousarray(2.0)),
]


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in MAKERS])
def test_makers_give_tensors(make: Callable[[Any], Any]) -> None:
    made, expected = make(wnp), make(numpy)
    assert isinstance(made, wg.Tensor)
    assert made.dtype == expected.dtype
    numpy.testing.assert_array_equal(made.numpy(), expected)


def test_array_copies() -> None:
    data = V.copy()
    x = wnp.array(data)
    data[0] = 100.0
    assert x[0].item() == V[0]


# -- the namespace as a whole ----------------------------------------------------------------------------------------

# The parameters that differ from NumPy's, and why.
OTHER_SIGNATURES = {
    "arange": "NumPy's own signature says less than it takes",
}
ADDED_LATER_TO_NUMPY = {"concat", "cumulative_prod", "cumulative_sum", "unstack", "matvec", "vecmat", "vecdot"}
PARAMETERS_ADDED_LATER = {"sort": {"descending"}, "argsort": {"descending"}}


def functions() -> list[str]:
    ours = [name for name in wnp.__all__ if name not in wnp._numpys_own.__all__]
    return [name for name in ours if isinstance(getattr(wnp, name), types.FunctionType)]


@pytest.mark.parametrize("dtype", [float, "float32", int, "uint8", bool])
def test_descending_order(dtype: Any) -> None:
    values = numpy.array([[3, 1, 2, 1], [0, 1, 1, 0]]).astype(dtype)
    for axis in (0, 1, -1, None):
        rows, along = (values.ravel(), 0) if axis is None else (values, axis)
        order = wnp.argsort(values, axis=axis, descending=True)
        ordered = numpy.take_along_axis(rows, order, along)
        numpy.testing.assert_array_equal(ordered, numpy.flip(numpy.sort(rows, axis=along), axis=along))
        numpy.testing.assert_array_equal(wnp.sort(values, axis=axis, descending=True), ordered)
    assert wnp.argsort(values[0], descending=True)[-2:].tolist() != [3, 1]  # equal elements stay as they came


def test_descending_order_puts_nan_last_and_has_a_gradient() -> None:
    ordered = wnp.sort([1.0, numpy.nan, 3.0], descending=True)
    numpy.testing.assert_array_equal(ordered, [3.0, 1.0, numpy.nan])
    gradient = wg.grad(lambda x: wnp.sort(x, descending=True) @ numpy.array([1.0, 10.0, 100.0]))(
        numpy.array([2.0, 3.0, 1.0])
    )
    assert gradient.tolist() == [10.0, 1.0, 100.0]


@pytest.mark.parametrize("name", functions())
def test_signature_is_numpys(name: str) -> None:
    theirs = getattr(numpy, name, None)
    if theirs is None:
        assert name in ADDED_LATER_TO_NUMPY
        return
    if isinstance(theirs, numpy.ufunc):
        ours = inspect.signature(getattr(wnp, name))
        positional = [p for p in ours.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        assert len(positional) == theirs.nin
        return
    try:
        expected = inspect.signature(theirs)
    except ValueError:
        return
    ours = inspect.signature(getattr(wnp, name))
    if name in OTHER_SIGNATURES:
        return
    later = PARAMETERS_ADDED_LATER.get(name, set()) - expected.parameters.keys()
    parameters = [p for p in ours.parameters.values() if p.name not in later]
    assert [(p.name, _kind(p)) for p in parameters] == [(p.name, _kind(p)) for p in expected.parameters.values()]
    for p, q in zip(parameters, expected.parameters.values()):
        same = p.default is q.default or p.default == q.default
        assert same or (p.default is None and q.default in (numpy._NoValue,)), p


def _kind(parameter: inspect.Parameter) -> str:
    """Position only and position or keyword count as one: NumPy changes its mind between versions."""
    kind = parameter.kind
    return "by position" if kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD) else kind.name


@pytest.mark.parametrize("name", functions())
def test_functions_are_documented(name: str) -> None:
    text = getattr(wnp, name).__doc__
    assert "Example:" in text
    assert "Returns:" in text


def test_what_numpy_has_is_there() -> None:
    for name in dir(numpy):
        assert name.startswith("__") or hasattr(wnp, name), name
    assert wnp.float32 == numpy.float32 and wg.float32 is numpy.float32
    assert wnp.pi == math.pi
    assert wnp.newaxis is None
    assert wnp.random is numpy.random
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        wnp.no_such_name


def test_elementwise_functions_are_the_very_ops() -> None:
    for name in ("sin", "add", "exp", "maximum", "logaddexp", "tanh"):
        assert getattr(wnp, name).__wrapped__ is getattr(wg.ops, name)  # with a ufunc's options


def test_the_namespace_of_a_tensor() -> None:
    x = wg.tensor(V)
    assert x.__array_namespace__() is wg.array_api
    assert x.__array_namespace__().sum(x).item() == V.sum()


def test_ediff1d_keeps_its_dtype() -> None:
    x = numpy.array([1.0, 3.0, 6.0], numpy.float32)
    found = wnp.ediff1d(x, to_end=2, to_begin=[0.5])
    assert found.dtype == numpy.float32
    numpy.testing.assert_array_equal(found, numpy.ediff1d(x, to_end=2, to_begin=numpy.float32(0.5)))
    assert wg.grad(lambda x: numpy.ediff1d(x, to_end=2) * 3)(x).dtype == numpy.float32


_BY_DTYPE = [
    "square",
    "power",
    "floor_divide",
    "left_shift",
    "right_shift",
    "signbit",
    "rint",
    "fabs",
    "modf",
    "sign",
    "exp2",
    "divide",
    "ldexp",
    "mod",
]


@pytest.mark.parametrize("name", _BY_DTYPE)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "float32", "complex64"])
def test_dtypes_are_numpys_eagerly_and_traced(name, dtype):
    reference, f = getattr(numpy, name), getattr(wg, name)
    a, b = numpy.array([2, 1, 0]).astype(dtype), numpy.array([1, 1, 1]).astype(dtype)
    args = (a, b) if name in ("power", "floor_divide", "left_shift", "right_shift", "divide", "ldexp", "mod") else (a,)
    try:
        with numpy.errstate(all="ignore"):
            expected = reference(*args)
    except TypeError:
        if name == "ldexp":
            return  # NumPy's takes fewer dtypes than ours
        for run in (f, wg.function(lambda *x: f(*x))):
            with pytest.raises(TypeError):
                run(*args)
        return
    with numpy.errstate(all="ignore"):
        for run in (f, wg.function(lambda *x: f(*x))):
            found = run(*args)
            pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
            for x, y in pairs:
                assert x.dtype == y.dtype
                numpy.testing.assert_allclose(x, y, rtol=1e-3)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_complex_numbers_have_no_order(name):
    z = numpy.array([1j, 2.0])
    args = (z, z)
    for run in (getattr(wg, name), wg.function(lambda *x: getattr(wg, name)(*x))):
        with pytest.raises(TypeError, match="order"):
            run(*args)
    with pytest.raises(TypeError, match="order"):
        wg.clip(z, 0, 1)


def test_the_sign_of_a_complex_number_is_its_direction():
    z = numpy.array([3 + 4j, 0, -2])
    numpy.testing.assert_allclose(wg.sign(z), numpy.sign(z))
    g = wg.grad(lambda t: wg.sign(t).imag.sum())(z)
    h = 1e-6
    assert numpy.isclose(g[0].real, ((numpy.sign(z + h) - numpy.sign(z - h)).imag[0]) / (2 * h))
    assert numpy.isclose(g[0].imag, ((numpy.sign(z + 1j * h) - numpy.sign(z - 1j * h)).imag[0]) / (2 * h))


def test_places_and_tolerances_may_be_tensors():
    x = wg.tensor([1.0, 2.0, 3.0])
    assert numpy.delete(x, wg.tensor([0, 1])).numpy().tolist() == [3.0]
    assert wg.insert(x, wg.tensor([0]), 9.0).numpy().tolist() == [9.0, 1.0, 2.0, 3.0]
    assert wg.isclose(x, x + 0.5, wg.tensor(0.0), wg.tensor(1.0)).numpy().all()
    with pytest.raises(TypeError, match="rtol"):
        wg.isclose(x, x, x)


def test_ranges_between_arrays_are_arrays():
    for f in (wg.linspace, wg.ops.linspace, wg.logspace, wg.ops.logspace):
        assert type(f(numpy.zeros(2), numpy.ones(2), 3)) is numpy.ndarray
        assert type(f(0.0, 1.0, 3)) is wg.Tensor
        assert type(f(numpy.zeros(2), wg.tensor(1.0), 3)) is wg.Tensor


def test_grids_of_arrays_of_any_rank():
    a = numpy.arange(4.0).reshape(2, 2)
    for x, y in zip(wg.meshgrid(a, [1.0, 2.0]), numpy.meshgrid(a, [1.0, 2.0])):
        numpy.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_searches_and_puts_nan_last(side: str) -> None:
    row = numpy.sort(numpy.random.default_rng(0).normal(size=100_000))  # compared with each other: 10 GB
    values = numpy.concatenate([row, [numpy.nan, -9.0, 9.0]])
    for found in (wnp.searchsorted(row, values, side), wg.function(wnp.searchsorted)(row, values, side)):
        numpy.testing.assert_array_equal(found, numpy.searchsorted(row, values, side))
    numbers = numpy.array([1.0 + 1.0j, 1.0 + 2.0j, 2.0])
    numpy.testing.assert_array_equal(wnp.searchsorted(numbers, [1.0 + 1.5j, 3.0], side), [1, 3])
