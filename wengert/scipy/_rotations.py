"""Rotations as unit quaternions, and interpolation between them: `Rotation` and `Slerp`, differentiable throughout.

The formulas are SciPy's, so that signs and branches are; where an angle is small they are series, whose derivatives
hold at no rotation, too. A matrix that is no rotation is taken for the nearest one, in derivatives as well.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy

from .. import linalg
from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ._conversions import entered, floats
from ._piecewise import kept

_SMALL = 1e-6  # of the square of an angle: from there on series have every digit


def _numbers(x: ArrayLike) -> Tensor:
    """An array as a tensor; NumPy's in double precision, as SciPy takes it."""
    found = entered(x)
    return floats(found) if isinstance(found, Tensor) else floats(numpy.asarray(found, numpy.float64))


def _theirs() -> Any:
    return importlib.import_module("scipy.spatial.transform").Rotation


def _square(v: Tensor) -> Tensor:
    return np.sum(v * v, axis=-1, keepdims=True)


def _unit(q: Tensor) -> Tensor:
    return q / np.sqrt(_square(q))


def _composed(p: Tensor, q: Tensor) -> Tensor:
    """The quaternion of the rotation p after q."""
    a, u, b, v = p[..., 3:], p[..., :3], q[..., 3:], q[..., :3]
    scalar = a * b - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([a * v + b * u + np.cross(u, v), scalar], axis=-1)


def _of_vector(v: Tensor) -> Tensor:
    """The quaternion of a rotation vector."""
    square = _square(v)
    is_small = square <= _SMALL
    angle = np.sqrt(np.where(is_small, 1.0, square))
    scale = np.where(is_small, 0.5 - square / 48 + square**2 / 3840, np.sin(angle / 2) / angle)
    cosine = np.where(is_small, 1 - square / 8 + square**2 / 384, np.cos(angle / 2))
    return np.concatenate([scale * v, cosine], axis=-1)


def _vector_of(q: Tensor) -> Tensor:
    q = np.where(q[..., 3:] < 0, -q, q)
    square = _square(q[..., :3])
    is_small = square <= _SMALL
    sine = np.sqrt(np.where(is_small, 1.0, square))
    far = 2 * np.arctan2(sine, q[..., 3:]) / sine
    return np.where(is_small, 2 + square / 3 + 3 * square**2 / 20, far) * q[..., :3]


def _matrix_of(q: Tensor) -> Tensor:
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _nearest_rotation(m: Tensor) -> Tensor:
    """The orthogonal factor of a matrix, by Newton's iteration; its first steps give the derivatives of a rotation."""
    steps = 9
    if not m.is_symbolic:
        values = m.numpy()
        gap = numpy.abs(values @ numpy.swapaxes(values, -1, -2) - numpy.eye(3)).max(initial=0.0)
        steps = 3 if gap < 1e-8 else 9
        if (numpy.linalg.det(values) <= 0).any():
            raise ValueError(at_user_line("Rotation.from_matrix: a matrix has no positive determinant"))
    for step in range(steps):
        r = [m[..., i, :] for i in range(3)]
        cofactors = np.stack([np.cross(r[1], r[2]), np.cross(r[2], r[0]), np.cross(r[0], r[1])], axis=-2)
        det = np.sum(r[0] * cofactors[..., 0, :], axis=-1)[..., None, None]
        scale = np.cbrt(det) if not step else 1.0
        m = (m / scale + cofactors * scale / det) / 2
    return m


def _of_matrix(m: Tensor) -> Tensor:
    """The quaternion of a rotation matrix, by the largest of its four numbers."""
    m = _nearest_rotation(m)
    d = [m[..., i, i] for i in range(3)]
    trace = d[0] + d[1] + d[2]
    ways = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        numbers = {i: 1 - trace + 2 * d[i], j: m[..., j, i] + m[..., i, j], k: m[..., k, i] + m[..., i, k]}
        ways.append(np.stack([*(numbers[n] for n in range(3)), m[..., k, j] - m[..., j, k]], axis=-1))
    vector = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    ways.append(np.stack([*vector, 1 + trace], axis=-1))
    choice = np.argmax(np.stack([*d, trace], axis=-1), axis=-1)[..., None]
    found = ways[3]
    for i in range(3):
        found = np.where(choice == i, ways[i], found)
    return _unit(found)


def _axes(seq: str, function: str) -> tuple[list[int], bool]:
    """The axes that letters name, and whether they turn along (capital letters)."""
    is_intrinsic = seq.isupper()
    axes = ["xyz".find(letter) for letter in seq.lower()]
    if not (is_intrinsic or seq.islower()) or not 1 <= len(axes) <= 3 or -1 in axes:
        raise ValueError(at_user_line(f"Rotation.{function}: wanted up to 3 letters of 'xyz' or 'XYZ', got {seq!r}"))
    if any(a == b for a, b in itertools.pairwise(axes)):
        raise ValueError(at_user_line(f"Rotation.{function}: consecutive axes must differ, got {seq!r}"))
    return axes, is_intrinsic


