"""The box of arrays, which is our tensor."""

from ...._core.tensor import Tensor
from .._boxes import TYPE_MAPPINGS, value_below

ArrayBox = Tensor
Box = Tensor
ArrayBox._value = property(value_below, doc="What is in the box.")  # pyright: ignore[reportAttributeAccessIssue]  # autograd's name
ArrayBox.type_mappings = TYPE_MAPPINGS  # pyright: ignore[reportAttributeAccessIssue]  # autograd's name

__all__ = ["ArrayBox", "Box"]
