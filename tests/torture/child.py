"""The child process of `damage`: changes files, loads them and runs them; the parent sees how far it came."""

from __future__ import annotations

import json
import random
import signal
import sys
import warnings
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import wengert as wg
from tests.support.guard_pages import guarded
from tests.torture.changes import changed, graphs_in
from tests.torture.corpus import HEADER, read
from tests.torture.workspace import guard_workspace
from wengert._core.dims import size_of


def main(path: str, seed: int, first: int, last: int, limit: int) -> None:
    """Tries changes; says of each that it begins, and what became of it."""

    guard_workspace()
    told_to, sys.stdout = sys.stdout, sys.stderr  # programs that print are among them
    files = read(path)
    with TemporaryDirectory() as folder:
        for number in range(first, last):
            rng = random.Random(f"{seed} {number}")
            file = rng.choice(files)
            print(number, f"tries {file.name}", file=told_to, flush=True)
            _limit(limit)
            told = _tried(file, rng, Path(folder) / "changed")
            _limit(0)
            print(number, told, file=told_to, flush=True)


def _limit(seconds: int) -> None:
    """Ends this process after so many seconds of its own, or 10 times as many of the clock; 0: no longer."""
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds)  # the machine may be loaded
    signal.alarm(10 * seconds)


class _TooLong(BaseException):
    """A program with a loop, which may be one without end, has taken its time."""


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # who does not notice this one is killed by the next
    raise _TooLong


def _tried(file: Any, rng: random.Random, path: Path) -> str:

    data = json.loads(file.text)
    changed(data, rng)
    has_loop = any(node[0] == "loop" for graph in graphs_in(data["traces"]) for node in graph["nodes"])
    signal.signal(signal.SIGPROF, _interrupt if has_loop else signal.SIG_DFL)
    text = json.dumps(data).encode()
    body = file.body
    head = HEADER.pack(b"WENGERT\x01", len(text), len(body), zlib.crc32(body, zlib.crc32(text)))
    path.write_bytes(head + text + body)
    try:
        function = wg.load(path)
    except ValueError:
        return "refused"
    if not _is_small(function):
        return "large"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*_arguments(data, rng))
    except (ValueError, IndexError, ArithmeticError) as error:
        return f"raised {type(error).__name__}"
    except MemoryError:
        return "large"
    except _TooLong:
        return "interrupted"
    except Exception as error:
        return f"raised {type(error).__name__}"
    return "ran"


def _arguments(data: dict[str, Any], rng: random.Random) -> list[Any]:

    draw, at_end = np.random.default_rng(rng.randrange(2**32)), rng.random() < 0.7
    found: list[Any] = []
    for key in data["traces"][0]["keys"]:
        shape, dtype = tuple(key["shape"]["tuple"]), np.dtype(key["dtype"])
        values = draw.uniform(0.1, 0.9, shape) if dtype.kind in "fc" else draw.integers(0, 3, shape)
        if dtype.kind == "i" and rng.random() < 0.2:
            values = draw.integers(-100, 100, shape)
        found.append(guarded(np.asarray(values).astype(dtype), at_end=at_end))
    return found


def _is_small(function: Any) -> bool:
    """Whether running it cannot ask for much memory or time."""

    for _, compiled in function.traces:
        waiting = [compiled.graph]
        while waiting:
            graph = waiting.pop()
            if any(not isinstance(s := size_of(v.shape), int) or s > 20_000 for v in graph.inputs):
                return False
            for node in graph.nodes:
                if any(isinstance(s := size_of(v.shape), int) and s > 20_000 for v in node.outputs):
                    return False
                waiting += [p.graph for a in node.attrs for p in getattr(a, "inner", ())]
    return True


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
