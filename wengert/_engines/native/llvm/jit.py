"""Machine code in memory: LLVM IR as text goes in, the address of a function comes out.

`load(ir, entry)` parses a module, sets target and layout, runs LLVM's passes for the host CPU, emits an object and
links it. Names that begin with `@wg.` are filled in by `prelude.py`; those that the module declares are found by
the `Table` that it is given; what nothing defines is a `LinkError`.
What callers may rely on:

- `ir` needs no `target` lines; functions need no CPU attributes: LLVM vectorises to the full width of the host.
- The entry has the type `i32 (ptr buffers, ptr sizes, ptr context)`; `Loaded.run` is it as a ctypes function, which
  lets other threads of Python run meanwhile, and `Loaded.address` is where it lies.
- The code stays as long as the `Loaded` does, and no longer: what LLVM keeps of it goes, too.
- The same module is compiled once for a machine: the next process finds the object on disk (`run/disk.py`).
- Long modules are optimised less, so that time stays linear in their size. What begins with the line `FINISHED`, as
  modules written by hand do, becomes code as it stands, in a tenth of the time that LLVM's passes would take.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from ...._core import forking
from ..dumps import dump, is_dumped
from ..run import disk, llvm_memory, stack
from .pairs import may_pair, paired
from .prelude import KEPT, completed, defining, parts
from .symbols import NO_MORE, Table
from .target import identity, layout, llvm, machine, new_machine

SHORT = 150  # lines of IR up to which LLVM does all it can
MIDDLE = 2_000  # ... up to which it also vectorises straight code; to unroll loops takes half as long again
HUGE = 50_000  # ... and from which on the longest functions are made without much ado, or else all
STRAIGHT = 3_000  # lines without a jump from which on a function is, too: more would take quadratic time ...
ENDLESS = 40_000  # ... and from which on a choice of good registers would take most of the time, also quadratic; or ...
EACH = 10  # ... lines of which one in so many calls another function, which takes longer than what is between

SIDE_BY_SIDE = "; iterations side by side\n"  # in a module whose loops are short and have much to do in each iteration
GATHERS = "; few iterations with much to do\n"  # in a module for which slow gathers are better than no vectors
FINISHED = "; as good as passes would make it\n"

# the first line of a module in which straight code does not become vector code
SCATTERED = "; scattered"

PIPELINE = b"19"  # part of the keys on disk: another number wherever the passes or their options change

JOINED = b"objects of wengert\n"  # what several object files in one begin with

ENTRY_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

_lock = forking.short_lock()  # for the linker and its names; LLVM's own state is a matter of each module's context
_serial = itertools.count()
_declared = re.compile(r'^declare\b[^@]*@(?:"([^"]+)"|([\w.$]+))', re.MULTILINE)
_divisions = re.compile(r" = [su](?:div|rem) ")


class LinkError(Exception):
    """A module calls a function that nothing defines."""


class Loaded:
    """Compiled code: its entry, and what keeps it in memory.

    Attributes:
        address: where the entry lies.
        run: the entry as a ctypes function of three pointers, which returns the status.
        stack: the bytes of stack that it takes; 0 where they are few.
    """

    __slots__ = ("__weakref__", "_tracker", "address", "run", "stack")

    def __init__(self, tracker: Any, address: int, stack: int) -> None:
        self._tracker = tracker
        self.address = address
        self.stack = stack
        self.run = ENTRY_TYPE(address)

    def symbol(self, name: str) -> int:
        """The address of another function that was asked for in `load`."""
        return self._tracker[name]


def load(
    ir: str,
    entry: str,
    key: bytes = b"",
    exports: tuple[str, ...] = (),
    effort: _Effort | None = None,
    table: Table = NO_MORE,
) -> Loaded:
    """Compiles a module and links it into the process.

    Args:
        ir: the module, as text.
        entry: the name of its entry function.
        key: what else decides over the code (a version of the generator, say); part of the key on disk.
        exports: other functions whose addresses are wanted.
        effort: how much LLVM does, if not what the module's length says.
        table: the functions that it may call beside those of C libraries.

    Raises:
        LinkError: the module declares a function that nothing defines.
        RuntimeError: LLVM does not accept the module; its message has the line.
        MemoryError: there is not enough to compile or to link it.
    """
    found = _object(ir, entry, table, key, effort, exports)
    return found.loaded or link(found.image, entry, found.names, table, exports)


class _Object(NamedTuple):
    """An object file, the names that it needs, and the code if it is linked already."""

    image: bytes
    names: list[str]
    loaded: Loaded | None = None


def _object(
    ir: str,
    entry: str,
    table: Table,
    key: bytes = b"",
    effort: _Effort | None = None,
    exports: tuple[str, ...] = (),
) -> _Object:
    """What a module becomes: found on disk (and then linked, since only that tells whether it is of use), or made."""
    ir = completed(ir, table)
    names = declared(ir)
    forms = {form for name in names for form in table.vector_forms(name).values()}
    name = disk.digest(PIPELINE, ir.encode(), identity().encode(), key, repr(effort).encode())
    # what LLVM makes of a module can be shown only while it makes it
    image = None if is_dumped("llvm") or is_dumped("asm") else disk.read(name)
    if image is not None:
        try:
            called = _called(image, names, forms)
            return _Object(image, called, link(image, entry, called, table, exports))
        except RuntimeError:
            pass  # whole, but not for this linker: made anew
    if llvm_memory.is_ample():
        for called in filter(table.is_compiled, names):
            if called not in forms:
                table.hasten(called)  # beside this module
    image = compiled(ir, entry, effort)
    disk.write(name, image)
    return _Object(image, _called(image, names, forms))


def _called(image: bytes, names: list[str], forms: set[str]) -> list[str]:
    """The names without forms of functions for vectors that an object does not mention: those are not made."""
    return [name for name in names if name not in forms or name.encode() in image]


class _Recent:
    """The object files of the modules asked for last: a program that makes the same graph again and again finds them.

    As objects they take a twentieth of what they take as linked code.
    """

    MOST = 64  # modules
    ROOM = 1 << 20  # bytes, of all objects together

    def __init__(self) -> None:
        self._objects: OrderedDict[bytes, _Object] = OrderedDict()
        self._held = 0

    def get(self, digest: bytes) -> _Object | None:
        """The object of a module, if it is here; it goes last now."""
        found = self._objects.get(digest)
        if found is not None:
            self._objects.move_to_end(digest)
        return found

    def add(self, digest: bytes, made: _Object) -> None:
        """Keeps an object, and lets those go that were not asked for since long."""
        if digest in self._objects:
            return
        self._objects[digest] = made._replace(loaded=None)
        self._held += len(made.image)
        while len(self._objects) > self.MOST or self._held > self.ROOM:
            self._held -= len(self._objects.popitem(last=False)[1].image)


_recent = _Recent()
_alive: weakref.WeakValueDictionary[bytes, Loaded] = weakref.WeakValueDictionary()
_libraries: list[Loaded] = []


def library(
    ir: str, entry: str, exports: tuple[str, ...] = (), effort: _Effort | None = None, table: Table = NO_MORE
) -> Loaded:  # fmt: skip
    """As `load`, for functions that other modules call by their addresses: the code stays as long as the process.

    That a cache keeps what this gives is not enough: two threads may both make it, and the cache keeps one of them,
    while modules are linked to the other.
    """
    made = load(ir, entry, exports=exports, effort=effort, table=table)
    _libraries.append(made)
    return made


@functools.cache
def written(text: Callable[..., str], entry: str, *form: Hashable, table: Table = NO_MORE) -> Loaded:
    """The vector code that a generator writes for a form: LLVM's passes would take their time and change nothing."""
    return library(text(*form), entry, effort=WRITTEN, table=table)


