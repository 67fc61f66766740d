"""Equal eigenvalues and singular values on every engine: derivatives of smooth functions are those of NumPy's engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.prims.test_repeated_values import of_eigh, of_svd, symmetrised, total
from tests.support.engines import every_users_engine, native, ndarray

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
WEIGHTS = np.array([[0.0, 1.0], [2.0, 3.0]])
PLACE = np.eye(2)


def squares(x: Any) -> Any:
    return wg.sum(wg.linalg.eigvalsh(symmetrised(x)) ** 2)


EXPONENTIAL, CUBE = total(of_eigh(wg.exp), WEIGHTS), total(of_svd(lambda s: s**3), WEIGHTS)
SYMMETRIC = (WEIGHTS + WEIGHTS.T) / 2
OF_SQUARES = np.einsum("ik,jl->ijkl", PLACE, PLACE) + np.einsum("il,jk->ijkl", PLACE, PLACE)
DERIVATIVES = {
    "exponential": (wg.grad(EXPONENTIAL), SYMMETRIC * np.e),
    "exponential forward": (wg.jacobian(EXPONENTIAL, mode="forward"), SYMMETRIC * np.e),
    "singular cube": (wg.grad(CUBE), 2 * WEIGHTS + WEIGHTS.T),
    "hessian of squares": (wg.hessian(squares), OF_SQUARES),
    "rows of squares": (wg.jacobian(wg.grad(squares), mode="reverse"), OF_SQUARES),
}


@every_users_engine
@pytest.mark.parametrize("name", DERIVATIVES)
def test_limits_are_the_same(name: str, engine: str) -> None:
    derive, wanted = DERIVATIVES[name]
    x = native(engine, PLACE)
    for way in (derive, wg.function(derive)):
        np.testing.assert_allclose(ndarray(way(x)), wanted, rtol=1e-10, atol=1e-10)


@every_users_engine
def test_vectors_alone_have_none(engine: str) -> None:
    derive = wg.grad(lambda x: wg.sum(WEIGHTS * wg.linalg.eigh(x)[1]))
    for way in (derive, wg.function(derive)):
        assert np.isnan(ndarray(way(native(engine, PLACE)))).all()
