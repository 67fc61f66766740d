"""`Variable`: a named place that holds a tensor and can be assigned.

Reads give the tensor held at that moment; assignments are not differentiable. In a trace reads and writes are
inputs and outputs of the graph.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import itertools
import re
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.constant import own_copy
from .._core.engine import ENGINE_OF, ndarray_of
from .._core.foreign_arrays import no_mask
from .._core.moving import beside
from .._core.operators import Operators
from .._core.other_libraries import jax_array, pandas_priority, torch_function
from .._core.public import names_errors
from .._core.state import STATE, next_serial, tell_effect
from .._core.tensor import Cut, Tensor, Value, Written, tensor_in
from .._core.user_line import Site, at_user_line, user_site
from .._prims import structural
from ..errors import TracingError
from ..ops.conversion import tensor
from ..ops.promotion import converted

_live: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()


class Variable(Operators):
    """A tensor that can be assigned: usable wherever a tensor is.

    Args:
        initial_value: an array, tensor or number; copied.
        trainable: whether `variable_grads` and tapes watch it by themselves.
        name: kept as given; unnamed ones are `Variable`, `Variable_1`, ...
        dtype: converts the initial value.

    Raises:
        TracingError: if the initial value is symbolic.

    Example:
        >>> import wengert as wg
        >>> w = wg.Variable([1.0, 2.0], name="w")
        >>> w.assign_add([1.0, 1.0]).numpy()
        array([2., 3.])
        >>> wg.variable_grads(lambda: (w * w).sum()).grads["w"]
        Tensor([4., 6.], shape=(2,), dtype=float64)
    """

    __slots__ = ("__weakref__", "_key", "_tensor", "name", "trainable")
    _mask = no_mask
    __array_priority__ = 1000
    __pandas_priority__ = pandas_priority
    __torch_function__ = classmethod(torch_function)
    __jax_array__ = jax_array

    name: str
    trainable: bool

    @names_errors
    def __init__(
        self, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None
    ) -> None:  # fmt: skip
        before, STATE.builder = STATE.builder, None
        try:
            held = tensor(initial_value, dtype)
        finally:
            STATE.builder = before
        if type(held._data) is Value:
            raise TracingError(at_user_line("Variable: the initial value is symbolic; create Variables outside traces"))
        self._tensor = Tensor(held._data, next_serial())
        self._key = next_serial()
        self.trainable = bool(trainable)
        self.name = _fresh_name() if name is None else str(name)
        _live[self._key] = self

    @property
    def _outside(self) -> Tensor:
        """What is held outside of traces."""
        held = self._tensor
        if type(held) is Written:  # by somebody who had read it, and whose own it was
            held = self._tensor = held._link.origin
        return held

    @property
    def value(self) -> Tensor:
        """What is held now, as a tensor of its own: who writes to it does not change the Variable."""
        return self._held.__copy__()

    @property
    def _held(self) -> Tensor:
        """The tensor held now."""
        builder = STATE.builder
        held = None if STATE.pins is None else STATE.pins.get(self._key)
        if held is None:
            held = builder.read_variable(self) if builder is not None else self._tensor
            if type(held) is Written and builder is None:
                held = self._outside
        for observer in STATE.reading:
            observer.on_read(self, held)
        return held

    __wengert_tensor__ = _held.fget

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._outside.shape  # pyright: ignore[reportReturnType]  # a Variable's shape is static

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type."""
        return self._outside.dtype

    def assign(self, value: object) -> Variable:
        """Replaces the value held. Not differentiable: later reads are constants to what came before.

        Args:
            value: an array, tensor or number of the Variable's shape; converted to its dtype.

        Returns:
            The Variable.

        Raises:
            ValueError: if the shape differs.
            TypeError: if the dtype cannot be converted without losing its kind (float to int, complex to real).
        """
        new = self._checked(value)
        if STATE.pins is not None:
            tell_effect(f"assigns the Variable {self.name}", self)
            STATE.pins[self._key] = structural.stop_gradient(new)
        elif STATE.builder is not None:
            builder = STATE.builder
            builder.write_variable(self, structural.reassign(new, builder.entry_value(self)))
        else:
            # a copy of its own: what was assigned may be an array that its owner goes on to change
            self._tensor = self._kept(new, user_site())
        return self

    def assign_add(self, delta: ArrayLike) -> Variable:
        """Adds to the value held; as `assign`."""
        return self.assign(self.value + delta)

    def assign_sub(self, delta: ArrayLike) -> Variable:
        """Subtracts from the value held; as `assign`."""
        return self.assign(self.value - delta)

    _put = assign

    def enter(self, graph: object) -> None:
        """Called with each body of a construct that writes to the Variable: bodies read it by itself."""

    def _kept(self, value: Tensor, site: Site | None) -> Tensor:
        """What the Variable holds after a run of a graph that assigns it: a copy of its own, a constant."""
        tell_effect(f"assigns the Variable {self.name}", self)
        cut = Cut(f"{self.name}.assign", "stores a value, a constant from there on", site, value._key)
        if not ENGINE_OF[type(value._data)].is_concrete(value._data):
            raise TypeError(
                at_user_line(
                    f"{self.name} cannot be assigned where a framework compiles, batches or differentiates: the value "
                    "would be one of its tracers; return it instead"
                )
            )
        held = beside(value, self._outside)
        return Tensor(own_copy(held._data), next_serial(), cut if STATE.recorders else None)

    def numpy(self) -> np.ndarray[Any, Any]:
        """The value held, as a read-only NumPy array. Cuts the gradient, on purpose."""
        return self.value.numpy()

    def _checked(self, value: Any) -> Tensor:
        new = tensor_in(value)
        if new is None:
            new = tensor(value)
        if new.shape != self.shape:
            raise ValueError(at_user_line(f"{self.name}.assign: wanted shape {self.shape}, got {new.shape}"))
        if new.dtype != self.dtype:
            if not _keeps_kind(new.dtype, self.dtype):
                raise TypeError(
                    at_user_line(
                        f"{self.name}.assign: a {self.dtype.name} Variable cannot hold {new.dtype.name} values"
                    )
                )
            new = converted(new if tensor_in(value) is not None else value, self.dtype, f"{self.name}.assign")
        return beside(new, self._outside)

    if TYPE_CHECKING:  # attached below

        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or hasattr(Variable, name) or name == "_tensor":  # of one that could not be made
            raise AttributeError(name)
        return getattr(self.value, name)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            at_user_line(
                f"{self.name}: elements of a Variable are not assigned one by one; use v.assign(v.at[index].set(value))"
            )
        )

    def __reduce__(self) -> Any:
        # copying and unpickling make another Variable of that name, with an identity of its own
        return (Variable, (self._outside, self.trainable, self.name))

    def __repr__(self) -> str:
        values = np.array2string(ndarray_of(self._outside._data), separator=", ", threshold=20)
        return f"<Variable {self.name!r} shape={self.shape} dtype={self.dtype.name} {' '.join(values.split())}>"

    def _repr_html_(self) -> str:
        name = self.name.replace("&", "&amp;").replace("<", "&lt;")
        return self._outside._repr_html_().replace("<b>Tensor</b>", f"<b>Variable</b> {name}", 1)