def shared(ir: str, entry: str, table: Table) -> Loaded:
    """As `load`; a module whose code is in use is linked once, and one of the last is not compiled anew."""
    digest = hashlib.sha256(f"{entry}\n{ir}".encode()).digest()
    with _lock:
        found = _alive.get(digest)
        known = _recent.get(digest)
    if found is not None:
        return found
    made = known or _object(ir, entry, table)
    loaded = made.loaded or link(made.image, entry, made.names, table)
    with _lock:
        _recent.add(digest, made)
        return _alive.setdefault(digest, loaded)


def declared(ir: str) -> list[str]:
    """The functions that a module declares and does not define, LLVM's intrinsics left out."""
    first, behind = parts(ir)
    names = dict.fromkeys(
        quoted or plain for text in (first, *behind.values()) for quoted, plain in _declared.findall(text)
    )
    return [name for name in names if not name.startswith("llvm.") and name not in behind]


def compiled(ir: str, title: str, effort: _Effort | None = None) -> bytes:
    """The object file that LLVM makes of a module.

    Raises:
        MemoryError: there is not enough for LLVM, which would end the process.
    """
    effort = effort or _effort(ir)
    with llvm_memory.reserved(ir) as is_room:
        if is_room:
            return emitted(ir, title, *effort)
    return llvm_memory.elsewhere(__name__, ir, title, *effort)


