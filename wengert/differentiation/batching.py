"""Functions of one example applied to whole batches at once: `vmap`, `vectorized_map`.

The function is traced once on the types of one example; the trace then runs on batches by each op's batch rule, in
the caller's context. So it is differentiable, can be nested, and works inside traces.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._compile.arguments import array_argument, require_callable
from .._compile.bridge import bridged
from .._control.per_example import Example
from .._control.values import Leaves, leaf_tensor
from .._core.argument_types import Tree
from .._core.caller import caller_of
from .._core.derived import derived
from .._core.dims import DimLike
from .._core.kinds import DICTS, SEQUENCES
from .._core.op import repeat
from .._core.public import public
from .._core.scalars import beside
from .._core.structure import Spec, children_of, describe, flatten, is_plain_dict, opens_itself, paths, unflatten
from .._core.tensor import Tensor
from .._core.types import same_dim, tensor_type
from .._core.user_line import at_user_line
from .._prims.structural import transpose

__all__ = ["vectorized_map", "vmap"]


@public
def vmap(f: Callable[..., Any], in_axes: object = 0, out_axes: object = 0) -> Callable[..., Any]:
    """f for a whole batch: a function that maps over an axis of its arguments, all at once.

    f is traced once for one example, and each of its operations then runs on the batch. `vmap(grad(f))` gives
    per-example gradients, `grad(vmap(f))` works, and so do vmaps in one another. What f uses from outside, Variables
    included, is the same for all examples. Where a branch depends on the example, all branches that some example
    takes are run, and each example gets its own one's result; a loop runs until the last example ends, and those that
    have ended stay as they are. Branches not taken and steps not due raise nothing and have no gradient.

    Args:
        f: a function of arrays (and anything else), in nested structures or not.
        in_axes: which axis of the arguments is mapped over: an integer for all; or one entry an argument, an integer
            (negative: from the end), None (not mapped over: f gets the whole), or a structure of them that the
            argument's begins with.
        out_axes: where the axis of the examples goes in the results: an integer, or a structure of them that the
            result's begins with. None: the result does not depend on the example.

    Returns:
        A function of f's arguments. Keyword arguments are mapped over their first axis. Results are in the
        arguments' kind of array.

    Raises:
        TypeError: f is not callable, or an axis is neither an integer nor None.
        ValueError: an axis is out of range, the axes mapped over have different extents, there are none, the
            structure of `in_axes` or `out_axes` does not fit, or a result for None depends on the example.
        NotImplementedError: an op in f cannot be batched.

    Example:
        >>> import numpy as np, wengert as wg
        >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> wg.vmap(lambda row, w: row @ w, in_axes=(0, None))(rows, np.array([1.0, 10.0]))
        array([21., 43.])
        >>> wg.vmap(wg.grad(lambda row: (row**3).sum()))(rows)
        array([[ 3., 12.],
               [27., 48.]])
    """
    require_callable(f, "vmap")
    _require_axes(in_axes, "in_axes")
    _require_axes(out_axes, "out_axes")

    @functools.partial(bridged, name="vmap")
    def mapped(*args: Tree, **kwargs: object) -> Any:
        axes = _of_arguments(in_axes, len(args))
        return _run(f, _Examples(args, kwargs, axes, "vmap"), out_axes, "vmap", (*args, *kwargs.values()))

    return derived(mapped, "{} for a batch of examples.", vmap, f, in_axes, out_axes)


@bridged
def vectorized_map(function: Callable[[Any], Any], elements: Tree) -> Any:
    """Applies a function to each slice of some arrays along their first axis, all at once: `vmap(function)(elements)`.

    Args:
        function: a function of one argument, run once on symbols.
        elements: an array or a nested structure of arrays whose first axes have one extent.

    Returns:
        The results, stacked along a new first axis, in the arrays' kind.

    Raises:
        TypeError: function is not callable.
        ValueError: the first axes differ, or there is no array.
        NotImplementedError: an op in it cannot be batched.

    Example:
        >>> import wengert as wg
        >>> wg.vectorized_map(lambda row: (row * row).sum(), [[1.0, 2.0], [3.0, 4.0]])
        array([ 5., 25.])
    """
    require_callable(function, "vectorized_map")
    return _run(function, _Examples((elements,), {}, (0,), "vectorized_map"), 0, "vectorized_map", (elements,))


class _Examples:
    """The arguments of a mapped function: what is mapped over, brought to the front, and the rest.

    Attributes:
        mapped: the tensors that are mapped over, the axis first.
        size: the extent of that axis.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], axes: Sequence[Any], name: str) -> None:
        leaves, spec = flatten((args, kwargs))
        assert spec is not None  # a pair is no leaf
        self.spec = spec
        names = _names(self.spec)
        of_args, of_kwargs = spec.children
        wanted: list[Any] = []
        for index, axis in enumerate(axes):
            wanted += _spread(axis, of_args.children[index] if of_args else None, f"{name}: in_axes[{index}]")
        wanted += [0] * len(paths(of_kwargs, ""))
        self.leaves = leaves
        self.places: list[int] = []
        self.mapped: list[Tensor] = []
        self.size: DimLike = 0
        for place, (leaf, axis) in enumerate(zip(leaves, wanted, strict=True)):
            tensor = None if axis is None else _of_leaf(leaf, f"{name}: {names[place]}")
            if tensor is None or axis is None:
                self.leaves[place] = array_argument(leaf)
                continue
            tensor = _to_front(tensor, axis, f"{name}: {names[place]}")
            self._agree(tensor, f"{name}: {names[place]}")
            self.places.append(place)
            self.mapped.append(tensor)
        if not self.mapped:
            raise ValueError(at_user_line(f"{name}: nothing to map over: no argument is an array with an axis for it"))

    def _agree(self, tensor: Tensor, name: str) -> None:
        extent = tensor.shape[0]
        if not self.mapped:
            self.size, self._first = extent, name
        elif not same_dim(extent, self.size):
            raise ValueError(
                at_user_line(
                    f"{name} has {extent} examples along the axis that is mapped over, but {self._first} has "
                    f"{self.size}"
                )
            )

    def call(self, f: Callable[..., Any], examples: Sequence[Tensor]) -> Any:
        """f on one example."""
        leaves = [*self.leaves]
        for place, tensor in zip(self.places, examples, strict=True):
            leaves[place] = tensor
        args, kwargs = unflatten(self.spec, leaves)
        return f(*args, **kwargs)


