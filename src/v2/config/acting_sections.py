"""Settings of environments, env runners, modules and evaluation."""

from __future__ import annotations

from typing import Final

from gymnasium.spaces import Space

from ..modules.model_config import as_settings
from ..saving import class_slots as slots
from . import rules
from .policies import as_policies, as_test, default_policy_mapping_fn
from .rules import (
    AT_LEAST_0,
    AT_LEAST_1,
    CALLABLE,
    CLASS,
    FLAG,
    NOT_NEGATIVE,
    Rule,
    one_of,
)
from .section import Section, Setting, idle, settings_dict

_SPACE: Final = Rule(lambda value: isinstance(value, Space), "a gymnasium space", "Space[Any]")

ENVIRONMENT: Final = Section(
    "environment",
    {
        "env": Setting(
            None,
            rules.ENVIRONMENT,
            "A name, class or function that makes one.",
            slot=slots.ENVIRONMENT,
        ),
        "env_config": settings_dict("Arguments of the environment; merged with earlier ones."),
        "observation_space": Setting(None, _SPACE, "If the environment does not define it."),
        "action_space": Setting(None, _SPACE, "If the environment does not define it."),
        "normalize_actions": Setting(True, FLAG, "Modules act in -1 to 1; stretched to bounds."),
        "clip_actions": Setting(False, FLAG, "Whether actions are cut to their bounds."),
        "render_env": Setting(False, instead="render in the environment"),
        "clip_rewards": Setting(
            None, instead="wrap the environment: gymnasium.wrappers.TransformReward"
        ),
        "disable_env_checking": Setting(False, FLAG, "Whether environments go unchecked."),
        "is_atari": Setting(None, attribute="_is_atari"),
        "action_mask_key": Setting("action_mask"),
    },
)

ENV_RUNNERS: Final = Section(
    "env_runners",
    {
        "env_runner_cls": Setting(None, CLASS, "A custom class.", slot=slots.ENV_RUNNER),
        "num_env_runners": Setting(0, AT_LEAST_0, "Number of remote env runners; 0 for local."),
        "create_local_env_runner": Setting(True, FLAG, "Whether there is one right here as well."),
        "num_envs_per_env_runner": Setting(1, AT_LEAST_1, "Environments stepped as one."),
        "gym_env_vectorize_mode": Setting("sync", None, '"sync" or "async".'),
        "num_cpus_per_env_runner": Setting(1, NOT_NEGATIVE, "Ray resources of each."),
        "num_gpus_per_env_runner": Setting(0, NOT_NEGATIVE, "Ray resources of each."),
        "custom_resources_per_env_runner": Setting({}, rules.SETTINGS, "Ray resources of each."),
        "sample_timeout_s": Setting(60.0, NOT_NEGATIVE, "How long a sample may take."),
        "env_to_module_connector": Setting(
            None,
            CALLABLE,
            "(env, spaces, device) to one piece or several, before the default ones.",
            "_env_to_module_connector",
            slot=slots.FUNCTION,
        ),
        "module_to_env_connector": Setting(
            None,
            CALLABLE,
            "(env, spaces) to one piece or several, before actions are normalised.",
            "_module_to_env_connector",
            slot=slots.FUNCTION,
        ),
        "env_to_module_connector_end": Setting(
            None,
            CALLABLE,
            "(env, spaces, device) to pieces after the default ones; not in RLlib.",
            "_env_to_module_connector_end",
            slot=slots.FUNCTION,
        ),
        "module_to_env_connector_end": Setting(
            None,
            CALLABLE,
            "(env, spaces) to pieces after the default ones; not in RLlib.",
            "_module_to_env_connector_end",
            slot=slots.FUNCTION,
        ),
        "add_default_connectors_to_env_to_module_pipeline": Setting(
            True, FLAG, "Whether default pieces are added."
        ),
        "add_default_connectors_to_module_to_env_pipeline": Setting(
            True, FLAG, "Whether default pieces are added."
        ),
        "episode_lookback_horizon": Setting(1, AT_LEAST_0, "Steps a cut episode looks back."),
        "merge_env_runner_states": Setting(
            "training_only", one_of("training_only", True, False), "Whether filters are shared."
        ),
        "broadcast_env_runner_states": Setting(True, FLAG, "Whether shared filters go back."),
        "rollout_fragment_length": Setting(200, rules.COUNT_OR_AUTO, "Steps of each environment."),
        "batch_mode": Setting(
            "truncate_episodes",
            one_of("truncate_episodes", "complete_episodes"),
            "Whether a sample may end within an episode.",
        ),
        "explore": Setting(True, FLAG, "Whether actions are sampled, not the likeliest."),
        "episodes_to_numpy": Setting(True, FLAG, "Whether episodes hold arrays, not lists."),
        "observation_filter": Setting(
            "NoFilter",
            instead="use env_to_module_connector=lambda env, spaces, device: MeanStdFilter()",
        ),
        "exploration_config": Setting({}, instead="explore in the RLModule's forward_exploration"),
        "remote_worker_envs": Setting(False, instead='use gym_env_vectorize_mode="async"'),
        **idle(
            validate_env_runners_after_construction=True,
            max_requests_in_flight_per_env_runner=1,
            create_env_on_local_worker=False,
            use_env_runner_state_server=False,
            env_runner_state_server_max_concurrency=16,
            compress_observations=False,
            use_worker_filter_stats=True,
            update_worker_filter_stats=True,
            sample_collector=None,
            remote_env_batch_wait_ms=0,
            preprocessor_pref="deepmind",
            enable_tf1_exec_eagerly=False,
            sampler_perf_stats_ema_coef=None,
        ),
    },
    {
        "num_rollout_workers": "num_env_runners",
        "num_workers": "num_env_runners",
        "num_envs_per_worker": "num_envs_per_env_runner",
        "num_cpus_per_worker": "num_cpus_per_env_runner",
        "num_gpus_per_worker": "num_gpus_per_env_runner",
    },
)

