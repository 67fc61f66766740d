"""HIPS/autograd's names and conventions; recorded values are autograd 1.9.1's."""

from __future__ import annotations

import ast
import collections
import io
import pickle
import subprocess
import sys
import tokenize
import warnings
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import wengert as wg
from tests.support.profiled import python_calls
from wengert._core.repeat_cache import RepeatCache
from wengert._transforms import whole_sweeps
from wengert.compat import autograd
from wengert.compat.autograd import core, extend, grad, jacobian, make_jvp, make_vjp, value_and_grad
from wengert.compat.autograd import numpy as np
from wengert.compat.autograd.builtins import isinstance as sees
from wengert.compat.autograd.misc import const_graph, flatten
from wengert.compat.autograd.misc.fixed_points import fixed_point
from wengert.compat.autograd.misc.optimizers import adam, rmsprop, sgd
from wengert.compat.autograd.numpy.numpy_boxes import ArrayBox
from wengert.compat.autograd.numpy.numpy_vjps import unbroadcast_f
from wengert.compat.autograd.scipy.signal import convolve
from wengert.compat.autograd.scipy.special import erf
from wengert.compat.autograd.scipy.stats import norm
from wengert.compat.autograd.test_util import check_grads
from wengert.compat.autograd.tracer import getval, isbox, trace
from wengert.errors import LostGradientError


def cubes(x: Any) -> Any:
    return np.sum(x**3)


@pytest.mark.parametrize(
    "operator", [grad, value_and_grad, autograd.elementwise_grad, autograd.hessian, autograd.multigrad_dict, make_vjp]
)
def test_what_operators_make_is_pickled_by_the_function(operator: Any) -> None:
    x = onp.array([1.0, 2.0])
    found, again = (wg.tree.leaves(f(x))[-1] for f in (operator(cubes), pickle.loads(pickle.dumps(operator(cubes)))))
    assert found.tolist() == again.tolist()
    product = pickle.loads(pickle.dumps(autograd.hessian_vector_product(cubes)))
    assert product(x, x).tolist() == [6.0, 24.0]


def test_a_gradient_of_arrays_is_a_plain_array() -> None:
    found = grad(lambda x: np.sum(np.tanh(x) ** 2))(onp.array([0.0, 1.0]))
    assert type(found) is onp.ndarray
    assert found == pytest.approx([0.0, 0.63970001])
    found[0] = 1.0


