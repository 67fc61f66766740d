"""Draws the pictures that the notebooks' cards show: their last cell's, drawn as on the page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import wengert

from .examples import ROOT, newest

DRAW = """
import contextlib, io, re, sys
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

page, picture = sys.argv[1:]
with open(page, encoding="utf-8") as file:
    cells = re.findall(r"^```{code-cell} ipython3\\n(?::[^\\n]*\\n)*(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
names = {"__name__": "__main__"}
for cell in cells:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(cell, page, "exec"), names)
if plt.get_fignums():
    plt.gcf().savefig(picture)
"""


def draw_notebooks(target: Path) -> None:
    """Runs each notebook for its picture, unless that is newer than all sources."""
    target.mkdir(parents=True, exist_ok=True)
    sources = newest(Path(wengert.__file__).parent)
    for page in sorted((ROOT / "docs" / "notebooks").glob("*.md")):
        picture = target / f"{page.stem}.svg"
        is_new = picture.exists() and picture.stat().st_mtime > max(sources, page.stat().st_mtime)
        if is_new or "{code-cell}" not in page.read_text(encoding="utf-8"):
            continue
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", DRAW, str(page), str(picture)],
            env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{page.name} failed:\n{done.stderr}")
