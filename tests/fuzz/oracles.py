"""What must hold for a program, one function each: it raises, an AssertionError or what the library raises, or it holds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fuzz.case import Case, accepted, gradient_of, total_of
from tests.fuzz.comparing import Outcome, Refused, outcome_of
from tests.fuzz.program import LAYOUTS, PLAIN, laid_out
from tests.support.control_checks import check, choices_of, memory_budget
from tests.support.control_programs import Program as ControlProgram
from tests.support.native_checks import numpy_only
from wengert._core import budget
from wengert._engines.native.plan import sizes
from wengert.errors import CapturedError

Oracle = Callable[[Case], None]
MODERATE = 1e6  # of a slope: beyond it the differences of a program say nothing
OF_EQUAL_VALUES = ("eigvalsh", "svdvals", "'nuc'")  # where they are equal, second derivatives need their vectors


@contextmanager
def sizes_known_at_run_time(least: int) -> Iterator[None]:
    """All graphs that can are compiled for sizes that their calls tell, those of extents beyond `least`."""

    class Others(OrderedDict[Any, Any]):
        def setdefault(self, key: Any, default: Any = None) -> Any:
            return [()] * sizes.SEVERAL  # so many other sizes have code of their own already

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "_seen", Others())
        patch.setattr(sizes, "SPECIAL", least)
        yield


def _told(case: Case) -> Any:
    least = case.program.least
    return nullcontext() if least is None else sizes_known_at_run_time(least)


# -- one engine: eager, machine code, NumPy's kernels -------------------------------------------------------------------


def compiled(case: Case) -> None:
    """Eager, machine code and NumPy's kernels agree; a second call gives the same bits; inputs stay as they are."""
    with _told(case):
        for name in ("values", "gradient", "second gradient"):
            _compiled(case, name)


def _compiled(case: Case, name: str) -> None:
    def way(f: Callable[..., Any]) -> Any:
        return case.run(case.variant(name, f))

    native, arrays = wg.function(case.variant(name)), case.arrays()
    copies = [x.copy() for x in arrays]
    found, again = (outcome_of(native, arrays) for _ in range(2))
    case.bits(again, accepted(found), f"{name}, second call")
    for x, y in zip(arrays, copies, strict=True):
        case.bits([x], [y], f"{name}: an input afterwards")
    with numpy_only():
        wanted = case.run(wg.function(case.variant(name)))
    case.agree(found, wanted, f"{name}: machine code, NumPy's kernels", way)
    eager = way(case.function())
    if eager is CapturedError:  # in a trace only where something reads what came of the value
        raise Refused(eager.__name__)
    case.agree(found, eager, f"{name}: compiled, eager", way)


def policies(case: Case) -> None:
    """Whatever loops keep for the backward pass, gradients are the same."""
    if "policy" not in case.program.source:
        raise Refused("no loop keeps anything")
    places = case.program.places()

    def way(f: Callable[..., Any]) -> Any:
        return case.run(gradient_of(f, places))

    wanted = case.wanted(way)
    for policy in case.numbers.sample(["all", "sqrt", 1, 3, "auto"], 3):
        with memory_budget(64 if policy == "auto" else budget.limit()):
            case.agree(way(case.function(policy=policy)), wanted, f"checkpoint={policy!r}, eager", way)
            found = accepted(case.run(wg.function(gradient_of(case.function(policy=policy), places))))
            case.agree(found, wanted, f"checkpoint={policy!r}, compiled", way)


def other_sizes(case: Case) -> None:
    """One compiled function at its sizes, at others, and at its own again."""
    f = case.function()
    unknown = case.numbers.random() < 0.5
    specs = [wg.TensorSpec([None] * len(x.shape), x.dtype) for x in case.program.inputs]
    fn = wg.function(f, input_signature=specs) if unknown else wg.function(f)
    arrays = case.arrays()
    first = accepted(outcome_of(fn, arrays))
    if isinstance(first, type):
        raise Refused(first.__name__)  # a program may hold its sizes
    case.agree(first, case.wanted(case.run), "its own sizes, eager", case.run)
    for change in (lambda n: n + 1, lambda n: 2 * n, lambda n: max(1, n - 1), lambda n: 0):
        if case.numbers.random() < 0.4:
            continue
        others = [x._replace(shape=(*[n if n == 1 else change(n) for n in x.shape],)) for x in case.program.inputs]
        if any(x.values is not None and x.shape for x in others):
            raise Refused("inputs of given elements")
        other = case.program._replace(inputs=(*others,))
        moved = Case(other, "other sizes")
        wanted = moved.run(other.build())
        if isinstance(wanted, type):
            continue
        found = outcome_of(fn, moved.arrays())
        if isinstance(found, type) and isinstance(moved.run(wg.function(other.build())), type):
            continue  # the branch that does not run is of its sizes
        moved.agree(found, wanted, f"sizes {[x.shape for x in others]}", moved.run)
    case.bits(outcome_of(fn, arrays), first, "its own sizes again")


