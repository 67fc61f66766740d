"""`check_gradients`: a function's derivatives, in both modes and to any order, against finite differences.

The floating entries of the arguments are one real vector (`_Point`), and what is differentiated is a `Program` from
their tensors to the floating results; the gradient of a program is a program again, which is how the second order
is checked. Start with `check_gradients`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ._compile.arguments import array_argument, require_callable
from ._compile.parameters import positional_names
from ._core import dtypes
from ._core.argument_types import Progress, Tree
from ._core.constant import constant, is_number
from ._core.dtypes import eps_of
from ._core.kinds import ARRAYS
from ._core.op import ZERO
from ._core.progress import Step, following
from ._core.public import public
from ._core.state import next_serial, recording
from ._core.structure import flatten, is_number_list, paths, unflatten
from ._core.tensor import Tensor, is_tensor_or_variable
from ._core.types import type_of
from ._core.user_line import at_user_line
from ._prims.structural import alias, cast, conj_of, mul, real, reduce_sum, zeros_of
from ._transforms.forward import Tangents
from .differentiation.functional import grad
from .errors import GradientCheckError
from .ops.promotion import as_tensor

__all__ = ["GradientCheck", "check_gradients"]

Program = Callable[..., "list[Tensor]"]
Vector = np.ndarray[Any, np.dtype[np.float64]]

MODES = ("reverse", "forward")
# Up to these numbers every partial derivative is compared; beyond, random directions and a sample of entries.
EVERY_ENTRY = {"reverse": 4096, "forward": 64}
DIRECTIONS, SAMPLE = 4, 64
ROWS = 20  # of a table

_SHRINK = 8.0  # from one step of the differences to the next smaller one
_STEPS = 5
_NOISE = 64.0  # rounding errors of one evaluation, in units of eps times its magnitude


class GradientCheck(NamedTuple):
    """What `check_gradients` returns where all is well.

    Attributes:
        checked: how many derivatives were compared, over all modes and orders.
        largest_error: the largest difference, relative to the largest derivative of its comparison.
    """

    checked: int
    largest_error: float


@public
def check_gradients(
    f: Callable[..., Any], *args: Tree, order: int = 2, modes: str | Sequence[str] = MODES,
    rtol: float | None = None, atol: float | None = None, progress: Progress = None,
) -> GradientCheck:  # fmt: skip
    """Compares the derivatives of f with finite differences.

    Fourth-order central differences are taken, with a step in proportion to each entry; where the first step
    disagrees, smaller ones are tried and the one that its neighbours confirm counts. Arguments of float32, float16,
    bfloat16 and complex64 are widened to float64 and complex128 for the differences (if f takes them); what they are
    compared with is computed in the given dtype. Up to 4,096 entries each one is checked in reverse mode, and up to
    64 in forward mode; of more, four random directions and, in reverse, a sample of 64 entries. Results that are not
    one real number are weighted with fixed random numbers and summed. The second order is the same check of the
    weighted first derivative, each mode over each.

    Args:
        f: takes arrays (and anything else) and returns a tensor or a structure; results that are not floating do not
            count. It must be smooth at the arguments: at a kink differences give the mean of the slopes.
        *args: its arguments, structures included. Entries of floating and complex arrays, tensors, Variables, lists
            and numbers are differentiated; everything else (integers, strings) is passed on.
        order: how often to differentiate, from 1 to 8.
        modes: "reverse", "forward" or both.
        rtol: the relative tolerance: by default 1e-6 for float64, 1e-3 for float32 (2e-2 for float16, 0.1 for
            bfloat16), by the narrowest of the arguments and results.
        atol: the absolute tolerance: by default rtol / 100 of the largest derivative. The rounding errors of the
            differences themselves are allowed for in addition.
        progress: True shows how many derivatives are compared, with tqdm where that is installed; a function is called
            after each with a `Progress(what, done, total, note)`.

    Returns:
        `GradientCheck(checked, largest_error)`.

    Raises:
        GradientCheckError: derivatives disagree: the message is a table of them, such as `params['w'][1, 2]`, with
            both values; or a result of f is not finite.
        TypeError: f is not callable, no argument is floating, or no result is; `progress` is neither True nor a
            function.
        ValueError: a mode is unknown, or order is less than 1 or more than 8.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.check_gradients(lambda x: wg.sin(x) * x, np.array([0.5, 1.0])).checked
        12
    """
    require_callable(f, "check_gradients")
    chosen = _checked_modes(modes)
    _require_order(order)
    arguments = _Arguments(f, args)
    check = _Check(arguments.point, chosen, rtol, atol)
    with following(progress, "check_gradients", check.total(order)) as check.progress:
        check.run(arguments.program, order, "f")
    return GradientCheck(check.checked, check.largest_error)


MOST_ORDER = 8  # each order is a gradient of the one before, and some times as long


def _require_order(order: object) -> None:
    if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= MOST_ORDER:
        raise ValueError(
            at_user_line(f"check_gradients: order must be an integer from 1 to {MOST_ORDER}, got {order!r}")
        )


def _checked_modes(modes: Any) -> tuple[str, ...]:
    if not hasattr(modes, "__iter__"):
        raise TypeError(at_user_line(f"check_gradients: modes is {modes!r}, wanted 'reverse', 'forward' or both"))
    chosen = (modes,) if isinstance(modes, str) else (*modes,)
    for mode in chosen:
        if mode not in MODES:
            raise ValueError(at_user_line(f"check_gradients: unknown mode {mode!r}; wanted 'reverse' or 'forward'"))
    if not chosen:
        raise ValueError(at_user_line("check_gradients: modes is empty; wanted 'reverse', 'forward' or both"))
    return chosen


# -- arguments and results ---------------------------------------------------------------------------------------------


class _Leaf(NamedTuple):
    """One floating array among the arguments, and its part of the vector."""

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak: bool
    part: slice

    @property
    def is_complex(self) -> bool:
        return dtypes.is_complex(self.dtype)

    @property
    def wide(self) -> np.dtype[Any]:
        return dtypes.complex128 if self.is_complex else dtypes.float64


class _Point:
    """The floating entries of the arguments as one real vector (complex ones are two numbers), and the way back."""

    def __init__(self, tensors: Sequence[Tensor], names: Sequence[str]) -> None:
        self.leaves: list[_Leaf] = []
        parts: list[Vector] = []
        start = 0
        for tensor, path in zip(tensors, names, strict=True):
            part = _real_vector(tensor.numpy())
            shape = (*[int(n) for n in np.shape(tensor.numpy())],)
            self.leaves.append(_Leaf(path, shape, tensor.dtype, tensor._weak, slice(start, start + part.size)))
            parts.append(part)
            start += part.size
        self.vector = np.concatenate(parts)
        self.scales = np.concatenate([_scale_of(part) for part in parts])

    def tensors(self, vector: Vector, is_wide: bool) -> list[Tensor]:
        """The arguments at a vector, in their own dtypes or the widest."""
        return [_tensor_at(leaf, vector, leaf.wide if is_wide else leaf.dtype) for leaf in self.leaves]

    def flat(self, gradients: Sequence[Tensor]) -> Vector:
        """Gradients as a vector: of a complex entry its derivatives along the real and the imaginary direction."""
        return np.concatenate([_real_vector(g.numpy()) for g in gradients])

    def name(self, index: int) -> str:
        """How the user writes the entry at a place of the vector."""
        leaf = next(found for found in self.leaves if index < found.part.stop)
        place = index - leaf.part.start
        suffix = ""
        if leaf.is_complex:
            place, is_imaginary = divmod(place, 2)
            suffix = ".imag" if is_imaginary else ".real"
        if not leaf.shape:
            return leaf.path + suffix
        return f"{leaf.path}{_position(place, leaf.shape)}{suffix}"


def _position(place: int, shape: tuple[int, ...]) -> list[int]:
    """The indices of an element whose number is known."""
    found: list[int] = []
    for extent in reversed(shape):
        place, index = divmod(place, extent)
        found.insert(0, index)
    return found


def _real_vector(array: np.ndarray[Any, Any]) -> Vector:
    if dtypes.is_complex(array.dtype):
        return np.array(array, dtype=np.complex128, order="C").reshape(-1).view(np.float64)
    return np.array(array, dtype=np.float64, order="C").reshape(-1)


def _scale_of(part: Vector) -> Vector:
    """The natural unit of each entry: its magnitude, but not much less than its neighbours'."""
    largest = float(np.max(np.abs(part), initial=0.0))
    return np.maximum(np.abs(part), 0.1 * min(1.0, largest) if largest else 1.0)


