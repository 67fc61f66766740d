"""What a user sees of an error: the frames of the user's own code, in order, and none of the package's.

Every scenario is a function of this file. The lines that its traceback must show, and no others, end in a comment with
a number, `# 1` for the outermost.
"""

from __future__ import annotations

import inspect
import linecache
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.tracebacks import fold

PACKAGE = str(Path(wg.__file__).parent)
X = np.array([1.0, 2.0])
W = wg.Variable([1.0, 2.0], name="test_tracebacks")
T = wg.tensor([1.0, 2.0])

SCENARIOS: list[tuple[Callable[[], Any], type[BaseException]]] = []


def scenario(error: type[BaseException]) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def add(run: Callable[[], Any]) -> Callable[[], Any]:
        SCENARIOS.append((run, error))
        return run

    return add


# -- our own checks: the last frame is the line that called us ---------------------------------------------------------


@scenario(TypeError)
def grad_of_a_number():
    wg.grad(3)  # 1


@scenario(TypeError)
def value_and_grad_of_an_integer_array():
    g = wg.value_and_grad(np.sin)
    g(np.arange(3))  # 1


@scenario(ValueError)
def grads_of_nothing():
    wg.grads(np.sin)([])  # 1


@scenario(ValueError)
def a_dy_of_another_shape():
    wg.grad(np.sin)(X, dy=[1.0])  # 1


@scenario(wg.DisconnectedError)
def a_disconnected_argument():
    wg.grad(lambda x: T)(X)  # 1


@scenario(ValueError)
def variable_grads_of_a_vector():
    wg.variable_grads(lambda: W * 2.0)  # 1


@scenario(TypeError)
def too_few_arguments_for_f():
    wg.grad(lambda a, b: a * b)(1.0)  # 1


@scenario(ValueError)
def a_function_on_an_unknown_engine():
    wg.function(np.sin, engine="abacus")  # 1


@scenario(TypeError)
def a_function_called_against_its_signature():
    f = wg.function(lambda x: x, input_signature=[wg.TensorSpec((2,), "float32")])
    f(X)  # 1


@scenario(TypeError)
def a_spec_of_no_shape():
    wg.TensorSpec(("n",))  # 1


@scenario(RuntimeError)
def gradients_without_a_graph():
    wg.gradients(T, T)  # 1


@scenario(ValueError)
def symbolic_gradient_of_too_few_inputs():
    wg.symbolic_gradient([1.0], lambda a, b: a * b)  # 1


@scenario(RuntimeError)
def a_tape_that_was_asked_already():
    with wg.GradientTape() as tape:
        tape.watch(T)
        y = T * T
    tape.gradient(y, T)
    tape.gradient(y, T)  # 1


@scenario(ValueError)
def a_tape_that_watches_text():
    with wg.GradientTape() as tape:
        tape.watch("text")  # 1


@scenario(TypeError)
def a_jacobian_of_something_complex():
    with wg.GradientTape() as tape:
        z = wg.tensor([1j])
        tape.watch(z)
        y = z * z
    tape.jacobian(y, z)  # 1


@scenario(TypeError)
def saving_something_else():
    wg.save(np.sin, "nowhere")  # 1


@scenario(KeyError)
def a_primitive_with_a_name_that_is_taken():
    wg.primitive("sin", spec=lambda x: x, numpy=np.sin)  # 1


# -- ops inside of an interface ----------------------------------------------------------------------------------------------


@scenario(ValueError)
def an_op_in_f():
    def f(x):
        return x * np.ones(3)  # 2

    wg.grad(f)(X)  # 1


@scenario(TypeError)
def an_op_in_a_traced_function():
    def layer(x):
        return wg.sin("text")  # 3

    @wg.function
    def f(x):
        return layer(x)  # 2

    f(X)  # 1


@scenario(wg.TracingError)
def a_branch_in_a_traced_function():
    @wg.function
    def f(x):
        if x.sum() > 0:  # 2
            return x
        return -x

    f(X)  # 1


@scenario(ValueError)
def an_op_in_the_block_of_a_tape():
    with wg.GradientTape() as tape:
        tape.watch(T)
        T @ wg.ones((3, 3))  # 1


