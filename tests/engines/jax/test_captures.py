"""What functions read beside their arguments, where it is JAX's."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

X = np.array([1.0, 2.0])


def _follows(f: Callable[[Any], Any], change: Callable[[], object]) -> int:
    """Calls a compiled function and changes what it reads, twice; gives how often it was traced."""
    compiled, x, before = wg.function(f), jnp.asarray(X), None
    for _ in range(3):
        found = np.asarray(compiled(x))
        np.testing.assert_allclose(found, np.asarray(f(x)), rtol=1e-6)
        assert before is None or not np.allclose(found, before)
        before = found
        change()
    return compiled.trace_count


@pytest.mark.skipif(not hasattr(jax, "Ref"), reason="this release of JAX has no mutable arrays")
@pytest.mark.parametrize("place", ["cell", "dictionary", "list", "attribute"])
def test_mutable_arrays_are_looked_at_again(place: str) -> None:
    ref = jax.new_ref(jnp.asarray(2.0))
    entries, elements, holder = {"r": ref}, [ref], SimpleNamespace(r=ref)

    def change() -> None:
        ref[...] += 1.0

    programs: dict[str, Callable[[Any], Any]] = {
        "cell": lambda x: x * ref[...] * float(ref[...]), "dictionary": lambda x: x * entries["r"][...],
        "list": lambda x: x * elements[0][...], "attribute": lambda x: x * holder.r[...],
    }  # fmt: skip
    assert _follows(programs[place], change) == 3


@pytest.mark.skipif(not hasattr(jax, "Ref"), reason="this release of JAX has no mutable arrays")
def test_a_mutable_array_in_an_op_is_what_it_holds() -> None:
    ref = jax.new_ref(jnp.asarray(X))
    f = wg.function(lambda x: wg.sin(x) * ref)
    for _ in range(2):
        np.testing.assert_allclose(f(jnp.asarray(X)), np.sin(X) * np.asarray(ref[...]), rtol=1e-6)
        ref[...] *= 2.0
    assert f.trace_count == 1
    rule = wg.custom_gradient(lambda x: (x * ref, lambda up: up * ref))
    np.testing.assert_allclose(wg.grad(rule)(jnp.asarray(X)), ref[...], rtol=1e-6)


LIBRARY = """
    class Param:
        __slots__ = ("raw",)
        def __init__(self, raw): self.raw = raw
        def __call__(self): return self.raw

    class Layer:
        def __init__(self, raw): self.kernel, self.name = Param(raw), "layer"
        def __call__(self, x): return x * self.kernel()

    class Layers:
        def __init__(self, *layers):
            for index, layer in enumerate(layers): setattr(self, str(index), layer)
        def __call__(self, x): return getattr(self, "1")(getattr(self, "0")(x))
"""


@pytest.fixture
def layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A library of layers that keep JAX's arrays in objects of their own, installed as others are."""
    home = tmp_path / "site-packages"
    home.mkdir()
    (home / "some_layers.py").write_text(textwrap.dedent(LIBRARY))
    monkeypatch.syspath_prepend(home)
    yield importlib.import_module("some_layers")
    sys.modules.pop("some_layers")


@pytest.mark.parametrize("way", ["layer", "kernel", "two layers", "held"])
def test_arrays_that_objects_of_libraries_hold_are_watched(layers: Any, way: str) -> None:
    layer = layers.Layer(jnp.asarray(X))
    both = layers.Layers(layers.Layer(jnp.asarray(3.0)), layer)
    holder = SimpleNamespace(net=both)

    def change() -> None:
        layer.kernel.raw = layer.kernel.raw + 1.0

    programs: dict[str, Callable[[Any], Any]] = {
        "layer": lambda x: layer(x), "kernel": lambda x: x * layer.kernel.raw, "two layers": lambda x: both(x),
        "held": lambda x: holder.net(x),
    }  # fmt: skip
    assert _follows(programs[way], change) == 3


def test_a_custom_gradient_that_nobody_differentiates_is_traced_once() -> None:
    factor = np.array([2.0, 3.0])
    rule = wg.custom_gradient(lambda x: (wg.sin(x) * factor, lambda dy: dy * 10.0))
    x = jnp.asarray([0.5, 0.7])
    for call in range(4):
        np.testing.assert_allclose(rule(x * call), np.sin(x * call) * factor, rtol=1e-6)
        factor += 1.0
    assert rule._traces._program.trace_count == 1
    assert jax.grad(lambda x: rule(x).sum())(x).tolist() == [10.0, 10.0]
    chosen = wg.custom_gradient(lambda x: ((x if x[0] > 0 else -x), lambda dy: dy))
    for value in (1.0, -1.0, 2.0):
        assert chosen(jnp.asarray([value])).tolist() == [abs(value)]
