"""Reverse mode: the one sweep that walks a Wengert list backwards.

`sweep` turns cotangents of targets into cotangents of sources by applying primitives only, so it computes when run
eagerly, builds graph when run under a trace, and is recorded when an outer tape is open: that is all there is to higher
orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from .._core.apply import apply
from .._core.dtypes import is_inexact
from .._core.engine import ENGINE_OF, ENGINES, KERNELS_OF, Kernel
from .._core.graph import Origins
from .._core.op import ZERO, Op
from .._core.repeat_cache import UNKNOWN
from .._core.state import SERIALS, STATE, next_serial
from .._core.tensor import Tensor, Value, Written, as_recorded
from .._core.types import TensorType, as_type, same_shape, type_of, typed
from .._core.user_line import at_user_line
from .._prims.buffer import Update, buffer_add, buffer_get, buffer_set
from .._prims.discrete import logical_and, logical_or
from .._prims.indexing import gather
from .._prims.structural import add, alias, conj, full, mul, scale, zeros_of
from ..errors import NonFiniteError
from .compiled_rules import applied_of, formula_of
from .contributions import results_of
from .idle_cotangents import Idle, idle_flag, kept_at_zero, makes_more_of_zeros
from .limits import Trail, following_sweep
from .pushing import Masked
from .recorded_sweeps import recorded_at_once
from .row_cotangents import Rows, dense, joined
from .tape import Entry
from .whole_sweeps import stretch_of, stretches

FEW = 3  # entries whose own formulas are found no later than one for all of them
_goes_alone = attrgetter("op.goes_alone")
_data_of = attrgetter("_data")
_NOTHING = {type(None)}
_NO_VALUES = {type(None), type(ZERO)}


class Cotangents:
    """The cotangents gathered so far, by value: a tensor, `Rows` or ZERO, and whether it may hold structural zeros.

    This kind adds up terms as they arrive. One that `holds` is given every term by `add`, is told when an entry's turn
    comes (`before`), and must have that entry's cotangents in `terms` then, and the sources' after `finish`.
    """

    __slots__ = ("has_rows", "idle", "keeps_rows", "masked", "terms")
    holds = False

    def __init__(self, keeps_rows: bool = False) -> None:
        self.terms: dict[int, Any] = {}
        self.masked: set[int] = set()
        self.idle: dict[int, Idle] = {}
        self.has_rows = False
        self.keeps_rows = keeps_rows  # also where they take more room than the dense form

    def before(self, entry: Entry) -> None:
        """Called by the sweep before it asks for the cotangents of an entry's results."""

    def finish(self, sources: Iterable[int]) -> None:
        """Called at the end of the sweep."""

    def add(self, key: int, term: Any, may_hold_zeros: bool) -> None:
        known: Any = self.terms.get(key)
        if type(term) is Update:
            term = term.dense() if known is None or known is ZERO else term.added_to(dense(known))
            known = None
        if known is None or known is ZERO:
            self.terms[key] = term
        elif term is not ZERO:
            rows_among = Rows in (type(known), type(term))
            self.terms[key] = joined(known, term) if rows_among else add(known, term)
        if may_hold_zeros:
            # a sum's zeros are zeros of every term only, but treating them so again is harmless: 0 * slope is 0
            self.masked.add(key)

    def add_idle(self, key: int, term: Idle) -> None:
        """Adds a term that is idle in some runs; so is the sum if all terms are."""
        known, before = self.terms.get(key), self.idle.get(key)
        self.add(key, term.cotangent, True)
        if self.holds:
            return
        if known is None or known is ZERO:
            self.idle[key] = term
        elif before is not None and before.cotangent is known:
            self.idle[key] = Idle(self.terms[key], logical_and(before.flag, term.flag))


def sweep(
    entries: Sequence[Entry], seeds: Iterable[tuple[int, Tensor]], sources: Sequence[int],
    masked: Sequence[bool] | None = None, sparse: bool = False, cts: Cotangents | None = None,
) -> list[Any]:  # fmt: skip
    """The cotangents of the sources, given those of the targets.

    Args:
        entries: the Wengert list, in program order, of values that depend on the sources.
        seeds: (key, cotangent) of each target.
        sources: keys whose cotangents are wanted.
        masked: for each seed whether it may hold structural zeros (by default none does).
        sparse: leaves the cotangents of what only rows were gathered from as `Rows`.
        cts: adds up the terms in another way than as they arrive.

    Returns:
        For each source a tensor (or `Rows`), `ZERO` (connected, derivative zero) or None (not connected).
    """
    if Trail.is_used and (trails := _trails(entries)):
        with following_sweep(trails, _seeds_at_large(seeds := [*seeds], cts)):
            return _sweep(entries, seeds, sources, masked, sparse, cts)
    return _sweep(entries, seeds, sources, masked, sparse, cts)


