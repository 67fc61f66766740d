"""Indices of arrays from the places of buffers (`_prims/buffer.py`), for the engines that index as NumPy does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def are_many(indices: Sequence[Any]) -> bool:
    """Whether index arrays have axes; without, they are integers, and what they choose is a view."""
    return bool(indices) and indices[0].shape != ()


def whole_place(template: Sequence[Any], indices: Iterable[Any]) -> tuple[Any, ...]:
    """The index of a place whose index arrays have no axes."""
    following = iter(indices)
    return (*[slice(*e) if type(e) is tuple else next(following) if e is None else e for e in template], ...)


def front(template: Sequence[Any]) -> tuple[tuple[Any, ...], list[int]]:
    """The static part of a place, with whole axes for index arrays, and the order that puts these axes in front."""
    static, indexed, sliced = list[Any](), list[int](), list[int]()
    for entry in template:
        if entry is None or type(entry) is tuple:
            (indexed if entry is None else sliced).append(len(indexed) + len(sliced))
            entry = slice(None) if entry is None else slice(*entry)
        static.append(entry)
    return (*static, ...), indexed + sliced


def indexed_extents(shape: Sequence[int], template: Sequence[Any]) -> list[int]:
    """The extents of the axes that index arrays address."""
    return [n for n, e in zip(shape, template, strict=False) if e is None]
