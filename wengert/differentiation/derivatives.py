"""Derivatives beyond the gradient: `vjp`, `jvp`, `linearize`, `linear_transpose`, `jacobian`, `hessian`, `hvp`.

Each runs f once under a recorder. A pullback sweeps its tape; a pushforward pushes tangents along (`jvp`) or through
the linear part of what ran (`linearize`). Jacobians apply either to all unit vectors at once (`_control/jacobians.py`).
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from .._compile.arguments import (
    Differentiated,
    array_argument,
    require_callable,
)
from .._compile.bridge import bridged
from .._compile.matching import matched
from .._control.jacobians import as_columns, as_rows, images
from .._control.linearity import Linearity, is_zero
from .._control.values import Leaves
from .._core import dtypes
from .._core.argument_types import Tree, Unconnected
from .._core.caller import Caller, Owned, caller_of, strong_result
from .._core.cycles import under_way
from .._core.derived import derived
from .._core.dims import Dim, DimLike, size_of
from .._core.graph import quietly
from .._core.kinds import SEQUENCES, TUPLES
from .._core.moving import beside
from .._core.public import public
from .._core.state import STATE, recording
from .._core.structure import as_held, flatten, unflatten
from .._core.tensor import Tensor
from .._core.types import same_shape, type_of
from .._core.user_line import at_user_line
from .._prims.structural import attach, cast, conj, convert, zeros_of
from .._transforms.forward import Tangents
from .._transforms.linearize import LinearPart
from .._transforms.recorded_ops import RecordedOp, Steps
from .._transforms.reverse import sweep
from .._transforms.tape import Tape
from ..errors import DisconnectedError
from ..inspect.explain import disconnection
from ..ops.promotion import as_tensor
from ._jacobian_blocks import Blocks
from .functional import checked_seed, chosen_arguments, grad, of_scalar, parameters, positions_of, unconnected_mode
from .recorded_function import Recorded
from .sparse import sparse_function

__all__ = [
    "ValueAndJacobian", "hessian", "hvp", "jacobian", "jvp", "linear_transpose", "linearize", "value_and_jacobian",
    "vjp",
]  # fmt: skip


MANY_SLOPES = 120  # of a loop's step: with fewer, the tangents of a few numbers are in registers, one by one
FEW_NUMBERS = 64  # of what a loop takes: of more, vectors are made along these


class ValueAndJacobian(NamedTuple):
    """What `value_and_jacobian` returns: f's value and the Jacobian.

    `value` is what f returned. `jacobian` is what `jacobian` gives: the result's axes before those of the argument.
    """

    value: Any
    jacobian: Any


# -- along one direction ----------------------------------------------------------------------------------------------


@public
def vjp(
    f: Callable[..., Any], *primals: Tree, has_aux: bool = False, unconnected_gradients: Unconnected = "error"
) -> tuple[Any, ...]:  # fmt: skip
    """f's value, and the function that pulls cotangents of it back to the arguments.

    Args:
        f: takes the primals and returns an array or a nested structure of arrays.
        *primals: arrays, numbers or nested structures of them; copied, so that they may be overwritten afterwards.
        has_aux: f returns `(y, aux)`; then the result is `(y, pullback, aux)`.
        unconnected_gradients: what the pullback gives for an argument that y does not depend on: "error"
            (`DisconnectedError`), "zero" or "none".

    Returns:
        `(y, pullback)`. `pullback(cotangent)` takes a cotangent in y's structure, of each array's shape and kind, and
        gives a tuple with the cotangent of each primal in its structure, shape, dtype and kind of array. It can be
        called any number of times, and be differentiated. At kinks it is what the ops' documentation says.

    Raises:
        TypeError: f is not callable, there are no primals, a primal is not floating; (from the pullback) a cotangent
            is complex for a real y or real for a complex one.
        ValueError: (from the pullback) a cotangent has another structure or shape than y.
        DisconnectedError: (from the pullback) y does not depend on a primal; the message says why.

    Example:
        >>> import numpy as np, wengert as wg
        >>> y, pullback = wg.vjp(lambda x, w: x * w, np.array([1.0, 2.0]), 3.0)
        >>> pullback(np.array([1.0, 10.0]))
        (array([ 3., 30.]), np.float64(21.0))
    """
    return _pulling_back(f, primals, has_aux, unconnected_mode(unconnected_gradients), "vjp")


def _pulling_back(
    f: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool, mode: str, name: str
) -> tuple[Any, ...]:
    """`vjp` under the name of what the user called."""
    require_callable(f, name)
    sources = sources_of(f, primals, name)
    tensors = [x for s in sources for x in s.tensors]
    caller = caller_of(primals)
    tape = Tape([x._key for x in tensors])
    with recording(tape):
        result = as_held(f(*[s.argument(p) for s, p in zip(sources, primals, strict=True)]))
    result, aux = _with_aux(result, has_aux, name)
    y = Leaves(result, "f(x)")

    @public
    def pullback(cotangent: Tree) -> tuple[Any, ...]:
        seeds = _seeds(cotangent, y, f"{name}: the cotangent")
        found = _pulled(tape, [*zip(y.tensors, seeds, strict=True)], tensors)
        return (*_as_sources(found, sources, y.tensors, mode, caller, lambda x, path: _cut_off(tape, y, x, path)),)

    own = Owned()
    value = strong_result(caller.result(y.value, own))
    pull = Recorded(pullback, name, lambda: [(_zeros_in(y, is_python),) for is_python in (False, True)])
    return (value, pull, caller.result(aux, own)) if has_aux else (value, pull)


def _zeros(x: Tensor, is_python: bool) -> Any:
    """Zeros like a tensor; a number of Python's where that is asked for, which has a signature of its own."""
    if is_python and not x.shape:
        return 0j if dtypes.is_complex(x.dtype) else 0.0
    return np.zeros([int(extent) for extent in x.shape], x.dtype)


