"""What differs between systems is asked of one module, whose alternatives are tried on systems that are not here."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import stat
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engines.native.test_targets import needs
from tests.support.paths import ROOT
from wengert._core import forking, headroom, system, whole_files
from wengert._engines.native.engine import has_llvm
from wengert._engines.native.llvm import runtime, symbols
from wengert._engines.native.lower import matrices
from wengert._engines.native.run import disk, disk_folder, memory, stack

NAMES = {"linux": system.Linux, "darwin": system.MacOS, "win32": system.Windows, "freebsd14": system.System}
# how a system is told from others, or asked for what others have not
MARKS = (
    r"sys\.platform|platform\.system\(|os\.name\b|/proc/|/sys/fs|lib(m|mvec)\.so|CDLL\((None|\")|register_at_fork|pthread_kill"
    r"|os\.getuid|st_uid|O_NOFOLLOW|O_BINARY|sched_getaffinity|XDG_CACHE|LOCALAPPDATA|ucrtbase|windll|supports_dir_fd|RLIMIT_"
)
EVERYWHERE = ("PyErr_CheckSignals", "PyGILState_Ensure", "PyGILState_Release", "malloc", "free", "memcpy")
POSIX = (
    "clock_gettime", "sigdelset", "sigfillset",
    *(f"pthread_{name}" for name in ("create", "detach", "sigmask")),
    *(f"pthread_mutex_{name}" for name in ("init", "lock", "unlock")),
    *(f"pthread_cond_{name}" for name in ("init", "signal", "timedwait", "wait")),
)  # fmt: skip
OF_THE_SYSTEM = {"linux": (*POSIX, "madvise"), "win32": ("GetTickCount64",)}
KNOWING = {"_core/system.py", "_core/linux_memory.py"}


@pytest.fixture(params=["darwin", "win32", "freebsd14"])
def foreign(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> system.System:
    """Another system in place of this one's."""
    other = system.system_of(request.param)
    monkeypatch.setattr(system, "SYSTEM", other)
    return other


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> system.System:
    """Windows in place of this system."""
    other = system.system_of("win32")
    monkeypatch.setattr(system, "SYSTEM", other)
    return other


def test_each_name_has_its_system() -> None:
    assert {name: type(system.system_of(name)) for name in NAMES} == NAMES
    assert type(system.SYSTEM) is NAMES.get(sys.platform, system.System)


def test_no_other_module_tells_systems_apart() -> None:
    package = ROOT / "wengert"
    sources = {str(path.relative_to(package).as_posix()): path.read_text("utf-8") for path in package.rglob("*.py")}
    found = {name for name, text in sources.items() if re.search(MARKS, text)}
    assert found == KNOWING


