"""The command line: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from wengert._engines.native import engine as native
from wengert.cli import main
from wengert.cli.demo.digits import load_digits, split_digits

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One full run of `wengert demo --json`, as a user starts it."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "wengert.cli", "demo", "--json", "-o", str(folder / "digits.svg")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return {"report": json.loads(run.stdout), "progress": run.stderr, "figure": folder / "digits.svg"}


def test_demo_learns_the_digits(demo: dict[str, Any]) -> None:
    report = demo["report"]
    assert report["passed"]
    assert report["accuracy"] >= 0.95
    assert report["held_out_images"] == 450
    assert report["loss"] < 0.1
    assert report["gradient_check"]["passed"]


def test_demo_shows_progress_apart_from_the_result(demo: dict[str, Any]) -> None:
    lines = demo["progress"].splitlines()
    assert lines[-1].split()[:2] == ["step", f"{demo['report']['iterations']}/150"]
    assert 3 <= len(lines) <= 20


def test_demo_draws_weights_and_losses(demo: dict[str, Any]) -> None:
    picture = ElementTree.parse(demo["figure"]).getroot()
    assert picture.tag == f"{SVG}svg"
    curves = picture.findall(f".//{SVG}polyline")
    steps = demo["report"]["iterations"] + 1
    assert [len(curve.attrib["points"].split()) for curve in curves] == [steps, steps]
    cells = picture.findall(f".//{SVG}g/{SVG}rect[@fill]")
    assert len([cell for cell in cells if cell.attrib["fill"] != "none"]) >= (32 + 10) * 64
    words = {text.text for text in picture.findall(f".//{SVG}text")}
    assert {"Loss while training", "L-BFGS step", "0", "9"} <= words


def test_too_few_steps_are_an_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--iterations", "1", "--json", "-o", str(tmp_path / "demo.svg")]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["passed"] is False
    assert "below 95%" in said.err


def test_text_names_loss_accuracy_check_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["demo", "--iterations", "2", "-o", str(tmp_path / "demo.svg")])
    out = capsys.readouterr().out
    assert [line.split("  ")[0] for line in out.splitlines()] == [
        "data",
        "gradient check",
        "training",
        "loss",
        "accuracy",
        "picture",
    ]


def test_unwritable_picture_is_an_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "no such folder" / "demo.svg"
    assert main(["demo", "--iterations", "1", "-o", str(target)]) == 2
    assert str(target) in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-command"],
        ["demo", "--iterations", "0"],
        ["demo", "--iterations", "many"],
        ["info", "--loud"],
    ],
    ids=" ".join,
)
def test_bad_arguments_are_an_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: wengert" in capsys.readouterr().err


def test_info_tells_versions_threads_and_engines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["threads"]["processors"] >= 1
    assert facts["engines"]["numpy"] == f"ready (numpy {np.__version__})"
    assert main(["info"]) == 0
    assert f"ready (numpy {np.__version__})" in capsys.readouterr().out


def _native_line(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["info"]) == 0
    return [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines() if "NumPy's kernels run" in line]


def test_info_says_once_that_there_is_no_machine_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native.target, "lack", lambda: "llvmlite does not work here, OSError: no such processor")
    monkeypatch.setattr(native, "has_llvm", lambda: True)
    monkeypatch.delenv("WENGERT_JIT", raising=False)
    end = ": NumPy's kernels run"
    assert _native_line(capsys) == [f"off (llvmlite does not work here, OSError: no such processor){end}"]
    monkeypatch.setenv("WENGERT_JIT", "0")
    assert _native_line(capsys) == [f"off (WENGERT_JIT is 0){end}"]
    monkeypatch.setattr(native, "has_llvm", lambda: False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert _native_line(capsys) == [f"absent (llvmlite is not installed){end}"]


def test_digits_are_those_of_the_data_set() -> None:
    digits = load_digits()
    assert digits.images.shape == (1797, 64)
    assert (digits.images.min(), digits.images.max()) == (0, 1)
    # The class counts that the data set's own description gives for this part.
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_split_is_fixed_and_shares_no_image() -> None:
    digits = load_digits()
    digits = digits._replace(images=np.arange(len(digits.labels)))
    train, test = split_digits(digits)
    again, _ = split_digits(digits)
    np.testing.assert_array_equal(train.images, again.images)
    assert sorted([*train.images, *test.images]) == list(range(1797))


# -- check and graph --------------------------------------------------------------------------------------------------

MODEL = """
import numpy as np
import wengert as wg

