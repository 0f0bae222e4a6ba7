"""What `inspect` prints of a hostile folder leaves a terminal as it was."""

import pytest
from rlconnect.cli.app import main

from tests.core.vault.attacks.folders import FOLDERS

LONGEST_PAGE = 300_000
# What would move a terminal's cursor or turn its text around.
CONTROLS = {chr(code) for code in (*range(10), *range(11, 32), *range(127, 160), 0x202E, 0x2066)}


@pytest.mark.parametrize("option", ["--weights", "--json"])
@pytest.mark.parametrize(
    "folder", [each for each in FOLDERS if each.is_shown], ids=lambda folder: folder.name
)
def test_a_page_is_plain_text_of_some_length(folder, option, tmp_path, capsys):
    """A page or an error, without characters that a terminal would act upon."""
    folder.build(tmp_path)

    code = main(["inspect", str(tmp_path), option])

    page = capsys.readouterr().out
    assert code in {0, 1, 2}
    assert set(page) & CONTROLS == set()
    assert len(page) < LONGEST_PAGE


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_page_to_keep_is_plain_text_too(folder, tmp_path, capsys):
    """What is written for a browser holds no tag of the file's, and nothing that acts."""
    (tmp_path / "folder").mkdir()
    folder.build(tmp_path / "folder")
    page = tmp_path / "page.html"

    code = main(["inspect", str(tmp_path / "folder"), "--html", str(page)])

    assert code in {0, 1, 2}
    written = page.read_text(encoding="utf-8") if page.is_file() else ""
    assert set(written) & CONTROLS == set()
    assert "<script" not in written.lower()
