"""`Tensor`: the value that users' functions see. Its arithmetic and methods are attached by `ops/methods.py`.

A tensor wraps either a native array (it is *concrete*) or a `Value` of a graph under construction (it is
*symbolic*); it knows neither recorders nor nodes. This file owns its identity, its inspection, and the
refusals that keep a gradient from being lost in silence.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from ..errors import LostGradientError, TracingError
from . import dtypes
from .argument_types import ArrayLike
from .dims import DimLike, size_of
from .engine import ENGINE_OF, array_of, ndarray_of, stands_in
from .foreign_arrays import no_mask, no_masked_ufunc
from .operators import Operators
from .other_libraries import jax_array, pandas_priority, sympy_number, torch_function
from .refusal import asker, cure_for, described
from .state import STATE, next_serial
from .user_line import Site, at_user_line

MOST_CUTS = 8  # remembered beside the first
ADOPTED_MARK = "__wengert_adopted__"  # among the builtins of code that `wg.adopt` follows


def called_by_adopted_code() -> bool:
    """Whether the caller of a tensor's method is code that `wg.adopt` follows."""
    return ADOPTED_MARK in sys._getframe(2).f_builtins


def _is_hashed_by_adopted_code() -> bool:
    """Whether a dictionary or set of adopted code asks, also through the standard library (`collections.Counter`)."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in sys.stdlib_module_names:
        frame = frame.f_back
    return frame is not None and ADOPTED_MARK in frame.f_builtins


class Cut:
    """Why a value computed from a tracked one is not tracked itself: the op, the place, and what it cut.

    Holds no arrays and no frames; `key` is the serial number of the operand whose path ended here. A value computed
    from several cut ones has the `others` beside the first.
    """

    __slots__ = ("key", "op", "others", "reason", "site")

    def __init__(self, op: str, reason: str, site: Site | None, key: int, others: tuple[Cut, ...] = ()) -> None:
        self.op = op
        self.reason = reason
        self.site = site
        self.key = key
        self.others = others

    def joined(self, cut: Cut) -> Cut:
        """This cut with another one beside it (itself where it has that already, or more than it can hold)."""
        others = self.others
        if cut is self or cut in others or len(others) >= MOST_CUTS:
            return self
        known = (self, *others)
        fresh = [c for c in (cut, *cut.others) if not any(map(c.is_same, known))]
        if not fresh:
            return self
        return Cut(self.op, self.reason, self.site, self.key, (*others, *fresh)[:MOST_CUTS])

    def is_same(self, cut: Cut) -> bool:
        """Whether two marks (of two tapes, say) tell of one cut."""
        return cut is self or (cut.key == self.key and cut.op == self.op and cut.site == self.site)

    def __str__(self) -> str:
        return f"{self.op} {self.reason}" + (f"\n    at {self.site}" if self.site else "")


class Value:
    """A value of a graph under construction: static type and identity, no data, no link to its node."""

    __slots__ = ("dtype", "graph", "key", "name", "shape", "weak")

    def __init__(
        self, shape: tuple[Any, ...], dtype: np.dtype[Any], graph: int, name: str = "", weak: bool = False
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.graph = graph
        self.name = name
        self.weak = weak
        self.key = next_serial()

    @property
    def is_history(self) -> bool:
        """Whether it is what a loop keeps for its backward pass, and no array."""
        return self.dtype == dtypes.HISTORY

    def __repr__(self) -> str:
        return f"%{self.name or self.key}"

    __array_ufunc__ = no_masked_ufunc  # only `np.ma` gets here: it computes on the data of what it is given


def _asks_for_a_turn(frame: FrameType) -> bool:
    """Whether SciPy's sparse product asks for an array: if it gets none, Python gives `Tensor.__rmatmul__` its turn."""
    return frame.f_code.co_name == "_matmul_dispatch" and frame.f_globals.get("__name__", "").startswith("scipy.sparse")