def emitted(ir: str, title: str, *wanted: Any) -> bytes:
    """As `compiled`, in this process, whatever memory there is; `wanted` are the items of an effort."""
    ir, behind = parts(ir)
    for effort in _milder(_Effort(*wanted)):
        target = machine(effort.emission, effort.gathers)
        rest, spared, emission = _parted(ir, target, effort) if effort.spares else (ir, "", 0)
        with _placed(rest) as module:
            module.verify()
            _optimise(module, target, effort)
            if not _is_sound(module):
                continue
            with _paired(module, target, effort) as finished:
                _define(finished, behind)
                found = _object_of(finished, title, target)
        return _joined([found, _quickly(spared, title, machine(emission, effort.gathers), effort)]) if spared else found
    raise RuntimeError(f"LLVM's passes break the module {title}")


def _object_of(module: Any, title: str, target: Any) -> bytes:
    dump("llvm", title, lambda: str(module))
    dump("asm", title, lambda: target.emit_assembly(module))
    return target.emit_object(module)


def _quickly(spared: str, title: str, target: Any, effort: _Effort) -> bytes:
    """The object of functions that passes do not meet."""
    with _placed(spared) as module:
        _let_go(module, _builder(target, effort))
        return _object_of(module, title, target)


def _joined(images: list[bytes]) -> bytes:
    """Several object files as one."""
    return b"".join([JOINED, *[len(image).to_bytes(8, "little") + image for image in images]])


def _objects_in(image: bytes) -> Iterator[bytes]:
    """What was joined, or the image itself."""
    if not image.startswith(JOINED):
        yield image
        return
    place = len(JOINED)
    while place < len(image):
        size = int.from_bytes(image[place : place + 8], "little")
        yield image[place + 8 : place + 8 + size]
        place += 8 + size


@contextmanager
def _paired(module: Any, target: object, effort: _Effort) -> Iterator[Any]:
    """A module behind LLVM's passes, in which one routine computes two functions of the same vectors."""
    if effort.level > 1 and may_pair({function.name for function in module.functions}):
        with _placed(paired(str(module))) as found:
            _drop_uncalled(found, _builder(target, effort))
            yield found
    else:
        yield module


@contextmanager
def _placed(ir: str) -> Iterator[Any]:
    """As `parsed`, for this machine."""
    with parsed(ir) as module:
        module.triple = llvm().get_process_triple()
        module.data_layout = layout()
        yield module


