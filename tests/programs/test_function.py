"""`wg.function`: signatures, tracing, compiled results, Variables, threads, derivatives of the call."""

from __future__ import annotations

import dataclasses
import html
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls
from tests.support.python_engine import PYTHON
from tests.support.threads import in_threads
from wengert._core.state import STATE, recording
from wengert._prims.structural import reduce_sum
from wengert._transforms.forward import Tangents

X = np.linspace(0.5, 2.0, 6)


def total(x):
    return reduce_sum(x, axes=tuple(range(len(x.shape))))


# -- signatures and traces ---------------------------------------------------------------------------------------------


def test_one_trace_per_signature():
    f = wg.function(lambda x, n: x**n)
    assert f(X, 2).tolist() == (X**2).tolist()
    f(X + 1, 2)
    assert f.trace_count == 1
    f(X, 3)
    f(X[:3], 3)
    f(X.astype(np.float32), 3)
    assert f.trace_count == 4


def test_python_floats_are_traced_and_stay_weak():
    f = wg.function(lambda x, c: x * c)
    single = X.astype(np.float32)
    assert f(single, 0.5).dtype == np.float32
    assert f(single, 0.75)[0] == single[0] * np.float32(0.75)
    assert f.trace_count == 1
    assert f(X, 0.5).dtype == np.float64


def test_python_arithmetic_of_weak_numbers_stays_weak_but_functions_do_not():
    single = X.astype(np.float32)
    assert wg.function(lambda x, c: x * (c * 2 + 1))(single, 0.5).dtype == np.float32
    assert wg.function(lambda x, c: x * wg.sin(c))(single, 0.5).dtype == (single * wg.sin(0.5)).dtype == np.float64


def test_structures_statics_and_keywords():
    class Pair(NamedTuple):
        a: object
        b: object

    @dataclasses.dataclass
    class Box:
        v: object
        name: str

    @wg.function
    def f(params, box, *, scale, flag):
        assert box.name == "n"
        out = params["w"] * scale + box.v
        return Pair(out if flag else -out, {"kept": None, "text": "t", "list": [params["w"], 3]})

    result = f({"w": X}, Box(X, "n"), scale=2.0, flag=True)
    assert isinstance(result, Pair)
    np.testing.assert_array_equal(result.a, X * 2 + X)
    assert result.b["kept"] is None and result.b["text"] == "t" and result.b["list"][1] == 3
    np.testing.assert_array_equal(result.b["list"][0], X)
    f({"w": X}, Box(X, "n"), scale=3.0, flag=False)
    assert f.trace_count == 2


def test_unhashable_and_callable_arguments_are_part_of_the_signature():
    f = wg.function(lambda g, x, table: g(x) * len(table))
    table = {1, 2}
    assert f(wg.sin, 1.0, table) == np.sin(1.0) * 2
    f(wg.sin, 2.0, table)
    assert f.trace_count == 1
    assert f(wg.cos, 1.0, table) == np.cos(1.0) * 2


def test_kinds():
    f = wg.function(lambda x: x * 2.0)
    assert type(f(X)) is np.ndarray
    assert type(f(1.5)) is np.float64
    assert type(f(wg.tensor(X))) is wg.Tensor
    assert type(f([1.0, 2.0])) is np.ndarray


def test_results_are_fresh_even_where_they_are_an_argument():
    f = wg.function(lambda x: (x, x[::2] if False else x, wg.ops.stop_gradient(x)))
    for out in f(X):
        assert out.flags.owndata and out.flags.writeable and out.flags.c_contiguous
        assert not np.shares_memory(out, X)
    first = f(X)
    first[0][:] = 0
    np.testing.assert_array_equal(f(X)[1], X)


def test_constants_are_not_handed_out():
    f = wg.function(lambda x: wg.tensor([1.0, 2.0]) * 1.0)
    out = f(1.0)
    out[:] = 7
    np.testing.assert_array_equal(f(1.0), [1.0, 2.0])


def test_decorator_forms_and_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @wg.function
        def apply(self, x):
            """Doc."""
            return x * self.w

    a, b = Model(2.0), Model(3.0)
    assert a.apply(1.5) == 3.0 and b.apply(1.5) == 4.5 and a.apply(2.0) == 4.0
    assert wg.function(name="named")(lambda x: x).trace(1.0).name == "named"
    assert Model.__dict__["apply"].__doc__ == "Doc."


def test_fifth_trace_caused_by_one_argument_warns_and_names_it():
    @wg.function
    def f(x, steps):
        for _ in range(steps):
            x = 2 * x
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(4):
            f(X, n)
    with pytest.warns(UserWarning, match="argument steps"):
        f(X, 10)


