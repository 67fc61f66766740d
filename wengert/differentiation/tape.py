"""`GradientTape`: records what runs inside a `with` block, for gradients asked for afterwards.

The list of operations and the sweep back through it are the core's (`_transforms/reverse.py`); this file owns when a
tape listens, what it watches, and how targets, sources and cotangents given by the user become keys and seeds.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Any

from .._compile.matching import matched
from .._control.jacobians import as_rows, images
from .._core import dtypes
from .._core.argument_types import Tree, Unconnected
from .._core.constant import is_number
from .._core.graph import quietly
from .._core.kinds import ARRAYS, SEQUENCES
from .._core.moving import beside
from .._core.op import ZERO
from .._core.public import names_errors, public, reopen
from .._core.recorder import Observer
from .._core.refusal import reworded
from .._core.state import STATE, recording, tell_effect
from .._core.structure import LEAF, Spec, flatten, unflatten
from .._core.tensor import Tensor
from .._core.tracebacks import fold
from .._core.types import tensor_type, type_of
from .._core.user_line import at_user_line, warn
from .._prims.structural import conj, reshape, transpose, zeros_of
from .._transforms.reverse import ones_like_type, sweep
from .._transforms.row_cotangents import Rows, total
from .._transforms.tape import Tape
from ..inspect.explain import explain_entries
from ..ops.memory.writes import settle
from ..ops.promotion import as_tensor
from ..programs.variables import Variable
from .functional import checked_seed
from .slices import slices_of

__all__ = ["GradientTape"]


class GradientTape:
    """Records operations for differentiation.

    Operations on watched tensors that run inside `with GradientTape() as tape:` are recorded. Trainable Variables are
    watched as they are read, other tensors when `watch` is called, before they are used. Tapes can be nested, and a
    gradient taken inside another tape's context can be differentiated again; a tape works inside a `function` and
    around one.

    Args:
        persistent: the tape answers any number of questions, and keeps what it recorded until it is dropped or reset.
            Otherwise it answers one and forgets.
        watch_accessed_variables: whether trainable Variables are watched when they are read.

    Example:
        >>> import wengert as wg
        >>> x = wg.tensor(3.0)
        >>> with wg.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.gradient(y, x)
        Tensor(6., shape=(), dtype=float64)
    """

    __slots__ = (
        "_core", "_has_warned", "_is_recording", "_persistent", "_pushed", "_reads", "_watch_accessed", "_watched",
    )  # fmt: skip

    @names_errors
    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = bool(persistent)
        self._watch_accessed = bool(watch_accessed_variables)
        self._core: Tape | None = None  # None before the first use, and once the one question is answered
        self._reads: _Reads | None = None
        self._pushed: tuple[Tape | _Reads, ...] = ()  # what this context may have on the thread's stacks
        self._is_recording = False
        self._has_warned = False
        self._watched: tuple[Variable, ...] = ()

    @public
    def __enter__(self) -> GradientTape:
        """Starts recording, or goes on with it.

        Raises:
            ValueError: the tape is recording already.
        """
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops recording, however the block ends."""
        self._stop()
        self._pushed = ()
        refusal = reworded(error, STATE.swallowed)
        if refusal is not None:
            fold(refusal)
            raise refusal from None
        if error is not None:
            fold(error)

    def __repr__(self) -> str:
        state = "recording" if self._is_recording else "empty" if self._core is None else "stopped"
        count = 0 if self._core is None else len(self._core.entries)
        return f"<GradientTape {state}: {count} operations>"

    # -- what is recorded ---------------------------------------------------------------------------------------------

    @public
    def watch(self, tensor: object) -> None:
        """Watches tensors or Variables from now on.

        Args:
            tensor: a Tensor, a Variable (each read of it from now on counts), or a nested structure of them.

        Raises:
            AttributeError: the tape has not been entered, or has answered its one question.
            ValueError: something is neither a Tensor nor a Variable (wrap arrays and numbers with `wg.tensor`).

        Warns:
            RuntimeWarning: a tensor of integers or bools, which has no gradient.

        Example:
            >>> import wengert as wg
            >>> p = {"w": wg.tensor(2.0), "b": wg.tensor(1.0)}
            >>> with wg.GradientTape() as tape:
            ...     tape.watch(p)
            ...     y = p["w"] * 3.0 + p["b"]
            >>> tape.gradient(y, p)["w"].item()
            3.0
        """
        core, reads = self._core, self._reads
        if core is None or reads is None:
            raise AttributeError(
                at_user_line(
                    "GradientTape.watch: the tape is not recording; call watch inside `with GradientTape() as tape:`"
                )
            )
        for item in tensor if isinstance(tensor, (list, tuple)) else (tensor,):  # pyright: ignore[reportUnknownVariableType]  # anything may be watched
            settle(item)
        leaves: list[Any] = flatten(tensor)[0]
        for leaf in leaves:
            if not isinstance(leaf, (Tensor, Variable)):
                raise ValueError(
                    at_user_line(
                        f"GradientTape.watch: wanted Tensors and Variables, got {type(leaf).__name__} {leaf!r:.60}; a "
                        f"number or an array becomes a tensor by wg.tensor"
                    )
                )
        for leaf in leaves:
            if not dtypes.is_inexact(leaf.dtype):
                warn(
                    f"GradientTape.watch: a tensor of dtype {leaf.dtype.name} is a constant to a gradient",
                    RuntimeWarning,
                )
            elif isinstance(leaf, Variable):
                reads.asked[leaf._key] = leaf
            else:
                reads.roots.add(leaf._key)
                core.watch(leaf)

    @contextlib.contextmanager
    def stop_recording(self) -> Generator[None]:
        """A context inside which nothing is recorded: what is computed there is constant to this tape.

        Raises:
            RuntimeError: the tape holds no recording (it was never entered, or has answered its one question).
            ValueError: the tape is not recording now.

        Example:
            >>> import wengert as wg
            >>> x = wg.tensor(3.0)
            >>> with wg.GradientTape() as tape:
            ...     tape.watch(x)
            ...     with tape.stop_recording():
            ...         scale = x * 10.0
            ...     y = x * scale
            >>> tape.gradient(y, x).item()
            30.0
        """
        if self._core is None:
            raise RuntimeError(at_user_line("GradientTape.stop_recording: the tape is not recording"))
        self._require_recording("stop_recording")
        self._stop()
        try:
            yield
        finally:
            self._start()

    @public
    def reset(self) -> None:
        """Forgets all that was recorded and watched, and goes on recording.

        Raises:
            ValueError: the tape is not recording now.

        Example:
            >>> import wengert as wg
            >>> x = wg.tensor(3.0)
            >>> with wg.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            ...     tape.reset()
            ...     tape.watch(x)
            ...     y = x + y
            >>> tape.gradient(y, x).item()
            1.0
        """
        self._require_recording("reset")
        self._stop()
        self._core = self._reads = None
        self._start()

    def watched_variables(self) -> tuple[Variable, ...]:
        """The Variables watched so far, in the order in which they were made.

        Returns:
            A tuple; after the one question of a tape that is not persistent, what it was then.

        Example:
            >>> import wengert as wg
            >>> v = wg.Variable(2.0, name="v")
            >>> with wg.GradientTape() as tape:
            ...     y = v * v
            >>> [w.name for w in tape.watched_variables()]
            ['v']
        """
        if self._reads is not None:
            self._watched = self._reads.variables()
        return self._watched

    # -- questions ----------------------------------------------------------------------------------------------------

    def gradient(
        self, target: Tree, sources: Tree, output_gradients: Tree = None, unconnected_gradients: Unconnected = "none",
        sparse: bool = False,
    ) -> Any:  # fmt: skip
        """The gradient of a target, summed over its elements, with respect to sources.

        Args:
            target: a Tensor or Variable, or a nested structure of them, whose gradients are added.
            sources: a Tensor or Variable, or a nested structure of them; watched, or computed from what is watched.
                A Variable stands for all its reads.
            output_gradients: cotangents of the target, of exactly its shape and kind (a structure of them where the
                target is one); ones by default.
            unconnected_gradients: "none" or "zero" (or a member of `UnconnectedGradients`): what a source gets that
                the target does not depend on, or that was not watched.
            sparse: the gradient of an array of which only whole rows are gathered comes as `IndexedSlices`.

        Returns:
            The gradients, in the structure of `sources`: Tensors of each source's shape and dtype. Integer and bool
            targets and sources are constants. At kinks they are what the ops' documentation says.

        Raises:
            RuntimeError: the tape was never entered, or is not persistent and has been asked before.
            TypeError: the target is None; something is neither a Tensor nor a Variable; a complex target comes
                without `output_gradients`, or those are of another kind.
            ValueError: `output_gradients` has another shape or number; an option is unknown.
            LookupError: an op on the path has no gradient.

        Warns:
            RuntimeWarning: once for a persistent tape that is asked while it records, which records the answer, too.

        Example:
            >>> import wengert as wg
            >>> v = wg.Variable([1.0, 2.0])
            >>> with wg.GradientTape(persistent=True) as tape:
            ...     y = v * v
            ...     z = wg.exp(y)
            >>> tape.gradient(y, v)
            Tensor([2., 4.], shape=(2,), dtype=float64)
            >>> tape.gradient(y, [v], output_gradients=[1.0, 10.0])
            [Tensor([ 2., 40.], shape=(2,), dtype=float64)]
        """
        before = vars(STATE).copy()
        try:  # as `@public` does: a Python call more would be felt
            mode = _unconnected(unconnected_gradients, "gradient")
            core, reads = self._recorded("gradient")
            targets, spec = _targets(target, reads)
            found_sources = _Sources(sources, reads, "gradient")
            seeds = _seeds(targets, spec, output_gradients)
            self._settle("gradient")
            found = found_sources.pull(core, seeds, sparse=bool(sparse))
            results = [
                _zeros_like(x) if g is None and mode == "zero" else g for x, g in zip(found_sources.leaves, found)
            ]
            self._finish()
            return found_sources.result(results)
        except BaseException as error:
            reopen(before)
            fold(error)
            raise

    @public
    def jacobian(
        self, target: Tree, sources: Tree, unconnected_gradients: Unconnected = "none", *, holomorphic: bool = False
    ) -> Any:
        """The derivatives of each element of a target with respect to each element of sources.

        Pulls the unit vectors of the target back all at once, in one sweep over a batch of them.

        Args:
            target: one Tensor or Variable.
            sources: a Tensor or Variable, or a nested structure of them.
            unconnected_gradients: "none" or "zero", as for `gradient`.
            holomorphic: the target is complex, and a holomorphic function of the sources.

        Returns:
            In the structure of `sources`: Tensors of shape `target.shape + source.shape`.

        Raises:
            RuntimeError: as `gradient`.
            AttributeError: the target is a structure.
            TypeError: the target is complex and `holomorphic` is not set, or it is set and something is not complex.

        Example:
            >>> import wengert as wg
            >>> x = wg.tensor([1.0, 2.0])
            >>> with wg.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.jacobian(y, x)
            Tensor([[2., 0.], [0., 4.]], shape=(2, 2), dtype=float64)
        """
        mode = _unconnected(unconnected_gradients, "jacobian")
        core, reads = self._recorded("jacobian")
        y = _one_target(target, "jacobian", reads)
        found_sources = _Sources(sources, reads, "jacobian")
        _require_kinds(y, found_sources.leaves, holomorphic, "jacobian")
        self._settle("jacobian")
        blocks = found_sources.rows(core, y, "jacobian")
        results: list[Any] = []
        for x, block in zip(found_sources.leaves, blocks):
            if block is None and mode == "none":
                results.append(None)
                continue
            rows = as_rows(block, y, x)
            results.append(_beside(conj(rows) if holomorphic else rows, x))
        self._finish()
        return found_sources.result(results)

    @public
    def batch_jacobian(
        self, target: Tree, source: Tree, unconnected_gradients: Unconnected = "none", *, holomorphic: bool = False
    ) -> Any:
        """The Jacobian of each row of a target with respect to the same row of a source.

        Row i of the target must depend on row i of the source only. Takes one sweep over a batch of the unit vectors
        of a row.

        Args:
            target: one Tensor or Variable of shape (b, ...), of two axes at least.
            source: one Tensor or Variable of shape (b, ...), of two axes at least.
            unconnected_gradients: "none" or "zero": what is returned where nothing connects the two.
            holomorphic: as for `jacobian`.

        Returns:
            A Tensor of shape `(b, *target.shape[1:], *source.shape[1:])`, or None.

        Raises:
            RuntimeError: as `gradient`.
            AttributeError: the target is a structure.
            ValueError: an operand has fewer than two axes, or the leading extents differ.
            TypeError: as `jacobian`.

        Example:
            >>> import wengert as wg
            >>> x = wg.tensor([[1.0, 2.0], [3.0, 4.0]])
            >>> with wg.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.batch_jacobian(y, x).numpy()
            array([[[2., 0.],
                    [0., 4.]],
                   [[6., 0.],
                    [0., 8.]]])
        """
        mode = _unconnected(unconnected_gradients, "batch_jacobian")
        core, reads = self._recorded("batch_jacobian")
        y = _one_target(target, "batch_jacobian", reads)
        found_sources = _Sources([source], reads, "batch_jacobian")
        (x,) = found_sources.leaves
        if len(y.shape) < 2 or len(x.shape) < 2 or y.shape[0] != x.shape[0]:
            raise ValueError(
                at_user_line(
                    f"GradientTape.batch_jacobian: wanted a target and a source of two axes at least whose first "
                    f"extents agree, got shapes {y.shape} and {x.shape}"
                )
            )
        _require_kinds(y, [x], holomorphic, "batch_jacobian")
        self._settle("batch_jacobian")
        (block,) = found_sources.rows(core, y, "batch_jacobian", 1)
        shape = (*y.shape, *x.shape[1:])
        result: Tensor | None = None
        if block is not None:
            found = reshape(transpose(block, perm=(1, 0, *range(2, len(block.shape)))), shape=shape)
            result = _beside(conj(found) if holomorphic else found, x)
        elif mode == "zero":
            result = _beside(zeros_of(tensor_type(shape, x.dtype)), x)
        self._finish()
        return result

    @public
    def explain(self, y: Any, x: Any) -> str:
        """Why the gradient of y with respect to x is what it is: the path, or what cuts it.

        A cut is told with the user's line. The ops of a path are told by name, since a tape keeps no lines of them:
        trace the function and ask `wg.explain`, which knows the line of each.

        Args:
            y: one Tensor or Variable, computed while the tape recorded.
            x: a Tensor or Variable.

        Returns:
            The text, of several lines.

        Raises:
            RuntimeError: the tape was never entered, or is not persistent and has been asked for its gradient.
            TypeError: something is neither a Tensor nor a Variable.

        Example:
            >>> import wengert as wg
            >>> x = wg.tensor(3.0)
            >>> with wg.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = wg.stop_gradient(x) * 2.0
            >>> "stop_gradient" in tape.explain(y, x)
            True
        """
        core, reads = self._recorded("explain")
        target = _one_target(y, "explain", reads)
        (key,) = _Sources([x], reads, "explain").keys
        if isinstance(x, Variable):  # for the explanation its last read stands for it
            source, name = Tensor(x._outside._data, key[-1] if key else x._outside._key), x.name
        else:
            source, name = x, "x"
        if not core.tracks(source._key):
            return f"{name} was not watched when the tape recorded: call tape.watch({name}) before {name} is used"
        return explain_entries(core, target, source, name)

    # -- listening ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._is_recording:
            raise ValueError(at_user_line("GradientTape: the tape is still recording; it cannot be entered again"))
        if self._core is None or self._reads is None:
            self._core = Tape()
            self._reads = _Reads(self._core, self._watch_accessed)
        if self._core not in self._pushed:
            self._pushed = (*self._pushed, self._core, self._reads)
        STATE.recorders = (*STATE.recorders, self._core)
        STATE.reading = (*STATE.reading, self._reads)
        self._is_recording = True

    def _stop(self) -> None:
        """Takes the tape off the thread's stacks, wherever it is: contexts need not end in the order they began.

        A context that was open when the tape stopped may have put it back: so all that was pushed goes.
        """
        if self._core is not None:
            tell_effect("stops a tape that records it", self._core)
        pushed = self._pushed
        STATE.recorders = (*[r for r in STATE.recorders if r not in pushed],)
        STATE.reading = (*[r for r in STATE.reading if r not in pushed],)
        self._is_recording = False

    def _require_recording(self, what: str) -> None:
        if not self._is_recording:
            raise ValueError(at_user_line(f"GradientTape.{what}: the tape is not recording"))

    def _recorded(self, what: str) -> tuple[Tape, _Reads]:
        """What there is to ask."""
        if self._core is None or self._reads is None:
            raise RuntimeError(
                at_user_line(
                    f"GradientTape.{what}: a tape that is not persistent can be asked once, after it has recorded "
                    f"something; use GradientTape(persistent=True) for more than one gradient or jacobian"
                )
            )
        return self._core, self._reads

    def _settle(self, what: str) -> None:
        """Before the sweep: a tape with one question to answer stops recording, a persistent one records it, too."""
        if not self._is_recording:
            return
        if not self._persistent:
            self._stop()
        elif not self._has_warned:
            self._has_warned = True
            warn(
                f"GradientTape.{what} inside the context of its persistent tape is recorded, too, which takes time and "
                f"memory; call it after the context, unless you want to differentiate the result with the same tape",
                RuntimeWarning,
            )

    def _finish(self) -> None:
        if self._persistent or self._core is None:
            return
        self.watched_variables()
        self._core.entries.clear()  # not at the end of the context only
        self._core.tracked.clear()
        self._core = self._reads = None


