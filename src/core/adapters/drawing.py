"""Adapters as pictures: what stands before, the steps, what stands behind, number by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from gymnasium import spaces

from .. import nest
from ..errors import RlconnectError
from ..pages.charts import wires
from ..pages.document import flow
from ..spaces.text import short_space
from ..spaces.values import sampled_courses
from ..types import Array, Nest
from .step import Bound, Step

if TYPE_CHECKING:
    from .chain import BoundChain

MOST: Final = 24
"""How many parts a space is taken apart into; of a larger one each array is a part."""
_TRIES: Final = 4
_LARGEST: Final = 200_000


@dataclass(frozen=True)
class Wiring:
    """Which parts of the input become which of the output, by their names.

    A wire is from, to, as places in both, and whether the number stays as it is; `notes` tell of
    outputs without a wire, by their places.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    wires: tuple[tuple[int, int, bool], ...]
    notes: Mapping[int, str]

    @property
    def dropped(self) -> tuple[str, ...]:
        """The names of inputs that reach no output."""
        used = {begin for begin, _, _ in self.wires}
        return tuple(name for place, name in enumerate(self.before) if place not in used)

    def drawn(self, heads: tuple[str, str]) -> str:
        """A picture of it, with the names on either side."""
        return wires(self.before, self.after, self.wires, self.notes, heads)


def wiring_of(
    space: spaces.Space[Any],
    out_space: spaces.Space[Any],
    call: Callable[[Nest], Sequence[Nest]],
    root: str,
) -> Wiring | None:
    """Change one part of the input at a time and note which parts of the output change.

    `call` gives one or more batches that come of a batch; `root` is what the value is called. None
    where a space is too large to be taken apart.
    """
    if isinstance(space, spaces.Discrete):
        return _of_choices(space, out_space, call, root) if space.n <= MOST else None
    values = [
        course[0]
        for course in sampled_courses(space, count=2 * _TRIES, length=1, seed=0, with_corners=False)
    ]
    parts = _parts(values[0], root)
    if parts is None:
        return None
    leaves = [
        np.stack([np.asarray(nest.flatten(each)[place]) for each in values])
        for place in range(len(nest.flatten(values[0])))
    ]
    probes = [np.repeat(leaf[:_TRIES, None], 1 + len(parts), 1) for leaf in leaves]
    for row, part in enumerate(parts, 1):
        flat = probes[part.leaf].reshape(_TRIES, 1 + len(parts), -1)
        flat[:, row, part.at] = leaves[part.leaf][_TRIES:].reshape(_TRIES, -1)[:, part.at]
    rows = [leaf.reshape(-1, *leaf.shape[2:]) for leaf in probes]
    results = call(nest.unflatten_as(values[0], rows))
    after = _parts(nest.taken(results[0], 0), root)
    if after is None:
        return None
    wires, notes = [], {}
    for place, part in enumerate(after):
        columns = [_column(result, part, len(parts)) for result in results]
        reached = [
            row
            for row in range(1, len(parts) + 1)
            if not all(np.array_equal(s[:, row], s[:, 0], equal_nan=True) for s in columns)
        ]
        wires += [(row - 1, place, _is_same(columns[0], probes, parts[row - 1])) for row in reached]
        if not reached:
            notes[place] = _standing(columns[0])
    names = tuple(part.name for part in parts), tuple(part.name for part in after)
    return Wiring(*names, tuple(wires), notes)


class _Part(NamedTuple):
    """A number of a leaf, or all of it."""

    leaf: int
    at: slice
    name: str


def _parts(value: Nest, root: str) -> list[_Part] | None:
    """Its numbers one by one; of what has many each array is one part."""
    leaves = [(path, np.asarray(leaf)) for path, leaf in nest.flatten_with_path(value)]
    sizes = [leaf.size for _, leaf in leaves]
    if len(leaves) > MOST or sum(sizes) > _LARGEST:
        return None
    if any(leaf.dtype.kind not in "biuf" for _, leaf in leaves):
        return None
    has_room = sum(size if size <= MOST else 1 for size in sizes) <= MOST
    parts = []
    for number, (path, leaf) in enumerate(leaves):
        name = ".".join(map(str, path)) or root
        if leaf.ndim and has_room and leaf.size <= MOST:
            parts += [
                _Part(number, slice(at, at + 1), name + str(list(place)))
                for at, place in enumerate(np.ndindex(leaf.shape))
            ]
        else:
            size = f" {leaf.shape}" if leaf.ndim else ""
            parts.append(_Part(number, slice(None), name + size))
    return parts


def _column(result: Nest, part: _Part, count: int) -> Array:
    """A part of the outputs, `(tries, 1 + count, size)`."""
    leaf = np.asarray(nest.flatten(result)[part.leaf])
    return leaf.reshape(_TRIES, 1 + count, -1)[:, :, part.at]


