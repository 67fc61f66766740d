"""Runs programs in processes of their own: one that crashes or hangs is a finding, and the next process goes on behind it."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.case import Case
from tests.fuzz.classes import CLASSES, ORACLES, oracles_of, program_of
from tests.fuzz.comparing import Refused
from tests.fuzz.minimise import kind_of, minimised
from tests.fuzz.program import Program
from tests.fuzz.writer import Finding
from wengert._engines.native import engine

CANDIDATE = 20.0  # seconds that a smaller program may take
BATCH = 200  # programs of a process; then memory goes back, and what one leaves behind ends


class Options(NamedTuple):
    """How a run goes.

    Attributes:
        seed: of the run.
        limit: seconds that a program may take.
        minimise: seconds for making one that fails small.
    """

    seed: int = 0
    limit: float = 300.0
    minimise: float = 120.0


class Report(NamedTuple):
    """What became of one program.

    Attributes:
        name: of its class.
        number: in its class.
        seconds: of processor time, without making it small.
        findings: what it failed.
        refused: how many of its oracles did not apply.
        rounding: how many found results as far apart as rounding drives them.
        checks: how many oracles were asked.
    """

    name: str
    number: int
    seconds: float
    findings: list[Finding]
    refused: int = 0
    rounding: int = 0
    checks: int = 0


# -- one program ----------------------------------------------------------------------------------------------------------


def failure_of(program: Program, oracle: str) -> Exception | None:
    """What an oracle raises for a program; None if it holds, or does not apply."""
    try:
        _ask(Case(program, oracle), oracle)
    except Refused:
        return None
    except Exception as error:
        return error
    return None


def _ask(case: Case, oracle: str) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ORACLES[oracle](case)


def checked(name: str, number: int, options: Options) -> Report:
    """Makes a program, asks its oracles, and makes what fails small."""
    began = _processor_time()
    program = program_of(name, options.seed, number)
    failed: list[tuple[str, Exception]] = []
    counts = {"refused": 0, "rounding": 0, "checks": 0}
    for oracle in oracles_of(name, program):
        case = Case(program, oracle)
        counts["checks"] += 1
        try:
            _ask(case, oracle)
        except Refused:
            counts["refused"] += 1
        except Exception as error:
            failed.append((oracle, error))
        counts["rounding"] += bool(case.notes)
    seconds = _processor_time() - began
    found = [_finding(name, number, options, program, oracle, error) for oracle, error in failed]
    return Report(name, number, seconds, found, **counts)


def fails_alike(program: Program, oracle: str, error: Exception) -> Callable[[Program], bool]:
    """Whether another program fails an oracle as this one does, and is as valid: eager calls go as far."""
    eager, kind = _eagerly(program), kind_of(error)

    def fails(candidate: Program) -> bool:
        try:
            with limited(CANDIDATE):
                found = failure_of(candidate, oracle)
                return found is not None and kind_of(found) == kind and _eagerly(candidate) == eager
        except TookTooLong:  # a loop that lost its end
            return False

    return fails


def _eagerly(program: Program) -> list[str | None]:
    """What an eager call of a program raises, and one of its gradient."""
    case = Case(program, "")
    return [_raised_by(case, name) for name in ("values", "gradient")]


def _raised_by(case: Case, name: str) -> str | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            case.variant(name)(*case.arrays())
        except Exception as error:
            return kind_of(error)
    return None


def _finding(name: str, number: int, options: Options, program: Program, oracle: str, error: Exception) -> Finding:
    small = minimised(program, fails_alike(program, oracle, error), options.minimise)
    last = failure_of(small, oracle) or error
    return Finding(name, options.seed, number, oracle, told(last), small)


class TookTooLong(BaseException):
    """Passes through what catches exceptions."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `TookTooLong` in what takes longer, machine code included, which looks for signals now and then."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def over(number: int, frame: Any) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again: what is raised in a destructor is lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def told(error: BaseException) -> str:
    """What was raised, and where, in some lines."""
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = (
        f" ({place[0].filename.split('/site-packages/')[-1].split('/tests/')[-1]}:{place[0].lineno})" if place else ""
    )
    return f"{type(error).__name__}{where}: {str(error)[:1500]}"


def _processor_time() -> float:
    return sum(os.times()[:4])


# -- processes ------------------------------------------------------------------------------------------------------------


def drawn(names: list[str], seed: int, first: int = 0) -> Iterator[tuple[str, int]]:
    """Classes by their weights, without end, each with the number of its next program."""
    numbers = random.Random(f"classes {seed}")
    counts = dict.fromkeys(names, first)
    while True:
        name = numbers.choices(names, [CLASSES[n].weight for n in names])[0]
        yield name, counts[name]
        counts[name] += 1