def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)

@wg.custom_gradient
def wrong(x):
    return x * x, lambda u: u * 3 * x
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"model_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODEL)
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3) / 6)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_check_reads_values_and_files(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{model}:loss", "--at", "w=[0.1, 0.2, 0.3]", "x=@x.npy"]) == 0
    assert "partial derivatives agree" in capsys.readouterr().out
    assert main(["check", f"{model}:loss", "--json", "--order", "1", "--at", "x=@x.npy", "w=[1, 2, 3.0]"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["passed"]
    assert report["checked"] >= 9


def test_check_exits_1_where_the_gradient_is_wrong(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{model}:wrong", "--at", "x=1.5"]) == 1
    assert "4.5" in capsys.readouterr().err
    assert main(["check", f"{model}:wrong", "--json", "--at", "x=1.5"]) == 1
    assert not json.loads(capsys.readouterr().out)["passed"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["loss"], "module:function"),
        ("MODEL:nothing", "nothing"),
        (["no_such_module:f"], "no_such_module"),
        (["MODEL:loss", "--at", "w"], "NAME=VALUE"),
        (["MODEL:loss", "--at", "w=1"], "do not fit"),
        (["MODEL:loss", "--at", "w=@none.npy", "x=1"], r"none\.npy"),
    ],
)
def test_what_cannot_be_checked_is_an_exit_2(
    model: str, words: list[str] | str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [words] if isinstance(words, str) else words
    assert main(["check", *[w.replace("MODEL", model) for w in words]]) == 2
    assert re.search(told, capsys.readouterr().err)


def test_graph_draws_by_suffix(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = ["--spec", "float64[3]", "float64[None,3]"]
    for suffix, start in ((".svg", "<svg"), (".dot", "digraph"), (".txt", "graph grad(loss)")):
        output = tmp_path / f"g{suffix}"
        assert main(["graph", f"{model}:loss", *specs, "--grad", "-o", str(output)]) == 0
        assert output.read_text().startswith(start)
    assert "ops" in capsys.readouterr().out
    assert main(["graph", f"{model}:loss", "--at", "w=[1.0, 2, 3]", "x=@x.npy", "-o", "g.png"]) == 2
    assert ".svg" in capsys.readouterr().err
    assert main(["graph", f"{model}:loss", "--spec", "float64", "-o", "g.svg"]) == 2


def test_the_list_of_examples_names_each_page_of_the_site(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    root = Path(__file__).parents[1]
    pages = [p for folder in ("notebooks", "examples") for p in (root / "docs" / folder).glob("*.md")]
    titles = {f"docs/{p.parent.name}/{p.name}": p.read_text(encoding="utf-8") for p in pages if p.stem != "index"}
    assert sorted(e["page"] for e in listed) == sorted(titles)
    for e in listed:
        assert f"# {e['title']}\n" in titles[e["page"]]
    assert main(["demo", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(listed)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["ch"], ["check"]),
        (["check", "--o"], ["--order"]),
        (["demo", "--"], ["--help", "--output", "--iterations", "--json", "--list"]),
    ],
)
def test_bash_completes_commands_and_options(typed: list[str], wanted: list[str]) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    words = " ".join(["wengert", *typed])
    program = f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _wengert_complete; echo ${{COMPREPLY[@]}}"
    script = subprocess.run(
        [sys.executable, "-m", "wengert.cli", "completion", "bash"], capture_output=True, text=True, check=True
    )
    run = subprocess.run([bash, "-c", f"{script.stdout}\n{program}"], capture_output=True, text=True, check=True)
    assert run.stdout.split() == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_learns_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in ("demo", "info", "check", "graph", "run", "profile", "completion"))


def test_an_unknown_argument_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "math:sin", "--at", "y=1", "x=2"]) == 2
    assert "the function has no argument y; it is called as sin(x, /)" in capsys.readouterr().err


def test_arguments_by_position_alone_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "math:sin", "--at", "x=0.5"]) == 2  # which cannot be followed, but was called
    assert "LostGradientError" in capsys.readouterr().err


def test_graph_tells_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "g.txt"
    assert main(["graph", "wengert:sin", "--at", "x=1.0", "-o", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ops": 1, "file": str(file)}
