"""`wengert.scipy.fftpack` against SciPy's, of both parities of the length."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fftpack as reference

import wengert.scipy.fftpack as fftpack
from tests.scipy.against import agrees_with_scipy

ROWS = np.random.default_rng(5).normal(size=(5, 6))


@pytest.mark.parametrize("name", [name for name in fftpack.OURS if not name.endswith("shift")])
def test_transforms(name: str) -> None:
    def of(module, **options):
        return lambda x: getattr(module, name)(x, **options)

    agrees_with_scipy(of(fftpack), of(reference), (ROWS,))
    agrees_with_scipy(of(fftpack), of(reference), (ROWS[:, :5].copy(),))
    if not name.endswith(("2", "n")):
        agrees_with_scipy(of(fftpack, n=4, axis=0), of(reference, n=4, axis=0), (ROWS,))
        agrees_with_scipy(of(fftpack, n=9), of(reference, n=9), (ROWS,))
    if "ct" in name or "st" in name:
        agrees_with_scipy(of(fftpack, type=3, norm="ortho"), of(reference, type=3, norm="ortho"), (ROWS,))


def test_shifts() -> None:
    agrees_with_scipy(fftpack.fftshift, reference.fftshift, (ROWS,))
    agrees_with_scipy(fftpack.ifftshift, reference.ifftshift, (ROWS,))
