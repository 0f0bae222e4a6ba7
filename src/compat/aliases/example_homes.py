"""What strangers' scripts import from RLlib's examples; `rlconnect.compat.examples` has it.

A row says which names a module of `ray.rllib` has, and where ours are: see `table`.
"""

from typing import Final

_AT: Final = "compat.examples.environments:"
_MULTI: Final = (
    f"{_AT} MultiAgentCartPole MultiAgentMountainCar MultiAgentPendulum MultiAgentStatelessCartPole"
)
_ENVIRONMENTS: Final = {
    "action_mask_env": f"{_AT} ActionMaskEnv",
    "multi_agent": _MULTI,
    "random_env": f"{_AT} RandomEnv",
    "repeat_after_me_env": f"{_AT} RepeatAfterMeEnv",
    "simple_corridor": f"{_AT} SimpleCorridor",
    "stateless_cartpole": f"{_AT} StatelessCartPole",
    "stateless_pendulum": f"{_AT} StatelessPendulum",
}
_FOLDERS: Final = ("env", "envs.classes")
"""Where releases before 2.10 have the environments, and where later ones do."""

HOMES: Final = {
    **{
        f"examples.{folder}.{module}": row
        for folder in _FOLDERS
        for module, row in _ENVIRONMENTS.items()
    },
    "examples.connectors.classes.add_other_agents_row_index_to_xy_pos": (
        "compat.examples.other_rows: AddOtherAgentsRowIndexToXYPos"
    ),
    "examples.connectors.classes.count_based_curiosity": (
        "compat.examples.curiosity: CountBasedCuriosity"
    ),
    "examples.connectors.classes.euclidian_distance_based_curiosity": (
        "compat.examples.curiosity: EuclidianDistanceBasedCuriosity"
    ),
    "examples.rl_module.random_rl_module": "compat.examples.random_module: RandomRLModule",
    "examples.rl_modules.classes.action_masking_rlm": (
        "compat.examples.action_masking: ActionMaskingTorchRLModule"
    ),
    "core.testing.torch.bc_module": "compat.examples.policy_gradient: DiscreteBCTorchModule",
    "examples.rl_modules.classes.autoregressive_actions_rlm": (
        "compat.examples.autoregressive: AutoregressiveActionsRLM"
    ),
    "examples.rl_modules.classes.vpg_torch_rlm": (
        "compat.examples.policy_gradient: VPGTorchRLModule"
    ),
    "examples.rl_modules.classes.vpg_using_shared_encoder_rlm": (
        "compat.examples.policy_gradient: SHARED_ENCODER_ID SharedEncoder "
        "VPGMultiRLModuleWithSharedEncoder VPGPolicyAfterSharedEncoder"
    ),
    "examples.rl_modules.classes.lstm_containing_rlm": (
        "compat.examples.lstm_module: LSTMContainingRLModule"
    ),
    "examples.rl_modules.classes.random_rlm": "compat.examples.random_module: RandomRLModule",
    "examples.utils": (
        "compat.aliases.script_arguments: add_rllib_example_script_args "
        "run_rllib_example_script_experiment"
    ),
}
