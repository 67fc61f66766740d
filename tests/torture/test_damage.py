"""A share of the damage tests: `python -m tests.torture damage` runs them at length, `make torture` all parts."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import zlib

import numpy as np
import pytest

import wengert as wg
from tests.support.guard_pages import IS_AVAILABLE
from tests.torture.changes import follow_types
from tests.torture.corpus import HEADER
from tests.torture.damage import damage
from wengert._prims.sorting import permute_along

X = np.linspace(0.2, 1.5, 6)


@pytest.mark.skipif(not IS_AVAILABLE, reason="pages are protected by mprotect")
def test_damaged_files_are_refused_or_stay_in_their_arrays():
    seed = int(os.environ.get("WENGERT_TORTURE_SEED", secrets.randbelow(10**6)))
    report = damage(seed, int(os.environ.get("WENGERT_TORTURE_COUNT", "150")))
    assert not report.findings, str(report)
    assert report.counts["refused"]
    assert report.counts["ran"]


def changed_file(function, arguments, path, change):
    """A saved function, with a change of its data, and types behind it as its ops give them."""
    traced = wg.function(function)
    traced(*arguments)
    wg.save(traced, path)
    content = path.read_bytes()
    _, size, _, _ = HEADER.unpack_from(content)
    data = json.loads(content[HEADER.size : HEADER.size + size])
    nodes = {node[0]: node for node in data["traces"][0]["traced"]["nodes"]}
    change(nodes)
    with contextlib.suppress(ValueError):  # a type rule refuses it already
        follow_types(data)
    text, body = json.dumps(data).encode(), content[HEADER.size + size :]
    head = HEADER.pack(b"WENGERT\x01", len(text), len(body), zlib.crc32(body, zlib.crc32(text)))
    path.write_bytes(head + text + body)
    return wg.load(path)


def ints(*values):
    return {"tuple": list(values)}


def attribute(op, place, value):
    return lambda nodes: nodes[op][2].__setitem__(place, value)


def written(x):
    b = wg.buffer(wg.zeros(8))
    b[1:7] = x
    return b[:]


CHANGES = {
    "a slice that ends behind its array": (lambda x: x[1:4], attribute("slice", 1, ints(40))),
    "a slice that starts before its array": (lambda x: x[1:4], attribute("slice", 0, ints(-30))),
    "a slice with a negative stride": (lambda x: x[1:4], attribute("slice", 2, ints(-1))),
    "a write behind a buffer": (
        written,
        attribute("buffer_set", 0, {"tuple": [{"tuple": [3, 9, 1]}]}),
    ),
    "a derivative of an order that takes for ever": (
        lambda x: wg.special.polygamma(2, x),
        attribute("polygamma", 0, 2**40),
    ),
    "more elements than places where they are added": (
        wg.grad(lambda x: wg.sum(wg.sort(x))),
        attribute("broadcast_to", 0, ints(9)),
    ),
    "zeros between elements, fewer than none": (lambda x: wg.pad(x, (1, 1)), attribute("pad", 2, ints(-2))),
    "windows without distance": (
        lambda x: wg.nn.max_pool(wg.reshape(x, (1, 6, 1)), 2),
        lambda nodes: nodes["window_argmax"][2].__setitem__(3, ints(-3)),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_attributes_that_leave_their_operands_are_refused(name, tmp_path):
    function, change = CHANGES[name]
    with pytest.raises(ValueError, match="not a saved function"):
        changed_file(function, [X], tmp_path / "f", change)


def test_more_steps_than_rows_are_an_error(tmp_path):
    def more(nodes):
        nodes["full"][2][1] = 4000

    f = lambda x: wg.scan(lambda c, e: (c + e, c * e), x[0] * 1, x)
    loaded = changed_file(f, [X], tmp_path / "f", more)
    with pytest.raises(ValueError, match="steps"):
        loaded(X)


def test_an_index_that_is_no_permutation_is_an_error():
    f = wg.function(lambda x, i: permute_along(x, i, axis=0))
    assert f(X, np.array([5, 4, 3, 2, 1, 0])).tolist() == X[::-1].tolist()
    with pytest.raises(IndexError):
        f(X, np.array([5, 4, 3, 2, 1, 600]))
