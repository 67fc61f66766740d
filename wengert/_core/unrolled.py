"""Notices Python loops that a trace unrolls: one place of the user's program that makes the same ops over and over."""

from __future__ import annotations

from .state import STATE
from .user_line import Site, warn

LIMIT = 1000  # times that a place may run in one trace before the user is told


class Lines:
    """How often each place of the user's program has made each op, in one trace.

    One run of a place may make several ops, or one op several times; it has run about as often as the rarest op that
    it makes again and again.
    """

    __slots__ = ("_counts", "_has_told")

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], tuple[Site, dict[str, int]]] = {}  # the sites keep the ids theirs
        self._has_told = False

    def note(self, site: Site, op_name: str) -> None:
        """Counts a node; warns once if its place has run too often."""
        if self._has_told:
            return
        key = (id(site.code), site.instruction)  # hashing a code object takes far longer
        found = self._counts.get(key)
        if found is None:
            found = self._counts[key] = (site, {})
        counts = found[1]
        count = counts[op_name] = counts.get(op_name, 0) + 1
        if count > LIMIT and min(c for c in counts.values() if c > 1) > LIMIT:
            self._has_told = True
            warn(
                f"a Python loop was unrolled more than {LIMIT:,} times in a trace, each time with nodes of its own; "
                f"wg.fori_loop, wg.while_loop and wg.scan trace their body once\n  at {site}"
            )


class unwatched:
    """Context manager: what is traced inside stands for nodes that were counted where the user's code made them."""

    __slots__ = ("_before", "_builder")

    def __enter__(self) -> None:
        self._builder = STATE.builder
        if self._builder is not None:
            self._before, self._builder.lines = self._builder.lines, None

    def __exit__(self, *exc: object) -> None:
        if self._builder is not None:
            self._builder.lines = self._before


__all__ = ["Lines", "unwatched"]
