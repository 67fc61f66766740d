"""What must hold for a random program with branches and loops (`tests/support/control_programs.py`): all its derivatives agree."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from tests.support.control_programs import Program
from wengert._core import budget
from wengert._core.op import ZERO
from wengert._core.state import recording
from wengert._engines.native.engine import is_on
from wengert._prims.structural import alias
from wengert._transforms.forward import Tangents

STEP = 1e-30  # of the complex step: far below the last bit, since nothing is subtracted
POLICIES = ("sqrt", "auto", 1, 3)
TOLERANCE = {"float64": 1e-10, "float32": 2e-4, "complex128": 1e-10}  # sums run in other orders in other modes


class Point(NamedTuple):
    """The arguments of a program."""

    x: Any
    v: Any
    n: int

    def tensors(self, dtype: str = "float64") -> tuple[Any, Any, Any]:
        return wg.asarray(self.x, dtype=dtype), wg.asarray(self.v, dtype=dtype), wg.asarray(np.int64(self.n))


def random_point(numbers: random.Random) -> Point:
    return Point(
        numbers.uniform(-1.0, 1.0), np.array([numbers.uniform(-1.0, 1.0) for _ in range(3)]), numbers.randrange(4)
    )


def choices_of(seed: int) -> random.Random:
    """Where the point of a program and the choice of checks come from."""
    return random.Random(f"checks of {seed}")


# -- ways to one gradient ---------------------------------------------------------------------------------------------


def eager(f: Callable[..., Any]) -> Callable[..., Any]:
    return wg.value_and_grad(f, (0, 1))


def traced(f: Callable[..., Any]) -> Callable[..., Any]:
    return wg.function(eager(f))


def two_layers(f: Callable[..., Any]) -> Callable[..., Any]:
    inner = wg.function(eager(f))
    return wg.function(lambda *arguments: inner(*arguments))


def of_function(f: Callable[..., Any]) -> Callable[..., Any]:
    return eager(wg.function(f))


def of_two_functions(f: Callable[..., Any]) -> Callable[..., Any]:
    inner = wg.function(f)
    return wg.function(eager(wg.function(lambda *arguments: inner(*arguments))))


WAYS = {
    "traced": traced, "two layers": two_layers, "of a function": of_function, "of two functions": of_two_functions,
}  # fmt: skip


class Found(NamedTuple):
    """What a way found: the value, the gradients of x and v, and what the Variable holds afterwards."""

    value: Any
    of_x: Any
    of_v: Any
    state: Any


def found_by(
    way: Callable[..., Any], program: Program, point: Point, dtype: str = "float64", policy: Any = "all"
) -> Found:  # fmt: skip
    namespace = program.namespace()
    f = namespace["make"](wg, dtype, policy)
    value, (of_x, of_v) = way(f)(*point.tensors(dtype))
    return Found(*(np.asarray(a.numpy()) for a in (value, of_x, of_v, namespace["make"].state)))


def agree(first: Found, second: Found, what: str, dtype: str = "float64", tolerance: float | None = None) -> None:
    for name, a, b in zip(Found._fields, first, second, strict=True):
        assert a.shape == b.shape, f"{what}: {name} has shape {a.shape}, then {b.shape}"
        assert a.dtype == b.dtype, f"{what}: {name} has dtype {a.dtype}, then {b.dtype}"
        if tolerance == 0:
            np.testing.assert_array_equal(a, b, err_msg=f"{what}: {name}")
        else:
            np.testing.assert_allclose(
                a, b, rtol=tolerance or TOLERANCE[dtype], atol=tolerance or TOLERANCE[dtype], err_msg=f"{what}: {name}"
            )


# -- references -------------------------------------------------------------------------------------------------------


def shifted(point: Point, x_dot: float, v_dot: Any) -> Point:
    """A step in the direction (x_dot, v_dot) along the imaginary axis."""
    return Point(point.x + 1j * STEP * x_dot, point.v + 1j * STEP * v_dot, point.n)


def complex_slope(program: Program, point: Point, x_dot: float, v_dot: Any) -> float:
    """The slope in a direction, from the program itself at complex arguments."""
    f = Program(_whole(program.source), program.features).build(wg, "complex128")
    return float(f(*shifted(point, x_dot, v_dot).tensors("complex128")).numpy().imag / STEP)


def _whole(source: str) -> str:
    """A program that returns its complex result, not the real part."""
    before, _, after = source.rpartition("return wg.real(")
    return f"{before}return ({after}"


def complex_curvature(program: Program, point: Point, x_dot: float, v_dot: Any) -> tuple[Any, Any]:
    """The slopes of the gradients in a direction, from the gradients at complex arguments."""
    found = found_by(eager, program, shifted(point, x_dot, v_dot), "complex128")
    # the gradient of the real part is the conjugate of the derivative
    return -found.of_x.imag / STEP, -found.of_v.imag / STEP


def pushed(f: Callable[..., Any], point: Point, x_dot: float, v_dot: Any) -> float:
    """The slope in a direction by forward mode."""
    x, v, n = point.tensors()
    x, v = alias(x), alias(v)
    recorder = Tangents()
    with recording(recorder):
        recorder.set(x, wg.asarray(x_dot))
        recorder.set(v, wg.asarray(v_dot))
        y = f(x, v, n)
    tangent = recorder.of(y)
    return 0.0 if tangent is None or tangent is ZERO else float(tangent.numpy())


def curvature(f: Callable[..., Any], x_dot: float, v_dot: Any) -> Callable[..., Any]:
    """The gradients of the slope in a direction, by reverse mode over reverse mode."""

    def slope(x: Any, v: Any, n: Any) -> Any:
        of_x, of_v = wg.grad(f, (0, 1))(x, v, n)
        return of_x * x_dot + wg.sum(of_v * v_dot)

    return wg.grad(slope, (0, 1))


@contextmanager
def memory_budget(size: int) -> Iterator[None]:
    before = budget.limit()
    wg.set_memory_budget(size)
    try:
        yield
    finally:
        wg.set_memory_budget(before)


# -- the checks -------------------------------------------------------------------------------------------------------


def check(program: Program, numbers: random.Random, *, thorough: bool = False) -> None:
    """Raises `AssertionError` (or whatever the library raises) unless all derivatives of a program agree.

    Args:
        program: the program.
        numbers: where the point, and what is checked of many things, come from.
        thorough: whether everything is checked, not a sample of it.
    """
    point = random_point(numbers)
    x_dot, v_dot = numbers.uniform(-1.0, 1.0), np.array([numbers.uniform(-1.0, 1.0) for _ in range(3)])
    first = found_by(eager, program, point)
    assert all(np.isfinite(a).all() for a in first), f"not finite: {first}"
    kept = found_by(traced, program, point)
    agree(first, kept, "eager, traced")
    ways = [*WAYS][1:]
    for name in ways if thorough else [numbers.choice(ways)]:
        agree(first, found_by(WAYS[name], program, point), f"eager, {name}")
    if "policy" in program.source[200:]:
        check_policies(program, point, kept, POLICIES if thorough else numbers.sample(POLICIES, 2))
    dots = (x_dot, v_dot)
    slope = float(first.of_x * x_dot + np.sum(first.of_v * v_dot))
    if not program.features & {"scaled", "assign"}:
        check_forward(program, point, dots, slope)
    is_analytic = not program.features & {"scaled", "stop", "assign"}  # assigning passes no gradient on
    if is_analytic:
        close(slope, complex_slope(program, point, *dots), "reverse, complex step")
    if thorough or numbers.random() < 0.4:
        check_second(program, point, dots, is_analytic)
    if thorough or numbers.random() < 0.15:
        dtype = numbers.choice(["float32", "complex128"])
        agree(found_by(eager, program, point, dtype), found_by(traced, program, point, dtype), f"in {dtype}", dtype)


def close(a: Any, b: Any, what: str) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=what)


def check_policies(program: Program, point: Point, kept: Found, policies: Any) -> None:
    """Whatever loops keep, gradients are the same: by NumPy's kernels to the last bit at first order in a trace."""
    # of a derivative the gradient is of second order; a loop with snapshots is NumPy's, others are machine code
    tolerance = 1e-12 if "derivative" in program.features or is_on() else 0
    for policy in policies:
        with memory_budget(64 if policy == "auto" else budget.limit()):
            agree(kept, found_by(traced, program, point, policy=policy), f"checkpoint={policy!r}", tolerance=tolerance)
            other = found_by(of_function, program, point, policy=policy)
            agree(kept, other, f"checkpoint={policy!r} of a function", tolerance=1e-12)


def check_forward(program: Program, point: Point, dots: Any, slope: float) -> None:
    close(slope, pushed(program.build(wg), point, *dots), "reverse, forward")
    close(slope, pushed(wg.function(program.build(wg)), point, *dots), "reverse, forward of a function")


def check_second(program: Program, point: Point, dots: Any, is_analytic: bool) -> None:
    """Reverse over reverse: eagerly, in a trace, with snapshots, against the complex step through the gradient."""

    def second(policy: Any, layer: Callable[..., Any]) -> list[Any]:
        found = layer(curvature(program.build(wg, policy=policy), *dots))(*point.tensors())
        return [a.numpy() for a in found]

    first = second("all", lambda f: f)
    reference = complex_curvature(program, point, *dots) if is_analytic else first
    for a, b in zip(first, reference, strict=True):
        close(a, b, "second order, complex step through the gradient")
    for policy in ("all", 1):
        for a, b in zip(first, second(policy, wg.function), strict=True):
            close(a, b, f"second order: eager, traced with checkpoint={policy!r}")
