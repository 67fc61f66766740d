"""What a user meets first: a quiet and quick import of few modules, documented names, a complete package."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import subprocess
import sys
import zipfile
from importlib import metadata, resources
from pathlib import Path

import pytest

import wengert as wg
from tests.support.paths import ROOT
from tools.footprint import dependencies, import_seconds, installed_bytes, own_bytes
from tools.modules import out_of_reach, sources_of, used_by_users
from tools.release import PLACES, ReleaseError, check_contents, conda_requirements, version_to_release

README = ROOT / "README.md"

IMPORT_BUDGET_SECONDS = 0.060
IMPORT_BUDGET_OF_NUMPYS = 1.5  # on a machine where NumPy's own import takes long too
ROUNDS = 4
SIZES_IN_README = re.compile(r"Installed it takes ([\d.]+) MB, with NumPy, SciPy and llvmlite (\d+) MB")
IMPORT_IN_README = re.compile(r"`import wengert` takes (\d+) ms more")

LOADED_MODULES = """
import json, sys
at_start = set(sys.modules)
import numpy
with_numpy = set(sys.modules)
import wengert
print(json.dumps(sorted(set(sys.modules) - with_numpy)))
"""


def run_python(source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)


def test_import_prints_nothing() -> None:
    run = run_python("import wengert")
    assert (run.stdout, run.stderr) == ("", "")


def test_import_loads_numpy_and_the_standard_library_only() -> None:
    loaded = json.loads(run_python(LOADED_MODULES).stdout)
    allowed = {"wengert", "numpy", *sys.stdlib_module_names}
    assert not [name for name in loaded if name.split(".")[0] not in allowed]


def test_import_takes_at_most_60_ms_more_than_numpy_or_about_as_long() -> None:
    found: list[str] = []
    for seconds, numpys in itertools.islice(import_seconds(ROOT), ROUNDS):
        found.append(f"{1e3 * seconds:.0f} ms after NumPy's {1e3 * numpys:.0f}")
        if seconds <= max(IMPORT_BUDGET_SECONDS, IMPORT_BUDGET_OF_NUMPYS * numpys):
            return
    pytest.fail(f"importing wengert took {found} in {ROUNDS} rounds")


def in_readme(pattern: re.Pattern[str]) -> list[float]:
    found = pattern.search(README.read_text(encoding="utf-8"))
    assert found is not None, f"README.md does not say {pattern.pattern!r}"
    return [float(figure) for figure in found.groups()]


def test_readme_tells_the_installed_size() -> None:
    alone, together = in_readme(SIZES_IN_README)
    # a tenth: the figure need not follow every change, but a folder that ships by mistake shows
    assert own_bytes() / 1e6 == pytest.approx(alone, rel=0.1)
    others = sum(map(installed_bytes, dependencies())) / 1e6
    # a third: releases of NumPy, SciPy and llvmlite, and their builds for other systems, differ by this much
    assert others == pytest.approx(together - alone, rel=0.33)


def test_readme_tells_the_time_of_the_import() -> None:
    (told,) = in_readme(IMPORT_IN_README)
    assert told <= 1e3 * IMPORT_BUDGET_SECONDS
    # Twice, on either side: the figure is one machine's. What may shorten it is the least of some runs already. A slow
    # machine shows in NumPy's own import, which takes about as long as ours.
    ours, numpys = next(import_seconds(ROOT))
    assert told / 2 <= 1e3 * ours
    assert ours <= max(told * 2e-3, IMPORT_BUDGET_OF_NUMPYS * numpys)


def test_a_module_that_only_tests_use_is_found(tmp_path: Path) -> None:
    package = tmp_path / "wengert"
    (package / "_engines").mkdir(parents=True)
    for name, source in {
        "__init__": "from ._used import f", "_used": "def f():\n    from . import _inner", "_inner": "",
        "_engines/__init__": "", "_engines/native": "from . import shared", "_engines/shared": "",
        "_engines/naive": "from . import shared", "public": "",
    }.items():  # fmt: skip
        (package / f"{name}.py").write_text(source)
    sources = sources_of(package)
    assert out_of_reach(sources, used_by_users(sources)) == ["wengert._engines.naive"]


def test_nothing_that_only_tests_use_ships() -> None:
    sources = sources_of(ROOT / "wengert")
    assert out_of_reach(sources, used_by_users(sources)) == []


def test_all_is_without_doubles() -> None:
    assert len(wg.__all__) == len(set(wg.__all__))


@pytest.mark.parametrize("name", wg.__all__)
def test_public_name_exists_and_is_documented(name: str) -> None:
    thing = getattr(wg, name)
    if inspect.ismodule(thing) or callable(thing):
        assert (inspect.getdoc(thing) or "").strip(), f"wg.{name} has no docstring"


def test_star_import_gives_the_public_names() -> None:
    namespace: dict[str, object] = {}
    exec("from wengert import *", namespace)
    assert set(wg.__all__) <= set(namespace)


@pytest.mark.parametrize("name", ["py.typed", "cli/demo/digits.npz", "cli/demo/DIGITS.md"])
def test_package_file_is_there(name: str) -> None:
    assert resources.files("wengert").joinpath(*name.split("/")).is_file()


def test_version_is_told_alike_everywhere() -> None:
    assert version_to_release(ROOT) == wg.__version__


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("wengert/__init__.py", f'"{wg.__version__}"', '"9.9"', "9.9"),
        ("CITATION.cff", f"version: {wg.__version__}", "version: 9.9", "CITATION.cff 9.9"),
        ("conda/recipe.yaml", f'"{wg.__version__}"', '"9.9"', "recipe.yaml 9.9"),
        ("docs/answers/support.md", f"{{{wg.__version__}}}", "{9.9}", "support.md 9.9"),
        ("CHANGELOG.md", f"## [{wg.__version__}] - ", f"## [{wg.__version__}]: ", "CHANGELOG.md has no heading"),
    ],
)
def test_a_release_whose_version_is_told_otherwise_is_refused(
    file: str, old: str, new: str, complaint: str, tmp_path: Path
) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md", *PLACES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        assert name != file or old in text
        (tmp_path / name).write_text(text.replace(old, new) if name == file else text, encoding="utf-8")
    with pytest.raises(ReleaseError, match=complaint):
        version_to_release(tmp_path)


@pytest.mark.parametrize("environment", ["host", "run"])
def test_the_conda_recipe_asks_for_what_the_wheel_does(environment: str) -> None:
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    block = re.search(rf"^  {environment}:\n((?:    - .*\n)+)", recipe, re.MULTILINE)
    assert block is not None
    assert sorted(re.findall(r"- (.*)", block[1])) == conda_requirements(ROOT)[environment]
    assert "      - wengert = wengert.cli:main\n" in recipe


def wheel_with(folder: Path, *files: str) -> Path:
    wheel = folder / "wengert-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in files:
            archive.writestr(name, "")
    return wheel


def test_a_wheel_with_more_than_the_package_is_refused(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, "wengert/__init__.py", "wengert-1.dist-info/METADATA", "tests/test_one.py")
    with pytest.raises(ReleaseError, match=re.escape("holds more than the package: ['tests/test_one.py']")):
        check_contents(wheel, "1", tmp_path / "unpacked")


def test_console_script_is_declared() -> None:
    scripts = metadata.distribution("wengert").entry_points.select(group="console_scripts", name="wengert")
    assert [script.value for script in scripts] == ["wengert.cli:main"]