def _is_same(column: Array, probes: list[Array], part: _Part) -> bool:
    before = probes[part.leaf].reshape(*column.shape[:2], -1)[:, :, part.at]
    return before.shape == column.shape and np.allclose(before, column, rtol=1e-6, equal_nan=True)


def _standing(column: Array) -> str:
    if column.shape[-1] == 1 and np.all(column == column[0, 0]):
        return f"= {float(column[0, 0, 0]):.4g}"
    return "filled"


def _of_choices(
    space: spaces.Discrete,
    out_space: spaces.Space[Any],
    call: Callable[[Nest], Sequence[Nest]],
    root: str,
) -> Wiring | None:
    first = int(space.start)
    results = call(np.arange(first, first + int(space.n), dtype=space.dtype))[0]
    before = tuple(f"{root} {first + place}" for place in range(int(space.n)))
    if isinstance(out_space, spaces.Discrete) and out_space.n <= MOST:
        begin = int(out_space.start)
        reached = [int(each) - begin for each in np.asarray(results)]
        after = tuple(f"{root} {begin + place}" for place in range(int(out_space.n)))
        notes = {place: "never taken" for place in range(len(after)) if place not in reached}
    else:
        texts = [_text(nest.taken(results, place)) for place in range(len(before))]
        after, notes = tuple(dict.fromkeys(texts)), {}
        reached = [after.index(each) for each in texts]
    wires = [
        (place, target, before[place] == after[target]) for place, target in enumerate(reached)
    ]
    return Wiring(before, after, tuple(wires), notes)


def _text(value: Nest) -> str:
    if not nest.is_leaf(value):
        return str(value)
    return np.array2string(np.asarray(value), precision=4, threshold=6, separator=", ")


def drawn(bound: BoundChain) -> str:
    """Each way through an adapter: its steps as boxes, below them which number goes where."""
    chain, parts = bound.chain, []
    if chain.obs:
        ends = (("environment", bound.env_observation_space), ("policy", bound.observation_space))
        parts.append(_way(ends, chain.obs, bound.obs))
        parts.append(_wired(ends, lambda value: _observed(bound, value), "obs"))
    if chain.action:
        ends = (("policy", bound.policy_action_space), ("environment", bound.action_space))
        parts.append(_way(ends, chain.action, bound.actions))
        parts.append(_wired(ends, lambda value: [bound.act(value)], "action"))
    if chain.reward:
        parts.append(flow([("reward", ""), *map(_box, chain.reward), ("policy", "")]))
    if chain.agents:
        parts.append(flow([(f"agent {new}", f"plays {old}") for new, old in chain.agents.items()]))
    return "".join(parts)


def drawn_of(pieces: Iterable[Any]) -> str:
    """The adapters among the pieces of pipelines, in order."""
    parts = []
    for piece in pieces:
        try:
            bound: Any = getattr(piece, "adapter", None)
        except RlconnectError:  # one for several agents, or without its spaces
            continue
        if hasattr(bound, "env_observation_space"):
            parts.append(drawn(bound))
    return "".join(parts)


_Ends = tuple[tuple[str, spaces.Space[Any]], tuple[str, spaces.Space[Any]]]


def _way(ends: _Ends, steps: Sequence[Step], bounds: Sequence[Bound]) -> str:
    (begins, first), (arrives, last) = ends
    between = ["", *(short_space(each.space) for each in bounds[:-1])]
    boxes = [(begins, short_space(first)), *map(_box, steps), (arrives, short_space(last))]
    return flow(boxes, between)


def _box(step: Step) -> tuple[str, str]:
    name, _, settings = str(step).partition("(")
    return name, settings.removesuffix(")")


def _wired(ends: _Ends, call: Any, root: str) -> str:
    (begins, space), (arrives, out_space) = ends
    try:
        with np.errstate(all="ignore"):  # made-up numbers may be of any size
            wiring = wiring_of(space, out_space, call, root)
    except Exception:  # a made-up value need not suit a step of the user's
        return ""
    return "" if wiring is None else wiring.drawn((begins, arrives))


def _observed(bound: BoundChain, value: Nest) -> list[Nest]:
    """The adapted observations; where steps remember, those of the next step too."""
    if not bound.memory:
        return [bound.observe(value)]
    rows = len(nest.a_leaf(value))
    first = np.ones(rows, bool)
    observed, memory = bound.observe_next(value, bound.start(rows), first)
    same = nest.map_structure(lambda leaf: np.repeat(leaf[:1], rows, 0), value)
    return [observed, bound.observe_next(same, memory, ~first)[0]]
