"""From what users pass to what primitives take: conversion, promotion, broadcasting — and back to the kind of
array that came in.

Every op of this package goes through here, so that no primitive and no gradient rule ever meets a Python number, a
mixture of dtypes or shapes that do not match.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.constant import (
    checked_array,
    constant,
    dimension,
    given_constant,
    is_number,
    met_engine,
    native_result,
    number,
    range_of,
    scalar_array,
    scalar_constant,
    to_numpy_result,
)
from .._core.dims import Dim, DimLike, Shape, is_late
from .._core.engine import KERNELS_OF, Engine, framework_of, is_native
from .._core.foreign_arrays import require_plain
from .._core.kinds import ARRAYS
from .._core.labelled import values_of
from .._core.op import Op
from .._core.public import names_errors as names_errors
from .._core.public import unconverted
from .._core.scalars import give_way, waiving
from .._core.state import STATE, next_serial
from .._core.structure import MANY_LISTS, is_number_list, refuse_cycle
from .._core.tensor import Tensor, Value, Written, entered, tensor_in
from .._core.types import is_one, same_dim
from .._core.user_line import at_user_line
from .._core.wrong_calls import Symbolic, Varying, explain_caller, explained
from .._prims import indexing, piecewise, structural

P = ParamSpec("P")
R = TypeVar("R")

_PLAIN = frozenset({float, int, bool, complex})
_REAL = frozenset({float, int})
_SEQUENCES = frozenset({list, tuple})
_OF_NUMPY = frozenset({np.ndarray, np.float64})
_EVERYDAY = frozenset(map(np.dtype, "?bBhHiIlLqQefdFD"))  # NumPy's dtypes that every engine computes with

# -- in ------------------------------------------------------------------------------------------------------------


def as_tensor(x: Any, what: str = "argument") -> Tensor:
    """Any array-like value as a tensor, recorded if it is a list that holds tensors."""
    if type(x) is Tensor:
        return x
    kind = type(x)
    if kind in _OF_NUMPY and STATE.builder is None and x.dtype in _EVERYDAY:
        # as `constant` makes it, without its questions
        return Tensor(x.view() if kind is np.ndarray else x, next_serial())
    if isinstance(x, ARRAYS):
        return _from_objects(x, what) if x.dtype.char == "O" else given_constant(checked_array(x, what))
    if is_number(x):
        return number(x)
    if type(x) is Dim:
        return dimension(x)
    held = getattr(type(x), "__wengert_tensor__", None)
    if held is not None:
        return held(x)
    if is_native(type(x)):
        tensor = entered(x)
        if not dtypes.is_supported(tensor.dtype):
            raise TypeError(at_user_line(f"{what}: dtype {x.dtype} is not supported"))
        return tensor
    if isinstance(x, (list, tuple)):
        return _from_list(x, what)
    if isinstance(x, range):
        return constant(np.asarray(x))
    if hasattr(x, "__array__"):
        values = values_of(x, what)
        if values is None:
            given = None if isinstance(x, type) else x.__array__()  # a tensor where the object holds one
            is_made = isinstance(given, np.ndarray)  # else NumPy says what it misses
            values = given if tensor_in(given) is not None else np.asarray(given if is_made else x)
        return as_tensor(values, what)
    raise TypeError(at_user_line(f"{what}: wanted an array, a tensor or a number, got {type(x).__name__}"))


def _from_objects(x: Any, what: str) -> Tensor:
    """An array of objects that holds tensors (a table that code fills cell by cell) as one tensor."""
    if not holds_tensors(x):
        if x.size and is_scalars(x):
            return given_constant(checked_array(np.array(x.tolist()), what))
        checked_array(x, what)  # its error
    if not is_scalars(x):
        raise TypeError(
            at_user_line(
                f"{what}: the elements of an array of objects are arrays themselves, which NumPy does not join; use "
                "np.stack(list(a)) for one array of all"
            )
        )
    return structural.reshape(_from_list(x.ravel().tolist(), what), shape=x.shape)


def holds_tensors(x: np.ndarray[Any, Any]) -> bool:
    """Whether an array of objects holds tensors, and nothing else but numbers and arrays of numbers."""
    leaves = x.ravel().tolist()
    ours = [_is_ours(leaf) for leaf in leaves]
    return any(ours) and all(one or _is_numeric(leaf) for one, leaf in zip(ours, leaves, strict=True))


def is_scalars(x: np.ndarray[Any, Any]) -> bool:
    """Whether each element of an array of objects is a number, or a tensor or array without axes."""
    return all((_is_ours(leaf) or _is_numeric(leaf)) and np.ndim(leaf) == 0 for leaf in x.ravel().tolist())


def _is_ours(leaf: object) -> bool:
    return type(leaf) is Tensor or hasattr(type(leaf), "__wengert_tensor__")


def _is_numeric(leaf: Any) -> bool:
    return is_number(leaf) or (isinstance(leaf, ARRAYS) and leaf.dtype in _EVERYDAY)


def cells_of(x: Tensor) -> np.ndarray[Any, Any]:
    """An array of objects that holds a tensor's elements: beside other objects, NumPy asks each for its arithmetic."""
    cells = np.empty(x.shape, object)
    for index in np.ndindex(cells.shape):
        cells[index] = x[index]
    return cells


