"""Roots found by comparisons alone: an adopted copy refuses to lose their derivative; other searches keep theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

from . import bracketing_samples as samples

A = 2.3
COPY = wg.adopt(samples)


def _argument(f: Callable[..., Any]) -> Any:
    return np.array([2.3, 1.2]) if f in samples.OF_ARRAYS else A


def _gradient(f: Callable[..., Any], x: Any) -> Any:
    return wg.grad(f)(x)


def _jvp(f: Callable[..., Any], x: Any) -> Any:
    return wg.jvp(f, (x,), (np.ones_like(x),))[1]


def _compiled(f: Callable[..., Any], x: Any) -> Any:
    return wg.function(f)(x)


@pytest.mark.parametrize("f", samples.LOST, ids=lambda f: f.__name__)
def test_a_derivative_that_comparisons_would_lose_is_refused(f: Callable[..., Any]) -> None:
    x, copy = _argument(f), getattr(COPY, f.__name__)
    assert np.isclose(float(copy(x)), f(x), rtol=1e-12)
    for differentiate in (_gradient, _jvp):
        with pytest.raises(wg.LostGradientError, match="narrows an interval by comparisons alone") as told:
            differentiate(copy, x)
        assert "bracketing_samples.py" in str(told.value)


@pytest.mark.parametrize("f", samples.KEPT, ids=lambda f: f.__name__)
def test_other_searches_keep_their_derivatives(f: Callable[..., Any]) -> None:
    copy = getattr(COPY, f.__name__)
    slope = (f(A + 1e-6) - f(A - 1e-6)) / 2e-6
    assert np.isclose(wg.grad(copy)(A), slope, rtol=1e-4)
    assert np.isclose(_jvp(copy, A), slope, rtol=1e-4)


def test_a_trace_refuses_it_as_well() -> None:
    with pytest.raises(wg.LostGradientError, match="narrows an interval"):
        _compiled(COPY.chosen, np.array([2.3, 1.2]))


def test_the_cure_that_the_message_names() -> None:
    root = wg.custom_root(lambda x, a: x * x - a, lambda f, x0, a: COPY.halved(a) / a)
    assert np.isclose(wg.grad(lambda a: root(1.0, a) * a)(A), 1.5 * A**0.5, rtol=1e-9)


def test_functions_that_no_module_can_give_anew_are_checked_too(tmp_path: Path) -> None:
    def outer(scale: float) -> Callable[..., Any]:
        def root(a: Any) -> Any:
            low, high = 0.0, 3.0
            for _ in range(60):
                mid = (low + high) / 2
                if mid * mid * scale > a:
                    high = mid
                else:
                    low = mid
            return mid * a

        return root

    copy = wg.adopt(outer(1.0))
    assert np.isclose(float(copy(A)), A**1.5)
    with pytest.raises(wg.LostGradientError, match="narrows an interval"):
        wg.grad(copy)(A)
