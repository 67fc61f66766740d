"""What was taken in silence, never ended, or was refused by an error of another kind."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp


def cyclic():
    found = [1.0]
    found.append(found)
    return found


def in_a_trace(make):
    return lambda: wg.function(lambda x: make() + x)(np.int8(0))


MAKERS = [
    lambda: wg.tensor(300, dtype="int8"),
    lambda: wg.tensor([1, 300], dtype="int8"),
    lambda: wg.tensor(-1, dtype="uint8"),
    lambda: wg.tensor([[0], [-1]], dtype="uint64"),
    lambda: wg.tensor(300.5, dtype="int8"),
    lambda: wg.asarray(300, dtype="int8"),
    lambda: wg.array([300], dtype="int8"),
    lambda: wg.full((2,), 300, dtype="int8"),
    lambda: wnp.full(2, [300], dtype="int8"),
    lambda: wg.full_like(np.int8([1]), 300),
    lambda: wg.ops.cast(300, "int8"),
    lambda: wg.astype(300, "int8"),
    lambda: wg.ops.convert_to_tensor([300], "int8"),
    lambda: wg.pad(wg.tensor([1], dtype="int8"), 1, constant_values=300),
    lambda: wg.array_api.asarray(300, dtype="int8"),
    lambda: wg.clip(wg.tensor([1], dtype="int8"), 300, 400),
    lambda: wg.tensor([1], dtype="int8").at[0].set(300),
    lambda: wg.tensor([1], dtype="int8") + 300,
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("where", [lambda make: make, in_a_trace], ids=["eager", "traced"])
def test_integers_that_a_dtype_does_not_hold_overflow_as_in_numpy(make, where):
    with pytest.raises(OverflowError, match="out of bounds for u?int"):
        where(make)()


def test_not_a_number_is_no_integer_as_in_numpy():
    with pytest.raises(ValueError, match="tensor: cannot convert float NaN to integer"):
        wg.tensor([float("nan")], dtype="int8")


def test_a_variable_is_given_integers_that_it_holds():
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        wg.Variable(300, dtype="int8")
    held = wg.Variable(1, dtype="int8", name="held")
    with pytest.raises(OverflowError, match=r"held\.assign: .*300 out of bounds for int8"):
        held.assign(300)
    held.assign(np.int64(3))
    assert held.numpy() == 3


def test_arrays_are_converted_as_by_astype():
    assert wg.tensor(np.array([300]), dtype="int8").numpy().tolist() == [44]
    assert wg.tensor(2**70, dtype="float32").item() == np.float32(2**70)


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_have_64_bits(seed):
    with pytest.raises(ValueError, match=f"random.key: seed is {seed}"):
        wg.random.key(seed)
    with pytest.raises(ValueError, match=f"random.fold_in: data is {seed}"):
        wg.random.fold_in(wg.random.key(0), seed)


def test_seeds_that_differ_give_other_keys():
    seeds = (0, 1, -1, 2**32, 2**63, -(2**63) + 1, 2**64 - 2)
    assert len({tuple(wg.random.key(s).numpy().tolist()) for s in seeds}) == len(seeds)


def test_ranges_end_within_int64():
    for arguments in ((2**63,), (2**63 - 2, 2**63), (0, 1, 2**64)):
        with pytest.raises(OverflowError, match=r"arange: .* out of bounds for int64"):
            wg.arange(*arguments)
    assert wg.arange(2**63, 2**63 + 2, dtype="uint64").numpy().tolist() == [2**63, 2**63 + 1]


@pytest.mark.parametrize("n", [-1, 0, -2, 1.5, "2"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_have_a_length(name, n):
    with pytest.raises((ValueError, TypeError), match=rf"{name}: n "):
        getattr(wg.fft, name)(np.arange(4.0), n=n)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_are_of_a_length_and_a_distance(name):
    for n in (0, -3):
        with pytest.raises(ValueError, match=f"{name}: n is {n}"):
            getattr(wg.fft, name)(n)
    with pytest.raises(ValueError, match=f"{name}: d is 0"):
        getattr(wg.fft, name)(4, 0)
    np.testing.assert_array_equal(getattr(wg.fft, name)(5, 0.5), getattr(np.fft, name)(5, 0.5))


def test_structures_of_more_leaves_are_no_match():
    for tree, other in (([1.0, None], [1.0, 2.0]), ({"a": "text"}, {"a": np.ones(2)}), ([1.0], [1.0, 2.0])):
        with pytest.raises(ValueError, match=r"tree\.map: structures differ"):
            wg.tree.map(lambda x, y: x + y, tree, other)
    assert wg.tree.map(lambda x, y: x + y, [1.0, None], [2.0, None]) == [3.0, None]


def test_only_a_spec_is_put_together():
    with pytest.raises(TypeError, match=r"tree\.unflatten: spec: .*got int"):
        wg.tree.unflatten(3, [1.0])


@pytest.mark.parametrize("draw", [wg.random.permutation, wg.random.choice])
def test_numbers_below_a_negative_one_are_not_drawn(draw):
    with pytest.raises(ValueError, match="-3"):
        draw(wg.random.key(0), -3)


def test_nothing_is_chosen_of_nothing():
    with pytest.raises(ValueError, match=r"random\.choice: .*without elements"):
        wg.random.choice(wg.random.key(0), 0)
    assert wg.random.choice(wg.random.key(0), 0, (0,)).shape == (0,)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau"])
@pytest.mark.parametrize("fun", [lambda t, y: y * np.nan, lambda t, y: y * np.where(t > 0.5, np.nan, -1.0)])
@pytest.mark.parametrize("t_eval", [None, [0.0, 2.0]])
def test_an_integration_that_meets_nan_fails_and_ends(method, fun, t_eval):
    def solve(y0):
        found = wg.integrate.solve_ivp(fun, (0, 2), y0, method=method, t_eval=t_eval)
        return found.status, found.success, found.y

    y0 = np.array([1.0])
    with np.errstate(all="ignore"):
        status, success, _ = solve(y0)
        assert status == -1 and not success
        status, success, y = wg.function(solve)(y0)
        assert status == -1 and not success and np.isnan(y[0, -1])


def test_an_integration_is_asked_for_numbers():
    def decay(t, y):
        return -y

    for wrong in (
        {"t_span": (0, np.nan)}, {"t_span": (0, np.inf)}, {"t_eval": [np.nan]}, {"rtol": np.nan}, {"atol": np.nan},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(wrong))):
            wg.integrate.solve_ivp(decay, **{"t_span": (0, 1), "y0": [1.0], **wrong})


def test_slices_start_where_a_trace_does_not_know():
    x = np.arange(8.0)
    for start in (2, np.array([2]), wg.tensor(2), wg.tensor([2])):
        listed = np.ndim(start.numpy() if isinstance(start, wg.Tensor) else start) == 0

        def sliced(i, listed=listed):
            return wg.ops.slice(wg.tensor(x), [i] if listed else i, [3])

        def updated(i, listed=listed):
            return wg.ops.slice_update(wg.tensor(x), [i] if listed else i, wg.zeros(2))

        for f, wanted in ((sliced, [2, 3, 4]), (updated, [0, 1, 0, 0, 4, 5, 6, 7])):
            np.testing.assert_array_equal(f(start), wanted)
            np.testing.assert_array_equal(wg.function(f)(start), wanted)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_differences_of_nothing_are_nothing(shape, n):
    x = np.zeros(shape)
    for axis in range(len(shape)):
        wanted = np.diff(x, n=n, axis=axis)
        assert wg.diff(x, n=n, axis=axis).shape == wanted.shape
        assert wg.function(lambda v, axis=axis: wg.diff(v, n=n, axis=axis))(x).shape == wanted.shape


def test_more_differences_than_elements_end():
    assert wg.diff([1.0, 2.0], n=2**30).shape == (0,)
    assert wg.polyder([1.0, 2.0], 2**30).shape == np.polyder([1.0, 2.0], 3).shape


@pytest.mark.parametrize("count", [1, 3, 16, 37])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64"])
@pytest.mark.parametrize("source", ["float64", "float32"])
def test_compiled_floats_become_the_unsigned_integers_of_numpy(source, dtype, count):
    for value in (np.nan, -1.0, -1.5, -300.0, 300.5, 3e9, 2.0**63, 1e19, 1e20, -1e20, np.inf, -np.inf):
        x = np.full(count, value, source)
        with np.errstate(all="ignore"):
            wanted = x.astype(dtype)
            np.testing.assert_array_equal(wg.function(lambda v: wg.astype(v, dtype))(x), wanted)


IDENTITY = [
    wg.tensor, wg.asarray, wg.Variable, wg.sin, wg.sum, wg.stack, wg.stop_gradient, wg.block, wg.tree.flatten,
    wg.tree.leaves, wg.tree.ravel, lambda x: wg.tree.map(abs, x), wg.grad(lambda x: x[0]),
    wg.value_and_grad(lambda x: x[0]), wg.function(lambda x: x[0]), wg.vmap(lambda x: x[0]),
    wg.jacobian(lambda x: x[0]), wg.checkpoint(lambda x: x[0]), lambda x: wg.vjp(lambda v: v[0], x),
    lambda x: wg.jvp(lambda v: v[0], (x,), (x,)), lambda x: wg.function(lambda v: x)(1.0),
    lambda x: wg.cond(True, lambda: x, lambda: x), lambda x: wg.scan(lambda c, v: (c, v), x, np.ones(3)),
    lambda x: wg.fori_loop(0, 3, lambda i, c: c, x), lambda x: wg.while_loop(lambda c: False, lambda c: c, x),
    lambda x: wg.sum(np.ones(3), keepdims=x), lambda x: np.add(wg.tensor(1.0), x),
    wg.custom_gradient(lambda x: (x, lambda g: g)), lambda x: wg.tensor(1.0) + x, lambda x: wg.ones(x),
]  # fmt: skip


@pytest.mark.parametrize("f", IDENTITY)
def test_a_list_that_holds_itself_is_refused(f):
    double = []
    double += [double, double]
    for x in (cyclic(), (cyclic(),), double):
        with pytest.raises((ValueError, TypeError)):
            f(x)


def test_a_dictionary_that_holds_itself_is_refused():
    tree = {}
    tree["self"] = tree
    with pytest.raises(ValueError, match="a dict that holds itself"):
        wg.tree.leaves(tree)
    with pytest.raises(ValueError, match="a dict that holds itself"):
        wg.grad(lambda p: p["a"])(tree)


def test_a_list_that_stands_in_two_places_is_a_structure():
    row = [1.0, 2.0]
    assert wg.tree.leaves({"a": row, "b": [row, row]}) == [1.0, 2.0] * 3
    assert wg.tensor([row] * 100).shape == (100, 2)


@pytest.mark.parametrize("fmt", ["{a}", "{1}", "{} {}", "{", 3, "{a.b}"])
def test_texts_to_print_have_fields_for_tensors(fmt):
    with pytest.raises((ValueError, TypeError), match="debug_print"):
        wg.debug_print(fmt, wg.tensor(1.0))


def test_texts_to_print_say_where_the_tensors_stand(capsys):
    wg.debug_print("{0:.1f} {{}} {0.ndim}", wg.tensor(1.0))
    wg.debug_print("nothing")
    assert capsys.readouterr().out == "1.0 {} 0\nnothing\n"


@pytest.mark.parametrize("size", [(0, 0), (0, 2), (-1, 2), (2,), 3, "ab", (2.5, 2)])
def test_images_have_pixels(size):
    with pytest.raises((ValueError, TypeError), match="resize: size is"):
        wg.image.resize(wg.zeros((4, 4, 3)), size)


def test_windows_take_steps():
    for steps in (0, -1, 1.5, "ab"):
        with pytest.raises((ValueError, TypeError), match="extract_patches: strides"):
            wg.ops.image.extract_patches(wg.ones((1, 4, 6, 3)), 2, strides=steps)


def test_constants_in_a_trace_have_a_smallest_number():
    x = wg.tensor(np.array([[2.0, np.nan], [1.0, 3.0]]))
    np.testing.assert_array_equal(wg.function(lambda: wg.nanargmin(x, axis=0))(), [1, 1])