def test_what_does_not_depend_on_the_argument_gets_zeros_and_a_warning() -> None:
    with pytest.warns(UserWarning, match="independent of input"):
        assert grad(lambda x: 1.0)(2.0) == 0.0
    with pytest.warns(UserWarning, match="independent of input"):
        assert make_vjp(lambda x: onp.ones(3))(onp.ones(2))[0](onp.ones(3)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("f", [np.imag, np.angle])
def test_parts_of_real_values_depend_on_them_with_slope_zero(f: Any) -> None:
    x = onp.array([1.0, -3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(lambda x: np.sum(f(x)))(x).tolist() == [0.0, 0.0]
        assert grad(f)(2.0) == 0.0
    assert make_jvp(f)(x)(x)[1].tolist() == [0.0, 0.0]
    assert f([1.0, -3.0 + 0j]).tolist() == getattr(onp, f.__name__)([1.0, -3.0 + 0j]).tolist()
    z = onp.array([1.0 - 2.0j, -0.5 + 0.3j])
    assert make_vjp(np.imag)(z)[0](onp.ones(2)).tolist() == [-1j, -1j]


def test_a_complex_gradient_is_the_conjugate_of_the_direction_of_ascent() -> None:
    assert grad(lambda z: np.abs(z) ** 2)(3 + 4j) == pytest.approx(6 - 8j)
    assert autograd.holomorphic_grad(lambda z: z**3)(1 + 2j) == pytest.approx(3 * (1 + 2j) ** 2)


def test_a_primitive_costs_few_calls() -> None:
    power = extend.primitive(lambda x, n: x**n)
    extend.defvjp(power, lambda ans, x, n: lambda g: g * n * x ** (n - 1), None)
    for x in (2.0, onp.array([1.0, 2.0])):
        assert len(python_calls(autograd.elementwise_grad(lambda x: power(x, 3)), x)) <= 67


def test_primitives_among_other_ops_are_swept_in_one_go_and_their_errors_are_their_own() -> None:
    cube, seen = extend.primitive(lambda x, n: x**n), list[Any]()
    extend.defvjp(cube, lambda ans, x, n: lambda g: (seen.append(g), g * n * x ** (n - 1))[1], None)

    def f(x: Any) -> Any:
        y = cube(np.sin(x), 3) * np.exp(x) + np.cos(x)
        return np.sum(cube(y, 2) * np.tanh(y) + cube(x, 4))

    x = onp.array([0.3, 0.8])
    whole_sweeps.FORMULAS.forget()
    by_rules = grad(f)(x)
    for _ in range(RepeatCache.again + 3):
        seen.clear()
        found = grad(f)(x)
    assert any(whole_sweeps.FORMULAS.values())
    assert len(seen) == 3
    assert all(type(g) is onp.ndarray for g in seen)
    onp.testing.assert_array_equal(found, by_rules)
    vjp = make_vjp(f)(x)[0]
    assert len(python_calls(vjp, 1.0)) < 100  # 109 where the primitives part the sweep
    check_grads(f, modes=["rev"], order=2)(x)

    def refuse(ans: object, x: object, n: object) -> Any:
        raise ArithmeticError("no slope here")

    extend.defvjp(cube, refuse, None)
    with pytest.raises(ArithmeticError, match="no slope here"):
        grad(f)(x)


def test_choosing_and_joining_cost_few_calls() -> None:
    x = onp.linspace(0.0, 1.0, 5)
    bounds = {  # four more where a second engine is loaded
        lambda x: np.clip(x, 0.2, 0.8): 40,
        lambda x: np.where(x > 0.5, x, -x): 66,
        lambda x: np.concatenate([x, x]): 58,
    }
    for f, most in bounds.items():
        autograd.make_vjp(f)(x)
        assert len(python_calls(autograd.make_vjp(f), x)) <= most


def test_the_everyday_likelihood_runs_at_once() -> None:
    points = onp.linspace(-1.0, 1.0, 20)
    gradient = grad(lambda p: np.sum(norm.logpdf(points, p[0], scale=p[1])))
    assert len(python_calls(gradient, onp.array([0.1, 0.2]))) <= 120
    z = (points - 0.1) / 0.2
    wanted = [onp.sum(z) / 0.2, onp.sum(z**2 - 1) / 0.2]
    assert gradient(onp.array([0.1, 0.2])) == pytest.approx(wanted)
    assert grad(lambda s: np.sum(norm.logpdf([0.3, 0.4], scale=s)))(1.0) == pytest.approx(-1.75)  # SciPy takes lists


@pytest.mark.parametrize("order", [1, 2])
def test_a_primitive_with_complex_rules_goes_by_the_same_convention(order: int) -> None:
    @extend.primitive
    def cube(z: complex) -> complex:
        assert not isbox(z)
        return z**3

    extend.defvjp(cube, lambda ans, z: lambda g: g * 3 * z**2)

    def loss(z: complex) -> float:
        return np.real(cube(z)) + 2 * np.imag(cube(z))

    check_grads(loss, modes=["rev"], order=order)(0.3 + 0.7j)


def test_results_that_are_not_one_real_number_are_refused() -> None:
    with pytest.raises(TypeError, match="scalar-output"):
        grad(lambda x: x * (1 + 1j))(1.0)
    with pytest.raises(TypeError, match="scalar-output"):
        value_and_grad(lambda x: x * 2)(onp.ones(2))
    with pytest.raises(TypeError, match="scalar-output"):
        grad(lambda x: np.allclose(x, x))(onp.ones(2))


def test_argnum_takes_one_or_several_and_leaves_the_others_alone() -> None:
    table = {"any": object()}
    f = lambda a, kept, b: a * b if kept is table else 0.0
    assert grad(f, argnum=2)(3.0, table, 5.0) == 3.0
    assert grad(f, argnum=[2, 0])(3.0, table, 5.0) == (3.0, 5.0)


def test_containers_keep_their_structure_and_are_seen_as_containers() -> None:
    def f(x: dict) -> float:
        assert sees(x, dict)
        assert sees(x, autograd.dict)
        assert sees(x["a"], autograd.tuple)
        assert sees(x["a"][1], onp.ndarray)
        return x["a"][0] * np.sum(x["a"][1]) + x["b"]

    found = grad(f)({"a": (2.0, onp.array([1.0, 2.0])), "b": 3})
    assert found["a"][0] == 3.0
    assert found["a"][1].tolist() == [2.0, 2.0]
    assert found["b"] == 1.0


def test_names_of_containers_are_classes_apart_from_pythons() -> None:
    ours = autograd.builtins
    table = {kind: kind.__name__ for kind in (list, tuple, dict, ours.list, ours.tuple, ours.dict, ours.SequenceBox)}
    assert len(table) == 7  # PennyLane registers each with JAX, which takes no type twice
    assert [type(made) for made in (ours.list("ab"), ours.tuple("ab"), ours.dict(a=1))] == [list, tuple, dict]
    assert isinstance([], ours.SequenceBox)
    assert not isinstance({}, ours.SequenceBox)


def test_arguments_may_be_dictionaries_of_any_kind() -> None:
    table = collections.defaultdict(lambda: 4.0, a=3.0)

    @extend.primitive
    def looked_up(table: Any, x: float) -> float:
        return table["a"] * x + table["b"]

    extend.defvjp(looked_up, None, lambda ans, table, x: lambda g: g * table["a"] * table["b"])
    assert grad(looked_up, 1)(table, 2.0) == 12.0
    assert grad(lambda x: looked_up(collections.defaultdict(float, a=x), x) * 0.0 + x)(2.0) == 1.0


def test_second_derivatives_in_all_combinations_of_modes() -> None:
    check_grads(lambda x, y: np.sin(x) * np.dot(y, y), (0, 1))(0.5, onp.array([0.3, -0.2]))
    x = onp.array([0.3, -0.2, 0.7])
    hessian = autograd.hessian(lambda x: np.sum(np.sin(x) * x[0]))(x)
    v = onp.array([1.0, 2.0, 3.0])
    assert autograd.make_hvp(lambda x: np.sum(np.sin(x) * x[0]))(x)[0](v) == pytest.approx(hessian @ v)
    assert autograd.hessian_vector_product(lambda x: np.sum(np.sin(x) * x[0]))(x, v) == pytest.approx(hessian @ v)
    f = lambda x: np.tanh(x) * x[1]
    assert autograd.make_jvp_reversemode(f)(x)(v) == pytest.approx(make_jvp(f)(x)(v)[1])
    assert jacobian(f)(x) @ v == pytest.approx(make_jvp(f)(x)(v)[1])


def test_a_primitive_sees_raw_values_also_in_containers() -> None:
    seen = []

    @extend.primitive
    def total(items: list, scale: float) -> float:
        seen.append([type(item) for item in items])
        return scale * sum(onp.sum(item) for item in items)

    extend.defvjp(
        total,
        lambda ans, items, scale: lambda g: [g * scale * onp.ones(onp.shape(item)) for item in items],
        lambda ans, items, scale: lambda g: g * sum(onp.sum(item) for item in items),
    )
    first, second = grad(lambda x, s: total([x, 2.0 * x], s), (0, 1))(onp.array([1.0, 2.0]), 3.0)
    assert seen == [[onp.ndarray, onp.ndarray]]
    assert first.tolist() == [9.0, 9.0]
    assert second == 9.0


def test_rules_of_a_primitive_serve_both_modes_and_name_what_is_missing() -> None:
    @extend.primitive
    def product(x: float, y: float) -> float:
        return x * y

    with pytest.raises(NotImplementedError, match="VJP of product"):
        grad(product)(2.0, 3.0)
    extend.defvjp(
        product,
        lambda ans, x, y: unbroadcast_f(x, lambda g: g * y),
        lambda ans, x, y: unbroadcast_f(y, lambda g: g * x),
    )
    extend.defjvp(product, "same", lambda g, ans, x, y: x * g)
    check_grads(product, (0, 1))(onp.array([1.0, 2.0]), 3.0)


def test_the_maker_of_a_rule_is_called_once_for_all_rows_of_a_jacobian() -> None:
    calls = []

    @extend.primitive
    def double(x: onp.ndarray) -> onp.ndarray:
        return 2 * x

    extend.defvjp(double, lambda ans, x: calls.append(1) or (lambda g: 2 * g))
    assert jacobian(double)(onp.ones(3)).tolist() == (2 * onp.eye(3)).tolist()
    assert len(calls) == 1


def test_sparse_gradients_are_added_to_dense_ones() -> None:
    @extend.primitive
    def first(x: onp.ndarray) -> float:
        return x[0]

    def add_to(g: float):
        def mut_add(dense: onp.ndarray) -> onp.ndarray:
            dense[0] += g
            return dense

        return mut_add

    extend.defvjp(first, lambda ans, x: lambda g: extend.SparseObject(extend.vspace(x), add_to(g)))
    assert grad(lambda x: first(x) * np.sum(x))(onp.array([2.0, 3.0])).tolist() == [7.0, 2.0]


def test_a_rule_takes_one_box_off_what_it_closes_over_and_second_derivatives_remain() -> None:
    held: list[ArrayBox] = []  # as of a program that keeps its parameters beside the primitive's arguments

    @extend.primitive
    def cube(x: float) -> float:
        return x**3

    extend.defvjp(cube, lambda ans, x: lambda g: ((g * 3 * held[-1] ** 2)._value,)[0])

    def f(x: ArrayBox) -> ArrayBox:
        held.append(x)
        return cube(x)

    assert grad(f)(2.0) == pytest.approx(12.0)
    assert grad(grad(f))(2.0) == pytest.approx(12.0)


def test_taking_boxes_off_one_by_one_ends_at_the_numbers() -> None:
    depths: list[int] = []

    def f(x: ArrayBox) -> ArrayBox:
        value, depth = x, 0
        while isinstance(value, ArrayBox):
            value, depth = value._value, depth + 1
        assert type(value) in (onp.float64, onp.ndarray)
        depths.append(depth)
        return x * x

    grad(f)(1.5)
    grad(grad(f))(1.5)
    assert depths == [1, 2]


def test_an_array_of_a_box_is_one_of_objects_that_carries_the_derivative() -> None:
    def f(x: ArrayBox) -> ArrayBox:
        cells = onp.array(x)
        assert cells.dtype == object
        return np.sum(np.array(list(cells / (cells + 1.0))))

    assert grad(f)(onp.array([1.0, 3.0])) == pytest.approx([0.25, 0.0625])
    with pytest.raises(TypeError, match="plain numbers"):
        grad(lambda x: np.sum(onp.array(x, float)))(onp.array([1.0, 3.0]))


def test_a_kind_of_array_is_boxed_or_refused_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    class Marked(onp.ndarray):
        fixed = False

    def boxed(x: Marked, *rest: Any) -> ArrayBox:
        if x.fixed:
            raise ValueError("a constant")
        return ArrayBox(x, *rest)

    monkeypatch.setitem(vars(ArrayBox)["type_mappings"], Marked, boxed)
    x = onp.array([1.0, 2.0]).view(Marked)
    assert grad(lambda x: np.sum(x**2))(x) == pytest.approx([2.0, 4.0])
    x.fixed = True
    with pytest.raises(ValueError, match="a constant"):
        grad(lambda x: np.sum(x**2))(x)


def test_adding_a_box_to_an_array_in_place_gives_the_name_the_box() -> None:
    def f(x: float) -> float:
        sums = onp.zeros(2)
        sums += x
        sums *= x
        return np.sum(sums)

    assert grad(f)(3.0) == 12.0
    assert make_jvp(f)(3.0)(1.0)[1] == 12.0


def test_writes_to_an_argument_are_differentiated_in_both_modes() -> None:
    def with_second(a: ArrayBox, b: float) -> ArrayBox:
        a[1] = b * a[0]
        assert isbox(a)
        assert sees(a, onp.ndarray)
        return a

    a = onp.array([1.0, 2.0, 3.0])
    assert make_vjp(with_second)(a, 3.0)[0](onp.array([1.0, 10.0, 100.0])).tolist() == [31.0, 0.0, 100.0]
    assert make_jvp(with_second)(a, 3.0)(onp.array([1.0, 10.0, 100.0]))[1].tolist() == [1.0, 3.0, 100.0]
    assert a.tolist() == [1.0, 2.0, 3.0]


def test_gradients_after_writes_to_the_argument_are_plain_arrays() -> None:
    def f(x: Any) -> Any:
        x[0] = 1.0
        return np.sum(x)

    assert type(grad(f)(onp.ones(2))) is onp.ndarray


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.full((3,), x**3)),
    lambda x: np.sum(np.full_like(onp.ones(3), x**3)),
    lambda x: 3 * np.ascontiguousarray(x**3),
])  # fmt: skip
def test_functions_whose_arguments_numpy_does_not_ask_take_boxes(f: Any) -> None:
    assert grad(f)(2.0) == 36.0
    assert grad(grad(f))(2.0) == 36.0


