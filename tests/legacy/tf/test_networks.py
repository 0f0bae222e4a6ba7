"""Keras' order of layers, and the layers each network is described by."""

from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.legacy.models.defaults import with_defaults
from rlconnect.legacy.tf.layers import Layer
from rlconnect.legacy.tf.networks import Chain, dense, in_saved_order, network


def names(layers):
    return [layer.saved for layer in layers]


def test_layers_far_from_the_outputs_come_first():
    """Of layers equally far those on the way to the first output; what follows unseen counts."""
    a, b, c, d = (Layer("dense", name, name) for name in "abcd")

    assert names(in_saved_order(Chain([a, b]), Chain([c, d]))) == ["a", "c", "b", "d"]
    assert names(in_saved_order(Chain([a, b]), Chain([c, d], 1))) == ["c", "a", "d", "b"]
    assert names(in_saved_order(Chain([a, b, c]), Chain([a, d]))) == ["a", "b", "c", "d"]


def test_a_network_that_ends_in_features_has_no_outputs():
    """The value then is as far from the outputs as the last hidden layer."""
    config = with_defaults({"fcnet_hiddens": [4], "vf_share_layers": False})

    assert names(dense(None, config)) == ["fc_value_1", "fc_1", "value_out"]
    assert names(dense(2, config)) == ["fc_1", "fc_value_1", "fc_out", "value_out"]


def test_parts_of_a_nested_observation_are_saved_by_kind_and_named_as_made():
    """Images, then discrete parts, then the others; numbers in names follow the sorted keys."""
    space = Dict(a=Box(0, 1, (3,)), b=Discrete(2), c=Box(0, 1, (10, 10, 1)))
    config = with_defaults({"fcnet_hiddens": [], "conv_filters": [[2, 10, 1]]})

    def owners(named):
        twins = [layer.torch.split(".")[0] for layer in network(space, 2, config, named=named)]
        return [name for name in dict.fromkeys(twins) if name[-1].isdigit()]

    assert owners(named=False) == ["cnn_2", "one_hot_1", "flatten_0"]
    assert owners(named=True) == ["flatten_0", "one_hot_1", "cnn_2"]
