"""The machine that code is made for: CPU, features, and LLVM's target machines for it."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from typing import Any

from ...._core import forking, system
from ..run import llvm_memory

# LLVM keeps to 256 bits on some CPUs because the first of them ran slower on 512; our loops gain from the whole width.
_FULL_WIDTH = ("-prefer-128-bit", "-prefer-256-bit")
# AMD's processors take elements of vectors from here and there one by one, and longer than single moves would.
_ONE_BY_ONE = ("+prefer-no-gather", "+prefer-no-scatter")


@functools.cache
def llvm() -> Any:
    """`llvmlite.binding`, imported and set up on first use.

    Raises:
        ImportError: llvmlite is not installed, or cannot be loaded.
        MemoryError: there is not enough to load it.
    """
    if "llvmlite.binding" not in sys.modules:
        llvm_memory.require("to load LLVM", *llvm_memory.LIBRARY)
    binding = importlib.import_module("llvmlite.binding")
    # llvmlite's own, around each call of LLVM: no public name, but a child of a fork would wait for it for ever
    forking.share(binding.ffi.lib._lock)
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@functools.cache
def lack() -> str:
    """Why LLVM makes no code for this machine: it cannot be loaded, or does not know it; empty where it does."""
    try:
        machine(0)
    except MemoryError:
        return ""  # of this moment
    except Exception as error:  # whatever a library of another system, or half of one, comes to
        return f"llvmlite does not work here, {type(error).__name__}: {error}"
    return ""


@functools.cache
def features(gathers: bool = False) -> str:
    """The host's CPU features as LLVM writes them, full vector width preferred; `gathers` as in `machine`."""
    found = llvm().get_host_cpu_features()
    flags = [f"{'+' if there else '-'}{name}" for name, there in sorted(found.items())]
    return ",".join([*flags, *(_FULL_WIDTH if is_x86() else ()), *(_ONE_BY_ONE if is_amd() and not gathers else ())])


def is_amd() -> bool:
    """Whether the machine is an x86-64 of AMD's with AVX2."""
    return llvm().get_host_cpu_name().startswith("znver")


def is_x86() -> bool:
    """Whether the machine is an x86-64."""
    return llvm().get_process_triple().startswith("x86_64")


def is_arm() -> bool:
    """Whether the machine is an ARM of 64 bits."""
    return llvm().get_process_triple().startswith(("aarch64", "arm64"))


_own = threading.local()


def machine(level: int, gathers: bool = False) -> Any:
    """LLVM's target machine for the host: each thread's own, as LLVM asks for.

    Args:
        level: of optimisation, 0 to 3.
        gathers: whether to fill vectors from here and there where the processor is slow at that, too.
    """
    made: dict[tuple[int, bool], Any] = _own.__dict__.setdefault("machines", {})
    if (level, gathers) not in made:
        made[level, gathers] = new_machine(level, gathers)
    return made[level, gathers]


def new_machine(level: int, gathers: bool = False) -> Any:
    """A target machine for whoever keeps it."""
    binding = llvm()
    target = binding.Target.from_triple(binding.get_process_triple())
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features(gathers), opt=level, reloc="pic", codemodel="small"
    )


@functools.cache
def layout() -> str:
    """The data layout that modules for the host must carry."""
    return str(machine(2).target_data)


@functools.cache
def identity() -> str:
    """What machine code depends on beside its IR: a part of each key of the cache on disk."""
    binding = llvm()
    version = ".".join(map(str, binding.llvm_version_info))
    return "\n".join(
        [system.SYSTEM.name, version, binding.get_process_triple(), binding.get_host_cpu_name(), features()]
    )


@functools.cache
def has_fma() -> bool:
    """Whether the machine multiplies and adds with one rounding."""
    return not is_x86() or bool(llvm().get_host_cpu_features().get("fma"))


@functools.cache
def has_halves() -> bool:
    """Whether the machine converts between float16 and float32."""
    return not is_x86() or bool(llvm().get_host_cpu_features().get("f16c"))


@functools.cache
def has_scaling() -> bool:
    """Whether the machine multiplies vectors of any width by powers of two in one instruction: x86's with AVX-512."""
    found = llvm().get_host_cpu_features()
    return is_x86() and bool(found.get("avx512f")) and bool(found.get("avx512vl"))


@functools.cache
def vector_bits() -> int:
    """The width of the host's widest vector registers, in bits."""
    found = llvm().get_host_cpu_features()
    if is_x86():
        return 512 if found.get("avx512f") else 256 if found.get("avx2") else 128
    return 128  # NEON and its kin; scalable vectors are used at LLVM's discretion
