"""DQN's gradients by hand, held against autograd's."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.v2 import DQNConfig, DQNTorchLearner
from rlconnect.v2.learning.dense_dqn import DenseDQN

OBS, ACTS = Box(-10.0, 10.0, (3,), np.float32), Discrete(4)
TANH = {"fcnet_hiddens": [8, 6], "fcnet_activation": "tanh", "head_fcnet_hiddens": []}
MODELS = {
    "tanh": TANH,
    "relu and deeper heads": {
        "fcnet_hiddens": [8],
        "fcnet_activation": "relu",
        "head_fcnet_hiddens": [7],
        "head_fcnet_activation": "relu",
    },
}


def make_learner(cls=DQNTorchLearner, model=TANH, **training):
    """A built learner of the default module, whose copies are other networks."""
    config = DQNConfig().environment(observation_space=OBS, action_space=ACTS)
    config.training(**training).rl_module(model_config=model).debugging(seed=1)
    config.learners(learner_class=cls)
    learner = config.build_learner(spaces={"default_policy": (OBS, ACTS)})
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for param in learner.module["default_policy"].parameters():
            param.copy_(torch.randn(param.shape, generator=generator) * 0.7)
    return learner


def minibatch(rows=40, n_step=1):
    """Columns of noise, with errors below and above 1."""
    rng = np.random.default_rng(3)

    def noise(*shape):
        return torch.from_numpy(rng.normal(size=shape).astype(np.float32))

    columns = {
        "obs": noise(rows, 3),
        "new_obs": noise(rows, 3),
        "actions": torch.from_numpy(rng.integers(4, size=rows)),
        "rewards": noise(rows) * 2,
        "terminateds": torch.from_numpy(rng.random(rows) < 0.2),
        "truncateds": torch.zeros(rows, dtype=torch.bool),
        "n_step": torch.from_numpy(rng.integers(1, n_step + 1, size=rows)),
        "weights": noise(rows).abs(),
    }
    return {"default_policy": columns}


def differentiated(learner, batch, by_hand):
    """Loss, its terms, errors by row and gradients, by hand or by autograd."""
    module = learner.module["default_policy"]
    learner._by_hand = {"default_policy": DenseDQN.of(module) if by_hand else None}
    assert learner._is_by_hand(batch) == by_hand
    _, losses, gradients = learner._differentiate(batch)
    values = learner._losses.last_values("total_loss")
    terms = {name: float(value.detach()) for (_, name), value in values.items()}
    (errors,) = learner.metrics.reduce()["default_policy"]["td_error"].values()
    names = {param: name for name, param in module.named_parameters()}
    by_name = {names[param]: gradient.clone() for param, gradient in gradients.items()}
    return float(losses["default_policy"].detach()), terms, errors, by_name


@pytest.mark.parametrize("cost", ["huber", "mse"])
@pytest.mark.parametrize("n_step", [1, 4])
@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("double_q", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_loss_terms_and_gradients_are_those_of_autograd(model, double_q, dueling, n_step, cost):
    """The loss, what is told of it, each row's error and each gradient, up to rounding."""
    settings = {"double_q": double_q, "dueling": dueling, "td_error_loss_fn": cost}
    learner = make_learner(model=MODELS[model], **settings)
    batch = minibatch(n_step=n_step)

    total, terms, errors, gradients = differentiated(learner, batch, by_hand=True)

    wanted_total, wanted_terms, wanted_errors, wanted = differentiated(learner, batch, False)
    assert total == pytest.approx(wanted_total, rel=1e-6)
    assert terms == pytest.approx(wanted_terms, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(errors, wanted_errors, rtol=1e-6, atol=2e-6)
    assert gradients.keys() == wanted.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, wanted[name], rtol=1e-5, atol=1e-6, msg=name)