RL_MODULE: Final = Section(
    "rl_module",
    {
        "model_config": Setting(
            {},
            rules.MODEL_CONFIG,
            "Settings of the default networks; a dict adds to the algorithm's own, a "
            "DefaultModelConfig says them all (it shares layers with the value network).",
            "_model_config",
            merges=True,
            convert=as_settings,
        ),
        "rl_module_spec": Setting(
            None, rules.MODULE_SPEC, "Custom classes, one or by id.", "_rl_module_spec"
        ),
        "algorithm_config_overrides_per_module": settings_dict(
            "Module id to a dict of settings that are its own."
        ),
    },
    {"model_config_dict": "model_config"},
)

MULTI_AGENT: Final = Section(
    "multi_agent",
    {
        "policies": Setting(
            as_policies({"default_policy"}),
            rules.POLICIES,
            "Module ids, perhaps with a PolicySpec each.",
            convert=as_policies,
        ),
        "policy_mapping_fn": Setting(
            default_policy_mapping_fn,
            CALLABLE,
            "(agent id, episode) to module id.",
            slot=slots.FUNCTION,
        ),
        "policies_to_train": Setting(
            None,
            rules.TRAINED,
            "Ids, or (module id, batch) to a bool.",
            convert=as_test,
            slot=slots.FUNCTION,
        ),
        "count_steps_by": Setting(
            "env_steps", one_of("env_steps", "agent_steps"), "The unit of steps."
        ),
        "observation_fn": Setting(None, instead="use an env-to-module connector"),
        "algorithm_config_overrides_per_module": RL_MODULE.settings[  # Its former section.
            "algorithm_config_overrides_per_module"
        ],
        **idle(policy_map_capacity=100, policy_states_are_swappable=False),
    },
)

EVALUATION: Final = Section(
    "evaluation",
    {
        "evaluation_interval": Setting(None, AT_LEAST_0, "Every so many iterations."),
        "evaluation_duration": Setting(
            10,
            rules.COUNT_OR_AUTO,
            "Episodes or steps; 'auto' runs as long as parallel training takes.",
        ),
        "evaluation_duration_unit": Setting(
            "episodes", one_of("episodes", "timesteps"), "Of what."
        ),
        "evaluation_parallel_to_training": Setting(
            False, FLAG, "Whether evaluations run while the next iteration trains."
        ),
        "evaluation_auto_duration_min_env_steps_per_sample": Setting(
            100, AT_LEAST_1, "With 'auto', at least so many steps a runner and sample."
        ),
        "evaluation_auto_duration_max_env_steps_per_sample": Setting(
            2000, AT_LEAST_1, "With 'auto', at most so many steps a runner and sample."
        ),
        "evaluation_config": Setting(
            None, None, "Settings that are different then, a dict or a config.", merges=True
        ),
        "evaluation_num_env_runners": Setting(0, AT_LEAST_0, "Number of remote env runners."),
        "evaluation_force_reset_envs_before_iteration": Setting(
            True, FLAG, "Whether evaluations start with new episodes."
        ),
        "custom_evaluation_function": Setting(
            None,
            CALLABLE,
            "(algorithm, its evaluation runners) to results, steps.",
            slot=slots.FUNCTION,
        ),
        "evaluation_sample_timeout_s": Setting(120.0, NOT_NEGATIVE, "How long a sample may take."),
        "off_policy_estimation_methods": Setting({}, instead="compare policies by evaluation"),
        **idle(
            evaluation_unhealthy_workers_timeout_s=0.0,
            evaluation_error_after_n_consecutive_skips=None,
            ope_split_batch_by_episode=True,
            num_offline_eval_runners=0,
            offline_evaluation_type="eval_loss",
            offline_eval_runner_class=None,
            offline_loss_for_module_fn=None,
            offline_eval_batch_size_per_runner=256,
            dataset_num_iters_per_offline_eval_runner=1,
            offline_eval_rl_module_inference_only=False,
            num_cpus_per_offline_eval_runner=1,
            num_gpus_per_offline_eval_runner=0,
            custom_resources_per_offline_eval_runner={},
            offline_evaluation_timeout_s=120.0,
            max_requests_in_flight_per_offline_eval_runner=1,
            broadcast_offline_eval_runner_states=False,
            validate_offline_eval_runners_after_construction=True,
            restart_failed_offline_eval_runners=True,
            ignore_offline_eval_runner_failures=False,
            max_num_offline_eval_runner_restarts=1000,
            offline_eval_runner_health_probe_timeout_s=30.0,
            offline_eval_runner_restore_timeout_s=1800.0,
        ),
        "offline_evaluation_interval": Setting(
            None, instead="evaluate in an environment: evaluation_interval"
        ),
    },
    {"evaluation_num_workers": "evaluation_num_env_runners"},
)
