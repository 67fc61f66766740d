"""The native engine at work: refines optimised graphs, compiles their segments on first use, and runs them.

A segment runs through a built-in function that takes arrays and numbers of Python's (`run/entry.py`). Where machine
code refuses or fails, NumPy's kernels run the segment again and raise the error.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import re
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..._core import budget, forking, time_limit
from ..._core.analysis import atoms_named, atoms_told
from ..._core.dims import Atom, dims_in
from ..._core.garbage import uncollected
from ..._core.graph import Graph, Node
from ..._core.printer import programs_of
from ..._core.progress import stage
from ..._core.tensor import Value
from ..._core.types import Guards
from ..._core.user_line import Site, at_user_line, warn
from ..refine import COMPILED, Plain
from ..regions import as_object
from .dumps import dump
from .ir.accesses import error_of
from .ir.loops import Status, verify
from .llvm import target
from .llvm.codegen import module_text
from .llvm.jit import LinkError, Loaded, shared
from .lower.forms import TYPE_OF
from .lower.functions import Kinds, Lowered, lowered
from .plan.prepare import ready
from .plan.rare_cases import without_rare
from .plan.segments import Part, parts
from .plan.sizes import sized
from .plan.support import culprit_of, in_own_steps, is_native, reason_against, untold, with_rare
from .run import memory
from .run.callable import CALLABLE
from .run.calls import entry_of
from .run.entry import Code as Entry
from .run.numpy_warnings import Noted, Teller, is_quiet
from .run.owners import Owner, lack_of
from .run.shared_histories import Passed

# What cannot be compiled is an error, and not left to NumPy's kernels; and every function is verified before it is
# compiled. Tests switch both on, by the environment also in the processes that they start.
IS_STRICT = VERIFIES = os.environ.get("WENGERT_STRICT", "0") != "0"
T = TypeVar("T")
FEW = 200  # calls of rare cases without a loop: to compile these takes as long as some hundreds of runs by kernels
QUICK = 300  # nodes that become code in less time than somebody may be kept waiting for a warning

# What goes wrong in the compiler; what a signal's handler raises meanwhile (a TimeoutError, say) is the caller's.
FAILURES = (ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, OSError,
            RuntimeError, TypeError, ValueError, LinkError)  # fmt: skip
LONGEST = 150_000  # nodes: to compile more takes many seconds and much memory; `builder.LONGEST` bounds each function


@functools.cache
def has_llvm() -> bool:
    """Whether llvmlite is installed, and nothing forbids to import it."""
    try:
        return importlib.util.find_spec("llvmlite") is not None
    except (ImportError, ValueError):  # a finder that refuses, or None among the modules
        return False


_lacks: list[str] = []  # why no machine code can be made here, once that was found out


def is_on() -> bool:
    """Whether graphs become machine code: llvmlite is there, for all that is known works, and WENGERT_JIT is not 0."""
    return has_llvm() and os.environ.get("WENGERT_JIT", "1") != "0" and not _lacks


def lack() -> str:
    """Why graphs do not become machine code in this process; empty where they do. Loads LLVM to find out."""
    if not has_llvm():
        return "llvmlite is not installed"
    return "WENGERT_JIT is 0" if os.environ.get("WENGERT_JIT", "1") == "0" else target.lack()


def _is_lacking() -> bool:
    """Whether no machine code can be made here whatever the program; the first time it is told, and all others end."""
    if _lacks:
        return True
    reason = target.lack()
    if reason:
        _lacks.append(reason)
        warn(f"functions are compiled to calls of NumPy's kernels, not to machine code: {reason}", RuntimeWarning)
    return bool(reason)


def _tell(graph: Graph) -> None:
    budget.tell(
        "a loop of %s has given up its history: the memory budget is %d bytes (wg.set_memory_budget); the reverse pass "
        "runs steps again from snapshots", graph.name, budget.limit(),
    )  # fmt: skip


def _or_failure(make: Callable[..., T], *arguments: object, told: object) -> T | None:
    """What `make` compiles; None where the compiler fails, which the logger "wengert" is told with the traceback."""
    try:
        return uncollected.run(make, *arguments)
    except FAILURES:
        if IS_STRICT:
            raise
        if _is_lacking():
            return None
        import logging  # takes longer to load than most of this package, and few programs come here

        logging.getLogger("wengert").warning("%s runs by NumPy's kernels: compiling it failed", told, exc_info=True)
        return None


class Manner(NamedTuple):
    """What machine code a graph becomes.

    Attributes:
        is_frugal: whether loops keep snapshots where they might keep all that their steps save.
        has_rare: whether what only `rarely` set flags need is in it.
    """

    is_frugal: bool = False
    has_rare: bool = False

    def instead(self, status: int) -> Manner | None:
        """That of the code which takes a call that other code has ended with a status; None where there is none."""
        if status == Status.OVER_BUDGET and not self.is_frugal:
            return self._replace(is_frugal=True)
        return self._replace(has_rare=True) if status == Status.RARE and not self.has_rare else None

    def __str__(self) -> str:
        words = "loops with snapshots" * self.is_frugal, "rare cases" * self.has_rare
        return ", ".join(filter(None, words))


USUAL = Manner()


class Kernels:
    """A graph run by NumPy's kernels, where machine code refuses or ends early. It knows not that code: no cycles.

    Attributes:
        runs: how often they ran.
        manner: that of the code.
        owners: what the buffers of the machine code hold, by number.
        numbers: what dimensions of the machine code stand for.
    """

    def __init__(self, graph: Graph, plain: Plain, manner: Manner = USUAL) -> None:
        self.graph = graph
        self.runs = 0
        self.manner = manner
        self.owners: dict[int, Owner] = {}
        self.numbers: dict[Atom, int] = {}
        self._others: dict[Manner, Other] = {}
        self._rare_calls = 0
        self._has_told = False
        self._plain = plain
        self._run: Callable[..., tuple[Any, ...]] | None = None

    def __call__(self, *natives: Any) -> tuple[Any, ...]:
        if self._run is None:
            self._run = self._plain(self.graph)
        self.runs += 1
        return self._run(*natives)

    def again(self, manner: Manner = USUAL) -> Kernels:
        """The same kernels, for other code."""
        return Kernels(self.graph, self._plain, manner)

    def failed(self, status: int, failing: int, *natives: Any) -> tuple[Any, ...]:
        """What a run that ended early gives: an error, or the results of NumPy's kernels (which may raise theirs)."""
        if status == Status.MEMORY:
            raise lack_of(self.graph, self.owners, self.numbers, failing, natives)
        if status == Status.ASTRAY:
            raise error_of(self.graph.name, self.owners)
        if status == Status.OVER_BUDGET:
            _tell(self.graph)
        manner = self.manner.instead(status)
        if manner is not None and (status != Status.RARE or self._comes_often()):
            return self._others.setdefault(manner, Other(self.graph, self.again(manner)))(*natives)
        found = self(*natives)
        if status in (Status.REFUSED, Status.RARE) and not self._has_told:  # and the kernels have raised no error
            self._has_told = True
            _tell_refused(self.graph)
        return found

    def _comes_often(self) -> bool:
        """Whether code for rare cases is worth its compilation: for loops and branches at once, else if they go on."""
        if len(self.graph.nodes) > QUICK and time_limit.is_short():
            return False
        self._rare_calls += 1
        return self._rare_calls > FEW or any(map(programs_of, self.graph.nodes))