def _tensor_at(leaf: _Leaf, vector: Vector, dtype: np.dtype[Any]) -> Tensor:
    part = np.array(vector[leaf.part])
    array = (part.view(np.complex128) if leaf.is_complex else part).reshape(leaf.shape).astype(dtype)
    return Tensor(array, next_serial(), None, leaf.weak)


class _Arguments:
    """f and its arguments, as a program of the floating leaves alone."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.f = f
        self.leaves, self.spec = flatten(args)
        names = positional_names(f, len(args))
        labels = [p for name, child in zip(names, self._children(), strict=True) for p in paths(child, name)]
        if not any(map(_is_floating, self.leaves)):  # a bare 3 means 3.0; beside floats, integers are passed on
            self.leaves = [_as_floats(leaf) for leaf in self.leaves]
        self.places = [i for i, leaf in enumerate(self.leaves) if _is_floating(leaf)]
        if not self.places:
            kinds = ", ".join(type(a).__name__ for a in args) or "none"
            raise TypeError(
                at_user_line(f"check_gradients: no argument of f is floating (got {kinds}); pass a number or an array")
            )
        tensors = [as_tensor(self.leaves[i], labels[i]) for i in self.places]
        self.point = _Point(tensors, [labels[i] for i in self.places])
        self.leaves = [array_argument(leaf) for leaf in self.leaves]

    def _children(self) -> tuple[Any, ...]:
        return self.spec.children if self.spec is not None else ()

    def program(self, *tensors: Tensor) -> list[Tensor]:
        """The floating results of f."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        results = flatten(self.f(*unflatten(self.spec, leaves)))[0]
        found = [as_tensor(r, "check_gradients: a result of f") for r in results if _is_floating(r)]
        if not found:
            kinds = ", ".join(type(r).__name__ for r in results) or "nothing"
            raise TypeError(at_user_line(f"check_gradients: f must return floating tensors, got {kinds}"))
        return found


