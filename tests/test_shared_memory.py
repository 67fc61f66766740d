"""Which results share memory with an operand: what NumPy's views and copies do, for every function that may give one.

Each view is taken of an array before and after its first write; then the view or the array is written to, and both must
hold what NumPy's do, with an error where NumPy has one. Results that are the operand itself in NumPy are so here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.ops.memory.layouts import blank_of

# Programs here set `a.shape`, which NumPy deprecates from 2.5 on, and write to what `broadcast_arrays` gives.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Numpy has detected that you .may be. writing:DeprecationWarning"),
]

X = np.random.default_rng(1).uniform(0.1, 1.0, (3, 4))

VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "full": lambda n, y: y[:],
    "dots": lambda n, y: y[...],
    "none": lambda n, y: y[None],
    "empty": lambda n, y: y[()],
    "slice": lambda n, y: y[0:3],
    "T": lambda n, y: y.T,
    "mT": lambda n, y: y.mT,
    "TT": lambda n, y: y.T.T,
    "reshape": lambda n, y: y.reshape(y.shape),
    "reshape1": lambda n, y: y.reshape(-1),
    "reshapeF": lambda n, y: y.reshape(-1, order="F"),
    "reshapeF2": lambda n, y: y.T.reshape(-1, order="F"),
    "reshapeA": lambda n, y: y.T.reshape(-1, order="A"),
    "nreshape": lambda n, y: n.reshape(y, (2, 6)),
    "nreshapecopy": lambda n, y: n.reshape(y, (2, 6), copy=True),
    "ravel": lambda n, y: y.ravel(),
    "ravelF": lambda n, y: y.ravel("F"),
    "ravelK": lambda n, y: y.T.ravel("K"),
    "ravelA": lambda n, y: y.T.ravel("A"),
    "nravel": lambda n, y: n.ravel(y),
    "ravelT": lambda n, y: y.T.ravel(),
    "flatten": lambda n, y: y.flatten(),
    "ravel1": lambda n, y: y[0].ravel(),
    "ravelstep": lambda n, y: y[:, ::2].ravel(),
    "reshapestep": lambda n, y: y[:, ::2].reshape(6),
    "reshapestep2": lambda n, y: y[::2].reshape(4, 2),
    "transpose": lambda n, y: y.transpose(),
    "transpose2": lambda n, y: y.transpose(1, 0),
    "transpose01": lambda n, y: y.transpose(0, 1),
    "ntrans": lambda n, y: n.transpose(y),
    "perm": lambda n, y: n.permute_dims(y, (1, 0)),
    "matt": lambda n, y: n.matrix_transpose(y),
    "swap": lambda n, y: n.swapaxes(y, 0, 1),
    "swap_same": lambda n, y: y.swapaxes(0, 0),
    "moveaxis": lambda n, y: n.moveaxis(y, 0, 1),
    "moveaxis_same": lambda n, y: n.moveaxis(y, 0, 0),
    "rollaxis": lambda n, y: n.rollaxis(y, 1),
    "ravelback": lambda n, y: n.ravel(y[0, ::-1]),
    "ravelrow": lambda n, y: n.ravel(y[0, ::2]),
    "ravelcolumn": lambda n, y: n.ravel(y[:, 1]),
    "squeeze0": lambda n, y: n.squeeze(y),
    "squeezem0": lambda n, y: y.squeeze(),
    "squeeze1": lambda n, y: n.squeeze(y[:1]),
    "squeezem": lambda n, y: y[:, :1].squeeze(),
    "expand": lambda n, y: n.expand_dims(y, 1),
    "atleast1": lambda n, y: n.atleast_1d(y),
    "atleast2": lambda n, y: n.atleast_2d(y[0]),
    "atleast3": lambda n, y: n.atleast_3d(y),
    "atleast2b": lambda n, y: n.atleast_2d(y),
    "diagonal": lambda n, y: n.diagonal(y),
    "mdiag": lambda n, y: y.diagonal(1),
    "diag": lambda n, y: n.diag(y),
    "diag1": lambda n, y: n.diag(y[0]),
    "lindiag": lambda n, y: n.linalg.diagonal(y),
    "flip": lambda n, y: n.flip(y),
    "flipud": lambda n, y: n.flipud(y),
    "fliplr": lambda n, y: n.fliplr(y),
    "rot90": lambda n, y: n.rot90(y),
    "rot902": lambda n, y: n.rot90(y, 2),
    "rot904": lambda n, y: n.rot90(y, 4),
    "roll": lambda n, y: n.roll(y, 1),
    "roll0": lambda n, y: n.roll(y, 0),
    "split": lambda n, y: n.split(y, 3)[1],
    "hsplit": lambda n, y: n.hsplit(y, 2)[1],
    "vsplit": lambda n, y: n.vsplit(y, 3)[2],
    "dsplit": lambda n, y: n.dsplit(y[:, :, None].reshape(3, 2, 2), 2)[0],
    "asplit": lambda n, y: n.array_split(y, 2, axis=1)[0],
    "unstack": lambda n, y: n.unstack(y)[1],
    "it": lambda n, y: [*y][1],
    "unpack": lambda n, y: (lambda a, b, c: c)(*y),
    "real": lambda n, y: y.real,
    "nreal": lambda n, y: n.real(y),
    "imag": lambda n, y: y.imag,
    "nimag": lambda n, y: n.imag(y),
    "conj": lambda n, y: y.conj(),
    "nconj": lambda n, y: n.conj(y),
    "conjugate": lambda n, y: y.conjugate(),
    "asarray": lambda n, y: n.asarray(y),
    "asanyarray": lambda n, y: n.asanyarray(y),
    "array": lambda n, y: n.array(y),
    "arraynocopy": lambda n, y: n.array(y, copy=None),
    "asarray_f": lambda n, y: n.asarray(y, float),
    "asarray_32": lambda n, y: n.asarray(y, np.float32),
    "ascont": lambda n, y: n.ascontiguousarray(y),
    "ascontT": lambda n, y: n.ascontiguousarray(y.T),
    "asfortT": lambda n, y: n.asfortranarray(y.T),
    "require": lambda n, y: n.require(y),
    "requireC": lambda n, y: n.require(y.T, requirements="C"),
    "asarray_chkfinite": lambda n, y: n.asarray_chkfinite(y),
    "astype": lambda n, y: y.astype(float),
    "astypenc": lambda n, y: y.astype(float, copy=False),
    "nastype": lambda n, y: n.astype(y, float),
    "nastypenc": lambda n, y: n.astype(y, float, copy=False),
    "copy": lambda n, y: y.copy(),
    "ncopy": lambda n, y: n.copy(y),
    "view": lambda n, y: y.view(),
    "viewf": lambda n, y: y.view(float),
    "viewnd": lambda n, y: y.view(np.ndarray),
    "bcast": lambda n, y: n.broadcast_to(y, (2, 3, 4)),
    "bcast_same": lambda n, y: n.broadcast_to(y, (3, 4)),
    "bcasts": lambda n, y: n.broadcast_arrays(y, y[0])[1],
    "bcasts0": lambda n, y: n.broadcast_arrays(y, y[0])[0],
    "mesh": lambda n, y: n.meshgrid(y[0], y[:, 0], copy=False)[0],
    "meshc": lambda n, y: n.meshgrid(y[0], y[:, 0])[0],
    "meshs": lambda n, y: n.meshgrid(y[0], y[:, 0], sparse=True, copy=False)[0],
    "strided": lambda n, y: n.lib.stride_tricks.as_strided(y, (2, 2), (32, 8)),
    "sliding": lambda n, y: n.lib.stride_tricks.sliding_window_view(y, (2, 2)),
    "fancy": lambda n, y: y[[0, 1]],
    "mask": lambda n, y: y[y > 0.5],
    "take": lambda n, y: n.take(y, [0, 1], 0),
    "take0": lambda n, y: n.take(y, 0, 0),
    "compress": lambda n, y: n.compress([1, 0, 1], y, 0),
    "choose": lambda n, y: n.choose([0, 1, 1, 0], [y[0], y[1]]),
    "where": lambda n, y: n.where(True, y, 0.0),
    "positive": lambda n, y: +y,
    "npos": lambda n, y: n.positive(y),
    "absf": lambda n, y: abs(y),
    "trim_zeros": lambda n, y: n.trim_zeros(y[0]),
    "nan2num": lambda n, y: n.nan_to_num(y),
    "nan2numnc": lambda n, y: n.nan_to_num(y, copy=False),
    "clip": lambda n, y: n.clip(y, 0, 9),
    "round": lambda n, y: n.round(y, 3),
    "tile1": lambda n, y: n.tile(y, 1),
    "repeat1": lambda n, y: n.repeat(y, 1, 0),
    "conc": lambda n, y: n.concatenate([y]),
    "stack": lambda n, y: n.vstack(y),
    "hst": lambda n, y: n.hstack([y]),
    "resize": lambda n, y: n.resize(y, (3, 4)),
    "delete": lambda n, y: n.delete(y, [], 0),
    "append": lambda n, y: n.append(y, []),
    "sort": lambda n, y: n.sort(y),
    "unwrap": lambda n, y: n.unwrap(y),
    "fftshift": lambda n, y: n.fft.fftshift(y),
    "triu": lambda n, y: n.triu(y),
    "tril": lambda n, y: n.tril(y, 9),
    "sumk": lambda n, y: n.sum(y, axis=()),
    "maxk": lambda n, y: y.max(axis=()),
    "cumsum": lambda n, y: n.cumsum(y[:1], 0),
    "mean1": lambda n, y: y.mean(axis=()),
    "einsum": lambda n, y: n.einsum("ij->ji", y),
    "einsum2": lambda n, y: n.einsum("ij->ij", y),
    "einsumd": lambda n, y: n.einsum("ii->i", y[:, :3]),
    "block": lambda n, y: n.block(y),
    "select": lambda n, y: n.select([True], [y]),
    "r": lambda n, y: n.r_[y],
    "c": lambda n, y: n.c_[y],
    "floor": lambda n, y: n.add(y, 0),
    "itemd": lambda n, y: y[1, 2, ...],
    "zd": lambda n, y: y[1:2, 2:3].reshape(()),
    "sum0": lambda n, y: y.sum(0),
    "getfield": lambda n, y: y.getfield(float),
    "full_like": lambda n, y: n.full_like(y, 2),
    "deepcopy": lambda n, y: copy.deepcopy(y),
    "shallow": lambda n, y: copy.copy(y),
    "broadcast_none": lambda n, y: y[:, None, :],
    "neg": lambda n, y: y[::-1, ::-1],
    "bool": lambda n, y: y[True],
    "nparr_idx": lambda n, y: y[np.int64(1)],
    "arr0": lambda n, y: y[np.array(1)],
    "ellT": lambda n, y: y[..., 1],
    "list_idx": lambda n, y: y[[1]],
    "atleast": lambda n, y: n.atleast_1d(y[0], y[1])[1],
    "vander": lambda n, y: n.ravel(y[1:]),
    "matview": lambda n, y: y.reshape(3, 4, 1)[..., 0],
    "apply": lambda n, y: n.apply_along_axis(lambda r: r, 1, y),
    "deg": lambda n, y: n.linalg.matrix_transpose(y),
    "dflat": lambda n, y: y.flat[:],
    "asmat": lambda n, y: n.unstack(y, axis=1)[0],
}  # fmt: skip

WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "view": lambda n, y, v: v.__setitem__(..., 7.0),
    "view_added": lambda n, y, v: v.__iadd__(1.0),
    "array": lambda n, y, v: y.__setitem__(..., y * 3 + 1),
    "column": lambda n, y, v: y.__setitem__((slice(None), 1), 5.0),
    "first": lambda n, y, v: v.__setitem__(0, 5.0),
    "out": lambda n, y, v: n.multiply(v, 2.0, out=v),
    "shape": lambda n, y, v: setattr(v, "shape", v.size),
    "copyto": lambda n, y, v: n.copyto(v, 4.0),
    "flat": lambda n, y, v: v.flat.__setitem__(0, 2.0),
    "turned": lambda n, y, v: v.T.__setitem__(0, 9.0),
}


def run(n: Any, y: Any, view: Any, write: Any, is_written: bool) -> tuple[Any, Any, bool, str | None]:
    """The array and the view after a write, whether they are one object, and the kind of error that the write is."""
    if is_written:
        y[0, 0] = 0.25
    v = view(n, y)
    is_one, error = v is y, None
    try:
        write(n, y, v)
    except Exception as found:
        error = type(found).__name__
    return y, v, is_one, error


def require_same(found: Any, wanted: Any) -> None:
    for ours, theirs in zip(found[:2], wanted[:2], strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12)
    assert found[2:] == wanted[2:]


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_a_result_shares_where_numpys_does(name: str, is_written: bool) -> None:
    view = VIEWS[name]
    for write in WRITES.values():
        wanted = run(np, X.copy(), view, write, is_written)
        require_same(run(wnp, wg.tensor(X), view, write, is_written), wanted)
        seen: list[Any] = []

        def recorded(x: Any, write: Any = write, seen: list[Any] = seen) -> Any:
            y, v, is_one, error = run(wnp, x, view, write, is_written)
            seen.extend((y.numpy().copy(), v.numpy().copy(), is_one, error))
            return (y * y).sum() + (X.mean() * x).sum() * 0.0

        wg.grad(recorded, unconnected_gradients="zero")(X)
        require_same((*seen,), wanted)


_OF_VALUES = {
    "mask",
    "trim_zeros",
    "asarray_chkfinite",
}  # how many elements they give, or if any, is no matter of a trace


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("name", [name for name in VIEWS if name not in _OF_VALUES])
def test_a_result_shares_in_a_function_too(name: str, is_written: bool) -> None:
    view = VIEWS[name]
    for write in WRITES.values():
        wanted = run(np, X.copy(), view, write, is_written)
        if wanted[3] is None:
            y, v = wg.function(lambda x, write=write: run(wnp, x, view, write, is_written)[:2])(X)
            require_same((y, v, *wanted[2:]), wanted)


@pytest.mark.parametrize("is_written", [False, True])
def test_who_shares_memory_is_told(is_written: bool) -> None:
    y, z = wg.tensor(X), X.copy()
    if is_written:
        y[0, 0] = z[0, 0] = 0.25
    parts: list[Callable[[Any], Any]] = [
        lambda y: y, lambda y: y[1:].T, lambda y: y[0], lambda y: y[:, ::2], lambda y: y[:, 1::2], lambda y: y * 1,
        lambda y: y.reshape(-1)[5:],
    ]  # fmt: skip
    for first in parts:
        for second in parts:
            for told in (np.shares_memory, np.may_share_memory):
                assert told(first(y), second(y)) == told(first(z), second(z))
    assert np.isfortran(y.T) and not np.isfortran(y)
    assert not np.shares_memory(y, z) and not np.may_share_memory(z, y)
    inside = wg.function(lambda x: x[:2][np.diag_indices_from(x[:2, :2])] * float(np.shares_memory(x, x[1:])))
    np.testing.assert_array_equal(inside(X), X[[0, 1], [0, 1]])


@pytest.mark.parametrize("is_written", [False, True])
def test_copies_of_large_arrays_read_nothing_beyond_memory(is_written: bool) -> None:
    # NumPy copies what it makes no view of, and so it does with the array that it is asked for views of
    x, z = wg.tensor(np.zeros((6000, 6000), np.uint8)), np.zeros((6000, 6000), np.uint8)
    if is_written:
        x[0, 0] = z[0, 0] = 1
    for made in (lambda y: y.T.ravel(), lambda y: y[:, ::7].reshape(-1), lambda y: np.rot90(y)[::3].ravel()):
        assert not np.shares_memory(made(x), x)
        assert made(x).sum() == made(z).sum()
    assert not blank_of((6000, 6000), x.dtype).any()


def test_nan_to_num_writes_where_it_is_told_to() -> None:
    for x in (wg.tensor([np.nan, 1.0, np.inf]), np.array([np.nan, 1.0, np.inf])):
        assert wnp.nan_to_num(x, copy=False, posinf=3.0) is x
        np.testing.assert_array_equal(np.asarray(x), [0.0, 1.0, 3.0])


@pytest.mark.parametrize(
    "view", [lambda n, x: x.view(), lambda n, x: n.ascontiguousarray(x), lambda n, x: n.asfortranarray(x)]
)
@pytest.mark.parametrize("is_written", [False, True])
def test_views_of_an_array_without_axes_share_with_it(view: Any, is_written: bool) -> None:
    found: list[Any] = []
    for n in (np, wnp):
        x = n.array(1.0)
        if is_written:
            x[...] = 2.0
        y = view(n, x)
        y[...] = 5.0
        found.append((y.shape, float(x)))
    assert found[0] == found[1]


def test_squeezing_nothing_gives_the_operand_itself() -> None:
    x = wg.tensor(np.ones((2, 3)))
    assert wnp.squeeze(x) is x and x.squeeze() is x
    x[0] = 2.0
    assert wnp.squeeze(x) is x and x.squeeze() is x
    row = x[:1]
    assert row.squeeze() is not row
