"""Images: colours, sizes, crops, patches, geometry. The functions of `wg.ops.image`, which has Keras' names for them."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from .ops.image import *  # noqa: F403
from .ops.image import __all__ as __all__
