"""What the pages of special functions say of their errors: the measurements in docs/accuracy.tsv.

`python tests/spec/measure_special.py` makes the file; a test finds a statement that is too small.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from .catalogue import PublicOp
from .writing import table

FILE = Path(__file__).resolve().parents[1] / "accuracy.tsv"
UNIT = (
    "The largest errors at {numbers} recorded numbers over the whole domain, denormal and huge arguments and\n"
    "neighbours of poles and zeros among them, beside references of more than 40 digits. One unit is 2.2e-16 (in\n"
    "float32 1.2e-7) of the number, or of how much it moves where the arguments move by their own sizes, if that is\n"
    "more: near a zero, and far out, the rounding of the arguments alone makes so much. Numbers below the smallest\n"
    "normal one count as 0.\n"
)
OF_SHARES = "Here it is at least that of 1, since the shares of a sum are rounded beside it.\n"


def rows() -> dict[str, dict[str, str]]:
    """The table by the function's name in `wg.special`."""
    text = io.StringIO(FILE.read_text(encoding="utf-8"))
    return {row["function"]: row for row in csv.DictReader(text, delimiter="\t")}


def accuracy(op: PublicOp) -> str:
    """The section of an op's page; empty where nothing was measured."""
    names = [path.removeprefix("special.") for path in (op.path, *op.aliases) if path.startswith("special.")]
    found = [row for name, row in rows().items() if name in names]
    if not found:
        return ""
    (row,) = found
    lines = [
        (kind, *(f"{row[column]} units" if row[column] else "" for column in (key, f"{key} in float32")))
        for kind, key in (("Value", "value"), ("First derivatives", "gradient"), ("Second derivatives", "second"))
        if row[key]
    ]
    text = UNIT.format(numbers=row["numbers"])
    if row["function"] in ("softmax", "log_softmax", "logsumexp"):
        text += OF_SHARES
    return "\n".join([text, table(("", "float64", "float32"), lines, ":widths: 40 30 30")])
