"""Builds a release and checks it as a user would get it; publishes and tags nothing.

    python -m tools.release [REQUIREMENT ...]

1. The version stands in `pyproject.toml`, in all of `PLACES`, and in `CHANGELOG.md` with a date. rattler-build reads
   the conda recipe, which asks for what `pyproject.toml` asks for; no channel is asked, and nothing is built of it.
2. Wheel and source archive are built in `dist/`, the wheel from the archive; `twine check --strict` reads both.
3. The wheel holds the package only, and no module that nothing but tests would import.
4. The wheel is installed in an empty virtual environment. There the command line works, and README.md runs from top to
   bottom; once more with the frameworks installed, when no block may be left out.

Further requirements are installed with the frameworks (`torch==2.13.0`, to have the build for CPUs).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tools.modules import out_of_reach, sources_of, used_by_users

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
# where the version stands beside pyproject.toml
PLACES = {
    "wengert/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "conda/recipe.yaml": r'^  version: "(.+)"$',
    "docs/answers/support.md": r"^  version = \{(.+)\}$",
}


class ReleaseError(Exception):
    """What a release must not have."""


def version_to_release(root: Path) -> str:
    """The version, which stands alike in all places that tell it.

    Raises:
        ReleaseError: if a place tells another, or the changelog has no dated section for it.
    """
    version: str = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for place, pattern in PLACES.items():
        told = re.search(pattern, (root / place).read_text(encoding="utf-8"), re.MULTILINE)
        if told is None or told[1] != version:
            raise ReleaseError(f"pyproject.toml says {version}, {place} {told and told[1]}")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        raise ReleaseError(f"CHANGELOG.md has no heading '## [{version}] - YYYY-MM-DD'")
    return version


def conda_requirements(root: Path) -> dict[str, list[str]]:
    """What the conda recipe must ask for: of the environment that builds, and of the one that runs.

    Conda's recipes have no markers; llvmlite, which has one, is to be had wherever conda is.
    """
    told = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    python = f"python {told['project']['requires-python']}"
    named = [re.sub(r"(?=>=)", " ", r.partition(";")[0]) for r in told["project"]["dependencies"]]
    builder = [re.sub(r"(?=>=)", " ", r) for r in told["build-system"]["requires"]]
    return {"host": sorted([python, "pip", *builder]), "run": sorted([python, *named])}


def check_recipe(root: Path) -> None:
    """Refuses a conda recipe that rattler-build cannot read, or that asks for other things than the wheel does."""
    from rattler_build import RattlerBuildError, Stage0Recipe, VariantConfig

    try:
        (made,) = Stage0Recipe.from_file(str(root / "conda" / "recipe.yaml")).render(VariantConfig())
    except RattlerBuildError as error:
        raise ReleaseError(f"conda/recipe.yaml: {error}") from error
    asked = made.recipe.requirements
    found = {"host": sorted(map(str, asked.host)), "run": sorted(map(str, asked.run))}
    if found != conda_requirements(root):
        raise ReleaseError(f"conda/recipe.yaml asks for {found}, pyproject.toml for {conda_requirements(root)}")


def build(version: str) -> tuple[Path, Path]:
    """The wheel and the source archive, alone in `dist/`."""
    shutil.rmtree(DIST, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    built = sorted(DIST.iterdir())
    wheel, archive = DIST / f"wengert-{version}-py3-none-any.whl", DIST / f"wengert-{version}.tar.gz"
    if built != sorted([wheel, archive]):
        raise ReleaseError(f"built {[path.name for path in built]}; wanted {wheel.name} and {archive.name}")
    _run(sys.executable, "-m", "twine", "check", "--strict", wheel, archive)
    return wheel, archive


def check_contents(wheel: Path, version: str, scratch: Path) -> None:
    """Refuses a wheel with files beside the package, or with modules that only tests use."""
    with zipfile.ZipFile(wheel) as archive:
        foreign = [n for n in archive.namelist() if not n.startswith(("wengert/", f"wengert-{version}.dist-info/"))]
        archive.extractall(scratch)
    if foreign:
        raise ReleaseError(f"{wheel.name} holds more than the package: {foreign}")
    sources = sources_of(scratch / "wengert")
    if unused := out_of_reach(sources, used_by_users(sources)):
        raise ReleaseError(f"{wheel.name} holds modules that no module for users imports: {', '.join(unused)}")


def try_out(wheel: Path, further: Sequence[str], scratch: Path) -> None:
    """Installs the wheel in an empty environment and uses it there, far from the checkout."""
    venv.create(scratch / "env", with_pip=True)
    bin_folder = scratch / "env" / ("Scripts" if os.name == "nt" else "bin")
    python, away = bin_folder / "python", scratch / "away"
    away.mkdir()
    readme = [python, ROOT / "tools" / "readme.py", ROOT / "README.md"]
    _run(python, "-m", "pip", "install", "--quiet", wheel)
    _run(python, "-m", "pip", "check")
    _run(bin_folder / "wengert", "info", cwd=away)
    _run(bin_folder / "wengert", "demo", cwd=away)
    _run(*readme, cwd=away)
    _run(python, "-m", "pip", "install", "--quiet", f"{wheel}[jax,tensorflow,torch]", *further)
    _run(*readme, "--whole", cwd=away)


def _run(*command: object, cwd: Path = ROOT) -> None:
    print("$", *command, flush=True)
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, check=False)
    if done.returncode:
        raise ReleaseError(f"{Path(str(command[0])).name} ended with status {done.returncode}")


def main() -> int:
    try:
        version = version_to_release(ROOT)
        check_recipe(ROOT)
        wheel, archive = build(version)
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            check_contents(wheel, version, scratch / "wheel")
            try_out(wheel, sys.argv[1:], scratch)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"ready to tag as v{version}: {wheel.relative_to(ROOT)}, {archive.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
