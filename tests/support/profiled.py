"""Calls and growth of memory, measured so that what ran before in the process does not matter.

What comes again is made into something quicker: an op's formula when it comes with the same types for the eighth time, a
function of NumPy's kernels for a tape that comes again. A test that counts must therefore first let f come often.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wengert._core.repeat_cache import RepeatCache
from wengert._core.tensor import Written
from wengert._transforms.limits import Trail


@contextmanager
def nothing_met() -> Iterator[None]:
    """As in a process that has met neither equal eigenvalues, for whose trails each sweep asks from then on, nor tensors
    that were written to, for which it looks in what was kept."""
    before = Trail.is_used, Written.are_there
    Trail.is_used = Written.are_there = False
    try:
        yield
    finally:
        Trail.is_used |= before[0]
        Written.are_there |= before[1]


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection of garbage, which calls what frameworks have asked it to and hides what is left behind."""
    was_collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collected:
            gc.enable()


def run_profiled(profile: Callable[[Any, str, Any], Any], f: Callable[..., Any], *args: Any) -> None:
    """Runs f under a profile function, with nothing beside it that calls."""
    with uncollected(), nothing_met():
        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            f(*args)
        finally:
            sys.setprofile(before)


def settle(f: Callable[..., Any], *args: Any) -> None:
    """Calls f until what comes again in it is as quick as it gets."""
    with nothing_met():
        for _ in range(RepeatCache.again + 4):
            f(*args)


def python_calls(f: Callable[..., Any], *args: Any) -> list[str]:
    """As `calls_in`, of a call that has often come."""
    settle(f, *args)
    return calls_in(f, *args)


def calls_in(f: Callable[..., Any], *args: Any) -> list[str]:
    """The names of the Python functions that run while f does, f first."""
    names: list[str] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    run_profiled(profile, f, *args)
    return names


def growth_of_calls(call: Callable[..., Any], *args: Any, times: int) -> float:
    """How many bytes more each call leaves in Python's memory, the collector off.

    The least of three stretches: what leaks grows in each of them, while a cache that fills or a table of the whole
    process that is made anew, however large it has become by what ran before, shows in one.
    """
    gc.collect()
    with uncollected():
        _fill_free_lists()
        tracemalloc.start()
        try:
            return min(_growth(call, args, times) for _ in range(3)) / times
        finally:
            tracemalloc.stop()


def _growth(call: Callable[..., Any], args: tuple[Any, ...], times: int) -> int:
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(times):
        call(*args)
    return tracemalloc.get_traced_memory()[0] - before


def _fill_free_lists() -> None:
    """CPython keeps up to 2,000 dead tuples of each small size, which looks like growth until it has them."""
    tuples = [tuple([None] * size) for size in range(1, 20) for _ in range(2000)]
    del tuples