def _trails(entries: Sequence[Entry]) -> list[Trail]:
    """The trails that entries lead to."""
    return [*{id(e.saved[-1]): e.saved[-1] for e in entries if e.op.spectrum is not None and e.saved[-1]}.values()]


def _seeds_at_large(seeds: Sequence[tuple[int, Tensor]], cts: Cotangents | None) -> list[Tensor]:
    """The cotangents which may depend on anything; that of a lone number may, too, but it only scales what there is."""
    if cts is not None:
        return [ct for ct in cts.terms.values() if isinstance(ct, Tensor)]
    if len(seeds) == 1 and seeds[0][1].shape == () and not _is_input(seeds[0][1]):
        return []
    return [seed for _, seed in seeds]


def _is_input(tensor: Tensor) -> bool:
    """Whether a tensor is an input of the graph under construction."""
    builder = STATE.builder
    return builder is not None and any(v.key == tensor._key for v in builder.inputs)


def _sweep(
    entries: Sequence[Entry], seeds: Iterable[tuple[int, Tensor]], sources: Sequence[int],
    masked: Sequence[bool] | None, sparse: bool, cts: Cotangents | None,
) -> list[Any]:  # fmt: skip
    """As `sweep`, without the trails."""
    # where nobody watches, what NumPy's kernels do is done without a tensor for each step
    kernels = ENGINES["numpy"].kernels if STATE.builder is None and not STATE.recorders else None
    is_part = cts is not None  # of a sweep under way, which goes on from what is left here
    if cts is None:
        cts = Cotangents(sparse)
    for index, (key, seed) in enumerate(seeds):
        if masked is None and not is_part and key not in cts.terms:
            cts.terms[key] = seed
        else:
            cts.add(key, seed, masked is not None and masked[index])
    wanted = set(sources)
    # of a few entries their own formulas are found sooner than that of a stretch
    is_short = len(entries) <= (FEW if kernels is not None else 1) and all(map(_goes_alone, entries))
    if STATE.builder is not None:
        with Origins() as origins:
            _back_over(entries, wanted, cts, None, sparse, origins)
    elif is_short or cts.holds or sparse:
        _back_over(entries, wanted, cts, None if cts.holds else kernels, sparse)
    else:
        parts = stretches(entries, kernels is None)
        for number in range(len(parts) - 1, -1, -1):
            is_stretch, part = parts[number]
            is_stretch = is_stretch and (len(part) > FEW or kernels is None or not all(map(_goes_alone, part)))
            if not (is_stretch and _back_at_once(part, cts, sources, kernels, number == 0 and not is_part)):
                _back_over(part, wanted, cts, kernels, sparse)
    if cts.holds:
        cts.finish(wanted)
    terms = cts.terms
    if cts.has_rows and not sparse:
        for key in wanted:
            if type(terms.get(key)) is Rows:
                terms[key] = terms[key].dense()
    return [terms.get(key) for key in sources]