def _from_list(x: Any, what: str) -> Tensor:
    if not is_followed_inside(x, what):
        array = nested_array(x, what)
        return constant(checked_array(array, what))
    rows = [as_tensor(item, what) for item in x]
    return stack_rows(rows, what)


def as_ndarray(x: Any, what: str) -> np.ndarray[Any, Any]:
    """An array-like of any kind as an ndarray, for what is decided outside of a graph.

    Not by `np.asarray` alone: a framework refuses it for arrays on an accelerator.
    """
    parts = x if isinstance(x, (list, tuple)) else (x,)
    return np.asarray(as_tensor(x, what) if any(framework_of(type(part)) is not None for part in parts) else x)


def converted(x: ArrayLike, dtype: DTypeLike | None, what: str) -> Tensor:
    """Any array-like value as a tensor of a dtype (None: its own).

    Python's numbers that an integer dtype does not hold are an error, as in NumPy: an `OverflowError`, and a
    `ValueError` for NaN. Arrays and tensors are converted as by `astype`.
    """
    if dtype is None:
        return as_tensor(x, what)
    wanted = dtypes.as_dtype(dtype)
    is_plain = type(x) in (int, float) or (isinstance(x, (list, tuple)) and not is_followed_inside(x, what))
    if is_plain and dtypes.is_integer(wanted) and (type(x) is int or nested_array(x, what).dtype.kind in "iuf"):
        try:
            return constant(np.array(x, wanted)[()])
        except (OverflowError, ValueError) as error:
            raise type(error)(at_user_line(f"{what}: {error}")) from None
    if type(x) is int and not -(2**63) <= x < 2**64:
        return number(x, wanted)
    return cast(as_tensor(x, what), wanted)


def held(x: ArrayLike, dtype: np.dtype[Any], what: str) -> Tensor:
    """As `converted`, where NumPy refuses Python's complex numbers for real arrays."""
    if type(x) is complex and dtype.kind != "b" and not dtypes.is_complex(dtype):
        raise TypeError(at_user_line(f"{what}: the number {x} would lose its imaginary part in {dtype.name}"))
    return converted(x, dtype, what)


def is_followed_inside(x: Any, what: str = "argument") -> bool:
    """Whether a nested list or tuple holds a tensor, a Variable, a framework's array or a dimension of a trace."""
    waiting, opened = [x], 0
    while waiting:
        opened += 1
        if opened == MANY_LISTS:
            refuse_cycle(x, what)
        for item in waiting.pop():
            kind = type(item)
            if isinstance(item, (list, tuple)):
                waiting.append(item)
            elif kind in _NOT_ARRAYS:
                continue
            elif isinstance(item, np.ndarray) and not hasattr(kind, "__wengert_tensor__"):
                require_plain(kind)
                if item.dtype.char == "O" and holds_tensors(item):
                    return True
            elif kind is Tensor or kind is Dim or hasattr(kind, "__wengert_tensor__") or framework_of(kind) is not None:
                return True
    return False


