"""Gradients of one's own: `custom_gradient`, `custom_grad`, and `recompute_grad` (alias `checkpoint`).

A call binds its arguments (`_CustomCall`), runs the user's function while its Variable reads are watched, and hands the
results with a rule to `_control.custom.follow`. The conventions by which a user's gradient function is called, and the
checks of what it returns, are here; how a rule takes part in reverse mode, forward mode and batches is there.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from .._compile.arguments import array_argument, require_callable
from .._compile.bridge import as_program, has_tracers
from .._control.closed import Closed
from .._control.custom import CustomRule, EagerRule, Pull, Push, TracedRule, follow
from .._control.custom_captures import Outside, described, refused
from .._control.outside_tensors import Telling
from .._control.recompute import ClosedRun, RecomputeRule, Run
from .._control.values import strong_unless
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import NUMPY, TENSORS, Caller, caller_of
from .._core.constant import is_number, number, renamed, weakened, with_weak
from .._core.cycles import under_way
from .._core.derived import SIGNATURE, bound, kept
from .._core.engine import ENGINE_OF, PLAIN_TYPES, array_of, stands_in
from .._core.kinds import ARRAYS, DICTS, SEQUENCES
from .._core.labelled import family_of
from .._core.op import Op
from .._core.public import public
from .._core.recorder import Observer, Recorder
from .._core.scalars import has_dtype, waiving
from .._core.state import STATE, next_serial, observing_reads, pausing, pinning, recording, watchers
from .._core.structure import LEAF, Spec, describe, flatten, is_number_list, is_plain_dict, opens_itself, unflatten
from .._core.tensor import Tensor, is_tensor_or_variable
from .._core.types import TensorType, same_shape, type_of
from .._core.user_line import at_user_line
from ..ops.memory.versions import Memory
from ..ops.promotion import as_tensor, cast
from ..programs.kept_traces import KeptTraces
from ..programs.variables import Variable

__all__ = ["checkpoint", "custom_grad", "custom_gradient", "recompute_grad"]

P = ParamSpec("P")
R = TypeVar("R")


@overload
def custom_gradient(f: Callable[P, tuple[R, Any]], *, jvp: Callable[..., Any] | None = None) -> Callable[P, R]: ...
@overload
def custom_gradient(
    f: None = None, *, jvp: Callable[..., Any] | None = None
) -> Callable[[Callable[P, tuple[R, Any]]], Callable[P, R]]: ...


@public
def custom_gradient(f: Callable[..., Any] | None = None, *, jvp: Callable[..., Any] | None = None) -> Any:
    """Gives a function a gradient of the user's own. A decorator, with or without parentheses.

    Args:
        f: `f(*args, **kwargs)` returns `(output, grad_fn)`; output may be nested. Arrays reach f as tensors, Python
            numbers beside them as they are. `grad_fn(*upstream)` gets one tensor an output tensor, of its shape and
            dtype (zeros if that output is unused), and returns one gradient for each of f's flattened positional
            arguments: None where there is none, a bare one if there is only one, or the arguments' own structure.
            With a parameter `upstream` that is keyword-only, follows `*args`, or has a place before it for every
            argument it is called as `grad_fn(*args, upstream=upstream)`, a tuple if there are several. A parameter
            `variables` gets the trainable Variables that f read, if any (ours, `tf.Variable`s, Keras's, torch's
            parameters); the result is then `(arg_grads, variable_grads)`.
        jvp: `jvp(primals, tangents)` returns `(output, tangent)` for forward mode. Without it the transpose of the
            rule is used, if the rule is linear in its upstream gradient.

    Returns:
        A function that takes f's arguments and returns its output, in the kind of array that it was given. For a
        framework's arrays f is traced when it is called again, as by `function`, and the trace is kept (where f cannot
        be traced, it runs as it is as long as nobody differentiates). What f
        captured is a constant; the second derivative is that of grad_fn's code. It works on methods, and
        `__wrapped__` is f.

    Raises:
        TypeError: f does not return a pair; it reads trainable Variables and grad_fn takes no `variables`; a
            followed tensor came by a keyword that is not the name of a positional argument (where a framework follows
            it, a DisconnectedError); a gradient of another
            dtype than its argument's.
        ValueError: another number of gradients than arguments, or another shape.
        DisconnectedError: the output depends on something that is being differentiated and is neither an argument nor
            a Variable that the rule takes: its gradient would be lost (a `LostGradientError`, too).
        LookupError: forward mode, no jvp, and a rule that is not linear.

    Example:
        >>> import wengert as wg
        >>> @wg.custom_gradient
        ... def log1pexp(x):
        ...     e = wg.exp(x)
        ...     return wg.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
        >>> wg.grad(log1pexp)(1000.0)
        np.float64(1.0)
    """
    if jvp is not None and not callable(jvp):
        raise TypeError(at_user_line(f"custom_gradient: jvp must be callable, got {type(jvp).__name__}"))
    if f is None:
        return functools.partial(custom_gradient, jvp=jvp)
    require_callable(f, "custom_gradient")
    return _Decorated(f, functools.partial(_call_custom_gradient, f, jvp), custom_gradient, jvp=jvp)


@public
def custom_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a gradient of the user's own, in the manner of TensorFlow.js.

    Args:
        f: `f(*inputs, save)` returns `(value, grad_func)`, or a mapping with those two keys; `save` comes by keyword
            if f has a parameter of that name, else last. `save([t, ...])` or `save(t, ...)` keeps tensors for the
            backward pass (a second call replaces them), and `grad_func(dy, saved)` gets them in that order and returns
            one gradient, or a list with one per input; None is no contribution. It may leave out `saved`.

    Returns:
        A function of the inputs that returns value, one tensor, in the kind of array that it was given. The backward
        function is itself differentiable.

    Raises:
        TypeError: f is not callable or returns anything else, `save` gets anything but tensors, or a gradient has
            another dtype than its input.
        ValueError: another number of gradients than inputs, or another shape.
        DisconnectedError: value depends on something (a Variable, too) that is being differentiated and is no input:
            its gradient would be lost (a `LostGradientError`, too).

    Example:
        >>> import numpy as np
        >>> import wengert as wg
        >>> def f(x, save):
        ...     save([x])
        ...     return x * x, lambda dy, saved: dy * abs(saved[0])
        >>> g = wg.custom_grad(f)
        >>> g(np.array([-1.0, -2.0, 3.0])), wg.grad(g)(np.array([-1.0, -2.0, 3.0]))
        (array([1., 4., 9.]), array([1., 2., 3.]))
    """
    require_callable(f, "custom_grad")
    decorated = _Decorated(f, functools.partial(_call_custom_grad, f), custom_grad)
    decorated.__signature__ = _without_save(f)
    return decorated


