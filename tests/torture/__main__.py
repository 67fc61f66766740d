"""What is hard on the package, at length: `python -m tests.torture damage --seed 1 --count 100000`."""

from __future__ import annotations

import argparse
import sys

from tests.torture import damage

PARTS = {"damage": damage}  # by name a module with `add_arguments(parser)` and `run(options)`, which gives a status


def main() -> int:
    """Runs the part that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    for name, part in PARTS.items():
        part.add_arguments(parts.add_parser(name, help=part.__doc__))
    options = parser.parse_args()
    return PARTS[options.part].run(options)


if __name__ == "__main__":
    sys.exit(main())
