"""Sparse Jacobians and Hessians: the pattern that is found, the colouring, and the numbers beside the dense ones."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import wengert as wg
from wengert._transforms import coloring as plans

Array = Any


def entries_of_dense(f: Any, x: Array, trials: int = 3) -> Array:
    """Where the Jacobian is not zero at some random point: what a pattern must hold."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(trials):
        point = rng.normal(size=x.shape) + 1.5
        jac = wg.jacobian(f, unconnected_gradients="zero")(point)
        found = found + abs(np.asarray(jac).reshape(-1, x.size))
    return found != 0


X6, X34, S4 = np.arange(1.0, 7.0), np.arange(1.0, 13.0).reshape(3, 4), np.eye(4) * 5 + np.arange(16.0).reshape(4, 4) / 9
W = np.array([[1.0, 0, 0, 2], [0, 1, 0, 0]])


def running(x: Any) -> Any:
    return wg.fori_loop(0, 5, lambda i, c: c.at[i + 1].set(c[i + 1] + np.sin(c[i])), x * 1.0)


def buffered(x: Any) -> Any:
    b = wg.buffer(6)
    b[0] = x[0]
    for i in range(5):
        b[i + 1] = b[i] * x[i + 1] if i % 2 else x[i + 1]
    b[2] += x[5]
    return b.value


@wg.custom_gradient
def own_sine(x: Any) -> Any:
    return np.sin(x), lambda upstream: upstream * np.cos(x)


EXACT = {
    "square": (lambda x: x * x, X6),
    "roll": (lambda x: np.roll(x, 1) * x, X6),
    "differences": (lambda x: np.diff(x) ** 2, X6),
    "band": (lambda x: x[:-2] * x[1:-1] + np.sin(x[2:]), X6),
    "constant matrix": (lambda x: W @ x, X6[:4]),
    "constant matrix behind": (lambda x: x @ W.T, X34),
    "constant mask": (lambda x: x * np.array([0.0, 1, 0, 1, 1, 0]), X6),
    "outer": (lambda x: np.outer(x, x), X6),
    "gram": (lambda x: x @ x.T, X34),
    "einsum": (lambda x: np.einsum("ij,kj->ik", x, X34), X34),
    "sum over an axis": (lambda x: x.sum(axis=0), X34),
    "product over an axis": (lambda x: np.prod(x, axis=0), X34),
    "norm": (lambda x: np.linalg.norm(x, axis=1), X34),
    "softmax": (lambda x: wg.nn.softmax(x, axis=1), X34),
    "cumsum": (lambda x: np.cumsum(x, axis=1), X34),
    "cumsum of flipped": (lambda x: np.cumsum(x[::-1]), X6),
    "cumprod": (np.cumprod, X6),
    "gather": (lambda x: x[np.array([0, 3, 3, -1])] ** 2, X6),
    "scatter add": (lambda x: wg.tensor(np.zeros(8)).at[np.array([0, 3, 3])].add(x[:3]), X6),
    "scatter set": (lambda x: x.at[np.array([0, 3])].set(x[4:]), X6),
    "constant condition": (lambda x: np.where(np.arange(6) < 3, x, x[::-1]), X6),
    "inverse": (lambda x: np.linalg.inv(x + S4), S4),
    "inverses": (lambda x: np.linalg.inv(x.reshape(3, 2, 2) + 5 * np.eye(2)), X34),
    "solve": (lambda x: np.linalg.solve(S4, x), S4[0]),
    "concatenate": (lambda x: np.concatenate([x[:2], x[3:] * x[0]]), X6),
    "stack": (lambda x: np.stack([x, x[::-1]], axis=1), X6),
    "transpose": (lambda x: x.T[1:], X34),
    "lower triangle": (np.tril, X34),
    "diagonal": (np.diag, X6),
    "convolution": (lambda x: np.convolve(x, [1.0, 2, 3]), X6),
    "pooling": (lambda x: wg.ops.average_pool(x.reshape(1, 6, 1), 2, 1), X6),
    "floor": (lambda x: np.floor(x) + x[0], X6),
    "loop": (running, X6),
    "scan": (lambda x: wg.scan(lambda c, a: (c + a, c * a), x[0], x)[1], X6),
    "scan backwards": (lambda x: wg.scan(lambda c, a: (c + a, c * a), x[0], x, reverse=True)[1], X6),
    "map": (lambda x: wg.map(lambda row: np.sin(row) * row[0], x), X34),
    "buffer": (buffered, X6),
    "custom gradient": (lambda x: own_sine(x) * x[0], X6),
    "recomputed": (wg.recompute_grad(lambda x: x**2 * np.roll(x, 2)), X6),
    "compiled": (wg.function(lambda x: x**2 * np.roll(x, 2)), X6),
    "interpolation": (lambda x: np.interp(np.array([0.5, 1.5]), np.arange(6.0), x), X6),
    "gradient": (wg.grad(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()), X6),
    "gradient of a loop": (wg.grad(lambda x: (running(x) ** 2).sum()), X6),
    "constant": (lambda x: wg.stop_gradient(x) + x[0], X6),
}  # fmt: skip

