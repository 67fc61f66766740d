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
from .differentiation.batching import vectorized_map, vmap
from .differentiation.functional import (
    ValueAndGrad,
    ValueAndGrads,
    VariableGrads,
    grad,
    grads,
    value_and_grad,
    value_and_grads,
    variable_grads,
)
from .differentiation.slices import IndexedSlices
from .differentiation.tape import GradientTape
from .errors import DisconnectedError, GradientCheckError, LostGradientError, TracingError
from .inspect.explain import explain
from .numpy import *  # noqa: F403  # NumPy's names; its __all__ is the list

# isort: split
from numpy import (  # its own classes; those of `wengert.numpy` know tensors
    cdouble,
    complex64,
    complex128,
    complexfloating,
    csingle,
    double,
    float16,
    float32,
    float64,
    floating,
    generic,
    half,
    inexact,
    integer,
    number,
    signedinteger,
    single,
    unsignedinteger,
)  # fmt: skip

from .ops.conversion import constant, debug_print, stop_gradient, tensor
from .ops.elementwise import *  # noqa: F403  # without the options of NumPy's ufuncs, which take a call more
from .programs.graph import Function, eager, function, jit
from .programs.specs import TensorSpec
from .programs.variables import Variable

if TYPE_CHECKING:
    from . import array_api, compat, image, integrate, nn, optimize, random, scipy, signal, special, stats
    from .adopt import adopting as adopt
    from .differentiation.derivatives import (
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
    from .differentiation.implicit import custom_linear_solve, custom_root
    from .differentiation.jets import jet
    from .differentiation.sparse import Coloring, coloring, sparsity
    from .differentiation.symbolic import (
        AggregationMethod,
        Gradient,
        UnconnectedGradients,
        gradients,
        symbolic_gradient,
    )
    from .inspect.debug_nans import debug_nans
    from .programs.associative import associative_scan
    from .programs.buffers import buffer
    from .programs.control import cond, fori_loop, map, scan, set_memory_budget, switch, while_loop
    from .programs.saving import load, save
    from .rules.custom import checkpoint, custom_grad, custom_gradient, recompute_grad
    from .rules.extend import not_differentiable, primitive, register_gradient
    from .rules.frameworks import from_jax, from_tensorflow, from_torch
    from .testing import GradientCheck, check_gradients

# loaded when first asked for, since few programs use them: the name, and the module that has it
_LATER = {
    name: module
    for module, names in {
        ".differentiation.derivatives": (
            "ValueAndJacobian", "hessian", "hvp", "jacobian", "jvp", "linear_transpose", "linearize",
            "value_and_jacobian", "vjp",
        ),
        ".differentiation.jets": ("jet",),
        ".differentiation.implicit": ("custom_linear_solve", "custom_root"),
        ".differentiation.sparse": ("Coloring", "coloring", "sparsity"),
        ".differentiation.symbolic": (
            "AggregationMethod", "Gradient", "UnconnectedGradients", "gradients", "symbolic_gradient",
        ),
        ".inspect.debug_nans": ("debug_nans",),
        ".programs.associative": ("associative_scan",),
        ".programs.buffers": ("buffer",),
        ".programs.control": ("cond", "fori_loop", "map", "scan", "set_memory_budget", "switch", "while_loop"),
        ".programs.saving": ("load", "save"),
        ".rules.custom": ("checkpoint", "custom_grad", "custom_gradient", "recompute_grad"),
        ".rules.extend": ("not_differentiable", "primitive", "register_gradient"),
        ".rules.frameworks": ("from_jax", "from_tensorflow", "from_torch"),
        ".testing": ("GradientCheck", "check_gradients"),
    }.items()
    for name in names
}  # fmt: skip
_LATER |= {name: name for name in (
    "adopt", "array_api", "compat", "image", "integrate", "nn", "optimize", "random", "scipy", "signal", "special",
    "stats",
)}  # fmt: skip


if not TYPE_CHECKING:  # a checker would take any name, and tell of no misspelling
    __getattr__, __dir__ = names_loaded_later(__name__, _LATER)

array = tensor

__version__ = "0.2.0"

__all__ = [
    "AggregationMethod", "Coloring", "DisconnectedError", "Function", "Gradient", "GradientCheck", "GradientCheckError",
    "GradientTape", "Graph", "IndexedSlices", "LostGradientError", "Tensor", "TensorSpec", "TracingError",
    "UnconnectedGradients", "ValueAndGrad", "ValueAndGrads", "ValueAndJacobian", "Variable", "VariableGrads",
    "adopt", "array_api", "associative_scan", "buffer", "check_gradients", "checkpoint", "coloring", "compat", "cond",
    "constant", "custom_grad", "custom_gradient", "custom_linear_solve", "custom_root", "debug_nans", "debug_print",
    "eager", "explain", "fft", "fori_loop", "from_jax", "function", "grad", "gradients", "grads", "hessian", "hvp",
    "image", "integrate", "jacobian", "jet", "jit", "jvp", "linalg", "linear_transpose", "linearize", "load", "map",
    "nn", "not_differentiable",
    "numpy", "ops", "optimize", "primitive", "random", "recompute_grad", "register_gradient", "save", "scan",
    "scipy",
    "set_default_float", "set_memory_budget", "signal", "sparsity", "special", "stats", "stop_gradient", "switch",
    "symbolic_gradient", "tensor", "tree", "value_and_grad", "value_and_grads", "value_and_jacobian", "variable_grads",
    "vectorized_map", "vjp", "vmap", "while_loop",
]  # fmt: skip
__all__ += numpy.__all__
# a checker need not follow this: what a star imports here is public to it all the same
__all__ += sorted({*ops.elementwise.__all__} - {*numpy.__all__})  # pyright: ignore[reportUnsupportedDunderAll]
