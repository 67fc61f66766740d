"""`function` calls compiled code directly where nothing else is asked for; hand-made code stands in for the engine's."""

from __future__ import annotations

import timeit
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.native_kernels import SUM_X_SIN_X
from wengert._engines.native.llvm import jit
from wengert._engines.native.run.entry import Code, Give, Take

F8 = np.dtype(np.float64)
X = np.linspace(-1.0, 1.0, 10)


class Executable:
    """What an engine makes of a program: callable with arrays, and compiled code as a whole."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.calls = 0

    def entry(self, guards: Any) -> Code:
        return self.code

    def __call__(self, *natives: Any) -> Any:
        self.calls += 1
        function = self.code.function()
        assert function is not None
        return function(*map(np.ascontiguousarray, natives))


@pytest.fixture
def compiled() -> Any:
    """value_and_grad of sum(x sin x), its executable replaced by hand-made code whose results are shifted by one."""
    ir = SUM_X_SIN_X.replace("store double %sum.next", "%shifted = fadd double %sum.next, 1.0\n  store double %shifted")
    code = Code(jit.load(ir, "entry"), (Take("array", F8, (10,)),), (Give(F8), Give(F8, (10,))), {})
    if code.function() is None:
        pytest.skip("objects of this interpreter look otherwise than the stub expects")
    f = wg.function(wg.value_and_grad(lambda x: wg.sum(x * wg.sin(x))))
    f(X)
    ((_, form),) = f.traces
    form.executable = Executable(code)
    f(X)
    f(X)
    return SimpleNamespace(f=f, executable=form.executable)


WANTED = float(np.sum(X * np.sin(X)))


def test_calls_go_straight_to_the_code(compiled: Any) -> None:
    before = compiled.executable.calls
    value, slope = compiled.f(X)
    assert compiled.executable.calls == before
    assert value == pytest.approx(WANTED + 1, rel=1e-14)  # another order of the sum
    assert type(value) is np.float64
    assert type(slope) is np.ndarray


def test_what_the_code_refuses_takes_the_general_path(compiled: Any) -> None:
    assert compiled.f(X[::-1].copy()[::-1])[0] == pytest.approx(WANTED + 1, rel=1e-14)  # strided: copied first
    assert compiled.f(X[:5])[0] == pytest.approx(np.sum(X[:5] * np.sin(X[:5])), rel=1e-14)  # a trace of its own
    assert compiled.f(X)[0] == pytest.approx(WANTED + 1, rel=1e-14)
    assert type(compiled.f(wg.tensor(X))[0]) is wg.Tensor


def test_open_tapes_builders_and_the_eager_switch_are_seen(compiled: Any) -> None:
    with wg.eager():
        assert compiled.f(X)[0] == pytest.approx(WANTED, rel=1e-14)
    assert wg.function(lambda x: compiled.f(x)[0])(X) == pytest.approx(WANTED, rel=1e-14)  # traced through
    slope = wg.grad(lambda x: compiled.f(x)[0])(X)
    np.testing.assert_allclose(slope, np.sin(X) + X * np.cos(X), rtol=1e-13)  # other kernels than NumPy's


def test_another_default_float_is_another_signature(compiled: Any) -> None:
    before = compiled.f.trace_count
    wg.set_default_float("float32")
    try:
        compiled.f(X)
        assert compiled.f.trace_count == before + 1
    finally:
        wg.set_default_float("float64")


def test_a_call_takes_at_most_three_microseconds(compiled: Any) -> None:
    f, count = compiled.f, 200
    runs = timeit.repeat("f(X)", globals={"f": f, "X": X}, number=count, repeat=500)  # short: some meet a quiet machine
    assert min(runs) / count < 3e-6  # seconds; 0.8e-6 where it was written
