"""Makes README's and the site's figures from a run's: the picture of speed, sentences, and tables of README.md here.

    python benchmarks/figures.py [COMMIT]

Reads results/COMMIT.json, which `run.py` wrote, and results/engines-FRAMEWORK.json; the files of other runs are
removed. Without COMMIT it takes the one run that is there. What stands between `<!-- figures: NAME -->` and
`<!-- end of figures -->` in README.md here is written anew, and the numbers in the sentences that `SENTENCE` finds. The
documentation includes these tables. `tests/repository/test_readme.py` compares.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.harness import readable  # noqa: E402  (after the path of modules is set)
from benchmarks.speed import PICTURE, PROGRAMS, draw, times_of  # noqa: E402  (as above)

RESULTS = ROOT / "benchmarks" / "results"
TABLES = ROOT / "benchmarks" / "README.md"
SENTENCES = ROOT / "README.md", ROOT / "docs" / "index.md"
SENTENCE = re.compile(r"up to [\d,]+(\s)times as fast as JAX, in a dense network [\d.]+(\s)times")
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
NAMES = {"jax": "JAX", "torch": "PyTorch", "tensorflow": "TensorFlow", "pytensor": "PyTensor"}
LEVEL = 1.05  # how much slower than the best peer is still level with it


def runs() -> list[Path]:
    """The runs that are recorded: files named by a commit."""
    return [path for path in RESULTS.glob("*.json") if re.fullmatch(r"[0-9a-f]{7,}", path.stem)]


def recorded() -> dict[str, Any]:
    """The one run that is recorded."""
    (path,) = runs()
    return json.loads(path.read_text(encoding="utf-8"))


# -- text -------------------------------------------------------------------------------------------------------------


def files_with_figures(figures: dict[str, Any]) -> dict[Path, str]:
    """By file what it is when its figures are those of the run."""
    makes = {"rows": rows_text, "startup": startup_text, "engines": engines_text}
    texts = {PICTURE: draw(figures)}
    text = TABLES.read_text(encoding="utf-8")
    texts[TABLES] = BLOCK.sub(lambda found: f"{found[1]}{makes[found[2]](figures)}\n{found[3]}", text)
    most, dense = speed_in_words(figures)
    for path in SENTENCES:
        text = path.read_text(encoding="utf-8")
        texts[path] = SENTENCE.sub(rf"up to {most}\1times as fast as JAX, in a dense network {dense}\2times", text)
    return texts


def speed_in_words(figures: dict[str, Any]) -> tuple[str, str]:
    """The largest ratio to JAX's time, and that of the dense network."""
    ratios = {name: times["JAX"] / times["ours"] for name, times in times_of(figures).items()}
    return f"{max(r for r in ratios.values() if not math.isnan(r)):,.0f}", _ratio(ratios["mlp"])


def rows_text(figures: dict[str, Any]) -> str:
    """The table of the programs beside C and the best peer."""
    machine, commit = figures["machine"], figures["commit"]
    rows = [row for row in figures["rows"] if row["row"] in PROGRAMS]
    found = {row["row"]: [_case(case["times"]) for case in row["cases"]] for row in rows}
    labels = {row["row"]: [case["case"] for case in row["cases"]] for row in rows}
    slower = [
        f"{name} {label} ({_ratio(peer)}, {by})"
        for name, cases in found.items()
        for label, (_, _, peer, by) in zip(labels[name], cases, strict=True) if peer * LEVEL < 1
    ]  # fmt: skip
    lines = [
        f"**What was measured.** On a quiet machine with {machine['cores']} cores ({machine['processor']}), "
        f"{machine['threads']} thread, Python {machine['python']}, the clock on the",
        f"wall, medians of turns; all figures are in `results/{commit}.md`. The second column is Wengert's time over",
        "that of C, the third the best Python peer's over Wengert's.",
        "", "| row | ours | over C | best peer over ours |", "|---|---|---|---|",
        *[_table_line(name, labels[name], cases) for name, cases in found.items()],
        "", f"Where a peer is quicker by more than {LEVEL - 1:.0%}: {', '.join(slower) or 'nowhere'}.",
    ]  # fmt: skip
    return "\n".join(lines)