def _of_leaf(leaf: object, name: str) -> Tensor | None:
    try:
        return leaf_tensor(leaf)
    except ValueError:
        if not isinstance(leaf, list):
            raise
        raise ValueError(
            at_user_line(
                f"{name} is a list whose parts differ in length, got {leaf!r:.80}, wanted one array with an axis to "
                f"map over; pad the parts, or call the function for each"
            )
        ) from None


def _names(spec: Spec) -> list[str]:
    """How each leaf of `(args, kwargs)` is reached, in words of the call."""
    return [
        path.replace("x[0]", "argument ", 1).replace("argument [", "argument ", 1).replace("]", "", 1)
        if path.startswith("x[0]") else f"argument {path[5:-1]}"
        for path in paths(spec, "x")
    ]  # fmt: skip


def _run(f: Callable[..., Any], examples: _Examples, out_axes: object, name: str, given: tuple[Any, ...]) -> Any:
    results: list[Leaves] = []

    def one(tensors: list[Tensor]) -> list[Tensor]:
        results.append(Leaves(examples.call(f, tensors), "the result"))
        return results[-1].tensors

    types = [tensor_type(x.shape[1:], x.dtype) for x in examples.mapped]
    with beside([*examples.mapped, *(x for x in examples.leaves if type(x) is Tensor)]):
        example = Example(one, types, name)
    found = example(examples.mapped, [True] * len(types))
    result = results[-1]
    axes = _spread(out_axes, result.spec, f"{name}: out_axes")
    outs: list[Tensor] = []
    for place, pair in zip(result.places, found, strict=True):
        assert pair is not None
        outs.append(_placed(*pair, axes[place], examples.size, f"{name}: {result.path(len(outs))}"))
    return caller_of(given).result(result.rebuilt(outs))


