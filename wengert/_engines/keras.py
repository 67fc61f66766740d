"""The engine of Keras's arrays: its Variables stand for arrays of the backend below, whose engine works on them.

Loads with the first of them that arrives. A call on a symbolic tensor of Keras's, which stands for no array, becomes an
operation of the model (`Applied`), which Keras runs on the backend's arrays.
"""

from __future__ import annotations

import importlib
import sys
import threading
import uuid
from collections.abc import Callable
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from .._core.engine import ENGINE_OF, STAND_INS, WITHOUT_VALUES
from .._core.user_line import at_user_line
from .._core.wrong_calls import Symbolic
from . import engine_named

_keras: Any = sys.modules["keras"]
_PACKAGE = __name__.partition(".")[0]
_AT_WORK = threading.local()  # `depth`: how many calls on symbolic tensors are being run on others
_ROOMS = ("ops", "numpy", "special", "nn", "linalg", "fft", "signal", "image")  # of functions of arrays alone


@_keras.saving.register_keras_serializable("wengert")
class Applied(_keras.Operation):
    """A call of one of our functions on symbolic tensors; a model keeps it by the function's name."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        super().__init__(name=name)
        self.function = function

    def call(self, *args: Any, **kwargs: object) -> Any:
        _AT_WORK.depth = getattr(_AT_WORK, "depth", 0) + 1
        try:
            return Symbolic.run(self.function, args, kwargs, self.name)
        finally:
            _AT_WORK.depth -= 1

    def compute_output_spec(self, *args: Any, **kwargs: object) -> Any:
        leaves = _keras.tree.flatten((args, kwargs))
        symbols = [_dense(x) for x in leaves if isinstance(x, _keras.KerasTensor)]
        return _OfSymbols(self, leaves, (args, kwargs)).compute_output_spec(*symbols)

    def get_config(self) -> dict[str, Any]:
        # Keras would look for a function of ours among its own ones of that name
        name = _name_of(self.function)
        if name:
            return {"function": name, "name": self.name}
        known = _keras.saving.serialize_keras_object(self.function)
        return {"function": known, "name": self.name, "here": _token_of(self.function)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Applied:
        known = config["function"]
        if isinstance(known, str):
            return cls(_named(known), config["name"])
        try:
            function = _keras.saving.deserialize_keras_object(known)
        except TypeError:  # nobody has registered it, which a clone of a model does without
            function = _HERE.get(config.get("here"))
            if function is None:
                raise
        return cls(function, config["name"])


class _OfSymbols(_keras.Operation):
    """A call as an operation of its symbolic tensors alone: JAX's backend takes no functions among the arguments."""

    def __init__(self, applied: Applied, leaves: list[Any], structure: Any) -> None:
        super().__init__(name=applied.name)
        self._applied = applied
        self._leaves = leaves
        self._structure = structure

    def call(self, *tensors: Any) -> Any:
        given = iter(tensors)
        leaves = [next(given) if isinstance(x, _keras.KerasTensor) else x for x in self._leaves]
        args, kwargs = _keras.tree.pack_sequence_as(self._structure, leaves)
        return self._applied.call(*args, **kwargs)


def _dense(x: Any) -> Any:
    """A symbolic tensor; Keras calls what comes of one and a number (`x * 2`) sparse, and it never is."""
    return _keras.KerasTensor(x.shape, x.dtype) if x.sparse else x


_HERE: WeakValueDictionary[Any, Callable[..., Any]] = WeakValueDictionary()  # by names that no other process gives


def _token_of(function: Callable[..., Any]) -> str | None:
    """The name by which this process finds a function that a model of its applies."""
    found = next((token for token, known in _HERE.items() if known is function), None) or uuid.uuid4().hex
    try:
        _HERE[found] = function
    except TypeError:  # of which no weak references can be held
        return None
    return found


def _name_of(function: Callable[..., Any]) -> str:
    """Where a public function of ours is found; "" for those of users."""
    name = getattr(function, "__qualname__", "")
    return next((f"{_PACKAGE}.{room}:{name}" for room in _ROOMS if _is_of(room, name, function)), "")


def _is_of(room: str, name: str, function: Callable[..., Any]) -> bool:
    """Whether a function is that of a room which has its name: another call of a decorator makes another object."""
    found = _found(room, name)
    return found is not None and _place(found) == _place(function)


def _place(function: Callable[..., Any]) -> tuple[str | None, str | None]:
    return getattr(function, "__module__", None), getattr(function, "__qualname__", None)


def _found(room: str, name: str) -> Callable[..., Any] | None:
    found = None if name.startswith("_") else getattr(importlib.import_module(f"{_PACKAGE}.{room}"), name, None)
    is_ours = callable(found) and (getattr(found, "__module__", None) or "").partition(".")[0] == _PACKAGE
    return found if is_ours else None


def _named(name: str) -> Callable[..., Any]:
    """The function of ours that has a name. A model from somewhere else may not name anything but that."""
    module, _, attribute = name.partition(":")
    package, _, rest = module.partition(".")
    room = rest.partition(".")[0]  # older models say in which file of the room it was
    rooms = (room, *_ROOMS) if package == _PACKAGE and room in _ROOMS else ()
    found = next((found for room in rooms if (found := _found(room, attribute)) is not None), None)
    if found is None:
        raise ValueError(f"the model applies {name}, which is no function of Wengert's")
    return found


def _applied(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if getattr(_AT_WORK, "depth", 0):
        message = (
            "a function that is called on a KerasTensor reads another one that is no argument of its own (that of a "
            "branch or of a loop, for example), which has no values in the model: pass that as an argument, too"
        )
        raise ValueError(at_user_line(message))
    if getattr(function, "__name__", "") == "__call__":  # a method, of the callable that the user has
        function, *args = args
    return Applied(function)(*args, **kwargs)


def _refuse(x: Any) -> NoReturn:
    message = (
        f"a KerasTensor of shape {x.shape} has no values and is no tensor of the backend: call the function in the "
        "`call` method of a keras.Layer, which gets the backend's tensors"
    )
    raise Symbolic(at_user_line(message), _applied)


_backend = engine_named(_keras.backend.backend())
for _kind, _read in ((_keras.Variable, lambda x: x.value), (_keras.KerasTensor, _refuse)):
    # what keras.Variable derives from is common to the backends
    ENGINE_OF[_kind] = _backend
    STAND_INS[_kind] = _read
WITHOUT_VALUES.add(_keras.KerasTensor)
