"""Buffers of multi-agent episodes: what each module's agents did, in a buffer of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ...core.data.checked import count
from ...core.data.damage import at
from ...core.errors import ConfigError, EpisodeError
from ..episodes.multi_agent import MultiAgentEpisode
from ..episodes.single_agent import SingleAgentEpisode
from .episode_replay_buffer import EpisodeReplayBuffer, NStep
from .prioritized_episode_buffer import PrioritizedEpisodeReplayBuffer


@dataclass
class _Held:
    """A multi-agent episode: its steps, and the ids of its agents' episodes by module."""

    env_steps: int = 0
    singles: dict[str, set[str]] = field(default_factory=dict)


class MultiAgentEpisodeReplayBuffer:
    """Holds multi-agent episodes and draws steps of each module's agents on their own.

    Whole episodes go, the oldest first, once they have more environment steps than the capacity;
    the last one stays.

    Args:
        capacity: How many steps of environments it holds.
        batch_size_B: How many steps of each module are drawn where nobody says how many.
        batch_length_T: Kept for RLlib's sake; `sample` says it.
        metrics_num_episodes_for_smoothing: Over how many adds and samples means are taken.
        seed: Of what is drawn; by default nobody knows.
        **settings: For the modules' buffers.

    Attributes:
        buffers: The modules' buffers by id.
    """

    kind: ClassVar[Callable[..., Any]] = EpisodeReplayBuffer
    """What each module has."""

    def __init__(
        self,
        capacity: int = 10_000,
        *,
        batch_size_B: int = 16,
        batch_length_T: int = 1,
        metrics_num_episodes_for_smoothing: int = 100,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        self.capacity = capacity
        self.batch_size_B = batch_size_B
        self.batch_length_T = batch_length_T
        self.buffers: dict[str, Any] = {}
        self._seeds = np.random.SeedSequence(seed)
        self._settings = {
            "metrics_num_episodes_for_smoothing": metrics_num_episodes_for_smoothing,
            **settings,
        }
        self._buffer()  # What it cannot take is told now.
        self._held: dict[str, _Held] = {}
        self._evicted = self._added = 0

    def _buffer(self) -> Any:
        (seed,) = self._seeds.spawn(1)
        buffer = type(self).kind(capacity=self.capacity, seed=seed, **self._settings)
        buffer.capacity = sys.maxsize  # What goes is decided here.
        return buffer

    def __len__(self) -> int:
        """How many steps of environments it holds."""
        return sum(each.env_steps for each in self._held.values())

    def get_module_ids(self) -> list[str]:
        """Return the ids of the modules that it has steps of."""
        return [*self.buffers]

    def get_num_episodes(self, module_id: str | None = None) -> int:
        """Give how many episodes it holds; of a module, those of its agents."""
        return len(self._held) if module_id is None else self._of(module_id).get_num_episodes()

    def get_num_episodes_evicted(self, module_id: str | None = None) -> int:
        """Give how many episodes went for others."""
        return self._evicted

    def get_num_timesteps(self, module_id: str | None = None) -> int:
        """Give how many steps of environments it holds; of a module, those of its agents."""
        return len(self) if module_id is None else len(self._of(module_id))

    def get_num_agent_timesteps(self) -> int:
        """Give how many steps of agents it holds."""
        return sum(map(len, self.buffers.values()))

    def get_added_timesteps(self, module_id: str | None = None) -> int:
        """Give how many steps were ever added, of environments or of a module's agents."""
        return self._added if module_id is None else self._of(module_id).get_added_timesteps()

    def get_sampled_timesteps(self, module_id: str | None = None) -> int:
        """Give how many steps were ever drawn, of all modules or of one."""
        chosen = self.buffers.values() if module_id is None else [self._of(module_id)]
        return sum(each.get_sampled_timesteps() for each in chosen)

    def get_metrics(self) -> dict[str, Any]:
        """Give what came, went and was drawn since the last call, by module."""
        return {module_id: buffer.get_metrics() for module_id, buffer in self.buffers.items()}

    def _of(self, module_id: str) -> Any:
        if module_id not in self.buffers:
            raise EpisodeError(
                f"the replay buffer has no steps of module {module_id!r}",
                expected=f"one of {sorted(self.buffers)}",
            )
        return self.buffers[module_id]

    # Coming and going

    def add(self, episodes: MultiAgentEpisode | Iterable[MultiAgentEpisode]) -> None:
        """Take episodes in, or the next stretches of episodes that are there; copies their data.

        Args:
            episodes: One or several.

        Raises:
            EpisodeError: A stretch does not go on where its episode stands.
        """
        listed = [episodes] if isinstance(episodes, MultiAgentEpisode) else list(episodes)
        by_module: dict[str, list[SingleAgentEpisode]] = {}
        for episode in listed:
            kept_episode = self._held.setdefault(episode.id_, _Held())
            kept_episode.env_steps += episode.env_steps()
            self._added += episode.env_steps()
            for single in episode.agent_episodes.values():
                if len(single):
                    module_id = str(single.module_id)
                    kept_episode.singles.setdefault(module_id, set()).add(single.id_)
                    by_module.setdefault(module_id, []).append(single)
        for module_id, singles in by_module.items():
            if module_id not in self.buffers:
                self.buffers[module_id] = self._buffer()
            self.buffers[module_id].add(singles)
        self._evict()

    def _evict(self) -> None:
        over = len(self) - self.capacity
        while over > 0 and len(self._held) > 1:
            oldest = self._held.pop(next(iter(self._held)))
            over -= oldest.env_steps
            self._evicted += 1
            for module_id, ids in oldest.singles.items():
                self.buffers[module_id].drop(ids)

    # Drawing

    def sample(
        self,
        num_items: int | None = None,
        *,
        batch_size_B: int | None = None,
        n_step: NStep | None = None,
        replay_mode: str = "independent",
        modules_to_sample: Collection[str] | None = None,
        sample_episodes: bool | None = True,
        **how: Any,
    ) -> list[SingleAgentEpisode]:
        """Draw so many steps, or sequences, of each module.

        Args:
            num_items: How many steps of each module; or `batch_size_B`, which is the same.
            batch_size_B: How many; the buffer's own where neither says.
            n_step: How many steps become one, or `(least, end)`.
            replay_mode: Only "independent": each module's steps are drawn on their own.
            modules_to_sample: Only of these.
            sample_episodes: Kept for RLlib's sake: episodes are given.
            **how: As of the modules' buffers: `gamma`, `beta`, `batch_length_T` and so on.

        Returns:
            Episodes of single agents, each with an id of its own.

        Raises:
            ConfigError: Another mode.
        """
        if replay_mode != "independent":
            raise ConfigError(
                "steps of several agents are drawn on their own",
                expected="replay_mode='independent'",
                found=repr(replay_mode),
            )
        if not self.buffers:
            raise EpisodeError("the replay buffer is empty: there is no step to draw")
        if num_items is None:
            num_items = batch_size_B or self.batch_size_B
        drawn: list[SingleAgentEpisode] = []
        for module_id in self.buffers if modules_to_sample is None else modules_to_sample:
            drawn += self._of(module_id).sample(
                num_items, n_step=n_step, sample_episodes=True, **how
            )
        for place, episode in enumerate(drawn):  # Rows of one id would be put together.
            episode.multi_agent_episode_id = f"{episode.multi_agent_episode_id}_{place}"
        return drawn

    # State

    def get_state(self) -> dict[str, Any]:
        """Return all it holds."""
        return {
            "modules": {
                module_id: buffer.get_state() for module_id, buffer in self.buffers.items()
            },
            "held": [
                [id_, each.env_steps, {key: sorted(ids) for key, ids in each.singles.items()}]
                for id_, each in self._held.items()
            ],
            "num_episodes_evicted": self._evicted,
            "num_timesteps_added": self._added,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave."""
        self.buffers.clear()
        for module_id, buffer_state in state["modules"].items():
            with at("modules", module_id):
                self.buffers[module_id] = self._buffer()
                self.buffers[module_id].set_state(buffer_state)
        with at("held"):
            self._held = {
                id_: _Held(count(steps), {key: set(ids) for key, ids in singles.items()})
                for id_, steps, singles in state["held"]
            }
        self._evicted = count(state["num_episodes_evicted"])
        self._added = count(state["num_timesteps_added"])


class MultiAgentPrioritizedEpisodeReplayBuffer(MultiAgentEpisodeReplayBuffer):
    """Draws each module's steps by priorities of their own.

    Args:
        capacity: How many steps of environments it holds.
        alpha: How much priorities matter: 0 not at all, 1 fully.
        **settings: As of `MultiAgentEpisodeReplayBuffer`.
    """

    kind: ClassVar[Callable[..., Any]] = PrioritizedEpisodeReplayBuffer

    @override
    def __init__(self, capacity: int = 10_000, *, alpha: float = 1.0, **settings: Any) -> None:
        super().__init__(capacity, alpha=alpha, **settings)

    def update_priorities(self, priorities: Any, module_id: str) -> None:
        """Give the steps of a module that were drawn last other priorities.

        Args:
            priorities: One for each step, in the order in which they were drawn.
            module_id: Whose they are.
        """
        self._of(module_id).update_priorities(priorities)
