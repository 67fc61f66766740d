"""L-BFGS as a gradient transformation: the inverse Hessian approximated from the last steps."""

# pyright: strict, reportPrivateUsage=false
# the leaves of structures, which may be anything, have no types of their own
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.constant import constant
from .._core.public import public
from .._core.structure import flatten, passes_through, unflatten
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.creation import zeros_like
from ..ops.elementwise import absolute, less
from ..ops.indexing import where
from ..ops.joining import concatenate
from ..ops.piecewise import minimum
from ..ops.shapes import expand_dims
from ._pairs import (
    GradientTransformation,
    Tree,
    each,
    inner_product,
    known,
    like,
    no_steps,
    norm_of,
    numbers,
    require_params,
    transformation,
    zeros_of,
)
from ._picklable import remembered


class ScaleByLbfgsState(NamedTuple):
    """What the last steps say of the curvature, the newest first.

    `params` and `gradients` are those of the step before; `differences`, `slopes` and `weights` hold changes of the
    parameters, changes of the gradients, and the inverses of their products.
    """

    count: Any
    params: Any
    gradients: Any
    differences: Any
    slopes: Any
    weights: Any


@public
@remembered(known)
def scale_by_lbfgs(memory_size: int = 10, scale_init_precond: bool = True) -> GradientTransformation:
    """Multiplies by an approximation of the inverse Hessian from the last steps (Nocedal and Wright 2006).

    Args:
        memory_size: how many steps are remembered.
        scale_init_precond: starts from the identity times the last step's curvature; else from the identity.

    Returns:
        A transformation, the pair `(init, update)`.

    Raises:
        ValueError: `memory_size` is not positive.

    Example:
        >>> import wengert as wg
        >>> opt = wg.optimize.scale_by_lbfgs()
        >>> opt.update(4.0, opt.init(1.0), 1.0)[0]
        np.float64(1.0)
    """
    if memory_size < 1:
        raise ValueError(at_user_line(f"scale_by_lbfgs: memory_size: wanted a positive number, got {memory_size!r}"))

    def init(params: Tree) -> Tree:
        stacked = each(lambda p: concatenate([expand_dims(zeros_like(p), 0)] * memory_size), params)
        found = numbers(params)
        weights = constant(np.zeros(memory_size, found[0].dtype if found else np.float64))
        return ScaleByLbfgsState(no_steps(), params, zeros_of(params), stacked, stacked, weights)

    def update(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        require_params(params)
        is_first = less(state.count, 1)
        difference = each(lambda p, q: where(is_first, 0.0 * p, p - q), params, state.params)
        slope = each(lambda g, h: where(is_first, 0.0 * g, g - h), gradients, state.gradients)
        product = inner_product(slope, difference)
        known = absolute(product) > 0.0
        weight = where(known, 1.0 / where(known, product, 1.0), 0.0)
        differences, slopes = _remembered(difference, state.differences), _remembered(slope, state.slopes)
        weights = _pushed(weight, state.weights)
        size = _first_scale(gradients, slope, product, is_first) if scale_init_precond else 1.0
        steps = _preconditioned(gradients, differences, slopes, weights, size, memory_size)
        return steps, ScaleByLbfgsState(state.count + 1, params, gradients, differences, slopes, weights)

    return transformation(init, update, "scale_by_lbfgs")


def _remembered(new: Tree, memory: Tree) -> Tree:
    """The structure's memory with new entries: None where a parameter has no gradient."""
    found, spec = flatten(memory)
    pairs = zip(flatten(new, 0, spec)[0], found, strict=True)
    return unflatten(spec, [m if n is None or passes_through(m) else _pushed(n, m) for n, m in pairs])


def _pushed(new: Tensor, memory: Tensor) -> Tensor:
    """The memory with a new entry in front, and without the oldest."""
    return concatenate([expand_dims(like(new, memory), 0), memory[:-1]])


def _first_scale(gradients: Tree, slope: Tree, product: Tensor, is_first: Tensor) -> Tensor:
    squares = inner_product(slope, slope)
    known = squares > 0.0
    later = where(known, product / where(known, squares, 1.0), 1.0)
    norm = norm_of(gradients)
    return where(is_first, minimum(1.0, 1.0 / where(norm > 0.0, norm, 1.0)), later)


def _preconditioned(gradients: Tree, differences: Tree, slopes: Tree, weights: Tensor, size: Any, memory: int) -> Tree:
    def entry(tree: Tree, i: int) -> Tree:
        return each(lambda x: x[i], tree)

    found, shares = gradients, [weights[0]] * memory
    for i in range(memory):
        shares[i] = share = weights[i] * inner_product(entry(differences, i), found)
        found = each(lambda g, s, a=share: g - like(a, g) * s, found, entry(slopes, i))
    found = each(lambda g: g * like(size, g), found)
    for i in reversed(range(memory)):
        rest = shares[i] - weights[i] * inner_product(entry(slopes, i), found)
        found = each(lambda g, d, b=rest: g + like(b, g) * d, found, entry(differences, i))
    return found