def _zeros_in(y: Leaves, is_python: bool) -> Any:
    """A cotangent of zeros, in the structure of a result."""
    leaves: list[Any] = [None] * len(flatten(y.value)[0])
    for place, x in zip(y.places, y.tensors, strict=True):
        leaves[place] = _zeros(x, is_python) if dtypes.is_inexact(x.dtype) else None
    return unflatten(y.spec, leaves)


@public
def linear_transpose(f: Callable[..., Any], *primals: Tree) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function; for complex numbers its adjoint.

    Args:
        f: a linear function of the primals, which returns an array or a nested structure of arrays.
        *primals: what arguments look like: arrays, numbers or nested structures of them; their values do not matter.

    Returns:
        A function of one argument in the structure of f's result, which gives a tuple with one value for each primal,
        of its shape and dtype.

    Raises:
        TypeError: f is not callable, there are no primals, a primal is not floating.
        ValueError: f is not linear in the primals; one that adds a constant is not.

    Example:
        >>> import numpy as np, wengert as wg
        >>> A = np.array([[1.0, 2.0, 3.0]])
        >>> wg.linear_transpose(lambda x: A @ x, np.zeros(3))(np.array([2.0]))
        (array([2., 4., 6.]),)
    """
    checks: list[Linearity] = []
    results: list[Tensor] = []

    require_callable(f, "linear_transpose")

    @functools.wraps(f)
    def watched(*arguments: Tree) -> Any:
        inner = [x for x in flatten(arguments)[0] if type(x) is Tensor]
        checks.append(Linearity([x._key for x in inner]))
        with recording(checks[0]):
            result = f(*arguments)
        results.extend(Leaves(result, "f(x)").tensors)
        return result

    name = getattr(f, "__name__", "f")
    cycle = f"linear_transpose: {name} needs the transpose of {name} itself; write the transpose without calling {name}"
    with under_way(f, cycle):
        pullback = _pulling_back(watched, primals, False, "zero", "linear_transpose")[1]
    check = checks[0]
    if check.took_numbers or not all(x._key in check.linear or is_zero(x) for x in results):
        reason = f" (because of {check.why})" if check.why else ""
        raise ValueError(at_user_line(f"linear_transpose: f is not linear in the primals{reason}"))
    return pullback


@public
def jvp(
    f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False, *, unconnected_gradients: str = "error"
) -> tuple[Any, ...]:  # fmt: skip
    """f's value, and its derivative along a direction.

    Takes one run of f and keeps nothing of it: the memory does not grow with the number of operations, nor with the
    number of steps of a loop.

    Args:
        f: takes the primals and returns an array or a nested structure of arrays.
        primals: the list or tuple of f's arguments: arrays, numbers or nested structures of them.
        tangents: the list or tuple of directions, each in its primal's structure, of each array's shape and kind.
        has_aux: f returns `(y, aux)`; then the result is `(y, dy, aux)`.
        unconnected_gradients: what comes out if no float in y depends on the primals: "error" (`DisconnectedError`),
            "zero" or "none". An array in y that does not depend on them, beside one that does, has a zero tangent.

    Returns:
        `(y, dy)`: dy has y's structure, shapes, dtypes and kind of array; an integer or bool in y has the tangent None.

    Raises:
        TypeError: f is not callable, `primals` or `tangents` is no list or tuple, a primal is not floating, a tangent
            is complex for a real primal or real for a complex one.
        ValueError: the tangents differ from the primals in number, structure or shape.
        DisconnectedError: y does not depend on the primals.
        LookupError: an op has no forward derivative, or a custom gradient is not linear and has no `jvp`.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.jvp(lambda x, w: x * w, (np.array([1.0, 2.0]), 3.0), (np.array([1.0, 0.0]), 1.0))
        (array([3., 6.]), array([4., 2.]))
    """
    require_callable(f, "jvp")
    mode = unconnected_mode(unconnected_gradients)
    for given, name in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(given, SEQUENCES):
            raise TypeError(at_user_line(f"jvp: wanted a list or tuple as {name}, got {type(given).__name__}"))
    sources = sources_of(f, primals, "jvp", is_copied=False)
    dots = _directions(tangents, sources, "jvp: tangents")
    caller = caller_of((*primals, *tangents))
    recorder = Tangents()
    with recording(recorder):
        for x, dot in zip((x for s in sources for x in s.tensors), dots, strict=True):
            recorder.set(x, dot)
        result = as_held(f(*[s.argument(p) for s, p in zip(sources, primals, strict=True)]))
    result, aux = _with_aux(result, has_aux, "jvp")
    y = Leaves(result, "f(x)")
    dy = _as_tangents([recorder.of(x) for x in y.tensors], y, mode, "jvp")
    own = Owned()
    found = (strong_result(caller.result(y.value, own)), caller.result(dy, own))
    return (*found, caller.result(aux, own)) if has_aux else found


@public
def linearize(
    f: Callable[..., Any], *primals: Tree, unconnected_gradients: Unconnected = "error"
) -> tuple[Any, Callable[..., Any]]:  # fmt: skip
    """f's value, and its derivative as a function of the direction.

    What depends on the primals alone is computed here, once; the function only does what is linear in its arguments.

    Args:
        f: takes the primals and returns an array or a nested structure of arrays.
        *primals: arrays, numbers or nested structures of them; copied, so that they may be overwritten afterwards.
        unconnected_gradients: as for `jvp`.

    Returns:
        `(y, f_jvp)`: `f_jvp(*tangents)` gives the derivative along the tangents, in y's structure, as `jvp` does.

    Raises:
        TypeError, ValueError, DisconnectedError, LookupError: as `jvp`; those about tangents from `f_jvp`.

    Example:
        >>> import numpy as np, wengert as wg
        >>> y, f_jvp = wg.linearize(np.sin, np.array([0.0, np.pi]))
        >>> f_jvp(np.array([1.0, 1.0])), f_jvp(np.array([2.0, 1.0]))
        (array([ 1., -1.]), array([ 2., -1.]))
    """
    require_callable(f, "linearize")
    mode = unconnected_mode(unconnected_gradients)
    sources = sources_of(f, primals, "linearize")
    caller = caller_of(primals)
    tensors = [x for s in sources for x in s.tensors]
    recorder = Steps([x._key for x in tensors])
    with recording(recorder):
        result = as_held(f(*[s.argument(p) for s, p in zip(sources, primals, strict=True)]))
    y = Leaves(result, "f(x)")
    part = LinearPart(recorder.steps, tensors, y.tensors)

    @public
    def f_jvp(*tangents: Tree) -> Any:
        dots = _directions(tangents, sources, "linearize: tangents")
        dy = _as_tangents(part(dots), y, mode, "linearize")
        return caller.or_that_of(tangents).result(dy, Owned())

    push = Recorded(f_jvp, "linearize", lambda: [
        (*[s.result([_zeros(x, is_python) for x in s.tensors]) for s in sources],) for is_python in (False, True)
    ])  # fmt: skip
    return strong_result(caller.result(y.value, Owned())), push


@public
def hvp(f: Callable[..., Any], x: object, v: object) -> Any:
    """The product of f's Hessian at x and a vector, without the Hessian.

    Pushes v through f's gradient (forward over reverse).

    Args:
        f: takes x and returns a real scalar.
        x: an array, a number or a nested structure of them.
        v: the vector, in x's structure and shapes.

    Returns:
        The product, in x's structure, shapes, dtypes and kind of array; zero where the second derivative vanishes.

    Raises:
        TypeError: f is not callable, or x is not floating.
        ValueError: f's result is not a scalar; v differs from x in structure or shape.
        DisconnectedError: f's result does not depend on x.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.hvp(lambda x: (x**3).sum(), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        array([  6., 120.])
    """
    require_callable(f, "hvp")
    return jvp(grad(of_scalar(f, "hvp")), (x,), (v,))[1]


# -- along all directions ---------------------------------------------------------------------------------------------


@public
def jacobian(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, mode: str = "auto", sparsity: object = None,
    chunk: int | None = None, *, holomorphic: bool = False, unconnected_gradients: Unconnected = "error",
) -> Callable[..., Any]:  # fmt: skip
    """A function that gives f's Jacobian: the derivative of each element of the result by each of an argument.

    Args:
        f: takes arrays (and anything else) and returns an array or a nested structure of arrays.
        argnums: which positional argument to differentiate with respect to, or several; an argument may be a nested
            structure.
        mode: "reverse" pulls the unit vectors of the result back, "forward" pushes those of the arguments along;
            "auto" takes whichever are fewer. Of a large result that is joined from parts (`concatenate`) it chooses for
            each part, and a part of which each element depends on one element of an argument takes one direction.
        sparsity: None for a dense Jacobian; a SciPy sparse matrix that has an entry wherever the Jacobian may have one;
            "detect", to find that pattern on f's graph (`sparsity`); or a `Coloring` (`coloring`), which saves the
            search for columns that share a pass. Of one real array by one real array. Forward passes are taken
            unless rows are fewer; "forward" and "reverse" insist.
        chunk: how many unit vectors go at once; None: all of them. Memory grows with it.
        holomorphic: f is a holomorphic function of complex arguments; then the Jacobian is its complex derivative.
        unconnected_gradients: what comes out for an argument that nothing in the result depends on: "error"
            (`DisconnectedError`), "zero" or "none". Blocks that are zero beside others that are not are zeros.

    Returns:
        `g(*args, **kwargs)`: in the structure of f's result, in each place the structure of the argument (a tuple of
        them if `argnums` is a list or tuple), in each place of that an array of shape `y.shape + x.shape`, in the
        arguments' kind of array. The rows of a real result by a complex argument are gradients: directions of
        steepest ascent. g can be differentiated again. With `sparsity` a
        `scipy.sparse.csr_array` of shape `(y.size, x.size)` with the pattern's entries; in a trace (inside of
        `function`) its `data` alone, an array that can be differentiated: pattern and passes are found once, while
        tracing, and stand for all calls. Outside of traces NumPy's arrays of the same shapes and types that come again
        are answered by a program that is compiled then, as in `function` (what f reads is read at each call, what it
        prints is not printed again; `eager` switches that off).

    Raises:
        TypeError: f is not callable, an argument is not floating; the result is complex and `holomorphic` is not set,
            or it is set and something is not complex; "forward" with a complex argument and a real result.
        ValueError: an unknown `mode`; `chunk` is not positive; `argnums` does not fit.
        LostGradientError: `sparsity` is given where the result takes part in differentiation outside of a trace: a
            sparse matrix holds numbers only.
        DisconnectedError: the result does not depend on an argument.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.jacobian(lambda x: x**2 * x[0])(np.array([1.0, 2.0]))
        array([[3., 0.],
               [4., 4.]])
    """
    wish = _Wish(argnums, mode, chunk, holomorphic, unconnected_gradients, sparsity)
    function = _jacobian_function(f, "jacobian", wish, lambda value, jac: jac)
    return _of_f(function, jacobian, f, wish)


@public
def value_and_jacobian(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, mode: str = "auto", sparsity: object = None,
    chunk: int | None = None, *, holomorphic: bool = False, unconnected_gradients: Unconnected = "error",
) -> Callable[..., ValueAndJacobian]:  # fmt: skip
    """A function that gives f's value and its Jacobian, from one run.

    Args:
        f, argnums, mode, sparsity, chunk, holomorphic, unconnected_gradients: as for `jacobian`.

    Returns:
        `g(*args, **kwargs) -> ValueAndJacobian(value, jacobian)`.

    Raises:
        TypeError, ValueError, LostGradientError, TracingError, DisconnectedError: as `jacobian`.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.value_and_jacobian(lambda x: x**2)(np.array([1.0, 2.0])).value
        array([1., 4.])
    """
    wish = _Wish(argnums, mode, chunk, holomorphic, unconnected_gradients, sparsity)
    function = _jacobian_function(f, "value_and_jacobian", wish, ValueAndJacobian)
    return _of_f(function, value_and_jacobian, f, wish)


@public
def hessian(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, sparsity: object = None, *, chunk: int | None = None
) -> Callable[..., Any]:  # fmt: skip
    """A function that gives f's Hessian: its second derivatives.

    Pushes all unit vectors through f's gradient (forward over reverse).

    Args:
        f: takes arrays (and anything else) and returns a real scalar.
        argnums: which positional argument to differentiate with respect to, or several; an argument may be a nested
            structure.
        sparsity: as for `jacobian`; patterns count with their mirror images, and are coloured as stars, so that most
            Hessians take fewer passes than their fullest row has entries.
        chunk: how many unit vectors go at once; None: all of them. Memory grows with it.

    Returns:
        `g(*args, **kwargs)`: in the structure of the arguments (a tuple of them if `argnums` is a list or tuple), in
        each place that structure again, in each place of that an array of shape `x_i.shape + x_j.shape`. Zeros where
        the second derivative vanishes. With `sparsity` a `scipy.sparse.csr_array` of shape `(x.size, x.size)`,
        in a trace its `data`.

    Raises:
        TypeError: f is not callable, an argument is not floating or complex.
        ValueError: f's result is not a scalar; `chunk` is not positive; `argnums` does not fit.
        LostGradientError: as `jacobian`.
        DisconnectedError: the result does not depend on an argument.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])
    """
    require_callable(f, "hessian")
    gradient = grad(of_scalar(f, "hessian"), argnums)
    wish = _Wish(argnums, "forward if possible", chunk, False, "error", sparsity)
    function = _jacobian_function(gradient, "hessian", wish, lambda value, jac: jac)
    return derived(function, "hessian of {}.", hessian, f, argnums, sparsity, chunk=chunk)


def _of_f(function: Callable[..., Any], maker: Callable[..., Any], f: Callable[..., Any], wish: _Wish) -> Any:
    options = {"holomorphic": wish.holomorphic, "unconnected_gradients": wish.unconnected}
    place = (wish.argnums, wish.mode, wish.sparsity, wish.chunk)
    return derived(function, f"{maker.__name__} of {{}}.", maker, f, *place, **options)


# -- how vjp, jvp and linearize work ----------------------------------------------------------------------------------


def sources_of(
    f: Callable[..., Any], primals: Sequence[Any], name: str, is_copied: bool = True
) -> list[Differentiated]:
    """The primals as fresh tensors."""
    if not primals:
        raise TypeError(at_user_line(f"{name}: wanted at least one primal to differentiate with respect to"))
    names, _ = parameters(f)
    return [
        Differentiated(_copied(p) if is_copied else p, names[i] if i < len(names) else f"primals[{i}]")
        for i, p in enumerate(primals)
    ]


def _copied(value: object) -> Any:
    """A structure whose NumPy arrays are the caller's no more."""
    leaves, spec = flatten(value)
    return unflatten(spec, [np.array(x) if isinstance(x, np.ndarray) else x for x in leaves])  # pyright: ignore[reportUnknownArgumentType]


