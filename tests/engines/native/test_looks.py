"""Machine code looks by itself whether what a program has read beside its arguments is there still."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CellType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
from tests.support.profiled import python_calls
from wengert._compile import cache
from wengert._engines.native.run.looks import Looks, _are_known

X = np.arange(3.0)
pytestmark = pytest.mark.skipif(not _are_known(), reason="this interpreter keeps objects in another way")


class Case(NamedTuple):
    """A function `f` of a module's text, what changes in the module, and a call's sum before and after that."""

    text: str
    change: str
    before: float
    after: float


CASES = {
    "a number": Case("a = 2.0\ndef f(x): return x * a", "a = 3.0", 6.0, 9.0),
    "a name that goes and comes": Case("a = 2.0\ndef f(x): return x * a", "del a; b = 1; a = 3.0", 6.0, 9.0),
    "a function": Case("def g(x): return x * 2\ndef f(x): return g(x)", "def g(x): return x * 3", 6.0, 9.0),
    "a function's code": Case(
        "def g(x): return x * 2\ndef h(x): return x * 3\ndef f(x): return g(x)", "g.__code__ = h.__code__", 6.0, 9.0),
    "its own code": Case(
        "a = 1.0\ndef h(x): return x * 3 * a\ndef f(x): return x * 2 * a", "f.__code__ = h.__code__", 6.0, 9.0),
    "a default": Case("def g(x, a=2.0): return x * a\ndef f(x): return g(x)", "g.__defaults__ = (3.0,)", 6.0, 9.0),
    "a default by name": Case(
        "def g(x, *, a=2.0): return x * a\ndef f(x): return g(x)", "g.__kwdefaults__ = dict(a=3.0)", 6.0, 9.0),
    "an element": Case("a = [1.0, 2.0]\ndef f(x): return x * a[1]", "a[1] = 3.0", 6.0, 9.0),
    "another element": Case("a = [2.0]\ndef f(x): return sum([x * b for b in a])", "a.append(1.0)", 6.0, 9.0),
    "fewer elements": Case("a = [2.0, 1.0]\ndef f(x): return sum([x * b for b in a])", "a.pop()", 9.0, 6.0),
    "an entry": Case("a = dict(b=2.0)\ndef f(x): return x * a['b']", "a['b'] = 3.0", 6.0, 9.0),
    "another entry": Case(
        "a = dict(b=2.0)\ndef f(x): return sum([x * b for b in a.values()])", "a['c'] = 1.0", 6.0, 9.0),
    "the order of entries": Case(
        "a = dict(b=2.0, c=4.0)\ndef f(x): return x * [*a.values()][0]", "a['b'] = a.pop('b')", 6.0, 12.0),
    "an emptied dictionary": Case(
        "a = dict(b=2.0, c=4.0)\ndef f(x): return x * a['b']", "a.clear(); a.update(b=3.0, c=4.0)", 6.0, 9.0),
    "a built-in that is hidden": Case("def f(x): return abs(-2.0) * x", "abs = lambda x: 3.0", 6.0, 9.0),
    "a variable around": Case(
        "def outer(a):\n  def f(x): return x * a\n  def change():\n    nonlocal a\n    a = 3.0\n  return f, change\n"
        "f, change = outer(2.0)", "change()", 6.0, 9.0),
    "an array": Case("a = np.full(3, 2.0)\ndef f(x): return x * a", "a = np.full(3, 3.0)", 6.0, 9.0),
    "an array in place": Case("a = np.full(3, 2.0)\ndef f(x): return x * a", "a[:] = 3.0", 6.0, 9.0),
    "an array of another shape": Case("a = np.full(3, 2.0)\ndef f(x): return x * a", "a = np.full(1, 3.0)", 6.0, 9.0),
    "a tensor": Case("a = wg.tensor(np.full(3, 2.0))\ndef f(x): return x * a", "a = wg.tensor(np.full(3, 3.0))", 6, 9),
    "a tensor in place": Case("a = wg.tensor(np.full(3, 2.0))\ndef f(x): return x * a", "a[:] = 3.0", 6.0, 9.0),
    "a module's": Case("def f(x): return x * held.a", "held.a = 3.0", 6.0, 9.0),
}  # fmt: skip


def module(text: str) -> dict[str, Any]:
    held = type(sys)("held")
    held.a = 2.0  # type: ignore[attr-defined]
    names: dict[str, Any] = {"np": np, "wg": wg, "held": held}
    exec(text, names)
    return names


def compiled(names: dict[str, Any]) -> Callable[[Any], Any]:
    return wg.function(names["f"])


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen_and_so_is_what_was_there_before(name: str) -> None:
    case = CASES[name]
    names = module(case.text)
    f = compiled(names)
    for _ in range(4):
        assert np.sum(f(X)) == case.before
    exec(case.change, names)
    for _ in range(4):
        assert np.sum(f(X)) == case.after


@pytest.mark.parametrize("name", CASES)
def test_a_call_is_one_of_python_and_no_more(name: str) -> None:
    case = CASES[name]
    names = module(case.text)
    f = compiled(names)
    assert python_calls(f, X) == ["__call__"]
    exec(case.change, names)
    if name != "a tensor in place":  # each call looks what has become of it
        assert python_calls(f, X) == ["__call__"]


def test_other_names_do_not_matter() -> None:
    names = module("a = 2.0\ndef f(x): return x * a * abs(-1.0)")
    f = compiled(names)
    for k in range(3 * cache._MOST_LOOKERS):  # each time the table of keys may be another one
        names[f"other{k}"] = k
        assert np.sum(f(X)) == 6.0
    names["a"] = 3.0
    assert np.sum(f(X)) == 9.0
    names["abs"] = lambda x: 2.0
    assert np.sum(f(X)) == 18.0


def test_what_alternates_is_found_again() -> None:
    names = module("a = None\ndef f(x): return x * (2.0 if a is None else 3.0)")
    f: Any = compiled(names)
    for value, wanted in [(None, 6.0), ("other", 9.0)] * 5:
        names["a"] = value
        assert np.sum(f(X)) == wanted
        assert np.sum(f(X)) == wanted
    assert f.trace_count == 2


def test_captured_arrays_reach_those_who_handle_errors() -> None:
    names = module("a = np.full(3, 1e300)\ndef f(x): return x * a * 1e300")
    f = compiled(names)
    for _ in range(3):
        assert np.isinf(f(X)[1])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        f(X)
    names["a"][:] = 1.0
    assert f(X)[1] == 1e300


def test_looks_say_whether_they_hold() -> None:
    first, second = object(), object()
    for change in range(4):
        cell, values, names = CellType(first), [first, second], {"a": first, "b": second}
        space = SimpleNamespace()
        looks = Looks()
        assert looks.cell(cell, first)
        assert looks.elements(values, [first, second])
        assert looks.entry(names, "b", second)
        assert looks.no_entry(names, "c")
        assert looks.type_of(space)
        assert looks.address and looks.hold()
        looks._words[0] = 1  # as the stub says where one failed
        assert looks.hold() and looks._words[0] == 0
        match change:
            case 0:
                cell.cell_contents = second
            case 1:
                values.append(first)
            case 2:
                names["b"] = first
            case _:
                names["c"] = first
        looks._words[0] = 1
        assert not looks.hold()


def test_what_lies_elsewhere_is_not_looked_at() -> None:
    class Held(dict[str, Any]):
        pass

    space = SimpleNamespace(a=1.0)
    assert not Looks().entry(Held(a=1), "a", 1)
    assert not Looks().entry({"a": 1}, "b", 1)
    assert not Looks().entry({"a": 1.5}, "a", 2.5)
    assert not Looks().no_entry({"a": 1}, "a")
    assert not Looks().entries({"a": 1}, ("a", 1, "b", 2))
    assert not Looks().elements([1.5], [2.5])
    assert not Looks().function(module, "__name__", "module")
    assert not Looks().cell(CellType(), space)
