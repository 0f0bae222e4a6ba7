"""Observations extended by previous actions and rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ....core import array_namespace as xp
from ....core.arrays.one_hot import one_hot_in_space
from ....core.errors import SpaceError
from ....core.step.part import Contribution, Part
from ....core.step.recall import Column, Look
from ....core.types import Nest
from ..batch_items import single_agent_episode_iterator
from ..common.written_observations import own_space, write_last
from ..connector import ConnectorV2


class PrevActionsPrevRewards(ConnectorV2):
    """Replace each last observation by a dict with the previous actions and rewards.

    Actions are one-hot rows, the oldest first; rows before the episode are zeros. As in RLlib,
    these rows are flat and concatenated in the space.

    Args:
        input_observation_space: Of what comes in; by agent id for several agents.
        input_action_space: Discrete; by agent id for several agents.
        multi_agent: Whether spaces are by agent id.
        n_prev_actions: How many actions.
        n_prev_rewards: How many rewards.

    Example:
        >>> piece = PrevActionsPrevRewards(spaces.Box(-1, 1, (2,)), spaces.Discrete(3))
        >>> sorted(piece.observation_space.spaces)
        ['_orig_obs', 'prev_n_actions', 'prev_n_rewards']
    """

    ORIG_OBS_KEY: Final = "_orig_obs"
    PREV_ACTIONS_KEY: Final = "prev_n_actions"
    PREV_REWARDS_KEY: Final = "prev_n_rewards"

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        multi_agent: bool = False,
        n_prev_actions: int = 1,
        n_prev_rewards: int = 1,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.multi_agent = multi_agent
        self.n_prev_actions = n_prev_actions
        self.n_prev_rewards = n_prev_rewards

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Space[Any]:
        if not self.multi_agent:
            return self._extended(input_observation_space, input_action_space)
        return spaces.Dict(
            {
                agent_id: self._extended(space, input_action_space[agent_id])
                for agent_id, space in input_observation_space.spaces.items()
            }
        )

    def _extended(self, observation: Any, action: Any) -> spaces.Dict:
        width = self.n_prev_actions * self._actions_in(action)
        return spaces.Dict(
            {
                self.ORIG_OBS_KEY: observation,
                self.PREV_ACTIONS_KEY: spaces.Box(0.0, 1.0, (width,), np.float32),
                self.PREV_REWARDS_KEY: spaces.Box(
                    -np.inf, np.inf, (self.n_prev_rewards,), np.float32
                ),
            }
        )

    def _actions_in(self, space: Any) -> int:
        if not isinstance(space, spaces.Discrete):
            raise SpaceError(
                f"{type(self).__name__} takes one-hot actions only",
                expected="a Discrete action space",
                found=str(space),
            )
        return int(space.n)

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        for episode in single_agent_episode_iterator(episodes):
            new = {self.ORIG_OBS_KEY: episode.get_observations(-1)}
            if self.n_prev_actions:
                new[self.PREV_ACTIONS_KEY] = self._actions_of(episode)
            if self.n_prev_rewards:
                new[self.PREV_REWARDS_KEY] = np.array(
                    episode.get_rewards(slice(-self.n_prev_rewards, None), fill=0.0)
                )
            write_last(episode, new, own_space(self.observation_space, episode))
        return batch

    def _actions_of(self, episode: Any) -> Any:
        space = own_space(self.input_action_space, episode)
        count = self._actions_in(space)
        rows = np.zeros((self.n_prev_actions, count), np.float32)
        present = min(self.n_prev_actions, episode.actions.len_incl_lookback())
        if present:
            actions = np.asarray(episode.get_actions(slice(-present, None)))
            rows[-present:] = one_hot_in_space(actions, space)
        return rows

    def part(self) -> Contribution | None:
        """Return the transformation of a single agent's observations as data, flat like the space.

        An action before the first one is a number that no action has, so that its row is all zeros.
        """
        space = self.input_action_space
        actions, rewards = self.n_prev_actions, self.n_prev_rewards
        if not isinstance(space, spaces.Discrete) or min(actions, rewards) < 1:
            return None  # the space has no row for none
        columns = (
            Column("actions", actions, np.asarray(-1, np.int32)),
            Column("rewards", rewards, np.float32(0)),
        )
        looks = (
            Look(self.PREV_ACTIONS_KEY, "actions", tuple(range(1 - actions, 1))),
            Look(self.PREV_REWARDS_KEY, "rewards", tuple(range(1 - rewards, 1))),
        )
        choices = np.arange(int(space.n), dtype=np.int32)
        width = actions * len(choices)

        def formula(obs: Nest, past: Mapping[str, Any], choices: Any) -> Nest:
            prev_actions = past[self.PREV_ACTIONS_KEY].reshape((-1, actions, 1))
            return {
                self.ORIG_OBS_KEY: obs,
                self.PREV_ACTIONS_KEY: xp.cast(prev_actions == choices, np.float32).reshape(
                    (-1, width)
                ),
                self.PREV_REWARDS_KEY: past[self.PREV_REWARDS_KEY].reshape((-1, rewards)),
            }

        name = type(self).__name__
        return Contribution(obs=(Part(name, formula, (choices,), columns=columns, looks=looks),))
