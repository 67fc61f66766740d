"""Kernels of NumPy's that machine code calls: in loops, branches, with errors, warnings, signals, threads, from disk."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir import accesses
from wengert._engines.native.lower import polygamma
from wengert._engines.native.plan import support
from wengert._engines.numpy import NUMPY

RNG = np.random.default_rng(67)
MATRIX = RNG.normal(size=(3, 3)) * 0.2 + np.diag([1.0, 2.0, 3.0])
POINTS = np.linspace(0.5, 2.0, 5)


LONG = polygamma.MOST + 1  # an order whose series is NumPy's kernel's


@pytest.fixture(autouse=True)
def no_complex_pseudo_inverses(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were no machine code for them: of matrices there is for all that may raise an error."""
    monkeypatch.setitem(support._CHECKS, "pinv", lambda node: "complex numbers" * (node.inputs[0].dtype.kind == "c"))


def of_complex(x: Any) -> Any:
    """What a kernel of complex matrices gives."""
    return wg.real(wg.linalg.pinv(x * (1 + 0.5j)))


kept: list[Any] = []


def _kept_sine(x: Any) -> Any:
    kept.append(x)
    return np.sin(x)


users_sine = wg.primitive(
    "test_kept_sine", spec=lambda x: x, numpy=_kept_sine, vjp=lambda ct, out, x: (ct * np.cos(x),)
)  # fmt: skip

STEPS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a pseudo-inverse": (of_complex, MATRIX),
    "a series": (lambda x: wg.special.polygamma(LONG, x), POINTS),
    "one number": (lambda x: wg.special.polygamma(LONG + 1, x), 1.25),
    "a kernel of single precision": (of_complex, MATRIX.astype(np.float32)),
    "a kernel of the user's own": (users_sine, POINTS),
    "one number to a kernel of the user's own": (users_sine, 0.5),
}


def scanned(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: wg.sum(
        wg.scan(lambda c, s: (c * 0.95, step(c + s)), x, np.linspace(0.0, 0.2, 6).astype(x.dtype))[1]
    )


@pytest.mark.parametrize("name", STEPS)
def test_loops_stay_machine_code(name: str) -> None:
    step, x = STEPS[name]
    x = np.asarray(x)
    f = wg.value_and_grad(scanned(step))
    compiled = wg.function(f)
    report = compiled.report(x)
    assert "NumPy" not in {part.by for part in report.parts}, report
    whose = "the user's own test_kept_sine" if "user" in name else "NumPy's kernel of"
    assert any(whose in part.why for part in report.parts)
    (value, gradient), (wanted, slope) = compiled(x), f(x)
    rtol = 1e-12 if x.dtype == np.float64 else 1e-4
    np.testing.assert_allclose(value, wanted, rtol)
    np.testing.assert_allclose(gradient, slope, rtol * 10)


def test_branches_and_loops_in_one_another() -> None:
    def f(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            other = wg.cond(i % 2 == 0, lambda: of_complex(c), lambda: c * 0.5)
            return wg.fori_loop(0, 2, lambda j, d: of_complex(d + 2.0 * np.eye(3)) + 0.1 * d, other)

        return wg.sum(wg.fori_loop(0, 3, body, x))

    both = wg.value_and_grad(f)
    for found, wanted in zip(wg.function(both)(MATRIX), both(MATRIX), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-10)


def test_sizes_that_only_a_run_tells() -> None:
    f = scanned(lambda x: wg.special.polygamma(LONG, x))
    g = wg.function(f, input_signature=[wg.TensorSpec((None,))])
    for n in (1, 4, 100, 0):
        x = np.linspace(0.5, 2.0, n)
        np.testing.assert_allclose(g(x), f(x), 1e-12)
    assert g.trace_count == 1


def test_errors_name_the_op_and_its_line() -> None:
    f = wg.function(scanned(of_complex))
    f(MATRIX)
    with pytest.raises(np.linalg.LinAlgError, match=r"^pinv: SVD did not converge[\s\S]*linalg\.pinv\(x"):
        f(np.full((3, 3), np.nan))
    np.testing.assert_allclose(f(MATRIX), scanned(of_complex)(MATRIX))


def test_errors_keep_no_array_whose_memory_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_FULL_TRACEBACK", "1")
    monkeypatch.setitem(NUMPY.kernels, "polygamma", lambda x, *rest: np.empty(-1))
    with pytest.raises(ValueError, match="negative") as caught:
        wg.function(scanned(lambda x: wg.special.polygamma(LONG, x)))(POINTS)
    frames = [frame for link in (caught.value, caught.value.__cause__) if link
              for frame, _ in traceback.walk_tb(link.__traceback__)]  # fmt: skip
    ours = [
        frame for frame in frames if frame.f_code.co_filename.endswith(("run/numpy_calls.py", "<wengert polygamma>"))
    ]
    assert ours
    assert not any(isinstance(v, np.ndarray | tuple) for frame in ours for v in frame.f_locals.values())


def test_what_numpy_finds_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "polygamma"
    monkeypatch.setitem(NUMPY.kernels, name, lambda x, *rest: np.log(-np.abs(x)))
    f = wg.function(scanned(lambda x: wg.special.polygamma(LONG, x)))
    with np.errstate(all="ignore"):
        f(POINTS)
    with pytest.raises(FloatingPointError, match="invalid value"), np.errstate(invalid="raise"):
        f(POINTS)
    with warnings.catch_warnings(record=True) as told, np.errstate(invalid="warn"):
        warnings.simplefilter("always")
        f(POINTS)
    assert [str(w.message) for w in told if "invalid value" in str(w.message)] == ["invalid value encountered in log"]


def test_flags_from_before_a_call_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy clears the processor's flags; a division by zero ahead of its kernel is told nevertheless."""

    def f(x: Any, y: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, c: of_complex(c + np.minimum(1 / (y * (c[0, 0] + 2.0)), 0.1)), x)

    g = wg.function(f)
    with np.errstate(all="ignore"):
        g(MATRIX, 1.0)
    with pytest.raises(FloatingPointError, match="divide by zero"), np.errstate(divide="raise"):
        g(MATRIX, 0.0)


class Stopped(BaseException):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_what_a_handler_raises_ends_the_loop() -> None:
    def handler(number: int, frame: Any) -> None:
        raise Stopped

    f = wg.function(lambda x: wg.fori_loop(0, 10_000_000, lambda i, c: of_complex(c + 0.1 * MATRIX), x), name="f")
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5, 0.25)
        with pytest.raises(Stopped):
            f(MATRIX)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads_call_the_same_code() -> None:
    f = wg.function(scanned(lambda x: wg.special.polygamma(LONG, x)))
    inputs = [POINTS + 0.1 * k for k in range(40)]
    wanted = [f(x) for x in inputs]
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(f, inputs)] == wanted


