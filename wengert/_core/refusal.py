"""The text of errors that refuse to turn a followed tensor into plain numbers: who asked, and what to write instead.

Nothing here runs unless an error is being made, so it may take its time: it reads the source of the user's line, finds
the very call that is running, and looks up whether Wengert has that function.
"""

from __future__ import annotations

import ast
import builtins
import dis
import importlib.util
import inspect
import sys
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..errors import LostGradientError
from .adopted_names import home_of
from .tracebacks import entries_of, is_raised_there
from .user_line import Site, foreign_callee, is_library_file, is_wengert_file, public_module, site_of, user_frame

# The module that users call, what they write for ours, and the name of our module, which loads for the message.
_COUNTERPARTS = (
    ("math", "wg", "wengert.numpy"),
    ("math", "wg.special", "wengert.special"),
    ("statistics", "wg", "wengert.numpy"),
    ("numpy", "wengert.numpy", "wengert.numpy"),
    ("numpy.linalg", "wg.linalg", "wengert.linalg"),
    ("scipy.linalg", "wg.linalg", "wengert.linalg"),
    ("scipy.special", "wg.special", "wengert.special"),
)

_BUILDERS = frozenset({
    "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite", "full", "full_like",
    "fromiter", "require", "block", "r_", "c_", "fromfunction",
})  # fmt: skip
_WRITERS = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "at"})
_SAVERS = frozenset({"save", "savez", "savez_compressed", "savetxt", "dump", "dumps"})
_CASTS = frozenset({"float", "int", "complex", "round", "float64", "float32", "float16", "complex128", "complex64"})
_BRIDGES = {"jax": "from_jax", "torch": "from_torch", "tensorflow": "from_tensorflow"}
_ON_PURPOSE = "cut the gradient on purpose with .numpy() or .item()"
_WRITE = (
    "x.at[index].set(value) and wg.buffer are recorded, and so is wengert.numpy (import wengert.numpy as np), "
    "which builds arrays from tensors"
)


class Asker(NamedTuple):
    """Who wants plain numbers: as the user wrote it, and the module and name behind it ("" where unknown).

    `instead` is what could stand in the place of a statement or an expression.
    """

    written: str
    module: str
    name: str
    instead: str = ""


def asker() -> Asker:
    """The function or statement of the user's own line that is running now."""
    frame = user_frame()
    if frame is None:
        return Asker(foreign_callee(), "", "")
    site = site_of(frame)
    text = site.expression
    if _opcode(site) in ("STORE_SUBSCR", "STORE_SLICE"):
        return Asker(f"the assignment {text} = ..." if text else "the assignment to an array's element", "", "=")
    node = _parsed(text)
    if isinstance(node, ast.Call):
        return _of_call(node.func, frame)
    if isinstance(node, ast.AugAssign):
        out_of_place = ast.Assign([node.target], ast.BinOp(_loaded(node.target), node.op, node.value), lineno=0)
        return Asker(f"the statement {_shown(text)}", "", "+=", _shown(ast.unparse(out_of_place)))
    if isinstance(node, ast.Subscript):
        return Asker(f"the index in {_shown(text)}", "", "[]", _of_tensor(node, frame))
    callee = foreign_callee()
    module, _, name = callee.rpartition(".")
    return Asker(f"the expression {_shown(text)}" if text else callee, module, name)


def _opcode(site: Site) -> str:
    code = site.code.co_code
    return dis.opname[code[site.instruction]] if 0 <= site.instruction < len(code) else ""


def _parsed(text: str) -> ast.AST | None:
    """The expression or augmented assignment in a piece of source, or None."""
    if not text:
        return None
    try:
        body = ast.parse(text if "\n" not in text else f"({text})").body
    except (SyntaxError, ValueError):
        return None
    if len(body) != 1:
        return None
    return body[0].value if isinstance(body[0], ast.Expr) else body[0]


def _loaded(target: ast.expr) -> ast.expr:
    """What an assignment writes to, as an expression that reads it."""
    return ast.parse(ast.unparse(target), mode="eval").body


def _of_tensor(node: ast.Subscript, frame: FrameType) -> str:
    """An element of a plain array or of a list of numbers as that of a tensor, which takes positions of any kind."""
    held = ast.unparse(node.value)
    found = _resolved(held, frame)
    is_plain = isinstance(found, np.ndarray) or (
        isinstance(found, list | tuple) and all(isinstance(x, int | float | complex | np.ndarray) for x in found)
    )
    if not is_plain:
        return ""
    tensor = ast.parse(f"wg.tensor({held})", mode="eval").body
    return _shown(ast.unparse(ast.Subscript(tensor, node.slice, ast.Load())))


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def _of_call(func: ast.expr, frame: FrameType) -> Asker:
    """A call by the name that the user wrote, with the module that the function comes from."""
    written = _shown(ast.unparse(func))
    while isinstance(func, ast.Call):  # np.vectorize(f)(x) is NumPy's vectorize at work
        func = func.func
    found = _resolved(ast.unparse(func), frame)
    if found is None:
        module, _, name = foreign_callee().rpartition(".")
        return Asker(written, module, name or written.rpartition(".")[2])
    module = found.__name__ if isinstance(found, ModuleType) else getattr(found, "__module__", None) or ""
    if isinstance(found, type) and module == "builtins":
        return Asker(written, "builtins", found.__name__)
    if not module or module.startswith("builtins"):
        module = _module_written(ast.unparse(func), frame) or getattr(type(found), "__module__", "")
    name = getattr(found, "__name__", "")
    module = public_module(home_of(module) if isinstance(module, str) else "")
    return Asker(written, module, name if isinstance(name, str) and name else written.rpartition(".")[2])


