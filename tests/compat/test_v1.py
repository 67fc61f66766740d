"""`wg.compat.v1`: placeholders and sessions."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.threads import in_threads
from wengert._core.state import building
from wengert._prims.structural import barrier

v1 = wg.compat.v1


@pytest.fixture
def graph() -> Any:
    with v1.Graph().as_default() as graph:
        yield graph


def test_values_and_gradients(graph: Any) -> None:
    x = v1.placeholder("float64", (2,), "x")
    y = wg.sum(x * x)
    found = v1.Session().run([y, *v1.gradients(y, x)], feed_dict={x: [3.0, 4.0]})
    assert found[0] == 25
    np.testing.assert_array_equal(found[1], [6, 8])
    assert isinstance(found[0], np.float64)


def test_nested_fetches(graph: Any) -> None:
    """None among the results is no error, as it is in TensorFlow's sessions."""
    a = v1.placeholder("float64")
    found = v1.Session(graph).run({"a": [a, None], "b": (2 * a,)}, {a: 3.0})
    assert found == {"a": [3, None], "b": (6,)}
    assert v1.Session(graph).run(None) is None
    assert v1.Session(graph).run([]) == []
    assert v1.Session(graph).run(wg.gradients(wg.ones((3, 1)), a)) == [None]


def test_missing_feeds(graph: Any) -> None:
    x, unused = v1.placeholder("float64", name="weights"), v1.placeholder("float64")
    session = v1.Session(graph)
    with pytest.raises(ValueError, match="weights"):
        session.run(x * 2.0)
    assert session.run(x * 2.0, {x: 1}) == 2
    with pytest.raises(ValueError, match="weights"):
        session.run(x, {unused: 1.0})


def test_names(graph: Any) -> None:
    names = [v1.placeholder("float64", name=n)._data.name for n in (None, None, "x", "x")]
    assert names == ["Placeholder", "Placeholder_1", "x", "x_1"]


@pytest.mark.parametrize(
    ("value", "error"),
    [([1.0], ValueError), (1.0, ValueError), ([1j, 1j], TypeError), ("text", TypeError)], ids=str,
)  # fmt: skip
def test_values_that_do_not_fit(graph: Any, value: Any, error: Any) -> None:
    x = v1.placeholder("float64", (2,), "x")
    with pytest.raises(error, match="%x"):
        v1.Session(graph).run(x, {x: value})


def test_values_are_converted(graph: Any) -> None:
    x = v1.placeholder("float32", (2,))
    found = v1.Session(graph).run(x, {x: np.array([1, 2])})
    assert found.dtype == np.float32
    found[0] = 5  # the caller's own
    n = v1.placeholder("int64")
    with pytest.raises(TypeError, match="float64"):
        v1.Session(graph).run(n, {n: 1.5})


def test_open_dimensions(graph: Any) -> None:
    x, y = v1.placeholder("float64", (None, 3)), v1.placeholder("float64", (None, 3))
    session, total = v1.Session(graph), wg.sum(x * y)
    assert session.run(total, {x: np.ones((2, 3)), y: np.ones((2, 3))}) == 6
    assert session.run(total, {x: np.ones((5, 3)), y: np.ones((5, 3))}) == 15
    assert len(session._programs) == 1
    with pytest.raises(ValueError, match="do not fit each other"):
        session.run(total, {x: np.ones((2, 3)), y: np.ones((3, 3))})
    (g,) = wg.gradients(total, x)
    assert session.run(g, {x: np.ones((2, 3)), y: np.full((2, 3), 7.0)}).tolist() == [[7] * 3] * 2


def test_an_extent_is_a_need_too(graph: Any) -> None:
    x = v1.placeholder("float64", (None,), "rows")
    ones = wg.ones_like(x)
    with pytest.raises(ValueError, match="rows"):
        v1.Session(graph).run(ones)
    assert v1.Session(graph).run(ones, {x: [1.0, 2.0]}).tolist() == [1, 1]


