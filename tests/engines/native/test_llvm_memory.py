"""Compiling near a limit of memory: the process lives, and NumPy's kernels run where LLVM has no room."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core import headroom, linux_memory
from wengert._engines import refine
from wengert._engines.native import engine
from wengert._engines.native.llvm import jit
from wengert._engines.native.run import llvm_memory

LIMITS = int(os.environ.get("WENGERT_TEST_LIMITS", "8"))  # of each kind; 40 try every few MiB
IR = """
define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {
  ret i32 7
}
"""

# A process for each limit, forked from one that has all loaded but what compiling needs. What it prints is how it
# ended; LLVM and OpenBLAS, when they get no memory, end it themselves, or try for ever.
COLD = """
import logging, os, resource, signal, sys, warnings
import numpy as np
import wengert as wg
steps, is_loaded = int(sys.argv[1]), sys.argv[2] == "loaded"
x = np.linspace(0.1, 1.0, 40)
np.linalg.solve(np.eye(100), np.eye(100))  # NumPy's own library takes its memory here
warnings.simplefilter("ignore")
logging.disable()

def short(x):
    return wg.sum(wg.sin(x) * x)

def long(x):
    for i in range(100):
        x = wg.sin(x) * (1 + 0.01 * i) + wg.cos(x * x) / 3
    return wg.sum(x)

def solved(x):
    return wg.sum(wg.linalg.solve(wg.outer(x, x) + wg.eye(40) * 3.0, x))

if is_loaded:
    wg.function(lambda x: wg.exp(x) * 2)(x)
for step in range(steps):
    # of "tight" the most must do: 7 MiB on Python 3.11; 13 on 3.13, whose modules from the cache leave less room
    least, most = {"loaded": (4, 200), "fresh": (4, 480), "tight": (0, 16)}[sys.argv[2]]
    extra = least + (most - least) * step // (steps - 1)
    f = (short, long, solved)[step % 3]
    child = os.fork()
    if not child:
        signal.alarm(60)
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (extra << 20),) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            found = wg.function(wg.grad(f))(x)
            ended = "right" if np.all(np.isfinite(found)) else "wrong"
        except MemoryError:
            ended = "MemoryError"
        os.write(1, f"{f.__name__} {extra} {ended}\\n".encode())
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        os.write(1, f"{f.__name__} {extra} ended with {status}\\n".encode())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not heed this limit")
@pytest.mark.parametrize("state", ["tight", "fresh", "loaded"])
def test_no_limit_ends_the_process(state: str) -> None:
    environment = {**os.environ, "WENGERT_CACHE_DIR": "", "WENGERT_STRICT": "0"}
    command = [sys.executable, "-c", COLD, str(LIMITS), state]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    ends = done.stdout.splitlines()
    assert len(ends) == LIMITS, done.stderr
    assert all(line.endswith((" right", " MemoryError")) for line in ends), done.stdout + done.stderr
    assert ends[-1].endswith(" right"), ends


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing compiled before is found."""
    monkeypatch.setenv("WENGERT_CACHE_DIR", "")
    monkeypatch.setattr(jit, "_recent", jit._Recent())


def test_another_process_makes_the_same_code() -> None:
    effort = jit._effort(IR)
    assert llvm_memory.elsewhere(jit.__name__, IR, "entry", *effort) == jit.emitted(IR, "entry", *effort)


def test_another_process_compiles_where_this_one_has_little_room(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    jit.load(IR, "entry")  # LLVM is there
    here: list[str] = []
    monkeypatch.setattr(jit, "emitted", lambda ir, *others: here.append(ir))
    monkeypatch.setattr(headroom, "addresses", lambda: 40 * llvm_memory.MIB)
    code = jit.load(IR.replace("7", "9"), "entry")
    assert code.run(None, None, None) == 9
    assert not here


@pytest.mark.skipif(sys.platform == "win32", reason="needs a program that does nothing")
@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program"])
def test_a_process_that_dies_is_a_memory_error(monkeypatch: pytest.MonkeyPatch, fresh: None, program: str) -> None:
    monkeypatch.setattr(headroom, "addresses", lambda: 40 * llvm_memory.MIB)
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(MemoryError, match="no memory to compile"):
        jit.load(IR.replace("7", "11"), "entry")


def test_kernels_run_where_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch, fresh: None, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine, "IS_STRICT", False)
    monkeypatch.setattr(headroom, "pages", lambda: llvm_memory.MIB)
    x = np.linspace(0.0, 1.0, 30)
    f = wg.function(lambda x: wg.sum(wg.sin(x) * 0.314159))
    with caplog.at_level(logging.WARNING, "wengert"):
        for _ in range(2):
            np.testing.assert_allclose(f(x), np.sum(np.sin(x) * 0.314159), rtol=1e-14)
    assert "NumPy's kernels" in caplog.text
    assert "MemoryError" in caplog.text


def test_without_room_to_load_the_compiler_kernels_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refine, "COMPILERS", {"numpy": "wengert.no_such_compiler"})
    monkeypatch.setattr(headroom, "addresses", lambda: refine.LOADED - 1)
    with pytest.warns(RuntimeWarning, match="no memory to load the compiler"):
        assert wg.function(lambda x: wg.sum(x * 5.125))(np.ones(4)) == 20.5


def test_compilations_under_way_count_as_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headroom, "addresses", lambda: 100 * llvm_memory.MIB)
    with llvm_memory.reserved(IR) as first, llvm_memory.reserved(IR) as second:
        assert first
        assert not second
    with llvm_memory.reserved(IR) as third:
        assert third


def test_control_groups_bound_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tightest one, where pages of files that are idle count as free."""
    inner, outer = tmp_path / "a" / "b", tmp_path / "a"
    inner.mkdir(parents=True)
    for folder, most, used in ((inner, "max", 100), (outer, "1000", 700)):
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text(f"{used}\n")
        (folder / "memory.stat").write_text("anon 5\ninactive_file 50\n")
    monkeypatch.setattr(
        linux_memory, "_folders", lambda: ((str(inner), False), (str(outer), False), (str(tmp_path), False))
    )
    assert headroom.pages() == 350
    assert headroom.allowance() == 1000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_limits_bound_addresses() -> None:
    program = """
import resource
from wengert._core import headroom
from wengert._engines import refine
_, most = resource.getrlimit(resource.RLIMIT_AS)
soft = 1 << 33 if most == resource.RLIM_INFINITY else most
resource.setrlimit(resource.RLIMIT_AS, (soft, most))
left = headroom.addresses()
block = bytearray(1 << 26)
assert 0 <= left - headroom.addresses() - (1 << 26) < 1 << 24
assert 1 << 20 < headroom.pages() < 1 << 50
"""
    done: Any = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
