# Made of the tables of settings by `make stubs`.
from _typeshed import DataclassInstance
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from gymnasium.spaces import Space

from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.spec import RLModuleSpec

class _Domain(Protocol):
    @property
    def domain_str(self) -> str: ...

Function: TypeAlias = Callable[..., Any]
Open: TypeAlias = _Domain | Mapping[str, Any]  # a search space of Ray Tune's
Schedule: TypeAlias = float | Sequence[Sequence[float]]

class PythonEnvironment(TypedDict, total=False):
    extra_python_environs_for_driver: Any
    extra_python_environs_for_worker: Any

class Resources(TypedDict, total=False):
    num_gpus: Any
    _fake_gpus: Any
    num_cpus_for_main_process: Any
    custom_resources_for_main_process: Any
    placement_strategy: Any

class Framework(TypedDict, total=False):
    torch_compile_learner: Any
    torch_compile_worker: Any
    torch_skip_nan_gradients: bool | Open
    eager_tracing: Any
    eager_max_retraces: Any
    tf_session_args: Any
    local_tf_session_args: Any
    torch_compile_learner_what_to_compile: Any
    torch_compile_learner_dynamo_mode: Any
    torch_compile_learner_dynamo_backend: Any
    torch_compile_worker_dynamo_backend: Any
    torch_compile_worker_dynamo_mode: Any
    torch_ddp_kwargs: Any

class ApiStack(TypedDict, total=False):
    enable_rl_module_and_learner: bool | Open
    enable_env_runner_and_connector_v2: bool | Open

class Environment(TypedDict, total=False):
    env_config: Mapping[str, Any] | Open
    observation_space: Space[Any] | None | Open
    action_space: Space[Any] | None | Open
    normalize_actions: bool | Open
    clip_actions: bool | Open
    render_env: Any
    clip_rewards: Any
    disable_env_checking: bool | Open
    is_atari: Any
    action_mask_key: Any

class EnvRunners(TypedDict, total=False):
    env_runner_cls: type[Any] | None | Open
    num_env_runners: int | Open
    create_local_env_runner: bool | Open
    num_envs_per_env_runner: int | Open
    gym_env_vectorize_mode: Any
    num_cpus_per_env_runner: float | Open
    num_gpus_per_env_runner: float | Open
    custom_resources_per_env_runner: Mapping[str, Any] | Open
    sample_timeout_s: float | Open
    env_to_module_connector: Function | None | Open
    module_to_env_connector: Function | None | Open
    env_to_module_connector_end: Function | None | Open
    module_to_env_connector_end: Function | None | Open
    add_default_connectors_to_env_to_module_pipeline: bool | Open
    add_default_connectors_to_module_to_env_pipeline: bool | Open
    episode_lookback_horizon: int | Open
    merge_env_runner_states: Literal['training_only', True, False] | Open
    broadcast_env_runner_states: bool | Open
    rollout_fragment_length: int | Literal['auto'] | Open
    batch_mode: Literal['truncate_episodes', 'complete_episodes'] | Open
    explore: bool | Open
    episodes_to_numpy: bool | Open
    observation_filter: Any
    exploration_config: Any
    remote_worker_envs: Any
    validate_env_runners_after_construction: Any
    max_requests_in_flight_per_env_runner: Any
    create_env_on_local_worker: Any
    use_env_runner_state_server: Any
    env_runner_state_server_max_concurrency: Any
    compress_observations: Any
    use_worker_filter_stats: Any
    update_worker_filter_stats: Any
    sample_collector: Any
    remote_env_batch_wait_ms: Any
    preprocessor_pref: Any
    enable_tf1_exec_eagerly: Any
    sampler_perf_stats_ema_coef: Any