def _case(times: list[dict[str, Any]]) -> tuple[float, float, float, str]:
    """Ours in seconds, over C's, the best peer's over ours, and who that is; NaN where one did not run."""
    medians = {t["library"]: t["median"] for t in times if not t["error"]}
    ours = medians.get("wengert", math.nan)
    peers = {name: median for name, median in medians.items() if name not in ("C", "wengert")}
    best = min(peers, key=lambda name: peers[name], default="")
    return ours, ours / medians.get("C", math.nan), peers.get(best, math.nan) / ours, NAMES.get(best, best)


def _table_line(name: str, labels: list[str], cases: list[tuple[float, float, float, str]]) -> str:
    who = {by for *_, by in cases}
    peers = [_ratio(peer) + (f" ({by})" if len(who) > 1 else "") for _, _, peer, by in cases]
    by_all = f" ({next(iter(who))})" if len(who) == 1 and who != {""} else ""
    columns = (
        f"{name}, {' / '.join(labels)}", " / ".join(readable(ours) for ours, *_ in cases),
        " / ".join(_ratio(c) for _, c, *_ in cases), " / ".join(peers) + by_all,
    )  # fmt: skip
    return f"| {' | '.join(columns)} |"


def startup_text(figures: dict[str, Any]) -> str:
    """Seconds to the first gradient by library, and what the checkpoint policies of a long loop take."""
    by_name = {row["row"]: row for row in figures["rows"]}
    cases, loops = by_name["chain"]["cases"], by_name["loop_memory"]
    libraries = [t["library"] for t in cases[0]["times"]]
    lines = [
        "Seconds to the first gradient, the libraries' import left out:", "",
        f"| program | {' | '.join(NAMES.get(name, name) for name in libraries)} |", f"|---|{'---|' * len(libraries)}",
    ]  # fmt: skip
    for case in cases:
        cells = [t["error"] or f"{t['median']:.2f}" for t in case["times"]]
        lines.append(f"| {case['case']} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"The {loops['title']}: {'; '.join(_plain(note) for note in loops['notes'])}."])


def _plain(note: str) -> str:
    policy, _, rest = note.partition(": ")
    return f"`{policy}` {rest}"


def engines_text(figures: dict[str, Any]) -> str:
    """A line a program: Wengert's time on each framework's arrays over the framework's own."""
    files = {name: RESULTS / f"engines-{name}.json" for name in ("jax", "torch", "tensorflow")}
    found = {
        NAMES[name]: dict(_engine_ratios(json.loads(path.read_text(encoding="utf-8"))))
        for name, path in files.items() if path.is_file()
    }  # fmt: skip
    programs = dict.fromkeys(program for ratios in found.values() for program in ratios)
    lines = [f"| program | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    for program in programs:
        cells = [ratios.get(program, "–") for ratios in found.values()]
        lines.append(f"| {program} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _engine_ratios(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for row in found["rows"]:
        times = {t["library"]: t["median"] for t in row["times"] if not t["error"]}
        ours = [median for name, median in times.items() if name.startswith("wengert")]
        theirs = [median for name, median in times.items() if not name.startswith("wengert")]
        yield row["program"], _ratio(ours[0] / min(theirs)) if ours and theirs else "–"


def _ratio(ratio: float) -> str:
    if math.isnan(ratio):
        return "–"
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.{1 if ratio >= 2 else 2}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit", nargs="?", help="whose run; without, the one that is there")
    options = parser.parse_args()
    if options.commit is not None and not (RESULTS / f"{options.commit}.json").is_file():
        parser.error(f"there is no {(RESULTS / options.commit).relative_to(ROOT)}.json")
    for path in runs() if options.commit is not None else ():
        if path.stem != options.commit:
            for old in RESULTS.glob(f"{path.stem}*"):
                old.unlink()
    if len(runs()) != 1:
        parser.error(f"name one of the runs: {', '.join(path.stem for path in runs())}")
    for path, text in files_with_figures(recorded()).items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
