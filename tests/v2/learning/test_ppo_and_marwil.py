"""The learners of PPO, MARWIL and BC around their losses."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import PieceError
from rlconnect.v2 import (
    BCTorchLearner,
    ConnectorV2,
    LearnerGroup,
    MARWILTorchLearner,
    PPOLearner,
    SingleAgentEpisode,
)
from rlconnect.v2.connectors.learner.general_advantage_estimation import add_value_targets
from rlconnect.v2.connectors.learner.learner_connector_pipeline import learner_pipeline

from tests.v2.learning.learning_cases import (
    MLP,
    episode,
    make_learner,
    ppo_spec,
    settings_of,
    weights_of,
)

STEPS = {"num_env_steps_sampled_lifetime": 0}
NO_VALUES = {"fcnet_hiddens": [16]}


def names(pipeline):
    return [type(piece).__name__ for piece in pipeline.connectors]


class Mine(ConnectorV2):
    """Does nothing."""

    def __call__(self, *, batch, **kwargs):
        return batch


def test_ppo_puts_its_pieces_around_the_defaults():
    """One step more comes first, advantages last; both only once."""
    learner = make_learner()

    add_value_targets(learner.learner_connector, gamma=0.9, lambda_=1.0)

    assert isinstance(learner, PPOLearner)
    assert learner.learner_connector is learner._learner_connector
    assert names(learner.learner_connector)[0] == "AddOneTsToEpisodesAndTruncate"
    assert names(learner.learner_connector)[-1] == "GeneralAdvantageEstimation"
    assert len(set(names(learner.learner_connector))) == len(learner.learner_connector)


def test_pieces_behind_the_defaults_see_advantages():
    """What a user has put at the end stays at the end."""
    pipeline = learner_pipeline()
    pipeline.append(Mine())

    add_value_targets(pipeline, gamma=0.9, lambda_=1.0)

    assert names(pipeline)[-3:] == ["NumpyToTensor", "GeneralAdvantageEstimation", "Mine"]


def test_without_default_pieces_ppo_adds_none():
    """Switching the defaults off means PPO's too."""
    learner = make_learner(add_default_connectors_to_learner_pipeline=False)

    assert "GeneralAdvantageEstimation" not in names(learner.learner_connector)


def test_the_divergences_weight_adapts_each_update():
    """Far from the policy that sampled it grows by half, update by update."""
    learner = make_learner(kl_target=1e-6)

    for expected in (0.3, 0.45):
        learner.update(episodes=[episode()], timesteps=STEPS)

        coeff = learner.curr_kl_coeffs_per_module["default_policy"]
        assert float(coeff) == pytest.approx(expected)


def test_a_batch_without_needed_columns_is_told():
    """The error names the columns that the pipeline should have made."""
    learner = make_learner()
    batch = {"default_policy": {"obs": np.zeros((4, 3)), "actions": np.zeros(4, np.int64)}}

    with pytest.raises(PieceError, match=r"PPOTorchLearner.*'action_logp'"):
        learner.update(batch=batch)


def test_removing_a_module_forgets_its_coefficients():
    """PPO's weights and schedules of a module go with it."""
    learner = make_learner()
    learner.update(episodes=[episode()], timesteps=STEPS)

    learner.remove_module("default_policy")

    assert not learner.curr_kl_coeffs_per_module
    assert not learner.entropy_coeff_schedulers_per_module


@pytest.mark.parametrize("cls", [BCTorchLearner, MARWILTorchLearner])
def test_a_teachers_episodes_are_imitated(cls):
    """After some updates the policy does what the recorded one did: go by the first number."""
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(201, 3)).astype(np.float32)
    teacher = SingleAgentEpisode(
        id_="t",
        observations=list(obs),
        actions=list((obs[:-1, 0] > 0).astype(np.int64)),
        rewards=[0.01] * 200,
        terminated=True,
        observation_space=Box(-10.0, 10.0, (3,), np.float32),
        action_space=Discrete(2),
        len_lookback_buffer=0,
    )
    model = NO_VALUES if cls is BCTorchLearner else {**NO_VALUES, "vf_share_layers": False}
    learner = make_learner(cls, model=model, lr=0.03)

    for _ in range(40):
        learner.update(episodes=[teacher.slice(slice(None)).to_numpy()])

    given = {"obs": torch.from_numpy(obs[:-1])}
    logits = learner.module["default_policy"].forward_inference(given)["action_dist_inputs"]
    is_same = logits.argmax(-1).numpy() == (obs[:-1, 0] > 0)
    assert is_same.mean() > 0.95


