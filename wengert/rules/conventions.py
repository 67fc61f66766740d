"""How a user's gradient function is called, in the manner of TensorFlow, Keras or TensorFlow.js.

`call_custom_gradient` runs a call of a `custom_gradient` function, `call_custom_grad` one of a `custom_grad` function.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from .._control.custom_captures import Outside
from .._core.constant import is_number
from .._core.cycles import under_way
from .._core.kinds import DICTS, SEQUENCES
from .._core.labelled import family_of
from .._core.state import observing_reads
from .._core.structure import LEAF, describe, flatten, unflatten
from .._core.tensor import Tensor, is_tensor_or_variable
from .._core.types import type_of
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor
from ..programs.variables import Variable
from .custom_call import (
    CustomCall,
    Output,
    Reads,
    Standing,
    answer,
    is_following,
    name_of,
    name_of_variable,
    parameters_of,
)
from .returned import Wanted, checked_gradient, matched

_known_places: weakref.WeakKeyDictionary[CodeType, dict[str, inspect.Parameter]] = weakref.WeakKeyDictionary()


def _places(f: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """A function's parameters without their defaults, which the functions that one `def` makes may differ in."""
    if type(f) is not FunctionType or f.__dict__:
        return parameters_of(f)
    found = _known_places.get(f.__code__)
    if found is None:
        found = {name: p.replace(default=inspect.Parameter.empty) for name, p in parameters_of(f).items()}
        _known_places[f.__code__] = found
    return found


# -- custom_gradient ---------------------------------------------------------------------------------------------------


def call_custom_gradient(
    f: Callable[..., Any], jvp: Callable[..., Any] | None, head: tuple[Any, ...], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    name = name_of(f)
    call = CustomCall(f, name, head, args, kwargs)
    reads = Reads(call.own)
    outside = Outside(reads.since) if is_following() else None
    with observing_reads(reads):
        if outside is None:
            returned = f(*head, *call.args, **call.kwargs)
        else:
            with outside:
                returned = f(*head, *call.args, **call.kwargs)
    output, grad_fn = _pair(returned, name, "a function with a custom gradient must return a pair (output, grad_fn),")
    variables = reads.trainable(call.variables)
    if variables and not _takes_variables(grad_fn):
        raise TypeError(
            at_user_line(
                f"{name}: its gradient function must take the keyword argument 'variables', since the function reads "
                f"the trainable Variables {[name_of_variable(v) for v, _ in variables]}"
            )
        )
    result = Output(output, name)
    if outside is None:
        return result.unfollowed(call.caller)
    pull = _UserPull(name, f, grad_fn, call, variables)
    push = None if jvp is None else _UserPush(name, jvp, call, result)
    return answer(name, result, call, [t for _, t in variables], pull, push, outside, (*head, call.user(f)), reads)


def _pair(returned: Any, name: str, wanted: str) -> tuple[Any, Callable[..., Any]]:
    """A value and a function; an error that says what was wanted and what came, if they are none."""
    if not isinstance(returned, SEQUENCES) or len(returned) != 2 or not callable(returned[1]):
        raise TypeError(at_user_line(f"{name}: {wanted} got {_described(returned)}"))
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
        self, name: str, f: Callable[..., Any], grad_fn: Callable[..., Any], call: CustomCall,
        variables: list[tuple[Variable, Tensor]],
    ) -> None:  # fmt: skip
        self._name = name
        self._f = f  # of which each call has a gradient function of its own
        self._grad_fn = grad_fn
        self._wanted = Wanted(name, call)
        self._variables = [v for v, _ in variables]
        self._types = [type_of(t) for _, t in variables]
        self._standing = Standing(variables)
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
                    f"{len(variables)} Variables {[*map(name_of_variable, variables)]}"
                )
            )
        return [
            checked_gradient(g, t, f"{self._name}: the gradient for the Variable {name_of_variable(v)}")
            for g, v, t in zip(gradients, variables, self._types, strict=True)
        ]


class _UserPush:
    """Calls jvp with the arguments' structure and checks the tangent that it returns."""

    __slots__ = ("_args", "_jvp", "_name", "_places", "_spec", "_types", "_weak")

    def __init__(self, name: str, jvp: Callable[..., Any], call: CustomCall, output: Output) -> None:
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


# -- custom_grad -------------------------------------------------------------------------------------------------------


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


def call_custom_grad(
    f: Callable[..., Any], head: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    name = name_of(f)
    call = CustomCall(f, name, head, (*[as_tensor(a, name) if is_number(a) else a for a in args],), kwargs, args)
    save = _Saver(is_following())
    reads = Reads(call.own)
    outside = Outside(reads.since) if is_following() else None
    with observing_reads(reads):
        if outside is None:
            returned = _with_save(f, (*head, *call.args), call.kwargs, save)
        else:
            with outside:
                returned = _with_save(f, (*head, *call.args), call.kwargs, save)
    value, grad_func = _value_and_function(returned, name)
    output = Output(value, name)
    if output.spec is not LEAF or not output.tensors:
        raise TypeError(
            at_user_line(
                f"{name}: the value of a function passed to custom_grad must be one tensor, got {type(value).__name__}"
            )
        )
    if outside is None:
        return output.unfollowed(call.caller)
    wanted = Wanted(name, call)
    takes_saved = _takes_saved(grad_func)

    def pull(cotangents: list[Tensor]) -> Sequence[Tensor | None]:
        saved = list(save.saved)
        with under_way(f, _needs_itself(name)):
            if takes_saved == "keyword":
                found = grad_func(cotangents[0], saved=saved)
            else:
                found = grad_func(cotangents[0], saved) if takes_saved else grad_func(cotangents[0])
        return wanted.checked(found)

    return answer(name, output, call, [], pull, None, outside, (*head, call.user(f)), reads)


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
    return _pair(
        returned, name,
        "a function passed to custom_grad must return a pair (value, grad_func) or a mapping with those keys, "
        "grad_func callable;",
    )  # fmt: skip


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
