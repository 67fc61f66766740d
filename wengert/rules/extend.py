"""Ops of one's own: `primitive` declares one around a NumPy function; `register_gradient` and `not_differentiable` give
an op that has none its derivative, or say that it has none on purpose.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from .._compile.bridge import as_program, has_tracers
from .._control.custom import show_rule
from .._core.apply import apply
from .._core.derived import Derived, pickles_by_value
from .._core.engine import Engine, register_host_kernel
from .._core.host_kernel import HostKernel
from .._core.op import REGISTRY, Cost, Facts, Mixes, Moves, Op, Rule, batch_size, named, require_facts
from .._core.public import public, unconverted
from .._core.tensor import Tensor
from .._core.torch_compile import left_out
from .._core.tracebacks import fold
from .._core.types import TensorType, tensor_type
from .._core.user_line import at_user_line
from .._core.wrong_calls import Symbolic
from .._prims.structural import concatenate, reshape, slice_
from ..ops.promotion import as_tensor, outward
from ..programs.specs import TensorSpec

__all__ = ["not_differentiable", "primitive", "register_gradient"]

Attrs = tuple[tuple[str, Any], ...]

_own: dict[str, Op] = {}
# of each what pickle needs: the module of its kernel, how it was made, and the kernel
_own_callables: dict[str, tuple[str, dict[str, Any], Callable[..., Any]]] = {}


class AppliedOp(NamedTuple):
    """What a rule given to `register_gradient` sees of an op: tensors in, tensors out, attributes by name."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    attrs: dict[str, Any]


