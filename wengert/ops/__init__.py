"""The vocabulary that users call, by family: each op converts, promotes, broadcasts, then applies primitives."""

from typing import TYPE_CHECKING

from .._core.lazy_modules import names_loaded_later
from . import array_methods as _array_methods  # these two dress Tensor
from . import (
    binary_form,
    complex_parts,
    conversion,
    copies,
    creation,
    decompositions,
    elementwise,
    flips_and_rolls,
    fourier,
    histograms,
    indexing,
    joining,
    linalg,
    nans,
    ordering,
    padding,
    pairwise,
    piecewise,
    predicates,
    reductions,
    repeating,
    shapes,
    signals,
    special_functions,
    splitting,
    tapers,
    trapezoids,
    triangles,
)
from . import methods as _methods
from .binary_form import *  # noqa: F403
from .complex_parts import *  # noqa: F403
from .conversion import *  # noqa: F403
from .copies import *  # noqa: F403
from .creation import *  # noqa: F403
from .decompositions import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .flips_and_rolls import *  # noqa: F403
from .fourier import *  # noqa: F403
from .histograms import *  # noqa: F403
from .indexing import *  # noqa: F403
from .joining import *  # noqa: F403
from .linalg import *  # noqa: F403
from .nans import *  # noqa: F403
from .ordering import *  # noqa: F403
from .padding import *  # noqa: F403
from .pairwise import *  # noqa: F403
from .piecewise import *  # noqa: F403
from .predicates import *  # noqa: F403
from .reductions import *  # noqa: F403
from .repeating import *  # noqa: F403
from .shapes import *  # noqa: F403
from .signals import *  # noqa: F403
from .special_functions import *  # noqa: F403
from .splitting import *  # noqa: F403
from .tapers import *  # noqa: F403
from .trapezoids import *  # noqa: F403
from .triangles import *  # noqa: F403

if TYPE_CHECKING:
    from . import image
    from .activations import *  # noqa: F403
    from .attention import *  # noqa: F403
    from .bags import *  # noqa: F403
    from .blocks import *  # noqa: F403
    from .convolution import *  # noqa: F403
    from .ctc import *  # noqa: F403
    from .diagonals import *  # noqa: F403
    from .elementwise_losses import *  # noqa: F403
    from .kthvalue_and_mode import *  # noqa: F403
    from .losses import *  # noqa: F403
    from .normalization import *  # noqa: F403
    from .pooling import *  # noqa: F403
    from .rearranging import *  # noqa: F403
    from .recurrent import *  # noqa: F403
    from .reinterpretation import *  # noqa: F403
    from .slices_and_masks import *  # noqa: F403
    from .vector_losses import *  # noqa: F403

if TYPE_CHECKING:  # Keras has these among its ops; here they stand above them, see _ABOVE
    from ..compat.keras import jvp
    from ..differentiation.batching import vectorized_map
    from ..numpy import vectorize
    from ..programs.associative import associative_scan
    from ..programs.control import cond, fori_loop, map, scan, switch, while_loop
    from ..rules.custom import custom_gradient

