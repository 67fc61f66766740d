"""Keras's variables: each stands for an array of the backend that Keras runs on, whose engine works on it.

Loads with the first of them that arrives. Keras's symbolic tensors, which stand for no array, are refused.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from .._core.engine import ENGINE_OF, STAND_INS
from .._core.where import at_user_line
from . import engine_named


def _refuse(x: Any) -> NoReturn:
    raise ValueError(
        at_user_line(
            f"a KerasTensor of shape {x.shape} has no values and is no tensor of the backend: call the function in the "
            "`call` method of a keras.Layer, which gets the backend's tensors"
        )
    )


_keras: Any = sys.modules["keras"]
_backend = engine_named(_keras.backend.backend())
for _kind, _read in ((_keras.Variable, lambda x: x.value), (_keras.KerasTensor, _refuse)):
    # what keras.Variable derives from is common to the backends
    ENGINE_OF[_kind] = _backend
    STAND_INS[_kind] = _read
