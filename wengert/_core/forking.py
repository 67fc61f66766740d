"""Locks, and what else must be mended, across `os.fork`: a child has one thread, whatever its parent had.

A lock that another thread holds while a process forks stays locked in the child for ever. There are two kinds here:

- `short_lock()`: held for moments, by code of ours that waits for nothing else. A fork takes them all first, so that a
  child finds what they guard whole.
- `long_lock()`: held while users' functions are traced or programs are compiled. A fork does not wait for that; the
  child's are free, and what was half made is made again (what they guard is only ever added to when it is whole).

A fork also waits until no other thread is loading a module: a child would wait for that module for ever. Signals that
come while it waits are told to their handlers when it is over, since what a hook of a fork raises is lost.
Locks that the forking thread holds itself stay its own. A lock of another library that the same holds for, LLVM's, is
`shared` here and taken last, since its holders wait for nobody.
"""

from __future__ import annotations

import _imp
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import system
from .tracebacks import entries_of

_PATIENCE = 60.0  # seconds that a fork waits for imports and short locks; a deadlock among them must not stop it

_short: list[Any] = []
_foreign: list[Any] = []
_long: weakref.WeakSet[Any] = weakref.WeakSet()
_menders: list[Callable[[], None]] = []
_taken: list[Any] = []  # by the fork under way; there is one at a time, since only its thread gets them all
_entered: list[Any] = []  # of the foreign ones
_importing: list[bool] = []  # whether it holds the interpreter's lock of imports
_waiting: list[int] = []  # signals that came meanwhile
_handlers: dict[int, Any] = {}  # of the signals that wait


def short_lock() -> Any:
    """A reentrant lock for moments, which a fork waits for. For modules and objects that live as long as they do."""
    lock = threading.RLock()
    _short.append(lock)
    return lock


def long_lock() -> Any:
    """A reentrant lock that may be held for long; free in a child of a fork, unless the forking thread holds it."""
    lock = threading.RLock()
    _long.add(lock)
    return lock


def share(lock: object) -> None:
    """Has each fork hold another library's lock, a context manager whose holders wait for no lock of ours."""
    if lock not in _foreign:
        _foreign.append(lock)


def mend_in_child(mend: Callable[[], None]) -> None:
    """Has each child of a fork call a function first."""
    _menders.append(mend)


def _before() -> None:
    _put_off_signals()
    deadline = time.monotonic() + _PATIENCE
    while True:
        _wait_for_imports(deadline)
        _take_all(deadline)
        _imp.acquire_lock()  # from here on nobody begins to load a module
        _importing.append(True)
        if not _others_import() or time.monotonic() >= deadline:
            return
        _release()  # one has begun meanwhile, and may need what is held here


def _wait_for_imports(deadline: float) -> None:
    while _others_import() and time.monotonic() < deadline:
        time.sleep(0.001)


def _others_import() -> bool:
    """Whether another thread is loading a module."""
    own = threading.get_ident()
    # the locks of modules, which have no public name: none are found should they have another one some day
    found = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    owners = {getattr(lock(), "owner", None) for lock in [*found.values()]}
    return not owners <= {None, own}


def _take_all(deadline: float) -> None:
    for lock in [*_short]:
        if lock.acquire(timeout=max(deadline - time.monotonic(), 0.01)):
            _taken.append(lock)
    for lock in [*_foreign]:
        lock.__enter__()
        _entered.append(lock)


def _release() -> None:
    while _importing:
        _importing.pop()
        _imp.release_lock()
    while _entered:
        _entered.pop().__exit__(None, None, None)
    while _taken:
        _taken.pop().release()


def _put_off_signals() -> None:
    """Has signals wait until the fork is over. Only the main thread runs handlers, and only it may change them."""
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                _handlers[number] = handler
                signal.signal(number, _note_signal)
    except KeyboardInterrupt:  # of the moment before
        _waiting.append(signal.SIGINT)


def _note_signal(number: int, frame: object) -> None:
    _waiting.append(number)


def _put_signals_back() -> None:
    """What a handler raises that is back before this has ended would be lost: its signal waits, too."""
    back: dict[int, Any] = {}
    while _handlers:
        try:
            number = next(iter(_handlers))
            back[number] = _handlers[number]
            signal.signal(number, _handlers[number])
            _handlers.pop(number)
        except BaseException as error:
            _waiting.append(_number_of(error, back))
    try:
        signal.getsignal(signal.SIGINT)  # a call, after which Python runs the handlers of what has come
    except BaseException as error:
        _waiting.append(_number_of(error, back))


def _number_of(error: BaseException, handlers: dict[int, Any]) -> int:
    """The signal whose handler has raised an error: the one whose code is in the traceback, else that of Ctrl-C."""
    codes = {entry.tb_frame.f_code for entry in entries_of(error.__traceback__)}
    return next((n for n, h in handlers.items() if getattr(h, "__code__", None) in codes), signal.SIGINT)


def _after_in_parent() -> None:
    _release()
    _put_signals_back()
    if _waiting:
        numbers, _waiting[:] = [*_waiting], []
        caller = sys._getframe(1)
        threading.Thread(target=_tell, args=(numbers, caller, caller.f_lasti), daemon=True).start()


def _tell(numbers: list[int], caller: FrameType, place: int) -> None:
    """Sends signals once the function that forks has gone on: what a handler raises in a hook is lost."""
    deadline = time.monotonic() + _PATIENCE
    while caller.f_lasti == place and time.monotonic() < deadline:
        time.sleep(0.001)
    for number in numbers:
        system.SYSTEM.signal_main_thread(number)


def _after_in_child() -> None:
    _waiting.clear()
    _release()
    _put_signals_back()
    for lock in [*_short, *_long]:
        if lock.acquire(blocking=False):  # free, or this thread's
            lock.release()
        else:
            lock._at_fork_reinit()  # as the standard library does with its own locks
    for mend in _menders:
        mend()


system.SYSTEM.at_fork(_before, _after_in_parent, _after_in_child)
