"""The kinks table on every engine: each row of tests/prims/test_kinks.py has NumPy's gradient, op by op and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.prims.test_kinks import ROWS, Row, is_there
from tests.support.engines import every_users_engine, native, ndarray, skip_what_it_cannot

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
HERE = [row for row in ROWS if not row.needs or is_there(row.needs)]


@every_users_engine
@pytest.mark.parametrize("row", HERE, ids=[row.case for row in HERE])
def test_a_kink_is_the_same(row: Row, engine: str) -> None:
    skip_what_it_cannot(engine, row.case)
    arrays = [np.asarray(a) if np.iscomplexobj(a) else np.asarray(a, float) for a in row.args]

    def loss(*args: Any) -> Any:
        y = row.f(*args)
        return y.sum() if row.weights is None else (y * np.asarray(row.weights)).sum()

    gradient = wg.grad(loss, argnums=(*range(len(arrays)),), unconnected_gradients="zero")
    theirs = [native(engine, a) for a in arrays]
    try:
        want = gradient(*arrays)
    except (TypeError, ValueError) as error:  # the row's gradient is refused, and so it is here
        with pytest.raises(type(error)):
            gradient(*theirs)
        return
    for derive in (gradient, wg.function(gradient)):
        for got, wanted in zip(derive(*theirs), want, strict=True):
            assert type(got) is type(theirs[0])
            # some rows divide by differences that are small: their rounding errors grow to this
            np.testing.assert_allclose(ndarray(got), wanted, rtol=1e-9, atol=1e-9)