class Segment:
    """Nodes that are one function of machine code.

    Attributes:
        graph: the nodes, with the values that come in and go out.
        kernels: what runs them otherwise.
    """

    def __init__(self, graph: Graph, plain: Plain) -> None:
        self.graph = graph
        self.kernels = Kernels(graph, plain)
        self._lock = forking.long_lock()
        self._codes: dict[tuple[Kinds, Manner], Code] = {}
        self._code: Code | None = None  # the only one, where no histories come in
        self._is_given_up = False

    @property
    def refusals(self) -> int:
        """How often NumPy's kernels ran instead of the code, for tests and curious users."""
        return self.kernels.runs

    @property
    def codes(self) -> list[Code]:
        """The machine code made so far."""
        return [*self._codes.values()]

    def run(self, *natives: np.generic | np.ndarray[Any, Any]) -> tuple[Any, ...]:
        """The results for NumPy's arrays and scalars."""
        code = self._code
        if code is None and not (len(self.graph.nodes) > QUICK and time_limit.is_short()):
            code = self._code = self.code()
        found = NotImplemented if code is None else code.function(*natives)
        return self.kernels(*natives) if found is NotImplemented else found

    def code(self, kinds: Kinds = (), manner: Manner = USUAL) -> Code | None:
        """The machine code, made now if it is not there yet; None if it cannot be made. `kinds`: of histories given."""
        with self._lock:
            found = self._codes.get((kinds, manner))
            if found is None and not self._is_given_up:
                found = _or_failure(self._made, kinds, manner, told=self)
                if found is None:
                    self._is_given_up = True
                else:
                    self._codes[kinds, manner] = found
            return found

    def timed(self) -> Timed | None:
        """The same code with a clock, made anew, for a report; None where there is none."""
        return None if self._code is None else _or_failure(Timed, self.graph, self.kernels.again(), told=self)

    def _made(self, kinds: Kinds, manner: Manner) -> Code:
        return Code(self.graph, self.kernels)

    def entry(self, guards: Guards | None) -> Entry | None:
        """What built-in functions of the segment are made of; None if there is no code."""
        code = self.code(())
        return None if code is None else _or_failure(code.entry, guards, told=self)

    def __repr__(self) -> str:
        return f"<native {self.graph.name}: {len(self.graph.nodes)} nodes>"


