"""Programs whose code needs much stack, in threads that have little: NumPy's kernels run them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import wengert as wg
from wengert._engines.native.llvm import jit
from wengert._engines.native.run import stack

COUNT = 2000
# from 3.14 on Python's own parser, by which programs are traced, measures the stack, and refuses one of 64 KiB
LITTLE = 64 if sys.version_info < (3, 14) else 128  # KiB
PROGRAMS = {
    "scalars": "lambda x: [wg.sin(x) * i for i in range(COUNT)]",
    "sums": "lambda x: [wg.sum(wg.sin(x) * i) for i in range(COUNT)]",
    "gradient": "wg.grad(lambda x: wg.sum(wg.stack(chain(x)) * wg.stack(chain(x)[::-1])))",
    "branches": "wg.grad(lambda x: wg.cond(x > 0, lambda: wg.sum(wg.stack(chain(x)) ** 2), lambda: x))",
}
SCRIPT = """
import sys, threading
import numpy as np
import wengert as wg

COUNT = {count}

def chain(x):
    found = []
    for _ in range(COUNT):
        x = wg.sin(x)
        found.append(x)
    return found

f = wg.function({program})
x = {x}
is_first = {is_first}
wanted = None if is_first else f(x)
threading.stack_size({kib} * 1024)
found = []
thread = threading.Thread(target=lambda: found.append(f(x)))
thread.start()
thread.join()
for a, b in zip(np.atleast_1d(found[0]), np.atleast_1d(f(x) if wanted is None else wanted), strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-12)
print("lived")
"""


@pytest.mark.parametrize(
    ("name", "is_first"), [("scalars", False), ("sums", False), ("gradient", True), ("branches", False)]
)
def test_a_small_stack_is_no_end_of_the_process(name: str, is_first: bool) -> None:
    x = "np.full(3, 0.5)" if name == "sums" else "0.5"
    script = SCRIPT.format(count=COUNT, program=PROGRAMS[name], x=x, is_first=is_first, kib=LITTLE)
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}  # of Python loops that are unrolled
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False, env=environment
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout == "lived\n"


def test_frames_are_read_from_the_code() -> None:
    def frame(size: int) -> bytes:
        return b"\x55" + b"\x48\x81\xec" + size.to_bytes(4, "little")

    assert stack.taken(b"") == 0
    assert stack.taken(frame(4096) * 3) == 0  # little, together
    assert stack.taken(b"".join(map(frame, (8192, 16384, 64, 32, 128)))) == 8192 + 16384 + 64 + 128
    assert stack.taken(frame(1 << 27) + frame(24_001)) == 0  # no frames: too large, and not of words


@pytest.mark.skipif(platform.machine() != "x86_64", reason="frames are read from the code of x86-64")
def test_long_programs_tell_what_they_take() -> None:
    def f(x: object) -> object:
        found = []
        for _ in range(2500):
            x = wg.sin(x)
            found.append(x)
        return wg.sum(wg.stack(found) * wg.stack(found[::-1]))

    kept = wg.function(wg.grad(f))
    kept(np.float64(0.5))
    assert max(loaded.stack for loaded in jit._alive.values()) > stack.LITTLE
