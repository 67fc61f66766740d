"""`einsum`: NumPy's whole notation, brought to the primitive's strict one.

The primitive wants each label once in an operand, and in more than one place. So repeated labels become diagonals,
axes of extent 1 that meet longer ones go away, and labels of a single operand are summed before.
"""

from __future__ import annotations

import builtins
from typing import Any

from .._core.dims import DimLike, is_late
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import linalg as L
from .._prims import structural as S
from . import promotion
from .promotion import as_tensor, broadcast, common_dtype, meeting, names_errors, outward
from .shapes import permuted, reshaped
from .triangles import diagonal

_ELLIPSIS = "..."
_LETTERS = frozenset(L.LETTERS)


@names_errors
def einsum(subscripts: Any, *operands: object, **kwargs: object) -> Any:
    """Sums of products over labelled axes.

    Args:
        subscripts: such as "ij,jk->ik": labels for the axes of each operand, and of the result. Without "->" the
            result has the labels that occur once, in alphabetical order. A label twice in one operand takes the
            diagonal; "..." stands for any axes, which broadcast.
        operands: arrays, one for each group of labels. The form `einsum(x, [0, 1], y, [1, 2], [0, 2])` is taken, too.
        kwargs: `optimize` is taken for NumPy's sake and does not change the result.

    Returns:
        The sums in the kind of array that came in; dtypes promote.

    Raises:
        ValueError: for labels that do not match the operands' axes, or extents that differ.

    Example:
        >>> import wengert as wg
        >>> wg.ops.einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
        array([3., 7.])
    """
    unknown = set(kwargs) - {"optimize"}
    if unknown:
        raise TypeError(at_user_line(f"einsum: unknown keyword arguments {sorted(unknown)}"))
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    tensors = [as_tensor(x, "einsum") for x in operands]
    dtype = common_dtype(tensors) if tensors else None
    labels, out = _read(subscripts, tensors)
    extents = _extents(tensors, labels)
    strict = [
        _strict(promotion.cast(x, dtype), names, extents, _elsewhere(labels, i, out))
        for i, (x, names) in enumerate(zip(tensors, labels))
    ]
    return outward(_contracted(strict, out, extents), *operands)


# -- reading -----------------------------------------------------------------------------------------------------------


