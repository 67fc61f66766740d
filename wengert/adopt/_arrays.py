"""NumPy's arrays as adopted code makes them: plain numbers until a tensor is written into one.

From then on the array and all views of it stand for one tensor that is written to (`ops/memory`), and objects that
other names hold become `Followed` with it, as tensors become `Written`. Their old memory is filled with NaN, so that
code which reads it past NumPy's protocols does not get the numbers of before.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike, Index
from .._core.constant import constant
from .._core.engine import default_engine
from .._core.graph import ReadBefore
from .._core.state import STATE, next_serial
from .._core.tensor import (
    ADOPTED_MARK,
    Tensor,
    called_by_adopted_code,
    element,
    is_tensor_or_variable,
    nested,
    tensor_in,
)
from ..numpy._objects import Objects, objects_in
from ..numpy._protocols import array_function, array_ufunc
from ..ops.memory.place import lying_in, place_of
from ..ops.memory.sharing import seen_at as view_at

Plain = np.ndarray[Any, Any]
_VIEW: Any = np.ndarray.view
_ITEM: Any = np.ndarray.__getitem__
_PUT: Any = np.ndarray.__setitem__
_FLAT: Any = np.ndarray.__dict__["flat"].__get__
_BASE = np.ndarray.__dict__["base"].__get__
_NUMBERS = frozenset({int, float, complex, bool, np.float64, np.int64, np.bool_})
WRITERS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})  # to their first argument


def is_recording() -> bool:
    """Whether tensors are followed here, so that one may be written into what is made."""
    return STATE.builder is not None or bool(STATE.recorders)


class Ground:
    """What arrays in one memory share: when it was made, who lies in it, and the tensor once one is written there."""

    __slots__ = ("home", "key", "limit", "members", "root", "tensor")

    def __init__(self, first: Array) -> None:
        self.key, self.home = next_serial(), STATE.builder
        self.members = [weakref.ref(first)]
        self.limit = 16
        self.root: Any = None
        self.tensor: Tensor | None = None
        first._ground, first.__wengert_made__ = self, True

    def take_in(self, array: Array) -> None:
        """Makes an array one of those that lie here."""
        if len(self.members) >= self.limit:
            self.members = [member for member in self.members if member() is not None]
            self.limit = 2 * len(self.members) + 16
        self.members.append(weakref.ref(array))
        array._ground, array.__wengert_made__ = self, True

    def followed(self) -> Tensor | None:
        """The tensor of the whole memory, from now on; None where tensors cannot stand for what lies here."""
        if self.tensor is None:
            self._require_home()
            alive = [array for array in (member() for member in self.members) if array is not None]
            root = _row_major(_owner(alive[0]))
            is_number = root.flags.writeable and root.dtype.kind in "fc"
            if not is_number or any(not _is_part(array.dtype, root.dtype) for array in alive):
                return None
            values, self.root = np.array(root), root
            at_home = STATE.builder is self.home is not None
            self.tensor = constant(values) if at_home else Tensor(default_engine().from_numpy(values), self.key)
            lying_in(self.tensor, root)
            root[...] = np.nan
            for array in alive:
                array.__class__ = Followed
        return self.tensor

    def _require_home(self) -> None:
        """Bodies of loops and branches, which may have read numbers here, are traced once more."""
        if self.home is None or STATE.builder is None or STATE.builder is self.home:
            return
        graphs = [STATE.builder, *STATE.builder.enclosing()]
        inside = [*itertools.takewhile(lambda graph: graph is not self.home, graphs)]
        if len(inside) < len(graphs):
            raise ReadBefore(inside[-1], self.followed)


class Array(np.ndarray[Any, Any]):
    """An array of numbers. Without a ground, or of whole ones, tensors go not into it, but into what is made of it."""

    __wengert_made__ = False  # whether code made it that may go on writing to it, so that operands are copies
    _ground: Ground | None = None
    _seen: Tensor | None = None

    def __array_finalize__(self, obj: object) -> None:
        if not isinstance(obj, Array) or (obj._ground is None and not is_recording()):
            return
        base = _BASE(self)
        if base is not None and (base is obj or base is _BASE(obj) or _lies_in(self, _owner(obj))):
            if obj._ground is not None:
                obj._ground.take_in(self)
        elif is_recording():
            Ground(self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:  # what comes often takes no time
            values: list[Any] = []
            for x in inputs:
                kind = type(x)
                if kind is Array:
                    x = _VIEW(x, np.ndarray)
                elif kind not in _NUMBERS:
                    break
                values.append(x)
            else:
                return fresh(ufunc(*values))
        outs = kwargs.get("out")
        if holds_tensor((inputs, kwargs)) or any(map(_is_outside, outs or inputs[: method == "at"])):
            if method == "at":
                inputs = (written_to(inputs[0]), *inputs[1:])
            options = opened(written_out(kwargs)) if kwargs else kwargs
            found = array_ufunc(self, ufunc, method, *opened(inputs), **options)  # pyright: ignore[reportArgumentType]
        else:
            found = fresh(getattr(ufunc, method)(*bare(inputs), **bare(kwargs)))
        return found if outs is None else outs[0] if len(outs) == 1 else outs

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        writes = func.__name__ in WRITERS
        if not holds_tensor((args, kwargs)) and not (writes and _is_outside(args[0])):
            return super().__array_function__(func, types, args, kwargs)
        if writes:
            args = (written_to(args[0]), *args[1:])
        given = opened(args), opened(written_out(kwargs))
        return array_function(self, func, types, *given)  # pyright: ignore[reportArgumentType]

    def __getitem__(self, index: Index) -> Any:
        if type(index) is int or type(index) is slice or not holds_tensor(index):
            return _ITEM(self, index)
        return constant(self)[opened(index)]

    def __setitem__(self, index: Index, value: ArrayLike) -> None:
        target = written_to(self) if holds_tensor((index, value)) or _is_outside(self) else self
        if isinstance(target, Tensor):
            target[opened(index)] = opened(value)
        else:
            _PUT(self, index, value)

    @property
    def flat(self) -> Any:
        """The elements in one row."""
        return Row(self)

    @flat.setter
    def flat(self, values: ArrayLike) -> None:
        Row(self)[:] = values

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """Changes the extents; the memory is a tensor's from then on, for NumPy's own cannot move."""
        written_to(self).resize(*shape)

    def __reduce__(self) -> Any:
        return _plain(self).__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _plain(self).__reduce_ex__(protocol)


def _with_tensors(name: str) -> Callable[..., Any]:
    """A method of arrays that is the tensor's where tensors are among its arguments."""
    own = getattr(np.ndarray, name)

    def method(self: Array, *args: object, **kwargs: Any) -> Any:
        writes = name in ("fill", "put")
        if not holds_tensor((args, kwargs)) and not (writes and _is_outside(self)):
            return own(self, *args, **kwargs)
        target = written_to(self) if writes else constant(self)
        return getattr(target, name)(*opened(args), **opened(written_out(kwargs)))

    method.__name__ = name
    return method


