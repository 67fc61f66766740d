"""No public function of NumPy's loses a gradient in silence: each one is called with a followed tensor in every place.

Each call runs twice, at two points close to each other. A call may be recorded (its result is followed), may raise,
or may give what does not depend on the point (shapes, dtypes, booleans, integers, indices). A float that changed with
the point and is not followed is a hole. The arguments are tried blindly, in all the patterns below; calls that make
no sense raise, which is fine.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.lib.scimath
import numpy.lib.stride_tricks
import numpy.polynomial
import pytest

import wengert as wg
from wengert import Tensor

POINTS = {
    0: np.array(0.3), 1: np.array([0.3, 0.5, 0.7, 1.2]), 2: np.array([[3.1, 0.1, 0.2], [0.1, 4.0, 0.3], [0.2, 0.3, 5.0]]),
}  # fmt: skip
MODULES = (np, np.linalg, np.fft, np.lib.scimath, np.lib.stride_tricks, np.polynomial.polynomial,
           np.polynomial.chebyshev, np.polynomial.legendre, np.polynomial.hermite)  # fmt: skip
# They read or write files, print much, or change settings for all that comes after.
LEFT_OUT = {
    "test", "show_config", "show_runtime", "info", "get_include", "setbufsize", "seterr", "seterrcall",
    "set_printoptions", "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile",
    "memmap", "fromregex",
    "empty", "empty_like", "ndarray",  # what they give is left to chance
}  # fmt: skip


def _same(x: Any, *more: Any) -> Any:
    return x


Pattern = Callable[[Any, Any], tuple[tuple[Any, ...], dict[str, Any]]]  # of the tensor and of a constant beside it
PATTERNS: dict[str, Pattern] = {
    "x": lambda x, c: ((x,), {}),
    "x, x": lambda x, c: ((x, x), {}),
    "x, x, x": lambda x, c: ((x, x, x), {}),
    "x, x, x, x": lambda x, c: ((x, x, x, x), {}),
    "x, 1": lambda x, c: ((x, 1), {}),
    "1, x": lambda x, c: ((1, x), {}),
    "x, 0": lambda x, c: ((x, 0), {}),
    "x, c": lambda x, c: ((x, c), {}),
    "c, x": lambda x, c: ((c, x), {}),
    "c, c, x": lambda x, c: ((c, c, x), {}),
    "c, x, c": lambda x, c: ((c, x, c), {}),
    "x, c, c": lambda x, c: ((x, c, c), {}),
    "c, list, x": lambda x, c: ((c, [0, 1], x), {}),
    "x, list": lambda x, c: ((x, [0, 1]), {}),
    "list, x": lambda x, c: (([0, 1], x), {}),
    "x, list, x": lambda x, c: ((x, [0, 1], x), {}),
    "x, list, list": lambda x, c: ((x, [0, 1], [0, 1]), {}),
    "1, 1, x": lambda x, c: ((1, 1, x), {}),
    "x, 1, 0": lambda x, c: ((x, 1, 0), {}),
    "[x]": lambda x, c: (([x],), {}),
    "[x, x]": lambda x, c: (([x, x],), {}),
    "[x, c]": lambda x, c: (([x, c],), {}),
    "[x], x": lambda x, c: (([x], x), {}),
    "mask, x": lambda x, c: ((c > 0.4, x), {}),
    "mask, x, x": lambda x, c: ((c > 0.4, x, x), {}),
    "x, mask": lambda x, c: ((x, c > 0.4), {}),
    "x, mask, x": lambda x, c: ((x, c > 0.4, x), {}),
    "x, mask, 1": lambda x, c: ((x, c > 0.4, 1.0), {}),
    "[mask], [x]": lambda x, c: (([c > 0.4], [x]), {}),
    "x, [mask], [f]": lambda x, c: ((x, [c > 0.4], [_same]), {}),
    "indices, [x]": lambda x, c: (((c > 0.4).astype(int), [c, x]), {}),
    "indices, x": lambda x, c: (((c > 0.4).astype(int), x), {}),
    "x, f": lambda x, c: ((x, _same), {}),
    "f, x": lambda x, c: ((_same, x), {}),
    "f, 0, x": lambda x, c: ((_same, 0, x), {}),
    "f, x, [0]": lambda x, c: ((_same, x, [0]), {}),
    "'ij,jk', x, c": lambda x, c: (("ij,jk", x, c), {}),
    "3, x": lambda x, c: ((3, x), {}),
    "x, weights=x": lambda x, c: ((c, 2), {"weights": x}),
    "x, where=mask": lambda x, c: ((x,), {"where": c > 0.4, "initial": 0.1}),
    "x, initial=x": lambda x, c: ((c,), {"initial": x[0] if x.ndim else x}),
    "x, out=array": lambda x, c: ((x,), {"out": np.zeros_like(c)}),
    "x, x, out=array": lambda x, c: ((x, x), {"out": np.zeros_like(c)}),
    "x, axis": lambda x, c: ((x,), {"axis": 0}),
    "x, dtype": lambda x, c: ((x,), {"dtype": float}),
}  # fmt: skip


def targets() -> Iterator[tuple[str, Callable[..., Any]]]:
    """All public functions of NumPy's, with the methods of its ufuncs."""
    seen: set[int] = set()
    for module in MODULES:
        names = sorted(getattr(module, "__all__", dir(module)))  # NumPy's own order changes from run to run
        for name in names:
            f = getattr(module, name)
            is_scalar = isinstance(f, type) and issubclass(f, (np.generic, Exception))
            if name in LEFT_OUT or not callable(f) or is_scalar or id(f) in seen:
                continue
            seen.add(id(f))
            yield f"{module.__name__}.{name}", f
            if isinstance(f, np.ufunc):
                for method in ("reduce", "accumulate", "outer", "reduceat", "at"):
                    yield f"{module.__name__}.{name}.{method}", getattr(f, method)


