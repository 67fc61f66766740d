"""A processor with narrower vectors than this one has: what LLVM is told of the host, before any code is made.

The tests run so with `WENGERT_TEST_VECTORS=avx2` or `sse` in the environment.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

VARIABLE = "WENGERT_TEST_VECTORS"
XLA = {"avx2": "AVX2", "sse": "SSE4_2"}  # what JAX calls the widest vectors that it may use
# by name: the processor, and how the names of features begin that it has not got
NARROWER = {
    "avx2": ("haswell", ("avx512", "avx10", "amx", "evex512")),
    "sse": ("x86-64", ("avx", "amx", "evex512", "fma", "f16c", "xop", "vaes", "vpclmulqdq")),
}


def add_option(parser: argparse.ArgumentParser) -> None:
    """The option of a benchmark that says what `choose` takes."""
    parser.add_argument("--vectors", choices=[*XLA], help="narrower ones than the processor has")


def choose(name: str | None) -> None:
    """Writes to the environment what is to be hidden, if anything: from LLVM by `narrow`, from JAX, too, where it loads
    later."""
    if name is None:
        return
    os.environ[VARIABLE] = name
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa={XLA[name]}".strip()


def narrow() -> None:
    """Hides from LLVM what the environment says."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return
    import llvmlite.binding as binding  # optional, and only these tests need it so early

    processor, missing = NARROWER[chosen]
    found: Any = binding.get_host_cpu_features()
    for name in found:
        found[name] = found[name] and not name.startswith(missing)
    binding.get_host_cpu_features = lambda: found
    binding.get_host_cpu_name = lambda: processor
