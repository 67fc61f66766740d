"""`explain`: why a gradient is None, zero or connected, told by a tape, by a graph and by DisconnectedError.

Every situation is a function whose cutting line is marked, so that the text must show that very line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert._core.state import recording
from wengert._transforms.tape import Tape
from wengert.inspect.explain import explain_entries

X = np.array([1.5, -2.5, 3.0])
OUTSIDE = wg.tensor([1.0, 2.0, 3.0])


class Situation(NamedTuple):
    """A function of x, and what the explanation must say: op, line and cure."""

    name: str
    f: Callable[[Any], Any]
    op: str
    line: str
    cure: str
    eager_only: bool = False


def cast_and_back(x: Any) -> Any:
    whole = wg.astype(wg.sin(x), "int32")
    return wg.astype(whole, "float64") * 2


def stopped(x: Any) -> Any:
    return wg.stop_gradient(x * 2) + OUTSIDE


def integer_path(x: Any) -> Any:
    sign_bits = np.signbit(x)
    return wg.astype(sign_bits, "int64") * 3 * OUTSIDE


def by_argmax(x: Any) -> Any:
    place = np.argmax(x)
    return OUTSIDE[place]


def by_argsort(x: Any) -> Any:
    order = np.argsort(x)
    return OUTSIDE[order]


def comparison(x: Any) -> Any:
    positive = x > 0
    return wg.astype(positive, "float64")


def condition_of_where(x: Any) -> Any:
    chosen = x < 1
    return wg.where(chosen, OUTSIDE, 2 * OUTSIDE)


def numbers_out(x: Any) -> Any:
    plain = x.numpy()
    return wg.tensor(plain) * 2


def branch_not_taken(x: Any) -> Any:
    high = wg.sum(x) > 100
    if high:
        return x * 2
    return OUTSIDE * 2


def item_out(x: Any) -> Any:
    number = x[0].item()
    return OUTSIDE * number


def unused(x: Any) -> Any:
    return OUTSIDE * 2


def lost_on_the_way(x: Any) -> Any:
    wg.exp(x)
    return OUTSIDE * 2


def constant_result(x: Any) -> Any:
    return wg.zeros_like(x)


def assigned(x: Any) -> Any:
    holder = wg.Variable(np.zeros(3), name="holder")
    holder.assign(x * 2)
    return holder * OUTSIDE


@wg.custom_gradient
def blind(x: Any) -> Any:
    return x * 2, lambda upstream: None


def custom_none(x: Any) -> Any:
    return blind(x) + 1


@wg.function
def compiled_cut(x: Any) -> Any:
    return wg.stop_gradient(x) * 2


def inside_compiled(x: Any) -> Any:
    return compiled_cut(x) + 1


def integer_result(x: Any) -> Any:
    return wg.astype(x, "int64")


def declared(x: Any) -> Any:
    y = no_gradient_wanted(x)
    return y * 2


no_gradient_wanted = wg.primitive("explained_declared", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.copy)
wg.not_differentiable("explained_declared")


def labels(x: Any) -> Any:
    hot = wg.ops.one_hot(x.astype("int32"), 3)
    return hot * 2


def rounded(x: Any) -> Any:
    return wg.rint(x).astype(int) * OUTSIDE


def searched(x: Any) -> Any:
    place = wg.searchsorted(OUTSIDE, x)
    return OUTSIDE[place % 3]


def where_not_nan(x: Any) -> Any:
    return wg.where(wg.isnan(x), 0.0, OUTSIDE)


def all_true(x: Any) -> Any:
    fine = wg.all(x > 0)
    return wg.where(fine, OUTSIDE, 0.0)


def shape_only(x: Any) -> Any:
    return OUTSIDE * x.shape[0]


def trip_count(x: Any) -> Any:
    count = int(wg.sum(x).item())
    return OUTSIDE * count


SITUATIONS = [
    Situation("cast to int and back", cast_and_back, "convert gives int32", 'wg.astype(wg.sin(x), "int32")', "stay with floating"),
    Situation("stop_gradient", stopped, "stop_gradient stops", "wg.stop_gradient(x * 2)", "take stop_gradient away"),
    Situation("integer path", integer_path, "signbit gives bool", "sign_bits = np.signbit(x)", "stay with floating"),
    Situation("argmax", by_argmax, "argmax gives int64", "place = np.argmax(x)", "instead of its place"),
    Situation("argsort", by_argsort, "argsort gives int64", "order = np.argsort(x)", "instead of its place"),
    Situation("comparison", comparison, "gt gives bool", "positive = x > 0", "wg.where"),
    Situation("condition of where", condition_of_where, "lt gives bool", "chosen = x < 1", "wg.where"),
    Situation(".numpy()", numbers_out, "Tensor.numpy() takes the numbers out", "plain = x.numpy()", "go on with the tensor", True),
    Situation(".item()", item_out, "Tensor.item() takes the numbers out", "number = x[0].item()", "go on with the tensor", True),
    Situation("branch not taken", branch_not_taken, "gt gives bool", "high = wg.sum(x) > 100", "wg.where", True),
    Situation("unused argument, constant", unused, "f does not use it", "", "does all the operations"),
    Situation("no path", lost_on_the_way, "used by:\n    exp", "", "let the result be computed from what was made of x"),
    Situation("constant", constant_result, "f does not use it", "", "does all the operations"),
    Situation("Variable assigned", assigned, "assign stores a value", "holder.assign(x * 2)", "instead of reading the Variable", True),
    Situation("custom gradient None", custom_none, "the custom gradient of blind gives None", "", "return a tensor"),
    Situation("in a compiled function", inside_compiled, "stop_gradient stops", "return wg.stop_gradient(x) * 2", "take stop_gradient away"),
    Situation("integer result", integer_result, "convert gives int64", 'return wg.astype(x, "int64")', "stay with floating"),
    Situation("declared not differentiable", declared, "explained_declared stops", "y = no_gradient_wanted(x)", "wg.register_gradient"),
    Situation("labels", labels, "convert gives int32", "hot = wg.ops.one_hot(", "stay with floating"),
    Situation("rounded to integers", rounded, "convert gives int64", "return wg.rint(x).astype(int) * OUTSIDE", "wg.round keep the dtype"),
    Situation("searchsorted", searched, "searchsorted gives int64", "place = wg.searchsorted(OUTSIDE, x)", "wg.nn.softmax"),
    Situation("isnan", where_not_nan, "isnan gives bool", "wg.where(wg.isnan(x), 0.0, OUTSIDE)", "wg.custom_gradient"),
    Situation("all", all_true, "gt gives bool", "fine = wg.all(x > 0)", "wg.where"),
    Situation("its shape only", shape_only, "f does not use it", "", "does all the operations"),
    Situation("count of steps", trip_count, "Tensor.item() takes", "count = int(wg.sum(x).item())", "go on with the tensor", True),
]  # fmt: skip


def on_tape(f: Callable[[Any], Any], at: Any = X) -> str:
    x = wg.tensor(at)
    tape = Tape((x._key,))
    with recording(tape):
        y = f(x)
    return explain_entries(tape, y, x)


def in_graph(f: Callable[[Any], Any], at: Any = X) -> str:
    graph = wg.function(f).trace(at)
    return wg.explain(graph.outputs[0], graph.inputs[0])


def check(text: str, s: Situation) -> None:
    assert "the result does not depend differentiably on x" in text
    assert s.op in text
    assert s.line in text
    if s.line:
        assert __file__ in text
    assert "\n  cure: " in text
    assert s.cure in text


@pytest.mark.parametrize("s", SITUATIONS, ids=lambda s: s.name)
def test_a_tape_says_why_it_is_none(s: Situation) -> None:
    check(on_tape(s.f), s)


@pytest.mark.parametrize("s", SITUATIONS, ids=lambda s: s.name)
def test_a_gradient_tape_says_why_it_is_none(s: Situation) -> None:
    x = wg.tensor(X)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = s.f(x)
    check(tape.explain(y, x), s)
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize("s", SITUATIONS, ids=lambda s: s.name)
def test_the_error_carries_the_same_text(s: Situation) -> None:
    with pytest.raises(wg.DisconnectedError) as caught:
        wg.grad(s.f)(X)
    check(str(caught.value), s)
    assert on_tape(s.f) in str(caught.value)


@pytest.mark.parametrize("s", [s for s in SITUATIONS if not s.eager_only], ids=lambda s: s.name)
def test_a_graph_says_why_it_is_none(s: Situation) -> None:
    check(in_graph(s.f), s)


@pytest.mark.parametrize(
    ("f", "op", "line"),
    [(lost_on_the_way, "exp", "wg.exp(x)"), (custom_none, "custom", "return blind(x) + 1")], ids=["no path", "custom gradient"],
)  # fmt: skip
def test_a_graph_knows_the_line_of_ops_that_cut_nothing(f: Callable[[Any], Any], op: str, line: str) -> None:
    """A tape keeps no lines of the ops it records: that would cost every op. A graph does."""
    assert f"{op} at {__file__}" in in_graph(f)
    assert line in in_graph(f)


def test_situations_are_enough() -> None:
    assert len({s.name for s in SITUATIONS if s.line}) >= 15


def test_a_graph_lists_the_path_with_its_lines() -> None:
    def f(x: Any) -> Any:
        inner = wg.sin(x)
        return wg.exp(inner) * 2

    text = in_graph(f)
    assert text.startswith("the result depends differentiably on x, by 3 ops")
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["sin", "exp", "times_number"]
    assert "inner = wg.sin(x)" in text
    assert "return wg.exp(inner) * 2" in text


def test_a_tape_lists_the_path() -> None:
    assert "path: x -> sin -> exp" in on_tape(lambda x: wg.exp(wg.sin(x)))


def test_a_long_path_is_elided() -> None:
    def f(x: Any) -> Any:
        for _ in range(50):
            x = wg.sin(x)
        return x

    assert "38 more" in in_graph(f)
    assert "-> ... ->" in on_tape(f)
    assert "by 50 ops" in on_tape(f)


@pytest.mark.parametrize("op", ["floor", "ceil", "sign", "trunc"])
@pytest.mark.parametrize("asked", [on_tape, in_graph])
def test_connected_with_derivative_zero(asked: Callable[..., str], op: str) -> None:
    def f(x: Any) -> Any:
        stepped = getattr(wg, op)(x)
        return stepped * 2

    text = asked(f)
    assert "its gradient is zero everywhere" in text
    assert f"the derivative of {op}" in text
    assert "wg.custom_gradient" in text
    assert asked is on_tape or "stepped = getattr(wg, op)(x)" in text


@pytest.mark.parametrize("asked", [on_tape, in_graph])
def test_gradient_of_a_linear_function(asked: Callable[..., str]) -> None:
    def f(x: Any) -> Any:
        slope = wg.grad(lambda t: 3 * t)(x)
        return slope * 2

    text = asked(f)
    assert "its gradient is zero everywhere: it is made of a gradient that does not depend on x" in text
    assert "zero is the derivative" in text
    assert asked is on_tape or "slope = wg.grad(lambda t: 3 * t)(x)" in text


def test_a_zero_beside_another_path_is_no_zero() -> None:
    assert "depends differentiably" in in_graph(lambda x: wg.floor(x) + x)
    assert "depends differentiably" in on_tape(lambda x: wg.floor(x) + x)


def test_zero_at_these_values_names_the_op_where_it_vanishes() -> None:
    text = on_tape(lambda x: wg.sum(wg.nn.relu(wg.sin(x)) * 2), [-1.0, -2.0])
    assert "zero at these values" in text
    assert "it vanishes at" in text
    assert "sin" not in text.splitlines()[0]


def test_untaken_branch_of_where_is_zero_there() -> None:
    text = on_tape(lambda x: wg.where(OUTSIDE > 0, OUTSIDE, wg.exp(x)))
    assert "it vanishes at select" in text or "it vanishes at where" in text


def test_every_cut_is_told() -> None:
    def f(x: Any) -> Any:
        a = wg.stop_gradient(x)
        b = wg.astype(wg.astype(x, "int64"), "float64")
        return a + b

    for text in (on_tape(f), in_graph(f)):
        assert "a = wg.stop_gradient(x)" in text
        assert 'b = wg.astype(wg.astype(x, "int64"), "float64")' in text
        assert text.count("\n  cure: ") == 2


def test_the_cut_of_another_argument_is_not_told() -> None:
    def f(x: Any, z: Any) -> Any:
        cut_of_z = wg.stop_gradient(z)
        return cut_of_z + wg.stop_gradient(wg.sin(x))

    with pytest.raises(wg.DisconnectedError) as caught:
        wg.grad(f)(1.0, 2.0)
    assert "sin(x)" in str(caught.value)
    with pytest.raises(wg.DisconnectedError) as caught:
        wg.grad(lambda x, z: f(x, z) + z)(1.0, 2.0)
    assert "wg.stop_gradient(wg.sin(x))" in str(caught.value)


def test_a_custom_gradient_that_gives_something_is_connected() -> None:
    @wg.custom_gradient
    def doubled(x: Any) -> Any:
        return x * 2, lambda upstream: upstream * 2

    assert "depends differentiably" in on_tape(doubled)
    assert "depends differentiably" in in_graph(doubled)


def test_itself_and_integers() -> None:
    assert "the result is x itself" in on_tape(lambda x: x)
    graph = wg.function(lambda n: n * 1.5).trace(np.arange(3))
    text = wg.explain(graph.outputs[0], graph.inputs[0])
    assert "x has dtype int64" in text
    assert "wg.astype" in text


def test_inside_an_open_trace() -> None:
    told = []

    @wg.function
    def f(x: Any) -> Any:
        middle = wg.sin(x)
        y = wg.stop_gradient(middle) * 2
        told.append((wg.explain(y, x), wg.explain(y, middle), wg.explain(middle, x)))
        return y

    f(2.0)
    assert "stop_gradient" in told[0][0]
    assert "stop_gradient" in told[0][1]
    assert told[0][2].startswith("the result depends differentiably on x, by 1 op\n  path")


def test_explaining_leaves_no_trace() -> None:
    def f(x: Any) -> Any:
        y = compiled_cut(x) + x
        wg.explain(y, x)
        return y

    assert "explain" not in wg.function(f).trace(X).to_text()
    assert len(wg.function(f).trace(X).nodes) == len(wg.function(lambda x: compiled_cut(x) + x).trace(X).nodes)


def test_what_cannot_be_explained() -> None:
    with pytest.raises(TypeError, match="concrete tensor"):
        wg.explain(wg.tensor(1.0), wg.tensor(2.0))
    with pytest.raises(TypeError, match="got float"):
        wg.explain(1.0, 2.0)
    first, second = wg.function(wg.sin).trace(1.0), wg.function(wg.sin).trace(1.0)
    with pytest.raises(ValueError, match="x is no value of the graph"):
        wg.explain(first.outputs[0], second.inputs[0])


def test_an_op_without_a_gradient() -> None:
    blackbox = wg.primitive("explained_blackbox", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.cbrt)

    def f(x: Any) -> Any:
        y = blackbox(x)
        return y * 2

    for text in (on_tape(f), in_graph(f)):
        assert "no gradient is defined for the op explained_blackbox" in text
        assert "LookupError" in text
        assert "wg.custom_gradient" in text
    assert "y = blackbox(x)" in in_graph(f)


def test_nan_at_these_values_names_the_op_where_it_is_first() -> None:
    def f(x: Any) -> Any:
        values, vectors = wg.linalg.eigh(wg.sin(x))
        return wg.sum(vectors * wg.exp(values) * np.arange(4.0).reshape(2, 2))

    with np.errstate(all="ignore"):
        text = on_tape(f, np.eye(2))
        assert "its gradient is NaN at these values, first at eigh" in text
        assert "NaN" not in on_tape(f, [[1.0, 0.0], [0.0, 2.0]])
        assert "first at sqrt" in on_tape(lambda x: wg.sqrt(wg.exp(x) * 0 - 1), 1.0)
