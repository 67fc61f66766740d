"""A call of a function with a gradient of its own: its arguments, what it reads while it runs, and its results.

`CustomCall` binds the arguments, `Reads` watches which Variables the function reads, and `answer` hands the results
with a rule to `_control.custom.follow`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

from .._compile.arguments import array_argument
from .._compile.bridge import has_tracers
from .._control.custom import CustomRule, EagerRule, Pull, Push, TracedRule, follow
from .._control.custom_captures import Outside, described, refused
from .._control.values import strong_unless
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import NUMPY, TENSORS, Caller, caller_of
from .._core.constant import is_number, number, renamed, weakened
from .._core.engine import ENGINE_OF, array_of, stands_in
from .._core.kinds import ARRAYS
from .._core.labelled import family_of
from .._core.recorder import Observer
from .._core.state import STATE, next_serial
from .._core.structure import flatten, is_number_list, unflatten
from .._core.tensor import Tensor, is_tensor_or_variable
from .._core.types import type_of
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor
from ..programs.variables import Variable

# -- arguments ---------------------------------------------------------------------------------------------------------


class CustomCall:
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
        has_arrays = holds_tensors(converted) or holds_tensors(tuple(words.values()))
        has_numbers = has_arrays or any(map(_is_number_or_labelled, flatten(given)[0]))
        self.caller = caller_of(given) if has_numbers else TENSORS
        if not has_arrays:  # the numbers are the arrays
            converted = (*[number_as_tensor(a) for a in converted],)
        if words and any(_is_followed(v) for v in words.values()):
            converted, words = _moved(f, name, head, converted, words)
        self.args = converted
        self.kwargs = words
        leaves, self.spec = flatten(converted)
        self.total = len(leaves)
        self.places = [i for i, leaf in enumerate(leaves) if type(leaf) is Tensor]
        self.inputs: list[Tensor] = [copy(leaves[i]) for i in self.places]  # the function may write to the others
        self.own = self.inputs
        followed = [i for i in self.places if _may_be_lost(leaves[i])] if is_following() else ()
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


def holds_tensors(values: tuple[Any, ...]) -> bool:
    return any(type(leaf) is Tensor for leaf in flatten(values)[0])


def _is_float(leaf: object) -> bool:
    return type(leaf) in (float, complex)


def number_as_tensor(value: Any) -> Any:
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
    parameters = list(parameters_of(f).values())[len(head) :]
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


def parameters_of(f: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return {}


# -- Variables that the function reads ---------------------------------------------------------------------------------


class Reads(Observer):
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
            NeedsProgram: the framework follows it, and would differentiate what runs in place of the rule.
        """
        if STATE.builder is None and ENGINE_OF[type(variable)].is_followed(array_of(variable)):
            raise NeedsProgram(variable)
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
        return next((f"the Variable {name_of_variable(v)}" for v, t in self.first.values() if t._key == key), "")


def _is_trained(variable: Any) -> bool:
    """Whether a gradient is wanted of a Variable; torch has another word for that, JAX's references have none."""
    return variable.trainable if hasattr(variable, "trainable") else getattr(variable, "requires_grad", False)


def name_of_variable(variable: Any) -> str:
    """What a Variable is called; torch's parameters have no name."""
    return getattr(variable, "name", None) or type(variable).__name__


class NeedsProgram(Exception):
    """A function must run as a program of ours: it reads what a framework follows."""


class Standing(Observer):
    """What variables of frameworks held when the function ran, for its gradient function to read."""

    __slots__ = ("standing",)

    def __init__(self, variables: Iterable[tuple[Any, Tensor]]) -> None:
        self.standing = {id(v): t for v, t in variables if not isinstance(v, Variable)}


# -- results -----------------------------------------------------------------------------------------------------------


class Output:
    """What a function returned, with tensors in the numeric places."""

    __slots__ = ("leaves", "numbers", "places", "spec", "tensors")

    def __init__(self, output: ArrayLike, name: str) -> None:
        self.leaves, self.spec = flatten(output)
        self.places: list[int] = []
        self.numbers: dict[int, Any] = {}  # Python's own, which take the dtype of what they meet
        for i, leaf in enumerate(self.leaves):
            if is_array_like(leaf):
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


def is_array_like(leaf: Any) -> bool:
    if is_tensor_or_variable(leaf) or is_number(leaf):
        return True
    if isinstance(leaf, ARRAYS):
        return dtypes.is_supported(leaf.dtype)
    return isinstance(leaf, list) and is_number_list(leaf)


def is_following() -> bool:
    return bool(STATE.recorders) or STATE.builder is not None


def answer(
    name: str, output: Output, call: CustomCall, read: list[Tensor], pull: Pull, push: Push | None, outside: Outside,
    users: tuple[Any, ...], reads: Reads,
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
    results = with_dtype(results, call.inputs)
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


def with_dtype(results: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Results as the eager call gives them: numbers stay weak beside a tensor among the arguments, as in a branch."""
    return [*strong_unless(not inputs or any(not x._weak for x in inputs), results)]


def _weakly(pull: Pull, flags: list[bool]) -> Pull:
    """A rule that gets weak cotangents of weak results: a Python number has no dtype that a gradient could take on."""
    if not any(flags):
        return pull

    def pulled(cotangents: list[Tensor]) -> Sequence[Tensor | None]:
        return pull([weakened(copy(x)) if flag else x for x, flag in zip(cotangents, flags, strict=True)])

    return pulled


def name_of(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)
