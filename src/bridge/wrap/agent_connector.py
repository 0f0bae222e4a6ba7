"""A legacy agent connector, or a whole pipeline of them, as one piece of the new stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ...core.adapters import AdapterChain
from ...core.errors import PieceError
from ...core.trust import trust
from ...legacy.connectors.agent.adapt_observations import AdaptObservationsAgentConnector
from ...legacy.connectors.agent.mean_std_filter import MeanStdObservationFilterAgentConnector
from ...legacy.connectors.agent.obs_preproc import ObsPreprocessorConnector
from ...legacy.connectors.agent.view_requirement import ViewRequirementAgentConnector
from ...legacy.connectors.connector import AgentConnector
from ...legacy.connectors.context import ConnectorContext
from ...legacy.connectors.pipeline import AgentConnectorPipeline
from ...legacy.connectors.types import (
    ActionConnectorDataType,
    AgentConnectorDataType,
    AgentConnectorsOutput,
)
from ...legacy.observations.preprocessors import get_preprocessor_for_space
from ...v2.connectors.batch_items import key_of, single_agent_episode_iterator
from ...v2.connectors.common.written_observations import LastObservations, own_space, write_last
from .legacy_columns import add_view_columns, columns_beside, is_observation_stacked, windows_of
from .step_records import carried, carry, last_answer, step_data
from .wrapped_connector import Slot, WrappedConnector


@trust
class LegacyAgentConnectorV2(WrappedConnector):
    """Run a legacy agent connector on the last step of each episode, in env-to-module pipelines.

    The resulting observation is written back to the episode. Other inputs of the policy (previous
    actions and rewards, stacked frames) become columns of the batch, under the names of the views.
    Recurrent states are handled by the new stack. Several wrapped pieces in one pipeline pass their
    records on to each other, so that splitting a legacy pipeline does not change the result,
    whatever native pieces are in between.

    Args:
        input_observation_space: Of what comes in.
        input_action_space: Of what comes in.
        connector: The connector or pipeline, or its `to_state()`.
        context: What it is built with, live or as plain data; its own if None.
        multi_agent: Whether spaces are by agent id.
        module_id: Only the agents of this module; all if None. With it columns are left to
            `LegacyColumnsV2`: in a batch of several modules, observations have to come first.
        is_training: Whether filters learn from what passes; they stand still as in inference
            otherwise.

    Example:
        >>> from rlconnect.legacy import ConnectorContext, ObsPreprocessorConnector
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> context = ConnectorContext(observation_space=spaces.Discrete(3))
        >>> episode = SingleAgentEpisode(id_="e0")
        >>> episode.add_env_reset(observation=1)
        >>> piece = LegacyAgentConnectorV2(connector=ObsPreprocessorConnector(context))
        >>> _ = piece(rl_module=None, batch={}, episodes=[episode])
        >>> episode.get_observations(-1)
        array([0., 1., 0.], dtype=float32)
    """

    kind: ClassVar = AgentConnector
    settings: ClassVar = ("multi_agent", "module_id", "is_training")

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        connector: Any,
        context: Any = None,
        multi_agent: bool = False,
        module_id: str | None = None,
        is_training: bool = False,
    ) -> None:
        super().__init__(
            input_observation_space,
            input_action_space,
            connector=connector,
            context=context,
            module_id=module_id,
        )
        self.multi_agent = multi_agent
        self.is_training = is_training
        self._columns = columns_beside(self.context)
        self._windows = windows_of(self.context)
        self._is_stacked = is_observation_stacked(self.context)

    @override
    def __call__(
        self,
        *,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run the connector on all agents that stepped.

        Raises:
            PieceError: The connector drops a record, or adds one: in this stack each agent that
                stepped acts.
        """
        walked = list(single_agent_episode_iterator(episodes))
        own_episodes = walked
        if self.module_id is not None:
            own_episodes = [episode for episode in walked if episode.module_id == self.module_id]
        slots = [self._slots.of(episode) for episode in own_episodes]
        new = [
            place
            for place, (slot, episode) in enumerate(zip(slots, own_episodes, strict=True))
            if not slot.has_seen(episode)
        ]
        if new:
            self._run(
                [own_episodes[place] for place in new], [slots[place] for place in new], shared_data
            )
        outputs = {key_of(e): (e.t, slot.made) for e, slot in zip(own_episodes, slots, strict=True)}
        carry(shared_data, outputs, list(map(key_of, walked)))
        if self.module_id is None:
            for episode, slot in zip(own_episodes, slots, strict=True):
                add_view_columns(batch, episode, slot.made, self._columns, self._is_stacked)
        self._slots.close(episodes)
        return batch

    def _run(self, episodes: list[Any], slots: list[Slot], shared: dict[str, Any] | None) -> None:
        """Take the last steps of episodes through the connector."""
        connector = self.connector
        connector.in_training() if self.is_training else connector.in_eval()
        records = []
        last = LastObservations(episodes)
        for episode, slot, observation in zip(episodes, slots, last.seen, strict=True):
            before = carried(shared, episode)
            if before is None:
                data: Any = step_data(episode, observation)
            elif isinstance(before, AgentConnectorsOutput):
                data = before
            else:
                data = {**before, "new_obs": observation}
            self._tell_answer(episode, slot)
            records.append(AgentConnectorDataType(slot.env_id, slot.agent_id, data))
        # Before the call: a connector may write into the very record it gets.
        old_obs = [_new_obs(record.data) for record in records]
        outputs = connector(records)
        if [output.env_id for output in outputs] != [slot.env_id for slot in slots]:
            raise PieceError(
                f"{type(connector).__name__} does not give one record for each it gets",
                expected=f"{len(records)} records, in order",
                found=f"{len(outputs)}",
                hint="in the new stack each agent that stepped acts; "
                "let the connector change records, not drop or add them.",
            )
        for episode, slot, old, record in zip(episodes, slots, old_obs, outputs, strict=True):
            self._write_back(episode, old, record.data)
            slot.acts_as = record.agent_id
            slot.see(episode, record.data, episode.get_observations(-1))

    def _tell_answer(self, episode: Any, slot: Slot) -> None:
        """Tell the connector what the policy answered one step ago, as the episode has it."""
        outputs = self._columns.values()
        answer = last_answer(episode, outputs, self._windows, self.context.initial_states)
        if answer is not None:
            raw = slot.made
            raw = raw.raw_dict if isinstance(raw, AgentConnectorsOutput) else raw
            self.connector.on_policy_output(
                ActionConnectorDataType(slot.env_id, slot.acts_as, raw, answer)
            )

    def _write_back(self, episode: Any, old: Any, output: Any) -> None:
        """Write the new observation to the episode, if it is not the old one."""
        if isinstance(output, AgentConnectorsOutput):
            new = output.raw_dict["new_obs"]
            row = output.sample_batch["obs"]
            is_array = isinstance(row, np.ndarray) and not self._is_stacked
            if is_array and row.shape[1:] != np.shape(new):
                new = row[0]  # a piece behind has flattened it
        else:
            new = output.get("new_obs")
        if new is not None and new is not old:
            write_last(episode, new, own_space(self.observation_space, episode))

    # Spaces

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Any:
        space = input_observation_space
        if not (self.multi_agent and isinstance(space, spaces.Dict)):
            return space_behind(self.connector, self.context, space)
        old_space = first_space(self.connector, self.context)
        return spaces.Dict(
            {
                agent: space_behind(self.connector, self.context, agent_space)
                if agent_space == old_space
                else agent_space
                for agent, agent_space in space.spaces.items()
            }
        )