def _resolved(dotted: str, frame: FrameType) -> Any:
    """The object that a dotted name stands for in a frame, found without running any code of its own, or None."""
    first, *rest = dotted.split(".")
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if first in names:
            found = names[first]
            break
    else:
        return None
    for part in rest:
        try:
            found = inspect.getattr_static(found, part)
        except (AttributeError, TypeError):
            return None
    return found


def _module_written(dotted: str, frame: FrameType) -> str:
    """The module in front of the last dot, where there is one (SciPy's ufuncs do not say theirs)."""
    owner = _resolved(dotted.rpartition(".")[0], frame) if "." in dotted else None
    return owner.__name__ if isinstance(owner, ModuleType) else ""


def described(who: Asker, protocol: str = "", function: str = "") -> str:
    """How a message names the asker: what the user wrote, where it is from, and what it led to."""
    name = who.written or function or f"Tensor.{protocol}"
    package = who.module.partition(".")[0]
    known = {"numpy": ("np.", "numpy."), "builtins": ("",), "wengert": ("",)}.get(package, (f"{package}.",))
    if package and who.written and not who.written.startswith((*known, "the ")):
        name += f" (of {who.module})"
    if function and who.written and function.rpartition(".")[2] != who.name:
        return f"{name} (which calls {function})"
    if protocol and who.written and who.name != protocol:
        return f"{name} (which calls Tensor.{protocol})"
    return name


def counterpart(module: str, name: str) -> str:
    """What Wengert calls a function of another library, or ""."""
    for theirs, ours, home in _COUNTERPARTS:
        if module in (theirs, f"c{theirs}") and name in importlib.import_module(home).__all__:
            return f"{ours}.{name}"
    return ""


def scipy_counterpart(who: Asker) -> str:
    """What `wengert.scipy` has for a function of SciPy's, or for the object whose method was called, or ""."""
    return _listed(who, "OURS")


def _listed(who: Asker, table: str) -> str:
    """What a table of a module of `wengert.scipy` has for what was called: our name for it, words of `NEAR`, or ""."""
    module = who.module if who.module.startswith("scipy.") else ""
    try:
        ours = importlib.import_module(f"wengert.{module}") if module in sys.modules else None  # stands above us
    except ImportError:
        return ""
    known = getattr(ours, table, {})
    written = [part for part in who.written.partition("(")[0].split(".") if part not in module.split(".")]
    name = next((name for name in (who.name, *written) if name in known), "")
    if not name:
        return ""
    return known[name] if table == "NEAR" else f"wengert.{module}.{name}"


