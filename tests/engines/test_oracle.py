"""The recorded vocabulary (tests/ops/test_oracle.py) on every engine: each record's values and gradients, in the caller's kind.

Where each op of each shape is a compilation of its own, a record runs as one compiled function, if it can be traced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.ops.test_oracle import RECORDS, check, computed, decoded
from tests.support.engines import ENGINES, every_users_engine, ndarray, placed, skip_what_it_cannot


@every_users_engine
@pytest.mark.skipif(not RECORDS, reason="oracle.json does not lie beside this checkout")
@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in RECORDS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.* reads eval, which")  # the records' functions are texts, which stay as they are
def test_record(record: Any, engine: str) -> None:
    skip_what_it_cannot(engine, record["id"])
    skip_what_it_cannot(engine, record["op"])
    given = decoded(record["args"]), decoded(record["kwargs"])
    arrays = [*arrays_in(given)]
    if ENGINES[engine].compiles_each_shape and arrays:
        function = wg.function(lambda tensors: computed(record, *with_arrays(given, iter(tensors))))
        try:
            found = function([placed(engine, a) for a in arrays])
        except (wg.TracingError, TypeError, ValueError, IndexError):  # it depends on values; errors are raised below
            found = computed(record, *placed(engine, given))
    else:
        found = computed(record, *placed(engine, given))
    check(record, *found, ndarray)


def arrays_in(value: Any) -> Iterator[Any]:
    """The ndarrays in a nested value, in order."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from arrays_in(item)


def with_arrays(value: Any, arrays: Iterator[Any]) -> Any:
    """A nested value with others in the places of its ndarrays."""
    if isinstance(value, np.ndarray):
        return next(arrays)
    if isinstance(value, (list, tuple)):
        return type(value)([with_arrays(item, arrays) for item in value])
    if isinstance(value, dict):
        return {key: with_arrays(item, arrays) for key, item in value.items()}
    return value
