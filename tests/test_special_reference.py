"""Special functions over their whole domains, against mpmath's values in `tests/spec/special.json` (made by `make_special.py`).

A value is right if its relative error is at most 1e-13, or what SciPy has there, or a few units of the last place of the
arguments make as much (the record tells how much one unit makes).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from tests.support.paths import SPEC
from wengert import special

RECORDS: dict[str, list[Any]] = json.loads((SPEC / "special.json").read_text())
EPS = 2.0**-52
CASES = sorted({(name, tuple(row[1])) for name, rows in RECORDS.items() for row in rows})


def function_of(name: str, module: Any) -> Any:
    word, *order = name.split()
    if word == "multigammaln" and module is special:
        return lambda x: special.multigammaln(x, 3)
    f = getattr(module, word, None)
    if f is None or not order:
        return f
    number = float(order[0])
    number = int(number) if number.is_integer() else number
    return (lambda x: f(x, number)) if word == "multigammaln" else lambda x: f(number, x)


def derivative(f: Any, orders: tuple[int, ...]) -> Any:
    for i, n in enumerate(orders):
        for _ in range(n):
            f = wg.grad(lambda *xs, f=f, i=i: wg.sum(f(*xs)), argnums=i)
    return f


def errors(found: Any, wanted: Any) -> Any:
    return np.abs(found - wanted) / np.abs(wanted)


@pytest.mark.parametrize(("name", "orders"), CASES, ids=[f"{n} {o}" for n, o in CASES])
def test_special_functions_are_exact(name: str, orders: tuple[int, ...]) -> None:
    rows = [row for row in RECORDS[name] if tuple(row[1]) == orders]
    xs = [np.array(column) for column in zip(*(row[0] for row in rows), strict=True)]
    wanted, condition = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    # in the parameters of betainc the terms of a continued fraction cancel to some 1e-12 where one of them is tiny
    least = 1e-12 if name == "betainc" and any(orders[:2]) else 1e-13
    if any(orders) and name.startswith(("ive", "kve")):
        least = np.maximum(
            least, 8 * EPS * xs[0]
        )  # two neighbours and the function itself cancel to 1 / x of their size
    allowed = np.maximum(least, 4 * EPS * condition)
    with np.errstate(all="ignore"):
        found = derivative(function_of(name, special), orders)(*xs)
        if not any(orders) and (reference := function_of(name, scipy.special)) is not None:
            own = errors(reference(*xs), wanted)
            # where SciPy's is of another branch or infinite, it is no measure
            allowed = np.maximum(allowed, np.where(np.isfinite(own) & (own < 1e-6), 1.01 * own, 0))
    error = errors(found, wanted)
    wrong = ~(error <= allowed)
    assert not wrong.any(), "\n".join(
        f"{name}{orders} at {row[0]}: {value!r}, wanted {row[2]!r}: off by {e:.1e}, allowed {limit:.1e}"
        for row, value, e, limit, bad in zip(rows, found, error, allowed, wrong, strict=True) if bad
    )  # fmt: skip
