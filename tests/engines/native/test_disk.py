"""The cache of compiled code on disk: what is found again, what is not trusted, how it is bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.native_kernels import SUM_X_SIN_X
from wengert._engines.native.llvm import jit
from wengert._engines.native.run import disk
from wengert._engines.native.run.disk_folder import opened

NAME, OTHER = disk.digest(b"one"), disk.digest(b"other")
HEX = "0123456789abcdef"
POSIX_ONLY = pytest.mark.skipif(os.name != "posix", reason="Windows has no permission bits of this kind")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    where = tmp_path / "a" / "cache"
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(where))
    return where


def files(where: Path) -> list[Path]:
    return sorted(where.iterdir())


def swept(where: Path, most: int) -> None:
    with opened(where) as held_in:
        disk.sweep(held_in, most)


def test_what_was_written_is_read(folder: Path) -> None:
    disk.write(NAME, b"code")
    assert disk.read(NAME) == b"code"
    assert disk.read(OTHER) is None


def test_an_empty_variable_turns_it_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WENGERT_CACHE_DIR", "")
    monkeypatch.chdir(tmp_path)
    disk.write(NAME, b"code")
    assert disk.read(NAME) is None
    assert not files(tmp_path)


def test_the_second_load_does_not_compile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jit.load(SUM_X_SIN_X, "entry")
    monkeypatch.setattr(jit, "compiled", lambda *_: pytest.fail("LLVM ran though the object was there"))
    assert jit.load(SUM_X_SIN_X, "entry").address


def test_what_else_decides_makes_another_file(folder: Path) -> None:
    jit.load(SUM_X_SIN_X, "entry", b"one")
    jit.load(SUM_X_SIN_X, "entry", b"two")
    assert len(files(folder)) == 2


@pytest.mark.parametrize("spoil", [
    lambda held: held[:-1] + bytes([held[-1] ^ 1]),
    lambda held: held[: len(held) // 2],
    lambda held: b"",
    lambda held: b"something else\n" + held,
])  # fmt: skip
def test_damaged_files_are_made_anew(folder: Path, spoil: object) -> None:
    jit.load(SUM_X_SIN_X, "entry")
    (path,) = files(folder)
    whole = path.read_bytes()
    path.write_bytes(spoil(whole))  # pyright: ignore[reportCallIssue]
    assert disk.read(path.stem) is None
    assert jit.load(SUM_X_SIN_X, "entry").address
    assert path.read_bytes() == whole


@POSIX_ONLY
def test_files_are_their_owners_alone(folder: Path) -> None:
    disk.write(NAME, b"code")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert files(folder)[0].stat().st_mode & 0o777 == 0o600


@POSIX_ONLY
def test_files_that_others_may_write_are_not_run(folder: Path) -> None:
    disk.write(NAME, b"code")
    files(folder)[0].chmod(0o666)
    assert disk.read(NAME) is None


@POSIX_ONLY
def test_nothing_is_written_where_others_may_write(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    disk.write(NAME, b"code")
    assert not files(folder)


@POSIX_ONLY
@pytest.mark.parametrize("mask", [0o002, 0o000, 0o777])
def test_folders_are_their_owners_alone_whatever_the_umask(folder: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        disk.write(NAME, b"code")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder)] == [0o700, 0o700]
    assert disk.read(NAME) == b"code"


@POSIX_ONLY
def test_a_folder_that_is_refused_is_told_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.parent.mkdir()
    folder.parent.chmod(0o775)
    for _ in range(2):
        disk.write(NAME, b"code")
        assert disk.read(NAME) is None
    (record,) = caplog.records
    told = record.getMessage()
    assert f"others may write to {folder.parent}: its mode is 775" in told and "WENGERT_CACHE_DIR" in told


def test_a_folder_that_cannot_be_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert jit.load(SUM_X_SIN_X, "entry").address


def test_a_file_of_another_name_is_not_run(folder: Path) -> None:
    disk.write(NAME, b"code")
    (folder / f"{NAME}.o").rename(folder / f"{OTHER}.o")
    assert disk.read(OTHER) is None


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_files_and_folders_of_others_are_not_used(folder: Path) -> None:
    disk.write(NAME, b"code")
    os.chown(folder / f"{NAME}.o", 12345, 12345)
    assert disk.read(NAME) is None
    os.chown(folder, 12345, 12345)
    disk.write(OTHER, b"code")
    assert [path.name for path in files(folder)] == [f"{NAME}.o"]


PROGRAM = """
import numpy as np, sys
import wengert as wg
from wengert._engines.native import engine
from wengert._engines.native.llvm import jit
if sys.argv[1] == "kept":
    jit.compiled = None  # all that LLVM would make is there

