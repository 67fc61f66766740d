"""What is computed on the host has subnormal numbers on every engine, whatever thread calls it."""

from __future__ import annotations

import platform
import threading

import numpy as np
import pytest
from scipy import special

import wengert as wg
import wengert.scipy.special as S
from tests.support.engines import every_users_engine, native, ndarray
from wengert._core.system import SYSTEM, system_of
from wengert._engines import subnormals
from wengert._engines.subnormals import with_subnormals

TINY = np.array([3e-310, -5e-324, 2e-308])
_through = wg.primitive("through_subnormals", spec=lambda x: x, numpy=lambda x: (x * 1e-300) * 1e300)


@every_users_engine
@pytest.mark.parametrize("is_compiled", [False, True])
def test_host_functions_have_them(is_compiled: bool, engine: str) -> None:
    """XLA's and TensorFlow's threads flush them: I_2(700) was 0.14 % off, and what a user's primitive kept was 0."""
    for function, x, wanted in (
        (_through, TINY * 1e300, (TINY * 1e300 * 1e-300) * 1e300),
        (lambda v: S.iv(2, v), np.array([690.0, 700.0]), special.iv(2, [690.0, 700.0])),
    ):
        found = (wg.function(function) if is_compiled else function)(native(engine, x))
        np.testing.assert_array_equal(ndarray(found), wanted)


def test_a_thread_gets_its_own_settings_back() -> None:
    """Told by how it rounds, which is a setting, too."""
    if SYSTEM.first_float_settings() is None:
        pytest.skip("C's settings are not known on this system")
    library = next(found for found in SYSTEM.c_libraries() if hasattr(found, "fesetround"))
    upward = 0x400000 if platform.machine() in {"aarch64", "arm64"} else 0x800
    seen: list[int] = []

    def fail() -> None:
        seen.append(library.fegetround())
        raise ZeroDivisionError

    def in_thread() -> None:
        assert library.fesetround(upward) == 0
        with pytest.raises(ZeroDivisionError):
            with_subnormals(fail)()
        seen.append(library.fegetround())

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert seen == [0, upward]


def test_where_settings_are_not_known_functions_run_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subnormals, "SYSTEM", system_of("win32"))
    assert with_subnormals(lambda x: x + 1)(1) == 2
