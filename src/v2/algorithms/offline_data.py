"""Recorded episodes to learn from: where they are, and which come next."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Space

from ...core.arrays.batching import batch
from ...core.data.damage import at
from ...core.data.recorded_data import open_recorded
from ...core.errors import ConfigError
from ...core.formulas.actions import get_base_struct_from_space, normalize_action
from ...core.vault.files.remote import is_url
from ..config.file_settings import is_told
from ..envs.generator_states import generator_state, set_generator_state
from ..episodes.multi_agent import MultiAgentEpisode
from ..episodes.single_agent import SingleAgentEpisode
from .episode_files import SUFFIX, read_episodes

if TYPE_CHECKING:
    from ..recorded.train_batches import TrainBatches


def recorded_episodes(given: Any, config: Any) -> list[Any]:
    """The episodes that a config's `input_` means.

    Args:
        given: Episodes; a path or paths of files of them or folders of such files; or a function
            of the config that gives any of these, for a teacher that acts while it is watched.
        config: What a function is called with.

    Raises:
        ConfigError: It is none of these, or there is no episode.
    """
    found = given(config) if callable(given) else given
    if isinstance(found, (SingleAgentEpisode, MultiAgentEpisode)):
        found = [found]
    if isinstance(found, (str, os.PathLike)) and str(found) != "sampler":
        found = [found]
    if isinstance(found, (str, Mapping)) or not isinstance(found, Iterable):
        raise ConfigError(
            "config.offline_data(input_=...)",
            expected="episodes, paths of recorded ones, or a function that gives them",
            found=repr(given),
        )
    episodes: list[Any] = []
    for each in found:
        if isinstance(each, (str, os.PathLike)):
            is_ours = _is_ours(each)
            episodes.extend(read_episodes(each) if is_ours else open_recorded(each).episodes())
        elif isinstance(each, (SingleAgentEpisode, MultiAgentEpisode)):
            episodes.append(each)
        else:
            raise ConfigError(
                "config.offline_data(input_=...)",
                expected="episodes",
                found=type(each).__name__,
            )
    episodes = [each for each in episodes if len(each)]
    if not episodes:
        raise ConfigError("config.offline_data(input_=...)", expected="episodes", found="none")
    return episodes


def _is_ours(path: Any) -> bool:
    """Whether a file, or one in a folder, is of those that `write_episodes` writes."""
    place = Path(path)
    if is_url(os.fspath(path)):
        return False
    return place.suffix == SUFFIX or (os.path.isdir(place) and any(place.glob(f"*{SUFFIX}")))


def _recorded_elsewhere(given: Any) -> list[Any] | None:
    """The paths that `input_` means, if all of it are paths of files not written by us."""
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    if not isinstance(given, (list, tuple)) or not given or "sampler" in given:
        return None
    if not all(isinstance(each, (str, os.PathLike)) for each in given):
        return None
    return None if any(map(_is_ours, given)) else list(given)


class OfflineData:
    """Hands out what was recorded.

    Episodes that are given, or lie in files of ours, are handed out whole, all in some order, then
    all in another. Files of RLlib's and of others become train batches as RLlib makes them.

    Args:
        config: With `input_`, and whether its actions are in -1 to 1 already.
        action_space: What recorded actions are in, so that they can be brought there.
        observation_space: What is observed.

    Attributes:
        episodes: All there are; none where train batches are made.
        batches: Makes train batches; None where episodes are handed out.
    """

    def __init__(
        self,
        config: Any,
        action_space: Space[Any] | None = None,
        observation_space: Space[Any] | None = None,
    ) -> None:
        self._told = config.input_ if is_told(config.input_) else None
        self.batches: TrainBatches | None = None
        paths = None if self._told else _recorded_elsewhere(config.input_)
        action_space = config.action_space if action_space is None else action_space
        seen = config.observation_space if observation_space is None else observation_space
        if paths is not None and not config.is_multi_agent:
            from ..recorded.train_batches import TrainBatches  # It loads torch.

            data = open_recorded(paths, columns=config.input_read_schema)
            self.batches = TrainBatches(config, data, (seen, action_space))
        is_read = self._told or self.batches is not None
        episodes = [] if is_read else recorded_episodes(config.input_, config)
        if config.normalize_actions and not config.actions_in_input_normalized:
            episodes = [_normalized(each, action_space) for each in episodes]
        for each in episodes:
            each.to_numpy()
        self.episodes = episodes
        self._rng = np.random.default_rng(config.seed)
        self._order: list[int] = []

    def sample(self, num_samples: int, **_: Any) -> Any:
        """Return the next train batch by module, or episodes, whole ones, with so many steps.

        Args:
            num_samples: How many steps episodes have at least.
            **_: For RLlib's sake.

        Raises:
            ConfigError: A checkpoint names the episodes, and nobody has given them.
        """
        if self._told:
            raise ConfigError(
                "the checkpoint names the episodes that it learnt from, which are not read",
                found=repr(self._told)[:200],
                hint="give them: from_checkpoint(path, settings={'input_': ...}).",
            )
        if self.batches is not None:
            return self.batches.sample()
        chosen: list[Any] = []
        steps = 0
        while steps < num_samples:
            if not self._order:
                self._order = self._rng.permutation(len(self.episodes)).tolist()
            episode = self.episodes[self._order.pop()]
            # Learner pieces may change what they get, and one may come twice in a batch.
            chosen.append(episode.slice(slice(None)))
            steps += len(episode)
        return chosen

    def get_state(self) -> dict[str, Any]:
        """Give what is still to come of this round, and the generator's state."""
        return {"order": list(self._order), "generator": generator_state(self._rng)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `get_state` gave; an order of other episodes begins a new round.

        Raises:
            CorruptCheckpointError: It gave something else.
        """
        with at("the state of recorded episodes"):
            order, generator = [int(each) for each in state["order"]], state["generator"]
        set_generator_state(self._rng, generator)
        if not set(order) <= set(range(len(self.episodes))):
            order = []
        self._order = order


def _normalized(episode: Any, space: Space[Any] | None) -> Any:
    """An episode whose actions are as a module has them: bounded ones in -1 to 1."""
    if isinstance(episode, MultiAgentEpisode):
        for single in episode.agent_episodes.values():
            _normalize(single, single.action_space)
        return episode
    made = episode.slice(slice(None))
    _normalize(made, made.action_space if space is None else space)
    return made


def _normalize(episode: Any, space: Space[Any] | None) -> None:
    if space is None:
        return
    given = episode.get_actions()
    actions = batch(given) if isinstance(given, list) else given
    episode.set_actions(new_data=normalize_action(actions, get_base_struct_from_space(space)))
