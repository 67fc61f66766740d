"""Times every primitive in compiled programs beside the same programs on NumPy's kernels and on JAX.

Each row is one primitive on its samples of the registry, twice with its gradient where it has one: 2,048 copies side by
side (`many`), and one after the other in a loop of 100 steps (`loop`). Rows named `sorting` are sorts, orders, medians
and their gradients, of lanes of 20,000 elements: no sample is as long. A row tells microseconds of processor time a
call (the mean of its calls, all threads together; compiled code, eager code and JAX take turns) and the ratios to eager
code and to JAX's compiled form of the same program; above 1 they are cliffs. The last column names what ran outside of
machine code. Rows come as they are measured, by a process of their own, which ends where a row takes longer than
`--bound` seconds (some never end on JAX); `--above 2` prints at the end those beyond twice JAX's time, the worst first.
`--vectors avx2` has LLVM and JAX make code for a processor without AVX-512 where this one has it, `--vectors sse` for
one without AVX; eager code stays NumPy's for this one. `taskset -c 0` before it keeps all to one core. From the
repository's folder:

    .venv/bin/python -m benchmarks.cliffs [NAMES] [--above 2] [--dtype float64] [--seconds 0.05] [--bound 60]
"""

from __future__ import annotations

import argparse
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
from benchmarks import sorting
from tests.support import narrower_vectors
from tests.support.op_checks import Case, cases
from wengert._core.apply import apply
from wengert._core.op import REGISTRY, Op

COPIES, STEPS, LANE = 2048, 100, 20_000
TURNS = 5
XLA = {"avx2": "AVX2", "sse": "SSE4_2"}  # what JAX calls the widest vectors that it may use

Function = Callable[..., Any]


class Program(NamedTuple):
    """A function of the operands that a sample has, and arguments for it."""

    name: str
    function: Function
    arguments: tuple[Any, ...]


class Row(NamedTuple):
    """What one program takes, in seconds; NaN where it does not run."""

    op: str
    program: str
    compiled: float
    eager: float
    jax: float
    outside: str


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

    return Program("loop", function, case.operands)


def programs(case: Case) -> Iterator[Program]:
    for make in (_many, _loop):
        made = make(case)
        yield made
        if case.active:
            slope = wg.grad(made.function, argnums=(*case.active,))
            yield Program(f"{made.name}, gradient", slope, made.arguments)


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


def means(calls: Sequence[Callable[[], Any] | None], seconds: float) -> list[float]:
    """Processor time of a call, all threads together, on average over so many seconds; NaN of one that fails.

    They take turns, so that a busy moment of the machine hits them all.
    """
    batches = [_batch(call) for call in calls]
    spent, done = [0.0] * len(calls), [0] * len(calls)
    for place in [*range(len(calls))] * TURNS:
        call, batch = calls[place], batches[place]
        if call is None or batch == 0:
            continue
        began = time.process_time()
        while time.process_time() < began + seconds / TURNS:
            for _ in range(batch):
                call()
            done[place] += batch
        spent[place] += time.process_time() - began
    return [total / number if number else np.nan for total, number in zip(spent, done, strict=True)]


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
    except Exception:  # a program that an engine has no form of: the others are measured
        return 0
    return 1 + int(1e-4 / (took + 1e-9))


def _on_jax(program: Program) -> Callable[[], Any] | None:
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    there, arguments = wg.function(program.function), [*map(jax.numpy.asarray, program.arguments)]
    return lambda: jax.block_until_ready(there(*arguments))


def row(name: str, program: Program, seconds: float) -> Row:
    compiled = wg.function(program.function)
    calls = [lambda: compiled(*program.arguments), lambda: program.function(*program.arguments), _on_jax(program)]
    own, eager, jax = means(calls, seconds)
    outside = "" if np.isnan(own) else ", ".join(_outside(compiled, program))
    return Row(name, program.name, own, eager, jax, outside)


def _outside(compiled: Any, program: Program) -> list[str]:
    parts = compiled.report(*program.arguments).parts
    return sorted({f"{part.by}: {part.why}" for part in parts if part.by != "machine code"})


def told(found: Row) -> str:
    ratios = f"{found.compiled / found.eager:10.2f}{found.compiled / found.jax:10.2f}"
    return f"{found.op:22}{found.program:28}{found.compiled * 1e6:12.1f}{ratios}  {found.outside}"[:200]


def chosen(names: list[str], dtype: str) -> Iterator[tuple[str, Program]]:
    """The programs of these names, by name; all of them without."""
    for op in measurable():
        if not names or op.name in names:
            yield from ((op.name, program) for program in programs(cases(op, dtype)[0]))
    if not names or "sorting" in names:
        yield from (("sorting", program) for program in sorts())


def measure(results: Connection, names: list[str], dtype: str, seconds: float, start: int) -> None:
    """Sends of each program, from number `start` on, its name before its row; None at the end."""
    narrower_vectors.narrow()
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        for name, program in islice(chosen(names, dtype), start, None):
            results.send((name, program.name))
            results.send(row(name, program, seconds))
    results.send(None)


def rows(names: list[str], dtype: str, seconds: float, bound: float) -> Iterator[Row]:
    """All rows; of those that take too long there are no times."""
    context, done = multiprocessing.get_context("spawn"), 0
    while True:
        results, sender = context.Pipe(duplex=False)
        process = context.Process(target=measure, args=(sender, names, dtype, seconds, done), daemon=True)
        process.start()
        sender.close()
        begun: tuple[str, str] = ("", "")
        try:
            while results.poll(bound):
                found = results.recv()
                if found is None:
                    return
                if isinstance(found, Row):
                    done += 1
                    yield found
                else:
                    begun = found
            reason = f"longer than {bound:g} s"
        except EOFError:
            reason = "its process ended"
        finally:
            process.kill()
            process.join()
        done += 1
        yield Row(*begun, np.nan, np.nan, np.nan, reason)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="primitives and `sorting`; all of them without")
    parser.add_argument("--above", type=float, default=2.0)
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each measurement")
    parser.add_argument("--vectors", choices=[*XLA], help="narrower ones than the processor has, for Wengert and JAX")
    parser.add_argument("--bound", type=float, default=60.0, help="the most seconds of a row")
    options = parser.parse_args()
    if options.vectors:  # the processes that measure begin with it
        os.environ[narrower_vectors.VARIABLE] = options.vectors
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa={XLA[options.vectors]}".strip()
    found = []
    print(f"{'primitive':22}{'program':28}{'microseconds':>12}{'of eager':>10}{'of JAX':>10}")
    for measured in rows(options.names, options.dtype, options.seconds, options.bound):
        found.append(measured)
        print(told(measured), flush=True)
    cliffs = sorted((r for r in found if r.compiled > options.above * r.jax), key=lambda r: -r.compiled / r.jax)
    print(f"\nbeyond {options.above} of JAX's time: {len(cliffs)} of {len(found)}", *map(told, cliffs), sep="\n")


if __name__ == "__main__":
    main()