@scenario(TypeError)
def an_op_in_the_block_of_a_graph():
    with wg.Graph().as_default():
        wg.exp("text")  # 1


@scenario(wg.errors.NonFiniteError)
def a_nan_in_debug_nans():
    def f(x):
        return wg.log(x - 3.0)  # 2

    with wg.debug_nans(), np.errstate(all="ignore"):
        wg.grad(f)(2.0)  # 1


@scenario(np.linalg.LinAlgError)
def a_kernel_of_a_compiled_function():
    f = wg.function(wg.linalg.inv)
    f(np.zeros((2, 2)))  # 1


@scenario(wg.LostGradientError)
def numbers_that_would_be_lost():
    def f(x):
        return float(x) * x  # 2

    wg.grad(f)(2.0)  # 1


# -- code of the user that we call -------------------------------------------------------------------------------------


@scenario(ZeroDivisionError)
def f_under_grad():
    def inner(x):
        return 1 / 0  # 3

    def f(x):
        return inner(x) + 1  # 2

    wg.grad(f)(2.0)  # 1


@scenario(ZeroDivisionError)
def f_under_nested_grads():
    def f(x):
        return x * (1 / 0)  # 3

    def slope(x):
        return wg.grad(f)(x)  # 2

    wg.grad(slope)(2.0)  # 1


@scenario(ZeroDivisionError)
def f_under_grads_of_grads():
    def f(x):
        return x * (1 / 0)  # 2

    wg.grad(wg.value_and_grad(wg.grad(f)))(2.0)  # 1


@scenario(KeyboardInterrupt)
def an_interrupt_in_a_traced_gradient():
    def f(x):
        raise KeyboardInterrupt  # 2

    wg.function(wg.grad(f))(2.0)  # 1


@scenario(ZeroDivisionError)
def f_under_variable_grads():
    def f():
        return W * (1 / 0)  # 2

    wg.variable_grads(f)  # 1


@scenario(ZeroDivisionError)
def f_under_symbolic_gradient():
    def f(x):
        return x * (1 / 0)  # 2

    wg.symbolic_gradient([1.0, 1.0], f)  # 1


@scenario(ZeroDivisionError)
def f_under_check_gradients():
    def f(x):
        return x * (1 / 0)  # 2

    wg.check_gradients(f, X)  # 1


@scenario(ZeroDivisionError)
def a_method_that_is_traced():
    class Model:
        @wg.function
        def call(self, x):
            return x * (1 / 0)  # 2

    Model().call(X)  # 1


@scenario(ZeroDivisionError)
def a_function_that_is_traced_by_hand():
    def f(x):
        return x * (1 / 0)  # 2

    wg.function(f).trace(X)  # 1


@scenario(ZeroDivisionError)
def f_of_a_custom_gradient():
    @wg.custom_gradient
    def f(x):
        return 1 / 0  # 2

    f(X)  # 1


def _with_a_rule_that_fails(x):
    def grad_fn(upstream):
        raise ZeroDivisionError("in the rule")

    return x * x, grad_fn


@scenario(ZeroDivisionError)
def grad_fn_in_a_functional_gradient():
    @wg.custom_gradient
    def f(x):
        def grad_fn(upstream):
            return 1 / 0  # 2

        return x * x, grad_fn

    wg.grad(f)(X)  # 1


@scenario(ZeroDivisionError)
def grad_fn_on_a_tape():
    @wg.custom_gradient
    def f(x):
        def grad_fn(upstream):
            return 1 / 0  # 2

        return x * x, grad_fn

    with wg.GradientTape() as tape:
        tape.watch(T)
        y = f(T)
    tape.gradient(y, T)  # 1


@scenario(ZeroDivisionError)
def grad_fn_of_a_traced_function():
    f = wg.function(wg.custom_gradient(_with_a_rule_that_fails))
    wg.grad(f)(X)  # 1


@scenario(ValueError)
def grad_fn_with_too_many_gradients():
    @wg.custom_gradient
    def f(x):
        return x * x, lambda upstream: (upstream, upstream)

    wg.grad(f)(X)  # 1