def _back_over(
    entries: Sequence[Entry], wanted: set[int], cts: Cotangents, kernels: dict[str, Kernel] | None, sparse: bool,
    origins: Origins | None = None,
) -> None:  # fmt: skip
    """Sweeps over entries one by one."""
    holds, terms = cts.holds, cts.terms
    is_lazy, may_be_told = sparse or not holds, not holds and STATE.builder is None
    numpys = ENGINES["numpy"].kernels
    entry: Entry | None = None
    try:
        for entry in reversed(entries):
            op = entry[0]
            if origins is not None:
                origins.of(entry[5])
            if Written.are_there and (Written in map(type, entry[7]) or tuple in map(type, entry[7])):
                entry = entry._replace(saved=as_recorded(entry[7]))
            if holds:
                cts.before(entry)
            if cts.idle and (flag := _idle_flag(entry, cts)) is not None:
                _pull_back_idle(entry, flag, wanted, cts)
                continue
            if op.is_multi:
                _pull_back_outputs(entry, wanted, cts)
                continue
            key = entry[5][0]
            ct = terms.get(key)
            if ct is None:
                continue
            if key not in wanted:
                del terms[key]
            if type(ct) is Rows:
                if op is alias:
                    cts.add(entry[3][0], Rows(ct.type, ct.parts), True)
                    continue
                ct = ct.dense()
                if key in wanted and not sparse:
                    terms[key] = ct
            if may_be_told and op.has_own_formula and ct is not ZERO:
                at_once = _pull_back_at_once if kernels is not None else _pull_back_by_ops
                if at_once(entry, ct, key in cts.masked, cts, numpys):
                    continue
            if op.has_rule_per_operand and ct is not ZERO:
                _pull_back_by_operand(entry, ct, key in cts.masked, cts)
            elif kernels is not None and op in _AT_PLACES and _pull_back_at_place(entry, ct, cts, kernels):
                pass
            elif is_lazy and op is gather and len(entry[3]) == 2 and ct is not ZERO:
                _add_rows(Rows(as_type(entry[4][0]), [(ct, entry[7][1])]), entry[3][0], cts)
            else:
                _pull_back(entry, ct, key in cts.masked, cts)
    except NonFiniteError as error:
        if entry is not None:
            error.in_gradient_of(entry.op.name, entry.out_keys[0])
        raise


def _back_at_once(
    entries: Sequence[Entry], cts: Cotangents, sources: Sequence[int], kernels: dict[str, Kernel] | None, is_last: bool
) -> bool:
    """Sweeps over a stretch by one function for the whole of it; whether there is one, and it worked."""
    terms, masked = cts.terms, cts.masked
    natives: list[Any] = []
    if cts.idle:
        return False
    if kernels is None:
        return recorded_at_once(entries, terms, masked, sources, is_last, _back_into)
    for ct in terms.values():
        if type(ct) is not Tensor or KERNELS_OF[type(ct._data)] is not kernels:
            return False
        natives.append(ct._data)
    stretch = stretch_of(entries, terms, masked, sources, is_last)
    if stretch is None or ((Written.are_there or len(ENGINES) > 1) and not _is_kept_plain(kernels, entries)):
        return False
    try:
        found = stretch.run(kernels, natives, entries)
    except Exception:  # what is wrong is said by the rules, which run next
        return False
    stretch.left.put(map(Tensor, found, SERIALS), entries, terms, masked)
    return True


def _back_into(wanted: set[int], entries: Sequence[Entry], terms: dict[int, Any], masked: set[int]) -> None:
    """As `_back_over`, from cotangents and masks that are changed to those that are left."""
    cts = Cotangents()
    cts.terms, cts.masked = terms, masked
    _back_over(entries, wanted, cts, None, False)


def _pull_back_at_place(entry: Entry, ct: Any, cts: Cotangents, kernels: dict[str, Kernel]) -> bool:
    """Adds what a write to a version or a read of one contributes, by kernels alone; whether it could."""
    if ct is ZERO or KERNELS_OF[type(ct._data)] is not kernels:
        return False
    op, count = entry[0], len(entry[3])
    places = entry[7][op.fixed : count]
    if op is buffer_add and 0 not in entry[2].wanted:  # an addition keeps its places for the value alone
        places = ()
    if places and not _is_on(kernels, places):
        return False
    return _AT_PLACES[op](entry, ct._data, (*map(_data_of, places),), cts, kernels)


