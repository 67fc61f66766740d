"""How calls of compiled code end when they cannot go on: errors with names, results of NumPy's kernels, signals."""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native import engine
from wengert._engines.native.llvm import jit

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


def test_where_llvm_does_not_work_kernels_run_and_one_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> Any:
        raise OSError("no such processor")

    monkeypatch.setattr(engine, "IS_STRICT", False)
    monkeypatch.setattr(engine, "_lacks", [])
    monkeypatch.setattr(engine, "lowered", lambda *arguments: refused())
    monkeypatch.setattr(engine.target, "machine", lambda *_: refused())
    monkeypatch.setattr(engine.target, "lack", engine.target.lack.__wrapped__)
    x = np.linspace(0.1, 1.0, 5)
    programs: list[tuple[Callable[[Any], Any], Any]] = [
        (wg.grad(lambda v: wg.sum(wg.sin(v))), np.cos(x)),
        (lambda v: wg.scan(lambda c, y: (c + y, c), 0.0, v)[0], np.sum(x)),
        (wg.cumsum, np.cumsum(x)),
    ]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = [wg.function(f)(x) for f, _ in programs]
    for result, (_, wanted) in zip(found, programs, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-15)
    (message,) = [str(warning.message) for warning in told]
    assert re.search("kernels, not to machine code: .* OSError: no such processor", message)
    assert not engine.is_on()


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


# -- the compiler fails -----------------------------------------------------------------------------------------------


class Broken(RuntimeError):
    """What the compiler ends with from a moment on."""


X = np.linspace(0.1, 1.0, 50)


def plain(x: Any) -> Any:
    return wg.sum(wg.sin(x) * wg.exp(x * 0.25))


def looped(x: Any) -> Any:
    return wg.sum(wg.fori_loop(0, 30, lambda i, c: c + 0.05 * wg.sin(c * (i + 1.0)), x))


Break = Callable[[], None]


def at_once(fail: Break, folder: Path) -> Any:
    fail()
    return wg.function(plain)(X)


def in_a_thread(fail: Break, folder: Path) -> Any:
    fail()
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(wg.function(plain)(X))
        except Broken as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(found[0], Broken):
        raise found[0]
    return found[0]


def loaded(fail: Break, folder: Path) -> Any:
    compiled = wg.function(plain)
    compiled(X)
    wg.save(compiled, folder / "plain.wg")
    fail()
    return wg.load(folder / "plain.wg")(X)


def of_a_new_size(fail: Break, folder: Path) -> Any:
    compiled = wg.function(plain)
    compiled(np.ones(70))
    fail()
    return compiled(X)


def backward_pass(fail: Break, folder: Path) -> Any:
    compiled = wg.function(plain)
    compiled(X)
    wg.vjp(compiled, X)
    fail()
    return wg.grad(compiled)(X)


def way_back_of_what_ran(fail: Break, folder: Path) -> Any:
    _, pull = wg.vjp(wg.function(looped), X)
    fail()
    return pull(1.0)[0]


def with_snapshots_around(fail: Break, folder: Path) -> Any:
    return beyond_the_budget(wg.grad(wg.function(looped)), fail)


def with_snapshots_inside(fail: Break, folder: Path) -> Any:
    return beyond_the_budget(wg.function(wg.grad(looped)), fail)


def beyond_the_budget(gradient: Any, fail: Break) -> Any:
    gradient(X)
    fail()
    wg.set_memory_budget(2000)
    try:
        return gradient(X)
    finally:
        wg.set_memory_budget(2 * 1024**3)


GRADIENTS = {
    backward_pass: plain, way_back_of_what_ran: looped, with_snapshots_around: looped, with_snapshots_inside: looped,
}  # fmt: skip
COMPILATIONS = [at_once, in_a_thread, loaded, of_a_new_size, *GRADIENTS]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Break:
    def broken(*_: Any) -> None:
        raise Broken("no code today")

    return lambda: monkeypatch.setattr(engine, "module_text", broken)


@pytest.mark.parametrize("way", COMPILATIONS, ids=lambda f: f.__name__)
def test_in_tests_a_failed_compilation_is_an_error(way: Any, fail: Break, tmp_path: Path) -> None:
    with pytest.raises(Broken, match="no code today"):
        way(fail, tmp_path)


