"""Large loops run in threads, and give the same bits whatever their number."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.threads import in_threads
from wengert._engines.native.llvm import jit, multiply, runtime, target, workers
from wengert._engines.native.llvm.codegen import module_text
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.run import flags, memory
from wengert._passes import optimise

THREADS = pytest.mark.skipif(
    sys.platform == "win32", reason="no POSIX threads: the runtime runs one range after another"
)

# Part i of a range: notes that it ran, and in which thread; it takes some of the microseconds that a thread takes to wake.
NOTES = """
declare ptr @pthread_self()
declare i32 @usleep(i32)
define void @note(ptr %data, i64 %first, i64 %last) {
entry:
  %self = call ptr @pthread_self()
  br label %loop
loop:
  %i = phi i64 [ %first, %entry ], [ %j, %body ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %body, label %end
body:
  %p = getelementptr [2 x i64], ptr %data, i64 %i
  %old = load i64, ptr %p
  %new = add i64 %old, 1
  store i64 %new, ptr %p
  %p.self = getelementptr i64, ptr %p, i64 1
  store ptr %self, ptr %p.self
  %ignored = call i32 @usleep(i32 10)
  %j = add i64 %i, 1
  br label %loop
end:
  ret void
}
"""


MUCH = 10**9  # nanoseconds that work is said to take


def run_notes(count: int, threads: int, cost: int = MUCH) -> np.ndarray[Any, Any]:
    code = jit.load(NOTES, "note")
    notes = np.zeros((count, 2), np.int64)
    pointers, numbers = [ctypes.c_void_p] * 3, [ctypes.c_int64] * 4
    parallel = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *numbers)(runtime.address("wengert_parallel"))
    assert parallel(None, code.address, notes.ctypes.data, 0, count, threads, cost) == 0
    return notes


@THREADS
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("count", [0, 1, 2, 10, 64, 1001])
def test_each_iteration_runs_once(count: int, threads: int) -> None:
    notes = run_notes(count, threads)
    np.testing.assert_array_equal(notes[:, 0], 1)
    assert len({*notes[:, 1].tolist()}) <= min(max(count, 1), threads)


@THREADS
def test_iterations_run_in_several_threads() -> None:
    assert len({*run_notes(1000, 4)[:, 1].tolist()}) > 1


@THREADS
def test_little_work_stays_in_its_thread() -> None:
    assert len({*run_notes(100, 4, workers.EACH)[:, 1].tolist()}) == 1


@THREADS
def test_threads_of_python_share_the_workers() -> None:
    def run(number: int) -> None:
        for _ in range(5):
            np.testing.assert_array_equal(run_notes(200, 2 + number)[:, 0], 1)

    in_threads(run, 4)


# In a process of its own: what its workers are when calls have ended.
STANDING = """
import os, pathlib, signal, threading, time
import numpy as np, wengert as wg

def others():
    return [task for task in pathlib.Path("/proc/self/task").iterdir() if int(task.name) != os.getpid()]

f = wg.function(lambda x: wg.sum(wg.exp(x) * wg.sin(x)))
x = np.linspace(0.0, 1.0, 2_000_000)
before = len(others())
f(x[:100])
assert len(others()) == before, "a thread for a small call"
wanted = f(x)
made = {*others()}
assert len(made) == before + 2, made
for _ in range(50):
    assert f(x) == wanted
assert {*others()} == made, "other threads than before"
at_once = [threading.Thread(target=lambda: [f(x) for _ in range(20)]) for _ in range(4)]
for thread in at_once:
    thread.start()
for thread in at_once:
    thread.join()
end = time.monotonic() + 5  # the system shows threads of Python's for a moment after their end
while {*others()} != made and time.monotonic() < end:
    time.sleep(0.01)
assert {*others()} == made, "a call whose workers are at others' work has made more"
hidden = [int(line.split()[1], 16) for task in made for line in (task / "status").read_text().splitlines()
          if line.startswith("SigBlk")]
bit = 1 << signal.SIGINT - 1
assert sum(bool(mask & bit) for mask in hidden) >= 2, "signals come to a worker"
started = time.process_time()
time.sleep(0.5)
assert time.process_time() - started < 0.05, "workers burn the processor's time"
thread = threading.Thread(target=lambda: [f(x) for _ in range(20)], daemon=True)
thread.start()
print("at the end")
"""


@THREADS
@pytest.mark.skipif(sys.platform != "linux", reason="threads are told by /proc")
def test_workers_stand_sleep_hear_no_signals_and_end_with_the_process() -> None:
    for _ in range(5):  # that at the end is a matter of moments
        done = run_python(STANDING, WENGERT_NUM_THREADS="3", OPENBLAS_NUM_THREADS="1")
        assert (done.returncode, done.stdout) == (0, "at the end\n"), done.stderr


# Room for nothing as large as a thread's stack.
NO_ROOM = """
import resource
import numpy as np, wengert as wg

f = wg.function(lambda x: wg.sum(wg.exp(x) * wg.sin(x)), input_signature=[wg.TensorSpec((None,))])
x = np.linspace(0.0, 1.0, 2_000_000)
wanted = np.sum(np.exp(x) * np.sin(x))
f(x[:100])
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + (6 << 20), resource.RLIM_INFINITY))
assert np.isclose(f(x), wanted)
"""


@THREADS
@pytest.mark.skipif(sys.platform != "linux", reason="what is taken is told by /proc")
def test_without_room_for_threads_the_call_does_all_itself() -> None:
    done = run_python(NO_ROOM, WENGERT_NUM_THREADS="8", OPENBLAS_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=os.environ | environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


# Sets how the processor's floating-point unit works in this thread, and tells how it did.
SETTINGS = """
define i32 @found() {
  %settings = call i32 @settings.found()
  ret i32 %settings
}
define void @set(i32 %settings) {
  call void @settings.set(i32 %settings)
  ret void
}
"""
FLUSHED = 0x8000  # subnormal results are zero


@pytest.mark.skipif(not target.is_x86(), reason="the bit is x86's")
def test_workers_compute_as_their_caller_does(monkeypatch: pytest.MonkeyPatch) -> None:
    made = jit.load(flags.flags_ir() + flags.settings_ir() + SETTINGS, "found", exports=("set",))
    found, put = (
        ctypes.CFUNCTYPE(ctypes.c_int32)(made.address),
        ctypes.CFUNCTYPE(None, ctypes.c_int32)(made.symbol("set")),
    )
    monkeypatch.setenv("WENGERT_NUM_THREADS", "2")
    f, x = wg.function(lambda x: x * 1e-10), np.full(2_000_000, 1e-300)
    assert f(x).all()
    before = found()
    put(before | FLUSHED)
    try:
        flushed = [f(x).any() for _ in range(5)]
    finally:
        put(before)
    assert not any(flushed)
    assert f(x).all()


@THREADS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_of_fork_has_threads_too() -> None:
    run_notes(10, 2)
    child = os.fork()
    if child == 0:
        ran = bool((run_notes(10, 2)[:, 0] == 1).all())
        os._exit(0 if ran else 1)
    assert os.waitpid(child, 0)[1] == 0


# A signal's handler forks while a loop is shared: the child has not got the workers that were at it.
FORKING = """
import os, signal, time
import numpy as np, wengert as wg

