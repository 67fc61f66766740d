"""Compiles a recurring stretch of a sweep, all its entries together, to one Python function of NumPy arrays.

Programs are differentiated again and again, at every step of a fit. Where a stretch comes again, with the same ops on
the same types, joined in the same way, and each entry has its formula (`compiled_rules.py`), sweeping over it is one
function from the cotangents that arrive to those that are left: the same kernels in the same order, hence the same
bits, without the overhead in between. A tape is one stretch, except that some ops divide it: those whose rules do more
than to apply primitives (a user's own, say) and gathers of rows from long tables (the sweep keeps what they contribute
as `Rows`, a formula would fill a table for each). Functions whose derivative is given on raw values
(`_control/given_derivatives.py`) divide it only where somebody watches; else their rule is called in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from math import prod
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from .._core.repeat_cache import UNKNOWN, RepeatCache
from .._core.state import next_serial
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._prims.indexing import gather
from .compiled_rules import Formula, Steps, Told, function_of, numbers_read, told_of

LONGEST = 300  # entries of stretches that get a formula: it takes some tens of microseconds to make for each
LARGEST_TABLE = 20_000  # elements; filling one takes as long as to ask an op what it was given
_op, _out_keys = itemgetter(0), itemgetter(5)
_is_open, _is_given = attrgetter("op.is_open"), attrgetter("op.is_given")
_shape_and_dtype = attrgetter("_data.shape", "_data.dtype")
_likeness = itemgetter(1, 2, 4)  # attributes, plan (of an op, with the operands that are followed) and types


class Left(NamedTuple):
    """Which of the cotangents that arrive at a stretch are used up, and whose it leaves.

    Attributes:
        taken: the numbers of those that are used up, in the order in which they arrive.
        places: for each that is left, whose it is, as the entry's number and its operand's, or as -1 and the number of
            one that arrived; and whether it may hold structural zeros.
    """

    taken: tuple[int, ...]
    places: tuple[tuple[int, int, bool], ...]

    def put(self, found: Iterable[Tensor], entries: Sequence[Any], terms: dict[int, Any], masked: set[int]) -> None:
        """Puts what is left in the place of what arrived."""
        keys = [*terms]
        for number in self.taken:
            del terms[keys[number]]
        for (number, index, is_masked), term in zip(self.places, found):
            key = entries[number][3][index] if number >= 0 else keys[index]
            terms[key] = term
            if is_masked:
                masked.add(key)


class Stretch(NamedTuple):
    """What a sweep over a stretch comes to: `run(kernels, cotangents, entries)` gives the arrays that are left.

    It takes the arrays of the cotangents that arrive, in their order.
    """

    run: Callable[..., Any]
    left: Left


FORMULAS = RepeatCache[Stretch](256)  # by what stretches look like


def stretches(entries: Sequence[Any], is_watched: bool) -> list[tuple[bool, Sequence[Any]]]:
    """The stretches of a tape, and what lies between them; for each whether it is one."""
    are_in = [*map(_is_in_one if gather in map(_op, entries) else _is_open, entries)]
    if not is_watched and True in map(_is_given, entries):
        are_in = [is_in or (e[0].is_given and not e[0].is_multi) for is_in, e in zip(are_in, entries, strict=True)]
    if False not in are_in:
        return [(True, entries)]
    parts, begin, count = list[tuple[bool, Sequence[Any]]](), 0, len(are_in)
    while begin < count:
        is_one = are_in[begin]
        end = are_in.index(not is_one, begin) if (not is_one) in are_in[begin:] else count
        parts.append((is_one, entries[begin:end]))
        begin = end
    return parts


def _is_in_one(entry: Any) -> bool:
    op = entry.op
    return op.is_open and not (op is gather and prod(entry.in_types[0][0]) > LARGEST_TABLE)


def look_of_stretch(entries: Sequence[Any], terms: dict[int, Tensor], masked: set[int], sources: Sequence[int]) -> Any:
    """What a stretch looks like to the cotangents that arrive at it, by key, some of them masked."""
    # programs that do the same hand out serial numbers at the same distances; what is older goes by its number here
    base = entries[0][5][0]
    older: dict[int, int] = {}
    read = [entry[3][i] for entry in entries for i in entry[2].wanted]
    written = chain.from_iterable(map(_out_keys, entries))
    # lists, since Python keeps dead tuples of each small size for later ones
    joints = [
        k - base if k >= base else older.setdefault(k, -1 - len(older)) for k in [*terms, *sources, *read, *written]
    ]
    arriving = (*map(_shape_and_dtype, terms.values()), *map(masked.__contains__, terms))
    likenesses = map(_likeness, entries)
    if True in map(_is_given, entries):  # one call is like another
        likenesses = [like[1:] if e[0].is_given else like for like, e in zip(likenesses, entries, strict=True)]
    return (len(sources), arriving, *joints, *likenesses)


def stretch_of(
    entries: Sequence[Any], terms: dict[int, Tensor], masked: set[int], sources: Sequence[int], is_last: bool
) -> Stretch | None:
    """The formula of a stretch; None where there is none, or not yet.

    Args:
        entries: of the stretch.
        terms: the cotangents that arrive, by key.
        masked: the keys of those that may hold structural zeros.
        sources: the keys whose cotangents the whole sweep is for.
        is_last: whether it is the last stretch of the sweep, so that only the sources' cotangents are of use.
    """
    if not 0 < len(entries) <= LONGEST:
        return None
    look = (is_last, look_of_stretch(entries, terms, masked, sources))
    try:
        known = FORMULAS.get(look, UNKNOWN)
    except TypeError:  # attributes that cannot be compared
        return None
    if known is not UNKNOWN:
        return known
    return FORMULAS.met(look, partial(_made, entries, terms, masked, sources, is_last))


def _made(
    entries: Sequence[Any], terms: dict[int, Tensor], arrive_masked: set[int], sources: Sequence[int], is_last: bool
) -> Stretch | None:
    """The formula; None where an entry has none."""
    known = {key: (f"ct{number}", type_of(ct)) for number, (key, ct) in enumerate(terms.items())}
    at, changed = {key: (-1, number) for number, key in enumerate(terms)}, set[int]()
    masked, constants = set(arrive_masked), dict[str, Any]()
    text = ["run(kernels, cts, entries):", "".join(f"{name}, " for name, _ in known.values()) + "= cts", "cts = None"]
    for number in range(len(entries) - 1, -1, -1):
        entry = entries[number]
        op, out_keys = entry.op, entry.out_keys
        cts, types = zip(*[known.get(k, (None, None)) for k in out_keys], strict=True)
        if not any(cts):
            continue
        may_hold_zeros = (op.is_multi and not op.takes_missing) or not masked.isdisjoint(out_keys)
        steps = _steps_of(entry, number, cts, types, may_hold_zeros)
        if steps is None:
            return None
        wanted, (lines, contributed, between, of_entry) = steps
        constants.update(of_entry)
        text += lines
        for index, term in zip(wanted, contributed, strict=True):
            in_key = entry.in_keys[index]
            name, _ = known.get(in_key, (f"c{number}_{index}", None))
            text.append(f"{name} = {name} + {term}" if in_key in known else f"{name} = {term}")
            known[in_key] = (name, entry.in_types[index])
            at.setdefault(in_key, (number, index))
            changed.add(in_key)
            if may_hold_zeros or op.inserts_zeros:
                masked.add(in_key)
        over = [k for k in out_keys if k in known and k not in sources]  # nothing is held longer than it is read
        text += [f"{name} = None" for name in (*between, *(known.pop(k)[0] for k in over))]
    left = [k for k in known if k in changed and (not is_last or k in sources)]
    text.append(f"return ({''.join(f'{known[k][0]}, ' for k in left)})")
    taken = (*[number for number, key in enumerate(terms) if key not in known],)
    return Stretch(function_of(text, constants), Left(taken, (*[(*at[k], k in masked) for k in left],)))


def _steps_of(
    entry: Any, number: int, cts: Sequence[Any], types: Sequence[TensorType | None], may_hold_zeros: bool
) -> tuple[Sequence[int], Steps] | None:
    """The operands that an entry contributes to, and what computes that; None where it has no formula."""
    if entry.op.is_given:
        terms = [f"g{index}" for index in entry.plan.wanted]
        line = f"{''.join(f'{term}, ' for term in terms)} = pulled(entries[{number}], {cts[0]})"
        return entry.plan.wanted, Steps([line], terms, terms, {"pulled": _pulled})
    told = _told_in(entry, types, may_hold_zeros)
    if told is None:
        return None
    steps = told.steps([*cts], f"_{number}")
    return told.wanted, steps._replace(lines=[f"saved = entries[{number}][7]", *steps.lines])


def _pulled(entry: Any, ct: Any) -> list[Any]:
    """What a function contributes whose derivative is given apart, as arrays; an error where they do not fit."""
    _, attrs, plan, in_keys, in_types, _, _, saved = entry
    count = len(in_keys)
    found = attrs[0].pull((Tensor(ct, next_serial()),), plan.tracked, saved[:count], (saved[count],))
    arrays = [found[index]._data for index in plan.wanted]
    if [(array.shape, array.dtype) for array in arrays] != [in_types[index] for index in plan.wanted]:
        raise TypeError("a cotangent is not of the operand's type")
    return arrays


def _told_in(entry: Any, types: Sequence[TensorType | None], may_hold_zeros: bool) -> Formula | Told | None:
    """What an entry contributes, by the formula that it has if there is one."""
    attrs, in_types = entry.attrs, entry.in_types
    if 0 in numbers_read(entry.op, attrs):  # 0.0, -0.0, 0 and False look alike
        return None
    key = (may_hold_zeros, in_types, attrs, *map(type, attrs)) if attrs else (may_hold_zeros, in_types)
    found = entry.plan.formulas.get(key)
    return found if type(found) is Formula else told_of(entry, types, may_hold_zeros)
