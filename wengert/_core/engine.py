"""What an engine is to the core: a name, the native types it owns, and a table of kernels.

The registry maps the type of a native array to its engine; the dispatch point looks nothing else up.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dtypes import HISTORY

Kernel = Callable[..., Any]


class Ready(NamedTuple):
    """A program made ready for arrays that look like some.

    Attributes:
        run: from such arrays to outputs.
        attributes: the names of an array's attributes that say how it looks.
        looking: of arrays (those captured too, which may change in place), none of them twice, a function of such that
            says in one call whether they look alike; None where the attributes say that.
        conditions: what else must hold at a call: an expression with `{}` where a value stands, and the value.
        own: what makes outputs the caller's own, where they may not be.
        written: the call of `run` as source, of its operands as source, of what gives values names, and of whether the
            first output alone is wanted; None where there is nothing in it that can be written where it is called.
    """

    run: Callable[..., tuple[Any, ...]]
    attributes: tuple[str, ...] = ()
    looking: Callable[[Sequence[Any]], Callable[..., bool]] | None = None
    conditions: tuple[tuple[str, Any], ...] = ()
    own: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None
    written: Callable[[Sequence[str], Callable[[object], str], bool], str] | None = None


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
        array_types: the types of users' arrays where these are not natives: an array whose dtype is not NumPy's is
            wrapped in a native that tells NumPy's.
        enter: a user's array -> native.
        leave: native -> array, the very one.
        give: native -> array, the caller's own: it shares memory with nothing.
        copy: native -> one that no caller can change.
        is_weak: whether an array has the dtype of a plain number, which gives way to that of others; None where no
            array has.
        is_followed: whether the framework's own differentiation, batching or compilation takes part in what happens to
            a native or array.
        run_plain: `run_plain(arrays, program)` -> the arrays that a program gives, the caller's own.
        looks: `looks(arrays)` -> what decides how a program runs on them; None where that is not asked for.
        ready: `ready(program, arrays)` -> the program made ready for arrays that look like these; None where it cannot.
        place: `place(ndarray, partner)` -> a native on the device of another one.
        require_untraced: `require_untraced(what)` raises where the framework records what runs into a graph, of which
            what leaves the framework would be a constant.
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
        has_weak_scalars: bool = False,
        host_call: Callable[..., Any] | None = None,
        array_types: Iterable[type] = (),
        enter: Callable[[Any], Any] = lambda array: array,
        leave: Callable[[Any], Any] = lambda native: native,
        give: Callable[[Any], Any] = lambda native: native,
        copy: Callable[[Any], Any] = lambda native: native,
        is_weak: Callable[[Any], bool] | None = None,
        is_followed: Callable[[Any], bool] | None = None,
        run_plain: Callable[..., tuple[Any, ...]] | None = None,
        looks: Callable[[Any], Any] = lambda arrays: None,
        ready: Callable[[Any, Any], Ready | None] = lambda program, arrays: None,
        place: Callable[[np.ndarray[Any, Any], Any], Any] | None = None,
        require_untraced: Callable[[str], None] = lambda what: None,
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
        self.has_weak_scalars = has_weak_scalars
        self.host_call = self._called if host_call is None else host_call
        self.array_types = tuple(array_types)
        self.enter = enter
        self.leave = leave
        self.give = give
        self.copy = copy
        self.is_weak = is_weak
        self.is_followed: Callable[[Any], bool] = is_followed or (lambda native: not is_concrete(native))
        self.run_plain = self._run_plain if run_plain is None else run_plain
        self.looks = looks
        self.ready = ready
        self.require_untraced = require_untraced
        self.place = (lambda array, partner: from_numpy(array)) if place is None else place

    def _run_plain(self, natives: Iterable[Any], program: object) -> tuple[Any, ...]:
        return (*self.kernels["call"](*natives, program),)

    def _called(self, function: Callable[..., Any], natives: Iterable[Any], types: object) -> tuple[Any, ...]:
        return (*map(self.from_numpy, function(*map(ndarray_of, natives))),)

    def __repr__(self) -> str:
        return f"Engine({self.name!r})"


ENGINES: dict[str, Engine] = {}
STAND_INS: dict[
    type, Callable[[Any], Any]
] = {}  # types that stand for an array (variables of TensorFlow and Keras) -> which one
WITHOUT_VALUES: set[type] = set()  # types among these whose objects are symbols of a program to come
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
        home: Any = native_type.__module__  # some types of C's describe those of their instances
        package = home.partition(".")[0] if isinstance(home, str) else ""
        if package not in FRAMEWORKS:
            raise KeyError(native_type)
        importlib.import_module(FRAMEWORKS[package])
        FRAMEWORKS.pop(package, None)
        return self[native_type]


ENGINE_OF: dict[type, Engine] = ByType()
KERNELS_OF: dict[type, dict[str, Kernel]] = ByType()


HOST_KERNELS: dict[str, Callable[[Engine], Kernel]] = {}
COMPOSED: dict[str, Kernel] = {}  # ops that have a body: what runs it on any engine's natives


def register_composed(name: str, kernel: Kernel) -> None:
    """Gives every engine without a kernel of its own for an op one that runs the op's body."""
    COMPOSED[name] = kernel
    for engine in ENGINES.values():
        engine.kernels.setdefault(name, kernel)