def _keeps_kind(given: np.dtype[Any], held: np.dtype[Any]) -> bool:
    if dtypes.is_complex(given):
        return dtypes.is_complex(held)
    return dtypes.is_inexact(held) or not dtypes.is_float(given)


def _fresh_name() -> str:
    """The next free default name: numbering starts again when all default-named Variables are gone."""
    taken = {v.name for v in _live.values()}
    if not any(re.fullmatch(r"Variable(_\d+)?", name) for name in taken):
        return "Variable"
    return next(n for n in map(_default_name, itertools.count()) if n not in taken)


def _default_name(index: int) -> str:
    return "Variable" if index == 0 else f"Variable_{index}"


def live_variables() -> list[Variable]:
    """All Variables that exist, in the order of their creation."""
    return [variable for _, variable in sorted(_live.items())]


_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor", "lshift",
    "rshift",
)  # fmt: skip
_PLAIN_METHODS = (
    "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "getitem", "len", "iter", "bool", "float",
    "int", "index", "complex", "array", "array_ufunc", "array_function", "array_namespace", "dlpack", "dlpack_device",
    "round", "format", "delitem",
)  # fmt: skip


def _delegate(name: str) -> Any:
    def method(self: Any, *args: object, **kwargs: object) -> Any:
        return getattr(self.value, name)(*args, **kwargs)

    method.__name__ = name
    return method


def attach_operators(cls: Any) -> None:
    """Gives a class that has a `value` Python's operators, by way of that; what it defines itself stays."""
    names = [f"__{n}__" for n in (*_OPERATORS, *_PLAIN_METHODS)] + [f"__r{n}__" for n in _OPERATORS]
    for name in names:
        if name not in vars(cls):
            setattr(cls, name, _delegate(name))
    cls.__hash__ = object.__hash__


attach_operators(Variable)