class Tensor(Operators):
    """An array whose operations can be differentiated and traced.

    Made by `wg.tensor`; functions under differentiation or tracing receive them. NumPy's operators, methods,
    indexing and functions work on tensors and are recorded. So are writes (`x[i] = y`, `x += y`, `x.sort()`), and views
    share as NumPy's do; what was computed before keeps the value that it read.

    Example:
        >>> import wengert as wg
        >>> x = wg.tensor([1.0, 2.0])
        >>> x * 2
        Tensor([2., 4.], shape=(2,), dtype=float64)
    """

    __slots__ = ("__weakref__", "_cut", "_data", "_key", "_link", "_source", "_weak")
    __array_priority__ = 1000
    __pandas_priority__ = pandas_priority
    __torch_function__ = classmethod(torch_function)
    __jax_array__ = jax_array
    _sympy_ = sympy_number
    _mask = no_mask

    def __init__(self, data: Any, key: int, cut: Cut | None = None, weak: bool = False) -> None:
        self._data = data
        self._key = key
        self._cut = cut
        self._weak = weak
        self._link: Any = None  # where it lies in a memory that views share (ops/memory), if there is one

    # -- what it is -------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[DimLike, ...]:
        """The extents; `Dim`s where a trace does not know them."""
        return self._data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type, as a `numpy.dtype`."""
        return self._data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._data.shape)

    @property
    def size(self) -> DimLike:
        """The number of elements."""
        return size_of(self._data.shape)

    @property
    def nbytes(self) -> DimLike:
        """The bytes that the elements take."""
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes that one element takes."""
        return self.dtype.itemsize

    @property
    def is_symbolic(self) -> bool:
        """Whether the tensor stands for a value of a trace and holds no numbers."""
        return type(self._data) is Value

    @property
    def engine(self) -> str:
        """The name of the engine that works on the tensor."""
        return "numpy" if type(self._data) is Value else ENGINE_OF[type(self._data)].name

    @property
    def device(self) -> str:
        """Where the elements lie."""
        return "cpu" if type(self._data) is Value else ENGINE_OF[type(self._data)].device(self._data)

    @property
    def native(self) -> Any:
        """The framework's own array (a read-only view of it on NumPy)."""
        self._require_plain("Tensor.native", "use Tensor.numpy() to cut the gradient on purpose")
        return self.numpy() if self.engine == "numpy" else ENGINE_OF[type(self._data)].leave(self._data)

    # -- leaving on purpose -----------------------------------------------------------------------------

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a read-only NumPy array. Cuts the gradient, on purpose.

        Raises:
            TracingError: on a symbolic tensor, which has no elements.
        """
        self._require_concrete("Tensor.numpy()")
        self._note_exit("Tensor.numpy()")
        array = ndarray_of(self._data).view()
        array.flags.writeable = False
        return array

    def item(self, *index: int) -> Any:
        """The one element as a Python number (or the element at an index). Cuts the gradient, on purpose.

        Raises:
            TracingError: on a symbolic tensor, which has no elements.
            ValueError: if there is more than one element and no index.
        """
        if called_by_adopted_code():
            return element(self, index)
        self._require_concrete("Tensor.item()")
        self._note_exit("Tensor.item()")
        return ndarray_of(self._data).item(*index)

    def tolist(self) -> Any:
        """The elements as nested Python lists; refused under differentiation."""
        if self.is_followed and called_by_adopted_code():
            return nested(self)
        self._require_plain("Tensor.tolist()", "use Tensor.numpy().tolist() to cut the gradient on purpose")
        return self.numpy().tolist()

    def _note_exit(self, what: str) -> None:
        for recorder in STATE.recorders:
            recorder.note_exit(self, what)

    # -- leaving by accident: refused -------------------------------------------------------------------

    @property
    def is_followed(self) -> bool:
        """Whether a recorder follows the tensor or a trace owns it, so that turning it into numbers loses something."""
        if type(self._data) is Value:
            return True
        for recorder in STATE.recorders:  # noqa: SIM110  # a generator costs a call for each
            if recorder.tracks(self._key):
                return True
        return False

    def _require_concrete(self, what: str) -> None:
        if type(self._data) is Value:
            raise TracingError(
                at_user_line(
                    f"{what} needs the value of a symbolic tensor of shape {self.shape}, which is not known while "
                    f"tracing; compute with wg functions, or use wg.debug_print to see it at run time"
                )
            )

    def _require_plain(self, what: str, cure: str) -> None:
        if self.is_followed:
            self._refuse(what, cure)

    def _refuse(self, what: str, cure: str) -> NoReturn:
        state = "being traced" if type(self._data) is Value else "under differentiation"
        raise LostGradientError(
            at_user_line(
                f"{what} would turn a tensor of shape {self.shape} that is {state} into plain numbers, and its "
                f"gradient would be lost; {cure}"
            )
        )

    def _refuse_numbers(self, protocol: str, library: str = "") -> NoReturn:
        who = asker()
        if library and who.module.partition(".")[0] != library:
            who = who._replace(module=library)
        if type(self._data) is Value and self.dtype.kind in "iu" and who.module.partition(".")[0] == "wengert":
            self._refuse_count(described(who, protocol))
        self._refuse(described(who, protocol), cure_for(who))

    def _refuse_count(self, what: str) -> NoReturn:
        raise LostGradientError(
            at_user_line(
                f"{what} needs the integers in a tensor of shape {self.shape} that is being traced, and counts, "
                f"lengths and sizes must be known before a program runs; name it in wg.function(static_argnames=...) "
                f"or take the number from an array's shape, use a bound and wg.where for what is beyond it; loops take "
                f"as many steps as a traced number says with wg.fori_loop and wg.while_loop"
            )
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if _asks_for_a_turn(sys._getframe(1)):
            return np.array(None, object)
        if self.is_followed:
            if dtype in (None, object) and any(r.rebinds for r in STATE.recorders):
                return _array_of_tensors(self)
            self._refuse_numbers("__array__")
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __float__(self) -> float:
        if self.is_followed:
            self._refuse_numbers("__float__")
        return float(self.item())

    def __complex__(self) -> complex:
        if self.is_followed:
            self._refuse_numbers("__complex__")
        return complex(self.item())

    def __int__(self) -> int:
        if self.is_followed:
            if not self.is_symbolic and called_by_adopted_code():
                self._note_exit("int(Tensor)")
                return int(ndarray_of(self._data))
            self._refuse_numbers("__int__")
        return int(self.item())

    def __index__(self) -> int:
        if self.is_followed:
            self._refuse_numbers("__index__")
        if self.dtype.kind not in "iu":
            raise TypeError(at_user_line(f"only integer tensors can be used as an index, got {self.dtype.name}"))
        if self.ndim:
            raise TypeError(at_user_line(f"only tensors of no axes are one index, got shape {self.shape}"))
        return int(self.item())

    def __dlpack__(
        self, /, *, stream: object = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:  # fmt: skip
        if self.is_followed:
            self._refuse_numbers("__dlpack__")
        array = self.numpy()  # read-only, which versions of the protocol before 1.0 cannot say
        if copy or max_version is None or max_version < (1, 0):
            if copy is False:
                array = ndarray_of(self._data)
                if not array.flags.writeable:
                    raise BufferError(
                        at_user_line("__dlpack__: copy=False of a read-only array needs version 1.0 of the protocol")
                    )
            else:
                array, copy = array.copy(), None
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return array.__dlpack__(**{key: value for key, value in asked.items() if value is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.is_followed:
            self._refuse_numbers("__dlpack_device__")
        return (1, 0)

    def __bool__(self) -> bool:
        if type(self._data) is Value:
            raise TracingError(
                at_user_line(
                    f"the truth of a symbolic tensor of shape {self.shape} is not known while tracing; use wg.cond for "
                    f"`if`, wg.while_loop for `while`, and wg.where for a choice per element"
                )
            )
        if self.size != 1:
            raise ValueError(
                at_user_line(f"the truth of a tensor with {self.size} elements is ambiguous; use .any() or .all()")
            )
        self._note_exit("bool(Tensor)")
        return bool(self._data)

    # -- being a value ----------------------------------------------------------------------------------

    def __delitem__(self, index: object) -> NoReturn:
        raise TypeError(at_user_line("the elements of a tensor cannot be deleted"))

    def __hash__(self) -> int:
        if STATE.withheld is not None:
            STATE.withheld.tell(self)
        # adopted code's dictionaries tell counts and indices by value; of what is followed a memo must not find another
        if self.dtype.kind in "biu" and not self.ndim and _is_hashed_by_adopted_code():
            return hash(self._counted())
        return object.__hash__(self)

    def _counted(self) -> int:
        """The whole number that a tensor holds."""
        if self.is_symbolic:
            said = "what an integer tensor hashes to is not known while tracing; a dictionary or set cannot hold it"
            raise TracingError(at_user_line(said))
        return ndarray_of(self._data).item()

    def __copy__(self) -> Tensor:
        """Another tensor of the same value and identity: who writes to one of them does not change the other."""
        tell_twin(self._key)
        return Tensor(self._data, self._key, self._cut, self._weak)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.is_followed:
            return self.__copy__()
        copied = ENGINE_OF[type(self._data)].from_numpy(np.array(self.numpy()))
        return Tensor(copied, next_serial(), weak=self._weak)

    def __reduce__(self) -> Any:
        self._require_plain("pickling", "pickle Tensor.numpy() instead")
        return (_unpickle, (np.array(self.numpy()),))

    def __repr__(self) -> str:
        if type(self._data) is Value:
            if STATE.withheld is not None:
                STATE.withheld.tell(self)
            return f"Tensor(<symbolic>, shape={self.shape}, dtype={self.dtype.name})"
        array = ndarray_of(self._data)
        text = np.array2string(array, separator=", ", threshold=20, edgeitems=3, max_line_width=10**6)
        text = " ".join(text.split())
        return f"Tensor({text}, shape={self.shape}, dtype={self.dtype.name})"

    def __str__(self) -> str:
        if type(self._data) is Value:
            return repr(self)
        return str(ndarray_of(self._data))

    def __format__(self, spec: str) -> str:
        if type(self._data) is Value or not spec or self.size != 1:
            return format(str(self), spec if not spec or spec[-1] in "s<>^0123456789" else "")
        return format(ndarray_of(self._data).item(), spec)

    def _repr_html_(self) -> str:
        head = f"<b>Tensor</b> shape={self.shape} dtype={self.dtype.name}"
        if type(self._data) is Value:
            return f"<div>{head} <i>symbolic</i></div>"
        body = str(self).replace("&", "&amp;").replace("<", "&lt;")
        return f"<div>{head}<pre>{body}</pre></div>"

    if TYPE_CHECKING:  # attached by ops/array_methods.py

        def __getattr__(self, name: str) -> Any: ...
        def __setitem__(self, index: object, value: ArrayLike | None) -> None: ...
        def sum(self, axis: object = None, dtype: object = None, keepdims: bool = False) -> Tensor: ...


class Written(Tensor):
    """A tensor that was written to, or shares with one: it stands for what its place in a memory holds now.

    A tensor becomes one at its first write. It is no operand itself: everything that takes tensors takes what it
    holds at that moment, as it does of a Variable.
    """

    __slots__ = ()
    are_there: ClassVar[bool] = False  # whether there has been one: sweeps look for them in what was kept

    def __wengert_tensor__(self) -> Tensor:
        return self._link.current()

    _data = property(lambda self: self._link.current()._data)
    _key = property(lambda self: self._link.current()._key)

    @property
    def _cut(self) -> Cut | None:
        return self._link.current()._cut

    @_cut.setter
    def _cut(self, cut: Cut | None) -> None:
        self._link.current()._cut = cut

    @property
    def shape(self) -> tuple[DimLike, ...]:
        """The extents; `Dim`s where a trace does not know them."""
        return self._link.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type, as a `numpy.dtype`."""
        return self._link.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._link.type.shape)

    @property
    def size(self) -> DimLike:
        """The number of elements."""
        return size_of(self._link.type.shape)