def test_bc_is_marwil_without_advantages():
    """BC takes the same steps as MARWIL with beta 0 on the same module."""

    class Beta0(BCTorchLearner):
        _beta = MARWILTorchLearner._beta

    ends = []
    for learner in (make_learner(BCTorchLearner), make_learner(Beta0)):
        learner.update(episodes=[episode()])
        ends.append(weights_of(learner))

    assert all(np.array_equal(ends[0][key], ends[1][key]) for key in ends[0])


def test_marwil_keeps_its_moving_average():
    """The average of squared advantages is part of the state."""
    first, second = (
        make_learner(MARWILTorchLearner, moving_average_sqd_adv_norm_update_rate=0.5)
        for _ in range(2)
    )
    first.update(episodes=[episode()])

    second.set_state(first.get_state())

    norm = float(first.moving_avg_sqd_adv_norms_per_module["default_policy"])
    assert norm < 100.0
    assert float(second.moving_avg_sqd_adv_norms_per_module["default_policy"]) == norm


def grouped(**settings):
    return LearnerGroup(config=settings_of(**settings), module_spec=ppo_spec())


def test_a_group_is_the_learner_in_this_process():
    """It updates, gives and takes weights, and saves under "learner"."""
    group, other = grouped(lr=0.01), grouped(seed=9)

    results = group.update(episodes=[episode()], timesteps=STEPS)
    other.set_weights(group.get_weights())

    assert "default_policy" in results[0]
    assert group.is_local
    assert not group.is_remote
    assert [each.get() for each in group.foreach_learner(lambda learner: learner.framework)] == [
        "torch"
    ]
    ours, theirs = weights_of(group._learner), weights_of(other._learner)
    assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
    assert list(group.get_state()) == ["learner"]
    assert set(group.get_state("learner/rl_module")["learner"]) >= {"rl_module"}
    assert "optimizer" not in group.get_state("learner/rl_module")["learner"]


def test_a_group_takes_weights_from_folders(tmp_path):
    """Of modules that lie together, and of one alone, which wins."""
    first, second = grouped(seed=5), grouped(seed=6)
    together = first._learner.module.save_to_path(tmp_path / "all")
    alone = second._learner.module["default_policy"].save_to_path(tmp_path / "one")
    group = grouped(seed=7)

    group.load_module_state(multi_rl_module_ckpt_dir=together)
    from_together = group.get_weights()["default_policy"]["pi.net.mlp.0.weight"]
    group.load_module_state(
        multi_rl_module_ckpt_dir=together, rl_module_ckpt_dirs={"default_policy": alone}
    )
    from_alone = group.get_weights()["default_policy"]["pi.net.mlp.0.weight"]

    key = "default_policy/pi.net.mlp.0.weight"
    np.testing.assert_array_equal(from_together, weights_of(first._learner)[key])
    np.testing.assert_array_equal(from_alone, weights_of(second._learner)[key])


@pytest.mark.parametrize("minibatch_size", [1, 2])
def test_a_last_minibatch_of_padding_leaves_weights_and_their_settings(minibatch_size):
    """As recorded from Ray 2.60, the divergence is no number then, and its weight stays 0.2."""
    model = {**MLP, "use_lstm": True, "lstm_cell_size": 3, "max_seq_len": 2}
    learner = make_learner(model=model, lr=0.01, shuffle_batch_per_epoch=False)

    results = learner.update(episodes=[episode(4)], num_epochs=2, minibatch_size=minibatch_size)[
        "default_policy"
    ]

    assert np.isnan(results["mean_kl_loss"].peek())
    assert results["curr_kl_coeff"].peek() == pytest.approx(0.2)
    assert all(np.isfinite(own).all() for own in weights_of(learner).values())
