"""PPO's gradients by hand, held against autograd's."""

import numpy as np
import pytest
import torch
from rlconnect.v2 import PPOTorchLearner
from rlconnect.v2.learning.dense_ppo import DensePPO

from tests.v2.learning.learning_cases import make_learner

TANH = {"fcnet_hiddens": [8, 8], "fcnet_activation": "tanh", "vf_share_layers": False}
MODELS = {
    "apart": TANH,
    "shared": {**TANH, "vf_share_layers": True},
    "relu and a deeper head": {
        **TANH,
        "fcnet_activation": "relu",
        "head_fcnet_hiddens": [6],
        "head_fcnet_activation": "relu",
    },
    "free deviations": {**TANH, "free_log_std": True},
    "tight deviations": {**TANH, "log_std_clip_param": 0.4},
}
LOSSES = {
    "as it comes": {},
    "everything": {"entropy_coeff": 0.05, "kl_coeff": 0.7, "clip_param": 0.1, "vf_clip_param": 1.0},
    "no divergence": {"use_kl_loss": False, "vf_loss_coeff": 0.3, "clip_param": 0.05},
}


def filled(learner, seed=0):
    """A learner whose weights are no longer small, so that all terms matter."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for param in learner.module["default_policy"].parameters():
            param.copy_(torch.randn(param.shape, generator=generator) * 0.5)
    return learner


def minibatch(act, rows=40, is_masked=False):
    """Columns of noise."""
    rng = np.random.default_rng(3)
    width = 2 if act == "discrete" else 4

    def noise(*shape):
        return torch.from_numpy(rng.normal(size=shape).astype(np.float32))

    actions = torch.from_numpy(rng.integers(2, size=rows)) if act == "discrete" else noise(rows, 2)
    columns = {
        "obs": noise(rows, 3),
        "actions": actions,
        "action_logp": noise(rows) * 0.3 - 1,
        "action_dist_inputs": noise(rows, width) * 0.5,
        "advantages": noise(rows),
        "value_targets": noise(rows),
    }
    if is_masked:
        columns["loss_mask"] = torch.from_numpy(rng.random(rows) < 0.7)
    return {"default_policy": columns}


def differentiated(learner, batch, by_hand):
    """Loss, its terms and gradients, by hand or by autograd."""
    module = learner.module["default_policy"]
    learner._by_hand = {"default_policy": DensePPO.of(module) if by_hand else None}
    assert learner._is_by_hand(batch) == by_hand
    _, losses, gradients = learner._differentiate(batch)
    values = learner._losses.last_values("total_loss")
    terms = {name: float(value.detach()) for (_, name), value in values.items()}
    names = {param: name for name, param in module.named_parameters()}
    by_name = {names[param]: gradient.clone() for param, gradient in gradients.items()}
    return float(losses["default_policy"].detach()), terms, by_name


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("model", "act"),
    [
        (model, act)
        for model in MODELS
        for act in ("discrete", "box")
        if act == "box" or "deviations" not in model
    ],
)
def test_loss_terms_and_gradients_are_those_of_autograd(model, loss, is_masked, act):
    """Each term of the loss and each gradient is autograd's, up to rounding."""
    learner = filled(make_learner(model=MODELS[model], act=act, **LOSSES[loss]))
    batch = minibatch(act, is_masked=is_masked)

    total, terms, gradients = differentiated(learner, batch, by_hand=True)

    wanted_total, wanted_terms, wanted = differentiated(learner, batch, by_hand=False)
    assert total == pytest.approx(wanted_total, rel=1e-5)
    assert terms == pytest.approx(wanted_terms, rel=1e-5, abs=1e-6)
    assert gradients.keys() == wanted.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, wanted[name], rtol=1e-4, atol=1e-6, msg=name)


def test_whole_updates_end_with_the_same_weights(monkeypatch):
    """Minibatches one after the other, clipped, by Adam: weights agree, and so do results."""
    settings = {"grad_clip": 0.5, "grad_clip_by": "global_norm", "lr": 0.01}
    ends, results, by_hand = [], [], []
    terms = DensePPO.terms
    monkeypatch.setattr(DensePPO, "terms", lambda *given: by_hand.append(kind) or terms(*given))
    for kind in (PPOTorchLearner, type("Watched", (PPOTorchLearner,), {})):
        learner = filled(make_learner(kind, model=TANH, act="box", **settings))
        told = learner.update(
            minibatch("box"), num_epochs=3, minibatch_size=16, shuffle_batch_per_epoch=True
        )
        ends.append(learner.module["default_policy"].get_state())
        results.append({key: float(value.peek()) for key, value in told["default_policy"].items()})

    assert set(by_hand) == {PPOTorchLearner}
    for name, weight in ends[0].items():
        np.testing.assert_allclose(weight, ends[1][name], rtol=1e-4, atol=1e-5, err_msg=name)
    assert results[0] == pytest.approx(results[1], rel=1e-3, abs=1e-5)


def test_infinite_advantages_end_the_update_before_the_weights_change():
    """A loss that is no number raises, as by autograd, and no weight has moved."""
    learner = filled(make_learner(model=TANH))
    before = learner.module["default_policy"].get_state()
    batch = minibatch("discrete")
    batch["default_policy"]["advantages"][3] = float("inf")

    with pytest.raises(ArithmeticError, match="policy_loss"):
        learner.update(batch)

    after = learner.module["default_policy"].get_state()
    assert all(np.array_equal(after[name], weight) for name, weight in before.items())


def hooked(module):
    module.pi.net.mlp[0].register_forward_hook(lambda *given: None)


def frozen(module):
    module.vf.net.mlp[0].weight.requires_grad_(False)


def watched(module):
    module.pi.net.mlp[0].weight.register_hook(lambda gradient: gradient)


def reshaped(module):
    module.pi.net.mlp.append(torch.nn.Softplus())


def extended(module):
    module.more = torch.nn.Linear(2, 2)


def replaced(module):
    module.compute_values = type(module).compute_values.__get__(module)


@pytest.mark.parametrize("change", [hooked, frozen, watched, reshaped, extended, replaced])
def test_networks_that_are_not_as_they_come_are_left_to_autograd(change):
    """Hooks, frozen weights, other layers and methods are seen."""
    module = make_learner(model=TANH).module["default_policy"]
    assert DensePPO.of(module) is not None

    change(module)

    assert DensePPO.of(module) is None


@pytest.mark.parametrize(
    "model",
    [{"fcnet_hiddens": [8], "fcnet_activation": "silu"}, {"use_lstm": True}],
)
def test_other_networks_are_left_to_autograd(model):
    """Other activations and recurrent networks."""
    assert DensePPO.of(make_learner(model=model).module["default_policy"]) is None


@pytest.mark.parametrize("name", ["advantages", "obs", "actions"])
def test_columns_of_another_kind_are_left_to_autograd(name):
    """Double precision is not rounded."""
    learner = make_learner(model=TANH)
    batch = minibatch("discrete")
    assert learner._is_by_hand(batch)

    batch["default_policy"][name] = batch["default_policy"][name].double()

    assert not learner._is_by_hand(batch)


def test_learning_without_a_critic_is_left_to_autograd():
    """By hand there is always a value loss."""
    assert not make_learner(model=TANH, use_critic=False)._is_by_hand(minibatch("discrete"))
