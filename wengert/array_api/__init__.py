"""The namespace of the Python array API standard, version 2025.12, with its extensions `linalg` and `fft`.

`Tensor.__array_namespace__()` gives it, so code that is written for the standard (SciPy's and scikit-learn's, say)
runs on tensors and is recorded: values have gradients, and programs are traced. Nearly all functions are those of
`wengert.numpy`; written here is only what the standard words differently. Arrays are tensors, which can be written to
as NumPy's. Results whose shape depends on values (`nonzero`, the `unique` family, boolean masks) are computed eagerly
and refused in a trace. Names that only NumPy has are found, too, but not listed.

Example:
    >>> import wengert as wg
    >>> x = wg.tensor([3.0, 4.0])
    >>> xp = x.__array_namespace__()
    >>> xp.linalg.vector_norm(x), xp.__array_api_version__
    (Tensor(5., shape=(), dtype=float64), '2025.12')
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import numpy
from ..numpy import (
    abs,
    acos,
    acosh,
    add,
    all,
    any,
    argmax,
    argmin,
    argsort,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    ceil,
    concat,
    conj,
    copysign,
    cos,
    cosh,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    divide,
    e,
    equal,
    exp,
    expand_dims,
    expm1,
    flip,
    floor,
    from_dlpack,
    greater,
    greater_equal,
    hypot,
    imag,
    inf,
    isfinite,
    isin,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    matrix_transpose,
    max,
    maximum,
    mean,
    meshgrid,
    min,
    minimum,
    moveaxis,
    multiply,
    nan,
    negative,
    newaxis,
    nextafter,
    nonzero,
    not_equal,
    permute_dims,
    pi,
    positive,
    pow,
    prod,
    real,
    reciprocal,
    remainder,
    repeat,
    reshape,
    roll,
    round,
    searchsorted,
    signbit,
    sin,
    sinh,
    sort,
    sqrt,
    square,
    squeeze,
    stack,
    std,
    subtract,
    sum,
    take,
    take_along_axis,
    tan,
    tanh,
    tensordot,
    tile,
    tril,
    triu,
    trunc,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    unstack,
    var,
    vecdot,
    where,
)
from . import fft, linalg
from ._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from ._dtypes import (
    astype,
    bool,
    can_cast,
    complex64,
    complex128,
    finfo,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    result_type,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._elementwise import clip, floor_divide, sign
from ._info import __array_namespace_info__

if not TYPE_CHECKING:  # a checker would take any name, and tell of no misspelling

    def __getattr__(name: str) -> Any:
        """What only NumPy has, which code for several namespaces asks for (xarray: `pad`, `gradient`)."""
        if name.startswith("_") or not hasattr(numpy, name):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(numpy, name)


__array_api_version__ = "2025.12"

__all__ = [
    "__array_api_version__", "__array_namespace_info__",
    "abs", "acos", "acosh", "add", "all", "any", "arange", "argmax", "argmin",
    "argsort", "asarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "can_cast", "ceil", "clip", "complex128", "complex64", "concat", "conj",
    "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "divide", "e",
    "empty", "empty_like", "equal", "exp", "expand_dims", "expm1", "eye", "fft", "finfo", "flip", "float32",
    "float64", "floor", "floor_divide", "from_dlpack", "full", "full_like", "greater", "greater_equal", "hypot",
    "iinfo", "imag", "inf", "int16", "int32", "int64", "int8", "isdtype", "isfinite", "isin", "isinf", "isnan",
    "less", "less_equal", "linalg", "linspace", "log", "log10", "log1p", "log2", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean",
    "meshgrid", "min", "minimum", "moveaxis", "multiply", "nan", "negative", "newaxis", "nextafter", "nonzero",
    "not_equal", "ones", "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "real", "reciprocal",
    "remainder", "repeat", "reshape", "result_type", "roll", "round", "searchsorted", "sign", "signbit", "sin",
    "sinh", "sort", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "take", "take_along_axis",
    "tan", "tanh", "tensordot", "tile", "tril", "triu", "trunc", "uint16", "uint32", "uint64", "uint8",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where",
    "zeros", "zeros_like",
]  # fmt: skip
