"""Times every primitive in compiled programs beside the same programs on NumPy's kernels, JAX, torch, CasADi and in C.

Each row is one primitive on its samples of the registry, twice with its gradient where it has one: 2,048 copies side by
side (`many`), and one after the other in a loop of 100 steps (`loop`). Rows named `sorting` are sorts, orders, medians
and their gradients, of lanes of 20,000 elements: no sample is as long. A row tells microseconds of processor time a
call (the mean of its calls, all threads together; all take turns) and the ratios to eager code, to JAX's compiled form
of the same program, to the same on torch's tensors, and, of elementwise primitives, to CasADi's virtual machine and to
the C that CasADi writes (`expressions.py`); above 1 they are cliffs. A column is empty ("-") where a library is not
there, has no such primitive or takes too long. The last column names what ran outside of machine code. Rows come as
they are measured, by a process of their own, which ends where a library takes longer than `--bound` seconds for one:
the others are measured without it. `--above 2` prints at the end those beyond twice JAX's time, the worst first.
`--vectors avx2` has LLVM, JAX and the C compiler make code for a processor without AVX-512 where this one has it,
`--vectors sse` for one without AVX; eager code stays NumPy's for this one. `taskset -c 0` before it keeps all to one
core. From the repository's folder:

    .venv/bin/python -m benchmarks.cliffs [NAMES] [--above 2] [--dtype float64] [--seconds 0.05] [--bound 60]
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from benchmarks import expressions, sorting
from tests.support import narrower_vectors
from tests.support.op_checks import Case, cases
from wengert._core.apply import apply
from wengert._core.op import REGISTRY, Op

COPIES, STEPS, LANE = 2048, 100, 20_000
TURNS = 5
LONG = 5.0  # seconds of a call that is not made again only to be ready
PEERS = ("eager", "JAX", "torch", "CasADi", "C")

WHY_EMPTY = """A column is empty where a library is not installed, has no such primitive or dtype, or takes too long
(the last column tells that). CasADi and the C that it writes have scalar expressions of float64 alone."""

Function = Callable[..., Any]


class Program(NamedTuple):
    """A function of the operands that a sample has, and arguments for it.

    Attributes:
        steps: of its loop; 0 where copies lie side by side.
        active: the arguments whose gradients it gives; none where it gives a number.
    """

    name: str
    function: Function
    arguments: tuple[Any, ...]
    steps: int = 0
    active: tuple[int, ...] = ()


class Row(NamedTuple):
    """What one program takes, in seconds, by what runs it; NaN where it does not run."""

    op: str
    program: str
    seconds: dict[str, float]
    outside: str

    def ratio(self, other: str) -> float:
        """Of compiled code's time to another's."""
        return self.seconds.get("compiled", np.nan) / self.seconds.get(other, np.nan)


def measurable() -> Iterator[Op]:
    """The primitives that compute something by themselves."""
    for op in REGISTRY.values():
        if not (op.has_effect or op.facts.holds or op.facts.buffer or op.kind in ("stop", "custom")):
            yield op


def _total(case: Case, operands: Any) -> Any:
    found = apply(case.op, (*operands,), case.attrs)
    numbers = [x for x in (found if isinstance(found, tuple) else (found,)) if x.dtype != object]
    return sum(wg.sum(wg.real(x) if x.dtype.kind == "c" else x * 1.0) for x in numbers)


def _many(case: Case) -> Program:
    rng = np.random.default_rng(0)

    def copies(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        found = np.stack([x] * COPIES)
        is_float = x.dtype.kind in "fc"
        return (found * (1 - 1e-3 * rng.random((COPIES,) + (1,) * x.ndim))).astype(x.dtype) if is_float else found

    each = wg.vmap(lambda *xs: _total(case, [wg.asarray(x) for x in xs]))
    return Program("many", lambda *xs: wg.sum(each(*xs)), (*map(copies, case.operands),))


def _loop(case: Case) -> Program:
    def function(*xs: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            share = 1 - 1e-6 * wg.asarray(i).astype(np.float64)
            moved = [x * share.astype(x.dtype) if x.dtype.kind in "fc" else x for x in map(wg.asarray, xs)]
            return total + _total(case, moved)

        return wg.fori_loop(0, STEPS, step, 0.0)

    return Program("loop", function, case.operands, STEPS)


def programs(case: Case) -> Iterator[Program]:
    for make in (_many, _loop):
        made = make(case)
        yield made
        if case.active:
            slope = wg.grad(made.function, argnums=(*case.active,))
            yield made._replace(name=f"{made.name}, gradient", function=slope, active=(*case.active,))


def sorts() -> Iterator[Program]:
    """What `benchmarks/sorting.py` times, on long lanes of every type."""
    for name, x in sorting.arrays(is_quick=True):
        size, _, kind = name.partition(" ")
        if int(size) == LANE and x.ndim == 1:
            for program in sorting.suiting(x):
                function = program.of(sorting.Ours)
                if program.is_gradient:
                    function = wg.grad(function)
                yield Program(f"{program.name}, {kind}", function, (x,))


def means(calls: dict[str, Callable[[], Any] | None], seconds: float) -> dict[str, float]:
    """Processor time of a call, all threads together, on average over so many seconds; NaN of one that fails.

    They take turns, so that a busy moment of the machine hits them all; one that takes long has fewer.
    """
    batches = {who: _batch(call) for who, call in calls.items()}
    spent, done = dict.fromkeys(calls, 0.0), dict.fromkeys(calls, 0)
    for who in [*calls] * TURNS:
        call, batch = calls[who], batches[who]
        if call is None or batch == 0 or spent[who] > seconds:
            continue
        began = time.process_time()
        while time.process_time() < began + seconds / TURNS:
            for _ in range(batch):
                call()
            done[who] += batch
        spent[who] += time.process_time() - began
    return {who: spent[who] / number if number else np.nan for who, number in done.items()}


def _batch(call: Callable[[], Any] | None) -> int:
    """How many calls take a tenth of a millisecond, so that asking for the time costs nothing; 0 of one that fails."""
    if call is None:
        return 0
    took = np.inf
    try:
        for _ in range(3):  # the first ones compile
            began = time.perf_counter()
            call()
            took = time.perf_counter() - began
            if took > LONG:
                break
    except Exception:  # a program that an engine has no form of: the others are measured
        return 0
    return 1 + int(1e-4 / (took + 1e-9))


def _on_jax(program: Program) -> Callable[[], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    there, arguments = wg.function(program.function), [*map(jax.numpy.asarray, program.arguments)]
    return lambda: jax.block_until_ready(there(*arguments))


def _on_torch(program: Program) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(1)
    there, arguments = wg.function(program.function), [*map(torch.as_tensor, program.arguments)]
    return lambda: there(*arguments)


def _makers(name: str, program: Program, compiled: Function) -> dict[str, Callable[[], Callable[[], Any] | None]]:
    """By who runs a program, what makes its call."""
    sums = expressions.Sums(name, program.arguments, program.steps, program.active)

    def expected() -> list[np.ndarray[Any, Any]]:
        found = compiled(*program.arguments)
        return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]

    return {
        "compiled": lambda: lambda: compiled(*program.arguments),
        "eager": lambda: lambda: program.function(*program.arguments),
        "JAX": lambda: _on_jax(program),
        "torch": lambda: _on_torch(program),
        "CasADi": lambda: expressions.by_casadi(sums, expected()),
        "C": lambda: expressions.by_c(sums, expected(), os.environ.get(narrower_vectors.VARIABLE)),
    }


def row(name: str, program: Program, seconds: float, tell: Callable[[str], None], without: Sequence[str]) -> Row:
    """Measures a program; `tell` is called with who is at work, `without` are left out."""
    compiled = wg.function(program.function)
    calls: dict[str, Callable[[], Any] | None] = {}
    for who, make in _makers(name, program, compiled).items():
        if who not in without:
            tell(who)
            try:
                calls[who] = make()
            except Exception:  # a library that is not there, or has no such dtype
                calls[who] = None
            _batch(calls[who])
    tell("")
    return Row(name, program.name, means(calls, seconds), ", ".join(_outside(compiled, program)))


def _outside(compiled: Any, program: Program) -> list[str]:
    try:
        parts = compiled.report(*program.arguments).parts
    except Exception:  # a program that does not run has no time either
        return []
    return sorted({f"{part.by}: {part.why}" for part in parts if part.by != "machine code"})


def told(found: Row) -> str:
    ratios = [found.ratio(who) for who in PEERS]
    columns = "".join(f"{'-':>9}" if np.isnan(ratio) else f"{ratio:9.2f}" for ratio in ratios)
    own = found.seconds.get("compiled", np.nan) * 1e6
    return f"{found.op:22}{found.program:28}{own:12.1f}{columns}  {found.outside}"[:220]


def chosen(names: list[str], dtype: str) -> Iterator[tuple[str, Program]]:
    """The programs of these names, by name; all of them without."""
    for op in measurable():
        if not names or op.name in names:
            yield from ((op.name, program) for program in programs(cases(op, dtype)[0]))
    if not names or "sorting" in names:
        yield from (("sorting", program) for program in sorts())


class Task(NamedTuple):
    """What a process is to measure: the programs of these names from number `start` on, that one `without` some."""

    names: list[str]
    dtype: str
    seconds: float
    start: int
    without: list[str]


def measure(results: Connection, task: Task) -> None:
    """Sends of each program its name and who is at work, then its row; None at the end."""
    narrower_vectors.narrow()
    warnings.simplefilter("ignore")
    without = task.without
    with np.errstate(all="ignore"):
        for name, program in islice(chosen(task.names, task.dtype), task.start, None):
            tell = lambda who, at=(name, program.name): results.send((*at, who))
            results.send(row(name, program, task.seconds, tell, without))
            without = []
    results.send(None)


def rows(names: list[str], dtype: str, seconds: float, bound: float) -> Iterator[Row]:
    """All rows. Who takes too long for a program has no time there; the others are measured once more, without."""
    done, reasons = 0, dict[str, str]()  # of who is left out
    while True:
        begun: tuple[str, str, str] = ("", "", "")
        with _measuring(Task(names, dtype, seconds, done, [*reasons])) as results:
            try:
                while results.poll(bound):
                    found = results.recv()
                    if found is None:
                        return
                    if isinstance(found, Row):
                        yield found._replace(outside=_joined(reasons, found.outside))
                        done, reasons = done + 1, {}
                    else:
                        begun = found
                reason = f"longer than {bound:g} s"
            except EOFError:
                reason = "its process ended"
        name, program, who = begun
        if who in PEERS and who not in reasons:
            reasons[who] = reason
        else:
            yield Row(name, program, {}, _joined({**reasons, who or "all": reason}, ""))
            done, reasons = done + 1, {}


def _joined(reasons: dict[str, str], outside: str) -> str:
    return ", ".join(filter(None, [*(f"{who}: {why}" for who, why in reasons.items()), outside]))


@contextlib.contextmanager
def _measuring(task: Task) -> Iterator[Connection]:
    """A process that measures, and what it sends."""
    context = multiprocessing.get_context("spawn")
    results, sender = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(sender, task), daemon=True)
    process.start()
    sender.close()
    try:
        yield results
    finally:
        process.kill()
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="primitives and `sorting`; all of them without")
    parser.add_argument("--above", type=float, default=2.0)
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each measurement")
    narrower_vectors.add_option(parser)
    parser.add_argument("--bound", type=float, default=60.0, help="the most seconds until a library has compiled a row")
    options = parser.parse_args()
    narrower_vectors.choose(options.vectors)  # the processes that measure begin with it
    found = []
    print(f"{'primitive':22}{'program':28}{'microseconds':>12}" + "".join(f"{f'of {who}':>9}" for who in PEERS))
    for measured in rows(options.names, options.dtype, options.seconds, options.bound):
        found.append(measured)
        print(told(measured), flush=True)
    cliffs = sorted((r for r in found if r.ratio("JAX") > options.above), key=lambda r: -r.ratio("JAX"))
    print(f"\nbeyond {options.above} of JAX's time: {len(cliffs)} of {len(found)}", *map(told, cliffs), sep="\n")
    print(f"\n{WHY_EMPTY}")


if __name__ == "__main__":
    main()