def test_nodes_of_a_trace_know_the_derivatives_of_ops_and_of_primitives() -> None:
    @extend.primitive
    def product(x: Any, y: Any) -> Any:
        return x * y

    extend.defvjp(product, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)

    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x + product(2.0, product(x, x)))

    x, v = onp.array([0.3, 0.5]), onp.array([1.0, 2.0])
    value, end = trace(core.VJPNode.new_root(), f, x)
    onp.testing.assert_allclose(core.backward_pass(1.0, end), grad(f)(x), rtol=1e-12)
    assert value == f(x)
    _, end = trace(core.JVPNode.new_root(v), lambda x: np.sin(x) * x + x, x)
    onp.testing.assert_allclose(end.g, (onp.cos(x) * x + onp.sin(x) + 1) * v, rtol=1e-12)
    assert trace(core.VJPNode.new_root(), lambda x: 2.0, x) == (2.0, None)

    @extend.primitive
    def power(x: float, n: int = 1) -> float:
        return x**n

    extend.defvjp(power, lambda ans, x, n=1: lambda g: g * n * x ** (n - 1))
    _, end = trace(core.VJPNode.new_root(), lambda x: 2.0 * power(x, n=3), 2.0)
    assert core.backward_pass(1.0, end) == 24.0


def test_a_checkpointed_function_has_the_same_derivatives() -> None:
    f = lambda x, y: np.sin(x * y) * x
    for argnum in (0, 1):
        assert grad(autograd.checkpoint(f), argnum)(0.3, 0.7) == grad(f, argnum)(0.3, 0.7)