def _define(module: Any, behind: dict[str, str]) -> None:
    """Gives a module that passes are done with what is defined behind them, as far as it calls that."""
    called = [f.name for f in module.functions if f.name in behind and f.is_declaration] if behind else []
    if not called:
        return
    module.link_in(llvm().parse_assembly(defining(behind, called), module._context))
    for name in called:
        module.get_function(name).linkage = "internal"


_scopes: set[Any] = set()  # the contexts of modules that are open, and of those that an interrupt left open


@contextmanager
def parsed(ir: str, *more: str) -> Iterator[Any]:
    """A module of LLVM's, in a context of its own, while it is needed; other modules' text joins it.

    What ends a compilation early, as Ctrl-C does, may leave the module in a traceback. Should Python's collector find
    it there with its context, it frees them in any order, and a module that outlives its context ends the process. So
    a context stays here until its module is closed.
    """
    binding = llvm()
    scope = binding.create_context()
    _scopes.add(scope)
    module = binding.parse_assembly(ir, scope)
    try:
        for text in more:
            module.link_in(binding.parse_assembly(text, scope))
        yield module
    finally:
        _free(module)
    _scopes.remove(scope)
    _free(scope)


def _free(owner: Any) -> None:
    """Frees what an object of llvmlite's owns, once.

    Its own `close` marks it as closed last: an interrupt in between has Python's collector free it again.
    """
    if not owner.closed:
        owner._closed = True
        owner._dispose()


def _milder(effort: _Effort) -> list[_Effort]:
    """Efforts to try one after another: LLVM packs some straight code wrongly, so that values are used too early."""
    return [effort, effort._replace(packs=False), _Effort(0, 0, is_tidied=True)]


def _is_sound(module: Any) -> bool:
    """Whether a module is still one after LLVM's passes: of one that is not, the code generator ends the process."""
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


def assembly(ir: str, effort: _Effort | None = None) -> str:
    """The assembly that `load` would make of a module; for tests and readers."""
    effort = effort or _effort(ir)
    target = machine(effort.emission, effort.gathers)
    first, behind = parts(completed(ir))
    with _placed(first) as module:
        _optimise(module, target, effort)
        with _paired(module, target, effort) as finished:
            _define(finished, behind)
            return target.emit_assembly(finished)


def link(image: bytes, entry: str, names: list[str], table: Table, exports: tuple[str, ...] = ()) -> Loaded:
    """An object file in memory, its undefined names bound to this process's functions, as a table has them."""
    builder = llvm().JITLibraryBuilder().add_current_process()
    for part in _objects_in(image):
        builder.add_object_img(part)
    for name in names:
        found = table.address(name)
        if not found:
            raise LinkError(f"native code calls {name}, which is not there")
        builder.import_symbol(name, found)
    for name in (entry, *exports):
        builder.export_symbol(name)
    llvm_memory.require_to_link(image)
    with _lock:
        tracker = builder.link(_linkers.next(), f"wengert.{next(_serial)}")
    return Loaded(tracker, tracker[entry], stack.taken(image))


class _Effort(NamedTuple):
    """How much LLVM does.

    Attributes:
        level: of its passes, 0 to 3.
        emission: of its code generator, 0 to 3.
        unrolls: whether it writes out iterations of loops, beyond what vector code needs.
        packs: whether it vectorises straight code.
        is_tidied: at level 0, whether variables become registers all the same.
        spares: whether functions of much straight code, and the longest of a huge module, are left to a quick code
            generator, without passes, in an object of their own: each of them takes quadratic time there, and most such
            functions call loops that are functions of their own.
        gathers: as `target.machine` takes it.
    """

    level: int
    emission: int
    unrolls: bool = False
    packs: bool = False
    is_tidied: bool = False
    spares: bool = False
    gathers: bool = False


WRITTEN = _Effort(0, 2, False)  # for modules that are written as they should be
TIDIED = _Effort(0, 2, is_tidied=True)  # for those that are, but for their variables


