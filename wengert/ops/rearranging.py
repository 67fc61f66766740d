"""`rearrange`: axes named in a pattern, split, moved and joined."""

from __future__ import annotations

import re
from typing import Any

from .._core import dims
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .promotion import as_tensor, count_of, names_errors, outward
from .shapes import permuted, reshaped

_TOKEN = re.compile(r"\s*(\.\.\.|\w+|[()])")


@names_errors
def rearrange(tensor: ArrayLike, pattern: str, **axes_lengths: int) -> Any:
    """An array with its axes split, moved and joined as a pattern says.

    Args:
        tensor: an array.
        pattern: names for the axes before "->" and after it. A group in parentheses is one axis of the array that is
            the product of several; 1 is an axis of length 1; "..." stands for any number of axes.
        **axes_lengths: lengths of axes that the array's shape does not tell.

    Returns:
        The rearranged array in its kind.

    Raises:
        ValueError: for a pattern that does not fit the shape, or names that are not on both sides.

    Example:
        >>> import wengert as wg
        >>> wg.ops.rearrange([[1, 2, 3, 4]], "a (b c) -> (a c) b", b=2)
        array([[1, 3],
               [2, 4]])
    """
    x = as_tensor(tensor, "rearrange")
    if pattern.count("->") != 1:
        raise ValueError(at_user_line(f"rearrange: wanted one '->' in the pattern {pattern!r}"))
    before, after = (_groups(side, pattern) for side in pattern.split("->"))
    before, after = _expanded(before, after, x, pattern)
    left, right = ([n for group in groups for n in group if n != "1"] for groups in (before, after))
    if sorted(left) != sorted(right) or len(set(left)) != len(left):
        raise ValueError(at_user_line(f"rearrange: each name stands once on both sides of {pattern!r}"))
    sizes = _sizes(before, x, axes_lengths, pattern)
    whole = permuted(reshaped(x, (*[sizes[n] for n in left],)), (*[left.index(n) for n in right],))
    shape = (*[dims.size_of([sizes[n] for n in group if n != "1"]) for group in after],)
    return outward(reshaped(whole, shape), tensor)


def _groups(side: str, pattern: str) -> list[list[str]]:
    """The axes of one side, each a list of names."""
    tokens = _TOKEN.findall(side)
    if "".join(tokens) != "".join(side.split()):
        raise ValueError(at_user_line(f"rearrange: cannot read {side.strip()!r} in the pattern {pattern!r}"))
    groups: list[list[str]] = []
    is_open = False
    for token in tokens:
        if token in "()":
            if is_open == (token == "("):
                raise ValueError(at_user_line(f"rearrange: parentheses of {pattern!r} do not match"))
            is_open = not is_open
            if is_open:
                groups.append([])
        elif is_open:
            groups[-1].append(token)
        else:
            groups.append([token])
    if is_open:
        raise ValueError(at_user_line(f"rearrange: parentheses of {pattern!r} do not match"))
    return groups


def _expanded(
    before: list[list[str]], after: list[list[str]], x: Tensor, pattern: str
) -> tuple[list[list[str]], list[list[str]]]:
    """The groups with names of their own for the axes that "..." stands for."""
    has_dots = ["..."] in before
    missing = x.ndim - len(before) + has_dots
    if missing < 0 or (missing and not has_dots):
        raise ValueError(at_user_line(f"rearrange: the pattern {pattern!r} does not fit an array of shape {x.shape}"))
    names = [f"...{i}" for i in range(missing)]
    first = [g for group in before for g in ([[n] for n in names] if group == ["..."] else [group])]
    second: list[list[str]] = []
    for group in after:
        if group == ["..."]:
            second += [[n] for n in names]
        else:
            second.append([m for n in group for m in (names if n == "..." else [n])])
    return first, second


def _sizes(groups: list[list[str]], x: Tensor, known: dict[str, int], pattern: str) -> dict[str, Any]:
    """The length of each name; one of each group follows from the array's shape."""
    sizes: dict[str, Any] = {
        name: size if type(size) is dims.Dim else count_of(size, f"rearrange: {name}", 0 if 0 in x.shape else 1)
        for name, size in known.items()
    }
    for group, size in zip(groups, x.shape):
        names = [n for n in group if n != "1"]
        unknown = [n for n in names if n not in sizes]
        product = dims.size_of([sizes[n] for n in names if n in sizes])
        if len(unknown) > 1:
            raise ValueError(at_user_line(f"rearrange: lengths of {unknown} are needed for {pattern!r}"))
        if (
            isinstance(size, int)
            and isinstance(product, int)
            and ((product == 0 or size % product) if unknown else size != product)
        ):
            raise ValueError(
                at_user_line(f"rearrange: an axis of {size} elements does not make {' '.join(group)} of {pattern!r}")
            )
        if unknown:
            sizes[unknown[0]] = dims.floordiv(size, product)
    return sizes


__all__ = ["rearrange"]
