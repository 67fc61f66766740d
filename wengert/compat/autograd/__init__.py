"""The successor of HIPS/autograd: its modules, names and conventions on our core.

`from wengert.compat import autograd`, or `install()` once and then `import autograd` as before, or
`python -m wengert.compat.autograd script.py`.

Example:
    >>> import wengert.compat.autograd.numpy as np
    >>> from wengert.compat.autograd import grad
    >>> grad(lambda x: np.sum(np.tanh(x) ** 2))(np.array([0.0, 1.0]))
    array([0.        , 0.63970001])
"""

from . import builtins as builtins
from . import core, differential_operators, extend, misc, numpy, scipy, test_util, tracer, util, wrap_util
from ._install import install
from .builtins import dict, isinstance, list, tuple, type
from .core import primitive_with_deprecation_warnings as primitive
from .differential_operators import *  # noqa: F403  # all that its `__all__` names

__all__ = [
    "builtins", "core", "dict", "differential_operators", "extend", "install", "isinstance", "list", "misc", "numpy",
    "primitive", "scipy", "test_util", "tracer", "tuple", "type", "util", "wrap_util",
]  # fmt: skip
__all__ += differential_operators.__all__
