"""`Function.to_torch(op=)`: makes a function an operator of torch.

Each call is encoded as text (the structure of its arguments, the type of each array, the value of everything else), so
that an exported graph can be loaded by another process which has registered the function. What JSON cannot hold is
encoded by a number, which means something in this process only.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
import importlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _engines
from .._compile.cache import Compiled
from .._compile.statics import unpinned
from .._compile.trace import ArrayKey, Static
from .._core import dtypes
from .._core.bare_integers import is_bare
from .._core.engine import ENGINES, transferred
from .._core.scalars import beside
from .._core.structure import LEAF, Spec
from .._core.tensor import Tensor, entered
from .._core.torch_compile import kept_in
from .._core.user_line import at_user_line, warn
from ..errors import TracingError

# by name, since torch need not be installed
torch: Any = importlib.import_module("torch")
_on_torch = f"{_engines.__name__}.torch"
is_followed: Any = importlib.import_module(f"{_on_torch}.bridge").is_followed
_common: Any = importlib.import_module(f"{_on_torch}.common")
_operators: Any = importlib.import_module(f"{_on_torch}.operators")

Flat = Callable[[Any, Any], tuple[list[Any], Spec | None]]
Found = Callable[[Spec | None, tuple[Any, ...]], Compiled]

_KINDS: dict[str, type] = {"tuple": tuple, "list": list, "dict": dict}
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*\Z", re.ASCII)
_ON_TORCH = entered(torch.zeros(()))  # traces are for arrays like this one
_here: list[Any] = []  # what calls of this process hold that JSON cannot


def registered(op: object, name: str, plain: Callable[..., Any], flat: Flat, array: object, compiled: Found) -> Any:
    """A function that is a torch operator wherever torch traces it, and runs as it is everywhere else.

    Args:
        op: "lib::name".
        name: the function's, for messages.
        plain: what runs where nothing is traced.
        flat: from arguments to their leaves and structure.
        array: from a leaf that is no tensor of torch's to one of ours; None where it is no array.
        compiled: from a structure and a key of each leaf to the compiled form.
    """
    if not isinstance(op, str) or not _NAME.match(op):
        raise ValueError(at_user_line(f"to_torch: wanted the operator's name as 'lib::name', got {op!r}"))
    calls = _Calls(op, name, flat, array, compiled)

    def in_graph(*args: object, **kwargs: object) -> Any:
        return calls.run(*args, **kwargs)

    # strict export cannot hold what torch makes of a call that it traces in part, but tensors and tuples of them
    exported: Any = torch.compiler.allow_in_graph(in_graph)
    whole: Any = torch._dynamo.nonstrict_trace(calls.run_in_part)

    @functools.wraps(plain)
    def on_torch(*args: object, **kwargs: object) -> Any:
        if not torch.compiler.is_compiling():
            return plain(*args, **kwargs)
        if torch.compiler.is_exporting():
            return exported(*args, **kwargs)
        return _with_values(whole(*_for_torch(args), **_for_torch(kwargs)))

    return kept_in(on_torch)


def _mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """A dict, list or tuple with something else in the place of each value. Plain code, which dynamo traces."""
    if _is_a(tree, dict):
        return {key: function(value) for key, value in tree.items()}
    if _is_a(tree, list) or _is_a(tree, tuple):
        found = [function(x) for x in tree]
        return found if _is_a(tree, list) else (*found,)
    return tree


def _is_a(tree: object, kind: type[Any]) -> bool:
    return type(tree) is kind


_NONE = "wengert: None"  # None cannot be an argument of what torch traces in part


_NUMPY = "wengert: NumPy"  # nor can an array of NumPy's, as which dynamo knows NumPy's scalars, too


def _for_torch(tree: Any) -> Any:
    """Arguments in which a text stands for None, a tensor with a mark for an array of NumPy's, one for one of ours."""
    if tree is None:
        return _NONE
    if isinstance(tree, np.ndarray):
        return _NUMPY, torch.as_tensor(tree)
    if isinstance(tree, Tensor):
        data = tree._data
        return torch.as_tensor(data) if isinstance(data, np.ndarray) else getattr(data, "tensor", tree)
    return _mapped(_for_torch, tree)


class _OfNumpy:
    """A tensor that stands for an array of NumPy's, or for a scalar where it has no axes."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def _from_torch(tree: Any) -> Any:
    """The arguments again, each array of NumPy's as one leaf of them."""
    if type(tree) is str and tree == _NONE:
        return None
    if _is_a(tree, tuple) and len(tree) == 2 and type(tree[0]) is str and tree[0] == _NUMPY:
        return _OfNumpy(tree[1])
    return _mapped(_from_torch, tree)


_VALUE = "wengert: value"  # a result that is neither array nor number, which torch cannot take from there


def _without_values(tree: object) -> Any:
    """Results with the number of a value in the place of each such one."""
    if tree is None or type(tree) is str:
        return {_VALUE: _number_of(Static(tree))}
    return _mapped(_without_values, tree)


def _with_values(tree: Any) -> Any:
    """The results again."""
    if _is_a(tree, dict) and _VALUE in tree:
        return _here[tree[_VALUE]].value
    return _mapped(_with_values, tree)


