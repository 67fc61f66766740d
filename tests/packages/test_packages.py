"""Packages of NumPy code, adopted: each program's value is the original's, and its gradient that of differences.

`make test-packages` installs them in an environment of their own. What a program gives is right, or a clear error (one
of ours); a gradient that differs is wrong, and none may be. Run as a program, this writes the table of the docs.
"""

from __future__ import annotations

import importlib
import sys
import traceback
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg

from .programs import PACKAGES, Program

RIGHT, REFUSED, WRONG, BROKEN = "right", "clear error", "wrong", "no such program"
LEAST_RIGHT = 0.9


def _numbers(result: Any) -> list[Any]:
    """The real numbers in nested results, flat."""
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in _numbers(part)]
    if isinstance(result, dict):
        return [x for part in result.values() for x in _numbers(part)]
    if result is None or isinstance(result, (str, bool)):
        return []
    return [result]


def _total(result: Any) -> Any:
    parts = [part.real + part.imag if np.iscomplexobj(part) else part for part in _numbers(result)]
    return sum((np.sum(part) if np.ndim(part) else part) * (1.0 + 0.1 * i) for i, part in enumerate(parts))


def _run(module: Any, program: Program, x: Any) -> Any:
    x = x.copy() if isinstance(x, np.ndarray) else x  # some functions write into their arguments
    return _total(eval(program.text, {"m": module, "np": np, "x": x}))


def _slopes(module: Any, program: Program, at: Any) -> np.ndarray:
    """Central differences of the original, the better of two steps left to the tolerance."""
    point = np.array(at, float)
    slopes = np.zeros(point.shape)
    for place in np.ndindex(point.shape):
        ends = []
        step = 1e-5 * max(abs(point[place]), 1e-1)
        for sign in (1, -1):
            moved = point.copy()
            moved[place] += sign * step
            ends.append(float(_run(module, program, moved if moved.ndim else float(moved))))
        slopes[place] = (ends[0] - ends[1]) / (2 * step)
    return slopes


def outcome(name: str, program: Program) -> tuple[str, str]:
    """What became of a program, and the words for a person."""
    original = importlib.import_module(name)
    point = np.array(program.at, float)
    x = point if point.ndim else float(point)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected, slopes = float(_run(original, program, x)), _slopes(original, program, program.at)
        except Exception as error:
            return BROKEN, f"{type(error).__name__}: {error}"
        try:
            value, gradient = wg.value_and_grad(
                lambda x: _run(wg.adopt(name), program, x), unconnected_gradients="zero"
            )(x)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)
            user = next((f for f in reversed(place) if "wengert" not in f.filename), place[-1])
            return REFUSED, f"{type(error).__name__}: {error} [{user.filename}:{user.lineno}: {user.line}]"
    size = max(np.abs(slopes).max(), 1e-8)
    if np.isclose(value, expected, rtol=1e-9) and np.abs(gradient - slopes).max() <= 1e-4 * size + 1e-9 * abs(expected):
        return RIGHT, ""
    return WRONG, f"value {value} for {expected}, gradient {gradient} for {slopes}"


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    pytest.importorskip("chemicals", reason="make test-packages installs the packages")


@pytest.mark.parametrize("name", PACKAGES)
def test_gradients_of_a_package_are_those_of_differences(name: str) -> None:
    pytest.importorskip(name.partition(".")[0])
    found = {program.text: outcome(name, program) for program in PACKAGES[name][2]}
    assert not {text: told for text, (kind, told) in found.items() if kind in (WRONG, BROKEN)}
    assert len(found) >= 6


def test_nine_programs_of_ten_are_right() -> None:
    kinds = [outcome(name, program)[0] for name, (_, _, programs) in PACKAGES.items() for program in programs]
    assert kinds.count(RIGHT) >= LEAST_RIGHT * len(kinds)


def table() -> str:
    """The table of the documentation."""
    rows = ["| package | field | programs | right | clear error |", "|---|---|---|---|---|"]
    for name, (installed, field, programs) in PACKAGES.items():
        kinds = [outcome(name, program)[0] for program in programs]
        rows.append(f"| {installed} | {field} | {len(kinds)} | {kinds.count(RIGHT)} | {kinds.count(REFUSED)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(table())
    else:
        for name, (_, _, programs) in PACKAGES.items():
            for program in programs:
                try:
                    kind, told = outcome(name, program)
                except Exception as error:
                    kind, told = "unloadable", repr(error)
                print(f"{kind:12s} {name} {program.text[:60]}  {told[:300]}")