def owned(case: Case) -> None:
    """Results are the caller's: nothing that is done to them, or to inputs, changes anything else."""
    f, places = case.function(), case.program.places()
    for what, fn in (("a function", wg.function(f)), ("a gradient", wg.function(gradient_of(f, places)))):
        arrays = [np.array(x) for x in case.arrays()]
        copies = [x.copy() for x in arrays]
        try:
            results = [x for x in wg.tree.leaves(fn(*arrays)) if isinstance(x, np.ndarray)]
        except Exception as error:
            raise Refused(type(error).__name__) from error
        kept = [x.copy() for x in results]
        for place, x in enumerate(results):
            assert x.flags.writeable, f"{what}: result {place} is read-only"
            assert x.flags.c_contiguous, f"{what}: result {place} of shape {x.shape} has strides {x.strides}"
            for other in [*arrays, *results[:place]]:
                assert not np.shares_memory(x, other), f"{what}: result {place} shares memory"
        for x in arrays:
            x[...] = 1
        case.bits(results, kept, f"{what}: results after its inputs were written to")
        for x in results:
            x[...] = 0
        again = [x for x in wg.tree.leaves(fn(*copies)) if isinstance(x, np.ndarray)]
        case.bits(again, kept, f"{what}: results of a call after the first ones were written to")


def layouts(case: Case) -> None:
    """However arrays lie in memory, they hold the same elements."""
    variant = case.numbers.choice(["values", "gradient"])
    elements = [x.elements() for x in case.program.inputs]

    def way(f: Callable[..., Any]) -> Any:
        return outcome_of(case.variant(variant, f), elements)

    fn, wanted = wg.function(case.variant(variant)), case.wanted(way)
    plain = accepted(outcome_of(fn, elements))
    case.agree(plain, wanted, f"{variant}: plain arrays, compiled", way)
    for layout in case.numbers.sample([name for name in LAYOUTS if name not in (PLAIN, "broadcast")], 4):
        laid = [laid_out(x, layout) for x in elements]
        case.agree(outcome_of(fn, laid), wanted, f"{variant}: {layout} arrays, compiled", way)
        case.agree(outcome_of(case.variant(variant), laid), wanted, f"{variant}: {layout} arrays, eager", way)


def threads(case: Case) -> None:
    """Several threads that call one function, the first call included, get what each would get alone."""
    variant = case.numbers.choice(["values", "gradient"])
    fn, count = wg.function(case.variant(variant)), 4
    given = [
        [x * x.dtype.type(1 + 0.25 * (k % 2)) if x.dtype.kind == "f" else x for x in case.arrays()]
        for k in range(count)
    ]
    found: list[Any] = [None] * count
    start = threading.Barrier(count)

    def work(k: int) -> None:
        start.wait()
        found[k] = [outcome_of(fn, given[k]) for _ in range(3)]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(count):
        assert found[k] is not None, f"thread {k} gave nothing"
        wanted = accepted(outcome_of(fn, given[k]))
        for turn, one in enumerate(found[k]):
            case.bits(one, wanted, f"{variant}: call {turn} of thread {k}, alone")


# -- ways to a derivative -----------------------------------------------------------------------------------------------


def _directions(case: Case) -> dict[int, Any]:
    rng = np.random.default_rng(case.numbers.randrange(2**32))
    found: dict[int, Any] = {}
    for place in case.program.places():
        x = case.program.inputs[place]
        t = rng.normal(size=x.shape)
        found[place] = np.asarray(t + 1j * rng.normal(size=x.shape) if np.dtype(x.dtype).kind == "c" else t).astype(
            x.dtype
        )
    return found