# families loaded when one of their names is first asked for, since few programs use them: the name, and the family
_LATER = {
    "image": "image", "BatchStatistics": "normalization", "ValueAndIndex": "kthvalue_and_mode",
    "adaptive_average_pool": "pooling", "adaptive_max_pool": "pooling", "average_pool": "pooling",
    "batch_normalization": "normalization", "batch_statistics_normalization": "normalization",
    "binary_crossentropy": "losses", "boolean_mask": "slices_and_masks", "categorical_crossentropy": "losses",
    "categorical_focal": "vector_losses", "categorical_hinge": "vector_losses", "celu": "activations",
    "conv": "convolution", "conv_transpose": "convolution", "cosine_distance": "vector_losses",
    "cosine_embedding": "vector_losses", "cosine_similarity": "elementwise_losses", "ctc_decode": "ctc",
    "ctc_loss": "ctc", "depth_to_space": "blocks", "depthwise_conv": "convolution", "diag_embed": "diagonals",
    "diagonal_scatter": "diagonals", "dot_product_attention": "attention", "dynamic_slice": "slices_and_masks",
    "dynamic_update_slice": "slices_and_masks", "elu": "activations", "embedding_bag": "bags",
    "embedding_lookup": "slices_and_masks", "fold": "blocks", "gather_nd": "slices_and_masks",
    "gaussian_nll": "elementwise_losses", "gelu": "activations", "glu": "activations",
    "group_normalization": "normalization", "gru_step": "recurrent", "hard_shrink": "activations",
    "hard_sigmoid": "activations", "hard_silu": "activations", "hard_swish": "activations", "hard_tanh": "activations",
    "hinge": "elementwise_losses", "huber": "elementwise_losses", "kl_div": "vector_losses",
    "kthvalue": "kthvalue_and_mode", "label_smoothing": "elementwise_losses", "layer_normalization": "normalization",
    "leaky_relu": "activations", "log_cosh_loss": "elementwise_losses", "log_sigmoid": "activations",
    "log_softmax": "activations", "lstm_step": "recurrent", "masked_fill": "slices_and_masks",
    "masked_select": "slices_and_masks", "max_pool": "pooling", "mish": "activations", "mode": "kthvalue_and_mode",
    "poisson_nll": "elementwise_losses", "prelu": "activations", "psnr": "elementwise_losses",
    "rearrange": "rearranging", "relu": "activations", "relu6": "activations", "rms_normalization": "normalization",
    "rnn_step": "recurrent", "segment_softmax": "slices_and_masks", "select_scatter": "diagonals",
    "selu": "activations", "separable_conv": "convolution", "sigmoid_focal": "elementwise_losses",
    "silu": "activations", "slice_scatter": "diagonals", "sliding_window_view": "slices_and_masks",
    "smooth_l1": "elementwise_losses", "soft_shrink": "activations", "softmax": "activations", "softmin": "activations",
    "softplus": "activations", "softsign": "activations", "space_to_depth": "blocks",
    "sparse_categorical_crossentropy": "losses", "sparse_plus": "activations", "sparse_sigmoid": "activations",
    "sparsemax": "activations", "squared_hinge": "vector_losses", "squareplus": "activations", "swish": "activations",
    "tanh_shrink": "activations", "threshold": "activations", "triplet_margin": "vector_losses", "unfold": "blocks",
    "view": "reinterpretation", "view_as_complex": "reinterpretation", "view_as_real": "reinterpretation",
}  # fmt: skip

# names of Keras's whose modules use the ops, so that they can only load after these
_ABOVE = {
    "associative_scan": "..programs.associative", "custom_gradient": "..rules.custom", "jvp": "..compat.keras",
    "vectorize": "..numpy", "vectorized_map": "..differentiation.batching",
    **dict.fromkeys(("cond", "fori_loop", "map", "scan", "switch", "while_loop"), "..programs.control"),
}  # fmt: skip

__all__: list[str] = []
__all__ += binary_form.__all__
__all__ += complex_parts.__all__
__all__ += conversion.__all__
__all__ += copies.__all__
__all__ += creation.__all__
__all__ += decompositions.__all__
__all__ += elementwise.__all__
__all__ += flips_and_rolls.__all__
__all__ += fourier.__all__
__all__ += indexing.__all__
__all__ += joining.__all__
__all__ += histograms.__all__
__all__ += linalg.__all__
__all__ += nans.__all__
__all__ += ordering.__all__
__all__ += padding.__all__
__all__ += pairwise.__all__
__all__ += piecewise.__all__
__all__ += predicates.__all__
__all__ += reductions.__all__
__all__ += repeating.__all__
__all__ += shapes.__all__
__all__ += signals.__all__
__all__ += special_functions.__all__
__all__ += splitting.__all__
__all__ += tapers.__all__
__all__ += trapezoids.__all__
__all__ += triangles.__all__
__all__ += ["image"]
__all__ += [name for name, family in _LATER.items() if name != family]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_loaded_later(__name__, {**_LATER, **_ABOVE})
