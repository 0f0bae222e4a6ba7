"""The settings of every algorithm, their defaults and rules: one table per method of a config.

A setting without a meaning is accepted for RLlib's sake and changes nothing here; one that says
`instead` takes no other value than its default, because ignoring it would change results.
"""

from __future__ import annotations

from typing import Any, Final

from gymnasium.spaces import Space

from ..callbacks import HOOKS, RLlibCallback
from ..modules.model_config import as_settings
from . import rules
from .policies import as_policies, as_test, default_policy_mapping_fn
from .rules import (
    AT_LEAST_0,
    AT_LEAST_1,
    CALLABLE,
    CALLABLES,
    CLASS,
    FLAG,
    INTEGER,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Rule,
    one_of,
)
from .section import Section, Setting

_SPACE: Final = Rule(lambda value: isinstance(value, Space), "a gymnasium space")


def _idle(**defaults: Any) -> dict[str, Setting]:
    return {name: Setting(default) for name, default in defaults.items()}


def _dict(meaning: str, attribute: str = "", **more: Any) -> Setting:
    return Setting({}, rules.SETTINGS, meaning, attribute, merges=True, **more)


ENVIRONMENT: Final = Section(
    "environment",
    {
        "env": Setting(None, rules.ENVIRONMENT, "A name, class or function that makes one."),
        "env_config": _dict("What the environment gets; adds to what it got before."),
        "observation_space": Setting(None, _SPACE, "Where the environment's is not known."),
        "action_space": Setting(None, _SPACE, "Where the environment's is not known."),
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
        "env_runner_cls": Setting(None, CLASS, "A class of your own."),
        "num_env_runners": Setting(0, AT_LEAST_0, "How many run beside; 0 samples right here."),
        "create_local_env_runner": Setting(True, FLAG, "Whether there is one right here as well."),
        "num_envs_per_env_runner": Setting(1, AT_LEAST_1, "Environments stepped as one."),
        "gym_env_vectorize_mode": Setting("sync", None, '"sync" or "async".'),
        "num_cpus_per_env_runner": Setting(1, NOT_NEGATIVE, "What each asks Ray for."),
        "num_gpus_per_env_runner": Setting(0, NOT_NEGATIVE, "What each asks Ray for."),
        "custom_resources_per_env_runner": Setting({}, rules.SETTINGS, "What each asks Ray for."),
        "sample_timeout_s": Setting(60.0, NOT_NEGATIVE, "How long a sample may take."),
        "env_to_module_connector": Setting(
            None,
            CALLABLE,
            "(env, spaces, device) to one piece or several, before the default ones.",
            "_env_to_module_connector",
        ),
        "module_to_env_connector": Setting(
            None,
            CALLABLE,
            "(env, spaces) to one piece or several, before actions are normalised.",
            "_module_to_env_connector",
        ),
        "env_to_module_connector_end": Setting(
            None,
            CALLABLE,
            "(env, spaces, device) to pieces after the default ones; not in RLlib.",
            "_env_to_module_connector_end",
        ),
        "module_to_env_connector_end": Setting(
            None,
            CALLABLE,
            "(env, spaces) to pieces after the default ones; not in RLlib.",
            "_module_to_env_connector_end",
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
        "rollout_fragment_length": Setting(200, rules.FRAGMENT, "Steps of each environment."),
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
        **_idle(
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
        "num_envs_per_worker": "num_envs_per_env_runner",
        "num_cpus_per_worker": "num_cpus_per_env_runner",
        "num_gpus_per_worker": "num_gpus_per_env_runner",
    },
)

LEARNERS: Final = Section(
    "learners",
    {
        "num_learners": Setting(0, AT_LEAST_0, "How many learn beside; 0 learns right here."),
        "num_cpus_per_learner": Setting("auto", None, "What each asks Ray for."),
        "num_gpus_per_learner": Setting(0, NOT_NEGATIVE, "1 learns on a GPU."),
        "custom_resources_per_learner": Setting({}, rules.SETTINGS, "What each asks Ray for."),
        "local_gpu_idx": Setting(0, AT_LEAST_0, "Which GPU a learner right here takes."),
        "learner_class": Setting(None, None, "A class of your own.", "_learner_class"),
        "learner_connector": Setting(
            None,
            CALLABLE,
            "(observation space, action space) to one piece or several, before the default ones.",
            "_learner_connector",
        ),
        "learner_connector_end": Setting(
            None,
            CALLABLE,
            "(observation space, action space) to pieces after the default ones, before those a "
            "learner itself appends; not in RLlib.",
            "_learner_connector_end",
        ),
        "add_default_connectors_to_learner_pipeline": Setting(
            True, FLAG, "Whether default pieces are added."
        ),
        "learner_config_dict": _dict("For a learner of your own; adds to what is there."),
        **_idle(
            num_aggregator_actors_per_learner=0,
            max_requests_in_flight_per_aggregator_actor=3,
            max_requests_in_flight_per_learner=3,
        ),
    },
)

TRAINING: Final = Section(
    "training",
    {
        "gamma": Setting(0.99, SHARE, "Worth of a reward one step later."),
        "lr": Setting(0.001, rules.SCHEDULE, "Learning rate, or [[step, rate], ...]."),
        "grad_clip": Setting(None, POSITIVE, "Bound on gradients."),
        "grad_clip_by": Setting(
            "global_norm", one_of("value", "norm", "global_norm"), "What is bounded."
        ),
        "train_batch_size": Setting(32, AT_LEAST_1, "Steps per update of all learners."),
        "train_batch_size_per_learner": Setting(
            None, AT_LEAST_1, "Steps per update of each learner.", "_train_batch_size_per_learner"
        ),
        "num_epochs": Setting(1, AT_LEAST_1, "How often a train batch is gone through."),
        "minibatch_size": Setting(None, AT_LEAST_1, "Steps per gradient; None for all."),
        "shuffle_batch_per_epoch": Setting(False, FLAG, "Whether each pass has another order."),
        "model": Setting({}, instead="use config.rl_module(model_config=...)"),
        "optimizer": _dict("Settings for an optimiser of your own."),
    },
    {
        "num_sgd_iter": "num_epochs",
        "sgd_minibatch_size": "minibatch_size",
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
            None, rules.MODULE_SPEC, "Classes of your own, one or by id.", "_rl_module_spec"
        ),
        "algorithm_config_overrides_per_module": _dict(
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
            default_policy_mapping_fn, CALLABLE, "(agent id, episode) to module id."
        ),
        "policies_to_train": Setting(
            None, rules.TRAINED, "Ids, or (module id, batch) to a bool.", convert=as_test
        ),
        "count_steps_by": Setting(
            "env_steps", one_of("env_steps", "agent_steps"), "What a step is."
        ),
        "observation_fn": Setting(None, instead="use an env-to-module connector"),
        **_idle(policy_map_capacity=100, policy_states_are_swappable=False),
    },
)

CALLBACKS: Final = Section(
    "callbacks",
    {
        "callbacks_class": Setting(RLlibCallback, CALLABLES, "One class or a list of them."),
        **{
            name: Setting(None, CALLABLES, "One function or several.", f"callbacks_{name}")
            for name in HOOKS
        },
    },
)

EVALUATION: Final = Section(
    "evaluation",
    {
        "evaluation_interval": Setting(None, AT_LEAST_0, "Every so many iterations."),
        "evaluation_duration": Setting(
            10,
            Rule(lambda value: value == "auto" or AT_LEAST_1.test(value), "an integer or 'auto'"),
            "How much.",
        ),
        "evaluation_duration_unit": Setting(
            "episodes", one_of("episodes", "timesteps"), "Of what."
        ),
        "evaluation_config": Setting(
            None, None, "Settings that are different then, a dict or a config.", merges=True
        ),
        "evaluation_num_env_runners": Setting(0, AT_LEAST_0, "How many evaluate beside."),
        "evaluation_force_reset_envs_before_iteration": Setting(
            True, FLAG, "Whether evaluations begin with new episodes."
        ),
        "evaluation_parallel_to_training": Setting(False, FLAG, "Whether both go on at once."),
        "custom_evaluation_function": Setting(
            None, CALLABLE, "(algorithm, its evaluation runners) to results, steps."
        ),
        "evaluation_sample_timeout_s": Setting(120.0, NOT_NEGATIVE, "How long a sample may take."),
        "off_policy_estimation_methods": Setting({}, instead="compare policies by evaluation"),
        **_idle(
            evaluation_auto_duration_min_env_steps_per_sample=100,
            evaluation_auto_duration_max_env_steps_per_sample=2000,
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

DEBUGGING: Final = Section(
    "debugging",
    {
        "seed": Setting(None, INTEGER, "For environments, modules and sampling."),
        "fake_sampler": Setting(False, instead="sample"),
        **_idle(log_level="WARN", log_sys_usage=True),
    },
)

REPORTING: Final = Section(
    "reporting",
    {
        "metrics_num_episodes_for_smoothing": Setting(
            100, AT_LEAST_1, "Episodes that means of returns look back on."
        ),
        "min_time_s_per_iteration": Setting(None, NOT_NEGATIVE, "How long train() takes at least."),
        "min_train_timesteps_per_iteration": Setting(0, AT_LEAST_0, "Steps trained at least."),
        "min_sample_timesteps_per_iteration": Setting(0, AT_LEAST_0, "Steps sampled at least."),
        "log_gradients": Setting(False, FLAG, "Whether gradients' norms are reported."),
        "custom_stats_cls_lookup": Setting(
            None, rules.SETTINGS, "Further reductions of metrics by name.", "stats_cls_lookup"
        ),
        **_idle(keep_per_episode_custom_metrics=False, metrics_episode_collection_timeout_s=60.0),
    },
)

CHECKPOINTING: Final = Section(
    "checkpointing",
    {
        "export_native_model_files": Setting(
            False, instead="torch.save(algo.get_module().state_dict(), ...)"
        ),
        **_idle(checkpoint_trainable_policies_only=False),
    },
)

FAULT_TOLERANCE: Final = Section(
    "fault_tolerance",
    {
        "restart_failed_env_runners": Setting(True, FLAG, "Whether lost ones are replaced."),
        "ignore_env_runner_failures": Setting(False, FLAG, "Whether to go on without them."),
        "max_num_env_runner_restarts": Setting(1000, AT_LEAST_0, "How often."),
        "restart_failed_sub_environments": Setting(
            False, FLAG, "Whether an environment that raises is made anew."
        ),
        "env_runner_health_probe_timeout_s": Setting(30.0, NOT_NEGATIVE, "Patience with a ping."),
        "env_runner_restore_timeout_s": Setting(1800.0, NOT_NEGATIVE, "Patience with a new one."),
        **_idle(
            delay_between_env_runner_restarts_s=60.0,
            num_consecutive_env_runner_failures_tolerance=100,
        ),
    },
    {
        "recreate_failed_env_runners": "restart_failed_env_runners",
        "recreate_failed_workers": "restart_failed_env_runners",
        "ignore_worker_failures": "ignore_env_runner_failures",
        "max_num_worker_restarts": "max_num_env_runner_restarts",
        "worker_health_probe_timeout_s": "env_runner_health_probe_timeout_s",
        "worker_restore_timeout_s": "env_runner_restore_timeout_s",
    },
)

RESOURCES: Final = Section(
    "resources",
    {
        "num_gpus": Setting(0, instead="use config.learners(num_gpus_per_learner=...)"),
        "_fake_gpus": Setting(False, instead="learn on the CPU"),
        **_idle(
            num_cpus_for_main_process=1,
            custom_resources_for_main_process={},
            placement_strategy="PACK",
        ),
    },
)

FRAMEWORK: Final = Section(
    "framework",
    {
        "framework": Setting(
            "torch",
            attribute="framework_str",
            instead="rlconnect computes with torch only",
        ),
        "torch_compile_learner": Setting(False, instead="override the Learner's build()"),
        "torch_compile_worker": Setting(False, instead="override the RLModule's setup()"),
        "torch_skip_nan_gradients": Setting(False, FLAG, "Whether updates with NaN are left out."),
        **_idle(
            eager_tracing=True,
            eager_max_retraces=20,
            tf_session_args={},
            local_tf_session_args={},
            torch_compile_learner_what_to_compile="forward_train",
            torch_compile_learner_dynamo_mode=None,
            torch_compile_learner_dynamo_backend="inductor",
            torch_compile_worker_dynamo_backend="onnxrt",
            torch_compile_worker_dynamo_mode=None,
            torch_ddp_kwargs={},
        ),
    },
)

API_STACK: Final = Section(
    "api_stack",
    {
        "enable_rl_module_and_learner": Setting(
            True, FLAG, instead="the old stack's policies live in rlconnect.legacy"
        ),
        "enable_env_runner_and_connector_v2": Setting(
            True, FLAG, instead="the old stack's policies live in rlconnect.legacy"
        ),
    },
)

EXPERIMENTAL: Final = Section(
    "experimental",
    {
        "_validate_config": Setting(True, FLAG, "Whether validate() looks at anything."),
        "_torch_lr_scheduler_classes": Setting(None, None, "Of torch, one list or one by module."),
        "_torch_grad_scaler_class": Setting(None, CLASS, "Of torch, for mixed precision."),
        "_disable_action_flattening": Setting(False, instead="write a connector"),
        **_idle(
            _use_msgpack_checkpoints=False,
            _tf_policy_handles_more_than_one_loss=False,
            _disable_preprocessor_api=False,
            _disable_initialize_loss_from_dummy_batch=False,
        ),
    },
)

PYTHON_ENVIRONMENT: Final = Section(
    "python_environment",
    _idle(extra_python_environs_for_driver={}, extra_python_environs_for_worker={}),
)

OFFLINE_DATA: Final = Section(
    "offline_data",
    {
        "input_": Setting("sampler", None, "Where recorded episodes are."),
        "input_read_episodes": Setting(False, FLAG, "Whether files hold episodes."),
        "dataset_num_iters_per_learner": Setting(None, AT_LEAST_1, "Updates per train()."),
        "postprocess_inputs": Setting(False, FLAG, "Whether returns are computed."),
        "actions_in_input_normalized": Setting(False, FLAG, "Whether actions are in -1 to 1."),
        "input_spaces_jsonable": Setting(True, FLAG, "Whether files hold spaces as JSON."),
        "input_read_batch_size": Setting(None, AT_LEAST_1, "Rows read at once."),
        "input_read_schema": _dict("Column of the files by ours."),
        "offline_data_class": Setting(None, CLASS, "A reader of your own."),
        "output": Setting(None, None, "Where sampled episodes are recorded."),
        **_idle(
            input_read_method="read_parquet",
            input_read_method_kwargs={},
            input_read_sample_batches=False,
            input_filesystem=None,
            input_filesystem_kwargs={},
            input_compress_columns=["obs", "new_obs"],
            materialize_data=False,
            materialize_mapped_data=True,
            map_batches_kwargs={},
            iter_batches_kwargs={},
            ignore_final_observation=False,
            prelearner_class=None,
            prelearner_buffer_class=None,
            prelearner_buffer_kwargs={},
            prelearner_module_synch_period=10,
            prelearner_use_recorded_module_states=False,
            input_config={},
            shuffle_buffer_size=0,
            output_config={},
            output_compress_columns=["obs", "new_obs"],
            output_max_file_size=67108864,
            output_max_rows_per_file=None,
            output_write_remaining_data=False,
            output_write_method="write_parquet",
            output_write_method_kwargs={},
            output_filesystem=None,
            output_filesystem_kwargs={},
            output_write_episodes=True,
            offline_sampling=False,
        ),
    },
)

ALL: Final = (
    PYTHON_ENVIRONMENT,
    RESOURCES,
    FRAMEWORK,
    API_STACK,
    ENVIRONMENT,
    ENV_RUNNERS,
    LEARNERS,
    TRAINING,
    CALLBACKS,
    EVALUATION,
    OFFLINE_DATA,
    MULTI_AGENT,
    REPORTING,
    CHECKPOINTING,
    DEBUGGING,
    FAULT_TOLERANCE,
    RL_MODULE,
    EXPERIMENTAL,
)
"""Every section of every algorithm."""