def _as_floats(leaf: object) -> Any:
    """Integers as floats; anything else as it is."""
    if isinstance(leaf, int) and not isinstance(leaf, bool):
        return float(leaf)
    is_array = is_tensor_or_variable(leaf) or isinstance(leaf, ARRAYS)
    if not is_array and not is_number_list([leaf]):
        return leaf
    tensor = as_tensor(leaf)
    return cast(tensor, dtypes.default_float()) if dtypes.is_integer(tensor.dtype) else leaf


def _is_floating(leaf: object) -> bool:
    """Whether a leaf has derivatives: floating and complex arrays and numbers, not integers."""
    if is_number(leaf):
        return isinstance(leaf, (float, complex))
    if is_number_list([leaf]):
        leaf = np.array(leaf)
    dtype: np.dtype[Any] | None = getattr(leaf, "dtype", None)
    return dtype is not None and dtypes.is_supported(dtype) and dtypes.is_inexact(dtype)


# -- derivatives -------------------------------------------------------------------------------------------------------


def _weights_of(results: Sequence[Tensor], random: np.random.Generator) -> list[np.ndarray[Any, Any]]:
    """Fixed random weights of the results, none of them small; 1 for a single real number."""
    if len(results) == 1 and results[0].shape == () and not dtypes.is_complex(results[0].dtype):
        return [np.ones(())]
    weights: list[np.ndarray[Any, Any]] = []
    for result in results:
        size = random.uniform(0.5, 1.5, result.shape)
        if dtypes.is_complex(result.dtype):
            weights.append(size * np.exp(1j * random.uniform(0, 2 * np.pi, result.shape)))
        else:
            weights.append(size * random.choice([-1.0, 1.0], result.shape))
    return weights


