"""What the first gradient of a process waits for: libraries that load alone, code that is made as it stands."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")


def in_a_process(text: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- SciPy's functions ------------------------------------------------------------------------------------------------

NAMES = ("blas.dgemm", "blas.sgemv", "lapack.dpotrf")
PARTS_OF_SCIPY = """
import sys, threading
import numpy as np
from wengert._engines.native import libraries, symbols
found = [symbols.address(name) for name in NAMES]
assert all(found)
""".replace("NAMES", repr(NAMES))
WHOLE_SCIPY = """
import scipy.linalg, scipy.linalg.cython_blas, scipy.linalg.cython_lapack as lapack
assert scipy.linalg.cython_blas.__pyx_capi__["dgemm"] is libraries._capsules("scipy.linalg.cython_blas")["dgemm"]
assert scipy.linalg.cython_lapack is lapack is sys.modules["scipy.linalg.cython_lapack"]
assert scipy.linalg.cython_blas.__spec__.name == scipy.linalg.cython_blas.__name__ == "scipy.linalg.cython_blas"
root = scipy.linalg.sqrtm(scipy.linalg.cholesky(np.diag([16.0, 81.0])))
assert np.allclose(root, np.diag([2.0, 3.0])), root
"""


def test_blas_loads_without_the_package_around_it() -> None:
    said = in_a_process(PARTS_OF_SCIPY + 'print([m for m in sys.modules if m.startswith("scipy.linalg")])')
    assert said == "[]"


def test_the_package_loads_afterwards() -> None:
    in_a_process(PARTS_OF_SCIPY + WHOLE_SCIPY)


def test_the_package_is_used_where_it_is_loaded() -> None:
    in_a_process("import scipy.linalg.cython_blas\n" + PARTS_OF_SCIPY + WHOLE_SCIPY)


def test_the_package_is_the_way_out() -> None:
    """Where the module does not load alone: the same functions."""
    said = in_a_process(
        "import importlib\nimportlib._bootstrap._load = None\n" + PARTS_OF_SCIPY + WHOLE_SCIPY + 'print("scipy.linalg" in sys.modules)'
    )
    assert said == "True"


def test_another_thread_may_import_the_package_meanwhile() -> None:
    in_a_process("""
import sys, threading
import numpy as np
from wengert._engines.native import libraries, symbols
sys.setswitchinterval(1e-5)
failures = []
def importing():
    try:
        import scipy.linalg
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=importing) for _ in range(3)]
for thread in threads[:2]:
    thread.start()
found = [symbols.address(name) for name in NAMES]
threads[2].start()
for thread in threads:
    thread.join()
assert not failures, failures
assert all(found)
""".replace("NAMES", repr(NAMES)) + WHOLE_SCIPY)


def test_without_scipy_there_are_no_functions() -> None:
    said = in_a_process("""
import sys
sys.modules["scipy"] = None
from wengert._engines.native import symbols
print(symbols.address("blas.dgemm"), symbols.address("special.gammaln"))
""")
    assert said == "0 0"