def test_values_inside_containers_are_taken_out_of_their_boxes() -> None:
    def f(x: float) -> float:
        assert isbox(x)
        assert isinstance(x, ArrayBox)
        assert not any(map(isbox, getval([x, x])))
        assert x._value == 2.0
        return x * getval([x])[0]

    assert grad(f)(2.0) == 2.0


def test_optimisers_find_the_minimum_of_a_structure() -> None:
    target = {"a": onp.array([1.0, -1.0]), "b": 2.0}
    gradient = grad(lambda x, i: np.sum((x["a"] - target["a"]) ** 2) + (x["b"] - target["b"]) ** 2)
    for optimise in (sgd, rmsprop, adam):
        found = optimise(gradient, {"a": onp.zeros(2), "b": 0.0}, num_iters=300, step_size=0.05)
        assert found["a"] == pytest.approx(target["a"], abs=0.05)
        assert found["b"] == pytest.approx(2.0, abs=0.05)


def test_flattening_is_undone_and_differentiated() -> None:
    vector, unflatten = flatten({"b": 2.0, "a": [1.0, onp.array([[3.0, 4.0]])]})
    assert vector.tolist() == [1.0, 3.0, 4.0, 2.0]
    assert unflatten(vector)["b"] == 2.0
    assert list(unflatten(vector)) == ["b", "a"]
    assert grad(lambda v: np.sum(unflatten(v)["a"][1] ** 2))(vector).tolist() == [0.0, 6.0, 8.0, 0.0]


