"""Times convolutions and attention beside torch's (oneDNN, `scaled_dot_product_attention`), values and gradients.

Each row is one layer at one size, in both layouts where it has two; the libraries take turns, results are compared
before. With one thread times are the processor's, so that other work on the machine does not count; with
`WENGERT_BENCH_THREADS=2` they are the best turn's of the clock on the wall. `--above 1` prints at the end the rows that
take longer than torch, the worst first.

    .venv/bin/python benchmarks/layers.py [conv2d attention ...] [--what gradient] [--above 1]
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
    "conv2d": Convolution(8, (28, 28), 32, 64, 3),
    "conv2d 1x1": Convolution(8, (28, 28), 64, 128, 1),
    "conv2d 7x7 of images": Convolution(8, (64, 64), 3, 32, 7, stride=2),
    "conv2d stride 2": Convolution(8, (28, 28), 32, 64, 3, stride=2),
    "conv2d dilation 2": Convolution(8, (28, 28), 32, 64, 3, dilation=2),
    "conv2d groups 4": Convolution(8, (28, 28), 64, 64, 3, groups=4),
    "conv2d depthwise": Convolution(8, (28, 28), 64, 64, 3, groups=64),
    "conv2d depthwise 5x5 stride 2": Convolution(8, (28, 28), 64, 64, 5, stride=2, groups=64),
    "conv2d depthwise dilation 2": Convolution(8, (28, 28), 64, 64, 3, dilation=2, groups=64),
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
    spatial = "HW"[:axes]
    numbers = f"NC{spatial}" if layout == "first" else f"N{spatial}C"
    return lambda x, w: wg.nn.conv_general(
        x, w, (row.stride,) * axes, [padding(row)] * axes, rhs_dilation=(row.dilation,) * axes,
        dimension_numbers=(numbers, f"OI{spatial}", numbers), feature_group_count=row.groups,
    )  # fmt: skip


def our_attention(row: Attention) -> Callable[..., Any]:
    hidden = np.triu(np.full((row.places, row.places), -np.inf, np.float32), 1)

    def layer(q: Any, k: Any, v: Any) -> Any:
        scores = q @ np.swapaxes(k, 2, 3) * (1 / math.sqrt(row.width))
        if row.is_causal:
            scores = scores + hidden
        return wg.nn.softmax(scores, axis=-1) @ v

    return layer


def our_call(layer: Callable[..., Any], is_gradient: bool, arrays: list[np.ndarray]) -> Callable[[], Any]:
    *operands, weights = arrays
    if not is_gradient:
        value = wg.function(layer)
        return lambda: [value(*operands)]
    gradient = wg.function(wg.grad(lambda *xs: wg.sum(layer(*xs) * weights), argnums=(*range(len(operands)),)))
    return lambda: gradient(*operands)


# -- torch's ----------------------------------------------------------------------------------------------------------


def torch_convolution(row: Convolution, layout: str) -> Callable[..., Any]:
    import torch

    convolve = (torch.nn.functional.conv1d, torch.nn.functional.conv2d)[len(row.extents) - 1]
    low, high = padding(row)
    axes = len(row.extents)
    options = {"stride": row.stride, "dilation": row.dilation, "groups": row.groups}

    def layer(x: Any, w: Any) -> Any:
        x = x if layout == "first" else x.movedim(-1, 1)
        if low == high:
            y = convolve(x, w, padding=low, **options)
        else:
            y = convolve(torch.nn.functional.pad(x, (low, high) * axes), w, **options)
        return y if layout == "first" else y.movedim(1, -1)

    return layer


def torch_attention(row: Attention) -> Callable[..., Any]:
    import torch

    return lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=row.is_causal)


def torch_call(layer: Callable[..., Any], is_gradient: bool, arrays: list[np.ndarray]) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(libraries.THREADS)
    *operands, weights = map(torch.as_tensor, arrays)

    def value() -> Any:
        with torch.no_grad():
            return [layer(*operands)]

    def gradient() -> Any:
        leaves = [x.detach().requires_grad_() for x in operands]
        return torch.autograd.grad(layer(*leaves), leaves, weights)

    return gradient if is_gradient else value


# -- rows -------------------------------------------------------------------------------------------------------------


def padding(row: Convolution) -> tuple[int, int]:
    """How much is put before and behind each axis: "same" for a stride of 1, for others as torch's users write it."""
    whole = (row.taps - 1) * row.dilation
    return whole // 2, whole - whole // 2


def arrays_of(row: Convolution | Attention, layout: str) -> list[np.ndarray]:
    """The operands, and weights of the result's elements."""
    rng = np.random.default_rng(0)
    if isinstance(row, Attention):
        shapes = [(row.batch, row.heads, row.places, row.width)] * 4
    else:
        positions = [-(-n // row.stride) for n in row.extents]
        x, y = (row.images, row.channels, *row.extents), (row.images, row.filters, *positions)
        if layout == "last":
            x, y = (row.images, *row.extents, row.channels), (row.images, *positions, row.filters)
        shapes = [x, (row.filters, row.channels // row.groups, *[row.taps] * len(row.extents)), y]
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def measured(
    title: str, row: Convolution | Attention, layout: str, is_gradient: bool, options: Any
) -> Row:  # fmt: skip
    arrays = arrays_of(row, layout)
    try:
        if isinstance(row, Attention):
            layers = our_attention(row), torch_attention(row)
        else:
            layers = our_convolution(row, layout), torch_convolution(row, layout)
        calls = our_call(layers[0], is_gradient, arrays), torch_call(layers[1], is_gradient, arrays)
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
    known: dict[str, Convolution | Attention] = {**CONVOLUTIONS, **ATTENTIONS}
    for name, row in known.items():
        if names and not any(name.startswith(wanted) for wanted in names):
            continue
        for layout in LAYOUTS if isinstance(row, Convolution) else [""]:
            for what in options.what.split(","):
                title = " ".join(filter(None, [name, layout and f"channels {layout}", what]))
                yield measured(title, row, layout, what == "gradient", options)


def told(row: Row) -> str:
    return f"{row.title:56}{row.ours:12.1f}{row.torch:12.1f}{row.ratio:9.2f}  {row.error or ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="what the rows' names begin with; all of them without")
    parser.add_argument("--what", default="value,gradient")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each")
    parser.add_argument("--above", type=float, default=1.0)
    options = parser.parse_args()
    print(f"{'layer':56}{'ours, us':>12}{'torch, us':>12}{'of torch':>9}")
    harness.tell_rows(rows(options.names, options), told, options.above, "torch")


if __name__ == "__main__":
    main()
