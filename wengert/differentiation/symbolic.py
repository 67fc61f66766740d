"""Gradients of what is in a graph: `gradients`, `symbolic_gradient` and their options.

`gradients` checks everything first, then lists the nodes between xs and ys (`_transforms/traced.py`) and runs the one
sweep, which adds nodes to the current graph.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import enum
import inspect
import operator
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .._compile.arguments import one_tensor
from .._core import dtypes
from .._core.argument_types import ArrayLike, Tree, Unconnected
from .._core.caller import TENSORS, Owned, caller_of
from .._core.graph import Graph, Scope, quietly
from .._core.op import ZERO
from .._core.public import public
from .._core.state import STATE, building, recording
from .._core.structure import as_held, flatten, is_number_list
from .._core.tensor import Tensor, Value
from .._core.types import TensorType, same_shape, type_of
from .._core.user_line import at_user_line
from .._prims.structural import alias, cast, reshape
from .._transforms.cotangent_terms import Gathering, Method
from .._transforms.reverse import materialise, ones_like_type, sweep
from .._transforms.row_cotangents import Rows
from .._transforms.tape import Tape
from .._transforms.traced import is_reached, listing
from ..ops.promotion import as_tensor, is_tensor_like
from ..programs.variables import Variable
from .functional import checked_seed
from .slices import IndexedSlices, slices_of

__all__ = ["AggregationMethod", "Gradient", "UnconnectedGradients", "gradients", "symbolic_gradient"]


class UnconnectedGradients(enum.Enum):
    """What the gradient is with respect to something that ys do not depend on.

    `NONE` gives None, `ZERO` zeros of its shape and dtype.

    Example:
        >>> import wengert as wg
        >>> wg.UnconnectedGradients("zero")
        <UnconnectedGradients.ZERO: 'zero'>
    """

    NONE = "none"
    ZERO = "zero"


class AggregationMethod(enum.IntEnum):
    """How the terms of a gradient are added up where a value is used several times.

    `ADD_N` (the `DEFAULT`) is one sum of all terms, which are alive together. `EXPERIMENTAL_TREE` adds neighbours, then
    their sums, and so on, as soon as both are there: few are alive, and rounding errors grow slowly.
    `EXPERIMENTAL_ACCUMULATE_N` adds each term to the sum so far: two are alive.

    Example:
        >>> import wengert as wg
        >>> wg.AggregationMethod.DEFAULT is wg.AggregationMethod.ADD_N
        True
    """

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class _Place(NamedTuple):
    """One of ys, xs or stop_gradients: the key of a tensor (None: a constant), its type, and what the user passed."""

    key: int | None
    type: TensorType
    given: Any


@public
def gradients(
    ys: Tree, xs: Tree, grad_ys: Tree = None, name: str | None = "gradients", *, gate_gradients: bool = False,
    aggregation_method: object = None, stop_gradients: Tree = None,
    unconnected_gradients: Unconnected = UnconnectedGradients.NONE, colocate_gradients_with_ops: bool = False,
    sparse: bool = False,
) -> list[Any]:  # fmt: skip
    """Adds the gradients of `sum(ys)` with respect to xs to the graph under construction.

    Args:
        ys: a tensor or a list of them, of any shapes; all their elements are summed.
        xs: a tensor, a Variable or a list of them: inputs, captured tensors or results of ops, also among ys.
        grad_ys: for each y the weights of its elements, of exactly its shape (`IndexedSlices` are rows of weights), or
            None for ones.
        name: what the names of the new nodes begin with; numbered if the graph has it already.
        gate_gradients: whether all gradients of a node must be there before one of them is used.
        aggregation_method: an `AggregationMethod`, its name or number; None is the default.
        stop_gradients: a tensor or a list of them that count as constants (a gradient with respect to them is given).
        unconnected_gradients: `UnconnectedGradients.NONE` or `ZERO`, or "none" or "zero": what an x gets on which ys
            do not depend. Integers and bools are constants.
        colocate_gradients_with_ops: whether the new nodes are to be placed with the nodes that they differentiate.
        sparse: the gradient of an array of which only whole rows are gathered comes as `IndexedSlices`.

    Returns:
        A list with one symbolic tensor of x's shape and dtype (or None) for each x. At kinks it is what the op's
        documentation says. It can be differentiated again.

    Raises:
        RuntimeError: outside of a trace.
        LookupError: an op between xs and ys has no gradient; the message names it.
        ValueError: a wrong number or shape of grad_ys, an unknown option, a tensor of another graph.
        TypeError: a wrong dtype of grad_ys, a complex y without any, something that is not a tensor or a list of them.

    Example:
        >>> import wengert as wg
        >>> @wg.function
        ... def both(a):
        ...     b = 2 * a
        ...     return wg.gradients(a + b, [a, b]), wg.gradients(a + b, [a, b], stop_gradients=[a, b])
        >>> both(0.0)
        ([np.float64(3.0), np.float64(1.0)], [np.float64(1.0), np.float64(1.0)])
    """
    builder = _current_graph("gradients")
    mode = _unconnected(unconnected_gradients)
    method = _method(aggregation_method)
    scope = _checked_name(name, "gradients")
    targets = _places(ys, "ys", builder)
    sources = _places(xs, "xs", builder)
    stops = _stops(stop_gradients, builder)
    with builder.lock, _undone_on_error(builder), quietly():
        seeds = _checked_grad_ys(grad_ys, targets)
        scope = _new_scope(builder, scope)
        found = _swept(
            builder, targets, sources, seeds, stops, bool(sparse),
            lambda names: Gathering(
                builder, scope, names, method, bool(gate_gradients), bool(colocate_gradients_with_ops)
            ),
        )  # fmt: skip
        results: dict[int, Any] = {}
        return [_result(source, found, results, mode) for source in sources]


def _swept(
    builder: Graph, targets: Sequence[_Place], sources: Sequence[_Place], seeds: Sequence[Any], stops: Sequence[int],
    sparse: bool, gathering: Callable[[Any], Gathering],
) -> dict[int, Any]:  # fmt: skip
    """The cotangents (a tensor, ZERO or None) of the sources that can have one, by key."""
    wanted = {s.key for s in sources if s.key is not None and dtypes.is_inexact(s.type.dtype)}
    given = [
        (_key_of_target(y), y, seed)
        for y, seed in zip(targets, seeds, strict=True) if y.key is not None and dtypes.is_inexact(y.type.dtype)
    ]  # fmt: skip
    entries, names = listing(builder, wanted, [key for key, _, _ in given], stops)
    cts = gathering(names)
    cotangents: list[tuple[int, Any]] = []
    for index, (key, y, seed) in enumerate(given):
        if is_reached(entries, wanted, key):
            builder.scope = Scope(f"{cts.scope.prefix}grad_ys_{index}/")
            cotangents.append((key, _seed(seed, y.type, sparse)))
    builder.scope = cts.scope
    order = [*wanted]
    masked = [type(seed) is Rows for _, seed in cotangents]
    cts.has_rows = any(masked)
    return dict(zip(order, sweep(entries, cotangents, order, masked, sparse, cts), strict=True))


def _key_of_target(y: _Place) -> int:
    """A Variable among ys is what it holds at this point of the program."""
    if isinstance(y.given, Variable):
        return y.given.value._key
    assert y.key is not None
    return y.key


def _result(source: _Place, found: dict[int, Any], results: dict[int, Any], mode: UnconnectedGradients) -> Any:
    """The gradient for one x: one tensor however often x is listed."""
    cotangent = None if source.key is None else found.get(source.key)
    if cotangent is None and mode is UnconnectedGradients.NONE:
        return None
    key = -1 if source.key is None else source.key
    if type(cotangent) is Rows and key not in results:
        x = source.given
        results[key] = slices_of(cotangent, x._outside if isinstance(x, Variable) else x)
    if key not in results or key == -1:
        gradient = materialise(ZERO if cotangent is None else cotangent, source.type)
        shape = source.type.shape
        results[key] = gradient if gradient.shape == shape else reshape(gradient, shape=shape)
    return results[key]


def _seed(given: object, y: TensorType, sparse: bool) -> Any:
    """A seed as a tensor, or, where gradients may be sparse, rows as the rows they are."""
    if given is None:
        return ones_like_type(y)
    if sparse and isinstance(given, IndexedSlices):
        values, indices = as_tensor(given.values, "gradients: grad_ys"), as_tensor(given.indices, "gradients: grad_ys")
        return Rows(y, [(cast(values, y.dtype), cast(indices, dtypes.int64))])
    return cast(as_tensor(given, "gradients: grad_ys"), y.dtype)


@contextmanager
def _undone_on_error(builder: Graph) -> Generator[None]:
    """What fails adds no nodes to the graph."""
    count, scope = len(builder.nodes), builder.scope
    try:
        yield
    except BaseException:
        builder.shorten(count)
        raise
    finally:
        builder.scope = scope


# -- checks, before any work ------------------------------------------------------------------------------------------


def _current_graph(what: str) -> Graph:
    builder = STATE.builder
    if builder is None:
        raise RuntimeError(
            at_user_line(
                f"{what} works on a graph under construction: call it in a wg.function or under "
                f"wg.Graph().as_default(), or use wg.grad for values at hand"
            )
        )
    return builder


def _checked_name(name: object, default: str) -> str:
    if not isinstance(name, (str, type(None))):
        raise TypeError(at_user_line(f"{default}: wanted a string as name, got {name!r}"))
    return name or default


def _new_scope(builder: Graph, name: str) -> str:
    """The name, inside the scope that is open and different from those that the graph has."""
    return builder.unique_name(name if builder.scope is None else builder.scope.prefix + name)


def _unconnected(option: object) -> UnconnectedGradients:
    try:
        return UnconnectedGradients(option)
    except ValueError:
        raise ValueError(
            at_user_line(
                f"Unknown value for unconnected_gradients: {option!r}; wanted 'none', 'zero' or a member of "
                f"UnconnectedGradients"
            )
        ) from None


def _method(option: Any) -> Method:
    """The method that a member, a name in either case or a number stands for."""
    if option is None:
        return Method(AggregationMethod.DEFAULT)
    if isinstance(option, str):
        found = AggregationMethod.__members__.get(option if option.isupper() else option.upper())
        if found is not None:
            return Method(found)
    elif not isinstance(option, (bool, np.bool_)):
        try:
            return Method(operator.index(option))
        except (TypeError, ValueError):
            pass
    raise ValueError(
        at_user_line(
            f"Invalid `aggregation_method` specified {option!r}. Accepted values are [0, 1, 2], the members of "
            f"AggregationMethod and their names"
        )
    )


def _kind(x: Any) -> str:
    return type(x).__name__


def _listed(given: object) -> list[Any]:
    """A tensor, number or array as a list of one; a list or tuple as a list."""
    return [*given] if isinstance(given, (list, tuple)) else [given]


def _places(given: object, what: str, builder: Graph) -> list[_Place]:
    return [_place(x, f"gradients: {what}", builder) for x in _listed(given)]


def _place(x: ArrayLike, what: str, builder: Graph) -> _Place:
    if isinstance(x, Tensor):
        _require_in(builder, x, what)
        return _Place(x._key, type_of(x), x)
    if isinstance(x, Variable):
        return _Place(x._key, type_of(x), x)
    if isinstance(x, IndexedSlices):
        raise TypeError(
            at_user_line(
                f"{what}: wanted a tensor, got IndexedSlices; pass its values, or make the array in full of it, with "
                f"wg.tensor, before anything is computed from it"
            )
        )
    if isinstance(x, (dict, str, type(None))) or (isinstance(x, (list, tuple)) and not is_number_list([*x])):
        raise TypeError(at_user_line(f"{what}: wanted a tensor or a list of tensors, got {_kind(x)} in it"))
    return _Place(None, _type_of_constant(x, what), x)


def _type_of_constant(x: ArrayLike | None, what: str) -> TensorType:
    with building(None):
        return type_of(as_tensor(x, what))


def _require_in(builder: Graph, x: Tensor, what: str) -> None:
    data = x._data
    if type(data) is Value and all(g.serial != data.graph for g in (builder, *builder.enclosing())):
        raise ValueError(at_user_line(f"{what}: {x!r} is of another graph than {builder.name}"))


def _stops(given: object, builder: Graph) -> list[int]:
    stops: list[int] = []
    for x in [] if given is None else _listed(given):
        if not isinstance(x, Tensor):
            cure = "; pass its .value" if isinstance(x, Variable) else ""
            raise TypeError(at_user_line(f"gradients: stop_gradients: wanted tensors, got {type(x).__name__}{cure}"))
        _require_in(builder, x, "gradients: stop_gradients")
        stops.append(x._key)
    return stops


def _checked_grad_ys(given: object, targets: Sequence[_Place]) -> list[Any]:
    """One seed (or None) for each y, of its shape and kind."""
    seeds: list[Any] = [None] * len(targets) if given is None else _listed(given)
    if len(seeds) != len(targets):
        raise ValueError(at_user_line(f"gradients: Length mismatch. Passed {len(seeds)} grad_ys for {len(targets)} ys"))
    for index, (seed, y) in enumerate(zip(seeds, targets, strict=True)):
        if isinstance(seed, (list, tuple)) and is_tensor_like(seed):
            seeds[index] = seed = as_tensor(seed, f"gradients: grad_ys[{index}]")
        _check_seed(seed, y.type, index)
    return seeds


def _check_seed(seed: Any, y: TensorType, index: int) -> None:
    if seed is None:
        if dtypes.is_complex(y.dtype):
            raise TypeError(
                at_user_line(f"Gradients of complex tensors must set grad_ys (ys[{index}] has dtype {y.dtype.name})")
            )
        return
    what = f"gradients: grad_ys[{index}]"
    if isinstance(seed, (str, dict)):
        raise TypeError(at_user_line(f"{what}: wanted a tensor, an array or a number, got {_kind(seed)}"))
    is_typed = isinstance(seed, IndexedSlices) or is_tensor_like(seed)
    shape, dtype = (seed.shape, seed.dtype) if is_typed else _type_of_constant(seed, what)
    if not same_shape(shape, y.shape):
        raise ValueError(at_user_line(f"{what} has shape {shape}, wanted exactly the shape {y.shape} of its y"))
    if dtypes.is_complex(dtype) != dtypes.is_complex(y.dtype) or (dtype == dtypes.bool_) != (y.dtype == dtypes.bool_):
        raise TypeError(
            at_user_line(
                f"{what} has dtype {dtype.name}, but its y has dtype {y.dtype.name}: real goes with real, complex with "
                f"complex"
            )
        )


# -- the gradient of a function as an op ------------------------------------------------------------------------------


@public
def symbolic_gradient(inputs: Sequence[Any], f: Callable[..., Any], name: str | None = None) -> list[Any]:
    """The gradients of a function with N inputs and M outputs, from N inputs and M upstream gradients.

    Args:
        inputs: N + M arrays, tensors or numbers: x1 to xN, then dL/dy1 to dL/dyM, each of the shape of its y.
        f: takes N arrays (its positional parameters, or its `input_signature`) and returns M tensors.
        name: what the names of the new nodes begin with, in a trace.

    Returns:
        A list of the N arrays dL/dx1 to dL/dxN, in the caller's kind, with the shapes and dtypes of the inputs: zeros
        where L does not depend on an input, integer zeros for integer arrays. At kinks it is what the ops'
        documentation says. It can be differentiated again.

    Raises:
        TypeError: f is not callable or does not tell its number of inputs; inputs is not a sequence; the kind of an
            upstream gradient does not fit.
        ValueError: the number of inputs is not N + M; an upstream gradient has another shape than its y.
        LookupError: an op on the path has no gradient.

    Example:
        >>> import wengert as wg
        >>> wg.symbolic_gradient([3.0, 5.0, 2.0, 7.0], lambda x, b: (x * b, x + b))
        [np.float64(17.0), np.float64(13.0)]
    """
    if not callable(f):
        raise TypeError(at_user_line(f"symbolic_gradient: wanted a callable f, got {type(f).__name__}"))
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(at_user_line(f"symbolic_gradient: wanted a list of inputs, got {type(inputs).__name__}"))
    scope = _checked_name(name, "symbolic_gradient")
    count = _input_count(f)
    if len(inputs) < count:
        raise ValueError(
            at_user_line(
                f"symbolic_gradient: f has {count} inputs, but only {len(inputs)} tensors came; wanted the inputs, "
                f"then one gradient for each output"
            )
        )
    builder = STATE.builder
    if builder is None:
        return _gradients_of_call(inputs, f, count)
    with builder.lock, _undone_on_error(builder):
        builder.scope = Scope(f"{_new_scope(builder, scope)}/")
        return _gradients_of_call(inputs, f, count)


Gradient = symbolic_gradient


def _gradients_of_call(inputs: Sequence[Any], f: Callable[..., Any], count: int) -> list[Any]:
    caller = TENSORS if STATE.builder is not None else caller_of(inputs)
    sources = [_source(x, index) for index, x in enumerate(inputs[:count])]
    tape = Tape(x._key for x in sources if dtypes.is_inexact(x.dtype))
    with recording(tape):
        ys = _outputs(as_held(f(*sources)))
    upstream = inputs[count:]
    if len(upstream) != len(ys):
        raise ValueError(
            at_user_line(
                f"symbolic_gradient: f has {count} inputs and {len(ys)} outputs, so {count + len(ys)} tensors are "
                f"wanted, but {len(inputs)} came"
            )
        )
    seeds: list[tuple[int, Tensor]] = []
    for index, (dy, y) in enumerate(zip(upstream, ys, strict=True)):
        seed = checked_seed(dy, y, f"symbolic_gradient: the gradient of output {index}")
        if seed is not None:
            seeds.append((y._key, seed))
    with quietly():
        found = sweep(tape.entries, seeds, [x._key for x in sources])
        results = [materialise(ZERO if g is None else g, type_of(x)) for g, x in zip(found, sources, strict=True)]
    own = Owned()
    return [caller.result(x, own) for x in results]


def _source(x: ArrayLike, index: int) -> Tensor:
    """An input as a tensor of its own; Python numbers and lists of them count as floats."""
    what = f"symbolic_gradient: input {index}"
    if (isinstance(x, int) and not isinstance(x, bool)) or (isinstance(x, list) and is_number_list(x)):
        array: Any = np.array(x)
        x = array if array.dtype.kind == "c" else array.astype(dtypes.default_float())
    tensor = as_tensor(x, what)
    return alias(tensor)


def _outputs(result: object) -> list[Tensor]:
    leaves, _ = flatten(result)
    return [one_tensor(leaf, "symbolic_gradient") for leaf in leaves]


def _input_count(f: Callable[..., Any]) -> int:
    """How many inputs f has."""
    signature = getattr(f, "_signature", None)
    if isinstance(signature, tuple):
        return len(signature)  # pyright: ignore[reportUnknownArgumentType]
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [p for p in parameters if p.kind in positional]
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters) or not parameters:
        raise TypeError(
            at_user_line(
                "symbolic_gradient: how many inputs f has is not known: give it positional parameters, or an "
                "input_signature"
            )
        )
    return len(found)
