"""The table of kinks: what every declaration says of points where its function is not smooth."""

from __future__ import annotations

from wengert._core.op import REGISTRY

from .catalogue import PublicOp
from .declarations import Declaration
from .writing import prose, table

MANY = 12  # public functions named in a row


def kinks_table(ops: list[PublicOp], declared: dict[str, Declaration]) -> str:
    """One row for each primitive with a kink: what it says, and which public functions apply it."""
    rows = []
    for name in sorted(declared):
        op = REGISTRY[name]
        if op.facts.kink:
            users = [f":doc:`{user.path} </ops/{user.path}>`" for user in ops if name in user.primitives]
            more = f" and {len(users) - MANY} more" if len(users) > MANY else ""
            rows.append((f":ref:`{name} <prim-{name}>`", prose(op.facts.kink), ", ".join(users[:MANY]) + more))
    return table(("Primitive", "Its derivative there", "Public functions whose example applies it"), rows,
                 ":widths: 15 45 40")  # fmt: skip