class Relay(Segment):
    """A segment that takes histories from other ones, or gives them some. Its code depends on what they look like."""

    def __init__(self, graph: Graph, plain: Plain) -> None:
        super().__init__(graph, plain)
        self._arrays = [i for i, v in enumerate(graph.inputs) if not v.is_history]
        self._histories = [i for i, v in enumerate(graph.inputs) if v.is_history]
        direct = {node.inputs[0].key for node in graph.nodes if node.op.name == "loop_back"}
        self._read = [graph.inputs[i].key in direct for i in self._histories]
        self._noted = Noted()  # for the kernels take histories as a whole, and the code their arrays
        self._teller = Teller(self.kernels.again())
        self._gives = [v.is_history for v in graph.outputs]

    def run(self, *natives: Any) -> tuple[Any, ...]:
        self._noted.taken()
        given = [natives[i][()] for i in self._histories]
        if self._is_given_up or not all(type(h) is Passed for h in given):
            return self.kernels(*natives)
        given = [h.narrowed() if is_read else h for h, is_read in zip(given, self._read, strict=True)]
        arrays = [natives[i] for i in self._arrays]
        found, manner = self._tried(arrays, given, USUAL), USUAL
        while type(found) is Failure and (other := manner.instead(found.status)) is not None:
            if found.status == Status.OVER_BUDGET:
                _tell(self.graph)
            found, manner = self._tried(arrays, given, other), other
        if found is None:
            return self.kernels(*natives)
        if type(found) is Failure:
            return self.kernels.failed(*found, *natives)
        flags = self._noted.taken()
        if flags:
            self._teller(flags, *natives)
        return found

    def _tried(self, arrays: list[Any], given: Sequence[Passed], manner: Manner) -> Any:
        """What machine code gives: results, a failure, or None where it cannot be used."""
        kinds = (*[h.kind for h in given],)
        code = self._codes.get((kinds, manner)) or self.code(kinds, manner)
        if code is None:
            return None
        held = [a for h in given for a in h.arrays]
        found = code.function(*arrays, *held)
        if found is NotImplemented:
            return None
        return found if type(found) is Failure else self._results(code, found)

    def _made(self, kinds: Kinds, manner: Manner) -> Code:
        return Code(self.graph, self.kernels, kinds, Failure.of, manner, self._noted)

    def _results(self, code: Code, found: tuple[Any, ...]) -> tuple[Any, ...]:
        layout = code.lowered.layout
        if layout is None:
            return found
        count = len(self._gives) - sum(self._gives)
        held, arrays, number = found[count:], iter(found[:count]), 0
        results: list[Any] = []
        for is_history in self._gives:
            results.append(as_object(Passed(layout, held, number)) if is_history else next(arrays))
            number += is_history
        return (*results,)

    def entry(self, guards: Guards | None) -> Entry | None:
        """None: what is passed on is no array."""
        return None


class Other:
    """The code of a segment in another manner, compiled when a call first needs it.

    NumPy's kernels run where it ends early, and where it cannot be compiled.
    """

    def __init__(self, graph: Graph, kernels: Kernels) -> None:
        self._code: Code | None = None
        self._graph = graph
        self._kernels = kernels
        self._is_given_up = False
        self._lock = forking.long_lock()

    def __call__(self, *natives: Any) -> tuple[Any, ...]:
        with self._lock:
            if self._code is None and not self._is_given_up:
                kernels = self._kernels
                self._code = _or_failure(Code, self._graph, kernels, (), None, kernels.manner, told=self)
                self._is_given_up = self._code is None
        code = self._code
        if code is None:
            return self._kernels.failed(Status.REFUSED, 0, *natives)
        found = code.function(*natives)
        return self._kernels(*natives) if found is NotImplemented else found

    def __repr__(self) -> str:
        return f"<native {self._graph.name}: {len(self._graph.nodes)} nodes, {self._kernels.manner}>"