def _pull_back_write(
    entry: Entry, data: Any, indices: tuple[Any, ...], cts: Cotangents, kernels: dict[str, Kernel]
) -> bool:
    """What stands at the place is the value's, and what was written over is erased for what was there before.

    Of elements that are written to several times the last value has the cotangent. A version of NumPy's engine does
    both at the cost of one.
    """
    (template,) = entry[1]
    masks, term = True, None
    if entry[0] is buffer_add:
        masks = entry[5][0] in cts.masked
        if 0 in entry[2].wanted:
            term = kernels["buffer_get"](data, *indices, template)
    else:
        cut = getattr(data, "cut", None)
        term, data = (cut or kernels["buffer_new"](data).cut)(template, indices)
        if indices and indices[0].shape:
            extents = (*[n for n, e in zip(data.shape, template, strict=True) if e is None],)
            is_last = kernels["last_writes"](*indices, extents)
            if not is_last.all():
                term = term.copy()
                term[~is_last] = 0
    terms, masked = cts.terms, cts.masked
    for index in entry[2].wanted:
        key, found = entry[3][index], data if index else term
        known = terms.get(key)
        if known is None:
            terms[key] = Tensor(found, next_serial())
        elif not index and type(known) is Tensor and KERNELS_OF[type(known._data)] is kernels:
            terms[key] = Tensor(known._data + found, next_serial())
        else:
            cts.add(key, Tensor(found, next_serial()), masks)
        if masks:
            masked.add(key)
    return True


def _pull_back_read(
    entry: Entry, data: Any, indices: tuple[Any, ...], cts: Cotangents, kernels: dict[str, Kernel]
) -> bool:
    """What was read adds to a cotangent in full where there is one."""
    key = entry[3][0]
    known: Any = cts.terms.get(key)
    if type(known) is not Tensor or KERNELS_OF[type(known._data)] is not kernels:
        return False
    cts.terms[key] = Tensor(kernels["buffer_add"](data, known._data, *indices, *entry[1]), next_serial())
    cts.masked.add(key)
    return True


_AT_PLACES = {buffer_set: _pull_back_write, buffer_add: _pull_back_write, buffer_get: _pull_back_read}


def _idle_flag(entry: Entry, cts: Cotangents) -> Tensor | None:
    """Whether all that came back to an entry is idle; None where nobody knows."""
    if entry.op.walks:
        return None
    return idle_flag([cts.terms.get(key) for key in entry.out_keys], [cts.idle.get(key) for key in entry.out_keys])


def _pull_back_idle(entry: Entry, flag: Tensor, wanted: set[int], cts: Cotangents) -> None:
    """Adds what one entry contributes, from cotangents that are idle in some runs: so is what comes of them."""
    own = Cotangents(cts.keeps_rows)
    for key in entry.out_keys:
        ct = cts.terms.get(key) if key in wanted else cts.terms.pop(key, None)
        if ct is not None:
            own.terms[key] = ct
            own.masked.add(key)
    if entry.op.is_multi:
        _pull_back_outputs(entry, set(), own)
    elif entry.op.has_rule_per_operand:
        _pull_back_by_operand(entry, own.terms.pop(entry.out_keys[0]), True, own)
    else:
        _pull_back(entry, own.terms.pop(entry.out_keys[0]), True, own)
    is_guarded = makes_more_of_zeros(entry.op, entry.saved)
    for key, term in own.terms.items():
        if type(term) is Rows and not cts.keeps_rows:
            term = term.dense()
        if not isinstance(term, Tensor):
            cts.has_rows = cts.has_rows or type(term) is Rows
            cts.add(key, term, key in own.masked)
            continue
        inner = own.idle.get(key)
        of_term = flag if inner is None or inner.cotangent is not term else logical_or(flag, inner.flag)
        cts.add_idle(key, Idle(kept_at_zero(term, of_term) if is_guarded else term, of_term))


def _pull_back_at_once(
    entry: Entry, ct: Tensor, may_hold_zeros: bool, cts: Cotangents, kernels: dict[str, Kernel]
) -> bool:
    """As `_pull_back_by_operand`, by a formula on NumPy's arrays; whether there is one, and it worked."""
    op, attrs, plan, in_keys, in_types, _, _, saved = entry
    key: Any = (may_hold_zeros, in_types, attrs, *map(type, attrs)) if attrs else (may_hold_zeros, in_types)
    try:
        formula = plan.formulas.get(key, UNKNOWN)
    except TypeError:  # attributes that cannot be compared
        return False
    if formula is UNKNOWN:
        formula = plan.formulas.met(key, partial(formula_of, entry, type_of(ct), may_hold_zeros))
    if formula is None:
        return False
    wanted, keeps, run, _ = formula
    native = ct._data
    if KERNELS_OF[type(native)] is not kernels or (keeps and len(ENGINES) > 1 and not _is_on(kernels, saved)):
        return False
    try:
        found = run(kernels, native, saved)
    except Exception:  # what is wrong is said by the rules, which run next
        return False
    terms = cts.terms
    masks = may_hold_zeros or op.inserts_zeros
    for index, term in zip(wanted, found):
        key = in_keys[index]
        known = terms.get(key)
        if known is None:
            terms[key] = Tensor(term, next_serial())
        elif type(known) is Tensor and KERNELS_OF[type(known._data)] is kernels:
            terms[key] = Tensor(known._data + term, next_serial())
        else:
            cts.add(key, Tensor(term, next_serial()), masks)
        if masks:
            cts.masked.add(key)
    return True


