"""A module acting for many slots through pipelines that have no batched form."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from ...core import array_namespace as xp
from ...core import nest
from ...core.arrays.batching import batch, unbatch
from ...core.data.damage import at
from ...core.errors import PieceError
from ...core.runtime.sessions import MAX_SESSIONS, Sessions
from ...core.runtime.torch_draws import drawing
from ...core.step.plan import ActPlan
from ...core.step.slots import Key, default_keys
from ...core.types import Nest
from ...v2.episodes.single_agent import SingleAgentEpisode
from ..triple import V2Triple
from .module_brain import fetches_of, values_of
from .player import Player, Turn


class EpisodePlayer(Player):
    """Pipelines and a module run as they are: each slot is an episode."""

    def __init__(self, triple: V2Triple, plan: ActPlan) -> None:
        super().__init__(plan, is_planned=False)
        self.triple = triple
        self._sessions = Sessions(MAX_SESSIONS, "an actor")
        self._episodes: dict[Key, SingleAgentEpisode] = {}
        self._done: dict[Key, dict[str, Any]] = {}

    @property
    def sessions(self) -> Sessions:
        """The episodes by their use."""
        return self._sessions

    def act(self, obs: Nest, turn: Turn) -> Nest:
        """Actions for observations with a leading axis, through the pipelines."""
        keys, reward, ended, explore, rng, starts_anew = turn
        count = len(nest.a_leaf(obs))
        keys = default_keys(count) if keys is None else keys
        over = [] if ended is None else [keys[int(at)] for at in np.flatnonzero(ended)]
        if starts_anew:
            self._forget(over)
        rewards = np.zeros(count) if reward is None else np.asarray(xp.to_numpy(reward))
        self._forget(self._sessions.use(keys))
        observations = unbatch(nest.map_structure(xp.to_numpy, obs))
        episodes = [
            self._stepped(key, item, float(earned))
            for key, item, earned in zip(keys, observations, rewards, strict=True)
        ]
        env_to_module, module, module_to_env = self.triple
        shared: dict[str, Any] = {}
        common = {"rl_module": module, "episodes": episodes, "explore": explore}
        inputs = env_to_module(batch={}, shared_data=shared, **common)
        with drawing(int(rng.integers(2**63))):
            if explore:
                outputs = module.forward_exploration(inputs, t=self.timestep)
                self.timestep += count
            else:
                outputs = module.forward_inference(inputs)
            sent = module_to_env(batch=outputs, shared_data=shared, **common)
        actions = sent.pop("actions")
        for_env = sent.pop("actions_for_env", actions)
        if self.fetches is not None:
            columns = {name: batch(list(column)) for name, column in sent.items()}
            self.fetches.update({**fetches_of(columns), **values_of(module, inputs)})
        for row, key in enumerate(keys):
            extra = {name: column[row] for name, column in sent.items()}
            self._done[key] = {"action": actions[row], "extra_model_outputs": extra}
        if not starts_anew:
            self._forget(over)
        return batch([nest.map_structure(np.asarray, action) for action in for_env])

    def reset(self, env_ids: Iterable[Hashable] | None) -> None:
        """Forget the episodes of some environments; of all if None."""
        ended_envs = None if env_ids is None else set(env_ids)
        self._forget([key for key in self._episodes if ended_envs is None or key[0] in ended_envs])

    def state_dict(self) -> dict[str, Any]:
        """Every episode's state, and what was done last in it."""
        return {
            "slots": [list(key) for key in self._episodes],
            "episodes": [episode.get_state() for episode in self._episodes.values()],
            "done": [self._done.get(key) for key in self._episodes],
        }

    @at()
    def load_state_dict(self, state: Any) -> None:
        """Go on from what `state_dict` gave."""
        if "episodes" not in state:
            raise PieceError("this state is of another policy", expected="episodes")
        self.reset(None)
        triples = zip(state["slots"], state["episodes"], state["done"], strict=True)
        for (env_id, agent_id), episode, done in triples:
            key = (env_id, agent_id)
            self._sessions.use([key])
            self._episodes[key] = SingleAgentEpisode.from_state(episode)
            if done is not None:
                self._done[key] = done

    def to(self, device: str | None) -> None:
        """Let the module compute on a device."""
        self.triple.module.to(device or "cpu")

    def _stepped(self, key: Key, obs: Any, reward: float) -> SingleAgentEpisode:
        episode = self._episodes.get(key)
        if episode is None:
            episode = self._episodes[key] = SingleAgentEpisode(
                observation_space=self.observation_space, action_space=self.action_space
            )
            episode.add_env_reset(observation=obs)
        else:
            episode.add_env_step(observation=obs, reward=reward, **self._done[key])
        return episode

    def _forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._episodes.pop(key, None)
            self._done.pop(key, None)
            self._sessions.forget(key)
