"""The engines that the conformance tests run on, one entry each: what an engine needs, and what its framework cannot do.

The tests are in tests/engines/test_conformance.py (every op, whole programs), tests/engines/test_oracle.py (the recorded vocabulary),
tests/engines/test_kinks.py (the kinks table) and tests/engines/test_control.py (the rows of branches and loops, and random programs).
WENGERT_TEST_ENGINES names the engines to test, with commas between them; "all", the default, means all.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import tests.support.python_engine  # registers the engine  # noqa: F401
from wengert._core.engine import is_native, ndarray_of
from wengert._core.moving import moved
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


# where torch's tensors lie (benchmarks/gpu.py says "cuda"); JAX and TensorFlow put theirs on an accelerator by themselves
_DEVICE = os.environ.get("WENGERT_TEST_DEVICE", "")
ON_ACCELERATOR = bool(_DEVICE) or "cuda" in os.environ.get("JAX_PLATFORMS", "")
_SIGNS_ON_CUDA = dict.fromkeys(
    ("svd values rank-1 [[1,2],[2,4]] sum", "nuc norm of rank-1"),
    "vectors of a singular value 0 have any sign, and CUDA's have another than LAPACK's",
)

ENGINES: dict[str, UnderTest] = {
    "numpy": UnderTest(),
    "python": UnderTest(is_callers=False),
    "jax": UnderTest(
        package="jax", compiles_each_shape=True, programs=12,
    ),
    "torch": UnderTest(package="torch", cannot=_SIGNS_ON_CUDA if _DEVICE else {}),
    "tensorflow": UnderTest(package="tensorflow", programs=12),
}  # fmt: skip
_CHOSEN = os.environ.get("WENGERT_TEST_ENGINES", "all")
NAMES = [*ENGINES] if _CHOSEN == "all" else [name for name in _CHOSEN.split(",") if name in ENGINES]
# NumPy's is what the others are compared with
OF_USERS = [name for name in NAMES if ENGINES[name].is_callers and name != "numpy"]


def parameter(name: str) -> Any:
    """An engine as a parameter of a test, which is skipped where its framework is not installed."""
    package = ENGINES[name].package
    is_missing = bool(package) and importlib.util.find_spec(package) is None
    return pytest.param(name, marks=pytest.mark.skipif(is_missing, reason=f"{package} is not installed"))


every_engine = pytest.mark.parametrize("engine", [*map(parameter, NAMES)])
every_users_engine = pytest.mark.parametrize("engine", [*map(parameter, OF_USERS)])


def each_program() -> Any:
    """Random programs by their seeds, as many on each engine as its entry says."""
    return pytest.mark.parametrize(("engine", "seed"), [
        pytest.param(*parameter(name).values, seed, marks=parameter(name).marks, id=f"{seed}-{name}")
        for name in OF_USERS for seed in range(ENGINES[name].programs)
    ])  # fmt: skip


def skip_what_it_cannot(engine: str, case: str) -> None:
    """Ends the test of a case that the framework cannot do, with the reason."""
    reason = ENGINES[engine].cannot.get(case)
    if reason is not None:
        pytest.skip(f"{engine}: {reason}")


def native(engine: str, array: Any) -> Any:
    """An array of the engine's kind, on the device under test."""
    home = engine_named(engine)
    found = home.leave(home.from_numpy(np.asarray(array)))
    return found.to(_DEVICE) if _DEVICE and hasattr(found, "to") else found


def move(x: Tensor, engine: str) -> Tensor:
    """A tensor on the engine of a name; gradients flow back through the move."""
    return moved(x, engine_named(engine))


def placed(engine: str, value: Any) -> Any:
    """A nested value with its ndarrays as arrays of the engine's kind; numbers and all else as they are."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return native(engine, value)
    if isinstance(value, (list, tuple)):
        return type(value)([placed(engine, v) for v in value])
    if isinstance(value, dict):
        return {k: placed(engine, v) for k, v in value.items()}
    return value


def ndarray(value: Any) -> np.ndarray[Any, Any]:
    """The values of a tensor or of any engine's array."""
    if isinstance(value, Tensor):
        return ndarray_of(value._data)
    return ndarray_of(value) if is_native(type(value)) else np.asarray(value)