class _Reads(Observer):
    """Follows, on a core tape, the tensors that watched Variables give when they are read."""

    __slots__ = ("asked", "found", "roots", "takes_trainable", "tape")

    def __init__(self, tape: Tape, takes_trainable: bool) -> None:
        self.tape = tape
        self.takes_trainable = takes_trainable
        self.asked: dict[int, Variable] = {}  # watched by name
        self.found: dict[int, tuple[Variable, list[int]]] = {}  # Variable key -> the keys of the values read
        self.roots: set[int] = set()  # tensors watched by name

    def on_read(self, variable: Variable, tensor: Tensor) -> None:
        is_wanted = (self.takes_trainable and variable.trainable) or variable._key in self.asked
        if not is_wanted or not dtypes.is_inexact(tensor.dtype):
            return
        keys = self.found.setdefault(variable._key, (variable, []))[1]
        key = tensor._key
        # a value that is followed already (one reassigned in a trace) leads back to a read that is counted
        if key not in keys and (key in self.roots or not self.tape.tracks(key)):
            keys.append(key)
            self.tape.watch(tensor)

    def keys_of(self, variable: Variable) -> list[int]:
        known = self.found.get(variable._key)
        return [] if known is None else known[1]

    def variables(self) -> tuple[Variable, ...]:
        by_key = {key: variable for key, (variable, _) in self.found.items()} | self.asked
        return (*[by_key[key] for key in sorted(by_key)],)


