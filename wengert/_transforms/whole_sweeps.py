"""The formula of a whole sweep: those of its entries, one after the other, as one function.

Programs are differentiated again and again, at every step of a fit. Where a tape comes again, with the same ops on the
same types, joined in the same way, and each entry has its formula, the sweep is one function from the cotangent of the
result to those of the sources: the same kernels in the same order, hence the same bits, and no questions in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from .._core.recurring import UNKNOWN, Recurring
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .formulas import Formula, Told, function_of, numbers_read, told_of

LONGEST = 300  # entries of tapes that get a formula: it takes some tens of microseconds to make for each
_likeness = itemgetter(1, 2, 4)  # attributes, plan (of an op, with the operands that are followed) and types

FORMULAS = Recurring[Callable[..., Any]](64)  # by what tapes look like


def whole_formula(
    entries: Sequence[Any], key: int, seed: Tensor, is_masked: bool, sources: Sequence[int]
) -> Callable[..., Any] | None:
    """The formula of a sweep from the value with a key, whose cotangent is `seed`: `run(kernels, seed, entries)`.

    None where there is none, or not yet; `is_masked` says whether the seed may hold structural zeros.
    """
    if not sources or not 0 < len(entries) <= LONGEST:
        return None
    # programs that do the same hand out serial numbers at the same distances; what is older goes by its number here
    data, base, older = seed._data, entries[0][5][0], dict[int, int]()
    joints = [
        k - base if k >= base else older.setdefault(k, -1 - len(older))
        for k in (key, *sources, *[entry[3][i] for entry in entries for i in entry[2].wanted])
    ]
    joints += [k - base for entry in entries for k in entry[5]]
    likeness = (is_masked, data.shape, data.dtype, *joints, *map(_likeness, entries))
    try:
        known = FORMULAS.get(likeness, UNKNOWN)
    except TypeError:  # attributes that cannot be compared
        return None
    if known is not UNKNOWN:
        return known
    return FORMULAS.met(likeness, partial(_made, entries, key, type_of(seed), is_masked, sources))


def _made(
    entries: Sequence[Any], key: int, type_: TensorType, is_masked: bool, sources: Sequence[int]
) -> Callable[..., Any] | None:
    """The formula; None where an entry has none."""
    known, masked, constants = {key: ("ct", type_)}, {key} if is_masked else set[int](), dict[str, Any]()
    text = ["run(kernels, ct, entries):"]
    for number in range(len(entries) - 1, -1, -1):
        entry = entries[number]
        op, out_keys = entry.op, entry.out_keys
        cts, types = zip(*[known.get(k, (None, None)) for k in out_keys], strict=True)
        if not any(cts):
            continue
        may_hold_zeros = (op.is_multi and not op.takes_missing) or not masked.isdisjoint(out_keys)
        told = _told_in(entry, types, may_hold_zeros)
        if told is None:
            return None
        lines, terms, between, of_entry = told.steps([*cts], f"_{number}")
        constants.update(of_entry)
        text += [f"saved = entries[{number}][7]", *lines]
        for index, term in zip(told.wanted, terms, strict=True):
            in_key = entry.in_keys[index]
            name, _ = known.get(in_key, (f"c{number}_{index}", None))
            text.append(f"{name} = {name} + {term}" if in_key in known else f"{name} = {term}")
            known[in_key] = (name, entry.in_types[index])
            if may_hold_zeros or op.inserts_zeros:
                masked.add(in_key)
        over = [k for k in out_keys if k in known and k not in sources]  # nothing is held longer than it is read
        text += [f"{name} = None" for name in (*between, *(known.pop(k)[0] for k in over))]
    text.append(f"return ({''.join(f'{known.get(k, (None,))[0]}, ' for k in sources)})")
    return function_of(text, constants)


def _told_in(entry: Any, types: Sequence[TensorType | None], may_hold_zeros: bool) -> Formula | Told | None:
    """What an entry contributes, by the formula that it has if there is one."""
    attrs, in_types = entry.attrs, entry.in_types
    if 0 in numbers_read(entry.op, attrs):  # 0.0, -0.0, 0 and False look alike
        return None
    key = (may_hold_zeros, in_types, attrs, *map(type, attrs)) if attrs else (may_hold_zeros, in_types)
    found = entry.plan.formulas.get(key)
    return found if type(found) is Formula else told_of(entry, types, may_hold_zeros)
