"""`debug_nans`: stops where a NaN or an infinity begins.

A recorder looks at what every op gives while the block is open; where it is not, nothing is looked at and nothing
costs. The sweep tells the error which op's gradient it was working on.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.analysis import makers
from .._core.engine import ndarray_of
from .._core.op import ARITHMETIC, Op, stated
from .._core.recorder import Recorder
from .._core.state import STATE, recording
from .._core.tensor import Tensor, Value
from .._core.tracebacks import fold
from .._core.user_line import Site, user_site
from ..errors import NonFiniteError

__all__ = ["debug_nans"]

Array = np.ndarray[Any, Any]

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


class _Watch(Recorder):
    """The recorder: follows nothing, looks at everything."""

    __slots__ = ("places",)
    is_watch = is_passive = True

    def __init__(self) -> None:
        self.places: dict[int, Site | None] = {}  # by the key of an op's first result

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Raises if the op made something that is not finite."""
        if not outs:
            return
        self.places[outs[0]._key] = user_site()
        if len(self.places) > _MOST_PLACES:
            del self.places[next(iter(self.places))]
        if operands and not any(map(_is_infinite_number, attrs)):
            self._judge(op.name, operands, map(_computed, outs))

    def look_at(self, what: str, operands: Sequence[Tensor], outs: Sequence[Tensor]) -> None:
        """Raises if a rule of the user's made something that is not finite from what is; also by writing it down."""
        self._judge(what, operands, map(_computed_or_written, outs))

    def _judge(self, what: str, operands: Sequence[Tensor], outs: Iterable[Array | None]) -> None:
        bad = next((out for out in outs if not _is_finite(out)), None)
        if bad is not None and all(_is_finite(_computed(x)) for x in operands):
            raise NonFiniteError(f"{what} gave {_found(bad)} from finite operands", user_site(), self.places)


def _computed(tensor: Tensor) -> Array | None:
    """The elements of a floating tensor that is not symbolic."""
    if type(tensor._data) is Value or not dtypes.is_inexact(tensor.dtype):
        return None
    return ndarray_of(tensor._data)


def _computed_or_written(tensor: Tensor) -> Array | None:
    """As `_computed`; of a symbolic tensor what is known of its elements without a run: a constant, a NaN in sums or
    products."""
    builder, data = STATE.builder, tensor._data
    if type(data) is not Value or builder is None or not dtypes.is_inexact(tensor.dtype):
        return _computed(tensor)
    made_by = makers(builder.nodes)
    keys, is_whole = [data.key], True
    for key in keys:  # which grows
        node = made_by.get(key)
        if node is None:
            continue
        value = stated(node.op, node.attrs)
        if value is not None:
            written = np.asarray(value)
            if is_whole or (written.dtype.kind in "fc" and np.isnan(written).any()):
                return written
        elif node.op.facts.operator and any(map(_is_infinite_number, node.attrs)):
            return np.asarray(node.attrs[0])
        elif node.op.facts.moves in ("same", "all") or node.op.name == "convert":
            keys += [value.key for value in node.inputs[: len(node.outputs)] if value.key not in keys]
        elif node.op.facts.operator in ARITHMETIC:  # of what users write down, in which a NaN stays one
            is_whole = False
            keys += [value.key for value in node.inputs if value.key not in keys]
    return None


def _is_finite(array: Array | None) -> bool:
    return array is None or bool(np.isfinite(array).all())


def _is_infinite_number(attribute: Any) -> bool:
    if isinstance(attribute, tuple) or np.ndim(attribute) != 0:
        return False
    return np.asarray(attribute).dtype.kind in "fc" and not np.isfinite(attribute)


def _found(array: Array) -> str:
    """`NaN`, or `NaN in 2 of 6 elements, the first at [0, 1],`."""
    is_bad = ~np.isfinite(array)
    first = (*[int(i) for i in np.argwhere(is_bad)[0]],)
    value = array[first]
    what = "NaN" if np.isnan(value) else "an infinity" if dtypes.is_complex(array.dtype) else f"{value:+}"
    if array.ndim == 0:
        return what
    where = ", ".join(map(str, first))
    return f"{what} (in {int(is_bad.sum())} of {array.size} elements, the first at [{where}])"
