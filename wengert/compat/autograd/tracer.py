"""`primitive`: a function on raw values, whose derivative is given apart, as one op of ours.

The op's attribute is the call: which function, with which arguments around the tensors. Its rules are looked up when
they are needed, so that `defvjp` and `defjvp` may come after the function has been used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ..._core.apply import apply, apply_prepared
from ..._core.engine import ENGINES, Engine, ndarray_of, register_host_kernel, transferred
from ..._core.op import Facts, Op, Rule
from ..._core.state import STATE, pausing
from ..._core.tensor import Tensor
from ..._core.types import type_of
from ..._transforms.steps import Steps
from . import _boxes
from ._boxes import conjugate, fitted, following, getval, isbox, leaves, map_tree, plain, plain_tree, source
from .util import subval, subvals, toposort
from .wrap_util import get_name, wraps

primitive_vjps: dict[Any, Callable[..., Any]] = {}
primitive_jvps: dict[Any, Callable[..., Any]] = {}
_RAW = frozenset((onp.ndarray, onp.float64, float, int, str))  # lone values without a box

Box = Tensor


class Call:
    """One call of a primitive: the function, its arguments with places for tensors, and the form of its result."""

    def __init__(self, wrapped: Callable[..., Any], f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> None:
        self.wrapped, self.f, self.kwargs = wrapped, f, kwargs
        # the operands, and for each the number of the argument that it is, or lies in
        self.operands, self.holders = list[Tensor](), list[int]()
        self.is_nested = False  # whether operands may lie in arguments
        self.args = (*[arg if type(arg) in _RAW else self._placed(number, arg) for number, arg in enumerate(args)],)
        self.result: Any = None
        self.natives: tuple[Any, ...] | None = None
        self.rules: dict[Any, Any] = {}  # what vjpmakers gave, where nobody followed what they read

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
            return map_tree(lambda leaf: values[leaf.index] if type(leaf) is _Place else leaf, self.args)
        return subvals(self.args, zip(self.holders, values))

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Runs the function on raw values; the floating-point leaves of what it gives."""
        with pausing():
            result = self.f(*self.filled([a if a.shape else a[()] for a in arrays]), **self.kwargs)
        self.result = result if type(result) in _RAW else map_tree(getval, result)
        is_ready = type(result) in (onp.ndarray, onp.float64) and result.dtype.kind in "fc"
        return (result,) if is_ready else (*map(onp.asarray, self.numbers()),)

    def numbers(self) -> list[Any]:
        """The floating-point leaves of the result."""
        return [leaf for leaf in leaves(self.result) if _boxes.is_differentiable(leaf)]

    def answer(self, outs: Sequence[Any]) -> Any:
        """The result with tensors at the floating-point leaves."""
        if type(self.result) in _RAW:
            return outs[0]
        waiting = iter(outs)
        return map_tree(lambda leaf: next(waiting) if _boxes.is_differentiable(leaf) else leaf, self.result)

    def argnums(self, needed: Sequence[bool]) -> tuple[int, ...]:
        """The positions of arguments that hold one of the operands asked for."""
        return (*dict.fromkeys(itertools.compress(self.holders, needed)),)


