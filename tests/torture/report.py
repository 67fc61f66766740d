"""What a part of the torture tests found."""

from __future__ import annotations

from typing import NamedTuple


class Report(NamedTuple):
    """The result of a run.

    Attributes:
        rounds: how often the thing was done.
        failures: one text for each time that it went wrong.
    """

    rounds: int
    failures: list[str]