def _with_aux(result: Tensor, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, TUPLES) or len(result) != 2:
        raise TypeError(
            at_user_line(f"{name}: with has_aux=True f must return a pair (y, aux), got {type(result).__name__}")
        )
    return result[0], result[1]


def _seeds(cotangent: Tree, y: Leaves, what: str) -> list[Tensor | None]:
    """The cotangent of each tensor in y; None for integers, which carry none."""
    given = matched(cotangent, y.spec, what, "f(x)")
    seeds: list[Tensor | None] = []
    for place, x in zip(y.places, y.tensors, strict=True):
        seed = given[place]
        if seed is None and not dtypes.is_inexact(x.dtype):
            seeds.append(None)
            continue
        if seed is None:
            raise ValueError(at_user_line(f"{what} has a None where f(x) has an array of shape {x.shape}"))
        seeds.append(checked_seed(seed, x, what))
    return seeds


def _pulled(
    tape: Tape, pairs: Sequence[tuple[Tensor, Tensor | None]], sources: Sequence[Tensor], masks: bool = False
) -> list[Any]:
    """The cotangent of each source: a tensor, None where nothing is connected."""
    seeds = [(y._key, seed) for y, seed in pairs if seed is not None]
    keys = [x._key for x in sources]
    with quietly():
        found = sweep(tape.entries, seeds, keys, [masks] * len(seeds))
        return [ct if ct is None or isinstance(ct, Tensor) else zeros_of(type_of(x)) for ct, x in zip(found, sources)]


