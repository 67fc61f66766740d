"""What an eager gradient costs in Python calls: counted exactly, so that it cannot creep up unseen."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls, run_profiled
from wengert._core.apply import apply
from wengert._core.engine import ENGINES
from wengert.ops import elementwise, subscript

PACKAGE = wg.__path__[0]
KERNELS = ENGINES["numpy"].kernels


def inner_calls(f: Callable[..., Any], *args: Any) -> list[str]:
    """The names of the Python functions that f calls."""
    return python_calls(f, *args)[1:]


def stack_of(kernel: str, f: Callable[..., Any], *args: Any) -> list[str]:
    """The package's frames below f when a kernel runs, outermost first."""
    stacks: list[list[str]] = []
    own = KERNELS[kernel]

    def watching(*operands: Any) -> Any:
        frame = sys._getframe(1)
        names: list[str] = []
        while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        stacks.append(names[::-1])
        return own(*operands)

    KERNELS[kernel] = watching
    try:
        f(*args)
    finally:
        KERNELS[kernel] = own
    return stacks[0]


def test_calls_of_a_small_gradient():
    x = wg.tensor(np.linspace(0.0, 1.0, 5))
    gradient = wg.value_and_grad(lambda x: wg.ops.sum(wg.ops.sin(x) * x))
    names = inner_calls(gradient, x)
    assert len(names) <= 160, names  # four of them make the argument f's own, which f may write to


def test_calls_of_a_small_gradient_through_numpy():
    x = np.linspace(0.0, 1.0, 5)
    gradient = wg.value_and_grad(lambda x: np.sum(np.sin(x) * x))
    names = inner_calls(gradient, x)
    assert len(names) <= 160, names  # four of them make the argument f's own, which f may write to


def test_calls_do_not_grow_with_the_array_or_the_calls():
    gradient = wg.value_and_grad(lambda x: wg.ops.sum(wg.ops.sin(x) * x))
    small, large = wg.tensor(np.ones(2)), wg.tensor(np.ones((40, 50)))
    counts = [len(inner_calls(gradient, x)) for x in (small, small, large)]
    assert len(set(counts)) == 1


def test_calls_grow_linearly_with_the_program():
    def chain(length):
        def f(x):
            for _ in range(length):
                x = wg.ops.sin(x)
            return x

        return wg.grad(f)

    x = wg.tensor(0.5)
    counts = []
    for length in (10, 20, 40):
        gradient = chain(length)
        counts.append(len(inner_calls(gradient, x)))
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])
    assert (counts[1] - counts[0]) / 10 <= 45


def test_a_number_beside_an_array_costs_little():
    x = wg.tensor(np.linspace(-1.0, 1.0, 5))
    mask = np.array([True, False, True, True, False])
    plain, column = np.linspace(1.0, 2.0, 5), wg.tensor(np.ones((3, 1)))
    for f, most in (
        (lambda x: wg.ops.maximum(x, 0.25), 8),
        (lambda x: 0.25 > x, 9),  # noqa: SIM300  # the number on the left is what is counted
        (lambda x: wg.ops.where(mask, x, 0.25), 40),  # 32 where no framework's engine is loaded
        (lambda x: x[0] * plain, 19),
        (lambda x: x * column, 17),
    ):
        assert len(inner_calls(f, x)) <= most, f


@pytest.mark.parametrize("index", [np.s_[:, 0], np.s_[1:3], np.s_[..., None], np.s_[1:, ::2]])
def test_a_slice_that_comes_again_costs_little(index: Any) -> None:
    x = wg.tensor(np.ones((4, 3)))
    names = inner_calls(operator.getitem, x, index)
    assert len(names) <= 18, names


@pytest.mark.parametrize(
    ("f", "most"),
    [(np.mean, 30), (lambda x: np.reshape(x, (3, -1)), 22), (lambda x: x.reshape(3, -1), 21), (lambda x: x.T, 19)],
)
def test_means_and_arrays_in_another_shape_cost_little(f: Callable[[Any], Any], most: int) -> None:
    names = inner_calls(f, wg.tensor(np.ones((4, 3))))
    assert len(names) <= most, names


def test_slices_that_come_again_are_read_as_the_first_time() -> None:
    values = np.arange(24.0).reshape(4, 6)
    x = wg.tensor(values)
    for _ in range(2):
        for index in (np.s_[1], np.s_[1:2], np.s_[-1:], np.s_[True], np.s_[None, 1], np.s_[..., 1], np.s_[::-2, 1:]):
            np.testing.assert_array_equal(x[index].numpy(), values[index])
        for index in (np.s_[4], np.s_[:, 6], np.s_[:, :, 0]):
            with pytest.raises(IndexError):
                x[index]
    for count in range(2000):  # what is remembered is bounded
        wg.tensor(np.zeros(count + 1))[:1]
    assert len(subscript.TAKINGS) <= subscript.MOST_TAKINGS