def f(x, m, n):
    def step(c, y):
        c = wg.tanh(wg.matmul(m, c)) + y
        return c, wg.sort(c)

    end, rows = wg.scan(step, x, wg.ones((5, 1)))
    far = wg.fori_loop(0, n, lambda i, y: y.at[i].set(wg.sin(y[i]) * 2.0), x)
    factor = wg.linalg.cholesky(wg.matmul(m, wg.transpose(m)) + wg.eye(m.shape[0]))
    large = wg.sum(wg.exp(wg.broadcast_to(x, (3000, x.shape[0])) * -0.1))
    return wg.sum(end) + wg.sum(rows * rows) + wg.sum(factor) + large + wg.sum(far) + wg.sum(wg.special.gammaln(x + 2.0))

m = np.linspace(-1.0, 1.0, 70 * 70).reshape(70, 70)
print([g.tobytes().hex()[:4000] for g in wg.function(wg.grad(f, (0, 1)))(np.linspace(0.0, 1.0, 70), m, np.int64(9))])
"""


def run_program(word: str, **variables: str) -> str:
    env = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")} | variables
    env |= {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, word]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def test_another_process_compiles_nothing(folder: Path) -> None:
    """Loops, threads, BLAS, LAPACK, special functions and memory: all by name, wherever they lie in the process."""
    assert run_program("made") == run_program("kept")


def test_many_processes_write_at_once(folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = {*pool.map(run_program, ["made"] * 4)}
    assert len(found) == 1
    assert run_program("kept") in found
    assert {path.suffix for path in files(folder)} == {".o"}


@POSIX_ONLY
def test_the_users_folder_is_private_and_need_not_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WENGERT_CACHE_DIR")
    run_program("made", HOME=str(tmp_path))
    (made,) = (tmp_path / ".cache").iterdir()
    assert made.name == "wengert" and made.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in made.iterdir())
    (tmp_path / "file").write_text("in the way")
    run_program("made", HOME=str(tmp_path / "file"))


def test_nothing_unfinished_is_left(folder: Path) -> None:
    disk.write(NAME, b"code")
    assert [path.suffix for path in files(folder)] == [".o"]


def test_the_files_not_used_for_longest_go_first(folder: Path) -> None:
    names = [disk.digest(bytes([n])) for n in range(4)]
    for age, name in enumerate(names):
        disk.write(name, b"x" * 1000)
        os.utime(folder / f"{name}.o", (1e9 - age, 1e9 - age))
    assert disk.read(names[3]) is not None  # the oldest, but used now
    swept(folder, 2500)
    assert {path.stem for path in files(folder)} == {names[0], names[3]}


def test_a_sweep_takes_nothing_but_what_the_cache_has_made(folder: Path) -> None:
    """The folder may be one that has other things in it, object files of other programs among them."""
    disk.write(NAME, b"x" * 1000)
    foreign = [
        "main.o",
        "x.part",
        "secret",
        f"{NAME}.o.bak",
        "A" * 64 + ".o",
        NAME,
        f"{NAME}.part",
        f"main.o.{HEX}.part",
    ]
    for name in foreign:
        (folder / name).write_bytes(b"mine" * 1000)
        os.utime(folder / name, (1e9, 1e9))
    inside = folder / ("a" * 64 + ".o")
    inside.mkdir()
    swept(folder, 0)
    assert {path.name for path in files(folder)} == {*foreign, inside.name}


def test_what_killed_writers_have_left_goes_and_who_writes_now_goes_on(folder: Path) -> None:
    disk.write(NAME, b"code")
    old, young = folder / f"{OTHER}.o.{HEX}.part", folder / f"{NAME}.o.{HEX}.part"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    swept(folder, 10**9)
    assert young.exists() and not old.exists()


@POSIX_ONLY
def test_links_pipes_and_folders_in_place_of_files_are_not_followed_or_waited_for(folder: Path, tmp_path: Path) -> None:
    disk.write(NAME, b"code")
    path = folder / f"{NAME}.o"
    moved = path.rename(tmp_path / "moved")
    for put in (lambda: path.symlink_to(moved), lambda: os.mkfifo(path), lambda: path.mkdir()):
        put()
        assert disk.read(NAME) is None
        path.rmdir() if path.is_dir() else path.unlink()
    path.symlink_to(moved)
    before = moved.read_bytes()
    disk.write(NAME, b"other code")
    assert not path.is_symlink() and moved.read_bytes() == before
    assert disk.read(NAME) == b"other code"


@POSIX_ONLY
def test_a_folder_below_one_that_others_may_write_to_is_not_used(folder: Path) -> None:
    """They could put another folder in its place."""
    disk.write(NAME, b"code")
    folder.parent.chmod(0o777)
    assert disk.read(NAME) is None
    disk.write(OTHER, b"code")
    assert len(files(folder)) == 1
    folder.parent.chmod(0o1777)  # as /tmp is: nobody may rename what is another's
    assert disk.read(NAME) == b"code"


def test_objects_sealed_with_another_secret_are_not_run(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """Somebody has put whole objects of their own into the folder: an archive that was unpacked there, say."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "theirs"))
    disk.write(NAME, b"code")
    assert disk.read(NAME) == b"code"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    (folder / "secret").write_bytes((tmp_path / "theirs" / "wengert" / "secret").read_bytes())
    assert disk.read(NAME) is None
    disk.write(NAME, b"code")
    assert disk.read(NAME) == b"code"