@public
def primitive(
    name: str, *, spec: Callable[..., TensorSpec], numpy: Callable[..., Any], vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None, batch: Callable[..., Any] | None = None,
    jax: Callable[..., Any] | None = None, torch: Callable[..., Any] | None = None,
    tensorflow: Callable[..., Any] | None = None, moves: Moves = "", linear: bool = False, places: bool = False,
    cost: Cost = "dear", mixes: Mixes = "all",
    flops: Callable[..., float] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Declares a new op around a NumPy function: callable at once, traced, compiled, batched, differentiated.

    Args:
        name: of the op; no other op may have it.
        spec: `spec(*input_specs, **attrs) -> TensorSpec` of the result.
        numpy: `numpy(*arrays, **attrs)` computes the result on NumPy arrays. Engines that are given no function of
            their own run this one through the host.
        vjp: `vjp(ct, out, *inputs, **attrs)` -> one cotangent per input (None for one that has none), written in wg
            functions. Without it a reverse gradient through the op is a `LookupError`.
        jvp: `jvp(tangents, out, *inputs, **attrs)` -> the tangent of the result. Without it forward mode through the op
            is a `LookupError`.
        batch: `batch(inputs, batched, **attrs)` -> the result with a leading batch axis, where `batched` says which
            inputs have one; by default the examples are run one by one.
        jax: the same on JAX arrays, for that engine.
        torch: the same on PyTorch tensors, for that engine.
        tensorflow: the same on TensorFlow tensors, for that engine.
        moves: what becomes of the elements of the first input, if all that the op does is to put them somewhere,
            whatever they are: "same" (they stay, the result is the first input), "all" (each has a place or more),
            "some" (not all have one). Such an op must take arrays of every dtype: its pattern of sparsity is found by
            running it on element numbers.
        linear: whether the result is linear in each input while the others are held, as that of a product is: a rule of
            `custom_gradient` that applies the op to its upstream gradient serves forward mode, too.
        places: whether the result is of integers that count from 0, as those of `argmax`: what takes elements from
            there need not look for negative ones.
        cost: of an element of the result. What is "dear" is kept for the backward pass of a branch or of a loop; what
            is "light" (about as much as a load), "move" (a load from elsewhere) or "free" (nothing: another shape or
            dtype) may be computed again instead.
        mixes: of which elements of the inputs an element of the result may be made, for patterns of sparsity: "nothing"
            (of those at the same place of inputs of one shape), "axes" (all along the axes that an attribute `axes` or
            `axis` names, of one input), "earlier" (those before it along `axis`; behind it with `reverse`), "matrices"
            (those of the same matrix of a batch), or "all".
        flops: `flops(shape of the result, *shapes of the inputs, **attrs)` -> how many operations on numbers the op
            takes, which reports count; by default one for each element.

    Returns:
        `op(*arrays, **attrs)`, which gives the kind of array that came in. Attributes must be hashable.

    Raises:
        KeyError: an op of that name exists.
        TypeError: an argument that must be callable is not, or a fact is none that there is.

    Example:
        >>> import numpy as np, wengert as wg
        >>> cube = wg.primitive(
        ...     "doc_cube", spec=lambda x: x, numpy=lambda x: x**3, vjp=lambda ct, out, x: ct * 3 * x**2
        ... )
        >>> cube(np.array([1.0, 2.0])), wg.grad(cube)(2.0)
        (array([1., 8.]), np.float64(12.0))
    """
    _require_free_name(name)
    given = {"spec": spec, "numpy": numpy, "vjp": vjp, "jvp": jvp, "batch": batch, "flops": flops}
    for argument, f in given.items():
        if not (callable(f) or (f is None and argument not in ("spec", "numpy"))):
            raise TypeError(at_user_line(f"primitive: {argument} must be callable, got {type(f).__name__}"))
    facts = _facts(
        name,
        numpy,
        moves=moves,
        linear_in="inputs" if linear else "",
        places=places,
        cost=cost,
        mixes=mixes,
        flops=flops,
    )
    op = Op(
        name=name, operands=("inputs",), attrs=("attributes",), outs=("out",), kind="general",
        type_rule=_type_rule(name, spec), batch_rule=_looped if batch is None else _given_batch(batch),
        is_variadic=True, facts=facts,
    )  # fmt: skip
    if vjp is not None:
        op.joint = Rule(_vjp_rule(name, vjp), op.reverse_layout(), name)
    if jvp is not None:
        op.jvp = Rule(_jvp_rule(name, jvp), op.forward_layout(), name)
    _own[name] = op
    register_host_kernel(name, _kernels(name, numpy, spec, {"jax": jax, "torch": torch, "tensorflow": tensorflow}))
    whole = {**given, "jax": jax, "torch": torch, "tensorflow": tensorflow, "moves": moves, "linear": linear}
    whole |= {"places": places, "cost": cost, "mixes": mixes}
    return _made(op, numpy, whole)


_SIGNATURE = inspect.signature(lambda *inputs, **attrs: None)


class _Callable(Derived):
    """A primitive of a user's, pickled by its name: the module that makes it is to be imported where it is read."""

    def __reduce__(self) -> Any:
        module, whole, _ = self._made_by
        return _once_more, (self.__name__, module, whole if pickles_by_value() else None)


def _made(op: Op, numpy: Callable[..., Any], whole: dict[str, Any]) -> _Callable:
    made = _Callable(_callable_op(op, numpy))
    vars(made)["__qualname__"] = made.__name__ = op.name
    made.__module__ = home = getattr(numpy, "__module__", None) or __name__  # ufuncs of older NumPy have none
    made.__signature__ = _SIGNATURE
    made.__doc__ = numpy.__doc__ or f"The primitive {op.name}."
    made._made_by = _own_callables[op.name] = (home, whole, numpy)
    op.made_by = (_op_of, (made,))
    return made


def _op_of(made: _Callable) -> Op:
    return _own[made.__name__]


def _once_more(name: str, module: str, whole: dict[str, Any] | None) -> Callable[..., Any]:
    """The primitive of that name, which its module makes unless it comes along."""
    if name not in _own:
        if whole is not None:
            return primitive(name, **whole)
        importlib.import_module(module)
    module, whole, numpy = _own_callables[name]
    return _made(_own[name], numpy, whole)


def _facts(name: str, numpy: Callable[..., Any], **stated: Any) -> Facts:
    facts = Facts(doc=(numpy.__doc__ or name).strip().split("\n")[0], dtypes="any", **stated)
    try:
        require_facts(f"primitive {name}", facts)
    except TypeError as error:
        raise TypeError(at_user_line(str(error))) from None
    return facts


def _require_free_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(at_user_line(f"primitive: the name must be a string, got {name!r}"))
    if name in _own or name in REGISTRY:
        raise KeyError(at_user_line(f"primitive: an op named {name!r} exists already"))


def _callable_op(op: Op, numpy: Callable[..., Any]) -> Callable[..., Any]:
    def call(*inputs: object, **attrs: object) -> Any:
        try:  # not `@public`: an op opens nothing, and is called often
            if has_tracers(inputs):
                return as_program(_callable_op(op, numpy), inputs, attrs, op.name)
            operands = tuple(as_tensor(x, op.name) for x in inputs)
            return outward(apply(op, operands, (tuple(sorted(attrs.items())),)), *inputs)
        except BaseException as error:
            if isinstance(error, Symbolic):
                return error.answer(_callable_op(op, numpy), inputs, attrs)
            fold(error)
            raise

    return left_out(unconverted(call))


def _spec_of(x: Any) -> TensorSpec:
    spec = TensorSpec((), x.dtype)
    spec.shape = tuple(x.shape)  # the dimensions of a trace included
    return spec


def _type_rule(name: str, spec: Callable[..., TensorSpec]) -> Callable[..., TensorType]:
    def type_rule(inputs: Sequence[Any], attributes: Attrs) -> TensorType:
        result = spec(*map(_spec_of, inputs), **dict(attributes))
        if not isinstance(cast(Any, result), TensorSpec):
            raise TypeError(f"{name}: spec must return a TensorSpec, got {type(result).__name__}")
        return tensor_type(cast(Any, result.shape), result.dtype)

    return type_rule


def _kernels(
    name: str, numpy: Callable[..., Any], spec: Callable[..., TensorSpec], given: dict[str, Callable[..., Any] | None]
) -> Callable[[Engine], Any]:
    """For an engine, the function that was given for it, else NumPy's through the host."""
    type_rule = _type_rule(name, spec)

    def for_engine(engine: Engine) -> Any:
        own = given.get(engine.name)
        if own is None:
            return HostKernel(name, numpy, type_rule, engine)

        def kernel(*natives_and_attributes: Any) -> Any:
            *natives, attributes = natives_and_attributes
            return engine.enter(own(*map(engine.leave, natives), **dict(attributes)))

        return kernel

    return for_engine


def _vjp_rule(name: str, vjp: Callable[..., Any]) -> Callable[..., Any]:
    def rule(ct: Tensor, out: Tensor, inputs: tuple[Tensor, ...], attributes: Attrs) -> Any:
        found = _cotangents(name, vjp(ct, out, *inputs, **dict(attributes)), inputs)
        show_rule(f"the vjp of {name}", [ct, *inputs], found)
        return (found,)

    return rule


def _cotangents(name: str, found: Tensor, inputs: tuple[Tensor, ...]) -> tuple[Tensor | None, ...]:
    """What a user's rule returned: one for each input, as a tensor in the input's dtype if it was a number."""
    results = tuple(cast("Sequence[Any]", found)) if isinstance(found, (tuple, list)) else (found,)
    if len(results) != len(inputs):
        raise ValueError(
            at_user_line(
                f"{name}: its gradient must return one result for each of the {len(inputs)} inputs, got {len(results)}"
            )
        )
    return tuple(None if g is None else as_tensor(g, name) for g in results)


def _jvp_rule(name: str, jvp: Callable[..., Any]) -> Callable[..., Any]:
    def rule(inputs_dot: tuple[Any, ...], out: Tensor, inputs: tuple[Tensor, ...], attributes: Attrs) -> Any:
        found = as_tensor(jvp(inputs_dot, out, *inputs, **dict(attributes)))
        show_rule(f"the jvp of {name}", [*inputs_dot, *inputs], [found])
        return found

    return rule


def _given_batch(batch: Callable[..., Any]) -> Callable[..., Any]:
    def rule(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Attrs]) -> Tensor:
        found = as_tensor(batch(operands, batched, **dict(attrs[0])), op.name)
        show_rule(f"the batch rule of {op.name}", operands, [found])
        return found

    return rule


