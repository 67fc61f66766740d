"""NumPy's functions, every one, called with tensors under a tape: recorded, or refused by name; never plain numbers.

The calls are generated: each function gets those of a list of arguments that it takes as arrays. Where NumPy gives floats, a
tensor must come out, with NumPy's values; else `LostGradientError` names the function. NumPy's arguments are ours, too.
"""

from __future__ import annotations

import inspect
import linecache
import types
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

A = np.array([[2.0, 0.5, 0.3], [0.4, 3.0, 0.2], [0.1, 0.6, 2.5]])
V, M = np.array([0.3, 0.7, 1.2]), A > 0.4
CALLS: list[tuple[Any, ...]] = [
    (A,), (V,), (A, A), (V, V), (A, V), (A, 1), (A, 0, 1), (A, (0, 1), (1, 0)), (M, A, A), ([A, A],), (V, 2), (A, [0, 1], 0), (V, [0.1, 0.5], [1.0, 2.0]), (A, (9,)), (A, 0.3), (A, M),
    (A, (2, 3, 3)), (V, [0, 1, 2]), (A, 2, 1), (V, [0.2, 0.9], V), (A[None], (2, 0, 1)), (A, np.array([[0], [1], [2]]), 1),
]  # fmt: skip
SPECIAL = {"einsum": [("ij,jk", A, A)], "select": [([M], [A])], "compress": [([True, False, True], V)], "apply_along_axis": [(np.sort, 0, A)],
           "apply_over_axes": [(np.sum, A, [0])], "piecewise": [(V, [V > 0.5], [np.sin, np.cos])], "choose": [([0, 1, 0], [V, V])]}  # fmt: skip
# what NumPy makes of these is an accident of its code: a tolerance of 1 or more, a matrix called Hermitian that is none,
# coordinates that coincide
ACCIDENTS = {("lstsq", 3), ("pinv", 3), ("gradient", 2)}
# no functions of arrays, or none that computes
LEFT_OUT = {
    "array2string", "array_repr", "array_str", "show_config", "show_runtime", "info", "test", "save", "savetxt",
    "savez", "savez_compressed", "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "fromstring", "memmap",
    "set_printoptions", "seterr", "seterrcall", "setbufsize", "printoptions", "errstate", "shares_memory",
    "may_share_memory", "bmat", "frompyfunc", "frombuffer", "busday_count", "busday_offset", "is_busday", "isnat",
    "isfortran", "nditer",
}  # fmt: skip


def functions() -> list[Any]:
    found = []
    for home, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft)):
        for name in sorted(getattr(module, "__all__", dir(module))):
            f = getattr(module, name)
            if (
                callable(f)
                and not isinstance(f, (type, types.ModuleType))
                and name not in LEFT_OUT
                and not name.startswith("_")
            ):
                found.append(pytest.param(f, f"{home}.{name}", id=f"{home}.{name}"))
    return found


def run(path: str, args: tuple[Any, ...]) -> Any:
    """A call whose source text is the name, as a user writes it."""
    source = f"{path}(*args)"
    linecache.cache["call.py"] = (len(source), None, [source], "call.py")
    return eval(compile(source, "call.py", "eval"), {"np": np, "args": args})


def flat(result: Any) -> list[Any]:
    return [leaf for part in result for leaf in flat(part)] if isinstance(result, (tuple, list)) else [result]


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def with_tensors(x: Any, tape: Any) -> Any:
    if is_array(x):
        tensor = wg.tensor(x)
        tape.watch(tensor)
        return tensor
    return type(x)(with_tensors(item, tape) for item in x) if isinstance(x, (tuple, list)) else x


def writes(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether an argument stands where a result would be written."""
    if isinstance(f, np.ufunc):
        return len(args) > f.nin
    try:
        names = [*inspect.signature(f).parameters]
    except ValueError:
        return False
    return "out" in names[: len(args)]


@pytest.mark.parametrize(("f", "path"), functions())
@pytest.mark.filterwarnings("ignore")  # NumPy's opinion of the values does not matter here
def test_every_function_of_numpy_records_or_refuses(f: Any, path: str, capfd: Any) -> None:
    name = path.rpartition(".")[2]
    for args in [*CALLS, *SPECIAL.get(name, [])]:
        if (name, len(args)) in ACCIDENTS and isinstance(args[1], (list, int, np.ndarray)) and args[1] is not V:
            continue
        if writes(f, args) or not any(is_array(x) for x in flat(list(args))):
            continue
        try:
            theirs = run(path, args)
        except Exception:
            continue  # not a call of this function
        with wg.GradientTape() as tape:
            given = with_tensors(args, tape)
            refusal = ""
            try:
                ours = run(path, given)
            except (wg.LostGradientError, TypeError, ValueError, LookupError) as error:
                refusal = str(error)  # what NumPy takes by chance may be refused in other ways, by name
        if refusal:
            assert name in refusal or f.__name__ in refusal
            continue
        for one, other in zip(flat(ours), flat(theirs), strict=True):
            dtype = np.asarray(other).dtype
            if dtype.kind in "fc":
                assert isinstance(one, wg.Tensor) or name in CONSTANT, f"{path}{args} gave plain numbers"
            if dtype.kind in "fcib" and name not in RANDOM:  # fmt: skip
                values = one.numpy() if isinstance(one, wg.Tensor) else one
                np.testing.assert_allclose(values, other, rtol=1e-9, atol=1e-11)


CONSTANT: set[str] = set()  # nothing of the operands' values is in their results
RANDOM = {"empty_like", "polydiv", "matrix_rank"}  # values that do not matter, or are such accidents


# -- arguments -----------------------------------------------------------------------------------------------------------

# NumPy's arguments that ours do not take, and why
NOT_TAKEN = {
    "subok": "there are no subclasses of tensors", "like": "arrays of other libraries are made by these themselves",
    "order": "tensors have no memory order", "casting": "results have NumPy's dtypes", "signature": "ufuncs' inner loops",
    "out": "tensors are never written into", "device": "there is one", "copy": "tensors are never written into",
    "kwargs": "of ufuncs", "extobj": "of ufuncs",
}  # fmt: skip


def argument_names(f: Any) -> list[str]:
    """The arguments of one of NumPy's functions that go by name."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


@pytest.mark.parametrize("home", ["", "linalg", "fft"])
def test_numpys_arguments_are_taken(home: str) -> None:
    theirs, ours = (getattr(np, home), getattr(wg, home)) if home else (np, wnp)
    missing = []
    for name in sorted({*ours.__all__} & {*getattr(theirs, "__all__", dir(theirs))}):
        f, g = getattr(theirs, name), getattr(ours, name)
        if f is g or isinstance(f, (type, np.ufunc)) or not callable(f):
            continue
        taken = inspect.signature(g).parameters
        if any(p.kind == p.VAR_KEYWORD for p in taken.values()):
            continue
        missing += [
            f"{name}({argument})"
            for argument in argument_names(f)
            if argument not in taken and argument not in NOT_TAKEN
        ]
    assert not missing
