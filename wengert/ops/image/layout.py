"""Reads `data_format`: brings images to (batch, height, width, channels), on which all functions here work."""

from __future__ import annotations

from ..._core.argument_types import ArrayLike
from ..._core.tensor import Tensor
from ..._core.user_line import at_user_line
from ..promotion import as_tensor
from ..shapes import permuted, reshaped


class ImageLayout:
    """Where the axes of some images are, and how to get back there."""

    def __init__(self, rank: int, is_first: bool) -> None:
        self.rank, self.is_first = rank, is_first

    def back(self, x: Tensor) -> Tensor:
        """A batch with channels last as the images came."""
        x = permuted(x, (0, 3, 1, 2)) if self.is_first else x
        return reshaped(x, x.shape[1:]) if self.rank == 3 else x


def laid_out(images: ArrayLike, data_format: str | None, what: str) -> tuple[Tensor, ImageLayout]:
    """The images as (batch, height, width, channels)."""
    x = as_tensor(images, what)
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(at_user_line(f"{what}: data_format is {data_format!r}"))
    if x.ndim not in (3, 4):
        raise ValueError(at_user_line(f"{what}: images has shape {x.shape}, wanted three axes, or four with a batch"))
    layout = ImageLayout(x.ndim, data_format == "channels_first")
    x = reshaped(x, (1, *x.shape)) if x.ndim == 3 else x
    return (permuted(x, (0, 2, 3, 1)) if layout.is_first else x), layout
