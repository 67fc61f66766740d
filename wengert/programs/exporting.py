"""`Function.export`, `low_level` and `load_library`: programs as shared libraries, and as C callables for SciPy."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import ctypes
import functools
import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from .._compile.rebuilding import rebuilder
from .._compile.saved import Decoder, Encoder
from .._compile.trace import ArrayKey, Static, Traced
from .._core import dtypes
from .._core.dims import Atom, Dim
from .._core.graph import Graph
from .._core.structure import Spec, describe, flatten
from .._core.user_line import at_user_line
from .._core.whole_files import write_whole
from .._engines.native import engine
from .._engines.native.export.c_source import c_source
from .._engines.native.export.header import header, needs_text, source_comment
from .._engines.native.export.lapack import are_own
from .._engines.native.export.linking import archive, open_names, shared_library
from .._engines.native.export.objects import SIGNATURE, object_code
from .._engines.native.export.program import Exported, exported
from .._engines.native.llvm import jit
from .._engines.native.run.callable import CALLABLE
from .named_results import allow_named_results

Whole = tuple[Spec | None, tuple[Any, ...], Traced]

allow_named_results()

_CPUS = ("generic", "native")
_ENDINGS = (".so", ".a", ".o", ".c")


def export(name: str, whole: Whole, path: str | os.PathLike[str], cpu: str) -> None:
    """Writes a traced function as a library, and its header."""
    target = os.fspath(path)
    base, ending = os.path.splitext(target)
    if ending not in _ENDINGS:
        raise ValueError(at_user_line(
            f"export: {target!r} should end in .so (a shared library), .a (a static one), .o (an object) or .c (source)"
        ))  # fmt: skip
    if cpu not in _CPUS:
        raise ValueError(at_user_line(f"export: there is no cpu {cpu!r}; wanted 'generic' or 'native'"))
    program = _program(name, whole)
    if ending == ".c":
        include = f"{os.path.basename(base)}.h"
        content = c_source(program, source_comment(program), include).encode()
        needs = needs_text(program, set(), "chosen" if are_own(program.lapack) else "linked")
    else:
        _require_compiler()
        content, needs = _library(program, cpu, ending, _signature(name, whole, program))
    write_whole(target, [content])
    write_whole(f"{base}.h", [header(program, needs).encode()])


def _library(program: Exported, cpu: str, ending: str, signature: bytes) -> tuple[bytes, str]:
    """A program as machine code, and which libraries that needs."""
    image = object_code(program, cpu, signature if ending == ".so" else b"")
    undefined = open_names(image)
    needs = needs_text(program, undefined, "linked")
    if ending == ".a":
        image = archive(f"{program.name}.o", image, [program.name])
    elif ending == ".so":
        try:
            image, has_lapack = shared_library(image, program.lapack, "-lm" in needs)
        except RuntimeError as error:
            raise RuntimeError(at_user_line(str(error))) from None
        needs = needs_text(program, undefined, "own" if has_lapack else "linked")
    return image, needs


def _program(name: str, whole: Whole) -> Exported:
    graph = whole[2].graph
    try:
        return exported(graph, name, [value.name for value in graph.inputs])
    except TypeError as error:
        raise TypeError(at_user_line(str(error))) from None


def _require_compiler() -> None:
    if not engine.has_llvm():
        raise RuntimeError(at_user_line("export: machine code needs llvmlite, which is not installed"))


# -- shared libraries, from Python ------------------------------------------------------------------------------------


def _signature(name: str, whole: Whole, program: Exported) -> bytes:
    """What a library says of itself: what it takes and gives, or why it cannot tell."""
    spec, keys, traced = whole
    encoder = Encoder()
    try:
        data = {
            "name": name, "symbol": program.name, "spec": encoder.spec(spec), "keys": [encoder.key(k) for k in keys],
            "results": encoder.spec(traced.results),
            "places": [encoder.key(p) if isinstance(p, Static) else p for p in traced.places],
            "inputs": _types(encoder, traced.graph.inputs), "outputs": _types(encoder, traced.graph.outputs),
        }  # fmt: skip
    except TypeError:
        data = {"untold": "takes or gives structures that are no lists, tuples, dicts or named tuples of ours"}
    return b"" if encoder.arrays else json.dumps(data, separators=(",", ":")).encode()


def _types(encoder: Encoder, values: Sequence[Any]) -> list[Any]:
    return [[encoder.attribute((*v.shape,)), v.dtype.name] for v in values]


_Stamp = tuple[int, int, int, int]
_opened_as: dict[str, _Stamp] = {}  # the files that this process has loaded, by path


def _opened(path: str) -> ctypes.CDLL:
    """A library as it is now: a loader that knows the path gives what the file was when it was first loaded."""
    held = os.stat(path)
    stamp = (held.st_dev, held.st_ino, held.st_size, held.st_mtime_ns)
    if _opened_as.setdefault(path, stamp) == stamp:
        return ctypes.CDLL(path)
    with tempfile.TemporaryDirectory(prefix="wengert-", ignore_cleanup_errors=True) as folder:
        return ctypes.CDLL(shutil.copy(path, os.path.join(folder, os.path.basename(path))))


class ExportedFunction:
    """A function of a shared library that `Function.export` wrote; made by `load`.

    Attributes:
        path: the library.
        __name__: the function's name.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            library = _opened(path)
        except OSError as error:  # something that it needs is not there, or it is of another machine
            message = f"load: {error}; the header beside it says which libraries it needs"
            raise OSError(at_user_line(message)) from None
        try:
            said = ctypes.c_char.in_dll(library, SIGNATURE)
        except ValueError:
            message = f"load: {path} does not say what it takes and gives; only what export wrote as .so does"
            raise ValueError(at_user_line(message)) from None
        data = json.loads(ctypes.string_at(ctypes.addressof(said)))
        if "untold" in data:
            raise TypeError(at_user_line(f"load: the function of {path} {data['untold']}; only C can call it"))
        decoder = Decoder([], [])
        self.__name__ = str(data["name"])
        self._spec = decoder.spec(data["spec"])
        self._keys = [decoder.key(k) for k in data["keys"]]
        self._inputs = [(decoder.attribute(shape), dtypes.as_dtype(t)) for shape, t in data["inputs"]]
        self._outputs = [(decoder.attribute(shape), dtypes.as_dtype(t)) for shape, t in data["outputs"]]
        places = [p if isinstance(p, int) else decoder.key(p) for p in data["places"]]
        self._rebuild = rebuilder(decoder.spec(data["results"]), places)
        self._run = library[str(data["symbol"])]
        self._atoms: list[Atom] = []
        for shape, _ in self._inputs:
            self._atoms += [d.atom for d in shape if isinstance(d, Dim) and d.is_atom and d.atom not in self._atoms]

    def __repr__(self) -> str:
        return f"<exported {self.__name__} of {self.path}>"

    def __reduce__(self) -> Any:
        return load_library, (self.path,)

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        """What the function gives for arrays of the shapes and types that it was exported for."""
        leaves, spec = flatten((args, kwargs))
        if spec != self._spec:
            message = f"{self.__name__}: got arguments {describe(spec)}, wanted {describe(self._spec)}"
            raise TypeError(at_user_line(message))
        given: list[np.ndarray[Any, Any]] = []
        sizes: dict[Atom, int] = {}
        for place, (leaf, key) in enumerate(zip(leaves, self._keys, strict=True)):
            if isinstance(key, ArrayKey):
                given.append(self._array(leaf, *self._inputs[len(given)], place, sizes))
            elif key != Static(leaf):
                message = f"{self.__name__}: argument {place} is {leaf!r}; the library is for {key.value!r}"
                raise TypeError(at_user_line(message))
        outs = [np.empty([_extent(d, sizes) for d in shape], dtype) for shape, dtype in self._outputs]
        counts = [ctypes.c_int64(sizes[atom]) for atom in self._atoms]
        status = self._run(*counts, *[ctypes.c_void_p(a.ctypes.data) for a in (*given, *outs)])
        if status:
            kind, text = _STATUSES.get(status, (RuntimeError, f"status {status}"))
            raise kind(at_user_line(f"{self.__name__}: {text}"))
        return self._rebuild((*[out[()] if out.ndim == 0 else out for out in outs],))

    def _array(
        self, leaf: object, shape: tuple[Any, ...], dtype: np.dtype[Any], place: int, sizes: dict[Atom, int]
    ) -> np.ndarray[Any, Any]:  # fmt: skip
        """An argument as the library takes it; tells the sizes that it has."""
        array = np.asarray(leaf)
        is_number = type(leaf) in (float, complex, list)
        if array.dtype != dtype and not (is_number and np.can_cast(array.dtype, dtype, "same_kind")):
            message = (
                f"{self.__name__}: argument {place} has dtype {array.dtype.name}, but the library is for {dtype.name}"
            )
            raise TypeError(at_user_line(message))
        fits = array.ndim == len(shape)
        for wanted, extent in zip(shape, array.shape, strict=False):
            if isinstance(wanted, Dim) and wanted.is_atom:
                fits = fits and sizes.setdefault(wanted.atom, extent) == extent
            else:
                fits = fits and _extent(wanted, sizes) == extent
        if not fits:
            message = f"{self.__name__}: argument {place} has shape {array.shape}, but the library is for {shape}"
            raise ValueError(at_user_line(message))
        return np.require(array, dtype, ("C", "A"))