def _as_sources(
    found: Sequence[Any], sources: Sequence[Differentiated], y: Sequence[Tensor], mode: str, caller: Caller,
    explain: Callable[[Tensor, str], Exception],
) -> list[Any]:  # fmt: skip
    """Cotangents as the caller gets them: in the sources' structure and kind."""
    remaining = iter(found)
    own = Owned()
    results: list[Any] = []
    for source in sources:
        finished: list[Any] = []
        for x in source.tensors:
            cotangent = next(remaining)
            if cotangent is None and mode == "error":
                raise explain(x, source.path(len(finished)))
            if cotangent is None and mode == "none":
                finished.append(None)
                continue
            gradient = _connected(zeros_of(type_of(x)) if cotangent is None else cotangent, y)
            finished.append(caller.result(beside(gradient, x), own))
        results.append(source.result(finished))
    return results


def _connected(derivative: Tensor, y: Sequence[Tensor]) -> Tensor:
    """A derivative, counted as connected to whatever the value is connected to, with derivative zero."""
    floats = [x for x in y if dtypes.is_inexact(x.dtype)]
    is_followed = bool(STATE.recorders) or STATE.builder is not None
    return attach(derivative, *floats) if floats and is_followed else derivative


def _cut_off(tape: Tape, y: Leaves, x: Tensor, path: str) -> DisconnectedError:
    target = next((t for t in y.tensors if dtypes.is_inexact(t.dtype)), y.tensors[0] if y.tensors else x)
    if target is x:
        return DisconnectedError(at_user_line(f"vjp: f returned no array, so there is no gradient for {path}"))
    return DisconnectedError(at_user_line(f"vjp: {disconnection(tape, target, x, path)}"))