def _shifted(case: Case, directions: dict[int, Any], step: float) -> list[Any]:
    return [x + step * directions[i] if i in directions else x for i, x in enumerate(case.arrays())]


def _along(case: Case, slopes: Any, directions: dict[int, Any]) -> float:
    wide = np.complex128
    found = sum(
        np.sum(np.conj(g.astype(wide)) * t.astype(wide)) for g, t in zip(slopes, directions.values(), strict=True)
    )
    return float(np.real(found))


def _forward(case: Case, f: Callable[..., Any], directions: dict[int, Any]) -> Callable[..., Any]:
    """The slope of a number along directions, by forward mode, as a function of all inputs."""

    def slope(*xs: Any) -> Any:
        def of_floats(*floats: Any) -> Any:
            every = [*xs]
            for place, x in zip(directions, floats, strict=True):
                every[place] = x
            return f(*every)

        return wg.jvp(of_floats, (*[xs[i] for i in directions],), (*directions.values(),))[1]

    return slope


def _is_smooth_here(case: Case) -> bool:
    return case.is_true and not case.is_special and case.program.is_all_double()


def modes(case: Case) -> None:
    """Reverse, forward and differences give one slope; so do tapes, recomputation, and what is compiled."""
    places, directions = case.program.places(), _directions(case)

    def reverse(f: Callable[..., Any]) -> Any:
        found = case.run(wg.grad(total_of(f), places, unconnected_gradients="zero"))
        return found if isinstance(found, type) else [np.asarray(_along(case, found, directions))]

    def forward(f: Callable[..., Any]) -> Any:
        return case.run(lambda *xs: wg.astype(_forward(case, total_of(f), directions)(*xs), "float64"))

    wanted = case.wanted(reverse)
    value = case.run(total_of(case.function()))
    if isinstance(value, type) or not np.all(np.isfinite(value[0])):
        raise Refused("no number to differentiate")  # the mean of nothing
    if case.is_true:  # a rule for one mode may say something else than that for the other
        case.agree(accepted(forward(case.function())), wanted, "forward, reverse", reverse)
        slope = wg.function(
            lambda *xs: wg.astype(_forward(case, total_of(case.function()), directions)(*xs), "float64")
        )
        case.agree(accepted(case.run(slope)), wanted, "compiled forward, reverse", reverse)
    _interfaces(case, places)
    if _is_smooth_here(case):
        total = total_of(case.function())
        _differences(case, lambda *xs: np.asarray(total(*xs)), directions, wanted[0], "differences, reverse", reverse)


def _differences(
    case: Case, f: Callable[..., Any], directions: dict[int, Any], wanted: Any, what: str, way: Callable[..., Any]
) -> None:
    """Central differences, where they tell the truth: not at a kink or a jump, and not of what curves too much."""
    here = np.asarray(f(*case.arrays()), np.float64)
    step = 1e-4

    def at(h: float) -> Any:
        return np.asarray(f(*_shifted(case, directions, h)), np.float64)

    wide = (at(step) - at(-step)) / (2 * step)
    up, down = at(step / 4), at(-step / 4)
    narrow = (up - down) / (step / 2)
    sides = np.abs((up - here) - (here - down)) / (step / 4)
    size = 1.0 + np.abs(narrow)
    if not all(np.all(np.isfinite(a)) for a in (wide, narrow, sides, wanted)):
        return
    is_told = (np.abs(wide - narrow) <= 1e-4 * size) & (sides <= 1e-1 * size) & (np.abs(narrow) < MODERATE)
    is_told &= np.abs(here) < MODERATE
    bad = is_told & (np.abs(narrow - wanted) > 2e-3 * size)
    if np.any(bad):
        spread = [way(lambda *xs, k=k: case.function()(*_nudged(xs, k))) for k in (1, 2)]
        if any(isinstance(s, type) for s in spread) or any(
            np.max(np.abs(np.asarray(s[0]) - wanted)) > 1e-4 for s in spread
        ):
            case.notes.add("rounding")
            return
        raise AssertionError(f"{what}: {narrow[bad][:5]}, {np.asarray(wanted)[bad][:5]}")


