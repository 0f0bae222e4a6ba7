"""SAC's network settings are found under every spelling a version wrote."""

import pytest
from rlconnect.legacy.heads.sac import net_config
from rlconnect.legacy.models.defaults import with_defaults


@pytest.mark.parametrize(
    ("config", "activation"),
    [
        ({"q_model_config": {"fcnet_hiddens": [3]}, "Q_model": -1}, "tanh"),
        ({"Q_model": {"fcnet_hiddens": [3]}}, "relu"),
        ({"Q_model": {"fcnet_hiddens": [3]}, "q_model_config": -1}, "relu"),
    ],
)
def test_old_and_new_spellings(config, activation):
    """The spelling that holds settings counts; the older one was laid over SAC's own."""
    found = with_defaults(net_config(config, "q_model_config", "Q_model"))

    assert (found["fcnet_hiddens"], found["fcnet_activation"]) == ([3], activation)


def test_nothing_said_means_sacs_own_default():
    """SAC's nets have two layers of 256 and relu, unlike other models."""
    found = net_config({"model": {"fcnet_hiddens": [9]}}, "q_model_config", "Q_model")

    assert (found["fcnet_hiddens"], found["fcnet_activation"]) == ([256, 256], "relu")


def test_what_a_network_leaves_out_is_as_in_the_shared_settings():
    """A dict of the user's own replaces SAC's, and the shared settings stand behind it."""
    shared = {"conv_filters": [[4, [4, 4], 2]], "fcnet_hiddens": [9], "fcnet_activation": "elu"}
    own = {"conv_filters": [[8, [2, 2], 1]]}

    found, kept = (
        net_config({"model": shared, "policy_model_config": given}, "policy_model_config", "")
        for given in ({}, own)
    )

    assert found == shared
    assert kept == {**shared, **own}
