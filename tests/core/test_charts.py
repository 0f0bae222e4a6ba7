"""Curves of several runs, and charts as pictures of their own."""

import re
from xml.etree import ElementTree

import pytest
from rlconnect.core.pages.charts import alone, banded_curves


@pytest.mark.parametrize(
    ("returns", "low", "high"),
    [
        ([[0.0, 300.0], [100.0, 500.0]], 0, 500),
        ([[-1600.0, -150.0], [-1200.0, -120.0]], -1600, -120),
    ],
)
def test_bands_lie_within_the_frame(returns, low, high):
    """Also where all values are negative: the least is at the bottom, the highest at the top."""
    runs = [([10.0, 20.0], each) for each in returns]

    svg = banded_curves([("way", runs)], returns[0][1], "mark", "label")

    band = re.search(r'class="band" points="([^"]*)"', svg)[1]
    heights = [float(point.split(",")[1]) for point in band.split()]
    assert (min(heights), max(heights)) == (30.0, 290.0)
    assert {f">{low}<" in svg, f">{high}<" in svg} == {True}


def test_a_chart_stands_alone():
    """It is a whole SVG file with its styles."""
    runs = [([1.0, 2.0], [3.0, 4.0])]

    picture = alone(banded_curves([("way", runs)], 3.5, "mark", "label > other"))

    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "stroke" in root[0].text
