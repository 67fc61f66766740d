"""What a call costs by the form of its arguments: by name, in containers, beside flags and objects, as tensors, random
keys and lists of numbers, in any layout; and where all it does is to view; beside JAX.

The program computes on six numbers, so that the call is all there is to measure. Each row is called again with equal
arguments; the libraries take turns, and times are the processor's, in microseconds. JAX gets its own arrays, NumPy's
where they are called so, and its static arguments named.

    .venv/bin/python benchmarks/call_forms.py
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import libraries  # noqa: E402  (from the folder above)

libraries.limit_threads()

import harness  # noqa: E402  (after the threads are limited)
import jax  # noqa: E402  (as above)
import numpy as np  # noqa: E402  (as above)

import wengert as wg  # noqa: E402  (as above)

A, B = np.linspace(0.1, 0.6, 6).reshape(3, 2), np.linspace(1.0, 2.0, 6).reshape(3, 2)
ROUNDS, TURN = 9, 0.02


class Layer(NamedTuple):
    w: Any
    b: Any


class Row(NamedTuple):
    """A function and a call.

    Attributes:
        static: the positions and names of what JAX is told to be static.
        of_jax: what JAX compiles where that is another function.
    """

    title: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: tuple[Any, ...] = ()
    of_jax: Callable[..., Any] | None = None


def rows() -> Iterator[Row]:
    yield Row("two arrays", lambda x, y: x * y, (A, B), {})
    yield Row("an array nobody reads", lambda x, y: x * 2.0, (A, B), {})
    yield Row("an argument given back", lambda x: (x * 2.0, x), (A,), {})
    yield Row("by name", lambda x, y: x * y, (A,), {"y": B})
    yield Row("beside a flag", lambda x, f: x * 2.0 if f else x, (A, True), {}, (1,))
    yield Row("beside a named flag", lambda x, f: x * 2.0 if f else x, (A,), {"f": True}, ("f",))
    yield Row("beside a string", lambda x, f: x * float(len(f)), (A, "how"), {}, (1,))
    yield Row("beside None", lambda x, y: x * 2.0 if y is None else y, (A, None), {})
    yield Row("beside a function", lambda x, f: f(x), (A, lambda x: x * 2.0), {}, (1,))
    yield Row("in a dictionary", lambda p: p["a"] * p["b"], ({"a": A, "b": B},), {})
    yield Row("with a float", lambda p: p["a"] * p["b"], ({"a": A, "b": 0.5},), {})
    yield Row("with an integer", lambda p: p["a"] * p["b"], ({"a": A, "b": 3},), {})
    yield Row("in a named tuple", lambda p: p.w * p.b, (Layer(A, B),), {})
    yield Row("tensors", lambda x, y: x * y, (wg.tensor(A), wg.tensor(B)), {})
    yield Row("a tensor beside an array", lambda x, y: x * y, (wg.tensor(A), B), {})
    yield Row("tensors in a dictionary", lambda p: p["a"] * p["b"], ({"a": wg.tensor(A), "b": wg.tensor(B)},), {})
    yield Row(
        "a random key", lambda k: wg.random.normal(k, (6,)) * 0.0, (wg.random.key(1),), {},
        of_jax=lambda k: jax.random.normal(k, (6,)) * 0.0,
    )  # fmt: skip
    yield Row("an array in Fortran's order", lambda x: x * 2.0, (np.asfortranarray(A),), {})
    yield Row("an array with gaps", lambda x: x * 2.0, (np.repeat(A, 2, 0)[::2],), {})
    yield Row("an array from a pickle", lambda x: x * 2.0, (pickle.loads(pickle.dumps(A)),), {})
    yield Row("given back alone", lambda x: x, (A,), {})
    yield Row("transposed", lambda x: x.T, (A,), {})
    yield Row("reshaped", lambda x: x.reshape(6), (A,), {})
    yield Row("a part of it", lambda x: x[1:], (A,), {})
    numbers = A.ravel().tolist()
    yield Row(
        "a list of numbers", lambda x: wg.asarray(x) * 2.0, (numbers,), {}, (), lambda x: jax.numpy.asarray(x) * 2
    )
    yield Row(
        "lists of numbers", lambda x: wg.asarray(x) * 2.0, (A.tolist(),), {}, (), lambda x: jax.numpy.asarray(x) * 2
    )


def ours(row: Row) -> Callable[[], Any]:
    call, args, kwargs = wg.function(row.function), row.args, row.kwargs
    return (lambda: call(*args, **kwargs)) if kwargs else (lambda: call(*args))


def theirs(row: Row) -> Callable[[], Any]:
    static: dict[str, Any] = {}
    if row.static:
        static = {"static_argnames" if isinstance(row.static[0], str) else "static_argnums": row.static}
    call, (args, kwargs) = jax.jit(row.of_jax or row.function, **static), jax.tree.map(_array, (row.args, row.kwargs))
    return lambda: call(*args, **kwargs)


def _array(x: Any) -> Any:
    return jax.numpy.asarray(np.asarray(x)) if isinstance(x, np.ndarray | wg.Tensor) else x


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print(f"{'call':28}{'ours, us':>10}{'JAX, us':>10}{'of JAX':>8}")
    for row in rows():
        contenders = [
            harness.Contender(library, "compiled", made, lambda found: [np.asarray(x) for x in wg.tree.leaves(found)])
            for library, made in (("wengert", ours(row)), ("jax", theirs(row)))
        ]
        taken = {m.library: m for m in harness.measure(contenders, TURN, ROUNDS, 1e-6, time.process_time)}
        own, other = (1e6 * taken[library].median for library in ("wengert", "jax"))
        print(f"{row.title:28}{own:10.2f}{other:10.2f}{own / other:8.2f}")


if __name__ == "__main__":
    main()
