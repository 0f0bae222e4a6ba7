"""The page of the command line: every command, as its parser knows it."""

import re
from functools import cache

import typer
from rlconnect.cli.app import program
from rlconnect.cli.help_page import _CODES, _OPTIONS
from rlconnect.cli.tour import MORE, PROOF, TOUR

PAGE = "reference/command-line.md"


class Command:
    """One command: its words, and what may stand behind them."""

    def __init__(self, words, parsed):
        self.words, self.parsed = words, parsed
        self.arguments = [e for e in parsed.params if e.param_type_name == "argument"]
        self.options = [e for e in parsed.params if e.param_type_name == "option"]

    @property
    def flags(self):
        """The first spelling of each option."""
        return [each.opts[0] for each in self.options]

    @property
    def examples(self):
        """(command, what it is for)"""
        start = f"rlconnect {self.words} "
        return [row for row in (*TOUR, *PROOF, *MORE) if f"{row[0]} ".startswith(start)]


@cache
def commands():
    """All commands, those of a group each by itself."""
    return list(_below(program(), ""))


def _below(command, words):
    inner = getattr(command, "commands", None)
    if inner is None:
        yield Command(words, command)
        return
    for name, each in inner.items():
        yield from _below(each, f"{words} {name}".strip())


def page():
    """The Markdown."""
    said = [
        "# Command line",
        "One grammar: what a command is about stands first, a path of a checkpoint for most; all "
        "else is an option. `rlconnect` alone shows a tour, `rlconnect help COMMAND` what stands "
        "here. Nothing in a checkpoint is ever run.",
        "## Said alike everywhere",
        _table(
            "option",
            "",
            [(f"`{flag}`", re.sub("(--[a-z-]+)", r"`\1`", what)) for flag, what in _OPTIONS],
        ),
        "## Exit codes",
        _table("code", "means", _CODES),
        "With `--json` a failure is a document, too. Ctrl-C ends with 130.",
        "## Colours, width, completion",
        "Colours are for terminals: there are none in a pipe or a file, nor with `NO_COLOR` set. "
        "Pages fit into 60 columns; in a pipe they take 100, or what `COLUMNS` says. "
        "`rlconnect --install-completion` lets bash, zsh, fish or PowerShell complete commands and "
        "options; `--show-completion` prints the script.",
        "## Commands",
        _table(
            "command",
            "",
            [(f"[`{e.words}`](#{_anchor(e)})", _first(e.parsed.help)) for e in commands()],
        ),
    ]
    for each in commands():
        said += [f"## {each.words} {{#{_anchor(each)}}}", _usage(each), _prose(each.parsed.help)]
        rows = [_row(each, e) for e in [*each.arguments, *each.options] if e.name != "help"]
        said.append(_table("argument or option", "", rows) if rows else "")
        lines = [f"# {purpose}\n{line}" for line, purpose in each.examples]
        said.append("```sh\n" + "\n".join(lines) + "\n```" if lines else "")
    return "\n\n".join(each for each in said if each) + "\n"


def _anchor(each):
    return each.words.replace(" ", "-") + "-command"


def _usage(each):
    names = [
        f"[{_metavar(e).strip('[]')}]" if not e.required else _metavar(e) for e in each.arguments
    ]
    return f"```text\nrlconnect {' '.join([each.words, *names])} [OPTIONS]\n```"


def _metavar(argument):
    return argument.metavar or argument.name.upper()


def _row(command, each):
    """How it is spelt, and what it says."""
    spelt, what = each.get_help_record(typer.Context(command.parsed))
    return f"`{spelt}`".replace("|", "\\|"), " ".join(what.split()).replace("|", "\\|")


def _prose(text):
    return "\n\n".join(" ".join(each.split()) for each in (text or "").split("\n\n"))


def _first(text):
    return re.split(r"(?<=[.:;]) |\n\n", " ".join((text or "").split("\n\n")[0].split()))[0].rstrip(
        ":;"
    )


def _table(left, right, rows):
    body = "\n".join(f"| {a} | {b} |" for a, b in rows)
    return f"| {left} | {right} |\n|---|---|\n{body}"
