"""Linear algebra primitives: values against NumPy and SciPy, gradients at special arguments, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import wengert._engines.numpy  # noqa: F401  # registers the engine
from tests.support import op_checks as checks
from wengert._core.op import REGISTRY
from wengert._prims import linalg  # noqa: F401  # registers the primitives


def run(name: str, *operands: Any, **attrs: Any) -> Any:
    return case_of(name, *operands, **attrs).run()[0]


def case_of(name: str, *operands: Any, **attrs: Any) -> checks.Case:
    op = REGISTRY[name]
    return checks.Case(op, tuple(map(np.asarray, operands)), tuple(attrs[a] for a in op.attrs))


def gradients(case: checks.Case) -> list[Any]:
    return checks.pulled(case, [np.ones_like(out) for out in case.run()])


@pytest.mark.parametrize("text", ["ij,jk->ki", "bij,jb->bi", "i,j->ji", "i,i->", "ab,bc,cd->da", "i,,j->ji", "ij->ji"])
def test_einsum_is_numpys(text: str) -> None:
    rng = np.random.default_rng(2)
    inputs, out = text.split("->")
    labels = tuple(inputs.split(","))
    xs = [rng.normal(size=[2 + ord(c) % 4 for c in names]) for names in labels]
    np.testing.assert_allclose(run("einsum", *xs, labels=labels, out=out), np.einsum(text, *xs), rtol=1e-13, atol=1e-13)


def test_einsum_refuses_a_label_of_one_operand_alone() -> None:
    with pytest.raises(ValueError, match="'j' appears in one operand only"):
        checks.traced(case_of("einsum", np.ones((2, 3)), labels=("ij",), out="i"))


def test_triangular_systems_of_a_batch_in_any_layout() -> None:
    rng = np.random.default_rng(7)
    a = np.asfortranarray(rng.normal(size=(2, 4, 4)) + 1j * rng.normal(size=(2, 4, 4)))
    b = np.asfortranarray(rng.normal(size=(2, 4, 3)) + 0j)
    found = run("triangular_solve", a, b, lower=False, trans=2, unit_diagonal=False)
    np.testing.assert_allclose(np.triu(a).conj().swapaxes(1, 2) @ found, b, rtol=1e-12, atol=1e-12)
    a[1, 2, 2] = 0
    with pytest.raises(np.linalg.LinAlgError, match="at diagonal 2"):
        run("triangular_solve", a, b, lower=False, trans=2, unit_diagonal=False)


def test_triangular_systems_ask_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """LAPACK's `trtrs`, which SciPy calls, wakes all of OpenBLAS's threads for the smallest system."""
    monkeypatch.setattr(scipy.linalg, "solve_triangular", None)
    found = run("triangular_solve", [[2.0, 0.0], [1.0, 4.0]], [[2.0], [5.0]], lower=True, trans=0, unit_diagonal=False)
    np.testing.assert_array_equal(found, [[1.0], [1.0]])


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solve_is_scipys(trans: int, lower: bool, unit: bool) -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
    b = rng.normal(size=(2, 3, 2)) + 0j
    expected = [
        scipy.linalg.solve_triangular(m, r, lower=lower, trans=trans, unit_diagonal=unit)
        for m, r in zip(a, b, strict=True)
    ]
    got = run("triangular_solve", a, b, lower=lower, trans=trans, unit_diagonal=unit)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_the_unused_half_has_gradient_zero() -> None:
    case = case_of(
        "triangular_solve", [[2.0, 9.0], [1.0, 3.0]], [[1.0], [1.0]], lower=True, trans=0, unit_diagonal=False
    )
    to_a, _ = gradients(case)
    np.testing.assert_allclose(to_a, [[-1 / 6, 0], [-1 / 6, -1 / 18]], rtol=1e-14)


@pytest.mark.parametrize("upper", [1.0, 5.0])
def test_cholesky_reads_the_lower_triangle_and_has_a_symmetric_gradient(upper: float) -> None:
    case = case_of("cholesky", [[2.0, upper], [1.0, 2.0]])
    np.testing.assert_allclose(case.run()[0], [[2**0.5, 0], [0.5**0.5, 1.5**0.5]], rtol=1e-14)
    np.testing.assert_allclose(gradients(case)[0], [[0.2788, 0.1494], [0.1494, 0.4082]], atol=1e-4)


@pytest.mark.parametrize(
    "case",
    [
        case_of("cholesky", [[1.0, 2.0], [2.0, 1.0]]),
        case_of("inv", [[1.0, 1.0], [1.0, 1.0]]),
        case_of("solve", [[1.0, 1.0], [1.0, 1.0]], [[1.0], [2.0]]),
        case_of("triangular_solve", np.zeros((2, 2)), np.ones((2, 1)), lower=True, trans=0, unit_diagonal=False),
    ],
    ids=lambda case: case.op.name,
)
def test_what_cannot_be_solved_raises(case: checks.Case) -> None:
    with pytest.raises(np.linalg.LinAlgError, match=case.op.called):
        case.run()


@pytest.mark.parametrize("name", ["solve", "inv", "cholesky"])
def test_no_equations_have_an_empty_solution(name: str) -> None:
    operands = [np.zeros((0, 0)), np.zeros((0, 2))][: 1 + (name == "solve")]
    case = case_of(name, *operands)
    checks.check_type(case)
    assert [g.shape for g in gradients(case)] == [x.shape for x in operands]


def test_half_precision_products_are_summed_in_float32() -> None:
    ones = np.ones((1, 4096), np.float16)
    assert run("matmul", ones, ones.T).item() == 4096
    assert run("einsum", ones[0], ones[0], labels=("i", "i"), out="").item() == 4096


def test_a_matrix_for_the_whole_batch_is_one_product() -> None:
    examples = [case_of("matmul", x, np.eye(3)) for x in np.arange(12.0).reshape(2, 2, 3)]
    checks.check_batch(examples)


def test_conv_batches_with_groups_of_both_kinds() -> None:
    rng = np.random.default_rng(4)
    for groups, batch_groups, c in ((2, 1, 2), (1, 2, 4)):
        attrs = {"strides": (2,), "padding": ((1, 0),), "lhs_dilation": (1,), "rhs_dilation": (1,)}
        examples = [
            case_of(
                "conv", rng.normal(size=(4, 4, 6)), rng.normal(size=(4, c, 3)), **attrs, groups=groups,
                batch_groups=batch_groups,
            )
            for _ in range(3)
        ]  # fmt: skip
        checks.check_batch(examples)
        checks.check_batched_gradient(examples)
