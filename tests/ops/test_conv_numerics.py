"""The general convolution's kernel, and its two transposes, against a naive loop and dot tests."""

from itertools import product

import numpy as np
import pytest
from scipy import signal

from wengert._core.conv_shape import (
    ConvParams,
    conv_out_shape,
    transpose_lhs_params,
    transpose_rhs_params,
)
from wengert._engines.numpy.conv import conv

CONFIGURATIONS = 1000


def naive_conv(lhs, rhs, strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups):
    """The definition, one product at a time."""
    shape = conv_out_shape(lhs.shape, rhs.shape, strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups)
    out = np.zeros(shape, np.result_type(lhs, rhs))
    o_block = rhs.shape[0] // (groups * batch_groups)
    for n, o, *p in np.ndindex(*shape):
        block = o // o_block
        source = n + (block * shape[0] if batch_groups > 1 else 0)
        first = block * rhs.shape[1] if groups > 1 else 0
        for c, *k in np.ndindex(*rhs.shape[1:]):
            at = [
                pi * s + ki * rd - low
                for pi, s, ki, rd, (low, _) in zip(p, strides, k, rhs_dilation, padding, strict=True)
            ]
            if all(a % ld == 0 and 0 <= a // ld < m for a, ld, m in zip(at, lhs_dilation, lhs.shape[2:], strict=True)):
                index = (source, first + c, *(a // ld for a, ld in zip(at, lhs_dilation, strict=True)))
                out[(n, o, *p)] += lhs[index] * rhs[(o, c, *k)]
    return out


def random_case(seed, max_rank=3):
    """Shapes and parameters, with every feature switched on often: empty axes included."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(0, max_rank + 1))
    groups, batch_groups = [(1, 1), (2, 1), (3, 1), (1, 2), (1, 3)][rng.integers(5)]
    smallest = 0 if rng.random() < 0.1 else 1
    top = 9 if rank <= 1 else 6 if rank == 2 else 4

    def draw(low, high):
        return tuple(int(v) for v in rng.integers(low, high, rank))

    lhs = (int(rng.integers(1, 3)) * batch_groups, int(rng.integers(1, 3)) * groups, *draw(smallest, top))
    rhs = (int(rng.integers(1, 3)) * groups * batch_groups, lhs[1] // groups, *draw(smallest, 4))
    params = ConvParams(
        draw(1, 4),
        tuple((int(a), int(b)) for a, b in rng.integers(-2, 5, (rank, 2))),
        draw(1, 4),
        draw(1, 4),
        groups,
        batch_groups,
    )
    return lhs, rhs, params, rng


def rearranged(x, move):
    """A `Rearrangement` carried out."""
    return np.flip(x.reshape(move.split).transpose(move.perm).reshape(move.merge), move.flip)


def transposed(t, first, second):
    return rearranged(conv(rearranged(first, t.lhs), rearranged(second, t.rhs), *t.params), t.result)


@pytest.mark.parametrize("first_seed", range(0, CONFIGURATIONS, 100))
def test_values_agree_with_the_definition(first_seed):
    for seed in range(first_seed, first_seed + 50):
        lhs, rhs, params, rng = random_case(seed, max_rank=2)
        u, w = rng.integers(-9, 9, lhs).astype(float), rng.integers(-9, 9, rhs).astype(float)
        np.testing.assert_array_equal(conv(u, w, *params), naive_conv(u, w, *params), err_msg=f"seed {seed}")


@pytest.mark.parametrize("first_seed", range(0, CONFIGURATIONS, 100))
def test_both_transposes_pass_the_dot_test(first_seed):
    # Small integers in float64: both sides of the identity are exact, so equality is exact too.
    for seed in range(first_seed, first_seed + 100):
        lhs, rhs, params, rng = random_case(seed)
        u, w = rng.integers(-9, 9, lhs).astype(float), rng.integers(-9, 9, rhs).astype(float)
        out = conv(u, w, *params)
        ct = rng.integers(-9, 9, out.shape).astype(float)
        want = np.vdot(out, ct)
        in_lhs = transposed(transpose_lhs_params(lhs, rhs, out.shape, params), ct, w)
        in_rhs = transposed(transpose_rhs_params(lhs, rhs, out.shape, params), u, ct)
        assert in_lhs.shape == lhs, seed
        assert in_rhs.shape == rhs, seed
        assert np.vdot(u, in_lhs) == want, (seed, params)
        assert np.vdot(w, in_rhs) == want, (seed, params)


def test_the_family_is_closed_under_transposing_twice():
    # The lhs transpose of the lhs transpose is the primal map, so its result is the primal result.
    for seed in range(100):
        lhs, rhs, params, rng = random_case(seed)
        if params.batch_groups > 1:  # its transpose ends in a data movement, which has a transpose of its own
            continue
        u, w = rng.integers(-9, 9, lhs).astype(float), rng.integers(-9, 9, rhs).astype(float)
        out = conv(u, w, *params)
        t = transpose_lhs_params(lhs, rhs, out.shape, params)
        back = transpose_lhs_params(out.shape, t.rhs.merge, lhs, t.params)
        np.testing.assert_array_equal(transposed(back, u, rearranged(w, t.rhs)), out, err_msg=f"seed {seed}")


@pytest.mark.parametrize("mode", ["valid", "same", "full"])
def test_simple_cases_agree_with_scipy(mode):
    rng = np.random.default_rng(0)
    u, w = rng.normal(size=(9, 8)), rng.normal(size=(3, 3))
    pad = {"valid": 0, "same": 1, "full": 2}[mode]
    out = conv(u[None, None], w[None, None], (1, 1), ((pad, pad),) * 2, (1, 1), (1, 1), 1, 1)
    np.testing.assert_allclose(out[0, 0], signal.correlate(u, w, mode=mode), rtol=1e-13, atol=1e-13)


def test_complex_operands_are_not_conjugated():
    rng = np.random.default_rng(1)
    u = rng.normal(size=(2, 3, 7)) + 1j * rng.normal(size=(2, 3, 7))
    w = rng.normal(size=(4, 3, 2)) + 1j * rng.normal(size=(4, 3, 2))
    params = ((2,), ((1, 0),), (1,), (2,), 1, 1)
    np.testing.assert_allclose(conv(u, w, *params), naive_conv(u, w, *params), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int8", "complex64", "bfloat16"])
def test_dtype_is_kept(dtype):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), dtype)) if dtype == "bfloat16" else np.dtype(dtype)
    u, w = np.ones((1, 2, 5), dtype), np.ones((3, 2, 3), dtype)
    out = conv(u, w, (1,), ((0, 0),), (2,), (1,), 1, 1)
    assert out.dtype == dtype
    assert out.shape == (1, 3, 7)
    assert out[0, 0].tolist() == [4, 2, 4, 2, 4, 2, 4]


def test_half_precision_sums_in_float32():
    # 4096 ones: float16 stops counting at 2048.
    out = conv(np.ones((1, 4096, 1), np.float16), np.ones((1, 4096, 1), np.float16), (1,), ((0, 0),), (1,), (1,))
    assert out.item() == 4096


def test_a_large_batch_is_cut_without_changing_the_result(monkeypatch):
    from wengert._engines.numpy import conv as module

    for seed in range(40):
        lhs, rhs, params, rng = random_case(seed)
        u, w = rng.integers(-9, 9, lhs).astype(float), rng.integers(-9, 9, rhs).astype(float)
        whole = conv(u, w, *params)
        monkeypatch.setattr(module, "_WINDOW_ELEMENTS", 1)
        np.testing.assert_array_equal(conv(u, w, *params), whole)
        monkeypatch.undo()


def test_read_only_and_strided_operands():
    u = np.arange(60.0).reshape(3, 4, 5).transpose(1, 0, 2)[:, :, ::-1]
    w = np.broadcast_to(np.arange(3.0), (2, 3, 3))
    params = ((1,), ((1, 1),), (1,), (1,), 1, 1)
    np.testing.assert_array_equal(conv(u, w, *params), naive_conv(u, w, *params))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rhs": (4, 3, 3)}, "4 features"),
        ({"rhs": (4, 4)}, "same rank"),
        ({"strides": (0,)}, "strides"),
        ({"strides": (1, 1)}, "strides"),
        ({"padding": ((1,),)}, "padding"),
        ({"groups": 2}, "features"),
        ({"groups": 2, "rhs": (3, 2, 3)}, "multiple of 2"),
        ({"batch_groups": 3, "rhs": (3, 4, 3)}, "batch_groups=3"),
        ({"groups": 2, "batch_groups": 2}, "one equal to 1"),
    ],
)
def test_parameters_that_do_not_fit_are_named(changes, words):
    fit = {
        "lhs": (2, 4, 8),
        "rhs": (4, 4, 3),
        "strides": (1,),
        "padding": ((0, 0),),
        "lhs_dilation": (1,),
        "rhs_dilation": (1,),
        "groups": 1,
        "batch_groups": 1,
    }
    with pytest.raises(ValueError, match=words):
        conv_out_shape(*(fit | changes).values())


def test_size_formula_counts_the_window_positions():
    for size, kernel, stride, low, high in product(range(4), range(1, 4), (1, 2, 3), (-2, 0, 2), (-1, 0, 3)):
        room = (size if size else 0) + low + high
        positions = len([p for p in range(0, max(room, 0), stride) if p + kernel <= room])
        assert conv_out_shape((1, 1, size), (1, 1, kernel), (stride,), ((low, high),), (1,), (1,))[2] == positions
