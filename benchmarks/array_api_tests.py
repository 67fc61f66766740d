"""Runs the public test suite of the Python array API standard on `wengert.array_api`.

    python benchmarks/array_api_tests.py CHECKOUT [pytest's arguments]

CHECKOUT is a clone of github.com/data-apis/array-api-tests with its submodule `array-api` (`git clone
--recurse-submodules`); its requirements.txt has to be installed. The tests that are expected to fail are listed, each
with its reason, in `array_api_expected_failures.txt` beside this file: the run fails if another one fails, and says
which of them pass by now. The exit status is pytest's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "array_api_expected_failures.txt"
MOST_EXPECTED = 25
MOST_SECONDS = 120
EXAMPLES = 5


def main() -> int:
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "array_api_tests").is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    checkout, more = Path(sys.argv[1]).resolve(), sys.argv[2:]
    if not (checkout / "array-api" / "src").is_dir():
        print(f"{checkout} lacks its submodule: git submodule update --init", file=sys.stderr)
        return 2
    count = len(expected_failures())
    print(f"{count} failures are expected, of at most {MOST_EXPECTED}")
    started = time.perf_counter()
    status = subprocess.run(command(checkout, more), cwd=checkout, env=environment(), check=False).returncode
    seconds = time.perf_counter() - started
    print(f"{seconds:.0f} s, of at most {MOST_SECONDS}")
    return status or int(count > MOST_EXPECTED)


def expected_failures() -> list[str]:
    """The ids of the tests that are expected to fail."""
    lines = EXPECTED.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def command(checkout: Path, more: list[str]) -> list[str]:
    """The suite's run: few examples, the same ones each time, since a failure must be found again."""
    return [
        sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider", "-rXf", "--tb=short",
        f"--max-examples={EXAMPLES}", "--derandomize", "--disable-deadline", f"--xfails-file={EXPECTED}", *more,
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """This checkout's package first, and the standard's version."""
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(paths), "ARRAY_API_TESTS_MODULE": "wengert.array_api",
        "ARRAY_API_TESTS_VERSION": "2025.12",
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