@scenario(ZeroDivisionError)
def grad_func_of_custom_grad():
    def f(x, save):
        def back(dy, saved):
            return dy * (1 / 0)  # 2

        save([x])
        return x * x, back

    wg.grad(wg.custom_grad(f))(X)  # 1


@scenario(ZeroDivisionError)
def f_of_recompute_grad_the_second_time():
    runs = []

    @wg.recompute_grad
    def f(x):
        runs.append(1)
        return x * (1 / (2 - len(runs)))  # 2

    wg.grad(f)(X)  # 1


@scenario(ZeroDivisionError)
def a_branch_that_is_taken():
    def branch(x):
        return x * (1 / 0)  # 2

    wg.cond(True, branch, branch, 1.0)  # 1


@scenario(ZeroDivisionError)
def the_body_of_a_traced_loop_in_a_gradient():
    def body(i, x):
        return x * (1 / 0)  # 3

    def f(x):
        return wg.fori_loop(0, 3, body, x)  # 2

    wg.grad(wg.function(f))(1.0)  # 1


@scenario(TypeError)
def a_loop_over_something_else():
    wg.while_loop(3, lambda x: x, [1.0])  # 1


@scenario(ZeroDivisionError)
def the_step_of_a_scan():
    def step(carry, x):
        return carry, x * (1 / 0)  # 2

    wg.scan(step, 0.0, X)  # 1


# -- other interfaces that take functions -----------------------------------------------------------------------------------


def fails(x, *more):
    return x * (1 / 0)


INTERFACES = {
    "vjp": lambda f: wg.vjp(f, X),
    "jvp": lambda f: wg.jvp(f, (X,), (X,)),
    "linearize": lambda f: wg.linearize(f, X),
    "hvp": lambda f: wg.hvp(f, X, X),
    "jacobian": lambda f: wg.jacobian(f)(X),
    "value_and_jacobian": lambda f: wg.value_and_jacobian(f)(X),
    "hessian": lambda f: wg.hessian(f)(X),
    "jacobian with sparsity": lambda f: wg.jacobian(f, sparsity="detect")(X),
    "hessian with sparsity": lambda f: wg.hessian(f, sparsity="detect")(X),
    "sparsity": lambda f: wg.sparsity(f)(X),
    "vmap": lambda f: wg.vmap(f)(X),
    "vectorized_map": lambda f: wg.vectorized_map(f, X),
    "associative_scan": lambda f: wg.associative_scan(f, X),
    "solve_ivp": lambda f: wg.integrate.solve_ivp(f, (0.0, 1.0), X),
    "solve_ivp by Radau": lambda f: wg.integrate.solve_ivp(f, (0.0, 1.0), X, method="Radau"),
    "solve_ivp in a trace": lambda f: wg.function(lambda x: wg.integrate.solve_ivp(f, (0.0, 1.0), x).y)(X),
    "custom_root": lambda f: wg.custom_root(lambda x: x, f)(X),
    "custom_linear_solve": lambda f: wg.custom_linear_solve(lambda x: x, X, f),
    "minimize": lambda f: wg.optimize.minimize(f, X),
    "least_squares": lambda f: wg.optimize.least_squares(f, X),
    "root": lambda f: wg.optimize.root(f, X),
    "cond": lambda f: wg.cond(True, f, f, X),
    "switch": lambda f: wg.switch(0, [f], X),
    "map": lambda f: wg.map(f, X),
    "fori_loop": lambda f: wg.fori_loop(0, 2, f, X),
    "while_loop": lambda f: wg.while_loop(f, f, [X]),
}


@pytest.mark.parametrize("name", INTERFACES)
def test_a_function_that_fails_ends_the_traceback_at_its_line(name):
    """And between that and the caller there are only users' lines, and SciPy's where it calls the function."""
    frames = frames_of(raised_by(lambda: INTERFACES[name](fails), ZeroDivisionError))
    assert frames[0].name == "<lambda>" and frames[0].filename == __file__
    assert (frames[-1].name, frames[-1].line) == ("fails", "return x * (1 / 0)")
    assert not any(f.filename.startswith((PACKAGE, "<wengert")) for f in frames)


