"""Decorators that make NumPy functions of functions on tensors: kinds of arrays in and out, `out=`, docstrings.

`as_numpy` wraps a function written for tensors. The wrapped one takes what NumPy's takes, gives NumPy arrays where
no tensor came in, and says in its docstring what each argument is. Used by all files of this package.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from copy import copy
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.argument_types import DTypeLike, Out
from .._core.faces import documented, parameters_of
from .._core.refusal import asker, cure_for
from .._core.tensor import Tensor, Written, tensor_in
from .._core.user_line import at_user_line
from .._core.wrong_calls import Symbolic, Varying, explained
from ..errors import LostGradientError
from ..ops.memory.sharing import own, view_of, view_unread
from ..ops.memory.writes import write_all
from ..ops.promotion import as_tensor, names_errors, outward
from ._foreign import numpys_own, or_numpys

P = ParamSpec("P")
R = TypeVar("R")

NO_VALUE: Any = np._NoValue  # NumPy's own mark of an argument not given


def is_kept(keepdims: object) -> bool:
    """Whether reduced axes stay, with extent 1: not if nothing was said."""
    return keepdims is not NO_VALUE and bool(keepdims)


_GLOSSARY = {
    **dict.fromkeys(("arrays", "tup", "arys"), "a sequence of arrays or tensors."),
    "a": "an array, a tensor, a number or a nested list (which may hold tensors).",
    "axis": "the axis or axes to work along; None for all elements, as NumPy's default says.",
    "dtype": "the dtype to compute in and to return.",
    "out": "a tensor that takes the result, or an array; refused where a gradient would be lost.",
    "keepdims": "whether reduced axes stay, with length 1.",
    "initial": "a starting value, which counts as one more element.",
    "where": "which elements take part, a boolean array that broadcasts.",
    "ddof": "what is taken off the number of elements in the divisor.",
    "correction": "the same as ddof.",
    "mean": "the mean, if it is known already, with the reduced axes kept.",
    "shape": "the extents of the result.",
    "order": "the order of elements in memory, for NumPy callers; tensors take 'C'.",
    "like": "accepted for NumPy's sake, and not used.",
    "device": "accepted for NumPy's sake; None or 'cpu'.",
    "copy": "accepted for NumPy's sake.",
    "subok": "accepted for NumPy's sake, and not used.",
    "casting": "accepted for NumPy's sake: dtypes promote.",
    "kind": "accepted for NumPy's sake: the sort is stable.",
    "stable": "accepted for NumPy's sake: the sort is stable.",
    "k": "the diagonal, 0 for the main one; the number of turns for rot90.",
    "condition": "a boolean array.",
    "indices": "integers; their shape goes where the axis was.",
    "mode": "the way to treat what lies outside, as NumPy names it.",
}
_RETURNS = "The result in the kind of array that came in, recorded where a tensor did."
# what NumPy makes views of, where it can
_SHARING = frozenset({
    "reshape", "ravel", "transpose", "permute_dims", "matrix_transpose", "swapaxes", "moveaxis", "rollaxis",
    "expand_dims", "squeeze", "broadcast_to", "atleast_1d", "atleast_2d", "atleast_3d", "array_split", "split",
    "hsplit", "vsplit", "dsplit", "unstack", "flip", "flipud", "fliplr", "rot90", "diag", "diagonal", "real", "imag",
})  # fmt: skip
# those whose result goes into `out=` by the rule "unsafe", as what a ufunc reduces does
_REDUCED = frozenset({
    "sum", "prod", "mean", "max", "min", "amax", "amin", "cumsum", "cumprod", "cumulative_sum", "cumulative_prod",
    "trace", "nansum", "nanprod", "nanmean", "nancumsum", "nancumprod",
})  # fmt: skip
_UNSAFE = _REDUCED | {"var", "nanvar", "median", "nanmedian", "all", "any", "choose"}
# those that fill an array of the result's dtype, which starts as a copy of `out=` and is copied back
_THROUGH_A_COPY = frozenset({"take", "compress", "argmax", "argmin"})
# those that give a view of any array in row-major order, if they are called with no more arguments than these
_VIEWS_OF_ALL = {"reshape": 2, "ravel": 1, "transpose": 2, "swapaxes": 3, "moveaxis": 3, "expand_dims": 2, "squeeze": 2}


def as_numpy(f: Callable[P, R]) -> Callable[P, R]:
    """Makes a function on tensors a NumPy function: any kind of array in, the same kind out, `out=` honoured."""
    code = f.__code__
    parameters = parameters_of(f)
    place = parameters.index("out") if "out" in parameters else None
    limit = code.co_argcount  # beyond it `out` comes by keyword only
    name = f.__name__
    views = getattr(np, name, None) if name in _SHARING else None
    sure = _VIEWS_OF_ALL.get(name, 0)
    dtype_at = parameters.index("dtype") if "dtype" in parameters else len(parameters)
    is_reduced = name in _REDUCED
    copy_at = parameters.index("copy") if "copy" in parameters and views is None else None
    shares_each = views is not None and bool(code.co_flags & inspect.CO_VARARGS)

    @functools.wraps(f)
    def function(*args: Any, **kwargs: Any) -> Any:
        if shares_each and args[1:] and any(isinstance(a, Tensor) for a in args):
            return _of_each(function, args, name, kwargs)
        try:
            if views is not None and args and type(args[0]) is Written:
                unread = view_unread(args[0], _rest(views, args, kwargs))
                if unread is not None:
                    return unread
            if place is not None and is_reduced and (kwargs.get("out") is not None or len(args) > place):
                given = (
                    _given(at, key, args[:limit], kwargs, None) for at, key in ((place, "out"), (dtype_at, "dtype"))
                )
                args = widened(args, *given)
            result = f(*args, **kwargs)
            if place is not None and (kwargs or len(args) > place):
                out = _given(place, "out", args[:limit], kwargs, None)
                if out is not None:
                    return written(result, out, f"np.{name}")
            if args and isinstance(args[0], Tensor):
                if views is None and type(args[0]) is Tensor and result is not args[0]:
                    return result
                if views is None:
                    is_same = copy_at is not None and not _given(copy_at, "copy", args[:limit], kwargs, True)
                    return result if is_same else own(result, args[0])
                return view_of(args[0], result, _rest(views, args, kwargs), not kwargs and len(args) <= sure)
            if args and isinstance(result, Tensor) and type(args[0]) in (list, tuple) and len(args[0]) == 1:
                result = own(result, args[0][0])  # what joins one array to nothing
            return outward(result, *args, *kwargs.values())
        except Exception as error:
            if isinstance(error, Symbolic):
                return error.answer(function, args, kwargs)
            found = Varying.answer(error, function, args, kwargs)
            if found is not NotImplemented:
                return found
            foreign = numpys_own(name, args, kwargs) if isinstance(error, TypeError) else None
            if foreign is not None:
                return foreign[0]
            told = explained(error, name, f, args, kwargs)
            if told is error:
                raise
            raise told from error

    function.__doc__ = _documented(f, parameters, _RETURNS)
    return function


def _given(place: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], default: object) -> Any:
    """An argument, which comes by place or by keyword."""
    return kwargs.get(name, args[place] if place < len(args) else default)


def _of_each(
    function: Callable[..., Any], arrays: tuple[Any, ...], name: str, kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """What a function of several arrays gives: a view of each tensor, as NumPy's are."""
    return (*[function(a if isinstance(a, Tensor) else as_tensor(a, name), **kwargs) for a in arrays],)


