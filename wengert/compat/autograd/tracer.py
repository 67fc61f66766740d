"""`primitive`: a function on raw values, whose derivative is given apart, as one op of ours.

The op's attribute is the call: which function, with which arguments around the tensors. Its rules are looked up when
they are needed, so that `defvjp` and `defjvp` may come after the function has been used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ..._control.given_derivatives import Given, given, given_one
from ..._core.apply import apply, apply_prepared
from ..._core.op import Op
from ..._core.state import STATE
from ..._core.tensor import Tensor
from ..._core.types import TensorType, type_of
from ..._transforms.recorded_ops import Steps
from . import _boxes
from ._boxes import conjugate, fitted, following, getval, isbox, leaves, map_tree, plain, source
from ._spaces import SparseObject
from .util import subval, toposort
from .wrap_util import get_name, wraps

primitive_vjps: dict[Any, Callable[..., Any]] = {}
primitive_jvps: dict[Any, Callable[..., Any]] = {}
_ARRAYS = (onp.ndarray, onp.float64)
_RAW = frozenset((*_ARRAYS, float, int, str))  # lone values without a box

Box = Tensor


class Call(Given):
    """One call of a primitive: the function, its arguments with places for tensors, and the form of its result."""

    is_nested = False  # whether operands may lie in arguments
    result: Any = None

    def __init__(self, wrapped: Callable[..., Any], f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> None:
        self.wrapped, self.f, self.args, self.kwargs = wrapped, f, (given := [*args]), kwargs
        # the operands, and for each the number of the argument that it is, or lies in
        self.operands, self.holders = operands, holders = [], []
        self.rules: dict[Any, Any] = {}  # what vjpmakers gave, where nobody followed what they read
        for number, arg in enumerate(args):
            if type(arg) is Tensor and arg.is_followed:  # as below, said shortly for the most common case
                given[number] = _Place(len(operands))
                operands.append(arg)
                holders.append(number)
            elif type(arg) not in _RAW:
                given[number] = self._placed(number, arg)

    def _placed(self, number: int, arg: Any) -> Any:
        """An argument with places for its operands."""
        if isinstance(arg, _boxes.CONTAINERS):
            self.is_nested = True
            return map_tree(lambda leaf: self._placed(number, leaf), arg)
        if not isbox(arg):
            return getval(arg)
        self.holders.append(number)
        self.operands.append(arg)
        return _Place(len(self.operands) - 1)

    def filled(self, values: Sequence[Any]) -> Any:
        """The arguments with values at the places."""
        if self.is_nested:
            return map_tree(lambda leaf: values[leaf] if type(leaf) is _Place else leaf, (*self.args,))
        filled = [*self.args]
        for holder, value in zip(self.holders, values):
            filled[holder] = value
        return (*filled,)

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Runs the function on raw values; the floating-point leaves of what it gives."""
        values = self.filled(arrays)
        before, STATE.recorders = STATE.recorders, ()  # in place: a context manager takes three calls
        try:
            result = self.f(*values, **self.kwargs)
        finally:
            STATE.recorders = before
        self.result = result if type(result) in _RAW else map_tree(getval, result)
        is_ready = type(result) in _ARRAYS and result.dtype.kind in "fc"
        return (result,) if is_ready else (*map(onp.asarray, self.numbers()),)

    def numbers(self) -> list[Any]:
        """The floating-point leaves of the result."""
        return [leaf for leaf in leaves(self.result) if _boxes.is_differentiable(leaf)]

    def answer(self, outs: Sequence[Any]) -> Any:
        """The result with tensors at the floating-point leaves."""
        waiting = iter(outs)
        return map_tree(lambda leaf: next(waiting) if _boxes.is_differentiable(leaf) else leaf, self.result)

    def types(self) -> tuple[TensorType, ...]:
        return (*map(type_of, map(source, self.numbers())),)

    def argnums(self, needed: Sequence[bool]) -> tuple[int, ...]:
        """The positions of arguments that hold one of the operands asked for."""
        held = itertools.compress(self.holders, needed) if False in needed else self.holders
        return (*(dict.fromkeys(held) if self.is_nested else held),)

    def pull(self, ct: Sequence[Any], needed: Sequence[bool], inputs: Sequence[Tensor], outs: Sequence[Tensor]) -> Any:
        argnums, is_watched, is_lone = self.argnums(needed), bool(STATE.recorders), type(self.result) in _RAW
        pull = None if is_watched else self.rules.get(argnums)
        if pull is None:
            args, maker = self.filled([*map(plain, inputs)]), rule_of(self.wrapped, "VJP", argnums)
            pull = maker(argnums, plain(outs[0]) if is_lone else self.answer([*map(plain, outs)]), args, self.kwargs)
            if not is_watched:
                self.rules[argnums] = pull
        cts = [plain(conjugate(c)) if type(c) is Tensor else onp.zeros(y.shape, y.dtype)[()] for c, y in zip(ct, outs)]
        found: list[Any] = [None] * len(inputs)
        g = cts[0] if is_lone else self.answer(cts)
        for argnum, grads in zip(argnums, _boxes.taking(pull, g) if is_watched else pull(g), strict=True):
            _gather(self.args[argnum], grads, needed, inputs, found)
        return found

    def push(self, dots: Sequence[Any], inputs: Sequence[Tensor], outs: Sequence[Tensor]) -> Any:
        active = [isinstance(d, Tensor) for d in dots]
        argnums = self.argnums(active)
        rule = rule_of(self.wrapped, "JVP", argnums)
        dots = [plain(d) if a else onp.zeros(x.shape, x.dtype)[()] for d, a, x in zip(dots, active, inputs)]
        args, tangents = self.filled([*map(plain, inputs)]), self.filled(dots)
        found = rule(argnums, [tangents[i] for i in argnums], self.answer([*map(plain, outs)]), args, self.kwargs)
        moved = itertools.compress(leaves(found), map(_boxes.is_differentiable, leaves(self.result)))
        return [fitted(d, y) for d, y in zip(moved, outs, strict=True)]

    def __repr__(self) -> str:
        return get_name(self.wrapped)


