"""Matrices that machine code has no answer for: loops and branches stay machine code, and give what eager code gives.

NaN, infinities, singular matrices, roots and logarithms that are none: results, and the errors where there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")
from wengert._engines.native import engine

RNG = np.random.default_rng(3)
N = 3
USUAL = (lambda m: m @ m.T + N * np.eye(N))(RNG.normal(size=(N, N)))
LARGE = 40  # rows, of which LAPACK takes care
ONES = np.ones((N, 1))

OPS: dict[str, Callable[[Any], Any]] = {
    "cholesky": np.linalg.cholesky,
    "det": np.linalg.det,
    "eig": lambda a: wg.abs(wg.linalg.eig(a)[0]),
    "eigh": lambda a: np.linalg.eigh(a)[0],
    "inv": np.linalg.inv,
    "logm": wg.linalg.logm,
    "lu": lambda a: wg.linalg.lu(a)[1],
    "pinv": np.linalg.pinv,
    "qr": lambda a: np.linalg.qr(a)[1],
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "solve": lambda a: np.linalg.solve(a, a[:, :1]),
    "sqrtm": wg.linalg.sqrtm,
    "svd": lambda a: np.linalg.svd(a)[1],
    "sylvester": lambda a: wg.linalg.solve_sylvester(a, a, a),
    "triangular": lambda a: wg.linalg.solve_triangular(a, a[:, :1]),
}


def _at(value: float, place: tuple[int, int]) -> Callable[[int], Any]:
    def matrix(n: int) -> Any:
        found = np.eye(n) * 4.0 + 0.5
        found[place] = value
        return found

    return matrix


VALUES: dict[str, Callable[[int], Any]] = {
    "NaN": _at(np.nan, (1, 1)),
    "NaN above": _at(np.nan, (0, 2)),
    "infinite": _at(np.inf, (1, 1)),
    "all NaN": lambda n: np.full((n, n), np.nan),
    "zeros": lambda n: np.zeros((n, n)),
    "one of rank": lambda n: np.ones((n, n)),
    "negative": lambda n: np.eye(n) * -2.0,
    "identity": np.eye,
}


def _scanned(f: Any) -> Any:
    return lambda a: wg.scan(lambda c, s: (c, wg.sum(f(c * s))), a, np.array([1.0, 2.0]))[1]


FORMS: dict[str, Callable[[Any], Any]] = {
    "loop": _scanned,
    "branch": lambda f: wg.grad(lambda a: wg.cond(a[0, 0] < 100.0, lambda: wg.sum(f(a)), lambda: wg.sum(a))),
    "gradient": lambda f: wg.grad(lambda a: wg.sum(_scanned(f)(a))),
    "batch": lambda f: lambda a: wg.vmap(_scanned(f))(wg.stack([a, a * 0.5])),
    "beside a loop": lambda f: lambda a: wg.sum(f(a)) + wg.fori_loop(0, 2, lambda i, c: c * 0.5, wg.sum(a)),
}


def _outcome(f: Any, x: Any) -> Any:
    try:
        return np.asarray(f(x))
    except (np.linalg.LinAlgError, ValueError) as error:
        return type(error), str(error).splitlines()[0].rpartition(": ")[2]  # who raises it has another name


def _runs(self: Any, *natives: Any) -> Any:
    raise AssertionError("NumPy's kernels ran the whole")


def _require_same(f: Any, inputs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: Any = wg.function(f)
    with np.errstate(all="ignore"):  # what is to be warned of is found by kernels
        wanted = [_outcome(f, wg.tensor(x)) for x in inputs]
        monkeypatch.setattr(engine.Kernels, "__call__", _runs)
        for x, value in zip(inputs, wanted, strict=True):
            found = _outcome(compiled, x)
            if type(value) is tuple or type(found) is tuple:
                assert found == value
            else:
                finite = np.isfinite(value)  # of cofactors over 0 rounding makes infinities or NaN
                np.testing.assert_array_equal(np.isfinite(found), finite)
                np.testing.assert_allclose(found[finite], value[finite], rtol=1e-9, atol=1e-9)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("form", FORMS)
def test_rare_values_leave_no_loop(form: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # sizes of eigenvalues that are 0 but for rounding have slopes that only rounding decides, in each LAPACK otherwise
    makes = [make for value, make in VALUES.items() if (name, value) != ("eig", "one of rank")]
    _require_same(FORMS[form](OPS[name]), [USUAL, *(make(N) for make in makes)], monkeypatch)


@pytest.mark.parametrize("name", ["cholesky", "det", "inv", "lu", "slogdet", "solve", "triangular"])
def test_nor_do_those_of_lapack(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _require_same(_scanned(OPS[name]), [make(LARGE) for make in VALUES.values()], monkeypatch)


def test_one_of_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = np.stack([USUAL, np.full((N, N), np.nan), USUAL * 2.0])
    f = lambda xs: wg.scan(lambda c, x: (c, np.linalg.solve(x, ONES)[:, 0]), 0.0, xs)[1]
    _require_same(f, [matrices], monkeypatch)


def test_an_error_in_a_loop_names_the_op_and_its_line() -> None:
    f: Any = wg.function(_scanned(lambda a: np.linalg.inv(a)))
    f(USUAL)
    with pytest.raises(np.linalg.LinAlgError, match=r"^inv: Singular matrix[\s\S]*np\.linalg\.inv\(a\)"):
        f(np.zeros((N, N)))


def test_nothing_is_warned_of_that_eager_code_does_not_warn_of(recwarn: pytest.WarningsRecorder) -> None:
    f = _scanned(OPS["solve"])
    compiled: Any = wg.function(f)
    for x in (USUAL, VALUES["NaN"](N)):
        for way in (f, compiled):
            recwarn.clear()
            way(x)
            assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]