@pytest.mark.parametrize("way", COMPILATIONS, ids=lambda f: f.__name__)
def test_without_code_kernels_run_and_the_logger_is_told(
    way: Any, fail: Break, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine, "IS_STRICT", False)
    with caplog.at_level(logging.WARNING, "wengert"):
        found = way(fail, tmp_path)
    f = GRADIENTS.get(way)
    np.testing.assert_allclose(
        found, plain(X) if f is None else wg.grad(f)(X), rtol=1e-10, atol=1e-14
    )  # sums in another order
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert warnings and all(text.endswith("runs by NumPy's kernels: compiling it failed") for text in warnings)
    assert "no code today" in caplog.text


CHILD = """
import numpy as np
import wengert as wg
from wengert._engines.native import engine
assert engine.IS_STRICT and engine.VERIFIES
def broken(*_):
    raise RuntimeError("no code today")
engine.module_text = broken
wg.function(lambda x: wg.sum(wg.sin(x)))(np.ones(50))
"""


def test_in_processes_that_tests_start_too() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1 and "RuntimeError: no code today" in done.stderr


POSITIONS = {
    "beyond the end": lambda x: x[np.array([5])] * 2.0,
    "beyond the start": lambda x: x[np.array([-9])] * 2.0,
    "along an axis": lambda x: wg.take_along_axis(wg.sin(x), np.array([0, 3]), 0),
    "of nothing": lambda x: x[:0][np.array([0])] * 2.0,
    "along an axis of nothing": lambda x: wg.take_along_axis(x[:0], np.array([-1]), 0) * 2.0,
    "added to": lambda x: wg.ops.scatter_update(wg.sin(x), np.array([[7]]), x[:1]),
    "in two axes": lambda x: wg.sin(x[:, None] * x)[np.array([0, 1]), np.array([1, 4])],
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_known_to_be_out_of_range_compile_to_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_STRICT", "1")
    f, x = POSITIONS[name], np.arange(3.0)
    for made in (f, wg.function(f), wg.function(wg.grad(lambda x: wg.sum(f(x)))), wg.grad(wg.function(f))):
        with pytest.raises(IndexError, match=r"out of bounds for (an )?axis"):
            made(x)


def test_what_llvm_packs_wrongly_is_compiled_without_packing(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM's packing of straight code may break a module, whose emission would end the process."""
    efforts: list[Any] = []

    def breaking(module: Any, target: Any, effort: Any) -> None:
        efforts.append(effort)
        if effort.packs:
            monkeypatch.setattr(jit, "_is_sound", lambda module: False)
        else:
            monkeypatch.setattr(jit, "_is_sound", lambda module: True)

    ir = "define i32 @f() {\n  ret i32 7\n}\n"
    monkeypatch.setattr(jit, "_optimise", breaking)
    assert jit.emitted(ir, "f", *jit._Effort(3, 3, packs=True))
    assert [effort.packs for effort in efforts] == [True, False]
    monkeypatch.setattr(jit, "_optimise", lambda module, target, effort: None)
    monkeypatch.setattr(jit, "_is_sound", lambda module: False)
    with pytest.raises(RuntimeError, match="LLVM's passes break the module f"):
        jit.emitted(ir, "f", *jit._Effort(3, 3, packs=True))


def test_the_gradient_of_a_small_solve_of_a_broadcast_row_is_compiled() -> None:
    """With vectors of eight LLVM's packing broke this one."""

    def f(x: Any, w: Any) -> Any:
        return wg.sum(w * wg.linalg.solve(wg.eye(4) * 2.0 + 0.3 * wg.tanh(wg.trunc(x)), wg.eye(4)))

    x, w = np.array([[1.0, 2.5, -0.3, -1.0]]), np.arange(16.0).reshape(4, 4)
    for way in (wg.value_and_grad(f), wg.value_and_grad(lambda x, w: wg.sum(f(x, w) ** 2))):
        value, gradient = wg.function(way)(x, w)
        assert value == pytest.approx(way(x, w)[0], rel=1e-12)
        np.testing.assert_array_equal(gradient, np.zeros((1, 4)))
