"""Every Python block of README.md runs, in order, and prints what its comments say; figures are those of the run."""

from __future__ import annotations

import json

from benchmarks.figures import BLOCK, SENTENCES, TABLES, files_with_figures, recorded, speed_in_words
from benchmarks.speed import PICTURE
from tests.support.paths import ROOT
from tools.readme import run_blocks


def test_readme_blocks_run_and_print_what_they_say() -> None:
    ran = [*run_blocks(ROOT / "README.md")]
    assert [block for block in ran if block.left_out_for is None]
    for block in ran:
        if block.left_out_for is None:  # the block of a framework that is not installed
            assert block.printed == block.promised, f"README.md:{block.line}"


def test_figures_in_texts_and_pictures_are_those_of_the_recorded_run() -> None:
    figures = recorded()
    for path, text in files_with_figures(figures).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: python benchmarks/figures.py"
    most, dense = speed_in_words(figures)
    for path in SENTENCES:
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert f"up to {most} times as fast as JAX, in a dense network {dense} times" in text
        assert PICTURE.name in text
    tables = TABLES.read_text(encoding="utf-8")
    assert [name for _, name, _ in BLOCK.findall(tables)] == ["rows", "startup", "engines"]
    assert f"results/{figures['commit']}.md" in tables


def test_figures_follow_the_run() -> None:
    figures = recorded()
    slower = json.loads(json.dumps(figures))
    for row in slower["rows"]:
        for case in row["cases"]:
            for time in case["times"]:
                time["median"] *= 3 if time["library"] == "wengert" else 1
    before, after = files_with_figures(figures), files_with_figures(slower)
    assert {path for path in before if before[path] != after[path]} == {PICTURE, TABLES, *SENTENCES}
