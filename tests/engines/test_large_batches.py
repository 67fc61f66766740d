"""NumPy's kernels do large batches in parts, between which the user can interrupt; results are those of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._engines.numpy import common, fourier, indexing

RNG = np.random.default_rng(0)
MATRICES = RNG.normal(size=(5, 2, 4, 4))
MATRICES = MATRICES @ np.swapaxes(MATRICES, -1, -2) + np.eye(4)
POINTS = RNG.normal(size=(7, 3, 8))

CALLS: dict[str, Any] = {
    "eigh": lambda: wg.linalg.eigh(MATRICES),
    "eig": lambda: wg.linalg.eig(MATRICES),
    "svd": lambda: wg.linalg.svd(MATRICES, full_matrices=False),
    "qr": lambda: wg.linalg.qr(MATRICES[..., :3]),
    "solve": lambda: wg.linalg.solve(MATRICES, MATRICES[..., :2]),
    "inv": lambda: wg.linalg.inv(MATRICES),
    "cholesky": lambda: wg.linalg.cholesky(MATRICES),
    "det": lambda: wg.linalg.det(MATRICES),
    "slogdet": lambda: wg.linalg.slogdet(MATRICES),
    "pinv": lambda: wg.linalg.pinv(MATRICES),
    "expm": lambda: wg.linalg.expm(MATRICES * 0.1),
    "det in half floats": lambda: wg.linalg.det(wg.tensor(MATRICES.astype(np.float16))),
    "fft": lambda: wg.fft.fft(POINTS),
    "fft2 of the first axes": lambda: wg.fft.fftn(POINTS, axes=(0, 1)),
    "rfft": lambda: wg.fft.rfft(POINTS),
    "rfft along the first axis": lambda: wg.fft.rfft(POINTS, axis=0),
    "irfft": lambda: wg.fft.irfft(POINTS + 0j, 11),
    "rows from anywhere": lambda: wg.tensor(POINTS)[np.array([[0, -1], [5, 2], [3, 3]])],
    "elements from anywhere": lambda: wg.tensor(POINTS)[np.array([0, -1, 5]), np.array([0, 1, 2]), np.array([-1, 0, 7])],
    "rows of nothing": lambda: wg.tensor(POINTS[:, :0])[np.array([0, 5])],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_parts_give_the_results_of_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = CALLS[name]()
    monkeypatch.setattr(common, "AT_ONCE", 200)
    monkeypatch.setattr(fourier, "_AT_ONCE", 50)
    monkeypatch.setattr(indexing, "_GATHERED", 5)
    found = CALLS[name]()
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for x, y in pairs:
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-12, atol=1e-12)


def test_a_singular_matrix_of_a_later_part_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "AT_ONCE", 64)
    matrices = MATRICES.copy()
    matrices[3, 1] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        wg.linalg.inv(matrices)


def test_a_place_out_of_bounds_in_a_later_part_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_GATHERED", 2)
    with pytest.raises(IndexError, match="9 is out of bounds"):
        wg.tensor(np.ones(4))[np.array([0, 1, 2, 3, 0, 9])]
