"""`wg.adopt`: code that was written for NumPy is followed whole, and the original stays as it is."""

from __future__ import annotations

import collections
import math
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

SOURCES = {
    "__init__.py": """
        '''A sample.'''
        import sys
        from .shapes import area
        from . import casts as c
        __version__ = "1.0"
        def itself():
            return sys.modules[__name__]
        def __getattr__(name):
            if name == "late":
                import importlib
                return importlib.import_module(".late", __name__)
            raise AttributeError(name)
    """,
    "shapes.py": """
        import math
        import numpy as np
        from numpy.linalg import norm
        from math import sqrt, pi as PI
        CONSTANTS = np.array([1.0, 2.0, 3.0])
        class Circle:
            def __init__(self, r):
                self.r = float(r)
            def area(self):
                return PI * math.pow(self.r, 2)
        def area(r):
            return Circle(r).area()
        def length(x):
            return norm(np.asarray(x) * CONSTANTS) + sqrt(math.fsum(v**2 for v in x))
        def late_sum(x):
            from .late import weigh
            return weigh(x)
        def fails(x):
            raise RuntimeError("here")
    """,
    "late.py": """
        from numpy import *
        def weigh(x):
            return sum(array([exp(x[0]), x[1] ** 2]) * linspace(1, 2, 2))
    """,
    "casts.py": """
        import cmath
        import numpy as np
        class Kelvin(float):
            pass
        class Meta(type):
            def __new__(mcs, name, bases, names):
                return type.__new__(mcs, name, bases, names)
        class Made(metaclass=Meta):
            pass
        def kinds(x):
            return (isinstance(x, float), isinstance(x, (int, np.floating)), isinstance(x, np.ndarray), np.isscalar(x),
                    hasattr(x, "__len__"), type(x) is float, type(x) == float)
        def cast(x):
            return float(x) * np.float64(x) * complex(x).real * x.item() if hasattr(x, "item") else x**4
        def nested(x):
            return [v * 2 for v in np.array(x).tolist()]
        def steps(x):
            n = int(x)
            return abs(x) + round(x) + max(x, 0.5) + min(x, 9.0) + sum([x] * n) + sorted([x, 1.0])[-1]
        def polar(x):
            return abs(cmath.exp(complex(0.0, x))) + cmath.sqrt(x).real
        def special():
            return float("nan"), float.fromhex("0x1p3"), isinstance(Kelvin(1.0), float), np.dtype(float), np.zeros(2, float)
        def match(x):
            match x:
                case float():
                    return "float"
                case _:
                    return "other"
    """,
}


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("adopted")
    folder = root / "adoptable_sample"
    folder.mkdir()
    for file, source in SOURCES.items():
        (folder / file).write_text(textwrap.dedent(source))
    sys.path.insert(0, str(root))
    yield folder.name
    sys.path.remove(str(root))


def test_gradients_go_through_casts_math_and_submodules(name: str) -> None:
    m = wg.adopt(name)
    assert np.isclose(wg.grad(m.area)(2.0), 4 * math.pi)
    assert np.isclose(wg.grad(m.c.cast)(2.0), 32.0)
    assert np.isclose(wg.grad(m.c.steps)(3.0), 1 + 1 + 1 + 3 + 1)
    assert np.isclose(wg.grad(m.c.polar)(4.0), 0.25)
    assert np.allclose(wg.grad(lambda x: sum(m.c.nested(x)))(np.array([1.0, 2.0])), 2.0)
    x = np.array([1.0, 2.0, 0.5])
    wg.check_gradients(m.shapes.length, x)


def test_imports_inside_functions_and_stars_are_recorded(name: str) -> None:
    x = np.array([0.3, 0.4])
    assert np.allclose(wg.grad(wg.adopt(name).shapes.late_sum)(x), [np.exp(0.3), 4 * 0.4])
    assert wg.adopt(name).late is wg.adopt(f"{name}.late")