def _projected(results: Sequence[Tensor], weights: Sequence[np.ndarray[Any, Any]]) -> Tensor:
    """The real inner product of results and weights, recorded."""
    total: Any = None
    for result, weight in zip(results, weights, strict=True):
        product = mul(conj_of(constant(np.asarray(weight).astype(result.dtype))), result)
        if dtypes.is_complex(product.dtype):
            product = real(product)
        term = reduce_sum(product, axes=tuple(range(product.ndim)))
        total = term if total is None else total + term
    return total


def _gradient_of(program: Program, weights: Sequence[np.ndarray[Any, Any]]) -> Program:
    """The program that gives the reverse-mode gradients of the weighted results."""

    def gradient(*tensors: Tensor) -> list[Tensor]:
        every = tuple(range(len(tensors)))
        g = grad(lambda *xs: _projected(program(*xs), weights), argnums=every, unconnected_gradients="zero")
        return list(g(*tensors))

    return gradient


def _tangent_of(program: Program, direction: Sequence[np.ndarray[Any, Any]]) -> Program:
    """The program that pushes one direction forward and gives the tangents of the results."""

    def tangent(*tensors: Tensor) -> list[Tensor]:
        primals = [alias(x) for x in tensors]
        recorder = Tangents()
        for primal, dot in zip(primals, direction, strict=True):
            recorder.set(primal, constant(np.asarray(dot).astype(primal.dtype)))
        with recording(recorder):
            results = program(*primals)
        dots = [recorder.of(y) for y in results]
        return [zeros_of(type_of(y)) if d is None or d is ZERO else d for y, d in zip(results, dots, strict=True)]

    return tangent


# -- the comparison ----------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """One derivative: what it is of, by us, by differences, and what the latter may be wrong by."""

    label: str
    analytic: float
    numeric: float
    noise: float


