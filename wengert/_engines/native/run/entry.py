"""Compiled code as a Python function: `bound(loaded, takes, gives, ...)` makes a built-in function of it.

The built-in takes arrays and numbers, checks them against `takes`, and returns NumPy arrays and scalars as `gives`
says: in a tuple, a named tuple, or the only result itself. What does not fit makes it return NotImplemented, before
anything was allocated; the caller then takes the general path. If the code ends with a status other than OK, the
built-in returns what `on_failure(status, failing, *arguments)` returns or raises.

`stub.py` has the code that does this, one for all signatures, in IR; here the records that it reads (`records.py`)
are written. It knows where NumPy and CPython keep an array's fields; `bound` compares that with a real array first, and
where they do not agree (another interpreter, say) there are no built-ins: `bound` returns None, and calls go by
`called`, with ctypes.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...._core import system
from ...._core.constant import owned
from ...._core.user_line import warn
from ..ir import loops
from ..llvm.jit import WRITTEN, Loaded, library
from ..llvm.target import llvm
from . import context, flags, stack, stub
from .callable import CALLABLE
from .looks import Looks
from .records import Argument, Mode, Result, Word


class Told(NamedTuple):
    """An extent that is known when the call runs: `sizes[index]`."""

    index: int


class Take(NamedTuple):
    """An argument.

    Attributes:
        kind: "array" (of rank 0: a NumPy scalar will do, too), "float" (a Python float, passed as dtype), "scalar" (a
            NumPy scalar) or "static".
        dtype: of the buffer that the code sees.
        extents: an int where the extent is fixed, else `Told`: the first axis with an index tells it, later ones must
            agree.
        value: of a static argument, the very object; it is not passed on.
    """

    kind: str
    dtype: np.dtype[Any] | None = None
    extents: tuple[int | Told, ...] = ()
    value: Any = None


class Give(NamedTuple):
    """A result; 0-d results that are not filled become NumPy scalars.

    Attributes:
        dtype: of the result.
        extents: ints, or `Told` for what `sizes` holds once `sizes_function` (for filled ones: the code) has run.
        is_filled: the code takes memory for it (`wengert_take`) and puts the pointer into the slot, which is null at
            the start.
    """

    dtype: np.dtype[Any]
    extents: tuple[int | Told, ...] = ()
    is_filled: bool = False


class Code(NamedTuple):
    """Compiled code with what its callers must know: `bound` in parts, so that it can be bound in several ways.

    Attributes:
        loaded: the code.
        takes: arguments as arrays, one for each input of the graph.
        gives: one for each output of the graph.
        options: the other arguments of `bound`.
    """

    loaded: Loaded
    takes: tuple[Take, ...]
    gives: tuple[Give, ...]
    options: dict[str, Any]

    def looks(self) -> Looks:
        """What `direct` takes, with nothing in it yet."""
        return Looks()

    def function(self) -> Callable[..., Any] | None:
        """A built-in of arrays that returns a tuple."""
        return bound(self.loaded, self.takes, self.gives, **self.options)

    def direct(
        self, arguments: Sequence[Any], form: type | None, looks: Looks | None = None, kept: Sequence[Any] = ()
    ) -> Callable[..., Any] | None:  # fmt: skip
        """A built-in for arguments like these (arrays, NumPy's and Python's numbers) that returns results in a form.

        Args:
            arguments: like those of calls, and the very ones of each call at the end, as many as are `kept`.
            form: what holds the results.
            looks: what must hold; else it refuses.
            kept: arguments that it adds by itself.
        """
        kinds = ["float" if type(a) is float else "scalar" if isinstance(a, np.generic) else "" for a in arguments]
        takes = [take._replace(kind=kind or take.kind) for take, kind in zip(self.takes, kinds, strict=True)]
        options = {
            **self.options, "on_failure": _shaped(self.takes, self.options.get("on_failure"), form, kept),
            "on_flags": _of_natives(takes, self.options.get("on_flags"), kept), "looks": looks, "objects": kept,
        }  # fmt: skip
        return bound(self.loaded, takes, self.gives, form=form, **options)


def bound(
    loaded: Loaded, takes: Sequence[Take], gives: Sequence[Give], sizes: int = 0, sizes_function: Loaded | None = None,
    form: type | None = tuple, on_failure: Callable[..., Any] | None = None, frees_gil: bool = True,
    name: str = "native", constants: Sequence[Any] = (), presets: Sequence[tuple[int, int]] = (),
    kept: np.ndarray[Any, Any] | None = None, on_flags: Callable[..., Any] | None = None,
    looks: Looks | None = None, objects: Sequence[Any] = (),
) -> Callable[..., Any] | None:  # fmt: skip
    """A built-in function that runs compiled code on Python objects.

    Args:
        loaded: the code; the built-in keeps it.
        takes: one for each positional argument.
        gives: one for each result.
        sizes: how many sizes there are, derived ones included.
        sizes_function: code of the entries' type, which derives sizes from those told and returns 0, or another
            number where a guard fails; None if there is none.
        form: what holds the results: tuple, or the type of a named tuple; None: the only result is returned itself.
        on_failure: called with the status, the number of the buffer that could not be had, and the arguments.
        frees_gil: let other threads of Python run meanwhile; costs about 0.05 us.
        name: of the built-in.
        constants: C-contiguous arrays that the code gets as further buffers, behind those of the arguments.
        presets: places among the sizes, each with the address of the 64-bit integer that it gets at each call.
        kept: something that must stay as long as the built-in does, such as what the presets point to.
        on_flags: called with the processor's flags (`flags.KINDS`) and the arguments where the code has set some that
            NumPy's error state asks for; what it raises ends the call. None: nobody asks for flags.
        looks: what must hold; else the built-in refuses.
        objects: arguments that it adds to those of each call, at their end.
    """
    address = _stub_address()
    if not address:
        return None
    derive = 0 if sizes_function is None else sizes_function.address
    shape = 1 if form is None else 0 if form is tuple else id(form)
    added = (ctypes.py_object * len(objects))(*objects)
    described = {
        Word.N_ARGUMENTS: len(takes), Word.N_RESULTS: len(gives), Word.N_SIZES: sizes, Word.ENTRY: loaded.address,
        Word.SIZES_FUNCTION: derive, Word.NDARRAY: id(np.ndarray), Word.FLOAT: id(float),
        Word.REFUSED: id(NotImplemented), Word.FORM: shape, Word.N_THREADS: threads(), Word.FREES_GIL: int(frees_gil),
        Word.N_CONSTANTS: len(constants), Word.N_PRESETS: len(presets),
        Word.STATE: 0 if on_flags is None else flags.ADDRESS, Word.STACK: loaded.stack and loaded.stack + stack.SPARE,
        Word.LOOKS: 0 if looks is None else looks.address, Word.N_KEPT: len(objects),
        Word.KEPT: ctypes.addressof(added),
    }  # fmt: skip
    words = [described[name] for name in Word]
    told: set[int] = set()
    for take in takes:
        words += _argument_words(take, told)
    words += [constant.ctypes.data for constant in constants]
    for place, number in presets:
        words += [place, number]
    for give in gives:
        words += _result_words(give)
    packed = struct.pack(f"{len(words)}q", *words)
    method = _MethodDef(name.encode(), address, _METH_FASTCALL, None)
    # the built-in keeps all it points to: the words, the dtypes, the static objects, the code, the method's definition
    # references keep NumPy from moving the memory of constants, by `resize(refcheck=False)`
    pins = (*[weakref.ref(constant) for constant in constants],)
    needed = (loaded, method, (*takes,), (*gives,), form, (*constants,), pins, sizes_function, kept, looks, added)
    held = (packed, on_failure or _unexplained, on_flags, needed)
    return _new_function(ctypes.byref(method), held, None)


def called(loaded: Loaded, arrays: Sequence[Any], results: Sequence[Any], sizes: Sequence[int]) -> tuple[int, int]:
    """Runs code through ctypes on arrays that fit; the status and the failing buffer. For tests and odd machines."""
    pointers = [a.ctypes.data for a in (*arrays, *results)]
    buffers = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
    words = (ctypes.c_int64 * (context.SIZE // 8))()
    words[context.THREADS // 8] = threads()
    status = loaded.run(buffers, (ctypes.c_int64 * max(1, len(sizes)))(*sizes), words)
    return status, words[context.FAILING // 8]


THREADS = "WENGERT_NUM_THREADS"
MOST_THREADS = 4096
DIGITS = 100  # so that Python reads a number in no time


@functools.cache
def tell_malformed(wanted: str) -> None:
    """Says, once for each value, that it is none: a call that worked without the variable goes on without it."""
    message = f"{THREADS} is {wanted[:40]!r}; it should be a whole number from 1 to {MOST_THREADS:,}"
    warn(f"{message}: all cores are used", RuntimeWarning)


def threads() -> int:
    """How many threads a call may use: WENGERT_NUM_THREADS, or all cores that this process may run on."""
    wanted = os.environ.get(THREADS, "").strip()
    if wanted:
        if wanted.isdecimal() and len(wanted) <= DIGITS and 1 <= int(wanted) <= MOST_THREADS:
            return int(wanted)
        tell_malformed(wanted)
    return system.SYSTEM.processors()


# -- records ----------------------------------------------------------------------------------------------------------


def own_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The very object that arrays of NumPy's making have as their dtype."""
    return np.dtype(dtype.type)


