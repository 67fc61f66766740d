"""Signatures of calls of compiled functions: the structure of the arguments, a key for each leaf, arrays as tensors.

Also how arguments fit an `input_signature`, and what messages call each of them. Asked by `graph.py` and `retraces.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._compile.arguments import array_argument
from .._compile.parameters import positional_names
from .._compile.statics import Pinned, unpinned
from .._compile.trace import ArrayKey, Static, array_key
from .._core import dtypes
from .._core.bare_integers import noted_if_bare
from .._core.constant import given_constant, number
from .._core.engine import Engine, is_native
from .._core.kinds import ARRAYS, SEQUENCES
from .._core.moving import require_movable
from .._core.scalars import take_for_numbers
from .._core.state import next_serial
from .._core.structure import Spec, describe, flatten, is_number_list, paths, unflatten
from .._core.tensor import Tensor, entered, is_tensor_or_variable, tensor_in
from .._core.user_line import at_user_line
from .._engines import engine_named
from ..ops.promotion import as_tensor, cast
from .specs import TensorSpec


def engine_of(name: str) -> Engine:
    try:
        return engine_named(name)
    except ValueError:
        raise ValueError(at_user_line(
            f"function: there is no engine {name!r}; wanted 'numpy', 'jax', 'torch' or 'tensorflow'"
        )) from None  # fmt: skip


def signature_of(
    args: Any, kwargs: Any, f: Callable[..., Any]
) -> tuple[Spec | None, tuple[Any, ...], list[Tensor]]:  # fmt: skip
    """The structure of the arguments, a key per leaf, and the array leaves as tensors."""
    leaves, spec = flatten((tuple(args), dict(kwargs)))
    keys: list[Any] = []
    tensors: list[Tensor] = []
    for leaf, tensor in zip(leaves, tensors_in(leaves, spec, f), strict=True):
        if type(leaf) is TensorSpec:
            keys.append(key_of_spec(leaf))
        elif tensor is None:
            keys.append(Static(unpinned(leaf), type(leaf) is Pinned))
        else:
            keys.append(array_key(tensor))
            tensors.append(tensor)
    return spec, tuple(keys), tensors


def movable(
    args: object, kwargs: object, engine: Engine, f: Callable[..., Any]
) -> tuple[list[Any], Spec | None, list[Tensor | None]]:  # fmt: skip
    """The leaves of arguments, their structure, and the arrays among them as tensors, which may move to an engine."""
    leaves, spec = flatten((args, kwargs))
    tensors = tensors_in(leaves, spec, f)
    for tensor in tensors:
        if tensor is not None and not tensor.is_symbolic:
            require_movable(tensor, engine)
    return leaves, spec, tensors


def tensors_in(leaves: Sequence[Any], spec: Spec | None, f: Callable[..., Any]) -> list[Tensor | None]:
    """Each leaf of f's arguments as `traced_leaf` takes it; an error says which it is."""
    found: list[Tensor | None] = []
    for index, leaf in enumerate(leaves):
        try:
            found.append(traced_leaf(leaf))
        except ValueError as error:
            if not isinstance(leaf, list):
                raise
            path = argument_paths(f, spec)[index]
            raise ValueError(at_user_line(f"function: {path}: {error}")) from None
    take_for_numbers(leaves, found)
    return found


def traced_leaf(leaf: Any) -> Tensor | None:
    """An array, a Python float or complex as a tensor; None for what belongs to the signature by value."""
    if isinstance(leaf, ARRAYS):
        return noted_if_bare(given_constant(leaf), leaf) if dtypes.is_supported(leaf.dtype) else None
    if isinstance(leaf, (float, complex)):
        return number(leaf)
    if isinstance(leaf, list) and is_number_list(leaf):
        return array_argument(leaf)
    return _native_tensor(leaf) if is_native(type(leaf)) else tensor_in(leaf)


def _native_tensor(native: object) -> Tensor | None:
    tensor = entered(native)
    return tensor if dtypes.is_supported(tensor.dtype) else None


def key_of_spec(spec: TensorSpec) -> ArrayKey:
    return ArrayKey(spec.shape, spec.dtype, False)


def holds_specs(args: Any, kwargs: Any) -> bool:
    return any(type(leaf) is TensorSpec for leaf in flatten((tuple(args), dict(kwargs)))[0])


