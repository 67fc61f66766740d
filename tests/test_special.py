"""Special functions against SciPy, and their derivatives where the closed formulas have holes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as reference

import wengert as wg
from wengert import special

X = np.array([-2.5, -0.7, -0.1, 0.0, 0.3, 0.5, 0.9, 1.0, 2.0, 8.0])
INSIDE = np.array([0.0, 0.01, 0.3, 0.5, 0.9, 1.0])
POSITIVE = np.array([0.1, 0.5, 1.0, 1.5, 2.0, 20.0])
CASES = [
    *[(n, (X,)) for n in ("erf", "erfc", "erfcx", "ndtr", "log_ndtr", "i0", "i0e", "i1", "i1e", "expit", "log_expit",
                          "cbrt", "exp2", "expm1", "entr", "gammaln")],
    *[(n, (INSIDE,)) for n in ("logit", "ndtri", "erfinv")],
    *[(n, (POSITIVE,)) for n in ("gamma", "digamma", "psi", "log1p")],
    ("polygamma", (0, POSITIVE)), ("polygamma", (2, POSITIVE)), ("iv", (2, X)), ("ive", (0, X)),
    ("xlogy", (INSIDE, POSITIVE)), ("xlogy", (0.0, 0.0)), ("xlog1py", (X, INSIDE[0])), ("rel_entr", (INSIDE, 0.5)),
    ("rel_entr", (np.array([0.0, 1.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0, -1.0]))), ("kl_div", (INSIDE, 0.5)),
    ("erf", (np.float32([0.1, 1.5]),)), ("logsumexp", (X,)), ("logsumexp", (X.reshape(2, 5), 1)),
    ("softmax", (X.reshape(2, 5),)), ("softmax", (X.reshape(2, 5), 0)), ("log_softmax", (X.reshape(2, 5), 1)),
    ("log_softmax", (X.reshape(1, 2, 5), (0, 2))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_values_are_scipys(name, args):
    with np.errstate(all="ignore"):
        result, expected = getattr(special, name)(*args), getattr(reference, name)(*args)
    assert np.asarray(result).dtype == np.asarray(expected).dtype
    tolerance = 1e-6 if np.asarray(expected).dtype == np.float32 else 1e-12
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=1e-15)


def test_logsumexp_with_factors_and_signs():
    x, b = np.array([[1.0, 2.0, 1000.0], [0.0, 1.0, 2.0]]), np.array([1.0, -2.0, 0.0])
    for kwargs in ({"b": np.abs(b)}, {"b": b, "return_sign": True, "axis": 1}, {"axis": 0, "keepdims": True, "b": 2.0}):
        result, expected = special.logsumexp(x, **kwargs), reference.logsumexp(x, **kwargs)
        for r, e in zip(*(v if isinstance(v, tuple) else (v,) for v in (result, expected))):
            np.testing.assert_allclose(r, e, rtol=1e-13)
    gradient = wg.grad(lambda x: special.logsumexp(x, b=np.array([1.0, 3.0, 0.0])))(np.array([0.0, 1.0, 5.0]))
    weights = np.array([1.0, 3.0 * np.e, 0.0])
    np.testing.assert_allclose(gradient, weights / weights.sum())


def test_derivatives_in_the_holes():
    assert wg.grad(lambda x: special.i1(x))(0.0) == 0.5
    assert wg.grad(wg.grad(lambda x: special.i0(x)))(0.0) == 0.5
    assert wg.grad(lambda x: special.xlogy(x, 0.0))(0.0) == 0.0
    np.testing.assert_allclose(wg.grad(lambda x: special.logit(x))(0.25), 1 / (0.25 * 0.75))
    np.testing.assert_allclose(wg.grad(lambda x: special.log_expit(x))(-800.0), 1.0)
    with pytest.raises(TypeError, match="whole number"):
        special.polygamma(0.5, 1.0)
