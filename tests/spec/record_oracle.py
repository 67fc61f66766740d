"""Records the values and gradients in `oracle.json` again, with Keras, and says where the file has something else.

    python tests/spec/record_oracle.py [--write] [id ...]                   # on TensorFlow: all but three records
    KERAS_BACKEND=jax python tests/spec/record_oracle.py [--write] [id ...]  # those whose `source` is Keras on JAX

Run with a Python that has Keras and the backend. The inputs, weights and remarks of a record are the file's own, chosen
by hand: this fills in `outputs` and `grads`. A gradient is TensorFlow's, zeros where it has none (`tf_grad_none`), and
must agree with fourth-order central differences of the same op. Where TensorFlow has no gradient or a wrong one
(`fd.status` is `fd_only` or `tf_wrong_fd_used`), the differences are the record. Keras's `sparsemax` is wrong: its record
is computed here from the definition.

`--write` puts numbers that left their tolerance into the file, and leaves alone what differs in its last digits.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("JAX_ENABLE_X64", "1")

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import keras
import numpy as np
from keras import ops

from tests.support.records import array_of, decoded

BACKEND = keras.backend.backend()
if BACKEND == "jax":
    import jax
else:
    import tensorflow as tf

FILE = Path(__file__).with_name("oracle.json")
CORRECTED = {"fd_only", "tf_wrong_fd_used"}
Record = dict[str, Any]


# -- the file's forms -------------------------------------------------------------------------------------------------


def spelt(data: Any) -> Any:
    """Nested lists with NaN and infinities as strings."""
    if isinstance(data, list):
        return [spelt(d) for d in data]
    return data if not isinstance(data, float) or np.isfinite(data) else str(data)


def encoded(array: np.ndarray) -> dict[str, Any]:
    form: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.dtype.kind == "c":
        return form | {"re": spelt(array.real.tolist()), "im": spelt(array.imag.tolist())}
    return form | {"data": spelt(array.tolist())}


# -- one record, run --------------------------------------------------------------------------------------------------


def placed(tree: Any, path: Sequence[Any], value: Any) -> Any:
    """The tree with one leaf replaced."""
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = placed(tree[path[0]], path[1:], value)
    return tuple(copy) if isinstance(tree, tuple) else copy


def leaf(tree: Any, path: Sequence[Any]) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def as_tensors(value: Any) -> Any:
    """Arrays of floats as tensors: Keras would make float32 of some."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return ops.convert_to_tensor(value, dtype=value.dtype.name)
    if isinstance(value, (list, tuple)):
        return type(value)(as_tensors(v) for v in value)
    return value


def call(record: Record, inputs: dict[str, Any]) -> list[Any]:
    """The outputs of the record's op; forms that stand for calls with functions are in the file's description."""
    name, args, kwargs = (
        record["op"],
        as_tensors(inputs["args"]),
        {k: as_tensors(v) for k, v in inputs["kwargs"].items()},
    )
    if name == "sparsemax" and "reference" in record.get("source", ""):
        result = sparsemax(args[0])
    elif name in ("custom_gradient", "vectorize"):
        result = getattr(ops, name)(args[0], **kwargs)(*args[1:])
    elif name == "cond":
        predicate, then, otherwise, *rest = args
        result = ops.cond(ops.convert_to_tensor(predicate), lambda: then(*rest), lambda: otherwise(*rest))
    elif name == "is_tensor":
        result = ops.is_tensor(ops.convert_to_tensor(args[0]))
    elif name in ("get_item", "subset"):
        result = ops.get_item(*args)
    else:
        found: Any = ops
        for part in name.split("."):
            found = getattr(found, part)
        result = found(*args, **kwargs)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def sparsemax(x: Any) -> Any:
    """By its definition: the point of the simplex nearest to x (Martins and Astudillo, 2016)."""
    ordered = -ops.sort(-x, axis=-1)
    count = ops.cast(ops.arange(1, x.shape[-1] + 1), x.dtype)
    sums = ops.cumsum(ordered, axis=-1)
    inside = ops.cast(1 + count * ordered > sums, x.dtype)
    support = ops.sum(inside, axis=-1, keepdims=True)
    threshold = (ops.sum(inside * ordered, axis=-1, keepdims=True) - 1) / support
    return ops.relu(x - threshold)


