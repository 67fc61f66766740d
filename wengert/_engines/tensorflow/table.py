"""The table of kernels on tensors, joined from the files of their families; programs and regions are added in
`__init__`. A kernel that someone gave the engine itself (a user's primitive) is found there.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..._core.engine import ENGINES
from . import elementwise, indexing, linalg, random, sparse, special, structural, windows
from .common import Native, opened


class _Table(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        on_natives = ENGINES["tensorflow"].kernels[name]

        def kernel(*operands_and_attrs: Any) -> Any:
            found = on_natives(*[Native(x) if isinstance(x, tf.Tensor) else x for x in operands_and_attrs])
            return (*map(opened, found),) if isinstance(found, tuple) else opened(found)

        self[name] = kernel
        return kernel


KERNELS: dict[str, Any] = _Table()
for _family in (structural, elementwise, indexing, linalg, windows, random, sparse, special):
    KERNELS.update(_family.KERNELS)
