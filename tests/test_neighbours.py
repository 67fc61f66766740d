"""Tensors beside pandas, xarray, pint, PyTorch, JAX, scikit-learn and SciPy: right, or refused with what to do."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.signal
import scipy.stats

import wengert as wg
import wengert.numpy as wnp
from tests.support.slopes import check

W = np.array([2.0, 3.0, 4.0])
ON_PURPOSE = r"\.numpy\(\)"


def pandas_of_the_test() -> Any:
    return pytest.importorskip("pandas", reason="pandas is no dependency of the tests")


def frame_of_the_test() -> Any:
    return pandas_of_the_test().DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})


# -- pandas ----------------------------------------------------------------------------------------------------------

OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.mod,
    operator.lt, operator.eq, operator.ge,
)  # fmt: skip


@pytest.mark.parametrize("apply", OPERATORS, ids=lambda f: f.__name__)
def test_operators_of_pandas_and_tensors_give_tensors(apply: Any) -> None:
    frame = frame_of_the_test()
    w = wg.tensor(W)
    parts = (frame["a"], frame, frame.index + 1, frame["a"].array, frame["a"].astype("Float64"), frame["a"].astype(int))
    for part in parts:
        values = np.asarray(part)
        number = w[0] if values.ndim == 2 else w
        for found, wanted in (
            (apply(part, number), apply(values, number.numpy())),
            (apply(number, part), apply(number.numpy(), values)),
        ):
            assert type(found) is wg.Tensor
            np.testing.assert_allclose(found.numpy(), wanted)


PROGRAMS = {
    "a column by a number": lambda df, w: df["a"] * w[0],
    "a number by a column": lambda df, w: w[0] * df["a"],
    "a column by a vector": lambda df, w: df["a"] * w,
    "a vector by a column": lambda df, w: w / df["a"],
    "a frame by a vector": lambda df, w: df * w[:2],
    "a power": lambda df, w: df["a"] ** w[1],
    "a NumPy function first": lambda df, w: np.exp(df["a"]) * w,
    "NumPy's ufunc": lambda df, w: np.hypot(df["a"], w),
    "our function": lambda df, w: wnp.log(df["b"]) * w,
    "values": lambda df, w: df["a"].to_numpy() * w,
    "np.dot of a frame": lambda df, w: np.dot(df, w[:2]),
    "np.dot of a column": lambda df, w: np.dot(w, df["b"]),
    "a product with a frame": lambda df, w: w @ df,
    "rows chosen by a column": lambda df, w: w[df["a"] > 1.5],
    "rows": lambda df, w: sum(row.a * w[0] + row.b * w[1] for row in df.itertuples()),
    "np.where": lambda df, w: np.where(df["a"] > 1.5, w, df["b"]),
    "np.concatenate": lambda df, w: np.concatenate([df["a"], w]) ** 2,
    "an expression": lambda df, w: df.eval("a * @k", local_dict={"k": w[0]}),
    "in place": lambda df, w: operator.iadd(w * 1.0, df["a"]) ** 2,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_over_data_frames_have_gradients(name: str) -> None:
    frame, program = frame_of_the_test(), PROGRAMS[name]
    check(lambda w: wg.sum(program(frame, w)), W)
    np.testing.assert_allclose(wg.function(lambda w: program(frame, w))(W), program(frame, wg.tensor(W)).numpy())


def test_a_variable_beside_a_series_is_a_tensor() -> None:
    series, v = frame_of_the_test()["a"], wg.Variable(W)
    for found in (series * v, v * series, series * wg.buffer(W)):
        np.testing.assert_array_equal(found.numpy(), [2.0, 6.0, 12.0])


def test_differentiated_columns_enter_as_their_values() -> None:
    frame = frame_of_the_test()
    for found in (
        wg.grad(lambda x: wg.sum(x**2))(frame["a"]),
        wg.value_and_grad(lambda d: wg.sum(d["x"] ** 2))({"x": frame["a"]}).grad["x"],
        wg.jvp(lambda x: x**2, (frame["a"],), (np.ones(3),))[1],
        np.diag(wg.jacobian(lambda x: x**2)(frame["a"])),
    ):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, [2.0, 4.0, 6.0])
    assert wg.grad(lambda x: wg.sum(x**2))(frame).shape == (3, 2)
    with pytest.raises(TypeError, match="int64"):
        wg.grad(wg.sum)(frame["a"].astype(int))


def test_custom_gradients_give_for_columns_what_functions_give() -> None:
    column = frame_of_the_test()["a"]
    for f in (lambda x: wg.sin(x) * 2.0, wg.sum):
        given = wg.custom_gradient(lambda x, f=f: (f(x), lambda upstream: upstream * wg.ones_like(x)))(column)
        wanted = wg.function(f)(column)
        assert type(given) is type(wanted)
        np.testing.assert_array_equal(given, wanted)


def test_what_a_rule_saves_may_be_a_column() -> None:
    column = frame_of_the_test()["a"]

    def saving(x: Any, save: Any) -> Any:
        save([x])
        return wg.sin(x), lambda dy, saved: dy * wg.cos(saved[0])

    f = wg.custom_grad(saving)
    np.testing.assert_array_equal(f(column), np.sin(column))
    np.testing.assert_array_equal(wg.grad(lambda x: wg.sum(f(x)))(column), np.cos(column))


def test_what_pandas_would_hold_is_refused_with_the_cure() -> None:
    pandas, frame = pandas_of_the_test(), frame_of_the_test()
    for use in (
        lambda w: pandas.Series(w),
        lambda w: frame.assign(c=w),
        lambda w: frame @ w[:2],
        lambda w: pandas.cut(w, 2),
    ):
        with pytest.raises(wg.LostGradientError, match=r"pandas holds plain numbers.*to_numpy\(\).*" + ON_PURPOSE):
            wg.grad(lambda w, use=use: wg.sum(use(w)))(W)

    def augmented(w: Any) -> Any:
        s = frame["a"]
        s += w
        return wg.sum(s)

    with pytest.raises(wg.LostGradientError, match=r"s \+= w would write.*write s = s \+ w"):
        wg.grad(augmented)(W)


# -- xarray and pint -------------------------------------------------------------------------------------------------


def array_of_the_test() -> Any:
    xarray = pytest.importorskip("xarray", reason="xarray is no dependency of the tests")
    return xarray.DataArray([1.0, 2.0, 3.0], dims="x", coords={"x": [10, 20, 30]}, name="height")


@pytest.mark.parametrize(
    "program",
    [
        lambda a, w: a * w, lambda a, w: w - a, lambda a, w: wnp.sin(a) * w, lambda a, w: wnp.multiply(a, w),
        lambda a, w: np.exp(a * w), lambda a, w: (a * w[0]).mean("x"), lambda a, w: (a * w).sel(x=20),
        lambda a, w: np.dot(a, w), lambda a, w: wnp.concatenate([a * w, w]), lambda a, w: wnp.mean(a * w),
        lambda a, w: wnp.exp(a * w), lambda a, w: wnp.add(a, a * w), lambda a, w: (a * w).shift(x=1, fill_value=0.0),
        lambda a, w: (a * w).differentiate("x"), lambda a, w: (a * w).rolling(x=2).mean().dropna("x"),
    ],
)  # fmt: skip
def test_labelled_arrays_are_followed(program: Any) -> None:
    array = array_of_the_test()
    check(lambda w: wg.sum(program(array, w)), W)


def test_numbers_out_of_a_labelled_array_are_refused_with_the_cure() -> None:
    array = array_of_the_test()
    for use in (lambda a: a.values, lambda a: a.to_numpy(), lambda a: a.to_series()):
        with pytest.raises(wg.LostGradientError, match=r"array\.data is that tensor"):
            wg.grad(lambda w, use=use: wnp.sum(use(array * w)))(W)


def test_elementwise_functions_keep_labels() -> None:
    array = array_of_the_test()
    for found in (wnp.sin(array), wnp.add(array, array)):
        assert type(found) is type(array)
    turned = type(array)([1.0, 2.0], dims="y")
    assert wnp.multiply(array, turned).dims == ("x", "y")


def test_labelled_results_are_of_the_kind_that_came_in() -> None:
    array = array_of_the_test()
    for f in (wg.function(lambda w: array * w), lambda w: wg.vjp(lambda w: array * w, w)[0]):
        found = f(W)
        assert type(found) is type(array)
        assert type(found.data) is np.ndarray
        assert found.name == "height"
        assert found.indexes["x"].tolist() == [10, 20, 30]
        np.testing.assert_array_equal(found.values, [2.0, 6.0, 12.0])
    np.testing.assert_array_equal(wg.grad(lambda w: (array * w).sum())(W), array.values)
    np.testing.assert_array_equal(wg.jacobian(lambda w: array * w)(W), np.diag(array.values))
    np.testing.assert_array_equal(wg.vmap(lambda w: array * w)(np.stack([W, W]))[1], [2.0, 6.0, 12.0])
    np.testing.assert_array_equal(wg.grad(lambda x: wg.sum(x**2))(array), [2.0, 4.0, 6.0])


def test_quantities_hold_tensors() -> None:
    units = pytest.importorskip("pint", reason="pint is no dependency of the tests").UnitRegistry()
    length = np.array([1.0, 2.0, 3.0]) * units.m
    for program in (
        lambda w: (length * w).m_as("cm"),
        lambda w: (w[0] * units.km + length).m_as("m"),
        lambda w: np.sin(units.Quantity(w, "deg")).magnitude,
        lambda w: wnp.sin(units.Quantity(w, "deg")).magnitude,
        lambda w: np.sqrt(np.sum(length * units.Quantity(w, "m"))).to("m").magnitude,
        lambda w: w * length.magnitude,
    ):
        check(lambda w, program=program: wg.sum(program(w)), W)
    found = wg.function(lambda w: length * w)(W)
    assert type(found.magnitude) is np.ndarray
    assert found.units == units.m
    for use in (lambda: wg.grad(wg.sum)(length), lambda: wg.sum(length), lambda: wg.grad(lambda w: w[0] * units.m)(W)):
        with pytest.raises(TypeError, match=r"magnitude"):
            use()


# -- frameworks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [wg.tensor, wg.Variable])
def test_functions_of_torch_name_the_bridge(make: Any) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for use in (torch.sin, lambda w: torch.stack([w, w]), torch.nn.functional.relu, torch.ones(3).add):
        with pytest.raises(TypeError, match=r"wg\.from_torch"):
            use(make(W))
        with pytest.raises(wg.LostGradientError, match=r"wg\.from_torch.*" + ON_PURPOSE):
            wg.grad(lambda w, use=use: wg.sum(use(w)))(W)
    with pytest.raises(wg.LostGradientError, match=r"wg\.from_torch"):
        wg.grad(lambda w: wg.sum(torch.tensor([w[0], w[1]])))(W)
    mixed = torch.ones(3, dtype=torch.float64) * make(W)
    np.testing.assert_array_equal(mixed.numpy(), W)
    assert torch.as_tensor(wg.tensor(W)).tolist() == W.tolist()


@pytest.mark.parametrize("make", [wg.tensor, wg.Variable])
def test_functions_of_jax_name_the_bridge(make: Any) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jnp = jax.numpy
    for use in (jnp.sin, lambda w: jnp.stack([w, w]), jnp.linalg.norm, lambda w: jnp.dot(w, w), jax.jit(lambda x: x)):
        with pytest.raises((TypeError, ValueError), match=r"wg\.from_jax"):
            use(make(W))
        with pytest.raises(wg.LostGradientError, match=r"wg\.from_jax.*" + ON_PURPOSE):
            wg.grad(lambda w, use=use: wg.sum(use(w)))(W)
    for use in (jax.lax.sin, jax.nn.relu):  # compiled code asks, and drops what we say
        with pytest.raises(wg.LostGradientError, match=r"wg\.from_jax.*" + ON_PURPOSE):
            wg.grad(lambda w, use=use: wg.sum(use(w)))(W)
    np.testing.assert_array_equal((jnp.ones(3) * make(W)).numpy(), W)
    assert jnp.asarray(wg.tensor(W)).tolist() == W.tolist()
    assert not hasattr(wg.tensor(W), "__jax_array__")


# -- what to use in the place of others' functions -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda w: scipy.signal.lfilter([1.0], [1.0, 0.5], w), r"use wengert\.scipy\.signal\.lfilter"),
        (lambda w: scipy.stats.norm.pdf(w), r"use wengert\.scipy\.stats\.norm"),
        (lambda w: scipy.linalg.expm(w[:, None] * W), r"use wg\.linalg\.expm or wengert\.scipy\.linalg\.expm"),
        (lambda w: scipy.stats.ttest_1samp(w, 0.0), r"wengert\.scipy\.stats\.ttest_1samp"),
        (lambda w: scipy.cluster.vq.kmeans(w, 2), r"wengert\.scipy\.cluster\.vq\.kmeans"),
        (lambda w: scipy.stats.shapiro(w), r"no such function yet.*wg\.primitive"),
    ],
)
def test_functions_of_scipy_name_their_counterpart(use: Any, words: str) -> None:
    with pytest.raises(wg.LostGradientError, match=words):
        wg.grad(lambda w: wg.sum(use(w)))(W)


def test_expressions_of_sympy_name_lambdify() -> None:
    sympy = pytest.importorskip("sympy", reason="SymPy comes with PyTorch")
    a = sympy.Symbol("a")
    for use in (
        sympy.sympify, sympy.sin, lambda w: a * w, lambda w: (a**2).subs(a, w), lambda w: (a**2).evalf(subs={a: w}),
    ):  # fmt: skip
        with pytest.raises(wg.LostGradientError, match=r"sympy\.lambdify\(symbols, expression.*" + ON_PURPOSE):
            wg.grad(lambda w, use=use: use(w[0]))(W)
    assert sympy.sympify(wg.tensor(0.5)) == 0.5
    assert sympy.sympify(wg.tensor([1.0, 2.0])).shape == (2,)
    square = sympy.lambdify(a, sympy.sin(a) ** 2 + sympy.Abs(a), "numpy")
    np.testing.assert_allclose(wg.grad(lambda w: wg.sum(square(w)))(W), np.sin(2 * W) + np.sign(W))


def test_pictures_take_numbers() -> None:
    figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is no dependency of the tests")
    axes = figures.Figure().subplots()
    axes.plot(wg.tensor(W))
    with pytest.raises(wg.LostGradientError, match=r"draw x\.numpy\(\)"):
        wg.grad(lambda w: (axes.plot(w), wg.sum(w))[1])(W)


def test_functions_of_other_packages_name_the_way_to_follow_them() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is no dependency of the tests")
    with pytest.raises(wg.LostGradientError, match=r"wg\.adopt\('sklearn'\)"):
        wg.grad(lambda w: metrics.mean_squared_error(W, w))(W)
