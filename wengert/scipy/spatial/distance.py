"""`scipy.spatial.distance`: distances between points."""

from __future__ import annotations

from typing import Any

from .._distances import (
    braycurtis,
    canberra,
    cdist,
    chebyshev,
    cityblock,
    correlation,
    cosine,
    euclidean,
    hamming,
    jensenshannon,
    mahalanobis,
    minkowski,
    pdist,
    seuclidean,
    sqeuclidean,
    squareform,
)
from .._namespace import namespace

_FUNCTIONS = (
    braycurtis, canberra, cdist, chebyshev, cityblock, correlation, cosine, euclidean, hamming, jensenshannon,
    mahalanobis, minkowski, pdist, seuclidean, sqeuclidean, squareform,
)  # fmt: skip
OURS: dict[str, Any] = {f.__name__: f for f in _FUNCTIONS}

__getattr__, __dir__ = namespace(__name__, OURS, near={"directed_hausdorff": "cdist, then np.min and np.max"})
