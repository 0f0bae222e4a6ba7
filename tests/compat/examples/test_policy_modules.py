"""Small policies of RLlib's examples: alone, behind a shared encoder, one action after another."""

import pytest
import torch
from gymnasium.spaces import Box, Discrete, Tuple
from rlconnect.compat.examples.autoregressive import AutoregressiveActionsRLM
from rlconnect.compat.examples.policy_gradient import (
    SHARED_ENCODER_ID,
    DiscreteBCTorchModule,
    SharedEncoder,
    VPGMultiRLModuleWithSharedEncoder,
    VPGPolicyAfterSharedEncoder,
    VPGTorchRLModule,
)
from rlconnect.core.errors import ConfigError, SpaceError
from rlconnect.v2 import MultiRLModuleSpec, RLModule, RLModuleSpec

SPACES = {"observation_space": Box(-1, 1, (4,)), "action_space": Discrete(3)}
EMBEDDED = {"embedding_dim": 6, "hidden_dim": 5}


@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "settings"),
    [(VPGTorchRLModule, {"hidden_dim": 8}), (DiscreteBCTorchModule, {"fcnet_hiddens": [8]})],
)
def test_policies_give_logits_and_come_back(kind, settings, tmp_path):
    """A row of logits an observation, and the same after saving."""
    module = kind(**SPACES, model_config=settings)
    batch = {"obs": torch.ones(2, 4)}
    module.save_to_path(tmp_path)

    again = RLModule.from_checkpoint(tmp_path)

    logits = module.forward_inference(batch)["action_dist_inputs"]
    assert logits.shape == (2, 3)
    torch.testing.assert_close(again.forward_inference(batch)["action_dist_inputs"], logits)


def shared(**more):
    """Two policies behind one encoder."""
    encoder = RLModuleSpec(SharedEncoder, **SPACES, model_config={"embedding_dim": 6})
    policy = RLModuleSpec(VPGPolicyAfterSharedEncoder, **SPACES, model_config=EMBEDDED)
    return MultiRLModuleSpec(
        multi_rl_module_class=VPGMultiRLModuleWithSharedEncoder,
        rl_module_specs={SHARED_ENCODER_ID: encoder, "a": policy, "b": policy} | more,
    )


def test_policies_look_through_one_encoder():
    """A change of the encoder changes both, however they are called."""
    module = shared().build()
    batch = {"a": {"obs": torch.ones(2, 4)}, "b": {"obs": torch.ones(3, 4)}}
    before = module.forward_train(batch)

    with torch.no_grad():
        module.encoder._net[0].bias += 1.0
    after = module.forward_train(batch)

    assert before["a"]["action_dist_inputs"].shape == (2, 3)
    for name in ("a", "b"):
        changed = after[name]["action_dist_inputs"] - before[name]["action_dist_inputs"]
        assert changed.abs().max() > 0
    for forward in (module.forward_inference, module.forward_exploration):
        torch.testing.assert_close(
            forward(batch)["a"]["action_dist_inputs"], after["a"]["action_dist_inputs"]
        )


def test_an_encoder_is_needed():
    """Policies alone are refused."""
    policy = RLModuleSpec(VPGTorchRLModule, **SPACES, model_config={"hidden_dim": 8})
    spec = MultiRLModuleSpec(
        multi_rl_module_class=VPGMultiRLModuleWithSharedEncoder, rl_module_specs={"a": policy}
    )

    with pytest.raises(ConfigError, match=SHARED_ENCODER_ID):
        spec.build()


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("how", ["forward_inference", "forward_exploration", "forward_train"])
def test_the_second_action_follows_the_first(rows, how):
    """Actions, densities and inputs have a row an observation, whichever way they were chosen."""
    module = AutoregressiveActionsRLM(
        observation_space=Box(-1, 1, (2,)),
        action_space=Tuple([Discrete(3), Box(-1, 1, (2,))]),
        model_config={},
    )
    forward = {
        "forward_inference": module.forward_inference,
        "forward_exploration": module.forward_exploration,
        "forward_train": module.forward_train,
    }[how]

    out = forward({"obs": torch.zeros(rows, 2)})

    assert [tuple(part.shape) for part in out["actions"]] == [(rows,), (rows, 2)]
    assert out["action_logp"].shape == (rows,)
    assert out["action_dist_inputs"].shape == (rows, 7)
    assert module.compute_values({"obs": torch.zeros(rows, 2)}).shape == (rows,)
    drawn = module.get_inference_action_dist_cls().from_logits(out["action_dist_inputs"])
    assert drawn.logp(out["actions"]).shape == (rows,)


def test_other_actions_than_a_choice_and_numbers_are_refused():
    """The space it was written for is named."""
    with pytest.raises(SpaceError, match=r"Tuple\(Discrete\(3\), Box"):
        AutoregressiveActionsRLM(**SPACES, model_config={})