class Failure(NamedTuple):
    """What a call of code came to that ended early; the arguments are those of the built-in."""

    status: int
    failing: int

    @classmethod
    def of(cls, status: int, failing: int, *arguments: object) -> Failure:
        """For any arguments."""
        return cls(status, failing)


class Timed:
    """The code of a segment with a clock in it.

    Attributes:
        clock: what its cells mean.
        sizes: what dimensions in its graphs stand for.
    """

    def __init__(self, graph: Graph, kernels: Kernels) -> None:
        self._code = Code(graph, kernels, on_failure=Failure.of, on_flags=Noted(), is_timed=True)
        clock = self._code.lowered.clock
        assert clock is not None
        self.clock = clock
        self.sizes = kernels.numbers

    def cells(self, natives: Sequence[Any]) -> np.ndarray[Any, Any] | None:
        """What the cells hold after a run; None where the code does not take the arguments, or ends early."""
        found = self._code.function(*natives)
        return None if found is NotImplemented or type(found) is Failure else found[-1]


_CALLED = re.compile(r"@\"?((?:blas|lapack|special)\.\w+)")


class Code:
    """The machine code of a segment, and how it is called.

    Attributes:
        seconds: what making it took, by stage.
        libraries: the functions of libraries that it calls.
    """

    def __init__(
        self, called: Graph, kernels: Kernels, kinds: Kinds = (), on_failure: Callable[..., Any] | None = None,
        manner: Manner = USUAL, on_flags: Noted | None = None, is_timed: bool = False,
    ) -> None:  # fmt: skip
        stage("planning")
        times = [time.perf_counter()]
        graph, numbers = sized(with_rare(called) if manner.has_rare else without_rare(called))
        self.graph = called
        self.kernels = kernels
        self.numbers = np.array([*numbers.values()], np.int64)
        self.on_failure = on_failure or kernels.failed
        self.on_flags = None if is_quiet(called) else on_flags or Teller(kernels.again())
        graph = in_own_steps(graph)
        times.append(time.perf_counter())
        stage("lowering")
        self.lowered: Lowered = lowered(graph, graph.name, (*numbers,), kinds, manner.is_frugal, is_timed)
        kernels.owners, kernels.numbers = self.lowered.owners, numbers
        dump("graph", graph.name, graph.to_text)
        dump("loops", graph.name, lambda: str(self.lowered.function))
        if VERIFIES:
            verify(self.lowered.function)
        text = module_text(self.lowered.function, "entry")
        self.lowered.function.body.clear()  # nobody asks for its instructions any more, and they take memory
        self.libraries = (*dict.fromkeys(_CALLED.findall(text)),)
        times.append(time.perf_counter())
        stage("LLVM")
        self.loaded: Loaded = shared(text, "entry", CALLABLE)
        self.constants = [np.ascontiguousarray(c) for c in self.lowered.constants]
        # of interpreters that no built-in functions can be made for, all calls are the kernels'
        weakref.finalize(self, memory.trim).atexit = False
        times.append(time.perf_counter())
        stage("compiled")
        self.seconds = dict(zip(("planning", "lowering", "LLVM"), np.diff(times).tolist(), strict=True))
        self.function: Callable[..., Any] = self.entry(None).function() or (lambda *natives: NotImplemented)

    def entry(self, guards: Guards | None) -> Entry:
        """What built-in functions are made of; they refuse arguments for which a guard fails."""
        return entry_of(
            self.graph, self.lowered, self.loaded, self.constants, self.on_failure, guards, self.numbers, self.on_flags
        )  # fmt: skip