def test_default_float_is_part_of_the_signature():
    f = wg.function(lambda x: x + 0.0)
    assert f(1.0).dtype == np.float64
    wg.set_default_float("float32")
    try:
        assert f(1.0).dtype == np.float32
    finally:
        wg.set_default_float("float64")
    assert f(1.0).dtype == np.float64


def test_eager_runs_plain_python():
    seen = []

    @wg.function
    def f(x):
        seen.append(x.is_symbolic)
        return x * 2

    f(1.0)
    with wg.eager():
        assert f(1.0) == 2.0
    assert seen == [True, False]


# -- tracing errors ------------------------------------------------------------------------------------------------------


def test_if_on_a_symbol_names_the_line_and_the_cure():
    @wg.function
    def f(x):
        if x > 0:  # the line to be named
            return x
        return -x

    with pytest.raises(wg.TracingError, match=r"wg\.cond.*(?s:.)*if x > 0:  # the line to be named"):
        f(1.0)
    assert STATE.builder is None and STATE.recorders == ()


def test_float_of_a_symbol_is_refused():
    with pytest.raises(wg.LostGradientError, match="float"):
        wg.function(lambda x: float(x))(1.0)
    with pytest.raises(wg.TracingError):
        wg.function(lambda x: x.item())(1.0)


def test_a_symbol_that_escapes_is_named_when_used():
    kept = []
    wg.function(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(ValueError, match="outside the trace"):
        wg.sin(kept[0])


def test_errors_inside_traces_name_op_and_line():
    @wg.function
    def f(x, y):
        return x + y  # meets the wrong shape

    with pytest.raises(ValueError, match=r"\(6,\) and \(5,\)(?s:.)*return x \+ y  # meets the wrong shape"):
        f(X, X[:5])
    assert STATE.builder is None
    assert f(X, X)[0] == 2 * X[0]


# -- unknown dimensions ----------------------------------------------------------------------------------------------------


def test_one_trace_serves_every_size():
    @wg.function(input_signature=[wg.TensorSpec((None, 3)), wg.TensorSpec((3,))])
    def f(x, w):
        return total(x * w) / x.shape[0]

    for n in (2, 5, 100):
        x = np.arange(3.0 * n).reshape(n, 3)
        np.testing.assert_allclose(f(x, np.ones(3)), x.sum() / n, rtol=1e-13)
    assert f.trace_count == 1


def test_gradient_with_unknown_dimensions():
    f = wg.function(wg.grad(lambda x: total(x * x) * (1.0 / x.shape[0])), input_signature=[wg.TensorSpec((None,))])
    for n in (2, 7):
        np.testing.assert_allclose(f(np.ones(n)), np.full(n, 2.0 / n))
    assert f.trace_count == 1


def test_guards_retrace_where_the_assumption_fails():
    f = wg.function(lambda a, b: a + b, input_signature=[wg.TensorSpec((None, 2)), wg.TensorSpec((None, 2))])
    assert f(np.ones((3, 2)), np.ones((3, 2))).shape == (3, 2)
    assert f.trace_count == 1
    assert f(np.ones((1, 2)), np.ones((4, 2))).shape == (4, 2)
    assert f.trace_count == 2
    assert f(np.ones((4, 2)), np.ones((4, 2))).shape == (4, 2)
    assert f.trace_count == 2
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones((2, 2)), np.ones((3, 2)))


def test_python_refusals_on_unknown_dimensions():
    spec = [wg.TensorSpec((None,))]
    with pytest.raises(wg.TracingError, match="fori_loop"):
        wg.function(lambda x: [x for _ in range(x.shape[0])][0], input_signature=spec)(X)
    with pytest.raises(wg.TracingError):
        wg.function(lambda x: x if x.shape[0] > 3 else -x, input_signature=spec)(X)


def test_signature_mismatches():
    f = wg.function(lambda x: x, input_signature=[wg.TensorSpec((None, 2), "float32")])
    with pytest.raises(TypeError, match="float64.*float32"):
        f(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"\(3, 3\)"):
        f(np.ones((3, 3), np.float32))
    with pytest.raises(TypeError, match="1 entries"):
        f(np.ones((3, 2), np.float32), 1)
    assert f([[1, 2]]).dtype == np.float32


def test_trace_gives_the_graph():
    f = wg.function(lambda x: wg.sin(x) * x, name="wave")
    text = f.trace(wg.TensorSpec((None,))).to_text()
    assert text.startswith("graph wave(%x: float64[n0])") and "sin(%x)" in text
    assert "mul" in f.trace(X).to_text()


