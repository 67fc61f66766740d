"""The compiled form of one traced signature: how a call runs, checks its guards, and reads and writes Variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._control.call import Program, call_program, closed
from .._core import forking
from .._core.analysis import dim_sources
from .._core.caller import NUMPY, Caller
from .._core.constant import distinct, owned, strong
from .._core.dims import Atom, Dim, evaluate
from .._core.engine import ENGINE_OF, ENGINES, PLAIN_TYPES, Engine, array_of, framework_of
from .._core.kinds import ARRAYS
from .._core.moving import moved
from .._core.scalars import Rule
from .._core.state import SERIALS, STATE, next_serial
from .._core.structure import LEAF, Spec, maker_of
from .._core.tensor import Tensor, entered, held_now, source_of
from .._core.user_line import user_site
from .._engines.numpy.execute import executable
from .._transforms.replay import replay
from .captures import Alike, Captures, Looks, Moving, Shaped, guarded, look_here
from .rebuilding import rebuilder
from .trace import Traced
from .uploads import Uploads, can_keep
from .whole_numbers import Bounds

_LOOKS = 8  # of a framework's arrays for which a trace keeps how it is called
# functions that look by themselves, made for one trace; where so many had to be, things move all the time, and Python's
# code, which asks for them by their names, has to look
_MOST_LOOKERS = 32
_commit_lock = forking.short_lock()


class _Direct(NamedTuple):
    """Compiled code as a function of what comes from outside, and what it looks at beside that, if it does."""

    run: Callable[..., Any]
    looks: Looks | None = None

    def holds(self) -> bool:
        """Whether it finds what it looks at where it was."""
        return self.looks is None or self.looks.hold()


class Compiled:
    """A traced signature, ready to be called.

    Attributes:
        captures: what f read beside its arguments, to be checked before a call; None where there was no f.
        seconds: what making it took so far, by stage.
        scalars: for which arrays it is (`Scalars.rule`); None for all.
        limits: of those inputs that are integers of Python's, by position, between which it is right; None where they
            are not known.
        stretches: limits that it has had, last found first.
        home: the engine of the framework whose arrays are captured; None where there are none, or of several.
        is_plain: no Variables, and what was captured is known: natives can go straight through where nothing records.
    """

    __slots__ = (
        "_captured", "_direct", "_lookers", "_sources", "_stands_for_others", "captures", "dims", "executable", "form",
        "graph", "guards", "home", "is_plain", "limits", "program", "rebuild", "result_count", "scalars", "seconds",
        "stretches", "traced", "uploads", "variables", "written",
    )  # fmt: skip

    def __init__(
        self, traced: Traced, captures: Captures | None = None, seconds: dict[str, float] | None = None
    ) -> None:
        graph = traced.graph
        self.seconds = seconds or {}
        self.scalars: Rule | None = None
        self.limits: dict[int, Bounds] | None = None
        self.stretches: list[dict[int, Bounds]] = []
        self.traced = traced
        self.graph = graph
        self.program = Program(closed(graph))
        self.executable: Callable[..., tuple[Any, ...]] | None = None
        self.captures = captures
        self._captured = [tensor for tensor, _ in graph.captures.values()]
        sources = enumerate(map(source_of, self._captured))
        self._sources = [(place, variable) for place, variable in sources if variable is not None]
        self._stands_for_others = any(array_of(variable) is not variable for _, variable in self._sources)
        self.variables = [variable for variable, _ in graph.reads.values()]
        self.written = [variable for variable, _ in graph.writes.values()]
        self.result_count = len(graph.outputs) - len(self.written)
        self.guards = graph.guards
        self.dims = dim_sources(graph.inputs)
        others = [tensor._data for tensor in self._captured if not isinstance(tensor._data, ARRAYS)]
        homes = {*map(_plain_home, others)}
        self.home = homes.pop() if len(homes) == 1 else None
        self.is_plain = bool(self.home or not others) and not self.variables and not self.written
        self.rebuild = rebuilder(traced.results, traced.places)
        self.form = _form(traced.results, traced.places, len(graph.outputs))
        self.uploads = Uploads()
        self._direct: dict[tuple[tuple[Any, ...], int], _Direct] = {}
        self._lookers = 0

    @property
    def captured(self) -> list[Tensor]:
        """The values of the graph's captures now."""
        captured = self._captured if self.captures is None else self.captures.tensors
        found = [*map(held_now, captured)]
        for place, variable in self._sources:
            if captured[place] is self._captured[place]:  # what has taken its place stands for itself
                found[place] = entered(variable)
        return found

    @property
    def constants(self) -> list[Tensor]:
        """Those of them that no call reads anew, from a variable of a framework or where an array was found."""
        read = {place for place, _ in self._sources} | (set() if self.captures is None else self.captures.inputs)
        return [x for place, x in enumerate(self.captured) if place not in read]

    @property
    def natives(self) -> list[Any]:
        """The same as natives."""
        return [tensor._data for tensor in self.captured]

    def _natives_beside(self, natives: Sequence[Any], home: Engine) -> list[Any]:
        """The natives of the captures for a call on users' arrays, one of them a framework's, where these are."""
        captured = self.natives
        partner = next((x for x in natives if PLAIN_TYPES.get(type(x)) is home), None) if captured else None
        if partner is None:
            return captured
        return [*map(home.leave, self.uploads.beside(captured, home.enter(partner), home))]

    def _captured_beside(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        """The captures for a call on tensors, where a framework has those; as they are where something records them."""
        captured = self.captured
        if not captured or STATE.builder is not None or STATE.recorders or len(ENGINES) == 1:
            return captured
        partner = next((x._data for x in arguments if ENGINE_OF[type(x._data)].is_framework), None)
        if partner is None:
            return captured
        found = [x._data for x in captured]
        placed = self.uploads.beside(found, partner, ENGINE_OF[type(partner)])
        return [x if new is old else _moved(x, new) for x, old, new in zip(captured, found, placed, strict=True)]

    # -- guards -----------------------------------------------------------------------------------------

    def holds(self, statics: Sequence[Any] = ()) -> bool:
        """Whether all that f has read is there still; `statics` are the values of the signature."""
        return self.captures is None or self.captures.holds(statics)

    def admits(self, arguments: Sequence[Any]) -> bool:
        """Whether the assumptions that the trace made about unknown dimensions hold for these arguments."""
        if not self.dims:
            return True
        sizes: dict[Atom, int] = {
            atom: size
            for atom, (index, axis) in self.dims.items()
            if (size := arguments[index].shape[axis]) is not None  # in a framework's graph only a run may tell
        }
        for value, argument in zip(self.graph.inputs, arguments, strict=True):
            for dim, size in zip(value.shape, argument.shape, strict=True):
                is_told = size is not None and isinstance(dim, Dim) and _are_told((dim,), sizes)
                if is_told and dim.evaluate(sizes) != size:
                    return False
        equal = all(evaluate(x, sizes) == evaluate(y, sizes) for x, y in self.guards.equal if _are_told((x, y), sizes))
        return equal and all(d.evaluate(sizes) != 1 for d in self.guards.not_one if _are_told((d,), sizes))

    def takes_ints(self, natives: list[Any]) -> bool:
        """Whether integers among the arguments are between the limits; they become arrays of NumPy's."""
        for place, (low, high) in () if self.limits is None else self.limits.items():
            value = natives[place]
            if not low <= value <= high:
                return False
            natives[place] = np.int64(value)
        return True

    # -- calls ------------------------------------------------------------------------------------------

    def run_plain(
        self, arguments: Sequence[Any], natives: Sequence[Any], home: Engine | None = None, statics: Sequence[Any] = (),
        gives_tensors: bool = False,
    ) -> tuple[Any, Callable[..., Any] | None]:  # fmt: skip
        """The results when nothing follows the arguments, and what gives those of further calls, as `direct` does.

        Args:
            arguments: as for `direct`.
            natives: the same as arrays, as for `run_natives`.
            home: as for both.
            statics: as for `direct`.
            gives_tensors: as for both.
        """
        direct = self.direct(arguments, home, statics, gives_tensors)
        results = NotImplemented if direct is None or home is not None else direct(*arguments)
        if results is NotImplemented:
            results = self.run_natives(natives, home, gives_tensors)
        return results, direct

    def run_natives(self, natives: Sequence[Any], home: Engine | None = None, gives_tensors: bool = False) -> Any:
        """The results for native arguments when nothing follows them: arrays of their kind in the result's structure.

        Args:
            natives: NumPy's, or those of a framework.
            home: that framework's engine.
            gives_tensors: whether results are tensors, for a caller who works with those, and not NumPy's arrays.
        """
        if home is not None:
            return self.rebuild(home.run_plain([*natives, *self._natives_beside(natives, home)], self.program))
        if self._captured:
            natives = [*natives, *self.natives]
        run = self.executable
        if run is None:
            run = self.executable = executable(self.program)
        own = _tensors if gives_tensors else owned
        return self.rebuild(own(run(*natives), natives))

    def direct(
        self, arguments: Sequence[Any], home: Engine | None = None, statics: Sequence[Any] = (),
        gives_tensors: bool = False,
    ) -> Callable[..., Any] | None:  # fmt: skip
        """A function of arguments of these types that gives finished results, or NotImplemented if they do not fit.

        Where the engine made one piece of compiled code of the program (its executable has an `entry`) that is what
        takes and gives Python's objects; else it is the executable, for arrays of some shapes. There is one for arrays
        of a framework whose engine says how they look.

        Args:
            arguments: NumPy's arrays and numbers and Python's floats, or arrays of a framework.
            home: that framework's engine.
            statics: the values of the signature.
            gives_tensors: as for `run_natives`.
        """
        if home is not None:
            return self._direct_on(home, arguments, statics)
        run = self.executable
        if run is None:
            return None
        entry = getattr(run, "entry", None)
        looks = (*map(type if entry else look_here, arguments), gives_tensors)
        version = 0 if self.captures is None else self.captures.version
        kept = self._direct.get((looks, version))
        if kept is None or not kept.holds():
            if entry is None:
                made = self._looking(run, arguments, statics, gives_tensors)
            else:
                code = entry(self.guards)
                made = None if code is None else self._bound(code, arguments, statics, gives_tensors)
            if made is None:
                return None
            self._direct = {key: kept for key, kept in self._direct.items() if key[1] == version}
            kept = self._direct[looks, version] = made
        return kept.run

    def _bound(
        self, code: Any, arguments: Sequence[Any], statics: Sequence[Any], gives_tensors: bool
    ) -> _Direct | None:  # fmt: skip
        """Code as a function of arguments that looks by itself whether it is still right, or Python does for it."""
        captures, natives = self.captures, self.natives
        form = None if self.form is None else tuple if gives_tensors or self.form is ... else self.form
        if captures is not None and self._lookers < _MOST_LOOKERS:
            looks, natives = code.looks(), captures.operands(natives)
            if captures.look(looks):
                self._lookers += 1
                return self._of(code.direct([*arguments, *natives], form, looks, natives), gives_tensors, looks)
        made = self._of(code.direct([*arguments, *natives], form), gives_tensors)
        if made is None or captures is None:
            return made
        return made._replace(run=captures.guarded(made.run, self.natives, None, statics))

    def _looking(
        self, run: Callable[..., Any], arguments: Sequence[Any], statics: Sequence[Any], gives_tensors: bool
    ) -> _Direct | None:  # fmt: skip
        """The executable as a function of arguments that looks by itself at their shapes."""
        if self._lookers >= _MOST_LOOKERS:
            return None
        self._lookers += 1
        dtypes = [value.dtype for value in self.graph.inputs]
        shaped = Shaped(arguments, dtypes, _tensors if gives_tensors else owned, self.rebuild)
        make: Any = partial(guarded, ()) if self.captures is None else self.captures.guarded
        return _Direct(make(run, self.natives, shaped, statics))

    def _of(
        self, run: Callable[..., Any] | None, gives_tensors: bool, looks: Looks | None = None
    ) -> _Direct | None:  # fmt: skip
        if run is None:
            return None
        if gives_tensors:
            return _Direct(_as_tensor(run) if self.form is None else _as_tensors(run, self.rebuild), looks)
        return _Direct(_rebuilt(run, self.rebuild) if self.form is ... else run, looks)

    def _direct_on(self, home: Engine, arguments: Sequence[Any], statics: Sequence[Any]) -> Callable[..., Any] | None:
        if self._stands_for_others:
            return None
        natives = self.natives if self._captured else ()
        own = [home.leave(x) for x in natives if ENGINE_OF[type(x)] is home]
        like = home.looks([*arguments, *own])
        if like is None:
            return None
        version = 0 if self.captures is None else self.captures.version
        if (like, version) not in self._direct:
            run = self._made_direct_on(home, arguments, statics)
            if run is None:
                return None
            kept = [(key, kept) for key, kept in self._direct.items() if key[1] == version]
            self._direct = dict(kept[1 - _LOOKS :])
            self._direct[like, version] = _Direct(run)
        return self._direct[like, version].run

    def _made_direct_on(
        self, home: Engine, arguments: Sequence[Any], statics: Sequence[Any]
    ) -> Callable[..., Any] | None:
        captured = self.natives
        if any(isinstance(x, ARRAYS) and not can_keep(x) for x in captured):
            return None
        there = self._natives_beside(arguments, home)
        ready = home.ready(self.program, [*arguments, *there])
        if ready is None:
            return None
        natives: list[Any] = [*there]
        own: list[Any] = []
        for place, array in enumerate(captured):
            if not isinstance(array, np.ndarray):
                own.append(natives[place])
            else:
                natives[place] = Moving(self.uploads.mover(place, array, home.enter(arguments[0]), home), array)
        make: Any = partial(guarded, ()) if self.captures is None else self.captures.guarded
        conditions = (("not {}.reading", STATE),) if self._sources else ()  # nobody waits to hear what is read
        rebuild = None if self.form is None else self.rebuild
        return make(ready.run, natives, Alike(ready, arguments, own, rebuild, conditions), statics)

    def run(self, arguments: Sequence[Tensor], caller: Caller, engine: Engine | None = None) -> Any:
        """The results for tensors: one node where recorders follow, Variables read at entry, written on success.

        Args:
            arguments: the arrays that came in.
            caller: who gets the results.
            engine: what is to run the program; None for the one that its operands ask for.
        """
        outs = self.outputs(arguments, engine)
        results = outs[: self.result_count]
        if self.written:
            self._commit(outs[self.result_count :])
        own = caller.results(results)
        return self.rebuild(distinct([*own]) if caller is NUMPY else own)

    def outputs(self, arguments: Sequence[Tensor], engine: Engine | None = None) -> tuple[Tensor, ...]:
        """The results, and behind them what Variables are to hold, which they do not yet."""
        with _commit_lock if len(self.variables) > 1 else _no_lock:
            read = [variable._held for variable in self.variables]
        operands = [*arguments, *self._captured_beside(arguments), *read]
        if engine is not None and STATE.builder is None:
            operands = [moved(x, engine) for x in operands]
        return call_program(self.program, operands)

    def inlined(self, arguments: Sequence[Tensor]) -> Any:
        """The results inside another trace, which gets the program's nodes: as if f were traced there."""
        outs = replay(self.graph, arguments)
        for variable, value in zip(self.written, outs[self.result_count :], strict=True):
            variable._put(value)
        return self.rebuild((*map(strong, outs[: self.result_count]),))

    def _commit(self, values: Sequence[Tensor]) -> None:
        if STATE.pins is not None:  # a computation is repeated: what it writes stays inside
            for variable, value in zip(self.written, values, strict=True):
                variable._put(value)
            return
        site = user_site() if STATE.recorders else None
        fresh = [variable._kept(value, site) for variable, value in zip(self.written, values, strict=True)]
        with _commit_lock:
            for variable, tensor in zip(self.written, fresh, strict=True):
                variable._tensor = tensor


def _plain_home(native: Any) -> Engine | None:
    """The engine of a captured native that users know as an array that always holds values."""
    engine = framework_of(type(native))
    return None if engine is None else PLAIN_TYPES.get(type(engine.leave(native)))


def _moved(x: Tensor, native: Any) -> Tensor:
    """A captured tensor whose values lie elsewhere now."""
    return Tensor(native, next_serial(), None, x._weak)


def _are_told(dims: Sequence[Any], sizes: dict[Atom, int]) -> bool:
    """Whether the arguments tell these dimensions; the kernels check those that a loop makes at run time."""
    return all(d.atoms <= sizes.keys() for d in dims if isinstance(d, Dim))


class _NoLock:
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...


_no_lock = _NoLock()


def _form(spec: Spec | None, places: Sequence[Any], count: int) -> Any:
    """What holds the outputs: a kind of tuple, None if the only one is the result; `...` for anything else."""
    if (*places,) != (*range(count),):
        return ...
    if spec is None:
        return None
    is_flat = all(c is LEAF for c in spec.children)
    return spec.kind if is_flat and maker_of(spec.kind) is not None else ...


def _tensors(outs: Sequence[Any], taken: Sequence[Any]) -> tuple[Tensor, ...]:
    return (*map(Tensor, outs, SERIALS),)


def _as_tensor(run: Callable[..., Any]) -> Callable[..., Any]:
    def tensor(*arguments: object) -> Any:
        result = run(*arguments)
        return result if result is NotImplemented else Tensor(result, next_serial())

    return tensor


def _as_tensors(run: Callable[..., Any], rebuild: Callable[[tuple[Any, ...]], Any]) -> Callable[..., Any]:
    def tensors(*arguments: object) -> Any:
        results = run(*arguments)
        return results if results is NotImplemented else rebuild((*map(Tensor, results, SERIALS),))

    return tensors


def _rebuilt(run: Callable[..., Any], rebuild: Callable[[tuple[Any, ...]], Any]) -> Callable[..., Any]:
    def rebuilt(*arguments: object) -> Any:
        results = run(*arguments)
        return results if results is NotImplemented else rebuild(results)

    return rebuilt
