"""What a custom gradient closes over, where TensorFlow differentiates."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.with_a_rule import with_a_rule

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")


def _times(w: Any, x: Any) -> Any:
    return wg.custom_gradient(lambda c: (c * w, lambda upstream: upstream * 2.0))(x) + w


def test_what_a_tape_watches_is_refused_and_what_it_does_not_is_a_constant() -> None:
    w, x = tf.constant(3.0), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = _times(w, x)
    assert float(tape.gradient(y, x)) == 2.0
    with tf.GradientTape() as tape:
        tape.watch([w, x])
        with pytest.raises(wg.DisconnectedError, match="depends on w "):
            _times(w, x)
    with tf.GradientTape() as tape:  # though it watches no argument
        tape.watch(w)
        with pytest.raises(wg.DisconnectedError, match="depends on w "):
            _times(w, x)


@pytest.mark.parametrize("argument", [np.array([0.3, 0.7]), [0.3, 0.7]], ids=["array", "list"])
def test_what_a_tape_watches_is_not_lost_where_all_arguments_are_numpys(argument: Any) -> None:
    """In custom gradients, whose results are TensorFlow's then; without a tape they are NumPy's."""
    constant, variable = tf.constant([3.0, 2.0], tf.float64), tf.Variable([3.0, 2.0], dtype=tf.float64)
    ruled = wg.custom_gradient(lambda x: (wg.sum(wg.sin(x) * constant), lambda ct: ct * 5.0 * wg.cos(x)))
    saved = wg.custom_grad(lambda x, save: (wg.sum(wg.sin(x) * constant), lambda dy: dy * 5.0))
    for f in (ruled, saved):
        with tf.GradientTape() as tape:
            tape.watch(constant)
            with pytest.raises(wg.DisconnectedError, match="depends on"):
                f(argument)
        assert isinstance(f(argument), np.float64)

    @wg.custom_gradient
    def answering(x: Any) -> Any:
        return wg.sum(wg.sin(x) * variable), lambda ct, variables: (ct * 0 * x, [ct * 10 * wg.sin(x)])

    @wg.recompute_grad
    def again(x: Any) -> Any:
        return wg.sum(wg.sin(x) * variable)

    for f, factor in ((answering, 10.0), (again, 1.0)):
        for _ in range(3):
            with tf.GradientTape() as tape:
                y = f(argument)
            np.testing.assert_allclose(tape.gradient(y, variable), factor * np.sin(argument), rtol=1e-12)
        assert isinstance(f(argument), np.float64)


def test_in_a_graph_a_constant_does_no_harm() -> None:
    @tf.function
    def gradient(w: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = _times(w, x)
        return tape.gradient(y, x)

    assert float(gradient(tf.constant(3.0), tf.constant(1.0))) == 2.0


def test_in_a_graph_what_its_tape_watches_is_refused() -> None:
    @tf.function
    def gradient(w: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = _times(w * 2.0, x)
        return tape.gradient(y, w)

    with pytest.raises(wg.DisconnectedError, match="being differentiated"):
        gradient(tf.constant(3.0), tf.constant(1.0))


# -- variables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_graph", [False, True])
@pytest.mark.parametrize("watched", [False, True])
def test_a_variable_that_is_read_belongs_to_the_rule(in_graph: bool, watched: bool) -> None:
    v = tf.Variable(2.0)

    def gradients(with_variables: bool) -> Any:
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            if watched:
                tape.watch(x)
            y = with_a_rule(v, with_variables)(x)
        return tape.gradient(y, [v, x])

    run = tf.function(gradients) if in_graph else gradients
    by_v, by_x = run(True)
    assert float(by_v) == 300.0
    assert by_x is None if not watched else float(by_x) == 20.0
    with pytest.raises(TypeError, match=r"'variables'.*Variable"):
        run(False)


def test_a_variable_counts_where_the_tape_is_outside_of_the_graph() -> None:
    v = tf.Variable(2.0)
    call = tf.function(lambda x: with_a_rule(v, True)(x))
    with tf.GradientTape() as tape:
        y = call(tf.constant(3.0))
    assert float(tape.gradient(y, v)) == 300.0


def test_a_variable_that_is_not_trained_is_a_constant() -> None:
    v = tf.Variable(2.0, trainable=False)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = with_a_rule(v, False)(x)
    assert float(tape.gradient(y, x)) == 20.0


PROGRAMS: dict[str, Any] = {
    "product": (lambda v, x: x * v, lambda v, x: (x, v)),
    "branch": (lambda v, x: wg.cond(x > 0.0, lambda: x * v, lambda: x - v), lambda v, x: (x, v)),
    "loop": (lambda v, x: wg.fori_loop(0, 3, lambda i, y: y * v, x), lambda v, x: (3 * v**2 * x, v**3)),
    "function in a function": (lambda v, x: wg.function(lambda y: y * v * v)(x), lambda v, x: (2 * v * x, v * v)),
    "rule": (lambda v, x: with_a_rule(v, True)(x), lambda v, x: (x * 100.0, v * 10.0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("in_graph", [False, True])
def test_a_function_reads_variables_at_each_call(name: str, in_graph: bool) -> None:
    program, wanted = PROGRAMS[name]
    v = tf.Variable(2.0, dtype="float64")
    f = wg.function(lambda x: program(v, x))
    call = tf.function(lambda x: f(x)) if in_graph else f
    x = tf.constant(3.0, tf.float64)
    for value in (2.0, 2.0, 5.0):
        v.assign(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        assert float(y) == float(program(value, 3.0) if name != "rule" else value * 3.0)
        assert (*map(float, tape.gradient(y, [v, x])),) == wanted(value, 3.0)
    assert f.trace_count == 1
    assert float(f(3.0)) == float(y)  # NumPy's number beside the variable


def test_tensorflows_forward_mode_is_refused() -> None:
    square = wg.custom_gradient(lambda x: (x * x, lambda dy: dy * 10.0))
    x = tf.constant(3.0)
    for f in (square, wg.function(lambda x: wg.sin(x) * x)):
        with (
            tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)),
            pytest.raises(wg.LostGradientError, match=r"wg\.jvp"),
        ):
            f(x)
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)):
            f(tf.constant(2.0))  # what it does not follow


def test_variables_read_outside_of_ops_are_looked_at_again() -> None:
    v = tf.Variable(2.0, dtype="float64")
    programs = [
        lambda x: x * float(v), lambda x: x * v.numpy(), lambda x: x * np.asarray(v),
        lambda x: x if v > 3.0 else 2 * x, lambda x: wg.sin(v) * x + v.numpy(),
    ]  # fmt: skip
    for f in programs:
        v.assign(2.0)
        compiled = wg.function(f)
        before = float(compiled(3.0))
        v.assign(5.0)
        assert float(compiled(3.0)) == pytest.approx(float(f(3.0)), rel=1e-14)
        assert float(compiled(3.0)) != before


def _with_itself(v: Any) -> dict[str, Any]:
    """Programs of which an op takes a variable that something else reads, too."""
    several, named, holder = [v], {"v": v}, types.SimpleNamespace(v=v)

    def both(x: Any, a: Any) -> Any:
        return x * a * float(a)

    def one_by_one(x: Any) -> Any:
        for each in several:
            x = x * each * float(each)
        return x

    return {
        "a number": lambda x: x * v * float(v), "an op of TensorFlow's": lambda x: x * v * tf.square(v).numpy(),
        "a condition": lambda x: x * v if v > 2.5 else x * v * v, "a helper": lambda x: both(x, v),
        "a list": lambda x: x * several[0] * float(several[0]), "a loop": one_by_one,
        "a dictionary": lambda x: x * named["v"] * float(named["v"]),
        "an attribute": lambda x: x * holder.v * float(holder.v),
    }  # fmt: skip


@pytest.mark.parametrize("name", [*_with_itself(None)])
def test_variables_that_ops_take_are_looked_at_where_something_else_reads_them(name: str) -> None:
    v = tf.Variable(2.0, dtype="float64")
    f = _with_itself(v)[name]
    compiled = wg.function(f)
    for value in (2.0, 3.0, 5.0):
        v.assign(value)
        assert float(compiled(3.0)) == pytest.approx(float(f(3.0)), rel=1e-14)


def test_variables_that_only_ops_take_cause_no_new_trace() -> None:
    v = tf.Variable(2.0, dtype="float64")
    several, holder = [v], types.SimpleNamespace(v=v, w=None)

    def helper(x: Any, a: Any) -> Any:
        return x * a

    programs: list[Any] = [
        lambda x: x * v if v is not None else x, lambda x: helper(x, v) + helper(a=v, x=x), lambda x: x * several[0],
        lambda x: x * holder.v if holder.w is None else x, lambda x: x * v * (1 + len(v.shape)),
    ]  # fmt: skip
    for f in programs:
        compiled = wg.function(f)
        for value in (2.0, 3.0):
            v.assign(value)
            assert float(compiled(3.0)) == float(f(3.0))
        assert compiled.trace_count == 1


def test_an_eager_custom_gradient_draws_anew_at_each_call() -> None:
    noisy = wg.custom_gradient(lambda x: (x + tf.random.uniform(()), lambda dy: dy))
    x, found = tf.constant(0.0), set()
    for _ in range(4):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found.add(float(noisy(x)))
    assert len(found) == 4
    with pytest.warns(UserWarning, match="random.uniform"):
        wg.function(lambda x: x + tf.random.uniform(()))(x)


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")
@pytest.mark.parametrize("name", ["times a number", "read", "a function"])
def test_what_tensorflow_computes_of_a_variable_in_a_function_is_differentiated_in_each_call(name: str) -> None:
    """A trace outside of a tape knows no derivative of it, and one in a tape another tape's."""
    w = tf.Variable([0.5, 0.7])
    programs = {"times a number": lambda: w * 2.0, "read": w.read_value, "a function": lambda: tf.exp(w)}
    f = wg.function(lambda x: wg.sin(x) * programs[name]())
    x = tf.constant([1.0, 2.0])

    def slope(call: Any) -> Any:
        with tf.GradientTape() as tape:
            y = call()
        return tape.gradient(y, w)

    for step in range(3):
        if step % 2 == 0:
            np.testing.assert_allclose(f(x), np.sin(x) * programs[name]().numpy(), rtol=1e-6)
        wanted = slope(lambda: tf.sin(x) * programs[name]())
        for _ in range(2):
            np.testing.assert_allclose(slope(lambda: f(x)), wanted, rtol=1e-6)
        np.testing.assert_allclose(tf.function(lambda: slope(lambda: f(x)))(), wanted, rtol=1e-6)
        w.assign_add([0.1, 0.2])


