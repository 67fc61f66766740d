"""Fails a run in which a test is skipped, or expected to fail, without saying why."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.random import Generator

from tests.support.narrower_vectors import narrow
from wengert._core import verifier
from wengert._engines.native import engine as native

# JAX reads this when it loads: the conformance tests compare float64 with NumPy's. What happens without it is tested in
# tests/engines/jax/test_engine.py, in contexts and processes of their own.
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# pyright reads the first, and half of its calls are wrong on purpose; the others are programs that need JAX
collect_ignore = ["repository/typing/usage.py", "spec", "support"]

# By module its generators of random numbers, each with its state before the first test.
_STATES = pytest.StashKey[dict[pytest.Module | None, list[tuple[Generator, Mapping[str, Any]]]]]()

# What pytest writes by itself where the author wrote nothing.
AUTOMATIC_REASONS = {"", "unconditional skip", "all tests skipped by +SKIP option"}


class SkipReasons:
    """Collects the tests that are skipped or expected to fail without a reason."""

    def __init__(self) -> None:
        self.unexplained: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look_at(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look_at(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unexplained and session.exitstatus in (
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.unexplained:
            terminalreporter.section("skipped or expected to fail without a reason: not allowed", red=True)
            for test in sorted(self.unexplained):
                terminalreporter.line(test)

    def _look_at(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = reason_of(report)
        if reason is not None and reason.strip() in AUTOMATIC_REASONS:
            self.unexplained.add(report.nodeid)


def pytest_collection_finish(session: pytest.Session) -> None:
    """A million objects of tests and cases stay to the end: the collector need not look at them each time."""
    session.stash[_STATES] = states = {}
    for module in {found for item in session.items if (found := item.getparent(pytest.Module))}:
        states[module] = [(v, v.bit_generator.state) for v in vars(module.obj).values() if isinstance(v, Generator)]
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _numbers_come_again(request: pytest.FixtureRequest) -> None:
    """A test draws the same numbers from its module's generator whatever ran before it, so that it fails alone, too."""
    for generator, state in request.session.stash[_STATES].get(request.node.getparent(pytest.Module), ()):
        generator.bit_generator.state = state


@pytest.fixture(autouse=True, scope="module")
def _frameworks_forget() -> Iterator[None]:
    """JAX keeps each program that it has compiled: without this, gigabytes in a run of the whole suite."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


@pytest.fixture(autouse=True)
def _numpy_warns_as_before() -> Iterator[None]:
    """No test, and nothing of ours that it calls, leaves NumPy's error state changed."""
    before = np.geterr()
    yield
    assert np.geterr() == before


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    """The reason given for a skip or an expected failure; None where the report is of neither."""
    expected_failure = getattr(report, "wasxfail", None)
    if expected_failure is not None:
        return expected_failure.removeprefix("reason: ")
    if not report.skipped:
        return None
    message = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return message.removeprefix("Skipped").removeprefix(":")


def pytest_configure(config: pytest.Config) -> None:
    # Tests neither find what the user's programs left in the cache of compiled code nor leave anything there.
    os.environ["WENGERT_CACHE_DIR"] = tempfile.mkdtemp(prefix="wengert-tests-")
    config.add_cleanup(partial(shutil.rmtree, os.environ["WENGERT_CACHE_DIR"], ignore_errors=True))
    # How long drawing takes says what else the machine does; what a test takes is limited as before.
    settings.register_profile("wengert", settings(), suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("wengert")
    # What cannot be compiled is a failure here, and all loops are checked before they are; also in other processes.
    native.IS_STRICT = native.VERIFIES = verifier.VERIFIES_PROGRAMS = True
    os.environ["WENGERT_STRICT"] = "1"
    narrow()
    # The workers of pytest-xdist send their reports to the one process that judges them.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipReasons(), "skip-reasons")
