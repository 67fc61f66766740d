"""The modules that adopted code gets for `numpy`, `scipy`, `math`, `cmath`, `numba`, `importlib` and `sys`.

`numpy` is `wengert.numpy` with NumPy's habits where nothing is recorded: arrays that are made without tensors are
NumPy's own. While something is recorded, float arrays that code makes are tensors, so that tensors can go into them.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from itertools import accumulate
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .. import fft, linalg
from .. import numpy as wnp
from .. import scipy as wscipy
from .._core.tensor import Tensor
from ..numpy._poly1d import is_number
from ..numpy._submodules import Partly
from ..numpy._triangles import OF_A_TRIANGLE
from ._arrays import WRITERS, fresh, holds_tensor, opened, written_out, written_to
from ._casts import SCALARS
from ._math import CMATH, MATH
from ._random import REPLACED
from ._unbound import as_real


class StandIn(ModuleType):
    """A module in the place of a real one: what is replaced, then what is ours, then the real module's own."""

    def __init__(self, real: ModuleType, replaced: Mapping[str, Any], ours: ModuleType | None = None) -> None:
        super().__init__(real.__name__, real.__doc__)
        vars(self).update(replaced)
        vars(self)["_parts"] = (real, ours, frozenset(getattr(ours, "__all__", ())))

    def __getattr__(self, name: str) -> Any:
        real, ours, recorded = vars(self)["_parts"]
        if name == "__path__":
            return real.__path__
        theirs: Any = getattr(real, name)
        if followed_part(f"{real.__name__}.{name}"):
            return stand_in(f"{real.__name__}.{name}")
        if name not in recorded:
            return theirs
        found = getattr(ours, name)
        if isinstance(theirs, np.ufunc):
            found = Ufunc(theirs, found)
        elif isinstance(theirs, _FUNCTIONS) and callable(found):
            found = _by_arguments(theirs, found)
        vars(self)[name] = found
        return found

    def __dir__(self) -> list[str]:
        return dir(vars(self)["_parts"][0])

    def __reduce__(self) -> Any:
        return stand_in, (self.__name__,)


_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(np.concatenate))


