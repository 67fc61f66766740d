"""What a program may ask of the namespace: `xp.__array_namespace_info__()`."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from . import _dtypes
from ._creation import require_device

_ALL = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
_MOST_AXES = 64  # NumPy's own limit


class NamespaceInfo:
    """The answers: what the namespace can do, and its devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """What is there beyond the core: boolean masks, results of data-dependent shape, and up to 64 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": _MOST_AXES}

    def default_device(self) -> str:
        """The device where new tensors lie: the main memory."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """The devices that functions take."""
        return ("cpu",)

    def default_dtypes(self, *, device: object = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of results without one of their own; `wg.set_default_float` changes the first two."""
        require_device("default_dtypes", device)
        return {
            "real floating": dtypes.default_float(), "complex floating": dtypes.default_complex(),
            "integral": dtypes.int64, "indexing": dtypes.int64,
        }  # fmt: skip

    def dtypes(self, *, device: object = None, kind: str | None = None) -> dict[str, np.dtype[Any]]:
        """The standard's dtypes by name, all or those of a kind (as `isdtype` names kinds)."""
        require_device("dtypes", device)
        known = {name: getattr(_dtypes, name) for name in _ALL}
        return known if kind is None else {n: dtype for n, dtype in known.items() if _dtypes.isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """What the namespace can do.

    Returns:
        An object with `capabilities()`, `default_device()`, `devices()`, `default_dtypes()` and `dtypes()`.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.__array_namespace_info__().devices()
        ('cpu',)
    """
    return NamespaceInfo()