for _name in ("choose", "compress", "dot", "fill", "put", "repeat", "searchsorted", "take"):
    setattr(Array, _name, _with_tensors(_name))


class Row:
    """`array.flat`: NumPy's, until a tensor goes into it."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def _held(self) -> Any:
        return standing(self._array).flat if isinstance(self._array, Followed) else _FLAT(self._array)

    def __getitem__(self, index: Index) -> Any:
        found = self._held()[opened(index)]
        return fresh(found)

    def __setitem__(self, index: Index, value: ArrayLike) -> None:
        if holds_tensor((index, value)) or _is_outside(self._array):
            target = written_to(self._array)
            (target.flat if isinstance(target, Tensor) else _FLAT(target))[opened(index)] = opened(value)
        else:
            self._held()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held())

    def __len__(self) -> int:
        return len(self._held())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._held(), dtype)


class Followed(Array):
    """An array that a tensor was written into, or a view of one: it stands for a tensor."""

    def __wengert_tensor__(self) -> Tensor:
        found: Any = tensor_in(standing(self))
        return found


def standing(array: Array) -> Tensor:
    """The tensor that an array stands for, which can be written to."""
    ground: Any = array._ground
    layout = _plain(array)
    if _is_whole(layout, ground.root):
        return ground.tensor
    if array._seen is None:
        array._seen = view_at(ground.tensor, layout)
        place_of(array._seen)
    return array._seen


def _delegated(name: str) -> Any:
    if not callable(getattr(np.ndarray, name)):

        def write(self: Array, value: ArrayLike) -> None:
            setattr(standing(self), name, opened(value))

        return property(lambda self: getattr(standing(self), name), write)

    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        return getattr(standing(self), name)(*opened(args), **opened(kwargs))

    method.__name__ = name
    return method


def _as_numbers(name: str, kept: Callable[..., Any]) -> Callable[..., Any]:
    """A method that asks who calls: adopted code keeps the tensor. That is not who calls the tensor's own method."""

    def method(self: Followed, *args: Any) -> Any:
        tensor = standing(self)
        return kept(tensor, args) if called_by_adopted_code() else getattr(tensor, name)(*args)

    method.__name__ = name
    return method