def test_any_tensor_can_be_fed(graph: Any) -> None:
    x = v1.placeholder("float64", (2,))
    y = x * x
    p, q = barrier(y[:1], y[1:])
    session = v1.Session(graph)
    assert session.run(wg.sum(y), {y: [1.0, 2.0]}) == 3
    p_found, q_found = session.run([p, q], {x: [1.0, 2.0], p: [9.0]})
    assert (p_found, q_found) == (9, 4)


def test_variables(graph: Any) -> None:
    w = wg.Variable(1.0)
    x = v1.placeholder("float64")
    loss = (w * x - 6.0) ** 2
    (g,) = wg.gradients(loss, w)
    before = w.value
    step = w.assign_sub(g * 0.1)
    session = v1.Session(graph)
    assert session.run([before, g], {x: 2.0}) == [1, -16]
    assert session.run(before) == 1  # nothing was assigned so far
    for _ in range(50):
        session.run(step, {x: 2.0})
    np.testing.assert_allclose(session.run(before), 3)


def test_captured_tensors(graph: Any) -> None:
    held = wg.tensor([1.0, 2.0])
    assert v1.Session(graph).run(wg.sum(held * 2.0)) == 6
    assert v1.Session(graph).run(held).tolist() == [1, 2]


def test_session_without_a_graph() -> None:
    with v1.Graph().as_default() as graph:
        x = v1.placeholder("float64")
        y = x + 1.0
    with v1.Session() as session:
        assert session.run(y, {x: 1.0}) == 2
    assert graph.nodes
    with pytest.raises(ValueError, match="which graph"):
        v1.Session().run(None)


def test_a_program_is_made_once(graph: Any) -> None:
    x = v1.placeholder("float64")
    session, y = v1.Session(graph), wg.sin(x)
    for value in (1.0, 2.0):
        assert session.run(y, {x: value}) == np.sin(value)
    assert len(session._programs) == 1
    assert session.run([y, y * 2.0], {x: 1.0}) == [np.sin(1), 2 * np.sin(1)]
    assert len(session._programs) == 2


def test_only_what_is_needed_runs(graph: Any) -> None:
    x = v1.placeholder("float64", (2, 2))
    bad = wg.linalg.inv(x) if hasattr(wg.linalg, "inv") else wg.linalg.cholesky(x)
    assert bad.shape == (2, 2)
    assert v1.Session(graph).run(wg.sum(x), {x: np.zeros((2, 2))}) == 0


def test_errors(graph: Any) -> None:
    x = v1.placeholder("float64")
    session = v1.Session(graph)
    with pytest.raises(TypeError, match="cannot fetch"):
        session.run([x, "name"], {x: 1.0})
    with pytest.raises(TypeError, match="cannot feed"):
        session.run(x, {"x": 1.0})
    with pytest.raises(TypeError, match="feed_dict"):
        session.run(x, [x])
    with v1.Graph().as_default():
        other = v1.placeholder("float64")
    with pytest.raises(ValueError, match="graph"):
        session.run(x, {other: 1.0})
    with pytest.raises(ValueError, match="graph"):
        session.run(other)
    with pytest.raises(TypeError, match="Graph"):
        v1.Session(3)


def test_placeholder_outside_of_a_graph() -> None:
    with pytest.raises(RuntimeError, match="Graph"):
        v1.placeholder("float64")


def test_a_followed_value_cannot_be_fed(graph: Any) -> None:
    x = v1.placeholder("float64")
    y = x * x

    def lost(t: Any) -> Any:
        return v1.Session(graph).run(y, {x: t})

    with building(None), pytest.raises(wg.LostGradientError):
        wg.grad(lost)(2.0)


def test_building_while_running() -> None:
    """One thread builds, seven run."""
    graph = v1.Graph("busy")
    with graph.as_default():
        x = v1.placeholder("float64")
        y = wg.sin(x)
    session = v1.Session(graph)
    done = threading.Event()

    def build() -> None:
        with graph.as_default():
            for k in range(100):
                wg.gradients(wg.cos(y) * float(k), [x, y])

    def run(k: int) -> None:
        while not done.is_set():
            assert session.run(y, {x: float(k)}) == np.sin(float(k))
            assert v1.Session(graph).run(y, {x: 0.0}) == 0

    def work(k: int) -> None:
        try:
            run(k) if k else build()
        finally:
            done.set()

    in_threads(work)
