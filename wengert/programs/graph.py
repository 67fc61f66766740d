"""`function`: traced, compiled, cached. Also `Graph` and the eager switch.

A call looks its signature up; a new signature is traced and compiled once, under a lock. Start with
`Function.__call__`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import copyreg
import functools
import importlib
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from .._compile.arguments import require_callable
from .._compile.cache import Compiled
from .._compile.captures import Captures
from .._compile.statics import StaticNames, unpinned
from .._compile.trace import ArrayKey, Traced, trace, with_dims
from .._core import dtypes, forking
from .._core.caller import TENSORS, caller_of, caller_with, strong_result
from .._core.derived import SIGNATURE, Derived, derived, kept
from .._core.dims import Dim, is_late
from .._core.engine import ENGINE_OF, PLAIN_TYPES, Engine, look_of, transferred
from .._core.graph import Graph
from .._core.kinds import NUMPY_NUMBERS
from .._core.moving import moved
from .._core.public import public
from .._core.scalars import beside, suits
from .._core.state import STATE
from .._core.structure import Spec, flatten, unflatten
from .._core.tensor import Tensor
from .._core.torch_compile import left_out
from .._core.tracebacks import fold
from .._core.user_line import at_user_line
from .._core.wrong_calls import Symbolic, Varying
from .._engines import engine_named
from ..errors import TracingError
from .call_forms import Known, opened, remembered
from .call_signatures import (
    argument_paths,
    cache_key,
    checked_signature,
    engine_of,
    fitted,
    holds_specs,
    key_of_spec,
    movable,
    positional_from,
    signature_of,
    static_paths,
    static_values,
    tensors_in,
    traced_leaf,
)
from .changing_ints import (
    ChangingInts,
    Given,
    as_inputs,
    can_try,
    int_places,
    most_of,
    suits_ints,
    tried,
    without_ints,
)
from .retraces import RetraceWatch
from .specs import TensorSpec

if TYPE_CHECKING:
    from ..inspect.report import Report

__all__ = ["Function", "Graph", "eager", "function", "jit"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

CACHE_LIMIT = 256  # signatures kept for one function; the oldest goes first
VARIANTS = 8  # traces kept for one signature, for different states of what f has read


class eager:
    """A context in which `function`s run as plain Python, op by op (to step through them, or to print).

    Example:
        >>> import wengert as wg
        >>> with wg.eager():
        ...     wg.function(lambda x: x * 2)(3.0)
        np.float64(6.0)
    """

    def __enter__(self) -> None:
        self._before = STATE.eager_functions
        STATE.eager_functions = True

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        STATE.eager_functions = self._before
        if error is not None:
            fold(error)


class Function(Generic[P, R]):
    """A traced and compiled function; made by `function`.

    Attributes:
        trace_count: how many traces of f there have been, those left out that only tried something.
    """

    __signature__ = SIGNATURE

    def __init__(
        self, f: Callable[P, R], input_signature: Sequence[TensorSpec] | None, engine: str | None, name: str | None,
        static_argnames: str | Sequence[str] | None = None, progress: Any = None,
    ) -> None:  # fmt: skip
        require_callable(f, "function")
        self._progress = progress or None
        if progress:
            _progress().require_progress(progress, "function")
        self._engine = None if engine is None else engine_of(engine)
        functools.update_wrapper(self, f)
        self._f: Callable[..., Any] = f
        self._name = name or getattr(f, "__name__", type(f).__name__)
        self._signature = None if input_signature is None else checked_signature(input_signature)
        self._statics = None if static_argnames is None else StaticNames(f, static_argnames, self._name)
        if self._statics is not None and self._signature is not None:
            raise ValueError(at_user_line(
                f"{self._name}: static_argnames and input_signature exclude each other: a static argument has no "
                f"TensorSpec; give one of them"
            ))  # fmt: skip
        self._spec_leaves = None if self._signature is None else flatten(self._signature)[0]
        self._cache: OrderedDict[Any, list[Compiled]] = OrderedDict()  # newest first: what f has read differed
        self._plain: dict[Any, Compiled] = {}
        self._formed: dict[Any, Known] = {}
        # the default float and what ran last under it, if that was compiled code: without and with arguments by name
        self._last: tuple[Any, Callable[..., Any]] | None = None
        self._last_named: tuple[Any, Callable[..., Any]] | None = None
        self._recent: tuple[tuple[Any, Callable[..., Any]], ...] = ()  # the same of calls before that
        self._recent_named: tuple[tuple[Any, Callable[..., Any]], ...] = ()
        self._lock = forking.long_lock()
        self._ints = ChangingInts()
        self._is_compiled_only = False  # what `load` has read: there is no Python function to trace again
        self._has_state = False  # found in a trace that keeps calls: not to be tried there again
        self._watch = RetraceWatch(f, self._name)
        self._made_by: tuple[Callable[..., Any], Any, dict[str, Any]] = (
            function, f, {"input_signature": input_signature, "engine": engine, "name": name,
                          "static_argnames": static_argnames, "progress": self._progress},
        )  # fmt: skip
        self.trace_count = 0

    def be_quiet(self) -> None:
        """Says nothing of what it traces, for somebody who looks at the traces."""
        self._watch.is_quiet = True

    def keeps_by(self, decoded: Callable[[bytes], Any], encoded: Callable[[Any], bytes]) -> None:
        """Says how pickle is to keep it, where there is no Python function."""
        self._made_by = (decoded, encoded, {})

    def __reduce__(self) -> Any:
        maker, f, options = self._made_by
        if self._is_compiled_only:
            return maker, (f(self),)
        return kept(self, f, maker, f, **options)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else _BoundFunction(self, instance)

    def __repr__(self) -> str:
        return f"<function {self._name}, {self.trace_count} trace{'s' * (self.trace_count != 1)}>"

    def _repr_html_(self) -> str:
        newest = next((known[0] for known in reversed(self._cache.values()) if known), None)
        make: Any = importlib.import_module("wengert.inspect.notebook").of_function
        return make(repr(self), None if newest is None else newest.graph)

    autograph_info__: Any = None  # TensorFlow's mark of what it is not to rewrite

    def __wengert_reads__(self) -> tuple[Any, ...]:
        """What a call of this function may read."""
        return (self._f,)

    @left_out
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:  # not `@public`, whose call would be felt here; `trace` puts back what it opened
            if STATE.builder is None and not STATE.recorders and not STATE.eager_functions:
                # the hot path: what ran last, if it takes this; then what is known for arguments like these
                default = dtypes._default_float
                last = self._last_named if kwargs else self._last
                if last is not None and last[0] is default:
                    result = last[1](*args, **kwargs) if kwargs else last[1](*args)
                    if result is not NotImplemented:
                        return result
                for known in self._recent_named if kwargs else self._recent:  # calls of some kinds may come by turns
                    result = known[1](*args, **kwargs) if known[0] is default else NotImplemented
                    if result is not NotImplemented:
                        self._put_first(known, kwargs)
                        return result
                result: Any = self._call_plain(args, default) if self._plain and not kwargs else NotImplemented
                if result is NotImplemented and self._formed:
                    result = self._call_formed(args, kwargs)
                if result is not NotImplemented:
                    return result
            return self._call(args, kwargs)
        except BaseException as error:
            if isinstance(error, Symbolic):
                return error.answer(self, args, kwargs)
            if type(error) in (TypeError, TracingError):  # extents without a number: such a call is traced by itself
                result = Varying.answer(error, self._f, args, kwargs)
                if result is not NotImplemented:
                    return result
            fold(error)
            raise

    def _put_first(self, known: tuple[Any, Callable[..., Any]], kwargs: Any) -> None:
        """Has calls ask this first."""
        if kwargs:
            self._recent_named = _with_first(self._recent_named, self._last_named, known)
            self._last_named = known
        else:
            self._recent = _with_first(self._recent, self._last, known)
            self._last = known

    def _call_plain(self, args: tuple[object, ...], default: Any) -> Any:
        """The results for arrays of one kind and floats, where there is a program for such; else NotImplemented."""
        key: list[Any] = [default]
        natives: list[Any] = []
        array: Any
        home: Engine | None = None
        for a in args:
            kind = type(a)
            if kind is np.ndarray and home is None:
                array = a
                key.append(array.shape)
                key.append(array.dtype)
                natives.append(a)
            elif kind in PLAIN_TYPES and (home is not None or len(key) == 1):
                array = a
                home = PLAIN_TYPES[kind]
                key += look_of(array)
                natives.append(a)
            elif kind is float:
                key.append(float)
                natives.append(default.type(a))
            elif kind in NUMPY_NUMBERS and home is None:
                key.append(kind)
                natives.append(np.asarray(a))
            else:
                return NotImplemented
        plain = self._plain.get(tuple(key))
        if plain is None or not plain.holds():
            return NotImplemented
        results, direct = plain.run_plain(args, natives, home)
        if direct is not None:
            self._put_first((default, direct), None)
        return results

    def _call_formed(self, args: Any, kwargs: Any) -> Any:
        """The same for arrays in containers, by name and beside values of the signature."""
        given = opened(args, kwargs, self._ints.are_inputs, self._statics)
        known = None if given is None else self._formed.get(given.key)
        if given is None or known is None or not known.holds():
            return NotImplemented
        results, run = known.run(given)
        if run is not None:
            self._put_first((dtypes._default_float, run), kwargs)
        return results

    # -- the general path -------------------------------------------------------------------------------

    @left_out
    def _call(self, args: Any, kwargs: Any, bound: int = 0) -> Any:
        if self._progress is not None and not _progress().is_heard():
            with _progress().compiling(self._progress, self._name):
                return self._call(args, kwargs, bound)
        given = args, kwargs
        if self._statics is not None:
            args, kwargs = self._statics.pinned(args, kwargs)
        if (STATE.builder is not None or STATE.eager_functions) and not self._is_compiled_only:
            found = self._call_kept(args, kwargs, bound)
            return self._call_python(args, kwargs, bound) if found is NotImplemented else found
        caller = caller_of((*args, *kwargs.values()))
        if self._signature is not None:
            args, kwargs = self._fitted(args, kwargs, bound)
        if self._engine is not None:
            args, kwargs = self._placed(args, kwargs)
        compiled, tensors = self._resolved(args, kwargs)
        if STATE.builder is not None:
            return compiled.inlined(tensors)
        if compiled.is_plain and not STATE.recorders and self._engine is None:
            is_flat = not given[1] and self._statics is None and self._remember_plain(given[0], compiled)
            if not is_flat and not bound:
                self._remember_formed(given, (args, kwargs), (compiled, len(tensors)))
        # a follower of anything else (an outer gradient) turns NumPy results into tensors by itself
        return compiled.run(tensors, caller, self._engine)

    def _call_kept(self, args: object, kwargs: object, bound: int) -> Any:
        """In a trace that is replayed op by op: a call of the compiled form, if it needs nothing but its arguments."""
        builder = STATE.builder
        if builder is None or not builder.keeps_calls or STATE.eager_functions or self._has_state:
            return NotImplemented
        args, kwargs = self._fitted(args, kwargs, bound)
        compiled, tensors = self._resolved(args, kwargs)
        # a length that only a run tells belongs to one place: another call of the same program has another one
        if compiled.is_plain and not any(is_late(d) for v in compiled.graph.outputs for d in v.shape):
            return compiled.run(tensors, TENSORS)
        # what it has captured may be the trace's own
        self._has_state = True
        for key in [k for k, known in self._cache.items() if compiled in known]:
            del self._cache[key]
        return NotImplemented

    def _call_python(self, args: Any, kwargs: Any, bound: int) -> Any:
        """Inside another trace, or where functions are switched off: f itself, on tensors."""
        caller = caller_of((*args, *kwargs.values()))
        args, kwargs = self._placed(*self._fitted(args, kwargs, bound))
        leaves, spec = flatten((tuple(args), kwargs))
        tensors = tensors_in(leaves, spec, self._f)
        # twins: what f writes to its arguments stays with it, as in a compiled call
        given = [unpinned(x) if t is None else copy(t) for x, t in zip(leaves, tensors, strict=True)]
        args, kwargs = unflatten(spec, given)
        result = self._f(*args, **kwargs)
        return strong_result(result if STATE.builder is not None else caller.result(result))

    def _placed(self, args: object, kwargs: object) -> tuple[Any, Any]:
        """Arguments on the function's engine, if it was given one; in a trace all is where that will run."""
        engine = self._engine
        if engine is None or STATE.builder is not None:
            return args, kwargs
        leaves, spec, tensors = movable(args, kwargs, engine, self._f)
        there = (t._data for t in tensors if t is not None and not t.is_symbolic and ENGINE_OF[type(t._data)] is engine)
        partner = next(there, None)
        moves = [leaf if t is None else moved(t, engine, partner) for leaf, t in zip(leaves, tensors, strict=True)]
        return unflatten(spec, moves)

    def _remember_plain(self, args: Any, compiled: Compiled) -> bool:
        """Notes a program for arrays and floats side by side; False where others are among them."""
        if compiled.home is not None and compiled.home not in map(PLAIN_TYPES.get, map(type, args)):
            return False
        key: list[Any] = [dtypes.default_float()]
        for a in args:
            if type(a) is np.ndarray and dtypes.is_supported(a.dtype) and a.dtype.isnative:
                key += [a.shape, a.dtype]
            elif type(a) in PLAIN_TYPES:
                key += look_of(a)
            elif type(a) is float and self._signature is None:  # which may ask for another dtype
                key.append(float)
            elif type(a) in NUMPY_NUMBERS and compiled.home is None and self._signature is None:
                key.append(type(a))
            else:
                return False
        _note(self._plain, tuple(key), compiled)
        return True

    def _remember_formed(self, given: tuple[Any, Any], call: tuple[Any, Any], program: tuple[Compiled, int]) -> None:
        """Notes a program for arguments of a form; `call` are those given with static ones pinned."""
        found = opened(*given, self._ints.are_inputs, self._statics)
        if self._signature is not None:  # it brings arguments by name into its order, and may ask for other dtypes
            call = given
            found = found if found is not None and found.are_arrays and not given[1] else None
        known = None if found is None else remembered(found, *call, program)
        if found is not None and known is not None:
            _note(self._formed, found.key, known)

    def _fitted(self, args: Any, kwargs: Any, bound: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments checked against the input signature, if there is one; `bound` in front are not in it (self)."""
        if self._signature is None:
            return args, kwargs
        if kwargs:
            args, kwargs = positional_from(self._f, args, kwargs, self._name), {}
        if len(args) - bound != len(self._signature):
            raise TypeError(
                at_user_line(
                    f"{self._name}: the input_signature has {len(self._signature)} entries, but {len(args) - bound} "
                    f"arguments came"
                )
            )
        pairs = zip(args[bound:], self._signature, strict=True)
        return (*args[:bound], *[fitted(a, s, i, self._name) for i, (a, s) in enumerate(pairs)]), {}

    def _resolved(self, args: object, kwargs: object) -> tuple[Compiled, Sequence[Tensor]]:
        """The compiled form for a call, and the arrays that it takes: integers that keep changing are among them."""
        spec, keys, tensors = signature_of(args, kwargs, self._f)
        ints = self._ints
        places = ints.places_in(spec, keys) if ints.are_inputs else []
        if places:
            given = as_inputs(keys, tensors, places)
            try:
                compiled = self._compiled(spec, given.keys, given.tensors)
            except Warning:  # of what keeps causing traces, where warnings are errors
                raise
            except Exception:  # traced anew it may ask for the values; if it is wrong in itself, the error comes again
                compiled = self._compiled(spec, keys, tensors)
                ints.refuse(spec, places)
                return compiled, tensors
            if suits_ints(compiled, given.values):
                return compiled, given.tensors
        compiled = self._compiled(spec, keys, tensors)
        found = None if ints.due is None else self._with_inputs(spec, keys, tensors, compiled)
        return found or (compiled, tensors)

    def _with_inputs(
        self, spec: Spec | None, keys: tuple[Any, ...], tensors: list[Tensor], fixed: Compiled
    ) -> tuple[Compiled, list[Tensor]] | None:
        """The same call with integers that keep changing as inputs, from now on, where that is as good."""

        def try_at(places: Sequence[int]) -> tuple[Given, Compiled] | None:
            given = as_inputs(keys, tensors, places)
            compiled = tried(functools.partial(self._made, spec, given.keys), given, fixed, tensors, self._engine)
            return None if compiled is None else (given, compiled)

        with self._lock, beside(tensors):
            places = self._ints.claimed(spec, keys)
            if not places or not can_try(fixed, tensors):
                return None
            chosen, found = most_of(places, try_at)
            self._ints.refuse(spec, [p for p in places if p not in chosen])
            if found is None:
                return None
            given, compiled = found
            alike = without_ints(keys)
            for key in [k for k in self._cache if k[0] == spec and without_ints(k[1]) == alike]:
                del self._cache[key]
            self._cache[cache_key(spec, given.keys)] = [compiled]
            self._ints.accept(spec, keys, chosen)
            paths = argument_paths(self._f, spec)
            self._watch.note_inputs([paths[p] for p in chosen])
            return compiled, given.tensors

    def _compiled(self, spec: Spec | None, keys: tuple[Any, ...], tensors: Sequence[Tensor]) -> Compiled:
        """The compiled form for a signature: from the cache, or traced now."""
        with beside(tensors):
            return self._compiled_for(spec, keys, tensors)

    def _compiled_for(self, spec: Spec | None, keys: tuple[Any, ...], tensors: Sequence[Tensor]) -> Compiled:
        if self._is_compiled_only and self._lookup(spec, keys) is None:  # what it has may be for arrays
            keys = (*[k._replace(is_bare=False) if isinstance(k, ArrayKey) else k for k in keys],)
        general = self._generalised(keys)
        for candidate in (general, keys) if general is not keys else (keys,):
            found = self._lookup(spec, candidate)
            if found is None:
                with self._lock:
                    found = self._lookup(spec, candidate)
                    if found is None:
                        found = self._trace(spec, candidate)
            if found.admits(tensors):
                return found
        raise AssertionError("a trace for concrete shapes admits them")

    def _lookup(self, spec: Spec | None, keys: tuple[Any, ...]) -> Compiled | None:
        """The compiled form whose captures are as they were, if there is one."""
        try:
            known = self._cache.get(cache_key(spec, keys), ())
        except TypeError:
            self._require_numbers(keys)
            raise
        if not known:
            return None
        statics = static_values(keys)
        return next((c for c in known if suits(c.scalars) and c.holds(statics)), None)

    def _require_numbers(self, keys: tuple[Any, ...]) -> None:
        """Refuses sizes that are no numbers, such as those of torch's traces with `tracing_mode="symbolic"`."""
        for size in (n for key in keys if isinstance(key, ArrayKey) for n in key.shape):
            if not isinstance(size, int | Dim):
                raise TracingError(
                    at_user_line(
                        f"{self._name}: a size is {size!r} ({type(size).__name__}), of which only a run tells the "
                        f"number, and this function compiles for numbers: have torch trace it with numbers "
                        f"(make_fx(..., tracing_mode='real' or 'fake')), or call the function without wg.function"
                    )
                ) from None

    def _trace(self, spec: Spec | None, keys: tuple[Any, ...]) -> Compiled:
        known = self._cache.setdefault(cache_key(spec, keys), [])
        self._watch.note(spec, keys, [c.captures.changed for c in known[:1] if c.captures is not None])
        try:
            compiled = self._made(spec, keys)
        except BaseException:
            if not known:
                self._cache.pop(cache_key(spec, keys), None)
            raise
        self.trace_count += 1
        if compiled.captures is not None:
            self._watch.tell(compiled.captures.warnings)
        if not self._watch.is_quiet:
            self._ints.note(spec, keys)
        known[:] = [compiled, *[c for c in known if c.captures is None or not c.captures.is_stale]][:VARIANTS]
        if len(self._cache) > CACHE_LIMIT:
            self._cache.popitem(last=False)
        return compiled

    def _made(self, spec: Spec | None, keys: tuple[Any, ...]) -> Compiled:
        """Traces f."""
        captures = Captures(self._f, static_values(keys), static_paths(self._f, spec, keys))
        began = perf_counter()
        traced = self._traced_with(captures, spec, keys)
        compiled = Compiled(traced, captures, {"tracing": perf_counter() - began})
        compiled.scalars = None if STATE.scalars is None else STATE.scalars.rule
        return compiled

    def _traced_with(self, captures: Captures, spec: Spec | None, keys: tuple[Any, ...]) -> Traced:
        """A trace whose captured arrays are inputs, or constants where f asks for their values."""
        names = argument_paths(self._f, spec, "x{}")
        for takes_arrays in (True, False):
            concrete = [k if not isinstance(k, ArrayKey) else with_dims(k, i) for i, k in enumerate(keys)]
            opened = functools.partial(captures.open, takes_arrays=takes_arrays)
            try:
                with captures.watching():
                    traced = trace(self._f, spec, concrete, self._name, names, opened)
            except TracingError:
                if not takes_arrays or not captures.took_arrays:
                    captures.drop()
                    raise
            except BaseException:
                captures.drop()
                raise
            else:
                captures.close(traced.graph)
                return traced
        raise AssertionError("the second trace returns or raises")

    @property
    def name(self) -> str:
        """The name of f (or `name=`) in ASCII letters, digits and underscores, as Keras and TensorFlow want those of
        their scopes: a lambda's is "lambda"."""
        return re.sub(r"[^A-Za-z0-9_]+", "_", self._name).strip("_") or "function"

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The input signature given, if any."""
        return self._signature

    @property
    def traces(self) -> list[tuple[Any, Compiled]]:
        """Every signature traced so far (structure, keys, default float), with its compiled form."""
        return [(key, known[0]) for key, known in self._cache.items()]

    def add_trace(self, signature: tuple[Any, ...], compiled: Compiled) -> None:
        """Adds a compiled form for a signature, as `load` does: such a function has no other ones."""
        self._is_compiled_only = True
        self._cache[signature] = [compiled]
        if compiled.limits is not None:
            spec, keys, _ = signature
            self._ints.accept(spec, keys, int_places(keys))

    def _generalised(self, keys: tuple[Any, ...]) -> tuple[Any, ...]:
        """The keys with None in the dimensions that the input signature leaves open."""
        if self._spec_leaves is None:
            return keys
        bound = len(keys) - len(self._spec_leaves)
        return (*keys[:bound], *map(key_of_spec, self._spec_leaves))

    @public
    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Graph:
        """The graph of f for arguments (values or `TensorSpec`s) like these, traced anew.

        Returns:
            A `Graph`; `graph.to_text()` prints it.

        Example:
            >>> import wengert as wg
            >>> print(wg.function(lambda x: x * x, name="square").trace(2.0).to_text())
            graph square(%x: float64[]*)
              %2: float64[] = mul(%x, %x)
              return %2
        """
        return self._traced(args, kwargs)

    @public
    def report(self, *args: P.args, **kwargs: P.kwargs) -> Report:
        """What of a call ran as machine code, by a library, by NumPy and why, and what each part cost.

        Calls the function, and then runs its parts some times more, under a clock; what these runs would write to
        Variables and buffers is dropped. Printed it is a table, in a notebook a picture with it. For each part it tells
        the user's line (derivatives of a line belong to it), time, bytes of arrays taken and given, and operations;
        beside that the most memory taken, how long each stage of compiling took, and why each trace was made. The lines
        of loops and branches stand below those that they begin in, with how often they ran (`part.inner`, `part.runs`).
        Machine code is made once more for it, with a clock that times loops and large steps; the time of lines that
        share one of these is shared out by their operations (`~`).

        Args:
            *args: as for a call.
            **kwargs: as for a call.

        Returns:
            A report with `seconds`, `parts`, `memory`, `compile`, `traces`, `by()` and `to_dict()`.

        Raises:
            RuntimeError: in a trace, where nothing runs.

        Example:
            >>> import numpy as np, wengert as wg
            >>> report = wg.function(lambda x: (np.sin(x) * x).sum(), name="area").report(np.ones(1000))
            >>> {part.by for part in report.parts}, report.traces
            ({'machine code'}, ['the first call: x is shape (1000,) float64'])
        """
        return self._report(args, kwargs)

    def _report(self, args: Sequence[Any], kwargs: Mapping[str, Any], bound: int = 0) -> Report:
        if STATE.builder is not None or STATE.eager_functions:
            raise RuntimeError(at_user_line(f"{self._name}: report: nothing is compiled or run here; call it outside"))
        given = (args, kwargs)
        self._call(args, kwargs, bound)
        if self._statics is not None:
            args, kwargs = self._statics.pinned(args, kwargs)
        args, kwargs = self._placed(*self._fitted(args, kwargs, bound))
        compiled, tensors = self._resolved(args, kwargs)
        held = [variable._held for variable in compiled.variables]
        natives = [x._data for x in (*tensors, *compiled.captured, *held)]
        engine = next((e.name for x in natives if (e := ENGINE_OF[type(x)]).name != "numpy"), "numpy")
        make: Any = importlib.import_module("wengert.inspect.report").report_of
        again = functools.partial(self._call, given[0], given[1], bound)
        return make(self._name, compiled, natives, engine, self._watch.reasons, again)

    @public
    def export(self, path: object, *args: object, cpu: str = "generic", **kwargs: object) -> None:
        """Writes the function as a library or as C source for programs without Python, with a header beside it.

        The header says how to call it: `int NAME(const double *x, ..., double *out, ...)`, with a pointer for each
        array of the arguments in order (numbers, too), then one for each of the result, behind an `int64_t` for each
        dimension that is None. It returns 0 or a status, keeps nothing between calls, and threads may call it at the
        same time. What the function reads beside its arguments becomes part of it, as it is now.

        Args:
            path: where to write. Its ending says what: a shared library (`.so`, linked by the machine's C compiler), a
                static one (`.a`), an object (`.o`), or C11 source (`.c`).
            args: arguments like those of calls, or `TensorSpec`s; none where there is an input signature.
            cpu: "generic", for any processor of this machine's kind, or "native", for one like this machine's. Source
                is for all.
            kwargs: arguments by name.

        Raises:
            TypeError: something in the function cannot leave Python; the message names it.
            ValueError: the path ends in something else.
            RuntimeError: there is no compiler to link a shared library, or no llvmlite.

        Example:
            >>> import os, pathlib, tempfile, numpy as np, wengert as wg
            >>> f = wg.function(wg.grad(lambda x: wg.sum(x * x)), name="slope")
            >>> path = os.path.join(tempfile.mkdtemp(), "slope.o")
            >>> f.export(path, np.ones(3))
            >>> "int slope(const double *x, double *out);" in pathlib.Path(path).with_suffix(".h").read_text()
            True
        """
        _exporting().export(self._name, self._traced_whole(args, kwargs), path, cpu)

    @public
    def low_level(self, *args: object, **kwargs: object) -> Any:
        """A `scipy.LowLevelCallable`: machine code that SciPy's and Numba's compiled code calls without Python.

        Args:
            args: arguments like those of calls, float64: one number, an int too (the signature is `double (double)`),
                or one vector or several numbers (`double (int, double *)`).
            kwargs: arguments by name.

        Returns:
            The callable, which Python can call, too (of a vector: with numbers and arrays, one behind the other, as
            `solve_ivp` does with t and y). It gives NaN where the number of elements is another, or where the function
            fails. Numba calls its `function`.

        Raises:
            TypeError: arguments or result are none of these, or something cannot leave Python.
            ModuleNotFoundError: SciPy is not installed.

        Example:
            >>> import scipy.integrate, wengert as wg
            >>> slope = wg.function(wg.grad(lambda x: x**3))
            >>> scipy.integrate.quad(slope.low_level(1.0), 0.0, 2.0)[0]
            8.0
        """
        return _exporting().low_level(self._name, self._traced_whole(_one_number(args), kwargs))

    def to_jax(self) -> Callable[..., Any]:
        """The function as a plain one on JAX arrays, lowered from its graph.

        Returns:
            A function of the same arguments that gives JAX arrays, whatever kind of array comes in. `jax.jit`,
            `jax.grad`, `jax.jvp` and `jax.vmap` take it, with Wengert's derivatives: a `while_loop` whose number of
            steps is not known has a reverse derivative under `jax.jit`, too.

        Raises:
            ModuleNotFoundError: JAX is not installed.
        """
        return self._on_engine("jax")

    def to_tensorflow(self) -> Callable[..., Any]:
        """The function as a plain one on TensorFlow tensors, lowered from its graph.

        Returns:
            A function of the same arguments that gives TensorFlow tensors, whatever kind of array comes in.
            `tf.GradientTape` and `tf.function` take it, with Wengert's derivatives.

        Raises:
            ModuleNotFoundError: TensorFlow is not installed.
        """
        return self._on_engine("tensorflow")

    def to_torch(self, op: str | None = None) -> Callable[..., Any]:
        """The function as a plain one on torch tensors, lowered from its graph.

        Args:
            op: "lib::name" also registers it as a torch operator of that name (rules for tensors without values, for
                backward and for `vmap` included), which `torch.compile(fullgraph=True)` and `torch.export` keep whole
                where they trace what this returns. A name that is taken stands for this function from then on.

        Returns:
            A function of the same arguments that gives torch tensors, whatever kind of array comes in; it runs on the
            device of the tensors that come. `backward` and the transforms of `torch.func` take it, with Wengert's
            derivatives. In a traced operator, arguments alone have gradients.

        Raises:
            ModuleNotFoundError: torch is not installed.
            ValueError: `op` is no name of this form.
            TypeError: where torch traces the operator: the function writes to a Variable, or reads a tensor beside its
                arguments that torch differentiates.

        Example:
            >>> import importlib.util, wengert as wg
            >>> slope = wg.function(wg.grad(lambda x: x**3))
            >>> if importlib.util.find_spec("torch"):  # torch need not be installed
            ...     on_torch = slope.to_torch(op="wengert_example::slope")
        """
        return self._on_engine("torch", op)

    def _as_operator(self, op: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def flat(args: Any, kwargs: Any) -> tuple[list[Any], Spec | None]:
            if self._signature is not None and kwargs:
                args, kwargs = positional_from(self._f, args, kwargs, self._name), {}
            if self._statics is not None:
                args, kwargs = self._statics.pinned(args, kwargs)
            return flatten((tuple(args), dict(kwargs)))

        def found(spec: Spec | None, keys: tuple[Any, ...]) -> Compiled:
            types: Any = [key for key in keys if isinstance(key, ArrayKey)]
            return self._compiled_for(spec, keys, types)

        make: Any = importlib.import_module(".torch_operator", __package__)
        return make.registered(op, self._name, plain, flat, traced_leaf, found)

    def _on_engine(self, name: str, op: str | None = None) -> Derived:
        """The function on the arrays of a framework: what is none of them becomes one."""
        engine = engine_named(name)

        @functools.wraps(self._f)
        def on_engine(*args: Any, **kwargs: Any) -> Any:
            if self._statics is not None:
                args, kwargs = self._statics.pinned(args, kwargs)
            leaves, spec, tensors = movable(args, kwargs, engine, self._f)
            is_there = any(ENGINE_OF[type(t._data)] is engine for t in tensors if t is not None and not t.is_symbolic)
            natives = [  # numbers stay numbers beside the framework's arrays, whose dtypes they take
                leaf if t is None or t.is_symbolic or (t._weak and is_there) else
                engine.leave(transferred(t._data, engine))
                for leaf, t in zip(leaves, tensors, strict=True)
            ]  # fmt: skip
            args, kwargs = unflatten(spec, natives)
            return caller_with(engine).result(self(*args, **kwargs))

        run: Callable[..., Any] = on_engine
        options: dict[str, Any] = {}
        if op is not None:
            run, options = self._as_operator(op, on_engine), {"op": op}
        made = derived(run, "", getattr(Function, f"to_{name}"), self, **options)
        functools.update_wrapper(made, self._f)
        return made

    def _traced(self, args: object, kwargs: object, bound: int = 0) -> Graph:
        return self._traced_whole(args, kwargs, bound)[2].graph

    def _traced_whole(
        self, args: Any, kwargs: Any, bound: int = 0
    ) -> tuple[Spec | None, tuple[Any, ...], Traced]:  # fmt: skip
        """The structure of the arguments, the key of each leaf, and the trace, made anew."""
        if self._signature is not None and len(args) == bound and not kwargs:
            args = (*args, *self._signature)
        if self._statics is not None:
            args, kwargs = self._statics.pinned(args, kwargs)
        if not holds_specs(args, kwargs):
            args, kwargs = self._fitted(args, kwargs, bound)
        spec, keys, _ = signature_of(args, kwargs, self._f)
        if not holds_specs(args, kwargs):
            keys = self._generalised(keys)
        captures = Captures(self._f, static_values(keys), static_paths(self._f, spec, keys))
        return spec, keys, self._traced_with(captures, spec, keys)


def _pickled(graph: Graph) -> Any:
    return importlib.import_module(".._compile.pickled_graphs", __package__).reduced(graph)


copyreg.pickle(Graph, _pickled)


def _one_number(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of `low_level`: an int alone stands for a number, not for a part of the signature."""
    return (float(args[0]),) if len(args) == 1 and type(args[0]) is int else args


def _exporting() -> Any:
    """What exports functions: it needs the compiler, and few programs need it."""
    return importlib.import_module(".exporting", __package__)


Function.__name__ = "function"  # as that of `Derived`, for Keras


def _with_first(recent: tuple[T, ...], last: T | None, first: T) -> tuple[T, ...]:
    """What ran of late without what will be asked first, and with what was."""
    kept = (*[known for known in recent if known is not first],)
    return kept if last is None else (last, *kept)[:_RECENT]


_RECENT = 3  # a refusal takes 0.1 us


def _note(programs: dict[Any, T], key: Any, program: T) -> None:
    if len(programs) >= CACHE_LIMIT:  # what is still called is noted again
        programs.clear()
    programs[key] = program


class _BoundFunction:
    """A method: the function with its instance as first argument."""

    autograph_info__: Any = None

    def __init__(self, inner: Function[Any, Any], instance: Any) -> None:
        self._inner = inner
        self.__self__ = instance

    def __wengert_reads__(self) -> tuple[Any, ...]:
        return (self._inner, self.__self__)

    @left_out
    def __call__(self, *args: Any, **kwargs: object) -> Any:
        try:  # as in `Function.__call__`
            if self._inner._signature is None:
                return self._inner(self.__self__, *args, **kwargs)
            return self._inner._call((self.__self__, *args), kwargs, 1)
        except BaseException as error:
            if isinstance(error, Symbolic):
                return error.answer(self, args, kwargs)
            fold(error)
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __reduce__(self) -> Any:
        return _BoundFunction, (self._inner, self.__self__)

    @public
    def report(self, *args: object, **kwargs: object) -> Report:
        """What of a call ran where."""
        return self._inner._report((self.__self__, *args), kwargs, 1)

    @public
    def trace(self, *args: object, **kwargs: object) -> Graph:
        """The graph for arguments like these."""
        return self._inner._traced((self.__self__, *args), kwargs, 1)

    @public
    def export(self, path: object, *args: object, cpu: str = "generic", **kwargs: object) -> None:
        """As `Function.export`, for this instance."""
        traced = self._inner._traced_whole((self.__self__, *args), kwargs, 1)
        _exporting().export(self._inner.name, traced, path, cpu)

    @public
    def low_level(self, *args: object, **kwargs: object) -> Any:
        """As `Function.low_level`, for this instance."""
        given = (self.__self__, *_one_number(args))
        return _exporting().low_level(self._inner.name, self._inner._traced_whole(given, kwargs, 1))


@overload
def function(
    f: Callable[P, R], *, input_signature: Sequence[TensorSpec] | None = None, engine: str | None = None,
    name: str | None = None, static_argnames: str | Sequence[str] | None = None, progress: Any = None,
) -> Function[P, R]: ...  # fmt: skip
@overload
def function(
    f: None = None, *, input_signature: Sequence[TensorSpec] | None = None, engine: str | None = None,
    name: str | None = None, static_argnames: str | Sequence[str] | None = None, progress: Any = None,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...  # fmt: skip
@public
def function(
    f: Callable[..., Any] | None = None, *, input_signature: Sequence[TensorSpec] | None = None,
    engine: str | None = None,
    name: str | None = None, static_argnames: str | Sequence[str] | None = None, progress: Any = None,
) -> Any:  # fmt: skip
    """Compiles a function: traced once per signature, optimised, cached.

    The signature is the structure of the arguments, the shapes and dtypes of arrays (Python floats are traced, too),
    and the values of ints, bools, strings, None and callables. An int that has had three values becomes an input like a
    float, unless the function needs its value (`range(n)`, `if n > 2:`, a shape) or gives something else without it.
    Works with and without parentheses, on functions, methods and gradient functions; results are those of the eager
    run.

    Args:
        f: the function; its array arguments reach it as symbolic tensors.
        input_signature: one `TensorSpec` (or structure of them) per argument, `self` of a method left out; dimensions
            that are None may vary from call to call without a new trace.
        engine: what runs it: "numpy", "jax", "torch" or "tensorflow"; by default what the arrays' kind asks for. Arrays
            of another kind move there, gradients flow through the move, and results are of the caller's kind all the
            same. Inside another function the outer one's engine runs both.
        name: of the graph.
        static_argnames: names of arguments whose values belong to the signature, floats and tuples of them, too: one
            name or several, as in JAX. f gets them as they are; they need a hash. Not beside an `input_signature`.
        progress: True shows what compiling is at when it takes longer than a second, with tqdm where that is installed;
            a function is called with a `Progress(what, done, total, note)` at each stage, `done` in seconds.

    Returns:
        A `Function`: call it as f; `.trace(*args)` gives its graph, `.trace_count` counts traces.

    Raises:
        TypeError: f is not callable, arguments do not fit the signature, or a static one is an array; `progress` is
            neither True nor a function.
        ValueError: there is no engine of that name, f has no parameter of a static name, or a static argument has no
            hash.
        ModuleNotFoundError: the engine's framework is not installed.
        TracingError: f asks for the value of a symbolic tensor (`if x:`, `float(x)`).

    Example:
        >>> import numpy as np, wengert as wg
        >>> @wg.function
        ... def energy(x):
        ...     return wg.exp(x) * x
        >>> energy(1.0), energy(2.0), energy.trace_count
        (np.float64(2.718281828459045), np.float64(14.7781121978613), 1)
    """
    if f is None:
        return functools.partial(
            function, input_signature=input_signature, engine=engine, name=name, static_argnames=static_argnames,
            progress=progress,
        )  # fmt: skip
    return Function(f, input_signature, engine, name, static_argnames, progress)


jit = function


def _progress() -> Any:
    return importlib.import_module("wengert._core.progress")  # for the few who ask for it
