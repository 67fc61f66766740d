"""Progress of long work, for who asks: `progress=True` shows it on standard error, a function gets it to show itself.

`following` is what work calls; the demo draws with `Bar` directly. Compiling is work that nobody calls by name: it says
at which stage it is (`stage`), and a `function` that was asked to show it listens (`compiling`).
"""

# pyright: strict

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, Protocol, TextIO

from .user_line import at_user_line

BAR_CELLS = 32
SECONDS_BETWEEN_FRAMES = 0.05
SECONDS_BETWEEN_LINES = 10.0  # of work whose length nobody knows, where there is no terminal
PLAIN_LINES = 8


class Progress(NamedTuple):
    """How far some work has come; what a function given as `progress=` is called with.

    Attributes:
        what: the public function at work.
        done: how much is done: iterations, derivatives, or time of an integration.
        total: how much there is to do, in the same unit; None where that is not known.
        note: a few words on where it stands.
    """

    what: str
    done: float
    total: float | None
    note: str


Step = Callable[[float, str], None]


@contextmanager
def following(progress: Any, what: str, total: float | None = None) -> Generator[Step | None]:
    """Shows the work inside the block: gives what is called with (done, note), or None where nobody asked.

    Args:
        progress: None or False; True; or a function of a `Progress`.
        what: the public function at work.
        total: how much there is to do, if that is known.

    Raises:
        TypeError: `progress` is none of these.
    """
    if progress is None or progress is False:
        yield None
        return
    require_progress(progress, what)
    if progress is not True:
        told: Callable[[Progress], Any] = progress
        yield lambda done, note: told(Progress(what, done, total, note))
        return
    display: Display = Tqdm(what, total) if importlib.util.find_spec("tqdm") else Bar(total, sys.stderr, what)
    try:
        yield display.step
    finally:
        display.close()


def require_progress(progress: object, what: str) -> None:
    """Raises TypeError for a `progress=` that is neither a truth value nor a function."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(at_user_line(f"{what}: progress is {progress!r}, wanted True or a function"))


class _Listener(threading.local):
    hears: Callable[[str], None] | None = None


_LISTENER = _Listener()
SECONDS_UNTOLD = 1.0  # what compiles sooner is not worth a word


def stage(name: str) -> None:
    """Compiling enters a stage: tracing, planning, lowering, LLVM."""
    if _LISTENER.hears is not None:
        _LISTENER.hears(name)


def is_heard() -> bool:
    """Whether somebody listens to this thread's stages."""
    return _LISTENER.hears is not None


@contextmanager
def compiling(progress: object, what: str) -> Generator[None]:
    """Shows the stages of what is compiled inside the block, from the first second on.

    Args:
        progress: as for `following`; `done` is in seconds, and `note` names the stage.
        what: the function that is compiled.
    """
    began = time.perf_counter()
    with ExitStack() as shown:
        step: Step | None = None

        def hear(name: str) -> None:
            nonlocal step
            seconds = time.perf_counter() - began
            if step is None and seconds >= SECONDS_UNTOLD:
                step = shown.enter_context(following(progress, f"compiling {what}"))
            if step is not None:
                step(seconds, name)

        before, _LISTENER.hears = _LISTENER.hears, hear
        try:
            yield
        finally:
            _LISTENER.hears = before


class Display(Protocol):
    """What shows progress."""

    def step(self, done: float, note: str) -> None:
        """Tells how much is done; `note` stands beside it."""

    def close(self) -> None:
        """Ends the display."""


class Tqdm:
    """A bar of tqdm's, which knows terminals, notebooks and logs."""

    def __init__(self, what: str, total: float | None) -> None:
        tqdm: Any = importlib.import_module("tqdm.auto").tqdm
        shape = "{desc} {n:.6g} [{elapsed}]{postfix}"
        if total is not None:
            shape = "{desc} {percentage:3.0f}% {bar} {n:.4g}/{total:.4g} [{elapsed}<{remaining}]{postfix}"
        self._bar: Any = tqdm(desc=what, total=total, bar_format=shape)

    def step(self, done: float, note: str) -> None:
        """Tells how much is done; `note` stands beside it."""
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Ends the display."""
        self._bar.close()


class Bar:
    """A bar that redraws itself on a terminal, a line now and then elsewhere.

    Args:
        total: how much there is to do; None where that is not known.
        stream: where to write; its `isatty` chooses between the bar and plain lines.
        what: stands before the count.
    """

    def __init__(self, total: float | None, stream: TextIO, what: str = "step") -> None:
        self._total = total
        self._stream = stream
        self._what = what
        self._is_terminal = stream.isatty()
        self._last_frame = float("-inf")
        self._last_line = time.monotonic()
        self._lines = 0
        self._last_text = ""
        self._drawn_text = ""

    def step(self, done: float, note: str) -> None:
        """Tells how much is done; `note` stands beside the count."""
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

    def _text(self, done: float, note: str) -> str:
        if self._total is None:
            return f"  {self._what} {done:.6g}  {note}"
        total = f"{self._total:.6g}"
        count = f"{f'{done:.6g}':>{len(total)}}/{total}"
        if not self._is_terminal:
            return f"  {self._what} {count}  {note}"
        filled = int(BAR_CELLS * min(done / self._total, 1.0)) if self._total else BAR_CELLS
        bar = "█" * filled + "░" * (BAR_CELLS - filled)
        return f"  {bar} {count}  {note}"

    def _is_due(self, done: float) -> bool:
        now = time.monotonic()
        if self._is_terminal:
            return now - self._last_frame >= SECONDS_BETWEEN_FRAMES
        if self._total is None:
            return now - self._last_line >= SECONDS_BETWEEN_LINES
        return done * PLAIN_LINES >= self._total * (self._lines + 1)

    def _draw(self) -> None:
        # \x1b[K clears what a longer line before has left.
        self._stream.write(f"\r{self._last_text}\x1b[K" if self._is_terminal else f"{self._last_text}\n")
        self._stream.flush()
        self._drawn_text = self._last_text
        self._last_frame = self._last_line = time.monotonic()
        self._lines += 1
