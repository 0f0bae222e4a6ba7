"""Default modules of dense layers give in numpy what they give in torch."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.bridge.actor.dense_modules import direct_of
from rlconnect.bridge.triple import V2Triple
from rlconnect.v2 import RLModule, RLModuleSpec
from rlconnect.v2.modules.bc import DefaultBCTorchRLModule
from rlconnect.v2.modules.cql import DefaultCQLTorchRLModule
from rlconnect.v2.modules.iql import DefaultIQLTorchRLModule
from rlconnect.v2.modules.ppo import DefaultAPPOTorchRLModule, DefaultPPOTorchRLModule
from rlconnect.v2.modules.sac import DefaultSACTorchRLModule

from tests.legacy.replay import GOLDEN

MODULES = GOLDEN.parent / "module_checkpoints"
CONTINUOUS = spaces.Box(-1, 1, (2,), np.float32)
KINDS = [
    (DefaultPPOTorchRLModule, {"fcnet_hiddens": [8, 8]}),
    (DefaultPPOTorchRLModule, {"fcnet_hiddens": [8], "vf_share_layers": False}),
    (DefaultPPOTorchRLModule, {"fcnet_hiddens": [4], "head_fcnet_hiddens": [6]}),
    (DefaultPPOTorchRLModule, {"fcnet_activation": "swish", "log_std_clip_param": 0.01}),
    (DefaultPPOTorchRLModule, {"free_log_std": True, "fcnet_activation": "ELU"}),
    (DefaultAPPOTorchRLModule, {"fcnet_hiddens": [8]}),
    (DefaultBCTorchRLModule, {"fcnet_activation": "linear"}),
    (DefaultSACTorchRLModule, {"fcnet_hiddens": [8], "fcnet_activation": "relu"}),
    (DefaultCQLTorchRLModule, {"fcnet_hiddens": [8]}),
    (DefaultIQLTorchRLModule, {"fcnet_hiddens": [8]}),
]


def made(kind, action_space, model):
    """A fresh module."""
    torch.manual_seed(0)
    return RLModuleSpec(
        module_class=kind,
        observation_space=spaces.Box(-1, 1, (5,), np.float32),
        action_space=action_space,
        model_config=model,
    ).build()


@pytest.mark.parametrize("action_space", [spaces.Discrete(3), CONTINUOUS], ids=["one_of", "box"])
@pytest.mark.parametrize(("kind", "model"), KINDS)
def test_numpy_gives_what_torch_gives(kind, model, action_space, rng):
    """The distribution's inputs, deviations included, and the best actions."""
    if model.get("free_log_std") and isinstance(action_space, spaces.Discrete):
        model = {**model, "free_log_std": False}
    if issubclass(kind, (DefaultCQLTorchRLModule, DefaultIQLTorchRLModule)):
        action_space = CONTINUOUS
    module = made(kind, action_space, model)
    obs = rng.normal(size=(600, 5)).astype(np.float32) * 3
    wanted = module.forward_inference({"obs": torch.from_numpy(obs)})["action_dist_inputs"]
    best = module.get_inference_action_dist_cls().from_logits(wanted).to_deterministic().sample()

    direct = direct_of(module, None)

    np.testing.assert_allclose(direct.inputs(obs), wanted.numpy(), atol=2e-6, rtol=1e-5)
    found = direct.actions(obs)
    np.testing.assert_allclose(found, best.numpy(), atol=2e-6, rtol=1e-5)
    assert found.dtype == (np.float32 if action_space is CONTINUOUS else np.int32)


