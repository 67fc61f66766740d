"""`install`: `import autograd` means this package, in this process."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

from ..._core.tensor import Tensor

HOME = __name__.rpartition(".")[0]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds each module `autograd.x` in this package's `x`."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> Any:
        if fullname == "autograd" or fullname.startswith("autograd."):
            ours = HOME + fullname[len("autograd") :]
            if ours in sys.modules or importlib.util.find_spec(ours) is not None:
                return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        module = importlib.import_module(HOME + spec.name[len("autograd") :])
        self.its_own = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """The module has run under its own name, and keeps what was known of it: Python has put in a spec of ours."""
        module.__spec__ = self.its_own


def install() -> None:
    """Makes `import autograd` mean this package, in this process; boxes then go by autograd's name of them.

    Raises:
        RuntimeError: autograd itself is imported already.
    """
    if sys.modules.get("autograd") is sys.modules[HOME]:
        return
    if "autograd" in sys.modules:
        raise RuntimeError(
            "wengert.compat.autograd.install: autograd itself is imported already; call install before the "
            "first import of autograd, or run the program by python -m wengert.compat.autograd"
        )
    for name, module in list(sys.modules.items()):
        if name == HOME or (name.startswith(HOME + ".") and "._" not in name[len(HOME) :]):
            sys.modules["autograd" + name[len(HOME) :]] = module
    sys.meta_path.insert(0, _Finder())
    Tensor.__module__ = "autograd.numpy.numpy_boxes"
    Tensor.__name__ = Tensor.__qualname__ = "ArrayBox"