def nested_array(x: ArrayLike, what: str) -> np.ndarray[Any, Any]:
    """A nested list without tensors as an array; bare Python floats take the default float."""
    try:
        array = np.array(x)
    except ValueError:
        raise ValueError(at_user_line(f"{what}: the nested list is ragged: {_short(x)}")) from None
    if array.dtype == object or array.dtype.kind in "USMmO":
        raise TypeError(at_user_line(f"{what}: wanted numbers, got {_short(x)}"))
    default = dtypes.default_float()
    if default != array.dtype and array.dtype.kind in "fc" and is_number_list([x]) and _is_python_only(x):
        array = array.astype(default if array.dtype.kind == "f" else dtypes.default_complex())
    return array


def _is_python_only(x: ArrayLike) -> bool:
    return not any(isinstance(leaf, (np.generic, np.ndarray)) for leaf in np.array(x, dtype=object).ravel())


def _short(x: ArrayLike) -> str:
    text = repr(x)
    return text if len(text) <= 80 else text[:77] + "..."


def stack_rows(rows: list[Tensor], what: str = "stack") -> Tensor:
    """Tensors of one shape joined along a new leading axis, in their common dtype."""
    dtype = common_dtype(rows)
    shape = rows[0].shape
    for row in rows[1:]:
        if row.shape != shape:
            raise ValueError(at_user_line(f"{what}: the entries have different shapes, {shape} and {row.shape}"))
    wide = (*[structural.reshape(structural.cast(r, dtype), shape=(1, *shape)) for r in rows],)
    return apply(structural.concatenate, wide, (0,))


# -- promotion -------------------------------------------------------------------------------------------------------


def common_dtype(tensors: list[Tensor]) -> np.dtype[Any]:
    """The dtype in which tensors meet; weak ones give way, and NumPy's scalars to torch's tensors."""
    strong = [t.dtype for t in tensors if not t._weak]
    result = functools.reduce(dtypes.promote, strong) if strong else None
    for t in tensors:
        if t._weak:
            result = t.dtype if result is None else (
                dtypes.weak_promote(dtypes.python_type(t.dtype), result) if strong
                else dtypes.promote(result, t.dtype)
            )  # fmt: skip
    assert result is not None
    if len(strong) > 1:
        waived = waiving(tensors)
        if True in waived:
            return _without(waived, tensors, result)
    return result


