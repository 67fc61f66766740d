"""What gradient transformations are made of: the pair of `init` and `update`, and arithmetic on structures.

`update` runs on tensors, whatever kind of array comes: `adopted` lets arguments in and hands results back in the
caller's kind. Floats keep their precision; the number of steps is an array, so that a `function` is traced once.
"""

# pyright: strict, reportPrivateUsage=false
# the leaves of structures, which may be anything, have no types of their own
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from .._compile.bridge import bridged
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import caller_of
from .._core.constant import constant
from .._core.structure import difference, flatten, passes_through, paths, unflatten
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.complex_parts import real
from ..ops.creation import zeros_like
from ..ops.elementwise import sqrt
from ..ops.promotion import as_tensor
from ..ops.reductions import sum as total_of
from ._picklable import Made

Tree = Any


class GradientTransformation(NamedTuple):
    """A pair of functions.

    `init(params)` gives the state before the first step. `update(gradients, state, params=None)` gives
    `(updates, state)`: what is to be added to the parameters, and the state for the next step.

    Example:
        >>> import wengert as wg
        >>> halve = wg.optimize.GradientTransformation(lambda p: (), lambda g, state, p=None: (0.5 * g, state))
        >>> wg.optimize.chain(halve, wg.optimize.sgd(1.0)).update(3.0, ((), ((), ())))[0]
        np.float64(-1.5)
    """

    init: Callable[[Tree], Tree]
    update: Callable[..., tuple[Tree, Tree]]


class _Known(Made, GradientTransformation):
    """A transformation that knows which call made it, and whose functions know it, too."""

    def remember(self, maker: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for part in (self, *self):
            Made.remember(cast("Made", part), maker, args, kwargs)

    # no call made what it gives
    def _replace(self, **kwargs: object) -> GradientTransformation:  # pyright: ignore[reportIncompatibleMethodOverride]
        return GradientTransformation(*self)._replace(**kwargs)


_Known.__name__ = _Known.__qualname__ = "GradientTransformation"


class _Part(Made):
    """A function of a transformation: processes get it as a part of what the same call makes there."""

    def __init__(self, function: Callable[..., Any], place: int) -> None:
        functools.update_wrapper(self, function)
        self._function, self._place = function, place

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        return self._function(*args, **kwargs)

    def __reduce__(self) -> Any:
        return _part, (super().__reduce__(), self._place)

    def __repr__(self) -> str:
        return f"<function {self._function.__name__}>"


def _part(whole: tuple[Callable[..., Any], Any], place: int) -> Any:
    make, call = whole
    return make(*call)[place]


def known(pair: GradientTransformation) -> GradientTransformation:
    return _Known(_Part(pair.init, 0), _Part(pair.update, 1))


class EmptyState(NamedTuple):
    """The state of a transformation that has none.

    Example:
        >>> import wengert as wg
        >>> wg.optimize.scale(2.0).init(1.0)
        EmptyState()
    """


# -- trees ------------------------------------------------------------------------------------------------------------


def entered(tree: Tree) -> Tree:
    """A structure with tensors for its arrays and numbers; a list of numbers is one array, as it is to `grad`."""
    leaves, spec = flatten(tree)
    return unflatten(
        spec, [as_tensor(x, "optimize") if isinstance(x, list) or not passes_through(x) else x for x in leaves]
    )


def each(f: Callable[..., Any], tree: Tree, *rest: Tree) -> Tree:
    """f of the leaves in the same places; where one of them is None, the result is None."""
    leaves, spec = flatten(tree)
    columns: list[list[Any]] = [leaves]
    for other in rest:
        found, other_spec = flatten(other, 0, spec)
        if other_spec != spec:
            raise ValueError(at_user_line(
                f"{difference(spec, other_spec, 'params')}; gradients, parameters and what init made of these must "
                f"have one structure"
            ))  # fmt: skip
        columns.append(found)
    groups = [*zip(*columns, strict=True)]
    return unflatten(spec, [_of_group(f, spec, i, group) for i, group in enumerate(groups)])


def _of_group(f: Callable[..., Any], spec: Any, place: int, group: tuple[Any, ...]) -> Any:
    if any(x is None for x in group):
        return None
    if passes_through(group[0]):
        return group[0]
    shapes = {x.shape for x in group if x.shape != ()}
    if len(shapes) > 1:
        raise ValueError(at_user_line(
            f"shapes differ at {paths(spec, 'params')[place]}: {' and '.join(str(x.shape) for x in group)}"
        ))  # fmt: skip
    return f(*group)


def numbers(tree: Tree) -> list[Tensor]:
    """A structure's arrays, without what else is in it."""
    return [x for x in flatten(tree)[0] if not passes_through(x)]


def zeros_of(params: Tree) -> Tree:
    return each(zeros_like, params)


def squared(x: Tensor) -> Tensor:
    return real(x) ** 2 + (x - real(x)) * (real(x) - x) if dtypes.is_complex(x.dtype) else x * x


def inner_product(a: Tree, b: Tree) -> Tensor:
    """The inner product of two structures, a number."""
    products = numbers(each(lambda x, y: total_of(x * y), a, b))
    return sum_of(products)


def sum_of(terms: list[Tensor]) -> Tensor:
    """The sum of tensors; of none a 0."""
    found = terms[0] if terms else constant(np.zeros(()))
    for term in terms[1:]:
        found = found + term
    return found


def like(value: ArrayLike, x: Tensor) -> Any:
    """A number in x's precision, which it does not change."""
    return value.astype(x.dtype) if isinstance(value, Tensor) and value.dtype != x.dtype else value


# -- arguments and results --------------------------------------------------------------------------------------------


def adopted(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """f on tensors as a function on arrays of any kind, with results in that kind; errors call it by its name."""
    return bridged(_on_arrays(f, name))


def _on_arrays(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        caller = caller_of((*args, *kwargs.values()))
        return caller.result(f(*map(entered, args), **{key: _kept(x) for key, x in kwargs.items()}))

    run.__name__ = run.__qualname__ = name
    return run


def _kept(value: ArrayLike) -> Any:
    return value if callable(value) else entered(value)


def transformation(
    init: Callable[[Tree], Tree], update: Callable[[Tree, Tree, Tree], tuple[Tree, Tree]], name: str
) -> GradientTransformation:
    """A transformation of two functions of tensors.

    Args:
        init: the state for parameters.
        update: `update(gradients, state, params)`; params are None where the caller gives none.
        name: in error messages.
    """

    def with_params(gradients: Tree, state: Tree, params: Tree = None, **extra: object) -> tuple[Tree, Tree]:
        return update(gradients, state, params, **extra)

    return GradientTransformation(adopted(init, f"{name}.init"), adopted(with_params, f"{name}.update"))


def stateless(update: Callable[[Tree, Tree], Tree], name: str) -> GradientTransformation:
    def of_state(gradients: Tree, state: Tree, params: Tree, **extra: object) -> tuple[Tree, Tree]:
        return update(gradients, params), state

    return transformation(lambda params: EmptyState(), of_state, name)


def no_steps() -> Tensor:
    return constant(np.zeros((), np.int32))


def require_params(params: Tree) -> None:
    if params is None:
        raise ValueError(at_user_line("update needs the parameters: opt.update(gradients, state, params)"))


def norm_of(tree: Tree) -> Tensor:
    return sqrt(real(sum_of([total_of(squared(x)) for x in numbers(tree)])))
