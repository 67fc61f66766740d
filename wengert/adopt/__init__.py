"""Code that was written for NumPy, followed whole: `wg.adopt(target)` gives a copy whose imports and casts are ours.

The package is the function: `wg.adopt("package")` adopts, `wg.adopt.report(copy)` tells what was replaced.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import decode_source
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload
from weakref import WeakKeyDictionary, WeakValueDictionary

from .._core.derived import Derived, alike
from .._core.user_line import at_user_line
from ._arrays import Names
from ._bracketing import checked
from ._builtins import REPLACED, adoption_of
from ._function_copies import Rebinding, uncompiled
from ._importer import Adoption, adoption_for, code_of
from ._report import Report
from ._stand_ins import RECORDED, replacement, stand_in

T = TypeVar("T")
_rebound: WeakKeyDictionary[Any, dict[frozenset[str], FunctionType]] = WeakKeyDictionary()
_given: WeakValueDictionary[tuple[int, frozenset[str]], Derived] = WeakValueDictionary()  # they hold the original


@overload
def adopt(target: str, skip: Sequence[str] = ()) -> Any: ...
@overload
def adopt(target: T, skip: Sequence[str] = ()) -> T: ...


def adopt(target: object, skip: Sequence[str] = ()) -> Any:
    """A copy of code that was written for NumPy, followed whole.

    Its source is executed anew: `numpy`, `scipy`, `math`, `cmath` and `numba` are recorded ones there, casts such as
    `float(x)` keep tensors, its submodules come along, and so do packages it uses that are plain Python and require
    NumPy. The original and everybody else's NumPy stay as they are. The same target gives the same copy.

    Args:
        target: a module or package (or its name), a class or a function.
        skip: names of modules that stay as they are, with all that is below them.

    Returns:
        The copy, of the target's kind. What has no source (a compiled extension) is given back itself.

    Raises:
        ModuleNotFoundError: if there is no module of that name.
        TypeError: if the target is none of these.

    Example:
        >>> import wengert as wg
        >>> fractions = wg.adopt("statistics")
        >>> float(wg.grad(fractions.fmean)([1.0, 2.0, 6.0])[0])
        0.3333333333333333
    """
    left_out = frozenset((skip,) if isinstance(skip, str) else skip)
    if isinstance(target, str):
        return _module(target, left_out)
    if isinstance(target, ModuleType):
        return target if adoption_of(vars(target)) is not None else _module(target.__name__, left_out)
    if isinstance(target, MethodType):
        raise TypeError(
            at_user_line(
                f"wg.adopt takes a module, a class or a function, got the method {target.__qualname__} of an object: "
                "adopt its class and make the object anew"
            )
        )
    if not callable(target):
        raise TypeError(
            at_user_line(f"wg.adopt takes a module (or its name), a class or a function, got {type(target).__name__}")
        )
    return _named(target, left_out)


def report(copy: object) -> Report:
    """What was replaced in an adopted copy, and what could not be followed.

    Args:
        copy: what `wg.adopt` gave.

    Returns:
        The modules with the imports that were replaced in them, the builtins, and what was left as it is.

    Raises:
        TypeError: if it is no adopted copy.
    """
    adoption = _adoption_of(copy)
    if adoption is None:
        raise TypeError(at_user_line(f"wg.adopt.report takes what wg.adopt gave, got {copy!r}"))
    modules = {name: tuple(imports) for name, imports in adoption.replaced.items()}
    return Report(modules, tuple(sorted(name for name in REPLACED if not name.startswith("__"))), dict(adoption.left))


def run_script(path: Path, arguments: Sequence[str]) -> None:
    """Runs a script as adopted code, as `python script.py arguments` would run it.

    Args:
        path: the script; modules in its folder are followed, too.
        arguments: what the script finds in `sys.argv`.
    """
    file = path.resolve()
    adoption = Adoption("__main__", folder=file.parent)
    module = adoption.blank("__main__", None)
    vars(module)["__file__"] = str(path)
    adoption.modules["__main__"] = module
    source = decode_source(file.read_bytes())
    code = checked(compile(source, str(path), "exec", dont_inherit=True), source)
    before = sys.argv, sys.path[:], sys.modules.get("__main__")
    sys.argv, sys.modules["__main__"] = [str(path), *arguments], module
    sys.path.insert(0, str(file.parent))
    try:
        exec(code, vars(module), Names(vars(module)))
    finally:
        sys.argv, sys.path[:] = before[0], before[1]
        if before[2] is not None:
            sys.modules["__main__"] = before[2]


def _module(name: str, skip: frozenset[str]) -> ModuleType:
    top = name.partition(".")[0]
    if top in RECORDED:
        return stand_in(name)
    return adoption_for(top, skip).module(name)


def _named(target: object, skip: frozenset[str]) -> Any:
    """The copy of a class or a function: what its module's copy has in its place, or a copy of its own."""
    if _adoption_of(target) is not None:
        return target
    home = getattr(target, "__module__", None)
    path = getattr(target, "__qualname__", None)
    if not isinstance(home, str) or not isinstance(path, str) or home == "builtins" or home.startswith("wengert"):
        return target
    spec = cast("ModuleSpec | None", getattr(sys.modules.get(home), "__spec__", None))
    if home.partition(".")[0] in RECORDED:
        return replacement(target)
    if spec is not None and home != "__main__" and "<" not in path and code_of(spec) is not None:
        found: Any = _module(home, skip)
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    plain = uncompiled(target)
    return _own_copy(plain, home, skip) if isinstance(plain, FunctionType) else target