def test_a_variable_that_a_custom_gradient_reads_causes_no_new_trace() -> None:
    """Called in tapes and without any, also as a tensor made of it, which was a constant of the trace."""
    w = tf.Variable([0.5, 0.7])
    rules = [
        wg.custom_gradient(lambda x: (x * w, lambda dy, variables: (dy * w, [dy * x]))),
        wg.custom_gradient(lambda x: (x * wg.tensor(w), lambda dy, variables: (dy * wg.tensor(w), [dy * x]))),
    ]
    compiled = wg.function(lambda x: x * wg.tensor(w))
    x = tf.constant([1.0, 2.0])
    for f in (*rules, compiled):
        for _ in range(4):
            np.testing.assert_allclose(f(x), x * w)
            with tf.GradientTape() as tape:
                y = f(x)
            np.testing.assert_allclose(y, x * w)
            np.testing.assert_allclose(tape.gradient(y, w), x)
            w.assign_add([0.1, 0.2])
    assert [*(rule._traces._program.trace_count for rule in rules), compiled.trace_count] == [1, 1, 1]


# -- tapes outside of the graph ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["argument", "computed", "variable", "tf.gradients", "inner graph", "mapped"])
def test_in_a_graph_the_derivative_of_what_is_closed_over_is_an_error_for_a_tape_outside(how: str) -> None:
    v = tf.Variable(3.0)
    w, x = tf.constant(3.0), tf.constant([1.0, 2.0])

    def total(w: Any, x: Any) -> Any:
        return tf.reduce_sum(_times(w, x))

    programs = {
        "argument": total, "computed": lambda w, x: total(tf.exp(w), x), "variable": lambda w, x: total(tf.exp(v), x),
        "tf.gradients": lambda w, x: tf.gradients(total(w, x), [w]),
        "inner graph": lambda w, x: tf.function(total)(w * 2.0, x),
        "mapped": lambda w, x: tf.reduce_sum(tf.vectorized_map(lambda e: _times(w, e), x)),
    }  # fmt: skip
    run = tf.function(programs[how])

    def differentiated() -> None:
        with tf.GradientTape() as tape:
            tape.watch([w, x])
            y = run(w, x)
        tape.gradient(y, [w, v])

    with pytest.raises(wg.DisconnectedError, match=r"being differentiated.*stop_gradient"):
        differentiated()


