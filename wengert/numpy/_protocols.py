"""NumPy's three protocols on tensors: its ufuncs, its functions and its namespace, called on tensors, are ours.

What we do not have is refused while a gradient is being followed, naming the function and the user's line, and
computed by NumPy on plain arrays otherwise. Importing this file attaches the methods to `Tensor`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from copy import copy
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike
from .._core.engine import ndarray_of
from .._core.kinds import ARRAYS
from .._core.refusal import asker, cure_for, described
from .._core.state import STATE
from .._core.structure import MANY_LISTS, refuse_cycle
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import LostGradientError
from ..ops.memory.writes import require_cast, write_all
from ..ops.ordering import in_columns
from ..ops.promotion import as_tensor, broadcast_shapes, cast, normal_axes, strong
from ._decorators import refuse_out, refuse_target, widened, written
from ._iteration import folded
from ._mutation import write_each

_UFUNCS: dict[Any, Callable[..., Any]] = {}  # NumPy's and SciPy's ufuncs -> ours
_FUNCTIONS: dict[Any, Callable[..., Any]] = {}  # NumPy's other functions -> ours
_WAITING: dict[str, tuple[ModuleType, Iterable[str]]] = {}  # modules of NumPy's whose functions are not in it yet
_METHODS: dict[tuple[Any, str], Callable[..., Any]] = {}  # (ufunc, "reduce" or "accumulate") -> ours
_WITHOUT_OUT = ("numpy.fft", "numpy.linalg")  # modules whose functions take out=, which ours leave to this file
# libraries of ufuncs, and ours, by name
_UFUNC_HOMES = (("scipy.special", "wengert.special"), ("scipy.special", "wengert.scipy.special"))
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_STANDARD = "wengert.array_api"  # stands above this package; known by name once it is loaded

# These only look at attributes that a tensor has, so NumPy's own code serves.
_LOOKING = frozenset({
    np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.isfortran,
    np.diag_indices_from, np.tril_indices_from, np.triu_indices_from,
})  # fmt: skip
# These print or look at types: no gradient is asked of them.
_HARMLESS = frozenset({
    np.array_repr, np.array_str, np.array2string, np.min_scalar_type,
})  # fmt: skip
# The results are integers or booleans, which are constants to a gradient.
_COUNTING = frozenset({
    np.lexsort, np.isin, np.ravel_multi_index, np.unravel_index, np.linalg.matrix_rank, np.nanargmax, np.nanargmin,
    np.packbits, np.unpackbits,
})  # fmt: skip
_COUNTING_UFUNCS = frozenset({np.bitwise_count, np.gcd, np.lcm, np.isnat})

# Folds that take elements in any order, and what changes none of them: np.fmax and np.fmin pass over NaN.
_NEUTRAL: dict[np.ufunc, Any] = {
    np.fmax: np.nan, np.fmin: np.nan, np.hypot: 0.0, np.logaddexp: -np.inf, np.logaddexp2: -np.inf,
    np.logical_and: True, np.logical_or: False, np.logical_xor: False,
}  # fmt: skip
_LOGICAL = frozenset({np.logical_and, np.logical_or, np.logical_xor})
_COMPARING = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


# -- ufuncs ----------------------------------------------------------------------------------------------------------


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
    """NumPy's protocol for ufuncs: `np.sin(x)` is `wg.sin(x)`, one Python frame later."""
    if method == "__call__" and not kwargs and ufunc in _UFUNCS:
        return _UFUNCS[ufunc](*inputs)
    return _uncommon(ufunc, method, inputs, kwargs)


