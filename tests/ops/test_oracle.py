"""The vocabulary against values and gradients recorded with Keras on TensorFlow and verified by differences.

The records are `tests/spec/oracle.json`. A record's loss is the sum of its weights times the outputs.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import wengert as wg
from tests.support.paths import SPEC
from tests.support.records import array_of
from tests.support.records import decoded as decoded_for
from wengert import ops

RECORDS = json.loads((SPEC / "oracle.json").read_text())["records"]

# here Keras took a constant (a slope of 0.2, the logarithm of 2) in float32
FLOAT32_CONSTANTS = {
    "leaky_relu/0", "leaky_relu/2", "logaddexp2/0", "quantile/2", "quantile/4", "percentile/0",
    "nanquantile/0", "nanpercentile/0", "dot_product_attention/0", "dot_product_attention/2", "dot_product_attention/4",
}  # fmt: skip


def decoded(value):
    """An argument; functions are evaluated with our ops."""
    return decoded_for(value, ops)


def kind(dtype):
    """The kind of a dtype: which width it has is NumPy's business (decision 14)."""
    return {"u": "i"}.get(np.dtype(dtype).kind, np.dtype(dtype).kind)


def tolerance(record):
    if record.get("float32_inside"):
        return 2e-4
    if record["id"] in FLOAT32_CONSTANTS:
        return 1e-7
    return 1e-5 if record["variant"] == "float32" else 1e-9


def named(name):
    """The op of a name, which may be that of a namespace and an op; None if it is not there."""
    found = ops
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def call(record, args, kwargs):
    name = record["op"]
    if name == "custom_gradient":
        result = wg.custom_gradient(args[0])(*args[1:])
    elif name == "vectorize":
        result = ops.vectorize(args[0], **kwargs)(*args[1:])
    elif name == "is_tensor":
        result = ops.is_tensor(wg.tensor(args[0]))
    else:
        result = named("get_item" if name == "subset" else name)(*args, **kwargs)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def placed(args, kwargs, path, value):
    """The arguments with one leaf replaced."""
    root = {"args": list(args), "kwargs": dict(kwargs)}
    parent = root
    for step in path[:-1]:
        child = parent[step]
        copy = list(child) if isinstance(child, (list, tuple)) else dict(child)
        parent[step] = copy
        parent = copy
    parent[path[-1]] = value
    return root["args"], root["kwargs"]


def leaf(args, kwargs, path):
    value = {"args": args, "kwargs": kwargs}
    for step in path:
        value = value[step]
    return value


def loss_of(record, args, kwargs):
    total = 0.0
    transforms = record.get("loss_transform") or ["id"] * len(record["weights"])
    for output, weight, transform in zip(call(record, args, kwargs), record["weights"], transforms):
        if weight is None or transform == "skip":
            continue
        w = decoded(weight)
        output = ops.abs(output) if transform == "abs" else output
        if np.iscomplexobj(w):
            total = total + ops.sum(ops.real(output) * w.real) + ops.sum(ops.imag(output) * w.imag)
        else:
            total = total + ops.sum(output * w)
    return total


def gradients(record, args, kwargs):
    leaves = [leaf(args, kwargs, path) for path in record["diff"]]

    def loss(*values):
        new_args, new_kwargs = args, kwargs
        for path, value in zip(record["diff"], values):
            new_args, new_kwargs = placed(new_args, new_kwargs, path, value)
        return loss_of(record, new_args, new_kwargs)

    floats = [float(v) if isinstance(v, (int, float)) else v for v in leaves]
    return wg.grad(loss, argnums=tuple(range(len(leaves))), unconnected_gradients="zero")(*floats)


@pytest.mark.skipif(not RECORDS, reason="oracle.json does not lie beside this checkout")
def test_every_recorded_op_is_there():
    assert {r["op"] for r in RECORDS if named(r["op"]) is None} == {"subset"}  # which is get_item here


def values_of(result):
    return np.asarray(result.numpy() if isinstance(result, wg.Tensor) else result)


def computed(record, args, kwargs):
    """The results of a record's op, and the gradients of its loss (none where the record has none)."""
    return call(record, args, kwargs), gradients(record, args, kwargs) if record.get("diff") else ()


def check(record, results, found, read=values_of):
    """What a record says of results and gradients holds; `read` makes ndarrays of them."""
    rtol = tolerance(record)
    transforms = record.get("loss_transform") or ["id"] * len(results)
    for result, wanted, transform in zip(results, record["outputs"], transforms, strict=True):
        if not isinstance(wanted, dict):
            assert result == wanted or str(result) == wanted
            continue
        values = read(result)
        assert values.shape == tuple(wanted["shape"])
        assert kind(values.dtype) == kind(wanted["dtype"].replace("bfloat16", "float32"))
        if not record.get("shape_only"):
            loose = max(rtol, 1e-5) if wanted["dtype"] in ("float32", "complex64", "float16", "bfloat16") else rtol
            seen = np.abs if transform == "abs" else np.asarray  # signs of vectors are free
            np.testing.assert_allclose(seen(values), seen(array_of(wanted)), rtol=loose, atol=loose)
    for gradient, wanted, path in zip(
        found, record["grads"] if found else (), record["diff"] if found else (), strict=True
    ):
        g, w = read(gradient), np.asarray(decoded(wanted))
        if record.get("symmetric_inputs"):
            g = (g + np.swapaxes(g, -1, -2)) / 2
        scale = max(1.0, float(np.max(np.abs(w), initial=0.0)))
        fd_rtol = max(rtol, 1e-6) if record["fd"]["status"] in ("fd_only", "tf_wrong_fd_used") else rtol
        np.testing.assert_allclose(g, w, rtol=fd_rtol * 10, atol=fd_rtol * scale * 10, err_msg=str(path))


@pytest.mark.skipif(not RECORDS, reason="oracle.json does not lie beside this checkout")
@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in RECORDS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_record(record):
    check(record, *computed(record, decoded(record["args"]), decoded(record["kwargs"])))