def _pull_back_by_ops(
    entry: Entry, ct: Tensor, may_hold_zeros: bool, cts: Cotangents, kernels: dict[str, Kernel]
) -> bool:
    """The same in a sweep that recorders watch: by what the rules come to in ops."""
    op, attrs, plan, in_keys, in_types, _, _, saved = entry
    key = (_pull_back_by_ops, may_hold_zeros, in_types, attrs, *map(type, attrs))
    try:
        applied = plan.formulas.get(key, UNKNOWN)
    except TypeError:  # attributes that cannot be compared
        return False
    if applied is UNKNOWN:
        applied = plan.formulas.met(key, partial(applied_of, entry, type_of(ct), may_hold_zeros))
    if applied is None or (len(ENGINES) > 1 and not _is_on(kernels, (ct, *saved))):
        return False
    masks = may_hold_zeros or op.inserts_zeros
    for index, term in zip(applied[0], applied[1](ct, saved)):
        _contribute(entry, index, in_keys[index], term, masks, cts)
    return True


def _is_on(kernels: dict[str, Kernel], tensors: Iterable[Tensor | None]) -> bool:
    """Whether tensors are of the engine with these kernels."""
    for x in tensors:  # noqa: SIM110  # a generator costs a call for each
        if x is not None and KERNELS_OF[type(x._data)] is not kernels:
            return False
    return True


def _is_kept_plain(kernels: dict[str, Kernel], entries: Iterable[Entry]) -> bool:
    """Whether all that was kept are tensors of the engine with these kernels which nobody has written to."""
    for entry in entries:
        for x in entry[7]:
            if x is not None and (type(x) is not Tensor or KERNELS_OF[type(x._data)] is not kernels):
                return False
    return True


def _pull_back_by_operand(entry: Entry, ct: Tensor, may_hold_zeros: bool, cts: Cotangents) -> None:
    """Adds what one entry contributes, in the common case: one result, one rule for each operand.

    Slopes of elementwise ops are multiplied here, conjugated.
    """
    op, attrs, plan, in_keys, in_types, _, _, saved = entry
    times = scale if may_hold_zeros else mul
    sources = (ct, times, plan.tracked) + saved + typed(in_types) + attrs
    is_elementwise = op.kind == "elementwise"
    masks = may_hold_zeros or op.inserts_zeros
    for index in plan.wanted:
        rule = op.rules[index]
        if rule is None:
            continue
        term = rule.fn(*rule.pick(sources))
        if is_elementwise:
            slope = conj(term) if term._data.dtype.kind == "c" else term
            term = apply(times, (ct, slope))
        if term is not None:
            _contribute(entry, index, in_keys[index], term, masks, cts)


def _add_rows(rows: Rows, key: int, cts: Cotangents) -> None:
    """Adds what a gather of whole rows contributes: the dense form waits until something reads it."""
    cts.has_rows = True
    cts.add(key, rows, True)
    if not cts.keeps_rows:
        found = cts.terms[key]
        if type(found) is Rows and found.is_longer_than_dense:
            cts.terms[key] = found.dense()


def _contribute(entry: Entry, index: int, key: int, term: Any, masks: bool, cts: Cotangents) -> None:
    """Adds a term to an operand's cotangent, once its type is seen to be the operand's."""
    if term is not ZERO:
        data, wanted = term._data, entry[4][index]
        if data.shape != wanted[0] or data.dtype != wanted[1]:
            _require_type(entry[0], index, term, as_type(wanted))
    if key in cts.terms or cts.holds:
        cts.add(key, term, masks)
        return
    cts.terms[key] = term
    if masks:
        cts.masked.add(key)


