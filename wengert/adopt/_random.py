"""The stand-in for `numpy.random` in adopted code: arrays drawn while something is recorded accept writes of tensors.

The numbers are NumPy's, of the same streams: a generator here shares the bits of NumPy's. Tensors are shuffled and
chosen from by whole numbers, which are drawn as NumPy draws them for an array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as wnp
from .._core.tensor import Tensor
from ..ops.shapes import known_extent
from ._arrays import fresh, opened

Draw = Callable[..., Any]
_LEFT = frozenset({"get_bit_generator", "get_state", "seed", "set_bit_generator", "set_state", "spawn"})  # draw nothing


def _drawn(draw: Draw, *args: object, **kwargs: Any) -> Any:
    out = opened(kwargs.get("out"))
    if not isinstance(out, Tensor):
        made = draw(*args, **kwargs)
        return made if out is not None else fresh(made)
    out[...] = draw(*args, **{**kwargs, "out": np.empty(out.shape, out.dtype)})
    return out


def _shuffle(draw: Draw, x: Any, axis: int = 0) -> None:
    x = opened(x)
    if not isinstance(x, Tensor):
        return draw(x) if axis == 0 else draw(x, axis)
    order = np.arange(known_extent(x, axis, "np.random.shuffle"))
    draw(order)
    x[...] = wnp.take(x, order, axis)
    return None


def _permutation(draw: Draw, x: Any, axis: int = 0) -> Any:
    if isinstance(x, Tensor) and x.ndim:
        return wnp.take(x, draw(x.shape[axis]), axis)
    return fresh(draw(x) if axis == 0 else draw(x, axis))


def _choice(draw: Draw, a: Any, *args: object, **kwargs: Any) -> Any:
    if not isinstance(a, Tensor) or not a.ndim:
        return fresh(draw(a, *args, **kwargs))
    axis = kwargs.pop("axis", 0)
    return wnp.take(a, draw(a.shape[axis], *args, **kwargs), axis)


_WAYS: dict[str, Draw] = {"choice": _choice, "permutation": _permutation, "shuffle": _shuffle}


class _Kind(type):
    """The metaclass, by which NumPy's generators are instances, too."""

    def __instancecheck__(cls, instance: object) -> bool:
        if cls in (Generator, RandomState):
            return isinstance(instance, cls.__bases__[0])
        return super().__instancecheck__(instance)


class Generator(np.random.Generator, metaclass=_Kind):
    """NumPy's generator."""


class RandomState(np.random.RandomState, metaclass=_Kind):
    """NumPy's older generator."""


def _function(name: str, theirs: Draw) -> Draw:
    way = _WAYS.get(name, _drawn)

    @functools.wraps(theirs)
    def function(*args: object, **kwargs: object) -> Any:
        return way(theirs, *args, **kwargs)

    return function


def _method(name: str, theirs: Draw) -> Draw:
    way = _WAYS.get(name, _drawn)

    @functools.wraps(theirs)
    def method(self: object, *args: object, **kwargs: object) -> Any:
        return way(functools.partial(theirs, self), *args, **kwargs)

    return method


def _draws(name: str, found: object) -> bool:
    return callable(found) and not isinstance(found, type) and not name.startswith("_") and name not in _LEFT


for _class in (Generator, RandomState):
    for _name, _theirs in vars(_class.__bases__[0]).items():
        if _draws(_name, _theirs):
            setattr(_class, _name, _method(_name, _theirs))


@functools.wraps(np.random.default_rng)
def _default_rng(seed: Any = None) -> np.random.Generator:
    return seed if type(seed) is Generator else Generator(np.random.default_rng(seed).bit_generator)


_FUNCTIONS = {name: getattr(np.random, name) for name in np.random.__all__}
REPLACED: dict[str, Any] = {
    **{name: _function(name, found) for name, found in _FUNCTIONS.items() if _draws(name, found)},
    "Generator": Generator, "RandomState": RandomState, "default_rng": _default_rng,
}  # fmt: skip

__all__ = ["REPLACED"]
