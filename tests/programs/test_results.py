"""What a compiled function returns has the structure that the function gave, at every call."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg

Pair = namedtuple("Pair", "first second")  # as users write them


@dataclass
class Held:
    value: Any
    name: str = "x"


def nested(x: Any, levels: int) -> Any:
    for _ in range(levels):
        x = (x,)
    return x


CASES: dict[str, Any] = {
    "leaf": lambda x: x * 2, "tuple": lambda x: (x * 2, x), "one": lambda x: (x,), "nothing": lambda x: (),
    "list": lambda x: [x, [x + 1]], "dictionary": lambda x: {"b": x, "a": {"c": x - 1}, 3: (x,)},
    "ordered": lambda x: OrderedDict(z=x, a=[x]), "named": lambda x: Pair(x, Pair(x + 1, {"q": x})),
    "dataclass": lambda x: (Held(x * 3), x), "fixed": lambda x: (x, "text", None, True, {"n": 3}),
    "twice": lambda x: (x * 2,) * 3, "deep": lambda x: nested(x + 1, 60), "long": lambda x: [(x + i,) for i in range(90)],
}  # fmt: skip


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, np.ndarray):
        return np.array_equal(found, wanted)
    if isinstance(wanted, Held):
        return type(found) is Held and same(found.value, wanted.value) and found.name == wanted.name
    if isinstance(wanted, dict):
        return type(found) is type(wanted) and [*found] == [*wanted] and all(same(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, (list, tuple)):
        return type(found) is type(wanted) and len(found) == len(wanted) and all(map(same, found, wanted))
    return type(found) is type(wanted) and found == wanted


@pytest.mark.parametrize("name", CASES)
def test_structures_of_results(name: str) -> None:
    f, compiled = CASES[name], wg.function(CASES[name])
    x = np.array([0.5, 1.5])
    for _ in range(3):
        assert same(compiled(x), f(x))
    if name in ("list", "dictionary"):
        found = compiled(x)
        found.clear()  # the caller's own
        assert same(compiled(x), f(x))
