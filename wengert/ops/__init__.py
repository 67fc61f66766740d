"""The vocabulary that users call, by family: each op converts, promotes, broadcasts, then applies primitives."""

from . import elementwise, identity, shapes
from .elementwise import *  # noqa: F403  # each family's __all__ is its public list
from .identity import *  # noqa: F403
from .shapes import *  # noqa: F403

__all__ = [*elementwise.__all__, *identity.__all__, *shapes.__all__]  # noqa: PLE0604