class _Named:
    @wg.function
    def method(self, inputs, *, scale):
        return inputs * scale


@pytest.mark.parametrize(
    ("graph", "names"),
    [
        (lambda: wg.function(lambda x, y: x * y).trace(X, 2.0), ["x", "y"]),
        (lambda: wg.function(lambda n, y: y * n).trace(3, y=2.0), ["y"]),
        (lambda: wg.function(lambda p, *rest: p["w"] * rest[1]).trace({"w": X, "b": (X, 1.0)}, 1.0, 2.0),
         ["p['w']", "p['b'][0]", "p['b'][1]", "rest[0]", "rest[1]"]),
        (lambda: wg.function(wg.grad(lambda a, b: a * b)).trace(1.0, 2.0), ["a", "b"]),
        (lambda: wg.function(wg.grads(lambda a, b: a * b)).trace([X, X]), ["args[0]", "args[1]"]),
        (lambda: wg.function(wg.custom_gradient(lambda z: (z, lambda u: u))).trace(1.0), ["z"]),
        (lambda: _Named().method.trace(X, scale=2.0), ["inputs", "scale"]),
        (lambda: wg.function(print).trace(X, 1.0), ["args[0]", "args[1]"]),
    ],
    ids=["plain", "by keyword", "nested", "grad", "grads", "custom_gradient", "method", "builtin"],
)  # fmt: skip
def test_inputs_bear_the_names_of_the_parameters(graph, names, capsys):
    graph = graph()
    assert [v.name for v in graph.inputs] == names
    header = graph.to_text().split("\n")[0]
    for name in names:
        assert f"%{name}: " in header
        assert f'label="{name}\\n' in graph.to_dot()
        assert f">{html.escape(name)}<" in graph.to_svg()


def test_a_parameter_and_a_variable_of_one_name_are_told_apart():
    v = wg.Variable(2.0, name="x")
    text = wg.function(lambda x: x * v).trace(3.0).to_text()
    assert "%x_1 = read x" in text and "mul(%x, %x_1)" in text


# -- Variables ---------------------------------------------------------------------------------------------------------


def test_variables_are_read_at_call_time_and_written_at_each_call():
    v = wg.Variable(1.0)
    order = []

    @wg.function
    def step(x):
        v.assign_add(x)
        order.append("traced")
        return v * 10.0

    assert step(1.0) == 20.0
    v.assign(5.0)
    assert step(2.0) == 70.0
    assert v.numpy() == 7.0 and order == ["traced"]


def test_a_trace_inside_of_an_observed_call_shows_nobody_its_symbols():
    """The first call of a function, under those who note the Variables that are read."""
    v = wg.Variable(3.0)

    def fresh():
        return wg.function(lambda x: x * x * v)

    assert wg.grad(wg.recompute_grad(fresh()))(2.0) == 12.0
    inner = fresh()

    @wg.custom_gradient
    def own(x):
        return inner(x), lambda upstream, variables: (upstream, [upstream * 7.0 for _ in variables])

    assert wg.variable_grads(lambda: own(2.0)).grads[v].item() == 7.0
    with wg.GradientTape() as tape:
        y = fresh()(wg.tensor(2.0))
    assert tape.gradient(y, v).item() == 4.0


def test_no_write_happens_when_the_call_fails():
    v = wg.Variable([1.0, 2.0])

    @wg.function
    def f(x):
        v.assign(v * 2.0)
        return wg.ops.sin(x) if False else np.linalg.cholesky(x)

    with pytest.raises(np.linalg.LinAlgError):
        f(-np.eye(2))
    assert v.numpy().tolist() == [1.0, 2.0]


def test_gradients_to_variables_through_a_function():
    v = wg.Variable(2.0, name="v")
    f = wg.function(lambda x: v * v * x)
    value, grads = wg.variable_grads(lambda: f(3.0) + v)
    assert value.item() == 14.0 and grads["v"].item() == 13.0
    value, grads = wg.function(lambda: wg.variable_grads(lambda: f(3.0)))()
    assert grads["v"] == 12.0


def test_each_reads_value_counts_when_a_function_assigns():
    v = wg.Variable(2.0, name="v")

    @wg.function
    def f(x):
        first = v * 1.0
        v.assign_add(1.0)
        return (first + v * v) * x

    assert wg.variable_grads(lambda: f(1.0)).grads["v"].item() == 1.0 + 2 * 3.0


# -- derivatives of a call -----------------------------------------------------------------------------------------------


def energy(x, c=1.5):
    return total(wg.sin(x) * x * c)