def static_values(keys: tuple[Any, ...]) -> list[Any]:
    """The values that belong to a signature."""
    return [key.value for key in keys if type(key) is Static]


def static_paths(f: Callable[..., Any], spec: Spec | None, keys: tuple[Any, ...]) -> list[str]:
    return [path for path, key in zip(argument_paths(f, spec), keys, strict=True) if type(key) is Static]


def cache_key(spec: Spec | None, keys: tuple[Any, ...]) -> Any:
    return (spec, keys, dtypes.default_float())


def checked_signature(signature: Any) -> tuple[Any, ...]:
    if not isinstance(signature, SEQUENCES) or not all(type(s) is TensorSpec for s in flatten(tuple(signature))[0]):
        raise TypeError(at_user_line(f"function: input_signature must be a list of TensorSpecs, got {signature!r}"))
    return tuple(signature)


def fitted(argument: object, entry: object, index: int, name: str) -> Any:
    """An argument as the tensor, or structure of tensors, that its entry of the signature describes."""
    if type(entry) is TensorSpec:
        return _fit_one(argument, entry, index, name)
    specs, wanted = flatten(entry)
    leaves, given = flatten(argument)
    if given != wanted:
        raise TypeError(
            at_user_line(
                f"{name}: argument {index} has the structure {describe(given)}, but its input_signature says "
                f"{describe(wanted)}"
            )
        )
    return unflatten(wanted, [_fit_one(a, s, index, name) for a, s in zip(leaves, specs, strict=True)])


def _fit_one(argument: Any, spec: TensorSpec, index: int, name: str) -> Tensor:
    if isinstance(argument, ARRAYS) or is_tensor_or_variable(argument):
        tensor = as_tensor(argument, name)
        if tensor.dtype != spec.dtype:
            raise TypeError(
                at_user_line(
                    f"{name}: argument {index} has dtype {tensor.dtype.name}, but its TensorSpec says {spec.dtype.name}"
                )
            )
    else:
        given = as_tensor(argument, f"{name}: argument {index}")
        if _kind_rank(given.dtype) > _kind_rank(spec.dtype):
            raise TypeError(
                at_user_line(
                    f"{name}: argument {index} is {given.dtype.name}, but its TensorSpec says {spec.dtype.name}"
                )
            )
        tensor = Tensor(cast(given, spec.dtype)._data, next_serial())
    fits = len(tensor.shape) == len(spec.shape) and all(
        s is None or s == d for s, d in zip(spec.shape, tensor.shape, strict=True)
    )
    if not fits:
        raise ValueError(
            at_user_line(
                f"{name}: argument {index} has shape {tensor.shape}, which does not fit its TensorSpec's {spec.shape}"
            )
        )
    return tensor


def _kind_rank(dtype: np.dtype[Any]) -> int:
    """bool, integers, floats, complex numbers: a number may become one of a later kind."""
    return 2 if dtypes.is_float(dtype) else "biuc".index(dtype.kind) - (dtype.kind == "u")


def positional_from(f: Callable[..., Any], args: Any, kwargs: Any, name: str) -> tuple[Any, ...]:
    """Positional arguments from mixed ones, for functions with an input signature."""
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(at_user_line(f"{name}: {error}")) from None
    if bound.kwargs:
        raise TypeError(at_user_line(f"{name}: keyword-only arguments cannot have an input_signature"))
    return bound.args


def argument_paths(f: Callable[..., Any], spec: Spec | None, unknown: str = "args[{}]") -> list[str]:
    """Each leaf's path by parameter name; `unknown` names a positional argument whose parameter is not known."""
    assert spec is not None  # the spec of (args, kwargs)
    positional, named = spec.children
    assert positional is not None
    assert named is not None
    names = positional_names(f, len(positional.children), unknown)
    found: list[str] = []
    for name, child in zip(names, positional.children, strict=True):
        found += paths(child, name)
    for keyword, child in zip(named.keys, named.children, strict=True):
        found += paths(child, keyword)
    return found


__all__ = [
    "argument_paths", "cache_key", "checked_signature", "engine_of", "fitted", "holds_specs", "key_of_spec", "movable",
    "positional_from", "signature_of", "static_paths", "static_values", "tensors_in", "traced_leaf",
]  # fmt: skip
