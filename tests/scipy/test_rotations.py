"""`wengert.scipy.spatial.transform`: numbers against SciPy's, gradients against differences, also at no rotation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import wengert as wg
from wengert.scipy.spatial import transform

RNG = np.random.default_rng(5)
Q = RNG.normal(size=(5, 4))
V = RNG.normal(size=(5, 3))
W = RNG.normal(size=(3, 3))
M = Rotation.from_quat(Q).as_matrix()
TIMES = [0.0, 1.0, 2.5, 3.0, 4.0]
SEQUENCES = [
    letters for p in itertools.product("xyz", repeat=3) if p[0] != p[1] != p[2]
    for letters in ("".join(p), "".join(p).upper())
]  # fmt: skip


def same(found: Any, expected: Any) -> None:
    assert isinstance(found, (np.ndarray, float))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("q", [Q, Q[0]], ids=["many", "one"])
def test_numbers_are_scipys(q: Any) -> None:
    theirs, ours = Rotation.from_quat(q), transform.Rotation.from_quat(q)
    for name in ("as_quat", "as_matrix", "as_rotvec", "as_mrp", "magnitude"):
        same(getattr(ours, name)(), getattr(theirs, name)())
    same(ours.as_quat(canonical=True), theirs.as_quat(canonical=True))
    same(ours.as_rotvec(degrees=True), theirs.as_rotvec(degrees=True))
    same(ours.apply(V), theirs.apply(V))
    same(ours.apply(V[0], inverse=True), theirs.apply(V[0], inverse=True))
    for n in (0, 1, -1, 0.3, 2.5):
        same((ours**n).as_matrix(), (theirs**n).as_matrix())
    same((ours.inv() * ours * theirs).as_matrix(), theirs.as_matrix())
    same((theirs * ours).as_matrix(), (theirs * theirs).as_matrix())
    matrix = theirs.as_matrix()
    same(transform.Rotation.from_matrix(matrix).as_quat(), Rotation.from_matrix(matrix).as_quat())
    u, _, vt = np.linalg.svd(matrix * 1.7 + 0.1 * W)
    same(transform.Rotation.from_matrix(matrix * 1.7 + 0.1 * W).as_matrix(), u @ vt)


@pytest.mark.filterwarnings("ignore:Gimbal lock detected:UserWarning")  # what the middle angles below are for
def test_angles_are_scipys_in_every_sequence() -> None:
    theirs, ours = Rotation.from_quat(Q), transform.Rotation.from_quat(Q)
    for seq in SEQUENCES:
        same(ours.as_euler(seq), theirs.as_euler(seq))
        same(transform.Rotation.from_euler(seq, theirs.as_euler(seq)).as_matrix(), theirs.as_matrix())
        for middle in (0.0, 90.0, -90.0, 180.0):
            locked = Rotation.from_euler(seq, [20.0, middle, 30.0], degrees=True)
            mine = transform.Rotation.from_quat(locked.as_quat()).as_euler(seq, degrees=True)
            again = Rotation.from_euler(seq, mine, degrees=True)
            np.testing.assert_allclose(again.as_matrix(), locked.as_matrix(), atol=1e-7)
    same(transform.Rotation.from_euler("z", 0.3).as_quat(), Rotation.from_euler("z", 0.3).as_quat())
    same(transform.Rotation.from_euler("XY", [[1, 2]]).as_quat(), Rotation.from_euler("XY", [[1, 2]]).as_quat())
    for wrong in ("xx", "xyzx", "xY", ""):
        with pytest.raises(ValueError, match=r"Rotation.from_euler|axis"):
            transform.Rotation.from_euler(wrong, [0.1, 0.2])


def test_means_alignments_and_interpolation_are_scipys() -> None:
    theirs, ours = Rotation.from_quat(Q), transform.Rotation.from_quat(Q)
    same(ours.mean([1, 2, 3, 4, 5]).as_matrix(), theirs.mean([1, 2, 3, 4, 5]).as_matrix())
    turned = theirs[0].apply(V) + 0.1 * V[::-1]
    for a, b, w in ((turned, V, None), (turned, V, [1, 2, 3, 4, 5.0]), (turned[:1], V[:1], None)):
        found, expected = transform.Rotation.align_vectors(a, b, w), Rotation.align_vectors(a, b, w)
        same(found[0].as_matrix(), expected[0].as_matrix())
        np.testing.assert_allclose(found[1], expected[1], atol=1e-9)
    for at in (1.3, [0.0, 0.5, 4.0, 2.5]):
        same(transform.Slerp(TIMES, ours)(at).as_matrix(), Slerp(TIMES, theirs)(at).as_matrix())
    with pytest.raises(ValueError, match="within the range"):
        transform.Slerp(TIMES, ours)(4.5)
    assert len(ours) == len([*ours]) == 5 and ours[1].single


R = transform.Rotation
PROGRAMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "from_quat": (lambda x: (R.from_quat(x).as_matrix() * W).sum(), Q[0]),
    "from_rotvec": (lambda x: (R.from_rotvec(x).as_matrix() * W).sum(), V[0]),
    "from_rotvec at 0": (lambda x: (R.from_rotvec(x).as_matrix() * W).sum(), np.zeros(3)),
    "as_rotvec at 0": (lambda x: (R.from_rotvec(x).as_rotvec() * W).sum(), np.zeros(3)),
    "euler": (lambda x: R.from_euler("xyz", x).as_euler("ZXZ") @ W[0], np.array([0.3, 0.4, 0.5])),
    "from_matrix": (lambda x: R.from_matrix(x).as_quat() @ Q[0], M[1]),
    "from_matrix of none": (lambda x: R.from_matrix(x).as_quat() @ Q[0], M[1] * 1.3 + 0.05 * W),
    "slerp": (lambda x: (transform.Slerp(TIMES, R.from_quat(x))([0.3, 2.7]).as_matrix() * W).sum(), Q),
    "slerp in time": (lambda t: (transform.Slerp(TIMES, R.from_quat(Q))(t).as_matrix() * W).sum(), np.array([0.3, 2.7])),
    "align": (lambda x: (R.align_vectors(x, V)[0].as_matrix() * W).sum(), V + 0.1 * V[::-1]),
    "align one": (lambda x: (R.align_vectors(x, V[0])[0].as_matrix() * W).sum(), V[1]),
    "power": (lambda n: ((R.from_quat(Q) ** n).as_matrix() * W).sum(), 1.3),
    "product": (lambda x: (R.from_quat(x) * R.from_quat(Q[1]).inv()).magnitude(), Q[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_differences(name: str) -> None:
    f, x = PROGRAMS[name]
    x = np.asarray(x)
    slopes = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[place] = 1e-6
        slopes[place] = (f(x + step) - f(x - step)) / 2e-6
    np.testing.assert_allclose(wg.grad(f)(x), slopes, rtol=1e-6, atol=1e-8)


def test_rotations_go_through_the_transforms() -> None:
    def angle(x: Any) -> Any:
        return R.from_rotvec(x).as_euler("xyz").sum()

    np.testing.assert_allclose(wg.function(wg.grad(angle))(V[1]), wg.grad(angle)(V[1]), atol=1e-9)
    turned = wg.vmap(lambda q: R.from_quat(q).apply(V[0]))(Q)
    np.testing.assert_allclose(turned, Rotation.from_quat(Q).apply(V[0]), atol=1e-12)
