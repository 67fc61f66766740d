"""Compiled code tells what NumPy would have told: what is invalid, divides by zero, overflows or underflows."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
import wengert.numpy as wn
from wengert._engines.native import engine
from wengert._engines.native.run import numpy_warnings
from wengert._engines.native.run.flags import KINDS

ORDINARY = np.array([1.0, 2.0, 0.5, 0.75] * 6)

PROGRAMS: dict[str, Any] = {
    "log": wn.log,
    "exp": wn.exp,
    "sqrt": wn.sqrt,
    "division": lambda x: 1.0 / x,
    "quotient of itself": lambda x: x / x,
    "product": lambda x: x * x,
    "difference": lambda x: x - x,
    "sum": wn.sum,
    "mean": wn.mean,
    "running sum": wn.cumsum,
    "comparison": lambda x: x < 1.0,
    "largest": wn.max,
    "at least": lambda x: wn.maximum(x, 1.0),
    "sorted": wn.sort,
    "both sides of a selection": lambda x: wn.where(x > 0, wn.log(x), 0.0),
    "narrower numbers": lambda x: x.astype("float32"),
    "whole numbers": lambda x: x.astype("int64"),
    "remainder": lambda x: x % 2.0,
    "softmax": wg.nn.softmax,
    "sigmoid": wg.nn.sigmoid,
    "logsumexp": wg.special.logsumexp,
    "tanh": wn.tanh,
    "product of vectors": lambda x: wn.dot(x, x),
    "a loop": lambda x: wg.fori_loop(0, 5, lambda i, y: 1.0 / y, x),
    "a branch": lambda x: wg.cond(x[0] > 0, lambda y: wn.log(y), lambda y: y * 2.0, x),
}
VALUES = (0.0, -1.0, 1e308, -1e308, 800.0, 1e-310, np.nan, np.inf, -np.inf, 2.5)


def told(f: Any, x: Any) -> list[str]:
    """The warnings of a call, without repetitions."""
    with warnings.catch_warnings(record=True) as found, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        f(x)
    # NumPy's dot is what an eager `dot` runs; a compiled one is a product of matrices
    return sorted({str(w.message).replace("encountered in dot", "encountered in matmul") for w in found})


def raised(f: Any, x: Any) -> bool:
    with np.errstate(all="raise", under="ignore"):
        try:
            f(x)
        except FloatingPointError:
            return True
    return False


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_is_told_as_by_uncompiled_code(name: str) -> None:
    f = PROGRAMS[name]
    compiled = wg.function(lambda x: f(x))
    compiled(ORDINARY)
    for value in VALUES:
        x = ORDINARY.copy()
        x[[0, 5]] = value
        assert told(compiled, x) == told(f, x), value
        assert raised(compiled, x) == raised(f, x), value
        assert told(compiled, ORDINARY) == []


def test_a_warning_names_the_users_line_and_comes_once() -> None:
    f = wg.function(lambda x: wn.log(x))
    f(np.ones(3))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(20):
            f(np.zeros(3))
        f(np.zeros(3))  # another line
    assert [w.filename for w in found] == [__file__] * 2
    assert found[0].lineno == found[1].lineno - 1
    assert [str(w.message) for w in found] == ["divide by zero encountered in log"] * 2


def test_no_more_runs_once_python_would_not_show_another_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    whole = numpy_warnings.Teller._messages
    monkeypatch.setattr(numpy_warnings.Teller, "_messages", lambda *a: runs.append(a) or whole(*a))
    f = wg.function(lambda x: wn.log(x) + 1.0)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        for _ in range(30):
            f(np.zeros(3))
    assert len(runs) == 1


GUARDED: dict[str, Any] = {
    "quotient": lambda x, y: x / wn.where(y == 0, 1.0, y),
    "quotient, the other way": lambda x, y: x / wn.where(y != 0, y, 1.0),
    "product with an infinity": lambda x, y: x * wn.where(y == 0, 1.0, wn.where(y == 0, np.inf, y)),
    "gradient of the dividend": wg.grad(lambda x, y: wn.sum(x / wn.where(y == 0, 1.0, y))),
    "root": lambda x, y: wn.where(x > 0, wn.sqrt(wn.where(x > 0, x, 1.0)), 2.0),
    "root of the larger": lambda x, y: wn.where(x > 0, wn.sqrt(wn.where(x > 0, x, 0.0)), 2.0),
    "gradient of a root": wg.grad(lambda x, y: wn.sum(wn.where(x > 0, wn.sqrt(wn.where(x > 0, x, 1.0)), 2.0))),
    "root of complex numbers": lambda x, y: wn.sqrt(y * (0.5 - 1j)),
    "quotient of complex numbers": lambda x, y: x / wn.where(y == 0, 1.0, y + 1j),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", GUARDED)
def test_what_a_program_guards_against_leaves_no_flags(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM may compute both sides of a selection that has a neutral number on one."""
    asked: list[int] = []
    monkeypatch.setattr(engine.Teller, "__call__", lambda self, flags, *natives: asked.append(flags))
    y = np.where(np.arange(40) % 7 == 0, 0, np.linspace(0.5, 2, 40)).astype(dtype)
    x = np.where(y == 0, 0, np.linspace(-1, 1, 40)).astype(dtype)
    found = wg.function(GUARDED[name])(x, y)
    assert asked == []
    np.testing.assert_allclose(found, GUARDED[name](x, y), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(np.signbit(found.real), np.signbit(GUARDED[name](x, y).real))


def test_flags_that_mean_nothing_are_looked_at_ever_more_seldom() -> None:
    runs: list[Any] = []
    teller = numpy_warnings.Teller(lambda *natives: runs.append(natives) or ())
    for _ in range(1000):
        teller(KINDS["divide"])
    assert numpy_warnings.OFTEN < len(runs) < numpy_warnings.OFTEN + 10


def test_flags_that_take_long_to_look_at_are_not_looked_at_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_warnings, "SECONDS", 1e-9)
    runs: list[Any] = []
    teller = numpy_warnings.Teller(lambda *natives: runs.append(natives) or ())
    for _ in range(numpy_warnings.OFTEN):
        teller(KINDS["divide"])
    assert len(runs) == 1


