"""The vocabulary that users call, by family: each op converts, promotes, broadcasts, then applies primitives."""

from . import array_methods as _array_methods  # these two dress Tensor
from . import methods as _methods
from .activations import *  # noqa: F403  # each family's __all__ is its public list
from .activations import __all__ as _activations
from .choices import *  # noqa: F403
from .choices import __all__ as _choices
from .conversion import *  # noqa: F403
from .conversion import __all__ as _conversion
from .convolution import *  # noqa: F403
from .convolution import __all__ as _convolution
from .copies import *  # noqa: F403
from .copies import __all__ as _copies
from .creation import *  # noqa: F403
from .creation import __all__ as _creation
from .decompositions import *  # noqa: F403
from .decompositions import __all__ as _decompositions
from .elementwise import *  # noqa: F403
from .elementwise import __all__ as _elementwise
from .indexing import *  # noqa: F403
from .indexing import __all__ as _indexing
from .linalg import *  # noqa: F403
from .linalg import __all__ as _linalg
from .losses import *  # noqa: F403
from .losses import __all__ as _losses
from .normalization import *  # noqa: F403
from .normalization import __all__ as _normalization
from .reductions import *  # noqa: F403
from .reductions import __all__ as _reductions
from .shapes import *  # noqa: F403
from .shapes import __all__ as _shapes
from .special_functions import *  # noqa: F403
from .special_functions import __all__ as _special_functions

__all__ = [
    *_activations, *_choices, *_conversion, *_convolution, *_copies, *_creation, *_decompositions, *_elementwise,
    *_indexing, *_linalg, *_losses, *_normalization, *_reductions, *_shapes, *_special_functions,
]  # fmt: skip
