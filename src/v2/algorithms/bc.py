"""BC: its settings; an iteration is that of MARWIL."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import Self, Unpack, override

from ..config.section import Setting, takes
from .marwil import TRAINING as MARWIL_TRAINING
from .marwil import LearningFromRecords, RecordedEpisodesConfig

if TYPE_CHECKING:
    from ..config import keywords

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
    own_classes: ClassVar = ("BC", "DefaultBCTorchRLModule", "BCTorchLearner")
    own_defaults: ClassVar = {"lr": 1e-4, "train_batch_size": 2000}

    @override
    @takes(TRAINING)
    def training(self, **settings: Unpack[keywords.BCTraining]) -> Self:
        """Say how BC learns."""
        return self.apply("training", self._for_training(settings))


class BC(LearningFromRecords):
    """Behaviour cloning."""

    @classmethod
    @override
    def get_default_config(cls) -> BCConfig:
        return BCConfig()
