"""`odeint`, differentiated by the equation of its adjoint, run backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp
import scipy.integrate as _theirs

from ..core import defvjp_argnums, make_vjp, vspace
from ..misc.flatten import flatten
from ..numpy import numpy_wrapper as np
from ..tracer import primitive

odeint: Any = primitive(_theirs.odeint)


def _pull_back(argnums: Sequence[int], ans: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    func, y0, t = args[:3]
    rest = args[3] if len(args) > 3 else ()
    size = onp.size(y0)
    start, unflatten = flatten(vspace(rest).zeros() if rest else ())

    def back(state: Any, at: float, given: tuple[Any, ...]) -> Any:
        """The slopes of the state, of its cotangent, and of those of the time and of the other arguments."""
        y, adjoint = state[:size], state[size : 2 * size]
        vjp, slope = make_vjp(lambda all_: func(all_[0], all_[1], *all_[2]), (y, at, given))
        of_y, of_t, of_rest = vjp(-adjoint)
        return onp.concatenate((slope, of_y, onp.reshape(of_t, (1,)), flatten(of_rest)[0]))

    def vjp(g: Any) -> Any:
        adjoint, of_rest, of_t0, times = g[-1], start, 0.0, list[Any]()
        for i in range(len(t) - 1, 0, -1):
            times.append(onp.dot(func(ans[i], t[i], *rest), g[i]))
            of_t0 = of_t0 - times[-1]
            state = onp.concatenate((ans[i], adjoint, onp.reshape(of_t0, (1,)), of_rest))
            found = odeint(back, state, np.array([t[i], t[i - 1]]), (rest,))[1]
            adjoint = found[size : 2 * size] + g[i - 1]
            of_t0, of_rest = found[2 * size], found[2 * size + 1 :]
        times.append(of_t0)
        found = {1: adjoint, 2: onp.stack(times[::-1]) if 2 in argnums else None, 3: unflatten(of_rest)}
        return tuple(found[argnum] for argnum in argnums)

    return vjp


defvjp_argnums(odeint, _pull_back)

__all__ = ["odeint"]
