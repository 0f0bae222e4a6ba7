"""Learning from recorded episodes: MARWIL, its settings, and what an iteration does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import Self, Unpack, override

from ..config.algorithm_config import AlgorithmConfig
from ..config.connector_builders import call_with_fitting
from ..config.learning_sections import TRAINING as SHARED
from ..config.rules import AT_LEAST_0, NOT_NEGATIVE, POSITIVE, SHARE
from ..config.section import Setting, takes
from ..connectors.common.add_observations import AddObservationsFromEpisodesToBatch
from ..connectors.learner.add_columns import AddNextObservationsFromEpisodesToTrainBatch
from ..connectors.learner.add_one_ts import AddOneTsToEpisodesAndTruncate
from ..connectors.learner.general_advantage_estimation import GeneralAdvantageEstimation
from ..connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline
from ..metrics import names
from ..saving.checkpointable import Components
from .algorithm import Algorithm
from .offline_data import OfflineData

if TYPE_CHECKING:
    from ..config import keywords

TRAINING: Final = SHARED.with_settings(
    beta=Setting(1.0, SHARE, "How much better actions count more; 0 clones behaviour."),
    bc_logstd_coeff=Setting(0.0, NOT_NEGATIVE, "Worth of deviations of continuous actions."),
    moving_average_sqd_adv_norm_update_rate=Setting(1e-8, POSITIVE, "How fast the norm moves."),
    moving_average_sqd_adv_norm_start=Setting(100.0, POSITIVE, "The norm of squared advantages."),
    vf_coeff=Setting(1.0, NOT_NEGATIVE, "Weight of the value function's loss."),
    lambda_=Setting(1.0, SHARE, "Generalised advantages' trade of bias for variance."),
    burnin_len=Setting(0, AT_LEAST_0),
)


class RecordedEpisodesConfig(AlgorithmConfig["Algorithm"]):
    """The settings of what learns from recorded episodes."""

    SECTIONS: ClassVar = {**AlgorithmConfig.SECTIONS, "training": TRAINING}

    @property
    @override
    def is_online(self) -> bool:
        return False

    @override
    @takes(TRAINING)
    def training(self, **settings: Unpack[keywords.MARWILTraining]) -> Self:
        """Say how it learns."""
        return self.apply("training", self._for_training(settings))

    @override
    def _add_learner_pieces(self, pipeline: LearnerConnectorPipeline) -> None:
        super()._add_learner_pieces(pipeline)
        pipeline.insert_after(
            AddObservationsFromEpisodesToBatch, AddNextObservationsFromEpisodesToTrainBatch()
        )


class MARWILConfig(RecordedEpisodesConfig):
    """The settings of monotonic advantage re-weighted imitation learning.

    Example:
        >>> MARWILConfig().training(beta=0.5).is_offline
        True
    """

    own_classes: ClassVar = ("MARWIL", "DefaultPPOTorchRLModule", "MARWILTorchLearner")
    own_defaults: ClassVar = {
        "lr": 1e-4,
        "train_batch_size": 2000,
        "materialize_data": True,
        "materialize_mapped_data": False,
        "postprocess_inputs": True,
    }

    @override
    def _add_learner_pieces(self, pipeline: LearnerConnectorPipeline) -> None:
        super()._add_learner_pieces(pipeline)
        pipeline.prepend(AddOneTsToEpisodesAndTruncate())
        pipeline.append(GeneralAdvantageEstimation(gamma=self.gamma, lambda_=self.lambda_))


class LearningFromRecords(Algorithm):
    """Learns from recorded episodes; see `config.offline_data(input_=...)` for what these may be.

    Attributes:
        offline_data: Hands out the episodes.
    """

    is_sampling: ClassVar[bool] = False

    @override
    def setup(self, config: Any) -> None:
        super().setup(config)
        runner = self.env_runner
        seen, done = config.observation_space, config.action_space
        if runner is not None and not config.is_multi_agent:
            seen = runner.env.single_observation_space if seen is None else seen
            done = runner.env.single_action_space if done is None else done
        made = config.offline_data_class or OfflineData
        self.offline_data: Any = call_with_fitting(made, (config, done, seen))

    @override
    def training_step(self) -> None:
        """Learn from the next episodes, and give the new weights to what evaluates."""
        size = self.config.total_train_batch_size
        batches = getattr(self.offline_data, "batches", None)
        for _ in range(self.config.dataset_num_iters_per_learner or 1):
            if batches is not None and batches.is_stale:
                batches.set_module_state(self.get_weights())
            with self.metrics.log_time((names.TIMERS, names.OFFLINE_SAMPLING_TIMER)):
                given = self.offline_data.sample(size)
            are_episodes = isinstance(given, list)
            self._learn(given if are_episodes else None, None if are_episodes else given)
        self._sync_all_weights()

    @override
    def _steps_so_far(self) -> int:
        return self._trained() + int(self.config.total_train_batch_size)

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        state = super().get_state(components, not_components=not_components, **kwargs)
        state["offline_data"] = self.offline_data.get_state()
        return state

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        if "offline_data" in state:
            self.offline_data.set_state(state["offline_data"])


class MARWIL(LearningFromRecords):
    """Monotonic advantage re-weighted imitation learning."""

    @classmethod
    @override
    def get_default_config(cls) -> MARWILConfig:
        return MARWILConfig()
