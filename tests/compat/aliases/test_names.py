"""The table of names: every one is there, and under the module that RLlib has it in."""

import json
from pathlib import Path

from rlconnect.compat import ray_aliases
from rlconnect.compat.aliases.stand_ins import STAND_IN
from rlconnect.compat.aliases.table import locate, modules

GOLDEN = Path(__file__).parents[2] / "golden" / "aliases" / "upstream_names.json"

# Paths of releases between the two that were asked, of TensorFlow, and of Ray itself.
OTHER_RELEASES = (
    "ray.rllib.algorithms.bc.bc_rl_module",
    "ray.rllib.algorithms.bc.torch.bc_torch_rl_module",
    "ray.rllib.algorithms.dqn.dqn_rainbow_catalog",
    "ray.rllib.algorithms.dqn.torch.dqn_rainbow_torch_rl_module",
    "ray.rllib.algorithms.marwil.marwil_catalog",
    "ray.rllib.algorithms.marwil.torch.marwil_torch_rl_module",
    "ray.rllib.algorithms.sac.torch.sac_torch_rl_module",
)
NOT_ASKED = ("ray.rllib.models.tf", "ray.rllib.core.rl_module.tf", "ray.rllib.policy.tf_policy")

# What strangers import, where upstream has it.
USED = {
    "ray.rllib.algorithms.algorithm": "Algorithm",
    "ray.rllib.algorithms.algorithm_config": "AlgorithmConfig NotProvided",
    "ray.rllib.algorithms.bc": "BCConfig",
    "ray.rllib.algorithms.callbacks": "DefaultCallbacks",
    "ray.rllib.algorithms.marwil": "MARWILConfig",
    "ray.rllib.algorithms.ppo": "PPO PPOConfig",
    "ray.rllib.algorithms.ppo.ppo": "LEARNER_RESULTS_KL_KEY PPOConfig",
    "ray.rllib.algorithms.ppo.ppo_catalog": "PPOCatalog _check_if_diag_gaussian",
    "ray.rllib.algorithms.ppo.ppo_learner": "PPOLearner",
    "ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module": "DefaultPPOTorchRLModule",
    "ray.rllib.algorithms.ppo.torch.ppo_torch_learner": "PPOTorchLearner",
    "ray.rllib.algorithms.ppo.torch.ppo_torch_rl_module": "PPOTorchRLModule",
    "ray.rllib.callbacks.callbacks": "RLlibCallback",
    "ray.rllib.connectors.connector_v2": "ConnectorV2",
    "ray.rllib.connectors.env_to_module": "FlattenObservations MeanStdFilter",
    "ray.rllib.core": "COMPONENT_LEARNER COMPONENT_LEARNER_GROUP COMPONENT_RL_MODULE Columns "
    "DEFAULT_AGENT_ID DEFAULT_MODULE_ID DEFAULT_POLICY_ID",
    "ray.rllib.core.columns": "Columns",
    "ray.rllib.core.distribution.torch.torch_distribution": "TorchDistribution TorchCategorical",
    "ray.rllib.core.learner.learner": "Learner POLICY_LOSS_KEY VF_LOSS_KEY ENTROPY_KEY",
    "ray.rllib.core.learner.torch.torch_learner": "TorchLearner",
    "ray.rllib.core.learner.utils": "make_target_network",
    "ray.rllib.core.models.base": "ACTOR CRITIC ENCODER_OUT ActorCriticEncoder Encoder",
    "ray.rllib.core.models.catalog": "Catalog",
    "ray.rllib.core.models.configs": "ActorCriticEncoderConfig CNNEncoderConfig "
    "FreeLogStdMLPHeadConfig MLPEncoderConfig MLPHeadConfig ModelConfig RecurrentEncoderConfig",
    "ray.rllib.core.models.torch.base": "TorchModel",
    "ray.rllib.core.models.torch.encoder": "TorchActorCriticEncoder",
    "ray.rllib.core.rl_module.apis": "InferenceOnlyAPI SelfSupervisedLossAPI "
    "TARGET_NETWORK_ACTION_DIST_INPUTS TargetNetworkAPI ValueFunctionAPI",
    "ray.rllib.core.rl_module.marl_module": "MultiAgentRLModule MultiAgentRLModuleSpec",
    "ray.rllib.core.rl_module.multi_rl_module": "MultiRLModule MultiRLModuleSpec",
    "ray.rllib.core.rl_module.rl_module": "RLModule RLModuleSpec SingleAgentRLModuleSpec",
    "ray.rllib.core.rl_module.torch.torch_rl_module": "TorchRLModule",
    "ray.rllib.env.env_errors": "StepFailedRecreateEnvError",
    "ray.rllib.env.multi_agent_env": "MultiAgentEnv make_multi_agent",
    "ray.rllib.env.multi_agent_env_runner": "MultiAgentEnvRunner",
    "ray.rllib.env.multi_agent_episode": "MultiAgentEpisode",
    "ray.rllib.env.single_agent_env_runner": "SingleAgentEnvRunner",
    "ray.rllib.env.single_agent_episode": "SingleAgentEpisode",
    "ray.rllib.env.utils.infinite_lookback_buffer": "InfiniteLookbackBuffer",
    "ray.rllib.env.wrappers.pettingzoo_env": "ParallelPettingZooEnv PettingZooEnv",
    "ray.rllib.evaluation.collectors.agent_collector": "AgentCollector",
    "ray.rllib.evaluation.postprocessing": "Postprocessing adjust_nstep compute_advantages "
    "discount_cumsum",
    "ray.rllib.models.preprocessors": "Preprocessor get_preprocessor",
    "ray.rllib.models.torch.misc": "normc_initializer same_padding valid_padding",
    "ray.rllib.models.torch.torch_action_dist": "TorchDiagGaussian",
    "ray.rllib.models.utils": "get_activation_fn",
    "ray.rllib.policy.policy": "Policy",
    "ray.rllib.policy.rnn_sequencing": "chop_into_sequences pad_batch_to_sequences_of_same_size",
    "ray.rllib.policy.sample_batch": "DEFAULT_POLICY_ID SampleBatch concat_samples",
    "ray.rllib.utils.annotations": "override",
    "ray.rllib.utils.checkpoints": "Checkpointable get_checkpoint_info",
    "ray.rllib.utils.filter": "RunningStat",
    "ray.rllib.utils.framework": "try_import_tf try_import_torch",
    "ray.rllib.utils.from_config": "NotProvided",
    "ray.rllib.utils.lambda_defaultdict": "LambdaDefaultDict",
    "ray.rllib.utils.metrics": "ENV_RUNNER_RESULTS NUM_ENV_STEPS_SAMPLED_LIFETIME",
    "ray.rllib.utils.metrics.metrics_logger": "MetricsLogger",
    "ray.rllib.utils.numpy": "convert_to_numpy flatten_inputs_to_1d_tensor one_hot",
    "ray.rllib.utils.postprocessing.episodes": "add_one_ts_to_episodes_and_truncate "
    "remove_last_ts_from_episodes_and_restore_truncateds",
    "ray.rllib.utils.postprocessing.value_predictions": "extract_bootstrapped_values",
    "ray.rllib.utils.schedules.scheduler": "Scheduler",
    "ray.rllib.utils.serialization": "gym_space_from_dict gym_space_to_dict space_from_dict "
    "space_to_dict",
    "ray.rllib.utils.spaces.flexdict": "FlexDict",
    "ray.rllib.utils.spaces.repeated": "Repeated",
    "ray.rllib.utils.spaces.simplex": "Simplex",
    "ray.rllib.utils.spaces.space_utils": "get_dummy_batch_for_space",
    "ray.rllib.utils.torch_utils": "FLOAT_MIN explained_variance",
    "ray.rllib.utils.typing": "AgentID EpisodeType ModuleID TensorType",
    "ray.tune.registry": "register_env",
}


