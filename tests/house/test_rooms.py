"""Rooms of a package use each other one way, and the house gets no taller."""

import pytest

from tests.house.arrows import Arrow, Tree, arrows, our_tree
from tests.house.rooms import (
    LIST,
    arrows_to_turn,
    circles,
    containers,
    floors,
    graph,
    listed,
    room_of,
    without,
)

TODAY = listed(LIST.read_text())


def tree(sources, packages=(), fronts=None):
    return Tree({"": "", **sources}, frozenset(["", *packages]), fronts or {})


@pytest.mark.parametrize(
    ("source", "end", "how"),
    [
        ("from ..b import x", "v2.b", "import"),
        ("from ..b.y import z", "v2.b.y", "import"),
        ("def f():\n    from ..b.y import z", "v2.b.y", "import"),
        ("if TYPE_CHECKING:\n    from ..b.y import z", "v2.b.y", "import"),
        ("from .. import Thing", "v2.b.y", "import"),
        ("from ... import v2\nv2.Thing()", "v2.b.y", "import"),
        ("def _v2():\n    from ... import v2\n    return v2\n_v2().Thing", "v2.b.y", "import"),
        ("from ... import v2\ngetattr(v2, name + 'Config')", "v2.b.y", "name"),
        ("HOMES = {'Thing': '..b.y'}", "v2.b.y", "name"),
        ("HOMES = {'Thing': '..b.y:Other'}", "v2.b.y", "name"),
        ("HOMES = {'Thing': 'rlconnect.v2.b.y'}", "v2.b.y", "name"),
    ],
)
def test_each_way_to_use_a_module_is_seen(source, end, how):
    """Imports wherever they stand, what a package hands out, and names in strings."""
    sources = {"v2": "", "v2.a": "", "v2.a.x": source, "v2.b": "", "v2.b.y": "", "v2.c": ""}
    house = tree(sources, ["v2", "v2.a", "v2.b"], {"v2": {"Thing": "v2.b.y"}})

    assert (end, how) in {(arrow.end, arrow.how) for arrow in arrows(house)}


@pytest.mark.parametrize(
    "source", ["import json", "from . import x", "text = '.json'", "text = 'v2'", "text = '..'"]
)
def test_other_words_are_no_arrows(source):
    """Foreign libraries, oneself, and strings that name no module."""
    house = tree({"v2": "", "v2.a": "", "v2.a.x": source}, ["v2", "v2.a"])

    assert {arrow.end for arrow in arrows(house)} <= {"v2.a"}


def test_a_room_is_a_folder_or_a_flat_module():
    """A module deep in a folder belongs to that folder; the front door to no room."""
    assert room_of("v2", "v2.a.x.y") == "v2.a"
    assert room_of("v2", "v2.flat") == "v2.flat"
    assert room_of("v2", "v2") == room_of("v2", "v20.a") == ""


def test_circles_are_found_at_any_length():
    """Two rooms or four; a chain is none."""
    rooms = {"a": "b", "b": "a", "c": "d", "d": "e", "e": "fc", "f": "c", "g": "ac", "h": "g"}

    assert circles(rooms) == [["a", "b"], ["c", "d", "e", "f"]]
    assert circles({"a": "bc", "b": "c", "c": ""}) == []


def test_floors_count_the_longest_way_down():
    """A circle is one floor, and so is a room that nobody uses."""
    assert floors({"a": "bc", "b": "c", "c": "", "d": ""}) == 3
    assert floors({"a": "b", "b": "ac", "c": ""}) == 2
    assert floors({}) == 0


def test_few_arrows_are_turned():
    """One arrow opens two circles that share it; of two, the one with fewer uses."""
    rooms = {"a": {"b": 1}, "b": {"c": 1, "d": 1}, "c": {"a": 2}, "d": {"a": 2}}

    assert arrows_to_turn({"a": {"b": 5}, "b": {"a": 1}}) == {("b", "a")}
    assert circles(without(rooms, arrows_to_turn(rooms))) == []
    assert (
        len(arrows_to_turn({"a": {"b": 1}, "b": {"c": 1, "d": 1}, "c": {"a": 1}, "d": {"a": 1}}))
        == 1
    )


def test_a_graph_counts_uses_between_rooms():
    """Within a room and from outside of the package nothing counts."""
    uses = [
        Arrow("v2.a.x", "v2.b.y", 1, "import"),
        Arrow("v2.a.z", "v2.b", 1, "name"),
        Arrow("v2.a.x", "v2.a.z", 1, "import"),
        Arrow("bridge.x", "v2.a.z", 1, "import"),
        Arrow("v2", "v2.a.z", 1, "name"),
    ]

    assert graph("v2", uses) == {"v2.a": {"v2.b": 2}, "v2.b": {}}
    assert graph("v2", uses, ["name"]) == {"v2.a": {"v2.b": 1}, "v2.b": {}}


def test_the_list_is_read():
    """Arrows with how they are made, floors by package; comments are passed over."""
    found = listed("# `a -> b`: why\nfloors v2 7\nv2.a -> v2.b\nv2.b -> v2.c (name)\n")

    assert found.floors == {"v2": 7}
    assert found.arrows == {("v2.a", "v2.b"): "import", ("v2.b", "v2.c"): "name"}


@pytest.fixture(scope="module")
def house():
    """Packages with rooms: who uses whom in each, all ways and by imports alone."""
    uses = list(arrows(our_tree()))
    return {
        package: (graph(package, uses), graph(package, uses, ["import"]))
        for package in containers(our_tree())
    }


def test_rooms_use_each_other_one_way(house):
    """But for the arrows listed, no room comes back to itself by what it uses."""
    known = set(TODAY.arrows)
    rings = [ring for every, _ in house.values() for ring in circles(without(every, known))]

    assert rings == [], "move what both need down, or into one of them"


def test_the_list_only_gets_shorter(house):
    """An arrow that is gone, or that closes no circle any more, is taken off."""
    due = []
    for (start, end), how in TODAY.arrows.items():
        every, imported = house.get(start.rpartition(".")[0], ({}, {}))
        uses = imported if how == "import" else every
        rest = without(every, set(TODAY.arrows) - {(start, end)})
        if end not in uses.get(start, {}) or not circles(rest):
            due.append(f"{start} -> {end}")

    assert due == [], "take these off tests/house/today.txt"


def test_packages_get_no_taller(house):
    """No package of rooms stands on more floors than the list says, and none is forgotten."""
    found = {package: floors(without(every, TODAY.arrows)) for package, (every, _) in house.items()}

    assert found.keys() == TODAY.floors.keys()
    assert {name: n for name, n in found.items() if n > TODAY.floors[name]} == {}
