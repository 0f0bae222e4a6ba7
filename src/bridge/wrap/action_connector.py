"""A legacy action connector, or a whole pipeline of them, as one piece of the new stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import PieceError
from ...core.trust import trust
from ...legacy.connectors.action.adapt_actions import AdaptActionsConnector
from ...legacy.connectors.connector import ActionConnector
from ...legacy.connectors.pipeline import ConnectorPipeline
from ...legacy.connectors.types import ActionConnectorDataType, AgentConnectorsOutput
from ...v2.connectors.batch_items import key_of, single_agent_episode_iterator
from .step_records import carried, step_data
from .wrapped_connector import WrappedConnector

_NO_FETCH = frozenset({Columns.ACTIONS, Columns.ACTIONS_FOR_ENV, Columns.STATE_OUT})


@trust
class LegacyActionConnectorV2(WrappedConnector):
    """Runs a legacy action connector on each action, in module-to-env pipelines.

    It reads `actions_for_env`, or `actions` where no piece before made one, and writes
    `actions_for_env`; the action that goes into the episode stays the policy's. Place it where
    items are apart, and set `normalize_actions=False, clip_actions=False` if the connector does
    that.

    Args:
        input_observation_space: Of what comes in.
        input_action_space: Of what comes in.
        connector: The connector or pipeline, or its `to_state()`.
        context: What it is built with, live or as plain data; its own if None.
        module_id: Only the actions of this module; all if None.

    Example:
        >>> import numpy as np
        >>> from gymnasium.spaces import Box
        >>> from rlconnect.legacy import ClipActionsConnector, ConnectorContext
        >>> context = ConnectorContext(action_space=Box(-1, 1, (1,)))
        >>> piece = LegacyActionConnectorV2(connector=ClipActionsConnector(context))
        >>> piece(rl_module=None, batch={"actions": {("e0",): [np.ones(1) * 3]}}, episodes=[])
        {'actions': {('e0',): [array([3.])]}, 'actions_for_env': {('e0',): [array([1.])]}}
    """

    kind: ClassVar = ActionConnector

    @override
    def __call__(
        self,
        *,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run the connector on all actions.

        Raises:
            PieceError: There are no actions, or they are not apart.
        """
        actions = batch.get(Columns.ACTIONS_FOR_ENV, batch.get(Columns.ACTIONS))
        if not isinstance(actions, Mapping):
            raise PieceError(
                f"{type(self).__name__} needs actions by episode",
                expected="a column 'actions' of items by key",
                found=f"columns {sorted(map(str, batch))}"
                if actions is None
                else type(actions).__name__,
                hint="place it between UnBatchToIndividualItems and ListifyDataForVectorEnv.",
            )
        self.connector.in_eval()
        walked = {key_of(episode): episode for episode in single_agent_episode_iterator(episodes)}
        fetches = {
            name: items
            for name, items in batch.items()
            if name not in _NO_FETCH and isinstance(items, Mapping)
        }
        states = batch.get(Columns.STATE_OUT, {})
        done = {
            key: items
            if self.module_id not in (None, *key[2:])
            else [
                self._acted(
                    action,
                    [*_nth(states, key, place, {}).values()],
                    {name: column[key][place] for name, column in fetches.items() if key in column},
                    walked.get(key),
                    key,
                    shared_data,
                )
                for place, action in enumerate(items)
            ]
            for key, items in actions.items()
        }
        batch[Columns.ACTIONS_FOR_ENV] = done
        self._slots.close(episodes)
        return batch

    @override
    def recompute_output_action_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Space[Any]:
        """Return the action space of the environment, which only adapters change."""
        connector = self.connector
        adapters = (
            connector[AdaptActionsConnector]
            if isinstance(connector, ConnectorPipeline)
            else [connector]
        )
        for adapter in adapters[-1:]:
            if isinstance(adapter, AdaptActionsConnector):
                return adapter.action_space
        return input_action_space

    def _acted(
        self,
        action: Any,
        states: list[Any],
        fetches: dict[str, Any],
        episode: Any,
        key: tuple[Any, ...],
        shared_data: dict[str, Any] | None,
    ) -> Any:
        """One action as the environment takes it."""
        env_id, agent_id, raw = key[0], (*key, "agent")[1], {}
        if episode is not None:
            slot = self._slots.of(episode)
            slot.see(episode, None)
            env_id, agent_id = slot.env_id, slot.agent_id
            raw = carried(shared_data, episode)
            if isinstance(raw, AgentConnectorsOutput):
                raw = raw.raw_dict
            elif raw is None:
                raw = step_data(episode, episode.get_observations(-1))
        record = ActionConnectorDataType(env_id, agent_id, raw, (action, states, fetches))
        return _unlocked(self.connector(record).output[0])


def _nth(column: Mapping[Any, Any], key: Any, place: int, default: Any) -> Any:
    return column[key][place] if key in column else default


def _unlocked(action: Any) -> Any:
    """A locked nest as plain dicts, which environments take."""
    if isinstance(action, (MappingProxyType, dict)):
        return {name: _unlocked(part) for name, part in action.items()}
    return type(action)(map(_unlocked, action)) if type(action) in (tuple, list) else action