def test_the_secret_is_its_owners_alone_and_made_anew_where_it_is_damaged(
    folder: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    disk.write(NAME, b"code")
    path = tmp_path / "wengert" / "secret"
    assert len(path.read_bytes()) == 32
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"")
    assert disk.read(NAME) is None
    disk.write(NAME, b"code")
    assert disk.read(NAME) == b"code" and len(path.read_bytes()) == 32
    assert {p.name for p in (tmp_path / "wengert").iterdir()} == {"secret"}


@POSIX_ONLY
def test_without_a_folder_of_the_users_own_the_secret_lies_with_the_objects(
    folder: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    disk.write(NAME, b"code")
    assert disk.read(NAME) == b"code"
    assert {path.name for path in files(folder)} == {f"{NAME}.o", "secret"}


def test_a_tilde_is_the_users_home(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("WENGERT_CACHE_DIR", os.path.join("~", "kept"))
    assert disk.folder() == tmp_path / "kept"
    monkeypatch.setenv("WENGERT_CACHE_DIR", "~nobody-of-this-name/kept")
    assert disk.folder() is None


@pytest.mark.parametrize("text", ["", "x", "-1", "9" * 5000, "\u0663"])
def test_a_limit_that_is_none_is_the_usual_one(text: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("WENGERT_CACHE_MIB", text)
    assert disk.limit() == 512 * 2**20


def test_objects_hold_no_addresses(folder: Path) -> None:
    """Another process, whose libraries lie elsewhere, runs the object that this one made."""
    program = (
        "from tests.support.native_kernels import SUM_X_SIN_X\n"
        "from wengert._engines.native.llvm import jit\n"
        "from wengert._engines.native.run import entry\n"
        "import numpy as np, sys\n"
        "if len(sys.argv) > 1: jit.compiled = None\n"
        "code = jit.load(SUM_X_SIN_X, 'entry')\n"
        "x, s, g = np.arange(10.0), np.zeros(()), np.zeros(10)\n"
        "assert entry.called(code, [x], [s, g], [])[0] == 0\n"
        "print(float(s).hex())\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [
        subprocess.run([sys.executable, "-c", program, *extra], env=env, capture_output=True, text=True, check=True)
        for extra in ((), ("again",))
    ]
    assert runs[0].stdout == runs[1].stdout
