"""IQL: its settings; an iteration is that of MARWIL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import Self, Unpack, override

from ..config.rules import AT_LEAST_0, FLAG, POSITIVE, SCHEDULE, SHARE, Rule
from ..config.section import Setting, takes
from .marwil import TRAINING as MARWIL_TRAINING
from .marwil import LearningFromRecords, MARWILConfig, RecordedEpisodesConfig

if TYPE_CHECKING:
    from ..config import keywords

_BETWEEN: Final = Rule(
    lambda value: isinstance(value, float) and 0 < value < 1, "a number between 0 and 1", "float"
)
_UNUSED: Final = "IQL has no such thing: leave it out"

TRAINING: Final = MARWIL_TRAINING.with_settings(
    lr=Setting(None, instead="set actor_lr, critic_lr and value_lr"),
    beta=Setting(0.1, POSITIVE, "How much better actions count more."),
    expectile=Setting(0.8, _BETWEEN, "How far values reach for the best that was done."),
    twin_q=Setting(True, FLAG, "Whether two networks estimate action values, the lower counts."),
    actor_lr=Setting(3e-4, SCHEDULE, "Learning rate of the policy, or [[step, rate], ...]."),
    critic_lr=Setting(3e-4, SCHEDULE, "That of action values."),
    value_lr=Setting(3e-4, SCHEDULE, "That of values."),
    tau=Setting(1.0, SHARE, "How far copies move towards their networks."),
    target_network_update_freq=Setting(0, AT_LEAST_0, "Steps learnt between their moves."),
)


class IQLConfig(RecordedEpisodesConfig):
    """The settings of implicit Q-learning.

    Example:
        >>> IQLConfig().training(expectile=0.9).beta
        0.1
    """

    SECTIONS: ClassVar = {**RecordedEpisodesConfig.SECTIONS, "training": TRAINING}
    own_classes: ClassVar = ("IQL", "DefaultIQLTorchRLModule", "IQLTorchLearner")
    own_defaults: ClassVar = {
        name: value for name, value in MARWILConfig.own_defaults.items() if name != "lr"
    }

    @override
    @takes(TRAINING)
    def training(self, **settings: Unpack[keywords.IQLTraining]) -> Self:
        """Say how IQL learns."""
        return self.apply("training", self._for_training(settings))

    @property
    @override
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return {**super()._model_config_auto_includes, "twin_q": self.twin_q}


class IQL(LearningFromRecords):
    """Implicit Q-learning."""

    @classmethod
    @override
    def get_default_config(cls) -> IQLConfig:
        return IQLConfig()
