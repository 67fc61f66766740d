"""Solvers with SciPy's names, and gradient methods in optax's shape, on nested structures of any kind of array.

`minimize`, `least_squares` and `root` (`solvers.py`) are SciPy's, with exact derivatives, differentiable through the
solution. `adam`, `sgd` and the like (`methods.py`) are pairs of functions: `opt.init(params)` gives a state, and
`opt.update(gradients, state, params)` gives `(updates, state)`, which `apply_updates` adds. They are made of the
building blocks in `transformations.py` and `quasi_newton.py` by `chain`; a learning rate may be a number or a schedule
(`schedules.py`).

Example:
    >>> import numpy as np, wengert as wg
    >>> opt = wg.optimize.adam(0.1)
    >>> params = {"w": np.array([3.0, -2.0])}
    >>> state = opt.init(params)
    >>> for _ in range(300):
    ...     gradients = wg.grad(lambda p: wg.sum(p["w"] ** 2))(params)
    ...     updates, state = opt.update(gradients, state, params)
    ...     params = wg.optimize.apply_updates(params, updates)
    >>> bool(abs(params["w"]).max() < 1e-3)
    True
"""

from ._pairs import EmptyState, GradientTransformation
from .linesearch import scale_by_zoom_linesearch
from .methods import adagrad, adam, adamw, lbfgs, lion, momentum, rmsprop, sgd
from .quasi_newton import scale_by_lbfgs
from .schedules import constant, cosine, exponential, linear, piecewise_constant, warmup_cosine
from .solvers import least_squares, minimize, root
from .transformations import (
    add_decayed_weights,
    apply_updates,
    chain,
    clip,
    clip_by_global_norm,
    clip_by_norm,
    global_norm,
    identity,
    scale,
    scale_by_adam,
    scale_by_learning_rate,
    scale_by_lion,
    scale_by_rms,
    scale_by_rss,
    scale_by_schedule,
    scale_by_stddev,
    trace,
)

__all__ = [
    "EmptyState", "GradientTransformation", "adagrad", "adam", "adamw", "add_decayed_weights", "apply_updates", "chain",
    "clip", "clip_by_global_norm", "clip_by_norm", "constant", "cosine", "exponential", "global_norm", "identity",
    "lbfgs", "least_squares", "linear", "lion", "minimize", "momentum", "piecewise_constant", "rmsprop", "root",
    "scale", "scale_by_adam", "scale_by_lbfgs", "scale_by_learning_rate", "scale_by_lion", "scale_by_rms",
    "scale_by_rss", "scale_by_schedule", "scale_by_stddev", "scale_by_zoom_linesearch", "sgd", "trace", "warmup_cosine",
]  # fmt: skip
