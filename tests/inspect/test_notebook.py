"""What notebooks show of functions, Variables and distributions, and what `repr` says of them."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import wengert as wg
import wengert.scipy.stats as stats

DRAWN = [
    wg.stats.norm(0, 2),
    wg.stats.gamma(2.0, scale=3.0),
    wg.stats.poisson(4.0),
    stats.beta(2.0, 5.0),
    wg.stats.cauchy(),
]
NAMED = [wg.stats.norm(np.zeros(2)), wg.stats.norm(0.0, -1.0), wg.stats.norm(np.nan)]


def picture(shown: str) -> ElementTree.Element:
    return ElementTree.fromstring(shown.replace("<br>", "<br/>"))


def test_a_function_shows_its_newest_trace() -> None:
    f = wg.function(lambda x: wg.sin(x) * x, name="a<b")
    assert picture(f._repr_html_()).find(".//b").text == "<function a<b, 0 traces>"  # type: ignore[union-attr]
    f(1.0)
    shown = f._repr_html_()
    assert "1 trace&gt;" in shown
    assert "sin" in shown
    assert "<svg" in shown


def test_a_variable_shows_its_name() -> None:
    shown = wg.Variable(np.ones((2, 2)), name="w<1")._repr_html_()
    assert "<b>Variable</b> w&lt;1 shape=(2, 2)" in shown
    assert "Tensor" not in shown


@pytest.mark.parametrize("frozen", DRAWN, ids=repr)
def test_a_distribution_of_numbers_shows_its_density(frozen: Any) -> None:
    paths = picture(frozen._repr_html_()).findall(".//path")
    assert len(paths) == 2
    assert "nan" not in paths[1].attrib["d"]


@pytest.mark.parametrize("frozen", NAMED, ids=repr)
def test_a_distribution_without_one_density_shows_its_name(frozen: Any) -> None:
    assert "<svg" not in frozen._repr_html_()
    assert "wg.stats.norm(" in frozen._repr_html_()


def test_a_distribution_says_how_it_was_made() -> None:
    assert repr(wg.stats.norm(0, scale=2.0)) == "wg.stats.norm(0, scale=2.0)"
    assert repr(stats.norm(0, scale=2.0)) == "<wengert.scipy.stats.norm(0, scale=2.0)>"
