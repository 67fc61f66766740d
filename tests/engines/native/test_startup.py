"""What the first gradient of a process waits for: libraries that load alone, code that is made as it stands."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.native_checks import noted_modules
from tests.support.one_code import is_one_code
from wengert._core.garbage import SELDOM, seldom_collected, uncollected
from wengert._engines.native import engine
from wengert._engines.native.ir import builder
from wengert._engines.native.llvm import arrays, call_rows, jit, symbols, target


def in_a_process(text: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- SciPy's functions ------------------------------------------------------------------------------------------------

NAMES = ("blas.dgemm", "blas.sgemv", "lapack.dpotrf")
PARTS_OF_SCIPY = """
import sys, threading
import numpy as np
from wengert._engines.native.llvm import libraries
from wengert._engines.native.run.callable import CALLABLE
found = [CALLABLE.address(name) for name in NAMES]
assert all(found)
""".replace("NAMES", repr(NAMES))
WHOLE_SCIPY = """
import scipy.linalg, scipy.linalg.cython_blas, scipy.linalg.cython_lapack as lapack
assert scipy.linalg.cython_blas.__pyx_capi__["dgemm"] is libraries._capsules("scipy.linalg.cython_blas")["dgemm"]
assert scipy.linalg.cython_lapack is lapack is sys.modules["scipy.linalg.cython_lapack"]
assert scipy.linalg.cython_blas.__spec__.name == scipy.linalg.cython_blas.__name__ == "scipy.linalg.cython_blas"
root = scipy.linalg.sqrtm(scipy.linalg.cholesky(np.diag([16.0, 81.0])))
assert np.allclose(root, np.diag([2.0, 3.0])), root
"""


def test_blas_loads_without_the_package_around_it() -> None:
    said = in_a_process(PARTS_OF_SCIPY + 'print([m for m in sys.modules if m.startswith("scipy.linalg")])')
    assert said == "[]"


def test_the_package_loads_afterwards() -> None:
    in_a_process(PARTS_OF_SCIPY + WHOLE_SCIPY)


def test_the_package_is_used_where_it_is_loaded() -> None:
    in_a_process("import scipy.linalg.cython_blas\n" + PARTS_OF_SCIPY + WHOLE_SCIPY)


def test_the_package_is_the_way_out() -> None:
    """Where the module does not load alone: the same functions."""
    said = in_a_process(
        "import importlib\nimportlib._bootstrap._load = None\n"
        + PARTS_OF_SCIPY
        + WHOLE_SCIPY
        + 'print("scipy.linalg" in sys.modules)'
    )
    assert said == "True"


def test_another_thread_may_import_the_package_meanwhile() -> None:
    in_a_process(
        """
import sys, threading
import numpy as np
from wengert._engines.native.llvm import libraries
from wengert._engines.native.run.callable import CALLABLE
sys.setswitchinterval(1e-5)
failures = []
def importing():
    try:
        import scipy.linalg
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=importing) for _ in range(3)]
for thread in threads[:2]:
    thread.start()
found = [CALLABLE.address(name) for name in NAMES]
threads[2].start()
for thread in threads:
    thread.join()
assert not failures, failures
assert all(found)
""".replace("NAMES", repr(NAMES))
        + WHOLE_SCIPY
    )


def test_without_scipy_there_are_no_functions() -> None:
    said = in_a_process("""