_STATUSES: dict[int, tuple[type[Exception], str]] = {
    1: (MemoryError, "there is no memory"),
    2: (np.linalg.LinAlgError, "a matrix is singular or not positive definite"),
    3: (IndexError, "an index is out of range"),
    5: (ValueError, "sizes do not fit, or the values ask for an error that only the function itself can word"),
}


def _extent(dim: Any, sizes: dict[Atom, int]) -> int:
    return int(dim.evaluate(sizes) if isinstance(dim, Dim) else dim)


def load_library(path: str) -> ExportedFunction:
    """The function of an exported shared library."""
    return ExportedFunction(path)


# -- code for SciPy ---------------------------------------------------------------------------------------------------


def low_level(name: str, whole: Whole) -> Any:
    """The traced function as a `scipy.LowLevelCallable`."""
    graph = whole[2].graph
    _require_numbers(name, graph)
    program = _program(name, whole)
    _require_compiler()
    is_number = len(graph.inputs) == 1 and not graph.inputs[0].shape
    ir = _of_number(program) if is_number else _of_vector(program, graph)
    image = object_code(program, "native", more=ir, is_here=True)
    loaded = jit.link(image, _LOW, sorted(open_names(image)), CALLABLE)
    double, pointer = ctypes.c_double, ctypes.POINTER(ctypes.c_double)
    kind = ctypes.CFUNCTYPE(double, double) if is_number else ctypes.CFUNCTYPE(double, ctypes.c_int, pointer)
    function = kind(loaded.address)
    cast(Any, function).loaded = loaded  # the code stays as long as what calls it
    return _callable_kind()(function)


