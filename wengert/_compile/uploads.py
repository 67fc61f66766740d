"""Keeps device copies of captured NumPy arrays: transferred once, and again when the array has changed.

`Compiled` (`cache.py`) asks for them before a call on a framework's arrays. On an accelerator each transfer takes as
long as a small program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.dtypes import HISTORY
from .._core.engine import Engine
from .captures.watch import COPIED, bytes_of, same_bytes

_KEPT = 1 << 26  # bytes of each captured array that are compared; what is larger is transferred at each call


class Uploads:
    """What was transferred for one compiled program: with the bytes that it was made of.

    The key is the place among the captures, the dtype (JAX's 64-bit switch decides some) and the device.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], tuple[tuple[Any, ...], Any]] = {}

    def beside(self, natives: Sequence[Any], partner: Any, home: Engine) -> list[Any]:
        """The natives, NumPy's arrays among them on the engine and the device of `partner`, a native of `home`."""
        device = (home.name, home.device(partner)) if any(type(x) is np.ndarray for x in natives) else None
        return [
            self._placed(x, partner, home, (place, home.canonical_dtype(x.dtype), device)) if can_keep(x) else x
            for place, x in enumerate(natives)
        ]

    def mover(self, place: int, array: np.ndarray[Any, Any], partner: Any, home: Engine) -> Callable[[Any], Any]:
        """What gives the framework's array for the array at a place among the captures, as long as its shape and dtype
        stay.
        """
        shape, dtype, device = array.shape, array.dtype, (home.name, home.device(partner))
        last: tuple[Any, ...] = (None,) * 4  # set at once, so that no thread sees half of it

        def move(array: np.ndarray[Any, Any]) -> Any:
            nonlocal last
            canonical, held, strides, given = last
            if array.shape != shape or array.dtype != dtype:
                raise LookupError
            found = home.canonical_dtype(dtype)
            if found is canonical and array.strides == strides and array.tobytes() == held:
                return given
            key = (place, found, device)
            given = home.leave(self._placed(array, partner, home, key))
            if array.nbytes <= COPIED and key in self._kept:
                ((_, _, strides, _), held), _ = self._kept[key]
                last = (found, held, strides, given)
            return given

        return move

    def _placed(self, array: np.ndarray[Any, Any], partner: Any, home: Engine, key: tuple[Any, ...]) -> Any:
        held, native = self._kept.get(key, (None, None))
        if held is not None and same_bytes(array, held):
            return native
        held = bytes_of(array)  # before the transfer: what another thread writes meanwhile is seen at the next call
        native = home.place(array, partner)
        if home.is_concrete(native):  # not what one trace of the framework's own knows alone
            self._kept[key] = held, native
        return native


def can_keep(native: object) -> bool:
    """Whether a captured native is an array that is kept on a device."""
    return type(native) is np.ndarray and native.dtype != HISTORY and native.nbytes <= _KEPT


__all__ = ["Uploads", "can_keep"]