def _without_save(f: Callable[..., Any]) -> inspect.Signature | None:
    """What a caller of a `custom_grad` function passes, for those who ask; None if f does not tell."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return None
    named = [*signature.parameters.values()]
    places = [i for i, p in enumerate(named) if p.name == "save"] or [
        i for i, p in enumerate(named) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if places:
        del named[places[-1]]
    return signature.replace(parameters=named)


@public
def recompute_grad(f: Callable[P, R]) -> Callable[P, R]:
    """f, differentiated without keeping its intermediate results: the backward pass computes them again.

    Args:
        f: any function of arrays, also nested ones and by keyword. It runs once forward and once for each
            backward pass, where Variables have the values that they had in the first run and assignments are not
            made again; random draws by key are the same by nature. What it writes to arrays from outside has
            gradients, as what it returns has, and is not written again.

    Returns:
        A function of f's arguments with f's results and gradients. Only the arguments, the Variables and captured
        tensors that f used are kept. Arguments that f does not use have zero gradients. `__wrapped__` is f.

    Raises:
        TypeError: f is not callable.

    Example:
        >>> import wengert as wg
        >>> wg.grad(wg.recompute_grad(lambda x: wg.exp(x) * x))(0.0)
        np.float64(1.0)
    """
    require_callable(f, "recompute_grad")
    return _Decorated(f, functools.partial(_call_recompute, f), recompute_grad)


checkpoint = recompute_grad


class _Decorated:
    """What the decorators return: a function that is a method where it is defined in a class."""

    # a slot, because functools.wraps copies a function's __dict__ to what it wraps
    __slots__ = ("__dict__", "__weakref__", "_call", "_made_by", "_traces")
    __wrapped__: Callable[..., Any]
    __signature__ = SIGNATURE
    autograph_info__: Any = None  # TensorFlow's mark of what it is not to rewrite

    def __init__(
        self, f: Callable[..., Any], call: Callable[..., Any], maker: Callable[..., Any], **options: Any
    ) -> None:
        functools.update_wrapper(self, f)
        self._call = call
        self._made_by = (maker, options)
        self._traces: KeptTraces | None = None  # made when needed, for it refers back

    def __reduce__(self) -> Any:
        maker, options = self._made_by
        return kept(self, self.__wrapped__, maker, self.__wrapped__, **options)

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run((), args, kwargs)

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else bound(self, instance)

    def method_of(self, instance: object) -> Callable[..., Any]:
        """What runs a call of the method."""

        @functools.wraps(self.__wrapped__)
        @public
        def method(*args: object, **kwargs: object) -> Any:
            return self._run((instance,), args, kwargs)

        return method

    def _run(self, head: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kept = None if head else self._traces  # an instance would be held as long as its traces
        if kept is not None:
            result = kept.again(args, kwargs)
            if result is not NotImplemented:
                return result
        is_followed = has_tracers((*args, *kwargs.values()) if kwargs else args)
        has_plain = not PLAIN_TYPES.keys().isdisjoint(map(type, args))
        if not head and (is_followed or has_plain):
            if kept is None:
                kept = self._traces = KeptTraces(self)
            result = kept.run(args, kwargs) if is_followed else kept.value(args, kwargs)
            if result is not NotImplemented:
                return result
        caller = None
        if not is_followed:
            try:
                result = self._call(head, args, kwargs)
            except _NeedsProgram as need:
                caller = caller_of((*args, *kwargs.values())).or_that_of(need.args)
            else:
                # one that a framework follows, though no argument is, has it from what the function closes over
                if not has_tracers((result,)):
                    if kept is not None and has_plain:
                        kept.note_value(result)
                    return result
                caller = caller_of((result,))
        return as_program(lambda *a, **k: self._call(head, a, k), args, kwargs, _name_of(self.__wrapped__), caller)

    def __repr__(self) -> str:
        return f"<function {getattr(self, '__qualname__', self.__wrapped__)} with a gradient of its own>"


_Decorated.__name__ = "function"  # as that of `Derived`, for Keras


# -- arguments --------------------------------------------------------------------------------------------------------


class _CustomCall:
    """The arguments of one call: what f receives, and which leaves of it are inputs of the rule.

    Attributes:
        inputs: the tensors that the rule answers for.
        own: what f gets for them: tensors of their own where somebody follows, so that what f has captured is told
            from what it was given, even where both are the same value.
    """

    __slots__ = ("args", "caller", "inputs", "kwargs", "own", "places", "spec", "total", "variables")

    def __init__(
        self, f: Callable[..., Any], name: str, head: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any],
        original: tuple[Any, ...] | None = None,
    ) -> None:  # fmt: skip
        given = (*(args if original is None else original), *kwargs.values())
        self.variables = {*map(_key_of, flatten(given)[0])}
        converted = (*map(array_argument, args),)
        words = {k: array_argument(v) for k, v in kwargs.items()}
        has_arrays = _holds_tensors(converted) or _holds_tensors(tuple(words.values()))
        has_numbers = has_arrays or any(map(_is_number_or_labelled, flatten(given)[0]))
        self.caller = caller_of(given) if has_numbers else TENSORS
        if not has_arrays:  # the numbers are the arrays
            converted = (*[_number_as_tensor(a) for a in converted],)
        if words and any(_is_followed(v) for v in words.values()):
            converted, words = _moved(f, name, head, converted, words)
        self.args = converted
        self.kwargs = words
        leaves, self.spec = flatten(converted)
        self.total = len(leaves)
        self.places = [i for i, leaf in enumerate(leaves) if type(leaf) is Tensor]
        self.inputs: list[Tensor] = [copy(leaves[i]) for i in self.places]  # the function may write to the others
        self.own = self.inputs
        followed = [i for i in self.places if _may_be_lost(leaves[i])] if _is_following() else ()
        if followed:
            for i in followed:
                leaves[i] = renamed(leaves[i])
            self.own = [copy(leaves[i]) for i in self.places]
            self.args = unflatten(self.spec, leaves)

    def user(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """The function with what it gets by keyword, for which the rule does not answer."""
        return functools.partial(f, **self.kwargs) if self.kwargs else f


def _key_of(leaf: object) -> int | None:
    """What a Variable is known by, ours or a framework's; None for anything else."""
    if isinstance(leaf, Variable):
        return leaf._key
    return -id(leaf) if stands_in(type(leaf)) else None


