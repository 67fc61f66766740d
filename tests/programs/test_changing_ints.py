"""Python integers that change at each call of a `function` become inputs of its program, where that gives the same."""

from __future__ import annotations

import enum
import warnings

import numpy as np
import pytest

import wengert as wg

X = np.array([0.5, 1.5, 2.5, -3.0])


def _follows(f, calls, traces, **options):
    """Calls of the compiled f, each compared with the plain one, that need so many traces."""
    g = wg.function(f, **options)
    for args in calls:
        found, wanted = g(*args), f(*args)
        pairs = zip(wg.tree.leaves(found), wg.tree.leaves(wanted), strict=True)
        for x, y in pairs:
            assert type(x) is type(y)
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-12)
    assert g.trace_count == traces
    return g


@pytest.mark.parametrize(
    ("f", "values"),
    [
        (lambda x, n: x * n, range(-5, 8)),
        (lambda x, n: x * (n // 3) + n % 4 - abs(n), range(-5, 8)),
        (lambda x, n: x * (1 - 0.9 ** (n + 1)), range(9)),
        (lambda x, n: np.abs(x) ** n, range(-3, 6)),
        (lambda x, n: np.power(x, n), range(6)),
        (lambda x, n: x[n], range(-4, 4)),
        (lambda x, n: x[n % 4] + n, range(9)),
        (lambda x, n: np.where(n > 3, x, -x), range(9)),
        (lambda x, n: wg.cond(n > 3, lambda: x * n, lambda: -x), range(9)),
        (lambda x, n: wg.fori_loop(0, n, lambda i, c: 0.5 * c + i, x), range(9)),
        (wg.grad(lambda x, n: np.sum(x**3 * n)), range(9)),
        (wg.grad(lambda x, n: np.sum(x**n)), range(1, 9)),
        (lambda x, n: wg.grad(lambda y, k: np.sum(y * k**2), argnums=1)(x, n), range(9)),
    ],
)
def test_third_value_is_traced_as_an_input_that_serves_all_others(f, values):
    _follows(f, [(X, n) for n in values], 3)


def _by_range(x, n):
    for _ in range(n):
        x = 2 * x
    return x


@pytest.mark.parametrize(
    "f",
    [
        _by_range,
        lambda x, n: np.concatenate([x, np.zeros(n)]),
        lambda x, n: x[:n],
        lambda x, n: x if n > 2 else -x,
        lambda x, n: x * (5.0 if isinstance(n, int) and n == 4 else 1.0),
        lambda x, n: x * (5.0 if type(n) is int and n == 4 else 1.0),
        lambda x, n: x * {4: 5.0}.get(n, 1.0),
        lambda x, n: x * (5.0 if n in {4} else 1.0),
        lambda x, n: x * {"rate4": 5.0}.get(f"rate{n}", 1.0),
        lambda x, n: (x, n),
        lambda x, n: x * float(n),
    ],
)
@pytest.mark.filterwarnings("ignore:.* was traced 5 times")
def test_an_integer_whose_value_the_program_needs_stays_part_of_the_signature(f):
    _follows(f, [(X, n) for n in range(6)], 6)


def test_a_match_on_its_kind_keeps_it_too():
    def f(x, n):
        match n:
            case int():
                return x
        return -x

    _follows(f, [(X, n) for n in range(4)], 4)


def test_beyond_the_bounds_of_the_arithmetic_the_value_is_traced():
    _follows(lambda x, n: x / 2**n, [(X, n) for n in [1, 2, 3, 5, 62, 70]], 4)
    _follows(lambda x, n: x / 2**n, [(X, n) for n in [1, 2, 3, 5, 62, -1]], 4)
    _follows(lambda x, n: x * n, [(X, n) for n in [1, 2, 3, 2**63 - 1, -(2**63), 2**63]], 4)
    _follows(lambda x, n: x * (n * 10**15), [(X, n) for n in [1, 2, 3, 9000, 10**5]], 4)
    bytes_of = wg.function(lambda x, n: x + n)
    for n in (1, 2, 3, 100):
        assert bytes_of(np.zeros(2, np.int8), n)[0] == n
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        bytes_of(np.zeros(2, np.int8), 300)
    element = wg.function(lambda x, n: x[n])
    assert [element(X, n) for n in (0, 1, 2, -4)] == [*X[[0, 1, 2, -4]]]
    with pytest.raises(IndexError):
        element(X, 4)


def _outcome(f, *args):
    """The result, or the kind of the error, which is no trace."""
    try:
        return np.asarray(f(*args))
    except ArithmeticError as error:
        return type(error)


@pytest.mark.parametrize(
    ("f", "values", "traces"),
    [
        (lambda x, n: x * n**0.5, [3, 2, 1, 0, 9, -1, 4], 4),
        (lambda x, n: x * n**-0.5, [3, 2, 1, 9, 0, -4, 4], 4),
        (lambda x, n: x * (0.5 * n - 1) ** (1 / 3), [3, 4, 5, 2, 100, 1, 6], 4),
        (lambda x, n: x * (1 / n**2), [3, 2, 1, 0, 9, -3, 0, -5], 3),
        (lambda x, n: x / (n / 3), [3, 2, 1, -7, 0, 4], 3),
        (lambda x, n: x * (n // 0.7 + 2.0 % n), [3, 2, 1, 9, 0, -4], 3),
        (lambda x, n: x * 2.0**n, [1, 2, 3, 1023, 1024, -2000], 3),
        (lambda x, n: x * 0.0**n, [1, 2, 3, 0, -1, 50], 3),
        (lambda x, n: x * (1 / (1 - 0.9**n)), [1, 2, 3, 0, 100, -3], 3),
        (lambda x, n: x * (1 / (n * 1j)), [1, 2, 3, 0, 100, -3], 3),
        (lambda x, n: x * 1j**n, [1, 2, 3, 0, 100, -3], 3),
        (lambda x, n: x * (2j) ** n, [1, 2, 3, 0, 2000, -3], 3),
        (lambda x, n: x.astype(np.float32) * (1 / (n // 2)), [3, 4, 5, 9, 0, -4], 3),
        (lambda x, n: wg.cond(x[0] > 0, lambda: x * (1 / n), lambda: x), [3, 4, 5, 9, 0, -4], 3),
        (lambda x, n: x * (7 // n), [-1, -2, -3, 5, 6, -9, 0], 3),
    ],
)
@pytest.mark.filterwarnings("ignore:.* was traced 5 times", "ignore:.*encountered in:RuntimeWarning")
def test_numbers_made_of_integers_become_complex_and_raise_as_in_python(f, values, traces):
    g = wg.function(f)
    for n in values:
        found, wanted = _outcome(g, X, n), _outcome(f, X, n)
        if isinstance(wanted, type):
            assert found is wanted
        else:
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=f"n = {n}")
    assert g.trace_count == traces


def test_arguments_in_structures_and_by_keyword():
    def f(x, options, *, step):
        return x * options["scale"] + options["at"][0] * step

    g = wg.function(f)
    for i in range(8):
        options = {"scale": 2 * i, "at": (i, "name")}
        np.testing.assert_allclose(g(X, options, step=i + 1), f(X, options, step=i + 1))
    assert g.trace_count == 3
    assert "options['scale'], options['at'][0], step are inputs" in g.report(X, options, step=20).traces[-1]
    assert g.trace_count == 3


@pytest.mark.filterwarnings("ignore:.* was traced 5 times because of its argument count")
def test_one_of_two_can_become_an_input():
    def f(x, count, step):
        return sum((x * step for _ in range(count)), start=x)

    g = wg.function(f)
    for step in range(12):
        np.testing.assert_allclose(g(X, 1 + step % 3, step), f(X, 1 + step % 3, step))
    assert g.trace_count == 5  # three for what changes, and the first two counts again, with the step as an input


def test_an_optimiser_with_a_counter():
    def adam(w, m, v, i):
        g = wg.grad(lambda w: np.sum((w - 1.0) ** 2))(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return w - 0.1 * (m / (1 - 0.9 ** (i + 1))) / (np.sqrt(v / (1 - 0.999 ** (i + 1))) + 1e-8), m, v

    step = wg.function(adam)
    ours = plain = (X, np.zeros(4), np.zeros(4))
    for i in range(60):
        ours, plain = step(*ours, i), adam(*plain, i)
    np.testing.assert_allclose(ours[0], plain[0], rtol=1e-9)
    assert step.trace_count == 3


def test_methods_and_functions_in_functions():
    class Model:
        def __init__(self, w):
            self.w = w

        @wg.function
        def apply(self, x, n):
            return inner(x, n) * self.w

    @wg.function
    def inner(x, n):
        return x * (n + 1)

    model = Model(3.0)
    for n in range(9):
        np.testing.assert_allclose(model.apply(X, n), X * (n + 1) * 3.0)
    assert Model.__dict__["apply"].trace_count == 3
    model.w = 4.0  # what it reads has changed
    np.testing.assert_allclose(model.apply(X, 20), X * 21 * 4.0)
    np.testing.assert_allclose(model.apply(X, 21), X * 22 * 4.0)
    assert Model.__dict__["apply"].trace_count == 4


def test_other_shapes_take_the_input_at_once():
    g = _follows(lambda x, n: x * n, [(X, n) for n in range(5)], 3)
    for n in range(5):
        np.testing.assert_array_equal(g(X[:2], n), X[:2] * n)
    assert g.trace_count == 4


def test_what_is_no_plain_int_does_not_mix_with_it():
    class Level(enum.IntEnum):
        LOW = 1

    g = _follows(lambda x, n: x * n, [(X, n) for n in range(5)], 3)
    np.testing.assert_array_equal(g(X, True), X)
    assert g.trace_count == 4
    levels = _follows(lambda x, n: x * n, [(X, n) for n in range(5)], 3)
    levels(X, Level.LOW)
    assert levels.trace_count == 4
    named = wg.function(lambda x, n: x * n, static_argnames="n")
    for n in range(4):
        named(X, n)
    assert named.trace_count == 4


def test_a_tape_differentiates_through_it():
    g = _follows(lambda x, n: np.sum(x**2 * n), [(X, n) for n in range(5)], 3)
    np.testing.assert_allclose(wg.grad(g)(X, 7), 14 * X)
    value, slopes = wg.value_and_grad(g)(X, 9)
    np.testing.assert_allclose((value, *slopes), (9 * np.sum(X**2), *(18 * X)))
    assert g.trace_count == 3
    tree = wg.function(wg.grad(lambda p, n: np.sum(p["x"] ** 2 * n)))
    for n in range(5):
        found = tree({"x": X, "name": "w", "flag": True}, n)
        np.testing.assert_allclose(found["x"], 2 * n * X)
        assert found["name"] is None and found["flag"] is None
    assert tree.trace_count == 3


def test_variables_are_written_once():
    total = wg.Variable(np.zeros(4))

    @wg.function
    def add(x, n):
        total.assign(total + x * n)
        return x * n

    for n in range(6):
        add(X, n)
    np.testing.assert_allclose(total.numpy(), X * 15)
    assert add.trace_count == 3


def test_what_prints_is_not_run_twice(capfd):
    @wg.function
    def f(x, n):
        wg.debug_print("{}", x)
        return x * n

    for n in range(4):
        f(np.float64(2.0), n)
    assert capfd.readouterr().out.count("2.0") == 4
    assert f.trace_count == 4


def test_a_saved_function_takes_other_integers(tmp_path):
    g = wg.function(lambda x, n: x / 2**n)
    for n in range(4):
        g(X, n)
    wg.save(g, tmp_path / "g.wengert")
    loaded = wg.load(tmp_path / "g.wengert")
    for n in (0, 7, 62):
        np.testing.assert_array_equal(loaded(X, n), X / 2**n)
    with pytest.raises(TypeError, match="was not saved"):
        loaded(X, 64)


def test_nobody_hears_of_integers_that_are_inputs():
    g = wg.function(lambda x, n: x * n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(12):
            g(X, n)
    assert g.report(X, 50).traces[-1] == "another argument: n is 2, before 1 (from here on n is an input)"


@pytest.mark.parametrize("kind", ["jax", "torch", "tensorflow"])
def test_frameworks_arrays_stay_theirs(kind):
    pytest.importorskip(kind)
    make = {
        "jax": lambda: __import__("jax.numpy").numpy.asarray,
        "torch": lambda: __import__("torch").tensor,
        "tensorflow": lambda: __import__("tensorflow").constant,
    }[kind]()
    x = make(X.astype(np.float32))
    step = wg.function(wg.grad(lambda x, i: wg.sum(x**2 * (1 - 0.9 ** (i + 1)))))
    for i in range(8):
        found = step(x, i)
        assert type(found) is type(x) and "float32" in str(found.dtype)
        np.testing.assert_allclose(np.asarray(found), 2 * X * (1 - 0.9 ** (i + 1)), rtol=1e-5)
    assert step.trace_count == 3
