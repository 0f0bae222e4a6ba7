"""Settings of older releases, read with the weights' names in hand."""

import math

from rlconnect.v2.modules.old_settings import modern_settings, renamed_weights

CLIP = {"pi.log_std_clip_param_const": (1,)}


def test_the_names_of_the_weights_decide():
    """Shared or separate encoders, twins, joint inputs: what was saved tells."""
    shared = {"encoder.encoder.net.mlp.0.weight": (4, 3), **CLIP}
    separate = {"encoder.actor_encoder.net.mlp.0.weight": (4, 3), **CLIP}
    joint = {"qf_encoder.net.mlp.0.weight": (4, 5), "qf_twin.net.mlp.0.weight": (1, 4), **CLIP}

    assert modern_settings({"vf_share_layers": False}, shared)["vf_share_layers"] is True
    assert modern_settings({}, separate)["vf_share_layers"] is False
    found = modern_settings({}, joint)
    assert (found["twin_q"], found["qf_encoder_joins_inputs"]) == (True, True)


def test_heads_take_their_layers_from_the_weights():
    """Older releases called them `post_fcnet_*`; a stray setting without layers means nothing."""
    deep = {"pi.net.mlp.0.weight": (7, 4), "pi.net.mlp.2.weight": (2, 7), **CLIP}
    flat = {"pi.net.mlp.0.weight": (2, 4), **CLIP}
    old = {"post_fcnet_hiddens": [7], "post_fcnet_activation": "tanh"}

    found = modern_settings(old, deep)

    assert (found["head_fcnet_hiddens"], found["head_fcnet_activation"]) == ([7], "tanh")
    assert "head_fcnet_hiddens" not in modern_settings(old, flat)
    assert modern_settings({"head_fcnet_hiddens": [5]}, deep)["head_fcnet_hiddens"] == [5]


def test_what_was_not_there_is_switched_off():
    """Before Ray 2.10 deviations had no bound, and one more layer a setting of its own."""
    shapes = {"pi.net.mlp.0.weight": (2, 4)}

    found = modern_settings({"fcnet_hiddens": [8], "encoder_latent_dim": 4}, shapes)

    assert found["log_std_clip_param"] == math.inf
    assert found["fcnet_hiddens"] == [8, 4]


def test_without_weights_nothing_is_guessed():
    """The settings come back as they are, as a copy."""
    settings = {"fcnet_hiddens": [8]}

    found = modern_settings(settings, {})

    assert found == settings
    assert found is not settings


def test_copies_once_had_other_names():
    """With or without an underscore; names that fit are left alone."""
    own = ["_target_af.weight", "af.weight", "target_qf.weight"]

    renamed = renamed_weights(["target_af.weight", "af.weight", "_target_qf.weight", "x"], own)

    assert renamed == {
        "target_af.weight": "_target_af.weight",
        "_target_qf.weight": "target_qf.weight",
    }
