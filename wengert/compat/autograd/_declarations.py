"""How a primitive's derivatives are declared: for all arguments together, for one by its number, or one by one."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ._boxes import map_tree
from ._spaces import vspace
from .tracer import primitive, primitive_jvps, primitive_vjps
from .util import subval
from .wrap_util import get_name


class _ByArgument(dict[int, Any]):
    """What was given for an argument, by its number; `argnums` says which arguments, if not the first ones."""

    def __init__(self, kind: str, fun: Any, given: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__(zip(kwargs.get("argnums", itertools.count()), given))
        self.whose = f"{kind} of {get_name(fun)}"

    def __missing__(self, argnum: int) -> Any:
        raise NotImplementedError(f"{self.whose} wrt argnum {argnum} not defined")


def defvjp_argnums(fun: Callable[..., Any], vjpmaker: Callable[..., Any]) -> None:
    """`vjpmaker(argnums, ans, args, kwargs)` gives a function from g to a cotangent for each of them."""
    primitive_vjps[fun] = vjpmaker


def defvjp_argnum(fun: Callable[..., Any], vjpmaker: Callable[..., Any]) -> None:
    """`vjpmaker(argnum, ans, args, kwargs)` gives the function from g to the cotangent."""

    def maker(argnums: Sequence[int], *rest: Any) -> Any:
        first, *others = [vjpmaker(argnum, *rest) for argnum in argnums]
        return lambda g: (first(g), *[pull(g) for pull in others]) if others else (first(g),)

    defvjp_argnums(fun, maker)


def defvjp(fun: Callable[..., Any], *vjpmakers: Any, **kwargs: Any) -> None:
    """`vjpmaker(ans, *args, **kwargs)` for each argument (or for those at `argnums`); None for a derivative of zero."""
    makers = _ByArgument("VJP", fun, vjpmakers, kwargs)

    def one(argnum: int, ans: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        maker = makers[argnum]
        return (lambda g: vspace(args[argnum]).zeros()) if maker is None else maker(ans, *args, **kwargs)

    defvjp_argnum(fun, one)


def defjvp_argnums(fun: Callable[..., Any], jvpmaker: Callable[..., Any]) -> None:
    """`jvpmaker(argnums, gs, ans, args, kwargs)` gives the tangent of the result."""
    primitive_jvps[fun] = jvpmaker


def defjvp_argnum(fun: Callable[..., Any], jvpmaker: Callable[..., Any]) -> None:
    """`jvpmaker(argnum, g, ans, args, kwargs)` gives what one argument contributes to the tangent."""

    def rule(argnums: Sequence[int], gs: Sequence[Any], *rest: Any) -> Any:
        total, *terms = [jvpmaker(argnum, g, *rest) for argnum, g in zip(argnums, gs)]
        for term in terms:
            total = map_tree(lambda a, b: a + b, total, term)
        return total

    defjvp_argnums(fun, rule)


def defjvp(fun: Callable[..., Any], *jvpfuns: Any, **kwargs: Any) -> None:
    """`jvpfun(g, ans, *args, **kwargs)` for each argument; "same" where fun is linear, None where it is constant."""
    rules = _ByArgument("JVP", fun, jvpfuns, kwargs)

    def one(argnum: int, g: object, ans: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        rule = rules[argnum]
        if rule is None:
            return vspace(ans).zeros()
        return fun(*subval(args, argnum, g), **kwargs) if isinstance(rule, str) else rule(g, ans, *args, **kwargs)

    defjvp_argnum(fun, one)


def def_linear(fun: Callable[..., Any]) -> None:
    """Declares that a function is linear in each of its arguments."""
    defjvp_argnum(fun, lambda argnum, g, ans, args, kwargs: fun(*subval(args, argnum, g), **kwargs))


def primitive_with_deprecation_warnings(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """`primitive` with the methods `defvjp`, `defgrad` and `defvjp_is_zero` of old."""
    wrapped: Any = primitive(f_raw)
    makers: dict[int, Any] = {}

    def add(argnum: int, maker: Any, method: str) -> None:
        warnings.warn(
            f"the method {method} is deprecated, use autograd.extend.defvjp", DeprecationWarning, stacklevel=3
        )
        makers[argnum] = maker
        defvjp(wrapped, *makers.values(), argnums=(*makers,))

    def old_defvjp(vjpfun: Any, argnum: int = 0) -> None:
        def maker(ans: object, *args: object, **kwargs: object) -> Any:
            return lambda g: vjpfun(g, ans, vspace(args[argnum]), vspace(ans), *args, **kwargs)

        add(argnum, maker, "defvjp")

    def defvjp_is_zero(argnums: Sequence[int] = (0,)) -> None:
        for argnum in argnums:
            add(argnum, None, "defvjp_is_zero")

    wrapped.defvjp = old_defvjp
    wrapped.defvjp_is_zero = defvjp_is_zero
    wrapped.defgrad = lambda maker, argnum=0: add(argnum, maker, "defgrad")
    return wrapped


__all__ = [
    "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum", "defvjp_argnums",
]  # fmt: skip