def _directions(tangents: Sequence[Any], sources: Sequence[Differentiated], what: str) -> list[Tensor]:
    """One tangent for each tensor among the sources, of its type."""
    if len(tangents) != len(sources):
        raise ValueError(at_user_line(f"{what}: wanted one for each of {len(sources)} primals, got {len(tangents)}"))
    dots: list[Tensor] = []
    for source, tangent in zip(sources, tangents, strict=True):
        given = matched(tangent, source.spec, what, source.name)
        for number, (place, x) in enumerate(zip(source.positions, source.tensors, strict=True)):
            dots.append(checked_direction(given[place], x, f"{what}: that of {source.path(number)}"))
    return dots


def checked_direction(given: object, x: Tensor, what: str) -> Tensor:
    if given is None:
        raise ValueError(at_user_line(f"{what} is None, wanted shape {x.shape}"))
    dot = as_tensor(given, what)
    if not same_shape(dot.shape, x.shape):
        raise ValueError(at_user_line(f"{what} has shape {dot.shape}, wanted exactly the primal's shape {x.shape}"))
    if dtypes.is_complex(dot.dtype) != dtypes.is_complex(x.dtype) or dot.dtype == dtypes.bool_:
        raise TypeError(
            at_user_line(
                f"{what} has dtype {dot.dtype.name}, but the primal has dtype {x.dtype.name}: real goes with real, "
                f"complex with complex"
            )
        )
    dot = beside(dot, x)
    return dot if dot.dtype == x.dtype else convert(dot, dtype=x.dtype)