def _of_turns(axes: Any, angles: Tensor, is_intrinsic: bool) -> Tensor:
    """The quaternion of turns about axes (n, 3) by angles (..., n)."""
    half = angles[..., None] / 2
    turns = np.concatenate([np.sin(half) * axes, np.cos(half)], axis=-1)
    found = turns[..., 0, :]
    for i in range(1, len(axes)):
        turn = turns[..., i, :]
        found = _composed(found, turn) if is_intrinsic else _composed(turn, found)
    return found


def _in_radians(angles: Tensor, degrees: bool) -> Tensor:
    return angles * (numpy.pi / 180) if degrees else angles


def _euler(q: Tensor, axes: list[int], is_intrinsic: bool) -> Tensor:
    """Angles about three axes, by Bernardes and Viollet's formulas; where two are the same, the third is 0."""
    i, j, k = axes[::-1] if is_intrinsic else axes
    is_symmetric = i == k
    k = 3 - i - j if is_symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    n = [q[..., m] for m in range(4)]
    if is_symmetric:
        a, b, c, d = n[3], n[i], n[j], n[k] * sign
    else:
        a, b, c, d = n[3] - n[j], n[i] + n[k] * sign, n[j] + n[3], n[k] * sign - n[i]
    second = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    total, gap = np.arctan2(b, a), np.arctan2(d, c)
    is_none, is_half = np.abs(second) <= 1e-7, np.abs(second - numpy.pi) <= 1e-7
    first, third = total - gap, total + gap
    if is_intrinsic:
        first, third = third, first
    locked = np.where(is_none, 2 * total, 2 * gap * (1 if is_intrinsic else -1))
    first = np.where(is_none | is_half, locked, first)
    third = np.where(is_none | is_half, 0.0, third)
    if not is_symmetric:
        second = second - numpy.pi / 2
        first, third = (first * sign, third) if is_intrinsic else (first, third * sign)
    found = np.stack([first, second, third], axis=-1)
    return np.where(found < -numpy.pi, found + 2 * numpy.pi, np.where(found > numpy.pi, found - 2 * numpy.pi, found))


