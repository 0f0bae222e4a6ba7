"""What module-to-env gives for many agents, as environments and episodes take it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from ...core.columns import Columns
from ..metrics.names import WEIGHTS_SEQ_NO

ByEnv: TypeAlias = Sequence[Mapping[Hashable, Any]]
"""For each environment items by agent."""


def taken_apart(
    columns: dict[str, Any], to_act: Sequence[Sequence[Hashable]], weights_seq_no: int
) -> tuple[ByEnv, ByEnv, list[dict[Hashable, dict[str, Any]]]]:
    """Actions as the modules have them, as the environments take them, and all else.

    Args:
        columns: For each name a dict by agent for each environment.
        to_act: The agents to act in each environment, in their order.
        weights_seq_no: An output that is the same for all.
    """
    actions = [*map(_in_order, columns.pop(Columns.ACTIONS), to_act)]
    for_env = columns.pop(Columns.ACTIONS_FOR_ENV, None)
    outputs = [
        {
            agent: {
                **{
                    name: row[agent]
                    for name, row in zip(columns, rows, strict=True)
                    if agent in row
                },
                WEIGHTS_SEQ_NO: weights_seq_no,
            }
            for agent in by_agent
        }
        for by_agent, *rows in zip(actions, *columns.values(), strict=True)
    ]
    return actions, actions if for_env is None else [*map(_in_order, for_env, to_act)], outputs


def _in_order(
    actions: Mapping[Hashable, Any], agents: Sequence[Hashable]
) -> Mapping[Hashable, Any]:
    """Actions in the order of the agents' observations, where they come module by module."""
    try:
        ordered = {agent: actions[agent] for agent in agents}
    except KeyError:  # A user's piece has left some out.
        return actions
    return ordered if len(ordered) == len(actions) else actions