def _as_tangents(found: Sequence[Any], y: Leaves, mode: str, name: str) -> Any:
    """Tangents in y's structure."""
    floats = [dtypes.is_inexact(x.dtype) for x in y.tensors]
    if all(dot is None for dot, is_float in zip(found, floats, strict=True) if is_float):
        if mode == "error":
            raise DisconnectedError(
                at_user_line(f"{name}: no floating-point result of f depends on its arguments by a differentiable path")
            )
        if mode == "none":
            return _in_places(y, [None] * len(floats))
    return _in_places(y, [
        None if not is_float else
        _connected(beside(dot if isinstance(dot, Tensor) else zeros_of(type_of(x)), x), y.tensors)
        for dot, x, is_float in zip(found, y.tensors, floats, strict=True)
    ])  # fmt: skip


def _in_places(y: Leaves, values: Sequence[Any]) -> Any:
    """A structure like y's with these values, of the caller's own, for its tensors, and None in the other places."""
    leaves: list[Any] = [None] * len(y.fixed)
    for place, value in zip(y.places, values, strict=True):
        leaves[place] = copy(value)
    return unflatten(y.spec, leaves)


# -- how jacobian works -----------------------------------------------------------------------------------------------


class _Wish:
    """The options of a Jacobian, as a public function was given them."""

    def __init__(
        self, argnums: object, mode: str, chunk: Any, holomorphic: bool, unconnected: object, sparsity: Any
    ) -> None:
        self.argnums = argnums
        self.mode = mode
        self.chunk = chunk
        self.holomorphic = bool(holomorphic)
        self.unconnected = unconnected_mode(unconnected)
        self.sparsity = sparsity

    def check(self, name: str) -> None:
        if self.mode not in ("auto", "reverse", "forward", "forward if possible"):
            raise ValueError(at_user_line(f"{name}: unknown mode {self.mode!r}; wanted 'auto', 'reverse' or 'forward'"))
        if self.chunk is not None and not _is_positive(self.chunk):
            raise ValueError(at_user_line(f"{name}: wanted a positive integer or None as chunk, got {self.chunk!r}"))
        if self.sparsity is not None and self.holomorphic:
            raise ValueError(at_user_line(f"{name}: sparse Jacobians are real; leave out holomorphic or sparsity"))


def _is_positive(count: Any) -> bool:
    kind: type[Any] = type(count)  # pyright: ignore[reportUnknownVariableType]
    return issubclass(kind, (int, np.integer)) and kind is not bool and count > 0


