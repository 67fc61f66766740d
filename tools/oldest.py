"""Prints the oldest versions that pyproject.toml admits, as pip takes them: `python tools/oldest.py jax torch`.

They are those of the run-time dependencies and of the extras that are named: `name>=version` becomes `name==version`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def oldest(extras: list[str]) -> list[str]:
    """The requirements of the package and of these extras, at their lower bounds."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(r for extra in extras for r in project["optional-dependencies"][extra])]
    return [requirement.partition(";")[0].replace(">=", "==") for requirement in wanted]  # pip's command line is split


if __name__ == "__main__":
    print(*oldest(sys.argv[1:]))
