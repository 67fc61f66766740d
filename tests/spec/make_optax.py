"""Records what optax says of the methods and schedules in `tests/support/optimisers.py`, for `tests/test_training.py`.

`python -m tests.spec.make_optax` writes `tests/spec/optax.json`: parameters after so many steps, and schedules' values.
It wants optax (0.2) and JAX.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from tests.support.optimisers import METHODS, SCHEDULES, SEARCH_START, SEARCH_STEPS, STEPS, loss, start, valley


def _trained(opt: Any, optax: Any, jax: Any) -> list[Any]:
    params = jax.tree.map(jax.numpy.asarray, start())
    state = opt.init(params)
    for _ in range(STEPS):
        gradients = jax.tree.map(jax.numpy.asarray, wg.grad(loss)(jax.tree.map(np.asarray, params)))
        updates, state = opt.update(gradients, state, params)
        params = optax.apply_updates(params, updates)
    return [np.asarray(params["w"]).tolist(), np.asarray(params["b"][0]).tolist()]


def _searched(optax: Any, jax: Any) -> list[list[float]]:
    """The parameters after each step of L-BFGS with its line search."""
    params, opt = {"x": jax.numpy.asarray(SEARCH_START)}, optax.lbfgs()
    state, found = opt.init(params), []
    for _ in range(SEARCH_STEPS):
        value, grad = jax.value_and_grad(valley)(params)
        updates, state = opt.update(grad, state, params, value=value, grad=grad, value_fn=valley)
        params = optax.apply_updates(params, updates)
        found.append(np.asarray(params["x"]).tolist())
    return found


def main() -> None:
    optax: Any = importlib.import_module("optax")
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    found: dict[str, Any] = {"source": f"optax {optax.__version__}", "methods": {}, "schedules": {}}
    for name, (_, theirs, options) in METHODS.items():
        more = {"linesearch": None} if theirs == "lbfgs" else {}
        found["methods"][name] = _trained(getattr(optax, theirs)(**options, **more), optax, jax)
    found["search"] = _searched(optax, jax)
    for name, (_, theirs, arguments) in SCHEDULES.items():
        schedule = getattr(optax, theirs)(*arguments)
        found["schedules"][name] = [float(schedule(step)) for step in range(0, 30, 2)]
    path = Path(__file__).with_name("optax.json")
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