def test_a_fixed_point_is_differentiated_by_its_equation() -> None:
    root = lambda a: fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: abs(x - y), 1e-12)
    assert grad(root)(2.0) == pytest.approx(0.5 / onp.sqrt(2.0))


def test_a_constant_graph_runs_its_python_once() -> None:
    calls = []
    f = const_graph(lambda x: calls.append(1) or np.sin(x) * x)
    assert (f(1.0), f(2.0), len(calls)) == (onp.sin(1.0), onp.sin(2.0) * 2, 1)


@pytest.mark.parametrize(
    ("f", "x", "wanted"),
    [
        ("norm.logpdf", 1.5, -1.5), ("special.jn", 1.5, -0.5579365079100996), ("special.yn", 1.5, 0.4123086269739113),
        ("special.rgamma", 1.5, -0.0411745264452831), ("special.erf", 1.5, 0.11893028922362933),
    ],
)  # fmt: skip
def test_functions_of_scipy_have_their_derivatives(f: str, x: float, wanted: float) -> None:
    home, name = f.split(".")
    owner = autograd.scipy.stats.norm if home == "norm" else autograd.scipy.special
    function = getattr(owner, name)
    if name in ("jn", "yn"):
        assert grad(function, 1)(0, x) == pytest.approx(wanted, rel=1e-9)
    else:
        assert grad(function)(x) == pytest.approx(wanted, rel=1e-9)
    assert type(function(*((0, x) if name in ("jn", "yn") else (x,)))) in (float, onp.float64)