_ITS_OWN = frozenset({
    "__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__setattr__",
    "__delattr__", "__dir__", "__doc__", "__sizeof__", "__array_finalize__", "__array_ufunc__", "__array_function__",
    "__array_priority__", "__class_getitem__", "__hash__",
})  # fmt: skip
for _name in dir(np.ndarray):
    if _name not in _ITS_OWN and hasattr(Tensor, _name):
        setattr(Followed, _name, _delegated(_name))
for _name, _kept in (
    ("item", element), ("tolist", lambda tensor, _: nested(tensor)), ("__int__", lambda tensor, _: int(tensor.item())),
):  # fmt: skip
    setattr(Followed, _name, _as_numbers(_name, _kept))


# -- between the two -------------------------------------------------------------------------------------------------


def fresh(made: Any, args: object = ()) -> Any:
    """What NumPy made of numbers, as arrays that tensors may be written into; not where it shares with an argument."""
    if type(made) is not np.ndarray:
        if type(made) is tuple:
            return (*[fresh(part, args) for part in made],)
        return [fresh(part, args) for part in made] if type(made) is list else made
    kind = made.dtype.kind
    if kind == "O":
        return objects_in(made) if is_recording() else made
    if kind not in "fciub" or not is_recording() or (args and _shares(made, args)):
        return made
    array = _VIEW(made, Array)
    Ground(array)
    return array


class Named:
    """Arrays that names of a module hold, as arrays from which NumPy makes those that tensors may be written into."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Plain, Array]] = {}

    def __call__(self, value: object) -> Any:
        if type(value) is not np.ndarray or value.dtype.kind not in "fciub":
            return value
        return self._known.setdefault(id(value), (value, value.view(Array)))[1]


class Names(dict[str, Any]):
    """The locals of a script: what it names goes to its globals, arrays as `Named` has them."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__()
        self._names, self._named = names, Named()

    def __setitem__(self, name: str, value: object) -> None:
        self._names[name] = self._named(value)

    def __delitem__(self, name: str) -> None:
        del self._names[name]


def _shares(made: Plain, args: object) -> bool:
    """Whether an array may lie in what the program or others hold: in an argument, or in an object that is no list."""
    if isinstance(args, dict):
        args = (*args.values(),)
    if isinstance(args, (list, tuple)):
        return any(_shares(made, part) for part in args)
    if isinstance(args, np.ndarray):
        return bool(np.may_share_memory(made, _plain(args)))
    return hasattr(args, "__array__") and not isinstance(args, (np.generic, type))  # a dtype may be given as a class