def _is_number_or_labelled(leaf: object) -> bool:
    """Whether results are NumPy's arrays for a leaf that is no array itself."""
    return is_number(leaf) or bool(family_of(type(leaf)))


def _may_be_lost(x: Tensor) -> bool:
    """Whether a gradient may flow to a tensor."""
    return dtypes.is_inexact(x.dtype) and (STATE.builder is not None or x.is_followed)


def _holds_tensors(values: tuple[Any, ...]) -> bool:
    return any(type(leaf) is Tensor for leaf in flatten(values)[0])


def _is_float(leaf: object) -> bool:
    return type(leaf) in (float, complex)


def _number_as_tensor(value: Any) -> Any:
    return number(value) if _is_float(value) else value


def _is_followed(value: object) -> bool:
    return any(type(leaf) is Tensor and leaf.is_followed for leaf in flatten(value)[0])


def _is_recorded(value: object) -> bool:
    """Whether a recorder follows it by now, and not a trace alone."""
    leaves = [leaf for leaf in flatten(value)[0] if type(leaf) is Tensor]
    return any(recorder.tracks(leaf._key) for recorder in STATE.recorders for leaf in leaves)


def _moved(
    f: Callable[..., Any], name: str, head: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with the followed keyword tensors in the places that bear their names."""
    parameters = list(_parameters(f).values())[len(head) :]
    places = {p.name: i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD}
    last = -1
    for word, value in kwargs.items():
        if not _is_followed(value):
            continue
        if word not in places:
            if not _is_recorded(value):
                continue  # whether what a trace holds is differentiated is known when its program is
            raise TypeError(
                at_user_line(
                    f"{name}: the tensor given as {word}= takes part in differentiation, but {word} is not the name "
                    f"of a positional argument, so the custom gradient cannot know it; pass it by position"
                )
            )
        last = max(last, places[word])
    positional, words = list(args), dict(kwargs)
    for parameter in parameters[len(args) : last + 1]:
        if parameter.name in words:
            positional.append(words.pop(parameter.name))
        elif parameter.default is not inspect.Parameter.empty:
            positional.append(array_argument(parameter.default))
        else:
            raise TypeError(at_user_line(f"{name}: the argument {parameter.name} is missing"))
    return tuple(positional), words


def _parameters(f: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return {}


_known_places: weakref.WeakKeyDictionary[CodeType, dict[str, inspect.Parameter]] = weakref.WeakKeyDictionary()


def _places(f: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """A function's parameters without their defaults, which the functions that one `def` makes may differ in."""
    if type(f) is not FunctionType or f.__dict__:
        return _parameters(f)
    found = _known_places.get(f.__code__)
    if found is None:
        found = {name: p.replace(default=inspect.Parameter.empty) for name, p in _parameters(f).items()}
        _known_places[f.__code__] = found
    return found


class _Reads(Observer):
    """Notes which Variables, and buffers that were there before, a function reads, and what each held first."""

    __slots__ = ("first", "own", "since", "standing")

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.since = next_serial()
        self.own = frozenset(x._key for x in inputs)  # what the function is given: it may write to that
        self.first: dict[int, tuple[Variable, Tensor]] = {}
        # what variables of frameworks held, by their identity: this observer notes them
        self.standing: dict[int, Tensor] = {}  # pyright: ignore[reportIncompatibleVariableOverride]

    def on_read(self, variable: Variable, tensor: Tensor) -> None:
        self.first.setdefault(variable._key, (variable, tensor))

    def on_standing(self, variable: Any, tensor: Tensor) -> None:
        """A framework's variable is read.

        Raises:
            _NeedsProgram: the framework follows it, and would differentiate what runs in place of the rule.
        """
        if STATE.builder is None and ENGINE_OF[type(variable)].is_followed(array_of(variable)):
            raise _NeedsProgram(variable)
        self.standing[id(variable)] = tensor
        self.first.setdefault(-id(variable), (variable, tensor))

    def trainable(self, arguments: set[int | None]) -> list[tuple[Variable, Tensor]]:
        return [
            (v, t) for key, (v, t) in self.first.items()
            if _is_trained(v) and dtypes.is_inexact(t.dtype) and key not in arguments
        ]  # fmt: skip

    def of(self, arguments: set[int | None]) -> list[Tensor]:
        """What Variables held that are arguments: read besides, they are the arguments still, as in TensorFlow."""
        return [t for key, (_, t) in self.first.items() if key in arguments]

    def named(self, key: int) -> str:
        """The Variable that was read as the tensor with a key, in words; "" if none was."""
        return next((f"the Variable {_name_of_variable(v)}" for v, t in self.first.values() if t._key == key), "")


def _is_trained(variable: Any) -> bool:
    """Whether a gradient is wanted of a Variable; torch has another word for that, JAX's references have none."""
    return variable.trainable if hasattr(variable, "trainable") else getattr(variable, "requires_grad", False)


def _name_of_variable(variable: Any) -> str:
    """What a Variable is called; torch's parameters have no name."""
    return getattr(variable, "name", None) or type(variable).__name__


class _NeedsProgram(Exception):
    """A function must run as a program of ours: it reads what a framework follows."""


class _Standing(Observer):
    """What variables of frameworks held when the function ran, for its gradient function to read."""

    __slots__ = ("standing",)

    def __init__(self, variables: Iterable[tuple[Any, Tensor]]) -> None:
        self.standing = {id(v): t for v, t in variables if not isinstance(v, Variable)}


# -- results ----------------------------------------------------------------------------------------------------------


class _Output:
    """What a function returned, with tensors in the numeric places."""

    __slots__ = ("leaves", "numbers", "places", "spec", "tensors")

    def __init__(self, output: ArrayLike, name: str) -> None:
        self.leaves, self.spec = flatten(output)
        self.places: list[int] = []
        self.numbers: dict[int, Any] = {}  # Python's own, which take the dtype of what they meet
        for i, leaf in enumerate(self.leaves):
            if _is_array_like(leaf):
                if type(leaf) in (int, float, complex):
                    self.numbers[i] = leaf
                self.leaves[i] = as_tensor(leaf, f"{name}: the output")
                self.places.append(i)
        self.tensors: list[Tensor] = [self.leaves[i] for i in self.places]

    def result(self, tensors: Sequence[Tensor], caller: Caller) -> Any:
        """The output with these tensors, or rather their twins, in the caller's kind."""
        leaves = list(self.leaves)
        for i, tensor in zip(self.places, tensors, strict=True):
            leaves[i] = copy(tensor)  # f may have returned an argument or one tensor twice
        return caller.result(unflatten(self.spec, leaves))

    def unfollowed(self, caller: Caller) -> Any:
        """The output where no derivative of ours follows it: Python's numbers are what they were.

        What a framework follows is its own array, though all arguments are NumPy's: as one of these it would be lost.
        """
        if caller is NUMPY and has_tracers(self.tensors):
            caller = caller_of([x.native for x in self.tensors])
        found, spec = flatten(self.result(self.tensors, caller))
        return unflatten(spec, [self.numbers.get(i, leaf) for i, leaf in enumerate(found)])


def _is_array_like(leaf: Any) -> bool:
    if is_tensor_or_variable(leaf) or is_number(leaf):
        return True
    if isinstance(leaf, ARRAYS):
        return dtypes.is_supported(leaf.dtype)
    return isinstance(leaf, list) and is_number_list(leaf)


def _is_following() -> bool:
    return bool(STATE.recorders) or STATE.builder is not None


def _answer(
    name: str, output: _Output, call: _CustomCall, read: list[Tensor], pull: Pull, push: Push | None, outside: Outside,
    users: tuple[Any, ...], reads: _Reads,
) -> Any:  # fmt: skip
    """The output, with a rule as its derivative.

    Args:
        name: of the function.
        output: what it returned.
        call: its arguments.
        read: of Variables that it read, for which the rule answers, too.
        pull, push: the rule.
        outside: what ran.
        users: the function with what it is bound to.
        reads: all that it read.

    Raises:
        CapturedError: the output depends on something else that is being differentiated.
    """
    results, caller = output.tensors, call.caller
    if not results:
        return output.result(results, caller)
    inputs, own = call.inputs + read, [*call.own, *read, *reads.of(call.variables)]
    results = _with_dtype(results, call.inputs)
    pull = _weakly(pull, [y._weak for y in results])
    followed = outside.followed(results, own)
    if followed is not None:
        raise refused(name, reads.named(followed) or described(followed, users))
    if STATE.builder is None:
        rule: CustomRule = EagerRule(name, len(inputs), len(results), pull, push)
        return output.result(follow(rule, inputs, results, ()), caller)
    found = outside.symbols(results, own)
    words = [reads.named(x._key) or described(known, users) for x, known in found]
    types = [type_of(x) for x in inputs]
    traced = TracedRule(name, types, [type_of(y) for y in results], pull, push, words)
    return output.result(follow(traced, inputs, results, traced.release(), [x for x, _ in found]), caller)


def _with_dtype(results: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Results as the eager call gives them: numbers stay weak beside a tensor among the arguments, as in a branch."""
    return [*strong_unless(not inputs or any(not x._weak for x in inputs), results)]


def _weakly(pull: Pull, flags: list[bool]) -> Pull:
    """A rule that gets weak cotangents of weak results: a Python number has no dtype that a gradient could take on."""
    if not any(flags):
        return pull

    def pulled(cotangents: list[Tensor]) -> Sequence[Tensor | None]:
        return pull([weakened(copy(x)) if flag else x for x, flag in zip(cotangents, flags, strict=True)])

    return pulled


# -- the checks of a user's gradients ---------------------------------------------------------------------------------


class _Wanted:
    """What a gradient function must return for the arguments: how many, in which structure, of which types."""

    __slots__ = ("beside", "name", "places", "spec", "total", "types", "weak")

    def __init__(self, name: str, call: _CustomCall) -> None:
        self.name = name
        self.spec = call.spec
        self.total = call.total
        self.places = call.places
        self.types = [type_of(x) for x in call.inputs]
        gives_way = waiving(call.inputs) or [False] * len(call.inputs)
        self.weak = [x._weak or waived for x, waived in zip(call.inputs, gives_way, strict=True)]
        # what is weak may have a gradient of the dtype of what it gives way to, and of no other
        self.beside = {x.dtype for x, is_weak in zip(call.inputs, self.weak, strict=True) if not is_weak}

    def checked(self, returned: object) -> list[Tensor | None]:
        """One cotangent an input."""
        found = self._leaves(returned)
        return [
            checked_gradient(
                found[place],
                t,
                f"{self.name}: the gradient for input {place}",
                is_weak and getattr(found[place], "dtype", None) in self.beside,
            )
            for place, t, is_weak in zip(self.places, self.types, self.weak, strict=True)
        ]

    def _leaves(self, returned: Any) -> Sequence[Any]:
        if returned is None:
            return (None,) * self.total
        is_sequence = not opens_itself(returned) and isinstance(returned, SEQUENCES)
        if is_sequence and len(returned) == self.total and not any(map(_is_container, returned)):
            return returned
        for spec in (self.spec, *self._only_argument()):
            found = matched(spec, returned)
            if found is not None:
                return found
        count = len(flatten(returned)[0]) if not is_sequence else len(returned)
        raise ValueError(
            at_user_line(
                f"{self.name}: its gradient function returned {count} gradient{'s' * (count != 1)} "
                f"({describe(flatten(returned)[1])}), wanted {self.total}, one for each input "
                f"({describe(self.spec)})"
            )
        )

    def _only_argument(self) -> tuple[Spec | None, ...]:
        return self.spec.children if self.spec is not None and len(self.spec.children) == 1 else ()


def _is_container(value: object) -> bool:
    return value is not None and flatten(value)[1] is not LEAF


def matched(spec: Spec | None, value: Any) -> list[Any] | None:
    """A value's leaves in a structure (None stands for any part, lists and tuples are the same), or None."""
    if spec is None:
        return None if _is_container(value) else [value]
    if value is None:
        return [None] * _count(spec)
    if opens_itself(value):
        return _leaves_in(spec, value)
    if is_plain_dict(spec.kind):
        if not isinstance(value, DICTS) or set(value) != set(spec.keys):
            return None
        children: list[Any] = [value[key] for key in spec.keys]
    elif issubclass(spec.kind, SEQUENCES):
        if not isinstance(value, SEQUENCES) or len(value) != len(spec.children):
            return None
        children = list(value)
    else:
        return _leaves_in(spec, value)
    found: list[Any] = []
    for child, part in zip(spec.children, children, strict=True):
        leaves = matched(child, part)
        if leaves is None:
            return None
        found += leaves
    return found


def _leaves_in(spec: Spec, value: object) -> list[Any] | None:
    """The leaves of a value that has exactly a structure."""
    leaves, given = flatten(value)
    return leaves if given == spec else None


def _count(spec: Spec | None) -> int:
    return 1 if spec is None else sum(map(_count, spec.children))


def checked_gradient(value: Any, wanted: TensorType, what: str, is_weak: bool = False) -> Tensor | None:
    """What a rule returned for a value, as a tensor of exactly its type; None where no gradient flows.

    Args:
        value: what the rule returned.
        wanted: the type of the value that it belongs to.
        what: for messages.
        is_weak: whether that value is weak, and so takes any dtype.
    """
    if value is None or not dtypes.is_inexact(wanted.dtype):
        return None
    if not _is_array_like(value):
        raise TypeError(at_user_line(f"{what} is not an array but {type(value).__name__}"))
    is_plain = is_number(value) or isinstance(value, list)
    given = as_tensor(value, what)
    if not same_shape(given.shape, wanted.shape):
        raise ValueError(at_user_line(f"{what} has shape {given.shape}, wanted {wanted.shape}"))
    if given.dtype == wanted.dtype:
        return given
    if has_dtype(given, wanted.dtype):
        return cast(given, wanted.dtype) if given.is_symbolic else given
    is_free = is_plain or given._weak or is_weak
    if is_free and (dtypes.is_complex(wanted.dtype) or not dtypes.is_complex(given.dtype)):
        return cast(given, wanted.dtype)
    raise TypeError(at_user_line(f"{what} has dtype {given.dtype.name}, wanted {wanted.dtype.name}"))


# -- custom_gradient --------------------------------------------------------------------------------------------------


def _call_custom_gradient(
    f: Callable[..., Any], jvp: Callable[..., Any] | None, head: tuple[Any, ...], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    name = _name_of(f)
    call = _CustomCall(f, name, head, args, kwargs)
    reads = _Reads(call.own)
    outside = Outside(reads.since) if _is_following() else None
    with observing_reads(reads):
        if outside is None:
            returned = f(*head, *call.args, **call.kwargs)
        else:
            with outside:
                returned = f(*head, *call.args, **call.kwargs)
    output, grad_fn = _pair(returned, name)
    variables = reads.trainable(call.variables)
    if variables and not _takes_variables(grad_fn):
        raise TypeError(
            at_user_line(
                f"{name}: its gradient function must take the keyword argument 'variables', since the function reads "
                f"the trainable Variables {[_name_of_variable(v) for v, _ in variables]}"
            )
        )
    result = _Output(output, name)
    if outside is None:
        return result.unfollowed(call.caller)
    pull = _UserPull(name, f, grad_fn, call, variables)
    push = None if jvp is None else _UserPush(name, jvp, call, result)
    return _answer(name, result, call, [t for _, t in variables], pull, push, outside, (*head, call.user(f)), reads)


def _name_of(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _pair(returned: Any, name: str) -> tuple[Any, Callable[..., Any]]:
    if not isinstance(returned, SEQUENCES) or len(returned) != 2 or not callable(returned[1]):
        raise TypeError(
            at_user_line(
                f"{name}: a function with a custom gradient must return a pair (output, grad_fn), got "
                f"{_described(returned)}"
            )
        )
    return returned[0], returned[1]


def _described(returned: Any) -> str:
    if isinstance(returned, SEQUENCES):
        return f"a {type(returned).__name__} of {', '.join(type(item).__name__ for item in returned) or 'nothing'}"
    return type(returned).__name__


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    parameters = _places(grad_fn)
    variables = parameters.get("variables")
    if variables is not None and variables.kind in (_KEYWORD, _EITHER):
        return True
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _takes_arguments(grad_fn: Callable[..., Any], count: int) -> bool:
    """Whether a gradient function is called Keras's way, with f's arguments and `upstream=`."""
    parameters = _places(grad_fn)
    upstream = parameters.get("upstream")
    if upstream is None:
        return False
    if upstream.kind is _KEYWORD:
        return True
    before = list(parameters).index("upstream")
    return upstream.kind is _EITHER and before > 0 and before >= count


def _needs_itself(name: str) -> str:
    """What is wrong with a rule of a function that differentiates this function, for an error."""
    return (
        f"{name}: its gradient function needs the gradient of {name} itself, which needs this gradient function again; "
        f"write the gradient without derivatives of {name} (grad, vjp, jvp, a tape)"
    )


class _UserPull:
    """Calls grad_fn by its convention and checks what it returns."""

    __slots__ = ("_arguments", "_f", "_grad_fn", "_name", "_standing", "_types", "_variables", "_wanted")

    def __init__(
        self, name: str, f: Callable[..., Any], grad_fn: Callable[..., Any], call: _CustomCall,
        variables: list[tuple[Variable, Tensor]],
    ) -> None:  # fmt: skip
        self._name = name
        self._f = f  # of which each call has a gradient function of its own
        self._grad_fn = grad_fn
        self._wanted = _Wanted(name, call)
        self._variables = [v for v, _ in variables]
        self._types = [type_of(t) for _, t in variables]
        self._standing = _Standing(variables)
        self._arguments = call.args if _takes_arguments(grad_fn, len(call.args)) else None

    def __call__(self, cotangents: list[Tensor]) -> Sequence[Tensor | None]:
        keywords: dict[str, Any] = {"variables": list(self._variables)} if self._variables else {}
        with under_way(self._f, _needs_itself(self._name)), observing_reads(self._standing):
            if self._arguments is None:
                returned = self._grad_fn(*cotangents, **keywords)
            else:
                upstream = cotangents[0] if len(cotangents) == 1 else tuple(cotangents)
                returned = self._grad_fn(*self._arguments, upstream=upstream, **keywords)
        if not self._variables:
            return self._wanted.checked(returned)
        if not isinstance(returned, SEQUENCES) or len(returned) != 2:
            raise TypeError(
                at_user_line(
                    f"{self._name}: a gradient function that gets variables must return the pair "
                    f"(argument gradients, variable gradients), got {_described(returned)}"
                )
            )
        return [*self._wanted.checked(returned[0]), *self._of_variables(returned[1])]

    def _of_variables(self, gradients: Any) -> list[Tensor | None]:
        variables = self._variables
        if gradients is None:
            return [None] * len(variables)
        if not isinstance(gradients, SEQUENCES):
            gradients = [gradients]
        if len(gradients) != len(variables):
            raise ValueError(
                at_user_line(
                    f"{self._name}: its gradient function returned {len(gradients)} Variable gradients for the "
                    f"{len(variables)} Variables {[*map(_name_of_variable, variables)]}"
                )
            )
        return [
            checked_gradient(g, t, f"{self._name}: the gradient for the Variable {_name_of_variable(v)}")
            for g, v, t in zip(gradients, variables, self._types, strict=True)
        ]


class _UserPush:
    """Calls jvp with the arguments' structure and checks the tangent that it returns."""

    __slots__ = ("_args", "_jvp", "_name", "_places", "_spec", "_types", "_weak")

    def __init__(self, name: str, jvp: Callable[..., Any], call: _CustomCall, output: _Output) -> None:
        self._name = name
        self._jvp = jvp
        self._args = call.args
        self._places = call.places
        self._spec = output.spec
        self._types = {place: type_of(t) for place, t in zip(output.places, output.tensors, strict=True)}
        self._weak = {place for place, t in zip(output.places, output.tensors, strict=True) if t._weak}

    def __call__(self, tangents: list[Any]) -> Sequence[Tensor | None]:
        leaves, spec = flatten(self._args)
        dots: list[Any] = [None] * len(leaves)
        for place, tangent in zip(self._places, tangents[: len(self._places)], strict=True):
            dots[place] = tangent
        name = self._name
        cycle = (
            f"{name}: its jvp needs the derivative of {name} itself, which needs this jvp again; write the tangent "
            f"without derivatives of {name} (jvp, linearize, linear_transpose)"
        )
        with under_way(self._jvp, cycle):
            returned = self._jvp(self._args, unflatten(spec, dots))
        if not isinstance(returned, SEQUENCES) or len(returned) != 2:
            raise TypeError(
                at_user_line(f"{self._name}: jvp must return the pair (output, tangent), got {_described(returned)}")
            )
        found = matched(self._spec, returned[1])
        if found is None:
            raise ValueError(
                at_user_line(
                    f"{self._name}: the tangent that jvp returned is {describe(flatten(returned[1])[1])}, wanted the "
                    f"output's structure {describe(self._spec)}"
                )
            )
        return [
            checked_gradient(found[place], wanted, f"{self._name}: the tangent of output {place}", place in self._weak)
            for place, wanted in self._types.items()
        ]


# -- custom_grad ------------------------------------------------------------------------------------------------------


class _Saver:
    """`save`: keeps tensors for the backward pass, if there will be one."""

    __slots__ = ("is_open", "saved")

    def __init__(self, is_open: bool) -> None:
        self.is_open = is_open
        self.saved: list[Tensor] = []

    def __call__(self, *tensors: Any) -> None:
        entries: Sequence[Any] = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], SEQUENCES) else tensors
        for entry in entries:
            if not _may_be_saved(entry):
                raise TypeError(at_user_line(f"save: wanted tensors, or a list of them, got {type(entry).__name__}"))
        if self.is_open:
            self.saved = [as_tensor(entry, "save") for entry in entries]


def _may_be_saved(entry: object) -> bool:
    """Whether a value is an array, ours, NumPy's or a labelled one."""
    is_labelled = family_of(type(entry)) in ("frame", "labels")
    return is_tensor_or_variable(entry) or isinstance(entry, np.ndarray) or is_labelled


def _call_custom_grad(
    f: Callable[..., Any], head: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    name = _name_of(f)
    call = _CustomCall(f, name, head, (*[as_tensor(a, name) if is_number(a) else a for a in args],), kwargs, args)
    save = _Saver(_is_following())
    reads = _Reads(call.own)
    outside = Outside(reads.since) if _is_following() else None
    with observing_reads(reads):
        if outside is None:
            returned = _with_save(f, (*head, *call.args), call.kwargs, save)
        else:
            with outside:
                returned = _with_save(f, (*head, *call.args), call.kwargs, save)
    value, grad_func = _value_and_function(returned, name)
    output = _Output(value, name)
    if output.spec is not LEAF or not output.tensors:
        raise TypeError(
            at_user_line(
                f"{name}: the value of a function passed to custom_grad must be one tensor, got {type(value).__name__}"
            )
        )
    if outside is None:
        return output.unfollowed(call.caller)
    wanted = _Wanted(name, call)
    takes_saved = _takes_saved(grad_func)

    def pull(cotangents: list[Tensor]) -> Sequence[Tensor | None]:
        saved = list(save.saved)
        with under_way(f, _needs_itself(name)):
            if takes_saved == "keyword":
                found = grad_func(cotangents[0], saved=saved)
            else:
                found = grad_func(cotangents[0], saved) if takes_saved else grad_func(cotangents[0])
        return wanted.checked(found)

    return _answer(name, output, call, [], pull, None, outside, (*head, call.user(f)), reads)


def _with_save(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], save: _Saver) -> Any:
    parameters = _places(f)
    named = parameters.get("save")
    if named is not None and named.kind in (_KEYWORD, _EITHER):
        return f(*args, **kwargs, save=save)
    places = [p for p in parameters.values() if p.kind in (_EITHER, inspect.Parameter.POSITIONAL_ONLY)]
    takes_any = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values())
    if takes_any or (not parameters and args) or len(places) > len(args):
        return f(*args, save, **kwargs)
    return f(*args, **kwargs)


def _value_and_function(returned: Any, name: str) -> tuple[Any, Callable[..., Any]]:
    if isinstance(returned, DICTS):
        if "value" not in returned or not callable(returned.get("grad_func")):
            raise TypeError(
                at_user_line(
                    f"{name}: a function passed to custom_grad must return value and a callable grad_func, got a "
                    f"mapping with the keys {list(returned)}"
                )
            )
        return returned["value"], returned["grad_func"]
    if not isinstance(returned, SEQUENCES) or len(returned) != 2 or not callable(returned[1]):
        raise TypeError(
            at_user_line(
                f"{name}: a function passed to custom_grad must return a pair (value, grad_func) or a mapping with "
                f"those keys, grad_func callable; got {_described(returned)}"
            )
        )
    return returned[0], returned[1]


def _takes_saved(grad_func: Callable[..., Any]) -> str:
    """How a backward function takes what was saved: "place", "keyword", or "" if it does not."""
    parameters = _places(grad_func)
    if not parameters:
        return "place"
    named = parameters.get("saved")
    if named is not None and named.kind is _KEYWORD:
        return "keyword"
    places = [p for p in parameters.values() if p.kind in (_EITHER, inspect.Parameter.POSITIONAL_ONLY)]
    takes_any = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values())
    return "place" if takes_any or len(places) > 1 else ""


