"""Special functions over their whole domains, against 40-digit values in `tests/spec/special.json` (made by `make_special.py`).

The unit of an error is explained in `tests/support/special_accuracy.py`; the largest ones stand on the functions' pages.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from docs.making import accuracy
from tests.support import special_accuracy as A
from wengert import special

STATED = accuracy.rows()
MOST = 5000  # units: 1e-12, and in float32 6e-4
SAMPLES = A.samples()
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[f"{s.name} {s.orders}" for s in SAMPLES])
PATIENCE = 0.05  # seconds of a point, value or derivative


def test_every_special_function_is_recorded_and_measured() -> None:
    functions = {getattr(special, name) for name in special.__all__}
    assert {getattr(special, name) for name in {s.function for s in SAMPLES}} == functions
    assert {*STATED} == {s.function for s in SAMPLES}


@every_sample
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.sampled(60)
def test_errors_are_at_most_what_the_page_states(sample: A.Sample, dtype: Any) -> None:
    own = sample.counted(dtype)
    if not len(own.wanted):
        return
    found = A.computed(own, dtype)
    stated = int(STATED[own.function][A.kind_of(own.orders, dtype)])
    assert stated <= MOST
    error = A.errors(own, found)
    rows = zip(zip(*own.points, strict=True), found, own.wanted, error, strict=True)
    assert error.max() <= stated, "\n".join(
        f"{own.name} {own.orders} at {place}: {value!r}, wanted {wanted!r}: off by {e:.3g} units, stated {stated}"
        for place, value, wanted, e in rows
        if e > stated
    )


@every_sample
@pytest.mark.sampled(60)
def test_every_point_takes_bounded_time(sample: A.Sample) -> None:
    f = A.derivative_of(A.function_of(sample.name), sample.orders)

    def seconds(points: list[Any]) -> float:
        begun = time.thread_time()
        with np.errstate(all="ignore"):
            f(*points)
        return time.thread_time() - begun

    def slow(points: list[Any]) -> list[Any]:
        """The slow points: a series for many takes as long as for the slowest of them, so halves tell."""
        if min(seconds(points) for _ in range(2)) < PATIENCE:
            return []
        if len(points[0]) == 1:
            return [points]
        middle = len(points[0]) // 2
        return [*slow([p[:middle] for p in points]), *slow([p[middle:] for p in points])]

    seconds(sample.points)  # SciPy is loaded at the first call
    assert slow(sample.points) == []


def test_large_negative_arguments_of_polygamma_take_no_steps() -> None:
    begun = time.thread_time()
    assert special.polygamma(1, -(2.0**40) - 0.5) == pytest.approx(np.pi**2, rel=1e-11)
    assert time.thread_time() - begun < PATIENCE


def test_a_page_states_the_errors() -> None:
    text = accuracy.accuracy(type("Op", (), {"path": "special.erfcx", "aliases": []})())  # type: ignore[arg-type]
    assert f"{STATED['erfcx']['value']} units" in text
    assert f"{STATED['erfcx']['gradient in float32']} units" in text
    assert not accuracy.accuracy(type("Op", (), {"path": "linalg.det", "aliases": []})())  # type: ignore[arg-type]
