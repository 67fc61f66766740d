"""Keras: its variables stand for arrays of the backend that it runs on, whose engine works on them.

Loads with the first of them that arrives. A symbolic tensor of Keras's, which stands for no array, makes the call an
operation of the model, which Keras runs on the backend's arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .._core.engine import ENGINE_OF, STAND_INS
from .._core.where import at_user_line
from .._core.wrong_calls import Symbolic
from . import engine_named

_keras: Any = sys.modules["keras"]


@_keras.saving.register_keras_serializable("wengert")
class Applied(_keras.Operation):
    """A call of one of our functions on symbolic tensors; a model keeps it by the function's name."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        super().__init__(name=name)
        self.function = function

    def call(self, *args: Any, **kwargs: object) -> Any:
        return Symbolic.run(self.function, args, kwargs, self.name)

    def get_config(self) -> dict[str, Any]:
        return {"function": _keras.saving.serialize_keras_object(self.function), "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Applied:
        return cls(_keras.saving.deserialize_keras_object(config["function"]), config["name"])


def _applied(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
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
