"""SciPy's module tree: differentiable where we have it, SciPy's own functions elsewhere.

`import wengert.scipy.linalg as sla` and `from wengert.scipy.special import jv` stand where SciPy's imports stood. Names
and signatures are SciPy's. Calls on NumPy's arrays alone are SciPy's own, so that programs which differentiate nothing
do what they did. Where a tensor comes in, our function is recorded; a function of SciPy's that we do not have refuses a
tensor whose gradient it would lose, naming the argument and what to write instead.

Example:
    >>> import wengert as wg
    >>> from wengert.scipy.special import expit
    >>> expit(0.0), wg.grad(expit)(0.0)
    (np.float64(0.5), np.float64(0.25))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.lazy_modules import names_loaded_later
from .._core.scipy_modules import scipy_itself

if TYPE_CHECKING:
    from . import (
        cluster,
        constants,
        fft,
        fftpack,
        integrate,
        interpolate,
        linalg,
        ndimage,
        optimize,
        signal,
        sparse,
        spatial,
        special,
        stats,
    )

__all__ = [
    "cluster", "constants", "fft", "fftpack", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal",
    "sparse", "spatial", "special", "stats",
]  # fmt: skip

_own, _names = names_loaded_later(__name__, {name: name for name in __all__})


def __getattr__(name: str) -> Any:
    """A module of ours, or what else SciPy has (`io`, `odr`, its version), which is its own."""
    if name in __all__ or (name.startswith("_") and name != "__version__"):
        return _own(name)
    return getattr(scipy_itself(), name)


def __dir__() -> list[str]:
    return sorted({*_names(), *dir(scipy_itself())})
