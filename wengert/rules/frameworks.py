"""Functions of other frameworks as functions of ours: `from_jax`, `from_tensorflow`, `from_torch`."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .. import _engines
from .._compile.arguments import require_callable
from .._compile.bridge import as_program, has_tracers
from .._compile.captures import Surroundings
from .._control.foreign import Foreign, foreign
from .._control.values import leaf_tensor
from .._core import dtypes
from .._core.caller import caller_of
from .._core.constant import is_number
from .._core.derived import Derived, derived
from .._core.engine import ENGINE_OF, ENGINES, framework_of, transferred
from .._core.public import public
from .._core.state import STATE
from .._core.structure import flatten, unflatten
from .._core.types import type_of
from .._engines import engine_named
from ..ops.promotion import cast, common_dtype
from ..programs.kept_traces import KeptTraces

__all__ = ["from_jax", "from_tensorflow", "from_torch"]


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
    return _as_f(_wrapped(f, _maker("jax", "JaxFunction"), "from_jax"), from_jax, f)


def from_tensorflow(f: Callable[..., Any], *, variables: Sequence[Any] | None = None) -> Callable[..., Any]:
    """A TensorFlow function, module or Keras layer as a function on arrays of any kind, differentiated by TensorFlow.

    Args:
        f: takes and gives TensorFlow tensors, or nested structures of them; what is no array reaches it as it is. It
            must be one that `tf.function` can trace, and its results' shapes must follow from those of its arguments.
        variables: the variables that f reads and that TensorFlow's own tapes, where they are open around a call, are to
            find a gradient of. By default those in `f.trainable_variables`, if it has any; to our own differentiation
            they are constants.

    Returns:
        A function of the same arguments. Its results are of the kind of array that came in; it can be traced, and
        differentiated in both modes and to every order, by the derivatives that TensorFlow gives f (its custom ones
        included).

    Raises:
        TypeError: f is not callable.
        ModuleNotFoundError: TensorFlow is not installed.

    Example:
        >>> import importlib.util, numpy as np, wengert as wg
        >>> def energy(x):
        ...     import tensorflow as tf
        ...     return tf.reduce_sum(tf.sin(x) ** 2)
        >>> if importlib.util.find_spec("tensorflow"):  # TensorFlow need not be installed
        ...     gradient = wg.grad(wg.from_tensorflow(energy))(np.array([0.0, 1.0]))
    """
    require_callable(f, "from_tensorflow")
    engine: Any = engine_named("tensorflow")
    make = _maker("tensorflow", "TensorFlowFunction")
    plain = _wrapped(f, make, "from_tensorflow")
    followed: dict[tuple[int, ...], Callable[..., Any]] = {}

    @functools.wraps(f)
    @public
    def wrapper(*args: object, **kwargs: object) -> Any:
        read = [*(getattr(f, "trainable_variables", ()) if variables is None else variables)]
        if not any(map(engine.is_followed, read)):
            return plain(*args, **kwargs)
        key = (*map(id, read),)
        if key not in followed:  # the values come first, so that the engine finds them
            followed[key] = _wrapped(_after_values(f), functools.partial(make, variables=read), "from_tensorflow")
        return followed[key]([engine.leave(engine.enter(v)) for v in read], *args, **kwargs)

    return _as_f(wrapper, from_tensorflow, f, variables=variables)


def _after_values(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with an argument before its own: the values of the variables that it reads by itself."""

    @functools.wraps(f)
    def after_values(values: object, *args: object, **kwargs: object) -> Any:
        return f(*args, **kwargs)

    return after_values