def test_nothing_long_is_compiled_for_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "QUICK", 5)
    made: list[Any] = []
    whole = engine.Segment._made
    monkeypatch.setattr(engine.Segment, "_made", lambda self, *a: made.append(self.graph) or whole(self, *a))

    def step(i: Any, y: Any) -> Any:
        for _ in range(5):
            y = wn.sin(y) / (y * y)
        return y

    f = wg.function(lambda x: wg.fori_loop(0, 3, step, x))
    with pytest.warns(RuntimeWarning, match="invalid value"):
        f(np.zeros(3))
    assert all(len(graph.nodes) <= 5 for graph in made[1:]), made


def test_a_call_that_succeeded_does_not_fail_for_lack_of_memory_for_a_warning() -> None:
    def run(*natives: Any) -> Any:
        np.log(np.zeros(2))
        raise MemoryError

    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        numpy_warnings.Teller(run)(KINDS["divide"])


def test_a_loop_of_many_steps_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_warnings, "SECONDS", 0.5)
    f = wg.function(lambda x, n: wg.fori_loop(0, n, lambda i, y: wn.cos(y) / (y - y), x))
    with np.errstate(all="ignore"):
        f(np.ones(3), np.int64(1))
    started = time.thread_time()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(np.ones(3), np.int64(1_000_000))  # half a minute of NumPy's kernels
    assert time.thread_time() - started < 5
    assert "divide by zero encountered in divide" in {str(w.message) for w in found}


def test_errors_name_the_op_and_leave_the_function_as_it_was() -> None:
    f = wg.function(lambda x: wn.sum(wn.log(x)))
    assert f(np.ones(3)) == 0.0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
        f(np.array([1.0, 0.0]))
    with np.errstate(divide="ignore"), warnings.catch_warnings(action="error"):
        assert f(np.array([1.0, 0.0])) == -np.inf
    assert f(np.ones(3)) == 0.0