REFUSALS = {
    "vjp": lambda: wg.vjp(3, X),
    "pullback": lambda: wg.vjp(np.sin, X)[1](np.ones(3)),
    "jvp": lambda: wg.jvp(np.sin, (X,), (np.ones(3),)),
    "linearize": lambda: wg.linearize(3, X),
    "f_jvp": lambda: wg.linearize(np.sin, X)[1](np.ones(3)),
    "hvp": lambda: wg.hvp(np.sin, X, X),
    "jacobian": lambda: wg.jacobian(np.sin, mode="sideways"),
    "jacobian of integers": lambda: wg.jacobian(np.sin)(np.arange(3)),
    "sparse jacobian": lambda: wg.jacobian(np.sin, sparsity=3),
    "value_and_jacobian": lambda: wg.value_and_jacobian(np.sin, chunk=0),
    "hessian": lambda: wg.hessian(3),
    "sparsity": lambda: wg.sparsity(np.sin, order=3),
    "coloring": lambda: wg.coloring(np.eye(2), mode="rainbow"),
    "vmap": lambda: wg.vmap(3),
    "vmapped": lambda: wg.vmap(np.add)(np.ones(2), np.ones(3)),
    "vectorized_map": lambda: wg.vectorized_map(3, X),
    "associative_scan": lambda: wg.associative_scan(np.add, []),
    "solve_ivp": lambda: wg.integrate.solve_ivp(lambda t, y: y, (0.0, 1.0), X, method="Euler"),
    "custom_root": lambda: wg.custom_root(3, 3),
    "custom_linear_solve": lambda: wg.custom_linear_solve(3, X, 3),
    "minimize": lambda: wg.optimize.minimize(3, X),
    "least_squares": lambda: wg.optimize.least_squares(3, X),
    "root": lambda: wg.optimize.root(3, X),
    "buffer": lambda: wg.buffer(-3),
    "numpy of a buffer that is followed": lambda: wg.grad(lambda x: _filled(x).value * float(_filled(x)[0]))(X),
    "a write that does not fit": lambda: wg.buffer(3).__setitem__(0, [1.0, 2.0]),
    "a read beside the buffer": lambda: wg.buffer(3)[7],
    "len of a buffer": lambda: len(wg.buffer(())),
    "too many arguments": lambda: wg.save(1, 2, 3),
}


def _filled(x):
    held = wg.buffer(2)
    held[0] = x[0]
    return held


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_ends_the_traceback_at_the_users_line(name):
    frames = frames_of(raised_by(REFUSALS[name], Exception))
    assert frames and {f.filename for f in frames} == {__file__}


def test_a_public_function_is_the_function_that_it_was():
    signature = inspect.signature(wg.vmap)
    assert [*signature.parameters] == ["f", "in_axes", "out_axes"]
    assert (
        wg.vmap.__module__ == "wengert.differentiation.batching" and wg.vmap.__name__ == wg.vmap.__qualname__ == "vmap"
    )
    assert (
        wg.vmap.__doc__.startswith("f for a whole batch")
        and wg.vmap.__globals__["__name__"] == "wengert.differentiation.batching"
    )
    assert pickle.loads(pickle.dumps(wg.vmap)) is wg.vmap
    assert inspect.getsource(wg.vmap).lstrip().startswith("@public\ndef vmap(")