# -- sources ----------------------------------------------------------------------------------------------------------


class _Sources:
    """The sources of one question: their structure, and the keys that each stands for."""

    __slots__ = ("keys", "leaves", "spec")

    def __init__(self, sources: object, reads: _Reads, what: str) -> None:
        leaves, self.spec = flatten(sources)
        self.leaves: list[Any] = leaves
        self.keys: list[list[int]] = []
        for leaf in leaves:
            if not isinstance(leaf, (Tensor, Variable)):
                raise TypeError(
                    at_user_line(
                        f"GradientTape.{what}: wanted Tensors and Variables as sources, got {type(leaf).__name__} "
                        f"{leaf!r:.60}; wrap an array with wg.tensor and watch the tensor"
                    )
                )
            self.keys.append(reads.keys_of(leaf) if isinstance(leaf, Variable) else [leaf._key])

    def result(self, gradients: Sequence[Any]) -> Any:
        return unflatten(self.spec, gradients)

    def pull(
        self, core: Tape, seeds: Sequence[tuple[Tensor, Tensor]], masks: bool = False, sparse: bool = False
    ) -> list[Any]:
        """The gradient for each source, or None where no path leads to it from a target that has a seed."""
        followed = [(y._key, seed) for y, seed in seeds if core.tracks(y._key)]
        keys = [key for own in self.keys for key in own]
        with quietly():
            cotangents = dict(zip(keys, sweep(core.entries, followed, keys, [masks] * len(followed), sparse)))
            return [_finished(total(cotangents[key] for key in own), x) for own, x in zip(self.keys, self.leaves)]

    def rows(self, core: Tape, y: Tensor, what: str, shared: int = 0) -> list[Tensor | None]:
        """What pulling back the unit vectors of a target gives for each source, or None where no path leads to it.

        The unit vectors are those of the axes behind the first `shared` ones, along which they repeat.
        """
        if not core.tracks(y._key) or not dtypes.is_inexact(y.dtype):
            return [None] * len(self.leaves)
        return images(lambda seed: self.pull(core, [(y, seed)], masks=True), y, None, what, shared)


