"""Times convolutions, pooling and attention beside torch's (oneDNN, `scaled_dot_product_attention`): values, gradients.

Each row is one layer at one size, in both layouts where it has two; the libraries take turns, results are compared
before. `--what image,kernel` measures the gradient by one operand alone. With one thread times are the processor's, so
that other work on the machine does not count; with `WENGERT_BENCH_THREADS=2` they are the best turn's of the clock on
the wall. `--above 1` prints at the end the rows that take longer than torch, the worst first.

    .venv/bin/python benchmarks/layers.py [conv2d pool attention ...] [--what gradient] [--above 1]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import libraries

libraries.limit_threads()

import harness  # noqa: E402  (after the threads are limited)
import numpy as np  # noqa: E402  (as above)

import wengert as wg  # noqa: E402  (as above)

TOLERANCE = 1e-3  # float32
CLOCK = time.process_time if libraries.THREADS == 1 else time.perf_counter


class Convolution(NamedTuple):
    """A convolution with "same" padding and kernels of one extent along all axes, gradient by operand and kernel."""

    images: int
    extents: tuple[int, ...]
    channels: int
    filters: int
    taps: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    is_transposed: bool = False


class Pooling(NamedTuple):
    """The largest elements or the means of windows, without padding."""

    images: int
    extents: tuple[int, ...]
    channels: int
    taps: int
    stride: int
    is_max: bool = True


class Attention(NamedTuple):
    """Softmax of scaled products of queries and keys, times values; gradient by all three."""

    batch: int
    heads: int
    places: int
    width: int
    is_causal: bool = False


CONVOLUTIONS = {
    "conv1d": Convolution(16, (512,), 64, 64, 5),
    "conv1d stride 2": Convolution(16, (512,), 64, 128, 4, stride=2),
    "conv1d dilation 4": Convolution(16, (512,), 64, 64, 3, dilation=4),
    "conv1d groups 4": Convolution(16, (512,), 64, 64, 3, groups=4),
    "conv1d depthwise": Convolution(16, (512,), 128, 128, 7, groups=128),
    "conv1d transposed stride 2": Convolution(16, (512,), 64, 32, 4, stride=2, is_transposed=True),
    "conv2d": Convolution(8, (28, 28), 32, 64, 3),
    "conv2d 1x1": Convolution(8, (28, 28), 64, 128, 1),
    "conv2d 1x1 stride 2": Convolution(8, (28, 28), 64, 128, 1, stride=2),
    "conv2d of 56": Convolution(2, (56, 56), 64, 64, 3),
    "conv2d of 7": Convolution(4, (7, 7), 512, 512, 3),
    "conv2d 7x7 of images": Convolution(8, (64, 64), 3, 32, 7, stride=2),
    "conv2d stride 2": Convolution(8, (28, 28), 32, 64, 3, stride=2),
    "conv2d dilation 2": Convolution(8, (28, 28), 32, 64, 3, dilation=2),
    "conv2d dilation 4": Convolution(4, (28, 28), 64, 64, 3, dilation=4),
    "conv2d groups 4": Convolution(8, (28, 28), 64, 64, 3, groups=4),
    "conv2d groups 32": Convolution(4, (28, 28), 128, 128, 3, groups=32),
    "conv2d transposed stride 2": Convolution(4, (14, 14), 64, 32, 4, stride=2, is_transposed=True),
    "conv2d depthwise": Convolution(8, (28, 28), 64, 64, 3, groups=64),
    "conv2d depthwise stride 2": Convolution(2, (112, 112), 32, 32, 3, stride=2, groups=32),
    "conv2d depthwise 5x5 stride 2": Convolution(8, (28, 28), 64, 64, 5, stride=2, groups=64),
    "conv2d depthwise dilation 2": Convolution(8, (28, 28), 64, 64, 3, dilation=2, groups=64),
    "conv3d": Convolution(2, (8, 16, 16), 16, 32, 3),
    "conv3d stride 2": Convolution(2, (8, 16, 16), 16, 32, 3, stride=2),
}
POOLINGS = {
    "pool1d max": Pooling(16, (512,), 64, 2, 2),
    "pool2d max": Pooling(4, (56, 56), 64, 2, 2),
    "pool2d max 3x3 stride 2": Pooling(4, (57, 57), 64, 3, 2),
    "pool2d mean": Pooling(4, (56, 56), 64, 2, 2, False),
    "pool2d mean 3x3 stride 1": Pooling(4, (28, 28), 64, 3, 1, False),
    "pool2d mean of all": Pooling(8, (7, 7), 512, 7, 1, False),
    "pool3d max": Pooling(2, (8, 16, 16), 32, 2, 2),
}
ATTENTIONS = {
    "attention 128": Attention(4, 8, 128, 32),
    "attention 512": Attention(2, 8, 512, 64),
    "attention 512 causal": Attention(2, 8, 512, 64, is_causal=True),
    "attention 2048": Attention(1, 4, 2048, 64),
}
LAYOUTS = ("first", "last")  # where the channels are


class Row(NamedTuple):
    """Microseconds of a call, ours and torch's, or what was wrong."""

    title: str
    ours: float
    torch: float
    error: str | None

    @property
    def ratio(self) -> float:
        return self.ours / self.torch