def _uncommon(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    outs: Any = kwargs.get("out") or ()
    if len(outs) == len(kwargs) == 1 and method == "__call__" and isinstance(outs[0], Tensor) and ufunc in _UFUNCS:
        return _into_one(_UFUNCS[ufunc](*inputs), inputs, outs[0], _ufunc_name(ufunc), "same_kind")
    if any(out is not None for out in outs):
        return _into(ufunc, method, inputs, kwargs, outs)
    casting = kwargs.get("casting", "same_kind")
    kwargs = {key: value for key, value in kwargs.items() if key not in ("out", "casting", "order", "subok")}
    ours = _UFUNCS.get(ufunc) or _found_ufunc(ufunc)
    if method == "at" and isinstance(inputs[0], Tensor) and (ours is not None or ufunc in _COUNTING_UFUNCS):
        return write_each(ufunc, ours or (lambda *xs: _counted(ufunc, xs, {})), *inputs)
    if method == "__call__" and ours is not None:
        return _called(ours, ufunc, inputs, kwargs, casting)
    if method == "reduce" and ufunc in _NEUTRAL and (kwargs.get("where", True) is not True or "initial" in kwargs):
        return _reduced_partly(ours, ufunc, inputs, kwargs)
    if (ufunc, method) in _METHODS and set(kwargs) <= {"axis", "dtype", "keepdims", "initial", "where"}:
        return _folded(_METHODS[ufunc, method], inputs, kwargs)
    if method == "outer" and ours is not None and not kwargs:
        first, second = (as_tensor(strong(x)) for x in inputs)
        return ours(ops.reshape(first, (*first.shape, *(1,) * second.ndim)), second)
    if ours is not None and ufunc.nin == 2 and method in ("reduce", "accumulate", "reduceat"):
        return _one_by_one(ours, ufunc, method, *inputs, **kwargs)
    if method == "__call__" and ufunc in _COUNTING_UFUNCS and not kwargs:
        return _counted(ufunc, inputs, kwargs)
    name = _ufunc_name(ufunc) + ("" if method == "__call__" else f".{method}")
    return _plainly(getattr(ufunc, method), name, inputs, kwargs)


def _called(
    ours: Callable[..., Any], ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any], casting: Any
) -> Any:
    dtype = kwargs.pop("dtype", None)
    if kwargs.pop("where", True) is not True:
        raise TypeError(
            at_user_line(
                f"{_ufunc_name(ufunc)}: where= leaves the other elements to chance; use np.where(condition, "
                f"{_ufunc_name(ufunc)}(x), other)"
            )
        )
    if dtype is not None:
        inputs = (*[_cast_to(dtype, x, casting, ufunc) for x in inputs],)
    return ours(*inputs, **kwargs)


def _cast_to(dtype: Any, x: ArrayLike, casting: Any, ufunc: np.ufunc) -> Tensor:
    """An operand in the dtype that a ufunc was told to compute in."""
    operand, wanted = as_tensor(x), np.dtype(dtype)
    if not operand._weak and not np.can_cast(operand.dtype, wanted, casting):
        name = _ufunc_name(ufunc)
        raise TypeError(
            at_user_line(f"{name}: cannot cast an operand from {operand.dtype.name} to {wanted.name} by {casting!r}")
        )
    return cast(operand, wanted)