@pytest.mark.parametrize("transform", ["function", "vmap", "jvp", "twice"])
def test_copies_go_through_the_transforms(name: str, transform: str) -> None:
    area = wg.adopt(name).area
    if transform == "function":
        assert np.isclose(wg.function(wg.grad(area))(2.0), 4 * math.pi)
    elif transform == "vmap":
        assert np.allclose(wg.vmap(area)(np.array([1.0, 2.0])), [math.pi, 4 * math.pi])
    elif transform == "jvp":
        assert np.isclose(wg.jvp(area, (2.0,), (1.0,))[1], 4 * math.pi)
    else:
        assert np.isclose(wg.grad(wg.grad(area))(2.0), 2 * math.pi)


def test_the_original_and_the_table_of_modules_stay_untouched(name: str) -> None:
    before = dict(sys.modules)
    m = wg.adopt(name)
    m.shapes.length(np.array([1.0, 2.0, 3.0]))
    assert not [found for found in sys.modules if found.startswith(name)]
    assert before.keys() <= sys.modules.keys()
    assert m.itself() is m
    assert isinstance(m.shapes.CONSTANTS, np.ndarray)
    assert np.sin is not m.shapes.np.sin
    assert m.__version__ == "1.0"
    assert m.__doc__ == "A sample."
    assert m.shapes.__file__.endswith("shapes.py")


def test_the_same_target_gives_the_same_copy_and_another_skip_another(name: str) -> None:
    m, other = wg.adopt(name), wg.adopt(name, skip=(f"{name}.late",))
    assert wg.adopt(name) is m
    assert wg.adopt(m.shapes.area) is m.shapes.area
    assert other is not m
    assert wg.adopt.report(other).left.get(f"{name}.late") is None
    with pytest.raises(wg.LostGradientError):
        wg.grad(other.shapes.late_sum)(np.array([0.3, 0.4]))
    assert wg.adopt.report(other).left[f"{name}.late"] == "skipped"
    for found in [found for found in sys.modules if found.startswith(name)]:
        del sys.modules[found]


def test_numbers_of_tensors_are_the_types_that_numpy_gives(name: str) -> None:
    kinds = wg.adopt(name).c.kinds
    seen: list[Any] = []
    wg.grad(lambda x: (seen.append(kinds(x)), x)[1])(2.0)
    wg.grad(lambda x: (seen.append(kinds(x)), wg.sum(x))[1])(np.ones(2))
    assert seen[0] == (True, True, False, True, False, True, True)
    assert seen[1] == (False, False, True, False, True, False, False)
    assert kinds(2.0)[0] and not kinds(2)[0]


def test_classes_of_numbers_are_what_they_were(name: str) -> None:
    nan, eight, derived, dtype, zeros = wg.adopt(name).c.special()
    assert math.isnan(nan)
    assert (eight, derived, dtype) == (8.0, True, np.dtype(float))
    assert isinstance(zeros, np.ndarray)
    assert wg.adopt(name).c.match(1.0) == "float"
    assert wg.adopt(name).c.Kelvin.__mro__[1] is float


def test_errors_are_those_of_math_and_lines_those_of_the_file(name: str) -> None:
    m = wg.adopt(name)
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        wg.grad(lambda x: m.shapes.math.sqrt(x))(-1.0)
    with pytest.raises(RuntimeError) as caught:
        m.shapes.fails(1.0)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.line == 'raise RuntimeError("here")'


def test_classes_functions_and_names_are_targets(name: str) -> None:
    __import__(f"{name}.shapes")
    original = sys.modules[f"{name}.shapes"]
    circle = wg.adopt(original.Circle)
    assert np.isclose(wg.grad(lambda r: circle(r).area())(2.0), 4 * math.pi)
    assert np.isclose(wg.grad(wg.adopt(original.area))(2.0), 4 * math.pi)
    with pytest.raises(wg.LostGradientError):
        wg.grad(original.area)(2.0)
    assert wg.adopt(math.sin) is not None
    with pytest.raises(TypeError, match="adopt"):
        wg.adopt(3)
    with pytest.raises(ModuleNotFoundError):
        wg.adopt("no_such_module_at_all")


