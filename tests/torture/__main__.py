"""What is hard on the package, at length: `python -m tests.torture damage --seed 1 --count 100000`."""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

from tests.torture import calls, damage, fork, kill
from tests.torture.timed import Timed


class _All(NamedTuple):
    """All parts, one after another."""

    help: str = "all parts, one after another"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """What any of the parts can be told."""
        damage.add_arguments(parser)
        PARTS["calls"].add_arguments(parser)  # what the others have, too

    def run(self, options: argparse.Namespace) -> int:
        """Runs all, also behind one that finds something."""
        statuses: list[int] = []
        for name, part in PARTS.items():
            if part is not self:
                print(f"== {name}", flush=True)
                statuses.append(part.run(options))
        return max(statuses)


# by name what has `add_arguments(parser)` and `run(options)`, which gives a status
PARTS = {
    "damage": damage,
    "calls": Timed(calls.run, calls.__doc__),
    "fork": Timed(fork.run, fork.__doc__),
    "kill": Timed(kill.run, kill.__doc__),
    "all": _All(),
}


def main() -> int:
    """Runs the part that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    for name, part in PARTS.items():
        own = parts.add_parser(name, help=getattr(part, "help", part.__doc__))
        own.add_argument("--seed", type=int, default=0)
        part.add_arguments(own)
    options = parser.parse_args()
    return PARTS[options.part].run(options)


if __name__ == "__main__":
    sys.exit(main())
