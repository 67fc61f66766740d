"""Compiled code as a built-in function: what it takes, what it refuses, what it returns, what it keeps."""

from __future__ import annotations

import contextlib
import gc
import pickle
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.native_kernels import FILLED, SUM_X_SIN_X, failing_ir, map_ir
from tests.support.profiled import growth_of_calls
from tests.support.threads import in_threads
from wengert._engines.native.ir import loops
from wengert._engines.native.llvm import jit
from wengert._engines.native.run import entry
from wengert._engines.native.run.callable import CALLABLE
from wengert._engines.native.run.entry import Give, Take, Told

F8 = np.dtype(np.float64)
F4 = np.dtype(np.float32)
X = np.linspace(-1.0, 1.0, 10)


def bound(ir: str, takes: list[Take], gives: list[Give], **options: Any) -> Any:
    made = entry.bound(jit.load(ir, "entry", table=CALLABLE), takes, gives, **options)
    if made is None:
        pytest.skip("objects of this interpreter look otherwise than the stub expects")
    return made


@pytest.fixture
def sum_x_sin_x() -> Any:
    return bound(SUM_X_SIN_X, [Take("array", F8, (10,))], [Give(F8), Give(F8, (10,))])


def test_results_are_numpys(sum_x_sin_x: Any) -> None:
    value, slope = sum_x_sin_x(X)
    assert type(value) is np.float64
    assert slope.flags.owndata and slope.flags.writeable and slope.flags.c_contiguous
    np.testing.assert_allclose(value, np.sum(X * np.sin(X)), rtol=1e-14)  # another order of the sum
    np.testing.assert_allclose(slope, np.sin(X) + X * np.cos(X), rtol=1e-14)  # sin to 4 units in the last place


@pytest.mark.parametrize("arguments", [
    (), (X, X), (1.0,), (X[:5],), (X.reshape(2, 5),), (X.astype(np.float32),), (X.astype(">f8"),), (list(X),),
    (X.view(np.recarray),), (np.ma.array(X),), (None,), (np.repeat(X, 4)[::2],), (np.repeat(X, 2).astype(">f8")[::2],),
], ids=repr)  # fmt: skip
def test_what_does_not_fit_is_refused(sum_x_sin_x: Any, arguments: tuple[Any, ...]) -> None:
    assert sum_x_sin_x(*arguments) is NotImplemented


APART = {
    "gaps": np.repeat(X, 2)[::2],
    "backwards": X[::-1].copy()[::-1],
    "unaligned": np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float64),
    "from a pickle": pickle.loads(pickle.dumps(X)),
    "a field": np.rec.fromarrays([X, X], names="a,b").view(np.ndarray)["b"].view(np.ndarray),
}