def held_now(x: object) -> Any:
    """A tensor that stands for a place in a memory as what that holds now; anything else as it is."""
    return x._link.current() if type(x) is Written else x


def as_recorded(saved: object) -> Any:
    """What a recorder meant that kept a tensor which was written to later: its value before the first write."""
    if type(saved) is Written:
        return saved._link.origin
    if type(saved) is tuple:
        return (*map(as_recorded, saved),)
    return saved


def element(x: Tensor, index: tuple[int, ...]) -> Tensor:
    """What `item` gives: one element, which later writes do not change."""
    value = x.__copy__()
    return value.reshape(()) if not index else value.reshape(-1)[index[0]] if len(index) == 1 else value[index]


def _array_of_tensors(x: Tensor) -> np.ndarray[Any, Any]:
    """A tensor's elements in an array of objects."""
    found = np.empty(x.shape, object)
    for index in np.ndindex(found.shape):
        found[index] = x[index] if index else x.__copy__()
    return found


def nested(x: Tensor) -> Any:
    """A tensor as nested lists of tensors without axes."""
    return [nested(row) for row in x] if x.ndim else x.__copy__()


def _unpickle(array: np.ndarray[Any, Any]) -> Tensor:
    return Tensor(array, next_serial())


# Recorders whose records of a tensor live as long as the tensor does. They hear of its twins while they pause, too: a
# twin that is made then may be what a program captures, and the only one to live on.
_TWINS_MATTER_TO: set[weakref.ref[Any]] = set()


