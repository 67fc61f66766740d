"""Arithmetic of convolution windows along one axis: which elements they see, and phases over a dilated operand."""

from __future__ import annotations

from typing import NamedTuple

from ..ir.loops import Operand
from .ranges import is_one, number_of


class Window(NamedTuple):
    """One spatial axis: position p and tap k read element (p stride + k dilation - low) / spread, or a zero."""

    size: Operand
    positions: Operand
    taps: Operand
    stride: int
    low: Operand
    dilation: int
    spread: int


class Phase(NamedTuple):
    """Every so manieth position of an axis, which see every so manieth tap: a window without zeros between elements."""

    window: Window
    first: int
    step: int
    first_tap: int
    tap_step: int

    @property
    def places(self) -> tuple[int, int]:
        """The first of its positions, and the step from one to the next."""
        return self.first, self.step

    @property
    def kernel_places(self) -> tuple[int, int]:
        """The same of its taps."""
        return self.first_tap, self.tap_step

    def part(self, inner: Phase) -> Phase:
        """Some of its positions, of which the inner one tells."""
        first, step = self.first + inner.first * self.step, inner.step * self.step
        return Phase(inner.window, first, step, self.first_tap, self.tap_step)


def phases_of(window: Window) -> list[Phase]:
    """The positions of an axis by what they see of an operand with zeros between its elements."""
    spread, low = window.spread, number_of(window.low)
    if spread == 1 or window.stride != 1 or window.dilation != 1:
        return [Phase(window, 0, 1, 0, 1)]
    found: list[Phase] = []
    many, all_taps = number_of(window.positions), number_of(window.taps)
    for first in range(min(spread, many)):
        tap = (low - first) % spread
        positions, taps = -(-(many - first) // spread), -(-(all_taps - tap) // spread)
        inner = Window(window.size, positions, max(taps, 0), 1, (low - first - tap) // spread, 1, 1)
        found.append(Phase(inner, first, spread, tap, spread))
    return found


def borders_of(window: Window) -> list[Phase]:
    """The positions of an axis without zeros between elements: those that see zeros before the first element, those
    that see none, and those that see some behind the last one."""
    low, many = number_of(window.low), number_of(window.positions)
    span = (number_of(window.taps) - 1) * window.dilation
    first = min(many, max(0, -(-low // window.stride)))
    behind = max(first, min(many, (number_of(window.size) - 1 - span + low) // window.stride + 1))
    return [
        Phase(window._replace(positions=end - start, low=low - start * window.stride), start, 1, 0, 1)
        for start, end in ((0, first), (first, behind), (behind, many)) if end > start
    ]  # fmt: skip


def reach(window: Window) -> int:
    """How many elements, zeros included, the windows of an axis see."""
    return (number_of(window.positions) - 1) * window.stride + (number_of(window.taps) - 1) * window.dilation + 1


def is_inside(window: Window) -> bool:
    """Whether all that windows see are elements."""
    low = number_of(window.low)
    return (window.spread == 1 or is_one(window.size)) and low <= 0 and reach(window) - low <= number_of(window.size)


def seen(window: Window) -> tuple[int, int]:
    """The first element that windows may see, and how many there are from it on."""
    low, spread = number_of(window.low), window.spread
    first = -(-max(0, -low) // spread)
    behind = max(first, min(number_of(window.size), -(-(reach(window) - low) // spread)))
    return first, behind - first
