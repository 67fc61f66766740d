"""A sample of the fuzzer's programs, always the same; and that the fuzzer finds what is wrong, and makes it small."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fuzz.case import Case
from tests.fuzz.classes import CLASSES, CONTROL, ORACLES, PROFILES, program_of
from tests.fuzz.comparing import nudged
from tests.fuzz.minimise import candidates, kind_of, minimised
from tests.fuzz.program import LAYOUTS, Input, Program, laid_out, of_values
from tests.fuzz.runner import Options, TookTooLong, checked, fails_alike, failure_of, limited, run_batch
from tests.fuzz.writer import Finding, text_of, write_test
from wengert._engines.native.lower.scalars import SCALARS
from wengert._prims import elementwise as E
from wengert._prims.structural import add_number, mul
from wengert.errors import CapturedError

EACH = 4  # programs of a test
COUNTS = {CONTROL: 24, "processes": 4}  # of a class; of the others USUAL. CI's own fuzzing runs many more
USUAL = 8
OPTIONS = Options(seed=0, minimise=30.0)


def _groups() -> list[tuple[str, int]]:
    return [(name, first) for name in CLASSES for first in range(0, COUNTS.get(name, USUAL), EACH)]


@pytest.mark.sampled(12)  # about a second each; all of them in the full suite
@pytest.mark.parametrize(("name", "first"), _groups())
def test_all_ways_agree(name: str, first: int) -> None:
    for number in range(first, first + EACH):
        for finding in checked(name, number, OPTIONS).findings:
            pytest.fail(text_of(finding))


# -- programs -------------------------------------------------------------------------------------------------------------


def test_programs_are_of_all_sorts() -> None:
    found = [program_of(CONTROL, 0, number).source for number in range(300)]
    words = (
        "wg.cond(", "wg.switch(", "wg.while_loop(", "wg.fori_loop(", "wg.scan(", "reverse=True", "wg.map(", ".at[",
        "custom_gradient", "recompute_grad", "stop_gradient", "maximum_iterations", "literal(", "[:0]", "derivative(inner",
        "2.0 * ct", "s_state.assign",
    )  # fmt: skip
    for word in words:
        assert sum(word in source for source in found) > 300 // 60, word
    found = [program_of(name, 0, number).source for name in CLASSES if name != CONTROL for number in range(100)]
    words = (
        "wg.cond(", "wg.switch(", "wg.while_loop(", "wg.fori_loop(", "wg.scan(", "wg.map(", "wg.vmap(", "wg.function(",
        "associative_scan", "recompute_grad", "given.ruled", "given.kept", "given.saved", "given.both_ways", "given.scaled",
        "given.fixed_point", "given.linear", "given.by_iteration", "given.root", "given.least", "given.lowest", "wg.grad(",
        "wg.jvp(", "wg.vjp(", "wg.linearize(", "wg.jacobian(", "wg.hessian(", "wg.hvp(", "wg.linalg.", "wg.special.", "wg.fft.",
        "wg.nn.", "wg.ops.", "stop_gradient", "checkpoint=policy", ".at[",
    )  # fmt: skip
    for word in words:
        assert any(word in source for source in found), word


def test_inputs_are_of_all_dtypes_and_layouts() -> None:
    found = [x for name in CLASSES for number in range(60) for x in program_of(name, 0, number).inputs]
    dtypes = {dtype for profile in PROFILES.values() for dtype in (*profile.floats, *profile.others)}
    assert {x.dtype for x in found} >= dtypes
    assert {"float16", "bfloat16", "complex64"} <= dtypes
    assert {x.layout for x in found} == {*LAYOUTS}
    assert any(0 in x.shape for x in found)


def test_a_program_is_made_again_by_its_seed() -> None:
    for name in CLASSES:
        assert program_of(name, 3, 5) == program_of(name, 3, 5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (4, 5), (2, 0, 3)])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "complex64", "bool"])
def test_layouts_hold_the_same_elements(layout: str, shape: tuple[int, ...], dtype: str) -> None:
    elements = Input(shape, dtype, seed=3, layout=layout).elements()
    found = laid_out(elements, layout)
    assert found.shape == shape
    assert found.dtype == elements.dtype
    assert found.tolist() == elements.tolist()
    is_nothing = dtype == "bool" or 0 in shape  # what has no place is nowhere out of place
    wanted = {"unaligned": is_nothing or not found.flags.aligned, "read-only": not found.flags.writeable}
    assert wanted.get(layout, True)


# -- what is wrong is found -------------------------------------------------------------------------------------------------


def _wrong_slope(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(E.tanh, "plans", {})  # they keep what rules came to
    patch.setattr(E.tanh.rules[0], "fn", lambda out: add_number(mul(out, out), number=1))


def _wrong_machine_code(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(SCALARS, "tanh", SCALARS["arctan"])


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, str, str]] = {
    "a wrong slope": (_wrong_slope, "arrays", "modes", "tanh"),
    "wrong machine code": (_wrong_machine_code, "arrays", "compiled", "tanh"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_made_small(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil, name, oracle, culprit = FAULTS[fault]
    spoil(monkeypatch)
    for number in range(200):
        program = program_of(name, 0, number)
        error = failure_of(program, oracle)
        if error is not None:
            break
    else:
        pytest.fail("not found")
    fails = fails_alike(program, oracle, error)
    small = minimised(program, fails, 60.0)
    assert fails(small)
    assert culprit in small.source
    assert small.steps() <= 2
    assert small.size() <= 4
    monkeypatch.undo()
    assert failure_of(small, oracle) is None


def test_a_smaller_program_fails_with_the_same_exception() -> None:
    first, second = (
        AssertionError(f"gradient: one by one: gives <class '{name}'>, not 1") for name in ("ValueError", "TypeError")
    )
    assert kind_of(first) != kind_of(second)


def test_no_module_stands_where_a_value_was() -> None:
    program = Program("def f(x0):\n    return wg.sin(np.cos(x0))\n", (Input((2,)),))
    sources = [candidate.source for candidate in candidates(program)]
    assert "def f(x0):\n    return x0\n" in sources
    assert not [source for source in sources if re.search(r"\b(wg|np)\b(?!\.\w+\()", source)]


@pytest.mark.parametrize("smaller", ["wg.reshape(x0, (7,))", "x1"])
def test_a_smaller_program_is_as_valid_as_the_first(smaller: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(case: Case) -> None:
        raise AssertionError("always")

    monkeypatch.setitem(ORACLES, "owned", fault)
    first, invalid, valid = (
        Program(f"def f(x0):\n    return {text}\n", (Input((2,)),)) for text in ("wg.sin(x0 * x0)", smaller, "x0")
    )
    fails = fails_alike(first, "owned", AssertionError("always"))
    assert fails(valid)
    assert not fails(invalid)


def _crash(pipe: Any, batch: list[tuple[str, int]], options: Options) -> None:
    """What a process does at a program that crashes."""
    pipe.send(batch[0])
    os._exit(3)


def _hang(pipe: Any, batch: list[tuple[str, int]], options: Options) -> None:
    pipe.send(batch[0])
    time.sleep(300)


@pytest.mark.slow  # processes that load the package, one for each oracle
@pytest.mark.parametrize(("work", "told"), [(_crash, "status 3"), (_hang, "no answer")])
def test_a_crash_and_a_hang_are_findings(work: Any, told: str) -> None:
    options = Options(seed=0, limit=20.0, minimise=0.0)
    (report,) = run_batch([("owned", 0)], options, work=work)
    (finding,) = report.findings
    assert told in finding.error


def test_reports_of_a_process_come_back() -> None:
    found = [*run_batch([("arrays", 0), ("arrays", 1)], OPTIONS)]
    assert [(report.name, report.number) for report in found] == [("arrays", 0), ("arrays", 1)]
    assert all(report.checks and report.seconds > 0 and not report.findings for report in found)


def test_a_written_test_fails_while_the_fault_is_there(tmp_path: Path) -> None:
    source = "def f(x0, x1):\n    if wg.__name__:\n        raise AssertionError('always')\n    return x0\n"
    program = Program(source, (of_values(np.array([1.0, np.nan])), Input((2, 3), "float32", 5, "reversed", True)))
    finding = Finding("arrays", 1, 2, "compiled", 'AssertionError: """ \\N', program)
    path = write_test(finding, tmp_path)
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert repr(scope["INPUTS"]) == repr(program.inputs)
    assert scope["SOURCE"].strip() == source.strip()
    (test,) = [value for name, value in scope.items() if name.startswith("test_")]
    with pytest.raises(AssertionError, match="always"):
        test()


