"""Every public function and class is documented: each argument, the result, and an example that runs as a doctest.

The doctests themselves are collected from `wengert/` by pytest; here is checked that none is missing.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
import re
from typing import Any

import pytest

import wengert as wg

NAMESPACES = (
    wg, wg.ops, wg.linalg, wg.nn, wg.special, wg.stats, wg.image, wg.random, wg.tree, wg.optimize, wg.numpy,
    wg.array_api, wg.array_api.linalg, wg.array_api.fft, wg.compat.v1,
)  # fmt: skip
# Plain results and exceptions, whose fields and names say it all.
WITHOUT_EXAMPLE = {
    "BatchStatistics", "Coloring", "DisconnectedError", "Function", "GradientCheck", "GradientCheckError",
    "LostGradientError", "TracingError", "ValueAndGrad", "ValueAndGrads", "ValueAndJacobian", "VariableGrads",
}  # fmt: skip


def public(is_wanted: Any) -> dict[str, Any]:
    """The public things of a sort, each under the first of its names."""
    found: dict[Any, str] = {}
    for namespace in NAMESPACES:
        for name in namespace.__all__:
            thing = getattr(namespace, name)
            if is_wanted(thing) and getattr(thing, "__module__", "").startswith("wengert"):
                found.setdefault(thing, f"{namespace.__name__}.{name}")
    return {name: thing for thing, name in found.items()}


FUNCTIONS = public(inspect.isroutine)
CLASSES = public(inspect.isclass)
every_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


@functools.cache
def doctests_of(module: str) -> dict[str, int]:
    """How many examples doctest finds in each docstring of a module."""
    found = doctest.DocTestFinder(recurse=True).find(importlib.import_module(module))
    return {test.name: len(test.examples) for test in found}


def sections_of(thing: Any) -> dict[str, str]:
    """A docstring's sections in Google's style, by heading."""
    parts = re.split(r"^(\w+):\n(?=    )", inspect.getdoc(thing) or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_there_is_something_to_check() -> None:
    assert len(FUNCTIONS) > 400
    assert len(CLASSES) > 8


@every_function
def test_docstring_starts_with_a_sentence(function: Any) -> None:
    first = (inspect.getdoc(function) or "").split("\n\n")[0]
    assert first
    assert first.rstrip()[-1] in ".:"


@every_function
def test_every_argument_is_documented(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    if not parameters:
        return
    arguments = sections_of(function).get("Args", "")
    missing = [
        p
        for p in parameters
        if not re.search(rf"^    (\*{{0,2}}\w+, )*\*{{0,2}}{p}(, \*{{0,2}}\w+)*:", arguments, re.MULTILINE)
    ]
    assert not missing


@every_function
def test_result_is_documented(function: Any) -> None:
    gives_nothing = inspect.signature(function).return_annotation in (None, "None")
    assert gives_nothing or {"Returns", "Yields"} & sections_of(function).keys()


@every_function
def test_example_runs_as_a_doctest(function: Any) -> None:
    assert ">>>" in sections_of(function).get("Example", "")
    module = function.__module__
    assert doctests_of(module)[f"{module}.{function.__name__}"]


@pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES)
def test_class_and_its_public_methods_are_documented(cls: type) -> None:
    assert cls.__qualname__ in WITHOUT_EXAMPLE or ">>>" in (cls.__doc__ or "")
    for name, member in vars(cls).items():
        if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod, staticmethod))):
            assert (inspect.getdoc(member) or "").strip(), f"{cls.__name__}.{name} has no docstring"
