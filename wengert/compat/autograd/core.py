"""The two modes on our tapes, the declarations of derivatives, and vector spaces."""

from __future__ import annotations

import builtins
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as onp

from ..._core.argument_types import ArrayLike
from ..._core.graph import quietly
from ..._core.op import ZERO
from ..._core.state import STATE, raise_our_own
from ..._core.tensor import Tensor, held_now
from ..._core.types import type_of
from ..._transforms.forward import Tangents
from ..._transforms.reverse import Tape, entry_of, ones_like_type, sweep
from ._boxes import conjugate, fitted, getval, isbox, leaves, map_tree, plain, source
from .tracer import Box, Node, Step, plain_tree, primitive_jvps, primitive_vjps, toposort, trace
from .tracer import primitive as _primitive
from .util import subval, subvals
from .wrap_util import get_name

# -- reverse mode ----------------------------------------------------------------------------------------------------


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The vector-Jacobian product at x, and the value there."""
    run = Run(fun, x)
    return run.vjp, plain(run.y) if type(run.y) is Tensor else plain_tree(run.y)


class Run:
    """One run of a function under a tape."""

    __slots__ = ("argument", "entries", "is_lone", "keys", "sources", "tracked", "y")

    def __init__(self, fun: Callable[..., Any], x: Any) -> None:
        if isinstance(x, (builtins.list, builtins.tuple, builtins.dict)):
            self.is_lone = False
            self.argument = map_tree(source, x)
            self.sources = builtins.list(leaves(self.argument))
        else:
            self.is_lone = True
            self.argument = source(x)
            self.sources = [self.argument]
        self.keys = [s._key for s in self.sources]
        tape = Tape(self.keys, rebinds=True)
        before = STATE.recorders
        STATE.recorders = (*before, tape)
        try:
            y = fun(self.argument)
            self.y = y if type(y) is Tensor else map_tree(held_now, y)
        except BaseException as error:
            raise_our_own(error)
            raise
        finally:
            STATE.recorders = before
        self.entries, self.tracked = tape.entries, tape.tracked

    def connected(self, seeds: Any) -> list[tuple[int, Tensor]]:
        """The keys and cotangents of the results that depend on the argument."""
        y = self.y
        if type(y) is Tensor:
            return [(y._key, conjugate(fitted(seeds, y)))] if y._key in self.tracked else []
        pairs: list[tuple[int, Tensor]] = []
        if isinstance(y, (builtins.list, builtins.tuple, builtins.dict)):
            map_tree(lambda leaf, g: pairs.append((leaf, g)), y, seeds)
        return [(t._key, conjugate(fitted(g, t))) for t, g in pairs if type(t) is Tensor and t._key in self.tracked]

    def vjp(self, g: Any) -> Any:
        """The gradient of the inner product of the result with g."""
        return self.swept(self.connected(g))

    def ones(self) -> Any:
        """The gradient of the sum of the result."""
        y = self.y
        if type(y) is Tensor and y._key in self.tracked:
            return self.swept([(y._key, ones_like_type(type_of(y)))])
        return self.swept([])

    def swept(self, seeds: list[tuple[int, Tensor]]) -> Any:
        if not seeds:
            warnings.warn("Output seems independent of input.", UserWarning, stacklevel=4)
            found: list[Any] = [None] * len(self.keys)
        else:
            with quietly():
                found = sweep(self.entries, seeds, self.keys)
        if self.is_lone:
            return _given(found[0], self.argument)
        waiting = iter(found)
        return map_tree(lambda leaf: _given(next(waiting), leaf), self.argument)


def _given(found: Tensor | None, leaf: Tensor) -> Any:
    """What a sweep found for a source, in autograd's convention and as the caller's own."""
    if found is None or found is ZERO:
        return onp.zeros(leaf.shape, leaf.dtype)[()]
    return plain(conjugate(found))


def backward_pass(g: Any, end_node: object) -> Any:
    """The cotangent at the root of a graph of `VJPNode`s."""
    cts: dict[int, Any] = {id(end_node): g}
    found = g
    for node in toposort(end_node):
        found = cts.pop(id(node))
        for parent, grad in zip(node.parents, node.vjp(found)):
            known = cts.get(id(parent))
            cts[id(parent)] = grad if known is None else known + grad
    return found


class VJPNode(Node):
    """A node that knows how to pull a cotangent back."""

    __slots__ = ("vjp",)

    def __init__(
        self,
        value: Any,
        fun: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: Sequence[int],
        parents: object,
    ) -> None:
        super().__init__(value, fun, args, kwargs, parent_argnums, parents)
        maker = primitive_vjps.get(fun)
        if maker is None and isinstance(fun, Step):  # an op of ours: differentiated where the cotangent comes
            self.vjp = lambda g: _swept_back(fun, parent_argnums, g)
            return
        if maker is None:
            raise NotImplementedError(f"VJP of {get_name(fun)} wrt argnums {parent_argnums} not defined")
        self.vjp = maker(parent_argnums, value, args, kwargs)

    def initialize_root(self, *args: object, **kwargs: object) -> None:
        super().initialize_root()
        self.vjp = lambda g: ()


def _swept_back(step: Step, argnums: Sequence[int], g: Any) -> list[Any]:
    """The cotangents of some operands of a step; keys are their numbers here, and negative ones for the results."""
    count, out = len(step.operands), step.outs[step.place]
    tracked = (*[i in argnums for i in range(count)],)
    keys, out_keys = (*range(count),), (*range(-1, -len(step.outs) - 1, -1),)
    entry = entry_of(step.op, step.attrs, tracked, step.operands, keys, step.outs, out_keys)
    with quietly():
        found = sweep([entry], [(out_keys[step.place], conjugate(fitted(g, out)))], argnums)
    return [_given(ct, step.operands[i]) for i, ct in zip(argnums, found, strict=True)]


def defvjp_argnums(fun: Callable[..., Any], vjpmaker: Callable[..., Any]) -> None:
    """`vjpmaker(argnums, ans, args, kwargs)` gives a function from g to a cotangent for each of them."""
    primitive_vjps[fun] = vjpmaker


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """`vjpmaker(argnum, ans, args, kwargs)` gives a function from g to the cotangent."""

    def maker(argnums: Any, *rest: Any) -> Any:
        pulls = [vjpmaker(argnum, *rest) for argnum in argnums]
        return lambda g: tuple(pull(g) for pull in pulls)

    defvjp_argnums(fun, maker)


def defvjp(fun: Any, *vjpmakers: Any, **kwargs: Any) -> None:
    """`vjpmaker(ans, *args, **kwargs)` for each argument (or for those at `argnums`); None for a derivative of zero."""
    makers = builtins.dict(zip(kwargs.get("argnums", itertools.count()), vjpmakers))

    def one(argnum: int, ans: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if argnum not in makers:
            raise NotImplementedError(f"VJP of {get_name(fun)} wrt argnum {argnum} not defined")
        if makers[argnum] is None:
            return lambda g: vspace(args[argnum]).zeros()
        return makers[argnum](ans, *args, **kwargs)

    defvjp_argnum(fun, one)


# -- forward mode ----------------------------------------------------------------------------------------------------


def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """A function from a direction to the value at x and the derivative along it."""

    def jvp(g: Any) -> tuple[Any, Any]:
        argument = map_tree(source, x)
        tangents = Tangents(rebinds=True)
        map_tree(lambda leaf, dot: tangents.set(leaf, fitted(dot, leaf)), argument, g)
        before = STATE.recorders
        STATE.recorders = (*before, tangents)
        try:
            y = map_tree(held_now, fun(argument))
            found = map_tree(lambda leaf: tangents.of(leaf) if type(leaf) is Tensor else None, y)
        except BaseException as error:
            raise_our_own(error)
            raise
        finally:
            STATE.recorders = before
        return plain_tree(y), map_tree(_tangent, y, found)

    return jvp


def _tangent(leaf: Tensor, found: Tensor) -> Any:
    return vspace(getval(leaf)).zeros() if found is None or found is ZERO else plain(found)


class JVPNode(Node):
    """A node that carries its tangent, `g`."""

    __slots__ = ("g",)
    is_forward = True

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: dict[str, Any], parent_argnums: Any, parents: Any
    ) -> None:
        super().__init__(value, fun, args, kwargs, parent_argnums, parents)
        rule, gs = primitive_jvps.get(fun), [parent.g for parent in parents]
        if rule is None and isinstance(fun, Step):
            along = make_jvp(lambda xs: fun(*subvals(args, zip(parent_argnums, xs))), [args[i] for i in parent_argnums])
            self.g = along(gs)[1]
            return
        if rule is None:
            raise NotImplementedError(f"JVP of {get_name(fun)} wrt argnums {parent_argnums} not defined")
        self.g = rule(parent_argnums, gs, value, args, kwargs)

    def initialize_root(self, g: Any = None, *args: object, **kwargs: object) -> None:
        super().initialize_root()
        self.g = g


def defjvp_argnums(fun: Callable[..., Any], jvpmaker: Callable[..., Any]) -> None:
    """`jvpmaker(argnums, gs, ans, args, kwargs)` gives the tangent of the result."""
    primitive_jvps[fun] = jvpmaker


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """`jvpmaker(argnum, g, ans, args, kwargs)` gives what one argument contributes to the tangent."""

    def rule(argnums: Any, gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        terms = [jvpmaker(argnum, g, ans, args, kwargs) for argnum, g in zip(argnums, gs)]
        total = terms[0]
        for term in terms[1:]:
            total = map_tree(lambda a, b: a + b, total, term)
        return total

    defjvp_argnums(fun, rule)


def defjvp(fun: Any, *jvpfuns: Any, **kwargs: Any) -> None:
    """`jvpfun(g, ans, *args, **kwargs)` for each argument; "same" where fun is linear, None where it is constant."""
    rules = builtins.dict(zip(kwargs.get("argnums", itertools.count()), jvpfuns))

    def one(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        if argnum not in rules:
            raise NotImplementedError(f"JVP of {get_name(fun)} wrt argnum {argnum} not defined")
        rule = rules[argnum]
        if rule is None:
            return vspace(ans).zeros()
        if isinstance(rule, str):
            return fun(*subval(args, argnum, g), **kwargs)
        return rule(g, ans, *args, **kwargs)

    defjvp_argnum(fun, one)


def def_linear(fun: Any) -> None:
    """Declares that a function is linear in each of its arguments."""
    defjvp_argnum(fun, lambda argnum, g, ans, args, kwargs: fun(*subval(args, argnum, g), **kwargs))


# -- vector spaces ---------------------------------------------------------------------------------------------------


class VSpace:
    """The vector space that a value lies in. `VSpace.register` adds a kind of value."""

    mappings: ClassVar[dict[type, Callable[[Any], Any]]] = {}
    iscomplex = False

    def __init__(self, value: Any) -> None:
        pass

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[[Any], Any] | None = None) -> None:
        VSpace.mappings[value_type] = vspace_maker or cls

    def mut_add(self, x_prev: object, x_new: object) -> Any:
        return x_new if x_prev is None else self.add(x_prev, x_new)

    def add(self, x_prev: Any, x_new: Any) -> Any:
        return x_prev + x_new

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def covector(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{self.__dict__}"


class ArrayVSpace(VSpace):
    """Arrays of a shape and a dtype."""

    def __init__(self, value: Any) -> None:
        array = onp.asarray(getval(value))
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def size(self) -> int:
        return int(onp.prod(self.shape))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def zeros(self) -> Any:
        return onp.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return onp.ones(self.shape, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for index in onp.ndindex(*self.shape):
            vector = self.zeros()
            vector[index] = 1
            yield vector

    def randn(self) -> Any:
        return onp.array(onp.random.randn(*self.shape)).astype(self.dtype)

    def inner_prod(self, x: Any, y: ArrayLike) -> Any:
        return _dot(x, y)


class ComplexArrayVSpace(ArrayVSpace):
    """Arrays of complex numbers, as a space over the real ones."""

    iscomplex = True

    @property
    def size(self) -> int:
        return 2 * int(onp.prod(self.shape))

    def ones(self) -> Any:
        return onp.full(self.shape, 1 + 1j, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for index in onp.ndindex(*self.shape):
            for unit in (1.0, 1j):
                vector = self.zeros()
                vector[index] = unit
                yield vector

    def randn(self) -> Any:
        real, imaginary = onp.random.randn(*self.shape), onp.random.randn(*self.shape)
        return onp.array(real + 1j * imaginary).astype(self.dtype)

    def inner_prod(self, x: Any, y: Any) -> Any:
        return onp.real(_dot(onp.conj(x), y))

    def covector(self, x: Any) -> Any:
        return onp.conj(x)


def _dot(x: Any, y: Any) -> Any:
    return onp.sum(x * y)


class ContainerVSpace(VSpace):
    """Lists, tuples and dictionaries of vectors."""

    def __init__(self, value: Any) -> None:
        self.kind = builtins.type(value)
        items = value.items() if isinstance(value, builtins.dict) else enumerate(value)
        self.spaces = {key: vspace(item) for key, item in items}

    def _made(self, items: dict[Any, Any]) -> Any:
        if issubclass(self.kind, builtins.dict):
            return self.kind(items)
        return self.kind(*items.values()) if hasattr(self.kind, "_fields") else self.kind(items.values())

    def _each(self, method: str, *values: Any) -> Any:
        return self._made({k: getattr(s, method)(*(v[k] for v in values)) for k, s in self.spaces.items()})

    @property
    def size(self) -> int:
        return sum(s.size for s in self.spaces.values())

    def zeros(self) -> Any:
        return self._each("zeros")

    def ones(self) -> Any:
        return self._each("ones")

    def randn(self) -> Any:
        return self._each("randn")

    def add(self, x_prev: object, x_new: object) -> Any:
        return self._each("add", x_prev, x_new)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return self._made({k: s.scalar_mul(x[k], a) for k, s in self.spaces.items()})

    def covector(self, x: Any) -> Any:
        return self._each("covector", x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        return sum((s.inner_prod(x[k], y[k]) for k, s in self.spaces.items()), 0.0)

    def standard_basis(self) -> Iterator[Any]:
        zeros = {key: space.zeros() for key, space in self.spaces.items()}
        for key, space in self.spaces.items():
            for vector in space.standard_basis():
                yield self._made({**zeros, key: vector})


def _array_vspace(value: Any) -> VSpace:
    dtype = getattr(value, "dtype", None)
    is_complex = isinstance(value, builtins.complex) if dtype is None else dtype.kind == "c"
    return (ComplexArrayVSpace if is_complex else ArrayVSpace)(value)


for _kind in (onp.ndarray, builtins.float, builtins.int, builtins.complex, builtins.bool, Tensor):
    VSpace.register(_kind, _array_vspace)
for _kind in (builtins.list, builtins.tuple, builtins.dict):
    VSpace.register(_kind, ContainerVSpace)


def vspace(value: Any) -> Any:
    """The vector space that a value lies in."""
    for kind in builtins.type(value).__mro__:
        maker = VSpace.mappings.get(kind)
        if maker is not None:
            return maker(value)
    if isinstance(value, onp.generic):
        return _array_vspace(value)
    raise TypeError(f"Can't find vector space for value {value} of type {builtins.type(value)}.")


def defvspace(value_type: type, vspace_maker: Callable[[Any], Any]) -> None:
    """Registers the vector space of a kind of value."""
    VSpace.register(value_type, vspace_maker)


class SparseObject:
    """A vector that says how it is added to a dense one: `mut_add(dense)`."""

    __slots__ = ("mut_add", "vs")
    __wengert_sparse__ = True

    def __init__(self, vs: object, mut_add: Callable[[Any], Any]) -> None:
        self.vs, self.mut_add = vs, mut_add

    def dense(self, like: Any) -> Any:
        return self.mut_add(onp.zeros(like.shape, like.dtype))


def sparse_add(vs: Any, x_prev: Any, x_new: SparseObject) -> Any:
    """A dense vector with a sparse one added."""
    return x_new.mut_add(vs.zeros() if x_prev is None else x_prev)


# -- the old declarations, as methods --------------------------------------------------------------------------------


def primitive_with_deprecation_warnings(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """`primitive` with the methods `defvjp`, `defgrad` and `defvjp_is_zero` of old."""
    wrapped: Any = _primitive(f_raw)
    makers: dict[int, Any] = {}

    def add(argnum: int, maker: Any, method: str) -> None:
        warnings.warn(
            f"the method {method} is deprecated, use autograd.extend.defvjp", DeprecationWarning, stacklevel=3
        )
        makers[argnum] = maker
        defvjp(wrapped, *makers.values(), argnums=(*makers,))

    def old_defvjp(vjpfun: Any, argnum: int = 0) -> None:
        def maker(ans: Any, *args: object, **kwargs: object) -> Any:
            return lambda g: vjpfun(g, ans, vspace(args[argnum]), vspace(ans), *args, **kwargs)

        add(argnum, maker, "defvjp")

    def defvjp_is_zero(argnums: Any = (0,)) -> None:
        for argnum in argnums:
            add(argnum, None, "defvjp_is_zero")

    wrapped.defvjp = old_defvjp
    wrapped.defvjp_is_zero = defvjp_is_zero
    wrapped.defgrad = lambda maker, argnum=0: add(argnum, maker, "defgrad")
    return wrapped


primitive = primitive_with_deprecation_warnings

__all__ = [
    "Box", "JVPNode", "Node", "SparseObject", "VJPNode", "VSpace", "backward_pass", "def_linear", "defjvp",
    "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum", "defvjp_argnums", "defvspace", "getval", "isbox",
    "make_jvp", "make_vjp", "primitive", "primitive_jvps", "primitive_vjps", "sparse_add", "toposort", "trace",
    "vspace",
]  # fmt: skip