class Learners(TypedDict, total=False):
    num_learners: int | Open
    num_cpus_per_learner: Any
    num_gpus_per_learner: float | Open
    custom_resources_per_learner: Mapping[str, Any] | Open
    local_gpu_idx: int | Open
    learner_class: Any
    learner_connector: Function | None | Open
    learner_connector_end: Function | None | Open
    add_default_connectors_to_learner_pipeline: bool | Open
    learner_config_dict: Mapping[str, Any] | Open
    num_aggregator_actors_per_learner: Any
    max_requests_in_flight_per_aggregator_actor: Any
    max_requests_in_flight_per_learner: Any

class Training(TypedDict, total=False):
    gamma: float | Open
    lr: Schedule | Open
    grad_clip: float | None | Open
    grad_clip_by: Literal['value', 'norm', 'global_norm'] | Open
    train_batch_size: int | Open
    train_batch_size_per_learner: int | None | Open
    num_epochs: int | Open
    minibatch_size: int | None | Open
    shuffle_batch_per_epoch: bool | Open
    model: Any
    optimizer: Mapping[str, Any] | Open

class Callbacks(TypedDict, total=False):
    on_algorithm_init: Function | Sequence[Function] | None | Open
    on_train_result: Function | Sequence[Function] | None | Open
    on_checkpoint_loaded: Function | Sequence[Function] | None | Open
    on_evaluate_start: Function | Sequence[Function] | None | Open
    on_evaluate_end: Function | Sequence[Function] | None | Open
    on_evaluate_offline_start: Function | Sequence[Function] | None | Open
    on_evaluate_offline_end: Function | Sequence[Function] | None | Open
    on_env_runners_recreated: Function | Sequence[Function] | None | Open
    on_offline_eval_runners_recreated: Function | Sequence[Function] | None | Open
    on_environment_created: Function | Sequence[Function] | None | Open
    on_episode_created: Function | Sequence[Function] | None | Open
    on_episode_start: Function | Sequence[Function] | None | Open
    on_episode_step: Function | Sequence[Function] | None | Open
    on_episode_end: Function | Sequence[Function] | None | Open
    on_sample_end: Function | Sequence[Function] | None | Open

class Evaluation(TypedDict, total=False):
    evaluation_interval: int | None | Open
    evaluation_duration: int | Literal['auto'] | Open
    evaluation_duration_unit: Literal['episodes', 'timesteps'] | Open
    evaluation_parallel_to_training: bool | Open
    evaluation_auto_duration_min_env_steps_per_sample: int | Open
    evaluation_auto_duration_max_env_steps_per_sample: int | Open
    evaluation_config: Any
    evaluation_num_env_runners: int | Open
    evaluation_force_reset_envs_before_iteration: bool | Open
    custom_evaluation_function: Function | None | Open
    evaluation_sample_timeout_s: float | Open
    off_policy_estimation_methods: Any
    evaluation_unhealthy_workers_timeout_s: Any
    evaluation_error_after_n_consecutive_skips: Any
    ope_split_batch_by_episode: Any
    num_offline_eval_runners: Any
    offline_evaluation_type: Any
    offline_eval_runner_class: Any
    offline_loss_for_module_fn: Any
    offline_eval_batch_size_per_runner: Any
    dataset_num_iters_per_offline_eval_runner: Any
    offline_eval_rl_module_inference_only: Any
    num_cpus_per_offline_eval_runner: Any
    num_gpus_per_offline_eval_runner: Any
    custom_resources_per_offline_eval_runner: Any
    offline_evaluation_timeout_s: Any
    max_requests_in_flight_per_offline_eval_runner: Any
    broadcast_offline_eval_runner_states: Any
    validate_offline_eval_runners_after_construction: Any
    restart_failed_offline_eval_runners: Any
    ignore_offline_eval_runner_failures: Any
    max_num_offline_eval_runner_restarts: Any
    offline_eval_runner_health_probe_timeout_s: Any
    offline_eval_runner_restore_timeout_s: Any
    offline_evaluation_interval: Any