def _pull_back_outputs(entry: Entry, wanted: set[int], cts: Cotangents) -> None:
    """The entry of an op with several results: those that nothing uses have zero cotangents."""
    found = [cts.terms.get(k) if k in wanted else cts.terms.pop(k, None) for k in entry.out_keys]
    if cts.has_rows:
        found = [ct.dense() if type(ct) is Rows else ct for ct in found]
    kinds = {*map(type, found)}  # a set by C code: generators cost a call for each result
    if kinds == _NOTHING:
        return
    if entry.op.walks:
        entry.attrs[0].walk_back(entry, found, cts)
        return
    if entry.op.kind != "custom" and kinds <= _NO_VALUES:
        _pull_back(entry, ZERO, False, cts)
        return
    if entry.op.takes_missing:
        masked = [key in cts.masked for key in entry.out_keys]
        _pull_back(entry, (*found,), True in masked, cts, masked)
        return
    filled = [
        zeros_of(t) if (ct is None or ct is ZERO) and is_inexact(t.dtype) else ct
        for ct, t in zip(found, entry.out_types, strict=True)
    ]
    _pull_back(entry, tuple(filled), True, cts, (True,) * len(filled))


def _pull_back(
    entry: Entry, ct: object, may_hold_zeros: bool, cts: Cotangents, masked: Sequence[bool] = ()
) -> None:  # fmt: skip
    """Adds what one entry contributes: joint rules, variadic operands, several results, cotangents that are ZERO."""
    op, keys, wanted = entry.op, entry.in_keys, entry.plan.wanted
    if ct is ZERO or op.kind == "zero":
        for index in wanted:
            cts.add(keys[index], ZERO, False)
        return
    if op.joint is None and not op.rules:
        raise LookupError(at_user_line(f"no gradient is defined for the op {op.name}, which is on the path"))
    results = results_of(entry, ct, scale if may_hold_zeros else mul, masked)
    for index in wanted:
        result = results[index]
        kind = type(result)
        if kind is Tensor or kind is type(ZERO):
            _contribute(entry, index, keys[index], result, may_hold_zeros or op.inserts_zeros, cts)
        elif kind is Rows:
            _add_rows(result, keys[index], cts)
        elif kind is Masked:
            _contribute(entry, index, keys[index], result.cotangent, True, cts)
        elif kind is Idle:
            cts.add_idle(keys[index], result)
        elif kind is Update:
            cts.add(keys[index], result, True)
        elif result is not None:
            _contribute(entry, index, keys[index], result, may_hold_zeros or op.inserts_zeros, cts)


def _is_narrowed(data: Any, dtype: Any) -> bool:
    """Whether an array has another dtype only because its engine has none as wide."""
    return type(data) is not Value and ENGINE_OF[type(data)].canonical_dtype(dtype) == data.dtype


def _require_type(op: Op, index: int, term: Any, wanted: TensorType) -> None:
    data = term._data
    if data.shape != wanted[0] and not same_shape(data.shape, wanted[0]):
        name = op.operands[op.position(index)]
        raise ValueError(
            at_user_line(f"{op.name}: its gradient for {name} has shape {data.shape}, but {name} has shape {wanted[0]}")
        )
    if data.dtype != wanted[1] and not _is_narrowed(data, wanted[1]):
        name = op.operands[op.position(index)]
        raise TypeError(
            at_user_line(f"{op.name}: its gradient for {name} has dtype {data.dtype}, but {name} has dtype {wanted[1]}")
        )


def ones_like_type(type_: TensorType) -> Tensor:
    """The default seed: the gradient of the sum."""
    if STATE.builder is None:  # nobody records what has no operands
        return Tensor(ENGINES["numpy"].kernels["full"](type_[0], 1, type_[1]), next_serial())
    return full(shape=type_[0], value=1, dtype=type_[1])


def materialise(cotangent: Any, type_: TensorType) -> Tensor:
    """A cotangent as a tensor: ZERO becomes zeros."""
    return zeros_of(type_) if cotangent is ZERO else cotangent


def ancestors(entries: Sequence[Entry], key: int, sources: Iterable[int]) -> set[int]:
    """Which of the sources a value depends on by a differentiable path."""
    needed = {key}
    for entry in reversed(entries):
        if not needed.isdisjoint(entry.out_keys):
            needed.update(entry.in_keys)
    return needed.intersection(sources)