def _argument_words(take: Take, told: set[int]) -> list[int]:
    if take.kind == "float":
        assert take.dtype is not None
        return [Argument.FLOAT64 if take.dtype.itemsize == 8 else Argument.FLOAT32]
    if take.kind == "scalar":
        assert take.dtype is not None
        return [Argument.SCALAR, id(take.dtype.type)]
    if take.kind == "static":
        return [Argument.STATIC, id(take.value)]
    assert take.dtype is not None
    words = [Argument.ARRAY, id(own_dtype(take.dtype)), len(take.extents), 0 if take.extents else id(take.dtype.type)]
    for extent in take.extents:
        if type(extent) is not Told:
            words += [Mode.FIXED, int(extent)]  # pyright: ignore[reportArgumentType]
        else:
            words += [Mode.CHECKED if extent.index in told else Mode.TOLD, extent.index]
            told.add(extent.index)
    return words


def _result_words(give: Give) -> list[int]:
    if give.is_filled:
        kind = Result.FILLED
    else:
        kind = Result.FRESH + 256 * give.dtype.itemsize if give.extents else Result.NUMBER
    words = [kind, id(own_dtype(give.dtype)), len(give.extents)]
    for extent in give.extents:
        words += [Mode.TOLD, extent.index] if type(extent) is Told else [Mode.FIXED, int(extent)]  # pyright: ignore[reportArgumentType]
    return words


