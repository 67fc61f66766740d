"""Gradients of functions: `grad`, `value_and_grad`, `grads`, `value_and_grads`, `variable_grads`.

Each opens a tape, runs f on tensors, and sweeps back once. Start with `_TapedRun`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, Protocol, TypeVar, overload

from .._compile.arguments import (
    Differentiated,
    array_argument,
    one_tensor,
    require_callable,
)
from .._compile.bridge import as_program, has_tracers
from .._core import dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Tree, Unconnected
from .._core.caller import NUMPY, TENSORS, Caller, Owned, caller_of
from .._core.constant import strong
from .._core.derived import derived
from .._core.graph import quietly
from .._core.kinds import SEQUENCES, TUPLES
from .._core.moving import beside
from .._core.op import ZERO
from .._core.public import public, reopen, unconverted
from .._core.recorder import Observer
from .._core.state import STATE, observing_reads, raise_our_own, recording
from .._core.structure import as_held
from .._core.tensor import Tensor
from .._core.tracebacks import fold
from .._core.types import same_shape, type_of
from .._core.user_line import at_user_line
from .._core.wrong_calls import Symbolic, explained
from .._prims.structural import attach, convert, full, zeros_of
from .._transforms.reverse import ones_like_type, sweep
from .._transforms.row_cotangents import Rows, total
from .._transforms.tape import Tape
from ..errors import DisconnectedError
from ..inspect.explain import disconnection
from ..ops.promotion import as_tensor
from ..programs.variables import Variable, live_variables
from .slices import IndexedSlices, slices_of

__all__ = [
    "ValueAndGrad", "ValueAndGrads", "VariableGrads", "grad", "grads", "value_and_grad", "value_and_grads",
    "variable_grads",
]  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T", covariant=True)


class ValueAndGrad(NamedTuple):
    """What `value_and_grad` returns: f's value and the gradient.

    `value` is what f returned; a pair with its extra results under `has_aux=True`. `grad` is the gradient, in the
    structure, shapes and dtypes of the argument (a tuple of them for several `argnums`).
    """

    value: Any
    grad: Any


class ValueAndGrads(NamedTuple):
    """What `value_and_grads` returns: f's value and one gradient per argument.

    `value` is what f returned. `grads` is a list with a gradient for each argument, in its structure and dtypes.
    """

    value: Any
    grads: list[Any]


class VariableGrads(NamedTuple):
    """What `variable_grads` returns: f's value and the gradients by Variable name (or Variable).

    `value` is what f returned. `grads` is a dict of gradients in the Variables' shapes and dtypes; a Variable works
    as a key, too.
    """

    value: Any
    grads: VariableMap


class VariableMap(dict[str, Any]):
    """Gradients by Variable name; a Variable works as a key, too."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_name_of(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(_name_of(key))

    def get(self, key: Any, default: object = None) -> Any:
        """The gradient of a Variable, or the default if it has none."""
        return super().get(_name_of(key), default)


def _name_of(key: object) -> Any:
    return key.name if isinstance(key, Variable) else key


