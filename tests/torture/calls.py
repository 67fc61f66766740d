"""Compiled functions between guard pages, and with each of their allocations failing in turn.

Each function is called with arrays that end, and that begin, at a protected page, and takes its workspace between such
pages; its results are those of an eager run. Then each block of its workspace is not had, alone and with all after it,
and, where all of it is machine code, each allocation of Python's: what comes is `MemoryError` or the same results,
nothing is left behind, and the next call runs as ever. (NumPy's and SciPy's own functions crash without memory.)
"""

from __future__ import annotations

import faulthandler
import itertools
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wengert as wg
from tests.support.guard_pages import guarded
from tests.support.one_code import is_one_code
from tests.torture import corpus
from tests.torture.children import report_of
from tests.torture.report import Report
from tests.torture.workspace import Workspace, guard_workspace

try:
    import _testcapi  # of CPython, and not in every build of it
except ImportError:
    _testcapi = None

LEAST = 12  # functions
MOST = 30  # allocations of Python that fail, one after another; a call of machine code makes fewer
ROOM = 1e-6  # relative: sums in another order, of float32, too


def run(seed: int, seconds: float) -> Report:
    """Calls functions for so many seconds, at least a dozen of them, and each at most once."""
    return report_of(__name__, seed, seconds, WENGERT_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def main(seed: int, seconds: float, folder: str) -> Report:
    """`run` in the process that calls."""
    faulthandler.enable()
    workspace = guard_workspace()
    failures: list[str] = []
    rounds, end = 0, time.monotonic() + seconds
    for name, function, arguments in _drawn(random.Random(seed)):
        if rounds >= LEAST and time.monotonic() > end:
            break
        print(f"calls {name}", file=sys.stderr, flush=True)  # the last one is where the process ended
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call = _Call(function, arguments)
            if call.runs:
                failures += [f"{name}: {what}" for what in call.tried(workspace)]
                rounds += 1
    return Report(rounds, failures)


def _drawn(dice: random.Random) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """Programs and samples of primitives, in turn, then what is left of the samples."""
    kinds = [list(kind) for kind in (corpus.programs(), corpus.samples())]
    for kind in kinds:
        dice.shuffle(kind)
    for both in itertools.zip_longest(*kinds):
        yield from filter(None, both)


class _Call:
    """A function, its arguments, and what it is to give.

    Attributes:
        runs: whether the arguments are such as it takes.
    """

    def __init__(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        self._arguments = arguments
        self._compiled = wg.function(function)
        try:
            self._wanted = _arrays(function(*arguments))
            self._compiled(*arguments)
            self.runs = True
        except (TypeError, ValueError, NotImplementedError, LookupError, np.linalg.LinAlgError):
            self.runs = False  # a sample that has no gradient, or cannot be an argument

    def tried(self, workspace: Workspace | None) -> Iterator[str]:
        """What goes wrong."""
        for at_end in (True, False):
            found = self._compiled(*[guarded(x, at_end=at_end) for x in self._arguments])
            if not _agree(_arrays(found), self._wanted):
                yield f"between guard pages it gives {found}, not {self._wanted}"
            del found
        if workspace is not None:
            yield from self._without_blocks(workspace)
        if _testcapi is not None and self._is_one_code():
            yield from self._without_python(_testcapi)

    def _is_one_code(self) -> bool:
        """Whether the whole function is one piece of machine code, which calls of these arguments go straight to."""
        ((_, form),) = self._compiled.traces
        return is_one_code(form, self._arguments)

    def _without_blocks(self, workspace: Workspace) -> Iterator[str]:
        held = workspace.held
        workspace.fail(0, 0)
        self._compiled(*self._arguments)
        for n, many in itertools.product(range(workspace.taken), (1, 2**62)):
            workspace.fail(n, many)
            what = self._called()
            workspace.fail(0, 0)
            what = what or self._called()
            if not what and workspace.held != held:
                what, held = f"{workspace.held - held} blocks are left", workspace.held
            if what:
                yield f"without block {n}{'' if many == 1 else ' and all after it'}: {what}"

    def _without_python(self, failing: Any) -> Iterator[str]:
        counts = [sys.getrefcount(x) for x in self._arguments]
        for n, many in itertools.product(range(1, MOST), (1, MOST)):
            what = self._failing_at(failing, n, n + many) or self._called()
            if not what and [sys.getrefcount(x) for x in self._arguments] != counts:
                what, counts = "arguments are held", [sys.getrefcount(x) for x in self._arguments]
            if what:
                yield f"without {many} allocations of Python's from number {n} on: {what}"

    def _failing_at(self, failing: Any, first: int, stop: int) -> str:
        """What goes wrong where some allocations of Python's fail."""
        found: Any = None
        compiled, arguments = self._compiled, self._arguments
        failing.set_nomemory(first, stop)
        try:
            found = compiled(*arguments)
        except MemoryError:
            pass
        except BaseException as error:
            failing.remove_mem_hooks()
            return repr(error)
        finally:
            failing.remove_mem_hooks()
        return self._judged(found)

    def _called(self) -> str:
        """What is wrong with a call: nothing if it gives what it is to give, or `MemoryError`."""
        try:
            return self._judged(self._compiled(*self._arguments))
        except MemoryError:
            return ""

    def _judged(self, found: Any) -> str:
        return "" if found is None or _agree(_arrays(found), self._wanted) else f"{found}, not {self._wanted}"


def _arrays(results: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in wg.tree.leaves(results)]


def _agree(found: list[Any], wanted: list[Any]) -> bool:
    return len(found) == len(wanted) and all(
        f.shape == w.shape and np.allclose(f, w, rtol=ROOM, atol=ROOM, equal_nan=True)
        for f, w in zip(found, wanted, strict=True)
    )
