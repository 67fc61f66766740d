"""Nested structures of numbers and arrays as one vector, and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from .._boxes import leaves, map_tree, rebuilt
from ..numpy import numpy_wrapper as np


def flatten(value: object) -> tuple[Any, Callable[[Any], Any]]:
    """A structure's numbers as a vector (dictionaries by sorted keys), and the function that makes it again."""
    ordered = _sorted(value)
    parts = [np.reshape(leaf, (-1,)) for leaf in leaves(ordered)]
    vector = np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else onp.zeros((0,))
    # dictionaries come back in the order in which they came
    shapes, form = [onp.shape(leaf) for leaf in leaves(ordered)], map_tree(lambda leaf: None, value)
    ends = list(itertools.accumulate(map(math.prod, shapes), initial=0))

    def unflatten(vector: Any) -> Any:
        pieces = iter(zip(ends, ends[1:], shapes))

        def taken(_: object) -> Any:
            start, end, shape = next(pieces)
            return np.reshape(vector[start:end], shape) if shape else vector[start]

        return map_tree(lambda leaf, made: made, form, map_tree(taken, _sorted(form)))

    return vector, unflatten


def _sorted(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return rebuilt(value, map(_sorted, value))
    return value


def flatten_func(func: Callable[..., Any], example: object) -> tuple[Any, Any, Any]:
    """A function of structures as one of vectors: `(flat function, unflatten, the example's vector)`."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector


__all__ = ["flatten", "flatten_func"]