class GradientFunction(Protocol, Generic[P, T]):
    """A gradient function: takes f's arguments, and `dy` to weight f's result with."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...
    @overload
    def __call__(self, *args: Any, dy: Any, **kwargs: Any) -> T: ...


# -- the public functions ---------------------------------------------------------------------------------------------


@public
def value_and_grad(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, *,
    unconnected_gradients: Unconnected = "error", sparse: bool = False,
) -> GradientFunction[P, ValueAndGrad]:  # fmt: skip
    """A function that gives f's value and its gradient.

    Args:
        f: takes arrays (and anything else) and returns one tensor of any shape; differentiated and array arguments
            reach it as tensors. NumPy functions called on them are recorded.
        argnums: which positional argument to differentiate with respect to, or several; an argument may be a nested
            structure.
        has_aux: f returns `(y, aux)`; then the result is `((y, aux), gradient)`.
        unconnected_gradients: what an argument that y does not depend on gets: "error" (`DisconnectedError`), "zero"
            or "none".
        sparse: the gradient of an array of which only whole rows are gathered comes as `IndexedSlices`.

    Returns:
        `g(*args, dy=None, **kwargs) -> ValueAndGrad(value, grad)`, in the kind of array that came in. Without `dy`
        the gradient of `f(x).sum()`; with it, of `(f(x) * dy).sum()`. A gradient has its argument's shape, dtype and
        structure. At kinks it is what the op's documentation says.

    Raises:
        TypeError: f is not callable, an argument is not floating, f does not return one tensor, or y is complex
            and there is no `dy`.
        ValueError: `dy` has another shape than y; an option is unknown.
        DisconnectedError: y does not depend on an argument; the message says why.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.value_and_grad(lambda x: np.sum(x**2))(np.array([2.0, 3.0]))
        ValueAndGrad(value=np.float64(13.0), grad=array([4., 6.]))
    """
    function = _gradient_function(f, "value_and_grad", argnums, has_aux, unconnected_gradients, sparse, _value_and_grad)
    return _of_f(function, value_and_grad, f, argnums, has_aux, unconnected_gradients, sparse)


def _value_and_grad(value: object, gradient: object, aux: object, has_aux: bool) -> ValueAndGrad:
    return ValueAndGrad((value, aux) if has_aux else value, gradient)


@public
def grad(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, *,
    unconnected_gradients: Unconnected = "error", sparse: bool = False,
) -> GradientFunction[P, Any]:  # fmt: skip
    """A function that gives f's gradient.

    Args:
        f: takes arrays (and anything else) and returns one tensor of any shape.
        argnums: which positional argument to differentiate with respect to, or several (then a tuple results).
        has_aux: f returns `(y, aux)`; then the result is `(gradient, aux)`.
        unconnected_gradients: "error", "zero" or "none": what an argument gets that y does not depend on.
        sparse: the gradient of an array of which only whole rows are gathered comes as `IndexedSlices`.

    Returns:
        `g(*args, dy=None, **kwargs)` -> the gradient of `f(x).sum()`, or with `dy` of `(f(x) * dy).sum()`, with the
        argument's shape, dtype, structure and kind of array. g can be differentiated again.

    Raises:
        TypeError: f is not callable, an argument is not floating, f does not return one tensor, or y is complex
            and there is no `dy`.
        ValueError: `dy` has another shape than y; an option is unknown.
        DisconnectedError: y does not depend on an argument; the message says why.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda x: x**3)(2.0)
        np.float64(12.0)
        >>> wg.grad(wg.grad(lambda x: x**3))(2.0)
        np.float64(12.0)
    """
    function = _gradient_function(f, "grad", argnums, has_aux, unconnected_gradients, sparse, _gradient_only)
    return _of_f(function, grad, f, argnums, has_aux, unconnected_gradients, sparse)


def _gradient_only(value: object, gradient: object, aux: object, has_aux: bool) -> Any:
    return (gradient, aux) if has_aux else gradient


@public
def grads(
    f: Callable[..., Any], *, unconnected_gradients: Unconnected = "error", sparse: bool = False
) -> Callable[..., list[Any]]:
    """A function that gives f's gradients with respect to all its arguments, taken as one list.

    Args:
        f: takes N arrays and returns one tensor of any shape.
        unconnected_gradients: "error", "zero" or "none": what an argument gets that y does not depend on.
        sparse: the gradient of an array of which only whole rows are gathered comes as `IndexedSlices`.

    Returns:
        `g(args, dy=None)`: takes the list or tuple of arguments and gives the list of gradients, in order.

    Raises:
        TypeError: f is not callable; `args` is not a list or tuple; otherwise as `grad`.
        ValueError: `args` is empty; `dy` has another shape than y.
        DisconnectedError: y does not depend on one of the arguments.

    Example:
        >>> import wengert as wg
        >>> wg.grads(lambda a, b: a * b)([[2.0, 3.0], [-2.0, -3.0]])
        [array([-2., -3.]), array([2., 3.])]
    """
    function = _list_function(f, "grads", unconnected_gradients, sparse, lambda value, gradients: gradients)
    return _of_list(function, grads, f, unconnected_gradients, sparse)


@public
def value_and_grads(
    f: Callable[..., Any], *, unconnected_gradients: Unconnected = "error", sparse: bool = False
) -> Callable[..., ValueAndGrads]:
    """A function that gives f's value and its gradients with respect to all its arguments, taken as one list.

    Args:
        f: takes N arrays and returns one tensor of any shape.
        unconnected_gradients: "error", "zero" or "none": what an argument gets that y does not depend on.
        sparse: the gradient of an array of which only whole rows are gathered comes as `IndexedSlices`.

    Returns:
        `g(args, dy=None) -> ValueAndGrads(value, grads)`.

    Raises:
        TypeError: f is not callable; `args` is not a list or tuple; otherwise as `grad`.
        ValueError: `args` is empty; `dy` has another shape than y.
        DisconnectedError: y does not depend on one of the arguments.

    Example:
        >>> import wengert as wg
        >>> wg.value_and_grads(lambda a, b: a * b)([2.0, 3.0])
        ValueAndGrads(value=np.float64(6.0), grads=[np.float64(3.0), np.float64(2.0)])
    """
    function = _list_function(f, "value_and_grads", unconnected_gradients, sparse, ValueAndGrads)
    return _of_list(function, value_and_grads, f, unconnected_gradients, sparse)


# -- how they work ----------------------------------------------------------------------------------------------------


def _gradient_function(
    f: Callable[..., Any], name: str, argnums: object, has_aux: bool, unconnected: Unconnected, sparse: bool,
    combine: Callable[..., Any],
) -> Any:  # fmt: skip
    require_callable(f, name)
    mode = unconnected_mode(unconnected)
    positions = positions_of(argnums, name)
    names, f_takes_dy = parameters(f)

    def gradient_function(*args: Any, **kwargs: Any) -> Any:
        before = vars(STATE).copy()
        try:  # as `@public` does: a Python call more would be felt
            if has_tracers((args, kwargs)):
                # made anew: a function that held itself would be a cycle, which only the garbage collector ends
                again = _gradient_function(f, name, argnums, has_aux, unconnected, sparse, combine)
                return as_program(again, args, kwargs, name)
            dy = None if f_takes_dy else kwargs.pop("dy", None)
            chosen = chosen_arguments(positions, args, name)
            caller = caller_of(args)
            if caller is NUMPY and (kwargs or dy is not None):
                caller = caller_of((*kwargs.values(), dy))
            sources = [
                Differentiated(args[i], names[i] if i < len(names) else f"args[{i}]" if len(args) > 1 else "x")
                for i in chosen
            ]
            call = [array_argument(a) for a in args] if len(args) > 1 else list(args)
            for i, source in zip(chosen, sources):
                call[i] = source.argument(args[i])
            if kwargs:
                kwargs = {k: array_argument(v) for k, v in kwargs.items()}
            run = _TapedRun(f, name, call, kwargs, sources, has_aux)
            found = run.gradients(dy, mode, sparse, caller)
            gradient = found[0] if isinstance(positions, int) else tuple(found)
            value = strong(run.y) if caller is TENSORS else caller.result(run.y, run.own)
            aux = caller.result(run.aux, run.own) if has_aux else None
            return combine(value, gradient, aux, has_aux)
        except BaseException as error:
            reopen(before)
            if isinstance(error, Symbolic):
                again = _gradient_function(f, name, argnums, has_aux, unconnected, sparse, combine)
                return error.answer(again, args, kwargs)
            if isinstance(error, Exception):
                explained(error, f"{name}(f)", f, args, kwargs)
            fold(error)
            raise

    return unconverted(gradient_function)


def _list_function(
    f: Callable[..., Any], name: str, unconnected: object, sparse: bool, combine: Callable[[Any, Any], Any]
) -> Any:
    require_callable(f, name)
    mode = unconnected_mode(unconnected)
    names, _ = parameters(f)

    def gradient_function(args: list[Any], dy: Any = None) -> Any:
        before = vars(STATE).copy()
        try:  # as `@public` does: a Python call more would be felt
            if has_tracers((args, dy)):
                again = _list_function(f, name, unconnected, sparse, combine)  # made anew, as above
                return as_program(again, (args, dy), {}, name)
            if not isinstance(args, SEQUENCES):
                raise TypeError(
                    at_user_line(
                        f"{name}: wanted a list or tuple of f's arguments, got {type(args).__name__}; for one "
                        f"argument use grad"
                    )
                )
            if not args:
                raise ValueError(at_user_line(f"{name}: the list of arguments is empty"))
            caller = caller_of(args).or_that_of((dy,))
            sources = [Differentiated(a, names[i] if i < len(names) else f"args[{i}]") for i, a in enumerate(args)]
            call = [s.argument(a) for s, a in zip(sources, args, strict=True)]
            run = _TapedRun(f, name, call, {}, sources, False)
            found = run.gradients(dy, mode, sparse, caller)
            return combine(strong(run.y) if caller is TENSORS else caller.result(run.y, run.own), found)
        except BaseException as error:
            reopen(before)
            if isinstance(error, Symbolic):
                return error.answer(_list_function(f, name, unconnected, sparse, combine), (args,), {"dy": dy})
            fold(error)
            raise

    return unconverted(gradient_function)


class _TapedRun:
    """One run of f under a tape, and the sweep back from its result."""

    __slots__ = ("aux", "keys", "name", "own", "sources", "tape", "y")

    def __init__(
        self, f: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any],
        sources: Sequence[Differentiated], has_aux: bool,
    ) -> None:  # fmt: skip
        self.name = name
        self.sources = sources
        self.own = Owned()
        self.keys = [t._key for s in sources for t in s.tensors]
        self.tape = Tape(self.keys)
        before = STATE.recorders
        try:  # in place, not by `recording`: an interrupt that comes as an `__exit__` begins would leave the tape open
            STATE.recorders = (*before, self.tape)
            result = f(*args, **kwargs)
            if type(result) is not Tensor:
                result = as_held(result)
        except BaseException as error:
            raise_our_own(error)
            raise
        finally:
            STATE.recorders = before
        self.aux: Any = None
        if has_aux:
            if not isinstance(result, TUPLES) or len(result) != 2:
                raise TypeError(
                    at_user_line(
                        f"{name}: with has_aux=True f must return a pair (y, aux), got {type(result).__name__}"
                    )
                )
            result, self.aux = result
        self.y = one_tensor(result, name)

    def gradients(self, dy: Tree, mode: str, sparse: bool, caller: Caller) -> list[Any]:
        """The gradient for each source, in its structure and in the caller's kind of array."""
        seed = self._seed(dy)
        if seed is None:
            found: list[Any] = [None] * len(self.keys)
        else:
            with quietly():
                found = sweep(self.tape.entries, ((self.y._key, seed),), self.keys, sparse=sparse)
        following = iter(found)
        return [self._of_source(source, following, mode, caller) for source in self.sources]

    def _of_source(self, source: Differentiated, following: Iterator[Any], mode: str, caller: Caller) -> Any:
        """The gradient of one source, from the next cotangents: as many as it has tensors."""
        finished: list[Any] = []
        for tensor, cotangent in zip(source.tensors, following):
            if cotangent is None and mode == "error":
                raise DisconnectedError(self._explanation(source.path(len(finished)), tensor))
            if cotangent is None and mode == "none":
                finished.append(None)
                continue
            if type(cotangent) is Rows:
                finished.append(self._slices(cotangent, tensor, caller))
                continue
            gradient = cotangent if type(cotangent) is Tensor else zeros_of(type_of(tensor))
            if STATE.recorders or STATE.builder is not None:
                # counts as connected to whatever the value is connected to, with derivative zero
                gradient = attach(gradient, self.y)
            if type(gradient._data) is not type(tensor._data):
                gradient = beside(gradient, tensor)
            finished.append(caller.result(gradient, self.own))
        return source.result(finished)

    def _slices(self, rows: Rows, source: Tensor, caller: Caller) -> IndexedSlices:
        """The gradient of gathered rows: its values are what an outer gradient follows."""
        found = slices_of(rows, source)
        values = attach(found.values, self.y) if STATE.recorders or STATE.builder is not None else found.values
        return IndexedSlices(caller.result(values, self.own), caller.result(found.indices, self.own), found.shape)

    def _seed(self, dy: Any) -> Tensor | None:
        """The cotangent of y: ones, or dy in y's dtype. None where y cannot carry a gradient."""
        y = self.y
        if dy is not None:
            return checked_seed(dy, y, f"{self.name}: dy")
        data = y._data
        dtype = data.dtype
        if not dtypes.is_inexact(dtype):
            return None
        if dtype.kind == "c":
            raise TypeError(
                at_user_line(
                    f"{self.name}: f returned complex values ({dtype.name}); give dy, or return a real function of them"
                )
            )
        seed = apply(full, (), (data.shape, 1, dtype))
        return seed if type(seed._data) is type(data) else beside(seed, y)

    def _explanation(self, path: str, tensor: Tensor) -> str:
        return at_user_line(f"{self.name}: {disconnection(self.tape, self.y, tensor, path)}")


