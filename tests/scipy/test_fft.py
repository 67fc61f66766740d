"""`wengert.scipy.fft` against SciPy's: values, and slopes against differences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.fft as reference

import wengert as wg
import wengert.scipy.fft as fft
from tests.scipy.against import agrees_with_scipy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 6))
Z = X + 1j * RNG.normal(size=(4, 6))
NORMS = (None, "ortho", "forward")

CASES = [
    *[(n, x, {"norm": norm}) for n in ("fft", "ifft", "hfft", "fft2", "ifft2", "fftn", "ifftn", "hfft2", "hfftn", "irfft",
                                       "irfft2", "irfftn") for x, norm in zip((Z, Z, Z), NORMS)],
    *[(n, X, {"norm": norm}) for n in ("rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn") for norm in NORMS],
    *[(n, X, {"type": t, "norm": norm}) for n in ("dct", "idct", "dst", "idst") for t in (1, 2, 3, 4) for norm in NORMS],
    *[(n, X, {"type": t}) for n in ("dctn", "idctn", "dstn", "idstn") for t in (2, 3)],
    ("fft", X, {}), ("fft", Z, {"n": 3, "axis": 0}), ("rfft", X, {"n": 8}), ("fftn", Z, {"s": (3,)}),
    ("dct", X, {"n": 4, "axis": 0}), ("dst", X, {"n": 9}), ("dctn", X, {"axes": (0,), "norm": "ortho"}),
    ("dstn", X, {"s": (3, 8)}), ("fftshift", X, {}), ("ifftshift", X, {"axes": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "options"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_values_and_slopes_are_those_of_scipys_function(name, x, options):
    ours, theirs = (partial(getattr(m, name), **options) for m in (fft, reference))
    agrees_with_scipy(ours, theirs, (x,))
    np.testing.assert_array_equal(ours(x), theirs(x))


def test_single_precision_stays():
    x = wg.tensor(X.astype(np.float32))
    assert fft.dst(x).dtype == fft.dctn(x).dtype == np.float32
    assert fft.fft(x).dtype == np.complex64
