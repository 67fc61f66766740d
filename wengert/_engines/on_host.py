"""`host_kernel`: NumPy's kernel of a primitive, run on the host, for frameworks that have no function for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.engine import default_engine
from .._core.op import REGISTRY


def host_kernel(
    name: str, host_call: Callable[..., Sequence[Any]], type_of: Callable[[Any], Any]
) -> Callable[..., Any]:
    """NumPy's kernel of a primitive, as one of a framework.

    Args:
        name: of the primitive.
        host_call: has a function on NumPy's arrays run for arrays of the framework, whose results have given types.
        type_of: the type of one of its arrays.
    """

    def kernel(*operands_and_attrs: object) -> Any:
        op = REGISTRY[name]
        count = len(operands_and_attrs) - len(op.attrs)
        operands, attrs = operands_and_attrs[:count], operands_and_attrs[count:]
        types = op.type_rule(*op.group((*map(type_of, operands),)), *attrs)

        def run(*arrays: np.ndarray[Any, Any]) -> Any:
            found = default_engine().kernels[name](*arrays, *attrs)
            return found if op.is_multi else (found,)

        found = host_call(run, operands, types if op.is_multi else (types,))
        return found if op.is_multi else found[0]

    setattr(kernel, "is_on_host", True)  # noqa: B010 - read by `support_of`
    return kernel


__all__ = ["host_kernel"]
