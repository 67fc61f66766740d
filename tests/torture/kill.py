"""Processes that are killed while they compile, write to the cache, and save: what they leave can all be read.

Each round forks a few processes that work on one folder, kills them after some milliseconds, and looks: the saved file
loads and gives what one of them has saved, each object of the cache is whole, and what they wrote aside goes
when it is old.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import numpy as np

import wengert as wg
from tests.torture.children import child, report_of
from tests.torture.fork import SMALL, program
from tests.torture.report import Report
from wengert._engines.native.run import disk, disk_folder

WRITERS = 3
SIZES = (10, 3000, 100_000)


def run(seed: int, seconds: float) -> Report:
    """Kills for so many seconds, at least ten times."""
    return report_of(__name__, seed, seconds)


def main(seed: int, seconds: float, folder: str) -> Report:
    """`run` in the process that forks."""
    dice = random.Random(seed)
    saved = Path(folder) / "saved"
    functions = [sized(n) for n in SIZES]
    wg.save(functions[0], saved)
    failures: list[str] = []
    rounds = 0
    end = time.monotonic() + seconds
    while (rounds < 10 or time.monotonic() < end) and len(failures) < 3:
        numbers = [child(lambda k=k: _write(functions[k % len(SIZES)], saved, k)) for k in range(WRITERS)]
        time.sleep(0.005 + dice.random() * 0.1)
        for number in numbers:
            os.kill(number, signal.SIGKILL)
        statuses = [os.waitpid(number, 0)[1] for number in numbers]
        failures += [f"seed {seed}, round {rounds}: {what}" for what in _damage(saved)]
        if any(os.waitstatus_to_exitcode(status) != -signal.SIGKILL for status in statuses):
            failures.append(f"seed {seed}, round {rounds}: a writer ended by itself: {statuses}")
        rounds += 1
    failures += _strays(Path(os.environ["WENGERT_CACHE_DIR"]))
    return Report(rounds, failures)


def sized(n: int) -> wg.Function:
    """A function of one argument that multiplies by n and whose file is longer for larger n."""
    table = np.full(n, float(n))
    f = wg.function(lambda x: wg.sum(wg.tensor(table)) * 0.0 + x * float(n))
    f(1.0)
    return f


def _write(function: wg.Function, saved: Path, k: int) -> None:
    dice = random.Random(f"{os.getpid()} {k}")
    while True:
        wg.save(function, saved)
        disk.write(disk.digest(b"one of few", bytes([dice.randrange(4)])), b"x" * dice.randrange(300_000))
        program(dice.random())(SMALL)


def _damage(saved: Path) -> list[str]:
    """What cannot be read."""
    found: list[str] = []
    try:
        if wg.load(saved)(1.0) not in SIZES:
            found.append("the saved file gives what nobody saved")
    except Exception as error:
        found.append(f"the saved file does not load: {error!r}")
    where = disk.folder()
    assert where is not None
    found += [f"{p.name} is damaged" for p in where.glob("*.o") if disk.read(p.stem) is None]
    return found


def _strays(where: Path) -> list[str]:
    """What killed writers left in the cache and what would be left when it is old."""
    old = time.time() - 86_400
    for path in where.glob("*.part"):
        os.utime(path, (old, old))
    with disk_folder.opened(where) as held_in:
        disk.sweep(held_in, disk.limit())
    return [f"{path.name} stays for ever" for path in where.glob("*.part")]
