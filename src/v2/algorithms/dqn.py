"""DQN: its settings; what an iteration does is every off-policy algorithm's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import Self, Unpack, override

from ...core.errors import ConfigError
from ..config.learning_sections import TRAINING as SHARED
from ..config.rules import AT_LEAST_0, AT_LEAST_1, FLAG, NOT_NEGATIVE, NUMBER, SCHEDULE, one_of
from ..config.section import Setting, takes
from ..modules.model_config import as_settings
from .off_policy import REPLAY_SETTINGS, OffPolicy, OffPolicyConfig

if TYPE_CHECKING:
    from ..config import keywords

_BUFFER: Final = {
    "type": "PrioritizedEpisodeReplayBuffer",
    "capacity": 50_000,
    "alpha": 0.6,
    "beta": 0.4,
}

TRAINING: Final = SHARED.with_settings(
    **{
        **REPLAY_SETTINGS,
        "replay_buffer_config": replace(REPLAY_SETTINGS["replay_buffer_config"], default=_BUFFER),
    },
    epsilon=Setting([(0, 1.0), (10000, 0.05)], SCHEDULE, "How often exploring acts at random."),
    adam_epsilon=Setting(1e-8, NOT_NEGATIVE, "Adam's epsilon."),
    double_q=Setting(True, FLAG, "Whether the network chooses what its copy judges."),
    dueling=Setting(True, FLAG, "Whether states have values of their own."),
    num_atoms=Setting(1, AT_LEAST_1, "More than 1 learns distributions over returns."),
    v_min=Setting(-10.0, NUMBER, "The least return of a distribution."),
    v_max=Setting(10.0, NUMBER, "The largest return of a distribution."),
    td_error_loss_fn=Setting("huber", one_of("huber", "mse"), "How errors cost."),
    burn_in_len=Setting(0, AT_LEAST_0, "Steps of sequences that only warm up a module's state."),
    noisy=Setting(False, instead="explore by epsilon, as RLlib's new stack does whatever is set"),
    sigma0=Setting(0.5, instead="leave it: networks have no noise"),
    hiddens=Setting([256], instead='use rl_module(model_config={"head_fcnet_hiddens": [...]})'),
    before_learn_on_batch=Setting(None, instead="use learners(learner_connector=...)"),
    categorical_distribution_temperature=Setting(1.0, instead="actions are the best ones"),
    lr_schedule=Setting(None, instead="give lr the schedule"),
)


class DQNConfig(OffPolicyConfig):
    """The settings of deep Q-networks.

    Example:
        >>> config = DQNConfig().environment("CartPole-v1").training(
        ...     replay_buffer_config={"capacity": 20_000}, n_step=3)
        >>> config.replay_buffer_config["alpha"], config.get_rollout_fragment_length()
        (0.6, 3)
    """

    SECTIONS: ClassVar = {**OffPolicyConfig.SECTIONS, "training": TRAINING}
    own_classes: ClassVar = ("DQN", "DefaultDQNTorchRLModule", "DQNTorchLearner")
    own_defaults: ClassVar = {
        "lr": 5e-4,
        "grad_clip": 40.0,
        "rollout_fragment_length": "auto",
        "train_batch_size": 32,
        "min_time_s_per_iteration": None,
        "min_sample_timesteps_per_iteration": 1000,
        "evaluation_config": {"explore": False},
    }

    @override
    @takes(TRAINING)
    def training(self, **settings: Unpack[keywords.DQNTraining]) -> Self:
        """Say how DQN learns."""
        return self.apply("training", self._for_training(settings))

    @property
    @override
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return {
            **super()._model_config_auto_includes,
            "double_q": self.double_q,
            "dueling": self.dueling,
            "epsilon": self.epsilon,
            "num_atoms": self.num_atoms,
            "std_init": self.sigma0,
            "v_max": self.v_max,
            "v_min": self.v_min,
        }

    @override
    def validate(self) -> None:
        super().validate()
        if not self._validate_config:
            return
        if self.num_atoms > 1 and self.v_min >= self.v_max:
            raise ConfigError(
                "config.training(v_min=..., v_max=...)",
                expected="v_min below v_max",
                found=f"{self.v_min} and {self.v_max}",
            )
        length = as_settings(self.model_config).get("max_seq_len", 0)
        if 0 < length <= self.burn_in_len:
            raise ConfigError(
                f"burn_in_len ({self.burn_in_len}) leaves nothing of sequences of {length} steps",
                hint="set a smaller burn_in_len, or a larger max_seq_len in model_config.",
            )


class DQN(OffPolicy):
    """Deep Q-networks.

    Example:
        >>> DQN.get_default_config().double_q
        True
    """

    @classmethod
    @override
    def get_default_config(cls) -> DQNConfig:
        return DQNConfig()
