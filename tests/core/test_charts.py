"""Curves of several runs, and charts as pictures of their own."""

import re
from xml.etree import ElementTree

import pytest
from rlconnect.core.pages.charts import alone, banded_curves, bars, curves


@pytest.mark.parametrize(
    ("returns", "low", "high"),
    [
        ([[0.0, 300.0], [100.0, 500.0]], 0, 500),
        ([[-1600.0, -150.0], [-1200.0, -120.0]], -1600, -120),
    ],
)
def test_bands_lie_within_the_frame(returns, low, high):
    """Also where all values are negative: round numbers enclose them."""
    runs = [([10.0, 20.0], each) for each in returns]

    svg = banded_curves([("way", runs)], returns[0][1], "mark", "label")

    band = re.search(r'class="band" points="([^"]*)"', svg)[1]
    heights = [float(point.split(",")[1]) for point in band.split()]
    assert 58 <= min(heights) < max(heights) <= 298
    numbers = [int(each.replace(",", "")) for each in re.findall(r'halo"[^>]*>(-?[\d,]+)<', svg)]
    assert min(numbers) <= low < high <= max(numbers)


def test_a_chart_stands_alone():
    """It is a whole SVG file with its styles."""
    runs = [([1.0, 2.0], [3.0, 4.0])]

    picture = alone(banded_curves([("way", runs)], 3.5, "mark", "label > other"))

    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "stroke" in root[0].text
    assert root.get("viewBox").startswith("0 0 ")


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 0.0],
        [7.0],
        [5e-324, 1e-323],
        [1.0, 1.0 + 2e-16],
        [-1e299, 1e299],
        [float("nan"), float("inf"), 2.0],
        [float("nan")],
        [],
        [0.1, 1234567.0],
    ],
)
def test_any_values_can_be_drawn(values):
    """None, one, equal ones, far ones and what is no number: a whole picture, and no nan in it."""
    steps = [float(place) for place in range(len(values))]

    picture = alone(curves([("a", steps, values)], "a", "label", "steps"))

    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert not re.search(r"\b(nan|inf)\b", picture.partition("</style>")[2])


def test_axes_have_few_round_numbers():
    """Steps of 1, 2 or 5, whatever the values."""
    drawn = curves([("a", [1.0, 6.0], [20.83, 57.81])], "a", "label", "steps")

    assert re.findall(r'text-anchor="start">([\d.]+)<', drawn)[:5] == ["20", "30", "40", "50", "60"]


def test_each_count_is_where_its_bar_is():
    """Few bars have their counts on top, of many the highest has; logarithms show a single one."""
    few = bars([1, 0, 3], ["a", "b", "c"], ["1", "0", "3"], "label")
    many = bars([1] * 9 + [1000], [""] * 10, [""] * 10, "label", is_log=True)

    assert re.findall(r">(\d+)</text>", few) == ["1", "3"]
    assert re.findall(r">([\d,]+)</text>", many) == ["1,000"]
    heights = [float(each) for each in re.findall(r'height="([\d.]+)" rx', many)]
    assert heights[0] == pytest.approx(90 * 0.6931 / 6.9088, abs=0.1)
