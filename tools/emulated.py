"""Runs a sample of the native engine's tests on a processor that is not here, under qemu's emulation of one process.

    python tools/emulated.py aarch64    a 64-bit ARM: in a Debian root for it, made in .venv-aarch64
    python tools/emulated.py Nehalem    an x86-64 without AVX; Haswell: with AVX2 and without AVX-512

Takes about half an hour. Wants qemu-user-static and, for aarch64, mmdebstrap, Debian's packages; and the tests'
packages in this environment. Words after `--` go to pytest in place of the default tests.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ARM = "aarch64"
# without SVE, by which NumPy's own products of float32 matrices have NaN under emulation now and then
ARM_PROCESSOR = "neoverse-n1"
PYTHON = "3.11"  # of the Debian release
RELEASE = "bookworm"
WHEELS = ["numpy", "scipy", "llvmlite", "pytest", "hypothesis", "ml_dtypes", "cloudpickle"]
PLATFORMS = ["manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28"]
TESTS = [
    f"tests/engines/native/test_{name}.py"
    for name in ("conformance", "vectormath", "loops", "entry", "regions", "histories", "products")
]
# these start processes of their own, which qemu does not emulate
OTHERS = "not without_llvm and not peak_memory"


def main(words: list[str]) -> int:
    """The exit code of the tests."""
    if not words or words[0].startswith("-"):
        print(__doc__)
        return 2
    cpu, *rest = words
    given = rest[rest.index("--") + 1 :] if "--" in rest else ["--sample=5", "-k", OTHERS, *TESTS]
    command, environment = on_arm() if cpu == ARM else on_x86(cpu)
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *given]
    # a failure of the compiler is one of the test
    settings = {**os.environ, **environment, "WENGERT_STRICT": "1", "WENGERT_TEST_ENGINES": "numpy"}
    return subprocess.run([*command, *pytest], cwd=ROOT, env=settings, check=False).returncode


def on_x86(cpu: str) -> tuple[list[str], dict[str, str]]:
    """This Python, on another processor of its kind."""
    if platform.machine() != "x86_64":
        raise SystemExit(f"emulated: {cpu} is emulated on x86-64 only")
    return [needed("qemu-x86_64-static"), "-cpu", cpu, os.path.realpath(sys.executable)], {
        "PYTHONPATH": os.pathsep.join([str(ROOT), *[p for p in sys.path if p.endswith("site-packages")]])
    }


def on_arm() -> tuple[list[str], dict[str, str]]:
    """A Python for ARM, with the packages that the tests want."""
    root = ROOT / ".venv-aarch64"
    site = root / "site"
    if not site.exists():
        include = "--include=python3,libstdc++6"
        options = ["--architectures=arm64", "--variant=extract", include]
        subprocess.run([needed("mmdebstrap"), *options, RELEASE, str(root)], check=True)
        download(root / "wheels")
        for wheel in sorted((root / "wheels").glob("*.whl")):
            with zipfile.ZipFile(wheel) as held:
                held.extractall(root / "site.part")
        (root / "site.part").rename(site)  # whole, or not there
    python = root / "usr" / "bin" / f"python{PYTHON}"
    environment = {"PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "PYTHONHOME": ""}
    return [needed("qemu-aarch64-static"), "-cpu", ARM_PROCESSOR, "-L", str(root), str(python)], environment


def download(folder: Path) -> None:
    """The packages' wheels for ARM."""
    platforms = [word for name in PLATFORMS for word in ("--platform", f"{name}_{ARM}")]
    abis = [word for abi in (f"cp{PYTHON.replace('.', '')}", "abi3", "none") for word in ("--abi", abi)]
    options = ["--quiet", "--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp"]
    command = [sys.executable, "-m", "pip", "download", *options, *abis, *platforms, "--dest", str(folder)]
    subprocess.run([*command, *WHEELS], check=True)


def needed(program: str) -> str:
    """The path of a program that must be installed."""
    found = shutil.which(program)
    if found is None:
        raise SystemExit(f"emulated: {program} is not installed; Debian has it as a package")
    return found


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
