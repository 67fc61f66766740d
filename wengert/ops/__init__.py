"""The vocabulary that users call, by family: each op converts, promotes, broadcasts, then applies primitives."""

from . import creation, elementwise, identity, reductions, shapes
from .creation import *  # noqa: F403  # each family's __all__ is its public list
from .elementwise import *  # noqa: F403
from .identity import *  # noqa: F403
from .reductions import *  # noqa: F403
from .shapes import *  # noqa: F403

__all__ = sorted(
    name for family in (creation, elementwise, identity, reductions, shapes) for name in family.__all__
)