class OfflineData(TypedDict, total=False):
    input_: Any
    dataset_num_iters_per_learner: int | None | Open
    actions_in_input_normalized: bool | Open
    input_read_episodes: bool | Open
    input_read_sample_batches: bool | Open
    input_read_batch_size: int | None | Open
    input_read_schema: Mapping[str, Any] | Open
    ignore_final_observation: bool | Open
    materialize_data: bool | Open
    materialize_mapped_data: bool | Open
    prelearner_class: type[Any] | None | Open
    prelearner_buffer_class: type[Any] | None | Open
    prelearner_buffer_kwargs: Mapping[str, Any] | Open
    prelearner_use_recorded_module_states: bool | Open
    prelearner_module_synch_period: int | Open
    offline_data_class: type[Any] | None | Open
    output: Any
    output_write_method: Literal['write_parquet', 'write_msgpack'] | Open
    output_max_rows_per_file: int | None | Open
    output_write_episodes: bool | Open
    input_spaces_jsonable: Any
    input_read_method: Any
    input_read_method_kwargs: Any
    input_compress_columns: Any
    map_batches_kwargs: Any
    iter_batches_kwargs: Any
    output_compress_columns: Any
    output_max_file_size: Any
    output_write_remaining_data: Any
    postprocess_inputs: Any
    input_config: Any
    shuffle_buffer_size: Any
    offline_sampling: Any
    output_config: Any
    input_filesystem: Any
    input_filesystem_kwargs: Any
    output_filesystem: Any
    output_filesystem_kwargs: Any
    output_write_method_kwargs: Any

class MultiAgent(TypedDict, total=False):
    policies: Mapping[str, Any] | Collection[str] | Open
    policy_mapping_fn: Function | Open
    policies_to_train: Collection[str] | Function | None | Open
    count_steps_by: Literal['env_steps', 'agent_steps'] | Open
    observation_fn: Any
    algorithm_config_overrides_per_module: Mapping[str, Any] | Open
    policy_map_capacity: Any
    policy_states_are_swappable: Any

class Reporting(TypedDict, total=False):
    metrics_num_episodes_for_smoothing: int | Open
    min_time_s_per_iteration: float | None | Open
    min_train_timesteps_per_iteration: int | Open
    min_sample_timesteps_per_iteration: int | Open
    log_gradients: bool | Open
    custom_stats_cls_lookup: Mapping[str, Any] | None | Open
    keep_per_episode_custom_metrics: Any
    metrics_episode_collection_timeout_s: Any

class Checkpointing(TypedDict, total=False):
    export_native_model_files: Any
    checkpoint_trainable_policies_only: Any

class Debugging(TypedDict, total=False):
    seed: int | None | Open
    fake_sampler: Any
    log_level: Any
    log_sys_usage: Any

class FaultTolerance(TypedDict, total=False):
    restart_failed_env_runners: bool | Open
    ignore_env_runner_failures: bool | Open
    max_num_env_runner_restarts: int | Open
    restart_failed_sub_environments: bool | Open
    env_step_timeout_s: float | None | Open
    env_runner_restore_timeout_s: float | Open
    num_consecutive_env_runner_failures_tolerance: int | Open
    delay_between_env_runner_restarts_s: Any
    env_runner_health_probe_timeout_s: Any

class RlModule(TypedDict, total=False):
    model_config: Mapping[str, Any] | DataclassInstance | Open
    rl_module_spec: RLModuleSpec | MultiRLModuleSpec | None | Open
    algorithm_config_overrides_per_module: Mapping[str, Any] | Open

class Experimental(TypedDict, total=False):
    _validate_config: bool | Open
    _torch_lr_scheduler_classes: Any
    _torch_grad_scaler_class: Any
    _disable_action_flattening: Any
    _use_msgpack_checkpoints: Any
    _tf_policy_handles_more_than_one_loss: Any
    _disable_preprocessor_api: Any
    _disable_initialize_loss_from_dummy_batch: Any

class PPOTraining(Training, total=False):
    use_critic: bool | Open
    use_gae: Any
    lambda_: float | Open
    use_kl_loss: bool | Open
    kl_coeff: float | Open
    kl_target: float | Open
    vf_loss_coeff: float | Open
    entropy_coeff: Schedule | Open
    clip_param: float | Open
    vf_clip_param: float | Open
    teacher: Any
    teacher_coeff: Schedule | Open
    entropy_coeff_schedule: Any
    lr_schedule: Any
    vf_share_layers: Any

