"""What an engine is to the core: a name, the native types it owns, and a table of kernels.

The registry maps the type of a native array to its engine; the dispatch point looks nothing else up.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Kernel = Callable[..., Any]


class Engine:
    """Runs primitives on one kind of native array.

    Attributes:
        name: what users see as `Tensor.engine`.
        kernels: primitive name -> `kernel(*natives, *attrs)`.
        unsupported: primitive name -> the reason why the engine has no kernel for it.
        to_numpy: native -> ndarray (may alias).
        from_numpy: ndarray -> native (may alias).
        is_concrete: whether a native holds values (False for a framework's own tracers).
        can_raise: whether kernels raise on bad values (singular matrices, indices out of range).
        is_static_memory: whether a compiled program can only keep arrays of sizes known beforehand.
        host_call: `host_call(function, natives, types)` -> the natives that a function from ndarrays to a tuple of
            ndarrays of these types gives.
        is_framework: whether users work with arrays of the engine, so that their results are of its kind, too.
    """

    def __init__(
        self,
        name: str,
        native_types: Iterable[type],
        *,
        to_numpy: Callable[[Any], np.ndarray[Any, Any]],
        from_numpy: Callable[[np.ndarray[Any, Any]], Any],
        device: Callable[[Any], str] = lambda native: "cpu",
        is_concrete: Callable[[Any], bool] = lambda native: True,
        canonical_dtype: Callable[[np.dtype[Any]], np.dtype[Any]] = lambda dtype: dtype,
        can_raise: bool = True,
        is_static_memory: bool = False,
        is_framework: bool = False,
        host_call: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.native_types = tuple(native_types)
        self.kernels: dict[str, Kernel] = {}
        self.unsupported: dict[str, str] = {}
        self.to_numpy = to_numpy
        self.from_numpy = from_numpy
        self.device = device
        self.is_concrete = is_concrete
        self.canonical_dtype = canonical_dtype
        self.can_raise = can_raise
        self.is_static_memory = is_static_memory
        self.is_framework = is_framework
        self.host_call = self._called if host_call is None else host_call

    def _called(self, function: Callable[..., Any], natives: Iterable[Any], types: Any) -> tuple[Any, ...]:
        return (*map(self.from_numpy, function(*map(ndarray_of, natives))),)

    def __repr__(self) -> str:
        return f"Engine({self.name!r})"


ENGINES: dict[str, Engine] = {}
PLAIN_TYPES: dict[type, Engine] = {}  # types of a framework's arrays that always hold values
FRAMEWORK_ENGINES: list[Engine] = []  # those of frameworks that are in use


# The top packages whose arrays have an engine that loads when the first of them arrives -> the module of the engine.
FRAMEWORKS: dict[str, str] = {}


class ByType(dict[type, Any]):
    """A table by the type of a native; a type that is not in it counts as its nearest base class that is.

    ml_dtypes, which loads late if at all, makes scalar types of its own beneath `np.generic`. A type of a framework
    brings its engine with it.
    """

    def __missing__(self, native_type: type) -> Any:
        for base in native_type.__mro__:
            if base in self:
                found = self[native_type] = self[base]
                return found
        package = native_type.__module__.partition(".")[0]
        if package not in FRAMEWORKS:
            raise KeyError(native_type)
        importlib.import_module(FRAMEWORKS[package])
        FRAMEWORKS.pop(package, None)
        return self[native_type]


ENGINE_OF: dict[type, Engine] = ByType()
KERNELS_OF: dict[type, dict[str, Kernel]] = ByType()


HOST_KERNELS: dict[str, Callable[[Engine], Kernel]] = {}


def register_host_kernel(name: str, for_engine: Callable[[Engine], Kernel]) -> None:
    """Gives every engine, those to come included, a kernel for a user's primitive that runs on the host."""
    HOST_KERNELS[name] = for_engine
    for engine in ENGINES.values():
        engine.kernels.setdefault(name, for_engine(engine))


def is_native(kind: type) -> bool:
    """Whether values of a type are native arrays of some engine."""
    try:
        ENGINE_OF[kind]
    except KeyError:
        return False
    return True


def framework_of(kind: type) -> Engine | None:
    """The engine that a type's values belong to, if that is not NumPy's and arrays of it are what users pass."""
    try:
        engine = ENGINE_OF[kind]
    except KeyError:
        return None
    return engine if engine.is_framework else None


def register_engine(engine: Engine) -> None:
    """Makes an engine known under its name and its native types."""
    ENGINES[engine.name] = engine
    if engine.is_framework:
        FRAMEWORK_ENGINES.append(engine)
    for name, for_engine in HOST_KERNELS.items():
        engine.kernels.setdefault(name, for_engine(engine))
    for native_type in engine.native_types:
        ENGINE_OF[native_type] = engine
        KERNELS_OF[native_type] = engine.kernels


def ndarray_of(native: Any) -> np.ndarray[Any, Any]:
    """The values of a native array of any engine as an ndarray, which may be that very array."""
    return np.asarray(ENGINE_OF[type(native)].to_numpy(native))


def transferred(native: Any, engine: Engine) -> Any:
    """A native array of any engine as one of the given engine (what a loop has kept stays what it is)."""
    if ENGINE_OF[type(native)] is engine or native.dtype == object:
        return native
    return engine.from_numpy(ndarray_of(native))


def on_one_engine(natives: Iterable[Any]) -> tuple[list[Any], dict[str, Kernel]]:
    """Operands of one op on one engine, and its kernels: NumPy's arrays move to where the others are.

    Raises:
        TypeError: if the operands are of two engines beside NumPy's.
    """
    natives = list(natives)
    home = default_engine()
    engine = only_engine({ENGINE_OF[type(native)] for native in natives})
    if engine is home:
        return natives, home.kernels
    return [transferred(native, engine) for native in natives], engine.kernels


def only_engine(engines: set[Engine]) -> Engine:
    """The engine on which arrays of these meet: the one beside NumPy's.

    Raises:
        TypeError: if there are two of them.
    """
    others = engines - {default_engine()}
    if len(others) > 1:
        names = " and ".join(sorted(e.name for e in others))
        raise TypeError(f"arrays of {names} in one call: convert those of one of them first")
    return others.pop() if others else default_engine()


def default_engine() -> Engine:
    """The engine of values that no array operand decides: NumPy's."""
    return ENGINES["numpy"]