# -- folders, permissions, files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "variables", "wanted"),
    [
        ("linux", {}, "/home/ada/.cache/wengert"),
        ("linux", {"XDG_CACHE_HOME": "/scratch/ada"}, "/scratch/ada/wengert"),
        ("linux", {"XDG_CACHE_HOME": "not/absolute"}, "/home/ada/.cache/wengert"),
        ("freebsd14", {}, "/home/ada/.cache/wengert"),
        ("darwin", {"XDG_CACHE_HOME": "/scratch/ada"}, "/home/ada/Library/Caches/wengert"),
        ("win32", {}, "/home/ada/AppData/Local/wengert"),
        ("win32", {"LOCALAPPDATA": "/users/ada/local"}, "/users/ada/local/wengert"),
    ],
)
def test_objects_lie_in_the_users_cache(
    name: str, variables: dict[str, str], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "SYSTEM", system.system_of(name))
    for variable in (disk.FOLDER, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in {"HOME": "/home/ada", "USERPROFILE": "/home/ada", **variables}.items():
        monkeypatch.setenv(variable, value)
    assert disk.folder() == Path(wanted)


@pytest.fixture
def kept_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for objects, which is made by the first of them."""
    monkeypatch.setenv(disk.FOLDER, str(tmp_path / "objects"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "objects"


@pytest.mark.usefixtures("foreign")
def test_objects_are_kept_and_swept(kept_in: Path) -> None:
    first, second = disk.digest(b"first"), disk.digest(b"second")
    disk.write(first, b"one")
    disk.write(first, b"two")
    disk.write(second, b"three")
    assert (disk.read(first), disk.read(second), disk.read(disk.digest(b"third"))) == (b"two", b"three", None)
    with disk_folder.opened(kept_in) as held:
        disk.sweep(held, 0)
    assert disk.read(first) is None
    assert not [name for name in os.listdir(kept_in) if name.endswith((".o", ".part"))]


@pytest.mark.parametrize("name", NAMES)
def test_only_owners_can_tell_who_may_write(
    name: str, kept_in: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder that all may write to is refused by its mode; where modes tell nothing, the system keeps it."""
    monkeypatch.setattr(system, "SYSTEM", system.system_of(name))
    kept_in.mkdir()
    kept_in.chmod(0o777)
    key = disk.digest(b"shared")
    disk.write(key, b"object")
    has_owners = system.SYSTEM.has_owners
    assert has_owners is (name != "win32")
    assert disk.read(key) == (None if has_owners else b"object")
    assert ("others may write to" in caplog.text) is has_owners


def test_a_file_of_another_user_is_none_of_ours() -> None:
    about = os.stat_result((stat.S_IFREG | 0o600, 1, 1, 1, os.getuid() + 4711, 0, 3, 0, 0, 0))
    assert [system.system_of(name).is_ours(about) for name in NAMES] == [False, False, True, False]
    shared = os.stat_result((stat.S_IFREG | 0o620, 1, 1, 1, os.getuid(), 0, 3, 0, 0, 0))
    assert [system.system_of(name).is_private(shared) for name in NAMES] == [False, False, True, False]


def test_a_name_that_is_taken_stays_where_links_are_none(
    kept_in: Path, windows: system.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows' renaming fails where this system's replaces."""

    def rename(source: str, target: str) -> None:
        if os.path.exists(target):
            raise FileExistsError(target)
        os.replace(source, target)

    monkeypatch.setattr(os, "rename", rename)
    assert not windows.has_links
    with disk_folder.opened(kept_in, is_made=True) as held:
        held.write_first("name", b"first")
        with pytest.raises(FileExistsError):
            held.write_first("name", b"second")
        assert held.read("name") == b"first"
    assert os.listdir(kept_in) == ["name"]


@pytest.mark.usefixtures("foreign")
def test_whole_files(tmp_path: Path) -> None:
    whole_files.write_whole(tmp_path / "a", [b"one"])
    whole_files.write_whole(tmp_path / "a", [b"two\n", b"three"])
    assert (tmp_path / "a").read_bytes() == b"two\nthree"
    assert os.listdir(tmp_path) == ["a"]


# -- libraries and their symbols --------------------------------------------------------------------------------------


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The libraries that are opened by name, each one that has nothing."""
    names: list[Any] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: names.append(name) or types.SimpleNamespace(name=name))
    caches = (symbols._libmvec, symbols._libraries)
    for cache in caches:
        cache.cache_clear()
    yield names
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("linux", ["libmvec.so.1", "libm.so.6", None]),
        ("darwin", ["/usr/lib/libm.dylib", None]),
        ("win32", ["ucrtbase", "kernel32"]),
        ("freebsd14", ["/usr/lib/libm.dylib", None]),
    ],
)
def test_where_functions_are_looked_for(
    name: str, wanted: list[Any], asked_for: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "SYSTEM", system.system_of(name))
    monkeypatch.setattr(ctypes.util, "find_library", {"m": "/usr/lib/libm.dylib"}.get)
    symbols._libraries()
    assert asked_for == wanted
    assert (symbols._libmvec() is not None) is (name == "linux")
    system.SYSTEM.c_memory()
    assert asked_for[-1] == ("msvcrt" if name == "win32" else None)


def test_a_c_library_without_vector_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ctypes.CDLL

    def without_glibc(name: Any) -> Any:
        if name in ("libmvec.so.1", "libm.so.6"):
            raise OSError(name)
        return real(None)

    monkeypatch.setattr(ctypes, "CDLL", without_glibc)
    monkeypatch.setattr(ctypes.util, "find_library", {"m": "libc.musl-x86_64.so.1"}.get)
    linux = system.system_of("linux")
    assert linux.vector_maths() is None
    assert any(hasattr(library, "malloc") for library in linux.c_libraries())


# -- machine code -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("linux", ("@pthread_create", "@clock_gettime(i32 1", "@madvise"), ("@GetTickCount64",)),
        ("darwin", ("@pthread_create", "@clock_gettime(i32 6"), ("@madvise", "@pthread_getattr_np")),
        ("win32", ("@GetTickCount64",), ("@pthread_", "@clock_gettime", "@madvise", "@getpid")),
    ],
)
def test_hand_written_code_asks_for_what_a_system_has(
    name: str, has: tuple[str, ...], lacks: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "SYSTEM", system.system_of(name))
    text = runtime.runtime_ir() + memory.memory_ir() + stack.left_ir()
    assert [word for word in has if word not in text] == []
    assert [word for word in lacks if word in text] == []


