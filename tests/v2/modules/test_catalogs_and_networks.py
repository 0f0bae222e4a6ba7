"""Catalogs and the networks they build: what users override, and the networks by themselves."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect import v2
from rlconnect.core.errors import ConfigError
from rlconnect.v2.modules.convolution_shapes import Convolution, output_shape
from torch import nn

B3 = Box(-1, 1, (3,), np.float32)
IMAGE = Box(0, 1, (7, 6, 2), np.float32)


def module(catalog=None, obs=B3, act=None, **config):
    return v2.DefaultPPOTorchRLModule(
        observation_space=obs,
        action_space=Discrete(2) if act is None else act,
        model_config={"fcnet_hiddens": [4], **config},
        catalog_class=catalog,
    )


def test_a_catalog_may_bring_its_own_encoder():
    """Overriding `_get_encoder_config` with a config and an encoder of one's own is enough."""

    class Net(v2.TorchModel, v2.Encoder):
        def __init__(self, config):
            super().__init__(config)
            self.net = nn.Linear(3, 5)

        def _forward(self, inputs, **kwargs):
            return {v2.ENCODER_OUT: self.net(inputs["obs"])}

    class Config(v2.ModelConfig):
        @property
        def output_dims(self):
            return (5,)

        def build(self, framework="torch"):
            return Net(self)

    class Mine(v2.PPOCatalog):
        @classmethod
        def _get_encoder_config(cls, observation_space, **kwargs):
            return Config(input_dims=observation_space.shape)

    built = module(Mine, vf_share_layers=False)

    assert built.catalog.latent_dims == (5,)
    assert built.get_state()["encoder.actor_encoder.net.weight"].shape == (5, 3)
    assert built.compute_values({"obs": torch.ones(2, 3)}).shape == (2,)


def test_a_catalog_may_bring_its_own_head():
    """Overriding `build_pi_head` works, with what the catalog knows; so does building upon it."""

    class Mine(v2.PPOCatalog):
        def build_pi_head(self, framework="torch"):
            head = super().build_pi_head(framework)
            nn.init.zeros_(head.net.mlp[-1].weight)
            nn.init.zeros_(head.net.mlp[-1].bias)
            assert self.pi_and_vf_head_hiddens == self._model_config_dict["head_fcnet_hiddens"]
            return head

    out = module(Mine, head_fcnet_hiddens=[3]).forward_inference({"obs": torch.ones(1, 3)})

    assert out["action_dist_inputs"].tolist() == [[0.0, 0.0]]


def test_a_distribution_of_ones_own_needs_only_from_logits():
    """A catalog may name any class that knows its width and makes itself from logits."""

    class Always:
        def __init__(self, logits):
            self.logits = logits

        @staticmethod
        def required_input_dim(space, **kwargs):
            return 3

        @classmethod
        def from_logits(cls, logits):
            return cls(logits)

    class Mine(v2.PPOCatalog):
        def get_action_dist_cls(self, framework):
            return Always

    built = module(Mine)

    out = built.forward_inference({"obs": torch.ones(1, 3)})
    assert built.get_inference_action_dist_cls().from_logits(out["action_dist_inputs"])
    assert out["action_dist_inputs"].shape == (1, 3)


def test_the_base_catalog_says_what_fits():
    """Width of the features, the encoder, the distribution."""
    catalog = v2.Catalog(B3, Discrete(2), {"fcnet_hiddens": [8, 4]})

    encoder = catalog.build_encoder(framework="torch")

    assert catalog.latent_dims == (4,)
    assert encoder({"obs": torch.ones(5, 3)})[v2.ENCODER_OUT].shape == (5, 4)
    assert catalog.get_action_dist_cls(framework="torch") is v2.TorchCategorical
    with pytest.raises(NotImplementedError, match="build_actor_critic_encoder"):
        v2.PPOCatalog(B3, Discrete(2), {}).build_encoder(framework="torch")
    with pytest.raises(ConfigError, match="framework"):
        catalog.build_encoder(framework="jax")


def test_initializers_fill_the_layers_they_are_for():
    """By name, with arguments, or as a function; each part of the network has its own."""
    built = module(
        fcnet_kernel_initializer="constant_",
        fcnet_kernel_initializer_kwargs={"val": 0.5},
        fcnet_bias_initializer="zeros_",
        head_fcnet_kernel_initializer=nn.init.ones_,
        use_lstm=True,
        lstm_cell_size=2,
        lstm_bias_initializer="ones_",
    )

    state = built.get_state()

    assert (state["encoder.encoder.tokenizer.net.mlp.0.weight"] == 0.5).all()
    assert (state["encoder.encoder.tokenizer.net.mlp.0.bias"] == 0).all()
    assert (state["pi.net.mlp.0.weight"] == 1).all()
    assert (state["encoder.encoder.lstm.bias_hh_l0"] == 1).all()


@pytest.mark.parametrize("name", ["nope", "zeros", "_calculate_correct_fan_", "torch"])
def test_an_unknown_initializer_is_refused(name):
    """Only in-place functions of `torch.nn.init` do."""
    with pytest.raises(ConfigError, match="initializer"):
        v2.get_initializer_fn(name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("swish", nn.SiLU), ("LINEAR", None), (None, None), ("Mish", nn.Mish), (nn.ELU, nn.ELU)],
)
def test_activations_are_found_by_name(name, kind):
    """RLlib's words, names of torch classes, classes themselves."""
    assert v2.get_activation_fn(name) is kind


