"""What gradients leave behind (nothing) and what long programs take (1.5 KiB an op at most, no recursion).

Growth over many calls is measured twice: exactly, with tracemalloc, for each kind of call; and as the resident
size of a process of its own over 10,000 calls, which also sees what Python's allocator does not (NumPy's buffers,
fragmentation). Both with the garbage collector off, so that a reference cycle shows as growth. Peaks of long chains
are resident sizes too: tracemalloc would make a million ops several times slower.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import growth_of_calls

X = np.ones(3)
BYTES_A_CALL = 0.02 * 1024
BYTES_AN_OP = 1.5 * 1024


def first_order():
    wg.grad(lambda x: np.sum(np.sin(x) * x))(X)


def second_order():
    wg.grad(wg.grad(lambda x: np.sin(x) * x))(X)


def disconnected():
    with pytest.raises(wg.DisconnectedError):
        wg.grad(lambda x: wg.stop_gradient(x) * 2)(X)


def disconnected_after_work():
    with pytest.raises(wg.DisconnectedError):
        wg.grads(lambda a, b: np.sum(np.sin(a) * 2))([X, X])


def failing():
    def f(x):
        y = np.sin(x) * x
        raise ZeroDivisionError(y.shape)

    with pytest.raises(ZeroDivisionError):
        wg.grad(f)(X)


def structures():
    wg.value_and_grad(lambda p: np.sum(p["w"] * p["b"]))({"w": X, "b": 2.0, "name": "n"})


W = wg.Variable(X, name="test_memory")


def variables():
    wg.variable_grads(lambda: np.sum(W * W), [W])


def gathered():
    wg.grad(lambda x: np.sum(x[[0, 2, 0]] * 2.0) + np.sum(x[[1]]))(X)
    wg.grad(lambda x: np.sum(x[[0, 2, -3]]), sparse=True)(X)


def taped():
    x = wg.tensor(X)
    with wg.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with wg.GradientTape() as inner:
            inner.watch(x)
            y = np.sin(x) * W
        slope = inner.gradient(y, x)
    outer.gradient(slope, [x, W])


def custom():
    @wg.custom_gradient
    def f(x):
        return x * x, lambda upstream: upstream * x

    wg.grad(lambda x: np.sum(f(x)))(X)


def graph():
    g = wg.Graph()
    with g.as_default():
        x = g.add_input((3,), X.dtype)
        y = np.sin(x) * x
    g.finish([y])


def graph_with_gradients():
    g = wg.Graph(
        "same"
    )  # tracemalloc itself keeps each file name that it meets, and generated source bears the graph's
    with g.as_default():
        x = wg.compat.v1.placeholder("float64", (3,))
        y = np.sin(x) * W
        slopes = wg.gradients(y, [x, W])
    wg.compat.v1.Session(g).run(slopes, {x: X})


def traced():
    f = wg.function(lambda x: wg.grad(lambda t: np.sum(np.sin(t) * W))(x))
    f(X)


def compiled():
    wg.grad(wg.function(lambda x: np.sum(np.sin(x) * W)))(X)


def symbolic():
    wg.symbolic_gradient([X, X, 1.0], lambda a, b: np.sum(a * b))


def failing_trace():
    with pytest.raises(wg.TracingError):
        wg.function(lambda x: x if x.sum() > 0 else -x)(X)


RULE_FAILS = wg.function(wg.custom_gradient(lambda x: (x * x, lambda u: u * float(u))))


def failing_rule():
    """The error was stored when the function was traced, and is raised again and again."""
    with pytest.raises(wg.LostGradientError):
        wg.grad(lambda x: np.sum(RULE_FAILS(x)))(X)


CALLS = [
    first_order, second_order, disconnected, disconnected_after_work, failing, structures, variables, gathered, taped,
    custom, graph, graph_with_gradients, traced, compiled, symbolic, failing_trace, failing_rule,
]  # fmt: skip


@pytest.mark.sampled(2)  # two seconds each
@pytest.mark.parametrize("call", CALLS)
def test_calls_leave_nothing_behind(call):
    assert growth_of_calls(call, times=300) < BYTES_A_CALL


def in_a_process(program: str, *arguments: object) -> list[float]:
    """The numbers that a program prints, run by an interpreter of its own."""
    prelude = """
        import gc, resource, sys, psutil
        import numpy as np, wengert as wg
        resident = psutil.Process().memory_info
        def peak():
            try:  # what getrusage says on Linux is at least the size of the process that started this one
                lines = open("/proc/self/status").read().splitlines()
                return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
            except OSError:
                return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    """
    text = textwrap.dedent(prelude) + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def test_ten_thousand_gradients_do_not_grow_the_process():
    pytest.importorskip("resource", reason="Windows has no resource module")
    (grown,) = in_a_process("""
        gc.disable()
        x = np.ones(3)
        first = wg.grad(lambda x: np.sum(np.sin(x) * x))
        second = wg.grad(wg.grad(lambda x: np.sin(x) * x))
        cut = wg.grad(lambda x: wg.stop_gradient(x) * 2)
        def ten_calls():
            for _ in range(6):
                first(x)
            for _ in range(2):
                second(x)
            for _ in range(2):
                try:
                    cut(x)
                except wg.DisconnectedError:
                    pass
        for _ in range(200):
            ten_calls()
        before = resident().rss
        for _ in range(1000):
            ten_calls()
        print(resident().rss - before)
    """)
    assert grown / 10_000 < BYTES_A_CALL


@pytest.mark.slow  # ten seconds; in small, test_calls_leave_nothing_behind
def test_ten_thousand_graphs_do_not_grow_the_process():
    """Graphs built, differentiated, run and dropped; functions traced, compiled and dropped; symbolic gradients."""
    pytest.importorskip("resource", reason="Windows has no resource module")
    (grown,) = in_a_process("""
        gc.disable()
        x, w = np.ones(3), wg.Variable(np.ones(3))
        def graph():
            g = wg.Graph()
            with g.as_default():
                a = wg.compat.v1.placeholder("float64", (3,))
                slopes = wg.gradients(np.sin(a) * w, [a, w])
            wg.compat.v1.Session(g).run(slopes, {a: x})
        def traced():
            wg.function(wg.grad(lambda t: np.sum(np.sin(t) * w)))(x)
        def symbolic():
            wg.symbolic_gradient([x, x, 1.0], lambda a, b: np.sum(a * b))
        def ten_calls():
            for _ in range(3):
                graph()
                traced()
                symbolic()
            traced()
        for _ in range(400):  # until the allocator has its arenas
            ten_calls()
        def growth():
            before = resident().rss
            for _ in range(1000):
                ten_calls()
            return resident().rss - before
        print(min(growth(), growth()))  # an arena more is a megabyte: what leaks grows both times
    """)
    assert grown / 10_000 < BYTES_A_CALL


MANY_OPS = pytest.mark.parametrize("count", [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])


@MANY_OPS
def test_many_ops_are_differentiated_without_recursion(count):
    """Built, swept back and dropped."""
    pytest.importorskip("resource", reason="Windows has no resource module")
    grown, gradient, limit = in_a_process(f"""
        def chain(x):
            for _ in range({count}):
                x = x * 1.0000001
            return x
        wg.grad(lambda x: np.sin(x) * 1.5)(1.0)
        before = resident().rss
        gradient = wg.grad(chain)(1.0)
        print(peak() - before, gradient, sys.getrecursionlimit())
    """)
    assert grown / count < BYTES_AN_OP
    assert gradient == pytest.approx(np.exp(1e-7 * count), rel=1e-6)
    assert limit <= 3000


@MANY_OPS
def test_many_ops_are_traced_without_recursion(count):
    """Built, verified and dropped."""
    pytest.importorskip("resource", reason="Windows has no resource module")
    grown, nodes = in_a_process(f"""
        from wengert._core.verifier import verify
        before = resident().rss
        graph = wg.Graph()
        with graph.as_default():
            y = x = graph.add_input((), np.dtype(float))
            for _ in range({count}):
                y = y * 1.0000001
        graph.finish([y])
        verify(graph)
        print(peak() - before, len(graph.nodes))
        del graph, x, y
    """)
    assert nodes == count
    assert grown / nodes < BYTES_AN_OP


def test_a_long_function_is_compiled_and_dropped():
    """Traced, optimised, run; 30,000 ops, for each one is looked at many times."""
    grown, first, again = in_a_process("""
        def chain(x):
            for _ in range(30_000):
                x = x * 1.0000001
            return x
        f = wg.function(lambda x: np.sin(x) * 1.5)
        f(1.0)
        before = resident().rss
        f = wg.function(chain)
        first = f(1.0)
        grown = peak() - before
        print(grown, first, f(1.0))
        del f
    """)
    assert first == again == pytest.approx(np.exp(0.003), rel=1e-6)
    # the trace, the optimised copy and what LLVM needs to make code of it at once
    assert grown / 30_000 < 1.6 * BYTES_AN_OP