class MARWILTraining(Training, total=False):
    beta: float | Open
    bc_logstd_coeff: float | Open
    moving_average_sqd_adv_norm_update_rate: float | Open
    moving_average_sqd_adv_norm_start: float | Open
    vf_coeff: float | Open
    lambda_: float | Open
    burnin_len: int | Open

class BCTraining(Training, total=False):
    beta: Any
    bc_logstd_coeff: float | Open
    moving_average_sqd_adv_norm_update_rate: float | Open
    moving_average_sqd_adv_norm_start: float | Open
    vf_coeff: float | Open
    lambda_: float | Open
    burnin_len: int | Open

class DQNTraining(Training, total=False):
    replay_buffer_config: Mapping[str, Any] | Open
    store_buffer_in_checkpoints: bool | Open
    num_steps_sampled_before_learning_starts: int | Open
    target_network_update_freq: int | Open
    tau: float | Open
    n_step: int | tuple[int, int] | list[int] | Open
    training_intensity: float | None | Open
    epsilon: Schedule | Open
    adam_epsilon: float | Open
    double_q: bool | Open
    dueling: bool | Open
    num_atoms: int | Open
    v_min: float | Open
    v_max: float | Open
    td_error_loss_fn: Literal['huber', 'mse'] | Open
    burn_in_len: int | Open
    noisy: Any
    sigma0: Any
    hiddens: Any
    before_learn_on_batch: Any
    categorical_distribution_temperature: Any
    lr_schedule: Any

class SACTraining(Training, total=False):
    lr: Any
    replay_buffer_config: Mapping[str, Any] | Open
    store_buffer_in_checkpoints: bool | Open
    num_steps_sampled_before_learning_starts: int | Open
    target_network_update_freq: int | Open
    tau: float | Open
    n_step: int | tuple[int, int] | list[int] | Open
    training_intensity: float | None | Open
    twin_q: bool | Open
    actor_lr: Schedule | Open
    critic_lr: Schedule | Open
    alpha_lr: Schedule | Open
    initial_alpha: float | Open
    target_entropy: float | Literal['auto'] | Open
    q_model_config: Any
    policy_model_config: Any
    optimization_config: Any
    _deterministic_loss: Any
    _use_beta_distribution: Any
    clip_actions: bool | Open

class CQLTraining(Training, total=False):
    lr: Any
    replay_buffer_config: Any
    store_buffer_in_checkpoints: Any
    num_steps_sampled_before_learning_starts: Any
    target_network_update_freq: int | Open
    tau: float | Open
    n_step: Any
    training_intensity: Any
    twin_q: bool | Open
    actor_lr: Schedule | Open
    critic_lr: Schedule | Open
    alpha_lr: Schedule | Open
    initial_alpha: float | Open
    target_entropy: float | Literal['auto'] | Open
    q_model_config: Any
    policy_model_config: Any
    optimization_config: Any
    _deterministic_loss: Any
    _use_beta_distribution: Any
    clip_actions: bool | Open
    bc_iters: int | Open
    temperature: float | Open
    num_actions: int | Open
    min_q_weight: float | Open
    deterministic_backup: bool | Open
    lagrangian: Any
    lagrangian_thresh: Any

class IQLTraining(Training, total=False):
    lr: Any
    beta: float | Open
    bc_logstd_coeff: float | Open
    moving_average_sqd_adv_norm_update_rate: float | Open
    moving_average_sqd_adv_norm_start: float | Open
    vf_coeff: float | Open
    lambda_: float | Open
    burnin_len: int | Open
    expectile: float | Open
    twin_q: bool | Open
    actor_lr: Schedule | Open
    critic_lr: Schedule | Open
    value_lr: Schedule | Open
    tau: float | Open
    target_network_update_freq: int | Open