def test_a_differential_equation_is_differentiated_by_its_adjoint() -> None:
    times = onp.array([0.0, 0.5, 1.0])
    f = lambda y0, k: np.sum(autograd.scipy.integrate.odeint(lambda y, t, k: -k * y, y0, times, (k,))[-1])
    start, rate = grad(f, (0, 1))(onp.array([2.0]), 0.7)
    assert start == pytest.approx([onp.exp(-0.7)], rel=1e-5)
    assert rate == pytest.approx(-2.0 * onp.exp(-0.7), rel=1e-5)


def test_arrays_are_made_of_boxes_in_arrays_of_objects() -> None:
    def f(x: float) -> float:
        held = onp.empty(2, object)
        held[0], held[1] = x, 2.0 * x
        return np.sum(np.array([held, held], dtype=float) ** 2) + np.sum(np.stack(2 * item for item in held))

    assert grad(f)(3.0) == 66.0


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_installed_it_is_what_import_autograd_means() -> None:
    assert run(
        "import wengert.compat.autograd as ours; ours.install(); ours.install()\n"
        "import autograd, autograd.numpy as np, autograd.scipy.stats.norm as norm\n"
        "from autograd.numpy.numpy_boxes import ArrayBox\n"
        "assert autograd is ours and autograd.scipy.stats.norm is norm\n"
        "boxes = []\n"
        "print(autograd.grad(lambda x: boxes.append(x) or norm.logpdf(x))(2.0), ArrayBox.__module__, "
        "type(boxes[0]).__name__)"
    ) == "-2.0 autograd.numpy.numpy_boxes ArrayBox"  # fmt: skip


