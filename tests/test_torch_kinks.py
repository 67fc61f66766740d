"""The kinks table on torch: every row of test_kinks.py has NumPy's gradient, op by op and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_kinks import ROWS, Row, is_there

import wengert as wg

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
HERE = [row for row in ROWS if not row.needs or is_there(row.needs)]


@pytest.mark.parametrize("row", HERE, ids=[row.case for row in HERE])
def test_a_kink_is_the_same_on_torch(row: Row) -> None:
    arrays = [np.asarray(a) if np.iscomplexobj(a) else np.asarray(a, float) for a in row.args]

    def loss(*args: Any) -> Any:
        y = row.f(*args)
        return y.sum() if row.weights is None else (y * np.asarray(row.weights)).sum()

    gradient = wg.grad(loss, argnums=(*range(len(arrays)),), unconnected_gradients="zero")
    try:
        want = gradient(*arrays)
    except (TypeError, ValueError) as error:  # the row's gradient is refused, and so it is on torch
        with pytest.raises(type(error)):
            gradient(*map(torch.tensor, arrays))
        return
    for derive in (gradient, wg.function(gradient)):
        for got, wanted in zip(derive(*map(torch.tensor, arrays)), want, strict=True):
            # some rows divide by differences that are small: their rounding errors grow to this
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-9, atol=1e-9)
