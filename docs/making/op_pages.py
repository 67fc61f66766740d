"""A reference page for each public op, and the lists of them that the reference's pages show."""

from __future__ import annotations

from wengert._core.op import REGISTRY, Op

from .accuracy import accuracy
from .catalogue import PublicOp
from .declarations import Declaration
from .names import LIBRARIES, Names
from .primitive_pages import KINDS, engines_of
from .writing import code, literal, prose, table, title

# these move elements or change dtypes, so that a page need not repeat their rules
MOVERS = {"broadcast_to", "concatenate", "convert", "full", "reshape", "slice", "transpose"}
SHOWN = 4  # rules on a page; an op made of more links to them


def page_of(op: PublicOp) -> str:
    """The name of an op's page: lower-case names could meet on some disks, `wg.ops.max` and `wg.max` do not."""
    return op.path


def op_pages(ops: list[PublicOp], declared: dict[str, Declaration], names: Names) -> dict[str, str]:
    """The files of docs/ops, by name."""
    return {f"{page_of(op)}.rst": op_page(op, declared, names) for op in ops}


def op_page(op: PublicOp, declared: dict[str, Declaration], names: Names) -> str:
    parts = [":orphan:\n", title(f"wg.{op.path}"), f".. autofunction:: wengert.{op.path}\n"]
    also = [f"wg.{alias}" for alias in op.aliases if not alias.startswith("numpy.")]
    if also:
        parts.append(f"Also: {', '.join(map(literal, also))}.\n")
    homes = dict.fromkeys(path.rpartition(".")[0] or "numpy" for path in (op.path, *op.aliases))
    pages = [f":doc:`wengert.{home} </reference/{home.partition('.')[0]}>`" for home in homes]
    parts.append(f"Belongs to {', '.join(pages)}.\n")
    if op.numpy:
        parts.append(f"On tensors, this is what {', '.join(map(literal, op.numpy))} calls.\n")
    parts += [title("Derivative", "-"), derivative(op, declared)]
    measured = accuracy(op)
    if measured:
        parts += [title("Accuracy", "-"), measured]
    found = names.of(op)
    if found:
        rows = [(LIBRARIES[library], ", ".join(map(literal, theirs))) for library, theirs in found.items()]
        parts += [title("Called elsewhere", "-"), table(("Library", "Name"), rows, ":widths: 25 75")]
    parts += [title("Source", "-"), f"``{op.file}``, line {op.line}\n"]
    return "\n".join(parts)


def derivative(op: PublicOp, declared: dict[str, Declaration]) -> str:
    """The rules behind an op: those of the primitives that its example applies."""
    applied = [name for name in op.primitives if name in declared]
    if not applied:
        return (
            "No primitive runs in the example. Conversions pass gradients on as they are; results made of shapes,\n"
            "counts or positions are constants.\n"
        )
    main = [name for name in applied if name not in MOVERS] or applied
    rows = [rule_row(REGISTRY[name]) for name in applied]
    lines = [
        "The example above applies these primitives; the derivative, of every order and in both modes, follows from\n"
        "their rules.\n",
        table(("Primitive", "Data types", "Derivative", "At kinks", "Engines"), rows, ":widths: 18 14 24 26 18"),
    ]
    with_rules = [name for name in main if REGISTRY[name].kind not in ("zero", "stop", "not_differentiable")]
    if len(with_rules) <= SHOWN:
        for name in with_rules:
            lines += [f"``{name}``:\n", code(declared[name].formula)]
    return "\n".join(lines)


def rule_row(primitive: Op) -> tuple[str, ...]:
    facts, kind = primitive.facts, KINDS[primitive.kind].partition(";")[0]
    link = f":ref:`{primitive.name} <prim-{primitive.name}>`"
    return link, facts.dtypes, kind, prose(facts.kink), engines_of(primitive.name)


def list_of(ops: list[PublicOp], home: str) -> str:
    """The table of a module's functions, to be included in its page."""
    rows = []
    for op in ops:
        for path in (op.path, *op.aliases):
            module, _, name = path.rpartition(".")
            if module == home:
                rows.append((f":doc:`{name} </ops/{page_of(op)}>`", prose(op.summary)))
    return table(("Function", "What it computes"), sorted(rows, key=lambda row: row[0].lower()), ":widths: 25 75")
