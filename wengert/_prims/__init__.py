"""The primitives: one declaration each, an op and its adjoint in one file.

Importing this package registers all of them. A declaration gives operands, attributes, type rule, derivative and
batch rule in one statement; engines hold their kernels in tables of their own.
"""

from . import (
    buffer,
    conv,
    cumulative,
    decompositions,
    discrete,
    elementwise,
    fourier,
    indexing,
    linalg,
    piecewise,
    random,
    reductions,
    sorting,
    special,
    structural,
    windows,
)

__all__ = [
    "buffer", "conv", "cumulative", "decompositions", "discrete", "elementwise", "fourier", "indexing", "linalg",
    "piecewise", "random", "reductions", "sorting", "special", "structural", "windows",
]  # fmt: skip
