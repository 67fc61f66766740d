"""Nested structures: what is entered, what is a leaf, and that everything comes back as it was."""

from __future__ import annotations

import collections
import dataclasses
import inspect
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert._core.structure import EVERY, flatten, paths


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any
    b: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    w: Any


class Registered:
    def __init__(self, a, b, label):
        self.a, self.b, self.label = a, b, label

    def __eq__(self, other):
        return (self.a, self.b, self.label) == (other.a, other.b, other.label)

    __hash__ = None


wg.tree.register(Registered, lambda r: ((r.a, r.b), r.label), lambda label, ab: Registered(*ab, label))

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    | st.tuples(inner, inner) | st.builds(Pair, inner, inner) | st.builds(Frozen, inner, inner)
    | st.builds(Registered, inner, inner, st.text(max_size=2)),
    max_leaves=12,
)  # fmt: skip


@given(trees)
def test_flatten_and_unflatten(tree):
    found, spec = wg.tree.flatten(tree)
    again = wg.tree.unflatten(spec, found)
    assert type(again) is type(tree)
    assert again == tree
    assert wg.tree.leaves(tree) == found
    assert wg.tree.flatten(again)[1] == spec
    hash(spec)


@given(trees)
def test_map_over_leaves(tree):
    numbers = [x for x in wg.tree.leaves(tree) if isinstance(x, (int, float)) and not isinstance(x, bool)]
    tagged = wg.tree.map(lambda leaf: ("leaf", leaf), tree)
    counted = wg.tree.leaves(tagged)
    assert len(counted) == len(wg.tree.leaves(tree)) + len(numbers)
    seen = []
    wg.tree.map(seen.append, tree)
    assert seen == numbers
    assert wg.tree.map(lambda a, b: a, tree, tree) == tree


@given(trees)
def test_paths_lead_to_the_leaves(tree):
    found, spec = flatten(tree, EVERY)
    for path, leaf in zip(paths(spec, "tree"), found, strict=True):
        if isinstance(tree, Registered) or "Registered" in repr(spec):
            continue  # children of a registered class are numbered
        assert eval(path, {"tree": tree}) == leaf


@pytest.mark.parametrize(
    ("tree", "count"),
    [
        ([1.0, 2.0], 2), ([[1, 2], [3, 4]], 4), ([1.0, np.float32(2)], 2), ([], 0), ([[]], 0),
        ([np.ones(2)], 1), ([np.ones(2), 1.0], 2), ([wg.tensor(1.0), [1.0, 2.0]], 3), (["a", 1.0], 2),
        ([None], 1),
        ((1.0, 2.0), 2), ((), 0), ({}, 0), ({"a": [1, 2], "b": (3, 4)}, 4), (Pair(1, [2, 3]), 3), (Frozen(1), 2),
        (Slotted([np.ones(1)] * 2), 2), (3, 1), ("text", 1), (None, 1), (np.ones((2, 2)), 1), ({1, 2}, 1),
        (range(3), 1), (Frozen, 1),
    ],
)  # fmt: skip
def test_what_is_a_leaf(tree, count):
    assert len(wg.tree.leaves(tree)) == count


def test_a_list_of_numbers_is_a_list_of_leaves():
    assert wg.tree.map(lambda x: x * 2, [1.0, 2.0]) == [2.0, 4.0]
    assert wg.tree.map(lambda x, y: x + y, {"a": [1, [2, 3]]}, {"a": [10, [20, 30]]}) == {"a": [11, [22, 33]]}
    found, spec = wg.tree.flatten([1.0, 2.0])
    assert wg.tree.unflatten(spec, [3, 4]) == [3, 4]
    flat, unravel = wg.tree.ravel([[1.0, 2.0], 3.0])
    assert unravel(flat * 2) == [[2.0, 4.0], 6.0]
    with pytest.raises(ValueError, match=r"structures differ: \[\*, \*\] and \[\*, \*, \*\]"):
        wg.tree.map(lambda x, y: x, [1, 2], [1, 2, 3])


