"""What one backend of Keras says of the calls in `tests/support/vocabulary_cases.py`.

`KERAS_BACKEND=jax python tests/spec/record_keras.py FILE` writes FILE (.npz): the arrays of each result, by the case's
name and their place, and the error of a call that fails. `make_keras_values.py` joins the files of two backends.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("JAX_ENABLE_X64", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import keras
import numpy as np
from keras import ops

from tests.support.vocabulary_cases import CASES, Case, Program


def built(value: Any) -> Any:
    """An argument as Keras takes it: floating arrays keep their width, functions are built."""
    if isinstance(value, Program):
        return value.build(ops)
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Program, np.ndarray, list, tuple)) for v in value):
        return type(value)(built(v) for v in value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return ops.convert_to_tensor(value)
    return value


def call(case: Case) -> list[Any]:
    f: Any = ops
    for part in case.op.split("."):
        f = getattr(f, part)
    result = f(*map(built, case.args), **{k: built(v) for k, v in case.kwargs.items()})
    return leaves(result)


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    return [np.asarray(ops.convert_to_numpy(result) if keras.ops.is_tensor(result) else result)]


def main(target: str) -> None:
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    for case in CASES:
        try:
            for place, array in enumerate(call(case)):
                found[f"{case.name}|{place}"] = array
        except Exception as error:
            found[f"{case.name}|error"] = np.array(f"{type(error).__name__}: {str(error)[:160]}")
    np.savez_compressed(target, **found)


if __name__ == "__main__":
    main(sys.argv[1])
