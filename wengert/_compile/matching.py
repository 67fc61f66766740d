"""Matches a value given by the user to a structure: cotangents to that of targets, tangents to that of arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._core.kinds import DICTS, SEQUENCES
from .._core.structure import LEAF, Spec, describe, flatten, is_plain_dict, opens_itself, paths, unflatten
from .._core.user_line import at_user_line


def matched(given: Any, spec: Spec | None, what: str, of: str, is_top: bool = True) -> list[Any]:
    """One value for each leaf of a structure, given in that structure; a lone one may stand in a list.

    Args:
        given: what the user passed.
        spec: the structure wanted.
        what: the argument's name, for messages.
        of: whose structure it is.
        is_top: whether this is the whole of it.
    """
    if spec is None:  # a leaf
        if is_top and isinstance(given, SEQUENCES) and len(given) == 1 and flatten(given)[1] is not LEAF:
            given = given[0]
        return [given]
    parts = _parts(given, spec)
    if parts is None:
        raise ValueError(
            at_user_line(
                f"{what} must have the structure of {of}, {describe(spec)}, one for each, got "
                f"{describe(flatten(given)[1])}"
            )
        )
    return [found for part, child in zip(parts, spec.children) for found in matched(part, child, what, of, False)]


def _parts(given: Any, spec: Spec) -> list[Any] | None:
    """What stands in the places of a structure; a list of numbers is one for each place here, not an array."""
    is_plain = not opens_itself(given)
    if is_plain and isinstance(given, DICTS) and is_plain_dict(spec.kind):
        return [given[key] for key in spec.keys] if given.keys() == set(spec.keys) else None
    if is_plain and isinstance(given, SEQUENCES):
        is_listed = issubclass(spec.kind, (list, tuple)) and len(given) == len(spec.children)
        return [*given] if is_listed else None
    if isinstance(given, spec.kind) and flatten(given)[1] == spec:
        return [unflatten(child, leaves) for child, leaves in _grouped(spec, flatten(given)[0])]
    return None


def _grouped(spec: Spec, leaves: list[Any]) -> Iterator[tuple[Spec | None, list[Any]]]:
    """The leaves of each child."""
    remaining = iter(leaves)
    for child in spec.children:
        count = len(paths(child, ""))
        yield child, [next(remaining) for _ in range(count)]
