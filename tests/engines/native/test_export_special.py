"""Special functions in programs without Python, against the 40-digit values of `tests/spec/special.json`.

The unit of an error is explained in `tests/support/special_accuracy.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from docs.making import accuracy
from tests.support import special_accuracy as A
from wengert._engines.native.engine import has_llvm
from wengert._engines.native.export.linking import compiler

pytestmark = [
    pytest.mark.skipif(not has_llvm(), reason="what is exported is compiled by llvmlite, which is not installed"),
    pytest.mark.skipif(compiler() is None, reason="no C compiler links what is exported"),
]

# by function the fixed numbers (orders of Bessel functions) of which there are records, and how many units more than
# stated for Python values and gradients may be off: large parameters and arguments make more of them than others
FUNCTIONS = {
    "gammainc": ("", 100), "gammaincc": ("", 100), "gammaincinv": ("", 200), "betainc": ("", 400),
    "betaincc": ("", 300), "betaincinv": ("", 200), "beta": ("", 60), "expi": ("", 60), "exp1": ("", 60),
    "zeta": ("", 60), "erfcx": ("", 60), "log_ndtr": ("", 60), "erfcinv": ("", 60), "k0": ("", 60), "y1": ("", 60),
    "jv": ("-2.5 0 30", 1000), "yv": ("0 2.5", 1000), "iv": ("2.5 30", 500), "kv": ("-0.5 2.5", 200),
    "ive": ("2.5", 2000), "kve": ("0 30", 1000),
}  # fmt: skip


STATED = accuracy.rows()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sampled(6)
def test_exported_special_functions_are_exact(name: str, tmp_path: Path) -> None:
    orders, more = FUNCTIONS[name]
    wanted = {f"{name} {order}".strip() for order in orders.split(" ")}
    samples = [s.counted(np.float64) for s in A.samples() if s.name in wanted and sum(s.orders) < 2]
    functions = [A.derivative_of(A.function_of(s.name), s.orders) for s in samples]

    def at_once(points: Any) -> list[Any]:
        return [f(*given) for f, given in zip(functions, points, strict=True)]

    points = [s.points for s in samples]
    wg.function(at_once, name=name).export(tmp_path / "exact.so", points)
    for sample, found in zip(samples, wg.load(tmp_path / "exact.so")(points), strict=True):
        error = A.errors(sample, np.asarray(found))
        worst = int(np.argmax(error))
        most = more + int(STATED[name][A.kind_of(sample.orders, np.float64)])
        place = [float(p[worst]) for p in sample.points]
        assert error[worst] <= most, (
            f"{sample.name} {sample.orders} at {place}: {found[worst]!r}, off by {error[worst]:.3g}"
        )


def test_ends_of_domains_are_those_of_python(tmp_path: Path) -> None:
    """Where Python has a value: SciPy has none for some functions at infinity."""
    ends = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 0.5, np.nan])
    a, x = (v.ravel() for v in np.meshgrid(ends[:-1], ends))

    def f(a: Any, x: Any) -> Any:
        s = wg.special
        pairs = [s.gammainc(a, x), s.gammaincc(a, x), s.betainc(a, 0.5, x), s.betaincc(2.0, a, x), s.zeta(a, x)]
        return wg.stack([*pairs, s.expi(x), s.exp1(x), s.j0(x), s.jv(2.5, x), s.y0(x), s.k1(x), s.iv(7, x)])

    wg.function(f, name="ends").export(tmp_path / "ends.so", a, x)
    found = wg.load(tmp_path / "ends.so")(a, x)
    with np.errstate(all="ignore"):
        wanted = f(a, x)
    told = ~np.isnan(wanted)
    compared = told & ~np.isnan(x)  # older releases of SciPy have gammainc(inf, nan) = 0
    np.testing.assert_allclose(found[compared], wanted[compared], rtol=1e-13, atol=1e-15)
    assert np.all(np.isnan(found[~told & np.isnan(x)]))


def test_quantiles_of_counts_and_angles(tmp_path: Path) -> None:
    stats = wg.stats

    def f(q: Any) -> Any:
        counts = [stats.poisson.ppf(q, 7.4), stats.poisson.isf(q, 3.1), stats.binom.ppf(q, 20, 0.3)]
        return wg.stack([*counts, stats.nbinom.ppf(q, 4.5, 0.3), stats.vonmises.ppf(q, 2.5)])

    q = np.array([0.01, 0.3, 0.5, 0.77, 0.999])
    wg.function(f, name="quantiles").export(tmp_path / "quantiles.so", q)
    np.testing.assert_allclose(wg.load(tmp_path / "quantiles.so")(q), f(q), rtol=1e-13, atol=1e-14)