# -- recompute_grad ---------------------------------------------------------------------------------------------------


class _Captures(Telling, Observer):
    """The recorder of a first run: follows what depends on the inputs, and notes followed tensors from elsewhere and
    buffers from outside that are written to."""

    __slots__ = ("found", "keys", "outer", "own", "since", "written")
    is_passive = True

    def __init__(self, keys: set[int], outer: tuple[Recorder, ...], own: Iterable[Tensor]) -> None:
        self.since = next_serial()
        self.own = frozenset(x._key for x in own)  # keys of the arguments: the function may write to them
        self.keys = keys
        self.outer = outer
        self.found: dict[int, Tensor] = {}
        self.written: dict[int, Memory] = {}

    def tracks(self, key: int) -> bool:
        return key in self.keys or any(recorder.tracks(key) for recorder in self.outer)

    def on_read(self, variable: Variable, tensor: Tensor) -> None:
        self.keys.add(tensor._key)

    def on_write(self, buffer: Memory) -> None:
        if buffer._key not in self.written:
            self.written[buffer._key] = buffer
            self.keys.add(buffer._held._key)  # what it held before is an input: it counts as read, for all observers

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        is_followed = False
        for operand in operands:
            key = operand._key
            if key in self.keys:
                is_followed = True
            elif any(recorder.tracks(key) for recorder in self.outer):
                self.found[key] = copy(operand)  # whoever holds this one may write to it
                self.keys.add(key)
                is_followed = True
        if is_followed and op.kind != "stop":
            self.keys.update(out._key for out in outs if dtypes.is_inexact(out.dtype))

    def note_results(self, tensors: Sequence[Tensor]) -> None:
        """Notes tensors from elsewhere that are returned as they are."""
        for x in tensors:
            if x._key not in self.keys and any(recorder.tracks(x._key) for recorder in self.outer):
                self.found[x._key] = x


