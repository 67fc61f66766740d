"""What is checked of a call of the vocabulary (`tests/support/vocabulary_cases.py`): values, and derivatives beside differences."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from tests.support.vocabulary_cases import Case, Program
from wengert import ops

Array = Any
STEP = 2e-4  # fourth-order differences: the fourth power of the step is below rounding


def op_of(case: Case) -> Callable[..., Any]:
    found: Any = ops
    for part in case.op.split("."):
        found = getattr(found, part)
    return found


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def map_arrays(value: Any, change: Callable[[Array], Any]) -> Any:
    """An argument with its arrays changed, and its programs built."""
    if isinstance(value, Program):
        return value.build(ops)
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Program, np.ndarray, list, tuple)) for v in value):
        return type(value)(map_arrays(v, change) for v in value)
    return value


def call(case: Case, args: Any = None, kwargs: Any = None) -> list[Any]:
    args, kwargs = case.args if args is None else args, case.kwargs if kwargs is None else kwargs
    same = lambda x: x
    return leaves(
        op_of(case)(*(map_arrays(a, same) for a in args), **{k: map_arrays(v, same) for k, v in kwargs.items()})
    )


def sources(case: Case) -> list[Array]:
    """The arrays that gradients are of, in order, in double precision."""
    found: list[Array] = []

    def collect(x: Array) -> Array:
        if x.dtype.kind in "fc":
            found.append(x.astype(complex if x.dtype.kind == "c" else float))
        return x

    _visit(case, collect)
    return found


def _visit(case: Case, change: Callable[[Array], Any]) -> tuple[Any, Any]:
    args = [a if i in case.fixed else map_arrays(a, change) for i, a in enumerate(case.args)]
    kwargs = {k: map_arrays(v, change) if k in case.sources.split() else v for k, v in case.kwargs.items()}
    return args, kwargs


def with_sources(case: Case, values: Any) -> list[Any]:
    waiting = list(values)
    args, kwargs = _visit(case, lambda x: waiting.pop(0) if x.dtype.kind in "fc" else x)
    return _plain_call(case, args, kwargs)


def _plain_call(case: Case, args: Any, kwargs: Any) -> list[Any]:
    """A call on arguments that may hold tensors."""

    def ready(value: Any) -> Any:
        if isinstance(value, Program):
            return value.build(ops)
        return type(value)(map(ready, value)) if isinstance(value, (list, tuple)) else value

    return leaves(op_of(case)(*map(ready, args), **{k: ready(v) for k, v in kwargs.items()}))


def loss(case: Case) -> Callable[..., Any]:
    """The results, weighed and added up."""

    def run(*values: Any) -> Any:
        rng = np.random.default_rng(zlib.crc32(case.name.encode()) + 1)
        total: Any = 0.0
        for result in with_sources(case, values):
            if np.dtype(result.dtype).kind not in "fc":
                continue
            w = rng.uniform(0.3, 1.0, result.shape) * rng.choice([-1, 1], result.shape)
            if case.seen == "abs":
                total = total + ops.sum(ops.abs(result) * w)
            elif np.dtype(result.dtype).kind == "c":
                total = total + ops.sum(ops.real(result) * w) + ops.sum(ops.imag(result) * np.cos(w))
            else:
                total = total + ops.sum(result * w)
        return total

    return run


def dot(x: list[Any], y: list[Any]) -> float:
    """The real inner product of two lists of arrays."""
    return float(sum(np.sum(np.conj(np.asarray(a)) * np.asarray(b)).real for a, b in zip(x, y, strict=True)))


def direction(case: Case, xs: list[Array], salt: int = 0) -> list[Array]:
    rng = np.random.default_rng(zlib.crc32(case.name.encode()) + 2 + salt)

    def one(x: Array) -> Array:
        v = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
        return v + np.swapaxes(v, -1, -2) if case.symmetric else np.asarray(v)

    return [one(x) for x in xs]


def slope(f: Callable[..., Any], xs: list[Array], v: list[Array], step: float = STEP) -> Any:
    """The derivative of f along v by differences."""

    def at(t: float) -> Any:
        return f(*(np.asarray(x + t * step * d) for x, d in zip(xs, v, strict=True)))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


def gradient(case: Case, xs: list[Array]) -> list[Array]:
    found = wg.grad(loss(case), argnums=(*range(len(xs)),), unconnected_gradients="zero")(*xs)
    return [np.asarray(g) for g in found]


def close(one: float, other: float, tolerance: float, what: str) -> None:
    assert abs(one - other) <= tolerance * max(1.0, abs(one), abs(other)), f"{what}: {one} and {other}"


def check_derivatives(case: Case, second: bool = True) -> None:
    """First and second order in both modes, beside differences; batched beside looped."""
    xs = sources(case)
    if not xs:
        return
    v, u = direction(case, xs), direction(case, xs, 7)
    f = loss(case)
    g = gradient(case, xs)
    for x, of_x in zip(xs, g, strict=True):
        assert of_x.shape == x.shape
        assert of_x.dtype == x.dtype
    plain = lambda *values: np.asarray(f(*values))
    if case.op == "imag" and not np.iscomplexobj(xs[0]):  # a constant
        return
    if not any(
        isinstance(r, wg.Tensor) and np.dtype(r.dtype).kind in "fc"
        for r in with_sources(case, [wg.tensor(x) for x in xs])
    ):
        return
    # a stencil may straddle a kink; then a narrower one tells, with fewer digits
    try:
        close(dot(g, v), float(slope(plain, xs, v)), 1e-7, "reverse and differences")
    except AssertionError:
        close(dot(g, v), float(slope(plain, xs, v, STEP / 50)), 1e-6, "reverse and differences")
    close(float(np.asarray(wg.jvp(f, (*xs,), (*v,))[1])), dot(g, v), 1e-10, "forward and reverse")
    if second:
        of_gradient = lambda *values: dot(u, gradient(case, list(values)))
        inner = lambda *values: _product(
            u, wg.grad(f, argnums=(*range(len(xs)),), unconnected_gradients="zero")(*values)
        )
        twice = wg.grad(inner, argnums=(*range(len(xs)),), unconnected_gradients="zero")(*xs)
        try:
            close(dot(list(twice), v), float(slope(of_gradient, xs, v)), 1e-6, "second order and differences")
        except AssertionError:
            close(
                dot(list(twice), v), float(slope(of_gradient, xs, v, STEP / 50)), 1e-5, "second order and differences"
            )
        close(
            float(np.asarray(wg.jvp(inner, (*xs,), (*v,))[1])),
            dot(list(twice), v),
            1e-9,
            "forward over reverse and reverse over reverse",
        )


def _product(u: list[Array], g: Any) -> Any:
    total: Any = 0.0
    for a, b in zip(u, g, strict=True):
        total = total + ops.sum(ops.real(ops.multiply(np.conj(a), b)))
    return total


def check_batch(case: Case) -> None:
    """A batch of two inputs at once, and one after the other."""
    xs = sources(case)
    if not xs:
        return
    others = [x + 1e-3 * v for x, v in zip(xs, direction(case, xs), strict=True)]
    f = lambda *values: (*(r for r in with_sources(case, values) if isinstance(r, wg.Tensor)),)
    singly = [f(*map(wg.tensor, values)) for values in (xs, others)]
    if not singly[0]:
        return
    together = wg.vmap(f)(*(np.stack([x, y]) for x, y in zip(xs, others, strict=True)))
    for i, alone in enumerate(singly):
        for one, other in zip(together, alone, strict=True):
            seen = np.abs if case.seen == "abs" else np.asarray
            np.testing.assert_allclose(seen(np.asarray(one)[i]), seen(np.asarray(other)), rtol=1e-9, atol=1e-9)


# -- values ------------------------------------------------------------------------------------------------------------

FEW = 12  # of more numbers than these, six weighted sums are recorded


class Told(NamedTuple):
    """What is recorded of a result: its shape, the kind of its dtype, whether that has 32 bits or fewer, and numbers."""

    shape: tuple[int, ...]
    kind: str
    is_narrow: bool
    numbers: Array


def told(case: Case, result: Any) -> Told:
    """What of a result is compared."""
    array = np.asarray(result.numpy() if isinstance(result, wg.Tensor) else result)
    if array.dtype.kind in "USO":
        array = np.array([], bool)  # a name
    kind = array.dtype.kind.replace("u", "i")
    is_narrow = array.dtype.itemsize <= (8 if kind == "c" else 4) and kind in "fc"
    values = np.abs(array) if case.seen == "abs" else array
    line = np.stack([values.real, values.imag], -1).ravel() if kind == "c" else values.ravel().astype(float)
    line = (
        np.where(np.isfinite(line), line, np.where(np.isnan(line), 1e3, np.sign(line) * 1e4))
        if line.size > FEW
        else line
    )
    if line.size > FEW:
        line = np.random.default_rng(line.size).uniform(0.5, 1.5, (6, line.size)) @ line / np.sqrt(line.size)
    return Told(array.shape, kind, is_narrow, np.zeros(0) if case.seen == "shape" else line)


def plain_results(case: Case) -> list[Told]:
    """What we say of a call."""
    return [told(case, result) for result in call(case)]


# Keras or its backend computes in float32 inside, whatever comes in
NARROW_INSIDE = ("image.", "ctc_loss", "dot_product_attention", "quantile", "percentile", "nanquantile", "nanpercentile", "leaky_relu",
                 "logaddexp2", "gelu", "mod", "fmod", "round", "trapezoid", "histogram", "mean/23", "mean/24")  # fmt: skip


def agree(case: Case, ours: list[Told], theirs: list[Told]) -> bool:
    """Whether two lists of results are the same."""
    if len(ours) != len(theirs):
        return False
    for one, other in zip(ours, theirs, strict=True):
        if one.shape != other.shape or one.kind != other.kind or len(one.numbers) != len(other.numbers):
            return False
        loose = one.is_narrow or other.is_narrow or case.name.startswith(NARROW_INSIDE)
        tolerance = 3e-5 if loose else 1e-9
        if not np.allclose(one.numbers, other.numbers, rtol=tolerance, atol=tolerance, equal_nan=True):
            return False
    return True
