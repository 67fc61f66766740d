"""Owns the progress display: a bar that redraws itself on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from typing import TextIO

BAR_CELLS = 32
SECONDS_BETWEEN_FRAMES = 0.05
PLAIN_LINES = 8


class Progress:
    """Shows how far a job of known length has come.

    Args:
        total: the number of steps.
        stream: where to write; its `isatty` chooses between the bar and plain lines.
    """

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total = total
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._stride = max(1, total // PLAIN_LINES)
        self._last_frame = float("-inf")
        self._last_text = ""
        self._drawn_text = ""

    def step(self, done: int, note: str) -> None:
        """Tells that `done` steps are done; `note` stands beside the count."""
        self._last_text = self._text(done, note)
        if self._is_due(done):
            self._draw()

    def close(self) -> None:
        """Shows the last step and ends the line."""
        if self._last_text != self._drawn_text:
            self._draw()
        if self._is_terminal and self._drawn_text:
            self._stream.write("\n")
            self._stream.flush()

    def _text(self, done: int, note: str) -> str:
        count = f"{done:>{len(str(self._total))}}/{self._total}"
        if not self._is_terminal:
            return f"  step {count}  {note}"
        filled = BAR_CELLS * done // self._total
        bar = "█" * filled + "░" * (BAR_CELLS - filled)
        return f"  {bar} {count}  {note}"

    def _is_due(self, done: int) -> bool:
        if not self._is_terminal:
            return done % self._stride == 0 or done == self._total
        return time.monotonic() - self._last_frame >= SECONDS_BETWEEN_FRAMES

    def _draw(self) -> None:
        # \x1b[K clears what a longer line before has left.
        self._stream.write(f"\r{self._last_text}\x1b[K" if self._is_terminal else f"{self._last_text}\n")
        self._stream.flush()
        self._drawn_text = self._last_text
        self._last_frame = time.monotonic()
