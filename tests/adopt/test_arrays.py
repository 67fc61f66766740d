"""Arrays that adopted code makes from numbers: NumPy's until a tensor is written into one, eagerly and in traces."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.adopt._arrays import Array, Followed
from wengert.cli import main

# Programs here set `a.shape`, which NumPy deprecates from 2.5 on; programs of before do it, and tensors follow them.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")

X = np.array([0.3, 0.5, 0.9])
C = np.array([1.0, 2.0, 3.0])
TABLE = np.arange(6.0).reshape(2, 3)


def ranges(x: Any) -> Any:
    z, y = np.arange(3.0), np.linspace(0, 1, 4)
    z -= 0.1 * x
    for _ in range(3):
        z -= 0.1 * (z * x)
    y[1:] *= x
    if np.linspace(0, 1, 4)[3] > 0.5:  # numbers decide, in a trace, too
        y[0] = x[0]
    return (z**2).sum() + (y**3).sum()


def results_of_numpy(x: Any) -> Any:
    a, b = np.sin(C), np.outer(C, C)
    a += x
    b[0] += x
    c, d, e = np.concatenate([C, C]), np.where(C > 1, C, 0.0), np.cumsum(np.sort(C))
    c[:3] -= x
    d -= x
    e /= x
    f, g = np.linalg.inv(np.diag(C)), np.fft.fftfreq(3)
    f[0] += x
    g += x
    h = np.vstack([C, C]).T.copy()
    h[:, 1] = x
    return sum((part**2).sum() for part in (a, b, c, d, e, f, g, h))


def constants_of_the_module(x: Any) -> Any:
    a, b, c, d = C.copy(), C * 2, -C, TABLE[:, ::-1] + 0
    a += x
    b[C > 1.5] = x[1:]
    c -= x
    d[0] = x
    e = C.reshape(3, 1).repeat(2, 1)
    e[:, 0] = x
    f = C[::-1].copy()
    np.add.at(f, [0, 0], x[:2])
    return sum((part**3).sum() for part in (a, b, c, d, e, f)) + C.dot(x) + (TABLE @ x).sum()


def views(x: Any) -> Any:
    z = np.arange(6.0).reshape(2, 3)
    row, column = z[0], z[:, 1]
    z[1] = x
    row += x * 2
    t = np.arange(12.0).reshape(3, 4).T
    t[1] = x
    t[:, 0] += 1
    v = np.arange(3.0)
    held = [v, v[1:]]
    held[1][0] = x[1]
    return (z**2).sum() + (column * [1.0, 3.0]).sum() + row[2] + (t * t).sum() + (np.stack([held[0], x]) ** 2).sum()


def flattened(x: Any) -> Any:
    z = np.array([[1.0, 2.0], [3.0, 4.0]])
    shared, own = z.ravel(), z.flatten()
    shared[0], own[1] = x[0], x[1]
    both = np.concatenate([z, z])  # before the next write
    z[1, 1] = x[2]
    return (z * 2).sum() + (own**2).sum() + (both**2).sum()


def complex_parts(x: Any) -> Any:
    z = np.arange(3.0) * (1 + 2j)
    z.real[1] = x[0]
    z.imag += x
    return (abs(z) ** 2).sum()


def before_and_after(x: Any) -> Any:
    z, large = np.arange(3.0), np.arange(20000.0)  # more than what a trace copies of what it captures
    y = x * z
    z += 1
    y = y + x * z
    z += x
    z -= 1
    total = (x[0] * large).sum() * 1e-9
    large += 1
    total = total + (x[0] * large).sum() * 1e-9
    large[5] = x[1]
    return (y * z).sum() + total + large[5] * large[6]


def numbers_stay(x: Any) -> Any:
    z, total = np.array([1.0, 2.0, 3.0]), 0.0
    for i in range(int(z[2])):
        if z[i] > 1.5:
            total = total + z[i] * x[i]
    assert {*np.unique([1.0, 0.0, 1.0])} <= {0, 1} and float(z[0]) == 1.0
    z[0] = x[0]
    assert type(z) is np.ndarray and isinstance(z, np.ndarray)
    return total + z[0] ** 2 + len(z) + np.size(z)


def whole_numbers_first(x: Any) -> Any:
    z = np.arange(5).astype(float)
    z[np.arange(3)] = x
    m = np.arange(9).reshape(3, 3) * 1.0
    np.fill_diagonal(m, x)
    w = (np.array([1, 2, 3]) > 1) * 1.0
    w -= x
    g = np.mgrid[0:3].astype(float)
    g -= x
    h = np.histogram(C, bins=3)[0].astype(float)
    h += x
    return sum((part**2).sum() for part in (z, m, w, g, h))


def dtypes_by_their_class(x: Any) -> Any:
    z, w = np.zeros(3, dtype=np.float64), np.full((2,), 0.5, np.double)
    z[0], w[1:] = x[1], x[2] * 3.0
    return (z**2).sum() + np.exp(w).sum() + x[0]


def outputs_of_scipys_filters(x: Any) -> Any:
    import scipy.ndimage  # as adopted code has it
    import scipy.signal

    z, y = np.zeros(5), np.empty(5)
    z[1:4] = x
    scipy.ndimage.correlate1d(z, [0.5, 1.0, 0.25], output=y)
    return (y * z).sum() + scipy.signal.peak_prominences(np.sin(3.0 * z), [2])[0].sum()


def elimination(x: Any) -> Any:
    a = np.eye(3) + 0.1
    for k in range(2):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :]) * x[k]
    return (a**2).sum()


def functions_that_write(x: Any) -> Any:
    z = np.arange(4.0)
    z[1:] += z[:-1] * x
    z[:] = z[::-1]
    z.sort()
    q = np.add.outer(np.arange(3.0), np.arange(3.0))
    np.add.at(q, (0, 1), x[0])
    np.put(q, [4], x[1])
    np.copyto(q[2], x)
    s = np.cumsum(np.arange(4.0))
    s[:3] = np.maximum(s[:3], x)
    np.multiply(s[:3], x, out=s[1:])
    r = np.sqrt(np.arange(1.0, 4.0))
    r[np.argmax(r)] = x[0]
    r[r > 1.2] *= 2
    f = np.arange(2.0)
    f.fill(x[1])
    return (z * np.arange(4)).sum() + (q**2).sum() + (s**2).sum() + (r**3).sum() + np.interp(x[1], [0, 1], r[:2]) + f[0]


def reads_of_all_kinds(x: Any) -> Any:
    z = np.arange(3.0)

    def inner(v: Any) -> Any:
        v -= x
        return v

    inner(z)
    z += 2 * x
    parts = list(z)
    a, b = np.array([3.0, 1.0, 2.0]), np.eye(3)
    a[0], a[1] = a[1], a[0]
    a[2] = x[2]
    total = np.where(z > 0, z, 0).sum() + z.max() + z.mean() + z.T[0] + abs(z).sum() + (-z)[1] + sum(z)
    total = total + max(z[0], z[1]) + parts[0] * parts[1] + math.exp(z[2]) + np.dot(z, z) + np.linalg.norm(z)
    return total + (a @ b).sum() + b.dot(x).sum() + b[np.argmax(x)] @ x + float(z[0]) + z.copy()[1]


def operands_before_numbers_change(x: Any) -> Any:
    z, k = np.sin(C), np.zeros(3, int)
    y = x * z + x * k
    z += 1.0
    k += 1
    y = y + x * z + x * k
    z *= 2.0
    return (y**2).sum() + k.sum()


def rows_and_iterators(x: Any) -> Any:
    a, b, c = np.zeros(3), np.zeros(2), np.ones(3)
    with np.nditer(a, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = 2 * v + x[0]
    b[0] = x[0]
    b.resize(4)
    b[3] = x[1] * x[2]
    c.resize((2, 2))
    c.flat[1] = x[0]
    d, e = np.arange(3.0), np.arange(4.0).reshape(2, 2)
    d.shape = (3, 1)
    d[1] = x[1]
    e.flat[2] += x[2]
    e.flat = e.flat[::-1]
    total = (a**2).sum() + (b**3).sum() + c.sum() + (d**2).sum() + (e * [[1, 2], [3, 4]]).sum() + sum(c.flat)
    return total + len(b) + b.shape[0] + np.asarray(np.arange(3.0).flat).sum() * x[0]


PROGRAMS = [
    ranges, results_of_numpy, constants_of_the_module, views, flattened, complex_parts, before_and_after, numbers_stay,
    whole_numbers_first, dtypes_by_their_class, elimination, functions_that_write, reads_of_all_kinds, operands_before_numbers_change,
    rows_and_iterators,
]  # fmt: skip


def differences(program: Callable[[Any], Any]) -> Any:
    return np.array([(program(X + e) - program(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)])


@pytest.mark.parametrize("program", PROGRAMS)
def test_writes_into_arrays_of_numbers_are_followed(program: Callable[[Any], Any]) -> None:
    adopted, expected = wg.adopt(program), differences(program)
    for way in (adopted, wg.function(adopted)):
        value, slope = wg.value_and_grad(way)(X)
        assert value == pytest.approx(program(X), rel=1e-12)
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)
    assert adopted(X) == program(X)


def test_filters_write_into_them() -> None:
    slope = wg.grad(wg.adopt(outputs_of_scipys_filters))(X)
    np.testing.assert_allclose(slope, differences(outputs_of_scipys_filters), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("program", [ranges, results_of_numpy, constants_of_the_module, views, elimination])
def test_they_are_followed_in_batches_and_forwards(program: Callable[[Any], Any]) -> None:
    adopted, expected = wg.adopt(program), differences(program)
    np.testing.assert_allclose(wg.vmap(wg.grad(adopted))(np.stack([X, X]))[1], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(wg.jvp(adopted, (X,), (np.ones(3),))[1], expected.sum(), rtol=1e-5)


def test_a_loop_of_ours_writes_to_an_array_made_outside_of_it() -> None:
    def f(x: Any) -> Any:
        z = np.arange(3.0)

        def step(i: Any, c: Any) -> Any:
            z[0] = z[0] + c
            return c * 2

        return wg.fori_loop(0, 3, step, x) + z[0] ** 2

    def g(x: Any) -> Any:
        z, w = np.arange(3.0), np.ones(2)[:] * 1.0

        def step(i: Any, c: Any) -> Any:
            z[1] += 1.0  # numbers, too, at each step
            w[:] = w * 2
            z[2:].fill(z[1])
            return c * z[1] + w[0]

        return wg.fori_loop(0, 3, step, x) + x * z[2]

    for program, slope in ((f, 8 + 2 * 7 * 3.5), (g, 2 * 3 * 4 + 4.0)):
        adopted = wg.adopt(program)
        for way in (adopted, wg.function(adopted)):
            assert wg.grad(way)(0.5) == pytest.approx(slope)


def test_the_constants_themselves_are_refused_and_stay() -> None:
    def f(x: Any) -> Any:
        C[0] = x[0]
        return C.sum()

    for way in (wg.adopt(f), wg.function(wg.adopt(f))):
        with pytest.raises(wg.LostGradientError, match=r"C\[0\]"):
            wg.grad(way)(X)
    assert C.tolist() == [1.0, 2.0, 3.0]


def test_compiled_code_sees_changes_of_a_constant() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        own = weights.copy()
        own[1:] *= x[1:]
        return own.sum() + (weights * x).sum()

    g = wg.grad(wg.function(wg.adopt(f)))
    np.testing.assert_allclose(g(X), [1.0, 4.0, 6.0])
    weights[2] = 5.0
    np.testing.assert_allclose(g(X), [1.0, 4.0, 10.0])


def test_arguments_and_what_objects_hold_keep_their_numbers() -> None:
    class Holder:
        def __init__(self) -> None:
            self.data = np.array([1.0, 2.0, 3.0])

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.data

    held, given = Holder(), np.array([1.0, 2.0, 3.0])

    def f(x: Any, data: Any) -> Any:
        a = np.array(given)
        a[0] = x[0]
        return a.sum() + np.asarray(held)[1] * x[1] + (np.atleast_1d(given) * x).sum() + np.reshape(data, 3) @ x

    np.testing.assert_allclose(wg.grad(wg.adopt(f))(X, given), [3.0, 6.0, 6.0])
    assert given.tolist() == held.data.tolist() == [1.0, 2.0, 3.0]


def test_who_reads_the_memory_of_a_followed_array_gets_no_old_numbers() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        z = np.sin(C)
        kept.append(z)
        z[0] = x[0]
        return z.sum()

    wg.grad(wg.adopt(f))(X)
    (z,) = kept
    assert type(z) is Followed and np.isnan(np.asarray(z)).all()
    assert z[0] == X[0] and z[1] == np.sin(2.0) and z.tolist() == [X[0], np.sin(2.0), np.sin(3.0)]


def numbers_of_written_arrays(x: Any) -> Any:
    out = np.empty(())
    np.multiply(x[0], 2.0, out=out)
    number = out.item()
    out[()] = 7.0  # which is another number
    table = np.empty((2, 2))
    table[0] = x * x
    return number + 3.0 * sum(table.tolist()[0]) + table.item(0, 1) + table[:1, :1].item() + x[1] * int(out)


def test_items_and_lists_of_written_arrays_stay_tensors() -> None:
    """They had been numbers, and a gradient through them and others was wrong in silence."""
    f, x = wg.adopt(numbers_of_written_arrays), np.array([1.5, 2.5])
    for gradient in (wg.grad(f), wg.grad(lambda x: f(x))):
        np.testing.assert_allclose(gradient(x), [2.0 + 6 * 1.5 + 2 * 1.5, 6 * 2.5 + 2 * 2.5 + 7.0])
    assert float(f(x)) == float(numbers_of_written_arrays(x))


def test_an_array_of_numbers_is_pickled_and_copied_as_numpys() -> None:
    z = np.arange(3.0).view(Array)
    assert type(pickle.loads(pickle.dumps(z))) is np.ndarray
    assert copy.deepcopy(z).tolist() == [0.0, 1.0, 2.0]


def test_a_script_writes_into_copies_of_what_it_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "heat.py"
    script.write_text(
        "import numpy as np, wengert as wg\n"
        "start = np.sin(np.linspace(0, 3, 8))\n"
        "def last(k):\n"
        "    u = start.copy()\n"
        "    for _ in range(3):\n"
        "        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])\n"
        "    return (u ** 2).sum()\n"
        "unused = 1\n"
        "del unused\n"
        "h = 1e-6\n"
        "slope = (last(0.2 + h) - last(0.2 - h)) / (2 * h)\n"
        "for way in (last, wg.function(last)):\n"
        "    print(abs(wg.grad(way)(0.2) / slope - 1) < 1e-6, 'unused' in globals())\n"
    )
    assert main(["run", str(script)]) == 0
    assert capsys.readouterr().out.split() == ["True", "False", "True", "False"]
