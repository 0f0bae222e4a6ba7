"""Links of the pages lead somewhere: to files and to headings in them, without a network."""

import re

import pytest

from .blocks import DOCS, PAGES, ROOT, text_of

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")
MADE = "reference/"  # made when the site is built, whose strict build checks them


def anchors(text):
    """The names of headings, as GitHub and the site give them."""
    prose = re.sub(r"^```[\s\S]*?^```", "", text, flags=re.M)
    titles = re.findall(r"^#{1,6} (.+)$", prose, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md"])
def test_links_lead_somewhere(page):
    """Each relative link names a file that is there, and a heading of it."""
    text = re.sub(r"^```[\s\S]*?^```", "", text_of(page), flags=re.M)
    for path, heading in LINK.findall(text):
        if MADE in path:
            continue
        target = (DOCS / page).parent / path if path else DOCS / page
        assert target.exists(), path
        if heading:
            assert heading in anchors(target.read_text(encoding="utf-8")), f"{path}#{heading}"


def test_every_page_has_its_place():
    """The navigation names each page once, and nothing else."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"^\s+- (?:.+: )?(\S+\.md)$", text, re.M)

    assert sorted(named) == PAGES
