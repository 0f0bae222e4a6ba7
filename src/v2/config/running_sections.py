"""Settings of callbacks, reporting, fault tolerance and resources."""

from __future__ import annotations

from typing import Final

from ..saving import class_slots as slots
from . import rules
from .callbacks import HOOKS, RLlibCallback
from .rules import (
    AT_LEAST_0,
    AT_LEAST_1,
    CALLABLES,
    FLAG,
    INTEGER,
    NOT_NEGATIVE,
    POSITIVE,
)
from .section import Section, Setting, idle

CALLBACKS: Final = Section(
    "callbacks",
    {
        "callbacks_class": Setting(
            RLlibCallback, CALLABLES, "One class or a list of them.", slot=slots.CALLBACKS
        ),
        **{
            name: Setting(
                None,
                CALLABLES,
                "One function or several.",
                f"callbacks_{name}",
                slot=slots.FUNCTION,
            )
            for name in HOOKS
        },
    },
)

DEBUGGING: Final = Section(
    "debugging",
    {
        "seed": Setting(None, INTEGER, "For environments, modules and sampling."),
        "fake_sampler": Setting(False, instead="sample"),
        **idle(log_level="WARN", log_sys_usage=True),
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
        **idle(keep_per_episode_custom_metrics=False, metrics_episode_collection_timeout_s=60.0),
    },
)

CHECKPOINTING: Final = Section(
    "checkpointing",
    {
        "export_native_model_files": Setting(
            False, instead="torch.save(algo.get_module().state_dict(), ...)"
        ),
        **idle(checkpoint_trainable_policies_only=False),
    },
)

FAULT_TOLERANCE: Final = Section(
    "fault_tolerance",
    {
        "restart_failed_env_runners": Setting(True, FLAG, "Whether lost ones are replaced."),
        "ignore_env_runner_failures": Setting(False, FLAG, "Whether to continue without them."),
        "max_num_env_runner_restarts": Setting(1000, AT_LEAST_0, "How often."),
        "restart_failed_sub_environments": Setting(
            False, FLAG, "Whether to recreate an environment that raises."
        ),
        "env_step_timeout_s": Setting(
            None, POSITIVE, "When a step or reset times out; environments run in processes."
        ),
        "env_runner_restore_timeout_s": Setting(1800.0, NOT_NEGATIVE, "Patience with a new one."),
        "num_consecutive_env_runner_failures_tolerance": Setting(
            100, AT_LEAST_0, "How many errors of one env runner in a row are tolerated."
        ),
        **idle(
            delay_between_env_runner_restarts_s=60.0,
            env_runner_health_probe_timeout_s=30.0,
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
        **idle(
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
        **idle(
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
        "_torch_lr_scheduler_classes": Setting(
            None, instead="set lr to a schedule: [[0, 1e-3], ...]"
        ),
        "_torch_grad_scaler_class": Setting(
            None, instead="override the Learner's compute_gradients()"
        ),
        "_disable_action_flattening": Setting(False, instead="write a connector"),
        **idle(
            _use_msgpack_checkpoints=False,
            _tf_policy_handles_more_than_one_loss=False,
            _disable_preprocessor_api=False,
            _disable_initialize_loss_from_dummy_batch=False,
        ),
    },
)

PYTHON_ENVIRONMENT: Final = Section(
    "python_environment",
    idle(extra_python_environs_for_driver={}, extra_python_environs_for_worker={}),
)