def test_what_is_not_numeric_stays_as_it_is():
    rest = {"s": "text", "n": None, "b": True, "e": ..., "f": len, "t": float, "o": object(), "B": np.bool_}
    tree = {"x": [1.0, np.ones(2)], **rest}
    mapped = wg.tree.map(lambda x: x * 2, tree)
    assert {k: mapped[k] for k in rest} == rest
    assert mapped["x"][0] == 2
    assert wg.tree.map(lambda p, g: p - g, tree, tree | dict.fromkeys(rest))["o"] is rest["o"]
    flat, unravel = wg.tree.ravel(tree)
    assert flat.tolist() == [1, 1, 1]
    assert {k: unravel(flat)[k] for k in rest} == rest


def test_the_order_of_keys_is_no_structure():
    a, b = {"x": 1.0, "y": {"p": 2.0, "q": 3.0}}, {"y": {"q": 30.0, "p": 20.0}, "x": 10.0}
    summed = wg.tree.map(lambda u, v: u + v, a, b)
    assert summed == {"x": 11, "y": {"p": 22, "q": 33}}
    assert list(summed) == ["x", "y"]
    assert wg.jvp(lambda t: t["x"] * t["y"]["p"], (a,), (b,))[1] == 1 * 20 + 2 * 10


def test_branches_and_steps_may_order_keys_as_they_like():
    f = wg.function(lambda x: wg.cond(x > 0, lambda: {"a": x, "b": 2 * x}, lambda: {"b": 3 * x, "a": 4 * x}))
    assert f(-1.0) == {"a": -4, "b": -3}
    step = lambda i, c: {"b": c["a"], "a": c["b"] + 1.0}
    loop = lambda x: wg.fori_loop(0, 3, step, {"a": x, "b": 10 * x})
    assert loop(1.0) == wg.function(loop)(1.0) == {"a": 12.0, "b": 2.0}


@dataclasses.dataclass
class Layer:
    w: Any
    name: str = dataclasses.field(default="layer", metadata={"static": True})
    units: int = dataclasses.field(default=3, metadata={"static": True})


def test_static_fields_belong_to_the_structure():
    layer = Layer(2.0, "first", 5)
    assert wg.tree.leaves(layer) == [2.0]
    assert wg.tree.map(lambda v: v * 2, layer) == Layer(4.0, "first", 5)
    assert wg.grad(lambda p: p.w**2 * p.units)(layer) == Layer(20.0, "first", 5)
    assert wg.jvp(lambda p: p.w**2, (layer,), (Layer(1.0, "first", 5),))[1] == 4
    f = wg.function(lambda p: p.w * p.units)
    assert (f(layer), f(Layer(2.0, "first", 7))) == (10, 14)
    with pytest.raises(ValueError, match="structures differ"):
        wg.tree.map(lambda a, b: a, layer, Layer(2.0, "second", 5))


def test_kinds_of_dicts_and_sequences():
    ordered = collections.OrderedDict(b=1.0, a=2.0)
    again = wg.tree.map(lambda v: v * 2, ordered)
    assert type(again) is collections.OrderedDict
    assert list(again.items()) == [("b", 2), ("a", 4)]
    assert list(wg.tree.map(lambda v: v, {"z": 1, "a": 2})) == ["z", "a"]

    class MyList(list):
        pass

    class MyTuple(tuple):
        __slots__ = ()

    assert type(wg.tree.map(lambda v: v, MyList(["a"]))) is MyList
    assert type(wg.tree.map(lambda v: v, MyTuple(("a",)))) is MyTuple
    counter = wg.tree.map(lambda v: v + 1, collections.Counter("aab"))
    assert counter == {"a": 3, "b": 2}


def test_dataclasses_are_rebuilt_without_their_init():
    @dataclasses.dataclass
    class Checked:
        w: Any

        def __post_init__(self):
            if not isinstance(self.w, float):
                raise TypeError("wanted a float")

    assert wg.tree.map(lambda leaf: None, Checked(1.0)).w is None
    frozen = wg.tree.map(lambda leaf: (leaf, leaf), Frozen(1.0, 2.0))
    assert (frozen.w, frozen.b) == ((1.0, 1.0), (2.0, 2.0))
    assert wg.tree.map(lambda leaf: 2 * leaf, Slotted(1.0)).w == 2


