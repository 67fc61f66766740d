"""Arrays of more bytes than there can be are errors that name what is too large: their sizes never wrap."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.dims import byte_count
from wengert._core.verifier import verify

HUGE = 2**61 + 2  # float64s of this number of bytes would be 16, if bytes wrapped
X = np.array([0.5, 2.0])
ROWS = np.array([0, 1])

# each with the op whose result is too large
PROGRAMS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "segments": ("segment_sum", lambda x: wg.ops.segment_sum(x, ROWS, HUGE)[ROWS]),
    "rows of ones": ("one_hot", lambda x: x * wg.ops.one_hot(ROWS, HUGE)[:, 0]),
    "a broadcast": ("broadcast_to", lambda x: wg.ops.broadcast_to(x, (HUGE, 2))[1]),
    "a broadcast in two axes": ("broadcast_to", lambda x: wg.ops.broadcast_to(x[0], (2**40, 2**40))[0, :2]),
    "a broadcast of nothing": ("broadcast_to", lambda x: wg.ops.broadcast_to(x[0], (2**40, 0, 2**40))),
    "zeros": ("zeros", lambda x: wg.zeros(HUGE)[:2] * x),
    "more zeros than numbers": ("zeros", lambda x: wg.zeros(2**64)[:2] * x),
    "copies of a number": ("full", lambda x: wg.ops.full((HUGE,), x[0])),
    "padding": ("pad", lambda x: wg.ops.cumsum(wg.ops.pad(x, ((HUGE, 2),)))[-1]),
    "repeated elements": ("repeat", lambda x: wg.ops.cumsum(wg.ops.repeat(x, 2**61))[-1]),
    "tiles": ("tile", lambda x: wg.ops.cumsum(wg.ops.tile(x, (2**61,)))[-1]),
    "points of a line": ("linspace", lambda x: wg.ops.cumsum(wg.linspace(x[0], x[1], HUGE))[-1]),
    "a product of vectors": ("outer", lambda x: _outer(wg.ops.broadcast_to(x[0], (2**31,)))),
    "a product of matrices": ("matmul", lambda x: _gram(wg.ops.broadcast_to(x, (2**31, 2)))),
    "parts together": ("broadcast_to|concatenate", lambda x: _twice(wg.ops.broadcast_to(x[0], (2**60 - 1,)))),
    "a buffer": ("full|buffer", lambda x: wg.buffer((HUGE,)).at[0].set(x[0])[0]),
    "a history": ("loop", lambda x: wg.scan(lambda c, _: (c * 2, c), x, None, length=HUGE)[1][0]),
}  # fmt: skip
SLOW = {"a product of vectors", "a product of matrices", "parts together", "a history"}  # eagerly they begin in earnest


def _outer(x: Any) -> Any:
    return wg.ops.cumsum(wg.ops.outer(x, x), axis=0)[0, 0]


def _gram(x: Any) -> Any:
    return (x @ x.T)[0, 0]


def _twice(x: Any) -> Any:
    return wg.ops.cumsum(wg.ops.concatenate([x, x]))[-1]


def _gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return wg.grad(lambda x: wg.ops.sum(f(x)))


WAYS: dict[str, Callable[[Any], Any]] = {
    "compiled": wg.function,
    "gradient, compiled": lambda f: wg.function(_gradient(f)),
    "gradient of compiled code": lambda f: _gradient(wg.function(f)),
    "batched": lambda f: lambda x: wg.vmap(wg.function(f))(np.stack([x, x])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_size_that_no_number_holds_is_an_error_that_names_the_op(name: str, way: str) -> None:
    op, f = PROGRAMS[name]
    with pytest.raises(ValueError, match=rf"({op}).*: the result would have shape .* bytes; an array has at most"):
        WAYS[way](f)(X)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - SLOW))
def test_eager_code_names_the_op_too(name: str) -> None:
    op, f = PROGRAMS[name]
    with pytest.raises((ValueError, MemoryError), match=f"{op}|repeat"):
        f(X)


# -- sizes that only a call tells -------------------------------------------------------------------------------------

_DYNAMIC: dict[str, Callable[[Any], Any]] = {
    "a power": lambda x: wg.ops.cumsum(wg.ops.broadcast_to(x[0], (x.shape[0] ** 4,)))[-1],
    "a power as the result": lambda x: wg.ops.broadcast_to(x[0], (x.shape[0] ** 4,)),
    "four axes": lambda x: wg.ops.cumsum(wg.ops.broadcast_to(x[0], (*x.shape,) * 4), axis=0)[-1, 0, 0, 0],
    "in a branch": lambda x: wg.cond(x[0] > 0, lambda x: _DYNAMIC["a power"](x), lambda x: x[0], x),
    "in a loop": lambda x: wg.scan(lambda c, _: (c + _DYNAMIC["four axes"](x), None), x[0], None, length=3)[0],
}  # fmt: skip


def _dynamic(f: Callable[[Any], Any]) -> Any:
    return wg.function(f, input_signature=[wg.TensorSpec((None,), "float64")])


@pytest.mark.parametrize("is_gradient", [False, True])
@pytest.mark.parametrize("name", _DYNAMIC)
def test_a_size_that_a_call_makes_too_large_is_an_error_and_others_are_not(name: str, is_gradient: bool) -> None:
    f = _DYNAMIC[name]
    compiled = _dynamic(_gradient(f) if is_gradient else f)
    wanted = (_gradient(f) if is_gradient else f)(np.ones(3))
    np.testing.assert_allclose(compiled(np.ones(3)), wanted)
    with pytest.raises(ValueError, match=r"broadcast_to|full|expand_dims"):
        compiled(np.ones(2**16))
    np.testing.assert_allclose(compiled(np.ones(3)), wanted)


def test_a_power_of_a_dimension_is_a_dimension() -> None:
    f = _dynamic(lambda x: wg.ops.broadcast_to(x[0], (x.shape[0] ** 2, x.shape[0] ** 0)))
    assert f(np.ones(3)).shape == (9, 1)
    assert f(np.ones(5)).shape == (25, 1)
    assert f.trace_count == 1


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: wg.ops.sort(wg.ops.broadcast_to(x, (2**52, 2)) * 2.0, axis=0)[0], r"\(4503599627370496, 2\)"),
        (lambda x: wg.ops.broadcast_to(x, (2**52, 2)) * 2.0, "72,057,594,037,927,936 bytes"),
        (lambda x: wg.ops.cumsum(wg.ops.broadcast_to(x, (2**52, 2)), axis=0)[-1], "cumsum.*float64: 72,057"),
        (lambda x: wg.zeros((2**52, 2)), "4503599627370496"),
    ],
)
def test_a_want_of_memory_names_op_shape_and_bytes(f: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(MemoryError, match=words):
        wg.function(f)(X)


def test_a_want_of_memory_tells_the_extents_of_the_call() -> None:
    f = _dynamic(lambda x: wg.ops.broadcast_to(x[0], (*x.shape,) * 3) * 2.0)
    with pytest.raises(
        MemoryError, match=r"shape \(65536, 65536, 65536\) and dtype float64: 2,251,799,813,685,248 byt"
    ):
        f(np.ones(2**16))


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: wg.ops.sin(x[:, None, None] * x[:, None] + x), "sin"),
        (lambda x: wg.ops.sum(x[:, None, None, None] * x[:, None, None] + x[:, None] + x[:2], axis=3), "reduce_sum"),
    ],
)
def test_a_want_of_memory_for_what_shares_loops_names_the_op_that_it_is_of(f: Callable[[Any], Any], name: str) -> None:
    def divided(x: Any) -> Any:
        y = f(x)
        return wg.ops.sum(y / wg.ops.max(y))

    with pytest.raises(
        MemoryError, match=rf"{name}, whose result has shape \(65536, 65536, 65536\) and dtype float64: 2,251"
    ):
        wg.function(divided)(np.ones(2**16))


@pytest.mark.parametrize(
    ("shape", "size"),
    [((), 8), ((2, 3), 48), ((0, 5), 40), ((2**40, 0, 2**40), 2**83), ((2**61 + 2,), 2**64 + 16), ((2**64,), 2**67)],
)
def test_bytes_are_counted_exactly(shape: tuple[int, ...], size: int) -> None:
    assert byte_count(shape, 8) == size


# -- programs that are deep, and calls that are wide ------------------------------------------------------------------


def _nested(depth: int, x: Any) -> Any:
    if not depth:
        return wg.sin(x)
    return wg.fori_loop(0, 1, lambda i, c: _nested(depth - 1, c), x)


def test_loops_in_loops_compile_in_time_that_grows_with_their_number() -> None:
    start = time.process_time()
    x = np.full(3, 0.5)
    assert wg.function(lambda x: _nested(24, x))(x) == pytest.approx(np.sin(x))
    assert time.process_time() - start < 15


_IN_A_THREAD = """
import threading
import numpy as np
import wengert as wg
def made(x):
    return [x[i % 8] * float(i) for i in range({count})]
f = wg.function(made)
x = np.arange(8.0)
f(x)
found = []
threading.stack_size({stack} * 1024)
thread = threading.Thread(target=lambda: found.extend(f(x)))
thread.start()
thread.join()
assert found == [float((i % 8) * i) for i in range({count})], len(found)
"""


def test_many_results_need_little_stack() -> None:
    code = _IN_A_THREAD.format(stack=128, count=3000)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_graph_with_a_result_that_is_too_large_is_not_valid() -> None:
    graph = wg.function(lambda x: wg.ops.broadcast_to(x, (5, 2))).trace(X)
    (node,) = (n for n in graph.nodes if n.op.name == "broadcast_to")
    verify(graph)
    node.attrs = (*[(HUGE, 2) if a == (5, 2) else a for a in node.attrs],)
    node.outputs[0].shape = (HUGE, 2)
    with pytest.raises(ValueError, match="broadcast_to: the result would have shape"):
        verify(graph)
