"""`debug_nans`: stops where a NaN or an infinity begins.

A recorder looks at what every op gives while the block is open; where it is not, nothing is looked at and nothing
costs. The sweep tells the error which op's gradient it was working on.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.engine import ndarray_of
from .._core.folding import fold
from .._core.op import Op
from .._core.state import STATE, recording
from .._core.tensor import Tensor, Value
from .._core.where import Site, user_site
from ..errors import NonFiniteError

__all__ = ["debug_nans"]

_MOST_PLACES = 200_000  # remembered for messages, the latest ones


class debug_nans:
    """A context that stops at the first op, forward or backward, that makes a NaN or infinity from finite operands.

    Compiled functions run op by op inside it, so that it sees into them; infinities that are written as such
    (`wg.full(3, np.inf)`) are no findings, nor are ops whose operands are not finite already. Slows everything down
    while it is open; costs nothing when it is not.

    Raises:
        FloatingPointError: from inside the block; the message names the op and the user's line, and for an op of a
            gradient the op that it is the gradient of, with the line of that.

    Example:
        >>> import wengert as wg
        >>> with wg.debug_nans():
        ...     wg.grad(wg.sqrt)(0.0)
        Traceback (most recent call last):
            ...
        wengert.errors.NonFiniteError: ... in the gradient of sqrt...
    """

    def __enter__(self) -> None:
        self._eager = STATE.eager_functions
        self._recording = recording(_Watch())
        self._recording.__enter__()
        STATE.eager_functions = True

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        STATE.eager_functions = self._eager
        self._recording.__exit__(kind, error, trace)
        if error is not None:
            fold(error)


class _Watch:
    """The recorder: follows nothing, looks at everything."""

    __slots__ = ("places",)
    is_watch = True

    def __init__(self) -> None:
        self.places: dict[int, Site | None] = {}  # by the key of an op's first result

    def tracks(self, key: int) -> bool:
        return False

    def note_exit(self, tensor: Tensor, what: str) -> None:
        """Numbers may leave."""

    def on_read(self, variable: Any, tensor: Tensor) -> None:
        """Variables may be read."""

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Raises if the op made something that is not finite."""
        if not outs:
            return
        self.places[outs[0]._key] = user_site()
        if len(self.places) > _MOST_PLACES:
            del self.places[next(iter(self.places))]
        if operands and not any(map(_is_infinite_number, attrs)):
            self.look_at(op.name, operands, outs)

    def look_at(self, what: str, operands: Sequence[Tensor], outs: Sequence[Tensor]) -> None:
        """Raises if something that is not finite was made from what is: by an op, or by a rule of the user's."""
        bad = next((out for out in outs if not _is_finite(out)), None)
        if bad is not None and all(map(_is_finite, operands)):
            raise NonFiniteError(f"{what} gave {_found(bad)} from finite operands", user_site(), self.places)


def _is_finite(tensor: Tensor) -> bool:
    if type(tensor._data) is Value or not dtypes.is_inexact(tensor.dtype):
        return True
    return bool(np.isfinite(ndarray_of(tensor._data)).all())


def _is_infinite_number(attribute: Any) -> bool:
    if isinstance(attribute, tuple) or np.ndim(attribute) != 0:
        return False
    return np.asarray(attribute).dtype.kind in "fc" and not np.isfinite(attribute)


def _found(tensor: Tensor) -> str:
    """`NaN`, or `NaN in 2 of 6 elements, the first at [0, 1],`."""
    array = ndarray_of(tensor._data)
    is_bad = ~np.isfinite(array)
    first = (*[int(i) for i in np.argwhere(is_bad)[0]],)
    value = array[first]
    what = "NaN" if np.isnan(value) else "an infinity" if dtypes.is_complex(array.dtype) else f"{value:+}"
    if array.ndim == 0:
        return what
    where = ", ".join(map(str, first))
    return f"{what} (in {int(is_bad.sum())} of {array.size} elements, the first at [{where}])"