def _by_arguments(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's own function where no tensor is among the arguments, nor a function that could give one."""

    @functools.wraps(theirs)
    def function(*args: object, **kwargs: object) -> Any:
        if holds_tensor((args, kwargs)):
            if name in WRITERS:
                args = (written_to(args[0]), *args[1:])
            return ours(*opened(args), **opened(written_out(kwargs)))
        if any(map(_is_function, args)):
            return ours(*args, **kwargs)
        return fresh(theirs(*args, **kwargs), (args, kwargs))

    name = theirs.__name__
    return as_real(function, theirs)


def _is_function(x: Any) -> bool:
    return isinstance(x, (FunctionType, MethodType, functools.partial, Ufunc))


def _iterator(op: Any, flags: Any = None, op_flags: Any = None, *args: object, **kwargs: object) -> Any:
    """`nditer`, whose elements may be written to."""
    if "write" in str(op_flags):
        op = [*map(written_to, op)] if isinstance(op, (list, tuple)) else written_to(op)
    return wnp.nditer(opened(op), flags, op_flags, *args, **kwargs)  # pyright: ignore[reportArgumentType]


class Grid:
    """`mgrid` or `ogrid`, whose arrays tensors may be written into."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def __getitem__(self, key: Any) -> Any:
        return fresh(self._theirs[key])


class Ufunc:
    """A function of ours with the methods and attributes of NumPy's ufunc, which record tensors by themselves."""

    def __init__(self, theirs: np.ufunc, ours: Callable[..., Any]) -> None:
        self._theirs, self._ours = theirs, ours
        functools.update_wrapper(self, ours)

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        if not holds_tensor((args, kwargs)):
            found = self._theirs(*args, **kwargs)
            return found if "out" in kwargs else fresh(found)
        return (self._theirs if kwargs else self._ours)(*opened(args), **opened(written_out(kwargs)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)

    def __reduce__(self) -> Any:
        return getattr, (NUMPY, self._theirs.__name__)

    def __repr__(self) -> str:
        return repr(self._theirs)


# -- numpy -----------------------------------------------------------------------------------------------------------

_BLANK = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
_FROM_DATA = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require", "copy")
_CLASSES = ("broadcast", "frompyfunc", "ndenumerate", "nditer", "nested_iters", "poly1d")
_RANGES = ("arange", "linspace", "logspace", "geomspace", "eye", "identity", "tri", "fromiter", "fromfunction")


def _maker(name: str) -> Callable[..., Any]:
    theirs = getattr(np, name)
    ours = getattr(wnp, name)

    @functools.wraps(theirs)
    def function(*args: object, **kwargs: object) -> Any:
        if holds_tensor((args, kwargs)):
            return ours(*opened(args), **opened(kwargs))
        return fresh(theirs(*args, **kwargs), (args, kwargs))

    return as_real(function, theirs)


def _numpy() -> StandIn:
    replaced = {name: _maker(name) for name in (*_BLANK, *_FROM_DATA, *_RANGES) if hasattr(np, name)}
    replaced |= {name: SCALARS[found] for name, found in _scalar_types()}
    replaced |= {name: getattr(wnp, name) for name in _CLASSES}  # NumPy's own where no tensor is given
    triangles = {name: _by_arguments(getattr(np.linalg, name), ours) for name, ours in OF_A_TRIANGLE.items()}
    replaced |= {"nditer": _iterator, "mgrid": Grid(np.mgrid), "ogrid": Grid(np.ogrid)}
    replaced |= {"emath": wnp.emath, "lib": wnp.lib}
    replaced |= {"isscalar": is_number, "__all__": [*np.__all__], "random": StandIn(np.random, REPLACED),
                 "linalg": StandIn(np.linalg, {"__all__": [*np.linalg.__all__]} | triangles, linalg),
                 "fft": StandIn(np.fft, {"__all__": [*np.fft.__all__]}, fft)}  # fmt: skip
    return StandIn(np, replaced, wnp)


def _scalar_types() -> list[tuple[str, Any]]:
    return [(name, found) for name, found in vars(np).items() if isinstance(found, type) and found in SCALARS]


# -- numba -----------------------------------------------------------------------------------------------------------

_COMPILERS = ("jit", "njit", "generated_jit", "stencil", "cfunc", "jitclass", "overload", "overload_method",
              "overload_attribute", "register_jitable")  # fmt: skip


def _left_alone(*args: object, **kwargs: object) -> Any:
    """A decorator that compiles, with and without arguments: the function stays Python's."""
    if len(args) == 1 and not kwargs and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
        return args[0]
    return lambda f: f


def _vectorized(*args: object, **kwargs: object) -> Any:
    if len(args) == 1 and inspect.isfunction(args[0]):
        return wnp.vectorize(args[0])
    return wnp.vectorize


def _numba(name: str) -> StandIn:
    real = importlib.import_module(name)
    replaced: dict[str, Any] = {c: _left_alone for c in _COMPILERS if hasattr(real, c)}
    if name == "numba":
        replaced |= {"prange": range, "vectorize": _vectorized}
    return StandIn(real, replaced)


# -- the table -------------------------------------------------------------------------------------------------------

RECORDED = frozenset({"numpy", "scipy", "math", "cmath", "numba"})
NUMPY = _numpy()
_PARTS = "wengert.adopt._numpy_source"  # which stands above this module
_FOLLOWED = ("numpy.polynomial",)  # plain Python that computes, whose source is executed anew as a package's is


def followed_part(name: str) -> str:
    """The module of a recorded library that is followed and holds this name, or nothing."""
    return next((part for part in _FOLLOWED if f"{name}.".startswith(f"{part}.")), "")


@functools.cache
def stand_in(name: str) -> ModuleType:
    """The module for a name below one of RECORDED; the real one where nothing of it is ours.

    Raises:
        ImportError: where the real import would.
    """
    top, _, path = name.partition(".")
    if top in ("math", "cmath"):
        return MATH if top == "math" else CMATH
    if top == "numba":
        return _numba(name)
    if followed_part(name):
        return importlib.import_module(_PARTS).part(name)
    real = importlib.import_module(name)
    if top == "numpy":
        found: Any = NUMPY
        for part in path.split(".") if path else ():
            found = vars(found).get(part)
            if not isinstance(found, (StandIn, Partly)):
                return real
        return found
    try:
        return importlib.import_module(f"{wscipy.__name__}.{path}") if path else wscipy
    except ModuleNotFoundError:
        return real


def replacement(value: object) -> Any:
    """What stands for a module, class or function of a recorded library; anything else is itself."""
    if isinstance(value, ModuleType):
        return stand_in(value.__name__) if value.__name__.partition(".")[0] in RECORDED else value
    if isinstance(value, (float, int, str, Tensor, np.ndarray)):
        return value
    name = getattr(value, "__name__", None)
    home = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "")
    if name is None and type(value).__module__.startswith(_OBJECT_HOMES):
        return _object_anew(value)
    if not isinstance(name, str) or not isinstance(home, str) or home.partition(".")[0] not in RECORDED:
        return value
    above = [*accumulate(home.split("."), "{}.{}".format)][::-1]  # SciPy's functions come from private modules
    for module in (*above, "numpy", "numpy.linalg"):
        if getattr(sys.modules.get(module), name, None) is value:
            found = getattr(stand_in(module), name, value)
            if found is not value:
                return found
    return value


_OBJECT_HOMES = ("numpy.polynomial", "scipy.stats")


def _object_anew(value: Any) -> Any:
    """An object that stands for one of a library's: a distribution, a polynomial which a script made before."""
    if not followed_part(type(value).__module__):
        stats: Any = sys.modules["scipy.stats"]
        name = next((name for name, found in vars(stats).items() if found is value), None)
        return value if name is None else getattr(stand_in("scipy.stats"), name)
    anew = object.__new__(replacement(type(value)))
    vars(anew).update(vars(value))
    return anew


def system_of(copies: dict[str, ModuleType]) -> StandIn:
    """`sys` with the copies in front of its `modules`, which itself stays as it is."""
    return StandIn(sys, {"modules": ChainMap(copies, sys.modules)})


def importlib_of(import_module: Callable[..., Any]) -> StandIn:
    """`importlib` whose `import_module` gives copies."""
    return StandIn(importlib, {"import_module": import_module})
