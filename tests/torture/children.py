"""Children of `fork` with a time limit, and programs that a part runs in an interpreter of its own."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT
from tests.torture.report import Report

LIMIT = 60.0  # seconds: the machine may be loaded; what hangs does so for ever


def report_of(module: str, seed: int, seconds: float, **variables: str) -> Report:
    """What `module.main(seed, seconds, folder)` reports, called in a process of its own in an empty folder."""
    program = (
        "import importlib, json, sys\n"
        "name, seed, seconds, folder = sys.argv[1:]\n"
        "report = importlib.import_module(name).main(int(seed), float(seconds), folder)\n"
        "print(json.dumps(report))\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "WENGERT_CACHE_DIR": str(Path(folder) / "cache"), **variables}
        command = [sys.executable, "-c", program, module, str(seed), str(seconds), folder]
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, check=False, timeout=seconds + 5 * LIMIT
            )
        except subprocess.TimeoutExpired as error:
            return Report(0, [f"the program itself hangs (seed {seed}):\n{error.stderr}"])
    if done.returncode != 0:
        return Report(0, [f"the program ended with {done.returncode} (seed {seed}):\n{done.stderr}"])
    report = Report(*json.loads(done.stdout.splitlines()[-1]))
    if report.failures:
        report.failures.append(f"on standard error: {done.stderr[-5000:]}")
    return report


def child(work: Callable[[], Any]) -> int:
    """Forks a child that does something and ends; its number."""
    number = os.fork()
    if number == 0:
        faulthandler.register(signal.SIGUSR1, all_threads=True)  # shows where it hangs
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return number


def ended(number: int, limit: float = LIMIT) -> str:
    """Waits for a child: the empty text, or what became of it."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        found, status = os.waitpid(number, os.WNOHANG)
        if found:
            return "" if status == 0 else f"the child ended with {os.waitstatus_to_exitcode(status)}"
        time.sleep(0.002)
    os.kill(number, signal.SIGUSR1)
    time.sleep(0.5)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return f"the child hung for {limit} s; where is told on standard error"