class _Place:
    """Where an operand stands among the arguments."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def rule_of(wrapped: Callable[..., Any], kind: str, argnums: object) -> Any:
    """What was declared for a primitive as its "VJP" or "JVP"."""
    rule = (primitive_vjps if kind == "VJP" else primitive_jvps).get(wrapped)
    if rule is None:
        raise NotImplementedError(f"{kind} of {get_name(wrapped)} wrt argnums {argnums} not defined")
    return rule


def _vjp(
    ct: tuple[Any, ...], needed: tuple[bool, ...], inputs: tuple[Tensor, ...], outs: tuple[Tensor, ...], call: Call
) -> Any:
    argnums = call.argnums(needed)
    cts = [plain(conjugate(c)) if isinstance(c, Tensor) else onp.zeros(y.shape, y.dtype)[()] for c, y in zip(ct, outs)]
    pull = None if STATE.recorders else call.rules.get(argnums)
    if pull is None:
        maker = rule_of(call.wrapped, "VJP", argnums)
        pull = maker(argnums, plain_tree(call.answer(outs)), call.filled([*map(plain, inputs)]), call.kwargs)
        if not STATE.recorders:
            call.rules[argnums] = pull
    found: list[Any] = [None] * len(inputs)
    before, _boxes.RULES.taken = _boxes.RULES.taken, set()
    try:
        pulled = pull(call.answer(cts))
    finally:
        _boxes.RULES.taken = before
    for argnum, grads in zip(argnums, pulled, strict=True):
        _gather(call.args[argnum], grads, needed, inputs, found)
    return (found,)


def _gather(arg: Any, grads: Any, needed: Sequence[bool], inputs: Sequence[Tensor], found: list[Any]) -> None:
    """Puts the cotangents of an argument at the numbers of its operands."""
    if type(arg) is _Place and needed[arg.index]:
        if hasattr(type(grads), "__wengert_sparse__"):
            grads = grads.dense(inputs[arg.index])
        found[arg.index] = conjugate(fitted(grads, inputs[arg.index]))
    elif isinstance(arg, dict):
        for key, value in arg.items():
            _gather(value, grads[key], needed, inputs, found)
    elif isinstance(arg, (list, tuple)):
        for value, grad in zip(arg, grads, strict=False):
            _gather(value, grad, needed, inputs, found)


def _jvp(inputs_dot: tuple[Any, ...], inputs: tuple[Tensor, ...], outs: tuple[Tensor, ...], call: Call) -> Any:
    active = [isinstance(d, Tensor) for d in inputs_dot]
    argnums = call.argnums(active)
    rule = rule_of(call.wrapped, "JVP", argnums)
    dots = [plain(d) if a else onp.zeros(x.shape, x.dtype)[()] for d, a, x in zip(inputs_dot, active, inputs)]
    args = call.filled([plain(x) for x in inputs])
    tangents = call.filled(dots)
    found = rule(argnums, [tangents[i] for i in argnums], plain_tree(call.answer(outs)), args, call.kwargs)
    moved = [d for d, leaf in zip(leaves(found), leaves(call.result), strict=True) if _boxes.is_differentiable(leaf)]
    return (*[fitted(d, y) for d, y in zip(moved, outs, strict=True)],)


def _batch(op: Op, operands: Sequence[Any], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Any:
    raise NotImplementedError(f"{get_name(attrs[0].wrapped)} cannot be run on batches")


_op = Op(
    name="autograd_primitive", operands=("inputs",), attrs=("call",), outs=("outs",), kind="general",
    type_rule=lambda inputs, call: (*map(type_of, map(source, call.numbers())),), batch_rule=_batch,
    is_variadic=True, has_many_outs=True, takes_missing=True,
    facts=Facts(doc="the results of a function whose derivative is given apart", dtypes="any"),
)  # fmt: skip
_op.joint = Rule(_vjp, _op.reverse_layout(), "autograd_primitive")
_op.jvp = Rule(_jvp, _op.forward_layout(), "autograd_primitive")


def _for_engine(engine: Engine) -> Any:
    def kernel(*natives_and_call: Any) -> tuple[Any, ...]:
        call = natives_and_call[-1]
        found, call.natives = call.natives, None  # the first time they are there; a replay runs the function again
        if found is None:
            found = call.run([ndarray_of(x) for x in natives_and_call[:-1]])
        return found if engine is ENGINES["numpy"] else (*[transferred(y, engine) for y in found],)

    return kernel


register_host_kernel("autograd_primitive", _for_engine)


def primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function on raw values one step of what is differentiated; `defvjp` and `defjvp` say how."""

    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and _RAW.issuperset(map(type, args)):
            return f_raw(*args)
        call = Call(f_wrapped, f_raw, args, {k: getval(v) for k, v in kwargs.items()} if kwargs else kwargs)
        if not call.operands:
            return f_raw(*map(getval, args), **call.kwargs)
        call.natives = call.run([*map(_boxes.numbers, call.operands)])
        return call.answer(apply(_op, (*call.operands,), (call,))) if call.natives else call.result

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
        if op is _op:
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