def _new_obs(data: Any) -> Any:
    """The observation in what a connector gets."""
    return (data.raw_dict if isinstance(data, AgentConnectorsOutput) else data)["new_obs"]


def space_behind(connector: AgentConnector, ctx: ConnectorContext, space: Any) -> Any:
    """Return the space of observations after a connector.

    Custom connectors are assumed not to change it. After the connector that builds the policy's
    batch, it is the policy's space.
    """
    if isinstance(connector, AgentConnectorPipeline):
        if any(isinstance(piece, ViewRequirementAgentConnector) for piece in connector.connectors):
            return ctx.observation_space if ctx.observation_space is not None else space
        for piece in connector.connectors:
            space = space_behind(piece, ctx, space)
        return space
    if isinstance(connector, AdaptObservationsAgentConnector):
        chain = AdapterChain(obs=connector.chain.obs)
        return chain.bind(
            connector.observation_space, connector.observation_space
        ).observation_space
    if isinstance(connector, ObsPreprocessorConnector):
        return get_preprocessor_for_space(space, ctx.setting("model")).observation_space
    if isinstance(connector, MeanStdObservationFilterAgentConnector):
        return _unbounded(space)
    return space


def first_space(connector: AgentConnector, ctx: ConnectorContext) -> Any:
    """Return the space that a complete pipeline expects from the environment."""
    pieces = getattr(connector, "connectors", [connector])
    if pieces and isinstance(pieces[0], AdaptObservationsAgentConnector):
        return pieces[0].observation_space
    return ctx.raw_observation_space


def _unbounded(space: Any) -> Any:
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return spaces.Box(-np.inf, np.inf, space.shape, space.dtype)
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _unbounded(part) for name, part in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([_unbounded(part) for part in space.spaces])
    return space
