"""Images: colours, crops and patches, resampling, with Keras's names (`wg.ops.image`).

Images are arrays (height, width, channels) or (batch, height, width, channels), or with channels first.
"""

from . import colors, crops_and_patches, elastic, filters, grids_and_boxes, resampling, scaling
from .colors import *  # noqa: F403  # each part's __all__ is its public list
from .crops_and_patches import *  # noqa: F403
from .elastic import *  # noqa: F403
from .filters import *  # noqa: F403
from .grids_and_boxes import *  # noqa: F403
from .resampling import *  # noqa: F403
from .scaling import *  # noqa: F403

__all__: list[str] = []
__all__ += colors.__all__
__all__ += elastic.__all__
__all__ += filters.__all__
__all__ += grids_and_boxes.__all__
__all__ += resampling.__all__
__all__ += scaling.__all__
__all__ += crops_and_patches.__all__