def _finished(cotangent: Any, source: Any) -> Any:
    """A cotangent as the user gets it."""
    if cotangent is None or cotangent is ZERO:
        return None if cotangent is None else _zeros_like(source)
    if type(cotangent) is Rows:
        return slices_of(cotangent, source._outside if isinstance(source, Variable) else source)
    return _beside(cotangent, source)


def _zeros_like(source: Tree) -> Tensor:
    return _beside(zeros_of(type_of(source)), source)


def _beside(x: Tensor, source: Any) -> Tensor:
    """x on the engine of a source."""
    return beside(x, source._outside if isinstance(source, Variable) else source)


# -- targets and seeds ------------------------------------------------------------------------------------------------


def _targets(target: Tree, reads: _Reads) -> tuple[list[Tensor], Spec | None]:
    with recording(reads.tape):  # a view that was written to is read now
        leaves, spec = flatten(target)
    return [_target(leaf, "gradient", reads) for leaf in leaves], spec


def _target(leaf: Any, what: str, reads: _Reads) -> Tensor:
    """A target as a tensor; numbers and arrays are constants. A Variable is read here, which counts as watched."""
    kind: type[Any] = type(leaf)  # pyright: ignore[reportUnknownVariableType]
    known = kind is Tensor or hasattr(kind, "__wengert_tensor__") or isinstance(leaf, ARRAYS) or is_number(leaf)
    if not known:
        raise TypeError(
            at_user_line(
                f"GradientTape.{what}: wanted a Tensor, a Variable or a structure of them as target, got "
                f"{kind.__name__}"
            )
        )
    tensor = as_tensor(leaf, f"GradientTape.{what}: target")
    if isinstance(leaf, Variable):
        reads.on_read(leaf, tensor)
    return tensor