def checked_seed(seed: Any, y: Tensor, what: str) -> Tensor | None:
    """A given cotangent of y, with exactly its shape and kind, in its dtype (None where y is an integer)."""
    given = as_tensor(seed, what)
    if not same_shape(given.shape, y.shape):
        raise ValueError(at_user_line(f"{what} has shape {given.shape}, wanted exactly f(x)'s shape {y.shape}"))
    if dtypes.is_complex(given.dtype) != dtypes.is_complex(y.dtype) or given.dtype == dtypes.bool_:
        raise TypeError(
            at_user_line(
                f"{what} has dtype {given.dtype.name}, but f(x) has dtype {y.dtype.name}: real goes with real, complex "
                f"with complex"
            )
        )
    if not dtypes.is_inexact(y.dtype):
        return None
    given = beside(given, y)
    return given if given.dtype == y.dtype else convert(given, dtype=y.dtype)


def unconnected_mode(option: object) -> str:
    """The option as "error", "zero" or "none"."""
    value = getattr(option, "value", option)
    if isinstance(value, str) and value in ("error", "zero", "none"):
        return value
    raise ValueError(
        at_user_line(f"unknown value for unconnected_gradients: {option!r}; wanted 'error', 'zero' or 'none'")
    )


def positions_of(argnums: Any, name: str) -> int | tuple[int, ...]:
    try:
        if isinstance(argnums, SEQUENCES):
            positions = (*[int(i.__index__()) for i in argnums],)
            if len(set(positions)) != len(positions) or not positions:
                raise ValueError(at_user_line(f"{name}: argnums {argnums} must be distinct and not empty"))
            return positions
        return int(argnums.__index__())
    except AttributeError:
        raise TypeError(at_user_line(f"{name}: argnums must be an int or a tuple of ints, got {argnums!r}")) from None


