"""Images: colours, crops and patches, resampling, with Keras's names (`wg.ops.image`).

Images are arrays (height, width, channels) or (batch, height, width, channels), or with channels first.
"""

from . import colors, resampling, windows
from .colors import *  # noqa: F403  # each part's __all__ is its public list
from .resampling import *  # noqa: F403
from .windows import *  # noqa: F403

__all__: list[str] = []
__all__ += colors.__all__
__all__ += resampling.__all__
__all__ += windows.__all__