def _nudged(xs: Any, seed: int) -> list[Any]:
    """Inputs a little further: beside a kink that the point lies on."""
    return [x * (1.0 + 1e-9 * (2 * seed - 3)) if np.dtype(x.dtype).kind in "fc" else x for x in xs]


def _interfaces(case: Case, places: tuple[int, ...]) -> None:
    """A tape, and a function that is computed again, against `grad`."""

    def way(f: Callable[..., Any]) -> Any:
        return case.run(wg.grad(total_of(f), places, unconnected_gradients="zero"))

    def by_tape(*xs: Any) -> Any:
        xs = (*map(wg.tensor, xs),)
        with wg.GradientTape() as tape:
            for i in places:
                tape.watch(xs[i])
            y = total_of(case.function())(*map(wg.copy, xs))  # which a program may write to
        return tape.gradient(y, [xs[i] for i in places], unconnected_gradients="zero")

    def again(*xs: Any) -> Any:
        return wg.grad(wg.recompute_grad(total_of(case.function())), places, unconnected_gradients="zero")(*xs)

    wanted = case.wanted(way)
    interface = case.numbers.choice([by_tape, again])
    case.agree(case.run(interface), wanted, f"{interface.__name__}, grad", way)


def second_order(case: Case) -> None:
    """Reverse over reverse, forward over reverse, and differences of gradients agree."""
    if not case.is_true or case.program.is_complex():
        raise Refused("second derivatives need not be symmetric")
    places, directions = case.program.places(), _directions(case)

    def gradient(f: Callable[..., Any]) -> Callable[..., Any]:
        return wg.grad(total_of(f), places, unconnected_gradients="zero")

    def along(f: Callable[..., Any]) -> Callable[..., Any]:
        def slope(*xs: Any) -> Any:
            terms = [wg.sum(wg.astype(g, "float64") * t.astype("float64"))
                     for g, t in zip(gradient(f)(*xs), directions.values(), strict=True)]  # fmt: skip
            return sum(terms[1:], terms[0])

        return wg.grad(slope, places, unconnected_gradients="zero")

    def reverse(f: Callable[..., Any]) -> Any:
        return case.run(along(f))

    wanted = case.wanted(reverse)
    ahead = accepted(case.run(_forward(case, gradient(case.function()), directions)))
    if _knows_its_vectors(case, ahead, wanted):
        wanted = ahead
    case.agree(ahead, wanted, "forward over reverse, reverse over reverse", reverse)
    compiled_forward = wg.function(_forward(case, gradient(case.function()), directions))
    case.agree(
        accepted(case.run(compiled_forward)), wanted, "compiled forward over reverse, reverse over reverse", reverse
    )
    if _is_smooth_here(case):
        g = gradient(case.function())
        for place, which in enumerate(directions):
            if case.program.inputs[which].shape != ():
                continue
            _differences(
                case,
                lambda *xs, i=place: np.asarray(g(*xs)[i]),
                directions,
                wanted[place],
                "differences of gradients",
                reverse,
            )


def _knows_its_vectors(case: Case, forward: Outcome, reverse: Outcome) -> bool:
    """Whether forward mode has a number at equal eigenvalues where reverse mode has NaN.

    It has one along tangents that leave a basis of eigenvectors one; a cotangent does not tell of which basis it is.
    """
    if isinstance(forward, type) or not any(word in case.program.source for word in OF_EQUAL_VALUES):
        return False
    return all(np.all(np.isfinite(x)) for x in forward) and any(np.any(np.isnan(x)) for x in reverse)