class _Check:
    """The comparisons at one point, and what they found so far."""

    def __init__(self, point: _Point, modes: tuple[str, ...], rtol: float | None, atol: float | None) -> None:
        self.point = point
        self.modes = modes
        self.rtol = rtol
        self.atol = atol
        self.random = np.random.default_rng(0)
        self.checked = 0
        self.compared = 0
        self.largest_error = 0.0
        self.progress: Step | None = None

    def total(self, order: int) -> int:
        """How many derivatives are to be compared: those of f, then of its derivative in each mode, and so on."""
        size = self.point.vector.size
        sampled = {"reverse": DIRECTIONS + SAMPLE, "forward": DIRECTIONS}
        once = sum(size if size <= EVERY_ENTRY[mode] else sampled[mode] for mode in self.modes)
        return once * sum(len(self.modes) ** k for k in range(order))

    def run(self, program: Program, order: int, what: str) -> None:
        """Compares the derivatives of a program in each mode, then theirs."""
        results = program(*self.point.tensors(self.point.vector, False))
        _require_finite(results, what)
        weights = _weights_of(results, self.random)
        numeric = _Differences(program, self.point, weights)
        rtol = self._tolerance(results)
        for mode in self.modes:
            compare = self._reverse_rows if mode == "reverse" else self._forward_rows
            name = f"{mode} derivative of {what}"
            rows: list[_Row] = []
            for row in compare(program, weights, numeric, rtol):
                rows.append(row)
                self.compared += 1
                if self.progress is not None:
                    self.progress(self.compared, name)
            self._judge(rows, rtol, name, weights)
        if order == 1:
            return
        for mode in self.modes:
            if mode == "reverse":
                derived = _gradient_of(program, weights)
            else:
                derived = _tangent_of(program, self._direction())
            self.run(derived, order - 1, f"the {mode} derivative of {what}")

    def _tolerance(self, results: Sequence[Tensor]) -> float:
        if self.rtol is not None:
            return self.rtol
        widths = [x.dtype for x in (*self.point.leaves, *results)]
        return max(_default_rtol(dtype) for dtype in widths)

    def _reverse_rows(self, program: Program, weights: Any, numeric: _Differences, rtol: float) -> Iterator[_Row]:
        tensors = self.point.tensors(self.point.vector, False)
        gradient = self.point.flat(_gradient_of(program, weights)(*tensors))
        for label, direction in self._probes("reverse"):
            if isinstance(direction, int):
                yield numeric.row(label, float(gradient[direction]), _unit(direction, gradient.size), rtol)
            else:
                yield numeric.row(label, float(gradient @ direction), direction, rtol)

    def _forward_rows(self, program: Program, weights: Any, numeric: _Differences, rtol: float) -> Iterator[_Row]:
        tensors = self.point.tensors(self.point.vector, False)
        for label, probe in self._probes("forward"):
            direction = _unit(probe, self.point.vector.size) if isinstance(probe, int) else probe
            dots = [t.numpy() for t in self.point.tensors(direction, True)]
            found = _tangent_of(program, dots)(*tensors)
            yield numeric.row(label, _inner(weights, [t.numpy() for t in found]), direction, rtol)

    def _probes(self, mode: str) -> Iterator[tuple[str, int | Vector]]:
        """What to compare: all entries where they are few, else random directions (and a sample in reverse)."""
        size = self.point.vector.size
        if size <= EVERY_ENTRY[mode]:
            chosen: Sequence[int] = range(size)
        else:
            for i in range(DIRECTIONS):
                yield f"random direction {i + 1}", self.random.normal(size=size) * self.point.scales
            chosen = sorted(self.random.choice(size, SAMPLE, replace=False)) if mode == "reverse" else ()
        for index in chosen:
            yield self.point.name(int(index)), int(index)

    def _direction(self) -> list[np.ndarray[Any, Any]]:
        direction = self.random.uniform(0.5, 1.5, self.point.vector.size) * self.point.scales
        return [t.numpy() for t in self.point.tensors(direction, True)]

    def _judge(self, rows: list[_Row], rtol: float, what: str, weights: Sequence[Any]) -> None:
        """Raises a table of the rows that disagree."""
        largest = max((abs(r.numeric) for r in rows if np.isfinite(r.numeric)), default=0.0)
        atol = rtol * largest / 100 if self.atol is None else self.atol
        wrong = [r for r in rows if not _agrees(r, rtol, atol)]
        if wrong:
            raise GradientCheckError(at_user_line(_table(wrong, len(rows), what, weights)))
        self.checked += len(rows)
        if largest:
            error = max(abs(r.analytic - r.numeric) for r in rows) / largest
            self.largest_error = max(self.largest_error, error)


def _agrees(row: _Row, rtol: float, atol: float) -> bool:
    return abs(row.analytic - row.numeric) <= atol + rtol * abs(row.numeric) + row.noise


def _unit(index: int, size: int) -> Vector:
    direction = np.zeros(size)
    direction[index] = 1.0
    return direction


def _default_rtol(dtype: np.dtype[Any]) -> float:
    eps = eps_of(dtype)
    return 1e-6 if eps < 1e-12 else 1e-3 if eps < 1e-5 else 2e-2 if eps < 2e-3 else 0.1


def _inner(weights: Sequence[Any], arrays: Sequence[Any]) -> float:
    """The real inner product of weights and arrays."""
    return float(sum(np.sum((np.conj(w) * np.asarray(a, _wide_of(a))).real) for w, a in zip(weights, arrays)))


def _wide_of(array: Any) -> Any:
    return np.complex128 if dtypes.is_complex(array.dtype) else np.float64


