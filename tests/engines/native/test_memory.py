"""Blocks of memory that are kept from call to call: which are found again, which go, and when all go."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core import headroom
from wengert._core.blocks import is_block
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
import sys
import numpy as np
import wengert as wg

def many(sizes):
    def total(parts):
        return sum(wg.sum(wg.tanh(part) ** 2) for part in parts.values())
    return total, [{name: np.ones(size) for name in map(str, range(30))} for size in sizes]

def looped():
    jacobian = wg.jacobian(lambda row: wg.fori_loop(0, 6, lambda i, s: wg.sin(s * row), row))
    return wg.function(wg.vmap(jacobian)), [np.linspace(0.1, 1.0, 20_000 * 8).reshape(-1, 8)]

def told_sizes():
    f = wg.function(lambda x: wg.cumsum(wg.sin(x), axis=1), input_signature=[wg.TensorSpec((None, 8))])
    return f, [np.ones((rows, 8)) for rows in (100_000, 1_000_000)]

def gradient_of(total, arguments):
    return wg.function(wg.grad(total)), arguments

def eager(total, arguments):
    return wg.grad(total), arguments

PROGRAMS = {
    "loop": looped,
    "sizes told": told_sizes,
    "small leaves": lambda: gradient_of(*many([700])),
    "leaves": lambda: gradient_of(*many([10_000])),
    "large leaves": lambda: gradient_of(*many([100_000])),
    "eager leaves": lambda: eager(*many([10_000])),
    "sizes that alternate": lambda: gradient_of(*many([3_000, 20_000])),
    "large sizes that alternate": lambda: gradient_of(
        lambda x: wg.sum(wg.sort(wg.sin(x)) ** 2), [np.ones(1_000_000), np.ones(5_000_000)]
    ),
}
call, arguments = PROGRAMS[sys.argv[1]]()
for k in range(16):
    result = call(arguments[k % len(arguments)])
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for k in range(16):
    result = call(arguments[k % len(arguments)])
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
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


def said(program: str, *arguments: str, **variables: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", program, *arguments]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other C libraries give back what they like")
@pytest.mark.sampled(4)  # of some seconds each
@pytest.mark.parametrize(
    "program",
    ["loop", "sizes told", "small leaves", "leaves", "large leaves", "eager leaves", "sizes that alternate",
     "large sizes that alternate"],
)  # fmt: skip
def test_calls_after_the_first_ones_fault_no_pages(program: str) -> None:
    faults = int(said(FAULTS, program))
    assert faults < 16  # in 16 calls: a result alone has 40 pages a call and more, but Python takes a page now and then


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other C libraries give back what they like")
def test_programs_from_the_disk_fault_no_pages_either(tmp_path: Path) -> None:
    for _ in range(2):  # the second process loads what the first one has written
        assert int(said(FAULTS, "leaves", WENGERT_CACHE_DIR=str(tmp_path))) < 16
    assert any(path.is_file() for path in tmp_path.rglob("*"))


# -- what somebody holds ----------------------------------------------------------------------------------------------

BYTES = 8 * 40_000  # of a result that lies in a block
HOLDS = {
    "the array": lambda x: x,
    "a view": lambda x: x[1:][::2],
    "a view of a view": lambda x: x.reshape(200, 200).T[3],
    "a view of another dtype": lambda x: x.view(np.uint8),
    "a buffer": lambda x: memoryview(x)[5:],
    "DLPack": np.from_dlpack,
    "an iterator": lambda x: x.flat,
    "an object of ctypes": lambda x: (ctypes.c_double * x.size).from_buffer(x),
    "the base alone": lambda x: (x.base, x.ctypes.data),
}


def _contents(held: object) -> np.ndarray:
    if isinstance(held, tuple):
        return np.ctypeslib.as_array((ctypes.c_double * (BYTES // 8)).from_address(held[1])).copy()
    return np.array(held)


@pytest.mark.parametrize("is_last", [False, True])  # then calls go straight to machine code
@pytest.mark.parametrize("how", HOLDS)
def test_memory_that_somebody_holds_is_not_taken_again(how: str, is_last: bool) -> None:
    f = wg.function(lambda x: wg.sin(x) * 2.0)
    x = np.linspace(0.0, 1.0, BYTES // 8)
    f(x)
    if not is_last:
        f(x[:-1])
    result = f(x)
    assert is_block(result.base)
    held = HOLDS[how](result)
    expected = _contents(held)
    gone = weakref.ref(result)
    del result
    assert (gone() is None) == (how == "the base alone")
    for k in range(40):
        other = f(x + k)
        assert not isinstance(held, np.ndarray) or not np.shares_memory(other, held)
    np.testing.assert_array_equal(_contents(held), expected)


def test_memory_that_nobody_holds_is_taken_again() -> None:
    f = wg.function(lambda x: wg.sin(x) * 2.0)
    x = np.linspace(0.0, 1.0, 3 * BYTES // 8)
    assert len({f(x).ctypes.data for _ in range(20)}) == 1


def test_threads_hold_results_of_their_own() -> None:
    f = wg.function(lambda x: wg.sin(x) * 2.0)
    x = np.linspace(0.0, 1.0, BYTES // 8)

    def run(number: int) -> bool:
        held = [f(x + number)]
        for k in range(60):
            held = [*held[-3:], f(x + number + k % 5)]
            own = np.sin(x + number + k % 5) * 2.0
            if not np.allclose(held[-1], own):
                return False
        return len({a.ctypes.data for a in held}) == len(held)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(4)))


def test_results_that_are_whole_blocks_are_not_copied_where_sizes_change() -> None:
    f = wg.function(lambda x: wg.sin(x) * 2.0)
    x = np.linspace(0.0, 1.0, BYTES // 8)
    assert [is_block(f(x[k % 2 :]).base) for k in range(6)] == [True] * 6


def test_an_array_on_the_memory_of_somebody_else_is_no_block() -> None:
    f = wg.function(lambda x: wg.sin(x) * 2.0)
    result = f(np.linspace(0.0, 1.0, BYTES // 8))
    assert not any(map(is_block, (None, result, result[1:].base, np.from_dlpack(np.ones(3)).base)))


@pytest.mark.parametrize("same", [lambda x: x, wg.asarray, wg.function(lambda x: x)])
def test_a_result_that_is_given_back_as_it_is_is_a_copy(same: Any) -> None:
    given = wg.function(lambda x: wg.sin(x) * 2.0)(np.linspace(0.0, 1.0, BYTES // 8))
    beside = wg.value_and_grad(lambda x: (wg.sum(x), same(x)), has_aux=True)(given)[0][1]
    for found in (beside, wg.function(same)(given)):
        assert not np.shares_memory(found, given)
        assert found.flags.writeable


# -- pressure ---------------------------------------------------------------------------------------------------------


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
