"""Sweeps have NumPy ignore floating-point errors, and leave its error state as it was."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls
from wengert._core import error_state, graph
from wengert._core.graph import quietly
from wengert._core.state import STATE

STATES: list[dict[str, Any]] = [
    {}, {"all": "raise"}, {"over": "call", "call": print}, {"divide": "ignore", "invalid": "print"},
]  # fmt: skip


@pytest.mark.parametrize("asked", STATES)
def test_the_state_inside_ignores_all_and_is_as_it_was_afterwards(asked: dict[str, Any]) -> None:
    with np.errstate(**asked):
        before, called = np.geterr(), np.geterrcall()
        for _ in range(2):
            with quietly():
                assert set(np.geterr().values()) == {"ignore"}
                assert np.geterrcall() is called
                with quietly():
                    assert set(np.geterr().values()) == {"ignore"}
                assert set(np.geterr().values()) == {"ignore"}
            assert (np.geterr(), np.geterrcall()) == (before, called)
    assert STATE.silences == ()


def test_the_size_of_buffers_stays() -> None:
    before = np.setbufsize(1 << 14)
    try:
        with quietly():
            assert np.getbufsize() == 1 << 14
    finally:
        np.setbufsize(before)


def test_an_error_in_a_sweep_leaves_the_state_as_it_was() -> None:
    @wg.custom_gradient
    def f(x: Any) -> Any:
        def back(ct: Any) -> Any:
            raise RuntimeError("in the rule")

        return x * 2.0, back

    before = np.geterr()
    with pytest.raises(RuntimeError, match="in the rule"):
        wg.grad(f)(1.0)
    assert np.geterr() == before
    assert STATE.silences == ()


def test_states_that_are_remembered_are_bounded() -> None:
    for _ in range(200):
        with np.errstate(over="call", call=lambda kind, flag: None), quietly():
            pass
    assert len(error_state.SILENT) <= 64


def test_it_takes_two_calls() -> None:
    def block() -> None:
        with quietly():
            pass

    assert len(python_calls(block)) == 3  # its own among them


def test_a_numpy_that_holds_the_state_elsewhere_is_asked_by_its_public_functions(monkeypatch: Any) -> None:
    monkeypatch.setattr(graph.error_state, "get", error_state._items)
    monkeypatch.setattr(graph.error_state, "put", error_state._put_items)
    with np.errstate(divide="raise"):
        before = np.geterr()
        with quietly(), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert set(np.geterr().values()) == {"ignore"}
            np.log(np.zeros(1))
        assert np.geterr() == before
    error_state.SILENT.clear()