def _rest(theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """NumPy's function of its first argument, the others given."""
    others = args[1:]
    return lambda x: theirs(x, *others, **kwargs)


def as_maker(f: Callable[P, R]) -> Callable[P, R]:
    """Makes a function without an array argument NumPy's: it gives tensors, or what NumPy gives where none can be."""
    function = or_numpys(names_errors(f))
    function.__doc__ = _documented(f, parameters_of(f), "")
    return function


def _documented(f: Callable[..., Any], parameters: tuple[str, ...], returns: str) -> str:
    """The docstring; one without an example has its, and more, from the function of `wg.ops` of the same name."""
    name = f.__name__
    namesake = None if "Example:" in (f.__doc__ or "") else vars(ops).get(name)
    return documented(
        f.__doc__, parameters, namesake and namesake.__doc__, known=_GLOSSARY, otherwise=f"as in `numpy.{name}`.",
        returns=returns, example=_by_numpys_name,
    )  # fmt: skip


def _by_numpys_name(example: str) -> str:
    """An example of `wg.ops` as one of this package."""
    text = example.replace("wg.ops.", "np.")
    both = "import wengert as wg, wengert.numpy as np"
    return text.replace(
        "import wengert as wg", both if " wg." in text or "(wg." in text else "import wengert.numpy as np"
    )


def written(result: Any, out: Any, name: str) -> Any:
    """`out` with a result in it: computed plainly, or refused because the gradient would end there."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    tensor = as_tensor(result, name)
    if isinstance(out, Tensor):
        write_all(out, copy(tensor), name, _casting_into(out, tensor, name))  # which may be an operand itself
        return out
    if not isinstance(out, np.ndarray):
        refuse_target(out, name)
    if tensor.is_followed:
        if not getattr(out, "__wengert_made__", False):  # those of adopted code take tensors
            refuse_out(name)
        out[...] = tensor
        return out
    np.copyto(out, tensor.numpy(), casting=_casting_into(out, tensor, name))
    return out


def _casting_into(out: Tensor | np.ndarray[Any, Any], result: Tensor, name: str) -> Any:
    """The rule by which NumPy's function of this name casts into `out=`; its errors where it asks for more."""
    function = name.removeprefix("np.")
    if function in _THROUGH_A_COPY and not np.can_cast(out.dtype, result.dtype, "safe"):
        raise TypeError(
            at_user_line(
                f"{name}: out= of dtype {out.dtype.name} does not go to {result.dtype.name} by the rule 'safe'"
            )
        )
    if function == "dot" and out.dtype != result.dtype:
        raise ValueError(at_user_line(f"{name}: out= has dtype {out.dtype.name}, wanted {result.dtype.name}"))
    if function == "einsum":
        return "safe"
    return "unsafe" if function in _UNSAFE or function in _THROUGH_A_COPY else "same_kind"


def widened(args: tuple[Any, ...], out: Any, dtype: Any) -> tuple[Any, ...]:
    """The arguments of a reduction, its operand in the dtype in which NumPy reduces into `out=`: that of both."""
    found = args and dtype is None and tensor_in(args[0])
    if not isinstance(found, Tensor) or not isinstance(out, (Tensor, np.ndarray)):
        return args
    wanted = np.promote_types(found.dtype, out.dtype) if {found.dtype.kind, out.dtype.kind} <= {*"fc"} else found.dtype
    return args if wanted == found.dtype else (ops.cast(found, wanted), *args[1:])


def refuse_target(out: Out, name: str) -> NoReturn:
    """Refuses to write into something that is not an ndarray."""
    raise TypeError(at_user_line(f"{name}: out= takes an array or a tensor, got {type(out).__name__}"))


def refuse_out(name: str) -> NoReturn:
    """Refuses to write a value under differentiation into an ndarray."""
    who = asker()
    if who.name == "+=":
        name, cure = f"{who.written} ({name} into an ndarray)", cure_for(who)
    else:
        name, cure = (
            f"{name} with out=",
            (
                "leave out= away and use the result, or write into a tensor, as np.zeros of wengert.numpy makes, which "
                "is recorded; so are x.at[index].set(value) and wg.buffer"
            ),
        )
    raise LostGradientError(
        at_user_line(
            f"{name} would write a tensor that is under differentiation or being traced into a NumPy array, and its "
            f"gradient would be lost; {cure}"
        )
    )


def named_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """A dtype as NumPy reads it (`float` is float64 whatever the default float), if it is one of ours."""
    return np.dtype(np.float64) if dtype is float else dtypes.as_dtype(dtype)


def accept(name: str, **arguments: Any) -> None:
    """Checks the arguments that are there for NumPy's sake: a value that would change the result is refused."""
    for key, value in arguments.items():
        if isinstance(value, (np.ndarray, Tensor)) or value not in _HARMLESS.get(key, (None,)):
            raise TypeError(at_user_line(f"{name}: {key}={value!r} is not supported"))


_HARMLESS: dict[str, tuple[Any, ...]] = {
    "order": (None, "C", "F", "K", "A"),
    "device": (None, "cpu"),
    "casting": (None, "same_kind", "safe", "unsafe", "no", "equiv"),
    "kind": (None, "quicksort", "mergesort", "heapsort", "stable", "introselect"),
    "stable": (None, True, False),
}
