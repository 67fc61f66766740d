"""Everything on an accelerator: the conformance tests and engine benchmarks with PyTorch's and JAX's arrays on CUDA.

    python benchmarks/gpu.py [--frameworks torch,jax] [--tests-only] [--share 0.1] [--workers 4] [--rounds 15]

Needs builds of the frameworks for the accelerator, and the development tools. Writes results/gpu-FRAMEWORK.txt (what
the tests say) and, by the clock on the wall, results/gpu/engines-FRAMEWORK.json with its table. Nothing here is CUDA's
but the device that arrays are made on: what runs on CPUs runs unchanged.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = [f"tests/engines/test_{name}.py" for name in ("conformance", "kinks", "control", "oracle")]
# what tells each framework where to work, and where the tests find its arrays
SETTINGS = {
    "torch": {"WENGERT_TEST_DEVICE": "cuda", "WENGERT_BENCH_DEVICE": "cuda"},
    "jax": {"JAX_PLATFORMS": "cuda,cpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
}
# what the tests alone are told: by themselves XLA's products and cuDNN's convolutions of float32 keep 10 bits on such
# devices; CUDA's faults are raised where they happen; pytest's plugin for benchmarks fails runs of several processes
EXACT = {
    "JAX_DEFAULT_MATMUL_PRECISION": "highest", "NVIDIA_TF32_OVERRIDE": "0", "CUDA_LAUNCH_BLOCKING": "1",
    "PYTEST_ADDOPTS": "-p no:benchmark",
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="Conformance tests and benchmarks on an accelerator.")
    parser.add_argument("--frameworks", default=",".join(SETTINGS), help="which, with commas")
    parser.add_argument("--tests-only", action="store_true", help="no benchmarks")
    parser.add_argument("--share", default="1", help="of the tests with many cases, which share to run")
    parser.add_argument("--workers", default="4", help="processes that run the tests")
    parser.add_argument("--rounds", default="15", help="turns of each side of a benchmark")
    options = parser.parse_args()
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    failed = False
    for framework in options.frameworks.split(","):
        found = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])  # Wengert need not be installed
        environment = os.environ | SETTINGS[framework] | {"WENGERT_TEST_ENGINES": framework, "PYTHONPATH": found}
        command = [
            sys.executable, "-m", "pytest", "-q", "-n", options.workers, f"--share={options.share}",
            *(str(HERE.parent / t) for t in TESTS),
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=HERE.parent, env=environment | EXACT, stdout=subprocess.PIPE, text=True, check=False
        )
        (results / f"gpu-{framework}.txt").write_text(done.stdout)
        print(f"{framework}: {(done.stdout.strip().splitlines() or ['no output'])[-1]}", flush=True)
        failed |= done.returncode != 0
        if not options.tests_only:
            command = [
                sys.executable, str(HERE / "engines.py"), "--frameworks", framework, "--wall",
                "--rounds", options.rounds, "--output", str(results / "gpu"),
            ]  # fmt: skip
            failed |= subprocess.run(command, env=environment, check=False).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
