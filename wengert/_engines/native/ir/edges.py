"""Places among those of a loop, where its extent may be a number that only the run tells."""

from __future__ import annotations

from typing import NamedTuple

from ...._core.dims import NEAR
from .loops import Reg


class Edge(NamedTuple):
    """A place, counted from 0 or from an extent. Edges compare as the places do: those counted from 0 come first, since
    an extent is large and the others are near it (`is_near`)."""

    is_from_end: bool
    offset: int

    def moved(self, step: int) -> Edge:
        return Edge(self.is_from_end, self.offset + step)

    @property
    def is_near(self) -> bool:
        return -NEAR <= self.offset <= NEAR


class Span(NamedTuple):
    """The range of a loop's index.

    Attributes:
        first: the first place.
        behind: the place behind the last.
        end: the extent that edges count from; None if all are counted from 0, in which case any may be compared.
    """

    first: Edge
    behind: Edge
    end: Reg | None

    @staticmethod
    def of(start: int, stop: int) -> Span:
        """A range that is known."""
        return Span(Edge(False, start), Edge(False, stop), None)

    def is_comparable(self, edge: Edge) -> bool:
        return self.end is None or edge.is_near
