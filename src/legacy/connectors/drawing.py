"""Describe the connectors of a pipeline: how each runs, and the shape of its output."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.adapters.drawing import drawn_of
from ...core.pages.figure import Figure
from ...core.spaces.text import short_shape, short_space
from ...core.step.part import contribution_of
from .adapted import acted_space, seen_space
from .connector import ActionConnector, works_on_all
from .types import ActionConnectorDataType, AgentConnectorDataType, AgentConnectorsOutput


def how_it_runs(connector: Any) -> str:
    """Whether a connector is planned and works on all agents at once, or why not."""
    added = contribution_of(connector)
    name = type(connector).__name__
    why = f"{name} does not define part()" if added is None else ", ".join(added.missing)
    planned = f"not planned ({why})" if why else "planned"
    how = "all agents at once" if works_on_all(connector) else "one record at a time"
    return f"{planned}; {how}"


def short_name(connector: Any) -> str:
    """Return the type of a connector, without the common suffix."""
    return type(connector).__name__.removesuffix("Connector").removesuffix("Agent")


def pieces_of(policy: Any, observation_space: Any = None) -> list[tuple[str, str]]:
    """Return a title and a detail for each stage from observation to action."""
    count = sum(weight.size for weight in policy.get_weights().values())
    return [
        ("environment", short_space(observation_space or seen_space(policy))),
        *((short_name(each), _steps(each)) for each in _connectors(policy.agent_connectors)),
        (f"{policy.algorithm} network", f"{count:,} numbers"),
        *((short_name(each), _steps(each)) for each in _connectors(policy.action_connectors)),
        ("environment", short_space(acted_space(policy))),
    ]


def draw_policy(policy: Any) -> Figure:
    """Connectors with the network between them, and below them what adapts it."""
    pipelines = (policy.agent_connectors, policy.action_connectors)
    below = "".join(drawn_of(_connectors(each)) for each in pipelines)
    kind = f"{policy.algorithm} of the old stack"
    return Figure(policy.name, pieces_of(policy), note=kind, below=below)


def _connectors(pipeline: Any) -> list[Any]:
    return [] if pipeline is None else list(pipeline.connectors)


def _steps(connector: Any) -> str:
    """The steps of an adapter."""
    chain = getattr(connector, "chain", None)
    if chain is None:
        return ""
    steps = chain.action if isinstance(connector, ActionConnector) else chain.obs
    return ", ".join(type(step).__name__ for step in steps)


def draw_pipeline(pipeline: Any) -> Figure:
    """Connectors as boxes, with what an observation or action looks like behind each."""
    boxes = [(short_name(each), how_it_runs(each)) for each in pipeline.connectors]
    between = []
    try:
        with np.errstate(all="ignore"):  # a value of the space may be of any size
            for shape in _shapes(copy.deepcopy(pipeline)):
                between.append(shape)
    except Exception:  # a made-up value need not suit connectors of the user's
        between.append("")
    return Figure(type(pipeline).__name__, boxes, between)


def _shapes(pipeline: Any) -> Iterator[str]:
    """Yield the output of each connector for a sample of the context's space."""
    pipeline.in_eval()
    acts = isinstance(pipeline, ActionConnector)
    if not acts:
        data: Any = {"new_obs": _sample(pipeline.ctx.raw_observation_space)}
        records: Any = [AgentConnectorDataType("env", "agent", data)]
        for connector in pipeline.connectors:
            records = connector(records)
            data = records[0].data
            if isinstance(data, AgentConnectorsOutput):
                data = data.sample_batch
            yield short_shape(data["obs"] if "obs" in data else data["new_obs"])
        return
    action = _sample(pipeline.ctx.action_space)
    record = ActionConnectorDataType("env", "agent", {}, (action, [], {}))
    for connector in pipeline.connectors:
        record = connector(record)
        yield short_shape(record.output[0])


def _sample(space: Any) -> Any:
    """Sample from a space without changing the space's random generator."""
    space = copy.deepcopy(space)
    space.seed(0)
    return space.sample()