def _jacobian_function(f: Callable[..., Any], name: str, wish: _Wish, combine: Callable[[Any, Any], Any]) -> Any:
    require_callable(f, name)
    wish.check(name)
    if wish.sparsity is not None:
        return sparse_function(f, name, wish.argnums, wish.sparsity, wish.mode, wish.chunk, combine)
    positions = positions_of(wish.argnums, name)
    names, _ = parameters(f)

    @functools.partial(bridged, name=name)
    def jacobian_function(*args: Tree, **kwargs: object) -> Any:
        chosen = chosen_arguments(positions, args, name)
        caller = caller_of((*args, *kwargs.values()))
        sources = [Differentiated(args[i], names[i] if i < len(names) else f"args[{i}]") for i in chosen]
        call = [array_argument(a) for a in args]
        for i, source in zip(chosen, sources):
            call[i] = source.argument(args[i])
        run = _JacobianRun(f, name, call, {k: array_argument(v) for k, v in kwargs.items()}, sources, wish)
        blocks = run.blocks()
        own = Owned()
        places: list[Any] = []
        for of_y in blocks:
            found = _grouped(of_y, sources)
            places.append(found[0] if isinstance(positions, int) else tuple(found))
        jac = caller.result(_in_places(run.y, places), own)
        return combine(strong_result(caller.result(run.y.value, own)), jac)

    return jacobian_function


def _grouped(blocks: Sequence[Any], sources: Sequence[Differentiated]) -> list[Any]:
    """One structure for each source from the blocks of its tensors."""
    remaining = iter(blocks)
    return [source.result([next(remaining) for _ in source.tensors]) for source in sources]


class _JacobianRun:
    """One run of f, recorded for the mode that is wanted, or for both until the sizes are known."""

    def __init__(
        self, f: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any],
        sources: Sequence[Differentiated], wish: _Wish,
    ) -> None:  # fmt: skip
        self.name = name
        self.wish = wish
        self.sources = sources
        self.tensors = [x for s in sources for x in s.tensors]
        keys = [x._key for x in self.tensors]
        self.tape = None if wish.mode == "forward" else Tape(keys)
        self.steps = None if wish.mode == "reverse" else Steps(keys)
        with ExitStack() as stack:
            for recorder in (self.tape, self.steps):
                if recorder is not None:
                    stack.enter_context(recording(recorder))
            result = as_held(f(*args, **kwargs))
        self.y = Leaves(result, "f(x)")
        self.floats = [y for y in self.y.tensors if dtypes.is_inexact(y.dtype)]
        require_kinds(self.floats, self.tensors, wish.holomorphic, name)

    def blocks(self) -> list[list[Any]]:
        """For each tensor in y a block for each tensor among the sources."""
        found = self._found()
        self._require_connected(found)
        by_key = {id(y): row for y, row in zip(self.floats, found, strict=True)}
        leaves_none = self.wish.unconnected == "none"
        is_none = [leaves_none and all(row[i] is None for row in found) for i in range(len(self.tensors))]
        results: list[list[Any]] = []
        for y in self.y.tensors:
            row = by_key.get(id(y), [None] * len(self.tensors))
            results.append(
                [
                    None if none else self._finished(block, y, x)
                    for block, x, none in zip(row, self.tensors, is_none, strict=True)
                ]
            )
        return results

    def _finished(self, block: Tensor | None, y: Tensor, x: Tensor) -> Tensor:
        """A block as it is given: beside the argument, and in its dtype, whichever way it was found."""
        found = beside(as_rows(None, y, x) if block is None else block, x)
        return _connected(cast(found, x.dtype), self.y.tensors)

    def _require_connected(self, found: Sequence[Sequence[Any]]) -> None:
        if self.wish.unconnected != "error":
            return
        count = 0
        for source in self.sources:
            for number, x in enumerate(source.tensors):
                if all(row[count] is None for row in found):
                    raise DisconnectedError(at_user_line(f"{self.name}: {self._why(x, source.path(number))}"))
                count += 1

    def _why(self, x: Tensor, path: str) -> str:
        if self.tape is not None and self.y.tensors:
            return disconnection(self.tape, (self.floats or self.y.tensors)[0], x, path)
        return f"f(x) does not depend on {path} by a differentiable path"

    def _found(self) -> list[list[Tensor | None]]:
        mode = self.wish.mode
        if mode == "auto":
            found = self._by_blocks()
            if found is not None:
                return found
            mode = "forward if possible" if self._prefers_forward() else "reverse"
        if mode == "reverse":
            return self._backward()
        if self._is_real_of_complex():
            if mode == "forward":
                raise TypeError(
                    at_user_line(
                        f"{self.name}: the gradient of a real result by a complex argument needs mode='reverse'"
                    )
                )
            return self._backward()
        if mode == "forward":
            return self._forward()
        try:
            return self._forward()
        except LookupError:  # an op or a custom gradient without a forward derivative
            return self._backward()

    def _by_blocks(self) -> list[list[Tensor | None]] | None:
        """The Jacobian by parts of the results, where that takes less than one mode for all of it."""
        tape, steps = self.tape, self.steps
        if tape is None or steps is None or not Blocks.apply_to(self.tensors, self.floats):
            return None
        blocks = Blocks(steps.steps, self.tensors, self.floats)
        if not blocks.are_cheaper(self._prefers_forward()):
            return None

        def pulled(part: Tensor, seed: Tensor) -> list[Tensor | None]:
            return _pulled(tape, [(part, seed)], self.tensors, masks=_total([part]) != 1)

        try:
            return blocks.found(pulled, self.wish.chunk, self.name)
        except LookupError:  # an op or a custom gradient without a forward derivative
            return None

    def _is_real_of_complex(self) -> bool:
        return not self.wish.holomorphic and any(dtypes.is_complex(x.dtype) for x in self.tensors)

    def _prefers_forward(self) -> bool:
        """Whether there are not more unit vectors of arguments than of results."""
        wide, tall = _total(self.tensors), _total(self.floats)
        if isinstance(wide, Dim) or isinstance(tall, Dim):
            return not isinstance(wide, Dim)
        return wide <= tall

    def _backward(self) -> list[list[Tensor | None]]:
        tape = self.tape
        assert tape is not None  # the mode has been looked at
        rows: list[list[Tensor | None]] = []
        for y in self.floats:
            found: list[Tensor | None] = [None] * len(self.tensors)
            if tape.tracks(y._key):

                def pull(seed: Tensor, y: Tensor = y) -> list[Tensor | None]:
                    return _pulled(tape, [(y, seed)], self.tensors, masks=_total([y]) != 1)

                found = images(pull, y, self.wish.chunk, self.name)
            rows.append(
                [
                    None if image is None else self._conjugated(as_rows(image, y, x))
                    for image, x in zip(found, self.tensors, strict=True)
                ]
            )
        return rows

    def _conjugated(self, block: Tensor) -> Tensor:
        return conj(block) if self.wish.holomorphic else block

    def _forward(self) -> list[list[Tensor | None]]:
        assert self.steps is not None  # the mode has been looked at
        columns: list[list[Tensor | None]] = []
        for x in self.tensors:
            part = LinearPart(self.steps.steps, [x], self.floats, may_hold_zeros=_total([x]) != 1)

            def push(dot: Tensor, part: LinearPart = part) -> list[Tensor | None]:
                return [
                    t if t is None or isinstance(t, Tensor) else zeros_of(type_of(y))
                    for t, y in zip(part([dot]), self.floats, strict=True)
                ]

            found = images(push, x, self.wish.chunk, self.name, fills_vectors=_has_long_steps(self.steps.steps))
            columns.append(
                [
                    None if image is None else as_columns(image, y, x)
                    for image, y in zip(found, self.floats, strict=True)
                ]
            )
        return [[column[i] for column in columns] for i in range(len(self.floats))]