def _folded(ours: Callable[..., Any], inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc's reduce or accumulate; its axis is the first by default."""
    (array, *positional) = inputs
    kwargs = {"axis": positional[0] if positional else 0, **kwargs}
    if len(positional) > 1:
        kwargs["dtype"] = positional[1]
    kwargs = {key: value for key, value in kwargs.items() if not (value is None and key != "axis")}
    if kwargs.get("where", True) is True:
        kwargs.pop("where", None)
    return ours(array, **kwargs)


def _one_by_one(
    ours: Callable[..., Any], ufunc: np.ufunc, method: str, array: ArrayLike, *positional: Any, axis: Any = 0,
    keepdims: bool = False, **options: object,
) -> Any:  # fmt: skip
    """A ufunc's `reduce`, `accumulate` or `reduceat` where we have no fold: element after element along one axis."""
    indices: Any = ()
    if method == "reduceat":
        indices, positional = (
            (options.pop("indices"), positional) if "indices" in options else (positional[0], positional[1:])
        )
    if positional:
        axis, positional = positional[0], positional[1:]
    given = [f"{key}=" for key, value in options.items() if value is not None]
    if given or any(x is not None for x in positional):
        what = " ".join(given) or "a dtype"
        said = f"{_ufunc_name(ufunc)}.{method} of tensors does not take {what}; cast the tensor before"
        raise TypeError(at_user_line(said))
    x = _of_truths(ufunc, as_tensor(array), method)
    if method == "reduceat":
        return _by_segments(ours, ufunc, x, np.asarray(indices), axis)
    if method == "accumulate":
        return folded(ours, x, axis, True)
    axes = normal_axes(axis, x.ndim, _ufunc_name(ufunc))
    if len(axes) != 1 and ufunc not in _NEUTRAL:
        said = f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        raise ValueError(at_user_line(said))
    result = folded(ours, in_columns(x, axes), 0, False)
    return ops.reshape(result, [1 if i in axes else x.shape[i] for i in range(x.ndim)]) if keepdims else result


def _of_truths(ufunc: np.ufunc, x: Tensor, method: str) -> Tensor:
    """The operand of a fold whose steps give truths: truths, too, or nothing that NumPy has."""
    if ufunc in _LOGICAL:
        return cast(x, np.dtype(bool))
    if ufunc in _COMPARING and x.dtype != np.bool_:
        said = f"{_ufunc_name(ufunc)}.{method}: NumPy compares no truths with elements of dtype {x.dtype.name}"
        raise TypeError(at_user_line(said))
    return x


def _reduced_partly(ours: Any, ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A reduction of the elements that `where=` leaves, from `initial=` on."""
    x = _of_truths(ufunc, as_tensor(inputs[0]), "reduce")
    options = {key: value for key, value in kwargs.items() if key not in ("where", "initial")}
    where, initial = kwargs.get("where", True), kwargs.get("initial")
    if where is not True:
        if initial is None and ufunc in (np.fmax, np.fmin):
            said = f"reduction operation '{ufunc.__name__}' does not have an identity: a where mask asks for 'initial'"
            raise ValueError(at_user_line(said))
        x = as_tensor(ops.where(where, x, _NEUTRAL[ufunc]))
    found = _uncommon(ufunc, "reduce", (x, *inputs[1:]), options)
    return found if initial is None else ours(initial, found)


def _by_segments(ours: Callable[..., Any], ufunc: np.ufunc, x: Tensor, indices: Any, axis: int) -> Any:
    """`reduceat`: the fold of what lies between each position and the next; of one element where that is no more."""
    lines: Any = ops.moveaxis(x, axis, 0)
    fold = _METHODS.get((ufunc, "reduce"))
    parts = []
    for first, end in zip(indices, [*indices[1:], lines.shape[0]], strict=True):
        part = lines[int(first) : max(int(end), int(first) + 1)]
        parts.append(folded(ours, part, 0, False) if fold is None else fold(part, axis=0))
    return ops.moveaxis(ops.stack(parts), 0, axis)


def _into(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], outs: tuple[Any, ...]) -> Any:
    """`out=`, which is also how `ndarray += tensor` arrives."""
    name = _ufunc_name(ufunc)
    if any(isinstance(out, Tensor) for out in outs):
        return _into_tensors(ufunc, method, inputs, dict(kwargs), outs, name)
    for out in outs:
        if out is not None and not isinstance(out, np.ndarray):
            refuse_target(out, name)
    if is_followed((inputs, kwargs)):
        if method == "__call__" and inputs[0] is outs[0] and any(r.rebinds for r in STATE.recorders):
            return array_ufunc(inputs[1], ufunc, method, *inputs)
        refuse_out(name)
    return getattr(ufunc, method)(*_plain(inputs), **_plain(kwargs))


def _into_one(result: Any, inputs: tuple[Any, ...], out: Tensor, name: str, casting: Any) -> Tensor:
    """`out=` with a result, which is repeated where `out` has more."""
    found, shape = as_tensor(result), out.shape
    for x in inputs:
        if x is found:  # as the conjugate of what is real: whose writes are its own
            found = copy(found)
    if found.shape != shape and broadcast_shapes(found.shape, shape, name) == shape:
        found = as_tensor(ops.broadcast_to(found, shape))
    write_all(out, found, name, casting)
    return out


def _into_tensors(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], outs: tuple[Any, ...], name: str
) -> Any:
    """`out=` with tensors, which are written to; `where=` leaves the other elements as they are."""
    kwargs.pop("out")
    casting = kwargs.pop("casting", "same_kind" if method in ("__call__", "outer") else "unsafe")
    if method == "__call__" and "dtype" in kwargs:
        kwargs["casting"] = casting
    if method in ("reduce", "accumulate", "reduceat"):
        inputs = widened(inputs, outs[0], kwargs.get("dtype"))
    where = kwargs.pop("where", True) if method == "__call__" else True
    results = getattr(ufunc, method)(*inputs, **kwargs)
    many = isinstance(results, tuple)
    for result, out in zip(results if many else (results,), outs, strict=True):
        if out is None:
            continue
        if not isinstance(out, Tensor):
            written(result, out, name)
            continue
        if method == "__call__" and where is True:
            _into_one(result, inputs, out, name, casting)
            continue
        found = as_tensor(result)
        if where is not True:
            require_cast(found.dtype, out, name, casting)
            wide = ops.broadcast_to(where, broadcast_shapes(found.shape, out.shape, name))
            found = as_tensor(ops.where(wide, cast(found, out.dtype), out))
        write_all(out, found, name, casting)
    if not many:
        return outs[0]
    return (*[result if out is None else out for result, out in zip(results, outs, strict=True)],)


def _found_ufunc(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Our function for another library's ufunc: SciPy's go by their names, without loading SciPy."""
    for their_home, our_home in _UFUNC_HOMES:
        name = ufunc.__name__
        if getattr(sys.modules.get(their_home), name, None) is not ufunc:
            continue
        ours = importlib.import_module(our_home)  # it stands above this module, and loads when it is asked for
        if name in getattr(ours, "OURS", ours.__all__):
            _UFUNCS[ufunc] = getattr(ours, name)
            return _UFUNCS[ufunc]
    return None


def _ufunc_name(ufunc: np.ufunc) -> str:
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return f"np.{name}"
    for home, _ in _UFUNC_HOMES:
        if getattr(sys.modules.get(home), name, None) is ufunc:
            return f"{home}.{name}"
    return name


# -- functions -------------------------------------------------------------------------------------------------------


def array_function(
    self: Tensor, func: Callable[..., Any], types: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """NumPy's protocol for its other functions: `np.sum(x)` is `wg.sum(x)`."""
    ours = _FUNCTIONS.get(func) or _entered_now(func)
    if ours is not None:
        if kwargs.get("out") is not None and func.__module__ in _WITHOUT_OUT:
            out = kwargs.pop("out")
            return written(ours(*args, **kwargs), out, _function_name(func))
        return ours(*args, **kwargs)
    if func in _LOOKING:
        return func.__wrapped__(*args, **kwargs)
    if func is np.common_type:
        return func(*(np.empty(0, x.dtype) if isinstance(x, Tensor) else x for x in args))
    if func is np.result_type or func is np.can_cast:
        return func(*(x.dtype if isinstance(x, Tensor) else x for x in args), **kwargs)
    if func in _HARMLESS:
        return func(*_plain(args, peek=True), **_plain(kwargs, peek=True))
    if func in _COUNTING:
        return _counted(func, args, kwargs)
    return _plainly(func, _function_name(func), args, kwargs)


def _entered_now(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Ours for a function of a module of NumPy's that had not been loaded when the tables were filled."""
    waiting = _WAITING.pop(func.__module__, None)
    if waiting is None:
        return None
    map_namespace(sys.modules[func.__module__], *waiting)
    return _FUNCTIONS.get(func)


def array_namespace(self: ArrayLike, /, *, api_version: str | None = None) -> ModuleType:
    """The array API's protocol: the standard's namespace, whose functions take tensors; also for older versions."""
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(
            at_user_line(f"__array_namespace__: api_version is {api_version!r}; wanted one of {', '.join(_VERSIONS)}")
        )
    return importlib.import_module(_STANDARD)  # it stands above this module, and loads when it is asked for


def _function_name(func: Callable[..., Any]) -> str:
    module = getattr(func, "__module__", "") or "numpy"
    return f"{module}.{func.__name__}".replace("numpy.", "np.", 1)


def _counted(func: Callable[..., Any], args: object, kwargs: object) -> Any:
    """Runs NumPy on the values, for the result is integers."""
    return _as_tensors(_on_values(func, _function_name(func), args, kwargs))


def _on_values(func: Callable[..., Any], name: str, args: object, kwargs: object) -> Any:
    """Runs a function on the values, for its results have no gradient; a trace has no values."""
    for tensor in _tensors((args, kwargs)):
        tensor._require_concrete(name)
    return func(*_plain(args, peek=True), **_plain(kwargs, peek=True))


def _as_tensors(result: object) -> Any:
    if isinstance(result, tuple):
        return (*map(_as_tensors, result),)
    return as_tensor(result) if isinstance(result, ARRAYS) else result


# -- what we do not have ---------------------------------------------------------------------------------------------


def _plainly(func: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: object) -> Any:
    """NumPy's own function on plain arrays, or the refusal if a gradient would be lost."""
    if is_followed((args, kwargs)):
        _refuse(name)
    return func(*_plain(args), **_plain(kwargs))


def _refuse(name: str) -> NoReturn:
    who = asker()
    if who.name == name.rpartition(".")[2]:
        who = who._replace(module=who.module or "numpy")
    elif not who.written or who.name in ("[]", "=", "+="):
        module, _, last = name.rpartition(".")
        who = who._replace(module=module.replace("np", "numpy", 1) or "numpy", name=last, written="")
    raise LostGradientError(
        at_user_line(
            f"{described(who, function=name)} is not recorded, and the gradient of a tensor that is under "
            f"differentiation or being traced would be lost; {cure_for(who)}"
        )
    )


def is_followed(tree: object) -> bool:
    """Whether arguments hold a tensor that is under differentiation or being traced."""
    return any(tensor.is_followed for tensor in _tensors(tree))


def _tensors(tree: object) -> Iterable[Tensor]:
    """The tensors in nested arguments."""
    waiting: list[Any] = [tree]
    opened = 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, (list, tuple)):
            opened += 1
            if opened == MANY_LISTS:
                refuse_cycle(tree)
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif hasattr(type(item), "__wengert_tensor__"):
            yield type(item).__wengert_tensor__(item)
        elif hasattr(type(item), "__wengert_sparse__"):
            yield item.data


def _plain(tree: Any, peek: bool = False) -> Any:
    """Nested arguments with arrays in place of tensors; `peek` where no gradient can be meant."""
    if isinstance(tree, Tensor):
        tree._require_concrete("NumPy")
        return ndarray_of(tree._data) if peek else np.asarray(tree)
    if hasattr(type(tree), "__wengert_tensor__"):
        return _plain(type(tree).__wengert_tensor__(tree), peek)
    if hasattr(type(tree), "__wengert_sparse__"):
        return tree.fixed()
    if isinstance(tree, list):
        return [_plain(item, peek) for item in tree]
    if isinstance(tree, tuple):
        items = (_plain(item, peek) for item in tree)
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if isinstance(tree, dict):
        return {key: _plain(item, peek) for key, item in tree.items()}
    return tree


# -- filling the tables ----------------------------------------------------------------------------------------------


def attach(cls: type) -> None:
    """Gives a class (`Tensor`, and `Variable` too) NumPy's protocols."""
    for name, method in (
        ("__array_ufunc__", array_ufunc), ("__array_function__", array_function),
        ("__array_namespace__", array_namespace),
    ):  # fmt: skip
        setattr(cls, name, method)


def map_namespace(theirs: ModuleType, ours: ModuleType | dict[str, Any], names: Iterable[str]) -> None:
    """Enters our functions in the tables, each for NumPy's of the same name."""
    table = ours if isinstance(ours, dict) else vars(ours)
    for name in names:
        f, g = table.get(name), getattr(theirs, name, None)
        if callable(f) and callable(g) and f is not g and not isinstance(g, type):
            (_UFUNCS if isinstance(g, np.ufunc) else _FUNCTIONS)[g] = f


def map_namespace_later(theirs: str, ours: ModuleType, names: Iterable[str]) -> None:
    """As `map_namespace`, once one of the functions comes here: their module takes time to load, and few use it."""
    _WAITING[theirs] = (ours, names)


def map_fold(ufunc: np.ufunc, method: str, ours: Callable[..., Any]) -> None:
    """Enters our function for a ufunc's `reduce` or `accumulate`."""
    _METHODS[ufunc, method] = ours


def map_clip(ours: Callable[..., Any]) -> None:
    """Enters `clip`, whose ufunc NumPy keeps to itself and calls for `array.clip(low, high)`."""
    theirs = getattr(getattr(getattr(np, "_core", None), "umath", None), "clip", None)
    if theirs is not None:
        _UFUNCS[theirs] = ours


attach(Tensor)
