"""`foreign`: a function of another framework as one op, differentiated by that framework.

The op's attribute is the function; its derivatives are functions of the same sort, so that every order and both modes
are calls of the same op. Frameworks say in a `Foreign` of their own how they run, differentiate and batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.dims import Dim
from .._core.engine import ENGINES, Engine, ndarray_of, register_host_kernel, transferred
from .._core.op import Facts, Op, Rule
from .._core.state import next_serial
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type, type_of
from .._prims.structural import cast
from .unknown_extents import types_for_unknown

Types = Sequence[TensorType]
F = TypeVar("F", bound="Foreign")


_ANY_SIZE = 2  # of an extent that is not known


class Foreign:
    """A function from arrays to a tuple of arrays of a framework; a subclass for each framework.

    Attributes:
        engine: the name of the engine whose arrays it takes.
        framework: its name in messages.
        reads_anew: whether each run reads what variables hold then, and what was compiled has no number of theirs.
        keeps_numbers: whether Python numbers reach the user's function as they are, for want of weak types.
        is_compiled: whether it runs as the framework has compiled it, with what it closed over then.
        derived: the functions that were made of it, by what was asked for.
        follows: of a derived function the types of its results, told by those of the function that it came from.
        met: the types of results for operands of unknown extents, as traces found them.
    """

    engine: str
    framework: str
    reads_anew = False
    keeps_numbers = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_compiled = True
        self.derived: dict[tuple[Any, ...], Any] = {}
        self.follows: Callable[[Types], Types] | None = None
        self.met: dict[Any, Types] = {}

    def types(self, operands: Sequence[TensorType]) -> tuple[TensorType, ...]:
        """The types of the results for operands of these types."""
        raise NotImplementedError

    @property
    def takes_ndarrays(self) -> bool:
        """Whether `run` takes NumPy's arrays as they are, which the framework converts faster than we do."""
        return False

    def run(self, natives: Sequence[Any]) -> Sequence[Any]:
        """The results."""
        raise NotImplementedError

    def direct(self, natives: Sequence[Any]) -> Sequence[Any]:
        """The results, with whatever the framework itself does about derivatives, batches and traces of its own."""
        raise NotImplementedError

    @property
    def loses_eagerly(self) -> bool:
        """Whether what it reads beside its operands may be followed outside of traces, and `run` would not tell."""
        return False

    def lifted(self, operands: Types) -> tuple[Foreign, Sequence[Tensor]]:
        """The function that takes first what the user's code reads by itself and the framework follows (what it closes
        over, parameters of a module), and these tensors: an op has derivatives with respect to its operands alone.

        Args:
            operands: the types for which it is called.
        """
        shapes = [(*[d if isinstance(d, int) else _ANY_SIZE for d in t.shape],) for t in operands]
        sample = [tensor_type(shape, t.dtype) for shape, t in zip(shapes, operands, strict=True)]
        try:
            function, read = self.after_read(sample)
        except Exception:  # the sizes do not fit each other, or the call itself says what is wrong
            return self, ()
        return function, [*map(self.tensor_of, read)]

    def after_read(self, operands: Types) -> tuple[Foreign, Sequence[Any]]:
        """The function that takes first what a call with operands of these types reads beside them and the framework
        follows, and this. It compiles anew, and so reads what else the user's code closes over as it is now.
        """
        raise NotImplementedError

    def tensor_of(self, read: Any) -> Tensor:
        """The value of what a call reads, as an operand."""
        return Tensor(ENGINES[self.engine].enter(read), next_serial())

    def at_width(self, operands: Sequence[Any]) -> AbstractContextManager[Any]:
        """In which the framework takes operands of these dtypes as they are, where it narrows them by default."""
        return nullcontext()

    def pullback(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> Foreign:
        """The function of operands and cotangents of the `given` results to cotangents of the `wanted` operands: the
        adjoint with respect to Re<u, v>."""
        raise NotImplementedError

    def pushforward(self, active: tuple[bool, ...]) -> Foreign:
        """The function of operands and tangents of the `active` ones to tangents of the results."""
        raise NotImplementedError

    def batched(self, flags: tuple[bool, ...]) -> Foreign:
        """The function on batches of the flagged operands; its results have the batch axis first."""
        raise NotImplementedError

    def kept(self, key: tuple[Any, ...], make: Callable[[], F]) -> F:
        """A derived function, made once, so that what the framework has compiled of it is found again."""
        if key not in self.derived:
            self.derived[key] = made = make()
            made.is_compiled = self.is_compiled
        return self.derived[key]

    def __repr__(self) -> str:
        return f"<{self.framework} function {self.name}>"


def chosen(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The flagged ones."""
    return [x for x, flag in zip(values, flags, strict=True) if flag]


def filled(values: Sequence[Any], flags: Sequence[bool], some: Iterable[Any]) -> list[Any]:
    """Values with others in place of the flagged ones."""
    following = iter(some)
    return [next(following) if flag else x for x, flag in zip(values, flags, strict=True)]


def _types(inputs: Types, function: Foreign) -> tuple[TensorType, ...]:
    key = _signature(inputs)
    if None not in [d for shape, _ in key for d in shape]:
        return (*(function.types if function.follows is None else function.follows)(inputs),)
    if function.follows is not None:
        found = (*function.follows(inputs),)
    else:
        found = types_for_unknown(function.types, inputs, function)
    function.met[key] = found
    return found


def _signature(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Shapes and dtypes of operands, None for extents that are not known."""
    return (*[((*[d if isinstance(d, int) else None for d in x.shape],), np.dtype(x.dtype)) for x in inputs],)


def _following(derived: Foreign, follows: Callable[[Types], Types]) -> Foreign:
    """A derived function that knows the types of its results."""
    derived.follows = follows
    return derived


def _vjp(ct: tuple[Any, ...], needed: tuple[bool, ...], inputs: tuple[Tensor, ...], function: Foreign) -> Any:
    wanted = (*[flag and dtypes.is_inexact(x.dtype) for flag, x in zip(needed, inputs, strict=True)],)
    given = (*[isinstance(c, Tensor) for c in ct],)
    pullback = _following(
        function.pullback(wanted, given),
        lambda types: [type_of(t) for t, flag in zip(types, wanted, strict=False) if flag],
    )
    found = iter(foreign(*inputs, *(c for c in ct if isinstance(c, Tensor)), function=pullback))
    return ((*[cast(next(found), x.dtype) if w else None for w, x in zip(wanted, inputs, strict=True)],),)


def _jvp(inputs_dot: tuple[Any, ...], inputs: tuple[Tensor, ...], outs: tuple[Tensor, ...], function: Foreign) -> Any:
    active = (*[isinstance(d, Tensor) for d in inputs_dot],)
    pushforward = _following(function.pushforward(active), lambda types: _types(types[: len(active)], function))
    found = foreign(*inputs, *(d for d in inputs_dot if isinstance(d, Tensor)), function=pushforward)
    return (*[d if dtypes.is_inexact(y.dtype) else None for d, y in zip(found, outs, strict=True)],)


def _batch(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    (function,) = attrs

    def types(inputs: Types) -> Types:
        size = next(t.shape[0] for t, flag in zip(inputs, batched, strict=True) if flag)
        ones = [tensor_type(t.shape[1:], t.dtype) if flag else t for t, flag in zip(inputs, batched, strict=True)]
        return [tensor_type((size, *t.shape), t.dtype) for t in _types(ones, function)]

    return apply(op, operands, (_following(function.batched(batched), types),))


foreign = Op(
    name="foreign", operands=("inputs",), attrs=("function",), outs=("outs",), kind="general", type_rule=_types,
    batch_rule=_batch, is_variadic=True, has_many_outs=True, takes_missing=True,
    facts=Facts(doc="the results of a function of another framework", dtypes="any"),
)  # fmt: skip
foreign.joint = Rule(_vjp, foreign.reverse_layout(), "foreign")
foreign.jvp = Rule(_jvp, foreign.forward_layout(), "foreign")


def _for_engine(engine: Engine) -> Any:
    def kernel(*natives_and_function: Any) -> tuple[Any, ...]:
        *natives, function = natives_and_function
        home = ENGINES[function.engine]
        if home is not engine and not all(map(engine.is_concrete, natives)):
            return _called_back(function, natives, engine, home)
        if home is not engine:
            engine.require_untraced(str(function))
        with function.at_width(natives):
            if home is engine or not function.takes_ndarrays:
                given = [transferred(x, home) for x in natives]
            else:
                given = [*map(ndarray_of, natives)]
            found = function.run(given)
            # what the function closes over may be followed by its framework, though no operand is
            return (*[transferred(y, engine) if home.is_concrete(y) else y for y in found],)

    return kernel


def _called_back(function: Foreign, natives: Sequence[Any], engine: Engine, home: Engine) -> tuple[Any, ...]:
    """The results where another framework traces: what it makes of the trace calls this one with values."""

    def run(*arrays: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        with function.at_width(arrays):
            given = arrays if function.takes_ndarrays else [*map(home.from_numpy, arrays)]
            return (*map(ndarray_of, function.run(given)),)

    key = _signature(natives)
    found = function.met.get(key)  # a trace came first, and knows more of extents that the framework does not know
    if found is None:
        shapes = [tensor_type((*[Dim.free("n") if d is None else d for d in shape],), dtype) for shape, dtype in key]
        found = _types((*shapes,), function)
    return engine.host_call(run, natives, found)


register_host_kernel("foreign", _for_engine)

__all__ = ["Foreign", "chosen", "filled", "foreign"]