def register_host_kernel(name: str, for_engine: Callable[[Engine], Kernel]) -> None:
    """Gives every engine, those to come included, a kernel for a user's primitive that runs on the host."""
    HOST_KERNELS[name] = for_engine
    for engine in ENGINES.values():
        engine.kernels.setdefault(name, for_engine(engine))


def look_of(array: Any) -> tuple[Any, ...]:
    """What of a plain array decides how it is traced."""
    kind = type(array)
    home = PLAIN_TYPES.get(kind)
    is_weak = home is not None and home.is_weak is not None and home.is_weak(array)
    return kind, array.shape, array.dtype, is_weak


def array_of(x: object) -> Any:
    """A framework's array: x itself, or the one that it stands for."""
    if STAND_INS:
        for base in type(x).__mro__:
            if base in STAND_INS:
                return STAND_INS[base](x)
    return x


def stands_in(kind: type) -> bool:
    """Whether values of a type stand for an array that may be another one at the next call, as variables do."""
    return bool(STAND_INS) and any(base in STAND_INS for base in kind.__mro__)


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
    for name, kernel in COMPOSED.items():
        engine.kernels.setdefault(name, kernel)
    for native_type in engine.native_types:
        ENGINE_OF[native_type] = engine
        KERNELS_OF[native_type] = engine.kernels
    for array_type in engine.array_types:
        ENGINE_OF[array_type] = engine


def ndarray_of(native: Any) -> np.ndarray[Any, Any]:
    """The values of a native array of any engine as an ndarray, which may be that very array."""
    return np.asarray(ENGINE_OF[type(native)].to_numpy(native))


def transferred(native: Any, engine: Engine, partner: object = None) -> Any:
    """A native array of any engine as one of the given engine (what a loop has kept stays what it is).

    Args:
        partner: a native of the given engine whose device is wanted.
    """
    if ENGINE_OF[type(native)] is engine or native.dtype == HISTORY:
        return native
    values = ndarray_of(native)
    return engine.from_numpy(values) if partner is None else engine.place(values, partner)


def on_one_engine(natives: Iterable[Any]) -> tuple[list[Any], dict[str, Kernel]]:
    """Operands of one op on one engine, and its kernels: NumPy's arrays move to where the others are.

    Raises:
        TypeError: if the operands are of two engines beside NumPy's.
    """
    natives = list(natives)
    home = ENGINES["numpy"]  # not by a call: ops on arrays and NumPy's scalars come here
    engines = [ENGINE_OF[type(native)] for native in natives]
    engine = only_engine({*engines})
    if engine is home:
        return natives, home.kernels
    partner = natives[engines.index(engine)]
    return [transferred(native, engine, partner) for native in natives], engine.kernels


def only_engine(engines: set[Engine]) -> Engine:
    """The engine on which arrays of these meet: the one beside NumPy's.

    Raises:
        TypeError: if there are two of them.
    """
    home = ENGINES["numpy"]
    others = engines - {home}
    if len(others) > 1:
        names = " and ".join(sorted(e.name for e in others))
        raise TypeError(f"arrays of {names} in one call: convert those of one of them first")
    return others.pop() if others else home


def default_engine() -> Engine:
    """The engine of values that no array operand decides: NumPy's."""
    return ENGINES["numpy"]