class Rotation:
    """Rotations in three dimensions, as `scipy.spatial.transform.Rotation`: one, or an array of them.

    Differentiable in what they are made of and in the vectors that they turn.

    Args:
        quat: quaternions (..., 4), whose lengths do not matter.
        normalize, copy, scalar_first: as SciPy's.
    """

    def __init__(
        self, quat: ArrayLike, normalize: bool = True, copy: bool = True, scalar_first: bool = False
    ) -> None:  # fmt: skip
        q = _numbers(quat)
        if not q.ndim or q.shape[-1] != 4:
            raise ValueError(at_user_line(f"Expected `quat` to have shape (..., 4), got {q.shape}."))
        q = np.roll(q, -1, axis=-1) if scalar_first else q
        self._given: tuple[Any, ...] = (quat,)
        self._q = _unit(q) if normalize else q

    @classmethod
    def _of(cls, q: Tensor, *given: object) -> Rotation:
        made = cls.__new__(cls)
        made._q, made._given = q, given
        return made

    @classmethod
    def _from(cls, rotation: Any) -> Rotation:
        """SciPy's rotation as one of these."""
        return rotation if isinstance(rotation, Rotation) else cls(rotation.as_quat(), normalize=False)

    # -- from numbers ------------------------------------------------------------------------------------------

    @classmethod
    def from_quat(cls, quat: ArrayLike, *, scalar_first: bool = False) -> Rotation:
        """Rotations by quaternions (..., 4)."""
        return cls(quat, scalar_first=scalar_first)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, assume_valid: bool = False) -> Rotation:
        """Rotations by matrices (..., 3, 3); of one that is none, the nearest."""
        m = _numbers(matrix)
        if m.ndim < 2 or m.shape[-2:] != (3, 3):
            raise ValueError(at_user_line(f"Expected `matrix` to have shape (..., 3, 3), got {m.shape}"))
        return cls._of(_of_matrix(m), matrix)

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """Rotations by vectors (..., 3): about their directions, by their lengths."""
        return cls._of(_of_vector(_in_radians(_numbers(rotvec), degrees)), rotvec)

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """Rotations by angles about axes: "xyz" about those at rest, "XYZ" about those that turn along."""
        axes, is_intrinsic = _axes(seq, "from_euler")
        x = _in_radians(_numbers(angles), degrees)
        if len(axes) == 1 and (not x.ndim or x.shape[-1] != 1 or (x.ndim == 1 and x.shape[0] != 1)):
            x = x[..., None]
        if x.shape[-1:] != (len(axes),):
            raise ValueError(at_user_line(f"Expected last axis of `angles` to be {len(axes)}, got shape {x.shape}."))
        return cls._of(_of_turns(numpy.eye(3)[axes], x, is_intrinsic), angles)

    @classmethod
    def from_davenport(cls, axes: ArrayLike, order: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """Rotations by angles about up to three axes (n, 3): order "intrinsic" or "extrinsic"."""
        about, x = _numbers(axes), _in_radians(_numbers(angles), degrees)
        about = about[None] if about.ndim == 1 else about
        x = x[..., None] if not x.ndim else x
        if order not in ("e", "extrinsic", "i", "intrinsic"):
            raise ValueError(at_user_line("order should be 'e'/'extrinsic' or 'i'/'intrinsic'."))
        return cls._of(_of_turns(_unit(about), x, order in ("i", "intrinsic")), axes, angles)

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """Rotations by modified Rodrigues parameters (..., 3)."""
        v = _numbers(mrp)
        square = _square(v)
        return cls._of(np.concatenate([2 * v, 1 - square], axis=-1) / (1 + square), mrp)

    @classmethod
    def identity(cls, num: int | None = None, *, shape: Any = None) -> Rotation:
        """No rotation, once, num times or in a shape."""
        lengths = (num,) if num is not None else (shape,) if isinstance(shape, int) else (*(shape or ()),)
        return cls(numpy.broadcast_to([0.0, 0.0, 0.0, 1.0], (*lengths, 4)))

    @classmethod
    def random(cls, *args: ArrayLike, **kwargs: object) -> Rotation:
        """SciPy's random rotations, which are constants."""
        return cls._from(_theirs().random(*args, **kwargs))

    @classmethod
    def create_group(cls, group: str, axis: str = "Z") -> Rotation:
        """The rotations of a group of symmetries, which are constants."""
        return cls._from(_theirs().create_group(group, axis))

    @classmethod
    def concatenate(cls, rotations: object) -> Rotation:
        """Rotations one after the other."""
        if not isinstance(rotations, Iterable) or isinstance(rotations, Rotation):
            return cls._from(rotations)
        parts = [cls._from(r) for r in rotations]
        return cls._of(
            np.concatenate([np.reshape(r._q, (-1, 4)) for r in parts]), *(x for r in parts for x in r._given)
        )  # fmt: skip

    @classmethod
    def align_vectors(
        cls, a: ArrayLike, b: ArrayLike, weights: ArrayLike | None = None, return_sensitivity: bool = False
    ) -> tuple[Rotation, Any]:
        """The rotation that turns vectors b best into a, and the root of the weighted square of what is left."""
        if return_sensitivity:
            raise TypeError(at_user_line("Rotation.align_vectors: return_sensitivity=True is not supported"))
        x, y = (np.reshape(v, (-1, 3)) for v in (_numbers(a), _numbers(b)))
        w = np.ones(x.shape[0]) if weights is None else _numbers(weights)
        given = (a, b, weights)
        if x.shape[0] == 1:
            x, y = _unit(x)[0] * np.sqrt(_square(y))[0], y[0]
            normal = np.cross(y, x)
            sine = np.sqrt(_square(normal))
            q = _of_vector(normal / sine * np.arctan2(sine, np.sum(x * y)))
            left = np.reshape(np.sqrt(_square(_numbers(a)) - 2 * np.sum(x * _numbers(a)) + _square(y)), ())
            return cls._of(q, *given), kept(left, *given)
        u, s, vt = linalg.svd(np.einsum("n,ni,nj->ij", w, x, y))
        flip = np.where(linalg.det(u @ vt) < 0, numpy.array([1.0, 1.0, -1.0]), 1.0)
        rest = np.sum(w * np.sum(x * x + y * y, axis=-1)) - 2 * np.sum(s * flip)
        left = np.sqrt(np.maximum(rest, 0.0))
        return cls._of(_of_matrix((u * flip) @ vt), *given), kept(left, *given)

    # -- as numbers --------------------------------------------------------------------------------------------

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """Quaternions (..., 4); canonical: the one of the two whose last number (first that is not 0) is positive."""
        q = self._q
        if canonical:
            last = np.where(q[..., 3:] != 0, q[..., 3:], 0.0)
            for i in range(3):
                last = np.where(last == 0, q[..., i : i + 1], last)
            q = np.where(last < 0, -q, q)
        return kept(np.roll(q, 1, axis=-1) if scalar_first else q, *self._given)

    def as_matrix(self) -> Any:
        """Matrices (..., 3, 3)."""
        return kept(_matrix_of(self._q), *self._given)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Vectors (..., 3) in the axes' directions, as long as the angles."""
        found = _vector_of(self._q)
        return kept(found * (180 / numpy.pi) if degrees else found, *self._given)

    def as_euler(self, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
        """Angles (..., 3) about three axes, as `from_euler` takes them."""
        axes, is_intrinsic = _axes(seq, "as_euler")
        if len(axes) != 3:
            raise ValueError(at_user_line(f"Expected 3 axes, got {seq}."))
        found = _euler(self._q, axes, is_intrinsic)
        return kept(found * (180 / numpy.pi) if degrees else found, *self._given)

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters (..., 3)."""
        q = np.where(self._q[..., 3:] < 0, -self._q, self._q)
        return kept(q[..., :3] / (1 + q[..., 3:]), *self._given)

    def magnitude(self) -> Any:
        """The angles, in radians."""
        sine = linalg.norm(self._q[..., :3], axis=-1)
        return kept(2 * np.arctan2(sine, np.abs(self._q[..., 3])), *self._given)

    # -- what rotations do -------------------------------------------------------------------------------------

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Any:
        """The vectors (..., 3), turned."""
        m = _matrix_of(self._q)
        m = np.swapaxes(m, -1, -2) if inverse else m
        return kept(np.sum(m * _numbers(vectors)[..., None, :], axis=-1), vectors, *self._given)

    def __mul__(self, other: Any) -> Rotation:
        if not isinstance(other, Rotation) and not hasattr(other, "as_quat"):
            return NotImplemented
        other = self._from(other)
        return self._of(_unit(_composed(self._q, other._q)), *self._given, *other._given)

    def __rmul__(self, other: Any) -> Rotation:
        return self._from(other) * self if hasattr(other, "as_quat") else NotImplemented

    def __pow__(self, n: ArrayLike, modulus: None = None) -> Rotation:
        power = _numbers(n)
        return self._of(_of_vector(power * _vector_of(self._q)), n, *self._given)

    def inv(self) -> Rotation:
        """The rotations back."""
        return self._of(self._q * numpy.array([-1.0, -1.0, -1.0, 1.0]), *self._given)

    def mean(self, weights: ArrayLike | None = None, axis: None = None) -> Rotation:
        """The rotation nearest to all, by chordal distance."""
        q = np.reshape(self._q, (-1, 4))
        w = np.ones(q.shape[0]) if weights is None else np.reshape(_numbers(weights), (-1,))
        return self._of(linalg.eigh(np.einsum("n,ni,nj->ij", w, q, q))[1][:, -1], weights, *self._given)

    def approx_equal(self, other: Any, atol: float | None = None, degrees: bool = False) -> Any:
        """Whether angles between rotations are smaller than atol."""
        least = 1e-8 if atol is None else numpy.deg2rad(atol) if degrees else atol
        return (self * self._from(other).inv()).magnitude() < least

    # -- arrays of rotations -----------------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """Whether this is one rotation and no array."""
        return self._q.ndim == 1

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents of the array of rotations."""
        return self._q.shape[:-1]

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return self._of(self._q[indexer], *self._given)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self._q.shape[0])

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Rotation]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Rotation.from_quat({self._q!r})"


