"""Algorithms, their configs, catalogs and modules.

A row says which names a module of `ray.rllib` has, and where ours are: see `table`.
"""

from typing import Final

HOMES: Final = {
    "algorithms": "v2: Algorithm AlgorithmConfig BC BCConfig MARWIL MARWILConfig PPO PPOConfig",
    "algorithms.algorithm": "v2: Algorithm",
    "algorithms.algorithm_config": "v2: AlgorithmConfig",
    "algorithms.appo": "stand-in: APPO APPOConfig",
    "algorithms.appo.appo": "stand-in: APPO APPOConfig",
    "algorithms.appo.default_appo_rl_module": "v2: DefaultAPPORLModule",
    "algorithms.appo.torch.default_appo_torch_rl_module": "v2: DefaultAPPOTorchRLModule",
    "algorithms.bc": "v2: BC BCConfig",
    "algorithms.bc.bc": "v2: BC BCConfig",
    "algorithms.bc.bc_catalog": "v2: BCCatalog",
    "algorithms.bc.bc_rl_module": "v2: BCTorchRLModule=DefaultBCTorchRLModule",
    "algorithms.bc.torch.bc_torch_rl_module": "v2: BCTorchRLModule=DefaultBCTorchRLModule",
    "algorithms.bc.torch.default_bc_torch_rl_module": "v2: DefaultBCTorchRLModule",
    "algorithms.callbacks": "v2: DefaultCallbacks RLlibCallback",
    "algorithms.cql": "stand-in: CQL CQLConfig",
    "algorithms.dqn": "stand-in: DQN DQNConfig",
    "algorithms.dqn.default_dqn_rl_module": (
        "v2: DefaultDQNRLModule; v2.modules.dqn: ATOMS QF_LOGITS QF_NEXT_PREDS QF_PREDS QF_PROBS "
        "QF_TARGET_NEXT_PREDS QF_TARGET_NEXT_PROBS"
    ),
    "algorithms.dqn.dqn": "stand-in: DQN DQNConfig",
    "algorithms.dqn.dqn_catalog": "v2: DQNCatalog",
    "algorithms.dqn.dqn_rainbow_catalog": "v2: DQNRainbowCatalog=DQNCatalog",
    "algorithms.dqn.dqn_torch_model": "legacy.heads.dqn_model: DQNTorchModel",
    "algorithms.dqn.torch.default_dqn_torch_rl_module": "v2: DefaultDQNTorchRLModule",
    "algorithms.dqn.torch.dqn_rainbow_torch_rl_module": (
        "v2: DQNRainbowTorchRLModule=DefaultDQNTorchRLModule"
    ),
    "algorithms.dreamerv3": "stand-in: DreamerV3 DreamerV3Config",
    "algorithms.impala": "stand-in: IMPALA IMPALAConfig Impala ImpalaConfig",
    "algorithms.impala.impala": "stand-in: IMPALA IMPALAConfig Impala ImpalaConfig",
    "algorithms.marwil": "v2: MARWIL MARWILConfig",
    "algorithms.marwil.marwil": "v2: MARWIL MARWILConfig",
    "algorithms.marwil.marwil_catalog": "v2: MARWILCatalog=PPOCatalog",
    "algorithms.marwil.marwil_learner": "v2: MARWILLearner",
    "algorithms.marwil.torch.marwil_torch_learner": (
        "v2: MARWILTorchLearner; v2.metrics.names: LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY "
        "POLICY_LOSS_KEY VF_LOSS_KEY"
    ),
    "algorithms.marwil.torch.marwil_torch_rl_module": (
        "v2: MARWILTorchRLModule=DefaultPPOTorchRLModule"
    ),
    "algorithms.ppo": "v2: PPO PPOConfig",
    "algorithms.ppo.default_ppo_rl_module": "v2: DefaultPPORLModule",
    "algorithms.ppo.ppo": (
        "v2: ALL_MODULES NotProvided PPO PPOConfig; v2.metrics.names: ENV_RUNNER_RESULTS "
        "ENV_RUNNER_SAMPLING_TIMER LEARNER_RESULTS LEARNER_RESULTS_CURR_ENTROPY_COEFF_KEY "
        "LEARNER_RESULTS_CURR_KL_COEFF_KEY LEARNER_RESULTS_KL_KEY "
        "LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY "
        "LEARNER_STATS_KEY LEARNER_UPDATE_TIMER NUM_AGENT_STEPS_SAMPLED NUM_ENV_STEPS_SAMPLED "
        "NUM_ENV_STEPS_SAMPLED_LIFETIME NUM_MODULE_STEPS_TRAINED_LIFETIME SAMPLE_TIMER "
        "SYNCH_WORKER_WEIGHTS_TIMER TIMERS"
    ),
    "algorithms.ppo.ppo_catalog": "v2: PPOCatalog; v2.modules.catalog: _check_if_diag_gaussian",
    "algorithms.ppo.ppo_learner": (
        "v2: PPOLearner; v2.metrics.names: LEARNER_RESULTS_CURR_ENTROPY_COEFF_KEY "
        "LEARNER_RESULTS_CURR_KL_COEFF_KEY LEARNER_RESULTS_KL_KEY "
        "LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY "
        "NUM_ENV_STEPS_SAMPLED_LIFETIME"
    ),
    "algorithms.ppo.ppo_rl_module": "v2: PPORLModule=DefaultPPORLModule",
    "algorithms.ppo.ppo_tf_policy": "stand-in: PPOTF1Policy PPOTF2Policy",
    "algorithms.ppo.ppo_torch_policy": "stand-in: PPOTorchPolicy",
    "algorithms.ppo.ppo_torch_rl_module": "v2: PPOTorchRLModule",
    "algorithms.ppo.torch.default_ppo_torch_rl_module": "v2: DefaultPPOTorchRLModule",
    "algorithms.ppo.torch.ppo_torch_learner": (
        "v2: PPOTorchLearner; v2.metrics.names: ENTROPY_KEY LEARNER_RESULTS_CURR_KL_COEFF_KEY "
        "LEARNER_RESULTS_KL_KEY LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY "
        "LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY POLICY_LOSS_KEY VF_LOSS_KEY"
    ),
    "algorithms.ppo.torch.ppo_torch_rl_module": "v2: PPOTorchRLModule",
    "algorithms.sac": "stand-in: SAC SACConfig",
    "algorithms.sac.default_sac_rl_module": "v2: DefaultSACRLModule",
    "algorithms.sac.sac": "stand-in: SAC SACConfig",
    "algorithms.sac.sac_catalog": "v2: SACCatalog",
    "algorithms.sac.sac_learner": (
        "v2.modules.dqn: QF_PREDS; v2.modules.sac: ACTION_DIST_INPUTS_NEXT ACTION_LOG_PROBS "
        "ACTION_LOG_PROBS_NEXT ACTION_PROBS ACTION_PROBS_NEXT QF_TARGET_NEXT QF_TWIN_PREDS"
    ),
    "algorithms.sac.sac_torch_model": "legacy.heads.sac_model: SACTorchModel",
    "algorithms.sac.torch.default_sac_torch_rl_module": "v2: DefaultSACTorchRLModule",
    "algorithms.sac.torch.sac_torch_rl_module": "v2: SACTorchRLModule=DefaultSACTorchRLModule",
}
