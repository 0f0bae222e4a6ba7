"""Change the last observation of each episode; the episode keeps the change."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Sequence
from functools import cache
from typing import Any

from gymnasium import spaces
from typing_extensions import override

from ....core.errors import SpaceError
from ....core.formulas.preprocessors import PreprocessPlan, preprocessor_for
from ..batch_items import single_agent_episode_iterator
from ..common.planned_observations import PlannedObservations
from ..common.written_observations import own_space, write_last
from ..connector import ConnectorV2, warn_once


class SingleAgentObservationPreprocessor(ConnectorV2):
    """Runs `preprocess` on the last observation of each agent that stepped.

    A subclass overrides `preprocess`, and `recompute_output_observation_space` where the new
    observations have another space.

    Example:
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> class Double(SingleAgentObservationPreprocessor):
        ...     def preprocess(self, observation, episode):
        ...         return observation * 2
        >>> episode = SingleAgentEpisode()
        >>> episode.add_env_reset(observation=7)
        >>> _ = Double()(rl_module=None, batch={}, episodes=[episode])
        >>> episode.get_observations()
        [14]
    """

    @abc.abstractmethod
    def preprocess(self, observation: Any, episode: Any) -> Any:
        """Make the new observation.

        Args:
            observation: The last one of an agent.
            episode: Of that agent; `agent_id` and `module_id` say whose it is.
        """

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        takes_episode = _takes_episode(type(self).preprocess)
        for episode in single_agent_episode_iterator(episodes):
            observation = episode.get_observations(-1)
            if takes_episode:
                new = self.preprocess(observation, episode)
            else:
                self._warn_of_old_spelling()
                new = self.preprocess(observation)  # type: ignore[call-arg]  # the old spelling
            write_last(episode, new, own_space(self.observation_space, episode))
        return batch

    def _warn_of_old_spelling(self) -> None:
        name = type(self).__name__
        warn_once(
            type(self),
            "preprocess",
            f"{name}.preprocess(observation) is an old spelling: define "
            "preprocess(observation, episode).",
        )


class MultiAgentObservationPreprocessor(ConnectorV2):
    """Runs `preprocess` on the last observations of all agents that stepped, as one dict."""

    @abc.abstractmethod
    def preprocess(self, observations: dict[Any, Any], episode: Any) -> dict[Any, Any]:
        """Make the new observations.

        Args:
            observations: The last ones by agent id; agents that did not step are missing.
            episode: The multi-agent episode.
        """

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        for episode in episodes:
            observations = self.preprocess(episode.get_observations(-1), episode)
            episode.set_observations(new_data=observations, at_indices=-1)
            new_space = self.observation_space
            if new_space is not None:
                episode.observation_space = new_space
            for agent_id in observations:
                single = episode.agent_episodes[agent_id]
                space = own_space(new_space, single)
                if space is not None:
                    single.observation_space = space
        return batch


ObservationPreprocessor = SingleAgentObservationPreprocessor
"""The older name."""


@cache
def _takes_episode(preprocess: Any) -> bool:
    """Return True if `preprocess` has a parameter for the episode."""
    parameters = inspect.signature(preprocess).parameters.values()
    is_open = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    return is_open or len(parameters) > 2


class PreprocessObservations(PlannedObservations):
    """Write each last observation into its episode as the old stack's preprocessor gives it.

    Discrete ones become one-hot, nested ones one flat vector with keys in the space's own order,
    Atari's pictures and memories are scaled; others stay. Where keys are sorted anyway,
    `FlattenObservations` does the same.

    Args:
        input_observation_space: Of what comes in; by agent id for several agents.
        multi_agent: Whether spaces are by agent id.
        dim: Side of a picture that comes out.
        grayscale: Whether pictures lose their colours.
        zero_mean: Whether pixels become -1 to 1 instead of 0 to 1.
        image_backend: "skimage" or "cv2": the library whose way of scaling to follow.

    Example:
        >>> space = spaces.Dict([("b", spaces.Discrete(2)), ("a", spaces.Discrete(3))])
        >>> PreprocessObservations(space).observation_space.shape
        (5,)
    """

    unknown = SpaceError

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        multi_agent: bool = False,
        dim: int = 84,
        grayscale: bool = False,
        zero_mean: bool = True,
        image_backend: str = "skimage",
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.multi_agent = multi_agent
        self.dim = dim
        self.grayscale = grayscale
        self.zero_mean = zero_mean
        self.image_backend = image_backend

    part = PlannedObservations.part

    @override
    def _plan(self, space: Any) -> PreprocessPlan:
        options = {"dim": self.dim, "grayscale": self.grayscale, "zero_mean": self.zero_mean}
        return preprocessor_for(space, options, image_backend=self.image_backend)
