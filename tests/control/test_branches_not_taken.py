"""What a branch would use that is not taken gets no gradient: compiled zeros stay zeros where eager code has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def infinite(a: Any) -> Any:
    """A product with infinities, whose derivative makes NaN of a cotangent of zeros."""
    return a @ wg.log(a * 0.0)


def captured(a: Any) -> Any:
    product = infinite(a)
    return wg.cond(wg.sum(a) > 0, lambda: wg.sum(a * a), lambda: wg.sum(product))


def given(a: Any) -> Any:
    product = infinite(a)
    branches = [lambda r, m: wg.sum(r), lambda r, m: wg.sum(m), lambda r, m: wg.sum(a * a)]
    return wg.switch(wg.astype(wg.sum(a) > 0, "int32") + 1, branches, product[0], product @ product)


def nested(a: Any) -> Any:
    product = infinite(a)
    size = wg.linalg.norm(product)
    inner = lambda: wg.cond(wg.sum(a) < -3, lambda: size, lambda: wg.sum(product))
    return wg.cond(wg.sum(a) > 0, lambda: wg.sum(a * a), inner)


def in_a_loop(a: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        product = infinite(c)
        return wg.cond(wg.sum(a) > 0, lambda: c * c, lambda: product)

    return wg.sum(wg.fori_loop(0, 1, step, a))


@pytest.mark.parametrize("f", [captured, given, nested, in_a_loop])
def test_a_branch_that_is_not_taken_contributes_nothing(f: Any) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    gradients: list[Any] = [wg.grad(f), wg.function(wg.grad(f)), wg.grad(wg.function(f))]
    for gradient in gradients:
        np.testing.assert_array_equal(gradient(x), 2 * x)
        assert np.isnan(np.asarray(gradient(-x))).all()


def test_what_both_branches_and_others_use_keeps_its_gradient() -> None:
    def f(a: Any) -> Any:
        product = a @ wg.cos(a)
        y = wg.cond(wg.sum(a) > 0, lambda: wg.sum(product) * a[0, 0], lambda: wg.sum(product @ product))
        return y + wg.sum(wg.cond(a[0, 0] > 0, lambda: product * 1.0, lambda: a @ product)) + product[1, 0]

    both = wg.function(
        lambda x: (wg.grad(f)(x), wg.grad(lambda x: wg.sum(wg.grad(f)(x) * np.arange(4.0).reshape(2, 2)))(x))
    )
    x = np.array([[0.5, -0.2], [0.3, 0.4]])
    for at in (x, -x, x - 0.6):
        first, second = both(at)
        np.testing.assert_allclose(first, wg.grad(f)(at), rtol=1e-12, atol=1e-12)
        turned = wg.grad(lambda x: wg.sum(wg.grad(f)(x) * np.arange(4.0).reshape(2, 2)))
        np.testing.assert_allclose(second, turned(at), rtol=1e-11, atol=1e-11)
