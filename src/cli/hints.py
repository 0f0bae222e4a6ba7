"""Hints of the library in the words of the command line: options in place of Python.

A library's hint names arguments and calls; here each of them is an option. Sentences without
Python in them stay as they are.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Final

from .command_line import given_words

_PYTHON: Final = re.compile(
    r"\w\(|\w=[\[{\"'\w.]|\brlconnect\.[a-z]|\b(?:legacy|core|v2)\.\w|\bcls\b|_fn\b"
)
# What a hint of the library speaks of, and the option that says it here.
_OPTIONS: Final = (
    (r"\bmodel=", "--model FILE"),
    (
        r"\btrust\b|custom_(?:models|distributions|preprocessors)|\bregister_(?!env)",
        "--trust FILE.py:NAME",
    ),
    (r"observation_space=|action_space=|lost its spaces", "--trained-in ENV"),
    (r"\bconfig=", "--config FILE, its settings as JSON ({} for RLlib's defaults)"),
    (r"\balgorithm=", "--algorithm NAME"),
    (r"policy_mapping_fn|from agents to policies", "--map AGENT=ID"),
    (r"policy_ids|\bpolicy=|policies\[", "--policy ID"),
    (r"register_env", "--env FILE.py:NAME, or --import FILE.py that registers it"),
)
_SETTING: Final = re.compile(r"config\.\w+\((\w+)=(\w+)")
_LIMIT: Final = re.compile(r"(.*)read it in `with rlconnect\.limits\((\w+)=")
_SENTENCES: Final = re.compile(r"(?<=[^.][.;])\s+")
_MOST: Final = 3


def shell_hint(hint: str, missing: list[str] | None = None) -> str:
    """A library's hint, in the words of the command line.

    Example:
        >>> shell_hint("It takes 4 numbers. Give it: Policy.from_checkpoint(path, algorithm=...).")
        'It takes 4 numbers. Give --algorithm NAME.'
        >>> shell_hint("check the path.")
        'check the path.'
    """
    if missing and all(name.endswith("<lambda>") and "mapping" in hint for name in missing):
        return "say who plays whom: --map AGENT=ID"
    if missing:
        short = dict.fromkeys(name.rpartition(".")[2].rpartition(":")[2] for name in missing)
        named = [f"--trust FILE.py:{name}" for name in short if name.isidentifier()]
        advice = f"give yours in its place: {' '.join(named[:_MOST] or ['--trust FILE.py:NAME'])}"
        described = [sentence for sentence in _SENTENCES.split(hint) if "--write-model" in sentence]
        return (
            " ".join([f"{advice}.", *described, "Then give --model FILE."]) if described else advice
        )
    if not _PYTHON.search(hint) or hint.startswith("it has: "):
        return hint
    limit = _LIMIT.match(hint)
    if limit:
        # The bound that was too small goes: of two the later one would count.
        rest = re.sub(rf"--limit[ =]{limit[2]}=\S+ ", "", shlex.join(given_words()))
        return f"{limit[1]}say rlconnect --limit {limit[2]}=NUMBER {rest}"
    command, *words = given_words() or ("",)
    if "adapt(" in hint and command != "adapt" and "--env" in words[1:-1]:
        way = shlex.join(["rlconnect", "adapt", words[0], "--env", words[words.index("--env") + 1]])
        return f"see what lets it act there: {way}"
    plain = [sentence for sentence in _SENTENCES.split(hint) if not _PYTHON.search(sentence)]
    settings = [f"--set {name}={value.lower()}" for name, value in _SETTING.findall(hint)]
    options = settings if given_words()[:1] == ("train",) else []
    options += [option for pattern, option in _OPTIONS if re.search(pattern, hint)]
    if options:
        give = "Give" if plain else "give"
        plain.append(f"{give} {' or '.join(options[:_MOST])}.")
    return " ".join(plain)


def hint_of(error: Any) -> str:
    """What to do about an error of ours, in options of the command line; maybe nothing."""
    missing = error.facts.get("missing")
    return shell_hint(error.hint, missing if isinstance(missing, list) else None)


def see_help() -> str:
    """Where to read how the command that runs is written."""
    words = [word for word in given_words()[:1] if word.isidentifier()]
    return f"see its options: {shlex.join(['rlconnect', *words, '--help'])}"
