"""Classes that derive from tuple, list and dict, registered with functions of their own: these are asked, not the class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg


class Swapped(NamedTuple):
    """A named tuple whose children come in the other order: whoever puts it together by its class mixes them up."""

    first: Any
    second: Any


class Items(list[Any]):
    """A list whose children come in the other order."""


class Table(dict[str, Any]):
    """A dictionary with keys that it alone knows about."""


wg.tree.register(Swapped, lambda s: ((s.second, s.first), None), lambda _, c: Swapped(c[1], c[0]))
wg.tree.register(Items, lambda items: ([*items][::-1], "reversed"), lambda _, c: Items([*c][::-1]))
wg.tree.register(Table, lambda t: ((t["y"], t["x"]), 2), lambda _, c: Table(x=c[1], y=c[0]))


def pair(kind: type[Any], x: Any, y: Any) -> Any:
    """An instance of a kind that holds x and y."""
    return Table(x=x, y=y) if kind is Table else Items([x, y]) if kind is Items else Swapped(x, y)


def parts(value: Any) -> tuple[Any, Any]:
    """What an instance of such a kind holds."""
    return (value["x"], value["y"]) if isinstance(value, Table) else (value[0], value[1])


kinds = pytest.mark.parametrize("kind", [Swapped, Items, Table])


def check(value: Any, kind: type[Any], x: Any, y: Any) -> None:
    assert type(value) is kind
    np.testing.assert_allclose(np.asarray(parts(value)[0]), x)
    np.testing.assert_allclose(np.asarray(parts(value)[1]), y)


def product(value: Any) -> Any:
    x, y = parts(value)
    return x * x * y


def turned(value: Any) -> Any:
    x, y = parts(value)
    return pair(type(value), x * x * y, y)


@kinds
def test_functions_give_what_they_are_given(kind: type[Any]) -> None:
    made = wg.function(lambda x: pair(kind, x, 2 * x))
    changed = wg.function(turned)
    for x in (3.0, 4.0, np.float64(3.0), np.float64(4.0), np.float64(5.0)):
        check(made(x), kind, x, 2 * x)
        check(changed(pair(kind, x, 2.0)), kind, 2 * x * x, 2.0)
    for x in (np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])):
        check(made(x), kind, x, 2 * x)


@kinds
def test_derivatives_have_the_structure(kind: type[Any]) -> None:
    at, along = pair(kind, 3.0, 2.0), pair(kind, 1.0, 0.0)
    for f in (product, wg.function(product)):
        check(wg.grad(f)(at), kind, 12.0, 9.0)
        check(wg.function(wg.grad(f))(at), kind, 12.0, 9.0)
    check(wg.jvp(turned, (at,), (along,))[1], kind, 12.0, 0.0)
    check(wg.vjp(turned, at)[1](along)[0], kind, 12.0, 9.0)
    check(wg.linearize(turned, at)[1](along), kind, 12.0, 0.0)
    assert wg.jet(product, (at,), (pair(kind, [1.0], [0.0]),))[1] == [12.0]
    columns = parts(wg.jacobian(turned)(at))
    check(columns[0], kind, 12.0, 9.0)
    check(columns[1], kind, 0.0, 1.0)
    with wg.GradientTape() as tape:
        x = wg.tensor(2.0)
        tape.watch(x)
        target = pair(kind, x * x, 3 * x)
    assert float(tape.gradient(target, x, output_gradients=along)) == 4.0


@kinds
def test_what_is_not_differentiated_has_the_structure(kind: type[Any]) -> None:
    def f(x: Any, other: Any) -> Any:
        assert type(other) is kind
        return x * parts(other)[0] + parts(other)[1]

    assert wg.grad(f)(1.0, pair(kind, 3.0, 2.0)) == 3.0


@kinds
def test_axes_of_a_batch_come_in_the_structure(kind: type[Any]) -> None:
    batch = pair(kind, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    check(wg.vmap(turned)(batch), kind, [3.0, 16.0], [3.0, 4.0])
    axes = pair(kind, 0, None)
    some = pair(kind, np.array([1.0, 2.0]), np.float64(3.0))
    check(wg.vmap(turned, in_axes=(axes,), out_axes=axes)(some), kind, [3.0, 12.0], 3.0)


@kinds
def test_branches_and_loops_carry_the_structure(kind: type[Any]) -> None:
    def scanned(start: Any, rows: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            (a, b), (x, y) = parts(carry), parts(row)
            return pair(kind, a + x, b * y), pair(kind, a, b)

        return wg.scan(step, start, rows)

    def repeated(start: Any) -> Any:
        return wg.while_loop(
            lambda p: parts(p)[0] < 5.0, lambda p: pair(kind, parts(p)[0] + 1.0, parts(p)[1] * 2.0), start
        )

    def chosen(x: Any) -> Any:
        return wg.cond(x > 0, lambda: pair(kind, x, 2 * x), lambda: pair(kind, x, x))

    start, rows = pair(kind, 0.0, 1.0), pair(kind, np.arange(3.0), np.full(3, 2.0))
    for wrap in (lambda f: f, wg.function):
        again = wrap(repeated)
        for _ in range(3):
            carry, stacks = wrap(scanned)(start, rows)
            check(carry, kind, 3.0, 8.0)
            check(stacks, kind, [0.0, 0.0, 1.0], [1.0, 2.0, 4.0])
            check(again(start), kind, 5.0, 32.0)
            check(wrap(chosen)(3.0), kind, 3.0, 6.0)
        slope = wg.grad(lambda p, f=again: parts(f(p))[1])(start)
        check(slope, kind, 0.0, 32.0)


@kinds
def test_shapes_that_vary_are_told_in_the_structure(kind: type[Any]) -> None:
    def doubled(x: Any) -> Any:
        return wg.while_loop(
            lambda p: parts(p)[0] < 2.0,
            lambda p: pair(kind, parts(p)[0] + 1.0, wg.concat([parts(p)[1], parts(p)[1]])),
            pair(kind, 0.0, x),
            shape_invariants=pair(kind, (), (None,)),
        )

    check(wg.function(doubled)(np.ones(1)), kind, 2.0, np.ones(4))


@kinds
def test_custom_gradients_give_the_structure(kind: type[Any]) -> None:
    @wg.custom_gradient
    def f(p: Any) -> Any:
        return product(p), lambda g: pair(kind, 100.0 * g, 200.0 * g)

    for wrapped in (f, wg.function(f)):
        check(wg.grad(wrapped)(pair(kind, 3.0, 2.0)), kind, 100.0, 200.0)


def test_messages_and_paths_name_children_by_their_places() -> None:
    table = Table(x=1.0, y=2.0)
    assert [(str(path), leaf) for path, leaf in wg.tree.leaves_with_path(table)] == [("[0]", 2.0), ("[1]", 1.0)]
    for one, other in ((table, {"x": 1.0, "y": 2.0}), ({"x": 1.0, "y": 2.0}, table)):
        with pytest.raises(ValueError, match=r"Table\(\*, \*\)"):
            wg.tree.map(lambda a, b: a + b, one, other)
    with pytest.raises(ValueError, match="wanted|must have the structure"):
        wg.jvp(product, (table,), ({"x": 1.0, "y": 0.0},))


@kinds
@pytest.mark.parametrize("engine", ["jax", "torch", "tensorflow"])
def test_frameworks_see_the_structure(kind: type[Any], engine: str) -> None:
    module, make, bridge = {
        "jax": ("jax.numpy", "asarray", "from_jax"), "torch": ("torch", "tensor", "from_torch"),
        "tensorflow": ("tensorflow", "constant", "from_tensorflow"),
    }[engine]  # fmt: skip
    array = getattr(pytest.importorskip(module, reason=f"{engine} is not installed"), make)

    def given(x: float, y: float) -> Any:
        return pair(kind, array(np.float32(x)), array(np.float32(y)))

    followed = getattr(wg, bridge)(turned)
    for f in (wg.function(turned), followed, wg.function(followed)):
        for x in (3.0, 4.0, 5.0, 3.0):
            check(f(given(x, 2.0)), kind, 2 * x * x, 2.0)
    for f in (wg.function(product), getattr(wg, bridge)(product)):
        for compiled in (wg.grad(f), wg.function(wg.grad(f))):
            for x in (3.0, 4.0, 5.0):
                check(compiled(given(x, 2.0)), kind, 4 * x, x * x)
