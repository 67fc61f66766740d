"""Matrices that hold NaN or an infinity: an engine raises where NumPy does, and gives NaN where NumPy gives NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import every_users_engine, native, ndarray

MATRICES = {
    "nan": [[np.nan, 1.0], [1.0, 3.0]],
    "nan above": [[2.0, np.nan], [1.0, 3.0]],
    "inf": [[1.0, np.inf], [2.0, 3.0]],
    "all nan": np.full((3, 3), np.nan),
    "all inf": np.full((3, 3), np.inf),
    "one of a batch": [[[np.nan, 1.0], [1.0, 3.0]], [[2.0, 1.0], [1.0, 3.0]]],
    "nan behind a pivot of 0": [[0.0, np.nan], [0.0, 0.0]],
    "no factor beside nan": [[[np.nan, 1.0], [1.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]]],
}
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "det": (wg.linalg.det, np.linalg.det),
    "slogdet": (lambda x: wg.linalg.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1]),
    "sign": (lambda x: wg.linalg.slogdet(x)[0], lambda x: np.linalg.slogdet(x)[0]),
    "inv": (wg.linalg.inv, np.linalg.inv),
    "solve": (lambda x: wg.linalg.solve(x, wg.ones_like(x)), lambda x: np.linalg.solve(x, np.ones_like(x))),
    "cholesky": (wg.linalg.cholesky, np.linalg.cholesky),
    "eigvals": (lambda x: wg.abs(wg.linalg.eigvals(x)), lambda x: np.abs(np.linalg.eigvals(x))),
    "svdvals": (wg.linalg.svdvals, wg.linalg.svdvals),  # raises for infinities, where NumPy raises for most
}


def outcome(f: Any, x: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return ndarray(f(x))
        except np.linalg.LinAlgError:
            return "LinAlgError"


@every_users_engine
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_numpys(name: str, matrix: str, engine: str) -> None:
    x, (ours, numpys) = np.array(MATRICES[matrix]), FUNCTIONS[name]
    found, wanted = outcome(ours, native(engine, x)), outcome(numpys, x)
    if isinstance(found, str) or isinstance(wanted, str):
        assert found is wanted
        return
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(found[finite], wanted[finite], rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(np.isfinite(found), finite)


@every_users_engine
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", [*FUNCTIONS, "eigvalsh"])
def test_gradients_raise_where_values_do_and_are_nan_elsewhere(name: str, matrix: str, engine: str) -> None:
    f = FUNCTIONS[name][0] if name in FUNCTIONS else wg.linalg.eigvalsh
    if name == "sign":
        return  # constant
    x = np.array(MATRICES[matrix])
    found, wanted = (outcome(wg.grad(lambda a: wg.sum(f(a))), given) for given in (native(engine, x), x))
    if isinstance(found, str) or isinstance(wanted, str):
        assert found is wanted
        return
    both = np.isfinite(wanted) & np.isfinite(found)  # NaN may stand in more places
    np.testing.assert_allclose(found[both], wanted[both], rtol=1e-12, atol=1e-12)
    if x.ndim == 3:
        np.testing.assert_array_equal(np.isfinite(found[1]), np.isfinite(wanted[1]))


@every_users_engine
@pytest.mark.parametrize("lower", [True, False])
def test_only_the_triangle_that_is_asked_for_is_looked_at(lower: bool, engine: str) -> None:
    x = np.array([[2.0, np.nan], [1.0, 3.0]])
    x = x if lower else x.T.copy()
    found = ndarray(wg.linalg.eigvalsh(native(engine, x), UPLO="L" if lower else "U"))
    np.testing.assert_allclose(found, np.linalg.eigvalsh(x, UPLO="L" if lower else "U"), rtol=1e-12)
