"""The built pages: what a browser, a screen reader and a search engine need, and nothing fetched.

`make docs` builds `site/` and runs this; without a built site there is nothing to look at.
"""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from .blocks import ROOT

SITE = ROOT / "site"
LARGEST = 450_000  # bytes of a page: what a phone shows at once
BUILT = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))

pytestmark = pytest.mark.skipif(not BUILT, reason="no site is built: make docs")


class Page(HTMLParser):
    """What of a page is checked."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.title, self.is_title = [], [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        self.tags.append((tag, own))
        self.is_title = tag == "title" and not self.title
        if "id" in own:
            self.ids.append(own["id"])

    def handle_data(self, data):
        if self.is_title:
            self.title, self.is_title = data, False

    def all(self, *kinds):
        return [own for tag, own in self.tags if tag in kinds]


@pytest.fixture(params=BUILT)
def page(request):
    return Page((SITE / request.param).read_text(encoding="utf-8"))


def test_a_page_says_what_it_is(page):
    """Language, title, and how wide a screen may be."""
    assert page.all("html")[0]["lang"] == "en"
    assert page.title
    assert any(own.get("name") == "viewport" for own in page.all("meta"))


def test_headings_go_down_by_one(page):
    """One title; no level is left out on the way down."""
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]

    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_pictures_have_words(page):
    """Each has its text."""
    assert all(own.get("alt") for own in page.all("img"))


def test_nothing_is_fetched_from_elsewhere(page):
    """Scripts, styles, fonts and pictures lie beside the page."""
    fetched = [own.get("src") or "" for own in page.all("script", "img", "iframe", "source")]
    fetched += [own.get("href") or "" for own in page.all("link") if own.get("rel") != "canonical"]

    assert not [url for url in fetched if re.match("(https?:)?//", url)]


def test_names_of_places_are_said_once(page):
    """A link to a place leads to one."""
    own = [each for each in page.ids if not each.startswith("__")]

    assert len(own) == len(set(own)), sorted({each for each in own if own.count(each) > 1})


@pytest.mark.parametrize("path", BUILT)
def test_no_page_is_a_book(path):
    """A page that has grown too long is to be split, or says things twice."""
    assert (SITE / path).stat().st_size <= LARGEST
