"""Joins what Keras's backends say (`record_keras.py`) into `keras_values.npz`, for `tests/ops/test_vocabulary.py`.

`python tests/spec/make_keras_values.py tensorflow.npz torch.npz jax.npz`, with a Python that has Wengert. Of each result
the file has the numbers, or six weighted sums of many, from the first backend that agrees with us; where none does, from the
first that has the op, and `tests/ops/test_vocabulary.py` says who is right. Calls that Keras refuses are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from tests.support.vocabulary_cases import CASES  # noqa: E402  # found by the path above
from tests.support.vocabulary_checks import agree, plain_results, told  # noqa: E402  # as above


def read(name: str) -> dict[str, dict[str, Any]]:
    """The results of each case, by their places."""
    found: dict[str, dict[str, Any]] = {}
    with np.load(name) as archive:
        for key in archive.files:
            case, _, place = key.rpartition("|")
            found.setdefault(case, {})[place] = archive[key]
    return found


def main(names: list[str]) -> None:
    np.seterr(all="ignore")
    backends = {Path(name).stem: read(name) for name in names}
    index: list[Any] = []
    numbers: list[Any] = []
    for case in CASES:
        ours = plain_results(case)
        having = [
            (b, told_by[case.name])
            for b, told_by in backends.items()
            if "error" not in told_by.get(case.name, {"error": 0})
        ]
        if not having:
            continue
        lists = [(b, [said[str(i)] for i in range(len(said))]) for b, said in having]
        backend, results = next(((b, r) for b, r in lists if agree(case, ours, [told(case, x) for x in r])), lists[0])
        entries = []
        for result in results:
            entry = told(case, result)
            entries.append([list(entry.shape), entry.kind, entry.is_narrow, len(entry.numbers)])
            numbers.append(entry.numbers)
        index.append([case.name, backend, entries])
    text = np.frombuffer(json.dumps(index, separators=(",", ":")).encode(), np.uint8)
    np.savez_compressed(HERE / "keras_values.npz", index=text, numbers=np.concatenate(numbers))
    print(f"{len(index)} calls of {len({case.op for case in CASES})} ops")


if __name__ == "__main__":
    main(sys.argv[1:])
