"""`python -m wengert.compat.autograd script.py` or `... -m module`: runs a program for which we are autograd."""

from __future__ import annotations

import pathlib
import runpy
import sys

from ._install import install


def main(arguments: list[str]) -> None:
    """Runs a script or a module with `import autograd` meaning this package."""
    is_module = arguments[:1] == ["-m"]
    sys.argv = arguments[is_module:]
    if not sys.argv:
        sys.exit("usage: python -m wengert.compat.autograd (script.py | -m module) [arguments]")
    install()
    if is_module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
