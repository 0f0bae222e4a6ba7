"""The case study goes its whole way: every step checks itself, and a page tells of it."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import warm

ROOT = Path(__file__).parents[1]
STORY = ROOT / "examples/story/story.py"


@pytest.mark.slow
def test_the_story_is_told_to_its_end(tmp_path):
    """Old checkpoint to promoted policy, with a page and pictures; nothing lies beside them."""
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    pictures = tmp_path / "pictures"

    done = warm.run([STORY, "--quick", "--out", tmp_path / "out", "--write-docs", pictures])

    assert done.returncode == 0, done.stdout + done.stderr
    assert "none lost, none answered wrongly" in done.stdout
    page = (tmp_path / "out/story.html").read_text(encoding="utf-8")
    assert "A policy's next life" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    for each in ("losses", "curves"):
        assert ElementTree.parse(pictures / f"story-{each}.svg").getroot().tag.endswith("svg")


def test_the_pictures_of_the_page_are_there():
    """What the case study shows lies in the repository."""
    page = (ROOT / "docs/case-study.md").read_text(encoding="utf-8")

    for each in ("losses", "curves"):
        assert f"pictures/story-{each}.svg" in page
        assert (ROOT / f"docs/pictures/story-{each}.svg").is_file()
