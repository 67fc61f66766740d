"""Functions that no module gives anew: their classes, the objects of these, and what they use of other modules."""

from __future__ import annotations

import math
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import norm

import wengert as wg

X = np.array([0.4, 0.7])


class Base:
    def __init__(self, k: Any) -> None:
        self.k = float(k)

    def run(self, x: Any) -> Any:
        return math.sin(self.k * x[0])

    @property
    def growth(self) -> Any:
        return math.exp(self.k)

    @staticmethod
    def bent(x: Any) -> Any:
        return math.cos(x)

    @classmethod
    def make(cls, k: Any) -> Any:
        return cls(k)


class Child(Base):
    def run(self, x: Any) -> Any:
        return super().run(x) + np.array([x[0], x[1] ** 2]).sum()


@dataclass(frozen=True)
class Held:
    a: float

    def root(self) -> Any:
        return math.sqrt(self.a)


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = float(a)


BEFORE = Base(2.0)


def differences(f: Any, h: float = 1e-6) -> Any:
    return np.array([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(2)])


def assert_followed(f: Any) -> None:
    np.testing.assert_allclose(wg.grad(wg.adopt(f))(X), differences(f), rtol=1e-6, atol=1e-8)


def test_classes_come_along_with_their_methods() -> None:
    def f(x: Any) -> Any:
        child = Child.make(x[1])
        assert isinstance(child, Base) and type(child) is Child
        return child.run(x) + child.growth + Base.bent(x[0]) + Held(x[0]).root() + Slotted(x[1]).a ** 2

    assert_followed(f)
    assert isinstance(Child(1.0).run(X), float)


def test_objects_made_before_are_of_the_copied_class_and_share_what_they_hold() -> None:
    def f(x: Any) -> Any:
        setattr(BEFORE, "seen", BEFORE.k)  # noqa: B010  # the class does not declare it
        assert isinstance(BEFORE, Base)
        return BEFORE.run(x)

    given = Child(3.0)
    assert_followed(f)
    assert vars(BEFORE)["seen"] == 2.0
    assert wg.adopt(lambda x: isinstance(x, (int, Base)))(given)


def test_scipys_functions_and_distributions_that_a_script_imports() -> None:
    assert_followed(lambda x: np.sum(lfilter([x[0], 1.0], [1.0, x[1]], np.arange(4.0))) + norm.logpdf(x[0], scale=x[1]))


def test_modules_beside_the_script_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        import math
        import numpy as np
        def bend(x):
            return math.exp(float(x[0])) * np.array([x[0], x[1]]).sum()
        class Model:
            def __init__(self, k):
                self.k = float(k)
            def run(self, x):
                return math.sin(self.k * x[0])
    """
    (tmp_path / "beside_a_script.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    import beside_a_script as beside  # pyright: ignore[reportMissingImports]  # written by the test

    bend, Model = beside.bend, beside.Model
    assert_followed(lambda x: bend(x) + Model(x[1]).run(x) + beside.bend(x))
    assert isinstance(bend(X), float) and sys.modules["beside_a_script"] is beside


def test_arrays_of_objects_beside_tensors() -> None:
    def f(x: Any) -> Any:
        cells = np.empty(2, object)
        cells[0], cells[1] = x[0], x[1] * 2
        return (cells * cells).sum() + (x * cells).sum() + (cells / x).sum()

    assert_followed(f)
    np.testing.assert_allclose(wg.grad(f)(X), differences(f), rtol=1e-6)


def test_a_matrix_of_which_one_triangle_is_filled_has_the_gradient_of_that_triangle() -> None:
    def from_triangle(x: Any) -> Any:
        a = np.zeros((3, 3))
        a[np.tril_indices(3)] = x
        values, vectors = np.linalg.eigh(a)
        upper = np.linalg.eigvalsh(a.T, "U")
        return values @ np.arange(3.0) + np.abs(vectors[0]) @ upper + np.linalg.cholesky(a @ a.T + a)[2].sum()

    x = np.array([2.0, 0.3, 1.0, 0.2, 0.5, 3.0])
    f = wg.adopt(from_triangle)
    moved = x + 1e-6 * np.eye(6)
    slopes = [(from_triangle(m) - from_triangle(2 * x - m)) / 2e-6 for m in moved]
    np.testing.assert_allclose(wg.grad(f)(x), slopes, rtol=1e-6, atol=1e-8)


class _Arrays:
    __getitem__ = np.array


class _Wave:
    shape = math.sin

    def at(self, x: Any) -> Any:
        return self.shape(x)


def test_built_in_functions_in_classes_are_no_methods() -> None:
    def f(x: Any) -> Any:
        return (_Arrays()[x, 2.0 * x] ** 2).sum() + _Wave().at(x)

    copied = wg.adopt(f)
    assert copied(0.4) == f(0.4)
    assert np.isclose(wg.grad(copied)(0.4), 10 * 0.4 + math.cos(0.4))
    assert np.isclose(wg.function(wg.grad(copied))(0.4), 10 * 0.4 + math.cos(0.4))