def test_updates_end_with_the_same_weights(monkeypatch):
    """Update after update, clipped, with copies that follow: weights agree, and so do results."""
    settings = {"grad_clip": 0.5, "lr": 0.01, "target_network_update_freq": 2}
    ends, results, by_hand = [], [], []
    terms = DenseDQN.terms
    monkeypatch.setattr(DenseDQN, "terms", lambda *given: by_hand.append(kind) or terms(*given))
    for kind in (DQNTorchLearner, type("Watched", (DQNTorchLearner,), {})):
        learner = make_learner(kind, **settings)
        for steps in range(8):
            timesteps = {"num_env_steps_sampled_lifetime": steps}
            learner.update(minibatch(), timesteps=timesteps, _no_metrics_reduce=True)
        ends.append(learner.module["default_policy"].get_state())
        told = learner.metrics.reduce()["default_policy"]
        del told["td_error"]
        results.append({key: float(value.peek()) for key, value in told.items()})

    assert by_hand == 8 * [DQNTorchLearner]
    for name, weight in ends[0].items():
        np.testing.assert_allclose(weight, ends[1][name], rtol=1e-5, atol=1e-5, err_msg=name)
    assert results[0] == pytest.approx(results[1], rel=1e-4, abs=1e-5)


def test_exchanged_numbers_of_weights_are_seen_within_an_iteration():
    """A weight whose tensor is another one counts at once, as by autograd."""
    learner = make_learner(dueling=False)
    batch = minibatch()
    learner.update(batch, _no_metrics_reduce=True)
    weight = learner.module["default_policy"].af.net.mlp[0].weight
    weight.data = torch.zeros_like(weight)

    _, _, gradients = learner._differentiate(batch)

    encoder = learner.module["default_policy"].encoder
    assert not any(gradients[param].any() for param in encoder.parameters())


def test_infinite_rewards_end_the_update_before_the_weights_change():
    """A loss that is no number raises, as by autograd, and no weight has moved."""
    learner = make_learner()
    before = learner.module["default_policy"].get_state()
    batch = minibatch()
    batch["default_policy"]["rewards"][3] = float("inf")

    with pytest.raises(ArithmeticError, match="qf_loss"):
        learner.update(batch)

    after = learner.module["default_policy"].get_state()
    assert all(np.array_equal(after[name], weight) for name, weight in before.items())


def hooked(module):
    module.af.net.mlp[0].register_forward_hook(lambda *given: None)


def frozen(module):
    module.vf.net.mlp[0].weight.requires_grad_(False)


def trained_copy(module):
    module._target_af.requires_grad_(True)


def reshaped(module):
    module.encoder.net.mlp.append(torch.nn.Softplus())


def extended(module):
    module.more = torch.nn.Linear(2, 2)


def replaced(module):
    module.forward_target = type(module).forward_target.__get__(module)


@pytest.mark.parametrize("change", [hooked, frozen, trained_copy, reshaped, extended, replaced])
def test_networks_that_are_not_as_they_come_are_left_to_autograd(change):
    """Hooks, frozen weights, other layers and methods are seen."""
    module = make_learner().module["default_policy"]
    assert DenseDQN.of(module) is not None

    change(module)

    assert DenseDQN.of(module) is None


def test_distributions_and_other_activations_are_left_to_autograd():
    """Distributions over returns, layers with other activations, recurrent networks."""
    for changed in (
        {"num_atoms": 4},
        {"model": {"fcnet_hiddens": [8], "fcnet_activation": "silu"}},
        {"model": {"use_lstm": True}, "replay_buffer_config": {"type": "EpisodeReplayBuffer"}},
    ):
        assert DenseDQN.of(make_learner(**changed).module["default_policy"]) is None


@pytest.mark.parametrize("name", ["rewards", "obs", "weights", "actions", "n_step"])
def test_columns_of_another_kind_are_left_to_autograd(name):
    """Double precision is not rounded."""
    learner = make_learner()
    batch = minibatch()
    assert learner._is_by_hand(batch)

    batch["default_policy"][name] = batch["default_policy"][name].double()

    assert not learner._is_by_hand(batch)


def test_a_learner_with_a_loss_of_its_own_is_left_to_autograd():
    """Whether its class or somebody else has given it one."""
    batch = minibatch()
    assert not make_learner(type("Own", (DQNTorchLearner,), {}))._is_by_hand(batch)
    learner = make_learner()
    learner.compute_loss_for_module = learner.compute_loss_for_module
    assert not learner._is_by_hand(batch)