# -- ours -------------------------------------------------------------------------------------------------------------


def our_convolution(row: Convolution, layout: str) -> Callable[..., Any]:
    axes = len(row.extents)
    if row.is_transposed:
        order = (*range(2, 2 + axes), 1, 0)
        return lambda x, w: wg.nn.conv_transpose(
            x, np.transpose(w, order), row.stride, "same", data_format=f"channels_{layout}"
        )
    spatial = "DHW"[-axes:]
    numbers = f"NC{spatial}" if layout == "first" else f"N{spatial}C"
    return lambda x, w: wg.nn.conv_general(
        x, w, (row.stride,) * axes, [padding(row)] * axes, rhs_dilation=(row.dilation,) * axes,
        dimension_numbers=(numbers, f"OI{spatial}", numbers), feature_group_count=row.groups,
    )  # fmt: skip


def our_pooling(row: Pooling, layout: str) -> Callable[..., Any]:
    pool = wg.nn.max_pool if row.is_max else wg.nn.average_pool
    return lambda x: pool(x, row.taps, row.stride, data_format=f"channels_{layout}")


def our_attention(row: Attention) -> Callable[..., Any]:
    hidden = np.triu(np.full((row.places, row.places), -np.inf, np.float32), 1)

    def layer(q: Any, k: Any, v: Any) -> Any:
        scores = q @ np.swapaxes(k, 2, 3) * (1 / math.sqrt(row.width))
        if row.is_causal:
            scores = scores + hidden
        return wg.nn.softmax(scores, axis=-1) @ v

    return layer


def our_call(layer: Callable[..., Any], by: tuple[int, ...], arrays: list[np.ndarray]) -> Callable[[], Any]:
    *operands, weights = arrays
    if not by:
        value = wg.function(layer)
        return lambda: [value(*operands)]
    gradient = wg.function(wg.grad(lambda *xs: wg.sum(layer(*xs) * weights), argnums=by))
    return lambda: gradient(*operands)


# -- torch's ----------------------------------------------------------------------------------------------------------


def torch_convolution(row: Convolution, layout: str) -> Callable[..., Any]:
    import torch

    convolve = getattr(torch.nn.functional, f"conv{'_transpose' * row.is_transposed}{len(row.extents)}d")
    low, high = padding(row)
    axes = len(row.extents)
    if row.is_transposed:
        low = high = (row.taps - row.stride) // 2
    options = {"stride": row.stride, "dilation": row.dilation, "groups": row.groups}

    def layer(x: Any, w: Any) -> Any:
        x = x if layout == "first" else x.movedim(-1, 1)
        if low == high:
            y = convolve(x, w, padding=low, **options)
        else:
            y = convolve(torch.nn.functional.pad(x, (low, high) * axes), w, **options)
        return y if layout == "first" else y.movedim(1, -1)

    return layer


def torch_pooling(row: Pooling, layout: str) -> Callable[..., Any]:
    import torch

    pool = getattr(torch.nn.functional, f"{'max' if row.is_max else 'avg'}_pool{len(row.extents)}d")

    def layer(x: Any) -> Any:
        if layout == "first":
            return pool(x, row.taps, row.stride)
        return pool(x.movedim(-1, 1), row.taps, row.stride).movedim(1, -1)

    return layer


def torch_attention(row: Attention) -> Callable[..., Any]:
    import torch

    return lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=row.is_causal)


