"""The lines in docs/coming that stand side by side give the same numbers."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.paths import ROOT

_ROW = re.compile(r"\| `([^`]+)` \| `([^`]+)` \|")
_TITLE = "## Line by line"

X = np.array([0.5, 1.5, 2.5])
V = np.array([2.0, -1.0, 0.25])
I = np.array([2, 0, 2])
A = np.array([[3.0, 1.0, 0.5], [0.25, 2.0, 1.0], [0.0, 0.5, 4.0]])
XS = np.array([[0.5, 1.0, 2.0], [3.0, 1.0, 0.25], [1.0, 1.5, 2.0]])
GIVEN = {"x": X, "v": V, "i": I, "A": A, "xs": XS}


def functions(sum_: Any, sin: Any) -> dict[str, Any]:
    return {"f": lambda x: sum_(x**3), "g": lambda x: sin(x) * x, "h": lambda x, y: sum_(x * x * y)}


def ours() -> dict[str, Any]:
    return {"wg": wg, "np": np, **functions(np.sum, np.sin), **GIVEN}


def jax() -> dict[str, Any]:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    importlib.import_module("jax.flatten_util")
    jnp = jax.numpy
    return {"jax": jax, "jnp": jnp, **functions(jnp.sum, jnp.sin), **{k: jnp.asarray(v) for k, v in GIVEN.items()}}


def torch() -> dict[str, Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return {"torch": torch, **functions(torch.sum, torch.sin), **{k: torch.tensor(v) for k, v in GIVEN.items()}}


def tensorflow() -> dict[str, Any]:
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    return {"tf": tf, **functions(tf.reduce_sum, tf.sin), **{k: tf.constant(v) for k, v in GIVEN.items()}}


def autograd() -> dict[str, Any]:
    """What stands in for autograd: its own test suite runs on it."""
    from wengert.compat import autograd

    for name in ("misc", "scipy.special", "scipy.stats"):
        importlib.import_module(f"wengert.compat.autograd.{name}")
    return {"autograd": autograd, **functions(autograd.numpy.sum, autograd.numpy.sin), **GIVEN}


THEIRS = {"autograd": autograd, "jax": jax, "tensorflow": tensorflow, "torch": torch}


def rows(page: str) -> list[tuple[str, str]]:
    text = (ROOT / "docs" / "coming" / f"{page}.md").read_text(encoding="utf-8")
    return _ROW.findall(text.split(_TITLE)[1].split("\n## ")[0])


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays in tuples, lists and dictionaries of any library, in order."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    return [np.asarray(value)]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")  # torch's own forward mode calls what it has deprecated
@pytest.mark.parametrize("page", THEIRS)
def test_both_lines_give_the_same(page: str) -> None:
    found = rows(page)
    assert len(found) > 10
    their_names, our_names = THEIRS[page](), ours()
    for theirs, mine in found:
        wanted, given = leaves(eval(theirs, dict(their_names))), leaves(eval(mine, dict(our_names)))
        assert len(given) == len(wanted) > 0, mine
        for x, y in zip(given, wanted, strict=True):
            assert x.shape == y.shape, mine
            # JAX computes in float32 unless a process is told otherwise; ours are of float64
            np.testing.assert_allclose(x, y, rtol=2e-5 if y.dtype == np.float32 else 1e-9, err_msg=mine)