def written_to(x: Any) -> Any:
    """What stands for something that a tensor goes into: the tensor in place of an array, anything else itself."""
    if isinstance(x, Array) and x._ground is not None and x._ground.followed() is not None:
        return standing(x)
    return x


def _is_outside(x: Any) -> bool:
    """Whether a body of a loop or branch would write numbers, once and for all, into an array made outside of it."""
    return isinstance(x, Array) and x._ground is not None and STATE.builder not in (None, x._ground.home)


def written_out(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Options of a call whose `out=` gets tensors."""
    out = kwargs.get("out")
    if out is None:
        return kwargs
    return {**kwargs, "out": (*map(written_to, out),) if isinstance(out, tuple) else written_to(out)}


def opened(tree: Any) -> Any:
    """Nested arguments with tensors for the arrays that stand for them."""
    return _mapped(tree, lambda x: standing(x) if isinstance(x, Followed) else x)


def bare(tree: Any) -> Any:
    """Nested arguments with NumPy's own arrays for those here."""
    return _mapped(tree, lambda x: _plain(x) if type(x) is Array else x)


def _mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    kind = type(tree)
    if kind is list:
        return [_mapped(part, change) for part in tree]
    if kind is tuple:
        return (*[_mapped(part, change) for part in tree],)
    if kind is dict:
        return {key: _mapped(part, change) for key, part in tree.items()}
    return change(tree)


def holds_tensor(tree: Any) -> bool:
    """Whether a tensor is among nested lists, tuples and dictionaries, or in an array of objects."""
    kind = type(tree)
    if kind in (list, tuple):
        return any(map(holds_tensor, tree))
    if kind is dict:
        return any(map(holds_tensor, tree.values()))
    if kind is np.ndarray or kind is Objects:
        return tree.dtype == object and any(map(is_tensor_or_variable, tree.flat))
    return is_tensor_or_variable(tree) or (_gives_arrays(kind) and is_tensor_or_variable(tree.__array__()))


def _gives_arrays(kind: type) -> bool:
    """Whether objects of a class say by a method of adopted code what arrays they are."""
    names = getattr(getattr(kind, "__array__", None), "__globals__", None)
    held = None if names is None else names.get("__builtins__")
    return type(held) is dict and ADOPTED_MARK in held


# -- memory ----------------------------------------------------------------------------------------------------------


def _plain(array: Plain) -> Plain:
    return _VIEW(array, np.ndarray)


def _address(array: Plain) -> int:
    return np.ndarray.__dict__["__array_interface__"].__get__(array)["data"][0]


def _lies_in(array: Plain, owner: Plain) -> bool:
    first = _address(owner)
    return first <= _address(array) < first + owner.nbytes


def _owner(array: Plain) -> Plain:
    """The array whose memory it is that another lies in."""
    found: Any = array
    while isinstance(base := _BASE(found), np.ndarray):
        found = base
    return _plain(found)


def _row_major(owner: Plain) -> Plain:
    """A whole memory as an array in row-major order."""
    if owner.flags.c_contiguous:
        return owner
    return owner.T if owner.flags.f_contiguous else owner.ravel("K")


def _is_part(dtype: np.dtype[Any], whole: np.dtype[Any]) -> bool:
    """Whether a view of this dtype sees the elements of a memory, or their real or imaginary parts."""
    return dtype == whole or (whole.kind == "c" and dtype == np.real(np.zeros(0, whole)).dtype)


def _is_whole(layout: Plain, root: Plain) -> bool:
    same = (layout.shape, layout.strides, layout.dtype) == (root.shape, root.strides, root.dtype)
    return same and _address(layout) == _address(root)


__all__ = ["WRITERS", "Array", "Named", "Names", "fresh", "holds_tensor", "opened", "written_out", "written_to"]
