"""`Adoption`: copies of a package's modules, made by executing their code anew with builtins of their own.

The copies live in a registry of the adoption, never in `sys.modules`. Code comes from the module's own loader, so that
file names, lines and compiled files are the original's. Compiled extensions stay as they are.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from .._core import forking
from .._core.state import STATE
from ._arrays import Named
from ._bracketing import checked
from ._builtins import builtins_for
from ._casts import SCALARS
from ._copies import Copy, alias_of, publish
from ._stand_ins import RECORDED, importlib_of, stand_in, system_of

_LOCK = forking.long_lock()
_ADOPTIONS: dict[tuple[str, frozenset[str]], Adoption] = {}
# packages whose objects go from program to program, so that copies of their classes would not know each other
_SHARED = frozenset({
    "wengert", "jax", "autograd", "torch", "tensorflow", "keras", "sympy", "mpmath", "xarray", "dask", "pint", "pandas",
    "matplotlib", "seaborn", "networkx", "pytest", "setuptools", "pip", "quantities",
})  # fmt: skip

_IMPORTS_MATHEMATICS = re.compile(rb"^\s*(?:import|from) (?:c?math|numpy|scipy)\b", re.MULTILINE)
_LEAST_SHARE = 0.25  # of files; a library of dates or of texts has a file that needs `math`, too


class Adoption:
    """The copies of one target's package, of what else it is made of, and notes of what was done.

    Args:
        top: the name of the package.
        skip: modules (with what is below them) that stay as they are.
        folder: modules that lie in this folder are followed, too (a script's neighbours).

    Attributes:
        is_known: whether the copies can be found again by the package's name and what was left out.
    """

    is_known = False

    def __init__(self, top: str, skip: frozenset[str] = frozenset(), folder: Path | None = None) -> None:
        self.top, self.skip, self.folder = top, skip, folder
        self.modules: dict[str, ModuleType] = {}
        self.replaced: dict[str, list[str]] = {}
        self.left: dict[str, str] = {}
        self.builtins = builtins_for(self)
        self._own: dict[str, ModuleType] = {
            "sys": system_of(self.modules),
            "importlib": importlib_of(self.import_module),
        }

    # -- what adopted code calls --------------------------------------------------------------------------------

    def import_(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:  # fmt: skip
        """`__import__` of adopted code."""
        absolute = name
        if level:
            package = (globals or {}).get("__package__") or ""
            absolute = importlib.util.resolve_name("." * level + name, package)
        top = absolute.partition(".")[0]
        if top in RECORDED or absolute in self._own:
            self._note((globals or {}).get("__name__", ""), absolute)
        elif not self.follows(top):
            return builtins.__import__(name, globals, locals, fromlist, level)
        module = self.module(absolute)
        if not fromlist:
            return module if "." not in absolute else self.module(top)
        self._load_named(module, absolute, fromlist)
        return module

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """`importlib.import_module` of adopted code."""
        absolute = importlib.util.resolve_name(name, package) if name.startswith(".") else name
        top = absolute.partition(".")[0]
        known = top in RECORDED or absolute in self._own or self.follows(top)
        return self.module(absolute) if known else importlib.import_module(absolute)

    def _load_named(self, module: ModuleType, name: str, wanted: Any) -> None:
        """The submodules that a `from` statement names."""
        if self.modules.get(name) is not module or not hasattr(module, "__path__"):
            return
        for item in wanted:
            if item == "*":
                self._load_named(module, name, getattr(module, "__all__", ()))
            elif not hasattr(module, item):
                try:
                    self.module(f"{name}.{item}")
                except ModuleNotFoundError as error:
                    if error.name != f"{name}.{item}":
                        raise

    # -- copies ------------------------------------------------------------------------------------------------

    def follows(self, top: str) -> bool:
        """Whether a package is copied: the target's, and others of plain Python that compute."""
        if top == self.top:
            return True
        if top in self.skip:
            return False
        if self.folder is not None and _lies_in(top, self.folder):
            return True
        return is_numerical(top)

    def module(self, name: str) -> ModuleType:
        """The module that adopted code sees under a name."""
        top = name.partition(".")[0]
        if top in RECORDED:
            return stand_in(name)
        if name in self._own:
            return self._own[name]
        with _LOCK:
            return self.modules.get(name) or self._loaded(name)

    def _loaded(self, name: str) -> ModuleType:
        parent_name, _, last = name.rpartition(".")
        parent = self.module(parent_name) if parent_name else None
        if name in self.modules:  # the parent's code has asked for it
            return self.modules[name]
        if self._is_skipped(name):
            return self._left(name, "skipped")
        if parent is not None and self.modules.get(parent_name) is not parent:
            return self._left(name, f"belongs to {parent_name}, which is not followed")
        spec = _spec(name, None if parent is None else getattr(parent, "__path__", ()))
        if spec is None:
            if name in sys.modules:
                return self._left(name, "is made by a program, without a source")
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        code = code_of(spec)
        if code is None and spec.submodule_search_locations is None:
            return self._left(name, "is compiled code")
        return self._executed(name, spec, code, parent, last)

    def _executed(
        self, name: str, spec: ModuleSpec, code: CodeType | None, parent: ModuleType | None, last: str
    ) -> ModuleType:  # fmt: skip
        module = self.blank(name, spec)
        self.modules[name] = module
        self.replaced.setdefault(name, [])
        if parent is not None and last not in vars(parent):
            setattr(parent, last, module)  # so that modules which import each other find it
        try:
            if code is not None:
                with _nothing_recorded():
                    exec(checked(code, _source_of(spec)), vars(module))
                    _dress(vars(module))
        except BaseException:
            self.modules.pop(name, None)
            if parent is not None and vars(parent).get(last) is module:
                delattr(parent, last)
            raise
        module = self.modules.get(name, module)  # code may put another object in its place
        if parent is not None:
            setattr(parent, last, module)
        if self.is_known and isinstance(module, Copy):
            publish(module, alias_of(name, self.top, self.skip))
        return module

    def blank(self, name: str, spec: ModuleSpec | None) -> ModuleType:
        """A new module with the adoption's builtins, before its code runs."""
        module = importlib.util.module_from_spec(ModuleSpec(name, None)) if spec is None else Copy(name)
        if spec is not None:
            names = vars(module)
            names["__spec__"], names["__loader__"], names["__package__"] = spec, spec.loader, spec.parent
            if spec.origin and spec.has_location:
                names["__file__"], names["__cached__"] = spec.origin, spec.cached
            if spec.submodule_search_locations is not None:
                names["__path__"] = spec.submodule_search_locations
        vars(module)["__builtins__"] = self.builtins
        return module

    def _is_skipped(self, name: str) -> bool:
        return any(name == skipped or name.startswith(f"{skipped}.") for skipped in self.skip)

    def _left(self, name: str, why: str) -> ModuleType:
        self.left[name] = why
        return importlib.import_module(name)

    def _note(self, importer: str, imported: str) -> None:
        known = self.replaced.setdefault(importer, [])
        if imported not in known:
            known.append(imported)


def adoption_for(top: str, skip: frozenset[str]) -> Adoption:
    """The one adoption of a package with these modules left out."""
    with _LOCK:
        key = (top, skip)
        if key not in _ADOPTIONS:
            _ADOPTIONS[key] = Adoption(top, skip)
            _ADOPTIONS[key].is_known = True
        return _ADOPTIONS[key]


@contextmanager
def _nothing_recorded() -> Iterator[None]:
    """A module that is imported in the middle of a gradient makes its constants as it would at any other time."""
    recorders, builder = STATE.recorders, STATE.builder
    STATE.recorders, STATE.builder = (), None
    try:
        yield
    finally:
        STATE.recorders, STATE.builder = recorders, builder


def _dress(names: dict[str, Any]) -> None:
    """Types that a module has under names of its own (`np.dtype("float64").type`) cast as NumPy's names do; of its
    arrays NumPy makes those that tensors may be written into.
    """
    named = Named()
    for name, value in names.items():
        if isinstance(value, type) and type(value) is type and value in SCALARS:
            names[name] = SCALARS[value]
        elif type(value) is np.ndarray:
            names[name] = named(value)


def _spec(name: str, path: object) -> ModuleSpec | None:
    """The spec of a module, found without importing it or its parents."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = None if find is None else find(name, path)
        if spec is not None:
            return spec
    return None


def code_of(spec: ModuleSpec) -> CodeType | None:
    """A module's code as its loader gives it, else compiled from its file; None for compiled extensions."""
    origin = spec.origin or ""
    if origin.endswith((*EXTENSION_SUFFIXES,)) or origin in ("built-in", "frozen"):
        return None
    get_code = getattr(spec.loader, "get_code", None)
    if get_code is not None:
        return get_code(spec.name)
    if origin.endswith(".py"):
        return compile(_source_of(spec) or "", origin, "exec", dont_inherit=True)
    return None


def _source_of(spec: ModuleSpec) -> str | None:
    """A module's source as its loader gives it, else that of its file."""
    get_source = getattr(spec.loader, "get_source", None)
    if get_source is not None:
        return get_source(spec.name)
    is_readable = (spec.origin or "").endswith(".py")
    return importlib.util.decode_source(Path(spec.origin or "").read_bytes()) if is_readable else None


def _lies_in(top: str, folder: Path) -> bool:
    origin = getattr(_spec(top, None), "origin", None)
    return bool(origin) and folder in Path(origin).resolve().parents and "site-packages" not in Path(origin).parts


@cache
def is_numerical(top: str) -> bool:
    """Whether a package has no compiled code and computes: it requires NumPy or SciPy, by what its installer knows, or
    a quarter of its files import them or `math`.
    """
    if top in _SHARED or top in sys.stdlib_module_names:
        return False
    spec = _spec(top, None)
    if spec is None or code_of(spec) is None:
        return False
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders for file in folder.rglob("*")] or [Path(spec.origin or "")]
    if any(file.suffix in (".so", ".pyd") for file in files):
        return False
    names = importlib.metadata.packages_distributions().get(top, ())
    required = [line for name in names for line in importlib.metadata.requires(name) or ()]
    if any(line.lower().startswith(("numpy", "scipy")) and "extra ==" not in line for line in required):
        return True
    sources = [file for file in files if file.suffix == ".py"]
    computing = sum(_IMPORTS_MATHEMATICS.search(file.read_bytes()) is not None for file in sources)
    return computing >= max(1, _LEAST_SHARE * len(sources))
