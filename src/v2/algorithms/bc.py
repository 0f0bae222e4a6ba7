"""BC: its settings; an iteration is that of MARWIL."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from typing_extensions import Self, override

from ..config.section import Setting, takes
from ..modules.spec import RLModuleSpec
from .marwil import TRAINING as MARWIL_TRAINING
from .marwil import LearningFromRecords, RecordedEpisodesConfig

TRAINING: Final = MARWIL_TRAINING.with_settings(
    beta=Setting(0.0, instead="use MARWILConfig to weigh actions by their advantages"),
)


class BCConfig(RecordedEpisodesConfig):
    """The settings of behaviour cloning.

    Example:
        >>> BCConfig().beta
        0.0
    """

    SECTIONS: ClassVar = {**RecordedEpisodesConfig.SECTIONS, "training": TRAINING}
    own_defaults: ClassVar = {"lr": 1e-4, "train_batch_size": 2000}

    @override
    @takes(TRAINING)
    def training(self, **settings: Any) -> Self:
        """Say how BC learns."""
        return super().training(**settings)

    @override
    def get_default_rl_module_spec(self) -> RLModuleSpec:
        from ..modules.bc import DefaultBCTorchRLModule

        return RLModuleSpec(DefaultBCTorchRLModule)

    @override
    def get_default_learner_class(self) -> Any:
        from .. import BCTorchLearner  # Needed only by those who learn.

        return BCTorchLearner


class BC(LearningFromRecords):
    """Behaviour cloning."""

    @classmethod
    @override
    def get_default_config(cls) -> BCConfig:
        return BCConfig()
