"""The frame of `wengert.scipy`: what is loaded when, what is SciPy's own, and what it refuses."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats

import wengert as wg
import wengert.scipy
from docs.making import scipy_names

MODULES = (
    "special", "stats", "linalg", "fft", "signal", "integrate", "interpolate", "optimize", "ndimage", "sparse",
    "sparse.linalg", "spatial", "spatial.distance", "spatial.transform", "constants",
    "cluster", "cluster.vq",
)  # fmt: skip


def test_importing_the_tree_does_not_load_scipy() -> None:
    modules = ", ".join(f"wengert.scipy.{m}" for m in MODULES)
    code = f"import sys, wengert.scipy, {modules}; print([m for m in sys.modules if m.partition('.')[0] == 'scipy'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_of_scipys_module_is_there(name: str) -> None:
    ours = importlib.import_module(f"wengert.scipy.{name}")
    theirs = importlib.import_module(f"scipy.{name}")
    assert {*theirs.__all__} <= {*ours.__all__} <= {*dir(ours)}
    for public in theirs.__all__:
        assert getattr(ours, public) is not None


def test_names_that_scipy_does_not_have_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="SciPy has none"):
        _ = wg.scipy.ndimage.no_such_filter


def test_scipys_own_function_takes_arrays_and_tensors_that_nobody_follows() -> None:
    x = np.arange(5.0)
    expected = scipy.ndimage.spline_filter(x, order=3)
    np.testing.assert_array_equal(wg.scipy.ndimage.spline_filter(x, order=3), expected)
    np.testing.assert_array_equal(wg.scipy.ndimage.spline_filter(wg.tensor(x), order=3), expected)


def test_scipys_own_function_refuses_a_followed_tensor_and_names_the_argument_and_the_line() -> None:
    def f(x):
        return wg.scipy.ndimage.spline_filter(x, order=3)

    with pytest.raises(
        wg.LostGradientError, match=r"(?s)scipy.ndimage.spline_filter.*'input'.*wg.primitive.*spline_filter"
    ):
        wg.grad(f)(np.arange(5.0))
    with pytest.raises(wg.LostGradientError, match=r"'sampling'"):
        wg.grad(lambda x: wg.scipy.ndimage.distance_transform_edt(np.eye(3), sampling=[x[0], x[1]]))(np.arange(5.0))


@pytest.mark.parametrize(("name", "shapes"), [("hypergeom", (12.0, 5.0, 4.0)), ("skellam", (2.5, 2.0))])
def test_scipys_own_distributions_refuse_a_followed_tensor_and_are_else_what_they_were(
    name: str, shapes: tuple[float, ...]
) -> None:
    ours, theirs = getattr(wg.scipy.stats, name), getattr(scipy.stats, name)
    assert isinstance(ours, type(theirs))
    for method, given in (("pmf", (3,)), ("sf", (3,)), ("mean", ()), ("__call__", ())):
        with pytest.raises(wg.LostGradientError, match=rf"scipy\.stats\.{name}\.{method}: the argument"):
            wg.grad(lambda p, method=method, given=given: getattr(ours, method)(*given, p, *shapes[1:]))(2.5)
    for found in (ours, pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert found.pmf(3, *shapes) == theirs.pmf(3, *shapes) == found.pmf(wg.tensor(3.0), *shapes)
        frozen = pickle.loads(pickle.dumps(found(*shapes)))
        assert frozen.mean() == theirs(*shapes).mean()


def test_the_page_of_what_is_not_there_lists_what_refuses() -> None:
    """`python -m docs.making.scipy_names` writes the list anew."""
    listed = scipy_names.listed()
    for module, refused in scipy_names.refusals().items():
        have = {*scipy_names.public(module)}  # the page has names of several versions of SciPy
        assert {*listed.get(module, ())} & have == {*refused}, module
    some = {"special": "mathieu_a", "linalg": "funm", "stats": "ncf", "integrate": "solve_bvp"}
    for module, name in some.items():
        assert name in listed[module]
        with pytest.raises(wg.LostGradientError, match=rf"scipy\.{module}\.{name}"):
            wg.grad(lambda x, module=module, name=name: getattr(getattr(wg.scipy, module), name)(x))(1.0)


def test_scipys_own_function_refuses_a_function_whose_results_are_followed() -> None:
    def f(a):
        return wg.scipy.optimize.basinhopping(lambda x: (x[0] - a) ** 2, [0.0], niter=1).x[0]

    with pytest.raises(wg.LostGradientError, match="basinhopping.*returned"):
        wg.grad(f)(1.0)


def test_classes_exceptions_and_modules_are_scipys() -> None:
    assert wg.scipy.sparse.lil_array is scipy.sparse.lil_array
    assert wg.scipy.constants.c == 299792458.0
    assert wg.scipy.optimize.Bounds is scipy.optimize.Bounds
    assert wg.scipy.__version__ == scipy.__version__


def test_scipys_ufuncs_on_tensors_are_ours_where_we_have_them() -> None:
    slope = wg.grad(lambda x: scipy.special.dawsn(x))(0.5)
    assert slope == pytest.approx(1 - scipy.special.dawsn(0.5))


def test_scipys_own_modules_name_our_counterpart_in_their_refusal() -> None:
    with pytest.raises(wg.LostGradientError, match="use wengert.scipy.stats.norm"):
        wg.grad(lambda x: scipy.stats.norm.logpdf(x))(0.5)
    with pytest.raises(wg.LostGradientError, match="use wengert.scipy.linalg.schur"):
        wg.grad(lambda x: scipy.linalg.schur(x)[0].sum())(np.eye(2))


def test_what_scipy_refuses_by_itself_is_not_sent_to_adopt() -> None:
    """Nothing of a compiled function is followed by `wg.adopt('scipy')`."""
    with pytest.raises(wg.LostGradientError, match="wg.primitive") as caught:
        wg.grad(lambda x: scipy.interpolate.NearestNDInterpolator(np.eye(5), x)(np.ones(5)))(np.arange(5.0) ** 2)
    assert "adopt(" not in str(caught.value)
