"""How calls of compiled code end when they cannot go on: errors with names, results of NumPy's kernels, signals."""

from __future__ import annotations

import signal
import time
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native import engine

HUGE = 1 << 24  # its square is 2 PiB of float64: no machine has them


def segment_of(f: Any, *operands: Any) -> Any:
    """The one piece of compiled code of a function that was called once, run with operands."""
    ((_, form),) = f.traces
    form.run_natives(operands)
    return form.executable.entry.__self__


def test_a_temporary_too_large_is_a_memory_error_that_names_it() -> None:
    f = wg.function(lambda x: wg.sum(wg.sort(wg.matmul(x[:, None], x[None, :]), axis=1)[:, 0]))
    with pytest.raises(MemoryError, match=r"(matmul|sort).*16777216"):
        f(np.ones(HUGE))


def test_a_result_too_large_is_a_memory_error() -> None:
    f = wg.function(lambda x: wg.broadcast_to(x[:, None], (HUGE, HUGE)) * 2.0)
    for _ in range(2):  # the second call goes straight to the code
        with pytest.raises(MemoryError):
            f(np.ones(HUGE))


def test_what_was_refused_runs_again_on_numpys_kernels() -> None:
    f = wg.function(lambda x, i: x[i] * 2.0)
    x = np.arange(100.0)
    np.testing.assert_array_equal(f(x, np.array([3, 99])), [6.0, 198.0])
    for _ in range(2):
        with pytest.raises(IndexError):
            f(x, np.array([3, 100]))
    np.testing.assert_array_equal(f(x, np.array([3, -1])), [6.0, 198.0])


def test_a_matrix_without_a_factor_raises_each_time() -> None:
    f = wg.function(wg.linalg.cholesky)
    np.testing.assert_allclose(f(np.eye(3) * 4), np.eye(3) * 2, rtol=1e-15)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            f(-np.eye(3))


def test_operands_of_another_layout_are_copied_and_do_not_fall_back() -> None:
    f = wg.function(lambda x: wg.sum(wg.sin(x)))
    x = np.random.default_rng(0).normal(size=(30, 20))
    f(x)
    segment = segment_of(f, x)
    for strided in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1, ::-1][::-1, ::-1]):
        np.testing.assert_allclose(f(strided), np.sum(np.sin(x)), rtol=1e-13)  # another order of the sum
    assert segment.refusals == 0


def test_without_the_compiler_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_JIT", "0")
    assert not engine.is_on()
    f = wg.function(wg.value_and_grad(lambda x: wg.sum(x * wg.sin(x))))
    x = np.linspace(0, 1, 7)
    value, slope = f(x)
    np.testing.assert_allclose(value, np.sum(x * np.sin(x)), rtol=1e-15)
    np.testing.assert_allclose(slope, np.sin(x) + x * np.cos(x), rtol=1e-15)


class Stopped(Exception):
    """What the handler raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("second", [False, True])
def test_a_compiled_loop_can_be_interrupted(second: bool) -> None:
    f = wg.function(lambda x, n: wg.while_loop(lambda i, y: i < n, lambda i, y: (i + 1.0, wg.sin(y)), (0.0, x))[1])
    x = np.ones(3)
    f(x, 10.0)
    if second:
        f(x, 10.0)

    def handler(number: int, frame: Any) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        started = time.thread_time()  # what other processes take does not count
        with pytest.raises(Stopped):
            f(x, 1e15)
        assert time.thread_time() - started < 5  # 0.2 s is usual
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_allclose(f(x, 1.0), np.sin(x), rtol=1e-15)
