"""Groups of Python's and NumPy's classes, for `isinstance`.

Each is a tuple of `type[Any]`, so that a type checker goes on taking what passed the test for any value of its kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Kinds = tuple[type[Any], ...]

NUMBERS: Kinds = (bool, int, float, complex)
ARRAYS: Kinds = (np.ndarray, np.generic)
SEQUENCES: Kinds = (list, tuple)
TUPLES: Kinds = (tuple,)
DICTS: Kinds = (dict,)
NUMPY_NUMBERS = frozenset(np.dtype(letter).type for letter in "?bhilqBHILQefdFD")  # classes, to be compared exactly