@pytest.mark.parametrize("kind", APART)
def test_arrays_of_any_layout_are_taken_and_left_alone(sum_x_sin_x: Any, kind: str) -> None:
    x = APART[kind]
    held, count = x.copy(), sys.getrefcount(x)
    for got, wanted in zip(sum_x_sin_x(x), sum_x_sin_x(X), strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(x, held)
    assert sys.getrefcount(x) == count


@pytest.mark.parametrize("handler", [None, lambda *said: None], ids=["raises", "gives"])
def test_copies_of_arguments_go_however_the_call_ends(handler: Any) -> None:
    takes = [Take("array", F8, (3, 4)), Take("array", F8, (10,))]
    f = bound(failing_ir(loops.Status.MEMORY, 7), takes, [Give(F8, (3,))], on_failure=handler)
    apart = np.asfortranarray(np.ones((3, 4)))
    count = sys.getrefcount(apart)
    for _ in range(50):
        with contextlib.suppress(MemoryError):
            f(apart, X)
        assert f(apart, X[:5]) is NotImplemented
        assert f(apart.T, X) is NotImplemented
    assert sys.getrefcount(apart) == count
    assert growth_of_calls(f, apart, X[:5], times=200) < 16  # of 96 bytes and an array's head


def test_read_only_arrays_are_taken(sum_x_sin_x: Any) -> None:
    x = X.copy()
    x.flags.writeable = False
    assert sum_x_sin_x(x)[0] == sum_x_sin_x(X)[0]


def test_one_result_alone() -> None:
    takes, gives = [Take("array", F8, (Told(0),))], [Give(F8, (Told(0),))]
    f = bound(
        map_ir("llvm.fabs.f64", "f64") + "declare double @llvm.fabs.f64(double)", takes, gives, sizes=1, form=None
    )
    np.testing.assert_array_equal(f(X), np.abs(X))
    assert f(np.zeros(0)).shape == (0,)


def test_an_extent_told_once_is_checked_after() -> None:
    takes = [Take("array", F8, (Told(0),)), Take("array", F8, (Told(0),))]
    ir = map_ir("llvm.copysign.f64", "f64", 2) + "declare double @llvm.copysign.f64(double, double)"
    f = bound(ir, takes, [Give(F8, (Told(0),))], sizes=1, form=None)
    np.testing.assert_array_equal(f(np.abs(X), X), X)
    assert f(X, X[:5]) is NotImplemented


@pytest.mark.parametrize("dtype", [F8, F4])
def test_numbers(dtype: Any) -> None:
    name = "f64" if dtype is F8 else "f32"
    ir = map_ir(f"llvm.fabs.{name}", name).replace("load i64, ptr %sizes", "add i64 0, 1")
    ir += f"declare {'double' if dtype is F8 else 'float'} @llvm.fabs.{name}({'double' if dtype is F8 else 'float'})"
    floats = bound(ir, [Take("float", dtype)], [Give(dtype)], form=None)
    scalars = bound(ir, [Take("scalar", dtype)], [Give(dtype)], form=None)
    arrays = bound(ir, [Take("array", dtype)], [Give(dtype)], form=None)
    zero_d = np.array(-2.5, dtype)
    for f, x in ((floats, -2.5), (scalars, zero_d[()]), (arrays, zero_d[()]), (arrays, zero_d)):
        assert type(f(x)) is dtype.type
        assert f(x) == 2.5
        assert f(-2) is NotImplemented
        assert f(np.array([-2.5], dtype)) is NotImplemented
    assert arrays(-2.5) is NotImplemented
    assert scalars(zero_d) is NotImplemented
    assert floats(dtype.type(-2.5)) is NotImplemented
    assert scalars(-2.5) is NotImplemented


def test_constants_and_presets() -> None:
    factor = np.arange(10.0)
    count = np.array([7], np.int64)
    ir = map_ir("llvm.copysign.f64", "f64", 2) + "declare double @llvm.copysign.f64(double, double)"
    f = bound(
        ir, [Take("array", F8, (10,))], [Give(F8, (Told(0),))], form=None, sizes=1, constants=[-factor - 1],
        presets=[(0, count.ctypes.data)],
    )  # fmt: skip
    np.testing.assert_array_equal(f(X), -np.abs(X[:7]))
    count[0] = 3
    np.testing.assert_array_equal(f(X), -np.abs(X[:3]))


def test_static_arguments_are_the_very_object() -> None:
    mode = ("a", "tuple")
    takes = [Take("static", value=mode), Take("array", F8, (10,))]
    f = bound(SUM_X_SIN_X, takes, [Give(F8), Give(F8, (10,))])
    assert f(mode, X)[0] == f(mode, X)[0]
    assert f(("a", "tuple")[:1], X) is NotImplemented


def test_filled_results_free_their_memory() -> None:
    f = bound(FILLED, [Take("array", F8, (Told(0),))], [Give(F8, (Told(1),), is_filled=True)], sizes=2, form=None)
    result = f(X)
    np.testing.assert_array_equal(result, X)
    assert result.flags.writeable
    psutil = pytest.importorskip("psutil", reason="psutil tells the process's memory")
    big = np.zeros(1_000_000)
    f(big)
    before = psutil.Process().memory_info().rss
    for _ in range(50):  # 400 MB, were they kept
        f(big)
    assert psutil.Process().memory_info().rss - before < 50e6


def test_a_failure_is_told_with_its_arguments() -> None:
    told: list[Any] = []

    def on_failure(*said: Any) -> str:
        told.append(said)
        return "made otherwise"

    f = bound(failing_ir(loops.Status.MEMORY, 7), [Take("array", F8, (10,))], [Give(F8, (3,))], on_failure=on_failure)
    assert f(X) == "made otherwise"
    ((status, buffer, argument),) = told
    assert (status, buffer) == (loops.Status.MEMORY, 7)
    assert argument is X


def test_a_handler_may_raise() -> None:
    def on_failure(*said: Any) -> None:
        raise np.linalg.LinAlgError("singular")

    ir = failing_ir(loops.Status.LINALG, 0)
    f = bound(ir, [Take("array", F8, (10,))], [Give(F8, (3,)), Give(F8)], on_failure=on_failure)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        f(X)


def test_results_too_large_are_a_memory_error() -> None:
    takes = [Take("array", F8, (10,))]
    f = bound(SUM_X_SIN_X, takes, [Give(F8, (2,)), Give(F8, (2**57,))])
    with pytest.raises(MemoryError):
        f(X)


def test_nothing_is_kept_and_nothing_is_lost(sum_x_sin_x: Any) -> None:
    x = X.copy()
    before = sys.getrefcount(F8), sys.getrefcount(x), sys.getrefcount(NotImplemented)
    for _ in range(1000):
        sum_x_sin_x(x)
        sum_x_sin_x(1.0)
    after = sys.getrefcount(F8), sys.getrefcount(x), sys.getrefcount(NotImplemented)
    assert all(abs(a - b) < 10 for a, b in zip(before, after, strict=True))


def test_the_built_in_keeps_the_code() -> None:
    f = bound(SUM_X_SIN_X + "; another module", [Take("array", F8, (10,))], [Give(F8), Give(F8, (10,))])
    gc.collect()
    assert f(X)[0] == pytest.approx(np.sum(X * np.sin(X)), rel=1e-14)  # another order of the sum


def test_threads_may_call_at_once(sum_x_sin_x: Any) -> None:
    wanted = sum_x_sin_x(X)[0]
    wrong: list[Any] = []

    def work(_: int) -> None:
        for _ in range(2000):
            value = sum_x_sin_x(X)[0]
            if value != wanted:
                wrong.append(value)

    in_threads(work, 4)
    assert not wrong


def test_ctypes_calls_agree(sum_x_sin_x: Any) -> None:
    value, slope = np.zeros(()), np.zeros(10)
    assert entry.called(jit.load(SUM_X_SIN_X, "entry", table=CALLABLE), [X], [value, slope], []) == (0, 0)
    assert value == sum_x_sin_x(X)[0]


def test_what_nothing_defines_is_a_link_error() -> None:
    with pytest.raises(jit.LinkError, match="wengert_has_no_such_function"):
        jit.load("declare void @wengert_has_no_such_function()\n" + SUM_X_SIN_X, "entry", table=CALLABLE)


@pytest.mark.parametrize(("name", "value"), [("3", 3), (" 4096 ", 4096), ("", None)])
def test_the_number_of_threads(name: str, value: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", name)
    assert entry.threads() == value if value else entry.threads() >= 1


@pytest.mark.parametrize("name", ["0", "-1", "many", "9e19", "2.0", "4097", "9" * 20, "9" * 5000, "\u00b2"])
def test_a_number_of_threads_that_is_none_is_told_and_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry.tell_malformed.cache_clear()
    monkeypatch.setenv("WENGERT_NUM_THREADS", name)
    with pytest.warns(RuntimeWarning, match="WENGERT_NUM_THREADS is '.*from 1 to 4,096"):
        found = entry.threads()
    assert 1 <= found == entry.threads()  # told once
