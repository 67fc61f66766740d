"""Linear filters in one direction and in both: `lfilter`, `sosfilt`, `filtfilt` and their starting states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import linalg
from .. import numpy as np
from .._core.argument_types import ArrayLike, Axes
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import LostGradientError
from ..ops.filtering import convolve as convolved
from ..programs.specs import TensorSpec
from ..rules.extend import primitive
from ._conversions import floats, meeting, recorded

# -- the recursion -----------------------------------------------------------------------------------------------------
# y[n] + a[0] y[n-1] + a[1] y[n-2] + ... = u[n] along the last axis; a may have leading axes, which are then u's, too


def _recursion_kernel(a: Any, u: Any) -> Any:
    if a.ndim > 1:
        rows = [_recursion_kernel(p, v) for p, v in zip(a, u, strict=True)]
        return numpy.stack(rows) if rows else numpy.zeros_like(u)
    one = numpy.ones(1, u.dtype)
    return scipy("signal").lfilter(one, numpy.concatenate([one, a.astype(u.dtype)]), u, axis=-1).astype(u.dtype)


def _delayed(y: Tensor, steps: int) -> Tensor:
    """The signal some steps later, zeros before it."""
    kept = y[..., : max(y.shape[-1] - steps, 0)]
    zeros = np.zeros((*y.shape[:-1], y.shape[-1] - kept.shape[-1]), y.dtype)
    return np.concatenate([zeros, kept], axis=-1)


def _recursion_vjp(ct: Tensor, out: Tensor, a: Tensor, u: Tensor) -> Any:
    back = np.flip(recursion(np.conj(a), np.flip(ct, -1)), -1)
    shared = a.ndim - 1
    summed = (*range(shared, u.ndim),)
    slopes = [-np.sum(np.conj(_delayed(out, k + 1)) * back, axis=summed) for k in range(a.shape[-1])]
    return np.stack(slopes, axis=-1), back


def _recursion_jvp(tangents: tuple[Tensor, ...], out: Tensor, a: Tensor, u: Tensor) -> Any:
    of_a, of_u = tangents
    total = np.zeros_like(u) if of_u is None else of_u
    if of_a is not None:
        shared, inner = a.shape[:-1], (1,) * (u.ndim - a.ndim + 1)
        for k in range(a.shape[-1]):
            total = total - np.reshape(of_a[..., k], (*shared, *inner)) * _delayed(out, k + 1)
    return recursion(a, total)


def _recursion_batch(inputs: tuple[Tensor, ...], batched: tuple[bool, ...]) -> Any:
    a, u = inputs
    if not batched[0] and a.ndim == 1:
        return recursion(a, u)
    count = (a if batched[0] else u).shape[0]
    a = a if batched[0] else np.broadcast_to(a, (count, *a.shape))
    u = u if batched[1] else np.broadcast_to(u, (count, *u.shape))
    return recursion(a, u)


def _recursion_spec(a: ArrayLike, u: TensorSpec) -> TensorSpec:
    return u


recursion = primitive(
    "recursive_filter", spec=_recursion_spec, numpy=_recursion_kernel, vjp=_recursion_vjp, jvp=_recursion_jvp,
    batch=_recursion_batch,
)  # fmt: skip


def _summed(b: Tensor, x: Tensor) -> Tensor:
    """The whole convolution of a signal's last axis with taps."""
    rows = np.reshape(x, (-1, x.shape[-1]))
    found = convolved(rows, b[None], method="direct")
    return np.reshape(found, (*x.shape[:-1], found.shape[-1]))


def filtered(b: Any, a: Any, x: Any, zi: Any = None) -> tuple[Tensor, Tensor]:
    """A filter along the last axis, and its state after it."""
    b, a, x = meeting(b, a, x) if zi is None else meeting(b, a, x, zi)[:3]
    if b.ndim > 1 or a.ndim > 1:
        raise ValueError(f"lfilter: b and a must be vectors, got shapes {b.shape} and {a.shape}")
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    order = max(b.shape[0], a.shape[0])
    b = np.pad(b, (0, order - b.shape[0])) / a[0]
    a = np.pad(a, (0, order - a.shape[0])) / a[0]
    count = x.shape[-1]
    whole = _summed(b, x)
    if zi is not None and order > 1:
        state = np.broadcast_to(floats(zi).astype(x.dtype), (*x.shape[:-1], order - 1))
        whole = whole + np.concatenate([state, np.zeros((*x.shape[:-1], count), x.dtype)], axis=-1)
    if order == 1:
        return whole, whole[..., count:]
    y = recursion(a[1:], whole[..., :count])
    echo = _summed(np.concatenate([np.zeros(1, a.dtype), a[1:]]), y)
    return y, whole[..., count:] - echo[..., count:]


@recorded
def lfilter(b: object, a: object, x: ArrayLike, axis: Axes = -1, zi: ArrayLike | None = None) -> Any:
    """A digital filter along an axis, with gradients in b, a, x and zi."""
    x = floats(x)
    row = None if zi is None else np.moveaxis(floats(zi), axis, -1)
    y, after = filtered(b, a, np.moveaxis(x, axis, -1), row)
    y = np.moveaxis(y, -1, axis)
    return y if zi is None else (y, np.moveaxis(after, -1, axis))


