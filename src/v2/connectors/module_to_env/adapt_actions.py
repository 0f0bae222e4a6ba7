"""Actions of a module as a changed environment takes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Space
from typing_extensions import override

from ....core import nest
from ....core.adapters import AdapterChain, BoundChain
from ....core.arrays.batching import batch as batched
from ....core.arrays.batching import unbatch
from ....core.columns import Columns
from ....core.errors import PieceError
from ....core.step.part import Contribution, Part
from ....core.types import Nest
from ..connector import ConnectorV2


class AdaptActions(ConnectorV2):
    """Takes `actions_for_env`, or `actions` where there are none, through an adapter.

    It comes after `NormalizeAndClipActions`, before or after `ListifyDataForVectorEnv` (a config's
    `module_to_env_connector_end`). What goes into episodes stays the module's own action.

    Args:
        input_action_space: What the module gives, in its own environment's bounds.
        chain: The adapter, or its data. Only its steps on actions count here.
        policy_action_space: What the module gives, where a pipeline sets the input space to
            that of the changed environment.
        multi_agent: Whether spaces are by agent id.
        agent_ids: Adapt these agents only; all if None.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> from rlconnect.core.adapters import MapActions
        >>> piece = AdaptActions(None, Discrete(2), chain=AdapterChain(action=[MapActions([0, 2])]))
        >>> batch = piece(rl_module=None, batch={"actions": {("e0",): [1]}}, episodes=[])
        >>> {name: int(items["e0",][0]) for name, items in batch.items()}
        {'actions': 1, 'actions_for_env': 2}
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        chain: AdapterChain | Mapping[str, Any],
        policy_action_space: Space[Any] | None = None,
        multi_agent: bool = False,
        agent_ids: Collection[Any] | None = None,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.chain = chain if isinstance(chain, AdapterChain) else AdapterChain.from_data(chain)
        self.policy_action_space = policy_action_space
        self.multi_agent = multi_agent
        self.agent_ids = agent_ids
        self._acts: dict[Any, Any] = {}
        self._acts_on: Any = None

    @override
    def recompute_output_action_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Any:
        space = self._given(input_action_space)
        if not (self.multi_agent and isinstance(space, Dict)):
            return self._fitted(space).action_space
        return Dict(
            {
                agent: self._fitted(agent_space).action_space
                if self._is_mine(agent)
                else agent_space
                for agent, agent_space in space.spaces.items()
            }
        )

    @override
    def __call__(self, *, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Adapt all actions.

        Raises:
            PieceError: There are none, or it does not know their space.
        """
        actions = batch.get(Columns.ACTIONS_FOR_ENV, batch.get(Columns.ACTIONS))
        if actions is None:
            raise PieceError(
                f"{type(self).__name__} needs a column 'actions'",
                found=f"columns {sorted(map(str, batch))}",
            )
        batch[Columns.ACTIONS_FOR_ENV] = self._adapted(actions)
        return batch

    def part(self) -> Contribution:
        """What it does to the actions of a single agent, as data."""
        return Contribution(
            action=tuple(Part.of(type(self).__name__, step) for step in self.adapter.actions)
        )

    @property
    def adapter(self) -> BoundChain:
        """Its steps, fitted to what a single agent's module gives."""
        return self._fitted(self._given(self.input_action_space))

    def _adapted(self, actions: Any) -> Any:
        """A column of actions, in any of the forms they have on their way."""
        if isinstance(actions, Mapping) and all(isinstance(key, tuple) for key in actions):
            pairs = [(key, item) for key, items in actions.items() for item in items]
            adapted: dict[Any, list[Any]] = {key: [] for key in actions}
            agents = [key[1] if len(key) > 1 and self.multi_agent else None for key, _ in pairs]
            for (key, _), item in zip(pairs, self._items(agents, pairs), strict=True):
                adapted[key].append(item)
            return adapted
        if self.multi_agent:  # a list with a dict by agent for each episode
            pairs = [
                (agent, action) for by_agent_id in actions for agent, action in by_agent_id.items()
            ]
            items = iter(self._items([agent for agent, _ in pairs], pairs))
            return [{agent: next(items) for agent in by_agent_id} for by_agent_id in actions]
        stack = batched(actions) if isinstance(actions, list) else actions
        return self._act_of(None)(nest.map_structure(np.asarray, stack))

    def _items(self, agents: list[Any], pairs: list[tuple[Any, Nest]]) -> list[Nest]:
        """Single actions, those of one agent as one batch."""
        items: list[Nest] = [item for _, item in pairs]
        for agent in dict.fromkeys(agents):
            if agent is not None and not self._is_mine(agent):
                continue
            places = [place for place, each in enumerate(agents) if each == agent]
            rows = nest.map_structure(np.asarray, batched([items[place] for place in places]))
            for place, row in zip(places, unbatch(self._act_of(agent)(rows)), strict=True):
                items[place] = row
        return items

    def _act_of(self, agent: Any) -> Any:
        """The adapter fitted to what an agent's module gives; None for a single agent."""
        space = self._given(self.input_action_space)
        if space is None:
            raise PieceError(
                f"{type(self).__name__} does not know the space of actions",
                hint="give it, or its pipeline, an input_action_space.",
            )
        if self._acts_on is not space:
            self._acts, self._acts_on = {}, space
        if agent not in self._acts:
            agent_space = space if agent is None else space[agent]
            self._acts[agent] = self._fitted(agent_space).act
        return self._acts[agent]

    def _given(self, space: Any) -> Any:
        return space if self.policy_action_space is None else self.policy_action_space

    def _is_mine(self, agent: Any) -> bool:
        return self.agent_ids is None or agent in self.agent_ids

    def _fitted(self, space: Any) -> BoundChain:
        return AdapterChain(action=self.chain.action).bind(space, space)

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments, the adapter as plain data."""
        args, kwargs = super().get_ctor_args_and_kwargs()
        return args, {**kwargs, "chain": self.chain.to_data()}
