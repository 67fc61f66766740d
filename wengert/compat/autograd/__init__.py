"""The successor of HIPS/autograd: its modules, names and conventions on our core.

`from wengert.compat import autograd`, or `install()` once and then `import autograd` as before, or
`python -m wengert.compat.autograd script.py`.

Example:
    >>> import wengert.compat.autograd.numpy as np
    >>> from wengert.compat.autograd import grad
    >>> grad(lambda x: np.sum(np.tanh(x) ** 2))(np.array([0.0, 1.0]))
    array([0.        , 0.63970001])
"""

from __future__ import annotations

from . import builtins as builtins
from . import (
    core,
    differential_operators,
    extend,
    misc,
    numpy,
    scipy,
    test_util,
    tracer,
    util,
    wrap_util,
)
from ._install import install
from .builtins import dict, isinstance, list, tuple, type
from .core import primitive_with_deprecation_warnings as primitive
from .differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)

__all__ = [
    "builtins", "checkpoint", "core", "deriv", "dict", "differential_operators", "elementwise_grad", "extend", "grad",
    "grad_and_aux", "grad_named", "hessian", "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad",
    "install", "isinstance", "jacobian", "list", "make_ggnvp", "make_hvp", "make_jvp", "make_jvp_reversemode",
    "make_vjp", "misc", "multigrad_dict", "numpy", "primitive", "scipy", "tensor_jacobian_product", "test_util",
    "tracer", "tuple", "type", "util", "value_and_grad", "vector_jacobian_product", "wrap_util",
]  # fmt: skip