def test_in_a_graph_constants_are_no_harm_to_a_tape_outside() -> None:
    frozen, table = tf.Variable(3.0, trainable=False), tf.constant(3.0)
    constants: list[Any] = [
        lambda w, x: tf.stop_gradient(w), lambda w, x: wg.stop_gradient(w), lambda w, x: tf.exp(frozen), lambda w, x: table,
        lambda w, x: tf.sqrt(table), lambda w, x: tf.cast(tf.range(3)[2], tf.float32), lambda w, x: tf.cast(w > 1.0, tf.float32),
    ]  # fmt: skip
    w, x = tf.constant(3.0), tf.constant(1.0)
    for constant in constants:
        run = tf.function(lambda w, x, constant=constant: _times(constant(w, x), x) + w)
        with tf.GradientTape() as tape:
            tape.watch([w, x])
            y = run(w, x)
        assert [*map(float, tape.gradient(y, [w, x]))] == [1.0, 2.0]


def _looped(step: Any, *start: Any) -> Any:
    """What two steps of a loop of TensorFlow's make of the first of its variables."""
    return tf.while_loop(lambda i, *_: i < 2, lambda i, *c: (i + 1, *step(*c)), (0, *start))[1]


BODIES: dict[str, Any] = {
    "branch": lambda w, x: tf.cond(x > 0.0, lambda: _times(w, x), lambda: x),
    "branch in a branch": lambda w, x: tf.cond(
        x > 0.0, lambda: tf.cond(x > 0.5, lambda: _times(tf.exp(w), x), lambda: x), lambda: x
    ),
    "one of several": lambda w, x: tf.switch_case(tf.cast(x, tf.int32), [lambda: x, lambda: _times(w, x)]),
    "loop": lambda w, x: _looped(lambda c: (_times(tf.exp(w), c),), x),
    "loop in a branch": lambda w, x: tf.cond(
        x > 0.0, lambda: _looped(lambda c: (_times(w, c),), x), lambda: x
    ),
    "loop of ours": lambda w, x: _looped(lambda c: (wg.fori_loop(0, 2, lambda _, d: _times(w, d), c),), x),
    "variable of the loop": lambda w, x: _looped(lambda c, v: (_times(v, c), v), x, w),
    "later variable of the loop": lambda w, x: _looped(lambda c, u, v: (_times(u, c), v, v), x, 3.0, w),
    "elements": lambda w, x: tf.reduce_sum(tf.map_fn(lambda e: _times(e, x), tf.stack([w, w]))),
    "scan": lambda w, x: tf.scan(lambda c, e: _times(w, c), tf.stack([x, x]), x)[-1],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*has been overloaded")
@pytest.mark.parametrize("name", BODIES)
def test_in_branches_and_loops_of_tensorflows_what_is_differentiated_is_refused(name: str) -> None:
    """TensorFlow asks these for derivatives of all that they take; only what somebody wants is an error."""
    body, v = BODIES[name], tf.Variable(3.0)
    w, x = tf.constant(3.0), tf.constant(1.0)

    def wanted(run: Any, sources: list[Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = run(w, x)
        return tape.gradient(y, sources)

    several: list[Any] = [
        lambda: wanted(tf.function(body, autograph=False), [w, x]),
        lambda: wanted(tf.function(lambda w, x: body(v * w, x), autograph=False), [v, x]),
        tf.function(lambda: tf.gradients(body(v * 1.0, x), [v]), autograph=False),
    ]
    for differentiated in several:
        with pytest.raises(wg.DisconnectedError, match=r"being differentiated.*stop_gradient"):
            differentiated()
    fixed = tf.Variable(3.0, trainable=False)
    for constant in (lambda w: tf.constant(3.0), tf.stop_gradient, lambda w: tf.exp(fixed)):
        run = tf.function(lambda w, x, constant=constant: body(constant(w), x), autograph=False)
        assert wanted(run, [w, x])[1] is not None


@pytest.mark.parametrize("name", ["alone", "computed", "branch", "loop"])
def test_what_a_kept_graph_holds_and_a_tape_watches_later_has_no_number_for_a_gradient(name: str) -> None:
    w, x = tf.constant(3.0), tf.constant(1.0)
    programs: dict[str, Any] = {
        "alone": lambda x: _times(w, x), "computed": lambda x: _times(tf.exp(w), x),
        "branch": lambda x: BODIES["branch"](w, x), "loop": lambda x: BODIES["loop"](w, x),
    }  # fmt: skip
    run = tf.function(programs[name], autograph=False)
    for sources in ([x], [w, x]):
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = run(x)
        found = tape.gradient(y, sources)
        assert float(found[-1]) == (4.0 if name == "loop" else 2.0)
    assert np.isnan(found[0])


def test_in_branches_and_loops_of_tensorflows_a_constant_does_no_harm() -> None:
    @tf.function
    def gradient(w: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(x > 0.0, lambda: _times(w, x), lambda: x)
            z = tf.while_loop(lambda i, c: i < 2, lambda i, c: (i + 1, _times(w, c)), (0, y), maximum_iterations=3)[1]
        return tape.gradient(z, x)

    assert float(gradient(tf.constant(3.0), tf.constant(1.0))) == 8.0


def test_a_saved_gradient_that_closes_over_an_argument_fails_when_it_runs(tmp_path: Any) -> None:
    class Saved(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([]), tf.TensorSpec([])])
        def value(self, w: Any, x: Any) -> Any:
            return _times(w, x)

    tf.saved_model.save(Saved(), str(tmp_path), options=tf.saved_model.SaveOptions(experimental_custom_gradients=True))
    loaded = tf.saved_model.load(str(tmp_path))
    w, x = tf.constant(3.0), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch([w, x])
        y = loaded.value(w, x)
    assert float(y) == 6.0
    with pytest.raises(Exception, match="being differentiated"):
        tape.gradient(y, [w, x])


# -- functions of TensorFlow's in functions of ours --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")
@pytest.mark.parametrize("how", ["function", "branch", "loop", "recomputed"])
@pytest.mark.parametrize("way", ["eager", "graph", "second order", "variable", "computed", "tape outside"])
def test_what_a_bridged_function_closes_over_is_differentiated(how: str, way: str) -> None:
    def made(w: Any) -> Any:
        bridge = wg.from_tensorflow(lambda x: tf.sin(x) * w)
        ways: dict[str, Any] = {
            "function": wg.function(bridge), "loop": lambda x: wg.fori_loop(0, 1, lambda i, c: bridge(c), x),
            "recomputed": wg.recompute_grad(bridge), "branch": lambda x: wg.cond(True, lambda: bridge(x), lambda: x),
        }  # fmt: skip
        return ways[how]

    w, x, v = tf.constant(2.0), tf.constant([1.0, 2.0]), tf.Variable(2.0)

    def slopes(make: Any, w: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([w, x])
            y = tf.reduce_sum(make(w)(x))
        return tape.gradient(y, [w, x])

    def second(make: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([w, x])
            first = slopes(lambda w: make(w * w), w, x)
            y = first[0] * tf.reduce_sum(first[1])
        return tape.gradient(y, [w, x])

    def of_variable(make: Any) -> Any:
        f, found = make(v), []
        for value in (2.0, 3.0, 3.0):
            v.assign(value)
            found += slopes(lambda v: f, v, x)
        return found

    def computed(make: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(make(tf.exp(v))(x))
        return [tape.gradient(y, v)]

    def outside(make: Any) -> Any:
        run = tf.function(lambda w, x: make(w)(x))
        return slopes(lambda w: lambda x: run(w, x), w, x)

    ways: dict[str, Any] = {
        "eager": lambda make: slopes(make, w, x), "second order": second, "variable": of_variable, "computed": computed,
        "graph": lambda make: tf.function(lambda w, x: slopes(make, w, x))(w, x), "tape outside": outside,
    }  # fmt: skip
    for found, want in zip(ways[way](made), ways[way](lambda w: lambda x: tf.sin(x) * w), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")
@pytest.mark.parametrize("bridged", [False, True])
def test_what_tensorflow_computes_of_a_tensor_is_differentiated_though_the_trace_came_before(bridged: bool) -> None:
    w, x = tf.constant(2.0), tf.constant([1.0, 2.0])
    f = wg.function(wg.from_tensorflow(lambda x: x * tf.exp(w)) if bridged else lambda x: x * tf.exp(w))
    for _ in range(2):
        f(x)
        for _ in range(2):
            with tf.GradientTape() as tape:
                tape.watch(w)
                y = f(x)
            np.testing.assert_allclose(tape.gradient(y, w), 3.0 * np.exp(2.0), rtol=1e-6)