f = wg.function(wg.grad(lambda x: wg.sum(wg.tanh(x) ** 2)))
x = np.random.default_rng(0).normal(size=8_000_000)
wanted = f(x)
started = time.monotonic()
f(x)
delay = (time.monotonic() - started) / 2  # a call takes other times on other machines, and other ones under load
children, born = [], []

def fork(number, frame):
    child = os.fork()
    (children if child else born).append(child)

signal.signal(signal.SIGALRM, fork)
for _ in range(40):
    signal.setitimer(signal.ITIMER_REAL, delay)
    delay *= 0.8  # where it came too late
    found = f(x)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    fits = np.allclose(found, wanted, rtol=1e-12, atol=1e-15)
    if born:
        os._exit(0 if fits and np.array_equal(f(x), wanted) else 1)
    assert fits
    if children:
        break
ends = time.monotonic() + 60
for child in children:
    while not (found := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > ends:
            os.kill(child, signal.SIGKILL)
            raise TimeoutError("a child hangs")
        time.sleep(0.01)
    assert found[1] == 0, found
assert children, "nothing was forked"
"""


@THREADS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_signals_handler_forks_while_a_loop_is_shared() -> None:
    done = run_python(FORKING, WENGERT_NUM_THREADS="4")
    assert done.returncode == 0, done.stderr


# Elementwise loops of ours, LAPACK from machine code and NumPy's products, beside each other, and again in a child of fork.
BESIDE_BLAS = """
import os, signal, threading
import numpy as np, wengert as wg

rng = np.random.default_rng(0)
x, a = rng.normal(size=2_000_000), rng.normal(size=(300, 300)) + 300 * np.eye(300)
ours = wg.function(wg.value_and_grad(lambda x: (x * np.sin(x)).sum()))
lapack = wg.function(wg.grad(lambda a: np.linalg.solve(a @ a.T, a[0]).sum() + np.linalg.cholesky(a @ a.T).sum()))


def bits():
    value, gradient = ours(x)
    return value.tobytes() + gradient.tobytes() + lapack(a).tobytes()


def beside(product, count):
    ends = threading.Event()

    def products():
        while not ends.is_set():
            assert np.allclose(a @ a, product)

    workers = [threading.Thread(target=products) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = {bits() for _ in range(count)}
    ends.set()
    for worker in workers:
        worker.join()
    return found


signal.alarm(240)  # a lock that is held for ever ends it
product, alone = a @ a, bits()
assert beside(product, 5) == {alone}
child = os.fork()
if child == 0:
    signal.alarm(120)
    os._exit(0 if beside(product, 3) == {alone} else 1)
assert os.waitpid(child, 0)[1] == 0
assert beside(product, 3) == {alone}
"""


@THREADS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_threads_of_ours_and_of_blas_run_beside_each_other_and_after_fork() -> None:
    done = run_python(BESIDE_BLAS, WENGERT_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
    assert done.returncode == 0, done.stderr


X = np.random.default_rng(3).normal(size=400_003)
ROWS = np.random.default_rng(4).integers(0, 50, 4000)
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "value and gradient": lambda x: wg.value_and_grad(lambda x: wg.sum(x * wg.sin(x)))(x),
    "several reductions": lambda x: (wg.sum(x), wg.max(x), wg.sum(wg.exp(x) * x)),
    "rows": lambda x: wg.sum(wg.exp(wg.reshape(x[:400_000], (1000, 400))), axis=1),
    "all of a matrix": lambda x: wg.sum(wg.transpose(wg.reshape(x[:400_000], (1000, 400))) * 2.0),
    "columns": lambda x: wg.sum(wg.reshape(x[:400_000], (1000, 400)), axis=0),
    "columns of float32": lambda x: wg.sum(wg.reshape(x[:400_000], (4000, 100)).astype("float32"), axis=0),
    "largest of columns": lambda x: (
        wg.max(wg.reshape(x[:400_000], (4000, 100)), axis=0),
        wg.min(wg.reshape(x[:400_000], (4000, 100)) * 2, axis=0),
    ),
    "columns and rows": lambda x: (lambda y: (wg.sum(y, axis=0), wg.sum(y, axis=1), wg.sum(y), y))(
        wg.exp(wg.reshape(x[:400_000], (4000, 100)) * 0.5)
    ),
    "first and last axes": lambda x: wg.sum(wg.reshape(x[:400_000], (400, 20, 50)), axis=(0, 2)),
    "all but the middle of four": lambda x: wg.sum(wg.reshape(x[:400_000], (40, 20, 10, 50)), axis=(0, 1, 3)),
    "axes behind the first": lambda x: wg.sum(wg.reshape(x[:400_000], (40, 20, 500)), axis=1),
    "bias": lambda x: wg.grad(lambda b: wg.sum(wg.tanh(wg.reshape(x[:400_000], (4000, 100)) + b)))(x[:100]),
    "rows added to places": lambda x: wg.zeros((50, 100)).at[ROWS].add(wg.reshape(x[:400_000], (4000, 100))),
    "rows put into places": lambda x: wg.zeros((50, 100)).at[ROWS].set(wg.reshape(x[:400_000], (4000, 100))),
    "gradient of gathered rows": lambda x: wg.grad(lambda t: wg.sum(wg.sin(t[ROWS])))(wg.reshape(x[:5000], (50, 100))),
    "float32": lambda x: wg.sum(wg.sin(x.astype("float32"))),
    "product": lambda x: wg.matmul(wg.reshape(x[:250_000], (1000, 250)), wg.reshape(x[:75_000], (250, 300))),
    "product of few rows": lambda x: wg.matmul(wg.reshape(x[:5000], (20, 250)), wg.reshape(x[:300_000], (250, 1200))),
    "some elements": lambda x: wg.tanh(wg.sin(x[:50_000]) * 2.0),
    "some elements, joined": lambda x: wg.concatenate([x[:1], wg.exp(x[1:50_003] * 0.5) * x[:50_002]]),
    "some rows": lambda x: wg.sum(wg.exp(wg.reshape(x[:30_000], (300, 100))), axis=1),
    "some elements, added up": lambda x: wg.sum(wg.exp(x[:50_000] * 0.5)),
    "a small product": lambda x: wg.matmul(wg.reshape(x[:16_384], (128, 128)), wg.reshape(x[:16_384], (128, 128))),
    "batch": lambda x: wg.einsum("nki,nkj->kij", *[wg.reshape(x[:300_000], (500, 30, 20))] * 2),
    "turned batch": lambda x: wg.einsum(
        "nki,kji->nkj", wg.reshape(x[:300_000], (500, 30, 20)), wg.reshape(x[:12_000], (30, 20, 20))
    ),
    "matrix times vector": lambda x: wg.matmul(wg.reshape(wg.concatenate([x, x])[:800_000], (4000, 200)), x[:200]),
    "vector times matrix": lambda x: wg.matmul(x[:4000], wg.reshape(wg.concatenate([x, x])[:800_000], (4000, 200))),
}


def leaves(tree: Any) -> tuple[Any, ...]:
    return tree if isinstance(tree, tuple) else (tree,)


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in leaves(tree)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits_for_any_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[bytes]] = []
    for count in ("1", "2", "3", "5", "64"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", count)
        f = wg.function(PROGRAMS[name])
        f(X)
        found.append(bits(f(X)))
    assert all(other == found[0] for other in found)
    monkeypatch.setenv("WENGERT_JIT", "0")
    for ours, theirs in zip(leaves(f(X)), leaves(wg.function(PROGRAMS[name])(X)), strict=True):
        # sums of 400,000 elements in another order; float32's are kept in float64 here
        rtol, atol = (1e-4, 1e-4) if "float32" in name else (1e-10, 1e-8)
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def test_column_sums_of_sizes_known_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[bytes]] = []
    for count in ("1", "3"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", count)
        f = wg.function(lambda x: wg.sum(wg.exp(x), axis=0), input_signature=[wg.TensorSpec((None, None))])
        runs: list[bytes] = []
        for shape in ((0, 0), (0, 3), (3, 0), (1, 1), (5, 7), (4000, 100), (100, 4000), (400_000, 1), (1, 400_000)):
            x = X[: shape[0] * shape[1]].reshape(shape)
            sums = f(x)
            np.testing.assert_allclose(sums, np.exp(x).sum(0), rtol=1e-11)  # another order of the sums
            runs += bits(sums)
        found.append(runs)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_share_the_work(name: str) -> None:
    f = wg.function(PROGRAMS[name])
    f(X)
    ((_, form),) = f.traces
    function = lowered(ready(optimise(form.graph)), "test").function
    assert "call i32 @wengert_parallel(" in module_text(function, "test")


def test_sizes_known_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[bytes]] = []
    for count in ("1", "3"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", count)
        f = wg.function(PROGRAMS["value and gradient"], input_signature=[wg.TensorSpec((None,))])
        runs: list[bytes] = []
        for n in (0, 1, 7, 1000, 20_000, 200_000, 400_003):
            value, slope = f(X[:n])
            x = X[:n]
            np.testing.assert_allclose(value, np.sum(x * np.sin(x)), rtol=1e-11)  # another order of the sum
            np.testing.assert_allclose(slope, np.sin(x) + x * np.cos(x), rtol=1e-12, atol=1e-15)
            runs += bits((value, slope))
        found.append(runs)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("module", "made", "name"),
    [(runtime, "_library", runtime.NAMES[0]), (memory, "_library", memory.NAMES[0]), (multiply, "written", "dots.f32")],
    ids=["runtime", "memory", "products"],
)  # fmt: skip
def test_code_that_two_threads_make_at_once_stays_both_times(
    module: Any, made: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other modules are linked to the one or the other; a cache keeps the one that came last."""
    both = threading.Barrier(2)
    kept: list[weakref.ref[Any]] = []
    load = jit.load

    def at_once(*args: Any, **settings: Any) -> Any:
        loaded = load(*args, **settings)
        kept.append(weakref.ref(loaded._tracker))
        both.wait(60)
        return loaded

    monkeypatch.setattr(jit, "load", at_once)
    # a cache of this test's own: what was made before is linked to elsewhere
    monkeypatch.setattr(module, made, functools.cache(getattr(module, made).__wrapped__))
    threads = [threading.Thread(target=module.address, args=(name,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert [found() is None for found in kept] == [False, False]
