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
    mish,
    prelu,
    relu,
    relu6,
    selu,
    silu,
    soft_shrink,
    softmax,
    softmin,
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
from .ops.attention import dot_product_attention
from .ops.bags import embedding_bag
from .ops.convolution import conv, conv_general, conv_transpose, depthwise_conv, separable_conv
from .ops.creation import one_hot
from .ops.elementwise import sigmoid, tanh
from .ops.elementwise_losses import (
    cosine_similarity,
    gaussian_nll,
    hinge,
    huber,
    label_smoothing,
    log_cosh_loss,
    poisson_nll,
    sigmoid_focal,
    smooth_l1,
)
from .ops.linalg import normalize
from .ops.losses import binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy
from .ops.normalization import (
    BatchStatistics,
    batch_normalization,
    batch_statistics_normalization,
    group_normalization,
    layer_normalization,
    rms_normalization,
)
from .ops.pooling import adaptive_average_pool, adaptive_max_pool, average_pool, max_pool
from .ops.recurrent import gru_step, lstm_step, rnn_step
from .ops.reductions import logsumexp, moments
from .ops.slices_and_masks import embedding_lookup
from .ops.vector_losses import (
    categorical_focal,
    categorical_hinge,
    cosine_distance,
    cosine_embedding,
    kl_div,
    squared_hinge,
    triplet_margin,
)

__all__ = [
    "BatchStatistics", "adaptive_average_pool", "adaptive_max_pool", "average_pool", "batch_normalization",
    "batch_statistics_normalization", "binary_crossentropy", "categorical_crossentropy", "categorical_focal",
    "categorical_hinge", "celu", "conv", "conv_general", "conv_transpose", "cosine_distance", "cosine_embedding",
    "cosine_similarity", "depthwise_conv", "dot_product_attention", "elu", "embedding_bag", "embedding_lookup",
    "gaussian_nll", "gelu", "glu", "group_normalization", "gru_step", "hard_shrink", "hard_sigmoid", "hard_silu",
    "hard_swish", "hard_tanh", "hinge", "huber", "kl_div", "label_smoothing", "layer_normalization", "leaky_relu",
    "log_cosh_loss", "log_sigmoid", "log_softmax", "logsumexp", "lstm_step", "max_pool", "mish", "moments",
    "normalize", "one_hot", "poisson_nll", "prelu", "relu", "relu6", "rms_normalization", "rnn_step", "selu",
    "separable_conv", "sigmoid", "sigmoid_focal", "silu", "smooth_l1", "soft_shrink", "softmax", "softmin", "softplus",
    "softsign", "sparse_categorical_crossentropy", "sparse_plus", "sparse_sigmoid", "sparsemax", "squared_hinge",
    "squareplus", "swish", "tanh", "tanh_shrink", "threshold", "triplet_margin",
]  # fmt: skip
