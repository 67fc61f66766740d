"""The vocabulary that users call, by family: each op converts, promotes, broadcasts, then applies primitives."""

from .conversion import *  # noqa: F403  # each family's __all__ is its public list
from .conversion import __all__ as _conversion
from .elementwise import *  # noqa: F403
from .elementwise import __all__ as _elementwise

__all__ = [*_conversion, *_elementwise]
