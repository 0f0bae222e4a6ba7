"""The base of modules: passes, modes, states, and how users extend them."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from rlconnect import v2
from rlconnect.core.errors import ConfigError, PieceError, RlconnectError, WeightsError
from torch import nn

B3 = Box(-1, 1, (3,), np.float32)
OBS = {"obs": torch.ones(2, 3)}


def built(cls=v2.DefaultPPOTorchRLModule, obs=B3, act=None, **config):
    act = Discrete(2) if act is None else act
    settings = {"fcnet_hiddens": [4], **config}
    return cls(observation_space=obs, action_space=act, model_config=settings)


class Linear(v2.TorchRLModule):
    """The least a user writes."""

    def setup(self):
        self.layer = nn.Linear(self.observation_space.shape[0], self.action_space.n)
        self.drop = nn.Dropout(0.5)

    def _forward(self, batch, **kwargs):
        self.seen = (self.training, self.drop.training, torch.is_grad_enabled(), sorted(kwargs))
        return {"action_dist_inputs": self.layer(batch["obs"])}


def test_acting_runs_in_evaluation_mode_without_gradients():
    """Each layer's mode is put back; training turns training mode on and leaves it on."""
    module = built(Linear)
    module.drop.eval()

    out = module.forward_exploration(OBS, t=5)

    assert module.seen == (False, False, False, ["t"])
    assert not out["action_dist_inputs"].requires_grad
    assert (module.training, module.drop.training) == (True, False)
    module.eval()
    assert module.forward_train(OBS)["action_dist_inputs"].requires_grad
    assert module.seen == (True, True, True, [])
    assert module.training
    assert module(OBS)["action_dist_inputs"].requires_grad


def test_the_mode_is_put_back_when_the_pass_fails():
    """An error inside a pass leaves no layer in evaluation mode."""
    module = built(Linear)

    with pytest.raises(KeyError):
        module.forward_inference({})

    assert module.training
    assert module.drop.training


class Loud(Linear):
    """A user's pass around the library's."""

    def forward_exploration(self, batch, **kwargs):
        return {**super().forward_exploration(batch, **kwargs), "loud": True}


@pytest.mark.parametrize("explore", [True, False])
@pytest.mark.parametrize("is_together", [True, False])
@pytest.mark.parametrize("kind", [Linear, Loud])
@pytest.mark.parametrize("is_training", [True, False])
def test_a_steady_pass_is_the_pass(explore, is_together, kind, is_training):
    """It gives the same, without gradients and in evaluation mode, a user's own pass included."""
    module = built(kind).train(is_training)
    whole, batch = module, OBS
    if is_together:
        whole, batch = v2.MultiRLModule(), {"a": OBS, "gone": OBS}
        whole.add_module("a", module)
    steady = whole.steady_pass(explore)

    passed = steady(batch, t=3) if explore else steady(batch)

    assert torch.is_grad_enabled()
    assert module.seen == (False, False, False, ["t"] if explore else [])
    assert module.training is is_training
    expected = whole.forward_exploration(batch, t=3) if explore else whole.forward_inference(batch)
    assert repr(passed) == repr(expected)


def test_a_layer_with_a_mode_of_its_own_is_told():
    """A layer that overrides `train` gets the call, not just the flag."""

    class Frozen(nn.Linear):
        def train(self, mode=True):
            self.told = mode
            return super().train(mode)

    class Net(Linear):
        def setup(self):
            super().setup()
            self.frozen = Frozen(1, 1)

    module = built(Net)

    module.forward_inference(OBS)

    assert module.frozen.told is False


def test_a_module_is_called_by_name_of_its_arguments():
    """Positional arguments and unknown ones are errors at once."""
    with pytest.raises(TypeError):
        v2.DefaultPPOTorchRLModule(B3, Discrete(2))
    with pytest.raises(TypeError):
        v2.DefaultPPOTorchRLModule(observation_space=B3, action_space=Discrete(2), obs_space=B3)


def test_spaces_may_be_replaced_around_the_constructor():
    """A module may show its catalog another space than its own (action masking)."""
    masked = Dict({"mask": Box(0, 1, (2,)), "observations": B3})

    class Masked(v2.DefaultPPOTorchRLModule):
        def __init__(self, *args, **kwargs):
            self.full_space = kwargs["observation_space"]
            kwargs["observation_space"] = self.full_space["observations"]
            super().__init__(*args, **kwargs)
            self.observation_space = self.full_space

        def _forward(self, batch, **kwargs):
            inner = super()._forward({"obs": batch["obs"]["observations"]})
            inner["action_dist_inputs"] = inner["action_dist_inputs"] + batch["obs"]["mask"].log()
            return inner

    module = built(Masked, obs=masked)

    batch = {"obs": {"observations": torch.ones(1, 3), "mask": torch.tensor([[1.0, 0.0]])}}
    assert float(module.forward_inference(batch)["action_dist_inputs"][0, 1]) == -np.inf
    assert module.observation_space is masked


