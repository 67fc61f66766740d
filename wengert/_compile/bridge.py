"""Calls on the tracers of a framework: the call is traced into a program of ours, which takes part in what the
framework does (differentiate, batch, compile) with our rules.

Without this, ops on tracers would be ops of the framework with its own derivatives: at kinks, in loops and where the
user gave a gradient these differ from ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from .._core import dtypes
from .._core.caller import Caller, caller_of
from .._core.constant import constant
from .._core.engine import ENGINE_OF, FRAMEWORK_ENGINES, FRAMEWORKS, array_of, framework_of
from .._core.kinds import ARRAYS
from .._core.public import public
from .._core.scalars import beside, take_for_numbers
from .._core.state import STATE
from .._core.structure import flatten
from .._core.tensor import Tensor, Value, entered
from .._core.wrong_calls import Symbolic, Varying
from .cache import Compiled
from .trace import Static, array_key, trace, with_dims

P = ParamSpec("P")
R = TypeVar("R")

_LEAVES = frozenset((*ARRAYS, bool, int, float, complex))


def has_tracers(values: Sequence[Any]) -> bool:
    """Whether a framework's tracer is among some (nested) arguments, and no trace of ours is open."""
    if STATE.builder is not None or not (FRAMEWORK_ENGINES or any(map(sys.modules.__contains__, FRAMEWORKS))):
        return False
    for value in values:  # without a walk through structures where there are none: each gradient call comes here
        kind = type(value)
        if kind is Tensor or framework_of(kind) is not None:
            if _is_tracer(value):
                return True
        elif kind not in _LEAVES and any(map(_is_tracer, flatten(value)[0])):
            return True
    return False


def _is_tracer(leaf: object) -> bool:
    native = leaf._data if type(leaf) is Tensor else leaf
    if type(native) is Value:
        return False
    engine = framework_of(type(native))
    return engine is not None and engine.is_followed(array_of(native))


def is_known(tensor: Tensor) -> bool:
    """Whether the values of a tensor that is not symbolic are at hand: a framework's tracer has none."""
    return ENGINE_OF[type(tensor._data)].is_concrete(tensor._data)


def as_program(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], name: str, caller: Caller | None = None
) -> Any:
    """The result of a call, traced for these arguments and run as one program; in the caller's kind of array.

    Args:
        f: the function.
        args, kwargs: its arguments.
        name: for messages.
        caller: whoever called, where the arguments do not tell.
    """
    caller = caller or caller_of((*args, *kwargs.values()))
    leaves, spec = flatten((tuple(args), kwargs))
    arrays = [*map(_array_in, leaves)]
    take_for_numbers(leaves, arrays)
    keys: list[Any] = []
    for leaf, array in zip(leaves, arrays, strict=True):
        keys.append(Static(leaf) if array is None else with_dims(array_key(array), len(keys)))
    tensors = [x for x in arrays if x is not None]
    with beside(tensors):
        traced = trace(f, spec, keys, name)
    return Compiled(traced).run(tensors, caller)


def bridged(f: Callable[P, R], name: str = "") -> Callable[P, R]:
    """f as a public function that takes frameworks' tracers: what is no array among its arguments stays as it is.

    Functions in which a Python call more is felt ask `has_tracers` themselves, and so do those that keep their traces.

    Args:
        f: a plain function.
        name: of the program; by default f's.
    """
    return public(f, (has_tracers, as_program, name or f.__name__))


def _run(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], name: str) -> Any:
    """A call on arrays or tracers. On tracers a lone op would be the framework's, and take no extents that vary."""
    return as_program(f, args, kwargs, name) if has_tracers((args, kwargs)) else f(*args, **kwargs)


Symbolic.run = staticmethod(_run)
Varying.run = staticmethod(as_program)


def _array_in(leaf: Any) -> Tensor | None:
    if type(leaf) is Tensor:
        return leaf
    if isinstance(leaf, ARRAYS):
        return constant(leaf) if dtypes.is_supported(leaf.dtype) else None
    if framework_of(type(leaf)) is None:
        return None
    tensor = entered(leaf)
    return tensor if dtypes.is_supported(tensor.dtype) else None
