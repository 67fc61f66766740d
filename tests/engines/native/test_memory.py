"""Blocks of memory that are kept from call to call: which are found again, which go, and when all go."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core import headroom
from wengert._engines.native.llvm.jit import FINISHED, load
from wengert._engines.native.run import memory

MIB = 1 << 20


class Blocks:
    """A library of its own, whose slots nobody else uses: each load of the code has its own variables."""

    def __init__(self) -> None:
        self._code = load(FINISHED + memory.memory_ir(), memory.NAMES[0], exports=memory.NAMES)
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        self.take = ctypes.CFUNCTYPE(pointer, size)(self._code.symbol("wengert_take"))
        self.drop = ctypes.CFUNCTYPE(None, pointer)(self._code.symbol("wengert_drop"))
        self.trim = ctypes.CFUNCTYPE(None, size)(self._code.symbol("wengert_trim"))
        self.bound = ctypes.CFUNCTYPE(None, size)(self._code.symbol("wengert_bound"))
        self.grow = ctypes.CFUNCTYPE(pointer, pointer, size)(self._code.symbol("wengert_grow"))

    def kept(self, *sizes: int) -> list[int]:
        """Blocks of these sizes, given back in this order."""
        blocks = [self.take(size) for size in sizes]
        for block in blocks:
            self.drop(block)
        return blocks


@pytest.fixture
def blocks() -> Iterator[Blocks]:
    made = Blocks()
    yield made
    made.trim(0)


def test_a_block_is_found_again(blocks: Blocks) -> None:
    (block,) = blocks.kept(MIB)
    assert block % 64 == 0
    assert blocks.take(MIB - 100) == block


def test_the_block_that_fits_best_is_taken(blocks: Blocks) -> None:
    """Whatever came first: else the larger one is gone when somebody asks for it."""
    for sizes in ((6, 4, 5), (4, 5, 6), (5, 6, 4)):
        made = dict(zip(sizes, blocks.kept(*[n * MIB for n in sizes]), strict=True))
        for n in (4, 6, 5):
            assert blocks.take(n * MIB) == made[n]


def test_far_too_large_blocks_stay_for_others(blocks: Blocks) -> None:
    (large,) = blocks.kept(8 * MIB)
    small = blocks.take(3 * MIB)
    assert small != large
    assert blocks.take(8 * MIB) == large


def test_those_that_waited_longest_make_room(blocks: Blocks) -> None:
    """A program that has come to other sizes does not find the slots full for ever."""
    blocks.bound(10 * MIB)
    made = blocks.kept(4 * MIB, 3 * MIB)
    other = blocks.take(5 * MIB)
    blocks.drop(other)
    assert blocks.take(5 * MIB) == other
    assert blocks.take(3 * MIB) == made[1]


def test_more_blocks_than_slots(blocks: Blocks) -> None:
    made = blocks.kept(*[memory.LEAST + 64 * n for n in range(2 * memory.SLOTS)])
    found = {blocks.take(memory.LEAST + 64 * n) for n in range(memory.SLOTS, 2 * memory.SLOTS)}
    assert found == {*made[memory.SLOTS :]}


def test_what_is_larger_than_the_bound_is_not_kept_and_displaces_nothing(blocks: Blocks) -> None:
    blocks.bound(2 * MIB)
    (block,) = blocks.kept(MIB)
    blocks.drop(blocks.take(3 * MIB))
    assert blocks.take(MIB) == block


def test_contents_move_where_a_block_grows(blocks: Blocks) -> None:
    block = blocks.take(MIB)
    ctypes.memset(block, 7, MIB)
    larger = blocks.grow(block, 9 * MIB)
    assert ctypes.string_at(larger, MIB) == b"\7" * MIB


def test_there_is_a_bound_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, wanted in ((0, memory.ALWAYS), (8 << 30, (8 << 30) // memory.SHARE), (headroom.UNBOUNDED, memory.MOST)):
        monkeypatch.setattr(memory, "allowance", lambda most=most: most)
        assert memory.bound() == wanted


# -- whole programs, in processes of their own ------------------------------------------------------------------------

FAULTS = """
import resource
import numpy as np
import wengert as wg
f = wg.function(wg.vmap(wg.jacobian(lambda row: wg.fori_loop(0, 6, lambda i, s: wg.sin(s * row), row))))
x = np.linspace(0.1, 1.0, 20_000 * 8).reshape(-1, 8)
signature = wg.TensorSpec((None, 8))
g = wg.function(lambda x: wg.cumsum(wg.sin(x), axis=1), input_signature=[signature])
y = np.ones((100_000, 16))
for call, argument in ((f, x), (g, y[:, :8].copy())):
    for _ in range(3):
        result = call(argument)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        result = call(argument)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 4, result.nbytes)
"""

UNDER_PRESSURE = """
import resource
import numpy as np
import wengert as wg
f = wg.function(lambda x: wg.cumsum(wg.sin(x)) * 2.0, input_signature=[wg.TensorSpec((None,))])
x = np.ones(8_000_000)
for _ in range(2):
    f(x)
f(x[:100].copy())
used = int(open("/proc/self/statm").read().split()[0]) * 4096
room = 20 << 20
resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
f(x[:3_500_000])  # for which the blocks kept are too large
"""


def said(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no module resource")
def test_a_call_faults_no_pages_that_the_call_before_has_had() -> None:
    for line in said(FAULTS).splitlines():
        faults, size = map(int, line.split())
        assert size > 5e6
        assert faults < 600  # a page each would be thousands: of the results alone 1,500 and more


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_blocks_go_where_memory_runs_out() -> None:
    said(UNDER_PRESSURE)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_blocks_go_with_functions() -> None:
    def resident() -> int:
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    memory.trim()
    f = wg.function(lambda x: wg.cumsum(wg.sin(x)) * 2.0)
    f(np.ones(20_000_000))  # 160 MB of results, dropped here
    with_blocks = resident()
    del f
    assert resident() < with_blocks - 80e6
