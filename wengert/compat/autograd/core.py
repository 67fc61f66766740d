"""`autograd.core`: `make_vjp`, `make_jvp` and `backward_pass` on our tapes, and nodes of a graph for inspection."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ..._core.graph import quietly
from ..._core.op import ZERO
from ..._core.tensor import Tensor, held_now
from ..._core.types import as_type
from ..._transforms.forward import Tangents
from ..._transforms.reverse import ones_like_type, sweep
from ..._transforms.tape import Tape, entry_of
from . import _declarations, _spaces
from ._boxes import conjugate, fitted, following, getval, isbox, leaves, map_tree, plain, plain_tree, source
from ._declarations import *  # noqa: F403  # all that its `__all__` names
from ._declarations import primitive_with_deprecation_warnings as primitive_with_deprecation_warnings
from ._spaces import *  # noqa: F403  # all that its `__all__` names
from ._spaces import vspace
from .tracer import Box, Node, Step, primitive_jvps, primitive_vjps, rule_of, toposort, trace
from .util import subvals

primitive = primitive_with_deprecation_warnings

# -- reverse mode ----------------------------------------------------------------------------------------------------


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The vector-Jacobian product at x, and the value there."""
    run = Run(fun, x)
    return run.vjp, plain(run.y) if type(run.y) is Tensor else plain_tree(run.y)


class Run:
    """One run of a function under a tape."""

    __slots__ = ("argument", "entries", "is_lone", "keys", "tracked", "y")

    def __init__(self, fun: Callable[..., Any], x: Any) -> None:
        self.is_lone = not isinstance(x, (list, tuple, dict))
        self.argument = source(x) if self.is_lone else map_tree(source, x)
        self.keys = [self.argument._key] if self.is_lone else [s._key for s in leaves(self.argument)]
        tape = Tape(self.keys, rebinds=True)
        with following(tape):
            y = fun(self.argument)
            self.y = y if type(y) is Tensor else map_tree(held_now, y)
        self.entries, self.tracked = tape.entries, tape.tracked

    def connected(self, seeds: Any) -> list[tuple[int, Tensor]]:
        """The keys and cotangents of the results that depend on the argument."""
        if not isinstance(y := self.y, (list, tuple, dict)):
            return [(y._key, conjugate(fitted(seeds, y)))] if type(y) is Tensor and y._key in self.tracked else []
        pairs: list[tuple[Any, Any]] = []
        map_tree(lambda leaf, g: pairs.append((leaf, g)), self.y, seeds)
        return [(t._key, conjugate(fitted(g, t))) for t, g in pairs if type(t) is Tensor and t._key in self.tracked]

    def vjp(self, g: Any) -> Any:
        """The gradient of the inner product of the result with g."""
        return self.swept(self.connected(g))

    def ones(self) -> Any:
        """The gradient of the sum of the result."""
        follows = type(y := self.y) is Tensor and y._key in self.tracked
        return self.swept([(y._key, ones_like_type(as_type((y._data.shape, y._data.dtype))))] if follows else [])

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
    return plain(conjugate(found) if found._data.dtype.kind == "c" else found)


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

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any) -> None:
        super().__init__(value, fun, args, kwargs, parent_argnums, parents)
        if isinstance(fun, Step):  # an op of ours: differentiated where the cotangent comes
            self.vjp = lambda g: _swept_back(fun, parent_argnums, g)
        else:
            self.vjp = rule_of(fun, "VJP", parent_argnums)(parent_argnums, value, args, kwargs)

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


# -- forward mode ----------------------------------------------------------------------------------------------------


def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """A function from a direction to the value at x and the derivative along it."""

    def jvp(g: Any) -> tuple[Any, Any]:
        argument = map_tree(source, x)
        tangents = Tangents(rebinds=True)
        map_tree(lambda leaf, dot: tangents.set(leaf, fitted(dot, leaf)), argument, g)
        with following(tangents):
            y = map_tree(held_now, fun(argument))
            found = map_tree(lambda leaf: tangents.of(leaf) if type(leaf) is Tensor else None, y)
        return plain_tree(y), map_tree(_tangent, y, found)

    return jvp


def _tangent(leaf: Tensor, found: Tensor) -> Any:
    return vspace(leaf).zeros() if found is None or found is ZERO else plain(found)


class JVPNode(Node):
    """A node that carries its tangent, `g`."""

    __slots__ = ("g",)
    is_forward = True

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any) -> None:
        super().__init__(value, fun, args, kwargs, parent_argnums, parents)
        gs = [parent.g for parent in parents]
        if isinstance(fun, Step):
            along = make_jvp(lambda xs: fun(*subvals(args, zip(parent_argnums, xs))), [args[i] for i in parent_argnums])
            self.g = along(gs)[1]
        else:
            self.g = rule_of(fun, "JVP", parent_argnums)(parent_argnums, gs, value, args, kwargs)

    def initialize_root(self, g: Any = None, *args: object, **kwargs: object) -> None:
        super().initialize_root()
        self.g = g


__all__ = [
    "Box", "JVPNode", "Node", "VJPNode", "backward_pass", "getval", "isbox", "make_jvp", "make_vjp", "primitive",
    "primitive_jvps", "primitive_vjps", "toposort", "trace",
]  # fmt: skip
__all__ += _declarations.__all__
__all__ += _spaces.__all__
