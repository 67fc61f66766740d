"""Random numbers in adopted code: NumPy's, of NumPy's streams, with tensors written into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([1.1, 2.3, 3.2])


def written_to(x: Any) -> Any:
    rng = np.random.default_rng(0)
    v = rng.normal(size=(2, 3))
    v[0] += x
    old = np.random.RandomState(1)
    w = old.rand(3)
    w *= x
    np.random.seed(3)
    u = np.random.randn(3)
    u[1] -= x[0]
    t = np.random.Generator(np.random.PCG64(5)).standard_normal(3)
    t[:2] *= x[1:]
    for child in rng.spawn(1):
        t += child.uniform() + child.uniform(size=3)
    return (v**2).sum() + (w * u).sum() + t.prod() + rng.normal() + old.normal(2.0, 0.1)


def drawn_into(x: Any) -> Any:
    a = np.empty((2, 3))
    rng = np.random.default_rng(2)
    rng.standard_normal(out=a[0])
    rng.random(out=a[1])
    return (a * x).sum() + rng.random()


def shuffled(x: Any) -> Any:
    rng, old = np.random.default_rng(0), np.random.RandomState(4)
    a = rng.normal(size=(4, 3))
    a[2] = x
    rng.shuffle(a)
    rng.shuffle(a, axis=1)
    old.shuffle(a)
    b = x * 1.0
    np.random.seed(0)
    np.random.shuffle(b)
    whole = rng.permutation(5)
    rng.shuffle(whole)
    return (a * np.arange(12.0).reshape(4, 3)).sum() + b @ [1.0, 2.0, 3.0] + whole @ np.arange(5)


def chosen(x: Any) -> Any:
    rng, old = np.random.default_rng(0), np.random.RandomState(4)
    table = np.outer(x, x)
    found = rng.choice(x, 5) @ np.arange(5.0) + rng.choice(x) * old.choice(x, 2, False, [0.2, 0.3, 0.5]).prod()
    found += (rng.permutation(table) * table).sum() + (rng.permutation(table, axis=1)[0] * x**2).sum()
    return found + rng.choice(table, 2, axis=1, replace=False)[0, 1] + old.permutation(x)[0] + rng.choice(4)


@pytest.mark.parametrize("program", [written_to, drawn_into, shuffled, chosen])
def test_gradients_are_differences_at_the_same_numbers(program: Callable[[Any], Any]) -> None:
    adopted = wg.adopt(program)
    value, slope = wg.value_and_grad(adopted)(X)
    assert value == pytest.approx(program(X), rel=1e-14) and adopted(X) == program(X)
    e = 1e-6
    expected = [(program(X + e * d) - program(X - e * d)) / (2 * e) for d in np.eye(3)]
    np.testing.assert_allclose(slope, expected, rtol=1e-7)


def test_generators_are_numpys() -> None:
    theirs = np.random.default_rng(7)

    def f(x: Any, rng: Any) -> Any:
        own = np.random.default_rng(7)
        assert isinstance(own, np.random.Generator) and isinstance(rng, np.random.Generator)
        assert not isinstance(own, np.random.RandomState) and np.random.default_rng(own) is own
        return x * own.normal() * np.random.default_rng(rng).normal()

    assert wg.adopt(f)(2.0, theirs) == 2.0 * np.random.default_rng(7).normal() ** 2
    assert theirs.normal() == np.random.default_rng(7).normal(size=2)[1]
    assert type(theirs) is np.random.Generator