def _looped(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Attrs]) -> Tensor:
    """One example after the other, the results stacked."""
    results: list[Tensor] = []
    for index in range(int(batch_size(operands, batched))):
        example = tuple(_row(x, index) if b else x for x, b in zip(operands, batched, strict=True))
        result = apply(op, example, attrs)
        results.append(reshape(result, shape=(1, *result.shape)))
    return concatenate(*results, axis=0)


def _row(x: Tensor, index: int) -> Tensor:
    rest = tuple(x.shape[1:])
    zeros = (0,) * len(rest)
    row = slice_(x, starts=(index, *zeros), limits=(index + 1, *rest), strides=(1,) * len(x.shape))
    return reshape(row, shape=rest)


# -- derivatives of ops that have none ---------------------------------------------------------------------------------


@public
def register_gradient(op_name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives an op that has no gradient one (a decorator).

    Args:
        op_name: the name of a primitive, one's own or one of Wengert's.

    Returns:
        A decorator for `rule(op, *upstream)`, where op has `inputs`, `outputs` and `attrs`; the rule returns one
        cotangent per input (None for one that has none).

    Raises:
        KeyError: the op has a rule, or has been declared not differentiable.
        LookupError: there is no op of that name.
        TypeError: the name is not a string.

    Example:
        >>> import numpy as np, wengert as wg
        >>> halve = wg.primitive("doc_halve", spec=lambda x: x, numpy=lambda x: x / 2)
        >>> @wg.register_gradient("doc_halve")
        ... def rule(op, upstream):
        ...     return upstream / 2
        >>> wg.grad(halve)(3.0)
        np.float64(0.5)
    """
    op = _open_op(op_name, "register_gradient")

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        _require_open(op, "register_gradient")
        op.joint = _registered_rule(op, rule)
        op.kind = "general"
        op.plans.clear()
        return rule

    return decorate


@public
def not_differentiable(op_name: str) -> None:
    """Declares that an op has no gradient on purpose: paths through it are cut, and `None` or an error says so.

    Args:
        op_name: the name of a primitive that has no rule.

    Raises:
        KeyError: the op has a rule, or has been declared not differentiable.
        LookupError: there is no op of that name.
        TypeError: the name is not a string.

    Example:
        >>> import wengert as wg
        >>> peek = wg.primitive("doc_peek", spec=lambda x: x, numpy=lambda x: x + 0)
        >>> wg.not_differentiable("doc_peek")
        >>> wg.grad(lambda x: x * peek(x))(3.0)
        np.float64(3.0)
    """
    op = _open_op(op_name, "not_differentiable")
    op.kind = "stop"


def _open_op(op_name: object, what: str) -> Op:
    if not isinstance(op_name, str):
        raise TypeError(at_user_line(f"{what}: the name of an op must be a string, got {op_name!r}"))
    op = _own.get(op_name) or REGISTRY.get(op_name)
    if op is None:
        import difflib  # for this message only

        near = difflib.get_close_matches(op_name, [*_own, *REGISTRY])
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise LookupError(at_user_line(f"{what}: there is no op named {op_name!r}{hint}"))
    _require_open(op, what)
    return op


def _require_open(op: Op, what: str) -> None:
    has_rule = op.joint is not None or bool(op.rules)
    if has_rule or op.kind not in ("general", "not_differentiable"):
        raise KeyError(at_user_line(f"{what}: the derivative of {op.name} is declared already"))


def _registered_rule(op: Op, rule: Callable[..., Any]) -> Rule:
    names = ["ct", *op.operands, *op.outs, *op.attrs]

    def joint(ct: Any, *values: Any) -> Any:
        groups = values[: len(op.operands)]
        inputs = (*groups[:-1], *groups[-1]) if op.is_variadic else groups
        outputs = values[len(op.operands) : len(op.operands) + len(op.outs)]
        attrs = named(op, values[len(op.operands) + len(op.outs) :])
        upstream = ct if op.is_multi else (ct,)
        found = _cotangents(op.name, rule(AppliedOp(inputs, outputs, attrs), *upstream), inputs)
        show_rule(f"the registered gradient of {op.name}", [*upstream, *inputs], found)
        return (found,) if op.is_variadic and op.fixed == 0 else found

    return Rule(joint, op.reverse_layout(), op.name, names)