def _shaped(
    takes: Sequence[Take], on_failure: Callable[..., Any] | None, form: Any, kept: Sequence[Any]
) -> Callable[..., Any] | None:  # fmt: skip
    """A handler of failures for callers: it gets natives, and its results are the caller's own and in their form."""
    if on_failure is None:
        return None

    def shaped(status: int, failing: int, *arguments: object) -> Any:
        # the natives have no name, which would hold them where Python has no memory for the error's traceback
        results = owned(on_failure(status, failing, *_natives(takes, (*arguments, *kept))), (*arguments, *kept))
        return results[0] if form is None else results if form is tuple else form._make(results)

    return shaped


def _of_natives(
    takes: Sequence[Take], on_flags: Callable[..., Any] | None, kept: Sequence[Any]
) -> Callable[..., Any] | None:  # fmt: skip
    """A handler of flags for callers: it gets natives."""
    if on_flags is None or not (kept or any(take.kind == "float" for take in takes)):
        return on_flags
    return lambda found, *arguments: on_flags(found, *_natives(takes, (*arguments, *kept)))


def _natives(takes: Sequence[Take], arguments: Sequence[Any]) -> list[Any]:
    pairs = zip(takes, arguments, strict=True)
    return [t.dtype.type(a) if t.dtype is not None and type(a) is float else a for t, a in pairs]


def _unexplained(status: int, failing: int, *arguments: object) -> Any:
    if status == loops.Status.MEMORY:
        raise MemoryError(f"no memory for buffer {failing} of native code")
    raise RuntimeError(f"native code ended with status {status}")


# -- the stub, once per process ---------------------------------------------------------------------------------------

_METH_FASTCALL = 0x80


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


@functools.cache
def _stub_address() -> int:
    """The stub's address, 0 where objects do not look as it expects."""
    header = object.__basicsize__
    if not _objects_look_as_expected(header):
        return 0
    return library(stub.stub_ir(header), stub.NAME, effort=WRITTEN, table=CALLABLE).address


def _objects_look_as_expected(header: int) -> bool:
    """Whether this interpreter and this NumPy keep types, shapes and data where the stub reads them."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or not hasattr(ctypes, "pythonapi"):
        return False
    probe = np.zeros((2, 3), np.float32)
    words = (ctypes.c_int64 * (header // 8 + 8)).from_address(id(probe))
    start = header // 8
    dims = ctypes.cast(words[start + 2], ctypes.POINTER(ctypes.c_int64)) if words[start + 2] else None
    return (
        words[start - 1] == id(np.ndarray)
        and words[start] == probe.ctypes.data
        and words[start + 1] & 0xFFFFFFFF == 2
        and dims is not None
        and dims[0:2] == [2, 3]
        and words[start + 5] == id(probe.dtype)
        and words[start + 6] & 0x101 == 0x101
        and llvm() is not None
    )


def _new_function(method: object, held: tuple[Any, ...], module: object) -> Callable[..., Any]:
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(method, held, module)
