"""`Function.report` and `wengert profile`: what ran where, why, and what it cost."""

from __future__ import annotations

import ctypes
import gc
import html.parser
import inspect
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.op import REGISTRY
from wengert._core.printer import held_by
from wengert._engines.native.engine import is_on
from wengert._engines.native.plan import support
from wengert._engines.native.run import memory
from wengert._passes import optimise
from wengert.cli import main
from wengert.inspect import report as report_module
from wengert.inspect.report import LIBRARY, MACHINE_CODE, NUMPY, Report

pytestmark = pytest.mark.skipif(not is_on(), reason="there is no compiler to report of")


def doubled(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return 2 * x


# a kernel of the user's is never machine code, whatever the compiler learns
on_host = wg.primitive("report_doubled", spec=lambda x: x, numpy=doubled, vjp=lambda ct, out, x: (2 * ct,))


def mixed(x: Any) -> Any:
    y = np.tanh(x @ x.T)
    z = on_host(y)
    return np.exp(z).sum()


def parts_of(report: Report, by: str) -> list[Any]:
    return [part for part in report.parts if part.by == by]


def test_each_part_has_its_line_and_what_runs_it() -> None:
    report = wg.function(mixed).report(np.ones((4, 3)))
    (host,) = parts_of(report, NUMPY)
    assert host.ops == ("report_doubled",) and host.source == "z = on_host(y)" and host.why
    assert host.line == f"{__file__}:{mixed.__code__.co_firstlineno + 2}"
    assert host.bytes == 2 * 4 * 4 * 8 and host.flops == 16
    native = parts_of(report, MACHINE_CODE)
    assert {part.source for part in native} == {"y = np.tanh(x @ x.T)", "return np.exp(z).sum()"}
    first = next(part for part in native if "tanh" in part.ops)
    assert first.flops >= 2 * 4 * 4 * 3 + 16 and not first.is_least
    assert report.seconds > 0 and all(part.seconds > 0 for part in report.parts)
    assert abs(sum(report.by().values()) - 1) < 1e-9


def test_what_an_op_is_expanded_into_has_its_line() -> None:
    def f(x: Any) -> Any:
        return wg.sum(wg.linalg.norm(wg.reshape(x, (-1, 2)), axis=1))

    program = wg.function(f)
    program(np.arange(8.0))
    report = program.report(np.arange(8.0))
    first = f.__code__.co_firstlineno
    assert {line.partition(":")[2] for line in re.findall(r"test_report.py:\d+", str(report))} == {str(first + 1)}


def squares(x: Any) -> Any:
    y = np.sin(x)
    return (y**2).sum()


@pytest.mark.parametrize(
    ("derivative", "argument"),
    [
        (wg.grad(squares), np.ones(5)),
        (wg.grad(lambda x: wg.grad(squares)(x).sum()), np.ones(5)),
        (wg.vmap(wg.grad(squares)), np.ones((3, 5))),
        (wg.hessian(squares), np.ones(5)),
        (wg.jacobian(lambda x: squares(x) * x, mode="forward"), np.ones(5)),
    ],
    ids=["gradient", "second order", "vmap", "hessian", "forward"],
)
def test_derivatives_of_a_line_are_told_with_it(derivative: Any, argument: Any) -> None:
    report = wg.function(derivative).report(argument)
    first = squares.__code__.co_firstlineno
    of_lines = {
        p.line.rpartition(":")[2]: p for p in report.parts if p.source in ("y = np.sin(x)", "return (y**2).sum()")
    }
    assert {*of_lines} <= {str(first + 1), str(first + 2)}
    assert "cos" in of_lines[str(first + 1)].ops
    told = sum(part.seconds for part in of_lines.values())
    assert told > 0.5 * sum(part.seconds for part in report.parts)


def lines_of(f: Any) -> dict[str, int]:
    """The lines of a function's source, by what they say."""
    source, first = inspect.getsourcelines(f)
    return {line.strip(): first + k for k, line in enumerate(source)}


def tangled(x: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        c = wg.cond(c.sum() > 0, lambda v: np.sin(v) * x, lambda v: np.exp(v) - x, c)
        return c * t, c.sum()

    last, sums = wg.scan(step, x, np.linspace(0.5, 1.0, 4))
    ended = wg.while_loop(lambda v: (v * v).sum() > 1.0, lambda v: v * 0.5 * np.cos(x), last)
    return np.cumsum(ended * sums.sum())


def summed(x: Any) -> Any:
    return tangled(x).sum()


def nodes_within(graph: wg.Graph) -> Iterator[Any]:
    for node in graph.nodes:
        yield node
        for program in held_by(node):
            yield from nodes_within(optimise(program.graph))


@pytest.mark.parametrize(
    ("derivative", "argument"),
    [
        (wg.grad(summed), np.ones(5)),
        (wg.jacobian(tangled, mode="reverse"), np.ones(5)),
        (wg.jacobian(tangled, mode="forward"), np.ones(5)),
        (wg.hessian(summed), np.ones(5)),
        (wg.vmap(wg.grad(summed)), np.ones((3, 5))),
        (wg.vmap(tangled), np.ones((3, 5))),
    ],
    ids=["gradient", "reverse", "forward", "hessian", "vmap of gradient", "vmap"],
)
def test_what_derivatives_and_batches_make_of_loops_and_branches_has_the_users_lines(
    derivative: Any, argument: Any
) -> None:
    lines = {*lines_of(tangled).values(), *lines_of(summed).values()}
    nodes = nodes_within(optimise(wg.function(derivative).trace(argument)))
    worked = [node for node in nodes if node.inputs and node.op.facts.cost != "free"]
    assert len(worked) > 20
    assert {node.op.name for node in worked if node.site is None or node.site.lineno not in lines} == set()


def test_what_a_rule_of_the_users_makes_has_its_own_line() -> None:
    @wg.custom_gradient
    def rule(x: Any) -> Any:
        def pulled(upstream: Any) -> Any:
            return upstream * np.cosh(x)

        return np.sin(x), pulled

    def loss(x: Any) -> Any:
        return rule(x * x).sum()

    report = wg.function(wg.grad(loss)).report(np.ones(5))
    assert "cosh" in next(p for p in report.parts if p.source == "return upstream * np.cosh(x)").ops
    assert {*next(p for p in report.parts if p.source == "return rule(x * x).sum()").ops} == {"mul", "add"}


def test_a_backward_pass_that_leaves_its_loop_names_the_op_and_warns() -> None:
    def printed(x: Any) -> Any:
        wg.debug_print("forward {}", x)
        return x

    def stepped(x: Any) -> Any:
        return wg.scan(lambda c, t: (printed(np.tanh(c)) * t, c.sum()), x, np.arange(5.0))[1].sum()

    with pytest.warns(RuntimeWarning, match="debug_print in it has no machine code"):
        report = wg.function(wg.grad(stepped)).report(np.ones(3))
    (back,) = [p for p in parts_of(report, NUMPY) if "loop_back" in p.ops]
    assert "debug_print" in back.ops
    assert back.why == f"debug_print: {support.HANDED['debug_print']}"


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_a_frameworks_program_is_told_by_line(framework: str) -> None:
    module = pytest.importorskip({"jax": "jax.numpy", "torch": "torch"}[framework], reason="not installed")

    def wave(x: Any) -> Any:
        y = wg.sin(x) * x
        return wg.sum(y)

    report = wg.function(wg.grad(wave)).report(module.ones(10))
    assert {*report.by()} == {framework}
    assert all(part.is_shared for part in report.parts)
    assert "cos" in next(p for p in report.parts if p.source == "y = wg.sin(x) * x").ops


def test_functions_of_libraries_are_named() -> None:
    def fitted(a: Any) -> Any:
        return np.linalg.cholesky(a).sum()

    report = wg.function(fitted).report(np.eye(100) * 2.0)
    (part,) = parts_of(report, LIBRARY)
    assert "lapack.dpotrf" in part.why and "cholesky" in part.ops


def test_a_loop_is_told_of_by_the_op_that_it_leaves_for() -> None:
    def printed(x: Any) -> Any:
        wg.debug_print("{}", x)
        return x

    def stepped(x: Any) -> Any:
        return wg.scan(lambda c, t: (printed(c) * t, c.sum()), x, np.arange(5.0))[1].sum()

    f = wg.function(stepped)
    with pytest.warns(
        RuntimeWarning, match=r"a loop runs step by step in Python: debug_print in it[\s\S]*wg.debug_print\("
    ):
        report = f.report(np.ones(3))
    (part,) = [p for p in parts_of(report, NUMPY) if "loop" in p.ops]
    assert "debug_print" in part.why and part.flops >= 5 * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.function(stepped)(np.ones(4))  # once for the line


def test_a_loop_in_machine_code_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = wg.function(wg.grad(lambda x: wg.scan(lambda c, t: (np.tanh(c) * t, c), x, np.arange(50.0))[0].sum()))
        report = f.report(np.ones(10))
    assert {*report.by()} == {MACHINE_CODE}
    forward = next(p for p in report.parts if "loop" in p.ops)
    assert forward.flops >= 50 * 10


def test_every_trace_has_its_reason() -> None:
    factor = [2.0]

    @wg.function
    def f(x: Any, n: int = 1, deep: Any = None) -> Any:
        return x * factor[0] * n

    f(np.ones(3))
    f(np.ones(4))
    f(np.ones(4), 2)
    f(np.ones(4), 2, {"a": 1.0})
    factor[0] = 3.0
    traces = f.report(np.ones(3)).traces
    assert len(traces) == f.trace_count == 5
    assert traces[0].startswith("the first call: x is shape (3,) float64")
    assert traces[1] == "another argument: x is shape (4,) float64, before shape (3,) float64"
    assert traces[2].startswith("arguments of another structure") and traces[3].startswith("arguments of another")
    assert traces[4].startswith("what it reads had changed: ") and "factor" in traces[4]


def test_a_trace_is_compared_with_the_earlier_one_that_is_most_like_it() -> None:
    @wg.function
    def f(x: Any, n: int = 1, flag: bool = True) -> Any:
        return x * n if flag else x

    f(np.ones(3))
    f(np.ones((2, 2)))
    f(np.ones(3, np.float32))
    f(np.ones(3), 2)
    f(np.ones(3), flag=False)
    f(np.ones(3), 3)
    assert f.report(np.ones(3)).traces[2:] == [
        "another argument: x is shape (3,) float32, before shape (3,) float64",
        "arguments of another structure: n is 2 and was not there before",
        "arguments of another structure: flag is False and was not there before",
        "another argument: n is 3, before 2",
    ]
    g = wg.function(np.sin)
    g(1.0)
    told = "another argument: x is shape () float64, before shape () float64 (a Python number)"
    assert g.report(np.float64(1.0)).traces[1] == told


def test_compiling_is_told_by_stage_and_memory_at_its_highest() -> None:
    def large(x: Any) -> Any:
        return on_host(x).sum() + on_host(x * 2).sum()

    report = wg.function(large).report(np.ones(200_000))
    assert {*report.compile} == {"tracing", "passes", "planning", "lowering", "LLVM"}
    assert all(seconds >= 0 for seconds in report.compile.values()) and report.compile["tracing"] > 0
    assert report.memory >= 200_000 * 8


def test_memory_of_machine_code_counts_though_its_blocks_are_kept() -> None:
    def stepped(x: Any) -> Any:
        return wg.scan(lambda c, s: (np.tanh(c * s), None), x, np.ones(1000))[0].sum()

    slope, x = wg.function(wg.grad(stepped)), np.linspace(0.0, 1.0, 1000)
    for _ in range(3):
        slope(x)
    assert 1000 * 1000 * 8 <= slope.report(x).memory <= 4 * 1000 * 1000 * 8


@pytest.mark.skipif(not is_on(), reason="machine code's blocks")
def test_garbage_with_blocks_takes_nothing_from_what_a_call_takes() -> None:
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(memory.address("wengert_take"))
    drop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(memory.address("wengert_drop"))

    class Held:
        def __init__(self) -> None:
            self.block, self.itself = take(1 << 20), self

        def __del__(self) -> None:
            drop(self.block)

    def run() -> None:
        if gc.isenabled():
            gc.collect()
        drop(take(1 << 20))

    Held()
    assert report_module._high_water(run) >= 1 << 20
    gc.disable()  # so that garbage waits for the call
    try:
        Held()
        assert report_module._high_water(run) >= 1 << 20
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_report_writes_no_variable_twice() -> None:
    count = wg.Variable(0.0)

    @wg.function
    def step(x: Any) -> Any:
        count.assign_add(x)
        return count * 2

    step.report(1.0)
    assert float(count) == 1.0


def test_sizes_that_vary_and_methods() -> None:
    class Model:
        k = 2.0

        @wg.function
        def scaled(self, x: Any) -> Any:
            return (on_host(x) * self.k).sum()

    assert Model().scaled.report(np.ones(3)).name == "scaled"
    f = wg.function(lambda x: on_host(x @ x.T).sum(), input_signature=[wg.TensorSpec((None, 3))])
    (host,) = parts_of(f.report(np.ones((5, 3))), NUMPY)
    assert host.flops == 25 and not host.is_least


class _Balanced(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_it_is_a_table_a_picture_and_plain_data() -> None:
    report = wg.function(mixed).report(np.ones((4, 3)))
    text = str(report)
    for word in ("machine code", "NumPy", "z = on_host(y)", "memory", "compiling", "traces      1", "LLVM"):
        assert word in text
    picture = report._repr_html_()
    parser = _Balanced()
    parser.feed(picture)
    assert not parser.open and picture.count("<rect") == len(report.parts)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["trace_count"] == 1 and len(data["parts"]) == len(report.parts)


def test_a_framework_runs_all_as_one_part() -> None:
    torch = pytest.importorskip("torch", reason="needs a framework")
    report = wg.function(lambda x: wg.ops.tanh(x).sum()).report(torch.ones(5))
    (part,) = report.parts
    assert part.by == "torch" and {"tanh"} <= {*part.ops} and part.flops >= 5 and part.seconds > 0


def test_in_a_trace_there_is_nothing_to_report() -> None:
    inner = wg.function(np.sin)
    with pytest.raises(RuntimeError, match="report"):
        wg.function(lambda x: inner.report(x))(1.0)


def test_what_is_handed_to_numpy_are_ops_that_there_are() -> None:
    assert {*support.HANDED} <= {*REGISTRY}


# -- loops ------------------------------------------------------------------------------------------------------------


def walked(x: Any, steps: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        grown = np.tanh(c) * 1.01
        turned = np.sin(np.cos(np.sin(np.cos(grown))))
        return grown + 1e-3 * turned

    return wg.fori_loop(0, steps, step, x).sum()


@pytest.mark.parametrize("size", [3, 1000], ids=["in registers", "large"])
def test_the_lines_of_a_loop_are_told_below_it(size: int) -> None:
    report = wg.function(lambda x: walked(x, 70)).report(np.linspace(0.1, 1.0, size))
    (loop,) = [part for part in report.parts if "loop" in part.ops]
    lines = lines_of(walked)
    inner = {part.source: part for part in loop.inner}
    grown, turned = inner["grown = np.tanh(c) * 1.01"], inner["turned = np.sin(np.cos(np.sin(np.cos(grown))))"]
    assert grown.line == f"{__file__}:{lines[grown.source]}" and turned.line == f"{__file__}:{lines[turned.source]}"
    assert grown.runs == turned.runs == 70 and loop.runs == 1
    assert grown.flops == 70 * size * 2 and turned.flops == 70 * size * 4
    assert loop.flops >= grown.flops + turned.flops and not loop.is_least
    assert grown.bytes == 70 * size * 8  # of the carry; the other line gives it
    assert turned.seconds > grown.seconds > 0
    assert 0.9 * loop.seconds < sum(part.seconds for part in loop.inner) <= 1.001 * loop.seconds


def test_steps_that_only_a_run_tells_are_counted() -> None:
    def f(x: Any) -> Any:
        def more(c: Any, n: Any) -> Any:
            return c < 100.0

        def step(c: Any, n: Any) -> Any:
            inner = wg.while_loop(lambda k: k < c, lambda k: k + 7.0, 0.0)
            return c * 2.0, n + inner

        return wg.while_loop(more, step, (x, 0.0))[1]

    report = wg.function(f).report(1.0)
    (loop,) = [part for part in report.parts if "loop" in part.ops]
    inner = {part.source: part for part in loop.inner}
    assert inner["return c * 2.0, n + inner"].runs == 7 and inner["return c < 100.0"].runs == 8
    (deep,) = [part for part in loop.inner if "loop" in part.ops]
    conditions, steps = 0, 0
    for c in 2.0 ** np.arange(7):
        count = int(np.ceil(c / 7.0))
        steps, conditions = steps + count, conditions + count + 1
    (line,) = deep.inner  # both lambdas stand in one line
    assert line.runs == conditions and line.flops == steps + conditions and not line.is_least


def test_branches_that_ran_are_told_and_counted() -> None:
    def f(x: Any) -> Any:
        def cheap(c: Any) -> Any:
            return c + 1.0

        def dear(c: Any) -> Any:
            return np.exp(np.sin(c)) * 0.0

        return wg.fori_loop(0, 90, lambda i, c: wg.cond(i % 9 == 0, dear, cheap, c), x)

    report = wg.function(f).report(1.0)
    found = {part.source: part for top in report.parts for loop in top.inner for part in loop.inner}
    assert found["return np.exp(np.sin(c)) * 0.0"].runs == 10 and found["return c + 1.0"].runs == 80
    assert found["return c + 1.0"].flops == 80


def test_a_backward_pass_is_told_with_the_line_that_it_goes_back_through() -> None:
    report = wg.function(wg.grad(lambda x: walked(x, 50))).report(np.linspace(0.1, 1.0, 400))
    inner = {part.source: part for top in report.parts for part in top.inner}
    grown = inner["grown = np.tanh(c) * 1.01"]
    assert grown.runs == 50 and "tanh" in grown.ops
    assert grown.flops > 50 * 400 * 2


def test_where_the_clock_sees_nothing_all_is_shared_out_by_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    told = report_module.of_cells
    monkeypatch.setattr(report_module, "of_cells", lambda clock, cells, seconds: told(clock, cells, 0.0))
    report = wg.function(lambda x: walked(x, 70)).report(np.linspace(0.1, 1.0, 1000))
    (loop,) = [part for part in report.parts if "loop" in part.ops]
    grown, turned = (part for part in loop.inner if part.source.startswith(("grown", "turned")))
    assert 0 < grown.seconds < turned.seconds < loop.seconds and grown.is_shared and grown.runs == 70


def test_large_steps_of_one_function_are_timed_by_themselves() -> None:
    def f(a: Any, b: Any) -> Any:
        product = a @ a
        light = np.maximum(product, b) + 1.0
        return light, np.sort(light.reshape(-1))

    a = np.random.default_rng(0).normal(size=(300, 300))
    report = wg.function(f).report(a, a)
    parts = {part.source: part for part in report.parts}
    product, ordered = parts["product = a @ a"], parts["return light, np.sort(light.reshape(-1))"]
    light = parts["light = np.maximum(product, b) + 1.0"]
    assert not ordered.is_shared and not product.is_shared
    assert min(ordered.seconds, product.seconds) > light.seconds > 0


def test_loops_of_the_host_and_of_frameworks_tell_their_lines_as_far_as_the_graph_does() -> None:
    def printed(x: Any, y: Any) -> Any:
        def step(c: Any, t: Any) -> Any:
            wg.debug_print("{}", c)
            return np.tanh(c) * t, None

        return wg.scan(step, x, y)[0]

    with pytest.warns(RuntimeWarning, match="a loop runs step by step"):
        report = wg.function(printed).report(np.ones(3), np.arange(5.0))
    (part,) = [p for p in report.parts if "loop" in p.ops]
    inner = {p.source: p for p in part.inner}
    assert inner["return np.tanh(c) * t, None"].runs == 5 and inner["return np.tanh(c) * t, None"].by == MACHINE_CODE
    assert inner['wg.debug_print("{}", c)'].by == NUMPY


def test_a_kernel_that_a_loop_calls_is_told_in_its_line() -> None:
    def f(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            moved = np.tanh(c)
            return on_host(moved) * 0.5

        return wg.fori_loop(0, 6, step, x)

    report = wg.function(f).report(np.ones(3))
    inner = {p.source: p for top in report.parts for p in top.inner}
    called = inner["return on_host(moved) * 0.5"]
    assert called.by == LIBRARY and called.why == "the user's own report_doubled" and called.runs == 6
    assert "report_doubled" in called.ops and inner["moved = np.tanh(c)"].by == MACHINE_CODE
    assert called.seconds > inner["moved = np.tanh(c)"].seconds


def test_pictures_and_tables_and_data_have_the_lines_inside() -> None:
    report = wg.function(lambda x: walked(x, 70)).report(np.ones(3))
    text, picture = str(report), report._repr_html_()
    assert "  machine code" in text and "70" in text
    parser = _Balanced()
    parser.feed(picture)
    listed = [*report.parts, *(inner for part in report.parts for inner in part.inner)]
    assert not parser.open and picture.count("<rect") == len(listed)
    data = json.loads(json.dumps(report.to_dict()))
    assert [part["source"] for part in data["parts"][0]["inner"]] == [p.source for p in report.parts[0].inner]


# -- the command line -------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np, wengert as wg
print("arguments", sys.argv[1:])
@wg.function
def area(x):
    return (np.sin(x) * x).sum()
class Model:
    @wg.function
    def scaled(self, x):
        return x * 2.0
for n in (3, 4, 4):
    area(np.ones(n))
Model().scaled(np.ones(2))
wg.function(lambda x: area(x) + 1.0, name="outer")(np.ones(3))
"""


def test_profile_reports_each_function_of_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert main(["profile", str(script), "one", "--two"]) == 0
    text = capsys.readouterr().out
    assert "arguments ['one', '--two']" in text and "3 calls" in text and "scaled" in text
    assert "another argument: x is shape (4,) float64" in text
    called = wg.function(lambda x: x * 2.0)
    assert called(1.0) == 2.0  # functions are called as before


def test_profile_prints_json_apart_from_the_scripts_text(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "wengert.cli", "profile", "--json", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "arguments []" in run.stderr
    found = {f["name"]: f for f in json.loads(run.stdout)["functions"]}
    assert {*found} == {"area", "scaled", "outer"} and found["area"]["calls"] == 3
    assert found["area"]["parts"][0]["line"].startswith(str(script))


def test_profile_writes_a_page_of_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(SCRIPT)
    assert main(["profile", "--html", str(page), str(script)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and text.count("<svg") == 3 and "another argument: x is shape" in text
    assert not re.findall(r"(?:src|href)=", text)  # nothing that another file would have
    assert main(["profile", "--html", str(tmp_path / "none" / "page.html"), str(script)]) == 2
    assert "No such file" in capsys.readouterr().err


def test_profile_of_a_script_that_fails_or_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(tmp_path / "none.py")]) == 2
    script = tmp_path / "script.py"
    script.write_text("import sys, wengert as wg\nwg.function(lambda x: x)(1.0)\nsys.exit(3)\n")
    assert main(["profile", str(script)]) == 3
    script.write_text("import wengert as wg\nwg.function(lambda x: x * 2)(1.0)\nraise ValueError('its own')\n")
    assert main(["profile", str(script)]) == 2
    out, err = capsys.readouterr()
    assert "1 call," in out and "its own" in err


def profiled_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wengert.cli", "profile", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_profile_runs_modules_as_python_does(tmp_path: Path) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("import numpy as np\ndef f(x):\n    return np.sin(x).sum()\n")
    (package / "job.py").write_text(
        "import sys, numpy as np, wengert as wg\nfrom .helper import f\n"
        "if __name__ == '__main__':\n    print(sys.argv[1:])\n    wg.function(f)(np.ones(3))\n"
    )
    run = profiled_in(tmp_path, "-m", "mine.job", "--epochs", "3")
    assert run.returncode == 0 and "['--epochs', '3']" in run.stdout, run.stderr
    assert "helper.py:3" in run.stdout and "return np.sin(x).sum()" in run.stdout
    assert profiled_in(tmp_path, "-m", "mine.none").returncode == 2


def test_profile_tells_what_a_script_that_ends_early_has_done(tmp_path: Path) -> None:
    begins = "import os, signal, sys, numpy as np, wengert as wg\nf = wg.function(lambda x: x * 2)\nf(1.0)\n"
    script = tmp_path / "script.py"
    for end, code, told in (
        ("sys.exit('no data')", 1, "no data"),
        # a shell's background jobs are begun with the signal ignored
        (
            "signal.signal(signal.SIGINT, signal.default_int_handler); os.kill(os.getpid(), signal.SIGINT)\n"
            "for _ in range(10**7): pass",
            2,
            "interrupted",
        ),
        ("1 / 0", 2, "ZeroDivisionError"),
    ):
        script.write_text(begins + end + "\n")
        run = profiled_in(tmp_path, "script.py")
        assert run.returncode == code and told in run.stderr and "1 call," in run.stdout
    assert run.stderr.count("File ") == 1 and 'script.py", line 4' in run.stderr  # frames of the script alone


@pytest.mark.parametrize("command", ["profile", "run"])
def test_a_script_that_is_not_named_is_asked_for_and_its_words_are_not(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command])
    assert capsys.readouterr().err.endswith("the following arguments are required: script.py\n")


def test_profile_of_functions_that_cannot_be_called_again_and_of_none(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import wengert as wg\nready = True\n@wg.function\ndef once(x):\n"
        "    if not ready:\n        raise ValueError('too late')\n    return x * 2\n"
        "once(1.0)\nwg.function(lambda x: x + 1, name='other')(1.0)\nready = False\n"
    )
    run = profiled_in(tmp_path, "script.py")
    assert run.returncode == 0 and "once: no report, since" in run.stdout and "too late" in run.stdout
    assert "other: " in run.stdout
    script.write_text("print('nothing')\n")
    run = profiled_in(tmp_path, "script.py")
    assert run.returncode == 0 and "no function that wg.function made" in run.stdout
