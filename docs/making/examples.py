"""Runs the scripts in examples/ for their pictures and what they print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import wengert

ROOT = Path(__file__).resolve().parents[2]


def newest(folder: Path) -> float:
    """When a Python file of a folder was last changed."""
    return max(path.stat().st_mtime for path in folder.rglob("*.py"))


def run_examples(target: Path) -> None:
    """Runs each example, unless what it made is newer than all sources."""
    target.mkdir(parents=True, exist_ok=True)
    sources = max(newest(ROOT / "examples"), newest(Path(wengert.__file__).parent))
    for script in sorted((ROOT / "examples").glob("*.py")):
        picture, output = target / f"{script.stem}.svg", target / f"{script.stem}.txt"
        draws = "--plot" in script.read_text(encoding="utf-8")
        if (picture.exists() or not draws) and output.exists() and output.stat().st_mtime > sources:
            continue
        command = [sys.executable, str(script), *(["--plot", str(picture)] if draws else [])]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{script.name} failed:\n{done.stderr}")
        output.write_text(done.stdout, encoding="utf-8")
