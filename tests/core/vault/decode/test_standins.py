"""Stand-ins keep facts, and describe themselves on one short line whatever they hold."""

import pytest
from rlconnect.core.vault.decode.standins import (
    MAX_SHOWN,
    GlobalRef,
    Opaque,
    class_path,
    mapping_of,
    shown,
    version_text,
)


def laughs():
    value = []
    for _ in range(60):
        value = [value, value]
    return value


def test_references_are_equal_by_name():
    """Two references to one name are one key."""
    assert {GlobalRef("a", "B"), GlobalRef("a", "B")} == {GlobalRef("a", "B")}
    assert GlobalRef("a", "B") != "a.B"


@pytest.mark.parametrize(
    "value",
    [
        laughs(),
        "x" * 10**6,
        Opaque(laughs(), (laughs(),)),
        Opaque(GlobalRef("cloudpickle", "_make_skeleton_class"), (None, "n" * 10**6)),
        Opaque(Opaque(Opaque(GlobalRef("a", "B")))),
    ],
    ids=["laughs", "text", "object of laughs", "by value", "object of objects"],
)
def test_anything_is_shown_on_a_short_line(value):
    """Whatever a file holds, naming it in a message stays short."""
    assert len(shown(value)) <= MAX_SHOWN
    assert len(class_path(value)) <= 2 * MAX_SHOWN or isinstance(value, str)
    assert len(repr(value) if isinstance(value, Opaque) else shown(value)) <= 3 * MAX_SHOWN


def test_an_object_of_what_holds_it_is_shown_at_once():
    """A damaged memo can make the class of an object the dict it lies in, many times over."""
    ring = {}
    for number in range(40):
        ring[number] = Opaque(ring)

    assert ring[0].path == class_path(ring[0]) == "<an object of a dict>"
    assert len(shown(ring)) <= MAX_SHOWN


def test_state_comes_as_a_mapping():
    """State in a dict, in slots or set by items is read alike."""
    held = Opaque(GlobalRef("a", "B"))
    held.state = ({"x": 1, 5: "no name"}, {"y": 2})
    held.entries.append(("z", 3))

    assert mapping_of(held) == {"x": 1, "y": 2, "z": 3}
    assert mapping_of([1]) == {}


def test_function_by_value_tells_its_name():
    """Module and name lie in the state, or the name in the code object."""
    code = Opaque(GlobalRef("types", "CodeType"), (0, b"", "owner.py", "choose"))
    bare = Opaque(GlobalRef("cloudpickle.cloudpickle", "_make_function"), (code,))
    told = Opaque(GlobalRef("cloudpickle.cloudpickle", "_make_function"), (code,))
    told.state = ({"__module__": "user", "__qualname__": "Env.choose"}, {})

    assert (bare.by_value_name, told.by_value_name) == ("choose", "user.Env.choose")
    assert repr(told) == "<function user.Env.choose, held by value>"


def _packaging_version():
    version = Opaque(GlobalRef("packaging.version", "Version"))
    version.state = {
        "_version": Opaque(GlobalRef("packaging.version", "_Version"), (0, (1, 2), None))
    }
    return version


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1.1", "1.1"),
        (1.0, "1.0"),
        (True, ""),
        (None, ""),
        (_packaging_version(), "1.2"),
        (Opaque(GlobalRef("packaging.version", "Version"), ("2.1",)), "2.1"),
        (Opaque(GlobalRef("a", "B")), ""),
        ("9" * 10**6, "9" * MAX_SHOWN),
    ],
)
def test_versions_are_read_from_all_that_ray_wrote(value, text):
    """A version is text, a number or a pickled object; nonsense is no version."""
    assert version_text(value) == text


def test_version_of_endless_numbers_is_short():
    """A pickled version cannot hold a million numbers."""
    version = Opaque(GlobalRef("packaging.version", "Version"))
    version.state = {"_release": (10**2000,) * 10**6 + (1,)}

    assert version_text(version) == ""