def starting_state(b: Any, a: Any) -> Tensor:
    """The state of a filter in which its answer to a step does not change."""
    b, a = meeting(b, a)
    # leading zeros, which SciPy drops, are those of constants
    order = max(b.shape[0], a.shape[0])
    b = np.pad(b, (0, order - b.shape[0])) / a[0]
    a = np.pad(a, (0, order - a.shape[0])) / a[0]
    companion = np.concatenate([-a[1:][:, None], np.eye(order - 1, order - 2, dtype=a.dtype)], axis=1)
    return linalg.solve(np.eye(order - 1, dtype=a.dtype) - companion, b[1:] - a[1:] * b[0])


@recorded
def lfilter_zi(b: ArrayLike, a: ArrayLike) -> Any:
    """The state of a filter in which its answer to a step does not change, with gradients in b and a."""
    return starting_state(b, a)


# -- sections of second order ------------------------------------------------------------------------------------------


def _sections(sos: ArrayLike) -> Tensor:
    found = floats(sos)
    if found.ndim != 2 or found.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    return found


def in_sections(sos: Tensor, x: Tensor, zi: Any = None) -> tuple[Tensor, Tensor]:
    """Sections one after the other along the last axis; zi is (sections, ..., 2)."""
    after: list[Any] = []
    for i in range(sos.shape[0]):
        x, state = filtered(sos[i, :3], sos[i, 3:], x, None if zi is None else zi[i])
        after.append(state)
    return x, np.stack(after)


@recorded
def sosfilt(sos: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    """A filter in sections of second order, with gradients in the sections, x and zi."""
    sos, x = _sections(sos), floats(x)
    axis = axis % x.ndim
    state = None if zi is None else np.moveaxis(floats(zi), axis + 1, -1)
    y, after = in_sections(sos, np.moveaxis(x, axis, -1), state)
    y = np.moveaxis(y, -1, axis)
    return y if zi is None else (y, np.moveaxis(after, -1, axis + 1))


def _sections_state(sos: Tensor) -> Tensor:
    scale: Any = 1.0
    found: list[Any] = []
    for i in range(sos.shape[0]):
        b, a = sos[i, :3], sos[i, 3:]
        found.append(scale * starting_state(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(found)


@recorded
def sosfilt_zi(sos: ArrayLike) -> Any:
    """The states of sections in which their answer to a step does not change, with gradients in the sections."""
    return _sections_state(_sections(sos))


# -- in both directions ------------------------------------------------------------------------------------------------


def extended(x: Tensor, kind: str | None, edge: int) -> Tensor:
    """A signal with more elements at both ends of its last axis."""
    if kind is None or edge == 0:
        return x
    first, last = x[..., :1], x[..., -1:]
    if kind == "constant":
        shape = (*x.shape[:-1], edge)
        return np.concatenate([np.broadcast_to(first, shape), x, np.broadcast_to(last, shape)], axis=-1)
    count = x.shape[-1]
    before = np.flip(x[..., 1 : edge + 1], -1)
    behind = np.flip(x[..., count - edge - 1 : count - 1], -1)
    if kind == "odd":
        before, behind = 2 * first - before, 2 * last - behind
    return np.concatenate([before, x, behind], axis=-1)


def _edge(padtype: str | None, padlen: Any, count: int, taps: int) -> int:
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
    edge = 0 if padtype is None else taps * 3 if padlen is None else padlen
    if count <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    return edge


def _there_and_back(x: Tensor, edge: int, run: Callable[..., Any]) -> Tensor:
    y = run(x, x[..., :1])
    y = np.flip(run(np.flip(y, -1), y[..., -1:]), -1)
    return y[..., edge : y.shape[-1] - edge]


@recorded
def filtfilt(
    b: Any, a: Any, x: ArrayLike, axis: int = -1, padtype: Any = "odd", padlen: Any = None, method: str = "pad",
    irlen: object = None,
) -> Any:  # fmt: skip
    """A filter forwards and backwards, with gradients in b, a and x (not for method="gust")."""
    if method != "pad":
        raise LostGradientError(at_user_line(f"filtfilt: method {method!r} cannot be followed; use method='pad'"))
    b, a = np.atleast_1d(floats(b)), np.atleast_1d(floats(a))
    row = np.moveaxis(floats(x), axis, -1)
    taps = max(a.shape[0], b.shape[0])
    edge = _edge(padtype, padlen, row.shape[-1], taps)
    state = starting_state(b, a) if taps > 1 else None

    def run(signal: Tensor, first: Tensor) -> Tensor:
        return filtered(b, a, signal, None if state is None else state * first)[0]

    return np.moveaxis(_there_and_back(extended(row, padtype, edge), edge, run), -1, axis)


@recorded
def sosfiltfilt(sos: Any, x: ArrayLike, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Sections of second order forwards and backwards, with gradients in the sections and x."""
    sos = _sections(sos)
    row = np.moveaxis(floats(x), axis, -1)
    numbers = sos.numpy()
    taps = 2 * sos.shape[0] + 1 - min(int((numbers[:, 2] == 0).sum()), int((numbers[:, 5] == 0).sum()))
    edge = _edge(padtype, padlen, row.shape[-1], taps)
    states = _sections_state(sos)

    def run(signal: Tensor, first: Tensor) -> Tensor:
        return in_sections(sos, signal, [states[i] * first for i in range(sos.shape[0])])[0]

    return np.moveaxis(_there_and_back(extended(row, padtype, edge), edge, run), -1, axis)


__all__ = ["filtfilt", "lfilter", "lfilter_zi", "sosfilt", "sosfilt_zi", "sosfiltfilt"]
