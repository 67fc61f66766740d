"""The page of all benchmarks: what it has of those that end, fail, or run too long, and how turns are shared."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from benchmarks import harness, libraries, page

SCRIPTS = {
    "good": "print('a figure')",
    "bad": "print('begun'); raise SystemExit('no such peer')",
    "slow": "import time; print('so far', flush=True); time.sleep(60)",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in SCRIPTS.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(page, "HERE", tmp_path)
    return tmp_path


def run_page(
    monkeypatch: pytest.MonkeyPatch, folder: Path, minutes: float, *options: str, **ran: page.Benchmark
) -> tuple[int, str]:
    monkeypatch.setattr(page, "ALL", ran)
    given = ["page.py", "--minutes", str(minutes), "--output", str(folder / "results"), *options]
    monkeypatch.setattr(sys, "argv", given)
    code = page.main()
    (written,) = (folder / "results").glob("*-all.md")
    return code, written.read_text()


def test_a_benchmark_that_fails_is_told_and_does_not_end_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, text = run_page(monkeypatch, folder, 1, bad=page.Benchmark("--of it", is_alone=True), good=page.Benchmark())
    assert code == 1
    first, second = text.split("\n## ")[1:]
    assert first.startswith("bad.py --of it (")
    assert ", failed: exit 1)" in first
    assert "begun" in first
    assert "no such peer" in first
    assert second.startswith("good.py (")
    assert "failed" not in second
    assert "a figure" in second


def test_what_runs_when_the_time_is_over_is_stopped_and_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    code, text = run_page(monkeypatch, folder, 0.05, good=page.Benchmark(), slow=page.Benchmark())
    assert time.monotonic() - began < 30
    assert code == 1
    good, slow = text.split("\n## ")[1:]
    assert "stopped" not in good
    assert ", stopped: the time was over)" in slow
    assert "so far" in slow


def test_a_page_is_made_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = {"good": page.Benchmark(), "other": page.Benchmark(), "bad": page.Benchmark()}
    (folder / "other.py").write_text("print('## of its own')")
    run_page(monkeypatch, folder, 1, "--only", "other,bad", **ran)
    (folder / "bad.py").write_text("print('mended')")
    code, text = run_page(monkeypatch, folder, 1, "--only", "bad,good", **ran)
    assert code == 0
    sections = page.sections_of(text)
    assert [*sections] == [*ran]
    assert "a figure" in sections["good"]
    assert "## of its own" in sections["other"]
    assert "mended" in sections["bad"]
    assert "failed" not in sections["bad"]


def test_benchmarks_are_there_and_none_bears_a_peers_name() -> None:
    found = {path.stem for path in page.HERE.glob("*.py")}
    assert {*page.ALL} <= found
    assert not found & {*libraries.LIBRARIES}  # Python looks beside a script first, and the peer would be absent


def test_a_contender_whose_call_is_long_has_fewer_turns() -> None:
    counts = {"quick": 0, "slow": 0}

    def contender(name: str, seconds: float) -> harness.Contender:
        def call() -> None:
            counts[name] += 1
            time.sleep(seconds)

        return harness.Contender(name, "eager", call, lambda _: [])

    found = harness.measure([contender("quick", 0.001), contender("slow", 0.05)], 0.01, 20, 0.0)
    assert [m.error for m in found] == [None, None]
    assert found[1].median >= 0.05
    assert counts["slow"] <= 1 + 2 + 4  # compared, looked at twice, and at most as many turns as take 0.2 s
    assert counts["quick"] >= 20
