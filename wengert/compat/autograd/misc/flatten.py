"""Nested structures of numbers and arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from .._boxes import leaves, map_tree
from ..numpy import numpy_wrapper as np


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A structure's numbers as a vector (dictionaries by sorted keys), and the function that makes it again."""
    ordered = _sorted(value)
    parts = [np.reshape(leaf, (-1,)) for leaf in leaves(ordered)]
    vector = np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else onp.zeros((0,))
    forms = map_tree(_Form, ordered)

    def unflatten(vector: Any) -> Any:
        place = 0

        def taken(form: _Form) -> Any:
            nonlocal place
            start, place = place, place + int(onp.prod(form.shape))
            part = vector[start:place]
            return np.reshape(part, form.shape) if form.shape else part[0]

        return map_tree(taken, forms)

    return vector, unflatten


class _Form:
    """A leaf's shape (which, being a tuple, would not be a leaf)."""

    def __init__(self, leaf: Any) -> None:
        self.shape = onp.shape(leaf)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return type(value)({key: _sorted(value[key]) for key in sorted(value)})
    if isinstance(value, (list, tuple)):
        items = [_sorted(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """A function of structures as one of vectors: `(flat function, unflatten, the example's vector)`."""
    vector, unflatten = flatten(example)

    def flat(x: Any, *args: object) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return flat, unflatten, vector


__all__ = ["flatten", "flatten_func"]
