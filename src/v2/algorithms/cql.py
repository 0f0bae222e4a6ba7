"""CQL: its settings; an iteration learns from recorded steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import Self, Unpack, override

from ..config.rules import AT_LEAST_0, AT_LEAST_1, FLAG, NOT_NEGATIVE, POSITIVE, SCHEDULE
from ..config.section import Setting, takes
from .marwil import LearningFromRecords
from .off_policy import REPLAY_SETTINGS
from .sac import TRAINING as SAC_TRAINING
from .sac import SACConfig

if TYPE_CHECKING:
    from ..config import keywords

_RECORDED: Final = "CQL learns from recorded steps and keeps none: leave it out"
_UNKNOWN: Final = "set min_q_weight; RLlib's new stack has no multiplier either"

TRAINING: Final = SAC_TRAINING.with_settings(
    **{
        name: Setting(SAC_TRAINING.settings[name].default, instead=_RECORDED)
        for name in REPLAY_SETTINGS
        if name not in ("tau", "target_network_update_freq")
    },
    actor_lr=Setting(1e-4, SCHEDULE, "Learning rate of the policy, or [[step, rate], ...]."),
    critic_lr=Setting(1e-3, SCHEDULE, "That of action values."),
    alpha_lr=Setting(1e-3, SCHEDULE, "That of the worth of entropy."),
    bc_iters=Setting(20000, AT_LEAST_0, "Gradient steps for which the policy only clones."),
    temperature=Setting(1.0, POSITIVE, "How much the largest of overestimated values stand out."),
    num_actions=Setting(10, AT_LEAST_1, "Actions drawn a step, of each of three kinds."),
    min_q_weight=Setting(5.0, NOT_NEGATIVE, "Weight of what holds action values back."),
    deterministic_backup=Setting(True, FLAG, "Whether entropy is left out of targets."),
    lagrangian=Setting(False, instead=_UNKNOWN),
    lagrangian_thresh=Setting(5.0, instead=_UNKNOWN),
)


class CQLConfig(SACConfig):
    """The settings of conservative Q-learning.

    Example:
        >>> CQLConfig().training(bc_iters=0).is_offline
        True
    """

    SECTIONS: ClassVar = {**SACConfig.SECTIONS, "training": TRAINING}
    own_classes: ClassVar = ("CQL", "DefaultCQLTorchRLModule", "CQLTorchLearner")
    own_defaults: ClassVar = {
        **SACConfig.own_defaults,
        "min_sample_timesteps_per_iteration": 0,
        "min_train_timesteps_per_iteration": 100,
    }

    @property
    @override
    def is_online(self) -> bool:
        return False

    @override
    @takes(TRAINING)
    def training(self, **settings: Unpack[keywords.CQLTraining]) -> Self:
        """Say how CQL learns."""
        return self.apply("training", self._for_training(settings))

    @property
    @override
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return {**super()._model_config_auto_includes, "num_actions": self.num_actions}


class CQL(LearningFromRecords):
    """Conservative Q-learning."""

    @classmethod
    @override
    def get_default_config(cls) -> CQLConfig:
        return CQLConfig()