@pytest.mark.skipif(not has_llvm(), reason="the code is compiled by llvmlite, which is not installed")
@pytest.mark.parametrize(
    ("name", "triple"),
    [
        ("linux", "aarch64-unknown-linux-gnu"),
        ("darwin", "arm64-apple-darwin"),
        ("win32", "x86_64-pc-windows-msvc"),
        ("win32", "aarch64-pc-windows-msvc"),
        ("freebsd14", "x86_64-unknown-freebsd"),
    ],
)
def test_hand_written_code_becomes_objects(name: str, triple: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which need C's functions, Python's, and the system's, under the names that its libraries have."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    monkeypatch.setattr(system, "SYSTEM", system.system_of(name))
    monkeypatch.setattr(
        binding, "get_process_triple", lambda: triple
    )  # the processor's flags are asked for by its kind
    machine = binding.Target.from_triple(triple).create_target_machine(reloc="pic")
    found: set[str] = set()
    for text in (runtime.runtime_ir(), memory.memory_ir()):
        module = binding.parse_assembly(f'target triple = "{triple}"\n{text}')
        module.verify()
        found |= needs(machine.emit_object(module))
    mark = "_" if name == "darwin" else ""
    assert found == {mark + wanted for wanted in [*EVERYWHERE, *OF_THE_SYSTEM.get(name, POSIX)]}


def test_products_are_left_to_apples_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "SYSTEM", system.system_of("darwin"))
    assert matrices.is_for_blas(512, 512, 512)
    assert not matrices.is_for_blas(2, 2, 2)


# -- processes, signals, memory ---------------------------------------------------------------------------------------


def test_windows_does_not_fork_and_takes_signals_later(windows: system.System, monkeypatch: pytest.MonkeyPatch) -> None:
    import _thread

    monkeypatch.delattr(os, "register_at_fork", raising=False)
    windows.at_fork(forking._before, forking._after_in_parent, forking._after_in_child)
    told: list[int] = []
    monkeypatch.setattr(_thread, "interrupt_main", told.append)
    windows.signal_main_thread(2)
    assert told == [2]


def test_windows_tells_its_memory(windows: system.System, monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(told: Any) -> int:
        assert told[0] == ctypes.sizeof(told) == 64
        told[1:8] = [16 << 30, 5 << 30, 24 << 30, 9 << 30, 1 << 47, 1 << 46, 0]
        return 1

    kernel = types.SimpleNamespace(GlobalMemoryStatusEx=tell)
    monkeypatch.setattr(ctypes, "windll", types.SimpleNamespace(kernel32=kernel), raising=False)
    assert (headroom.allowance(), headroom.pages(), headroom.addresses()) == (24 << 30, 9 << 30, 1 << 46)
    kernel.GlobalMemoryStatusEx = lambda told: 0  # which does not bound
    assert (headroom.allowance(), headroom.pages(), headroom.addresses()) == (headroom.UNBOUNDED,) * 3


def test_a_mac_tells_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "SYSTEM", system.system_of("darwin"))
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1 << 20, "SC_PAGE_SIZE": 1 << 14}.__getitem__)
    assert (headroom.allowance(), headroom.pages(), headroom.addresses()) == (1 << 34, 1 << 34, headroom.UNBOUNDED)
    monkeypatch.setattr(os, "sysconf", {}.__getitem__)
    assert headroom.pages() == headroom.UNBOUNDED


@pytest.fixture
def with_libraries_of_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The C libraries are this system's, and so is the clock that they have: those of Windows are not to be had."""
    here = system.SYSTEM
    for kind in (system.System, system.Windows):
        monkeypatch.setattr(kind, "c_libraries", lambda self, ask=here.c_libraries: ask())
        monkeypatch.setattr(kind, "c_memory", lambda self, ask=here.c_memory: ask())
        monkeypatch.setattr(kind, "clock", here.clock)


@pytest.mark.usefixtures("with_libraries_of_here", "foreign")
def test_programs_run() -> None:
    """Compiled, with an array that is compared in place, a history, and what a call grows by."""
    held = np.linspace(0.0, 1.0, 4000)
    f = wg.function(wg.grad(lambda x: wg.sum(wg.scan(lambda c, v: (c * v, c + v), x, held[:7])[1]) + wg.sum(held) * x))
    slopes = [float(f(x)) for x in (0.5, 0.5, 2.0)]
    assert np.allclose(slopes, slopes[0])
    assert np.isclose(slopes[0], held.sum() + 1.0, rtol=1e-2)
    assert system.SYSTEM.grown_by(lambda: None) is None
    assert system.SYSTEM.processors() >= 1