def test_checked_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(accesses.VARIABLE, "1")
    f = scanned(of_complex)
    np.testing.assert_allclose(wg.function(f)(MATRIX), f(MATRIX))


def test_nothing_of_them_is_left_when_a_function_goes() -> None:
    kept: list[int] = []
    for _ in range(3):
        f = wg.function(scanned(of_complex))
        f(MATRIX)
        x = MATRIX + 1.0
        for _ in range(50):
            f(x)
        kept.append(sys.getrefcount(x))
    assert len({*kept}) == 1


FROM_DISK = """
import numpy as np
import wengert as wg
from tests.support.profiled import python_calls
f = lambda x: wg.sum(wg.scan(lambda c, s: (c * 0.9, wg.real(wg.linalg.inv((c + s) * (1 + 0.5j)))), x, np.linspace(0.0, 0.2, 6))[1])
print(float(wg.function(f)(np.diag([1.0, 2.0, 3.0]))) - float(f(np.diag([1.0, 2.0, 3.0]))))
"""


def test_code_from_disk_finds_the_kernels_of_its_own_process(tmp_path: Path) -> None:
    environment = {**os.environ, "WENGERT_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FROM_DISK], env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        assert abs(float(done.stdout)) < 1e-12 and not done.stderr


def test_kernels_of_users_get_arrays_that_they_may_keep() -> None:
    kept.clear()
    wg.function(lambda x: wg.scan(lambda c, s: (users_sine(c) + s, c), x, np.arange(3.0))[0])(POINTS)
    wanted, c = [], POINTS
    for s in range(3):
        wanted.append(c)
        c = np.sin(c) + s
    for found, row in zip(kept[-3:], wanted, strict=True):  # before these, those of the trace
        assert found.flags.owndata
        np.testing.assert_allclose(found, row, 1e-15)


def test_kernels_of_users_may_call_the_same_code() -> None:
    held: list[Any] = []
    below = lambda x: x * 2.0 if x[0] < 4 else held[0](x - 4.0)
    step = wg.primitive("test_nested", spec=lambda x: x, numpy=below)
    f = wg.function(lambda x: wg.fori_loop(0, 2, lambda i, c: step(c) + 0.5, x))
    held.append(f)

    def wanted(x: Any) -> Any:
        for _ in range(2):
            x = (x * 2.0 if x[0] < 4 else wanted(x - 4.0)) + 0.5
        return x

    for first in (0.5, 5.0, 13.0):
        np.testing.assert_allclose(f(POINTS + first), wanted(POINTS + first), 1e-13)


def test_kernels_of_users_run_in_the_callers_error_state() -> None:
    log = wg.primitive("test_users_log", spec=lambda x: x, numpy=np.log)
    f = wg.function(lambda x: wg.fori_loop(0, 2, lambda i, c: np.exp(log(c)), x))
    with pytest.raises(FloatingPointError, match="divide by zero"), np.errstate(divide="raise"):
        f(np.zeros(3))
    with warnings.catch_warnings(record=True) as told, np.errstate(divide="warn"):
        warnings.simplefilter("always")
        f(np.zeros(3))
    assert {str(w.message) for w in told} == {"divide by zero encountered in log"}


def test_what_a_kernel_of_the_users_raises_ends_the_loop() -> None:
    def refusing(x: Any) -> Any:
        if x > 3.0:
            raise Stopped("enough")
        return x + 1.0

    step = wg.primitive("test_refusing", spec=lambda x: x, numpy=refusing)
    f = wg.function(lambda x: wg.while_loop(lambda c: c < 9.0, lambda c: step(c), x))
    with pytest.raises(Stopped, match="enough"):
        f(0.5)
    wrong = wg.primitive("test_wrong_shape", spec=lambda x: x, numpy=lambda x: np.zeros(3))
    with pytest.raises(TypeError, match="numpy gave float64 of shape .3,., but spec says"):
        wg.function(lambda x: wg.fori_loop(0, 2, lambda i, c: wrong(c), x))(POINTS)


def test_only_what_may_do_anything_keeps_a_loop_in_python() -> None:
    def told(x: Any) -> Any:
        wg.debug_print("{}", x)
        return x

    report = wg.function(lambda x: wg.fori_loop(0, 2, lambda i, c: told(of_complex(c)), x)).report(MATRIX)
    assert [part.why for part in report.parts] == [f"debug_print: {support.HANDED['debug_print']}"]


def test_a_step_calls_few_functions_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three beside the kernel's, and of a user's five, whatever its attributes and sizes: its rule is asked no more."""
    add = wg.primitive("test_cheap", spec=lambda x, y, *, share: x, numpy=lambda x, y, *, share: x * share + y)
    monkeypatch.setitem(NUMPY.kernels, "polygamma", lambda x, *rest: x)
    steps = {
        "a series": (lambda x: wg.special.polygamma(LONG, x), 3),
        "a kernel of the user's own": (lambda x: add(x, x * 2.0, share=0.5), 5),
    }
    for name, (step, most) in steps.items():
        for signature in (None, [wg.TensorSpec((None,))]):
            f = lambda n, x, step=step: wg.fori_loop(0, n, lambda i, c: step(c) * 0.5, x)
            loops = [wg.function(functools.partial(f, n), input_signature=signature) for n in (10, 20)]
            few, many = (len(python_calls(loop, POINTS)) for loop in loops)
            assert many - few <= 10 * most, (name, signature, many - few)


def test_what_a_user_returns_is_checked_whatever_tells_the_sizes() -> None:
    short = wg.primitive("test_short", spec=lambda x: x, numpy=lambda x: x[1:] if x[0] > 1.0 else x + 0.4)
    narrow = wg.primitive("test_single_precision", spec=lambda x: x, numpy=lambda x: x.astype(np.float32))
    for signature in (None, [wg.TensorSpec((None,))]):
        f = wg.function(lambda x: wg.fori_loop(0, 2, lambda i, c: short(c), x), input_signature=signature)
        np.testing.assert_allclose(f(POINTS * 0.1), POINTS * 0.1 + 0.8)
        with pytest.raises(
            TypeError, match=r"float64 of shape \(4,\), but spec says float64 of shape \(5,\)[\s\S]*short"
        ):
            f(POINTS + 0.5)
        g = wg.function(lambda x: wg.fori_loop(0, 2, lambda i, c: narrow(c), x), input_signature=signature)
        with pytest.raises(TypeError, match=r"gave float32 of shape \(5,\), but spec says float64 of shape \(5,\)"):
            g(POINTS)


def test_flags_that_a_later_step_sets_are_told_beside_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag that is set is not noted again; any other is."""
    monkeypatch.setitem(NUMPY.kernels, "polygamma", lambda x, *rest: np.exp(x * 400.0) + np.log(x - 1.0))
    f = wg.function(lambda x: wg.sum(wg.scan(lambda c, s: (c + s, wg.special.polygamma(LONG, c)), x, np.ones(4))[1]))
    x = np.zeros(3)  # an invalid number in the first step, a division by zero in the second, an overflow in the third
    for kind, what in {"invalid": "invalid value", "divide": "divide by zero", "over": "overflow"}.items():
        state: dict[str, Any] = {kind: "raise"}
        with np.errstate(all="ignore"):
            f(x)
        with np.errstate(all="ignore"), np.errstate(**state), pytest.raises(FloatingPointError, match=what):
            f(x)
    with np.errstate(all="ignore", divide="raise"):
        f(x + 1.5)
