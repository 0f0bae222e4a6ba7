"""What the page about the house counts."""

import pytest

from tests.house.measures import lengths, reaches


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