def from_torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """A torch function or module as a function on arrays of any kind, differentiated by torch.

    Args:
        f: takes and gives torch tensors, or nested structures of them; what is no array reaches it as it is. Where it
            is traced it is run on tensors without values, or on zeros if it needs values, to learn the types of its
            results.

    Returns:
        A function of the same arguments. Its results are of the kind of array that came in; it can be traced, and
        differentiated in both modes and to every order, by the derivatives that torch gives f. Of a module it takes
        `parameters=` as well, a dict of arrays by the names of `named_parameters` (and `named_buffers`) that stand in
        for its own, and are differentiated as any argument is; without, the module's own are used, and torch's
        `backward` finds them.

    Raises:
        TypeError: f is not callable.
        ModuleNotFoundError: torch is not installed.

    Example:
        >>> import importlib.util, numpy as np, wengert as wg
        >>> def energy(x):
        ...     import torch
        ...     return torch.sum(torch.sin(x) ** 2)
        >>> if importlib.util.find_spec("torch"):  # torch need not be installed
        ...     gradient = wg.grad(wg.from_torch(energy))(np.array([0.0, 1.0]))
    """
    require_callable(f, "from_torch")
    engine_named("torch")
    make = _maker("torch", "TorchFunction")
    if not hasattr(f, "named_parameters"):
        return _as_f(_wrapped(f, make, "from_torch"), from_torch, f)
    return _as_f(_of_module(f, make), from_torch, f)


def _as_f(function: Callable[..., Any], maker: Callable[..., Any], f: Callable[..., Any], **options: object) -> Derived:
    """What a bridge gives: it is called as f is, and has its name."""
    made = derived(function, "", maker, f, **options)
    functools.update_wrapper(made, function)
    made.__wrapped__ = f
    made.__signature__ = _signature_of(function)
    return made


def _signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """None if it does not say."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _of_module(module: Any, make: object) -> Callable[..., Any]:
    """A module as a function of its parameters, which are its own unless others are given."""
    functional_call: Any = importlib.import_module("torch.func").functional_call

    def applied(*args: object, parameters: object, **kwargs: object) -> Any:
        return functional_call(module, parameters, args, kwargs)

    inner = _wrapped(applied, make, "from_torch", type(module).__name__)

    @functools.wraps(module.forward)
    def wrapper(*args: Any, parameters: object = None, **kwargs: Any) -> Any:
        own = dict(module.named_parameters()) if parameters is None else parameters
        if not own or parameters is not None or STATE.builder is not None or STATE.recorders:
            return inner(*args, parameters=own, **kwargs)
        caller = caller_of((*args, *kwargs.values()))
        result = inner(*args, parameters=own, **kwargs)
        is_torch = caller.engine is not None and caller.engine.name == "torch"
        return result if is_torch else caller.result(_as_tensors(result))

    return wrapper


def _as_tensors(result: object) -> Any:
    leaves, spec = flatten(result)
    return unflatten(spec, [x if t is None else t for x, t in zip(leaves, map(leaf_tensor, leaves), strict=True)])


def _maker(engine: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{_engines.__name__}.{engine}.foreign"), name)


def _wrapped(f: Callable[..., Any], make: Any, what: str, name: str = "") -> Callable[..., Any]:
    known = _Known(f, make)
    name = name or getattr(f, "__name__", what)

    def applied(*tensors: object, **named: object) -> Any:  # not the wrapper: no function holds itself
        return _applied(known, tensors, named)

    applied.__name__ = applied.__qualname__ = name
    traces = KeptTraces(applied)

    @functools.wraps(f)
    @public
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if _is_at_home(args, kwargs, known.foreign.engine) or not has_tracers((args, kwargs)):
            return _applied(known, args, kwargs)
        result = traces.run(args, kwargs)
        return as_program(applied, args, kwargs, name) if result is NotImplemented else result

    return wrapper


def _applied(known: _Known, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives for these arguments, by the op `foreign`."""
    caller = caller_of((*args, *kwargs.values()))
    leaves, spec = flatten((args, kwargs))
    tensors = [None if known.foreign.keeps_numbers and is_number(leaf) else leaf_tensor(leaf) for leaf in leaves]
    fixed = (*[None if t is not None else leaf for leaf, t in zip(leaves, tensors, strict=True)],)
    is_at_home = caller.engine is not None and _is_at_home(args, kwargs, known.foreign.engine)
    function, structure = known.flat(spec, fixed, (*[t is not None for t in tensors],), is_at_home)
    home = ENGINES[function.engine]
    if known.foreign.reads_anew and STATE.builder is not None and STATE.builder.arrays is not None:
        STATE.builder.arrays.note_bridged(known.f)
    if is_at_home:
        outs = function.direct([transferred(t._data, home) for t in _at_home([t for t in tensors if t is not None])])
        return unflatten(structure[0], [*map(home.leave, outs)])
    operands = _at_home([t for t in tensors if t is not None])
    is_there = any(not t.is_symbolic and ENGINE_OF[type(t._data)] is home for t in operands)
    if STATE.builder is not None or (is_there and function.loses_eagerly):
        function, read = function.lifted([*map(type_of, operands)])
        operands = [*read, *operands]
    outs = foreign(*operands, function=function)
    return caller.result(unflatten(structure[0], [*outs]))


