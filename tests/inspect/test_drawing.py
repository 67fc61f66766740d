"""`Graph.to_dot`, `Graph.to_svg` and `_repr_html_`: well-formed, complete, and laid out without overlap."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

import wengert as wg
from wengert.inspect.layout import place

SVG = "{http://www.w3.org/2000/svg}"


def model(x: Any, w: Any) -> Any:
    return wg.sum(wg.tanh(x @ w) ** 2)


GRAPH = wg.function(wg.value_and_grad(model), name='a <model> & "more"').trace(np.ones((3, 4)), np.ones((4, 2)))


def test_svg_shows_every_sort_of_box_and_escapes() -> None:
    picture = ElementTree.fromstring(GRAPH.to_svg())
    words = {t.text for t in picture.iter(f"{SVG}text")}
    assert {"tanh", "matmul", "float64[3, 4]", "result 0", "result 1"} <= words
    assert any("a <model> &" in (w or "") for w in words)
    assert {"input", "op", "op gradient", "output"} <= {g.get("class") for g in picture.iter(f"{SVG}g")}
    assert any("wg.tanh(x @ w)" in (t.text or "") for t in picture.iter(f"{SVG}title"))


def test_text_stays_in_its_box() -> None:
    for group in ElementTree.fromstring(GRAPH.to_svg()).iter(f"{SVG}g"):
        if group.find(f"{SVG}title") is None:
            continue
        width = float(group.findall(f"{SVG}rect")[-1].attrib["width"])
        for text in group.findall(f"{SVG}text"):
            size = 12 if text.get("class") == "t" else 11
            assert len(text.text or "") * size * 0.602 <= width


def test_boxes_of_a_layer_do_not_overlap_and_edges_lead_down() -> None:
    layout = place([(60.0, 40.0)] * 8, [[], [], [0, 1], [0], [2, 3], [0, 4], [1], [5, 6]])
    for a in layout.vertices:
        for b in layout.vertices:
            if a is not b and a.layer == b.layer:
                assert abs(a.x - b.x) >= (a.width + b.width) / 2 - 1e-6
    assert all(layout.vertices[b].layer == layout.vertices[a].layer + 1 for a, b in layout.edges)


def test_large_graphs_fold_and_notebooks_get_something() -> None:
    def f(x: Any) -> Any:
        for _ in range(60):
            x = wg.sin(wg.reshape(wg.reshape(x, (2, 3)), (6,)))
        return x

    graph = wg.function(f).trace(np.ones(6))
    assert "reshape · reshape" in graph.to_svg()
    assert GRAPH._repr_html_().startswith("<div")


def test_dot_has_a_line_for_each_box_and_edge() -> None:
    text = GRAPH.to_dot()
    assert text.startswith('digraph "a <model> & \\"more\\"" {')
    assert "tanh" in text
    assert re.search(r"n\d+ -> n\d+;", text)


def test_an_empty_graph_is_a_picture_too() -> None:
    ElementTree.fromstring(wg.Graph("empty").to_svg())
