"""Finds the result types of a framework's function (`foreign`) for operands whose extents the trace does not know.

The framework is asked for known extents, several times, and what the extents of the results have in common is a
polynomial in those of the operands, linear in each: a sum, a product, a shift. It is held to extents of another size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from .._core.dims import Atom, Dim, DimLike, evaluate
from .._core.types import TensorType, same_dim, tensor_type

Types = Sequence[TensorType]
Ask = Callable[[Types], Types]

# extents that no program names, and none of which is a sum or a product of others
_ASKED = (11, 13, 17, 19, 23, 29)
_LARGE = (1009, 1013, 1019, 1021, 1031, 1033)
_SMALL = 3


def types_for_unknown(ask: Ask, operands: Types, name: object) -> tuple[TensorType, ...]:
    """The types of results for operands some of whose extents are dimensions.

    Where a function takes no operands of different extents, those along the same axis, or all, are held to be equal.

    Args:
        ask: the types of the results, from operands of known extents.
        operands: their types.
        name: of the function.

    Raises:
        TypeError: the extents of a result are no polynomial in those of the operands.
    """
    refusal: Exception | None = None
    for named in _namings(operands):
        renamed = [_known(t, named) for t in operands]
        try:
            found = _fitted(ask, renamed)
        except Exception as error:  # whatever the function says of extents that do not fit together
            refusal = refusal or error
            continue
        if found is not None:
            for atom, dim in named.items():
                same_dim(Dim({(atom,): 1}), dim)
            return found
    shapes = [(*t.shape,) for t in operands if _atoms([t])]
    raise TypeError(f"{name}: an operand has shape {shapes[0]}; give sizes that are known") from refusal


def _namings(operands: Types) -> Iterator[dict[Atom, DimLike]]:
    """Which unknown extents stand for which: each for itself, for the first one along its axis, for the first one."""
    yield {}
    atoms = _atoms(operands)
    if len(atoms) > 1:
        along: dict[int, Atom] = {}
        for t in operands:
            for axis, extent in enumerate(t.shape):
                if isinstance(extent, Dim) and extent.is_atom:
                    along.setdefault(axis, extent.atom)
        yield {
            extent.atom: Dim({(along[axis],): 1}) for t in operands for axis, extent in enumerate(t.shape)
            if isinstance(extent, Dim) and extent.is_atom and extent.atom is not along[axis]
        }  # fmt: skip
        yield {atom: Dim({(atoms[0],): 1}) for atom in atoms[1:]}


def _atoms(operands: Types) -> list[Atom]:
    """The unknown extents, in the order in which they are met."""
    found: dict[Atom, None] = {}
    for t in operands:
        for extent in t.shape:
            if isinstance(extent, Dim):
                found.update(dict.fromkeys(sorted(extent.atoms, key=str)))
    return [*found]


def _known(t: TensorType, sizes: dict[Atom, Any]) -> TensorType:
    return tensor_type((*[d.substitute(sizes) if isinstance(d, Dim) else d for d in t.shape],), t.dtype)


def _fitted(ask: Ask, operands: Types) -> tuple[TensorType, ...] | None:
    """The types whose extents are polynomials in the unknown ones; None if there is none that fits."""
    atoms = _atoms(operands)
    if len(atoms) > len(_ASKED):
        return None

    def asked(sizes: Sequence[int]) -> Types:
        return ask([_known(t, dict(zip(atoms, sizes, strict=True))) for t in operands])

    base = _ASKED[: len(atoms)]
    corners = {steps: asked([*map(sum, zip(base, steps, strict=True))]) for steps in product((0, 1), repeat=len(atoms))}
    first = corners[(0,) * len(atoms)]
    if any([t.ndim for t in types] != [t.ndim for t in first] for types in corners.values()):
        return None
    found = (*[
        tensor_type((*[
            _polynomial({steps: int(types[i].shape[axis]) for steps, types in corners.items()}, base, atoms)
            for axis in range(t.ndim)
        ],), t.dtype)
        for i, t in enumerate(first)
    ],)  # fmt: skip
    for sizes in (_LARGE[: len(atoms)], [_SMALL] * len(atoms)):
        known = dict(zip(atoms, sizes, strict=True))
        try:
            told = asked(sizes)
        except Exception:  # fewer elements than the function wants, or more than there is room for
            continue
        if any([evaluate(d, known) for d in t.shape] != [*y.shape] for t, y in zip(found, told, strict=True)):
            return None
    return found


def _polynomial(values: dict[tuple[int, ...], int], base: Sequence[int], atoms: Sequence[Atom]) -> DimLike:
    """The one that is linear in each unknown extent and has these values where some of them are one larger."""
    total: DimLike = 0
    for chosen in values:
        below = [steps for steps in values if all(s <= c for s, c in zip(steps, chosen, strict=True))]
        coefficient = sum(values[steps] * (-1) ** (sum(chosen) - sum(steps)) for steps in below)
        if coefficient:
            factors = [
                Dim({(atom,): 1}) - size for atom, size, is_chosen in zip(atoms, base, chosen, strict=True) if is_chosen
            ]
            total = total + prod(factors, start=coefficient)
    return total


__all__ = ["types_for_unknown"]
