"""Who hears of reads and writes of Variables and buffers: classes of one protocol, `Observer`."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert._core.recorder import Observer
from wengert._core.state import observing_reads

TOLD = {"on_read", "on_write", "on_standing"}


class Noting(Observer):
    def __init__(self) -> None:
        self.read: list[Any] = []

    def on_read(self, variable: Any, tensor: wg.Tensor) -> None:
        self.read.append((variable, float(tensor)))


def test_an_observer_of_reads_need_not_say_what_it_does_about_writes() -> None:
    v, buffer = wg.Variable(2.0), wg.buffer(np.zeros(2))
    with observing_reads(Noting()) as noting:
        _ = v.value
        buffer[0] = 1.0
    assert noting.read == [(v, 2.0)]


def test_every_class_that_hears_of_reads_is_an_observer() -> None:
    others = [
        f"{path.name}: {node.name}"
        for path in Path(wg.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name != "Observer"
        and TOLD & {f.name for f in node.body if isinstance(f, ast.FunctionDef)}
        and "Observer" not in {b.id for b in node.bases if isinstance(b, ast.Name)}
    ]  # fmt: skip
    assert not others
