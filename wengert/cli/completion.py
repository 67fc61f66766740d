"""`wengert completion SHELL`: a script for bash, zsh or fish that completes commands and options.

They are read from the parser.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import argparse
from typing import Any

from wengert.cli.commands import SUCCESS

SHELLS = ("bash", "zsh", "fish")
_INSTALL = {
    "bash": 'eval "$(wengert completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(wengert completion zsh)"   in ~/.zshrc, after compinit',
    "fish": "wengert completion fish | source   in ~/.config/fish/config.fish",
}


def add_completion(commands: Any, parser: argparse.ArgumentParser) -> None:
    """Adds `completion` to a command line's subparsers.

    Args:
        commands: the subparsers.
        parser: the whole command line.
    """
    completion = commands.add_parser(
        "completion", help="print a script that completes commands and options in a shell",
        description="Prints a script for a shell. To have it at each start: " + "; ".join(_INSTALL.values()) + ".",
    )  # fmt: skip
    completion.add_argument("shell", choices=SHELLS)

    def run(options: argparse.Namespace) -> int:
        print(script(options.shell, parser))
        return SUCCESS

    completion.set_defaults(run=run)


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script of a shell for a command line with subcommands."""
    program = parser.prog
    words = {name: _options_of(sub) for name, sub in _subparsers(parser).items()}
    if shell == "fish":
        return _fish(program, parser)
    choices = "".join(f"    {name}) words='{' '.join(found)}' ;;\n" for name, found in words.items())
    commands = " ".join((*words, *_options_of(parser)))
    function = f"_{program}_complete"
    # of bash, whose functions zsh's bashcompinit understands, too; files follow where no option fits
    body = (
        f"{function}() {{\n"
        f'  local word="${{COMP_WORDS[COMP_CWORD]}}" words\n'
        f'  case "${{COMP_WORDS[1]}}" in\n{choices}    *) words="{commands}" ;;\n  esac\n'
        f'  [ "$COMP_CWORD" -eq 1 ] && words="{commands}"\n'
        f'  COMPREPLY=($(compgen -W "$words" -- "$word"))\n'
        f"}}\ncomplete -o default -F {function} {program}"
    )
    return body if shell == "bash" else f"autoload -U +X bashcompinit && bashcompinit\n{body}"


def _fish(program: str, parser: argparse.ArgumentParser) -> str:
    lines: list[str] = []
    for name, sub in _subparsers(parser).items():
        lines.append(f"complete -c {program} -n __fish_use_subcommand -a {name} -d {_quoted(_help_of(parser, name))}")
        for action in sub._actions:
            flags = [f"-s {o[1:]}" if len(o) == 2 else f"-l {o[2:]}" for o in action.option_strings]
            if flags:
                about = _quoted((action.help or "").replace("%(default)s", str(action.default)))
                lines.append(
                    f"complete -c {program} -n '__fish_seen_subcommand_from {name}' {' '.join(flags)} -d {about}"
                )
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _commands(parser: argparse.ArgumentParser) -> Any:
    return next(action for action in parser._actions if action.choices and not action.option_strings)


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return _commands(parser).choices


def _help_of(parser: argparse.ArgumentParser, name: str) -> str:
    return next((a.help for a in _commands(parser)._choices_actions if a.dest == name), "")


def _options_of(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]
