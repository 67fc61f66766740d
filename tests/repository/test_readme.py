"""Every Python block of README.md runs, in order, and prints what its comments say; its picture is that of the figures."""

from __future__ import annotations

import json

from benchmarks.speed import FIGURES, PICTURE, draw, times_of
from tests.support.paths import ROOT
from tools.readme import run_blocks


def test_readme_blocks_run_and_print_what_they_say() -> None:
    ran = [*run_blocks(ROOT / "README.md")]
    assert [block for block in ran if block.left_out_for is None]
    for block in ran:
        if block.left_out_for is None:  # the block of a framework that is not installed
            assert block.printed == block.promised, f"README.md:{block.line}"


def test_the_picture_of_speed_is_drawn_from_the_recorded_figures() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    drawn = PICTURE.read_text(encoding="utf-8")
    assert drawn == draw(figures), "draw it anew: python benchmarks/speed.py"
    most = max(times["JAX"] / times["ours"] for times in times_of(figures).values())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"up to {most:.0f} times as fast as JAX" in readme
    assert PICTURE.relative_to(ROOT).as_posix() in readme
