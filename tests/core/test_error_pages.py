"""Refusals end with the page of the documentation that tells what to do."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.scipy.ndimage
from tests.support.paths import ROOT
from wengert.errors import SITE


def adopted(x: Any) -> Any:
    return [1, 2, 3][int(x * 2.0)] * x


REFUSALS: dict[str, Callable[[], Any]] = {
    "a cast": lambda: wg.grad(lambda x: float(x))(1.0),
    "an array": lambda: wg.grad(lambda x: np.array([x]))(1.0),
    "a write": lambda: wg.grad(lambda x: np.zeros(2).__setitem__(0, x))(1.0),
    "a function of NumPy": lambda: wg.grad(lambda x: np.save("never", x))(1.0),
    "a function of SciPy": lambda: wg.grad(lambda x: wengert.scipy.signal.bessel(2, x))(np.ones(3)),
    "a masked array": lambda: wg.grad(lambda x: x * np.ma.array([1.0]))(1.0),
    "a cast of adopted code": lambda: wg.function(wg.grad(wg.adopt(adopted)))(0.5),
    "a solver in a trace": lambda: wg.function(wg.custom_root(lambda x: x - 1.0, lambda f, x: float(f(x))))(0.0),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_ends_with_the_page(name: str) -> None:
    with pytest.raises(wg.LostGradientError) as caught:
        REFUSALS[name]()
    lines = str(caught.value).splitlines()
    assert lines[-1] == f"  see {SITE}adopt.md"
    assert sum(SITE in line for line in lines) == 1
    assert any(line.startswith("  at ") for line in lines)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


OTHERS: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "disconnectederror": (wg.DisconnectedError, lambda: wg.grad(lambda x: wg.stop_gradient(x) * 2.0)(1.0)),
    "tracingerror": (wg.TracingError, lambda: wg.function(lambda x: x if x > 0 else -x)(1.0)),
    "gradientcheckerror": (wg.GradientCheckError, lambda: wg.check_gradients(lambda x: wg.abs(x), 0.0)),
    "nonfiniteerror": (wg.errors.NonFiniteError, lambda: debugged(lambda: wg.log(0.0))),
}


def debugged(f: Callable[[], Any]) -> Any:
    with wg.debug_nans():
        return f()


@pytest.mark.parametrize("anchor", OTHERS)
def test_every_error_of_ours_ends_with_its_section(anchor: str) -> None:
    kind, call = OTHERS[anchor]
    with pytest.raises(kind) as caught:
        call()
    lines = str(caught.value).splitlines()
    assert lines[-1] == f"  see {SITE}answers/errors.md#{anchor}"
    assert sum(SITE in line for line in lines) == 1
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_pages_and_sections_are_there() -> None:
    named = {getattr(wg.errors, name) for name in wg.errors.__all__}
    for kind in named:
        page, _, anchor = kind.page.partition("#")
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        heads = [re.sub(r"[^a-z]", "", line.lower()) for line in text.splitlines() if line.startswith("## ")]
        assert not anchor or anchor in heads
