"""Constants: plain numbers and arrays as tensors, and tensors back as what the caller works with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cache
from typing import Any

import numpy as np

from . import dtypes
from .apply import apply
from .blocks import is_block
from .dims import Dim
from .engine import ENGINE_OF, Engine, default_engine, only_engine, transferred
from .foreign_arrays import require_plain
from .kinds import NUMBERS
from .op import REGISTRY
from .state import STATE, next_serial
from .tensor import Tensor, Value
from .user_line import at_user_line

COPY_LIMIT = 64 * 1024  # bytes; larger arrays that a trace captures are held, not copied


def constant(array: np.ndarray[Any, Any] | np.generic, weak: bool = False) -> Tensor:
    """A tensor of NumPy values, borrowed: in a trace a `constant` node, else a concrete tensor."""
    is_made = False  # by adopted code, which may go on writing to it
    if type(array) is not np.ndarray:
        require_plain(type(array))
        held = getattr(type(array), "__wengert_tensor__", None)
        if held is not None:  # an array that stands for a tensor
            return held(array)
        is_made = getattr(array, "__wengert_made__", False)
    if not array.dtype.isnative:  # dtypes of another byte order would differ from all others
        array = array.astype(array.dtype.newbyteorder("="))
    if STATE.builder is not None:
        if STATE.builder.arrays is not None and isinstance(array, np.ndarray):
            captured = STATE.builder.arrays.tensor_of(array)
            if captured is not None:
                return captured
        kept = np.array(array) if array.nbytes <= COPY_LIMIT or is_made else array
        tensor = apply(REGISTRY["constant"], (), (kept,))
        tensor._weak = weak
        STATE.builder.constants[tensor._key] = kept
        return tensor
    # a view, so that a result which is this very array is seen to be borrowed and is copied on the way out
    borrowed: Any = array
    if isinstance(array, np.ndarray):
        borrowed = np.array(array) if is_made else array.view(np.ndarray)
    return Tensor(default_engine().from_numpy(borrowed), next_serial(), None, weak)


def given_constant(array: np.ndarray[Any, Any] | np.generic) -> Tensor:
    """A tensor of what a user gave; a trace notes NumPy's scalars, which torch takes for plain numbers."""
    tensor = constant(array)
    if STATE.builder is not None and isinstance(array, np.generic):
        STATE.builder.scalars.add(tensor._key)
    return tensor


def number(value: bool | int | float | complex, dtype: np.dtype[Any] | None = None) -> Tensor:
    """A Python number as a tensor of the given dtype, or of its own default one (then it is weakly typed)."""
    weak = dtype is None
    return scalar_constant(scalar_array(value, dtype or number_dtype(value)), weak)


def scalar_constant(scalar: np.generic, weak: bool = False) -> Tensor:
    """As `constant`, of a scalar that we made."""
    if STATE.builder is not None:
        return constant(scalar, weak)
    own: Any = scalar
    return Tensor(default_engine().from_numpy(own), next_serial(), None, weak)


def dimension(dim: Dim) -> Tensor:
    """A dimension of a trace as a tensor: weak, as the Python integer that it stands for."""
    return weakened(apply(REGISTRY["dim_value"], (), (dim,)))


def scalar_array(value: bool | int | float | complex, dtype: np.dtype[Any]) -> np.generic:
    """A NumPy scalar of exactly the dtype; a Python integer that does not fit is an `OverflowError`."""
    if type(value) is int and dtypes.is_integer(dtype):
        least, most = range_of(dtype)
        if not least <= value <= most:
            raise OverflowError(at_user_line(f"Python integer {value} out of bounds for {dtype.name}"))
    return dtype.type(value)


