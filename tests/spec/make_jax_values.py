"""Records what JAX says of the functions in `tests/support/jax_functions.py`, for `tests/test_against_jax.py`.

Run with a Python that has JAX: `python tests/spec/make_jax_values.py`. Writes `jax_values.npz` beside itself: for
each function and question the arrays of the answer, in the order of their places, and JAX's version.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from tests.support.jax_functions import CASES, Library, questions, with_many_steps  # noqa: E402  # found by the path above

jax.config.update("jax_enable_x64", True)

LIBRARY = Library(
    n=jnp, cond=jax.lax.cond, switch=jax.lax.switch, while_loop=jax.lax.while_loop, fori_loop=jax.lax.fori_loop,
    scan=jax.lax.scan, stop_gradient=jax.lax.stop_gradient, vmap=jax.vmap, grad=jax.grad, jvp=jax.jvp,
    solve=jnp.linalg.solve, cholesky=jnp.linalg.cholesky, inv=jnp.linalg.inv, slogdet=jnp.linalg.slogdet,
    eigh=jnp.linalg.eigh, sigmoid=jax.nn.sigmoid, logsumexp=special.logsumexp,
    at_set=lambda x, i, v: x.at[i].set(v), at_add=lambda x, i, v: x.at[i].add(v), expm1=jnp.expm1,
    gammaln=special.gammaln, erf=special.erf,
)  # fmt: skip
# reverse mode does not go through JAX's loops of unknown length
FORWARD_ONLY = ("until_large", "square_root_by_newton", "loop_in_a_loop")


def main() -> None:
    found: dict[str, Any] = {"version": np.array(jax.__version__)}
    for case in CASES:
        forward_only = case.name in FORWARD_ONLY

        def f(*args: Any, case: Any = case) -> Any:
            return case.f(LIBRARY, *map(jnp.asarray, args))

        def grad(f: Any, argnums: Any, forward_only: bool = forward_only) -> Any:
            return (jax.jacfwd if forward_only else jax.grad)(f, argnums)

        hessian = (lambda f, n: jax.jacfwd(jax.jacfwd(f, n), n)) if forward_only else jax.hessian
        asked = questions(case, f, jax.jacfwd, hessian, grad, jax.vmap, jax.jvp)
        for name, question in asked.items():
            for place, array in enumerate(jax.tree_util.tree_leaves(question())):
                found[f"{case.name}|{name}|{place}"] = np.asarray(array)
    for steps in (0, 1, 7):
        x = np.array([0.5, 1.5])
        _, dy = jax.jvp(lambda v, n=steps: with_many_steps(LIBRARY, v, n), (x,), (np.ones(2),))
        found[f"with_many_steps|{steps}"] = np.asarray(dy)
    np.savez_compressed(HERE / "jax_values.npz", **found)
    print(f"{len(CASES)} functions, {len(found)} arrays")


main()