def test_frames_from_an_op_to_its_kernel():
    x = wg.tensor([1.0, 2.0])
    for call in (lambda: wg.ops.sin(x), lambda: wg.grad(wg.ops.sin)(x)):
        stack = stack_of("sin", call)
        inner = stack[len(stack) - stack[::-1].index("sin") - 1 :] if "sin" in stack else stack
        assert 1 <= len(inner) <= 4, stack
    assert len(stack_of("mul", lambda: x * x)) <= 5  # the operator's own frame comes first


# -- from the user to the kernel ---------------------------------------------------------------------------------------

SAMPLES = ([0.25, 0.5], [1, 2], [True, False])
ELEMENTWISE = {name: f for name, f in elementwise._FUNCTIONS.items() if not name.startswith("_")}
OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "eq", "ne", "gt", "ge", "neg", "pos", "abs",
    "invert", "and_", "or_", "xor", "lshift", "rshift",
)  # fmt: skip


def calls_and_ops(f: Callable[..., Any], operands: tuple[Any, ...]) -> tuple[list[str], int]:
    """The Python functions that run while f does, and how many ops it applies; those that a body applies not counted."""
    names: list[str] = []
    applied: list[bool] = []  # for each open frame whether an op is under way

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal ops
        if event == "call":
            is_inside = bool(applied) and applied[-1]
            is_apply = frame.f_code is apply.__code__
            ops += is_apply and not is_inside
            names.append(frame.f_code.co_name)
            applied.append(is_inside or is_apply)
        elif event == "return" and applied:
            applied.pop()

    ops = 0
    run_profiled(profile, f, *operands)
    return names, ops


def calls_before_apply(f: Callable[..., Any]) -> list[str] | None:
    """The Python calls between f and its kernel, on the first sample that f takes as it is; None if there is none."""
    for sample in SAMPLES:
        x, y = wg.tensor(sample), wg.tensor(sample)
        for operands in ((x,), (x, y)):
            try:
                with np.errstate(all="ignore"):
                    f(*operands)
            except (TypeError, ValueError):
                continue
            with np.errstate(all="ignore"):
                names, ops = calls_and_ops(f, operands)
            if ops == 1:  # no operand had to be converted first
                return names[: names.index("apply") + 1]
    return None


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_an_elementwise_function_takes_at_most_six_calls_to_its_kernel(name: str) -> None:
    calls = calls_before_apply(ELEMENTWISE[name])
    assert calls is not None
    assert len(calls) <= 6, calls
    ufunc = getattr(np, name, None)
    if isinstance(ufunc, np.ufunc):
        calls = calls_before_apply(ufunc)
        assert calls is not None
        assert len(calls) <= 6, calls


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_takes_at_most_six_calls_to_its_kernel(name: str) -> None:
    calls = calls_before_apply(getattr(operator, name))
    assert calls is not None
    assert len(calls) <= 6, calls


@pytest.mark.parametrize("f", [lambda x: x + 1.0, lambda x: 2 * x, lambda x: x - 3.0, lambda x: x**2])
def test_a_number_beside_a_tensor_takes_at_most_six_calls_to_the_kernel(f: Callable[[Any], Any]) -> None:
    calls = calls_before_apply(f)
    assert calls is not None
    assert len(calls) - 1 <= 6, calls  # the function of this test is not counted


@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
@pytest.mark.parametrize("product", [lambda x, a: x * a, lambda x, a: a * x, lambda x, a: x - a, lambda x, a: a - x])
def test_an_array_beside_a_tensor_of_its_shape_is_asked_nothing(product: Callable[..., Any], dtype: str) -> None:
    x, array = wg.tensor(np.linspace(0.5, 1.0, 5)), np.arange(5).astype(dtype)
    called = inner_calls(product, x, array)
    assert "meet" not in called and len(called) <= 9, called
    wanted = product(np.linspace(0.5, 1.0, 5), array.astype(float))
    assert product(x, array).numpy().tobytes() == wanted.tobytes()


def test_sums_and_products_of_numpy_take_few_calls() -> None:
    x, y = wg.tensor(np.linspace(0.5, 1.0, 5)), np.ones((2, 5, 3))
    assert len(inner_calls(wg.numpy.sum, x)) <= 8
    assert len(inner_calls(wg.numpy.dot, x, y)) <= 16