@cache
def range_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the largest number of an integer dtype."""
    info = np.iinfo(dtype)
    return info.min, info.max


def number_dtype(value: Any) -> np.dtype[Any]:
    """The dtype that a bare Python number becomes."""
    kind = type(value)
    if kind is float:
        return dtypes.default_float()
    if kind is bool:
        return dtypes.bool_
    if kind is int:
        return dtypes.int64 if -(2**63) <= value < 2**63 else np.dtype(np.uint64)
    return dtypes.default_complex() if kind is complex else number_dtype(_as_python(value))


def _as_python(value: object) -> Any:
    """A subclass of a Python number as the number itself."""
    return next(kind(value) for kind in NUMBERS if isinstance(value, kind))


def is_number(value: object) -> bool:
    """Whether a value is a Python number (NumPy's scalars are arrays)."""
    return isinstance(value, NUMBERS) and not isinstance(value, np.generic)


def checked_array(value: Any, what: str) -> np.ndarray[Any, Any] | np.generic:
    """A NumPy array of a supported dtype in native byte order, or `TypeError`."""
    dtype = value.dtype
    if not dtypes.is_supported(dtype):
        raise TypeError(at_user_line(f"{what}: dtype {dtype} is not supported"))
    return value if dtype.isnative else value.astype(dtype.newbyteorder("="))


def met_engine(engines: set[Engine]) -> Engine:
    """`only_engine`, its error with the user's line."""
    try:
        return only_engine(engines)
    except TypeError as error:
        raise TypeError(at_user_line(str(error))) from None


def to_numpy_result(tensor: Tensor) -> Any:
    """A result for a NumPy caller: fresh, writable, C-contiguous, 0-d as a NumPy scalar.

    A symbolic tensor stays a tensor: it has no values yet. Nor has a framework's tracer, which is given as such.
    """
    data = tensor._data
    if type(data) is Value or (STATE.recorders and tensor.is_followed):
        return strong(tensor)
    engine = ENGINE_OF[type(data)]
    return callers_own(engine.to_numpy(data)) if engine.is_concrete(data) else engine.leave(data)


def native_result(tensor: Tensor, engine: Engine) -> Any:
    """A result for a caller who works with a framework's arrays; as above a symbolic tensor stays a tensor."""
    data = tensor._data
    if type(data) is Value or (STATE.recorders and tensor.is_followed):
        return strong(tensor)
    return engine.give(transferred(data, engine))


def strong(tensor: Tensor) -> Tensor:
    """A tensor that is weak no more: it stands for the NumPy scalar that callers get where nothing is recorded."""
    return strong_twin(tensor) if tensor._weak else tensor


def strong_twin(tensor: Tensor) -> Tensor:
    """Another tensor of a value, whoever receives it may write to it, and not weak."""
    twin = copy(tensor)
    twin._weak = False
    return twin


def weakened(made: Tensor, is_weak: bool = True) -> Tensor:
    """A tensor that was just made, and that nobody else holds, as one of a Python number's kind if that is so."""
    made._weak = is_weak
    return made


def with_weak(made: Sequence[Tensor], weak: Iterable[bool]) -> list[Tensor]:
    """As `weakened`, for one tensor after the other."""
    return [weakened(x, is_weak) for x, is_weak in zip(made, weak, strict=True)]


def renamed(x: Tensor) -> Tensor:
    """x under an identity of its own."""
    return weakened(apply(REGISTRY["alias"], (x,)), x._weak)


def callers_own(native: object) -> Any:
    """A NumPy native as the caller's own: fresh, writable, C-contiguous, a scalar if 0-d."""
    if type(native) is np.ndarray:
        if native.shape == ():
            return native[()]
        flags = native.flags
        if not (flags.c_contiguous and flags.writeable and (flags.owndata or is_block(native.base))):
            return _copied(native)
    return native


def distinct(results: list[Any], taken: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Results of which none is another one or an argument: to write into it would change both."""
    seen = {*map(id, taken)}
    for place, result in enumerate(results):
        if type(result) is np.ndarray and id(result) in seen:
            results[place] = result.copy()
        seen.add(id(result))
    return (*results,)


def owned(natives: Iterable[Any], taken: Sequence[Any]) -> tuple[Any, ...]:
    """What a program gives as the caller's own arrays, of which none is another one or what it took: both of the above,
    for the calls of programs, in which each function that is called shows.
    """
    found: list[Any] = []
    seen: set[int] = set()
    for native in natives:
        result = native
        if type(native) is np.ndarray:
            if not native.ndim:
                result = native[()]
            elif not native.flags.owndata and not is_block(native.base):
                result = _copied(native)
            else:
                result = callers_own(native)
                if not seen:
                    seen = {*map(id, taken)}
                result = result.copy() if id(result) in seen else result
                seen.add(id(result))
        found.append(result)
    return (*found,)


def _copied(native: object) -> Any:
    try:
        return np.array(native, order="C")
    except MemoryError as error:
        raise MemoryError(at_user_line(f"no memory for the result, a copy that is the caller's own: {error}")) from None


def own_copy(native: object) -> Any:
    """A native array that no caller holds."""
    return np.array(native) if isinstance(native, np.ndarray) else ENGINE_OF[type(native)].copy(native)
