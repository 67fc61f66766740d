"""An exported program as an object file, by LLVM: position-independent, for this processor or for any of its kind."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..dumps import dump
from ..ir.accesses import unchecked
from ..ir.loops import Status
from ..llvm.codegen import module_text
from ..llvm.jit import parsed
from ..llvm.target import features, llvm
from ..llvm.vectormath import TYPES, c_name, operands
from ..lower.forms import TYPE_OF
from ..lower.formulas import Own, c_word
from ..run import context
from ..run.formulas import as_text, entry, function_of_numbers, stored
from .program import SPECIAL, Exported, lapack_name

SIGNATURE = "wengert_signature"  # the symbol under which a shared library says what Python must know
_MOST = 2**63 - 1
_ALIKE = 50_000  # lines from which on code is made without much ado
_used = re.compile(r"@wg\.([\w.]+)")
_called = re.compile(r"@((?:lapack|special)\.\w+)")
_own = re.compile(r"@own\.[\w.]+")


_MEMORY = """
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
define ptr @wengert_take(i64 %size) {
  %some = call i64 @llvm.umax.i64(i64 %size, i64 1)
  %made = call ptr @malloc(i64 %some)
  ret ptr %made
}
define ptr @wengert_grow(ptr %held, i64 %size) {
  %some = call i64 @llvm.umax.i64(i64 %size, i64 1)
  %made = call ptr @realloc(ptr %held, i64 %some)
  ret ptr %made
}
define void @wengert_drop(ptr %held) {
  call void @free(ptr %held)
  ret void
}
declare i64 @llvm.umax.i64(i64, i64)
"""


def object_code(program: Exported, cpu: str, signature: bytes = b"", more: str = "", is_here: bool = False) -> bytes:
    """The object file of a program.

    Args:
        program: the program.
        cpu: "generic" for any processor of this machine's kind, "native" for one like this machine's.
        signature: what a shared library tells Python about itself; nothing is added if it is empty.
        more: functions in IR that call the program's.
        is_here: the code is for this process, where LAPACK is SciPy's.
    """
    binding = llvm()
    target = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=binding.get_host_cpu_name() if cpu == "native" else "",
        features=features() if cpu == "native" else "", opt=2, reloc="pic", codemodel="small",
    )  # fmt: skip
    functions = {"work": program.function, **{c_word(x.name): x.function for x in program.own}}
    if program.derived is not None:
        functions["derive"] = program.derived
    with unchecked():
        texts = [_own_names(module_text(function, name), is_here) for name, function in functions.items()]
    is_huge = sum(map(len, texts)) > 40 * _ALIKE
    options = binding.create_pipeline_tuning_options(1 if is_huge else 2)
    options.loop_vectorization = options.slp_vectorization = not is_huge
    with parsed(_interface(program, signature) + more, *texts) as module:
        module.triple = binding.get_process_triple()
        module.data_layout = str(target.target_data)
        inner = ["work", "derive"] if program.derived is not None else ["work"]
        inner += [name for x in program.own for name in (c_word(x.name), entry(x))]
        for name in (*inner, "wengert_take", "wengert_grow", "wengert_drop"):
            module.get_function(name).linkage = "internal"
        module.verify()
        passes = binding.create_pass_builder(target, options)
        passes.getModulePassManager().run(module, passes)
        dump("llvm", program.name, lambda: str(module))
        return target.emit_object(module)


def _own_names(text: str, is_here: bool) -> str:
    """A module whose mathematics is the C library's, one number at a time, and that has no helpers of ours."""
    names = sorted(set(_used.findall(text)))
    declared = [_declaration(name) for name in names]
    text = _used.sub(lambda m: "@" + c_name(*m[1].split(".")[:2]), text)
    text = _called.sub(lambda m: "@" + _outside(m[1], is_here), text)
    text = _own.sub(lambda m: m[0].replace(".", "_") + "_of", text)
    return "\n".join([text, *declared, ""])


