"""Slopes of inverse functions on their branch cuts: those of the side that the sign of a zero part names."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

POINTS = [
    1.9 + 0j,
    complex(1.9, -0.0),
    -1.9 + 0j,
    complex(-1.9, -0.0),
    0.5 + 0j,
    complex(-0.5, -0.0),
    -1.2 + 0.3j,
    0.3 - 1.4j,
]


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arccosh", "arcsinh", "arctanh", "arctan"])
@pytest.mark.parametrize("is_turned", [False, True])
def test_slopes_on_cuts(name: str, is_turned: bool) -> None:
    f, step = getattr(np, name), 1e-6
    for point in POINTS:
        # along the cut, on its side
        z = np.complex128(complex(point.imag, point.real) if is_turned else point)
        near = [complex(z.real, z.imag + s) if is_turned else complex(z.real + s, z.imag) for s in (step, -step)]
        way = 1j if is_turned else 1.0
        ends = [f(np.complex128(w)) for w in near]
        wanted = (ends[0] - ends[1]) / (2 * step * way)
        for slope in (
            wg.jvp(f, (z,), (np.complex128(1.0),))[1],
            wg.function(lambda z: wg.jvp(f, (z,), (np.complex128(1.0),))[1])(z),
            np.conj(wg.grad(lambda z: wg.ops.real(f(z)))(z)),
        ):
            np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-8, err_msg=f"{name} at {z}")