def _own_copy(target: FunctionType, home: str, skip: frozenset[str]) -> Any:
    """The copy of a function that no module can give anew, which is pickled as the original and the call of `adopt`."""
    found = _given.get((id(target), skip))
    if found is not None:
        return found
    copies = _rebound.setdefault(target, {})
    if skip not in copies:
        copies[skip] = Rebinding(Adoption(home.partition(".")[0], skip)).copy(target)
    given = _given[id(target), skip] = alike(_twin(copies[skip]), target, adopt, skip=(*sorted(skip),))
    return given


def _twin(f: FunctionType) -> FunctionType:
    """The same function as another object: what is kept for a function must not hold it, as `Derived` does."""
    twin = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    twin.__kwdefaults__, twin.__module__ = f.__kwdefaults__, f.__module__
    vars(twin).update(vars(f))
    return twin


def _adoption_of(copy: object) -> Adoption | None:
    """The adoption that a copy comes from: its namespace tells, or its methods' namespaces do."""
    if isinstance(copy, ModuleType):
        return adoption_of(vars(copy))
    if isinstance(copy, Derived):
        copy = copy.func
    names = getattr(copy, "__globals__", None)
    if isinstance(names, dict):
        return adoption_of(cast("dict[str, Any]", names))
    if isinstance(copy, type):
        methods = (getattr(value, "__globals__", None) for value in vars(copy).values())
        return next((adoption_of(cast("dict[str, Any]", m)) for m in methods if isinstance(m, dict)), None)
    return None


class Adopting(ModuleType):
    """This package as the function that it is: `wg.adopt(target)` and `wg.adopt.report(copy)`."""

    @overload
    def __call__(self, target: str, skip: Sequence[str] = ()) -> Any: ...
    @overload
    def __call__(self, target: T, skip: Sequence[str] = ()) -> T: ...

    def __call__(self, target: object, skip: Sequence[str] = ()) -> Any:
        return adopt(target, skip)

    if TYPE_CHECKING:

        def report(self, copy: object) -> Report: ...


Adopting.__call__.__doc__ = adopt.__doc__
adopting = cast("Adopting", sys.modules[__name__])
adopting.__class__ = Adopting

__all__ = ["Report", "adopt", "report"]
