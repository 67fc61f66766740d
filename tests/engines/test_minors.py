"""Cofactors of matrices that are not finite: an infinity or a NaN is in those minors alone that it belongs to."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._engines.numpy import NUMPY, decompositions
from wengert._prims.minors import minors

ENGINES = {"torch": ("torch", "as_tensor"), "jax": ("jax.numpy", "asarray"), "tensorflow": ("tensorflow", "constant")}


def _of(name: str, x: Any) -> Any:
    module, maker = ENGINES[name]
    return getattr(pytest.importorskip(module) and importlib.import_module(module), maker)(x)


def _slope(x: Any) -> Any:
    return wg.grad(lambda a: wg.sum(wg.abs(wg.linalg.det(a)) if a.dtype.kind == "c" else wg.linalg.det(a)))(x)


def test_the_places_of_minors() -> None:
    signs, others = minors(3)
    assert signs.tolist() == [[1, -1, 1], [-1, 1, -1], [1, -1, 1]]
    assert others.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert (minors(1)[1].shape, minors(0)[1].shape) == ((1, 0), (0, 0))


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ENGINES)
def test_the_gradient_of_det_beside_numbers_that_are_not_finite(name: str, bad: float, is_compiled: bool) -> None:
    of = wg.function(_slope) if is_compiled else _slope
    two, three = np.array([[1.0, bad], [2.0, 3.0]], np.float32), np.diag([2.0, 3.0, 4.0]).astype(np.float32)
    three[0, 2] = bad
    three[1, 0] = 1.0
    wanted = np.array([[3.0, -2.0], [-bad, 1.0]])
    close = np.testing.assert_allclose
    close(np.asarray(of(_of(name, two))), wanted, rtol=1e-6)
    fine = np.array([[2.0, 1.0], [1.0, 2.0]], np.float32)
    several = np.asarray(of(_of(name, np.stack([two, fine, two.T]))))
    close(several, [wanted, [[2.0, -1.0], [-1.0, 2.0]], wanted.T], rtol=1e-6)
    found = np.asarray(of(_of(name, three)))  # the minors without the number are those of its row and its column
    close(found[0], [12.0, -4.0, 0.0], atol=1e-6)
    close(found[:, 2], [0.0, 0.0, 6.0], atol=1e-6)
    assert np.isnan(found[1, 1] - found[1, 1])
    close(np.asarray(of(_of(name, np.full((1, 1), bad, np.float32)))), [[1.0]])


@pytest.mark.parametrize("name", ENGINES)
def test_the_gradient_of_det_of_complex_numbers_that_are_not_finite(name: str) -> None:
    x = np.array([[[1.0, 2j], [3.0, 1 + 1j]], [[np.nan, 1.0], [0.0, 2.0]]], np.complex64)
    found = np.asarray(wg.vjp(wg.linalg.det, _of(name, x))[1](_of(name, np.ones(2, np.complex64)))[0])
    np.testing.assert_allclose(found[0], np.conj([[1 + 1j, -3.0], [-2j, 1.0]]), rtol=1e-5)
    np.testing.assert_array_equal(np.isnan(found[1]), [[False, False], [False, True]])


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_forward_derivatives_of_det_meet_no_cofactor_but_that_of_their_entry(bad: float, is_compiled: bool) -> None:
    x = np.array([[1.0, bad], [2.0, 3.0]])
    for f in (wg.linalg.det, lambda a: wg.linalg.slogdet(a)[1]):
        modes = [wg.jacobian(f, mode=mode) for mode in ("reverse", "forward")]
        backward, forward = ((wg.function(g) if is_compiled else g)(x) for g in modes)
        np.testing.assert_allclose(forward, backward, atol=1e-15)


def test_cofactors_of_many_rows_are_made_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is the determinant of what is left, with infinities in those alone that have them."""
    monkeypatch.setattr(decompositions, "_AT_ONCE", 2 * 7**3)  # two rows of seven
    a = np.random.default_rng(5).normal(size=(2, 7, 7))
    a[0, 2, 3] = np.nan
    found = NUMPY.kernels["cofactor"](a)
    for matrix, cofactors in zip(a, found, strict=True):
        for i, j in np.ndindex(7, 7):
            minor = np.delete(np.delete(matrix, i, 0), j, 1)
            np.testing.assert_allclose(cofactors[i, j], (-1) ** (i + j) * np.linalg.det(minor), rtol=1e-10)