def _from_lists(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The form with lists of integers as the form with letters."""

    def letters(sublist: Any) -> str:
        try:
            return "".join(_ELLIPSIS if n is Ellipsis else L.LETTERS[n] for n in sublist)
        except (TypeError, IndexError):
            raise TypeError(at_user_line(
                f"einsum: subscripts: wanted text, or for each operand a list of labels from 0 to "
                f"{len(L.LETTERS) - 1} after it, got {sublist!r}"
            )) from None  # fmt: skip

    pairs, rest = arguments[: len(arguments) // 2 * 2], arguments[len(arguments) // 2 * 2 :]
    text = ",".join(map(letters, pairs[1::2]))
    return text + ("->" + letters(rest[0]) if rest else ""), pairs[0::2]


def _read(subscripts: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, every ellipsis written out in letters that are free."""
    text = "".join(subscripts.split())
    left, arrow, right = text.partition("->")
    groups = left.split(",")
    if len(groups) != len(tensors):
        raise ValueError(at_user_line(f"einsum: {subscripts!r} is for {len(groups)} operands, got {len(tensors)}"))
    for group in (*groups, right):
        _require_labels(group, subscripts)
    hidden = [x.ndim - len(g.replace(_ELLIPSIS, "")) if _ELLIPSIS in g else 0 for g, x in zip(groups, tensors)]
    for group, x, missing in zip(groups, tensors, hidden):
        if missing < 0 or (_ELLIPSIS not in group and len(group) != x.ndim):
            raise ValueError(
                at_user_line(f"einsum: {group!r} in {subscripts!r} does not label the axes of shape {x.shape}")
            )
    free = [c for c in L.LETTERS if c not in text]
    count = max(hidden, default=0)
    if count > len(free):
        raise ValueError(at_user_line(f"einsum: {subscripts!r} leaves too few letters for {count} more axes"))
    shared = "".join(free[:count])
    labels = [g.replace(_ELLIPSIS, shared[count - n :]) for g, n in zip(groups, hidden)]
    return labels, _result(labels, right, shared, bool(arrow), subscripts)


def _require_labels(group: str, subscripts: str) -> None:
    if not set(group.replace(_ELLIPSIS, "", 1)) <= _LETTERS:
        raise ValueError(
            at_user_line(f"einsum: {group!r} in {subscripts!r} has something else than letters and one '...'")
        )


def _result(labels: list[str], right: str, shared: str, is_given: bool, subscripts: str) -> str:
    everywhere = "".join(labels)
    if not is_given:
        return shared + "".join(sorted(c for c in set(everywhere) - set(shared) if everywhere.count(c) == 1))
    out = right.replace(_ELLIPSIS, shared)
    if len(set(out)) != len(out) or not set(out) <= set(everywhere):
        raise ValueError(
            at_user_line(f"einsum: the result of {subscripts!r} must name labels of the operands, each once")
        )
    return out


def _extents(tensors: list[Tensor], labels: list[str]) -> dict[str, DimLike]:
    """The extent of each label; axes of extent 1 broadcast."""
    extents: dict[str, DimLike] = {}
    for x, names in zip(tensors, labels):
        for name, extent in zip(names, x.shape):
            known = extents.get(name, extent)
            met = meeting(known, extent)
            if met is None:
                raise ValueError(at_user_line(f"einsum: axes labelled {name!r} have extents {known} and {extent}"))
            extents[name] = met
    return extents


# -- to the primitive's form -------------------------------------------------------------------------------------------


class _Labelled:
    """An operand with a label for each axis, none twice."""

    def __init__(self, x: Tensor, names: str) -> None:
        self.x = x
        self.names = names


def _elsewhere(labels: list[str], index: int, out: str) -> set[str]:
    """The labels that the result or another operand has."""
    return set(out).union(*(names for i, names in enumerate(labels) if i != index))


def _strict(x: Tensor, names: str, extents: dict[str, DimLike], elsewhere: set[str]) -> _Labelled:
    x, names = _without_repeats(x, names)
    # what a run may find to be 1 is repeated there
    x = broadcast(x, (*[extents[n] if d != extents[n] and is_late(d) else d for n, d in zip(names, x.shape)],))
    ones = [i for i, (n, d) in enumerate(zip(names, x.shape)) if d == 1 and extents[n] != 1]
    x, names = reshaped(x, S.without(x.shape, tuple(ones))), _left(names, ones)
    alone = [i for i, n in enumerate(names) if n not in elsewhere]
    if alone:
        x, names = S.reduce_sum(x, axes=tuple(alone)), _left(names, alone)
    return _Labelled(x, names)


def _without_repeats(x: Tensor, names: str) -> tuple[Tensor, str]:
    """Diagonals in place of the axes that share a label."""
    for name in sorted(set(names)):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            x = diagonal(x, 0, first, second)
            names = _left(names, [first, second]) + name
    return x, names


def _left(names: str, gone: list[int]) -> str:
    return "".join(n for i, n in enumerate(names) if i not in gone)


def _contracted(operands: list[_Labelled], out: str, extents: dict[str, DimLike]) -> Tensor:
    """The primitive on what is left; labels that no operand has any more are put back as broadcast axes."""
    # an axis dropped because it broadcasts may have been the only partner of another operand's
    for operand in operands:
        others = set(out).union(*(o.names for o in operands if o is not operand))
        alone = [i for i, n in enumerate(operand.names) if n not in others]
        if alone:
            operand.x = S.reduce_sum(operand.x, axes=tuple(alone))
            operand.names = _left(operand.names, alone)
    present = "".join(n for n in out if builtins.any(n in o.names for o in operands))
    if len(operands) == 1:
        (only,) = operands
        result = permuted(only.x, (*map(only.names.index, present),))
    else:
        result = L.einsum(*(o.x for o in operands), labels=(*[o.names for o in operands],), out=present)
    narrow = (*[extents[n] if n in present else 1 for n in out],)
    return promotion.broadcast(reshaped(result, narrow), (*[extents[n] for n in out],))


__all__ = ["einsum"]
