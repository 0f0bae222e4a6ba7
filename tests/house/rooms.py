"""The rooms of a package, the floors they stand on, and the circles they make.

A room of a package is a subpackage or a module that lies flat in it; the package's own
`__init__` is its front door, not a room. `python -m tests.house.rooms` prints the picture,
with `--write` it draws `today.txt` anew.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.house.arrows import Arrow, Tree, arrows, our_tree

LIST = Path(__file__).parent / "today.txt"
HEAD = """\
# What is against the picture today. The list may only get shorter, the numbers only smaller.
# `room -> room`: without the arrows listed here, no rooms use each other in a circle; an arrow is
# an import, on load or lazy, or a `name` in a table of strings.
# `floors package number`: how many rooms the longest way down leads through, without those arrows.
# Take out a line, or lower a number, when the test says that it is due.
"""

Pair = tuple[str, str]


def containers(tree: Tree) -> list[str]:
    """The packages that have rooms: those with a package in them, but for all of `src`."""
    return sorted({name.rpartition(".")[0] for name in tree.packages if "." in name})


def room_of(container: str, module: str) -> str:
    """The room of `container` that a module belongs to, "" for none."""
    inside = f"{container}."
    return inside + module[len(inside) :].split(".")[0] if module.startswith(inside) else ""


def graph(
    container: str, uses: Iterable[Arrow], hows: Iterable[str] = ("import", "name")
) -> dict[str, dict[str, int]]:
    """How many uses lead from each room of a package to each other one."""
    found: dict[str, dict[str, int]] = {}
    for arrow in uses:
        start, end = room_of(container, arrow.start), room_of(container, arrow.end)
        for room in (start, end):
            if room:
                found.setdefault(room, {})
        if start and end and start != end and arrow.how in hows:
            found[start][end] = found[start].get(end, 0) + 1
    return found


def circles(rooms: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups of two and more rooms in which each reaches each other one."""
    return [sorted(group) for group in _groups(rooms) if len(group) > 1]


def _groups(rooms: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Strongly connected rooms, those that use nobody else first."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(room: str, uses: Mapping[str, Iterable[str]], into: list[str]) -> None:
        todo = [(room, iter(sorted(uses[room])))]
        seen.add(room)
        while todo:
            for other in todo[-1][1]:
                if other not in seen:
                    seen.add(other)
                    todo.append((other, iter(sorted(uses[other]))))
                    break
            else:
                into.append(todo.pop()[0])

    used_by: dict[str, set[str]] = {room: set() for room in rooms}
    for room in sorted(rooms):
        for other in rooms[room]:
            used_by[other].add(room)
        if room not in seen:
            visit(room, rooms, order)
    seen.clear()
    groups: list[set[str]] = []
    for room in reversed(order):
        if room not in seen:
            group: list[str] = []
            visit(room, used_by, group)
            groups.append(set(group))
    return groups[::-1]


def floors(rooms: Mapping[str, Iterable[str]]) -> int:
    """How many rooms the longest way down leads through; a circle counts as one."""
    height: dict[str, int] = {}
    for group in _groups(rooms):
        below = {other for room in group for other in rooms[room]} - group
        tall = 1 + max((height[other] for other in below), default=0)
        height.update(dict.fromkeys(group, tall))
    return max(height.values(), default=0)


def without(
    rooms: Mapping[str, Mapping[str, int]], left_out: Iterable[Pair]
) -> dict[str, dict[str, int]]:
    """The same rooms less some arrows."""
    gone = set(left_out)
    return {
        room: {other: n for other, n in uses.items() if (room, other) not in gone}
        for room, uses in rooms.items()
    }


def arrows_to_turn(rooms: Mapping[str, Mapping[str, int]]) -> set[Pair]:
    """A small set of arrows without which there is no circle; fewer uses rather than more."""
    chosen: set[Pair] = set()
    while ring := circles(without(rooms, chosen)):
        inside = set(ring[0])
        uses = without(rooms, chosen)
        pairs = [(room, other) for room in ring[0] for other in uses[room] if other in inside]
        chosen.add(min(pairs, key=lambda pair: (_left(uses, pair), uses[pair[0]][pair[1]], pair)))
    for pair in sorted(chosen, key=lambda pair: -rooms[pair[0]][pair[1]]):
        if not circles(without(rooms, chosen - {pair})):
            chosen.discard(pair)
    return chosen


def _left(rooms: Mapping[str, Mapping[str, int]], pair: Pair) -> float:
    """What is still in circles once an arrow is gone: arrows, by how often each is used."""
    rest = without(rooms, [pair])
    weight = 0
    for ring in circles(rest):
        inside = set(ring)
        weight += sum(1 for room in ring for other in rest[room] if other in inside)
    return weight + rooms[pair[0]][pair[1]]


class Today(NamedTuple):
    """What the list says: arrows that are against the picture, and floors by package."""

    arrows: Mapping[Pair, str]
    floors: Mapping[str, int]


def listed(text: str) -> Today:
    """The list, read."""
    pairs: dict[Pair, str] = {}
    heights: dict[str, int] = {}
    for line in text.splitlines():
        match line.split():
            case ["floors", package, number]:
                heights[package] = int(number)
            case [start, "->", end, *how] if start != "#":
                pairs[start, end] = how[0].strip("()") if how else "import"
    return Today(pairs, heights)


def today(tree: Tree) -> str:
    """The list as it would be written now."""
    uses = list(arrows(tree))
    lines = [HEAD]
    for package in containers(tree):
        imported = graph(package, uses, ["import"])
        turned = arrows_to_turn(imported)
        everything = graph(package, uses)
        named = arrows_to_turn(without(everything, turned))
        lines.append(f"floors {package} {floors(without(everything, turned | named))}")
        lines += sorted(f"{start} -> {end}" for start, end in turned)
        lines += sorted(f"{start} -> {end} (name)" for start, end in named)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def picture(tree: Tree) -> str:
    """Rooms, floors and circles of each package, for reading."""
    uses = list(arrows(tree))
    lines = []
    for package in containers(tree):
        imported, everything = graph(package, uses, ["import"]), graph(package, uses)
        lines.append(
            f"{package}: {len(imported)} rooms, {floors(imported)} floors, "
            f"{len(circles(imported))} circles ({len(circles(everything))} with tables of names)"
        )
        lines += [f"    {' '.join(ring)}" for ring in circles(everything)]
    return "\n".join(lines)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        LIST.write_text(today(our_tree()), encoding="utf-8")
    print(picture(our_tree()))