@functools.cache
def _callable_kind() -> Any:
    """SciPy's class with a call: what wants a Python function (`solve_ivp`) takes the code as well."""
    base = importlib.import_module("scipy").LowLevelCallable

    def called(self: Any, *args: object) -> float:
        function = self.function
        if len(function.argtypes) == 1:
            (x,) = args
            return function(float(np.asarray(x).item()))
        vector = np.concatenate([np.ravel(np.asarray(x, np.float64)) for x in args])
        return function(len(vector), vector.ctypes.data_as(function.argtypes[1]))

    return type("LowLevelCallable", (base,), {"__slots__": (), "__call__": called, "__module__": __name__})


_LOW = "wengert_low_level"
_NAN = "0x7FF8000000000000"


def _require_numbers(name: str, graph: Graph) -> None:
    inputs, outputs = graph.inputs, graph.outputs
    is_vector = len(inputs) == 1 and len(inputs[0].shape) == 1
    takes = bool(inputs) and (is_vector or not any(v.shape for v in inputs))
    gives = len(outputs) == 1 and not outputs[0].shape
    if not (takes and gives) or any(v.dtype != np.float64 for v in (*inputs, *outputs)):
        raise TypeError(at_user_line(
            f"low_level: {name} should take float64 numbers or one float64 vector and give one float64 number; it "
            f"takes {_listed(inputs)} and gives {_listed(outputs)}"
        ))  # fmt: skip


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(f"{v.dtype.name}{list(v.shape)}" for v in values) or "nothing"


def _of_number(program: Exported) -> str:
    return f"""
define double @{_LOW}(double %x) {{
  %in = alloca double
  %out = alloca double
  store double %x, ptr %in
  %status = call i32 @{program.name}(ptr %in, ptr %out)
  %failed = icmp ne i32 %status, 0
  %found = load double, ptr %out
  %told = select i1 %failed, double {_NAN}, double %found
  ret double %told
}}
"""


def _of_vector(program: Exported, graph: Graph) -> str:
    (first, *_) = graph.inputs
    extent = first.shape[0] if first.shape else len(graph.inputs)
    wanted = "%count" if isinstance(extent, Dim) else str(extent)
    places = [f"  %p{i} = getelementptr double, ptr %x, i64 {i}" for i in range(len(graph.inputs))]
    given = ", ".join([*["i64 %count"] * len(program.sizes), *[f"ptr %p{i}" for i in range(len(places))], "ptr %out"])
    return "\n".join([
        f"define double @{_LOW}(i32 %n, ptr %x) {{", "  %out = alloca double", "  %count = sext i32 %n to i64",
        f"  %fits = icmp eq i64 %count, {wanted}", "  br i1 %fits, label %run, label %fail", "run:", *places,
        f"  %status = call i32 @{program.name}({given})", "  %failed = icmp ne i32 %status, 0",
        "  br i1 %failed, label %fail, label %give", "give:", "  %found = load double, ptr %out",
        "  ret double %found", "fail:", f"  ret double {_NAN}", "}", "",
    ])  # fmt: skip