def test_nested_functions_are_copied_with_what_they_close_over() -> None:
    def helper(x: Any) -> Any:
        return math.exp(float(x))

    def f(x: Any) -> Any:
        return helper(x) + np.array([x, 2 * x])[1]

    assert np.isclose(wg.grad(wg.adopt(f))(0.5), math.exp(0.5) + 2)
    assert wg.adopt(f) is wg.adopt(f)


def test_numpys_iterators_give_tensors_in_copies() -> None:
    def iterated(x: Any) -> Any:
        total = 0.0
        for a in np.nditer(x):
            total = total + a**2
        for (i,), a in np.ndenumerate(x):
            total = total + i * a
        return total + sum(a * b for a, b in np.broadcast(x, np.array([1.0, 2.0, 3.0])))

    x = np.array([0.5, -1.0, 2.0])
    np.testing.assert_allclose(wg.grad(wg.adopt(iterated))(x), 2 * x + [0, 1, 2] + [1, 2, 3], rtol=1e-14)
    assert isinstance(wg.adopt(lambda: np.ndenumerate(x))(), np.ndenumerate)


def test_the_report_lists_what_was_replaced(name: str) -> None:
    told = wg.adopt.report(wg.adopt(name))
    assert {"math", "numpy", "numpy.linalg"} <= {*told.modules[f"{name}.shapes"]}
    assert "float" in told.builtins
    assert f"{name}.shapes" in str(told)
    with pytest.raises(TypeError, match="report"):
        wg.adopt.report(math)


def test_scripts_run_with_their_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("import math\n\ndef f(x):\n    return math.sin(float(x))\n")
    (tmp_path / "script.py").write_text(
        "import sys\nimport wengert as wg\nfrom neighbour import f\n"
        "if __name__ == '__main__':\n    print(float(wg.grad(f)(0.0)), sys.argv[1:])\n    sys.exit(3)\n"
    )
    run = [sys.executable, "-m", "wengert.cli", "run", str(tmp_path / "script.py"), "-v", "--x=1"]
    ran = subprocess.run(run, capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "1.0 ['-v', '--x=1']", ran.stderr
    assert ran.returncode == 3
    missing = subprocess.run([*run[:4], "nothing.py"], capture_output=True, text=True, check=False)
    assert missing.returncode == 2


def test_a_dtype_is_found_among_numpys_scalar_types() -> None:
    def kind(x: Any) -> Any:
        return (
            x.dtype in (np.float32, np.float64),
            np.float64 == x.dtype,
            np.float64 != x.dtype,
            x.dtype in (int, float),
        )

    assert wg.adopt(kind)(np.zeros(2)) == kind(np.zeros(2)) == (True, True, False, True)
    assert wg.adopt(kind)(wg.tensor([1.0])) == (True, True, False, True)


def test_a_function_of_scipys_is_adopted_by_ours() -> None:
    signal = pytest.importorskip("scipy.signal")
    design = wg.adopt(signal.butter)
    assert design is wg.scipy.signal.butter
    assert np.all(np.isfinite(wg.grad(lambda w: wg.sum(design(2, w)[0]))(0.3)))


class Matrix:
    def __init__(self, rows: Any) -> None:
        self.held = np.array(rows)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.held if dtype is None else self.held.astype(dtype)


def test_objects_that_say_what_arrays_they_are_hold_tensors() -> None:
    def f(x: Any) -> Any:
        m = Matrix([[x, 1.0], [2.0, x]])
        total = (np.asarray(m) ** 2).sum() + np.linalg.det(m) + np.hstack([np.ones((2, 1)), m]).sum()
        return total + np.multiply(m, 2.0)[0, 0] + np.add(np.ones((2, 2)), m).sum()

    for way in (wg.adopt(f), wg.function(wg.adopt(f))):
        assert np.isclose(wg.grad(way)(0.5), 4 * 0.5 + 2 * 0.5 + 2 + 2 + 2)


def test_vectorize_passes_objects_on() -> None:
    def f(x: Any) -> Any:
        apply = np.vectorize(lambda a, h, options: h(a) * options["scale"])
        return apply(np.array([x, 2 * x]), np.cos, {"scale": 2.0}).sum()

    assert np.isclose(wg.grad(wg.adopt(f))(0.5), -2 * np.sin(0.5) - 4 * np.sin(1.0))


def motifs(x: Any) -> Any:
    weights: dict[Any, Any] = {}
    for row in np.lib.stride_tricks.sliding_window_view(x, 2):
        motif = tuple(row.argsort())
        weights[motif] = weights.get(motif, 0.0) + np.var(row)
    return sum(v * (1.0 + i) for i, v in enumerate(weights.values()))


def labels(x: Any) -> Any:
    left = {*range(len(x))} - {*np.where(x > 0.4)[0]}
    return sum(x[i] * i for i in left) + sum(count * x[i] for i, count in collections.Counter(np.argsort(x)).items())


@pytest.mark.parametrize("f", [motifs, labels])
def test_indices_are_keys_by_their_values_in_copies(f: Any) -> None:
    x = np.array([0.3, 0.9, 0.1, 0.7, 0.5])
    value, gradient = wg.value_and_grad(wg.adopt(f))(x)
    assert np.isclose(value, f(x), rtol=1e-14)
    slopes = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(5)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)
    with pytest.raises(wg.TracingError, match="hashes to is not known"):
        wg.function(wg.adopt(lambda x: {np.argmax(x): 1.0}[np.argmax(x)] * x))(x)


