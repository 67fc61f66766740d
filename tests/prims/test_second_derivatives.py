"""Second derivatives of elementwise rules at the points where a rule of its own stands in for a formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

LOG2 = np.log(2.0)


def orders(f: Any) -> dict[str, Any]:
    """The second derivative in each order of the modes, plain and compiled."""
    gradient = wg.grad(f)
    ways = {
        "forward over reverse": wg.jacobian(gradient, mode="forward"),
        "reverse over reverse": wg.jacobian(gradient, mode="reverse"),
        "reverse over forward": wg.jacobian(wg.jacobian(f, mode="forward"), mode="reverse"),
        "forward over forward": wg.jacobian(wg.jacobian(f, mode="forward"), mode="forward"),
    }
    return {**ways, **{f"{name}, compiled": wg.function(way) for name, way in ways.items()}}


def power_hessian(x: float, y: float) -> Any:
    mixed = x ** (y - 1) * (1 + y * np.log(x))
    return [[y * (y - 1) * x ** (y - 2), mixed], [mixed, x**y * np.log(x) ** 2]]


CASES = [
    *[
        (f"{name} at {x}, {y}", op, [x, y], power_hessian(x, y))
        for name, op in (("operator", lambda a, b: a**b), ("power", wg.power), ("float_power", wg.float_power))
        for x, y in ((4.0, 0.0), (0.5, 0.0), (1.0, 0.0), (4.0, 1.0), (0.5, -2.0))
    ],
    # where x is no more than 0 the slope in y is 0 by choice, in the mixed derivatives too
    ("power at -2, 3", wg.power, [-2.0, 3.0], [[-12, 0], [0, 0]]),
    ("power at -2, 0", wg.power, [-2.0, 0.0], [[0, 0], [0, 0]]),
    ("power at 0, 0", wg.power, [0.0, 0.0], [[0, 0], [0, 0]]),
    ("power at 0, 3", wg.power, [0.0, 3.0], [[0, 0], [0, 0]]),
    ("power at 0, 2", wg.power, [0.0, 2.0], [[2, 0], [0, 0]]),
    *[(f"logaddexp at {x}", wg.logaddexp, [x, x], [[0.25, -0.25], [-0.25, 0.25]]) for x in (0.0, 3.0, -700.0)],
    *[
        (f"logaddexp2 at {x}", wg.logaddexp2, [x, x], np.array([[0.25, -0.25], [-0.25, 0.25]]) * LOG2)
        for x in (0.0, 3.0)
    ],
    ("arctan2 at the origin", wg.arctan2, [0.0, 0.0], [[0, 0], [0, 0]]),
    ("arctan2 at 3, 4", wg.arctan2, [3.0, 4.0], np.array([[-24, -7], [-7, 24]]) / 625),
    ("hypot at the origin", wg.hypot, [0.0, 0.0], [[0, 0], [0, 0]]),
    ("hypot at 3, 4", wg.hypot, [3.0, 4.0], np.array([[16, -12], [-12, 9]]) / 125),
    ("logaddexp of infinities", wg.logaddexp, [-np.inf, -np.inf], [[0, 0], [0, 0]]),
    ("logsumexp of equals", lambda a, b: wg.special.logsumexp(wg.stack([a, b])), [1.0, 1.0], [[0.25, -0.25], [-0.25, 0.25]]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("op", "at", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_second_derivatives_in_every_order_of_modes(op: Any, at: list[float], wanted: Any) -> None:
    for name, way in orders(lambda v: op(v[0], v[1])).items():
        np.testing.assert_allclose(way(np.array(at)), wanted, rtol=1e-12, atol=1e-14, err_msg=name)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", [wg.logaddexp, wg.logaddexp2], ids=["logaddexp", "logaddexp2"])
def test_nan_stays_nan_where_both_arguments_are_one(op: Any) -> None:
    slope = wg.grad(lambda x: op(x, x))
    found = [wg.grad(slope)(np.nan), wg.jvp(slope, (np.nan,), (1.0,))[1], wg.function(wg.grad(slope))(np.nan)]
    assert np.isnan(found).all()


# -- gradients that do not depend on where they are taken --------------------------------------------------------------


@pytest.mark.parametrize(
    "f", [wg.abs, lambda a: wg.copysign(a, 1.0), wg.ops.relu, lambda a: a * wg.sign(a), lambda a: 2 * a]
)
def test_a_constant_gradient_has_no_derivative_behind_nan_in_either_mode(f: Any) -> None:
    """Its tangent is a structural zero, not a number: what is infinite or NaN behind it makes nothing of it."""

    def bent(a: Any) -> Any:
        return wg.sin(wg.grad(f)(a)) + wg.sqrt(wg.grad(f)(a) - wg.grad(f)(a))

    for point in (np.nan, 1.5, -0.5):
        assert wg.grad(bent, unconnected_gradients="zero")(point) == 0
        assert wg.jvp(bent, (point,), (1.0,))[1] == 0