def test_gradient_of_a_function_is_one_call_node():
    f = wg.function(energy)
    np.testing.assert_allclose(wg.grad(f)(X), wg.grad(energy)(X), rtol=1e-14)
    from wengert._core.tensor import fresh
    from wengert._transforms.tape import Tape

    x = fresh(X)
    tape = Tape([x._key])
    with recording(tape):
        f(x)
    assert [e.op.name for e in tape.entries] == ["call"]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_higher_orders_through_functions(order):
    def nest(f):
        g = f
        for _ in range(order):
            inner = wg.grad(g)
            g = lambda x, inner=inner: total(inner(x) * x)  # a closure per order
        return g

    plain, compiled = nest(energy)(wg.tensor(X)).numpy(), nest(wg.function(energy))(wg.tensor(X)).numpy()
    np.testing.assert_allclose(compiled, plain, rtol=1e-11)
    np.testing.assert_allclose(wg.function(nest(energy))(X), plain, rtol=1e-11)


def test_forward_mode_through_a_function_and_over_its_gradient():
    f = wg.function(energy)
    for g in (f, wg.grad(f)):
        x = wg.tensor(X)
        tangents = Tangents()
        with recording(tangents):
            x = wg.ops.positive(x)
            tangents.set(x, wg.tensor(np.ones_like(X)))
            y = g(x)
        found = tangents.of(y).numpy()
        plain = energy if g is f else wg.grad(energy)
        h = 1e-5
        expected = (np.asarray(plain(wg.tensor(X + h)).numpy()) - plain(wg.tensor(X - h)).numpy()) / (2 * h)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


def test_captured_tensors_get_their_gradient():
    def outer(a):
        f = wg.function(lambda x: x * a * a)
        return f(3.0)

    assert wg.grad(outer)(2.0) == 12.0


def test_functions_inside_functions_and_gradients_inside():
    inner = wg.function(lambda x: x**3)
    f = wg.function(lambda x: wg.grad(inner)(x) + inner(x))
    assert f(2.0) == 12.0 + 8.0


def test_masked_gradient_does_not_meet_infinite_slopes_through_a_call():
    log = wg.function(lambda x: wg.log(x))

    def f(x):
        return total(wg.ops.where(x > 0, log(x), 0.0))

    np.testing.assert_array_equal(wg.grad(f)(np.array([0.0, 2.0])), [0.0, 0.5])
    np.testing.assert_array_equal(wg.function(wg.grad(f))(np.array([0.0, 2.0])), [0.0, 0.5])


def test_unused_argument_of_a_function_is_disconnected():
    f = wg.function(lambda a, b: a * 2.0)
    with pytest.raises(wg.DisconnectedError, match=r"on b:"):
        wg.grad(f, argnums=1)(1.0, 2.0)


# -- running -----------------------------------------------------------------------------------------------------------


def test_cache_hit_takes_at_most_12_python_calls():
    g = wg.function(wg.value_and_grad(lambda x: total(wg.sin(x) * x)))
    names = python_calls(g, X)
    assert len(names) <= 12, names


