"""The vocabulary that users call, by family: each op converts, promotes, broadcasts, then applies primitives."""

from typing import TYPE_CHECKING

from . import (
    activations,
    alignment,
    attention,
    binary_form,
    blocks,
    choices,
    conversion,
    convolution,
    copies,
    counting,
    creation,
    decompositions,
    elementwise,
    fourier,
    image,
    indexing,
    linalg,
    losses,
    nans,
    normalization,
    ordering,
    pooling,
    predicates,
    rearranging,
    recurrent,
    reductions,
    regression,
    series,
    shapes,
    signals,
    special_functions,
    tapers,
    views,
    windowing,
)
from . import array_methods as _array_methods  # these two dress Tensor
from . import methods as _methods
from .activations import *  # noqa: F403  # each family's __all__ is its public list
from .alignment import *  # noqa: F403
from .attention import *  # noqa: F403
from .binary_form import *  # noqa: F403
from .blocks import *  # noqa: F403
from .choices import *  # noqa: F403
from .conversion import *  # noqa: F403
from .convolution import *  # noqa: F403
from .copies import *  # noqa: F403
from .counting import *  # noqa: F403
from .creation import *  # noqa: F403
from .decompositions import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .fourier import *  # noqa: F403
from .indexing import *  # noqa: F403
from .linalg import *  # noqa: F403
from .losses import *  # noqa: F403
from .nans import *  # noqa: F403
from .normalization import *  # noqa: F403
from .ordering import *  # noqa: F403
from .pooling import *  # noqa: F403
from .predicates import *  # noqa: F403
from .rearranging import *  # noqa: F403
from .recurrent import *  # noqa: F403
from .reductions import *  # noqa: F403
from .regression import *  # noqa: F403
from .series import *  # noqa: F403
from .shapes import *  # noqa: F403
from .signals import *  # noqa: F403
from .special_functions import *  # noqa: F403
from .tapers import *  # noqa: F403
from .views import *  # noqa: F403
from .windowing import *  # noqa: F403

if TYPE_CHECKING:
    # these stand above the ops; `wengert/__init__` puts them here
    from ..associative import associative_scan
    from ..batching import vectorized_map
    from ..control import cond, fori_loop, map, scan, switch, while_loop
    from ..custom import custom_gradient
    from ..derivatives import jvp
    from ..numpy import vectorize

__all__: list[str] = []
__all__ += activations.__all__
__all__ += alignment.__all__
__all__ += attention.__all__
__all__ += binary_form.__all__
__all__ += blocks.__all__
__all__ += choices.__all__
__all__ += conversion.__all__
__all__ += convolution.__all__
__all__ += copies.__all__
__all__ += counting.__all__
__all__ += creation.__all__
__all__ += decompositions.__all__
__all__ += elementwise.__all__
__all__ += fourier.__all__
__all__ += indexing.__all__
__all__ += linalg.__all__
__all__ += losses.__all__
__all__ += nans.__all__
__all__ += normalization.__all__
__all__ += ordering.__all__
__all__ += pooling.__all__
__all__ += predicates.__all__
__all__ += rearranging.__all__
__all__ += recurrent.__all__
__all__ += reductions.__all__
__all__ += regression.__all__
__all__ += series.__all__
__all__ += shapes.__all__
__all__ += signals.__all__
__all__ += special_functions.__all__
__all__ += tapers.__all__
__all__ += views.__all__
__all__ += windowing.__all__
__all__ += ["image"]