def test_lone_numbers_are_computed_by_operators():
    x, y = np.float64(0.3), np.float64(0.7)
    for f in (operator.add, operator.sub, operator.mul, operator.truediv):
        gradient = wg.value_and_grad(lambda x, f=f: f(x, wg.ops.sin(x)))
        value, slope = gradient(x)
        assert value == f(x, np.sin(x))
        assert slope == pytest.approx((f(x + 1e-6, np.sin(x + 1e-6)) - f(x - 1e-6, np.sin(x - 1e-6))) / 2e-6)
    assert wg.value_and_grad(lambda x: 1.0 / (x * 2.0 + 1.0))(y) == pytest.approx((1 / 2.4, -2 / 2.4**2))
    chosen = wg.value_and_grad(lambda x: wg.ops.where(x > 0.5, x * x, wg.ops.log(x - x)))  # a zero meets a slope of inf
    with np.errstate(divide="ignore"):
        assert chosen(y) == pytest.approx((0.49, 1.4))


_ROWS, _COLUMNS = np.array([3, 1, 7, 5, 1]), np.array([0, 4, 2, 8, 4])
_MASK = np.arange(360).reshape(40, 9) % 80 == 7
WRITES: dict[str, tuple[Callable[[Any, Any, Any, int], Any], int, int]] = {  # what, and most calls forward and back
    "slice": (lambda a, b, x, k: operator.setitem(a, np.s_[k, 1:6], x), 14, 8),
    "element": (lambda a, b, x, k: operator.setitem(a, (k, 3), x[0]), 24, 17),
    "element_added": (lambda a, b, x, k: operator.setitem(a, (k, 3), a[k, 3] + 1.0), 32, 17),
    "number": (lambda a, b, x, k: operator.setitem(a, (k, 3), 2.0), 15, 8),
    "view": (lambda a, b, x, k: operator.setitem(b, np.s_[k, 1:6], x), 16, 8),
    "row": (lambda a, b, x, k: operator.setitem(a[k], slice(1, 6), x), 26, 9),
    "row_added": (lambda a, b, x, k: operator.setitem(a, k, operator.iadd(a[k], x[0])), 68, 28),
    "integers": (lambda a, b, x, k: operator.setitem(a, (_ROWS + k, _COLUMNS), x), 34, 31),
    "integers_added": (lambda a, b, x, k: operator.setitem(a, (_ROWS, _COLUMNS), a[_ROWS, _COLUMNS] + x), 70, 53),
    "integers_in_a_view": (lambda a, b, x, k: operator.setitem(b, (_ROWS, _COLUMNS // 2), x), 52, 31),
    "mask": (lambda a, b, x, k: operator.setitem(a, _MASK, x), 32, 30),
    "integers_beside_a_number": (lambda a, b, x, k: operator.setitem(a, (_ROWS + k, 3), x), 26, 33),
    "a_list_beside_a_number": (lambda a, b, x, k: operator.setitem(a, (k, [1, 2, 3, 4, 5]), x), 26, 32),
    "dots": (lambda a, b, x, k: operator.setitem(a, (..., 3), x[0]), 38, 11),
    "integers_in_one_row": (lambda a, b, x, k: operator.setitem(a.reshape(-1), _ROWS + k, x), 63, 32),
    "integers_of_columns": (lambda a, b, x, k: operator.setitem(a.T, (_COLUMNS, _ROWS), x), 71, 32),
    "integers_increased": (lambda a, b, x, k: operator.setitem(a, _ROWS, operator.iadd(a[_ROWS], x[0])), 101, 64),
    "slice_increased": (lambda a, b, x, k: a[k, 1:6].__iadd__(x), 23, 11),
    "slice_decreased": (lambda a, b, x, k: operator.setitem(a, k, operator.isub(a[k], x[0])), 49, 9),
    "add_at": (lambda a, b, x, k: np.add.at(a, (_ROWS, _COLUMNS), x), 45, 4),
    "add_at_a_view": (lambda a, b, x, k: np.add.at(b, (_ROWS, _COLUMNS // 2), x), 63, 4),
    "first": (lambda a, b, x, k: operator.setitem(wg.numpy.zeros((40, 9)), (k, 3), x[0]), 80, 1),
}


@pytest.mark.parametrize("name", WRITES)
def test_calls_of_a_write(name: str) -> None:
    write, forward, back = WRITES[name]
    counts = []
    for count in (10, 20):

        def f(x: Any, count: int = count, inside: list[int] | None = None) -> Any:
            a = wg.numpy.zeros((40, 9))
            b = a[1:, 1:]
            a[0, 0] = x[0]

            def writes() -> None:
                for k in range(count):
                    write(a, b, x, k)

            if inside is None:
                writes()
            else:
                inside.append(len(inner_calls(writes)))
            return a.sum()

        gradient, inside = wg.value_and_grad(f), list[int]()
        wg.value_and_grad(functools.partial(f, inside=inside))(np.ones(5))
        gradient(np.ones(5))
        counts.append((inside[0], len(inner_calls(gradient, np.ones(5))) - inside[0]))
    each = [(b - a) / 10 for a, b in zip(*counts, strict=True)]
    assert each[0] - 1 <= forward, each  # one is the test's own
    assert each[1] <= back, each