import sys
sys.modules["scipy"] = None
from wengert._engines.native.run.callable import CALLABLE
print(CALLABLE.address("blas.dgemm"), CALLABLE.address("special.gammaln"))
""")
    assert said == "0 0"


# -- long programs ----------------------------------------------------------------------------------------------------


def unrolled(x: Any) -> Any:
    """More nodes, with those of its gradient, than a block of code may have lines."""
    for i in range(3500):
        x = wg.sin(x) * (1.0 + 1e-4 * (i % 7))
    return wg.sum(x)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return noted_modules(monkeypatch)


def longest_block(ir: str) -> int:
    lines = ir.split("\n")
    labels = [place for place, line in enumerate(lines) if line.endswith((":", "}"))]
    return max(b - a for a, b in zip([0, *labels], [*labels, len(lines)], strict=True))


def test_long_programs_become_code_in_blocks_of_bounded_length(
    modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_rows, "LEAST", 10**9)  # in tables there would be no code that could be long
    x = np.linspace(0.1, 1.0, 10)
    gradient = wg.value_and_grad(unrolled)
    compiled = wg.function(gradient)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the loop is unrolled is the point
        compiled(x)
    value, slope = compiled(x)
    ((_, form),) = compiled.traces
    assert len(form.graph.nodes) > 8_000
    assert is_one_code(form, (x,)), "not one piece of compiled code"
    longest = max(map(longest_block, modules))
    assert jit.STRAIGHT < longest <= arrays.LONGEST_BLOCK + 100
    wanted_value, wanted_slope = gradient(x)
    np.testing.assert_allclose(value, wanted_value, rtol=1e-12)  # sums in another order
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-11)  # 3,500 roundings of fused products, one after another


def test_what_would_be_too_long_is_left_to_kernels(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(builder, "LONGEST", 20)
    monkeypatch.setattr(engine, "IS_STRICT", False)

    def f(x: Any) -> Any:
        for i in range(8):
            x = wg.sum(wg.cos(x) * (i + 1.0)) + x
        return x

    x = np.linspace(0.0, 1.0, 100)
    with wg.eager():
        wanted = wg.function(f)(x)
    np.testing.assert_array_equal(wg.function(f)(x), wanted)
    assert "TooLong" in caplog.text


# -- the collector ----------------------------------------------------------------------------------------------------


def test_the_collector_rests_and_goes_on() -> None:
    assert gc.isenabled()
    assert not uncollected.run(lambda: uncollected.run(gc.isenabled) or gc.isenabled())
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        uncollected.run(lambda: 1 // 0)
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        assert not uncollected.run(gc.isenabled)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_rests_until_the_last_thread_is_done() -> None:
    inside, leave = threading.Event(), threading.Event()

    def staying() -> None:
        inside.set()
        leave.wait()

    thread = threading.Thread(target=uncollected.run, args=(staying,))
    thread.start()
    inside.wait()
    uncollected.run(int)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_tracing_collects_seldom() -> None:
    before = gc.get_threshold()
    seen: list[int] = []

    def f(x: Any) -> Any:
        seen.append(gc.get_threshold()[0])
        return x * 2.0

    wg.function(f)(1.0)
    assert seen == [SELDOM]
    assert gc.get_threshold() == before


@pytest.mark.parametrize("chosen", [(0, 10, 10), (SELDOM + 1, 5, 5)])
def test_what_the_user_chose_for_the_collector_stays(chosen: tuple[int, int, int]) -> None:
    before = gc.get_threshold()
    gc.set_threshold(*chosen)
    try:
        assert seldom_collected.run(gc.get_threshold) == chosen
        assert gc.get_threshold() == chosen
    finally:
        gc.set_threshold(*before)


def test_what_the_user_chooses_meanwhile_stays() -> None:
    before = gc.get_threshold()
    try:
        seldom_collected.run(gc.set_threshold, 123, 4, 5)
        assert gc.get_threshold() == (123, 4, 5)
    finally:
        gc.set_threshold(*before)


def test_compiling_does_not_collect(monkeypatch: pytest.MonkeyPatch) -> None:
    is_on: list[bool] = []
    original = jit.shared

    def looking(*args: Any) -> Any:
        is_on.append(gc.isenabled())
        return original(*args)

    monkeypatch.setattr("wengert._engines.native.engine.shared", looking)
    wg.function(lambda x: wg.sum(x * wg.cos(x)) * 3.0)(np.linspace(0.0, 1.0, 33))
    assert is_on == [False]


def test_what_is_hastened_is_found_once() -> None:
    """Who asks while a thread is at it waits for it; what goes wrong in the thread goes wrong again for who asks."""
    calls: list[str] = []

    def find(name: str) -> int:
        calls.append(name)
        time.sleep(0.05)
        if name == "broken":
            raise LookupError(name)
        return 17

    table = symbols.Table({}, {"slow": symbols.Family(find, is_compiled=True)})
    assert table.is_compiled("slow.one")
    table.hasten("slow.one")
    table.hasten("slow.one")
    assert table.address("slow.one") == table.address("slow.one") == 17
    assert calls == ["one"]
    table.hasten("slow.broken")
    with pytest.raises(LookupError):
        table.address("slow.broken")


def test_each_thread_has_its_target_machine() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(target.machine(2)))
    thread.start()
    thread.join()
    assert found and target.machine(2) is target.machine(2) is not found[0]


def test_a_function_is_looked_for_once_whoever_asks() -> None:
    """Also where modules that call it are compiled side by side."""
    asked: list[str] = []

    def find(name: str) -> int:
        asked.append(name)
        time.sleep(0.05)
        return 1

    table = symbols.Table({}, {"slow": symbols.Family(find, is_compiled=True)})

    def ask() -> None:
        table.hasten("slow.one")
        assert table.address("slow.one") == 1

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == ["one"]
