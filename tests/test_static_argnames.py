"""Arguments of a compiled function that are static by name."""

import numpy as np
import pytest

import wengert as wg


def scaled(x, factor=1.0, axes=(0,)):
    assert type(factor) is float  # the number itself, not a tensor
    assert type(axes) is tuple
    return wg.sum(x, axis=axes) * factor


X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("names", [("factor", "axes"), ["axes", "factor"]], ids=str)
def test_static_arguments_reach_the_function_as_they_are(names):
    f = wg.function(scaled, static_argnames=names)
    for _ in range(2):
        np.testing.assert_array_equal(f(X, 2.0, (0, 1)), 30.0)
        np.testing.assert_array_equal(f(X, axes=(1,), factor=3.0), [9.0, 36.0])
    assert f.trace_count == 2


def test_one_name_is_enough_and_decorators_take_it():
    @wg.function(static_argnames="n")
    def power(x, n):
        return x if n < 1.5 else x * power(x, n - 1.0)

    assert power(2.0, 3.0) == 8.0
    assert power(2.0, n=2.0) == 4.0
    assert wg.grad(power)(2.0, 3.0) == 12.0
    np.testing.assert_array_equal(wg.vmap(lambda x: power(x, 2.0))(np.array([1.0, 3.0])), [1.0, 9.0])
    with wg.eager():
        assert power(2.0, 3.0) == 8.0
    assert wg.function(lambda x: power(x, 3.0))(2.0) == 8.0


def test_values_that_python_calls_equal_are_traces_of_their_own():
    f = wg.function(lambda x, s: x * np.copysign(1.0, s), static_argnames="s")
    assert (f(2.0, 0.0), f(2.0, -0.0)) == (2.0, -2.0)
    g = wg.function(lambda x, s: x * (2.0 if type(s[0]) is bool else 3.0), static_argnames="s")
    assert (g(1.0, (1,)), g(1.0, (True,)), g(1.0, (1.0,))) == (3.0, 2.0, 3.0)


def test_methods_have_static_arguments():
    class Model:
        weight = 3.0

        @wg.function(static_argnames=("mode",))
        def run(self, x, mode=0.5):
            return x * self.weight if mode == 0.5 else x

    assert (Model().run(2.0), Model().run(2.0, 0.5), Model().run(2.0, mode=1.5)) == (6.0, 6.0, 2.0)


def test_a_trace_of_specs_takes_static_values():
    f = wg.function(lambda x, s: x * s, static_argnames="s")
    assert len(f.trace(wg.TensorSpec((3,)), 2.0).inputs) == 1


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [(3, TypeError, "static_argnames"), ((1,), TypeError, "static_argnames"), ("z", ValueError, "no parameter 'z'")],
)
def test_wrong_names_are_refused(names, error, text):
    with pytest.raises(error, match=text):
        wg.function(lambda x, y: x, static_argnames=names)


def test_static_arguments_beside_a_signature_are_refused():
    with pytest.raises(ValueError, match="exclude each other"):
        wg.function(lambda x, y: x, static_argnames="y", input_signature=[wg.TensorSpec(())])


@pytest.mark.parametrize(
    ("value", "error"),
    [([1], ValueError), (np.ones(2), ValueError), ({}, ValueError), (wg.tensor(1.0), TypeError)],
    ids=["list", "ndarray", "dict", "tensor"],
)
def test_static_arguments_without_a_hash_are_refused_by_name(value, error):
    with pytest.raises(error, match="s is static"):
        wg.function(lambda x, s: x, static_argnames="s")(1.0, value)
