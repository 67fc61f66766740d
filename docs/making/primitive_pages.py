"""One page for each file of primitives: what its declarations say, an anchor for each."""

from __future__ import annotations

from wengert._core.engine import ENGINES
from wengert._core.op import REGISTRY, Op

from .declarations import Declaration
from .writing import code, prose, table, title

KINDS = {
    "elementwise": "element by element; the slope for each operand gives both modes",
    "linear": "linear; the transpose is the reverse mode, the op itself the forward mode",
    "multilinear": "linear in each operand; the transposes are the reverse mode",
    "general": "a rule for each mode",
    "zero": "zero; integer and boolean results are constants",
    "stop": "none: every path ends here on purpose",
    "not_differentiable": "none: an error where a gradient needs it",
    "custom": "the rule that the user gave",
}


def primitive_pages(declared: dict[str, Declaration]) -> dict[str, str]:
    """The files of docs/primitives, by name."""
    families: dict[str, list[str]] = {}
    for name, where in declared.items():
        families.setdefault(where.family, []).append(name)
    pages = {f"{family}.rst": family_page(family, sorted(names), declared) for family, names in families.items()}
    return {**pages, "index.rst": index_page(families)}


def family_page(family: str, names: list[str], declared: dict[str, Declaration]) -> str:
    parts = [title(family)]
    for name in names:
        parts += [f".. _prim-{name}:\n", title(name, "-"), section(REGISTRY[name], declared[name])]
    return "\n".join(parts)


def section(op: Op, where: Declaration) -> str:
    """What a declaration says, without its heading."""
    facts = [
        ("Operands", ", ".join(f"``{name}``" for name in op.operands) or "none"),
        ("Attributes", ", ".join(f"``{name}``" for name in op.attrs)),
        ("Data types", op.facts.dtypes),
        ("Derivative", KINDS[op.kind]),
        ("At kinks", prose(op.facts.kink)),
        ("Formula from", prose(op.facts.ref)),
        ("Engines", engines_of(op.name)),
        ("Declared in", f"``{where.file}``, line {where.line}"),
    ]
    lines = [f"{prose(op.facts.doc[:1].upper() + op.facts.doc[1:])}.\n"]
    lines.append("\n".join(f":{head}: {body}" for head, body in facts if body) + "\n")
    if where.formula and op.kind not in ("zero", "stop", "not_differentiable"):
        lines.append(code(where.formula))
    return "\n".join(lines)


def engines_of(name: str) -> str:
    """The engines with a kernel, and why the others have none."""
    have = [engine.name for engine in ENGINES.values() if name in engine.kernels]
    lack = [f"not {e.name}: {prose(e.unsupported[name])}" for e in ENGINES.values() if name in e.unsupported]
    return "; ".join([", ".join(have) or "run by the core", *lack])


def index_page(families: dict[str, list[str]]) -> str:
    rows = [
        (f":doc:`{family}`", ", ".join(f":ref:`{name} <prim-{name}>`" for name in sorted(names)))
        for family, names in sorted(families.items())
    ]
    intro = (
        "All that users call is made of these. Each has one declaration: operands, attributes, data types,\n"
        "derivative, batch rule; the text of the derivative below is the source that runs. What a rule's parameter\n"
        "names mean: ``x`` the operand's value, ``x_type`` its type alone, ``out`` the result, ``ct`` its cotangent,\n"
        "``times`` the product to use on cotangents, ``x_dot`` the tangent of ``x``. Slopes are holomorphic; the\n"
        "sweep conjugates them.\n"
    )
    hidden = ".. toctree::\n   :hidden:\n\n" + "".join(f"   {family}\n" for family in sorted(families))
    return "\n".join([title("Primitives"), intro, table(("File", "Primitives"), rows, ":widths: 20 80"), hidden])
