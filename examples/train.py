"""Training without a framework: minibatches, a schedule, checkpoints, progress, and a log of gradient norms.

A small network learns handwritten digits (the data of `wengert demo`) with AdamW. One step is a `wg.function`: loss,
gradient, clipping and update run as one compiled program. The state (parameters, the optimiser's, the position in the
data) is a nested structure of arrays, which a checkpoint keeps as it is: a run that was stopped goes on with the same
bits as one that was not. tqdm shows the progress where it is installed.

    python examples/train.py [--epochs 8] [--checkpoint run.npz] [--stop-after 2] [--plot train.svg]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.cli.demo.digits import load_digits

BATCH = 64
HIDDEN = 32


def network(params: Any, images: Any) -> Any:
    """Scores of the ten digits, for a batch of images as rows."""
    hidden = np.tanh(images @ params["in"]["w"] + params["in"]["b"])
    return hidden @ params["out"]["w"] + params["out"]["b"]


def loss(params: Any, images: Any, digits: Any) -> Any:
    """The mean cross-entropy of a batch."""
    return wg.mean(wg.ops.sparse_categorical_crossentropy(digits, network(params, images), from_logits=True))


def initial(pixels: int, seed: int = 0) -> Any:
    """Parameters before training, drawn by a key."""
    first, second = wg.random.split(wg.random.key(seed), 2)
    return {
        "in": {"w": wg.random.normal(first, (pixels, HIDDEN)).numpy() / pixels**0.5, "b": np.zeros(HIDDEN)},
        "out": {"w": wg.random.normal(second, (HIDDEN, 10)).numpy() / HIDDEN**0.5, "b": np.zeros(10)},
    }


def make_step(opt: Any) -> Any:
    """One step of training, compiled: traced once, as the optimiser's step count is an array."""

    @wg.function
    def step(params: Any, state: Any, images: Any, digits: Any) -> Any:
        value, gradients = wg.value_and_grad(loss)(params, images, digits)
        updates, state = opt.update(gradients, state, params)
        return wg.optimize.apply_updates(params, updates), state, value, wg.optimize.global_norm(gradients)

    return step


def batches(count: int, epoch: int) -> Iterable[np.ndarray]:
    """Indices of an epoch's batches, in an order that only the epoch's number tells."""
    order = np.random.default_rng(epoch).permutation(count)
    return [order[i : i + BATCH] for i in range(0, count - BATCH + 1, BATCH)]


def save(path: Path, epoch: int, tree: Any) -> None:
    """Writes a checkpoint: under another name first, so that a stop in between leaves the old one whole."""
    leaves = {f"leaf {i}": leaf for i, leaf in enumerate(wg.tree.leaves(tree))}
    beside = path.with_suffix(".part.npz")
    np.savez(beside, epoch=epoch, **leaves)
    os.replace(beside, path)


def restore(path: Path, tree: Any) -> tuple[int, Any]:
    """The epoch of a checkpoint, and a structure like the given one with what it holds."""
    spec = wg.tree.structure(tree)
    with np.load(path) as file:
        leaves = [file[f"leaf {i}"] for i in range(len(wg.tree.leaves(tree)))]
        return int(file["epoch"]), wg.tree.unflatten(spec, leaves)


def shown(values: Sequence[Any], title: str) -> Iterable[Any]:
    """The values, with a bar of progress where tqdm is installed."""
    if importlib.util.find_spec("tqdm") is None:
        return values
    return importlib.import_module("tqdm").tqdm(values, desc=title, leave=False)


def plot(log: Sequence[tuple[float, float]], path: str) -> None:
    """Draws the loss and the gradient's norm at each step of this run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for axis, values, title in zip(axes, zip(*log, strict=True), ("loss of a batch", "gradient norm"), strict=True):
        axis.plot(values, linewidth=1)
        axis.set(xlabel="step", yscale="log", title=title)
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> float:
    """Trains, and gives the share of digits that the network tells right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--stop-after", type=int, help="stop after so many epochs, as if interrupted")
    parser.add_argument("--plot", metavar="FILE", help="write a picture, as SVG or PNG (needs the extra wengert[plot])")
    options = parser.parse_args(arguments)
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib, which is not installed: pip install 'wengert[plot]'")

    data = load_digits()
    images, digits = data.images, data.labels
    steps = options.epochs * (len(images) // BATCH)
    rate = wg.optimize.warmup_cosine(0.0, 0.02, steps // 10, steps)
    opt = wg.optimize.chain(wg.optimize.clip_by_global_norm(1.0), wg.optimize.adamw(rate, weight_decay=1e-3))
    params = initial(images.shape[1])
    state, epoch = opt.init(params), 0
    if options.checkpoint and options.checkpoint.exists():
        epoch, (params, state) = restore(options.checkpoint, (params, state))
        print(f"goes on after epoch {epoch}")

    step = make_step(opt)
    log: list[tuple[float, float]] = []
    last = options.epochs if options.stop_after is None else min(options.stop_after, options.epochs)
    for done in range(epoch, last):
        first = len(log)
        for rows in shown(list(batches(len(images), done)), f"epoch {done + 1}"):
            params, state, value, norm = step(params, state, images[rows], digits[rows])
            log.append((float(value), float(norm)))
        mean_loss, mean_norm = np.mean(log[first:], axis=0)
        print(f"epoch {done + 1}: loss {mean_loss:.6f}, gradient norm {mean_norm:.3f}")
        if options.checkpoint:
            save(options.checkpoint, done + 1, (params, state))

    right = float(np.mean(np.argmax(network(params, images), axis=1) == digits))
    print(f"told right: {right:.2%}")
    if options.plot:
        plot(log, options.plot)
    return right


if __name__ == "__main__":
    main()