TARGETS = dict(targets())


def lost(result: Any) -> Iterator[Any]:
    """The floats in a result that no recorder follows, as arrays."""
    if isinstance(result, Tensor):
        if not result.is_followed and result.dtype.kind in "fc":
            yield np.array(result.numpy())
    elif isinstance(result, (np.ndarray, np.generic, float, complex)):
        array = np.asarray(result)
        if array.dtype.kind in "fc":
            yield array
        elif array.dtype == object:
            for item in array.ravel():
                yield from lost(item)
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from lost(item)
    elif isinstance(result, dict):
        for item in result.values():
            yield from lost(item)
    elif isinstance(result, types.GeneratorType) or type(result).__module__.startswith("numpy.polynomial"):
        yield from lost(list(result))


def outcome(f: Callable[..., Any], pattern: Pattern, constant: np.ndarray, shift: float) -> list[Any] | None:
    """The unfollowed floats of a call, or None if it raises; arrays that it was to write into are among them."""
    with wg.GradientTape() as tape:
        x = wg.tensor(constant + shift)
        tape.watch(x)
        args, kwargs = pattern(x, constant + 0.02)  # no value of the one is among the other's
        plain = [a for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
        try:
            result = f(*args, **kwargs)
            return [*lost(result), *plain]
        except Exception:
            return None


@pytest.mark.parametrize("name", TARGETS)
def test_no_gradient_is_lost(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's own: deprecated names, and calls that make no sense
        for label, pattern in PATTERNS.items():
            for ndim, constant in POINTS.items():
                first = outcome(TARGETS[name], pattern, constant, 0.0)
                if not first:
                    continue
                second = outcome(TARGETS[name], pattern, constant, 1e-3)
                assert second is not None, f"{name}({label}) of {ndim} axes raised at one of two points"
                for one, other in zip(first, second, strict=True):
                    is_same = one.shape == other.shape and np.array_equal(one, other, equal_nan=True)
                    assert is_same, f"{name}({label}) of {ndim} axes gives plain numbers that depend on the tensor"


def test_the_test_finds_a_hole() -> None:
    with wg.GradientTape() as tape:
        tape.watch(x := wg.tensor([1.0]))
        assert [*lost(x.numpy() * 2)] and not [*lost([x * 2, 3])]
        tape.gradient(x, x)
