"""From recorded data to train batches: episodes made of it, then the learner pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...core import nest
from ...core.columns import DEFAULT_MODULE_ID, Columns
from ...core.data.budget import one_load
from ...core.errors import ConfigError
from ...core.vault.decode.msgpack_file import decode_msgpack
from ..config.connector_builders import env_spaces
from ..connectors.learner.general_advantage_estimation import GeneralAdvantageEstimation
from ..connectors.stateful_modules import max_seq_len, stateful_module
from ..episodes.single_agent import SingleAgentEpisode
from ..replay.steps import Steps, train_batch
from .episode_buffer import Pick, RecordedEpisodeBuffer

_IDS = frozenset({Columns.EPS_ID, Columns.AGENT_ID, Columns.MODULE_ID, Columns.T})
_NO_OUTPUTS = _IDS | {"dones", "agent_index", "type", "unroll_id"}


class OfflinePreLearner:
    """Makes train batches of recorded data, with a module and a learner pipeline of its own.

    Rows become steps that each stand by itself. Episodes go into a buffer, from which steps are
    drawn, or sequences of them for a module with a state.

    Args:
        config: The algorithm's; `input_read_...` and `prelearner_...` say how.
        spaces: What is observed and done; the config's own by default.
        module_state: Weights of the modules by id; where targets are made of values they count.
        **_: For RLlib's sake.
    """

    default_prelearner_buffer_class: ClassVar[type] = RecordedEpisodeBuffer

    def __init__(
        self,
        *,
        config: Any,
        spaces: tuple[Any, Any] | None = None,
        module_state: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        self.config = config
        self.observation_space, self.action_space = spaces or env_spaces(config, None, None)
        module_spaces = {DEFAULT_MODULE_ID: (self.observation_space, self.action_space)}
        self._module: Any = config.get_multi_rl_module_spec(spaces=module_spaces).build()
        if module_state:
            self._module.set_state(module_state)
        self._learner_connector = config.build_learner_connector(
            input_observation_space=self.observation_space,
            input_action_space=self.action_space,
        )
        buffer_class = config.prelearner_buffer_class or self.default_prelearner_buffer_class
        size = config.train_batch_size_per_learner
        settings = {"capacity": 10 * size, "batch_size_B": size, "seed": config.seed}
        self.episode_buffer: Any = buffer_class(**{**settings, **config.prelearner_buffer_kwargs})

    @property
    def needs_values(self) -> bool:
        """Whether train batches hold what the modules think of them, and age with the weights."""
        pieces = self._learner_connector.connectors
        return any(isinstance(each, GeneralAdvantageEstimation) for each in pieces)

    def set_module_state(self, state: Mapping[str, Any]) -> None:
        """Take weights over, by module id."""
        self._module.set_state(state)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Make a train batch of columns as they are recorded.

        Args:
            batch: A row for each step; or column "item", an episode in msgpack in each row.

        Returns:
            Tensors by "module/column".
        """
        if "item" in batch:
            with one_load() as budget:
                states = [decode_msgpack(item, budget) for item in batch["item"]]
                by_module = self.of_episodes(
                    [SingleAgentEpisode.from_state(each) for each in states]
                )
        elif self.config.input_read_sample_batches:
            by_module = self.of_episodes(self._map_sample_batch_to_episode(batch)["episodes"])
        else:
            by_module = self.of_columns(batch)
        return {
            f"{module_id}/{name}": column
            for module_id, columns in by_module.items()
            for name, column in columns.items()
        }

    def of_columns(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The train batch of recorded columns, by module."""
        if type(self)._map_to_episodes is OfflinePreLearner._map_to_episodes:
            return self.of_steps(self._steps(batch))
        return self._of_ready(self._map_to_episodes(batch)["episodes"])

    def of_steps(self, steps: Steps) -> dict[str, Any]:
        """The train batch of steps that each stand by itself, by module."""
        return self._updated(train_batch(steps, self._learner_connector, self._module))

    def of_episodes(
        self, episodes: Iterable[SingleAgentEpisode], picks: Sequence[Pick] | None = None
    ) -> dict[str, Any]:
        """The train batch of what is drawn from the buffer, after episodes were put there.

        Args:
            episodes: Those that are new.
            picks: What to draw; by default it is left to the buffer's generator.
        """
        self.episode_buffer.add(self._without_states(episodes))
        buffer, config = self.episode_buffer, self.config
        length = 0
        if self._module.is_stateful():
            length = max_seq_len(stateful_module(self._module, None), self)
        shortest = getattr(config, "burnin_len", 0)
        if picks is not None:
            drawn = buffer.picked(picks, is_sequence=bool(length))
        else:
            drawn = buffer.sample(
                num_items=config.train_batch_size_per_learner,
                batch_length_T=length or None,
                n_step=1,
                sample_episodes=True,
                to_numpy=not isinstance(buffer, RecordedEpisodeBuffer),
                min_batch_length_T=shortest,
            )
        return self.of_steps(drawn) if isinstance(drawn, Steps) else self._of_ready(drawn)

    def _of_ready(self, episodes: list[SingleAgentEpisode]) -> dict[str, Any]:
        by_module: dict[str, Any] = self._learner_connector(
            rl_module=self._module, batch={}, episodes=episodes, shared_data={}
        )
        return self._updated(by_module)

    def _without_states(
        self, episodes: Iterable[SingleAgentEpisode]
    ) -> Iterable[SingleAgentEpisode]:
        is_dropping = (
            self._module.is_stateful() and not self.config.prelearner_use_recorded_module_states
        )
        for episode in episodes:
            if is_dropping:
                for name in (Columns.STATE_IN, Columns.STATE_OUT):
                    episode.extra_model_outputs.pop(name, None)
            yield episode

    def _updated(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {
            key: columns for key, columns in batch.items() if self.config.is_trained(key, batch)
        }

    def _map_to_episodes(self, batch: Mapping[str, Any], to_numpy: bool = False) -> dict[str, Any]:
        """Make episodes of recorded columns; a class of your own may make others.

        Args:
            batch: A row for each step.
            to_numpy: Whether the episodes' items become arrays.

        Returns:
            The episodes, under "episodes".
        """
        mapped = self._steps(batch).episodes()
        return {"episodes": [each.to_numpy() for each in mapped] if to_numpy else mapped}

    def _map_sample_batch_to_episode(
        self, batch: Mapping[str, Any], to_numpy: bool = False
    ) -> dict[str, Any]:
        """Make episodes of batches of the old stack; a class of your own may do so.

        Raises:
            ConfigError: Always: `rlconnect.offline.open_dataset` reads such files as episodes.
        """
        raise ConfigError(
            "columns of whole sample batches are not taken apart here",
            hint="name their files, which are read as episodes: config.offline_data(input_=PATH).",
        )

    def _steps(self, batch: Mapping[str, Any]) -> Steps:
        """Columns by our names, checked to be what steps need.

        Raises:
            ConfigError: One is missing.
        """
        schema = {ours: theirs for ours, theirs in self.config.input_read_schema.items()}
        renamed = {theirs: ours for ours, theirs in schema.items()}
        columns = {renamed.get(name, name): column for name, column in batch.items()}
        missing = [name for name in _NEEDED if name not in columns]
        if missing:
            raise ConfigError(
                f"the recorded steps have no {', '.join(map(repr, missing))}",
                found=", ".join(map(repr, sorted(columns))),
                hint="config.offline_data(input_read_schema={'obs': 'their name', ...}).",
            )
        rows = len(columns[Columns.REWARDS])
        ids = columns.get(Columns.EPS_ID)
        step_columns = {name: column for name, column in columns.items() if name not in _NO_OUTPUTS}
        if self.config.ignore_final_observation:
            step_columns[Columns.NEXT_OBS] = nest.map_structure(
                np.zeros_like, step_columns[Columns.OBS]
            )
        elif Columns.NEXT_OBS not in step_columns:
            raise ConfigError(
                "the recorded steps have no 'new_obs'",
                hint="config.offline_data(ignore_final_observation=True), if BC learns of them.",
            )
        for name, other in ((Columns.TERMINATEDS, "dones"), (Columns.TRUNCATEDS, "")):
            flags = columns.get(name, columns.get(other))
            step_columns[name] = np.zeros(rows, bool) if flags is None else np.asarray(flags, bool)
        return Steps(step_columns, () if ids is None else tuple(map(str, ids)))


_NEEDED = (Columns.OBS, Columns.ACTIONS, Columns.REWARDS)
