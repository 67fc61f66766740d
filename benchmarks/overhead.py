"""Compares the cost of a call with other libraries, in one process; benchmarks/README.md says how and why.

Every library is a function below that returns its programs, or fails to import. Start reading at `main`.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

# Before any framework is loaded: it is the CPU that is compared, and start-up talk would stand in the table.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

SIZES = (10, 1_000, 1_000_000)
CHAIN = 1_000

X_SIN_X = {size: f"value and gradient of sum(x * sin(x)), {size:,} elements" for size in SIZES}
CHAIN_OF_SINES = f"value and gradient of a chain of {CHAIN:,} sin, 10 elements"
ONE_PLAIN = "one sin on 10 elements, plain"
ONE_RECORDED = "one sin on 10 elements, recorded"
ONE_BACKWARD = "one sin on 10 elements, with backward"


class Program(NamedTuple):
    """One thing to time: a call without arguments, and its gradient as an array where it has one."""

    title: str
    library: str
    kind: str  # "eager" or "compiled"
    call: Callable[[], Any]
    gradient: Callable[[], np.ndarray] | None


def inputs(size: int) -> np.ndarray:
    return np.linspace(0.1, 1.0, size)


def wengert_programs() -> list[Program]:
    import wengert as wg

    def programs(kind: str, transform: Callable[[Any], Any]) -> list[Program]:
        found = []
        for size in SIZES:
            differentiate = transform(wg.value_and_grad(lambda x: np.sum(x * np.sin(x))))
            found.append(program_of_pair(X_SIN_X[size], "wengert", kind, differentiate, inputs(size)))
        differentiate = transform(wg.value_and_grad(lambda x: np.sum(chain(np.sin, x))))
        return [*found, program_of_pair(CHAIN_OF_SINES, "wengert", kind, differentiate, inputs(10))]

    x = wg.tensor(inputs(10))
    backward = wg.grad(np.sin)
    return [
        *programs("eager", lambda f: f),
        *programs("compiled", wg.function),
        Program(ONE_PLAIN, "wengert", "eager", lambda: wg.ops.sin(x), None),
        Program(ONE_BACKWARD, "wengert", "eager", lambda: backward(x), lambda: backward(x).numpy()),
        recorded_in_a_gradient("wengert", wg.ops.sin, wg.grad, x),
    ]


def autograd_programs() -> list[Program]:
    import autograd
    import autograd.numpy as anp

    found = []
    for size in SIZES:
        differentiate = autograd.value_and_grad(lambda x: anp.sum(x * anp.sin(x)))
        found.append(program_of_pair(X_SIN_X[size], "autograd", "eager", differentiate, inputs(size)))
    differentiate = autograd.value_and_grad(lambda x: anp.sum(chain(anp.sin, x)))
    found.append(program_of_pair(CHAIN_OF_SINES, "autograd", "eager", differentiate, inputs(10)))
    x = inputs(10)
    backward = autograd.elementwise_grad(anp.sin)
    return [
        *found,
        Program(ONE_PLAIN, "autograd", "eager", lambda: anp.sin(x), None),
        Program(ONE_BACKWARD, "autograd", "eager", lambda: backward(x), lambda: backward(x)),
        recorded_in_a_gradient("autograd", anp.sin, autograd.elementwise_grad, x),
    ]


def jax_programs() -> list[Program]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def programs(kind: str, transform: Callable[[Any], Any]) -> list[Program]:
        found = []
        for size in SIZES:
            differentiate = transform(jax.value_and_grad(lambda x: jnp.sum(x * jnp.sin(x))))
            found.append(awaited(X_SIN_X[size], kind, differentiate, inputs(size)))
        differentiate = transform(jax.value_and_grad(lambda x: jnp.sum(chain(jnp.sin, x))))
        return [*found, awaited(CHAIN_OF_SINES, kind, differentiate, inputs(10))]

    def awaited(title: str, kind: str, differentiate: Callable[..., Any], x: np.ndarray) -> Program:
        # JAX returns before it has computed: a fair time waits for the result.
        array = jnp.asarray(x)
        return program_of_pair(title, "jax", kind, lambda a: jax.block_until_ready(differentiate(a)), array)

    x = jnp.asarray(inputs(10))

    def backward() -> Any:
        y, pull_back = jax.vjp(jnp.sin, x)
        return jax.block_until_ready(pull_back(y)[0])

    def backward_of_ones() -> np.ndarray:
        y, pull_back = jax.vjp(jnp.sin, x)
        return np.asarray(pull_back(jnp.ones_like(y))[0])

    return [
        *programs("eager", lambda f: f),
        *programs("compiled", jax.jit),
        Program(ONE_PLAIN, "jax", "eager", lambda: jax.block_until_ready(jnp.sin(x)), None),
        Program(ONE_RECORDED, "jax", "eager", lambda: jax.block_until_ready(jax.vjp(jnp.sin, x)[0]), None),
        Program(ONE_BACKWARD, "jax", "eager", backward, backward_of_ones),
    ]


def torch_programs() -> list[Program]:
    import torch

    def differentiate(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def value_and_gradient(x: Any) -> Any:
            y = f(x)
            return y, torch.autograd.grad(y, x)[0]

        return value_and_gradient

    def leaf(size: int) -> Any:
        return torch.tensor(inputs(size), requires_grad=True)

    found = []
    for size in SIZES:
        pair = differentiate(lambda x: torch.sum(x * torch.sin(x)))
        found.append(program_of_pair(X_SIN_X[size], "torch", "eager", pair, leaf(size)))
    pair = differentiate(lambda x: torch.sum(chain(torch.sin, x)))
    found.append(program_of_pair(CHAIN_OF_SINES, "torch", "eager", pair, leaf(10)))
    plain, tracked = torch.tensor(inputs(10)), leaf(10)
    ones = torch.ones(10, dtype=torch.float64)

    def backward() -> Any:
        return torch.autograd.grad(torch.sin(tracked), tracked, ones)[0]

    return [
        *found,
        Program(ONE_PLAIN, "torch", "eager", lambda: torch.sin(plain), None),
        Program(ONE_RECORDED, "torch", "eager", lambda: torch.sin(tracked), None),
        Program(ONE_BACKWARD, "torch", "eager", backward, lambda: backward().numpy()),
    ]


def tensorflow_programs() -> list[Program]:
    import tensorflow as tf

    def differentiate(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def value_and_gradient(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return y, tape.gradient(y, x)

        return value_and_gradient

    def programs(kind: str, transform: Callable[[Any], Any]) -> list[Program]:
        found = []
        for size in SIZES:
            pair = transform(differentiate(lambda x: tf.reduce_sum(x * tf.sin(x))))
            found.append(program_of_pair(X_SIN_X[size], "tensorflow", kind, pair, tf.constant(inputs(size))))
        pair = transform(differentiate(lambda x: tf.reduce_sum(chain(tf.sin, x))))
        return [*found, program_of_pair(CHAIN_OF_SINES, "tensorflow", kind, pair, tf.constant(inputs(10)))]

    x = tf.constant(inputs(10))

    def recorded() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            return tf.sin(x)

    def backward() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x)
        return tape.gradient(y, x)

    return [
        *programs("eager", lambda f: f),
        *programs("compiled", tf.function),
        Program(ONE_PLAIN, "tensorflow", "eager", lambda: tf.sin(x), None),
        Program(ONE_RECORDED, "tensorflow", "eager", recorded, None),
        Program(ONE_BACKWARD, "tensorflow", "eager", backward, lambda: backward().numpy()),
    ]


LIBRARIES = {
    "wengert": wengert_programs,
    "autograd": autograd_programs,
    "jax": jax_programs,
    "torch": torch_programs,
    "tensorflow": tensorflow_programs,
}


def chain(sin: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(CHAIN):
        x = sin(x)
    return x


def program_of_pair(title: str, library: str, kind: str, differentiate: Callable[[Any], Any], x: Any) -> Program:
    """A program from a function that returns value and gradient."""
    return Program(title, library, kind, lambda: differentiate(x), lambda: np.asarray(differentiate(x)[1]))


def recorded_in_a_gradient(library: str, sin: Callable[[Any], Any], gradient: Callable[[Any], Any], x: Any) -> Program:
    """Times `sin` while it is recorded, where that happens only inside a function that is differentiated.

    The program's call returns its own time per op, so that the cost of entering and sweeping is not in it.
    """
    repeats = 100

    def timed(a: Any) -> Any:
        started = time.perf_counter()
        for _ in range(repeats):
            y = sin(a)
        seconds.append((time.perf_counter() - started) / repeats)
        return y

    seconds: list[float] = []
    differentiate = gradient(timed)

    def call() -> SelfTimed:
        differentiate(x)
        return SelfTimed(seconds.pop())

    return Program(ONE_RECORDED, library, "eager", call, None)


class SelfTimed(float):
    """Seconds that a program measured by itself."""


def expected_gradient(title: str) -> np.ndarray:
    """The gradient by hand, in NumPy."""
    if title == ONE_BACKWARD:
        return np.cos(inputs(10))
    if title == CHAIN_OF_SINES:
        x, slope = inputs(10), np.ones(10)
        for _ in range(CHAIN):
            x, slope = np.sin(x), slope * np.cos(x)
        return slope
    x = inputs(next(size for size in SIZES if X_SIN_X[size] == title))
    return np.sin(x) + x * np.cos(x)


def require_right_gradient(program: Program) -> None:
    if program.gradient is not None:
        name = f"{program.library} ({program.kind}): {program.title}"
        np.testing.assert_allclose(program.gradient(), expected_gradient(program.title), rtol=1e-9, err_msg=name)


def time_in_turns(programs: list[Program], rounds: int, seconds_per_turn: float) -> list[float]:
    """The median time of a call of each program; the programs take turns, in an order that rotates."""
    calls = [calls_within(program, seconds_per_turn) for program in programs]
    times: list[list[float]] = [[] for _ in programs]
    for turn in range(rounds):
        for step in range(len(programs)):
            which = (turn + step) % len(programs)
            times[which].append(time_of_call(programs[which], calls[which]))
    return [statistics.median(column) for column in times]


def calls_within(program: Program, seconds: float) -> int:
    """How many calls fill about `seconds`, after a warm-up."""
    for _ in range(3):
        program.call()
    started = time.perf_counter()
    program.call()
    return max(1, int(seconds / max(time.perf_counter() - started, 1e-7)))


def time_of_call(program: Program, calls: int) -> float:
    call = program.call
    # A collection of garbage left by another library must not fall into this one's time.
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        for _ in range(calls):
            result = call()
        elapsed = (time.perf_counter() - started) / calls
    finally:
        gc.enable()
    return float(result) if isinstance(result, SelfTimed) else elapsed


def found_libraries(wanted: list[str]) -> tuple[list[Program], dict[str, str]]:
    """The programs of the libraries that can be imported, and each library's version or why it is absent."""
    programs: list[Program] = []
    states: dict[str, str] = {}
    for name in wanted:
        try:
            programs += LIBRARIES[name]()
        except ImportError as error:
            states[name] = f"absent ({error})"
        else:
            states[name] = version_of(name)
    return programs, states