def chosen_arguments(positions: int | tuple[int, ...], args: tuple[Any, ...], name: str) -> tuple[int, ...]:
    count = len(args)
    if positions == 0 and count:
        return (0,)
    wanted = (positions,) if isinstance(positions, int) else positions
    for position in wanted:
        if not -count <= position < count:
            raise ValueError(
                at_user_line(
                    f"{name}: argnums {positions} asks for positional argument {position}, but {len(args)} were given"
                )
            )
    chosen = (*[p % count for p in wanted],)
    if len(set(chosen)) != len(chosen):
        raise ValueError(at_user_line(f"{name}: argnums {positions} names one of the {count} arguments twice"))
    return chosen


def parameters(f: Callable[..., Any]) -> tuple[list[str], bool]:
    """The names of f's positional parameters, for messages, and whether f has a parameter `dy` of its own.

    A gradient function has the names of what it is the gradient of.
    """
    inner: Any = f
    while hasattr(inner, "__wengert_gradient_of__"):
        inner = inner.__wengert_gradient_of__
    try:
        parameters = inspect.signature(inner).parameters
    except (TypeError, ValueError):
        return [], False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, p in parameters.items() if p.kind in positional], "dy" in parameters and inner is f


def of_scalar(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """f, which must return a scalar."""

    def checked(*args: Tree, **kwargs: object) -> Any:
        y = f(*args, **kwargs)
        shape = getattr(y, "shape", ())
        if shape != ():
            raise ValueError(at_user_line(f"{name}: f must return a scalar, but it returned shape {shape}"))
        return y

    vars(checked)["__wengert_gradient_of__"] = f
    return checked


def _of_f(
    function: Callable[..., Any],
    maker: Callable[..., Any],
    f: Callable[..., Any],
    argnums: ArrayLike,
    has_aux: bool,
    unconnected: object,
    sparse: bool,
) -> Any:
    options = {"unconnected_gradients": unconnected, "sparse": sparse}
    made = derived(function, f"{maker.__name__} of {{}}.", maker, f, argnums, has_aux, **options)
    vars(made)["__wengert_gradient_of__"] = f
    return made


def _of_list(
    function: Callable[..., Any], maker: Callable[..., Any], f: Callable[..., Any], unconnected: object, sparse: bool
) -> Any:
    options = {"unconnected_gradients": unconnected, "sparse": sparse}
    made = derived(function, f"{maker.__name__} of {{}}.", maker, f, **options)
    vars(made)["__wengert_gradient_of__"] = f
    made.__signature__ = inspect.signature(function)
    return made


# -- Variables --------------------------------------------------------------------------------------------------------


class _VariableWatch(Observer):
    """Tracks, on a tape, the tensors that Variables give when f reads them."""

    def __init__(self, tape: Tape, wanted: Sequence[Variable] | None) -> None:
        self.tape = tape
        self.wanted = None if wanted is None else {v._key for v in wanted}
        self.read: dict[int, tuple[Variable, list[int]]] = {}

    def on_read(self, variable: Variable, tensor: Tensor) -> None:
        if not variable.trainable or not dtypes.is_inexact(tensor.dtype):
            return
        if self.wanted is not None and variable._key not in self.wanted:
            return
        keys = self.read.setdefault(variable._key, (variable, []))[1]
        # a value that is followed already (one reassigned in a trace) leads back to a read that is counted
        if tensor._key not in keys and not self.tape.tracks(tensor._key):
            keys.append(tensor._key)
            self.tape.watch(tensor)


@public
def variable_grads(
    f: Callable[[], Any], var_list: Sequence[Variable] | None = None, sparse: bool = False
) -> VariableGrads:
    """The value of f and its gradients with respect to Variables, at once.

    Args:
        f: takes no arguments and returns a scalar.
        var_list: the Variables wanted; by default all live trainable ones, those that f does not use left out.
        sparse: the gradient of an array of which only whole rows are gathered comes as `IndexedSlices`.

    Returns:
        `VariableGrads(value, grads)`: grads maps each Variable's name (or the Variable) to its gradient, a tensor of
        its shape and dtype. Variables that the result does not depend on are left out; those of an explicit list
        that are not trainable map to None. A Variable read before and after an assignment gets the sum over reads.

    Raises:
        TypeError: f is not callable, or `var_list` holds anything but Variables.
        ValueError: f's result is not a scalar, no Variable is trainable, none is connected, or two share a name.

    Example:
        >>> import wengert as wg
        >>> a, b = wg.Variable([3.0, 4.0], name="a"), wg.Variable([5.0, 6.0], name="b")
        >>> x = wg.tensor([1.0, 2.0])
        >>> value, grads = wg.variable_grads(lambda: (a * x * x + b * x).sum())
        >>> value.item(), grads["a"].numpy(), grads[b].numpy()
        (36.0, array([1., 4.]), array([1., 2.]))
    """
    require_callable(f, "variable_grads")
    wanted = None if var_list is None else _checked_list(var_list)
    _require_trainable(live_variables() if wanted is None else wanted)
    tape = Tape()
    watch = _VariableWatch(tape, wanted)
    with recording(tape), observing_reads(watch):
        y = one_tensor(f(), "variable_grads")
    used = [watch.read[k] for k in sorted(watch.read)] if wanted is None else [
        watch.read[v._key] for v in wanted if v._key in watch.read
    ]  # fmt: skip
    _require_distinct([v for v, _ in used] if wanted is None else wanted)
    found = _variable_cotangents(tape, y, used, sparse)
    grads = VariableMap()
    for (variable, _), gradient in zip(used, found, strict=True):
        if gradient is not None:
            grads[variable.name] = gradient
    if not grads:
        raise ValueError(
            at_user_line(
                "variable_grads: no trainable Variable is connected to the result of f; make sure that f reads the "
                "Variables themselves and does all the operations that lead to the result"
            )
        )
    if y.shape != ():
        raise ValueError(at_user_line(f"variable_grads: f must return a scalar, but it returned shape {y.shape}"))
    for variable in wanted or ():
        if not variable.trainable:
            grads[variable.name] = None
    return VariableGrads(y, grads)


def _variable_cotangents(tape: Tape, y: Tensor, used: Sequence[tuple[Variable, list[int]]], sparse: bool) -> list[Any]:
    """One gradient a Variable, summed over its reads; None where the result does not depend on it."""
    if not dtypes.is_inexact(y.dtype):
        return [None] * len(used)
    if dtypes.is_complex(y.dtype):
        raise TypeError(at_user_line(f"variable_grads: f must return a real scalar, got {y.dtype.name}"))
    keys = [k for _, read in used for k in read]
    seed = beside(ones_like_type(type_of(y)), y)
    with quietly():
        found = dict(zip(keys, sweep(tape.entries, ((y._key, seed),), keys, sparse=sparse), strict=True))
        return [_variable_gradient(total(found[k] for k in read), variable, y) for variable, read in used]


def _variable_gradient(cotangent: Any, variable: Variable, y: Tensor) -> Any:
    """The sum over a Variable's reads, finished for the user."""
    if cotangent is None:
        return None
    is_watched = STATE.recorders or STATE.builder is not None
    if type(cotangent) is Rows:
        found = slices_of(cotangent, variable._outside)
        return IndexedSlices(attach(found.values, y), found.indices, found.shape) if is_watched else found
    gradient = zeros_of(type_of(variable)) if cotangent is ZERO else cotangent
    return beside(attach(gradient, y) if is_watched else gradient, variable._outside)


def _checked_list(var_list: Any) -> list[Variable]:
    if not isinstance(var_list, SEQUENCES) or not all(isinstance(v, Variable) for v in var_list):
        raise TypeError(at_user_line("variable_grads: var_list must be a list of Variables"))
    return list({v._key: v for v in var_list}.values())


def _require_trainable(variables: Sequence[Variable]) -> None:
    if not any(v.trainable for v in variables):
        raise ValueError(
            at_user_line(
                f"variable_grads: wanted at least one trainable Variable, but none of the {len(variables)} Variables "
                f"is trainable"
            )
        )


def _require_distinct(variables: Sequence[Variable]) -> None:
    names = [v.name for v in variables]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(at_user_line(f"variable_grads: two Variables are named {twice[0]!r}; name them apart"))