BY_VALUES = {
    "condition": (lambda x: np.where(x > 2, x, x[::-1]), X6),
    "sort": (np.sort, X6),
    "argsort": (lambda x: x[np.argsort(x)], X6),
    "median": (lambda x: np.median(x, axis=1), X34),
    "maximum": (lambda x: x.max(axis=1), X34),
    "branches": (lambda x: wg.cond(x[0] > 1, lambda x: x * x[1], lambda x: x * x[2], x), X6),
    "while": (lambda x: wg.while_loop(lambda c: c.sum() < 100, lambda c: c * np.roll(c, 1) + c, x), X6),
    "scatter by values": (lambda x: wg.tensor(np.zeros(6)).at[np.argsort(x)].add(x), X6),
    "history": (wg.grad(lambda x: wg.fori_loop(0, 4, lambda i, c: c * np.sin(c), x, checkpoint=2).sum()), X6),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_the_pattern_is_exact(name: str) -> None:
    f, x = EXACT[name]
    np.testing.assert_array_equal(wg.sparsity(f)(x).toarray(), entries_of_dense(f, x))


@pytest.mark.parametrize("name", BY_VALUES)
def test_what_values_decide_is_in_the_pattern(name: str) -> None:
    f, x = BY_VALUES[name]
    assert np.all(wg.sparsity(f)(x).toarray() | ~entries_of_dense(f, x))


def random_step(rng: Any, size: int) -> Any:
    """A random function of a vector that mixes elements."""
    by, places, some = int(rng.integers(1, size)), rng.integers(-size, size, size), rng.integers(0, size, 5)
    matrix, mask = rng.normal(size=(size, size)) * (rng.random((size, size)) < 0.15), rng.random(size) < 0.5
    return [
        lambda x: x * np.roll(x, by),
        lambda x: np.sin(x[places]),
        lambda x: np.concatenate([x[1:] * x[:-1], x[:1]]),
        lambda x: matrix @ x + x,
        lambda x: np.tile(x.reshape(3, -1).sum(axis=0), 3) * x,
        lambda x: x.reshape(4, 3).T.reshape(-1) + np.exp(x / 9),
        lambda x: np.where(mask, x**2, x[::-1]),
        lambda x: wg.tensor(x).at[some].add(x[:5] ** 2),
        lambda x: np.cumsum(x.reshape(6, 2), axis=0).reshape(-1) * 0.1,
    ][rng.integers(9)]


def random_function(seed: int, size: int = 12) -> Any:
    """A chain of random steps; the same steps at each call."""
    rng = np.random.default_rng(seed)
    steps = [random_step(rng, size) for _ in range(rng.integers(2, 6))]

    def f(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    return f


@pytest.mark.parametrize("seed", range(25))
def test_random_functions(seed: int) -> None:
    f = random_function(seed)
    x = np.random.default_rng(seed).normal(size=12)
    dense = wg.jacobian(f, unconnected_gradients="zero")(x)
    pattern = wg.sparsity(f)(x)
    assert np.all(pattern.toarray() | ~entries_of_dense(f, x))
    for options in (
        {"sparsity": "detect"}, {"sparsity": pattern}, {"sparsity": "detect", "mode": "forward"},
        {"sparsity": "detect", "mode": "reverse"}, {"sparsity": wg.coloring(pattern, "mixed")},
        {"sparsity": "detect", "chunk": 2},
    ):  # fmt: skip
        found = wg.jacobian(f, **options)(x)
        assert type(found) is sp.csr_array
        # sums of other entries of the same colour come in by products with 0: equal up to rounding
        np.testing.assert_allclose(found.toarray(), dense, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("seed", range(15))
def test_random_hessians(seed: int) -> None:
    f = random_function(seed)
    x = np.random.default_rng(seed).normal(size=12)

    def loss(x: Any) -> Any:
        return (f(x) ** 2).sum()

    dense = wg.hessian(loss)(x)
    pattern = wg.sparsity(loss, order=2)(x)
    assert np.all(pattern.toarray() | (abs(dense) < 1e-12))
    triangle = sp.triu(pattern).tocsr()
    for given in ("detect", triangle, wg.coloring(pattern), wg.coloring(triangle, "symmetric")):
        found = wg.hessian(loss, sparsity=given)(x)
        np.testing.assert_allclose(found.toarray(), dense, rtol=1e-11, atol=1e-11)  # products in another order


# -- colourings -------------------------------------------------------------------------------------------------------


def random_pattern(rng: Any, rows: int, columns: int, density: float) -> Any:
    return sp.csr_array(rng.random((rows, columns)) < density)


@pytest.mark.parametrize("seed", range(20))
def test_colorings_are_valid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern = random_pattern(rng, int(rng.integers(1, 40)), int(rng.integers(1, 40)), rng.random() * 0.3)
    assert plans.is_column_coloring(pattern, wg.coloring(pattern, "column").column_colors)
    assert plans.is_column_coloring(pattern.T.tocsr(), wg.coloring(pattern, "row").row_colors)
    mixed = wg.coloring(pattern, "mixed")
    forward = np.flatnonzero(mixed.row_colors < 0) if len(mixed.row_colors) else np.arange(pattern.shape[0])
    assert plans.is_column_coloring(pattern[forward], mixed.column_colors)
    square = random_pattern(rng, 25, 25, rng.random() * 0.3)
    symmetric = wg.coloring(square, "symmetric")
    assert plans.is_star_coloring(symmetric.pattern, symmetric.column_colors)


def test_the_checks_of_colorings_can_fail() -> None:
    band = sp.csr_array(sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(9, 9)))
    assert not plans.is_column_coloring(band, np.arange(9) % 2)
    assert plans.is_column_coloring(band, np.arange(9) % 3)
    assert not plans.is_star_coloring(band, np.arange(9) % 2)
    assert plans.is_star_coloring(band, np.arange(9) % 3)


def bundle_adjustment(cameras: int, points: int, observations: int, rng: Any) -> tuple[Any, int]:
    """Residuals, and the number of unknowns. They touch one camera of 11 parameters, one point of 3 and one weight each."""
    of_camera, of_point = rng.integers(0, cameras, observations), rng.integers(0, points, observations)

    def residuals(x: Any) -> Any:
        cams = x[: 11 * cameras].reshape(cameras, 11)[of_camera]
        pts = x[11 * cameras : 11 * cameras + 3 * points].reshape(points, 3)[of_point]
        weights = x[11 * cameras + 3 * points :]
        moved = pts - cams[:, 3:6] + np.cross(cams[:, :3], pts)
        plane = moved[:, :2] / (4 + moved[:, 2:])
        radius = (plane**2).sum(axis=1, keepdims=True)
        bent = plane * (1 + cams[:, 9:10] * radius + cams[:, 10:11] * radius**2) * cams[:, 6:7] + cams[
            :, 7:9
        ] @ np.array([[1.0, 0.1], [0.0, 1.0]])
        return np.concatenate([(weights[:, None] * bent).reshape(-1), 1 - weights**2])

    return residuals, 11 * cameras + 3 * points + observations


def test_bundle_adjustment_takes_15_passes() -> None:
    rng = np.random.default_rng(0)
    f, size = bundle_adjustment(6, 40, 150, rng)
    x = rng.normal(size=size) * 0.1
    pattern = wg.sparsity(f)(x)
    assert np.diff(pattern.indptr).max() == 15
    assert wg.coloring(pattern).count == 15
    dense = wg.jacobian(f)(x)
    np.testing.assert_allclose(
        wg.jacobian(f, sparsity="detect")(x).toarray(), dense, rtol=1e-12, atol=1e-12
    )  # rounding
    shuffled = pattern[:, rng.permutation(size)]
    assert wg.coloring(shuffled).count == 15


def test_a_large_bundle_adjustment_takes_15_passes() -> None:
    rng = np.random.default_rng(1)
    f, size = bundle_adjustment(49, 7776, 31843, rng)
    x = rng.normal(size=size) * 0.1
    start = time.thread_time()
    pattern = wg.sparsity(f)(x)
    coloring = wg.coloring(pattern)
    assert coloring.count == 15
    assert time.thread_time() - start < 60  # seconds: two are usual; a quadratic search would take hours


@pytest.mark.parametrize("width", [3, 5])
def test_100_000_banded_rows_take_as_many_passes_as_the_band_is_wide(width: int) -> None:
    size = 100_000

    def f(x: Any) -> Any:
        return sum((k + 1) * x[k : size - width + 1 + k] ** 2 for k in range(width))

    x = np.random.default_rng(0).normal(size=size)
    start = time.thread_time()
    found = wg.jacobian(f, sparsity="detect")(x)
    assert time.thread_time() - start < 60  # seconds: one is usual; the dense matrix would have 80 GB
    assert wg.coloring(found).count == width
    assert found.shape == (size - width + 1, size)
    rows = np.arange(size - width + 1)
    for k in range(width):
        np.testing.assert_allclose(found[rows, rows + k], 2 * (k + 1) * x[rows + k], rtol=1e-15)  # one product


def test_passes_are_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of directions that are pushed is the number of colours."""
    import wengert.differentiation.sparse as module

    pushed: list[int] = []
    original = module.products

    def counting(linear: Any, x: Any, directions: Any, name: str) -> Any:
        batches = [*directions]
        pushed.append(sum(b.shape[0] for b in batches))
        return original(linear, x, batches, name)

    monkeypatch.setattr(module, "products", counting)
    x = np.arange(50.0)
    wg.jacobian(lambda x: x[2:] * x[1:-1] + x[:-2], sparsity="detect")(x)
    wg.hessian(lambda x: (x[1:] * x[:-1]).sum(), sparsity="detect")(x)
    assert pushed == [3, 3]


def test_an_arrow_takes_few_passes_in_both_directions() -> None:
    pattern = sp.lil_array((300, 300), dtype=bool)
    pattern[0, :] = pattern[:, 0] = True
    pattern.setdiag(True)
    found = wg.coloring(pattern)
    assert (found.mode, found.count) == ("mixed", 3)
    assert wg.coloring(pattern, "symmetric").count == 2

    def f(x: Any) -> Any:
        return np.concatenate([(x**2).sum()[None], x[1:] ** 3 * x[0]])

    x = np.arange(1.0, 301.0)
    np.testing.assert_allclose(wg.jacobian(f, sparsity=found)(x).toarray(), wg.jacobian(f)(x), rtol=1e-14)  # rounding


# -- the interface ----------------------------------------------------------------------------------------------------


def test_coloring_is_reusable_and_tells_what_it_is() -> None:
    pattern = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(30, 30))
    c = wg.coloring(pattern)
    assert repr(c) == "<column coloring of a 30 x 30 pattern: 3 passes>"
    assert (c.mode, c.count, c.pattern.nnz) == ("column", 3, 88)
    assert c.row_colors.size == 0
    g = wg.jacobian(lambda x: np.convolve(x, [1.0, 2.0, 3.0], "same") ** 2, sparsity=c)
    for seed in range(2):
        x = np.random.default_rng(seed).normal(size=30)
        np.testing.assert_allclose(
            g(x).toarray(), wg.jacobian(lambda x: np.convolve(x, [1.0, 2.0, 3.0], "same") ** 2)(x), rtol=1e-13
        )  # rounding


def test_value_and_jacobian_and_other_arguments() -> None:
    x = np.array([1.0, 2.0, 3.0])
    value, jac = wg.value_and_jacobian(lambda k, x, n: k * x**n, argnums=1, sparsity="detect")(2.0, x, 3)
    np.testing.assert_array_equal(value, 2 * x**3)
    assert type(value) is np.ndarray
    np.testing.assert_array_equal(jac.toarray(), np.diag(6 * x**2))
    tensor, _ = wg.value_and_jacobian(lambda x: x**2, sparsity="detect")(wg.tensor(x))
    assert type(tensor) is wg.Tensor


def test_shapes_dtypes_and_zeros() -> None:
    x = np.ones((2, 3), np.float32)
    found = wg.jacobian(lambda x: x.T * 2, sparsity="detect")(x)
    assert found.shape == (6, 6)
    assert found.dtype == np.float32
    empty = wg.jacobian(lambda x: np.floor(x), sparsity="detect")(x)
    assert (empty.shape, empty.nnz) == ((6, 6), 0)
    assert wg.hessian(lambda x: x.sum(), sparsity="detect")(x).nnz == 0


def test_rows_where_forward_mode_is_not_defined() -> None:
    @wg.custom_gradient
    def odd(x: Any) -> Any:
        return x**3, lambda upstream: np.where(upstream > -1e300, upstream, 0.0) * 3 * x**2  # not seen to be linear

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(wg.jacobian(odd, sparsity="detect")(x).toarray(), np.diag(3 * x**2))
    with pytest.raises(LookupError, match="forward mode"):
        wg.jacobian(odd, sparsity="detect", mode="forward")(x)


def test_errors() -> None:
    x = np.ones(3)
    with pytest.raises(TypeError, match="join its parts with wg.tree.ravel"):
        wg.jacobian(lambda p: p["a"], sparsity="detect")({"a": x})
    with pytest.raises(TypeError, match="f returns one array"):
        wg.jacobian(lambda x: (x, x), sparsity="detect")(x)
    with pytest.raises(TypeError, match="real and floating"):
        wg.jacobian(lambda x: x * 1j, sparsity="detect")(x)
    with pytest.raises(ValueError, match=r"shape \(2, 2\), wanted \(3, 3\)"):
        wg.jacobian(lambda x: x, sparsity=np.eye(2))(x)
    with pytest.raises(ValueError, match="unknown sparsity 'dense'"):
        wg.jacobian(lambda x: x, sparsity="dense")
    with pytest.raises(TypeError, match="SciPy sparse matrix"):
        wg.jacobian(lambda x: x, sparsity=3)
    with pytest.raises(ValueError, match="for Hessians"):
        wg.jacobian(lambda x: x, sparsity=wg.coloring(np.eye(3), "symmetric"))
    with pytest.raises(ValueError, match="leave out mode"):
        wg.jacobian(lambda x: x, sparsity=wg.coloring(np.eye(3), "row"), mode="forward")
    with pytest.raises(ValueError, match="unknown mode"):
        wg.coloring(np.eye(3), "best")
    with pytest.raises(ValueError, match="square"):
        wg.coloring(np.ones((2, 3)), "symmetric")
    with pytest.raises(ValueError, match="one argument"):
        wg.jacobian(lambda x, y: x, argnums=(0, 1), sparsity="detect")(x, x)
    with pytest.raises(ValueError, match="wanted 1 or 2"):
        wg.sparsity(lambda x: x, order=3)


def test_a_sparse_matrix_holds_numbers_only() -> None:
    x = np.ones(3)
    with pytest.raises(wg.LostGradientError, match="leave out sparsity"):
        wg.grad(lambda x: wg.jacobian(lambda x: x**2, sparsity="detect")(x).sum())(x)


def chain(x: Array, shift: Any = 0.5) -> Array:
    """A Jacobian with a full row, which mixed plans take by a reverse pass."""
    return np.concatenate([np.sum(x**3)[None], np.sin(x[1:]) * x[:-1] + shift])


@pytest.mark.parametrize("mode", ["detect", "row", "mixed"])
def test_inside_of_a_trace_the_data_are_an_array_that_can_be_differentiated(mode: str) -> None:
    x = np.random.default_rng(4).normal(size=9)
    given = "detect" if mode == "detect" else wg.coloring(wg.sparsity(chain)(x), mode)
    jacobian = wg.value_and_jacobian(chain, sparsity=given)
    value, matrix = jacobian(x)
    np.testing.assert_allclose(matrix.toarray(), wg.jacobian(chain)(x), rtol=1e-13)
    cubes = wg.grad(lambda x: np.sum(jacobian(x)[1] ** 3))
    found = wg.function(lambda x: (jacobian(x), cubes(x)))(x)
    np.testing.assert_allclose(found[0][0], value, rtol=1e-13)
    np.testing.assert_allclose(found[0][1], matrix.data, rtol=1e-13)
    np.testing.assert_allclose(found[1], wg.grad(lambda x: np.sum(wg.jacobian(chain)(x) ** 3))(x), rtol=1e-12)


def test_inside_of_a_trace_hessians_and_other_arguments() -> None:
    x, w = np.random.default_rng(4).normal(size=(2, 9))
    energy = lambda x, w: np.sum((x[1:] - x[:-1] ** 2) ** 2 * w[1:]) + np.sum(np.cos(x))
    wanted = wg.hessian(energy)(x, w)
    compiled = wg.function(wg.hessian(energy, sparsity="detect"))
    found = wg.hessian(energy, sparsity="detect")(x, w)
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-12)
    for scale in (1.0, 2.0):
        data = compiled(x, scale * w)
        wanted = wg.hessian(energy)(x, scale * w)
        np.testing.assert_allclose(sp.csr_array((data, found.indices, found.indptr)).toarray(), wanted, rtol=1e-12)


def test_inside_of_a_trace_captured_masks_that_change_are_seen() -> None:
    mask = np.array([True, False, True, True])
    x = np.arange(1.0, 5.0)
    compiled = wg.function(wg.jacobian(lambda x: np.where(mask, x**2, 0.0), sparsity="detect"))
    np.testing.assert_array_equal(compiled(x), [2, 6, 8])
    mask[:] = ~mask
    np.testing.assert_array_equal(compiled(x), [4])


def test_nothing_to_differentiate_has_no_entries() -> None:
    f = lambda x: x[:0]
    assert wg.jacobian(f, sparsity="detect")(np.ones(3)).shape == (0, 3)
    assert wg.function(wg.jacobian(f, sparsity="detect"))(np.ones(3)).shape == (0,)


def test_extents_that_depend_on_values_are_refused() -> None:
    with pytest.raises((ValueError, TypeError)):
        wg.sparsity(lambda x: x[x > 0] ** 2)(np.ones(3))


@pytest.mark.parametrize(
    ("columns", "rows", "mode"), [(8, 6, "column"), (9, 6, "row"), (4, 3, "column"), (3, 2, "row")]
)
def test_rows_are_taken_where_they_are_two_thirds_as_many(columns: int, rows: int, mode: str) -> None:
    """A reverse pass costs more than a forward one; of a full block each column and each row has its own."""
    assert wg.coloring(np.ones((rows, columns))).mode == mode
