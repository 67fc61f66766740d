"""What is public is pickled: functions by their names, optimisers and schedules as the calls that made them."""

from __future__ import annotations

import copy
import inspect
import pickle
import types
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.compat.autograd as autograd
import wengert.compat.autograd.numpy as autograd_numpy
import wengert.numpy as wnp

O = wg.optimize  # the usual short name of an optimiser's module


@pytest.mark.parametrize(
    "module", [wg, wnp, wg.tree, autograd, autograd_numpy], ids=["wengert", "numpy", "tree", "autograd", "anp"]
)
def test_functions_are_pickled_by_name(module: Any) -> None:
    lost = []
    for name in getattr(module, "__all__", dir(module)):
        found = getattr(module, name)
        if isinstance(found, types.FunctionType):
            try:
                is_same = pickle.loads(pickle.dumps(found)) is found
            except (pickle.PicklingError, AttributeError):
                is_same = False
            if not is_same:
                lost.append(name)
    assert not lost


@pytest.mark.parametrize("library", ["pickle", "cloudpickle"])
def test_methods_of_distributions_are_pickled_by_name(library: str) -> None:
    send = pytest.importorskip(library, reason="cloudpickle comes with the frameworks")
    for distribution in vars(wg.stats).values():
        if isinstance(distribution, wg.stats.Distribution):
            for name in distribution.methods:
                method = getattr(distribution, name)
                assert pickle.loads(send.dumps(method)) is method
    for bound in (wg.stats.gamma(2.0, scale=3.0).cdf, wg.stats.poisson(2.0).logpmf):
        assert pickle.loads(send.dumps(bound))(1.0) == bound(1.0)


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_optimisers_and_schedules_are_pickled(again: Any) -> None:
    schedule = again(O.warmup_cosine(0.0, 0.3, 2, 9, end_value=0.01))
    assert schedule(4) == O.warmup_cosine(0.0, 0.3, 2, 9, end_value=0.01)(4)
    assert list(inspect.signature(schedule).parameters) == ["step"]
    for optimiser in (
        O.sgd(0.1, momentum=0.8), O.adamw(O.cosine(0.2, 7)), O.lion(0.1), O.lbfgs(),
        O.chain(O.clip_by_global_norm(0.5), O.rmsprop(0.1)),
    ):  # fmt: skip
        other = again(optimiser)
        assert isinstance(other, O.GradientTransformation)
        params = {"w": np.array([0.4, -1.3]), "b": 0.7}
        results = []
        for opt in (optimiser, other):
            state = opt.init(params)
            for _ in range(3):
                updates, state = opt.update(wg.tree.map(lambda p: p * 0.9 + 0.1, params), state, params)
            results.append(wg.tree.leaves(updates))
        for mine, theirs in zip(*results, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_init_and_update_are_tasks_of_their_own(again: Any) -> None:
    gradient = {"w": np.array([0.4, -1.3])}
    for optimiser in (O.adam(0.3), O.chain(O.clip(0.2), O.sgd(O.cosine(0.1, 5)))):
        init, update = again(optimiser.init), again(optimiser.update)
        found, _ = update(gradient, init(gradient), gradient)
        np.testing.assert_array_equal(found["w"], optimiser.update(gradient, optimiser.init(gradient))[0]["w"])
        assert repr(update) == repr(optimiser.update)


def test_a_part_of_an_optimiser_can_be_replaced() -> None:
    other = O.sgd(0.5)._replace(init=lambda params: "mine")
    assert type(other) is O.GradientTransformation
    assert other.init(1.0) == "mine"
