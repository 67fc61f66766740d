"""Python's operators on tensors and Variables, as type checkers see them.

At run time they are attached where the ops are known: by `ops/methods.py` and `programs/variables.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .argument_types import ArrayLike

if TYPE_CHECKING:
    from .tensor import Tensor

    class Operators:
        """The operators; results are tensors."""

        def __add__(self, other: ArrayLike) -> Tensor: ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __add__
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __add__
        __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__

        def __eq__(self, other: object) -> Any: ...
        def __ne__(self, other: object) -> Any: ...
        def __hash__(self) -> int: ...
        def __neg__(self) -> Tensor: ...

        __pos__ = __abs__ = __invert__ = __neg__

        def __getitem__(self, index: Any) -> Tensor: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Tensor]: ...

else:
    Operators = object