def _one_target(target: Tree, what: str, reads: _Reads) -> Tensor:
    if flatten(target)[1] is not LEAF or isinstance(target, SEQUENCES):
        raise AttributeError(
            at_user_line(
                f"GradientTape.{what}: wanted one tensor as target, got {type(target).__name__}; ask for each by "
                f"itself, or stack them"
            )
        )
    return _targets(target, reads)[0][0] if isinstance(target, Tensor) else _target(target, what, reads)


def _seeds(targets: Sequence[Tensor], spec: Spec | None, given: object) -> list[tuple[Tensor, Tensor]]:
    """Each float target with its cotangent."""
    what = "GradientTape.gradient: output_gradients"
    cotangents = [None] * len(targets) if given is None else matched(given, spec, what, "the targets")
    if given is not None and any(c is None for c in cotangents):
        raise ValueError(
            at_user_line(f"{what} has a None; give a cotangent for each target, or no output_gradients at all")
        )
    seeds: list[tuple[Tensor, Tensor]] = []
    for y, cotangent in zip(targets, cotangents):
        if cotangent is not None:
            seed = checked_seed(cotangent, y, what)
            if seed is not None:
                seeds.append((y, seed))
        elif dtypes.is_complex(y.dtype):
            raise TypeError(
                at_user_line(
                    f"GradientTape.gradient: the target is complex ({y.dtype.name}); give output_gradients, or take a "
                    f"real function of it"
                )
            )
        elif dtypes.is_inexact(y.dtype):
            seeds.append((y, beside(ones_like_type(type_of(y)), y)))
    return seeds


# -- Jacobians --------------------------------------------------------------------------------------------------------


def _require_kinds(y: Tensor, sources: Sequence[Any], holomorphic: bool, what: str) -> None:
    if holomorphic:
        wrong = [x.dtype.name for x in (y, *sources) if not dtypes.is_complex(x.dtype)]
        if wrong:
            raise TypeError(
                at_user_line(
                    f"GradientTape.{what}: with holomorphic=True target and sources are complex, got {wrong[0]}"
                )
            )
    elif dtypes.is_complex(y.dtype):
        raise TypeError(
            at_user_line(
                f"GradientTape.{what}: the target is complex ({y.dtype.name}); pass holomorphic=True if it is a "
                f"holomorphic function of the sources"
            )
        )


def _unconnected(option: object, what: str) -> str:
    """The option as "none" or "zero"."""
    value = getattr(option, "value", option)
    if isinstance(value, str) and value in ("none", "zero"):
        return value
    raise ValueError(
        at_user_line(
            f"GradientTape.{what}: unknown value for unconnected_gradients: {option!r}; wanted 'none' or 'zero'"
        )
    )
