"""Saved functions to damage: each primitive's samples, and programs with loops, branches, gradients and buffers."""

from __future__ import annotations

import io
import json
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert._core.op import REGISTRY, Op

HEADER = struct.Struct("<8sQQI")


class Saved(NamedTuple):
    """A function's file: what it says, and the bytes of its arrays."""

    name: str
    text: str
    body: bytes


def corpus() -> list[Saved]:
    """All functions that are damaged, as files."""
    found: list[Saved] = []
    for name, function, arguments in (*samples(), *programs()):
        traced = wg.function(function)
        try:
            with np.errstate(all="ignore"):
                traced(*arguments)
        except (TypeError, ValueError, NotImplementedError, LookupError, np.linalg.LinAlgError):
            continue  # a sample that has no gradient, or cannot be an argument
        found.append(_file(name, traced))
    return found


def _file(name: str, function: Any) -> Saved:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        wg.save(function, path)
        content = io.BytesIO(path.read_bytes())
    _, size, _, _ = HEADER.unpack(content.read(HEADER.size))
    return Saved(name, content.read(size).decode(), content.read())


def samples() -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """One function for each sample of each primitive, and its gradient."""
    rng = np.random.default_rng(1)
    for op in REGISTRY.values():
        samples = op.facts.samples or ([] if op.attrs else [(((2, 3),) * len(op.operands), ())])
        for operands, attrs in samples:
            arguments = [_argument(op, spec, rng) for spec in operands]
            values = dict(zip(op.attrs, attrs, strict=True))
            yield op.name, _applied(op, values), arguments
            is_followed = any(x.dtype.kind == "f" for x in arguments)
            if is_followed and op.kind not in ("zero", "stop", "not_differentiable") and not op.is_multi:
                yield f"gradient of {op.name}", _slope(op, values, arguments), arguments


def _applied(op: Op, attrs: dict[str, Any]) -> Callable[..., Any]:
    return lambda *xs: op(*map(wg.tensor, xs), **attrs)


def _slope(op: Op, attrs: dict[str, Any], arguments: list[Any]) -> Callable[..., Any]:
    places = tuple(i for i, x in enumerate(arguments) if x.dtype.kind == "f")
    return wg.grad(lambda *xs: wg.sum(wg.real(op(*map(wg.tensor, xs), **attrs))), argnums=places)


def _argument(op: Op, spec: Any, rng: Any) -> Any:
    if callable(spec):
        return np.asarray(spec(rng))
    if not isinstance(spec, tuple):
        return np.asarray(spec)
    if op.facts.dtypes == "bool":
        return rng.random(spec) < 0.5
    if op.facts.dtypes == "integer":
        return rng.integers(0, 5, spec)
    return rng.uniform(0.2, 0.9, spec)


def programs() -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """Functions with loops, branches, buffers and windows, and their gradients."""
    # more elements than machine code keeps in registers, where nothing can be read beside them
    x, places = np.linspace(0.2, 1.5, 200), np.array([0, 2, 2, 5, 1])
    image, kernel = np.linspace(0, 1, 72).reshape(1, 2, 6, 6), np.linspace(-1, 1, 36).reshape(2, 2, 3, 3)

    def scanned(x: Any) -> Any:
        return wg.scan(lambda c, e: (wg.sin(c) * e, c + e), x[0] * 1, x)[1]

    def kept(x: Any) -> Any:
        return wg.scan(lambda c, e: (wg.sin(c) * e, c + e), x[0] * 1, x, checkpoint="sqrt")[1]

    def repeated(x: Any) -> Any:
        return wg.while_loop(lambda i, c: i < 5, lambda i, c: (i + 1, wg.sin(c) + x), (0, x))[1]

    def chosen(x: Any) -> Any:
        return wg.cond(x[0] > 0.1, lambda: wg.exp(x)[1:4], lambda: x[2:5])

    def written(x: Any) -> Any:
        b = wg.buffer(wg.zeros(202))
        b[1:201] = x
        b[2] = x[0] * 3
        return b[::2] * 2

    def segmented(x: Any, places: Any) -> Any:
        return wg.ops.segment_sum(x[:5], places, 6)

    def convolved(image: Any, kernel: Any) -> Any:
        ones = (1, 1)
        return REGISTRY["conv"](
            wg.tensor(image), wg.tensor(kernel), strides=ones, padding=(ones, ones), lhs_dilation=ones,
            rhs_dilation=ones, groups=1, batch_groups=1,
        )  # fmt: skip

    def sorted_(x: Any) -> Any:
        return wg.sort(x) * wg.cumsum(x) + wg.flip(x)

    one = (scanned, kept, repeated, chosen, written, sorted_)
    for function in one:
        yield function.__name__, function, [x]
        yield f"gradient of {function.__name__}", wg.grad(_summed(function)), [x]
    for function, arguments in ((segmented, [x, places]), (convolved, [image, kernel])):
        yield function.__name__, function, arguments
        yield f"gradient of {function.__name__}", wg.grad(_summed(function)), arguments


def _summed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: wg.sum(function(*xs))


def read(path: str) -> list[Saved]:
    """The corpus as `python -m tests.torture.corpus PATH` has written it."""
    return [Saved(name, text, bytes.fromhex(body)) for name, text, body in json.loads(Path(path).read_text())]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps([[name, text, body.hex()] for name, text, body in corpus()]))
