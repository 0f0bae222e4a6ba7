"""The drawings of the site are made from the pipelines, before the site is built."""

import pytest

from .blocks import PAGES, text_of
from .drawings import DRAWINGS, PLACE


@pytest.mark.torch
def test_each_page_gets_its_drawings():
    """Every place on a page has a drawing, every drawing a place, and each has content."""
    named = {name for page in PAGES for name in PLACE.findall(text_of(page))}

    assert named == set(DRAWINGS)
    assert all("<" in DRAWINGS[name]() for name in named)