def _outside(name: str, is_here: bool) -> str:
    if name == "special.gammaln":
        return "wengert_gammaln"
    if name in SPECIAL:
        return "wengert_gamma"
    return name if is_here else lapack_name(name)


def _declaration(name: str) -> str:
    function, dtype = name.split(".")[:2]
    kind = TYPES[dtype]
    given = ", ".join([kind] * operands(function))
    return f"declare {kind} @{c_name(function, dtype)}({given}) nounwind willreturn nofree nosync memory(none)"


# C's lgamma tells the sign in a variable that threads share, but on Windows, which has no lgamma_r
_LOG_GAMMA = """
declare double @lgamma_r(double, ptr)
define linkonce_odr hidden double @wengert_gammaln(double %x, i32 %unused) {
  %sign = alloca i32
  %found = call double @lgamma_r(double %x, ptr %sign)
  ret double %found
}
"""
_LOG_GAMMA_OF_WINDOWS = """
declare double @lgamma(double)
define linkonce_odr hidden double @wengert_gammaln(double %x, i32 %unused) {
  %found = call double @lgamma(double %x)
  ret double %found
}
"""
_GAMMA = """
declare double @tgamma(double)
define linkonce_odr hidden double @wengert_gamma(double %x, i32 %unused) {
  %found = call double @tgamma(double %x)
  ret double %found
}
"""


def _interface(program: Exported, signature: bytes) -> str:
    """The module with the function that C calls, memory, and constants."""
    sizes = [f"%n{i}" for i in range(len(program.sizes))]
    arrays = [f"%a{i}" for i in range(len(program.operands))]
    outs = [f"%r{i}" for i in range(len(program.results))]
    given = ", ".join([*[f"i64 {n}" for n in sizes], *[f"ptr {a}" for a in (*arrays, *outs)]])
    buffers = [*arrays, *[f"@constant{i}" for i in range(len(program.constants))], *outs]
    presets = [*sizes, str(_MOST)] if program.has_budget else sizes
    lines = [
        f"define i32 @{program.name}({given}) {{",
        f"  %buffers = alloca [{max(1, len(buffers))} x ptr]",
        f"  %sizes = alloca [{max(1, program.count)} x i64]",
        f"  %context = alloca [{context.SIZE} x i8], align 8",
        *stored("buffers", "ptr", buffers), *stored("sizes", "i64", presets),
    ]  # fmt: skip
    call = "(ptr %buffers, ptr %sizes, ptr %context)"
    if program.derived is not None:
        lines += [
            f"  %fits = call i32 @derive{call}",
            "  %differs = icmp ne i32 %fits, 0",
            "  br i1 %differs, label %refuse, label %go",
            "refuse:", f"  ret i32 {Status.REFUSED}", "go:",
        ]  # fmt: skip
    lines += [f"  %status = call i32 @work{call}", "  ret i32 %status", "}", "declare i32 @work(ptr, ptr, ptr)"]
    if program.derived is not None:
        lines.append("declare i32 @derive(ptr, ptr, ptr)")
    constants = [f"@constant{i} = private constant {_bytes(c)}, align 64" for i, c in enumerate(program.constants)]
    if signature:
        constants.append(f"@{SIGNATURE} = constant {as_text(signature + bytes(1))}")
    log_gamma = _LOG_GAMMA_OF_WINDOWS if "windows" in llvm().get_process_triple() else _LOG_GAMMA
    own = map(_own_function, program.own)
    return "\n".join([*constants, *lines, *own, _MEMORY, _GAMMA, log_gamma])


def _own_function(own: Own) -> str:
    return f"declare i32 @{c_word(own.name)}(ptr, ptr, ptr)\n{function_of_numbers(own)}"


def _bytes(array: np.ndarray[Any, Any]) -> str:
    assert array.dtype in TYPE_OF
    return as_text(array.tobytes() or bytes(1))


__all__ = ["SIGNATURE", "object_code"]