def test_specs_differ_by_type_and_keys():
    spec = lambda tree: wg.tree.flatten(tree)[1]
    assert spec({"a": 1}) != spec({"b": 1})
    assert spec((1, 2)) != spec(("a", [None, None]))
    assert spec((1, 2)) != spec(Pair(1, 2))
    assert spec(Registered(1, 2, "x")) != spec(Registered(1, 2, "y"))
    assert spec(np.ones(2)) == spec(3.0) is None


def test_paths():
    tree = {"layers": [np.ones(2), Pair(1.0, (2.0, 3.0))], "model": Frozen("n", {0: 4.0})}
    assert paths(flatten(tree)[1], "p") == [
        "p['layers'][0]", "p['layers'][1].first", "p['layers'][1].second[0]", "p['layers'][1].second[1]",
        "p['model'].w", "p['model'].b[0]",
    ]  # fmt: skip


# -- ravel ---------------------------------------------------------------------------------------------------


def test_ravel_and_back():
    tree = {"w": np.arange(6.0).reshape(2, 3), "b": (np.float32([7, 8]), 9.0), "n": np.array([1, 2], np.int32)}
    flat, unravel = wg.tree.ravel(tree)
    assert type(flat) is np.ndarray
    assert flat.dtype == np.float64
    assert flat.tolist() == [0, 1, 2, 3, 4, 5, 7, 8, 9, 1, 2]
    again = unravel(flat + 1)
    assert again["w"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert again["b"][0].dtype == np.float32
    assert again["b"][0].tolist() == [8, 9]
    assert again["b"][1] == 10
    assert again["n"].dtype == np.int32
    assert again["n"].tolist() == [2, 3]
    assert pickle.loads(pickle.dumps(unravel))(flat)["b"][1] == 9
    assert list(inspect.signature(unravel).parameters) == ["vector"]


def test_ravel_keeps_the_kind():
    flat, unravel = wg.tree.ravel({"w": wg.tensor([1.0, 2.0])})
    assert type(flat) is wg.Tensor
    assert type(unravel(flat)["w"]) is wg.Tensor
    assert type(unravel(np.ones(2))["w"]) is np.ndarray


def test_ravel_and_unravel_are_differentiable():
    tree = {"w": np.arange(4.0).reshape(2, 2), "b": 3.0}
    flat, unravel = wg.tree.ravel(tree)
    gradient = wg.grad(lambda v: np.sum(unravel(v)["w"] ** 2) * unravel(v)["b"])(flat)
    np.testing.assert_array_equal(gradient, [0, 6, 12, 18, 14])
    structured = wg.grad(lambda t: np.sum(wg.tree.ravel(t)[0] ** 2))(tree)
    np.testing.assert_array_equal(structured["w"], 2 * tree["w"])
    assert structured["b"] == 6


def test_ravel_of_nothing():
    flat, unravel = wg.tree.ravel({})
    assert flat.shape == (0,)
    assert unravel(flat) == {}


def test_ravel_does_not_alias():
    w = np.ones(3)
    flat, unravel = wg.tree.ravel(w)
    assert not np.shares_memory(flat, w)
    assert not np.shares_memory(unravel(flat), flat)


def test_structures_are_transposed_reduced_and_mapped_by_their_paths() -> None:
    tree = {"w": [1.0, (2.0, None)], "b": 3.0}
    assert wg.tree.reduce(lambda a, b: a + b, {"a": 1.0, "b": (2.0, 3.0)}, 10.0) == 16.0
    assert [str(path) for path, _ in wg.tree.leaves_with_path(tree)] == [
        "['w'][0]",
        "['w'][1][0]",
        "['w'][1][1]",
        "['b']",
    ]
    assert [path for path, _ in wg.tree.leaves_with_path(tree)][1] == ("w", 1, 0)
    assert wg.tree.map_with_path(lambda path, x, y: (len(path), x + y), tree, tree)["w"][1] == ((3, 4.0), None)
    outer, inner = wg.tree.structure([0, 0]), wg.tree.structure({"a": 0, "b": (0, 0)})
    turned = wg.tree.transpose(outer, inner, [{"a": 1, "b": (2, 3)}, {"b": (5, 6), "a": 4}])
    assert turned == {"a": [1, 4], "b": ([2, 5], [3, 6])}
    with pytest.raises(ValueError, match="structures differ"):
        wg.tree.transpose(outer, inner, [1, 2])
    with pytest.raises(TypeError, match="initializer"):
        wg.tree.reduce(lambda a, b: a + b, [])


def test_is_leaf_says_what_else_is_one() -> None:
    tree = {"range": (1.0, 2.0), "x": None}
    assert wg.tree.leaves(tree, is_leaf=lambda x: isinstance(x, tuple)) == [(1.0, 2.0), None]
    doubled = wg.tree.map(lambda pair: pair[0] + pair[1], tree["range"], is_leaf=lambda x: isinstance(x, tuple))
    assert doubled == 3.0
    assert wg.tree.map(lambda x: 0 if x is None else x, tree, is_leaf=lambda x: x is None) == {
        "range": (1.0, 2.0),
        "x": 0,
    }
    assert wg.tree.structure(tree, is_leaf=lambda x: isinstance(x, dict)) is None


def test_a_registered_dataclass_keeps_its_static_fields() -> None:
    @wg.tree.register
    @dataclasses.dataclass
    class Layer:
        w: Any
        width: int = dataclasses.field(default=3, metadata={"static": True})

    gradient = wg.grad(lambda layer: layer.width * layer.w**2)(Layer(2.0))
    assert (gradient.w, gradient.width) == (12.0, 3) and type(gradient.width) is int


def test_a_registered_class_of_attrs_keeps_its_static_fields() -> None:
    attrs = pytest.importorskip("attrs", reason="attrs is no dependency of the tests")

    @wg.tree.register
    @attrs.frozen
    class Layer:
        w: Any
        width: float = attrs.field(default=3.0, metadata={"static": True})

    gradient = wg.grad(lambda layer: layer.width * layer.w**2)(Layer(2.0))
    assert (gradient.w, gradient.width) == (12.0, 3.0)


def test_an_object_of_a_class_that_nobody_registered_names_the_cure() -> None:
    class Layer:
        def __init__(self, w: float) -> None:
            self.w = w

    with pytest.raises(TypeError, match=r"got Layer .*; wg\.tree\.register\(Layer\) makes it a structure"):
        wg.grad(lambda layer: layer.w**2)(Layer(2.0))


def test_a_plain_class_is_registered_by_a_decorator() -> None:
    @wg.tree.register
    class Layer:
        def __init__(self, w: Any, name: str, parts: Any) -> None:
            self.w, self.name, self.parts, self.activation = w, name, parts, np.tanh

    @wg.tree.register
    class Slotted:
        __slots__ = ("a", "label")

        def __init__(self, a: Any, label: str) -> None:
            self.a, self.label = a, label

    layer = Layer(np.array([1.0, 2.0]), "first", [1.0, Slotted(2.0, "inner")])
    assert [str(path) for path, _ in wg.tree.leaves_with_path(layer)] == [".w", ".parts[0]", ".parts[1].a"]
    gradient = wg.grad(lambda m: wg.sum(m.activation(m.w)) * m.parts[1].a, unconnected_gradients="zero")(layer)
    assert (type(gradient), gradient.name, gradient.parts[1].label) == (Layer, "first", "inner")
    np.testing.assert_allclose(gradient.w, 2.0 * (1.0 - np.tanh(layer.w) ** 2))
    np.testing.assert_array_equal(wg.function(lambda m: m.w * m.parts[1].a)(layer), [2.0, 4.0])
    with pytest.raises(TypeError, match="both flatten and unflatten"):
        wg.tree.register(Layer, lambda x: ((), None))
    with pytest.raises(ValueError, match="registered already"):
        wg.tree.register(Layer)
