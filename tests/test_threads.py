"""Eight threads at once on one graph and on one function: building, tracing, running and differentiating interleaved."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

import wengert as wg
from tests.support.threads import in_threads
from wengert._core.verifier import verify

THREADS = 8


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Threads change every few operations instead of every 5 ms."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_one_graph_is_built_differentiated_and_run_by_all():
    graph = wg.Graph("shared")
    scale = wg.Variable(2.0, name="scale")
    with graph.as_default():
        x = wg.compat.v1.placeholder("float64")
        y = wg.sin(x) * scale
    session = wg.compat.v1.Session(graph)

    def work(k: int) -> None:
        for i in range(6):
            with graph.as_default():
                z = wg.exp(y * float(k)) + float(i)
                slopes = wg.gradients(z, [x, scale])
            for point in (0.3, -1.2):
                u = np.sin(point) * 2.0
                value, along_x, along_scale = session.run([z, *slopes], {x: point})
                e = np.exp(u * k)
                np.testing.assert_allclose(value, e + i, rtol=1e-12)
                np.testing.assert_allclose(along_x, e * k * 2.0 * np.cos(point), rtol=1e-12, atol=1e-15)
                np.testing.assert_allclose(along_scale, e * k * np.sin(point), rtol=1e-12, atol=1e-15)

    in_threads(work)
    verify(graph)
    assert len(graph.reads) == 1


@pytest.mark.filterwarnings("ignore:f was traced")  # with many exponents, on purpose
@pytest.mark.parametrize("static", [("n",), ()], ids=["by value", "as an input"])
def test_one_function_is_traced_run_and_differentiated_by_all(static: tuple[str, ...]) -> None:
    traces: list[object] = []

    @wg.function(static_argnames=static)
    def f(x, n):
        traces.append((x.shape, n))
        return wg.sum(wg.sin(x) ** n)

    def work(k: int) -> None:
        for i in range(40):
            size, n = 1 + (k + i) % 4, 1 + (k * i) % 3
            x = np.linspace(0.1, 1.0, size)
            np.testing.assert_allclose(f(x, n), np.sum(np.sin(x) ** n), rtol=1e-12)
            np.testing.assert_allclose(wg.grad(f)(x, n), n * np.sin(x) ** (n - 1) * np.cos(x), rtol=1e-12)
            np.testing.assert_allclose(f.trace(x, n).inputs[0].shape, (size,))

    in_threads(work)
    if static:
        assert f.trace_count == 12  # four sizes, three exponents, each once
        assert len(set(traces)) == 12
    else:  # a thread may trace a value again that another one has just made an input
        assert f.trace_count <= 24


def test_a_function_and_what_it_is_made_of_are_used_at_once():
    """One thread differentiates through the function, one traces another around it, one runs a tape over it."""
    weight = wg.Variable(3.0, name="weight")

    @wg.function
    def inner(x):
        return x * x * weight

    outer = wg.function(lambda x: inner(x) + wg.grad(inner)(x))
    loaded = wg.recompute_grad(inner)

    def work(k: int) -> None:
        for i in range(30):
            x = float(1 + (i + k) % 5)
            if k % 4 == 0:
                assert wg.grad(wg.grad(inner))(x) == 6.0
            elif k % 4 == 1:
                assert outer(x) == 3.0 * x * x + 6.0 * x
            elif k % 4 == 2:
                t = wg.tensor(x)
                with wg.GradientTape() as tape:
                    tape.watch(t)
                    y = inner(t)
                slope, of_weight = tape.gradient(y, [t, weight])
                assert (slope.item(), of_weight.item()) == (6.0 * x, x * x)
            else:
                assert wg.grad(loaded)(x) == 6.0 * x

    in_threads(work)


def test_writes_of_one_call_stay_together():
    """Decision 21: a call writes its Variables at once; another thread's call sees both or none."""
    a, b = wg.Variable(0.0), wg.Variable(0.0)

    @wg.function
    def both(x):
        a.assign(x)
        b.assign(-x)

    @wg.function
    def total():
        return a + b

    both(1.0)
    total()

    def work(k: int) -> None:
        for i in range(200):
            if k % 2:
                both(float(k * 1000 + i))
            else:
                assert total() == 0.0

    in_threads(work)
