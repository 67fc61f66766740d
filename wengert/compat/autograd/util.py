"""`subval`, `subvals`, `func` and `toposort`, as `autograd.util` has them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..._core.lazy_modules import names_loaded_later


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A tuple with other values at some places."""
    items = list(x)
    for index, value in ivs:
        items[index] = value
    return tuple(items)


def subval(x: Iterable[Any], i: int, v: object) -> tuple[Any, ...]:
    """A tuple with another value at one place."""
    return subvals(x, ((i, v),))


def func(f: Callable[..., Any]) -> Any:
    """A method's function."""
    return getattr(f, "__func__", f)


def toposort(end_node: object, parents: Callable[[Any], Any] = operator.attrgetter("parents")) -> Iterator[Any]:
    """A node and its ancestors, each after all that it is a parent of."""
    children: dict[int, int] = {}
    waiting = [end_node]
    while waiting:
        node = waiting.pop()
        children[id(node)] = children.get(id(node), 0) + 1
        if children[id(node)] == 1:
            waiting.extend(parents(node))
    ready = [end_node]
    while ready:
        node = ready.pop()
        yield node
        for parent in parents(node):
            children[id(parent)] -= 1
            if not children[id(parent)]:
                ready.append(parent)


__getattr__, __dir__ = names_loaded_later(__name__, {"quick_grad_check": "..test_util"})