def test_networks_of_ones_own_need_no_catalog_that_fits():
    """Spaces no catalog knows are an error only where the catalog is asked."""

    class Own(v2.DefaultPPOTorchRLModule):
        def setup(self):
            self.net = nn.Linear(1, 2)

        def get_initial_state(self):
            return {}

    space = Dict({"a": B3})

    assert built(Own, obs=space).catalog is None
    with pytest.raises(v2.UnsupportedSpaceException, match="obs space"):
        built(obs=space)


def test_no_catalog_means_the_default_one():
    """`catalog_class=None` is the same as not saying it."""
    module = v2.DefaultPPOTorchRLModule(
        observation_space=B3, action_space=Discrete(2), model_config={}, catalog_class=None
    )

    assert type(module.catalog) is v2.PPOCatalog
    assert type(built(Linear).catalog) is type(None)


def test_a_users_space_reaches_the_encoder_itself():
    """A Box of a class of the user's own is handed on, not copied."""

    class Tagged(Box):
        tag = "mine"

    seen = []

    class Catalog(v2.PPOCatalog):
        @classmethod
        def _get_encoder_config(cls, observation_space, **kwargs):
            seen.append(observation_space)
            return super()._get_encoder_config(observation_space, **kwargs)

    space = Tagged(-1, 1, (3,))
    v2.DefaultPPOTorchRLModule(
        observation_space=space, action_space=Discrete(2), model_config={}, catalog_class=Catalog
    )

    assert seen == [space]
    assert seen[0] is space


def test_settings_may_be_a_dataclass():
    """A `DefaultModelConfig` works where a dict does."""
    config = v2.DefaultModelConfig(fcnet_hiddens=[7])

    module = v2.DefaultPPOTorchRLModule(
        observation_space=B3, action_space=Discrete(2), model_config=config
    )

    assert module.get_state()["pi.net.mlp.0.weight"].shape == (2, 7)
    assert module.model_config is config


def test_a_state_taken_does_not_change_with_the_weights():
    """`get_state` gives copies; `set_state` takes part of a state and ignores strange names."""
    module = built()
    before = module.get_state()
    kept = {key: value.copy() for key, value in before.items()}

    module.set_state({"pi.net.mlp.0.bias": np.array([7.0, 8.0]), "strange": np.zeros(3)})

    assert all(np.array_equal(before[key], kept[key]) for key in kept)
    assert module.get_state()["pi.net.mlp.0.bias"].tolist() == [7.0, 8.0]


def test_a_weight_of_another_shape_is_named():
    """The error gives name and both shapes, and is a RuntimeError as torch's would be."""
    with pytest.raises(
        v2.WeightShapeError, match=r"pi\.net\.mlp\.0\.bias.*expected \(2,\)"
    ) as caught:
        built().set_state({"pi.net.mlp.0.bias": np.zeros(3)})

    assert isinstance(caught.value, RuntimeError)


def test_an_inference_only_module_needs_all_its_weights():
    """What is missing is listed; a full module's acting part is enough."""
    full = built(vf_share_layers=False)
    small = v2.RLModuleSpec.from_module(full)
    small.inference_only = True
    module = small.build()

    with pytest.raises(WeightsError, match=r"missing.*encoder\.actor_encoder"):
        module.set_state({})

    module.set_state(full.get_state(inference_only=True))
    np.testing.assert_array_equal(
        module.forward_inference(OBS)["action_dist_inputs"],
        full.forward_inference(OBS)["action_dist_inputs"],
    )
    with pytest.raises(v2.InferenceOnlyError, match="inference_only"):
        module.forward_train(OBS)


def test_what_a_state_is_decides_whether_it_is_stateful():
    """A non-empty dict; anything but a dict is refused."""

    class Odd(Linear):
        def get_initial_state(self):
            return 3

    assert built(use_lstm=True, lstm_cell_size=2).is_stateful()
    assert not built().is_stateful()
    with pytest.raises(PieceError, match="get_initial_state"):
        built(Odd).is_stateful()