def test_underflow_is_told_where_numpys_state_asks_for_it() -> None:
    f = wg.function(lambda x: x * x)
    x = np.full(5, 1e-200)
    assert not f(x).any()
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        f(x)
    assert not f(x).any()


def test_callbacks_and_logs_get_what_numpy_gives_them() -> None:
    f = wg.function(lambda x: 1.0 / x)
    f(np.ones(3))
    calls: list[tuple[str, int]] = []
    with np.errstate(divide="call", call=lambda *given: calls.append(given)):
        f(np.zeros(3))
    assert calls == [("divide by zero", 1)]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_threads_of_a_call_hand_over_their_flags(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
    f = wg.function(lambda x: wn.sin(wn.log(x)) * 2.0)
    for place in (0, -1):
        x = np.ones(400_000)
        x[place] = -1.0
        assert told(f, x) == ["invalid value encountered in log"]


def test_each_thread_of_python_has_its_own_state() -> None:
    f = wg.function(lambda x: 1.0 / x)
    f(np.ones(3))
    ended: list[str] = []

    def strict() -> None:
        with np.errstate(divide="raise"):
            for _ in range(200):
                try:
                    f(np.zeros(3))
                except FloatingPointError:
                    ended.append("raised")

    others = [threading.Thread(target=strict) for _ in range(2)]
    with np.errstate(all="ignore"):
        for other in others:
            other.start()
        for _ in range(400):
            f(np.zeros(3))
        for other in others:
            other.join()
    assert len(ended) == 400


def test_reverse_sweeps_are_silent() -> None:
    f = wg.function(lambda x: wn.sum(wn.sqrt(x)))
    x = np.array([0.0, 1.0])
    assert told(wg.grad(f), x) == []
    assert told(wg.function(wg.grad(lambda x: wn.sum(wn.where(x > 0, wn.sqrt(x), 0.0)))), x) == []


def test_gradients_around_a_compiled_function_tell_what_it_does() -> None:
    f = wg.function(lambda x: wn.sum(wg.fori_loop(0, 3, lambda i, y: wn.log(y), x)))
    gradient = wg.grad(f)
    gradient(np.full(4, 1e9))
    assert told(gradient, np.zeros(4)) == told(wg.grad(f.__wrapped__), np.zeros(4))


# For each kind, programs of one op each and an operand that makes NumPy tell.
ONE_OP: dict[str, list[tuple[Any, Any]]] = {
    "divide": [
        (lambda x: 1.0 / x, 0.0), (wn.log, 0.0), (wn.log10, 0.0), (wn.log1p, -1.0), (wn.arctanh, 1.0),
        (lambda x: x**-1.0, 0.0), (lambda x: x**-0.5, 0.0), (lambda x: wn.divide(2.0, x), 0.0), (wn.reciprocal, 0.0),
    ],
    "invalid": [
        (wn.sqrt, -1.0), (wn.log, -1.0), (wn.arcsin, 2.0), (wn.arccosh, 0.5), (wn.sin, np.inf), (lambda x: x - x, np.inf),
        (lambda x: x * 0.0, np.inf), (lambda x: x**0.5, -1.0), (lambda x: x**1.5, -1.0), (lambda x: x % 1.0, np.inf),
        (lambda x: wn.mod(x, x), 0.0), (lambda x: x.astype("int32"), np.nan), (lambda x: wn.sum(x * x[::-1]), np.inf),
    ],
    "over": [
        (wn.exp, 1e4), (wn.expm1, 1e4), (wn.sinh, 1e4), (wn.cosh, 1e4), (wn.square, 1e30), (lambda x: x * x, 1e30),
        (lambda x: x**3, 1e30), (lambda x: 10.0**x, 400.0), (wn.exp2, 2e3), (wn.prod, 1e30),
    ],
    "under": [(wn.exp, -1e4), (lambda x: x * x, 1e-30), (lambda x: x / 1e20, 1e-30), (lambda x: x**3, 1e-30)],
}  # fmt: skip
STATES = ("ignore", "warn", "raise", "call", "print", "log")


class Log:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        self.texts.append(text)


def effects(f: Any, x: Any, kind: str, how: str, capfd: pytest.CaptureFixture[str]) -> list[Any]:
    """What a call does beside giving results: warnings, an error, what a callback and a log get, what is printed."""
    calls: list[Any] = []
    log = Log()
    state: dict[str, Any] = {"all": "ignore", kind: how}
    handler: Any = log if how == "log" else lambda *given: calls.append(given)
    error = ""
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as found, np.errstate(**state, call=handler):
        warnings.simplefilter("always")
        try:
            f(x)
        except FloatingPointError as raised:
            error = str(raised).split("\n")[0].split(": ")[-1]  # a program's op is a primitive: `mul` for `multiply`
    printed = capfd.readouterr()
    told = [(w.category, str(w.message)) for w in found]
    return [sorted(set(told), key=str), error, calls, log.texts, printed.out, printed.err]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_state_does_the_same_for_each_op(kind: str, dtype: str, capfd: pytest.CaptureFixture[str]) -> None:
    told = 0
    for f, value in ONE_OP[kind]:
        x = np.full(9, 0.75).astype(dtype)
        x[4] = value**7 if dtype != "float32" and value in (1e30, 1e-30) else value  # large for float64, too
        compiled = wg.function(lambda x, f=f: f(x))
        try:
            with np.errstate(all="ignore"):
                f(wg.tensor(x))
        except TypeError:
            continue  # an op of real numbers
        for how in STATES:
            wanted = effects(lambda x, f=f: f(wg.tensor(x)), x, kind, how, capfd)
            assert effects(compiled, x, kind, how, capfd) == wanted, (f, value, how)
            told += how == "raise" and bool(wanted[1])
    assert told >= 3 or dtype == "complex128"


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "uint64"])
def test_whole_numbers_divided_by_zero_are_told(dtype: str) -> None:
    programs = {"floor_divide": wn.floor_divide, "remainder": wn.mod, "fmod": wn.fmod}
    for name, f in programs.items():
        compiled = wg.function(lambda x, y, f=f: f(x, y))
        x, y = np.arange(40).astype(dtype), np.arange(3, 43).astype(dtype)
        assert told(lambda pair, c=compiled: c(*pair), (x, y)) == []
        y[17] = 0
        assert told(lambda pair, c=compiled: c(*pair), (x, y)) == [f"divide by zero encountered in {name}"]
        with np.errstate(divide="ignore"):
            assert compiled(x, y)[17] == 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_warning_comes_again_when_python_has_forgotten_it() -> None:
    f = wg.function(lambda x: wn.log(x) + 3.0)
    f(np.ones(3))
    counts: list[int] = []
    for _ in range(3):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")  # equal filters each time, after which Python starts anew
            for _ in range(4):
                f(np.zeros(3))
        counts.append(len(found))
    assert counts == [1, 1, 1]


def test_states_that_alternate_need_no_more_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    whole = numpy_warnings.Teller._messages
    monkeypatch.setattr(numpy_warnings.Teller, "_messages", lambda *a: runs.append(a) or whole(*a))
    f = wg.function(lambda x: wn.log(x) + 4.0)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        for iteration in range(30):
            with np.errstate(over="ignore" if iteration % 2 else "warn"):
                f(np.zeros(3))
    assert len(runs) == 1


def test_gradients_tell_what_uncompiled_ones_tell() -> None:
    """Where the value is asked for, too: of a gradient alone, the function's own value is not computed."""
    for f in (wn.sqrt, wn.log, lambda x: 1 / x, lambda x: x**1.5, wn.arcsin, wn.cumprod, lambda x: x / (x - x)):

        def total(x: Any, f: Any = f) -> Any:
            return wn.sum(f(x))

        compiled = wg.function(wg.value_and_grad(total))
        inner = wg.function(total)
        for value in (0.0, -1.0, 1.0, 1e308, np.inf):
            x = np.array([0.25, value, 0.75])
            wanted = told(wg.value_and_grad(total), x)
            assert told(compiled, x) == wanted
            assert told(wg.grad(inner), x) == wanted