# -- what is no bug is none -------------------------------------------------------------------------------------------------


def test_rounding_before_a_jump_is_no_finding() -> None:
    """Which side of a jump a sum falls on is a matter of rounding, and nudged runs tell it."""
    source = "def f(x0):\n    v1 = wg.sum(x0) - 0.6\n    v2 = wg.sign(v1)\n    return v2\n"
    case = Case(Program(source, (of_values(np.array([0.1, 0.2, 0.3])),)), "compiled")

    def way(f: Callable[..., Any]) -> Any:
        return case.run(f)

    case.agree([np.asarray(1.0)], [np.asarray(-1.0)], "sides", way)
    assert case.notes == {"rounding"}
    with pytest.raises(AssertionError):
        case.agree([np.asarray(5.0)], [np.asarray(0.0)], "far from all", way)


def test_nudged_programs_are_the_same_but_for_rounding() -> None:
    program = Program("def f(x0):\n    v1, v2 = (wg.sin(x0), wg.cos(x0))\n    return [v1, v2]\n", (Input((50,)),))
    exact, other = (f(*program.arrays()) for f in (program.build(), nudged(program, 0)))
    for x, y in zip(exact, other, strict=True):
        assert 0 < np.max(np.abs(x.numpy() - y.numpy())) < 1e-13