def _is_at_home(args: object, kwargs: object, engine: str) -> bool:
    """Whether a call is the framework's own business: nothing of ours looks on, and all arrays are of its kind."""
    if STATE.builder is not None or STATE.recorders:
        return False
    is_met = False
    for leaf in flatten((args, kwargs))[0]:
        home = framework_of(type(leaf))  # pyright: ignore[reportUnknownArgumentType]
        if home is not None and home.name == engine:
            is_met = True
        elif home is not None or (not is_number(leaf) and leaf_tensor(leaf) is not None):
            return False
    return is_met


def _at_home(tensors: list[Any]) -> list[Any]:
    """Tensors of which Python numbers have the dtype of the arrays beside them: not every framework has weak types."""
    strong = [t for t in tensors if not t._weak and dtypes.is_inexact(t.dtype)]
    if not strong or len(strong) == len(tensors):
        return tensors
    return [cast(t, common_dtype([*strong, t])) if t._weak else t for t in tensors]


class _Known:
    """A function of a framework as functions of its array leaves, for each kind of call.

    They are kept, with what the framework has compiled, as long as what the function reads beside its arguments is as
    it was. The first call after a change is not compiled: where something changes from call to call, none is.

    Attributes:
        f: the function.
        foreign: the class of these functions.
    """

    def __init__(self, f: Callable[..., Any], make: Any) -> None:
        self.foreign: type[Foreign] = getattr(make, "func", make)
        self.f = f
        self._make = make
        self._found: dict[Any, tuple[Any, list[Any]]] = {}
        self._surroundings: Surroundings | None = None
        self._has_changed = False

    def flat(
        self, spec: Any, fixed: tuple[Any, ...], are_arrays: tuple[bool, ...], runs_anew: bool
    ) -> tuple[Any, list[Any]]:
        """The function of array leaves, and a list that holds the structure of its result once it has run.

        Args:
            spec: the structure of the arguments.
            fixed: the leaves that are no arrays.
            are_arrays: which leaves are arrays.
            runs_anew: whether the user's code runs in this call, whatever has been compiled.
        """
        if not runs_anew:
            self._look()
        try:
            key: Any = (spec, fixed, are_arrays)
            found = self._found.get(key)
        except TypeError:  # something among the arguments has no hash
            key, found = None, None
        if found is not None:
            return found
        made = self._made(spec, fixed, are_arrays)
        if key is not None:
            self._found[key] = made
        return made

    def _look(self) -> None:
        """Whether what the function reads beside its arguments has changed; then nothing is known of it."""
        has_changed = self._surroundings is not None and not self._surroundings.hold()
        if has_changed or self._has_changed:
            self._found = {}
        self._has_changed = has_changed
        if has_changed or self._surroundings is None:
            self._surroundings = Surroundings(self.f)

    def _made(self, spec: Any, fixed: tuple[Any, ...], are_arrays: tuple[bool, ...]) -> tuple[Any, list[Any]]:
        structure: list[Any] = []

        def flat(*arrays: object) -> tuple[Any, ...]:
            following = iter(arrays)
            leaves = [next(following) if is_array else x for x, is_array in zip(fixed, are_arrays, strict=True)]
            args, kwargs = unflatten(spec, leaves)
            results, structure[:] = _flattened(self.f(*args, **kwargs))
            return results

        made = self._make(flat, getattr(self.f, "__name__", "function"))
        made.is_compiled = not self._has_changed
        return made, structure


def _flattened(result: object) -> tuple[tuple[Any, ...], list[Any]]:
    leaves, spec = flatten(result)
    return (*leaves,), [spec]