def test_every_name_of_the_table_is_there():
    """Each row says a place that exists."""
    for names in modules().values():
        for place in names.values():
            assert place.fetch() is not None


def test_what_strangers_import_is_there():
    """Every name found in strangers' sources imports from where upstream has it."""
    with ray_aliases.activate(force=True):
        for module, names in USED.items():
            for name in names.split():
                namespace = {}
                exec(f"from {module} import {name}", namespace)
                assert namespace[name] is locate(module, name).fetch(), f"{module}.{name}"


def test_names_lie_where_upstream_has_them():
    """A module of the table has no name that upstream's has not, but for lists of constants."""
    upstream = json.loads(GOLDEN.read_text(encoding="utf-8"))["names"]

    strangers = {
        f"{module}.{name}"
        for module, names in modules().items()
        if module.startswith("ray.rllib") and module not in OTHER_RELEASES
        if not module.startswith(NOT_ASKED)
        for name, place in names.items()
        if name not in upstream.get(module, ()) and place.home != "v2.metrics.names"
    }

    assert strangers == {
        "ray.rllib.algorithms.ppo.ppo_catalog._check_if_diag_gaussian",
        "ray.rllib.connectors.env_to_module.PrevActionsPrevRewardsConnector",
        "ray.rllib.connectors.env_to_module.prev_actions_prev_rewards"
        ".PrevActionsPrevRewardsConnector",
    }


def test_what_can_run_is_no_stand_in():
    """A name that rlconnect has is not also a stand-in under another of Ray's paths."""
    places = [place for names in modules().values() for place in names.values()]
    named = {place.name for place in places if place.home == STAND_IN}

    assert named & {place.name for place in places if place.home != STAND_IN} == {
        "MultiAgentEpisode"  # the old stack's, of the module `evaluation.episode`
    }