@pytest.mark.parametrize("action_space", [spaces.Discrete(3), CONTINUOUS], ids=["one_of", "box"])
@pytest.mark.parametrize("shares", [True, False])
def test_fetches_in_numpy_equal_torch(shares, action_space, rng, monkeypatch):
    """Values, distribution inputs and the log-probabilities of sampled actions."""
    module = made(DefaultPPOTorchRLModule, action_space, {"vf_share_layers": shares})
    obs = rng.normal(size=(40, 5)).astype(np.float32)
    batch = {"obs": torch.from_numpy(obs)}
    inputs = module.forward_inference(batch)["action_dist_inputs"]
    expected = module.get_exploration_action_dist_cls().from_logits(inputs)
    actor = Actor.from_policy(V2Triple(None, module, None), seed=0)
    monkeypatch.setattr(torch.nn.Linear, "forward", None)  # Calling it would raise.

    greedy, of_greedy = actor.act_and_fetch(obs)
    sampled, of_sampled = actor.act_and_fetch(obs, explore=True)

    monkeypatch.undo()
    np.testing.assert_array_equal(greedy, actor.act(obs))
    assert set(of_greedy) == set(of_sampled) == {"action_dist_inputs", "vf_preds", "action_logp"}
    assert not of_greedy["action_logp"].any()
    for fetched in (of_greedy, of_sampled):
        np.testing.assert_allclose(fetched["action_dist_inputs"], inputs.detach(), atol=1e-5)
        values = module.compute_values(batch).detach()
        np.testing.assert_allclose(fetched["vf_preds"], values, atol=1e-5)
    if isinstance(action_space, spaces.Discrete):
        logp = expected.logp(torch.from_numpy(sampled)).detach()
        np.testing.assert_allclose(of_sampled["action_logp"], logp, atol=1e-5)


def test_samples_follow_the_probabilities(rng):
    """Over 20,000 rows of one observation."""
    module = made(DefaultPPOTorchRLModule, spaces.Discrete(3), {"fcnet_hiddens": [8]})
    obs = np.tile(rng.normal(size=5).astype(np.float32), (20_000, 1))
    logits = module.forward_inference({"obs": torch.from_numpy(obs[:1])})["action_dist_inputs"]
    actor = Actor.from_policy(V2Triple(None, module, None), seed=0)

    frequencies = np.bincount(actor.act(obs, explore=True), minlength=3) / len(obs)

    np.testing.assert_allclose(frequencies, logits.softmax(-1)[0].detach(), atol=0.02)


def test_large_weights_are_not_held_twice(monkeypatch, rng):
    """They are read where the actor's module has them, and give the same."""
    monkeypatch.setattr("rlconnect.bridge.actor.dense_modules.LARGE", 100)
    monkeypatch.setattr("rlconnect.core.nets.numpy_layers.LARGE", 100)
    module = made(DefaultPPOTorchRLModule, spaces.Discrete(3), {"fcnet_hiddens": [8, 8]})
    obs = rng.normal(size=(6, 5)).astype(np.float32)
    wanted = module.forward_inference({"obs": torch.from_numpy(obs)})["action_dist_inputs"]

    direct = direct_of(module, None)
    before = direct.inputs(obs)
    with torch.no_grad():
        module.encoder.encoder.net.mlp[2].weight.zero_()

    np.testing.assert_allclose(before, wanted.numpy(), atol=2e-6, rtol=1e-5)
    assert not np.array_equal(direct.inputs(obs), before)


@pytest.mark.parametrize("name", ["ppo", "bc", "sac", "appo", "ppo_inference"])
def test_saved_modules_have_it(name):
    """The default modules of RLlib, as it saved them."""
    module = RLModule.from_checkpoint(MODULES / name)
    module = module["default_policy"] if hasattr(module, "items") else module

    assert direct_of(module, None) is not None
    assert Actor.from_checkpoint(MODULES / name).only.plan.brain.quick(1) is not None


class Own(DefaultPPOTorchRLModule):
    """A user's module, whose forward pass may be anything."""


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        (Own, {}),
        (DefaultPPOTorchRLModule, {"use_lstm": True, "max_seq_len": 4}),
        (DefaultPPOTorchRLModule, {"fcnet_activation": "GELU"}),
    ],
)
def test_other_networks_stay_in_torch(kind, model):
    """Where a layer has no numpy form, or the class is not RLlib's own."""
    assert direct_of(made(kind, spaces.Discrete(2), model), None) is None


def test_torch_chooses_where_only_it_knows():
    """Several choices at once are made by torch, behind the network in numpy."""
    module = made(DefaultPPOTorchRLModule, spaces.MultiDiscrete([2, 3]), {})
    actor = Actor.from_v2(None, module, None)

    assert actor.only.plan.brain.quick(1) is not None
    assert actor.act(np.zeros(5, np.float32)).shape == (2,)
