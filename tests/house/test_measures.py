"""What the page about the house counts."""

import pytest

from tests.house.imports import modules
from tests.house.measures import TALL, lengths, old_steps, reaches

MOST_REACHES = 40
MOST_LINES = 131_000
MOST_FILES = 834
MOST_ENTERED = {"one observation": 15, "eight at once": 20}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def f(x):\n    return x._y", 1),
        ("def f(x):\n    x._y = 1", 1),
        ("class A:\n    def f(self):\n        return self._y", 0),
        ("class A:\n    def f(self, o):\n        self._y = 1\n        return o._y", 0),
        ("def _y(): ...\ndef f(x):\n    return x._y()", 0),
        ("def f(x):\n    return x.__dict__, x._replace(a=1)", 0),
    ],
)
def test_reaches_go_to_what_others_define(source, count):
    """A file may use its own private names on any object, and those of tuples."""
    assert len(reaches(source)) == count


def test_functions_are_as_long_as_they_are_written():
    """Docstrings count, decorators do not; methods and inner functions are functions."""
    source = '@wraps\ndef f():\n    """Doc."""\n    def g(): ...\n    return g\n'

    assert sorted(lengths(source)) == [1, 4]


def test_no_file_is_too_long():
    """What grows beyond that has a part with a name of its own, which makes a file."""
    long = [
        module
        for module, path in modules()
        if len(path.read_text(encoding="utf-8").splitlines()) > TALL
    ]

    assert long == []


def test_src_only_shrinks():
    """A new feature pays for its lines by what it replaces; lower the numbers with each removal."""
    lengths_of = [len(path.read_text(encoding="utf-8").splitlines()) for _, path in modules()]

    assert sum(lengths_of) <= MOST_LINES
    assert len(lengths_of) <= MOST_FILES


def test_few_places_reach_into_what_others_keep_for_themselves():
    """What is reached gets a public name, or the code moves to where it is."""
    count = sum(len(reaches(path.read_text(encoding="utf-8"))) for _, path in modules())

    assert count <= MOST_REACHES


def test_a_step_of_the_old_stack_enters_few_files():
    """Through a recorded policy that numpy runs."""
    entered = {name: len(files) for name, files in old_steps()}

    assert {name: min(count, MOST_ENTERED[name]) for name, count in entered.items()} == entered
