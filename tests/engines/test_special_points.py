"""Special functions on every engine at the recorded points: frameworks' own functions have no wrong digits among the first.

Their bounds are wide, 1e6 units (2e-10, in float32 1e4 units: 1e-3); where a framework's function has less it runs on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from tests.support import special_accuracy as A
from tests.support.engines import every_users_engine, native, ndarray

VALUES = [sample for sample in A.samples() if not any(sample.orders)]


@every_users_engine
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sample", VALUES, ids=[sample.name for sample in VALUES])
@pytest.mark.sampled(40)
def test_values_at_the_recorded_points(sample: A.Sample, dtype: Any, engine: str) -> None:
    own = sample.counted(dtype)
    tiny = float(np.finfo(dtype).tiny)
    # frameworks flush denormal numbers to 0, and some their neighbours
    is_normal = np.all([(p == 0) | (np.abs(p) > 4 * tiny) for p in own.points], axis=0)
    own = own.only(is_normal & (np.abs(own.wanted) > 1e3 * tiny) & (np.abs(own.wanted) < np.finfo(dtype).max))
    if not len(own.wanted):
        return
    with np.errstate(all="ignore"):
        found = ndarray(A.function_of(own.name)(*(native(engine, p.astype(dtype)) for p in own.points)))
    error = A.errors(own, found)
    worst = int(error.argmax())
    place = [float(p[worst]) for p in own.points]
    limit = 1e6 if dtype == np.float64 else 1e4
    assert error[worst] <= limit, f"{own.name} at {place}: {found[worst]!r}, wanted {own.wanted[worst]!r}"


@every_users_engine
@pytest.mark.parametrize("name", ["erf", "erfc", "ndtr", "ndtri", "erfinv", "expit"])
def test_values_at_infinities(name: str, engine: str) -> None:
    f = getattr(wg.special, name)
    for dtype in (np.float64, np.float32, np.float16):
        points = np.array([np.inf, -np.inf, np.nan, 0.5, 0.0], dtype)
        with np.errstate(all="ignore"):
            found, wanted = ndarray(f(native(engine, points))), f(points)
        np.testing.assert_allclose(found, wanted, rtol=10 * np.finfo(dtype).eps)


POLES = np.array([-1.0, -2.0, 0.0, -1e20, -0.5, -np.inf])


@every_users_engine
@pytest.mark.parametrize("order", [1, 2, 6, 7, 12])
def test_polygamma_at_its_poles_is_the_limit_from_above(order: int, engine: str) -> None:
    found = ndarray(wg.special.polygamma(order, native(engine, POLES)))
    np.testing.assert_allclose(found, scipy.special.polygamma(order, POLES), rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 6, 7, 12])
def test_polygamma_at_its_poles_eager_and_compiled(order: int) -> None:
    def f(x: Any) -> Any:
        return wg.special.polygamma(order, x)

    wanted = scipy.special.polygamma(order, POLES)
    np.testing.assert_allclose(f(POLES), wanted, rtol=1e-12)
    np.testing.assert_allclose(wg.function(f)(POLES), wanted, rtol=1e-12)
