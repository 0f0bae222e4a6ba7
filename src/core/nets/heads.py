"""The branches of a network behind its shared layers: what the policy acts by, and its value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from .chains import Chain, End, Search
from .facts import Facts
from .units import Unit


def with_heads(
    search: Search,
    chain: Chain,
    policy: Sequence[Unit],
    value: Sequence[Unit],
    spread: Sequence[Unit],
    is_dueling: bool,
    facts: Facts,
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Descriptions without activations, and how unusual each is."""
    dense_spread = [unit for unit in spread if unit.kind == "dense"]
    free = [unit for unit in spread if unit.kind == "parameter"]
    for acting, source in _branches(search, chain, policy):
        out = acting.nodes[-1] if acting.nodes else None
        if out is None:
            continue
        layers, cost = list(acting.layers), acting.cost
        name, size = out.name, math.prod(out.shape)
        if len(out.shape) != 1:  # a convolution of one cell
            layers.append({"flatten": True, "input": name, "name": "outputs"})
            name = "outputs"
        if dense_spread and acting.layers:
            unit = dense_spread[-1]
            layers.append({"dense": unit.prefix, "input": acting.layers[-1]["input"]})
            layers.append({"flatten": True, "input": [name, unit.prefix], "name": "logits"})
            name, size = "logits", size + unit.outs
        elif free and (not facts.sizes or size + free[0].outs in facts.sizes):
            layers.append({"parameter": free[0].prefix})
            layers.append({"flatten": True, "input": [name, free[0].prefix], "name": "logits"})
            name, size = "logits", size + free[0].outs
        if not is_dueling and facts.sizes and size not in facts.sizes:
            continue
        if not is_dueling and facts.sizes:
            cost += facts.sizes.index(size)
        for value_layers, more in _values(search, chain, source, value, layers):
            outputs = {"q" if facts.is_q or is_dueling else "logits": name}
            after = [*layers, *value_layers]
            if (is_dueling or facts.is_q) and value:
                after.append({"dueling": [name, value[-1].prefix], "name": "q"})
                outputs = {"q": "q"}
            elif value:
                outputs["value"] = str(value_layers[-1].get("name", value_layers[-1].get("dense")))
            data: dict[str, Any] = {"layers": after, "outputs": outputs}
            if not facts.inputs:
                data["lost"] = search.inputs[0].shape
            yield cost + more, data


def _branches(
    search: Search, chain: Chain, units: Sequence[Unit]
) -> Iterator[tuple[Chain, tuple[End, ...]]]:
    """Yield the branches of the policy, after the shared layers or separate from them."""
    if not units:
        yield chain, ()
        return
    for source, cost in _sources(search, chain):
        begin = Chain(chain.layers, source, chain.nodes, chain.cost + cost)
        for grown in islice(search.orders(units, begin, may_begin=not source), 6):
            if len(grown.ends) == 1:
                yield grown, source
        parallel = _side_by_side(begin, units)
        if parallel is not None:
            yield parallel, source


def _values(
    search: Search,
    chain: Chain,
    source: tuple[End, ...],
    units: Sequence[Unit],
    before: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[list[Mapping[str, Any]], float]]:
    if not units:
        yield [], 0.0
        return
    for start, cost in _sources(search, chain, source):
        begin = Chain((), start, chain.nodes)
        for grown in islice(search.orders(units, begin, may_begin=not start), 3):
            last = grown.nodes[-1]
            if (len(grown.ends) == 1 and last.shape == (1,)) or last.shape[-1:] == (1,):
                yield list(grown.layers), cost + grown.cost


def _sources(
    search: Search, chain: Chain, first: tuple[End, ...] = ()
) -> list[tuple[tuple[End, ...], float]]:
    """Return where a branch may start: after the shared layers, at the inputs, at any layer."""
    costs: list[tuple[tuple[End, ...], float]] = []
    if first:
        costs.append((first, 0.0))
    if chain.ends:
        costs.append((chain.ends, 0.0))
        costs += [((node,), 0.5 + 0.1 * i) for i, node in enumerate(reversed(chain.nodes))]
    costs.append(((), 1.0 if chain.ends else 0.0))
    cheapest = dict(reversed(costs))
    return [(source, cheapest[source]) for source in dict.fromkeys(pair[0] for pair in costs)]


def _side_by_side(begin: Chain, units: Sequence[Unit]) -> Chain | None:
    if len(begin.ends) != 1 or len(units) < 2 or any(unit.kind != "dense" for unit in units):
        return None
    end = begin.ends[0]
    if any((unit.ins,) != end.shape for unit in units):
        return None
    layers = [{"dense": unit.prefix, "input": end.name} for unit in units]
    joined = {"flatten": True, "input": [unit.prefix for unit in units], "name": "heads"}
    out = End("heads", (sum(unit.outs for unit in units),))
    return Chain((*begin.layers, *layers, joined), (out,), (*begin.nodes, out), begin.cost + 0.3)
