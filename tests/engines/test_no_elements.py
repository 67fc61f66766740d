"""Arrays without elements: every engine gives what NumPy's does, gradients included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import every_users_engine, native, ndarray

LINES: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(wg.fft, name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "dct", "idct", "rfft2", "irfft2")},
    "sort": wg.sort,
    "argsort": lambda x: wg.ops.cast(wg.argsort(x), "float64") + 0.0 * x,
    "cumsum": wg.cumsum,
    "cumprod": lambda x: wg.ops.cumprod(x, axis=-1),
    "cummax": lambda x: wg.ops.associative_scan(wg.maximum, x, axis=-1),
    "logsumexp": lambda x: wg.ops.logsumexp(x, axis=-1),
    "softmax": lambda x: wg.nn.softmax(x),
    "max": lambda x: wg.max(x, axis=-1),
    "median": lambda x: wg.ops.median(x, axis=-1),
    "norm": lambda x: wg.linalg.norm(x, axis=-1),
    "diff": wg.diff,
    "pool": lambda x: wg.ops.max_pool(x, 2, padding="same"),
    "conv": lambda x: wg.ops.conv(x, np.ones((2, 4, 3)), padding="same"),
    "top_k": lambda x: wg.ops.top_k(x, 2)[0],
    "take": lambda x: wg.ops.take(x, [1, 0], axis=-1),
    "unfold": lambda x: wg.ops.unfold(x[..., None, :, :], 2),
    "product": lambda x: wg.matmul(x, np.ones((4, 2))),
}  # fmt: skip
MATRICES: dict[str, Callable[[Any], Any]] = {
    name: getattr(wg.linalg, name) for name in ("det", "inv", "cholesky", "eigvalsh", "svdvals", "qr", "slogdet", "pinv")
}  # fmt: skip


def outcome(f: Callable[[Any], Any], x: Any) -> Any:
    """Shapes and dtypes of the results and of the gradient, or what was raised."""

    def loss(x: Any) -> Any:
        return sum(wg.sum(wg.abs(y)) for y in wg.tree.leaves(f(x)))

    results = [ndarray(y) for y in [*wg.tree.leaves(f(x)), wg.grad(loss)(x)]]
    return [(y.shape, y.dtype) for y in results]


@every_users_engine
@pytest.mark.parametrize("shape", [(0, 2, 4), (2, 0, 4)])
@pytest.mark.parametrize("name", LINES)
def test_lines(name: str, shape: tuple[int, ...], engine: str) -> None:
    if name in ("rfft2", "irfft2", "pool", "conv", "unfold") and 0 in shape[1:]:
        pytest.skip("a transform, and a window, need at least one number along their axes")
    x = np.zeros(shape)
    assert outcome(LINES[name], native(engine, x)) == outcome(LINES[name], x)


@every_users_engine
@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, engine: str) -> None:
    x = np.zeros((0, 3, 3))
    assert outcome(MATRICES[name], native(engine, x)) == outcome(MATRICES[name], x)


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "traced"])
@pytest.mark.parametrize("shapes", [((1, 0), (0, 1), (1, 0)), ((0, 0), (1, 1), (2, 1))])
def test_matrices_that_do_not_fit_are_refused_without_elements(shapes: Any, wrap: Any) -> None:
    with pytest.raises(ValueError, match="solve_sylvester: .*(wanted square matrices|do not fit together)"):
        wrap(wg.linalg.solve_sylvester)(*map(np.zeros, shapes))
