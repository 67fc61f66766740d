"""Functions of other frameworks as functions of ours: `from_jax`."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ._compile.arguments import caller_kind, require_callable, result_of
from ._compile.bridge import as_program, has_tracers
from ._control.foreign import foreign
from ._control.values import leaf_tensor
from ._core.doors import door
from ._core.structure import flatten, unflatten
from ._engines import engine_named

__all__ = ["from_jax"]


def from_jax(f: Callable[..., Any]) -> Callable[..., Any]:
    """A JAX function as a function on arrays of any kind, differentiated by JAX.

    Args:
        f: takes and gives JAX arrays, or nested structures of them; what is no array reaches it as it is. It must be
            one that JAX can trace.

    Returns:
        A function of the same arguments. Its results are of the kind of array that came in; it can be traced, and
        differentiated in both modes and to every order, by the derivatives that JAX gives f (its custom ones included).

    Raises:
        TypeError: f is not callable.
        ModuleNotFoundError: JAX is not installed.

    Example:
        >>> import importlib.util, numpy as np, wengert as wg
        >>> def energy(x):
        ...     import jax.numpy as jnp
        ...     return jnp.sum(jnp.sin(x) ** 2)
        >>> if importlib.util.find_spec("jax"):  # JAX need not be installed
        ...     gradient = wg.grad(wg.from_jax(energy))(np.array([0.0, 1.0]))
    """
    require_callable(f, "from_jax")
    engine_named("jax")
    make: Any = importlib.import_module(f"{__package__}._engines.jax.foreign").JaxFunction
    known: dict[Any, tuple[Any, list[Any]]] = {}

    @functools.wraps(f)
    @door
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if has_tracers((args, kwargs)):

            def again(*tensors: Any, **named: Any) -> Any:  # not the wrapper: no function holds itself
                return _applied(f, make, known, tensors, named)

            return as_program(again, args, kwargs, getattr(f, "__name__", "from_jax"))
        return _applied(f, make, known, args, kwargs)

    return wrapper


def _applied(
    f: Callable[..., Any], make: Any, known: dict[Any, tuple[Any, list[Any]]], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """What f gives for these arguments, by the op `foreign`."""
    kind = caller_kind((*args, *kwargs.values()))
    leaves, spec = flatten((args, kwargs))
    tensors = [leaf_tensor(leaf) for leaf in leaves]
    fixed = (*[None if t is not None else leaf for leaf, t in zip(leaves, tensors, strict=True)],)
    function, structure = _flat(f, make, known, spec, fixed, (*[t is not None for t in tensors],))
    outs = foreign(*[t for t in tensors if t is not None], function=function)
    return result_of(unflatten(structure[0], [*outs]), kind)


def _flat(
    f: Callable[..., Any], make: Any, known: dict[Any, tuple[Any, list[Any]]], spec: Any, fixed: tuple[Any, ...],
    are_arrays: tuple[bool, ...],
) -> tuple[Any, list[Any]]:  # fmt: skip
    """f as a function of its array leaves, and a list that holds the structure of its result once it has run."""
    try:
        key: Any = (spec, fixed, are_arrays)
        found = known.get(key)
    except TypeError:  # something among the arguments has no hash
        key, found = None, None
    if found is not None:
        return found
    structure: list[Any] = []

    def flat(*arrays: Any) -> tuple[Any, ...]:
        following = iter(arrays)
        leaves = [next(following) if is_array else x for x, is_array in zip(fixed, are_arrays, strict=True)]
        args, kwargs = unflatten(spec, leaves)
        results, structure[:] = _flattened(f(*args, **kwargs))
        return results

    made = (make(flat, getattr(f, "__name__", "function")), structure)
    if key is not None:
        known[key] = made
    return made


def _flattened(result: Any) -> tuple[tuple[Any, ...], list[Any]]:
    leaves, spec = flatten(result)
    return (*leaves,), [spec]