def hears_of_twins(recorder: object) -> None:
    """Has `recorder.note_twin(key)` called for each copy of a tensor, from now until the recorder dies."""
    _TWINS_MATTER_TO.add(
        weakref.ref(recorder, _TWINS_MATTER_TO.discard)
    )  # no function in Python: Ctrl-C gets lost there


def tell_twin(key: int) -> None:
    """Says that several tensors have a key from now on."""
    for reference in [*_TWINS_MATTER_TO]:
        recorder = reference()
        if recorder is not None:
            recorder.note_twin(key)


def fresh(native: object) -> Tensor:
    """A new tensor around a native array."""
    return Tensor(native, next_serial())


def entered(array: object) -> Tensor:
    """A new tensor around a framework's array; of a variable that was read before, the one from then."""
    if stands_in(type(array)):
        return _read(array)
    engine = ENGINE_OF[type(array)]
    is_weak = engine.is_weak
    return Tensor(engine.enter(array_of(array)), next_serial(), None, is_weak is not None and is_weak(array))


def _read(variable: object) -> Tensor:
    """What a framework's variable holds, as a tensor; in a trace it knows the variable."""
    tensor = next((o.standing[id(variable)] for o in STATE.reading if id(variable) in o.standing), None)
    if tensor is None:
        tensor = Tensor(ENGINE_OF[type(variable)].enter(array_of(variable)), next_serial())
        if STATE.builder is not None:
            tensor._source = variable
    for observer in STATE.reading:
        observer.on_standing(variable, tensor)
    return tensor


def source_of(x: Tensor) -> Any:
    """The framework's variable that a tensor of a trace was read from, to be read at each call; or None."""
    return getattr(x, "_source", None)


def is_tensor_or_variable(x: object) -> bool:
    """Whether a value is a tensor, or stands for one as a Variable does."""
    return type(x) is Tensor or hasattr(type(x), "__wengert_tensor__")


def tensor_in(x: object) -> Tensor | None:
    """The tensor that a value is or stands for; None for anything else."""
    if type(x) is Tensor:
        return x
    held = getattr(type(x), "__wengert_tensor__", None)
    return None if held is None else held(x)
