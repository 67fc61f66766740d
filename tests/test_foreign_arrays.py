"""Masked arrays and matrices are refused wherever a gradient would pass, with what to write instead."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)  # np.matrix itself warns
KINDS = {"masked": (MASKED, r"masked array .*wg\.where"), "matrix": (MATRIX, r"np\.matrix .*np\.asarray")}

OPERATIONS = {
    "array * x": lambda a, x: a * x,
    "x * array": lambda a, x: x * a,
    "array + x": lambda a, x: a + x,
    "x + array": lambda a, x: x + a,
    "array - x": lambda a, x: a - x,
    "x - array": lambda a, x: x - a,
    "array / x": lambda a, x: a / x,
    "x / array": lambda a, x: x / a,
    "x ** array": lambda a, x: x**a,
    "array > x": lambda a, x: wg.where(x > a, x, 0.0),
    "np.multiply": lambda a, x: np.multiply(a, x),
    "np.multiply, turned": lambda a, x: np.multiply(x, a),
    "np.hypot": lambda a, x: np.hypot(a, x),
    "a function of two": lambda a, x: wg.maximum(x, a),
    "a function of it": lambda a, x: wg.sum(a) * x,
    "its elements in a list": lambda a, x: wg.sum(wg.tensor([a, a])) * x,
    "wg.tensor": lambda a, x: wg.sum(wg.tensor(a)) * x,
    "wnp.array": lambda a, x: wnp.sum(wnp.array(a)) * x,
    "np.concatenate": lambda a, x: np.concatenate([a.ravel(), wg.reshape(x, (1,))], axis=None),
    "a method": lambda a, x: x.at[...].add(a),
    "a step": lambda a, x: wg.fori_loop(0, 2, lambda i, c: c + wg.sum(x * a), x),
    "a branch": lambda a, x: wg.cond(x > 0, lambda: wg.sum(x * a), lambda: x),
    "a result": lambda a, x: a,
}
MASKED_ONLY = {
    "np.ma.multiply": lambda a, x: np.ma.multiply(a, x),
    "np.ma.sqrt": lambda a, x: np.ma.sqrt(x),
    "np.ma.power": lambda a, x: np.ma.power(x, a),
    "in place": lambda a, x: a.copy().__iadd__(x),
    "array ** x": lambda a, x: a**x,
    "array // x": lambda a, x: a // x,
}
CASES = [(kind, name) for kind in KINDS for name in OPERATIONS] + [("masked", name) for name in MASKED_ONLY]


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "function"])
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_they_are_refused_with_the_cure(kind, name, wrap):
    array, words = KINDS[kind]
    f = (OPERATIONS | MASKED_ONLY)[name]
    with pytest.raises(wg.LostGradientError, match=words) as caught:
        wg.value_and_grad(wrap(lambda x: wg.sum(f(array, x)) + x))(2.0)
    assert "test_foreign_arrays.py" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "use",
    [
        lambda a: wg.grad(wg.sum)(a),
        lambda a: wg.value_and_grad(lambda x, a: wg.sum(x * a))(2.0, a),
        lambda a: wg.value_and_grad(lambda p: wg.sum(p["a"]))({"a": a}),
        lambda a: wg.function(wg.sum)(a),
        lambda a: wg.vmap(wg.sum)(a),
        lambda a: wg.jvp(wg.sum, (np.ones(a.shape),), (a,)),
        lambda a: wg.vjp(lambda x: x, np.ones(a.shape))[1](a),
        lambda a: wg.Variable(a),
        lambda a: wg.Variable(2.0) * a,
        lambda a: wg.Variable(np.zeros(a.shape)).assign(a),
        lambda a: wg.scan(lambda c, x: (c, x), 0.0, a),
        lambda a: wg.sum(a),
        lambda a: wg.linalg.norm(a),
    ],
)
def test_they_are_refused_as_arguments(kind, use):
    array, words = KINDS[kind]
    with pytest.raises(wg.LostGradientError, match=words):
        use(array)


def test_a_masked_array_meets_a_variable():
    with pytest.raises(wg.LostGradientError, match="masked array"):
        MASKED * wg.Variable(2.0)


def test_the_cures_work():
    cured = lambda s: wg.sum(wg.where(MASKED.mask, 0.0, MASKED.filled(0.0) * s)) + s
    assert wg.value_and_grad(cured)(2.0) == (10.0, 5.0)
    b = np.ones(2)
    np.testing.assert_array_equal(wg.grad(lambda b: wg.sum(np.asarray(MATRIX) @ b))(b), [4, 6])
    assert wg.sum(np.array([1.0, 2.0]).view(np.recarray)) == 3  # other subclasses are arrays