class _Repeated:
    """f on arguments whose arrays are replaced: what a backward pass repeats."""

    __slots__ = ("_f", "_head", "_leaves", "_name", "_pins", "_places", "_spec")

    def __init__(self, f: Callable[..., Any], head: tuple[Any, ...], arguments: tuple[Any, Any]) -> None:
        self._f = f
        self._head = head
        self._name = _name_of(f)
        self._leaves, self._spec = flatten(arguments)
        self._places = [i for i, leaf in enumerate(self._leaves) if type(leaf) is Tensor]
        self._pins: dict[int, Tensor] = {}

    def inputs(self) -> list[Tensor]:
        """The tensors among the arguments; they are not held here from now on, but where the rule keeps them."""
        found = [self._leaves[i] for i in self._places]
        for i in self._places:
            self._leaves[i] = None
        return found

    def first(self, inputs: Sequence[Tensor]) -> _Output:
        """Runs f."""
        leaves = list(self._leaves)
        for i, tensor in zip(self._places, inputs, strict=True):
            leaves[i] = copy(tensor)  # f may write to it
        args, kwargs = unflatten(self._spec, leaves)
        return _Output(self._f(*self._head, *args, **kwargs), self._name)

    def pin(self, variables: Sequence[Variable], constants: dict[int, Tensor], written: Iterable[int]) -> Run:
        """f as a function of its arguments and of these Variables, the rest of which hold what they held; what these
        buffers hold at the end are results."""
        count = len(self._places)
        keys = [v._key for v in variables]

        def run(inputs: Sequence[Tensor]) -> list[Tensor]:
            pins = {**constants, **dict(zip(keys, inputs[count:], strict=True))}
            with pinning(pins):
                return [*self.first(inputs[:count]).tensors, *map(pins.__getitem__, written)]

        return run


