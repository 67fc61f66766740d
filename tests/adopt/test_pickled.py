"""Copies are pickled by the names they have, or as the original and the call that made them."""

from __future__ import annotations

import copy
import importlib
import inspect
import math
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy
import wengert.scipy

SOURCE = """
import functools, math
import numpy as np

def length(x):
    a = np.zeros(2)
    a[0], a[1] = math.sin(x), float(x) ** 2
    return a.sum()

@functools.lru_cache
def twice(n):
    return 2 * n

class Spring:
    class Part:
        def weight(self):
            return 1.5

    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return self.k * float(x) ** 2

    @staticmethod
    def at_rest(x):
        return math.exp(x)
"""


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("pickled")
    (folder / "adoptable_springs").mkdir()
    (folder / "adoptable_springs" / "__init__.py").write_text("from .parts import Spring, length, twice\n")
    (folder / "adoptable_springs" / "parts.py").write_text(SOURCE)
    sys.path.insert(0, str(folder))
    yield "adoptable_springs"
    sys.path.remove(str(folder))


@wg.adopt
def decorated(x: float, k: float = 2.0) -> float:
    """The sine of x."""
    return k * math.sin(float(x))


def plain(x: float) -> float:
    return math.cos(float(x)) + float(np.array([x, 3.0])[0])


def again(made: Any) -> Any:
    return pickle.loads(pickle.dumps(made))


def test_what_is_in_a_copied_module_is_pickled_by_the_copys_name(name: str) -> None:
    m = wg.adopt(name)
    for made in (m, m.parts, m.length, m.twice, m.Spring, m.Spring.Part, m.Spring.at_rest):
        assert again(made) is made
        assert copy.deepcopy(made) is made
    assert again(m.Spring(3.0).energy)(2.0) == 12.0
    assert again(m.Spring.Part()).weight() == 1.5
    for made in (wg.grad(m.length), wg.function(wg.grad(m.length)), wg.grad(m.Spring(3.0).energy)):
        assert again(made)(0.5) == made(0.5)


def test_another_choice_of_modules_has_names_of_its_own(name: str) -> None:
    m, other = wg.adopt(name), wg.adopt(name, skip=(f"{name}.nothing",))
    assert m.length is not other.length
    assert again(other.length) is other.length and again(m.length) is m.length


def test_originals_keep_their_names(name: str) -> None:
    wg.adopt(name)
    original = importlib.import_module(name)
    try:
        assert original.Spring.__module__ == original.length.__module__ == f"{name}.parts"
        assert again(original.length) is original.length
    finally:
        for module in (name, f"{name}.parts"):
            del sys.modules[module]


def test_a_copys_name_can_be_imported_where_nothing_is_known_of_it(name: str) -> None:
    m = wg.adopt(name)
    for length in (m.length, wg.adopt(name, skip=(f"{name}.nothing",)).length):
        alias = length.__module__
        known = sys.modules.pop(alias)
        assert importlib.import_module(alias) is known
        assert again(length) is length
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        importlib.import_module(alias.partition("adoptable")[0] + "no_such_module")


def numpys_names(x: float) -> Any:
    return np, np.add, np.float64, np.ndarray, float


@pytest.mark.parametrize("library", ["pickle", "cloudpickle"])
def test_what_stands_for_numpys_names_is_pickled_as_itself(library: str) -> None:
    send = pytest.importorskip(library, reason="cloudpickle comes with the frameworks")
    for made in (*wg.adopt(numpys_names)(1.0), wengert.numpy.float64, wengert.numpy.ndarray):
        assert pickle.loads(send.dumps(made)) is made
    held = wengert.scipy.interpolate.KroghInterpolator(np.arange(3.0), wg.tensor([0.0, 1.0, 4.0]))
    assert float(pickle.loads(send.dumps(held))(1.5)) == 2.25


def copied_plain() -> Callable[[float], float]:
    from wengert.adopt import _own_copy  # `wg.adopt(plain)` would copy this module

    return _own_copy(plain, "__main__", frozenset())


def test_a_function_of_no_module_is_pickled_as_the_original_and_the_call() -> None:
    made = copied_plain()
    assert np.isclose(wg.grad(again(made))(0.7), 1.0 - math.sin(0.7))
    assert again(wg.vmap(wg.grad(made)))(np.array([0.7])).shape == (1,)
    assert inspect.signature(made) == inspect.signature(plain)
    assert (made.__name__, made.__doc__) == (plain.__name__, plain.__doc__)


def test_a_decorator_gives_what_looks_like_the_function() -> None:
    assert np.isclose(wg.grad(again(decorated))(0.3), 2.0 * math.cos(0.3))
    assert list(inspect.signature(wg.grad(decorated)).parameters) == ["x", "k"]
    assert decorated.__doc__ == "The sine of x."
