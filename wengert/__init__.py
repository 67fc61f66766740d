"""Wengert: exact, explained gradients of Python array programs."""

from . import _engines, ops, tree
from ._core.dtypes import set_default_float
from ._core.graph import Graph
from ._core.tensor import Tensor
from ._engines import numpy as _numpy_engine
from .errors import DisconnectedError, GradientCheckError, LostGradientError, TracingError
from .functional import (
    ValueAndGrad,
    ValueAndGrads,
    VariableGrads,
    grad,
    grads,
    value_and_grad,
    value_and_grads,
    variable_grads,
)
from .graph import Function, TensorSpec, eager, function
from .ops import *  # noqa: F403
from .ops import methods as _methods
from .ops.conversion import array, constant, stop_gradient, tensor
from .state import Variable
from .testing import GradientCheck, check_gradients

jit = function

__version__ = "0.1.0"
