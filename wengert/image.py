"""Images: colours, sizes, crops, patches, geometry; the functions are those of `wg.ops.image`, with Keras' names."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from .ops.image import *  # noqa: F403
from .ops.image import __all__ as __all__
