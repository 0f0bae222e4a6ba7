"""The page on the README's first screen is what the command prints."""

import re

from rlconnect.cli.app import main

from ..core.vault.recorded import ROOT


def test_the_readme_shows_the_real_page(monkeypatch, capsys):
    """The block below the first command is the beginning of that command's output, line by line."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command, page = re.search(
        r"```console\n\$ rlconnect (.*?)\n```\n\n```text\n(.*?)```", readme, re.DOTALL
    ).groups()
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "88")

    assert main(command.split()) == 0

    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    shown = page.splitlines()
    # How wide rich draws a panel depends on its version.
    words = [[re.sub("[─ ]+", " ", line) for line in lines] for lines in (printed, shown)]
    assert words[0][: len(shown)] == words[1]