def test_it_is_not_installed_over_autograd_itself() -> None:
    assert run(
        "import sys, types; sys.modules['autograd'] = types.ModuleType('autograd')\n"
        "import wengert.compat.autograd as ours\n"
        "try: ours.install()\n"
        "except RuntimeError as error: print('imported already' in str(error))"
    ) == "True"  # fmt: skip


def test_a_script_is_run_with_autograd_installed(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, autograd\nprint(__name__, autograd.grad(lambda x: x**2)(3.0), sys.argv[1:])\n")
    done = subprocess.run(
        [sys.executable, "-m", "wengert.compat.autograd", str(script), "one"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "__main__ 6.0 ['one']"


def test_nothing_is_warned_of_in_an_everyday_gradient() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert value_and_grad(lambda x: x**2)(3) == (9.0, 6.0)


def test_convolutions_along_some_axes_in_either_order() -> None:
    a, b = onp.sin(onp.arange(24.0)).reshape(2, 3, 4), onp.cos(onp.arange(20.0)).reshape(2, 2, 5)
    settings = {"axes": ([1], [1]), "dot_axes": ([0], [0])}
    full = convolve(a, b, **settings)
    wanted = [[sum(onp.convolve(a[d, :, i], b[d, :, j]) for d in range(2)) for j in range(5)] for i in range(4)]
    onp.testing.assert_allclose(full, wanted, rtol=1e-12, atol=1e-12)
    onp.testing.assert_allclose(convolve(b, a, **settings, mode="valid"), full[:, :, 1:-1].swapaxes(0, 1), rtol=1e-12)
    check_grads(lambda a, b: convolve(a, b, **settings, mode="valid"), (0, 1), modes=["rev"], order=1)(b, a)


def test_derivatives_are_compiled_by_a_function_around() -> None:
    x = onp.array([0.1, 0.7, 0.4])

    def f(x: Any) -> Any:
        chosen = np.where(np.greater(x, 0.3), np.tanh(x), np.sign(x) * x**2)
        return np.sum(chosen * x[np.argmax(x)] + erf(x)) / np.size(x)

    def all_of(x: Any) -> Any:
        rows = jacobian(lambda x: np.sin(x) * x[1])(x), autograd.hessian_vector_product(f)(x, x)
        return grad(f)(x), autograd.deriv(lambda t: t * np.exp(t))(x[0]), autograd.elementwise_grad(np.tanh)(x), *rows

    for found, wanted in zip(wg.function(all_of)(x), all_of(x), strict=True):
        onp.testing.assert_allclose(found, wanted, rtol=1e-12)
    with pytest.raises(LostGradientError, match="traced"):
        wg.function(lambda x: getval(x))(x)


def test_the_package_is_small_enough_to_read() -> None:
    def code(path: Path) -> int:
        """Lines with code: not those of docstrings, comments or nothing."""
        text = path.read_text()
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string.strip() and token.type != tokenize.COMMENT:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
                lines -= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
        return len(lines)

    assert sum(map(code, Path(core.__file__).parent.rglob("*.py"))) <= 1500


def test_forward_mode_takes_results_beside_which_stand_whole_numbers() -> None:
    @extend.primitive
    def entries(x: Any) -> Any:
        return 2.0 * x, onp.arange(3)

    extend.defjvp(entries, lambda g, ans, x: (2.0 * g, onp.zeros(3)))
    value, tangent = make_jvp(lambda x: entries(x)[0])(onp.ones(3))(onp.array([1.0, 2.0, 3.0]))
    assert [*value] == [2.0, 2.0, 2.0]
    assert [*tangent] == [2.0, 4.0, 6.0]
