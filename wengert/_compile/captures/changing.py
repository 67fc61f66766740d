"""Recognises sources whose values change by themselves: clocks, random numbers with a hidden state, files, iterators.

Their results would be constants of a compiled function. Random states are compared before and after a trace; of the
others it is enough that the code names them. Asked by `captures.py` and `reach.py`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_CALLS: dict[str, tuple[str, ...]] = {
    "time": (
        "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
        "process_time_ns", "thread_time", "ctime", "localtime", "gmtime",
    ),
    "builtins": ("open", "input", "globals", "eval", "exec"), "io": ("open",), "_io": ("open",),
    "os": ("urandom", "getenv", "getpid", "getcwd", "listdir", "scandir", "walk", "stat", "access", "environ"),
    "posix": ("urandom", "getpid", "getcwd", "listdir", "scandir", "stat", "access"),
    **dict.fromkeys(("posixpath", "ntpath", "genericpath"), ("exists", "isfile", "isdir", "getsize", "getmtime")),
    "uuid": ("uuid1", "uuid4"),
    "secrets": ("randbelow", "token_bytes", "token_hex", "choice", "randbits"),
    "numpy": (
        "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "geterr", "geterrcall", "getbufsize", "get_printoptions",
    ),
    "sys": ("getrecursionlimit", "getswitchinterval"), "locale": ("getlocale", "localeconv"),
    **dict.fromkeys(("decimal", "_decimal"), ("getcontext",)),
}  # fmt: skip
_BARE = {"numpy.random": ("default_rng",)}  # without arguments only: with a seed they give the same each time
PATHS_ARE_READ = frozenset({"read_text", "read_bytes"})  # methods that nothing but a path has
_OF_PATHS = PATHS_ARE_READ | {"open", "exists", "is_file", "is_dir", "stat", "iterdir", "glob", "rglob"}
_DRAWING = ("tensorflow.", "keras.")  # whose modules named random draw from a state that nobody can look at
_SEEDED = ("stateless_", "Generator", "SeedGenerator", "Algorithm", "fold_in", "split", "set_seed")
_CLOCKS = frozenset({"now", "today", "utcnow"})  # of datetime's classes


def is_path(value: object) -> bool:
    """Whether a value is one of pathlib's, which loads slowly and need not be there for this."""
    return any(base.__module__.partition(".")[0] == "pathlib" for base in type(value).__mro__)


def changing_name(owner: object, key: str, value: object, is_called_bare: bool) -> str:
    """The dotted name of something whose results change by themselves, found as `owner.key`, or ""."""
    if isinstance(owner, ModuleType):
        home = owner.__name__
        if home.startswith(_DRAWING) and home.endswith(".random") and not key.startswith(_SEEDED):
            return f"{home}.{key}"
        if key in _CALLS.get(home, ()) or (is_called_bare and key in _BARE.get(home, ())):
            return f"{home}.{key}"
        return ""
    if is_path(owner):
        return f"Path.{key}" if key in _OF_PATHS else ""
    if isinstance(owner, type) and owner.__module__ == "datetime" and key in _CLOCKS:
        return f"datetime.{owner.__name__}.{key}"
    home = getattr(value, "__module__", None)
    name = getattr(value, "__name__", "")
    if owner is None and isinstance(home, str) and name in _CALLS.get(home, ()):
        return f"{home}.{name}" if home not in ("builtins", "io", "_io") else name
    return ""


def is_iterator(value: object) -> bool:
    """Whether reading a value uses it up: an iterator or an open file."""
    kind = type(value)
    return hasattr(kind, "__next__") and hasattr(kind, "__iter__")


def random_state(value: Any) -> Any:
    """What a source of random numbers has as its state, or None for anything else."""
    kind = type(value)
    home = kind.__module__
    if home.startswith("numpy.random") and hasattr(value, "bit_generator"):
        return _plain(value.bit_generator.state)
    if home.startswith("numpy.random") and hasattr(value, "get_state"):
        return _plain(value.get_state(legacy=False))
    if home.partition(".")[0] == "torch" and hasattr(value, "initial_seed") and hasattr(value, "get_state"):
        import ctypes  # only programs with torch need it

        held = value.get_state().untyped_storage()  # where torch traces, what reads the tensor itself is told of
        return ctypes.string_at(held.data_ptr(), held.nbytes())
    return value.getstate() if home == "random" and hasattr(value, "getstate") else None


def _plain(state: Any) -> Any:
    """A state as data that can be compared."""
    if isinstance(state, dict):
        return [(key, _plain(value)) for key, value in state.items()]
    return state.tobytes() if hasattr(state, "tobytes") else state


def global_sources() -> list[tuple[str, Any]]:
    """The hidden sources behind the functions of `np.random` and `random`, where these are loaded."""
    found: list[tuple[str, Any]] = []
    for module, name, source in (("numpy.random.mtrand", "np.random", "_rand"), ("random", "random", "_inst")):
        held = getattr(sys.modules.get(module), source, None)
        if held is not None:
            found.append((name, held))
    return found


def torch_sources() -> list[tuple[str, Any]]:
    """Those behind torch's functions, which have many names, on the processor and on every accelerator in use."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "default_generator"):
        return []
    return [("torch's generator", held) for held in (torch.default_generator, *torch.cuda.default_generators)]


__all__ = ["PATHS_ARE_READ", "changing_name", "global_sources", "is_iterator", "random_state", "torch_sources"]