class _Place(int):
    """The number of an operand, where it stands among the arguments."""


def rule_of(wrapped: Callable[..., Any], kind: str, argnums: object) -> Any:
    """What was declared for a primitive as its "VJP" or "JVP"."""
    rule = (primitive_vjps if kind == "VJP" else primitive_jvps).get(wrapped)
    if rule is None:
        raise NotImplementedError(f"{kind} of {get_name(wrapped)} wrt argnums {argnums} not defined")
    return rule


def _gather(arg: Any, grads: Any, needed: Sequence[bool], inputs: Sequence[Tensor], found: list[Any]) -> None:
    """Puts the cotangents of an argument at the numbers of its operands."""
    if type(arg) is _Place and needed[arg]:
        if isinstance(grads, SparseObject):
            grads = grads.dense(inputs[arg])
        found[arg] = conjugate(fitted(grads, inputs[arg]))
    elif isinstance(arg, dict):
        for key, value in arg.items():
            _gather(value, grads[key], needed, inputs, found)
    elif isinstance(arg, (list, tuple)):
        for value, grad in zip(arg, grads, strict=False):
            _gather(value, grad, needed, inputs, found)


def primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function on raw values one step of what is differentiated; `defvjp` and `defjvp` say how."""

    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            for arg in args:
                if type(arg) not in _RAW:
                    break
            else:
                return f_raw(*args)
        call = Call(f_wrapped, f_raw, args, {k: getval(v) for k, v in kwargs.items()} if kwargs else kwargs)
        if not call.operands:
            return f_raw(*map(getval, args), **call.kwargs)
        call.natives = call.run([*map(getval, call.operands)])
        if call.natives and type(call.result) in _RAW:
            return apply(given_one, (*call.operands,), (call,))
        return call.answer(apply(given, (*call.operands,), (call,))) if call.natives else call.result

    f_wrapped.fun = f_raw
    f_wrapped._is_autograd_primitive = True
    return wraps(f_raw)(f_wrapped)


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function on raw values one whose results are constants."""

    def f_wrapped(*args: object, **kwargs: object) -> Any:
        return f_raw(*map(getval, args), **{k: getval(v) for k, v in kwargs.items()})

    f_wrapped._is_primitive = True
    return wraps(f_raw)(f_wrapped)