def cure_for(who: Asker) -> str:
    """What to write instead of a call that wants plain numbers."""
    package = who.module.partition(".")[0]
    if _is_within("keras"):
        bridge = _BRIDGES.get(sys.modules["keras"].backend.backend(), "from_jax, wg.from_torch or wg.from_tensorflow")
        return f"a Keras model runs on its backend: make it an op with its own derivative by wg.{bridge}(model)"
    if who.name == "+=":
        return f"write {who.instead}; {_WRITE}; or {_ON_PURPOSE}"
    if who.name in ("=", *_WRITERS):
        return f"{_WRITE}; or {_ON_PURPOSE}"
    if who.name == "[]" and who.instead:
        return f"write {who.instead}, for a tensor takes positions that are tensors; or {_ON_PURPOSE}"
    if who.name == "[]" or (package == "builtins" and who.name in ("range", "slice", "bytes", "bytearray", "hex")):
        return f"an index or a count is a plain integer: {_ON_PURPOSE}"
    if who.name in _SAVERS:
        return "save x.numpy() instead, which is meant for that"
    if package in ("builtins", "numpy") and who.name in _CASTS:
        return f"leave it out, for a tensor computes as a number does, or use x.astype(dtype); or {_ON_PURPOSE}"
    if f"{who.module}.".startswith("numpy.ma."):
        return (
            "masked arrays hold plain numbers: keep the mask beside the values, np.where(mask, other, x), "
            f"np.sum(x, where=~mask), or x[~mask] and np.nansum; or {_ON_PURPOSE}"
        )
    if package == "numpy" and (who.name in ("asmatrix", "bmat", "matrix") or "matrixlib" in who.module):
        return f"np.matrix holds plain numbers: use an array of two axes, whose product is A @ B; or {_ON_PURPOSE}"
    if package == "numpy" and who.name in _BUILDERS:
        return (
            "build arrays from tensors with wengert.numpy (import wengert.numpy as np) or wg.tensor([...]), which "
            f"are recorded; or {_ON_PURPOSE}"
        )
    if package in _BRIDGES:
        return _through_a_bridge(who, package)
    if package == "pandas":
        return (
            "pandas holds plain numbers: compute with the values, df.to_numpy() @ w or series * w (which is a tensor), "
            f"and wg or np functions, and make a Series of what comes out; or {_ON_PURPOSE}"
        )
    if package in ("matplotlib", "seaborn", "plotly", "bokeh"):
        return "a picture takes numbers, and gives no gradient: draw x.numpy(), which cuts the gradient on purpose"
    if package == "sympy":
        return (
            "SymPy's numbers have no derivative of ours: make a function of the expression, "
            f'sympy.lambdify(symbols, expression, "numpy"), which is recorded; or {_ON_PURPOSE}'
        )
    if package == "xarray":
        return (
            "what xarray keeps for its values may be a tensor: array.data is that tensor, where .values, .to_numpy() "
            f"and float() are plain numbers; or {_ON_PURPOSE}"
        )
    ours = " or ".join(filter(None, (counterpart(who.module, who.name), scipy_counterpart(who))))
    if package == "numpy" and ours:
        return (
            f"NumPy itself sees only arguments that are tensors, not lists of them: use {ours} (import wengert.numpy "
            f"as np), or wg.tensor([...]) around the list; or {_ON_PURPOSE}"
        )
    if ours:
        return f"use {ours}, which is recorded; or {_ON_PURPOSE}"
    if package in ("math", "cmath", "statistics"):
        return f"use wg or np functions, which are recorded, in place of {package}'s; or {_ON_PURPOSE}"
    if who.module.startswith("scipy.sparse"):
        return (
            "a matrix whose values are a tensor is made by wengert.scipy.sparse, csr_array((data, indices, indptr)), "
            f"and a constant one is scaled by a tensor in front of it, t * A; or {_ON_PURPOSE}"
        )
    if package == "scipy":
        near = _listed(who, "NEAR")
        return (
            "wengert.scipy has SciPy's modules, but no such function yet: "
            f"{f'the nearest is {near}; ' if near else ''}write it with what is there or with wg and "
            f"np functions, or give it a gradient of its own with wg.primitive or wg.custom_gradient; or {_ON_PURPOSE}"
        )
    if is_installed(package):
        return (
            f"follow its source with wg.adopt where that is Python's (wg.adopt({package!r})), or give it a "
            f"gradient of its own with wg.primitive or wg.custom_gradient; or {_ON_PURPOSE}"
        )
    if package in ("numpy", "numba"):
        return (
            "write it with wg or np functions (wg.linalg, wg.special), or give it a gradient of its own with "
            f"wg.custom_gradient or wg.primitive; or {_ON_PURPOSE}"
        )
    return f"use wg or np functions, which are recorded; {_WRITE}; or {_ON_PURPOSE}"


def _is_within(package: str) -> bool:
    """Whether a package's code, called since Wengert was last at work, led here."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_wengert_file(frame.f_code.co_filename):
        frame = frame.f_back
    while frame is not None and not is_wengert_file(frame.f_code.co_filename):
        if frame.f_globals.get("__name__", "").partition(".")[0] == package:
            return True
        frame = frame.f_back
    return False


def _through_a_bridge(who: Asker, package: str) -> str:
    bridge = _BRIDGES[package]
    ours = counterpart("numpy", who.name) or "wg and np functions"
    return (
        f"use {ours}, or make a program of that library an op with its own derivative by wg.{bridge}(f); "
        f"or {_ON_PURPOSE}"
    )


def is_installed(package: str) -> bool:
    """Whether a package is one that was installed: neither the user's own code, nor ours, nor the standard library."""
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    return package not in ("numpy", "numba", "wengert") and ("site-packages" in file or "dist-packages" in file)


def reworded(error: BaseException | None, swallowed: str = "") -> LostGradientError | None:
    """Our refusal, if that is what another library has turned into an error of its own, else None.

    NumPy makes "setting an array element with a sequence" of any error of a sequence's `__float__`, and SciPy's
    optimizers have such words too. What the user's own code makes of a refusal stays as it is.

    Args:
        error: what was raised.
        swallowed: the words of a refusal that JAX dropped, if there is one.
    """
    if error is None or isinstance(error, LostGradientError):
        return None
    cause = getattr(error, "refusal", None) or error.__cause__
    seen = [error]  # a user's causes may go round in a circle
    while cause is not None and not isinstance(cause, LostGradientError):
        seen.append(cause)
        cause = None if cause.__cause__ in seen else cause.__cause__
    entries = entries_of(error.__traceback__)
    if not entries:
        return None
    if cause is None:
        is_of_jax = isinstance(error, TypeError) and "JAX value" in str(error) and "wengert." in str(error)
        return LostGradientError(swallowed).with_traceback(error.__traceback__) if swallowed and is_of_jax else None
    end = entries[-1]
    if not is_library_file(end.tb_frame.f_code.co_filename) and is_raised_there(end):
        return None
    return cause.with_traceback(error.__traceback__)
