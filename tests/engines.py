"""The engines that the conformance tests run on, one entry each: what an engine needs, and what its framework cannot do.

The tests are in test_engines.py (every op, whole programs), test_engines_oracle.py (the recorded vocabulary),
test_engines_kinks.py (the kinks table) and test_engines_control.py (the rows of branches and loops, and random programs).
WENGERT_TEST_ENGINES names the engines to test, with commas between them; "all", the default, means all.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert._engines.python  # registers the engine  # noqa: F401
from wengert._core.engine import is_native, ndarray_of
from wengert._core.tensor import Tensor
from wengert._engines import engine_named


class UnderTest(NamedTuple):
    """One engine.

    Attributes:
        package: what must be installed for it; "" if nothing.
        is_callers: whether users pass arrays of it, so that results are of its kind.
        compiles_each_shape: whether each shape of an op costs a compilation; then op by op fewer shapes are tried.
        programs: how many random programs run on it.
        cannot: cases that the framework cannot do -> the reason why. A case is the test's own name for it: of an op or
            a program its name, of an oracle record its id, of a row of a table its ids.
    """

    package: str = ""
    is_callers: bool = True
    compiles_each_shape: bool = False
    programs: int = 40
    cannot: Mapping[str, str] = {}


ENGINES: dict[str, UnderTest] = {
    "numpy": UnderTest(),
    "python": UnderTest(is_callers=False),
    "jax": UnderTest(
        package="jax", compiles_each_shape=True, programs=12,
    ),
    "torch": UnderTest(package="torch"),