def _placed(x: Tensor, has_axis: bool, axis: int | None, size: DimLike, name: str) -> Tensor:
    """A result with the axis of the examples where it is wanted."""
    if axis is None:
        if has_axis:
            raise ValueError(at_user_line(f"{name} depends on the example, but out_axes says None for it"))
        return x
    x = x if has_axis else repeat(x, size)
    count = len(x.shape)
    if not -count <= axis < count:
        raise ValueError(at_user_line(f"{name} has {count} axes with that of the examples; out_axes says {axis}"))
    return _moved(x, 0, axis % count)


def _to_front(x: Tensor, axis: int, name: str) -> Tensor:
    count = len(x.shape)
    if not -count <= axis < count:
        what = f"shape {x.shape}" if count else "no axes"
        raise ValueError(
            at_user_line(f"{name} has {what}, so there is no axis {axis} to map over; in_axes=None passes it whole")
        )
    return _moved(x, axis % count, 0)


def _moved(x: Tensor, source: int, target: int) -> Tensor:
    if source == target:
        return x
    order = [*range(len(x.shape))]
    order.insert(target, order.pop(source))
    return transpose(x, perm=(*order,))


# -- axes -------------------------------------------------------------------------------------------------------------


def _is_axis(value: object) -> bool:
    return value is None or (isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)))


def _require_axes(axes: Any, name: str) -> None:
    """Raises unless all that a structure holds are axes."""
    if _is_axis(axes):
        return
    inside: Any = None
    if opens_itself(axes):
        inside = children_of(axes)
    elif isinstance(axes, (*DICTS, *SEQUENCES)):
        inside = axes.values() if isinstance(axes, DICTS) else axes
    if inside is None:
        raise TypeError(at_user_line(f"vmap: {name} must be an integer, None or a structure of them, got {axes!r}"))
    for item in inside:
        _require_axes(item, name)


def _of_arguments(in_axes: Any, count: int) -> Sequence[Any]:
    """One entry an argument."""
    if _is_axis(in_axes):
        return (in_axes,) * count
    if not isinstance(in_axes, SEQUENCES):
        raise TypeError(
            at_user_line(f"vmap: wanted a tuple with an entry for each argument as in_axes, got {in_axes!r}")
        )
    if len(in_axes) != count:
        raise ValueError(
            at_user_line(f"vmap: in_axes has {len(in_axes)} entries, but there are {count} positional arguments")
        )
    return in_axes


def _spread(axes: Any, spec: Spec | None, name: str) -> list[Any]:
    """The axis for each leaf of a structure, from a structure that it begins with."""
    if _is_axis(axes):
        return [axes] * len(paths(spec, ""))
    children = None if spec is None else _children(axes, spec)
    if spec is None or children is None:
        raise ValueError(at_user_line(f"{name} is {axes!r}, which does not fit the structure {describe(spec)}"))
    return [axis for part, child in zip(children, spec.children, strict=True) for axis in _spread(part, child, name)]


def _children(axes: Any, spec: Spec) -> list[Any] | None:
    """The entries for the children of a structure, in its order; None if they do not fit."""
    if opens_itself(axes):
        found = children_of(axes)
        return found if type(axes) is spec.kind and len(found) == len(spec.children) else None
    is_dict = is_plain_dict(spec.kind)
    if isinstance(axes, DICTS):
        fits = is_dict and axes.keys() == set(spec.keys)
        return [axes[key] for key in spec.keys] if fits else None
    fits = not is_dict and len(axes) == len(spec.children)
    return [*axes] if fits else None
