"""Adds up the terms of cotangents in a traced gradient as the user's options say (`wg.gradients`).

`Gathering` holds the terms of each value until the sweep comes to the node that computed it. It also puts barriers
around what one node contributes, and names what the sweep adds to the graph.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from .._core.graph import Graph, Scope
from .._core.op import ZERO
from .._core.tensor import Tensor
from .._prims.buffer import Update
from .._prims.structural import add, add_n, barrier
from .reverse import Cotangents
from .row_cotangents import Rows, dense, total
from .tape import Entry


class Method(enum.IntEnum):
    """How the terms of a cotangent are added up: all at once, as a tree, or as they arrive."""

    ALL_AT_ONCE = 0
    TREE = 1
    AS_THEY_ARRIVE = 2


class Gathering(Cotangents):
    """Cotangents of a traced gradient.

    Args:
        builder: where the sweep's nodes go.
        scope: what their names begin with.
        names: what the node behind an entry is called, by the key of its first result.
        method: how terms are added up.
        gate: whether a barrier stands around the gradients of a node that has two or more.
        colocate: whether the gradients of a node are to be placed with it.
    """

    __slots__ = ("_arriving", "_colocate", "_entry_scope", "_gate", "_method", "_names", "_pending", "_rows",
                 "_updates", "_zero", "builder", "scope")  # fmt: skip
    holds = True

    def __init__(
        self, builder: Graph, scope: str, names: Mapping[int, str], method: Method, gate: bool, colocate: bool
    ) -> None:  # fmt: skip
        super().__init__(keeps_rows=True)
        self.builder = builder
        self.scope = Scope(f"{scope}/")
        self._names = names
        self._method = method
        self._gate = gate
        self._colocate = colocate
        self._entry_scope = self.scope
        self._arriving: list[tuple[int, Any]] = []  # what the entry at hand has contributed so far
        self._pending: dict[int, list[tuple[int, Tensor]]] = {}  # terms with how often they were merged
        self._rows: dict[int, list[Rows]] = {}
        self._updates: dict[int, list[Update]] = {}
        self._zero: set[int] = set()

    def add(self, key: int, term: object, may_hold_zeros: bool) -> None:
        self._arriving.append((key, term))
        if may_hold_zeros:
            self.masked.add(key)

    def before(self, entry: Entry) -> None:
        self._settle()
        for key in entry.out_keys:
            self._sum_up(key)
        name = self._names.get(entry.out_keys[0], entry.op.name)
        device, beside = ("cpu", f"loc:@{name}") if self._colocate else ("", "")
        self._entry_scope = self.builder.scope = Scope(f"{self.scope.prefix}{name}_grad/", device, beside)

    def finish(self, sources: Iterable[int]) -> None:
        self._settle()
        for key in sources:
            self._sum_up(key)

    def _settle(self) -> None:
        """Files what the last entry has contributed, through a barrier if there is to be one."""
        arrived, self._arriving = self._arriving, []
        terms = [_values_of(term) for _, term in arrived if term is not ZERO]
        if self._gate and len(terms) > 1 and self._entry_scope is not self.scope:
            self.builder.scope = self._entry_scope
            gated = iter(barrier(*terms))
            arrived = [(key, term if term is ZERO else _replaced(term, next(gated))) for key, term in arrived]
        self.builder.scope = self.scope
        for key, term in arrived:
            if term is ZERO:
                self._zero.add(key)
            elif type(term) is Rows:
                self._rows.setdefault(key, []).append(term)
            elif type(term) is Update:
                self._updates.setdefault(key, []).append(term)
            else:
                self._file(self._pending.setdefault(key, []), term)

    def _file(self, terms: list[tuple[int, Tensor]], term: Tensor) -> None:
        """Keeps a term, merged with those before it as far as the method says; a tree merges equal heights."""
        height = 0
        while terms and (
            self._method is Method.AS_THEY_ARRIVE or (self._method is Method.TREE and terms[-1][0] == height)
        ):
            term = add(terms.pop()[1], term)
            height += 1
        terms.append((height, term))

    def _sum_up(self, key: int) -> None:
        found = self._sum_of(key)
        for update in self._updates.pop(key, ()):
            found = update.dense() if found is None or found is ZERO else update.added_to(dense(found))
        if found is not None:
            self.terms[key] = found

    def _sum_of(self, key: int) -> Any:
        """The sum of the terms in full and of the rows: a tensor, `Rows`, `ZERO`, or None if there are none."""
        terms = [term for _, term in self._pending.pop(key, ())]
        rows: Any = total(self._rows.pop(key, ()))
        if rows is not None:
            if not terms:
                return rows
            terms.append(rows.dense())
        if not terms:
            return ZERO if key in self._zero else None
        if self._method is Method.ALL_AT_ONCE and len(terms) > 1:
            return add_n(*reversed(terms))  # in the order of the program
        result = terms.pop()
        while terms:
            result = add(terms.pop(), result)
        return result


def _values_of(term: Any) -> Tensor:
    """The numbers of a term as it arrives: all of it, one part of rows, or an update of one place."""
    if type(term) is Rows:
        return term.parts[0][0]
    return term.value if type(term) is Update else term


def _replaced(term: object, gated: Tensor) -> Any:
    """A term that has gone through a barrier."""
    if type(term) is Rows:
        return Rows(term.type, [(gated, term.parts[0][1])])
    return term._replace(value=gated) if type(term) is Update else gated


__all__ = ["Gathering", "Method"]