def _effort(ir: str) -> _Effort:
    if ir.startswith(FINISHED):
        return _Effort(0, 0)
    # places that are found by division lie too far apart for single moves to do as well
    return _effort_by_length(ir)._replace(gathers=GATHERS in ir or _divisions.search(ir) is not None)


def _effort_by_length(ir: str) -> _Effort:
    lines = ir.split("\n")
    packs = lines[0] != SCATTERED
    if len(lines) <= (MIDDLE if SIDE_BY_SIDE in ir else SHORT):
        return _Effort(3, 3, unrolls=True, packs=packs)
    if len(lines) <= MIDDLE:
        return _Effort(2, 2, packs=packs)
    lengths = _lengths(lines)
    if len(lines) - sum(lengths.not_worth.values()) <= HUGE:
        return _Effort(2, 2, spares=bool(lengths.not_worth))
    left = len(lines) - sum(_spared(lines, lengths).values())
    return _Effort(2, 0, spares=True) if left <= HUGE else _Effort(0, 0, is_tidied=True)


_label = re.compile(r"label %([\w.]+)")
_function = re.compile(r'define [^@]*@"?([\w.]+)"?\(')
_head = r'^define (?:internal |private )?([^@\n]*@"?([\w.]+)"?\(.*?)'
_whole = re.compile(_head + r" \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)


class _Lengths(NamedTuple):
    """How many lines functions have: all of them, those with more than `STRAIGHT` without a jump, and those of so many
    lines that mostly call others."""

    all: dict[str, int]
    straight: dict[str, int]
    calling: dict[str, int]

    @property
    def not_worth(self) -> dict[str, int]:
        """Those that passes would take long for, and do little to."""
        return {**self.straight, **self.calling}


def _spared(lines: list[str], lengths: _Lengths) -> dict[str, int]:
    """The functions that passes do not meet, and how many lines each has: those not worth them, and in huge modules the
    longest, too, since the loops that they call are worth the passes."""
    found = lengths.not_worth
    left = len(lines) - sum(found.values())
    for name, length in sorted(lengths.all.items(), key=lambda item: -item[1]):
        if left > HUGE and length > STRAIGHT and name not in found:
            found[name] = length
            left -= length
    return found


def _lengths(lines: list[str]) -> _Lengths:
    found = _Lengths({}, {}, {})
    name, start, last, longest = "", 0, 0, 0
    for place, line in enumerate(lines):
        if line.startswith("define "):
            name = cast("re.Match[str]", _function.match(line))[1]
            start = last = place
            longest = 0
        elif line.endswith((":", "}")):
            longest = max(longest, place - last)
            last = place
            if line == "}":
                found.all[name] = place - start
                if place - start > STRAIGHT and _mostly_calls(lines[start:place]):
                    found.calling[name] = place - start
                elif longest > STRAIGHT:
                    found.straight[name] = place - start
    return found


def _mostly_calls(lines: list[str]) -> bool:
    """Whether a function goes through its lines once, and most of what it does is in others."""
    seen, calls = set[str](), 0
    for line in lines:
        if line.endswith(":"):
            seen.add(line[:-1])
        elif " call i32 @" in line:
            calls += 1
        elif "label %" in line and any(label in seen for label in _label.findall(line)):
            return False
    return calls * EACH > len(lines)


_BUILT = 32  # modules for which one builder of passes serves

_own = threading.local()


def _builder(target: object, effort: _Effort) -> Any:
    """What sets up passes for a target machine of this thread.

    It keeps records of each module that it was used for, and llvmlite never frees them; nor does it free those that
    each builder begins with. So a builder serves some modules, and then another one begins.
    """
    made: dict[_Effort, tuple[Any, int]] = _own.__dict__.setdefault("builders", {})
    builder, left = made.get(effort, (None, 0))
    if left == 0:
        binding = llvm()
        options = binding.create_pipeline_tuning_options(effort.level)
        options.loop_vectorization = options.loop_interleaving = effort.level > 1
        options.slp_vectorization, options.loop_unrolling = effort.packs, effort.unrolls
        builder, left = binding.create_pass_builder(target, options), _BUILT
    made[effort] = builder, left - 1
    return builder


def _parted(ir: str, target: object, effort: _Effort) -> tuple[str, str, int]:
    """A module's text without the functions that passes do not meet, another module of these alone, whose variables are
    registers, and the effort of the code generator for them: none for what mostly calls other functions."""
    lines = ir.split("\n")
    lengths = _lengths(lines)
    names = _spared(lines, lengths)
    with _placed(ir) as module:
        _tidy([module.get_function(name) for name in names], _builder(target, effort))
        text = str(module)
    rest = _whole.sub(lambda found: _function_text(found, found[2] not in names), text)
    # the attributes are written into the text: llvmlite before 0.48 gives them to what a function returns
    spared = _whole.sub(lambda found: _function_text(found, found[2] in names, " noinline optnone"), text)
    is_quick = names.keys() <= lengths.calling.keys() or max(lengths.straight.values(), default=0) > ENDLESS
    return rest, spared, 0 if is_quick else effort.emission


def _function_text(found: re.Match[str], is_here: bool, attributes: str = "") -> str:
    """A function as it stands in a module where it is or is not: other modules see it, but nothing outside of them."""
    if not is_here:
        return f"declare {found[1]}\n"
    is_hidden = found[0].startswith(("define internal", "define private"))
    body = found[0][found.end(1) - found.start() :]
    return f"define {'hidden ' if is_hidden else ''}{found[1]}{attributes}{body}"


def _optimise(module: Any, target: object, effort: _Effort) -> None:
    """LLVM's standard passes with both vectorisers; of this module only; no global options."""
    builder = _builder(target, effort)
    if effort.is_tidied:
        _tidy([function for function in module.functions if not function.is_declaration], builder)
        return
    passes = builder.getModulePassManager()
    try:
        passes.run(module, builder)
    finally:
        _dispose(passes)
    _let_go(module, builder)


def _let_go(module: Any, builder: object) -> None:
    """Drops what is kept for passes, and nothing calls behind them."""
    kept = next((found for found in module.global_variables if found.name == KEPT), None)
    if kept is not None:
        kept.name, kept.linkage = "kept", "internal"  # now it is a list as any other, which nothing reads
        _drop_uncalled(module, builder)


def _drop_uncalled(module: Any, builder: object) -> None:
    """Drops functions of a module that nothing calls: `prelude.py` adds all vector forms of one, of which the passes
    call one or two, and to make code of the others takes as long as of all else in a short module."""
    passes = llvm().create_new_module_pass_manager()
    try:
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, builder)
    finally:
        _dispose(passes)


def _tidy(functions: list[Any], builder: object) -> None:
    """Makes registers of variables."""
    passes = llvm().create_new_function_pass_manager()
    try:
        passes.add_sroa_pass()
        for function in functions:
            passes.run(function, builder)
    finally:
        _dispose(passes)


def _dispose(passes: Any) -> None:
    """Frees passes, and with them some 80 KiB: llvmlite's own `close` meets a method of its base that frees nothing."""
    disposal = llvm().newpassmanagers.NewPassManager._dispose
    if type(passes)._dispose is not disposal and not passes.closed:
        disposal(passes)
        passes.detach()
    passes.close()


_GENERATION = 32  # modules that one linker links


class _Linkers:
    """The linker of the moment.

    A linker keeps a record of each module that it has ever had, so another one begins after some modules. The old one
    goes with the last of its modules: LLVM counts who needs it.
    """

    def __init__(self) -> None:
        self._linker: Any = None
        self._left = 0

    def next(self) -> Any:
        """The linker for one more module; to be asked under the lock."""
        if self._left == 0:
            self._linker = llvm().create_lljit_compiler(new_machine(2), use_jit_link=True)
            self._left = _GENERATION
        self._left -= 1
        return self._linker


_linkers = _Linkers()
