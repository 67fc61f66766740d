"""Runs a recurring stretch of a sweep as one function where tapes watch the sweep, as they do for second derivatives.

There the sweep runs under another tape, which is shown each op of each rule. Where a stretch comes again, the ops of
its rules are traced once and run as one function, as `repeated_functions` does it, and the tapes get the same entries.
Called by the sweep (`reverse.py`); `whole_sweeps.py` is the same where nobody watches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from .._core.repeat_cache import UNKNOWN, RepeatCache
from .._core.state import STATE, building
from .._core.tensor import Tensor
from .._core.user_line import user_site
from .compiled_rules import numbers_read
from .repeated_functions import Repeat, alike, look_of
from .row_cotangents import Rows
from .tape import Entry
from .whole_sweeps import LONGEST, Left, look_of_stretch

Terms = dict[int, Any]  # cotangents by key
# sweeps over entries for some keys, and changes the two others
Back = Callable[[set[int], Sequence[Entry], Terms, set[int]], None]


class _Known(NamedTuple):
    """The function that replaces a stretch of a sweep, and whose cotangents it gives."""

    repeat: Repeat
    left: Left


SWEEPS = RepeatCache[_Known](256)  # by what stretches and all that they read look like


def recorded_at_once(
    entries: Sequence[Entry], terms: Terms, masked: set[int], sources: Sequence[int], is_last: bool, back: Back
) -> bool:
    """Sweeps over a stretch under the open tapes; whether there is something that does so at once, and it worked.

    Args:
        entries: of the stretch.
        terms: the cotangents that arrive, by key, to be changed to those that are left.
        masked: the keys of those that may hold structural zeros, likewise.
        sources: the keys whose cotangents the whole sweep is for.
        is_last: whether only the sources' cotangents are of use.
        back: sweeps entry by entry.
    """
    tapes = STATE.recorders
    if not 0 < len(entries) <= LONGEST:
        return False
    operands = [*terms.values(), *[x for entry in entries for x in entry[7] if x is not None]]
    look = look_of(is_last, operands, tapes)
    if look is None:
        return False
    look = (*look, look_of_stretch(entries, terms, masked, sources))
    try:
        known = SWEEPS.get(look, UNKNOWN)
    except TypeError:  # attributes that cannot be compared
        return False
    if known is UNKNOWN:
        known = SWEEPS.met(look, partial(_made, entries, terms, masked, sources, is_last, operands, tapes, back))
    if known is None:
        return False
    try:
        found = known.repeat.run(tapes, user_site() if known.repeat.cuts_off else None, *operands)
    except Exception:  # nothing is recorded yet, and the rule that refuses says why
        return False
    known.left.put(found, entries, terms, masked)
    return True


def _made(
    entries: Sequence[Entry], terms: Terms, masked: set[int], sources: Sequence[int], is_last: bool,
    operands: Sequence[Tensor], tapes: Sequence[Any], back: Back,
) -> _Known | None:  # fmt: skip
    """What runs in the stretch's place; None if its rules do more than to apply primitives."""
    if any(0 in numbers_read(e.op, e.attrs) or e.op.spectrum is not None for e in entries):
        return None  # 0.0, -0.0, 0 and False look alike
    symbols = alike(operands, tapes)
    arrived = dict(zip(terms, symbols.inputs))
    found, are_masked, saved = dict[int, Any](arrived), set(masked), iter(symbols.inputs[len(terms) :])
    entries = [e._replace(saved=(*[None if x is None else next(saved) for x in e.saved],)) for e in entries]
    try:
        with building(symbols.graph):
            back({*sources}, entries, found, are_masked)
            found = {key: ct.dense() if type(ct) is Rows else ct for key, ct in found.items()}
        numbers = {key: number for number, key in enumerate(terms)}
        at = {e.in_keys[i]: (number, i) for number, e in enumerate(entries) for i in e.plan.wanted}
        at |= {key: (-1, number) for key, number in numbers.items()}
        # what arrived and is only passed on stays where it is
        left = [k for k, ct in found.items() if ct is not arrived.get(k) and (not is_last or k in sources)]
        if any(found[key]._weak for key in left):
            return None
        repeat = Repeat(symbols, [found[key] for key in left])
    except Exception:  # what is wrong is said by the rules themselves
        return None
    taken = (*[number for key, number in numbers.items() if key not in found],)
    return _Known(repeat, Left(taken, (*[(*at[key], key in are_masked) for key in left],)))
