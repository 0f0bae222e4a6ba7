"""Orders of layers in which each takes what the one before gives, the likeliest first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .image_guesses import ways_through
from .units import Unit

Shape = tuple[int, ...]
Accepted = Iterator[tuple[list[Unit], list[dict[str, Any]], "End", float]]
"""Units that are taken, their layers, what comes out of the last, and how unusual that is."""

_STEPS: Final = 20_000


@dataclass(frozen=True)
class End:
    """Something that a layer may take."""

    name: str
    shape: Shape


@dataclass(frozen=True)
class Chain:
    """Consecutive layers, as in a description, without activations.

    Further layers may follow any of `ends`, the last of which is the newest. `nodes` are the
    outputs of all layers with weights. `cost` measures how unusual the chain is.
    """

    layers: tuple[Mapping[str, Any], ...] = ()
    ends: tuple[End, ...] = ()
    nodes: tuple[End, ...] = ()
    cost: float = 0.0


@dataclass
class Search:
    """State of a search for the order of layers.

    `inputs` are vectors and images. `beside` is the size of previous actions and rewards that a
    recurrent layer may use. Layers of any branch may have `widths` inputs. At most `left` further
    search steps are taken.
    """

    inputs: Sequence[End]
    beside: Mapping[str, int] = field(default_factory=dict)
    widths: frozenset[int] = frozenset()
    left: int = _STEPS

    def orders(
        self, units: Sequence[Unit], start: Chain, may_begin: bool = True
    ) -> Iterator[Chain]:
        """Yield chains of all units, the order of the file first.

        If `may_begin`, a layer may also start at an observation.
        """
        if not units:
            yield start
            return
        for index, unit in enumerate(units):
            if unit.kind == "convolution" and any(
                other.kind == "convolution" for other in units[:index]
            ):
                continue  # images go through convolutions in the order of the file
            self.left -= 1
            if self.left < 0:
                return
            for run, grown in self._added(unit, units[index:], start, units, may_begin):
                rest = [other for other in units if other not in run]
                yield from self.orders(rest, grown, may_begin)

    def _added(
        self,
        unit: Unit,
        tail: Sequence[Unit],
        start: Chain,
        units: Sequence[Unit],
        may_begin: bool,
    ) -> Iterator[tuple[list[Unit], Chain]]:
        sources: list[tuple[tuple[End, ...], float]] = []
        if start.ends:
            sources.append(((start.ends[-1],), 0.0))
        if len(start.ends) > 1:
            sources.append((start.ends, 0.2))
        used = {name for layer in start.layers for name in _inputs(layer)}
        fresh = [end for end in self.inputs if end.name not in used]
        if start.ends and may_begin:
            vectors = tuple(end for end in fresh if len(end.shape) == 1 and self._is_leaf(end))
            if vectors:
                sources.append(((*start.ends, *vectors), 0.6))
        if may_begin:
            sources += [((end,), 1.0 if start.ends else 0.0) for end in fresh]
        for source, cost in sources:
            is_new = bool(start.ends) and len(source) == 1 and source[0] != start.ends[-1]
            earlier_ends = start.ends if is_new else start.ends[:-1] if len(source) == 1 else ()
            for run, layers, end, more in self._accepted(unit, tail, source, units):
                all_layers, all_ends = (*start.layers, *layers), (*earlier_ends, end)
                total = start.cost + cost + more
                yield run, Chain(all_layers, all_ends, (*start.nodes, end), total)

    def _accepted(
        self, unit: Unit, tail: Sequence[Unit], source: tuple[End, ...], units: Sequence[Unit]
    ) -> Accepted:
        """Layers that let a unit read a source, with their output; none where it cannot."""
        names = [end.name for end in source]
        input_name: Any = names[0] if len(names) == 1 else names
        shape = source[0].shape
        joined: list[dict[str, Any]] = []
        if len(source) > 1:
            shape = (sum(math.prod(end.shape) for end in source),)
            if any(len(end.shape) != 1 for end in source):
                input_name = f"{unit.prefix}_in"
                joined = [{"flatten": True, "input": names, "name": input_name}]
                names = [input_name]
        if unit.kind == "convolution":
            if len(source) == 1:
                yield from self._images(tail, source[0], units)
            return
        layer: dict[str, Any] = {unit.kind: unit.prefix, "input": input_name}
        layers, cost = [layer], 0.0
        out: Shape | None = None
        if unit.kind in ("dense", "lstm", "gru"):
            if len(shape) > 1 and math.prod(shape) == unit.ins:
                layer["input"] = f"{unit.prefix}_in"
                layers.insert(0, {"flatten": True, "input": input_name, "name": layer["input"]})
                out = (unit.outs,)
            elif shape == (unit.ins,):
                layers, out = [*joined, layer], (unit.outs,)
            elif unit.kind != "dense" and len(shape) == 1 and self.beside:
                yield from self._with_earlier(unit, layer, names, shape[0])
        elif unit.kind == "embedding":
            if shape in ((unit.ins,), (1,), ()):
                out = (unit.outs,) if shape != (1,) else (1, unit.outs)
            elif len(shape) == 1 and shape[0] <= 64:
                out, cost = (*shape, unit.outs), 0.5
        elif shape and (
            (unit.kind == "layer_norm" and shape[-1] == unit.ins)
            or (unit.kind == "batch_norm" and unit.ins in (shape[0], shape[-1]))
        ):
            out = shape
        if out is not None:
            yield [unit], layers, End(unit.prefix, out), cost

    def _is_leaf(self, end: End) -> bool:
        """True if no other input is a part of this one."""
        return not any(other.name.startswith(f"{end.name}.") for other in self.inputs)

    def _wanted(self, run: Sequence[Unit], units: Sequence[Unit]) -> Iterator[int]:
        """Yield possible sizes of the output of the convolutions."""
        yield from self.widths
        vectors = [end.shape[0] for end in self.inputs if len(end.shape) == 1]
        beside = {*vectors, *(unit.outs for unit in units if unit not in run and unit.outs)}
        for width in self.widths:
            yield from (width - other for other in beside)
            yield from (width - one - other for one in beside for other in beside)

    def _with_earlier(
        self, unit: Unit, layer: dict[str, Any], names: list[str], width: int
    ) -> Accepted:
        """Return a recurrent layer with previous actions or rewards as additional inputs."""
        actions, rewards = self.beside["prev_actions"], self.beside["prev_rewards"]
        for extra, size in (
            (["prev_actions"], actions),
            (["prev_rewards"], rewards),
            (["prev_actions", "prev_rewards"], actions + rewards),
        ):
            if width + size == unit.ins:
                joined = {**layer, "input": [*names, *extra]}
                yield [unit], [joined], End(unit.prefix, (unit.outs,)), 0.4

    def _images(self, tail: Sequence[Unit], source: End, units: Sequence[Unit]) -> Accepted:
        """A run of convolutions over one image, every way that leads to a layer behind."""
        run = _run_of(tail)
        convolutions = [unit for unit in run if unit.kind == "convolution"]
        first = convolutions[0]
        if len(source.shape) != len(first.sides) + 1:
            return
        is_first, is_last = source.shape[0] == first.ins, source.shape[-1] == first.ins
        turned: list[dict[str, Any]] = []
        shape, name = source.shape, source.name
        if first.is_keras:
            if not is_last:
                return
        elif is_last and (not is_first or min(source.shape) == source.shape[-1]):
            axes = len(shape)
            name = f"{first.prefix}_in"
            turned = [{"permute": [axes - 1, *range(axes - 1)], "input": source.name, "name": name}]
            shape = (shape[-1], *shape[:-1])
        elif not is_first:
            return
        for way in ways_through(convolutions, shape, set(self._wanted(run, units))):
            layers, before = list(turned), name
            steps = iter(zip(way.settings, way.pools, strict=True))
            for unit in run:
                if unit.kind != "convolution":
                    layers.append({unit.kind: unit.prefix, "input": before})
                    before = unit.prefix
                    continue
                settings, is_pooled = next(steps)
                layers.append({unit.kind: unit.prefix, "input": before, **settings})
                before = unit.prefix
                if is_pooled:
                    pool = f"{unit.prefix}_pool"
                    last = {"channels": "last"} if unit.is_keras else {}
                    layers.append({"pool": "max", "size": 2, "input": before, "name": pool, **last})
                    before = pool
            yield run, layers, End(before, way.shape), way.cost


def _run_of(tail: Sequence[Unit]) -> list[Unit]:
    """Convolutions that follow one another, with the norms among them."""
    run = [tail[0]]
    for unit in tail[1:]:
        last = next(each for each in reversed(run) if each.kind == "convolution")
        is_norm = unit.kind == "batch_norm" and unit.ins == last.outs
        follows = unit.kind == "convolution" and unit.ins == last.outs
        if not (is_norm or (follows and len(unit.sides) == len(last.sides))):
            break
        run.append(unit)
    return run


def _inputs(layer: Mapping[str, Any]) -> list[str]:
    names = layer.get("input", [])
    return [names] if isinstance(names, str) else list(names)