def torch_call(layer: Callable[..., Any], by: tuple[int, ...], arrays: list[np.ndarray]) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(libraries.THREADS)
    *operands, weights = map(torch.as_tensor, arrays)

    def value() -> Any:
        with torch.no_grad():
            return [layer(*operands)]

    def gradient() -> Any:
        leaves = [x.detach().requires_grad_(i in by) for i, x in enumerate(operands)]
        return torch.autograd.grad(layer(*leaves), [leaves[i] for i in by], weights)

    return gradient if by else value


# -- rows -------------------------------------------------------------------------------------------------------------


def padding(row: Convolution) -> tuple[int, int]:
    """How much is put before and behind each axis: "same" for a stride of 1, for others as torch's users write it."""
    whole = (row.taps - 1) * row.dilation
    return whole // 2, whole - whole // 2


def positions(row: Convolution | Pooling) -> list[int]:
    """The extents of the result."""
    if isinstance(row, Pooling):
        return [(n - row.taps) // row.stride + 1 for n in row.extents]
    return [n * row.stride if row.is_transposed else -(-n // row.stride) for n in row.extents]


def arrays_of(row: Convolution | Pooling | Attention, layout: str) -> list[np.ndarray]:
    """The operands, and weights of the result's elements."""
    rng = np.random.default_rng(0)
    if isinstance(row, Attention):
        shapes = [(row.batch, row.heads, row.places, row.width)] * 4
    else:
        filters = row.channels if isinstance(row, Pooling) else row.filters
        places = positions(row)
        x, y = (row.images, row.channels, *row.extents), (row.images, filters, *places)
        if layout == "last":
            x, y = (row.images, *row.extents, row.channels), (row.images, *places, filters)
        shapes = [x, y]
        if isinstance(row, Convolution):
            sides = (row.channels, filters) if row.is_transposed else (filters, row.channels // row.groups)
            shapes.insert(1, (*sides, *[row.taps] * len(row.extents)))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def measured(
    title: str, row: Convolution | Pooling | Attention, layout: str, what: str, options: Any
) -> Row:  # fmt: skip
    arrays = arrays_of(row, layout)
    by = {"value": (), "gradient": (*range(len(arrays) - 1),), "image": (0,), "kernel": (1,)}[what]
    try:
        if isinstance(row, Attention):
            layers = our_attention(row), torch_attention(row)
        elif isinstance(row, Pooling):
            layers = our_pooling(row, layout), torch_pooling(row, layout)
        else:
            layers = our_convolution(row, layout), torch_convolution(row, layout)
        calls = our_call(layers[0], by, arrays), torch_call(layers[1], by, arrays)
        contenders = [
            harness.Contender(library, "compiled", call, lambda result: [np.asarray(x) for x in result])
            for library, call in zip(("wengert", "torch"), calls, strict=True)
        ]
        found = harness.measure(contenders, options.seconds, options.rounds, TOLERANCE, CLOCK)
    except Exception as error:  # ours may fail as torch's may: the other rows are measured
        return Row(title, np.nan, np.nan, f"{type(error).__name__}: {error}"[:100])
    times = {m.library: m.median if libraries.THREADS == 1 else m.best for m in found}
    return Row(title, times["wengert"] * 1e6, times["torch"] * 1e6, next((m.error for m in found if m.error), None))


def rows(names: list[str], options: Any) -> Iterator[Row]:
    known: dict[str, Convolution | Pooling | Attention] = {**CONVOLUTIONS, **POOLINGS, **ATTENTIONS}
    for name, row in known.items():
        if names and not any(name.startswith(wanted) for wanted in names):
            continue
        for layout in [""] if isinstance(row, Attention) else LAYOUTS:
            for what in options.what.split(","):
                title = " ".join(filter(None, [name, layout and f"channels {layout}", what]))
                yield measured(title, row, layout, what, options)


def told(row: Row) -> str:
    return f"{row.title:56}{row.ours:12.1f}{row.torch:12.1f}{row.ratio:9.2f}  {row.error or ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="what the rows' names begin with; all of them without")
    parser.add_argument("--what", default="value,gradient", help="also image, kernel")
    harness.add_turns(parser, seconds=0.05, rounds=9)
    options = parser.parse_args()
    print(f"{'layer':56}{'ours, us':>12}{'torch, us':>12}{'of torch':>9}")
    harness.tell_rows(rows(options.names, options), told, options.above, "torch")


if __name__ == "__main__":
    main()
