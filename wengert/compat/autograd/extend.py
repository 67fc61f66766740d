"""What packages use to declare primitives, derivatives and vector spaces of their own."""

from . import _declarations, _spaces
from ._declarations import *  # noqa: F403  # all that its `__all__` names
from ._spaces import *  # noqa: F403  # all that its `__all__` names
from .core import JVPNode, VJPNode
from .tracer import Box, notrace_primitive, primitive, register_notrace

__all__ = ["Box", "JVPNode", "VJPNode", "notrace_primitive", "primitive", "register_notrace"]
__all__ += _declarations.__all__
__all__ += _spaces.__all__