def refine(graph: Graph, plain: Plain) -> Graph:
    """A graph whose native nodes are `COMPILED` ones."""
    if not is_on() or len(graph.nodes) > LONGEST:
        return graph
    prepared = ready(graph)
    found = parts(prepared, is_native)
    is_whole = len(found) == 1 and _is_whole(found[0], prepared) and _can_be_passed(found[0])
    if is_whole:  # then it takes and gives what the graph does, in this order, and calls can go straight to it
        found = [found[0]._replace(inputs=[*prepared.inputs], outputs=[*prepared.outputs])]
    for node in (node for part in found if not part.is_native for node in part.nodes):
        if node.op.facts.holds in _LOOPS:
            _warn_of_loop(node)
    if not any(part.is_native for part in found):
        return graph
    nodes: list[Node] = []
    for number, part in enumerate(found):
        is_one = part.is_native and _can_be_passed(part)
        nodes += [_compiled(part, f"{graph.name}.{number}", plain)] if is_one else part.nodes
    outputs = [*nodes[0].outputs] if is_whole else prepared.outputs
    result = Graph.of(graph.name, prepared.inputs, nodes, outputs, graph.guards)
    result.captures, result.reads = graph.captures, graph.reads
    return result if _tells_its_dimensions(result) else graph


def _is_whole(part: Part, graph: Graph) -> bool:
    """Whether code of a part can take and give what a graph does. What nothing reads is no trouble to it, and results
    that are arguments, or others once more, it copies, as callers are given copies of these: a call by way of Python
    takes longer than that where they are small.
    """
    made = {v.key for v in part.outputs}
    again = [v for v, count in Counter(graph.outputs).items() if count > 1 or v.key not in made]
    taken = {v.key for v in part.inputs}
    unread = [v for v in graph.inputs if v.key not in taken]
    return all(map(_is_small, again)) and all(v.dtype in TYPE_OF and not v.is_history for v in unread)


_COPIED = 1 << 12  # elements of a result


def _is_small(value: Value) -> bool:
    is_native = not value.is_history and value.dtype in TYPE_OF
    return is_native and not dims_in(value.shape) and math.prod(value.shape) <= _COPIED


_LOOPS = ("a loop", "a loop's backward pass")
_warned: set[str] = set()  # lines


def _warn_of_loop(node: Node) -> None:
    """Warns, once for a line, of a loop whose steps run in Python for the sake of one op."""
    culprit = culprit_of(node)
    why = reason_against(culprit) or "it needs a size that only another part of the program tells"
    what = why if culprit is node else f"{culprit.op.name} in it has no machine code ({why})"
    _warn_once(f"a loop runs step by step in Python: {what}", culprit.site or node.site)


def _tell_refused(graph: Graph) -> None:
    """The same of loops of which the values of a call are not for machine code."""
    for node in (node for node in graph.nodes if node.op.facts.holds in _LOOPS):
        rare = next(_rare_in(node), node)
        what = "its machine code does not take the values of this call"
        _warn_once(f"a loop has run step by step in Python: {what}", rare.site or node.site)


def _rare_in(node: Node) -> Iterator[Node]:
    """What machine code refuses in a loop or a branch where a flag is set that seldom is, at whatever depth."""
    for inner in (inner for graph in programs_of(node) for inner in graph.nodes):
        if inner.op.name == "rarely":
            yield inner
        yield from _rare_in(inner)


def _warn_once(said: str, site: Site | None) -> None:
    line = "" if site is None else f"{site.code.co_filename}:{site.lineno}"
    if line not in _warned:
        _warned.add(line)
        warn(at_user_line(said, site), RuntimeWarning)


def _can_be_passed(part: Part) -> bool:
    """Whether all that goes in and comes out is an array that machine code knows, or a history."""
    return all(v.dtype in TYPE_OF or v.is_history for v in (*part.inputs, *part.outputs))


def _tells_its_dimensions(graph: Graph) -> bool:
    """Whether each dimension that a node needs is one of an input or of a result before it, not of one in a segment."""
    told = atoms_told(graph.inputs)
    for node in graph.nodes:
        if not atoms_named((node,)) <= told:
            return False
        told |= atoms_told(node.outputs)
    return True


def _compiled(part: Part, name: str, plain: Plain) -> Node:
    kind = Relay if any(v.is_history for v in (*part.inputs, *part.outputs)) else Segment
    segment = kind(part.graph(name), plain)
    return Node(COMPILED, (*part.inputs,), _made_by(part), (segment,), None)


def _made_by(part: Part) -> tuple[Value, ...]:
    """What a part gives: of what it takes, and of what it gives twice, values of their own."""
    known = {v.key for v in part.inputs}
    made: list[Value] = []
    for v in part.outputs:
        made.append(Value(v.shape, v.dtype, v.graph, v.name, v.weak) if v.key in known else v)
        known.add(v.key)
    return (*made,)


__all__ = ["Code", "Segment", "Timed", "has_llvm", "is_on", "refine", "untold"]