def register_notrace(trace_type: object, primitive_fun: object) -> None:
    """Declares that a primitive's results are constants to a kind of derivative."""
    if getattr(trace_type, "is_forward", False):
        primitive_jvps[primitive_fun] = lambda argnums, gs, ans, args, kwargs: map_tree(lambda y: y * 0.0, ans)
    else:
        primitive_vjps[primitive_fun] = lambda argnums, ans, args, kwargs: (
            lambda g: tuple(map_tree(lambda x: x * 0.0, args[i]) for i in argnums)
        )


# -- traces ----------------------------------------------------------------------------------------------------------


class Node:
    """What a trace knows of a value: the primitive and the nodes that it came from."""

    __slots__ = ("fun", "parents", "value")
    is_forward = False

    def __init__(self, value: object, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any) -> None:
        self.value, self.fun, self.parents = value, fun, list(parents)

    def initialize_root(self, *args: object, **kwargs: object) -> None:
        self.value, self.fun, self.parents = None, None, []

    @classmethod
    def new_root(cls, *args: object, **kwargs: object) -> Any:
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


class Graph(Steps):
    """The recorder of all that depends on some tensors, whole numbers and truth values included."""

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        if any(self.tracks(x._key) for x in operands):
            self.keep(op, operands, attrs, outs)
            self._tracked.update(y._key for y in outs)


class _TraceStack:
    """autograd's stack of traces: ours is the stack of recorders."""

    top = property(lambda self: len(STATE.recorders) - 1)


trace_stack = _TraceStack()


def trace(start_node: Any, fun: Callable[..., Any], x: object) -> tuple[Any, Any]:
    """A function's value, and its node in a graph of nodes like the one given (None if it does not depend on x)."""
    box = source(x)
    graph = Graph([box._key])
    with following(graph):
        end = fun(box)
    nodes = {box._key: start_node}
    for op, operands, attrs, outs in graph.steps:
        held = [x._key in nodes for x in operands]
        args, parents = (*map(plain, operands),), [nodes[x._key] for x, is_held in zip(operands, held) if is_held]
        if op.is_given:
            call = attrs[0]
            rest = call.filled(args), call.kwargs, call.argnums(held), parents
            steps = [call.wrapped] * len(outs)
        else:
            rest = args, {}, (*itertools.compress(itertools.count(), held),), parents
            steps = [Step(op, operands, attrs, outs, place) for place in range(len(outs))]
        nodes.update((y._key, type(start_node)(plain(y), step, *rest)) for y, step in zip(outs, steps))
    return plain(end), nodes.get(end._key) if isinstance(end, Tensor) else None


class Step:
    """One of our ops, with its attributes, as the function that a node names."""

    def __init__(self, op: Op, operands: Any, attrs: tuple[Any, ...], outs: tuple[Tensor, ...], place: int) -> None:
        self.op, self.operands, self.attrs, self.outs, self.place = op, operands, attrs, outs, place
        self.__name__ = op.name

    def __call__(self, *args: Any) -> Any:
        found = apply_prepared(self.op, (*map(source, args),), self.attrs)
        return found[self.place] if self.op.is_multi else found


def new_box(value: object, trace: int, node: object) -> Any:
    """A value as a tensor."""
    return source(value)


__all__ = [
    "Box", "Node", "getval", "isbox", "new_box", "notrace_primitive", "primitive", "register_notrace", "subval",
    "toposort", "trace", "trace_stack",
]  # fmt: skip
