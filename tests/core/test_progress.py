"""`progress=`: what a function is told, what is shown on standard error, and what is refused."""

from __future__ import annotations

import importlib.util
import io
import sys
import time
import types
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core import progress as shown
from wengert._core.progress import Bar, Progress, compiling, following, stage

DECAY: dict[str, Any] = {"fun": lambda t, y: -y, "t_span": (0.0, 2.0), "y0": np.ones(2)}


def distance(x: Any) -> Any:
    return wg.sum((x - 3.0) ** 2)


WORK = {
    "minimize": lambda p: wg.optimize.minimize(distance, np.zeros(2), progress=p),
    "least_squares": lambda p: wg.optimize.least_squares(lambda x: x - 3.0, np.zeros(2), progress=p),
    "root": lambda p: wg.optimize.root(lambda x: x**2 - 3.0, np.ones(2), progress=p),
    "solve_ivp": lambda p: wg.integrate.solve_ivp(**DECAY, progress=p),
    "check_gradients": lambda p: wg.check_gradients(distance, np.zeros(3), progress=p),
}
METHODS = ("BFGS", "Nelder-Mead", "trust-constr", "TNC", "COBYLA", "SLSQP", "Newton-CG")


@pytest.mark.parametrize("what", WORK)
def test_a_function_is_told_how_far_the_work_has_come(what: str) -> None:
    told: list[Progress] = []
    WORK[what](told.append)
    assert {p.what for p in told} == {what}
    done = [p.done for p in told]
    assert done == sorted(done)
    assert done[-1] > 0
    assert all(p.note for p in told)


@pytest.mark.parametrize("what", ["solve_ivp", "check_gradients"])
def test_work_of_known_length_is_done_at_the_end(what: str) -> None:
    told: list[Progress] = []
    WORK[what](told.append)
    assert told[-1].done == told[-1].total


@pytest.mark.parametrize("modes", ["reverse", "forward", ("reverse", "forward")])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 70])
def test_derivatives_to_compare_are_counted_before(modes: Any, order: int, size: int) -> None:
    if size == 70 and order == 3:
        pytest.skip("takes seconds, and tells nothing that order 2 does not")
    told: list[Progress] = []
    checked = wg.check_gradients(
        lambda x: wg.sum(wg.sin(x)), np.ones(size), order=order, modes=modes, progress=told.append
    )
    assert told[-1].total == len(told) == checked.checked


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_minimize_tells(method: str) -> None:
    told: list[Progress] = []
    found = wg.optimize.minimize(distance, np.zeros(2), method=method, progress=told.append)
    assert told[-1].done == found.nfev or len(told) >= 3
    np.testing.assert_allclose(found.x, 3.0, atol=1e-3)


def test_time_that_runs_back_is_progress_too() -> None:
    told: list[Progress] = []
    wg.integrate.solve_ivp(lambda t, y: -y, (2.0, 0.0), np.ones(1), progress=told.append)
    assert told[-1][1:3] == (2.0, 2.0)


def test_the_gradient_of_work_that_tells_is_the_same() -> None:
    def end(rate: Any, progress: Any = None) -> Any:
        run = wg.integrate.solve_ivp(lambda t, y, r: -r * y, (0, 1), np.ones(1), args=(rate,), progress=progress)
        return run.y[0, -1]

    told: list[Progress] = []
    assert wg.grad(lambda r: end(r, told.append))(0.5) == wg.grad(end)(0.5)
    assert told


@pytest.mark.parametrize("what", WORK)
@pytest.mark.parametrize("wrong", [3, "yes", 1.0])
def test_other_values_are_refused_by_name(what: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"{what}: progress is {wrong!r}, wanted True or a function"):
        WORK[what](wrong)


def test_a_function_refuses_other_values_when_it_is_made() -> None:
    with pytest.raises(TypeError, match="function: progress is 3, wanted True or a function"):
        wg.function(distance, progress=3)


@pytest.mark.parametrize("what", WORK)
@pytest.mark.parametrize("quiet", [None, False])
def test_nobody_who_does_not_ask_sees_anything(what: str, quiet: Any, capfd: pytest.CaptureFixture[str]) -> None:
    WORK[what](quiet)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("what", WORK)
def test_without_tqdm_lines_come_on_standard_error(
    what: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    WORK[what](True)
    told = capsys.readouterr()
    assert not told.out
    lines = told.err.splitlines()
    assert 1 <= len(lines) <= 9
    assert all(line.startswith(f"  {what} ") for line in lines)


def test_with_tqdm_its_bar_is_moved_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Recorder:
        def __init__(self, **options: Any) -> None:
            self.n, self.options, self.is_closed, self.notes = 0.0, options, False, []
            bars.append(self)

        def update(self, by: float) -> None:
            self.n += by

        def set_postfix_str(self, note: str, refresh: bool) -> None:
            self.notes.append(note)

        def close(self) -> None:
            self.is_closed = True

    bars: list[Any] = []
    module: Any = types.ModuleType("tqdm.auto")
    module.tqdm = Recorder
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    wg.integrate.solve_ivp(**DECAY, progress=True)
    (bar,) = bars
    assert bar.is_closed
    assert bar.n == pytest.approx(bar.options["total"]) == 2.0
    assert bar.notes[-1] == "t = 2"


def test_a_terminal_has_a_bar_that_is_drawn_anew() -> None:
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]  # a terminal, for once
    bar = Bar(4, stream)
    for i in range(5):
        bar.step(i, "on")
    bar.close()
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith(f"\r  {'█' * 32} 4/4  on\x1b[K\n")


def test_stages_of_compiling_are_told_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Progress] = []
    with compiling(told.append, "f"):
        stage("planning")
        assert not told
        monkeypatch.setattr(shown, "SECONDS_UNTOLD", 0.0)
        stage("lowering")
        time.sleep(0.001)
        stage("LLVM")
    stage("after")
    assert [p.note for p in told] == ["lowering", "LLVM"]
    assert {p.what for p in told} == {"compiling f"}
    assert 0 < told[0].done < told[1].done


def test_a_function_tells_when_it_compiles_and_not_when_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="nothing is compiled without it")
    monkeypatch.setattr(shown, "SECONDS_UNTOLD", 0.0)
    told: list[Progress] = []
    f = wg.function(lambda x: wg.sum(wg.sin(x) * x), name="area", progress=told.append)
    f(np.ones(4))
    assert [p.note for p in told] == ["planning", "lowering", "LLVM", "compiled"]
    assert {p.what for p in told} == {"compiling area"}
    before = len(told)
    f(np.ones(4))
    f(np.zeros(4))
    assert len(told) == before


def test_what_raises_in_the_function_ends_the_work_and_leaves_no_listener() -> None:
    def stop(p: Progress) -> None:
        raise RuntimeError("enough")

    for work in WORK.values():
        with pytest.raises(RuntimeError, match="enough"):
            work(stop)
    with pytest.raises(ZeroDivisionError), compiling(stop, "f"):
        raise ZeroDivisionError
    assert not shown.is_heard()
    with following(None, "nothing") as step:
        assert step is None
