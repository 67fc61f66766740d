"""How an operator on functions of one argument becomes one on functions of many."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ..._core.derived import derived
from .util import subvals


def get_name(f: object) -> str:
    """A function's name, if it has one."""
    return getattr(f, "__name__", "[unknown name]")


def wraps(fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that gives a function a name and a text made of another's."""

    def decorate(f: Callable[..., Any]) -> Any:
        names = {"fun": get_name(fun), "doc": getattr(fun, "__doc__", ""), **kwargs}
        with contextlib.suppress(Exception):  # a name that cannot be given is no reason to fail
            f.__name__ = namestr.format(**names)
            f.__doc__ = docstr.format(**names)
        return f

    return decorate


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """Makes `operator(fun, x)` an `operator(fun, argnum=0)(*args, **kwargs)`; several argnums give a tuple."""

    def nary_operator(fun: Callable[..., Any], argnum: Any = 0, *nary_op_args: Any, **nary_op_kwargs: Any) -> Any:
        if type(argnum) is not int and not isinstance(argnum, (tuple, list)) and not hasattr(argnum, "__index__"):
            raise TypeError(f"argnum must be an int or a tuple or list of them, got {argnum!r}")

        def nary_f(*args: Any, **kwargs: Any) -> Any:
            if len(args) == 1 and not kwargs and not isinstance(argnum, (tuple, list)):  # without a frame of ours
                return unary_operator(fun, args[argnum], *nary_op_args, **nary_op_kwargs)

            def unary_f(x: Any) -> Any:
                if type(argnum) is int:
                    return fun(*args[:argnum], x, *args[argnum + 1 or len(args) :], **kwargs)
                replaced = zip(argnum, x) if isinstance(argnum, (tuple, list)) else ((argnum, x),)
                return fun(*subvals(args, replaced), **kwargs)

            unary_f.__name__ = name
            x = tuple(args[i] for i in argnum) if isinstance(argnum, (tuple, list)) else args[argnum]
            return unary_operator(unary_f, x, *nary_op_args, **nary_op_kwargs)

        name, op = get_name(fun), unary_operator.__name__
        made = derived(nary_f, "", nary_operator, fun, argnum, *nary_op_args, **nary_op_kwargs)
        made.__name__ = f"{op}_of_{name}_wrt_argnum_{argnum}"
        doc = getattr(fun, "__doc__", "")
        made.__doc__ = f"    {op} of function {name} with respect to argument number {argnum}.\n\n    {doc}"
        return made

    nary_operator.__name__ = nary_operator.__qualname__ = unary_operator.__name__
    nary_operator.__module__, nary_operator.__doc__ = unary_operator.__module__, unary_operator.__doc__
    return nary_operator


__all__ = ["get_name", "unary_to_nary", "wraps"]
