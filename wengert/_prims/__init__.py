"""The primitives: one declaration each, an op and its adjoint in one file.

Importing this package registers all of them. A declaration gives operands, attributes, type rule, derivative and
batch rule in one statement; engines hold their kernels in tables of their own.
"""

from . import (
    bessel,
    binary_form,
    buffer,
    conv,
    cumulative,
    decompositions,
    discrete,
    eigen,
    elementwise,
    entropies,
    factored_systems,
    fourier,
    incomplete,
    indexing,
    linalg,
    matrix_functions,
    piecewise,
    quantiles,
    random,
    reductions,
    sorting,
    sparse,
    special,
    structural,
    windows,
)

__all__ = [
    "bessel", "binary_form", "buffer", "conv", "cumulative", "decompositions", "discrete", "eigen", "elementwise",
    "entropies", "factored_systems", "fourier", "incomplete", "indexing", "linalg", "matrix_functions", "piecewise",
    "quantiles", "random", "reductions", "sorting", "sparse", "special", "structural", "windows",
]  # fmt: skip