def _has_long_steps(steps: Sequence[RecordedOp]) -> bool:
    """Whether loops on a few numbers ran whose steps have many slopes: vectors are made along directions, or not at
    all."""
    loops = [step for step in steps if step.op.facts.holds == "a loop"]
    sizes = [size_of(x.shape) for step in loops for x in step.operands]
    steps_taken = [program.graph.nodes for step in loops for program in step.attrs[0].inner]
    slopes = [sum(node.op.kind == "elementwise" for node in nodes) for nodes in steps_taken]
    return max(slopes, default=0) >= MANY_SLOPES and all(isinstance(n, int) and n <= FEW_NUMBERS for n in sizes)


def _total(tensors: Sequence[Tensor]) -> DimLike:
    total: DimLike = 0
    for x in tensors:
        total = total + size_of(x.shape)
    return total


def require_kinds(results: Sequence[Tensor], sources: Sequence[Any], holomorphic: bool, name: str) -> None:
    """Raises `TypeError` unless a Jacobian of these makes sense: complex results need `holomorphic=True`."""
    if holomorphic:
        wrong = [x.dtype.name for x in (*results, *sources) if not dtypes.is_complex(x.dtype)]
        if wrong:
            raise TypeError(
                at_user_line(f"{name}: with holomorphic=True the result and the arguments are complex, got {wrong[0]}")
            )
        return
    found = [y.dtype.name for y in results if dtypes.is_complex(y.dtype)]
    if found:
        raise TypeError(
            at_user_line(
                f"{name}: the result is complex ({found[0]}); pass holomorphic=True if it is a holomorphic function "
                f"of the arguments"
            )
        )