def _without(waived: list[bool], tensors: list[Tensor], met: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which tensors meet if some give way; the one in which they all meet, where these do not."""
    found = common_dtype([
        Tensor(t._data, t._key, None, t._weak or gives_way) for t, gives_way in zip(tensors, waived, strict=True)
    ])  # fmt: skip
    return found if found != met and give_way(tensors) else met


def cast(x: Tensor, dtype: object) -> Tensor:
    """x in a dtype; x itself if it has it."""
    return x if x._data.dtype == dtype else structural.convert(x, dtype=dtype)


def doubled(x: Tensor) -> Tensor:
    """x in double precision, for what NumPy computes in it whatever comes in."""
    return cast(x, dtypes.promote(x.dtype, dtypes.float64))


def broadcast_shapes(x: Shape, y: Shape, what: str) -> Shape:
    """The shape in which two operands meet, or `ValueError` with both."""
    if x == y or not y:
        return x
    if not x:
        return y
    return _met(x, y, what) if STATE.builder is not None else _met_before(x, y, what)


@functools.lru_cache(512)
def _met_before(x: Shape, y: Shape, what: str) -> Shape:
    """The same of known extents, which come again."""
    return _met(x, y, what)


def _met(x: Shape, y: Shape, what: str) -> Shape:
    width = max(len(x), len(y))
    wide_x, wide_y = (1,) * (width - len(x)) + tuple(x), (1,) * (width - len(y)) + tuple(y)
    met: list[DimLike] = []
    for a, b in zip(wide_x, wide_y, strict=True):
        extent = meeting(a, b)
        if extent is None:
            raise ValueError(at_user_line(f"{what}: shapes {tuple(x)} and {tuple(y)} do not broadcast together"))
        met.append(extent)
    return tuple(met)


def meeting(x: DimLike, y: DimLike) -> DimLike | None:
    """The extent in which two meet, or None. Two unknown ones are taken to be equal, which 1 and 1 are as well."""
    if x == y:
        return x
    if is_late(x) or is_late(y):
        return late_meeting(x, y)
    if x == 1:
        return y
    if y == 1:
        return x
    return (y if type(x) is Dim else x) if same_dim(x, y) else None


def late_meeting(x: DimLike, y: DimLike) -> DimLike:
    """Where two extents meet of which a run tells one or both: each is 1 or the result, which `broadcast` sees to."""
    for one, other in ((x, y), (y, x)):
        if is_late(one) and not is_late(other):
            return one if is_one(other) else other
    return dims.broadcast(x, y)


def broadcast(x: Tensor, shape: Shape) -> Tensor:
    """x in a shape; x itself if it has it."""
    if x._data.shape == shape:
        return x
    lead = len(shape) - len(x._data.shape)
    if lead >= 0 and STATE.builder is not None:
        for axis, (own, wanted) in enumerate(zip(x.shape, shape[lead:], strict=True)):
            if own != wanted and is_late(own):
                x = _spread(x, axis, own, wanted)
    return x if x._data.shape == shape else apply(structural.broadcast_to, (x,), (shape,))


def _spread(x: Tensor, axis: int, own: DimLike, wanted: DimLike) -> Tensor:
    """x with an axis repeated if a run finds it to be 1; any other extent but the wanted one is an error of the run."""
    assert STATE.builder is not None
    STATE.builder.guards.require_equal((own - 1) * (own - wanted), 0)
    place = structural.iota(size=wanted, dtype=dtypes.int64)
    last = structural.broadcast_to(structural.dim_value(dim=own - 1), shape=place.shape)
    order = (axis, *(a for a in range(len(x.shape)) if a != axis))
    rows = indexing.gather(structural.transpose(x, perm=order), piecewise.minimum(place, last))
    return structural.transpose(rows, perm=structural.inverse(order))


def meet(x: Tensor, y: Tensor, what: str) -> tuple[Tensor, Tensor]:
    """Two tensors in their common dtype and shape."""
    if x._data.dtype is y._data.dtype:  # which is the common one, however weak they are
        if x._data.shape == y._data.shape:
            return x, y
        shape = broadcast_shapes(x._data.shape, y._data.shape, what)
        return broadcast(x, shape), broadcast(y, shape)
    dtype = common_dtype([x, y])
    shape = broadcast_shapes(x.shape, y.shape, what)
    return broadcast(cast(x, dtype), shape), broadcast(cast(y, dtype), shape)


def as_float(x: Tensor) -> Tensor:
    """x in the dtype that a float function works in."""
    dtype = x._data.dtype
    return x if dtypes.is_inexact(dtype) else structural.convert(x, dtype=dtypes.float_of(dtype))


def with_doubles(x: Tensor) -> Tensor:
    """x where Python's floats meet it in NumPy's own Python: whole numbers of any size become double precision."""
    return x if dtypes.is_inexact(x.dtype) else cast(x, dtypes.float64)


def strong(x: ArrayLike) -> Any:
    """Python's numbers as arrays, with a dtype that counts, where NumPy makes arrays of all operands first."""
    return np.asarray(x) if type(x) in _PLAIN else x


def floats_of(values: Iterable[ArrayLike], what: str) -> list[Tensor]:
    """Values as floats of one dtype."""
    tensors = [as_float(as_tensor(v, what)) for v in values]
    dtype = common_dtype(tensors)
    return [cast(t, dtype) for t in tensors]


_MADE: dict[int, Callable[..., Any]] = {}  # functions made by others, by the identity of their code


def named(f: Callable[..., Any], name: str) -> None:
    """Gives a function made by another one its name, in its code too, by which errors and profiles tell functions."""
    f.__name__ = f.__qualname__ = name
    f.__code__ = f.__code__.replace(co_name=name, co_qualname=name)
    _MADE[id(f.__code__)] = f


# -- elementwise calls: the hot path ---------------------------------------------------------------------------------

EVERY = "biufcV"  # the kinds of dtypes, in NumPy's letters; bfloat16 is V


def _asking(operands: tuple[object, ...]) -> Callable[..., Any] | None:
    """The function that asks for an op of its own arguments, which other libraries keep by its name, where one does."""
    frame = sys._getframe(2)
    code = frame.f_code
    given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
    found = _MADE.get(id(code)) or frame.f_globals.get(code.co_name)
    inner: Any = found
    while inner is not None and getattr(inner, "__code__", None) is not code:
        inner = getattr(inner, "__wrapped__", None)
    is_it = inner is not None and len(given) == len(operands) and all(map(operator.is_, given, operands))
    return found if is_it else None


def for_one(kinds: str) -> Callable[[Callable[[Op, Any], Any]], Callable[[Op, Any], Any]]:
    """Decorates a rule for one operand: a tensor of these kinds of dtypes goes to the primitive as it is."""

    def decorate(rule: Callable[[Op, Any], Any]) -> Callable[[Op, Any], Any]:
        def quick(op: Op, x: ArrayLike) -> Any:
            try:
                if type(x) is Tensor and x._data.dtype.kind in kinds:
                    return apply(op, (x,))
                return rule(op, x)
            except Exception as error:
                if isinstance(error, Symbolic):
                    return error.answer(_asking((x,)) or functools.partial(quick, op), (x,), {})
                found = Varying.answer(error, functools.partial(quick, op), (x,), {})
                if found is not NotImplemented:
                    return found
                explain_caller(error)
                raise

        return _quick(quick, rule)

    return decorate


def for_two(kinds: str) -> Callable[[Callable[[Op, Any, Any], Any]], Callable[[Op, Any, Any], Any]]:
    """Decorates a rule for two operands: tensors of one such dtype and one shape go to the primitive as they are."""

    takes_floats = "f" in kinds

    def decorate(rule: Callable[[Op, Any, Any], Any]) -> Callable[[Op, Any, Any], Any]:
        def quick(op: Op, x: ArrayLike, y: ArrayLike) -> Any:
            try:
                if type(x) is Tensor and type(y) is Tensor:
                    a, b = x._data, y._data
                    if a.dtype is b.dtype and a.dtype.kind in kinds and a.shape == b.shape:
                        return apply(op, (x, y))
                elif takes_floats and type(y) in _REAL and type(x) is Tensor:
                    beside = filled_beside(y, x)
                    if beside is not None:
                        return apply(op, (x, beside))
                elif takes_floats and type(x) in _REAL and type(y) is Tensor:
                    beside = filled_beside(x, y)
                    if beside is not None:
                        return apply(op, (beside, y))
                elif type(y) is np.ndarray and type(x) is Tensor:
                    beside = _array_beside(y, x)
                    if beside is not None and beside._data.dtype.kind in kinds:
                        return apply(op, (broadcast(x, y.shape), beside))
                elif type(x) is np.ndarray and type(y) is Tensor:
                    beside = _array_beside(x, y)
                    if beside is not None and beside._data.dtype.kind in kinds:
                        return apply(op, (beside, broadcast(y, x.shape)))
                return rule(op, x, y)
            except Exception as error:
                if isinstance(error, Symbolic):
                    return error.answer(_asking((x, y)) or functools.partial(quick, op), (x, y), {})
                found = Varying.answer(error, functools.partial(quick, op), (x, y), {})
                if found is not NotImplemented:
                    return found
                explain_caller(error)
                raise

        return _quick(quick, rule)

    return decorate


def _quick(quick: Callable[P, R], rule: Callable[P, R]) -> Callable[P, R]:
    functools.update_wrapper(quick, rule)
    named(quick, rule.__name__)
    return quick


@for_one(EVERY)
def unary(op: Op, x: ArrayLike) -> Any:
    """Applies a one-operand op in x's own dtype."""
    return outward(apply(op, (as_tensor(x, op.name),)), x)


@for_one("fc")
def unary_float(op: Op, x: ArrayLike) -> Any:
    """Applies a one-operand float op; integers and booleans become floats first."""
    return outward(apply(op, (as_float(as_tensor(x, op.name)),)), x)


@for_two(EVERY)
def binary(op: Op, x: ArrayLike, y: ArrayLike) -> Any:
    """Applies a two-operand op to operands that may have to be promoted and broadcast."""
    if type(x) is Tensor and type(y) is Tensor:
        return apply(op, meet(x, y, op.name))
    a, b = tensors_of(x, y, op.name)
    return outward(apply(op, meet(a, b, op.name)), x, y)


@for_two("fc")
def binary_float(op: Op, x: ArrayLike, y: ArrayLike) -> Any:
    """As `binary`, for ops that work in floats only."""
    a, b = float_operands(x, y, op.name)
    if a._data.dtype.kind in "biu" and b._data.dtype.kind in "biu" and not (a._weak or b._weak):
        a, b = as_float(a), as_float(b)  # each by itself: an integer that holds both may ask for a wider float
    a, b = meet(a, b, op.name)
    return outward(apply(op, (as_float(a), as_float(b))), x, y)


def as_number(x: Tensor) -> Tensor:
    """x for arithmetic: booleans are integers of one byte there, as in NumPy."""
    return structural.convert(x, dtype=dtypes.int8) if x._data.dtype.kind == "b" else x


@for_one("iufc")
def unary_number(op: Op, x: ArrayLike) -> Any:
    """As `unary`, for arithmetic, where booleans count as integers."""
    return outward(apply(op, (as_number(as_tensor(x, op.name)),)), x)


@for_two("iufc")
def binary_number(op: Op, x: ArrayLike, y: ArrayLike) -> Any:
    """As `binary`, for arithmetic, where booleans count as integers."""
    a, b = meet(*tensors_of(x, y, op.name), op.name)
    return outward(apply(op, (as_number(a), as_number(b))), x, y)


def require_order(x: Tensor, what: str) -> None:
    """Complex numbers have no order: `TypeError`, eagerly as in a trace."""
    if x._data.dtype.kind == "c":
        raise TypeError(at_user_line(f"{what}: complex numbers have no order"))


@for_two("fc")
def binary_quotient(op: Op, x: ArrayLike, y: ArrayLike) -> Any:
    """As `binary`, for true division, where NumPy gives float64 for integers of every size."""
    a, b = float_operands(x, y, op.name, dtypes.default_float())
    a, b = meet(a, b, op.name)
    if not dtypes.is_inexact(a.dtype):
        a, b = cast(a, dtypes.default_float()), cast(b, dtypes.default_float())
    return outward(apply(op, (a, b)), x, y)


def tensors_of(x: ArrayLike, y: ArrayLike, what: str) -> tuple[Tensor, Tensor]:
    """Two operands as tensors; a Python number takes its dtype from a strong partner."""
    if type(x) in _PLAIN and type(y) not in _PLAIN:
        b = as_tensor(y, what)
        return _number_beside(x, b), b
    a = as_tensor(x, what)
    if type(y) in _PLAIN and type(x) not in _PLAIN:
        return a, _number_beside(y, a)
    return a, as_tensor(y, what)


def bounds_beside(value: object, partner: Any, what: str) -> tuple[int, int] | None:
    """The least and the largest number of an array's integer dtype, where a Python integer beside it is outside."""
    if type(value) is not int or type(partner) in _PLAIN:
        return None
    tensor = as_tensor(partner, what)
    dtype = dtypes.weak_promote(int, tensor.dtype)
    if tensor._weak or not dtypes.is_integer(dtype):
        return None
    least, most = range_of(dtype)
    return None if least <= value <= most else (least, most)


def float_operands(x: Any, y: Any, what: str, dtype: np.dtype[Any] | None = None) -> tuple[Tensor, Tensor]:
    """As `tensors_of`, for functions that work in floats, beside which Python's integers have any size.

    Args:
        x: an operand.
        y: the other one.
        what: the function's name, for errors.
        dtype: what an integer becomes that the array's dtype does not hold; None: the floats that the array becomes.
    """
    is_first = bounds_beside(x, y, what) is not None
    if not is_first and bounds_beside(y, x, what) is None:
        return tensors_of(x, y, what)
    value, partner = (x, as_tensor(y, what)) if is_first else (y, as_tensor(x, what))
    wanted = dtype or dtypes.float_of(dtypes.weak_promote(int, partner.dtype))
    number = scalar_constant(wanted.type(value))
    return (number, partner) if is_first else (partner, number)


def filled_beside(value: float, partner: Tensor) -> Tensor | None:
    """A Python number in the dtype and shape of an array of NumPy's floats; None where that takes thought."""
    data = partner._data
    if STATE.builder is not None or type(data) not in _OF_NUMPY or data.dtype.kind != "f":
        return None
    if partner._weak and data.dtype.char != "d":
        return None
    number = data.dtype.type(value)
    if not data.shape:
        return Tensor(number, next_serial())
    return Tensor(KERNELS_OF[np.ndarray]["broadcast_to"](number, data.shape), next_serial())


def _array_beside(value: np.ndarray[Any, Any], partner: Tensor) -> Tensor | None:
    """A NumPy array of the shape of a tensor, or of any where that is a lone number, in the tensor's dtype.

    None where they do not meet in that, or it takes thought.
    """
    data = partner._data
    if STATE.builder is not None or partner._weak or type(data) not in _OF_NUMPY:
        return None
    if data.shape and data.shape != value.shape:
        return None
    if value.dtype is data.dtype:
        return Tensor(value.view(), next_serial()) if value.dtype.kind in "fc" else None
    return (
        Tensor(value.astype(data.dtype), next_serial())
        if data.dtype.char == "d" and value.dtype.kind in "biu"
        else None
    )


def _number_beside(value: Any, partner: Tensor) -> Tensor:
    if partner._weak:
        return number(value)
    return scalar_constant(scalar_array(value, dtypes.weak_dtype(value, partner._data.dtype)))


def with_number(op: Op, x: Tensor, value: Any) -> Tensor:
    """Applies an op that takes a Python number as its attribute, in the dtype where the two meet."""
    try:
        kind = type(value)
        dtype = x._data.dtype
        if kind is not complex and dtype.kind in "fc":
            return apply(op, (x,), (value,))
        met = dtypes.weak_promote(kind, dtype)
        if kind is int and dtypes.is_integer(met):
            scalar_array(value, met)  # an integer that does not fit is the user's error, said here
        return apply(op, (cast(x, met),), (value,))
    except Exception as error:
        explain_caller(error)
        raise


# -- out -------------------------------------------------------------------------------------------------------------


def outward(result: Any, *inputs: Any) -> Any:
    """A result in the kind of the inputs: a tensor if one came in, else a framework's array, else NumPy's."""
    for x in inputs:
        if type(x) is Tensor or (type(x) in _SEQUENCES and x and type(x[0]) is Tensor):
            return result
    found: set[Engine] = set()
    if any(_is_tensor_among(x, found) for x in inputs):
        return result
    if not found:
        return _given(result, to_numpy_result)
    return _given(result, functools.partial(native_result, engine=met_engine(found)))


def _given(result: Any, own: Callable[[Tensor], Any]) -> Any:
    if type(result) is Tensor:
        return own(result)
    if isinstance(result, (tuple, list)):
        converted = [_given(r, own) for r in result]
        return type(result)(*converted) if hasattr(result, "_fields") else type(result)(converted)
    return result


def _is_tensor_among(x: ArrayLike, found: set[Engine], depth: int = 0) -> bool:
    """Whether a value is a tensor or Variable, or a nested list or tuple that holds one; notes frameworks' arrays."""
    kind = type(x)
    if kind in _NOT_ARRAYS:
        return False
    if kind is Tensor or hasattr(kind, "__wengert_tensor__"):
        return True
    if isinstance(x, (list, tuple)):
        if depth == MANY_LISTS:
            refuse_cycle(x)
        return any(_is_tensor_among(item, found, depth + 1) for item in x)
    engine = framework_of(kind)
    if engine is not None:
        found.add(engine)
    return False


_NOT_ARRAYS = frozenset({np.ndarray, float, int, complex, bool, str, type(None), np.float64})


def is_tensor_like(x: Any) -> bool:
    """Whether a value is a tensor or Variable, or a nested list or tuple that holds one."""
    return _is_tensor_among(x, set())


def public(f: Callable[P, R]) -> Callable[P, R]:
    """Wraps an op written for tensors: NumPy arrays, numbers and lists give NumPy results."""

    @functools.wraps(f)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = f(*args, **kwargs)
            if args and type(args[0]) is Tensor:
                if result is args[0]:  # who writes to one of the two does not change the other
                    return copy(result)
                return result
            if args and type(args[0]) is Written and result is args[0].__wengert_tensor__():
                return copy(result)
            return outward(result, *args, *kwargs.values())
        except Exception as error:
            if isinstance(error, Symbolic):
                return error.answer(public(f), args, kwargs)
            found = Varying.answer(error, f, args, kwargs)
            if found is not NotImplemented:
                return found
            told = explained(error, f.__name__, f, args, kwargs)
            if told is error:
                raise
            raise told from error

    return unconverted(wrapper)


def is_symbolic(x: Tensor) -> bool:
    """Whether a tensor belongs to a trace."""
    return type(x._data) is Value


# -- counts and axes -----------------------------------------------------------------------------------------------


MOST_COUNTED = 2**31 - 1  # of what is counted in Python, one after the other: more would never end


def count_of(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """An integer that counts something, from `least` to `most`; `what` names op and argument."""
    try:
        count = operator.index(value)
    except TypeError as error:
        if "\n  at " in str(error):  # a symbol's own refusal
            raise
        raise TypeError(at_user_line(f"{what} is {value!r}, wanted an integer")) from None
    if count < least or (most is not None and count > most):
        wanted = f"an integer of at least {least}" if count < least else f"at most {most}"
        raise ValueError(at_user_line(f"{what} is {count}, wanted {wanted}"))
    return count


def number_of(value: Any, what: str) -> Any:
    """A number that an op has as its attribute, out of an array without axes if it came in one."""
    if is_number(value) or type(value) is Dim:
        return value
    if getattr(value, "shape", None) != () or not callable(getattr(value, "item", None)):
        raise TypeError(at_user_line(f"{what} is {_short(value)}, wanted a number"))
    return value.item()


def normal_axis(axis: Any, ndim: int, what: str) -> int:
    """An axis number counted from 0, or `ValueError` (NumPy's AxisError is one)."""
    try:
        number_ = axis.__index__()
    except AttributeError:
        raise TypeError(at_user_line(f"{what}: axis must be an integer, got {axis!r}")) from None
    if not -ndim <= number_ < ndim:
        raise np.exceptions.AxisError(
            at_user_line(f"{what}: axis {number_} is out of bounds for an array of {ndim} dimensions")
        )
    return number_ % ndim


def normal_axes(axis: Any, ndim: int, what: str) -> tuple[int, ...]:
    """Axis numbers counted from 0: None means all; repeated ones are a `ValueError`."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list, range)) else (axis,)
    normal = (*[normal_axis(a, ndim, what) for a in axes],)
    if len(set(normal)) != len(normal):
        raise ValueError(at_user_line(f"{what}: axis {axis} repeats an axis"))
    return normal