def _require_finite(results: Sequence[Tensor], what: str) -> None:
    for number, result in enumerate(results):
        array = np.asarray(result.numpy()).astype(_wide_of(result))
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            value = array[tuple(bad[0])]
            place = f"[{', '.join(map(str, bad[0]))}]" if array.ndim else ""
            which = f"result {number}" if len(results) > 1 else "the result"
            raise GradientCheckError(
                at_user_line(
                    f"check_gradients: {which}{place} of {what} is {value} at these arguments, so there is nothing to "
                    f"compare"
                )
            )


class _Differences:
    """Directional derivatives of the weighted results of a program, by differences alone."""

    def __init__(self, program: Program, point: _Point, weights: Sequence[np.ndarray[Any, Any]]) -> None:
        self.program = program
        self.point = point
        self.weights = weights
        self.is_wide = True
        try:
            results = self._results(point.vector)
        except Exception:
            # f insists on the dtypes that it was given
            self.is_wide = False
            results = self._results(point.vector)
        self.eps = max(eps_of(r.dtype) for r in results)
        self.magnitude = float(sum(np.sum(np.abs(w * r)) for w, r in zip(weights, results)))

    def _results(self, vector: Vector) -> list[np.ndarray[Any, Any]]:
        return [t.numpy() for t in self.program(*self.point.tensors(vector, self.is_wide))]

    def row(self, label: str, analytic: float, direction: Vector, rtol: float) -> _Row:
        """The comparison along one direction; smaller steps only where the first one does not agree."""
        moved = np.flatnonzero(direction)
        largest = float(np.max(np.abs(direction[moved]) / self.point.scales[moved]))
        step = self.eps**0.2 / largest
        first = _Row(label, analytic, self._along(direction, step), self._noise(step))
        if _agrees(first, rtol, 0.0):
            return first
        steps = [step / _SHRINK**i for i in range(_STEPS)]
        found = [first.numeric, *(self._along(direction, s) for s in steps[1:])]
        gaps = [abs(a - b) for a, b in pairwise(found)]
        best = int(np.argmin(np.nan_to_num(gaps, nan=np.inf)))
        return _Row(label, analytic, found[best + 1], self._noise(steps[best + 1]))

    def _noise(self, step: float) -> float:
        return _NOISE * np.finfo(np.float64).eps * self.magnitude / step if self.eps < 1e-12 else (
            4 * self.eps * self.magnitude / step
        )  # fmt: skip

    def _along(self, direction: Vector, step: float) -> float:
        """The fourth-order central difference."""
        x, d = self.point.vector, direction * step
        with np.errstate(all="ignore"):
            far, near, back, far_back = (self._results(x + k * d) for k in (2, 1, -1, -2))
            terms = [
                8 * (n.astype(_wide_of(n)) - b.astype(_wide_of(b))) - (f.astype(_wide_of(f)) - g.astype(_wide_of(g)))
                for n, b, f, g in zip(near, back, far, far_back)
            ]
            return _inner(self.weights, terms) / (12 * step)


def _cells(row: _Row) -> tuple[str, str, str, str]:
    return row.label, f"{row.analytic:.8g}", f"{row.numeric:.8g}", f"{row.analytic - row.numeric:.8g}"


def _table(rows: Sequence[_Row], total: int, what: str, weights: Sequence[Any]) -> str:
    """The rows as text, the largest differences first."""
    worst = sorted(rows, key=lambda r: -np.nan_to_num(abs(r.analytic - r.numeric), nan=np.inf))
    cells = [("entry", "analytic", "numeric", "difference"), *map(_cells, worst[:ROWS])]
    widths = [max(len(row[i]) for row in cells) for i in range(4)]
    lines = [
        f"check_gradients: the {what} disagrees with finite differences in {len(rows)} of {total} derivatives"
        + ("" if weights[0].shape == () and len(weights) == 1 else " (of its results, weighted and summed)")
    ]
    for row in cells:
        first, *rest = map(str.rjust, row, widths)
        lines.append("  ".join(["", first.lstrip().ljust(widths[0]), *rest]))
    if len(worst) > ROWS:
        lines.append(f"  and {len(worst) - ROWS} more")
    return "\n".join(lines)