def _work(pipe: Connection, batch: list[tuple[str, int]], options: Options) -> None:
    """What a process does: tells each program that it begins with, and what became of it."""
    engine.VERIFIES = engine.IS_STRICT = True
    faulthandler.enable()
    for name, number in batch:
        pipe.send((name, number))
        faulthandler.dump_traceback_later(_patience(options) * 0.95)
        report = checked(name, number, options)
        faulthandler.cancel_dump_traceback_later()
        pipe.send(report)
    pipe.send(None)


def _one(pipe: Connection, program: Program, oracle: str, options: Options) -> None:
    engine.VERIFIES = engine.IS_STRICT = True
    failure_of(program, oracle)
    pipe.send(None)


def run_batch(
    batch: list[tuple[str, int]], options: Options, is_over: Callable[[], bool] = lambda: False,
    work: Callable[..., None] = _work,
) -> Iterator[Report]:  # fmt: skip
    """The reports of programs, run in as many processes as it takes.

    Args:
        batch: the classes and numbers of programs.
        options: how the run goes.
        is_over: whether to stop between two programs.
        work: what a process does, given a pipe, the programs and the options.
    """
    left = [*batch]
    while left and not is_over():
        pipe, process = _started(work, left, options)
        current: tuple[str, int] | None = None
        try:
            while not is_over():
                told = _received(pipe, _patience(options))
                if isinstance(told, Report):
                    left = left[left.index((told.name, told.number)) + 1 :]
                    yield told
                elif told is not None and not isinstance(told, str):
                    current = told
                    continue
                elif told is None:
                    left = []
                    break
                else:
                    assert current is not None, f"a process ended before its first program: {told}"
                    left = left[left.index(current) + 1 :]
                    yield _lost(current, told, process, options)
                    break
        finally:
            _ended(process)


def _patience(options: Options) -> float:
    """How long a program may take that fails several oracles, made small for each."""
    return options.limit + 5 * options.minimise


def _started(work: Callable[..., None], *arguments: Any) -> tuple[Connection, Any]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(theirs, *arguments), daemon=False)
    process.start()
    theirs.close()
    return ours, process


def _received(pipe: Connection, seconds: float) -> Any:
    """What a process sends next; "hangs" or "ended" where nothing comes."""
    try:
        return pipe.recv() if pipe.poll(seconds) else "hangs"
    except EOFError:
        return "ended"


def _ended(process: Any) -> int | None:
    """Ends a process that we started; gives its exit status."""
    process.join(2)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode


def _lost(current: tuple[str, int], how: str, process: Any, options: Options) -> Report:
    """The report of a program at which its process ended, or did not go on."""
    name, number = current
    status = _ended(process)
    error = f"no answer in {options.limit:g} s" if how == "hangs" else f"the process ended with status {status}"
    program = program_of(name, options.seed, number)
    oracles = oracles_of(name, program)
    for oracle in oracles:
        if _is_lost(program, oracle, options):
            small = minimised(program, lambda p, o=oracle: _is_lost(p, o, options), options.minimise)
            return Report(name, number, 0.0, [Finding(name, options.seed, number, oracle, error, small)], checks=1)
    return Report(name, number, 0.0, [Finding(name, options.seed, number, oracles[0], error, program)], checks=1)


def _is_lost(program: Program, oracle: str, options: Options) -> bool:
    """Whether a process that asks an oracle ends, or does not go on."""
    pipe, process = _started(_one, program, oracle, options)
    try:
        return _received(pipe, options.limit) is not None
    finally:
        _ended(process)


def run(
    names: list[str],
    options: Options,
    is_over: Callable[[], bool],
    jobs: int = 1,
    first: int = 0,
    count: int | None = None,
) -> Iterator[Report]:
    """Reports, without end or of so many programs; ends when told so."""
    programs = drawn(names, options.seed, first)
    with ThreadPoolExecutor(jobs) as pool:
        remaining = count
        while not is_over() and remaining != 0:
            size = BATCH if remaining is None else min(BATCH * jobs, remaining)
            batch = [next(programs) for _ in range(size)]
            remaining = None if remaining is None else remaining - size
            if jobs == 1:
                yield from run_batch(batch, options, is_over)
            else:
                shares = [batch[k::jobs] for k in range(jobs)]
                for reports in pool.map(lambda share: [*run_batch(share, options, is_over)], shares):
                    yield from reports
