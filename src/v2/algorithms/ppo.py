"""PPO: its settings, and what an iteration does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import Self, Unpack, override

from ..config.algorithm_config import AlgorithmConfig
from ..config.learning_sections import TRAINING as SHARED
from ..config.rules import FLAG, NOT_NEGATIVE, POSITIVE, SHARE, TEACHER, WORTH, as_path
from ..config.section import Setting, takes
from ..metrics import names
from .algorithm import Algorithm

if TYPE_CHECKING:
    from ..config import keywords

TRAINING: Final = SHARED.with_settings(
    use_critic=Setting(True, FLAG, "Whether a value function is the baseline."),
    use_gae=Setting(True, instead="use lambda_=1.0, which is what RLlib does without GAE"),
    lambda_=Setting(1.0, SHARE, "Generalised advantages' trade of bias for variance."),
    use_kl_loss=Setting(True, FLAG, "Whether steps away from the old policy cost."),
    kl_coeff=Setting(0.2, NOT_NEGATIVE, "What they cost at first; it adapts."),
    kl_target=Setting(0.01, POSITIVE, "The distance it adapts to."),
    vf_loss_coeff=Setting(1.0, NOT_NEGATIVE, "Weight of the value function's loss."),
    entropy_coeff=Setting(0.0, WORTH, "Worth of entropy, or [[step, worth], ...]."),
    clip_param=Setting(0.3, POSITIVE, "How far a ratio of probabilities may leave 1."),
    vf_clip_param=Setting(10.0, POSITIVE, "Bound on the value function's squared error."),
    teacher=Setting(
        None,
        TEACHER,
        "A policy, or its path: how far the module is from what it would do is a term of the "
        "loss; not in RLlib.",
        convert=as_path,
    ),
    teacher_coeff=Setting(
        [[0, 1.0], [50_000, 0.0]], WORTH, "Weight of that term, or [[step, weight], ...]."
    ),
    entropy_coeff_schedule=Setting(None, instead="give entropy_coeff the schedule"),
    lr_schedule=Setting(None, instead="give lr the schedule"),
    vf_share_layers=Setting(None, instead='use rl_module(model_config={"vf_share_layers": ...})'),
)


class PPOConfig(AlgorithmConfig["PPO"]):
    """The settings of proximal policy optimisation.

    Example:
        >>> config = PPOConfig().environment("CartPole-v1").training(lr=[[0, 1e-3], [1e5, 1e-5]])
        >>> config.clip_param, config.num_epochs, config.get_rollout_fragment_length(1)
        (0.3, 30, 2000)
    """

    SECTIONS: ClassVar = {**AlgorithmConfig.SECTIONS, "training": TRAINING}
    own_classes: ClassVar = ("PPO", "DefaultPPOTorchRLModule", "PPOTorchLearner")
    own_defaults: ClassVar = {
        "lr": 5e-5,
        "rollout_fragment_length": "auto",
        "train_batch_size": 4000,
        "num_epochs": 30,
        "minibatch_size": 128,
        "shuffle_batch_per_epoch": True,
        "num_env_runners": 2,
    }

    @override
    @takes(TRAINING)
    def training(self, **settings: Unpack[keywords.PPOTraining]) -> Self:
        """Say how PPO learns."""
        return self.apply("training", self._for_training(settings))

    @property
    @override
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return {**super()._model_config_auto_includes, "vf_share_layers": False}


class PPO(Algorithm):
    """Proximal policy optimisation.

    Example:
        >>> PPO.get_default_config().clip_param
        0.3
    """

    @classmethod
    @override
    def get_default_config(cls) -> PPOConfig:
        return PPOConfig()

    @override
    def training_step(self) -> None:
        """Sample a train batch, learn from it, and give the new weights to the env runners."""
        episodes = self.sampler.train_batch()
        if not episodes:
            return
        learnt = self._learn(episodes)
        with self.metrics.log_time((names.TIMERS, names.SYNCH_WORKER_WEIGHTS_TIMER)):
            self._group.sync_weights(
                from_worker_or_learner_group=self.learner_group,
                policies=learnt,
                inference_only=True,
            )
