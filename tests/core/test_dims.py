"""Arithmetic of dimensions: it agrees with that of the integers they stand for, and says when it cannot know."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert._core import dims
from wengert._core.dims import Dim, evaluate

N, M, K = Dim.free("n"), Dim.free("m"), Dim.free("k")
NAMES = {N.atom: "n", M.atom: "m", K.atom: "k"}
OPERATIONS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": dims.floordiv, "%": operator.mod,
    "max": dims.maximum, "min": dims.minimum,
}  # fmt: skip
PLAIN = OPERATIONS | {"//": operator.floordiv, "max": max, "min": min}

sizes = st.fixed_dictionaries({atom: st.integers(1, 9) for atom in NAMES})
leaves = st.sampled_from([N, M, K]) | st.integers(-6, 6)


class Expression:
    """An expression twice: as a dimension, and as what it is for given sizes."""

    def __init__(self, dim, value, text):
        self.dim, self.value, self.text = dim, value, text

    def __repr__(self):
        return self.text


def leaf(dim):
    return Expression(dim, lambda known: evaluate(dim, known), str(dim))


def combined(name, x, y):
    if name in ("//", "%"):
        y = leaf(3) if isinstance(y.dim, int) else leaf(N * 1)  # a divisor that cannot be zero
    dim = OPERATIONS[name](x.dim, y.dim)
    return Expression(dim, lambda known: PLAIN[name](x.value(known), y.value(known)), f"{name}({x}, {y})")


expressions = st.recursive(
    leaves.map(leaf),
    lambda inner: st.builds(combined, st.sampled_from(list(OPERATIONS)), inner, inner),
    max_leaves=6,
)


@given(expressions, sizes)
def test_evaluation_commutes_with_arithmetic(expression, known):
    assert evaluate(expression.dim, known) == expression.value(known)


@given(expressions, sizes)
def test_substitution_of_every_atom_is_evaluation(expression, known):
    dim = expression.dim
    assert (dim.substitute(known) if isinstance(dim, Dim) else dim) == expression.value(known)


@given(expressions, sizes)
def test_source_is_python(expression, known):
    text = dims.source(expression.dim, NAMES)
    values = {name: known[atom] for atom, name in NAMES.items()}
    assert eval(text, {"max": max, "min": min}, values) == expression.value(known)


@given(expressions, expressions, expressions)
def test_polynomials_are_equal_when_they_are_the_same(x, y, z):
    assert (x.dim + y.dim) * z.dim == z.dim * y.dim + x.dim * z.dim
    assert (x.dim + y.dim) - y.dim == x.dim
    assert x.dim - x.dim == 0
    assert hash(x.dim * y.dim) == hash(y.dim * x.dim)


@given(expressions, st.integers(1, 5))
def test_exact_quotients_are_simplified(x, divisor):
    assert dims.floordiv(x.dim * divisor, divisor) == x.dim
    assert dims.floordiv(x.dim * N, N) == x.dim


def test_equality_and_identity():
    assert N + 1 == 1 + N
    assert N != M
    assert N != 3
    assert Dim.free("n") != N
    assert N // 2 == N // 2
    assert N // 2 != N // 3
    assert {N * 2: "a"}[N + N] == "a"
    assert (N == "n") is False
    assert N - N == 0
    assert isinstance(N - N, int)
    assert isinstance(N * 0, int)
    assert dims.maximum(N, N) is N
    assert dims.minimum(3, 4) == 3


def test_text():
    assert str(N * 2 + M - 1) == "2*n + m + -1"
    assert str(N // 2) == "floordiv(n, 2)"
    assert repr(dims.maximum(N, 1)) == "max(n, 1)"


def test_atoms():
    assert (N * 2 + M // 3).atoms == {N.atom, M.atom}
    assert N.is_atom
    assert not (N + 1).is_atom
    assert not (N * 2).is_atom
    assert not (N // 2).is_atom


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda: range(N), "`range` or an index"),
        (lambda: [1, 2][N], "`range` or an index"),
        (lambda: int(N), "`range` or an index"),
        (lambda: 1 if N else 2, "`if`"),
        (lambda: N > 3, "an ordering comparison"),
        (lambda: max(N, 3), "an ordering comparison"),
        (lambda: sorted([N, M]), "an ordering comparison"),
    ],
)
def test_refusals_name_the_dimension_and_the_cure(use, said):
    with pytest.raises(wg.TracingError) as caught:
        use()
    text = str(caught.value)
    assert said in text
    assert "dimension n" in text or "dimension m" in text
    assert "wg.fori_loop" in text
    assert "tests/core/test_dims.py" in text


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.floordiv])
def test_arithmetic_with_text_is_refused(operation):
    with pytest.raises(TypeError, match="unsupported operand"):
        operation(N, "text")


def test_shapes():
    assert dims.size_of((N, 2, M)) == 2 * N * M
    assert dims.size_of(()) == 1


def test_attributes_are_searched_and_changed():
    value = ((N, 2), slice(0, M, None), "text")
    assert dims.dims_in(value) == [N, M]
    changed = dims.map_attribute(value, lambda d: evaluate(d, {N.atom: 5, M.atom: 6}))
    assert changed == ((5, 2), slice(0, 6, None), "text")


def test_dimensions_in_a_traced_function():
    @wg.function(input_signature=[wg.TensorSpec((None, 3))])
    def f(x):
        n = x.shape[0]
        assert isinstance(n, Dim)
        return np.sum(x) / n + wg.zeros((n * 2,))

    for size in (1, 2, 5):
        result = f(np.ones((size, 3)))
        assert result.shape == (2 * size,)
        np.testing.assert_allclose(result, 3.0)
    assert f.trace_count == 1
