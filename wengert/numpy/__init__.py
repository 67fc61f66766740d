"""NumPy's main namespace with NumPy's signatures, recorded: `import wengert.numpy as np` is the whole port.

Functions work on tensors, arrays, numbers and lists; a list that holds tensors is recorded, so `np.array([a, 2 * b])`
is differentiated. Functions that make arrays from nothing give tensors. `out=` is refused where a gradient would be
lost. Elementwise functions are the very objects of `wengert.ops`. What has nothing to differentiate (dtypes,
constants, index helpers, printing, `np.random`) is NumPy's own, and so is what is not written here yet: it works on
plain arrays and refuses tensors under differentiation.

Example:
    >>> import wengert.numpy as np
    >>> np.stack([np.array([1.0, 2.0]), np.ones(2)]).sum(axis=0)
    Tensor([2., 3.], shape=(2,), dtype=float64)
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any

import numpy as _numpy

from .. import fft, linalg
from .. import ops as _ops
from ..ops import methods as _methods  # the operators and methods of tensors, which the functions here use
from . import (
    _building,
    _calling,
    _counting,
    _creation,
    _elementwise,
    _emath,
    _histograms,
    _iteration,
    _kinds,
    _mutation,
    _numpys_own,
    _poly1d,
    _polynomials,
    _products,
    _protocols,
    _reductions,
    _selection,
    _sets,
    _shapes,
    _statistics,
    _strides,
    _submodules,
)
from ._building import *  # noqa: F403  # each part's __all__ is its public list
from ._calling import *  # noqa: F403
from ._counting import *  # noqa: F403
from ._creation import *  # noqa: F403
from ._elementwise import *  # noqa: F403
from ._histograms import *  # noqa: F403
from ._iteration import *  # noqa: F403
from ._iteration import broadcast, frompyfunc, ndenumerate, nditer, nested_iters
from ._kinds import *  # noqa: F403  # classes that know tensors, in the place of NumPy's own
from ._kinds import ndarray
from ._mutation import *  # noqa: F403
from ._numpys_own import *  # noqa: F403
from ._polynomials import *  # noqa: F403
from ._products import *  # noqa: F403
from ._reductions import *  # noqa: F403
from ._selection import *  # noqa: F403
from ._sets import *  # noqa: F403
from ._shapes import *  # noqa: F403
from ._statistics import *  # noqa: F403

__all__: list[str] = []
__all__ += _building.__all__
__all__ += _calling.__all__
__all__ += _counting.__all__
__all__ += _creation.__all__
__all__ += _elementwise.__all__
__all__ += _histograms.__all__
__all__ += _iteration.__all__
__all__ += _kinds.__all__
__all__ += _mutation.__all__
__all__ += _numpys_own.__all__
__all__ += _polynomials.__all__
__all__ += _products.__all__
__all__ += _reductions.__all__
__all__ += _selection.__all__
__all__ += _sets.__all__
__all__ += _shapes.__all__
__all__ += _statistics.__all__

emath, lib, poly1d = _submodules.emath, _submodules.lib, _poly1d.poly1d


def __getattr__(name: str) -> Any:
    """What this package does not write is NumPy's own."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "polynomial":  # loaded where it is asked for
        return _importlib.import_module(f"{__name__}.polynomial")
    try:
        return getattr(_numpy, name)
    except AttributeError:
        raise AttributeError(f"module 'wengert.numpy' has no attribute {name!r}, and NumPy has none") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_numpy)})


def _fill_tables() -> None:
    """Tells the protocols what stands for which function of NumPy."""
    names = globals()
    _protocols.map_namespace(_numpy, names, __all__)
    _protocols.map_namespace_later("numpy.fft", fft, fft.__all__)
    _protocols.map_namespace(_numpy.emath, _emath, _emath.__all__)
    _protocols.map_namespace(_numpy.lib.stride_tricks, _strides, _strides.__all__)
    _protocols.map_namespace(_numpy, _strides, ("shares_memory", "may_share_memory"))
    _protocols.map_namespace(_numpy.linalg, linalg, getattr(linalg, "__all__", ()))
    for ufunc, fold, running in (
        (_numpy.add, _reductions.sum, _reductions.cumsum),
        (_numpy.multiply, _reductions.prod, _reductions.cumprod),
        (_numpy.maximum, _reductions.max, _ops.cummax),
        (_numpy.minimum, _reductions.min, _ops.cummin),
        (_numpy.logaddexp, _ops.logsumexp, _ops.cumlogsumexp),
        (_numpy.logical_and, _reductions.all, None),
        (_numpy.logical_or, _reductions.any, None),
    ):
        _protocols.map_fold(ufunc, "reduce", fold)
        if running is not None:
            _protocols.map_fold(ufunc, "accumulate", running)
    _protocols.map_clip(_selection.clip)


_fill_tables()


def _give_options() -> None:
    """Gives what are ufuncs in NumPy their options (`out=`, `where=`, `dtype=`) and methods (`at`, `reduce`, ...)."""
    names = globals()
    for name in __all__:
        theirs = getattr(_numpy, name, None)
        if isinstance(theirs, _numpy.ufunc):
            names[name] = _mutation.with_options(names[name], theirs, name)


_give_options()