class _Calls:
    """The calls of a function by an operator."""

    def __init__(self, op: str, name: str, flat: Flat, array: Any, compiled: Found) -> None:
        self._name = name
        self._flat = flat
        self._array = array
        self._compiled = compiled
        self._operator = _operators.Operator(op, self._base_of)

    def run_in_part(self, *args: object, **kwargs: object) -> Any:
        """The same for dynamo, which does not hand on what errors say."""
        try:
            return _without_values(self.run(*_from_torch(args), **_from_torch(kwargs)))
        except Exception as error:
            warn(f"{self._name} cannot be traced as a torch operator: {type(error).__name__}: {error}")
            raise

    def run(self, *args: object, **kwargs: object) -> Any:
        """A call on tensors that torch traces."""
        leaves, spec = self._flat(args, kwargs)
        tensors: list[Any] = []
        told: list[Any] = []
        is_beside = any(isinstance(leaf, torch.Tensor) for leaf in leaves)
        for leaf in leaves:
            tensor, entry = self._told(leaf, is_beside)
            told.append(entry)
            if tensor is not None:
                tensors.append(tensor)
        first = [_encoded(spec), told]
        compiled: Compiled | None = None
        try:
            compiled = self._found(first)[0]
        except (TracingError, ValueError):  # a ValueError, where two are not known to be equal
            if not _has_unknown(told):
                raise
        if compiled is None or not compiled.admits(tensors):
            # the function needs to know the extents: torch is told that they are fixed
            shapes = iter([int(d) for d in x.shape] for x in tensors)
            first = [first[0], [["array", next(shapes), *e[2:]] if e[0] == "array" else e for e in told]]
            compiled = self._found(first)[0]
        return compiled.rebuild((*self._operator(tensors, json.dumps([first])),))

    def _told(self, leaf: Any, is_beside: bool = False) -> tuple[Any, list[Any]]:
        """A leaf as a tensor, if it is an array, and what a call says of it.

        Args:
            leaf: of the arguments.
            is_beside: whether it is beside a tensor, to which NumPy's scalars give way.
        """
        if isinstance(leaf, torch.Tensor):
            shape = [d if type(d) is int else None for d in leaf.shape]
            return leaf, ["array", shape, _common.numpy_dtype(leaf.dtype).name, False, False]
        if type(leaf) is _OfNumpy:
            tensor, entry = self._told(leaf.tensor)
            if not tensor.ndim:
                entry[3:] = is_beside, np.dtype(entry[2]).kind in "iu"
            return tensor, entry
        ours: Tensor | None = self._array(leaf)
        if ours is None:
            return None, _encoded_value(unpinned(leaf))
        values: Any = ours.numpy()
        is_weak = bool(ours._weak) or (is_beside and isinstance(leaf, np.generic))
        entry = ["array", [*values.shape], values.dtype.name, is_weak, is_bare(ours)]
        model = _common.from_numpy(values)
        return torch.tensor(model.tolist(), dtype=model.dtype), entry

    def _found(self, first: Any) -> tuple[Compiled, int]:
        """The compiled form for a call, and how many arrays that has."""
        spec, keys = _decoded(first[0]), (*map(_key, first[1]),)
        with beside([_ON_TORCH]):
            compiled = self._compiled(spec, keys)
        if compiled.written:
            raise TypeError(at_user_line(
                f"{self._name}: it writes to a Variable or buffer, and a torch operator has no such effect; give the "
                f"new value back as a result"
            ))  # fmt: skip
        return compiled, sum(isinstance(key, ArrayKey) for key in keys)

    def _base_of(self, first: object) -> Any:
        compiled, count = self._found(first)
        home = ENGINES["torch"]
        held = [variable._held._data for variable in compiled.variables]
        read = [transferred(native, home) for native in (*compiled.natives, *held)]
        if any(map(is_followed, read)):
            raise TypeError(at_user_line(
                f"{self._name}: it reads a tensor that torch differentiates and that is no argument; a torch operator "
                f"has gradients of its arguments only: pass it as one"
            ))  # fmt: skip
        return _operators.Base(compiled.program, count, [home.leave(x) for x in read])


# -- texts ------------------------------------------------------------------------------------------------------------


def _encoded(spec: Spec | None) -> Any:
    if spec is None:
        return None
    name = spec.kind.__name__
    if _KINDS.get(name) is not spec.kind or not _is_plain(spec.keys):
        return ["here", _number_of(spec)]
    return [name, _listed(spec.keys), [*map(_encoded, spec.children)]]


def _decoded(told: Any) -> Spec | None:
    if told is None:
        return LEAF
    if told[0] == "here":
        return _held_here(told[1])
    kind, keys, children = told
    return Spec(_KINDS[kind], keys if keys is None else (*keys,), (*map(_decoded, children),))


def _is_plain(keys: tuple[str, ...] | None) -> bool:
    return keys is None or all(type(key) in (str, int) for key in keys)


def _listed(keys: tuple[str, ...] | None) -> Any:
    return None if keys is None else [*keys]


def _encoded_value(value: float | str | None) -> list[Any]:
    if value is None or type(value) in (bool, int, str):
        return ["value", value]
    if isinstance(value, torch.SymInt):
        return ["value", int(value)]
    return ["here", _number_of(Static(value))]


def _key(told: Sequence[Any]) -> Any:
    """The key of a leaf from what is told of it."""
    if told[0] == "array":
        _, shape, dtype, is_weak, is_whole = told
        return ArrayKey((*shape,), dtypes.as_dtype(dtype), is_weak, is_whole)
    return Static(told[1]) if told[0] == "value" else _held_here(told[1])


def _has_unknown(told: Sequence[Any]) -> bool:
    return any(entry[0] == "array" and None in entry[1] for entry in told)


def _number_of(value: object) -> int:
    """The number of a value that calls of this process hold."""
    if value not in _here:
        _here.append(value)
    return _here.index(value)


def _held_here(number: int) -> Any:
    if number >= len(_here):
        raise ValueError(at_user_line(
            "to_torch: an exported program was given an argument that only the process that exported it has"
        ))  # fmt: skip
    return _here[number]
