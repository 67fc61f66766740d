"""A skip or an expected failure without a reason fails the run; one with a reason does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

WITHOUT_REASON = {
    "skip call": "import pytest\ndef test_it():\n    pytest.skip()\n",
    "skip mark": "import pytest\n@pytest.mark.skip\ndef test_it(): pass\n",
    "blank reason": "import pytest\n@pytest.mark.skipif(True, reason=' ')\ndef test_it(): pass\n",
    "xfail mark": "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False\n",
    "xfail call": "import pytest\ndef test_it():\n    pytest.xfail()\n",
    "unexpected pass": "import pytest\n@pytest.mark.xfail\ndef test_it(): pass\n",
    "module": "import pytest\npytest.skip(allow_module_level=True)\n",
}

WITH_REASON = {
    "skip call": "import pytest\ndef test_it():\n    pytest.skip('no such library')\n",
    "skip mark": "import pytest\n@pytest.mark.skip(reason='no such library')\ndef test_it(): pass\n",
    "xfail mark": "import pytest\n@pytest.mark.xfail(reason='not yet')\ndef test_it(): assert False\n",
    "import": "import pytest\ndef test_it():\n    pytest.importorskip('no_such_library_at_all')\n",
}


def run_pytest(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_one.py").write_text(source + "\ndef test_other(): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", *options, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("source", WITHOUT_REASON.values(), ids=WITHOUT_REASON)
def test_no_reason_fails_the_run(tmp_path: Path, source: str) -> None:
    run = run_pytest(tmp_path, source, "-p", "no:xdist")
    assert run.returncode == 1, run.stdout
    assert "without a reason" in run.stdout
    assert "test_one.py" in run.stdout.partition("without a reason")[2]


def test_no_reason_fails_a_run_of_many_processes(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, WITHOUT_REASON["skip mark"], "-n", "1")
    assert run.returncode == 1, run.stdout
    assert "without a reason" in run.stdout


@pytest.mark.parametrize("source", WITH_REASON.values(), ids=WITH_REASON)
def test_a_reason_is_enough(tmp_path: Path, source: str) -> None:
    run = run_pytest(tmp_path, source, "-p", "no:xdist")
    assert run.returncode == 0, run.stdout
