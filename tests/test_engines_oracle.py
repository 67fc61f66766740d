"""The recorded vocabulary (test_oracle.py) on every engine: each record's values and gradients, in the caller's kind."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from engines import every_users_engine, ndarray, placed, skip_what_it_cannot
from test_oracle import RECORDS, check


@every_users_engine
@pytest.mark.skipif(not RECORDS, reason="oracle.json does not lie beside this checkout")
@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in RECORDS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_record(record: Any, engine: str) -> None:
    skip_what_it_cannot(engine, record["id"])
    skip_what_it_cannot(engine, record["op"])
    check(record, partial(placed, engine), ndarray)
