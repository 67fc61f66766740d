"""The page on the frameworks' private parts lists all that are touched, each is there, and so are the tests it names."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/framework_internals.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| [^|]+ \| `([^`]+)` \|$", PAGE, re.MULTILINE)
PARTS = [part for part, _ in ROWS]
# names that say by an underscore, or by TensorFlow's folder of the same meaning, that they are private
PRIVATE = re.compile(
    r"\b(?:torch(?:\.\w+)*\._\w+(?:\.\w+)*|tensorflow\.python\b[\w.]*|forward_ad\._\w+|_disable_current_modes"
    r"|(?:jax|jaxlib)(?:\.\w+)*\._(?!_)\w+(?:\.\w+)*|keras\.src\b[\w.]*|(?:tensorflow|tf)\.__internal__[\w.]*)"
)
MATCHED = re.findall(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \| `([^`]+)` \|$", PAGE, re.MULTILINE)
# where a framework is used: names of an underscore that nothing of ours has are the framework's
USERS = ("_engines/jax", "_engines/torch", "_engines/tensorflow", "_engines/keras.py", "_core/torch_compile.py",
         "programs/torch_operator.py", "_compile/captures/foreign.py")  # fmt: skip
OWN = {"_fields", "_replace", "_make", "_asdict"}  # of named tuples


def _sources() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in (ROOT / "wengert").rglob("*.py")]


def test_what_is_touched_stands_on_the_page() -> None:
    touched = {found.strip(".") for text in _sources() for found in PRIVATE.findall(text)}
    assert len(touched) > 8
    for name in touched - {"tensorflow.python", "tensorflow.python.eager"}:  # of which parts are imported by name
        assert any(name.startswith(part) or part.startswith(name) or part.endswith(name) for part in PARTS), (
            f"{name} is not on the page"
        )
    imported = {
        n
        for t in _sources()
        for line in re.findall(r"from tensorflow\.python\S* import (.*)", t)
        for n in line.split(", ")
    }
    assert imported == {part.rpartition(".")[2] for part in PARTS if part.startswith("tensorflow.")}


@pytest.mark.parametrize(("part", "test"), ROWS, ids=PARTS)
def test_each_part_is_there_and_so_is_its_test(part: str, test: str) -> None:
    assert (ROOT / test).is_file()
    pytest.importorskip(part.partition(".")[0], reason="the framework is not installed")
    found: Any = None
    names = part.split(".")
    for end in range(1, len(names) + 1):
        name = ".".join(names[:end])
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError:  # a name of the module before it
            found = getattr(found, names[end - 1])
    assert found is not None


def _made(tree: ast.AST) -> Iterator[str]:
    """The names that a module defines, attributes included."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _read(tree: ast.AST) -> Iterator[str]:
    """The names of an underscore that a module reads of something, also by `getattr`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            name: Any = node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
        else:
            continue
        if name.startswith("_") and not (name.startswith("__") and name.endswith("__") and name != "__internal__"):
            yield name


def test_names_of_an_underscore_that_are_not_ours_stand_on_the_page() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "wengert").rglob("*.py")}
    ours = {name for tree in trees.values() for name in _made(tree)} | OWN
    listed = {name for part in (*PARTS, *(name for name, _ in MATCHED)) for name in part.split(".")}
    read = {
        name for path, tree in trees.items() if path.relative_to(ROOT / "wengert").as_posix().startswith(USERS)
        for name in _read(tree)
    }  # fmt: skip
    assert "_current_level" in read - ours
    assert read - ours <= listed


def _file_of(f: Any) -> str:
    return Path(inspect.unwrap(f).__code__.co_filename).name


def _source_of(*modules: str) -> str:
    return "".join(inspect.getsource(importlib.import_module(module)) for module in modules)


def _notes_as_documented(torch: Any) -> bool:
    """Whether what a node's documented methods note is found under these names."""
    source = inspect.getsource(torch.autograd.function.FunctionCtx)
    notes = ("self.to_save = tensors", "self.materialize_grads = value", "self.non_differentiable = args")
    return all(note in source for note in notes)


# a name that is matched -> the framework, and whether it has it
HAS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "aval": ("jax", lambda jax: jax.numpy.ones(2).aval == jax.typeof(jax.numpy.zeros(2))),
    "aval.weak_type": ("jax", lambda jax: jax.numpy.asarray(0.5).aval.weak_type and not jax.numpy.ones(2).aval.weak_type),
    "ArrayImpl": ("jax", lambda jax: type(jax.numpy.ones(2)).__name__ == "ArrayImpl"),
    "ShardingTypeError": ("jax", lambda jax: "class ShardingTypeError" in _source_of("jax._src.core")),
    "array_constructors.py": ("jax", lambda jax: _file_of(jax.numpy.asarray) == "array_constructors.py"),
    "array_methods.py": ("jax", lambda jax: _file_of(type(jax.numpy.ones(2)).__mul__) == "array_methods.py"),
    "_torchdynamo_disable": ("torch", lambda torch: "_torchdynamo_disable" in _source_of("torch._dynamo.eval_frame")),
    "_backward_cls": ("torch", lambda torch: callable(type("Own", (torch.autograd.Function,), {})._backward_cls.apply)),
    **dict.fromkeys(("materialize_grads", "non_differentiable", "to_save"), ("torch", _notes_as_documented)),
    "_op": ("torch", lambda torch: callable(torch.ops.aten.tanh_backward.default._op)),
    "autograph_info__": (
        "tensorflow", lambda tf: "autograph_info__" in _source_of("tensorflow.python.autograph.impl.conversion",
                                                                  "tensorflow.python.autograph.impl.api"),
    ),
    "internal_grad_fn": ("tensorflow", lambda tf: "internal_grad_fn" in _source_of("tensorflow.python.ops.custom_gradient")),
    "_watched_variables": (
        "tensorflow",
        lambda tf: hasattr(tf.function(lambda x: x).get_concrete_function(tf.constant(1.0)).graph, "_watched_variables"),
    ),
    "FuncGraph": (
        "tensorflow",
        lambda tf: type(tf.function(lambda x: x).get_concrete_function(tf.constant(1.0)).graph).__name__ == "FuncGraph",
    ),
    "CondBranchFuncGraph": (
        "tensorflow", lambda tf: "class CondBranchFuncGraph" in _source_of("tensorflow.python.ops.control_flow_v2_func_graphs"),
    ),
    "WhileBodyFuncGraph": (
        "tensorflow", lambda tf: "class WhileBodyFuncGraph" in _source_of("tensorflow.python.ops.control_flow_v2_func_graphs"),
    ),
    "_body_graph": ("tensorflow", lambda tf: "while_op._body_graph = body_graph" in _source_of("tensorflow.python.ops.while_v2")),
    "_gradient_op_type": ("tensorflow", lambda tf: "_gradient_op_type" in _source_of("tensorflow.python.framework.ops")),
    "_pfor_converter_registry": (
        "tensorflow", lambda tf: "IdentityN" in importlib.import_module("tensorflow.python.ops.parallel_for.pfor")._pfor_converter_registry,
    ),
}  # fmt: skip


def test_the_matched_names_are_those_that_are_tested() -> None:
    assert {name for name, _ in MATCHED} == {*HAS}


@pytest.mark.parametrize(("name", "test"), MATCHED, ids=[name for name, _ in MATCHED])
def test_each_matched_name_is_the_frameworks(name: str, test: str) -> None:
    assert (ROOT / test).is_file()
    assert any(name in text for text in _sources())
    framework, has = HAS[name]
    assert has(pytest.importorskip(framework, reason="the framework is not installed"))
