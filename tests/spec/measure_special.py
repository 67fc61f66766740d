"""Writes docs/accuracy.tsv: the largest errors of special functions at the recorded points, which their pages state.

Run it as `python tests/spec/measure_special.py` after a change of a function or of the points. An error is rounded up to 1, 2
or 5 times a power of ten, so that another version of SciPy, which differs in the last place, does not make it wrong.
"""

from __future__ import annotations

import math
import pathlib
import sys

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.support.special_accuracy import measured, samples

FILE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "accuracy.tsv"
COLUMNS = ("value", "gradient", "second", "value in float32", "gradient in float32", "second in float32")


def rounded_up(error: float) -> int:
    if error <= 1:
        return 1
    power = 10 ** math.floor(math.log10(error))
    return next(step * power for step in (1, 2, 5, 10) if error <= step * power)


def main() -> None:
    counts: dict[str, int] = {}
    for sample in samples():
        counts[sample.function] = counts.get(sample.function, 0) + len(sample.wanted)
    lines = ["\t".join(["function", "numbers", *COLUMNS])]
    for name, row in sorted(measured().items()):
        cells = [str(rounded_up(row[column])) if column in row else "" for column in COLUMNS]
        lines.append("\t".join([name, str(counts[name]), *cells]))
    FILE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
