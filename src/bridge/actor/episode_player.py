"""A module acting for many slots through pipelines that have no batched form."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
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


class RunningEpisodes:
    """Run pipelines and a module without a plan: each session is an episode.

    Attributes:
        triple: The pipelines and the module.
        episodes: The running episodes by session.
        done: The last action of each, as an argument of `add_env_step`.
    """

    def __init__(self, triple: V2Triple) -> None:
        self.triple = triple
        self.episodes: dict[Any, SingleAgentEpisode] = {}
        self.done: dict[Any, dict[str, Any]] = {}

    def seen(
        self, slots: Iterable[Any], observations: Iterable[Nest], rewards: Iterable[Any]
    ) -> list[SingleAgentEpisode]:
        """Add observations to the episodes, and create new ones."""
        episodes = []
        for slot, observation, reward in zip(slots, observations, rewards, strict=True):
            episode = self.episodes.get(slot)
            if episode is None:
                episode = self.episodes[slot] = SingleAgentEpisode(
                    observation_space=self.triple.observation_space,
                    action_space=self.triple.action_space,
                )
                episode.add_env_reset(observation=observation)
            else:
                episode.add_env_step(
                    observation=observation, reward=float(reward), **self.done[slot]
                )
            episodes.append(episode)
        return episodes

    def passed(
        self, episodes: Sequence[Any], forward: Callable[[Any], Any], *, explore: bool = False
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the module inputs for episodes, and the outputs of `forward`."""
        env_to_module, module, module_to_env = self.triple
        common = {
            "rl_module": module,
            "episodes": episodes,
            "explore": explore,
            "shared_data": {},
        }
        inputs = env_to_module(batch={}, **common)
        return inputs, module_to_env(batch=forward(inputs), **common)

    def did(self, slots: Iterable[Any], actions: Nest, columns: Mapping[str, Any]) -> None:
        """Record the actions of some sessions, and the other outputs."""
        rows = actions if isinstance(actions, list) else unbatch(actions)
        for row, (slot, action) in enumerate(zip(slots, rows, strict=True)):
            outputs = {name: column[row] for name, column in columns.items()}
            self.done[slot] = {"action": action, "extra_model_outputs": outputs}

    def forget(self, slots: Iterable[Any]) -> None:
        """Drop episodes; the next observation of their sessions starts new ones."""
        for slot in slots:
            self.episodes.pop(slot, None)
            self.done.pop(slot, None)


class EpisodePlayer(Player):
    """Run pipelines and a module without a plan: each session is an episode."""

    def __init__(self, triple: V2Triple, plan: ActPlan) -> None:
        super().__init__(plan, is_planned=False)
        self.triple = triple
        self._sessions = Sessions(MAX_SESSIONS, "an actor")
        self._running = RunningEpisodes(triple)

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
        episodes = self._running.seen(keys, observations, rewards)
        module = self.triple.module
        forward = module.forward_inference
        if explore:
            forward = partial(module.forward_exploration, t=self.timestep)
        with drawing(int(rng.integers(2**63))):
            inputs, sent = self._running.passed(episodes, forward, explore=explore)
        if explore:
            self.timestep += count
        actions = sent.pop("actions")
        for_env = sent.pop("actions_for_env", actions)
        if self.fetches is not None:
            columns = {name: batch(list(column)) for name, column in sent.items()}
            self.fetches.update({**fetches_of(columns), **values_of(module, inputs)})
        self._running.did(keys, actions, sent)
        if not starts_anew:
            self._forget(over)
        if isinstance(for_env, list):
            for_env = batch(for_env)
        return nest.map_structure(np.array, for_env)  # the rows of these are remembered

    def reset(self, env_ids: Iterable[Hashable] | None) -> None:
        """Forget the episodes of some environments; of all if None."""
        ended_envs, episodes = None if env_ids is None else set(env_ids), self._running.episodes
        self._forget([key for key in episodes if ended_envs is None or key[0] in ended_envs])

    def state_dict(self) -> dict[str, Any]:
        """Every episode's state, and what was done last in it."""
        episodes, done = self._running.episodes, self._running.done
        return {
            "slots": [list(key) for key in episodes],
            "episodes": [episode.get_state() for episode in episodes.values()],
            "done": [done.get(key) for key in episodes],
        }

    @at()
    def load_state_dict(self, state: Any) -> None:
        """Load a state saved by `state_dict`."""
        if "episodes" not in state:
            raise PieceError("this state is of another policy", expected="episodes")
        self.reset(None)
        triples = zip(state["slots"], state["episodes"], state["done"], strict=True)
        for (env_id, agent_id), episode, done in triples:
            key = (env_id, agent_id)
            self._sessions.use([key])
            self._running.episodes[key] = SingleAgentEpisode.from_state(episode)
            if done is not None:
                self._running.done[key] = done

    def to(self, device: str | None) -> None:
        """Let the module compute on a device."""
        self.triple.module.to(device or "cpu")

    def _forget(self, keys: Sequence[Key]) -> None:
        self._running.forget(keys)
        for key in keys:
            self._sessions.forget(key)