class Slerp:
    """Interpolation of rotations along the shortest turns, as `scipy.spatial.transform.Slerp`.

    Args:
        times: increasing (n,).
        rotations: n of them.
    """

    def __init__(self, times: ArrayLike, rotations: Any) -> None:
        self.rotations = Rotation._from(rotations)
        self._times, self._given = _numbers(times), (times, *self.rotations._given)
        if self.rotations.single or len(self.rotations) < 2:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        if self._times.shape != (len(self.rotations),):
            raise ValueError(f"Expected as many times as rotations, got {self._times.shape} and {len(self.rotations)}.")
        q = self.rotations._q
        self._turns = _vector_of(_composed(self.rotations[:-1].inv()._q, q[1:]))

    @property
    def times(self) -> Any:
        """The times."""
        return kept(self._times, *self._given)

    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at times within the first and the last."""
        at = _numbers(times)
        if at.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        if not (at.is_symbolic or self._times.is_symbolic):
            low, high = self._times.numpy()[[0, -1]]
            if ((at.numpy() < low) | (at.numpy() > high)).any():
                raise ValueError(f"Interpolation times must be within the range [{low}, {high}], both inclusive.")
        i = np.clip(np.searchsorted(self._times, at) - 1, 0, len(self.rotations) - 2)
        share = (at - self._times[i]) / (self._times[i + 1] - self._times[i])
        turns = _of_vector(self._turns[i] * share[..., None])
        return Rotation._of(_unit(_composed(self.rotations._q[i], turns)), times, *self._given)


__all__ = ["Rotation", "Slerp"]