def _call_recompute(f: Callable[..., Any], head: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    caller = caller_of((*args, *kwargs.values())) if args or kwargs else TENSORS
    arguments = ((*map(array_argument, args),), {k: array_argument(v) for k, v in kwargs.items()})
    if not _holds_tensors(arguments):
        arguments = ((*map(_number_as_tensor, arguments[0]),), arguments[1])
    if not _is_following():
        output = _Output(f(*head, *arguments[0], **arguments[1]), _name_of(f))
        return output.unfollowed(caller)
    repeated = _Repeated(f, head, arguments)
    del arguments
    run = _recompute_traced if STATE.builder is not None else _recompute_eager
    return run(repeated, _name_of(f), caller)


def _recompute_eager(repeated: _Repeated, name: str, caller: Caller) -> Any:
    inputs = repeated.inputs()
    outer = STATE.recorders
    with pausing(()):  # f may also use an argument from outside, and that is another way to it
        own = [renamed(x) for x in inputs]
    keys = {y._key for x, y in zip(inputs, own, strict=True) if any(r.tracks(x._key) for r in outer)}
    captures, reads = _Captures(keys, outer, own), _Reads(own)
    with pausing(watchers()), recording(captures), observing_reads(reads), observing_reads(captures):
        output = repeated.first(own)
    arrays = [*captures.written.values()]
    found = [*output.tensors, *[array._held for array in arrays]]
    captures.note_results(found)
    del own
    if not found:
        return output.result((), caller)
    floats = {k: (v, t) for k, (v, t) in reads.first.items() if dtypes.is_inexact(t.dtype)}
    constants = {k: t for k, (_, t) in reads.first.items() if k not in floats}
    read_keys = {t._key for _, t in floats.values()}
    captured = [t for key, t in captures.found.items() if key not in read_keys]
    held = [*inputs, *(t for _, t in floats.values())]
    everything = [*held, *captured]
    run = repeated.pin([v for v, _ in floats.values()], constants, [*captures.written])
    rule = RecomputeRule(name, run, len(inputs), len(held), len(everything), len(found))
    returned = len(output.tensors)
    results = follow(rule, everything, [*_with_dtype(found[:returned], inputs), *found[returned:]], everything)
    for array, value in zip(arrays, results[returned:], strict=True):
        array._put(value)
    return output.result(results[:returned], caller)


def _recompute_traced(repeated: _Repeated, name: str, caller: Caller) -> Any:
    """f as a graph of its own: replayed once now, without recorders, and again in the backward pass.

    What arrays from outside hold at the end, where f writes to them, are results like those that it returns.
    """
    inputs = repeated.inputs()
    found: list[_Output] = []
    arrays: list[Memory] = []

    def whole(tensors: list[Tensor]) -> list[Tensor]:
        found.append(repeated.first(with_weak(tensors, [x._weak for x in inputs])))
        assert STATE.builder is not None
        written = [(v, t) for v, t in STATE.builder.writes.values() if isinstance(v, Memory)]
        arrays[:] = [v for v, _ in written]
        return [*found[0].tensors, *[t for _, t in written]]

    closed = Closed(whole, [type_of(x) for x in inputs], name)
    if closed.error is not None:
        raise closed.error
    (output,) = found
    variables = closed.take_reads()
    held = [*inputs, *closed.captured, *(v._held for v in variables)]
    closed.captured = ()
    returned = len(output.tensors)
    count = returned + len(arrays)
    with pausing(watchers()):
        values = closed.values(held)
    for variable, value in zip(closed.writes, values[count:], strict=True):
        if not isinstance(variable, Memory):
            variable._put(value)
    if not count:
        return output.result((), caller)
    with_weak(values[:returned], [y._weak for y in output.tensors])
    rule = RecomputeRule(name, ClosedRun(closed, count), len(inputs), len(held), len(held), count)
    results = follow(rule, held, [*_with_dtype(values[:returned], inputs), *values[returned:count]], held)
    for array, value in zip(arrays, results[returned:], strict=True):
        array._put(value)
    return output.result(results[:returned], caller)