def test_buffers_are_freed_at_their_last_use():
    import tracemalloc

    n = 200_000

    def chain(x):
        for _ in range(30):
            x = wg.sin(x)
        return x

    f = wg.function(chain)
    x = np.ones(n)
    f(x)
    tracemalloc.start()
    f(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.5 * n * 8  # two buffers and the result, not thirty


def test_long_graphs_run_as_instructions():
    def chain(x):
        for _ in range(3000):
            x = x * 1.0001
        return x

    f = wg.function(wg.value_and_grad(lambda x: total(chain(x))))
    value, grad = f(X)
    eager = wg.value_and_grad(lambda x: total(chain(x)))(X)
    np.testing.assert_allclose(value, eager.value, rtol=1e-12)
    np.testing.assert_allclose(grad, eager.grad, rtol=1e-12)


def test_warnings_of_long_graphs_come_from_the_forward_part_only():
    def f(x):
        for _ in range(2500):
            x = x * 1.0
        return total(wg.ops.where(x > 0, wg.sqrt(x), 0.0))

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert wg.function(wg.grad(f))(np.array([0.0, 1.0]))[0] == 0.0


def test_a_list_of_numbers_is_an_array():
    assert wg.function(lambda x: x * 2)([1, 2, 3]).tolist() == [2, 4, 6]
    assert wg.grad(lambda x, y: wg.sum(x * y))([1.0, 2.0], [3, 4]).tolist() == [3.0, 4.0]


def test_warnings_come_from_the_forward_part_only(monkeypatch):
    monkeypatch.setenv("WENGERT_JIT", "0")  # machine code warns of nothing

    def f(x):
        return total(wg.ops.where(x > 0, wg.sqrt(x), 0.0))

    zero = np.array([0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.grad(f)(zero)[0] == 0.0
        assert wg.function(wg.grad(f))(zero)[0] == 0.0
    with pytest.warns(RuntimeWarning):
        wg.function(lambda x: wg.log(x))(np.array([-1.0]))


def test_warnings_come_from_the_forward_part_only_in_long_graphs_too(monkeypatch):
    monkeypatch.setenv("WENGERT_JIT", "0")  # machine code warns of nothing

    def f(x):
        y = wg.ops.where(x > 0, wg.sqrt(x), 0.0)
        for _ in range(2100):
            y = y * 1.0
        return total(y)

    compiled = wg.function(wg.grad(f))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        np.testing.assert_array_equal(compiled(np.array([0.0, 1.0])), [0.0, 0.5])
    with pytest.warns(RuntimeWarning):
        compiled(np.array([-1.0, 1.0]))


def test_eight_threads_ten_thousand_calls_first_one_concurrent():
    traces = []

    def f(x):
        traces.append(1)
        return total(wg.sin(x) * x)

    g = wg.function(wg.value_and_grad(f))
    # compiled and eager agree to rounding only: what is expected is what one call alone gives
    expected = wg.function(wg.value_and_grad(lambda x: total(wg.sin(x) * x)))(X)
    failures = []

    def work(_):
        for _ in range(10_000):
            value, grad = g(X)
            if value != expected.value or not np.array_equal(grad, expected.grad):
                failures.append((value, grad))

    in_threads(work)
    assert not failures and len(traces) == 1 and g.trace_count == 1


def test_debug_print_prints_at_each_call(capsys):
    @wg.function
    def f(x):
        wg.debug_print("x = {}", x)
        return x * 2

    f(1.0)
    f(2.0)
    assert capsys.readouterr().out == "x = 1.0\nx = 2.0\n"


class _Scaled:
    def __init__(self, factor):
        self.factor = factor

    @wg.function(input_signature=[wg.TensorSpec((None,))])
    def times(self, x):
        return x * self.factor


def test_the_input_signature_of_a_method_leaves_self_out():
    twice, thrice = _Scaled(2.0), _Scaled(3.0)
    for n in (2, 3, 4):
        assert twice.times(np.ones(n)).tolist() == [2.0] * n
        assert thrice.times(np.ones(n)).tolist() == [3.0] * n
    assert _Scaled.times.trace_count == 2
    assert "float64[m1]" in twice.times.trace().to_text()
    with pytest.raises(TypeError, match="1 entries, but 2"):
        twice.times(np.ones(2), np.ones(2))


def test_an_input_signature_may_be_nested():
    spec = {"w": wg.TensorSpec((None, 2)), "b": wg.TensorSpec(())}
    f = wg.function(lambda p, x: (x @ p["w"]).sum() + p["b"], input_signature=[spec, wg.TensorSpec((None,))])
    for n in (2, 3, 4):
        assert f({"w": np.ones((n, 2)), "b": 1.0}, np.ones(n)) == 2 * n + 1
    assert f.trace_count == 1
    with pytest.raises(TypeError, match="structure"):
        f({"w": np.ones((2, 2))}, np.ones(2))


def test_specs_anywhere_in_the_arguments_of_trace():
    f = wg.function(lambda d, n, *, scale: d["x"] * n * scale)
    text = f.trace({"x": wg.TensorSpec((None, 2))}, 3, scale=wg.TensorSpec((), "float64")).to_text()
    assert "float64[n0, 2]" in text


def test_a_set_that_changed_is_another_argument():
    f = wg.function(lambda x, chosen: x * len(chosen))
    chosen = {1, 2}
    assert f(1.0, chosen) == 2.0
    chosen.add(3)
    assert f(1.0, chosen) == 3.0


def test_what_does_not_fit_a_spec_is_refused_and_not_rounded():
    f = wg.function(lambda x: x, input_signature=[wg.TensorSpec((), "int32")])
    assert f(3) == 3
    for bad in (1.5, 1j, "a", None):
        with pytest.raises(TypeError, match="argument 0"):
            f(bad)
    for shape, error in ((None, TypeError), (3, TypeError), ((-1,), ValueError), ((2.5,), TypeError)):
        with pytest.raises(error):
            wg.TensorSpec(shape)


STENCILS = {
    "diff": lambda x: x[1:] - x[:-1],
    "second difference": lambda x: x[2:] - 2 * x[1:-1] + x[:-2],
    "both ends": lambda x: x[-4:-1] * x[1:4],
    "strided": lambda x: x[1:-1:2],
    "every other": lambda x: x[::2],
    "crossed": lambda x: x[-1:2],
    "trapezoid": lambda x: wg.trapezoid(x, axis=0),
    "np.gradient": lambda x: wg.gradient(x, axis=0),
    "delete": lambda x: wg.delete(x, 0, axis=1),
}


@pytest.mark.parametrize("name", STENCILS)
def test_slices_of_an_unknown_length_take_one_trace(name):
    def loss(x):
        return (STENCILS[name](x) ** 2).sum()

    signature = [wg.TensorSpec((None, 3))]
    f, g = wg.function(STENCILS[name], input_signature=signature), wg.function(wg.grad(loss), input_signature=signature)
    sizes = (5, 4, 3, 2, 7) if name == "np.gradient" else (5, 4, 3, 2, 7, 1, 0)
    for n in sizes:
        x = np.arange(3.0 * n).reshape(n, 3) ** 2
        if name == "both ends" and n < 4 and n > 0:
            continue  # the lengths differ
        np.testing.assert_allclose(f(x), STENCILS[name](wg.tensor(x)).numpy())
        np.testing.assert_allclose(g(x), wg.grad(loss)(x))
    assert f.trace_count == g.trace_count == 1


def _same_bits(a, b):
    assert np.array_equal(a, b, equal_nan=True), (a, b)
    assert np.array_equal(np.signbit(a.real), np.signbit(b.real)), (a, b)


@pytest.mark.parametrize("f", [lambda z: z * 1.0, lambda z: z.sum(()), lambda z: z.mean(), lambda z: z * 1.0 * 1.0])
@pytest.mark.parametrize("x", [complex("inf"), -0.0, 0.0, float("nan"), complex("-0.0")])
def test_passes_keep_the_sign_of_zero_and_nan(f, x):
    x = np.asarray(x)
    _same_bits(wg.function(f)(x), f(wg.tensor(x)).numpy())


MASKED_TWICE = {
    "y log y": lambda y: wg.where(y > 0, y * wg.log(y), 0.0).sum(),
    "power": lambda y: wg.where(y > 0, y**1.5, 0.0).sum(),
    "root": lambda y: wg.where(y > 0, wg.sqrt(y) * y, 0.0).sum(),
    "sinc": lambda y: wg.where(y != 0, wg.sin(y) / y, 1.0).sum(),
    "slice": lambda y: (y * wg.log(wg.abs(y)))[1:].sum(),
    "call": lambda y: wg.where(y > 0, wg.function(lambda q: q * wg.log(q))(y), 0.0).sum(),
    "recomputed": lambda y: wg.where(y > 0, wg.recompute_grad(lambda q: q * wg.log(q))(y), 0.0).sum(),
    "log": lambda y: wg.where(y > 0, wg.log(y), 0.0).sum(),
    "recomputed log": lambda y: wg.where(y > 0, wg.recompute_grad(wg.log)(y), 0.0).sum(),
}


@pytest.mark.parametrize("name", MASKED_TWICE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_masked_zeros_stay_zeros_at_every_order(name):
    f = MASKED_TWICE[name]
    inside, outside = np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0])
    for _ in range(3):
        g = wg.grad(f)
        for run in (g, wg.function(g)):
            expected = [0.0, *g(inside)] if name != "slice" else [0.0, *g(np.array([3.0, 1.0, 2.0]))[1:]]
            np.testing.assert_allclose(run(outside), expected, rtol=1e-12)
        f = lambda y, g=g: g(y).sum()


def test_a_compiled_error_names_the_op_and_the_line_of_f():
    def third(x, i):
        doubled = x * 2
        return doubled[i]  # here

    for f, args in ((third, (X, np.array(99))), (wg.linalg.cholesky, (-np.eye(2),))):
        with pytest.raises((IndexError, np.linalg.LinAlgError)) as caught:
            wg.function(f)(*args)
        said = str(caught.value)
        assert ("indexing" in said and "# here" in said) or "cholesky" in said


def test_zeros_that_a_function_inserts_stay_structural_outside_it():
    head = wg.function(lambda a: a[1:2])
    zeros = wg.function(lambda a: a * 0.0)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            wg.grad(lambda x: wg.sum(head(wg.sqrt(x))))(np.array([0.0, 4.0, 9.0])), [0, 0.25, 0]
        )
        # an ordinary zero times an infinite slope stays what it is
        assert np.isnan(wg.grad(lambda x: zeros(wg.log(x)))(0.0))


# -- engines -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def kernels_run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that the plain-Python engine runs, in order."""
    ran: list[str] = []

    def told(name, kernel):
        def run(*operands):
            ran.append(name)
            return kernel(*operands)

        return run

    for name in ("sin", "call"):
        monkeypatch.setitem(PYTHON.kernels, name, told(name, PYTHON.kernels[name]))
    return ran


def test_a_function_runs_on_its_engine_and_gives_the_callers_kind(kernels_run: list[str]) -> None:
    f = wg.function(wg.sin, engine="python")
    for argument in (X, X.tolist(), 0.5):
        result = f(argument)
        assert type(result) is type(wg.sin(argument))
        np.testing.assert_allclose(result, np.sin(argument))
    assert kernels_run == ["call", "sin"] * 3
    assert f(wg.tensor(X)).engine == "python"
    assert f.trace_count == 2  # an array, which a list and a tensor are like, and a float


def test_gradients_flow_to_a_functions_engine_and_back(kernels_run: list[str]) -> None:
    f = wg.function(wg.sin, engine="python")
    slope = wg.grad(lambda x: f(x).sum())(X)
    assert type(slope) is np.ndarray
    np.testing.assert_allclose(slope, np.cos(X))
    assert "call" in kernels_run
    np.testing.assert_allclose(
        wg.grad(wg.grad(lambda x: f(x * x)))(0.5), wg.grad(wg.grad(lambda x: wg.sin(x * x)))(0.5)
    )


def test_what_a_function_captures_runs_on_its_engine(kernels_run: list[str]) -> None:
    held = X.copy()
    np.testing.assert_allclose(wg.function(lambda: wg.sin(held), engine="python")(), np.sin(X))
    variable = wg.Variable(2.0)
    add = wg.function(lambda x: variable.assign_add(wg.sin(x)), engine="python")
    add(0.5)
    np.testing.assert_allclose(variable.numpy(), 2.0 + np.sin(0.5))
    assert variable.value.engine == "numpy"
    assert kernels_run.count("call") == 2


def test_in_another_function_the_outer_engine_runs(kernels_run: list[str]) -> None:
    inner = wg.function(wg.sin, engine="python")
    np.testing.assert_allclose(wg.function(lambda x: inner(x) + 1.0)(X), np.sin(X) + 1.0)
    assert kernels_run == []
    with wg.eager():
        np.testing.assert_allclose(inner(X), np.sin(X))
    assert kernels_run == ["sin"]


TRANSFORMS = {
    "grad": wg.grad, "value_and_grad": wg.value_and_grad, "jacobian": wg.jacobian, "hessian": wg.hessian,
    "jvp": lambda f: lambda x: wg.jvp(f, (x,), (x,)), "vjp": lambda f: lambda x: wg.vjp(f, x)[1](1.0),
    "hvp": lambda f: lambda x: wg.hvp(f, x, x), "linearize": lambda f: lambda x: wg.linearize(f, x)[1](x),
}  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(
    "given", [[1, 2, 3], [[1, 2], [3, 4]], [np.int64(1), 2], np.int64(3), np.uint8(3), 3], ids=repr
)
def test_bare_integers_are_differentiated_in_traces_as_outside(given: Any, transform: str) -> None:
    way = TRANSFORMS[transform](lambda x: wg.sum(wg.sin(x) * x))
    wanted = wg.tree.leaves(way(given))
    outer = wg.function(lambda y: wg.tree.map(lambda leaf: leaf * y, wg.function(way)(given)))
    for got in (wg.function(way)(given), wg.function(wg.function(way))(given), outer(1.0)):
        for a, b in zip(wg.tree.leaves(got), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)  # other orders of sums
            assert a.dtype == b.dtype


def test_arrays_of_integers_are_refused_in_traces_as_outside() -> None:
    f = wg.function(wg.grad(lambda x: wg.sum(x * x)))
    f([1, 2, 3])
    with pytest.raises(TypeError, match="int64; convert it to a floating dtype"):
        f(np.array([1, 2, 3]))
    with pytest.raises(TypeError, match="bool"):
        f(np.bool_(True))
    np.testing.assert_array_equal(f([1, 2, 3]), [2.0, 4.0, 6.0])


def test_a_list_of_integers_is_what_a_saved_function_takes_an_array_for(tmp_path: Any) -> None:
    rows = wg.function(lambda x, i: x[i])
    x = np.array([1.0, 2.0, 3.0])
    rows(x, np.array([2, 0]))
    wg.save(rows, tmp_path / "rows")
    np.testing.assert_array_equal(wg.load(tmp_path / "rows")(x, [2, 0]), [3.0, 1.0])
    gradient = wg.function(wg.grad(lambda x: wg.sum(x * x)))
    gradient([1, 2, 3])
    wg.save(gradient, tmp_path / "gradient")
    np.testing.assert_array_equal(wg.load(tmp_path / "gradient")([4, 5, 6]), [8.0, 10.0, 12.0])


@pytest.mark.parametrize(
    ("f", "named"),
    [
        (lambda x: wg.zeros((2**46,)), r"full, whose result has shape \(70368744177664,\)"),
        (lambda x: wg.ones((2**46,)), r"full, whose result has shape \(70368744177664,\)"),
        (lambda x: wg.zeros((2**46,)) + x, r"add, whose result has shape \(70368744177664,\)"),
        (lambda x: wg.broadcast_to(x, (2**46,)), r"no memory for the result.*70368744177664"),
    ],
    ids=["zeros", "ones", "sum", "view"],
)
def test_what_finds_no_memory_is_named_with_its_line(f: Any, named: str) -> None:
    with pytest.raises(MemoryError, match=named) as caught:
        wg.function(f)(1.0)
    assert type(caught.value) is MemoryError
    assert __file__ in str(caught.value)


@pytest.mark.parametrize("outer", [lambda f: f, wg.function, wg.grad], ids=["eager", "function", "grad"])
def test_a_function_writes_to_copies_of_its_arguments_wherever_it_is_called(outer: Any) -> None:
    @wg.function
    def inner(v: Any) -> Any:
        v[0] = 9.0
        v += 1.0
        return wg.sum(v * v)

    def f(x: Any) -> Any:
        b = x * 2.0
        return inner(b) + wg.sum(b * b) + inner(b[1:])

    x = np.array([1.0, 2.0, 3.0])
    wanted = {wg.grad: [8.0, 4 * 5.0 + 16.0, 2 * (2 * 7.0 + 12.0 + 2 * 7.0)]}
    value = (100 + 25 + 49) + (4 + 16 + 36) + (100 + 49)
    np.testing.assert_array_equal(outer(f)(x), wanted.get(outer, value))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: wg.sum(x * x),
        lambda x: wg.sum(wg.ops.relu(x) ** 2),
        lambda x: wg.cond(x[1] > 0, lambda: wg.sum(x * x), lambda: wg.sum(x)),
        lambda x: wg.function(lambda x: (wg.sum(x * x), wg.sum(wg.exp(-x))))(x)[0],
    ],
    ids=["squares", "masked", "branch", "nested"],
)
def test_second_derivatives_at_infinity_have_nothing_of_the_value_that_is_not_read(f: Any) -> None:
    """The value's cotangent is not there: a zero in its place would meet the infinite slope."""
    x, weights = np.array([0.5, 1.0, np.inf]), np.array([1.0, 2.0, 3.0])
    for g in (f, wg.function(f)):
        turned = wg.grad(lambda x, g=g: wg.sum(wg.grad(g)(x) * weights))
        np.testing.assert_array_equal(turned(x), 2 * weights)