@pytest.mark.parametrize("name", ["noway", "functional", "Parameter"])
def test_an_unknown_activation_is_refused(name):
    """A name that is no module of torch's is named in the error."""
    with pytest.raises(ConfigError, match=name):
        v2.get_activation_fn(name)


@pytest.mark.parametrize(
    "filters",
    [
        [[3, 3, 2]],
        [[3, [2, 3], [3, 1], "valid"]],
        [[3, 4, 1], [2, [1, 5], 2, "valid"]],
        [[2, 7, 5]],
    ],
)
def test_the_shape_foretold_is_the_shape_computed(filters):
    """`output_dims` agrees with what the layers give, for any kernel, stride and padding."""
    config = v2.CNNEncoderConfig(input_dims=IMAGE.shape, cnn_filter_specifiers=filters)
    flat = config.build()({"obs": torch.ones(2, *IMAGE.shape)})[v2.ENCODER_OUT]
    config.flatten_at_end = False
    image = config.build()({"obs": torch.ones(2, *IMAGE.shape)})[v2.ENCODER_OUT]

    assert image.shape[1:] == output_shape(IMAGE.shape, filters) == config.output_dims
    assert flat.shape == (2, int(np.prod(image.shape[1:])))


@pytest.mark.parametrize("described", [[3], 3, [3, 3, 1, "other"], [3, 9, 1, "valid"]])
def test_filters_that_make_no_image_are_refused(described):
    """Too few numbers, an unknown padding, a kernel larger than the image."""
    with pytest.raises(ConfigError, match="conv_filters"):
        Convolution.read(described).output_size((7, 6))


def test_images_may_be_normalised_over_channels():
    """Each place of the image then has mean zero over its channels."""
    net = v2.TorchCNN(
        input_dims=IMAGE.shape,
        cnn_filter_specifiers=[[4, 3, 1]],
        cnn_use_layernorm=True,
        cnn_activation=None,
    )

    out = net(torch.rand(2, *IMAGE.shape))

    assert out.shape == (2, 7, 6, 4)
    torch.testing.assert_close(out.mean(dim=-1), torch.zeros(2, 7, 6), atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_encoders_carry_their_state(kind):
    """Two steps at once are the same as one after the other."""
    config = v2.RecurrentEncoderConfig(input_dims=(3,), recurrent_layer_type=kind, hidden_dim=2)
    net = config.build()
    state = {key: torch.zeros(4, *value.shape) for key, value in net.get_initial_state().items()}
    obs = torch.rand(4, 2, 3)

    both = net({"obs": obs, "state_in": state})
    first = net({"obs": obs[:, :1], "state_in": state})
    second = net({"obs": obs[:, 1:], "state_in": first["state_out"]})

    torch.testing.assert_close(both[v2.ENCODER_OUT][:, 1:], second[v2.ENCODER_OUT])
    torch.testing.assert_close(both["state_out"], second["state_out"])


def test_recurrent_encoders_want_flat_features():
    """Images need a tokenizer in front; an unknown layer is refused."""
    with pytest.raises(ConfigError, match="flat features"):
        v2.RecurrentEncoderConfig(input_dims=(4, 4, 3), hidden_dim=2).build()
    with pytest.raises(ConfigError, match="lstm"):
        v2.RecurrentEncoderConfig(input_dims=(3,), recurrent_layer_type="rnn").build()


def test_a_free_deviation_needs_pairs():
    """Means and deviations: the width is even; parameters are counted."""
    with pytest.raises(ConfigError, match="even"):
        v2.FreeLogStdMLPHeadConfig(
            input_dims=(3,), hidden_layer_dims=[], output_layer_dim=3
        ).build()

    head = v2.FreeLogStdMLPHeadConfig(
        input_dims=(3,), hidden_layer_dims=[], output_layer_dim=4
    ).build()

    assert head(torch.zeros(5, 3)).shape == (5, 4)
    assert head.get_num_parameters() == (3 * 2 + 2 + 2, 0)


def test_streams_are_joined():
    """One encoder per column; the joined features come out where there is no output layer."""
    streams = {
        name: v2.MLPEncoderConfig(input_dims=(n,), hidden_layer_dims=[], output_layer_dim=2)
        for name, n in (("obs", 3), ("actions", 1))
    }
    config = v2.MultiStreamEncoderConfig(base_encoder_configs=streams, hidden_layer_dims=[5])

    out = config.build()({"obs": torch.ones(6, 3), "actions": torch.ones(6, 1)})

    assert out[v2.ENCODER_OUT].shape == (6, *config.output_dims) == (6, 9)


def test_a_target_network_follows():
    """It starts equal, takes no gradient, and moves by `tau`."""
    net = nn.Linear(1, 1)
    copied = v2.make_target_network(net)
    nn.init.ones_(net.weight)
    before = float(copied.weight)

    v2.update_target_network(main_net=net, target_net=copied, tau=0.25)

    assert float(copied.weight) == pytest.approx(0.75 * before + 0.25)
    assert not copied.weight.requires_grad
    v2.update_target_network(main_net=net, target_net=copied, tau=1.0)
    assert torch.equal(copied.weight, net.weight)


def test_a_config_of_an_encoder_needs_its_inputs():
    """Missing inputs and empty networks are said at once."""
    for make in (
        lambda: v2.CNNEncoderConfig().build(),
        lambda: v2.ActorCriticEncoderConfig().build(),
        lambda: v2.MLPEncoderConfig(input_dims=(3,), hidden_layer_dims=[]).output_dims,
    ):
        with pytest.raises(ConfigError):
            make()