def version_of(library: str) -> str:
    for distribution in (library, f"{library}-cpu"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return getattr(sys.modules.get(library), "__version__", "of unknown version")


def readable(seconds: float) -> str:
    for unit, scale in (("s ", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:8.2f} {unit}"
    return f"{seconds / 1e-9:8.0f} ns"


def measure(programs: list[Program], rounds: int, seconds_per_turn: float) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for title in dict.fromkeys(program.title for program in programs):
        group = [program for program in programs if program.title == title]
        for program in group:
            require_right_gradient(program)
        seconds = time_in_turns(group, rounds, seconds_per_turn)
        own = {p.kind: s for p, s in zip(group, seconds, strict=True) if p.library == "wengert"}
        for program, time_taken in zip(group, seconds, strict=True):
            ratio = time_taken / own[program.kind] if program.kind in own else None
            row = {"program": title, "library": program.library, "kind": program.kind}
            rows.append(row | {"seconds": time_taken, "times_wengert": ratio})
        if sys.stderr.isatty():
            print(f"measured: {title}", file=sys.stderr)
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    for title in dict.fromkeys(row["program"] for row in rows):
        print(f"\n{title}")
        for row in sorted((r for r in rows if r["program"] == title), key=lambda r: r["seconds"]):
            ratio = f"{row['times_wengert']:8.2f} x wengert {row['kind']}" if row["times_wengert"] else ""
            print(f"  {row['library']:<11}{row['kind']:<9}{readable(row['seconds'])}{ratio}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the cost of a call with other libraries.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="which, with commas (default: %(default)s)")
    options = parser.parse_args()
    wanted = options.libraries.split(",")
    unknown = [name for name in wanted if name not in LIBRARIES]
    if unknown:
        parser.error(f"unknown libraries: {', '.join(unknown)}")

    programs, states = found_libraries(wanted)
    rounds, seconds_per_turn = (5, 0.01) if options.quick else (21, 0.05)
    rows = measure(programs, rounds, seconds_per_turn)
    if options.json:
        print(json.dumps({"libraries": states, "rows": rows}))
        return 0
    for name, state in states.items():
        print(f"{name:<11}{state}")
    print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