def jacobians(case: Case) -> None:
    """Jacobians by rows, by columns, by linear parts; and Hessians."""
    places = [i for i in case.program.places() if 0 < np.prod(case.program.inputs[i].shape, dtype=int) <= 12]
    if not places or not case.is_true or case.program.is_complex() or case.is_special:
        raise Refused("no input of few elements")
    place = case.numbers.choice(places)

    def results(f: Callable[..., Any]) -> Callable[..., Any]:
        def floats(*xs: Any) -> Any:
            # of x's dtype: a Jacobian by rows has the dtype of x, one by columns that of the result
            like = np.dtype(case.program.inputs[place].dtype)
            found = [y for y in wg.tree.leaves(f(*xs)) if np.dtype(y.dtype) == like and y.size <= 200]
            if not found:
                raise Refused("no result of few elements")
            return wg.concatenate([wg.reshape(y, (-1,)) for y in found])

        return floats

    def compiled(f: Callable[..., Any], eager: Any, what: str, again: Callable[..., Any]) -> None:
        case.agree(accepted(case.run(wg.function(f))), eager, what, again)

    def reverse(f: Callable[..., Any]) -> Any:
        return case.run(_connected(wg.jacobian(results(f), place, mode="reverse")))

    wanted = case.wanted(reverse)
    forward = wg.jacobian(results(case.function()), place, mode="forward")
    case.agree(case.run(forward), wanted, "Jacobian by columns, by rows", reverse)
    compiled(wg.jacobian(results(case.function()), place), wanted, "compiled Jacobian, by rows", reverse)

    def by_linear_part(*xs: Any) -> Any:
        def alone(x: Any) -> Any:
            return results(case.function())(*xs[:place], x, *xs[place + 1 :])

        x = xs[place]
        _, push = wg.linearize(alone, x)
        basis = np.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
        columns = wg.stack([push(t) for t in basis], axis=-1)
        return wg.reshape(columns, (*columns.shape[:-1], *x.shape))

    case.agree(case.run(by_linear_part), wanted, "linear part, Jacobian by rows", reverse)

    def hessian(f: Callable[..., Any]) -> Any:
        return case.run(_connected(wg.hessian(total_of(f), place)))

    second = case.wanted(hessian)
    forward_over = wg.jacobian(wg.grad(total_of(case.function()), place), place, mode="forward")
    case.agree(case.run(forward_over), second, "Hessian by columns, as it comes", hessian)
    compiled(wg.hessian(total_of(case.function()), place), second, "compiled Hessian, eager", hessian)


def _connected(f: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*xs: Any) -> Any:
        try:
            return f(*xs)
        except wg.DisconnectedError as error:
            raise Refused("not connected") from error

    return checked


def batched(case: Case) -> None:
    """`vmap` over examples is a loop over examples."""
    rng = np.random.default_rng(case.numbers.randrange(2**32))
    axes = [
        0 if i in case.program.places() and case.numbers.random() < 0.8 else None
        for i in range(len(case.program.inputs))
    ]
    if not any(a == 0 for a in axes):
        axes[case.program.places()[0]] = 0
    given = [x if a is None else np.stack([x * x.dtype.type(s) for s in (1.0, *rng.uniform(0.5, 1.5, 2))])
             for x, a in zip(case.arrays(), axes, strict=True)]  # fmt: skip
    variant = case.numbers.choice(["values", "gradient"])
    if sum(x.size for x in given) > 3000:
        raise Refused("large inputs")

    def one_by_one(f: Callable[..., Any]) -> Any:
        g = case.variant(variant, f)
        rows = [outcome_of(g, [x if a is None else x[k] for x, a in zip(given, axes, strict=True)]) for k in range(3)]
        raised = [row for row in rows if isinstance(row, type)]
        return raised[0] if raised else [np.stack(found) for found in zip(*rows, strict=True)]

    def at_once(f: Callable[..., Any]) -> Callable[..., Any]:
        return wg.vmap(f, in_axes=(*axes,))

    wanted = case.wanted(one_by_one)
    for layer, what in ((lambda f: f, "eager"), (wg.function, "compiled")):
        found = accepted(outcome_of(layer(at_once(case.variant(variant))), given))
        case.agree(found, wanted, f"{variant}: {what} vmap, one by one", one_by_one)


# -- branches and loops, as `tests/support/control_programs.py` writes them ---------------------------------------------


def control(case: Case) -> None:
    """Every mode, policy and reference gives the same derivatives, the complex step among them."""
    check(control_program(case.program.source), choices_of(int(case.program.seed)))


def control_program(source: str) -> ControlProgram:
    """A program of branches and loops of its text; what is in it says which checks hold."""
    from_text = {
        "scaled": "2.0 * ct", "stop": "stop_gradient", "assign": "s_state.assign", "derivative": "derivative(inner",
    }  # fmt: skip
    return ControlProgram(source, frozenset(name for name, text in from_text.items() if text in source))