def _kernel(x):
    return x * (1 // 0)


def _spec(x):
    raise ZeroDivisionError("in spec")


FAILS = wg.primitive("tracebacks_fails", spec=lambda x: x, numpy=_kernel)
FAILS_BACK = wg.primitive(
    "tracebacks_fails_back", spec=lambda x: x, numpy=np.square, vjp=lambda ct, out, x: ct * (1 // 0)
)
FAILS_TRACED = wg.primitive("tracebacks_fails_traced", spec=_spec, numpy=np.square)


@scenario(ZeroDivisionError)
def the_kernel_of_a_primitive():
    FAILS(X)  # 1


@scenario(ZeroDivisionError)
def the_kernel_of_a_primitive_in_a_gradient():
    def f(x):
        return FAILS(x)  # 2

    wg.grad(f)(X)  # 1


def user_lines(run: Callable[..., Any]) -> list[tuple[int, str]]:
    """The numbered lines of a scenario, as (line number, text), outermost first."""
    lines, first = inspect.getsourcelines(run)
    found = []
    for offset, line in enumerate(lines):
        number = re.search(r"# (\d)$", line.rstrip())
        if number:
            found.append((int(number[1]), first + offset, line.strip()))
    return [(line, text) for _, line, text in sorted(found)]


def raised_by(run: Callable[[], Any], error: type[BaseException]) -> BaseException:
    try:
        run()
    except error as caught:
        return caught
    raise AssertionError(f"{run.__name__} raised nothing")


def frames_of(error: BaseException) -> list[traceback.FrameSummary]:
    """All frames below the one that called the scenario."""
    return [*traceback.extract_tb(error.__traceback__)][1:]


@pytest.mark.parametrize(("run", "error"), SCENARIOS, ids=[run.__name__ for run, _ in SCENARIOS])
def test_only_the_users_frames_are_left(run, error):
    frames = frames_of(raised_by(run, error))
    assert [(f.lineno, f.line) for f in frames] == user_lines(run)
    assert {f.filename for f in frames} == {__file__}


def test_rules_of_a_primitive_show_their_line():
    caught = raised_by(lambda: wg.grad(FAILS_BACK)(X), ZeroDivisionError)
    assert [f.name for f in frames_of(caught)] == ["<lambda>", "<lambda>"]
    assert "1 // 0" in frames_of(caught)[-1].line
    caught = raised_by(lambda: wg.function(FAILS_TRACED)(X), ZeroDivisionError)
    assert [f.name for f in frames_of(caught)] == ["<lambda>", "_spec"]


def test_a_rule_that_failed_in_a_trace_says_its_line_each_time():
    f = wg.function(wg.custom_gradient(_with_a_rule_that_fails))
    lengths = set()
    for _ in range(3):
        caught = raised_by(lambda: wg.grad(f)(X), ZeroDivisionError)
        assert any("raise ZeroDivisionError" in note for note in caught.__notes__)
        lengths.add(len(frames_of(caught)))
    assert lengths == {1}


# -- errors with company -----------------------------------------------------------------------------------------------


def all_files(error: BaseException) -> set[str]:
    return {f.filename for f in traceback.extract_tb(error.__traceback__)}


def test_causes_and_contexts_are_kept_and_folded():
    def f(x):
        try:
            wg.sin("text")
        except TypeError as error:
            raise RuntimeError("mine") from error

    caught = raised_by(lambda: wg.grad(f)(X), RuntimeError)
    assert isinstance(caught.__cause__, TypeError)
    assert all_files(caught) | all_files(caught.__cause__) == {__file__}
    assert traceback.extract_tb(caught.__cause__.__traceback__)[-1].line == 'wg.sin("text")'


def test_the_kernels_own_error_is_the_cause():
    caught = raised_by(lambda: wg.grad(wg.linalg.inv)(np.zeros((2, 2))), np.linalg.LinAlgError)
    assert all_files(caught) == {__file__}
    assert isinstance(caught.__cause__, np.linalg.LinAlgError)
    assert all("numpy" in name for name in all_files(caught.__cause__))
    shown = "".join(traceback.format_exception(caught))
    assert "direct cause" in shown and PACKAGE not in shown


def test_groups_are_folded_in_all_their_parts():
    def f(x):
        errors = []
        for text in ("one", "two"):
            try:
                wg.sin(text)
            except TypeError as error:
                errors.append(error)
        raise ExceptionGroup("both", errors)

    caught = raised_by(lambda: wg.grad(f)(X), ExceptionGroup)
    assert len(caught.exceptions) == 2
    for error in (caught, *caught.exceptions):
        assert all_files(error) == {__file__}


def test_a_cycle_of_causes_ends():
    def f(x):
        first, second = ValueError("first"), KeyError("second")
        first.__cause__, second.__cause__ = second, first
        raise first

    assert frames_of(raised_by(lambda: wg.grad(f)(X), ValueError))[-1].line == "raise first"


def test_tracebacks_that_the_user_holds_are_not_changed():
    held = []

    def f(x):
        try:
            wg.sin("text")
        except TypeError as error:
            held.append(error.__traceback__)
            raise

    raised_by(lambda: wg.grad(f)(X), TypeError)
    assert any(f.filename.startswith(PACKAGE) for f in traceback.extract_tb(held[0]))


def test_a_deep_recursion_is_folded():
    def f(x):
        return wg.grad(f)(x)

    frames = frames_of(raised_by(lambda: wg.grad(f)(2.0), RecursionError))
    assert not any(f.filename.startswith(PACKAGE) for f in frames[:-20])
    assert frames[1].line == "return wg.grad(f)(x)"


# -- what stays --------------------------------------------------------------------------------------------------------


def test_everything_stays_where_the_environment_says_so(monkeypatch):
    monkeypatch.setenv("WENGERT_FULL_TRACEBACK", "1")
    frames = frames_of(raised_by(f_under_grad, ZeroDivisionError))
    assert any(f.filename.startswith(PACKAGE) for f in frames)
    monkeypatch.setenv("WENGERT_FULL_TRACEBACK", "0")
    assert [(f.lineno, f.line) for f in frames_of(raised_by(f_under_grad, ZeroDivisionError))] == user_lines(
        f_under_grad
    )


def test_faults_of_ours_keep_our_frames(monkeypatch):
    """An accident in the package is to be found: the frames at the end stay, those between the user's go."""

    def broken(*args):
        return None.data

    broken = type(broken)(broken.__code__.replace(co_filename=f"{PACKAGE}/broken.py"), {})
    monkeypatch.setattr("wengert.differentiation.functional.chosen_arguments", broken)
    frames = frames_of(raised_by(lambda: wg.grad(np.sin)(X), AttributeError))
    assert frames[-1].filename.endswith("broken.py") and frames[-2].name.startswith("grad")
    monkeypatch.setattr("wengert.differentiation.batching._of_arguments", broken)
    frames = frames_of(raised_by(lambda: wg.vmap(np.sin)(X), AttributeError))
    assert [f.name for f in frames[-2:]] == ["mapped", "broken"] and not any("public.py" in f.filename for f in frames)


def test_plain_ops_outside_of_any_public_function_say_the_users_line():
    """Their frames stay (wengert/_core/tracebacks.py tells why); the first is the user's, and the message names it."""
    caught = raised_by(lambda: wg.sin("text"), TypeError)
    frames = frames_of(caught)
    assert frames[0].filename == __file__ and len(frames) <= 6
    assert f"{__file__}:{frames[0].lineno}" in str(caught)


def test_a_program_that_fails_prints_its_own_lines(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import wengert as wg\n\n\ndef loss(w):\n    return (w @ w).sum()\n\n\nprint(wg.grad(loss)([[1.0, 2.0]]))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, timeout=120)
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("File")]
    assert lines == [f'File "{program}", line 8, in <module>', f'File "{program}", line 5, in loss']


def test_folding_an_error_without_a_traceback():
    error = ValueError("never raised")
    fold(error)
    assert error.__traceback__ is None


PIECE = "np.vectorize(abs)(x)"


@pytest.mark.parametrize("source", [PIECE, "import sys; exec(sys.stdin.readline())", "no program (", ""])
def test_the_line_of_evaluated_code_is_its_own_or_none(monkeypatch, source):
    """Python 3.13 knows the program of `python -c` as the file "<string>", of which all evaluated code is, too."""
    monkeypatch.setitem(linecache.cache, "<string>", (len(source), None, source.splitlines(keepends=True), "<string>"))
    with wg.GradientTape() as tape:
        x = wg.tensor([1.0, 2.0])
        tape.watch(x)
        with pytest.raises(wg.LostGradientError) as caught:
            exec(compile(PIECE, "<string>", "exec", dont_inherit=True), {"np": np, "x": x})
    name, _, place = str(caught.value).partition(" would turn")
    shown = place.partition("\n  see ")[0].partition("\n  at ")[2]
    if source == PIECE:
        assert name.startswith("np.vectorize(abs)") and shown == f"<string>:1, in <module>: {PIECE}"
    else:
        assert name.startswith("numpy") and shown == "<string>:1, in <module>"
