"""What `inspect` prints of a hostile folder leaves a terminal as it was."""

import pytest
from rlconnect.cli.app import main

from tests.core.vault.attacks.folders import FOLDERS

LONGEST_PAGE = 110_000
# What would move a terminal's cursor or turn its text around.
CONTROLS = {chr(code) for code in (*range(10), *range(11, 32), *range(127, 160), 0x202E, 0x2066)}


@pytest.mark.parametrize(
    "folder", [each for each in FOLDERS if each.is_shown], ids=lambda folder: folder.name
)
def test_a_page_is_plain_text_of_some_length(folder, tmp_path, capsys):
    """Pages or errors, without what a terminal would act upon."""
    (tmp_path / "folder").mkdir()
    folder.build(tmp_path / "folder")

    for options in (["--weights"], ["--json"]):
        assert main(["inspect", str(tmp_path / "folder"), *options]) in {0, 1, 2}

        page = capsys.readouterr().out
        assert set(page) & CONTROLS == set()
        assert len(page) < LONGEST_PAGE
