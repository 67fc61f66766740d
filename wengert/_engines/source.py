"""Compiles a graph to Python source that calls kernels, each buffer dropped after its last use.

For engines whose kernels run at once, graph by graph. Long graphs run as instructions instead, since generating source
for them takes longer than it saves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._core import dims
from .._core.analysis import dims_at_entry, dims_told, last_uses
from .._core.dims import Atom
from .._core.engine import Kernel
from .._core.extents import Check
from .._core.graph import Graph, Node
from .._core.user_line import at_user_line
from .interpret import Checks, compile_instructions
from .refine import COMPILED

SOURCE_LIMIT = 2000  # nodes

Executable = Callable[..., tuple[Any, ...]]


class Target(NamedTuple):
    """What the generated source takes from an engine: its kernels, and how constants are made.

    Attributes:
        kernel_of: the kernel that runs a node.
        constant: the value of a `constant` node as a native that no kernel and no caller can change.
        has_warnings: whether kernels warn by NumPy's floating-point state, which quiet nodes must not.
    """

    kernel_of: Callable[[Node], Kernel]
    constant: Callable[[Any], Any]
    has_warnings: bool


def compile_source(graph: Graph, target: Target) -> Executable:
    """A callable from input natives to output natives."""
    if len(graph.nodes) > SOURCE_LIMIT:
        return compile_instructions(graph, target.kernel_of)
    places: dict[int, Node] = {}  # the line of the source -> the node that it runs
    namespace: dict[str, Any] = {"max": max, "min": min, "errstate": np.errstate, "told": partial(_told, places)}
    source = _source(graph, target, namespace, places)
    exec(compile(source, f"<wengert {graph.name}>", "exec"), namespace)
    return namespace.pop("run")  # which would be a cycle with its own globals


def _told(places: dict[int, Node], error: Exception) -> Exception:
    """A kernel's error with the name of its op and the line of the user's function that made the node."""
    trail = error.__traceback__
    node = None if trail is None else places.get(trail.tb_lineno)
    kind = MemoryError if isinstance(error, MemoryError) else type(error)  # NumPy's own is made of a shape and a dtype
    if "\n  at " in str(error):  # of a program inside, which knows better where it happened
        return error
    if node is None or node.op is COMPILED or kind.__module__ not in ("builtins", "numpy.linalg"):
        return error
    said = f"{node.op.called}: {error}"
    return kind(said if node.site is None else at_user_line(said, node.site))


def _source(graph: Graph, target: Target, namespace: dict[str, Any], places: dict[int, Node]) -> str:
    names = {v.key: f"v{i}" for i, v in enumerate(graph.inputs)}
    atoms: dict[Atom, str] = {}
    lines = [f"def run({', '.join(names[v.key] for v in graph.inputs)}):"]
    for atom, (index, axis) in dims_at_entry(graph).items():
        atoms[atom] = f"d{len(atoms)}"
        lines.append(f"    {atoms[atom]} = {_extent(f'v{index}', axis)}")
    frees, told = last_uses(graph), dims_told(graph)
    checks = Checks(graph)
    lines.append("    try:")
    lines += _checks(checks, " " * 8, atoms, namespace)
    indent, is_quiet = " " * 8, False
    for index, node in enumerate(graph.nodes):
        for v in node.outputs:
            names[v.key] = f"v{len(names)}"
        if node.op.name == "constant":
            namespace[names[node.outputs[0].key]] = target.constant(node.attrs[0])
            continue
        arguments = [names[v.key] for v in node.inputs]
        arguments += [_attribute(a, atoms, namespace) for a in node.attrs]
        kernel = _kernel(node, target, namespace)
        if target.has_warnings and node.is_quiet != is_quiet:
            indent, is_quiet = (" " * 12, True) if node.is_quiet else (" " * 8, False)
            if is_quiet:
                lines.append("        with errstate(all='ignore'):")
        places[len(lines) + 1] = node
        lines.append(f"{indent}{_targets(node, names)}{kernel}({', '.join(arguments)})")
        for atom, place, axis in told.get(index, ()):
            atoms[atom] = f"d{len(atoms)}"
            lines.append(f"{indent}{atoms[atom]} = {_extent(names[node.outputs[place].key], axis)}")
        if index in told:
            lines += _checks(checks, indent, atoms, namespace)
        freed = [names[v.key] for v in frees[index] if names[v.key] not in namespace]
        if freed:
            lines.append(f"{indent}del {', '.join(freed)}")
    results = "".join(f"{names[v.key]}, " for v in graph.outputs)
    lines.append(f"        return ({results})")
    lines += ["    except Exception as error:", "        raise told(error) from error"]
    return "\n".join(lines)


def _check(check: Check, atoms: tuple[Atom, ...], *sizes: object) -> None:
    check(dict(zip(atoms, sizes, strict=True)))


def _checks(checks: Checks, indent: str, atoms: dict[Atom, str], namespace: dict[str, Any]) -> list[str]:
    """The lines that check what is known of dimensions by now."""
    lines = []
    for check in checks.ready(atoms):
        reference = f"c{len(namespace)}"
        own = (*check.atoms,)
        namespace[reference] = partial(_check, check, own)
        lines.append(f"{indent}{reference}({', '.join(atoms[a] for a in own)})")
    return lines


def _extent(name: str, axis: int) -> str:
    """The size of an axis; of rows that differ in shape there is none, and nothing outside their loop asks for it."""
    return f"{name}.shape[{axis}]" if not axis else f"{name}.shape[{axis}] if {name}.ndim > {axis} else -1"


def _targets(node: Node, names: dict[int, str]) -> str:
    if not node.outputs:
        return ""
    return ", ".join(names[v.key] for v in node.outputs) + (", = " if node.op.is_multi else " = ")


def _kernel(node: Node, target: Target, namespace: dict[str, Any]) -> str:
    """The name under which a node's kernel stands; nodes of other dtypes may have another one."""
    kernel = target.kernel_of(node)
    reference = "k_" + re.sub(r"\W", "_", node.op.name)  # a user's op may bear any name
    while namespace.setdefault(reference, kernel) is not kernel:
        reference += "_"
    return reference


def _attribute(value: object, atoms: dict[Atom, str], namespace: dict[str, Any]) -> str:
    """An attribute as source: a constant by reference, one with unknown dimensions as an expression."""
    if type(value) is dims.Dim:
        return value.source(atoms)
    if type(value) is tuple and dims.dims_in(value):
        return f"({''.join(_attribute(v, atoms, namespace) + ', ' for v in value)})"
    reference = f"a{len(namespace)}"
    namespace[reference] = value
    return reference