def test_followed_numbers_are_keys_by_identity_so_that_a_memo_loses_no_gradient() -> None:
    def f(x: Any) -> Any:
        if x not in memo:
            memo[x] = x**2
        return memo[x]

    memo: dict[Any, Any] = {}
    copy = wg.adopt(f)
    assert [wg.grad(copy)(3.0), wg.grad(copy)(3.0)] == [6.0, 6.0]


def test_numbers_leave_products_to_classes_of_lists_that_have_their_own() -> None:
    class Row(list[Any]):
        def __rmul__(self, other: Any) -> Row:
            return Row([other * x for x in self])

        def total(self) -> Any:
            return sum(self)

    assert wg.grad(lambda x: (x * Row([1.0, 2.0])).total())(3.0) == 3.0
    np.testing.assert_array_equal(wg.grad(lambda x: (x * Row([1.0, 2.0])).sum())(np.ones(2)), [1.0, 2.0])


class Compiled:
    """As numba's dispatcher: it refuses what it does not know, and tells the function that it has compiled."""

    __module__ = "numba.core.registry"

    def __init__(self, f: Any) -> None:
        self.py_func = f
        self.__qualname__, self.__name__, self.__module__ = f.__qualname__, f.__name__, f.__module__

    def __call__(self, *args: Any) -> Any:
        raise TypeError("cannot determine Numba type")


def test_functions_that_numba_has_compiled_are_copied_from_python() -> None:
    @Compiled
    def inner(x: Any) -> Any:
        return math.sin(x) * x

    @Compiled
    def outer(x: Any) -> Any:
        total = np.zeros(3)
        for i in range(3):
            total[i] = inner(x[i])
        return total.sum()

    x = np.array([0.3, 0.5, 0.9])
    for f in (outer, lambda x: outer(x)):
        np.testing.assert_allclose(wg.grad(wg.adopt(f))(x), np.sin(x) + x * np.cos(x))