def test_a_recurrent_module_says_what_it_misses():
    """A batch without state_in is an error that names it."""
    with pytest.raises(PieceError, match="state_in"):
        built(use_lstm=True, lstm_cell_size=2).forward_inference({"obs": torch.ones(1, 2, 3)})


@pytest.mark.parametrize(
    ("act", "kind"),
    [(Discrete(2), "TorchCategorical"), (Box(-1, 1, (2,)), "TorchDiagGaussian")],
)
def test_modules_without_a_catalog_have_a_distribution(act, kind):
    """Discrete and Box have one; for others the error says what to set."""

    class Empty(v2.TorchRLModule):
        pass

    module = built(Empty, act=act)

    assert module.get_train_action_dist_cls().__name__ == kind
    with pytest.raises(ConfigError, match="action_dist_cls"):
        built(Empty, act=MultiDiscrete([2, 2])).get_inference_action_dist_cls()
    module.action_dist_cls = v2.TorchDeterministic
    assert module.get_exploration_action_dist_cls() is v2.TorchDeterministic


def test_the_base_without_torch_works_alone():
    """`RLModule` may be subclassed for any framework."""
    module = v2.RLModule(observation_space=B3, action_space=Discrete(2))

    assert module.forward_inference({}) == {}
    assert module.get_state() == {}
    assert module.unwrapped() is module
    for ask in ("inference", "exploration", "train"):
        with pytest.raises(NotImplementedError):
            getattr(module, f"get_{ask}_action_dist_cls")()


def test_exploring_follows_epsilon():
    """DQN's actions are the best at epsilon 0, anything allowed at epsilon 1."""
    torch.manual_seed(0)
    module = built(v2.DefaultDQNTorchRLModule, act=Discrete(4), epsilon=[(0, 1.0), (10, 0.0)])
    batch = {"obs": torch.ones(400, 3)}
    best = module.forward_inference(batch)["actions"]

    explored = module.forward_exploration(batch, t=0)["actions"]
    exploited = module.forward_exploration(batch, t=10)["actions"]

    assert torch.equal(exploited, best)
    assert sorted(explored.unique().tolist()) == [0, 1, 2, 3]
    half = module.forward_exploration(batch, t=5)["actions"]
    assert 0.5 < float((half == best).float().mean()) < 0.75


def test_forbidden_actions_are_never_explored():
    """An action whose value is minus infinity is not drawn, however random."""

    class Masked(v2.DefaultDQNTorchRLModule):
        def _qf_forward_helper(self, batch, encoder, head):
            out = super()._qf_forward_helper(batch, encoder, head)
            out["qf_preds"] = out["qf_preds"] + torch.tensor([0.0, -torch.inf, 0.0])
            return out

    module = built(Masked, act=Discrete(3), epsilon=1.0)

    actions = module.forward_exploration({"obs": torch.ones(200, 3)}, t=0)["actions"]

    assert set(actions.tolist()) == {0, 2}


def test_training_the_policy_leaves_the_critics_alone():
    """SAC's `q_curr` has a gradient for the policy, none for the networks of action values."""
    module = built(v2.DefaultSACTorchRLModule, act=Box(-1, 1, (2,)), fusionnet_hiddens=[3])
    module.make_target_networks()
    batch = {"obs": torch.ones(2, 3), "new_obs": torch.ones(2, 3), "actions": torch.zeros(2, 2)}

    out = module.forward_train(batch)
    out["q_curr"].sum().backward()

    assert module.pi.net.mlp[0].weight.grad is not None
    assert all(p.grad is None for p in module.qf.parameters())
    assert all(p.requires_grad for p in module.qf.parameters())
    assert not out["q_target_next"].requires_grad
    assert not out["logp_next_resampled"].requires_grad


def test_older_sac_networks_join_their_inputs_first():
    """Weights of releases that put observation and action side by side have their network."""
    module = built(
        v2.DefaultSACTorchRLModule, act=Box(-1, 1, (2,)), qf_encoder_joins_inputs=True, twin_q=False
    )

    values = module.compute_q_values({"obs": torch.ones(6, 3), "actions": torch.zeros(6, 2)})

    assert module.get_state()["qf_encoder.net.mlp.0.weight"].shape == (4, 5)
    assert values.shape == (6,)


def test_every_error_is_one_of_ours():
    """Settings that build nothing raise errors of the tree, whatever the cause."""
    for config in ({"fcnet_activation": "noway"}, {"fcnet_kernel_initializer": "nope"}):
        with pytest.raises(RlconnectError):
            built(**config)
