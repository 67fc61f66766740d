"""Wengert: exact, explained gradients of Python array programs.

`wg.grad`, `wg.value_and_grad` and their kin differentiate functions of NumPy arrays; `wg.function` compiles them;
`wg.custom_gradient` and `wg.custom_grad` give a function a gradient of its own. NumPy's namespace is here under its own
names, and in `wengert.numpy`; `wg.ops` has Keras' vocabulary.
"""

from typing import TYPE_CHECKING

from . import fft, linalg, numpy, ops, tree
from ._core.dtypes import set_default_float
from ._core.graph import Graph
from ._core.lazy_modules import names_loaded_later
from ._core.tensor import Tensor
from .batching import vectorized_map, vmap
from .control import cond, fori_loop, map, scan, set_memory_budget, switch, while_loop
from .custom import checkpoint, custom_grad, custom_gradient, recompute_grad
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
from .graph import Function, TensorSpec, eager, function, jit
from .inspect.explain import explain
from .numpy import *  # noqa: F403  # NumPy's names; its __all__ is the list
from .ops.conversion import constant, debug_print, stop_gradient, tensor
from .ops.elementwise import *  # noqa: F403  # those that NumPy has are the same objects there
from .slices import IndexedSlices
from .state import Variable
from .tape import GradientTape

if TYPE_CHECKING:
    from . import array_api, compat, image, integrate, nn, optimize, random, signal, special, stats
    from .associative import associative_scan
    from .buffers import buffer
    from .derivatives import (
        ValueAndJacobian,
        hessian,
        hvp,
        jacobian,
        jvp,
        linear_transpose,
        linearize,
        value_and_jacobian,
        vjp,
    )
    from .extend import not_differentiable, primitive, register_gradient
    from .frameworks import from_jax, from_tensorflow, from_torch
    from .implicit import custom_linear_solve, custom_root
    from .inspect.debug_nans import debug_nans
    from .saving import load, save
    from .sparse import Coloring, coloring, sparsity
    from .symbolic import AggregationMethod, Gradient, UnconnectedGradients, gradients, symbolic_gradient
    from .testing import GradientCheck, check_gradients

# loaded when first asked for, since few programs use them: the name, and the module that has it
_LATER = {
    "AggregationMethod": "symbolic", "Coloring": "sparse", "Gradient": "symbolic", "GradientCheck": "testing",
    "UnconnectedGradients": "symbolic", "ValueAndJacobian": "derivatives", "array_api": "array_api",
    "associative_scan": "associative", "buffer": "buffers", "check_gradients": "testing", "coloring": "sparse",
    "compat": "compat", "custom_linear_solve": "implicit", "custom_root": "implicit",
    "debug_nans": f"{__name__}.inspect.debug_nans", "from_jax": "frameworks", "from_tensorflow": "frameworks",
    "from_torch": "frameworks", "gradients": "symbolic", "hessian": "derivatives", "hvp": "derivatives",
    "image": "image", "integrate": "integrate", "jacobian": "derivatives", "jvp": "derivatives",
    "linear_transpose": "derivatives", "linearize": "derivatives", "load": "saving", "nn": "nn",
    "not_differentiable": "extend", "optimize": "optimize", "primitive": "extend", "random": "random",
    "register_gradient": "extend", "save": "saving", "signal": "signal", "sparsity": "sparse", "special": "special",
    "stats": "stats", "symbolic_gradient": "symbolic", "value_and_jacobian": "derivatives", "vjp": "derivatives",
}  # fmt: skip


if not TYPE_CHECKING:  # a checker would take any name, and tell of no misspelling
    __getattr__, __dir__ = names_loaded_later(__name__, _LATER)

array = tensor

# Keras has these among its ops, too
ops.custom_gradient, ops.cond, ops.switch, ops.while_loop = custom_gradient, cond, switch, while_loop
ops.fori_loop, ops.scan, ops.map = fori_loop, scan, map
ops.vectorized_map, ops.vectorize = vectorized_map, numpy.vectorize
ops._LATER["associative_scan"] = f"{__name__}.associative"
ops._LATER["jvp"] = f"{__name__}.compat.keras"

__version__ = "0.2.0"

__all__ = [
    "AggregationMethod", "Coloring", "DisconnectedError", "Function", "Gradient", "GradientCheck", "GradientCheckError",
    "GradientTape", "Graph", "IndexedSlices", "LostGradientError", "Tensor", "TensorSpec", "TracingError",
    "UnconnectedGradients", "ValueAndGrad", "ValueAndGrads", "ValueAndJacobian", "Variable", "VariableGrads",
    "array_api", "associative_scan", "buffer", "check_gradients", "checkpoint", "coloring", "compat", "cond",
    "constant", "custom_grad", "custom_gradient", "custom_linear_solve", "custom_root", "debug_nans", "debug_print",
    "eager", "explain", "fft", "fori_loop", "from_jax", "function", "grad", "gradients", "grads", "hessian", "hvp",
    "image", "integrate", "jacobian", "jit", "jvp", "linalg", "linear_transpose", "linearize", "load", "map", "nn",
    "not_differentiable",
    "numpy", "ops", "optimize", "primitive", "random", "recompute_grad", "register_gradient", "save", "scan",
    "set_default_float", "set_memory_budget", "signal", "sparsity", "special", "stats", "stop_gradient", "switch",
    "symbolic_gradient", "tensor", "tree", "value_and_grad", "value_and_grads", "value_and_jacobian", "variable_grads",
    "vectorized_map", "vjp", "vmap", "while_loop",
]  # fmt: skip
__all__ += numpy.__all__
# a checker need not follow this: what a star imports here is public to it all the same
__all__ += sorted({*ops.elementwise.__all__} - {*numpy.__all__})  # pyright: ignore[reportUnsupportedDunderAll]
