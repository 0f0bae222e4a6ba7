"""SAC: its settings, and what an iteration does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import Self, Unpack, override

from ..config.learning_sections import TRAINING as SHARED
from ..config.rules import FLAG, NUMBER, POSITIVE, SCHEDULE, Rule
from ..config.section import Setting, takes
from .off_policy import REPLAY_SETTINGS, OffPolicy, OffPolicyConfig

if TYPE_CHECKING:
    from ..config import keywords

_RATES: Final = "set actor_lr, critic_lr and alpha_lr"
_NETWORKS: Final = "use config.rl_module(model_config=...)"
_OLD_NETWORK: Final[dict[str, Any]] = {
    "fcnet_hiddens": [256, 256],
    "fcnet_activation": "relu",
    "post_fcnet_hiddens": [],
    "post_fcnet_activation": None,
    "custom_model": None,
    "custom_model_config": {},
}
_BUFFER: Final = {
    "type": "PrioritizedEpisodeReplayBuffer",
    "capacity": 1_000_000,
    "alpha": 0.6,
    "beta": 0.4,
}
_DEFAULTS: Final = {
    "replay_buffer_config": _BUFFER,
    "num_steps_sampled_before_learning_starts": 1500,
    "target_network_update_freq": 0,
    "tau": 5e-3,
}
ENTROPY: Final = Rule(
    lambda value: value in ("auto", None) or NUMBER.test(value),
    "a number, or 'auto'",
    "float | Literal['auto']",
)


TRAINING: Final = SHARED.with_settings(
    **{
        name: replace(setting, default=_DEFAULTS.get(name, setting.default))
        for name, setting in REPLAY_SETTINGS.items()
    },
    lr=Setting(None, instead=_RATES),
    twin_q=Setting(True, FLAG, "Whether two networks estimate action values, the lower counts."),
    actor_lr=Setting(3e-5, SCHEDULE, "Learning rate of the policy, or [[step, rate], ...]."),
    critic_lr=Setting(3e-4, SCHEDULE, "That of action values."),
    alpha_lr=Setting(3e-4, SCHEDULE, "That of the worth of entropy."),
    initial_alpha=Setting(1.0, POSITIVE, "What entropy is worth at first."),
    target_entropy=Setting("auto", ENTROPY, "Entropy wanted; by itself -1 a number of an action."),
    q_model_config=Setting(_OLD_NETWORK, instead=_NETWORKS),
    policy_model_config=Setting(_OLD_NETWORK, instead=_NETWORKS),
    optimization_config=Setting(
        {
            "actor_learning_rate": 3e-4,
            "critic_learning_rate": 3e-4,
            "entropy_learning_rate": 3e-4,
        },
        attribute="optimization",
        instead=_RATES,
    ),
    _deterministic_loss=Setting(False, instead="set a small initial_alpha and alpha_lr"),
    _use_beta_distribution=Setting(False, instead="give the module a distribution class"),
    clip_actions=Setting(False, FLAG, "Whether actions are clipped to their space."),
)


class SACConfig(OffPolicyConfig):
    """The settings of soft actor-critic.

    Example:
        >>> SACConfig().training(critic_lr=1e-3).tau
        0.005
    """

    SECTIONS: ClassVar = {**OffPolicyConfig.SECTIONS, "training": TRAINING}
    own_classes: ClassVar = ("SAC", "DefaultSACTorchRLModule", "SACTorchLearner")
    own_defaults: ClassVar = {
        "rollout_fragment_length": "auto",
        "train_batch_size": 256,
        "train_batch_size_per_learner": 256,
        "min_time_s_per_iteration": 1,
        "min_sample_timesteps_per_iteration": 100,
    }
    burn_in_len: ClassVar = 0
    """It learns from single steps."""

    @override
    @takes(TRAINING)
    def training(self, **settings: Unpack[keywords.SACTraining]) -> Self:
        """Say how SAC learns."""
        return self.apply("training", self._for_training(settings))

    @property
    @override
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return {**super()._model_config_auto_includes, "twin_q": self.twin_q}


class SAC(OffPolicy):
    """Soft actor-critic.

    Example:
        >>> SAC.get_default_config().twin_q
        True
    """

    @classmethod
    @override
    def get_default_config(cls) -> SACConfig:
        return SACConfig()