def test_forward_mode_may_know_more_at_equal_eigenvalues() -> None:
    source = "def f(x0):\n    v1 = wg.linalg.eigvalsh(wg.tanh(x0) + wg.matrix_transpose(wg.tanh(x0)))\n    return v1\n"
    program = Program(source, (Input((4, 1), values=(-0.0, -2.0, -0.0, 2.0)),))  # of rank 2: two eigenvalues are 0
    assert failure_of(program, "second order") is None


def test_a_tape_knows_inputs_that_a_program_writes_to() -> None:
    source = "def f(x0, x1):\n    v2 = wg.acos(x0, x1)\n    return v2\n"  # as with NumPy's, the second operand is `out`
    for seed in range(4):  # which interface is asked is drawn
        program = Program(source, (Input((), values=(0.0,)), Input((), values=(1.0,))), seed=str(seed))
        assert failure_of(program, "modes") is None


def test_eager_code_may_refuse_a_captured_value_that_a_trace_does_not_read() -> None:
    source = (
        "def f(x0, x1):\n"
        "    def step(c, _):\n"
        "        def one(c1, c2):\n"
        "            v1 = given.kept(lambda a: x1)(c)\n"
        "            return c2\n"
        "        v2 = wg.switch(wg.astype(wg.sum(x1), 'int64'), [one], c, c)\n"
        "        return (c, x0)\n"
        "    return wg.scan(step, x1, x0)\n"
    )
    program = Program(source, (Input((3,)), Input((3, 3, 1))))
    with pytest.raises(CapturedError):
        Case(program, "compiled").variant("gradient")(*program.arrays())
    assert failure_of(program, "compiled") is None


def test_a_rule_that_keeps_a_pullback_answers_for_what_it_does_not_use() -> None:
    source = "def f(x0, x1):\n    v2 = given.kept(lambda c: x0)(x1)\n    return x1\n"
    program = Program(source, (Input((1, 1)), Input(())), seed="552 derivatives 16")
    ORACLES["jacobians"](Case(program, "jacobians"))  # forward mode asks the rule, though nothing reads its result


def test_oracles_hold_for_a_plain_program() -> None:
    """None refuses it, so that none passes for want of asking."""
    source = "def f(x0):\n    def f1(i2, c3):\n        return wg.sin(c3) * x0\n    v4 = wg.fori_loop(0, 3, f1, x0, checkpoint=policy)\n    return [v4, wg.tanh(x0)]\n"
    program = Program(source, (Input((3,)),))
    for name, oracle in ORACLES.items():
        if name not in (CONTROL, "engines", "processes"):
            oracle(Case(program, name))


def test_the_command_tells_its_seed_and_its_totals(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.fuzz",
        "--seed",
        "4",
        "--classes",
        "owned",
        "--count",
        "2",
        "--out",
        str(tmp_path),
    ]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert done.returncode == 0, done.stderr
    assert "seed 4" in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("owned"))
    assert row.split()[1] == "2"
    assert not [*tmp_path.iterdir()]


def test_the_command_refuses_an_unknown_class() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--classes", "nothing"], cwd=root, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    assert "no class 'nothing'" in done.stderr


@pytest.mark.parametrize("layer", ["", "wg.function"])
def test_a_smaller_program_that_does_not_end_is_left(layer: str) -> None:
    source = f"def f(x0):\n    return {layer}(lambda x: wg.while_loop(lambda i, x: i < 1, lambda i, x: (i, x), (0, x))[1])(x0)\n"
    program = Program(source, (Input(()),))
    began = time.monotonic()
    with pytest.raises(TookTooLong), limited(1.0):
        failure_of(program, "owned")
    assert time.monotonic() - began < 30
