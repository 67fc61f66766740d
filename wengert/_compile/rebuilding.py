"""Builds the structure that a compiled function returns (tuples, dicts, ...) from its program's flat outputs.

It runs at each call, so it is compiled to one Python expression. Used by `cache.py` and `programs/exporting.py`.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from types import CodeType, FunctionType
from typing import Any

from .._core.structure import LEAF, Spec, assembled, is_registered, maker_of, unflatten
from .trace import Static

Rebuild = Callable[[tuple[Any, ...]], Any]

_LONGEST, _DEEPEST = 4096, 16  # places and levels that an expression has; CPython takes some 10 us to compile a place


def rebuilder(spec: Spec | None, places: Sequence[Any]) -> Rebuild:
    """A function from outputs to the result's structure.

    Args:
        spec: the structure.
        places: for each leaf the number of its output, or what is there at every call.
    """
    if spec is LEAF and not isinstance(places[0], Static):
        return itemgetter(places[0])  # no call of Python's
    if spec is not None and all(c is LEAF for c in spec.children) and (*places,) == (*range(len(places)),):
        make = maker_of(spec.kind)
        if make is not None:
            return make
    if len(places) > _LONGEST or _depth(spec) > _DEEPEST:
        return lambda outs: unflatten(spec, [p.value if isinstance(p, Static) else outs[p] for p in places])
    names: dict[str, Any] = {"__builtins__": builtins}
    return FunctionType(_code(_text(spec, iter(places), names)), names)


def _depth(spec: Spec | None) -> int:
    return 0 if spec is None else 1 + max(map(_depth, spec.children), default=0)


def _text(spec: Spec | None, places: Iterator[Any], names: dict[str, Any]) -> str:
    """The expression; what it reads beside the outputs gets names."""
    if spec is None:  # a leaf
        place = next(places)
        return _named(place.value, names) if isinstance(place, Static) else f"outs[{place}]"
    children = [_text(child, places, names) for child in spec.children]
    items = "".join(f"{child}, " for child in children)
    make = maker_of(spec.kind)
    if spec.kind is tuple:
        return f"({items})"
    if make is not None:
        return f"{_named(make, names)}(({items}))"
    if not is_registered(spec.kind) and spec.kind is list:
        return f"[{items}]"
    if not is_registered(spec.kind) and spec.kind is dict:
        pairs = zip(spec.keys, children, strict=True)
        return f"{{{''.join(f'{_named(key, names)}: {child}, ' for key, child in pairs)}}}"
    return f"{_named(functools.partial(assembled, spec), names)}([{items}])"


def _named(value: object, names: dict[str, Any]) -> str:
    name = f"x{len(names)}"
    names[name] = value
    return name


@functools.lru_cache(maxsize=512)
def _code(text: str) -> CodeType:
    made = compile(f"lambda outs: {text}", "<wengert result>", "eval")
    return next(part for part in made.co_consts if isinstance(part, CodeType))


__all__ = ["Rebuild", "rebuilder"]
