"""What a command works on: the policies of a checkpoint, with what its options say about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError
from .environments import Environment
from .options import Chosen, Loading

if TYPE_CHECKING:
    from ..bridge.loading.natives import Natives


@dataclass
class Source:
    """A checkpoint as the options of a command have it.

    Args:
        path: The checkpoint.
        chosen: Which policies.
        loading: How to load them.
        env: Where it acts, as it did when it learnt; None where that may have changed.
    """

    path: str
    chosen: Chosen
    loading: Loading
    env: Environment | None = None

    @cached_property
    def words(self) -> dict[str, Any]:
        """The options of a loader."""
        return self.loading.words()

    def natives(self) -> Natives:
        """The policies by id, as their stack has them, and which of them plays an agent."""
        from ..bridge.loading.natives import natives_in

        ids, agents = self.chosen.ids, self.loading.agents()
        try:
            return natives_in(self.path, ids, policy_mapping_fn=agents, **self.words)
        except ConfigError as error:
            trained_in = self.loading.trained_in
            learnt = self.env if trained_in is None else Environment(trained_in)
            if error.facts.get("lost") != "spaces" or learnt is None or learnt.env is None:
                raise
        spaces = self._spaces(learnt.make(self.path))
        return natives_in(self.path, ids, policy_mapping_fn=agents, **self.words, **spaces)

    def _spaces(self, env: Any) -> dict[str, Any]:
        """An environment's spaces as options of a loader: by policy where it has several agents."""
        from ..bridge.environments import agents_of, spaces_of_one

        agents = agents_of(env)
        if agents is None:
            seen, taken = spaces_of_one(env)
            return {"observation_space": seen, "action_space": taken}
        mapping = self.loading.agents() or {}
        sees, takes = agents

        def by_policy(spaces: Mapping[Any, Any]) -> dict[Any, Any]:
            return {mapping.get(agent, agent): space for agent, space in spaces.items()}

        return {"observation_space": by_policy(sees), "action_space": by_policy(takes)}
