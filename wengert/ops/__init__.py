"""The vocabulary that users call, by family: each op converts, promotes, broadcasts, then applies primitives."""

from . import array_methods as _array_methods  # these two dress Tensor
from . import methods as _methods
from .choices import *  # noqa: F403  # each family's __all__ is its public list
from .choices import __all__ as _choices
from .conversion import *  # noqa: F403
from .conversion import __all__ as _conversion
from .copies import *  # noqa: F403
from .copies import __all__ as _copies
from .creation import *  # noqa: F403
from .creation import __all__ as _creation
from .elementwise import *  # noqa: F403
from .elementwise import __all__ as _elementwise
from .indexing import *  # noqa: F403
from .indexing import __all__ as _indexing
from .linalg import *  # noqa: F403
from .linalg import __all__ as _linalg
from .reductions import *  # noqa: F403
from .reductions import __all__ as _reductions
from .shapes import *  # noqa: F403
from .shapes import __all__ as _shapes

__all__ = [
    *_choices, *_conversion, *_copies, *_creation, *_elementwise, *_indexing, *_linalg, *_reductions, *_shapes,
]  # fmt: skip
