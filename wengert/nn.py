"""Building blocks of neural networks: activations, losses, normalisation, convolutions.

The functions are those of `wg.ops`, with Keras's names, arguments and defaults; `conv_general` has every option.
"""

# pyright: strict, reportPrivateUsage=false

from .ops.activations import (
    celu,
    elu,
    gelu,
    glu,
    hard_shrink,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    relu,
    relu6,
    selu,
    silu,
    soft_shrink,
    softmax,
    softplus,
    softsign,
    sparse_plus,
    sparse_sigmoid,
    sparsemax,
    squareplus,
    swish,
    tanh_shrink,
    threshold,
)
from .ops.convolution import conv, conv_general, conv_transpose, depthwise_conv, separable_conv
from .ops.creation import one_hot
from .ops.elementwise import sigmoid, tanh
from .ops.linalg import normalize
from .ops.losses import binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy
from .ops.normalization import batch_normalization, layer_normalization, rms_normalization
from .ops.pooling import adaptive_average_pool, adaptive_max_pool, average_pool, max_pool
from .ops.reductions import logsumexp, moments

__all__ = [
    "adaptive_average_pool", "adaptive_max_pool", "average_pool", "batch_normalization", "binary_crossentropy",
    "categorical_crossentropy", "celu", "conv",
    "conv_general", "conv_transpose", "depthwise_conv", "elu", "gelu", "glu", "hard_shrink", "hard_sigmoid",
    "hard_silu", "hard_swish", "hard_tanh", "layer_normalization", "leaky_relu", "log_sigmoid", "log_softmax",
    "logsumexp", "max_pool", "moments", "normalize", "one_hot", "relu", "relu6", "rms_normalization", "selu",
    "separable_conv", "sigmoid", "silu", "soft_shrink", "softmax", "softplus", "softsign",
    "sparse_categorical_crossentropy", "sparse_plus", "sparse_sigmoid", "sparsemax", "squareplus", "swish", "tanh",
    "tanh_shrink", "threshold",
]  # fmt: skip
