"""`python -m wengert.compat.autograd script.py` or `... -m module`: runs a program for which we are autograd."""

from __future__ import annotations

import pathlib
import runpy
import sys

from ._install import install


def main(arguments: list[str]) -> None:
    """Runs a script or a module with `import autograd` meaning this package."""
    if not arguments or (arguments[0] == "-m" and len(arguments) < 2):
        sys.exit("usage: python -m wengert.compat.autograd (script.py | -m module) [arguments]")
    install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = arguments
    sys.path[0] = str(pathlib.Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
