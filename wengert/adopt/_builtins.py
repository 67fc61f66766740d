"""The `__builtins__` of adopted code: Python's own, with casts and tests that know tensors, and our `__import__`.

The dictionary's mark lets a tensor's `int()`, `item` and `tolist` know who calls them (`_core/tensor.py`).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import reduce
from typing import Any

from .. import ops
from .._core.argument_types import ArrayLike
from .._core.tensor import ADOPTED_MARK, Tensor
from ..numpy._kinds import standing_type
from ._bracketing import DECIDED, decided
from ._casts import COMPLEX, FLOAT, TYPE, real_of, without_casts

COPIED_FROM = "__wengert_copied_from__"  # an attribute of a copied class: the original, whose objects are also its own


def _isinstance(x: ArrayLike | None, kinds: Any) -> bool:
    if isinstance(x, kinds):
        return True
    if isinstance(x, Tensor):
        return issubclass(standing_type(x), kinds)
    if type(kinds) is tuple:
        return any(_isinstance(x, kind) for kind in kinds)
    original = getattr(kinds, COPIED_FROM, None)
    return original is not None and isinstance(x, original)


def _issubclass(cls: Any, kinds: Any) -> bool:
    return issubclass(real_of(cls), kinds)


def _hasattr(x: ArrayLike, name: str) -> bool:
    """NumPy's scalars have no length and cannot be iterated, by which code tells them from arrays."""
    if isinstance(x, Tensor) and not x.ndim and name in ("__len__", "__iter__", "__setitem__"):
        return False
    return hasattr(x, name)


def _round(number: Any, ndigits: Any = None) -> Any:
    if not isinstance(number, Tensor):
        return round(number) if ndigits is None else round(number, ndigits)
    return round(number.item()) if ndigits is None and not number.is_symbolic else ops.round(number, ndigits or 0)


def _extreme(python: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: object) -> Any:
        if kwargs:
            return python(*args, **kwargs)
        values = args if len(args) > 1 else (*args[0],) if args else ()
        if len(values) > 1 and any(isinstance(x, Tensor) and x.is_symbolic for x in values):
            return reduce(ours, values)
        return python(values) if args else python()

    function.__name__ = function.__qualname__ = python.__name__
    return function


def _build_class(body: Callable[..., Any], name: str, *bases: object, **keywords: object) -> Any:
    if keywords.get("metaclass") is TYPE:
        keywords["metaclass"] = type
    return builtins.__build_class__(body, name, *without_casts(bases), **keywords)


REPLACED: dict[str, Any] = {
    "float": FLOAT, "complex": COMPLEX, "type": TYPE, "isinstance": _isinstance, "issubclass": _issubclass,
    "hasattr": _hasattr, "round": _round, "min": _extreme(min, ops.minimum), "max": _extreme(max, ops.maximum),
    "__build_class__": _build_class, DECIDED: decided,
}  # fmt: skip


def builtins_for(adoption: Any) -> dict[str, Any]:
    """A dictionary of builtins whose imports an adoption answers."""
    return {**vars(builtins), **REPLACED, "__import__": adoption.import_, ADOPTED_MARK: adoption}


def adoption_of(names: dict[str, Any]) -> Any:
    """The adoption whose builtins a namespace has, or None."""
    held = names.get("__builtins__")
    return held.get(ADOPTED_MARK) if isinstance(held, dict) else None


__all__ = ["REPLACED", "adoption_of", "builtins_for"]