def test_forward_over_reverse_at_infinity_has_no_term_of_what_has_no_tangent() -> None:
    def f(x: Any) -> Any:
        return wg.sum(wg.scan(lambda c, t: (c * t, t), x, np.array([1.0, 2.0]))[0] ** 2)

    x, weights = np.array([0.5, 1.0, np.inf]), np.array([1.0, 2.0, 3.0])
    slope = lambda x: wg.jvp(wg.grad(f), (x,), (weights,))[1]
    for g in (slope, wg.function(slope), lambda x: wg.jvp(wg.grad(wg.function(f)), (x,), (weights,))[1]):
        np.testing.assert_array_equal(g(x), 8 * weights)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool", "complex128", "complex64", "float16"])
def test_numbers_of_numpys_take_the_way_of_arrays(dtype: str) -> None:
    def f(x: Any, k: Any) -> Any:
        return wg.sum(wg.abs(x * k)), x + k

    compiled = wg.function(f)
    x = np.linspace(0.1, 2.0, 5)
    for value in (1, 0, 1, 1):
        number = np.dtype(dtype).type(value)
        for given in (number, np.asarray(number), number, float(value), number):
            for found, wanted in zip(compiled(x, given), f(x, given), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == "float16" else 1e-6)
                assert np.asarray(found).dtype == np.asarray(wanted).dtype
    assert compiled._last is not None  # as arrays of no axes have it
    compiled(x, number)
    calls: list[int] = []
    compiled._call = lambda *args: calls.append(1)
    compiled(x, number)
    assert not calls, "a number went the general way"


def test_bare_integers_of_numpys_become_floats_and_arrays_do_not() -> None:
    slope = wg.function(wg.grad(lambda x: x * x))
    for _ in range(3):
        assert slope(np.int64(3)) == 6.0
        with pytest.raises(TypeError):
            slope(np.asarray(3))
