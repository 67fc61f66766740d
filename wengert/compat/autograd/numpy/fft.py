"""`numpy.fft`, whose functions follow boxes by NumPy's protocols."""

import numpy.fft as _theirs

NAMESPACE = {name: value for name, value in vars(_theirs).items() if not name.startswith("_")}
globals().update(NAMESPACE)
__all__ = list(NAMESPACE)  # pyright: ignore[reportUnsupportedDunderAll]  # names found in NumPy as it is installed
