"""What pytest collects for doctests: an engine's folder only where its framework is installed; and samples of tests."""

from __future__ import annotations

import importlib.util

import pytest

from tests.support.sampling import DRAWN, MARKS, SHARE, Sampling

# the top package of a framework is the name of its engine's folder, and each of its files imports it
FRAMEWORKS = ("jax", "torch", "tensorflow")
collect_ignore = [f"wengert/_engines/{name}" for name in FRAMEWORKS if importlib.util.find_spec(name) is None]
if "wengert/_engines/torch" in collect_ignore:
    collect_ignore.append("wengert/programs/torch_operator.py")  # functions as torch's operators
collect_ignore.append("wengert/_engines/keras.py")  # loads only where Keras is in use


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "run a sample of the suite, drawn by this seed (by one of its own if none is given)"
    parser.addoption("--sample", nargs="?", const=DRAWN, default=None, metavar="SEED", help=told)
    told = f"of tests with many cases, run this share of them in a sample instead of {SHARE}; at least one"
    parser.addoption("--share", type=float, default=SHARE, help=told)


def pytest_configure(config: pytest.Config) -> None:
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    if not config.pluginmanager.hasplugin("xdist"):  # where it is switched off
        config.addinivalue_line("markers", "xdist_group(name): tests that one process runs")
    if config.option.sample is not None:
        config.pluginmanager.register(Sampling(config), "sampling")