def loss(record: Record, inputs: dict[str, Any]) -> Any:
    """The weighted sum of the outputs that the gradients are of, in float64."""
    total = ops.convert_to_tensor(0.0, dtype="float64")
    transforms = record.get("loss_transform") or ["id"] * len(record["weights"])
    for output, weight, transform in zip(call(record, inputs), record["weights"], transforms, strict=True):
        if weight is None or transform == "skip":
            continue
        w = array_of(weight)
        output = ops.abs(output) if transform == "abs" else output
        parts = [(ops.real(output), w.real), (ops.imag(output), w.imag)] if w.dtype.kind == "c" else [(output, w)]
        for part, share in parts:
            total = total + ops.sum(ops.cast(part, "float64") * as_tensors(share.astype("float64")))
    return total


def by_backend(f: Callable[..., Any], values: list[np.ndarray]) -> list[Any]:
    """The gradients of f as the backend has them, None where it sees no connection."""
    if BACKEND == "jax":
        return [np.asarray(g) for g in jax.grad(f, argnums=tuple(range(len(values))))(*map(as_tensors, values))]
    tensors = [as_tensors(v) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = f(*tensors)
    return [None if g is None else tf.convert_to_tensor(g).numpy() for g in tape.gradient(value, tensors)]


def by_differences(f: Callable[..., Any], values: list[np.ndarray], h: float) -> list[np.ndarray]:
    """The gradients of f by fourth-order central differences."""
    slopes = []
    for place, value in enumerate(values):
        slope = np.zeros_like(value)
        for index in np.ndindex(value.shape):
            for unit in (1.0, 1j) if value.dtype.kind == "c" else (1.0,):

                def at(steps: int, place: int = place, index: Any = index, unit: complex = unit) -> float:
                    moved = [v.copy() for v in values]
                    moved[place][index] += steps * h * unit
                    return float(f(*moved))

                slope[index] += unit * (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
        slopes.append(slope)
    return slopes


def gradients(record: Record, inputs: dict[str, Any]) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
    """What the record should hold, and the differences that confirm it (None for the narrow variants)."""
    values = [np.asarray(leaf(inputs, path)) for path in record["diff"]]
    values = [v.astype("float64") if v.dtype.kind not in "fc" else v for v in values]

    def f(*leaves: Any) -> Any:
        moved = inputs
        for path, value in zip(record["diff"], leaves, strict=True):
            moved = placed(moved, path, value)
        return loss(record, moved)

    status, step = record["fd"]["status"], record["fd"].get("h")
    differences = by_differences(f, values, step) if step else None
    found: list[Any] = differences if status in CORRECTED and differences else by_backend(f, values)
    found = [np.zeros_like(v) if g is None else g for g, v in zip(found, values, strict=True)]
    if record.get("symmetric_inputs"):
        found = [(g + np.swapaxes(g, -1, -2)) / 2 for g in found]
        differences = differences and [(g + np.swapaxes(g, -1, -2)) / 2 for g in differences]
    return found, differences


# -- what was found, against the file ---------------------------------------------------------------------------------


def distance(found: Any, wanted: Any) -> float:
    """The largest difference, as a share of the largest number (of 1 for small ones); infinite for other kinds of value."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape or not np.array_equal(np.isfinite(found), np.isfinite(wanted)):
        return float("inf")
    finite = np.isfinite(wanted)
    if not np.array_equal(found[~finite], wanted[~finite], equal_nan=True):
        return float("inf")
    scale = max(1.0, float(np.max(np.abs(wanted[finite]), initial=0.0)))
    return float(np.max(np.abs(found[finite].astype(complex) - wanted[finite]), initial=0.0)) / scale


def tolerance(record: Record, dtype: str) -> float:
    """Of what is recorded again: the digits that the arithmetic has, not those that a test may ask for."""
    if record.get("float32_inside") or dtype in ("float32", "complex64"):
        return 1e-5  # sums in float32 may be in another order
    return {"float16": 1e-3, "bfloat16": 1e-2}.get(dtype, 1e-11)


def recorded_again(record: Record, problems: list[str]) -> float:
    """Puts what has left its tolerance into the record and says so; the largest distance."""
    inputs = {"args": decoded(record["args"], ops), "kwargs": decoded(record["kwargs"], ops)}
    transforms = record.get("loss_transform") or ["id"] * len(record["outputs"])
    worst = 0.0

    def compare(what: str, place: int, found: np.ndarray, compared: Callable[[Any], Any], limit: float) -> None:
        nonlocal worst
        wanted = array_of(record[what][place])
        far = distance(compared(found), compared(wanted))
        worst = max(worst, far)
        if far > limit:
            problems.append(f"{record['id']}: {what}[{place}] is {far:.2g} off, more than {limit:.0e}")
            record[what][place] = encoded(found)

    for place, (output, transform) in enumerate(zip(call(record, inputs), transforms, strict=True)):
        wanted = record["outputs"][place]
        if not isinstance(wanted, dict):
            if output != wanted and str(output) != wanted:
                problems.append(f"{record['id']}: outputs[{place}] is {output}, not {wanted}")
            continue
        found = ops.convert_to_numpy(ops.cast(output, "float32") if wanted["dtype"] == "bfloat16" else output)
        if list(found.shape) != wanted["shape"] or keras.backend.standardize_dtype(output.dtype) != wanted["dtype"]:
            problems.append(f"{record['id']}: outputs[{place}] is {output.dtype} of shape {found.shape}")
        if record.get("shape_only"):
            continue
        free = np.abs if transform == "abs" else np.asarray  # signs of vectors are free
        compare("outputs", place, found, free, tolerance(record, wanted["dtype"]))
    if not record.get("diff"):
        return worst
    found, differences = gradients(record, inputs)
    corrected = record["fd"]["status"] in CORRECTED
    for place, gradient in enumerate(found):
        # differences of float32 numbers have few digits
        rough = (1e-3 if record.get("float32_inside") else 1e-8) if corrected else 0.0
        limit = max(tolerance(record, record["grads"][place]["dtype"]), rough)
        compare("grads", place, gradient, np.asarray, limit)
        if differences is not None and not corrected:
            far = distance(gradient, differences[place])
            if far > 10 * record["fd"]["tol"]:
                problems.append(f"{record['id']}: grads[{place}] is {far:.2g} off central differences")
    return worst


def is_of_this_backend(record: Record) -> bool:
    return ("jax backend" in record.get("source", "")) == (BACKEND == "jax")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the numbers that differ into the file")
    parser.add_argument("ids", nargs="*", help="the records to run (default: all of this backend)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    content = json.loads(FILE.read_text(encoding="utf-8"))
    records = [r for r in content["records"] if is_of_this_backend(r) and (not options.ids or r["id"] in options.ids)]
    problems: list[str] = []
    far: dict[str, list[float]] = {}
    for record in records:
        try:
            largest = recorded_again(record, problems)
        except Exception as error:
            problems.append(f"{record['id']}: {type(error).__name__}: {str(error)[:200]}")
            continue
        narrow = "float32" if record["variant"] == "float32" or record.get("float32_inside") else "float64"
        if record.get("fd", {}).get("status") in CORRECTED:
            narrow = "differences"
        far.setdefault(narrow, []).append(largest)
    print(*problems, sep="\n")
    for name, distances in far.items():
        print(f"{name}: {len(distances)} records, at most {max(distances):.2g} off")
    print(f"{len(records)} records of Keras {keras.__version__} on {BACKEND}, {len(problems)} differences")
    if options.write and problems:
        FILE.write_text(json.dumps(content), encoding="utf-8")
    sys.exit(bool(problems) and not options.write)


if __name__ == "__main__":
    main()
