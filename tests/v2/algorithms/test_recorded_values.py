"""CQL and IQL on recorded steps: better than what was recorded, and runs that go on."""

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import CQLConfig, IQLConfig, SingleAgentEpisode

from tests.v2.algorithms.test_sac import Near, missed_by


def watched(episodes=10, steps=40, seed=0):
    """What a player did who is near the best action half of the time, and anywhere else."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(episodes):
        shown = rng.uniform(-1, 1, (steps + 1, 1)).astype(np.float32)
        best = shown[:-1] / 2
        is_good = rng.uniform(size=(steps, 1)) < 0.5
        done = np.where(
            is_good, best + rng.normal(0, 0.2, best.shape), rng.uniform(-2, 2, best.shape)
        )
        made.append(
            SingleAgentEpisode(
                observations=list(shown),
                actions=list(done.clip(-2, 2).astype(np.float32)),
                rewards=(-np.square(done - best)[:, 0]).tolist(),
                observation_space=Near.observation_space,
                action_space=Near.action_space,
                truncated=True,
                len_lookback_buffer=0,
            )
        )
    return made


def learner(kind, given, steps=25, **training):
    """An algorithm with small networks, and so many gradient steps an iteration."""
    rates = {CQLConfig: {"alpha_lr": 1e-2, "bc_iters": 25, "num_actions": 4, "min_q_weight": 0.5}}
    rates[IQLConfig] = {"value_lr": 1e-2, "beta": 10.0}
    config = kind().environment(
        observation_space=Near.observation_space, action_space=Near.action_space
    )
    config.training(
        actor_lr=1e-2,
        critic_lr=1e-2,
        gamma=0.0,
        train_batch_size_per_learner=80,
        **{**rates[kind], **training},
    )
    config.offline_data(input_=given, dataset_num_iters_per_learner=steps)
    config.rl_module(model_config={"fcnet_hiddens": [16], "fusionnet_hiddens": [16]})
    config.reporting(min_time_s_per_iteration=0)
    return config.debugging(seed=2)


@pytest.mark.parametrize("kind", [CQLConfig, IQLConfig])
def test_it_does_better_than_what_was_recorded(kind):
    """Greedy actions are far nearer to the best ones than the recorded ones were."""
    episodes = watched()
    recorded = -np.mean([episode.get_return() / len(episode) for episode in episodes])
    algo = learner(kind, episodes).build_algo()

    for _ in range(4):
        result = algo.train()

    assert missed_by(algo) < 0.1 < recorded / 4
    assert result["learners"]["__all_modules__"]["num_env_steps_trained_lifetime"] == 4 * 25 * 80
    algo.stop()


@pytest.mark.parametrize("kind", [CQLConfig, IQLConfig])
def test_a_saved_run_goes_on_exactly(tmp_path, kind):
    """A run that is taken up again gives what the unbroken one does."""
    episodes = watched(4)
    more = {"bc_iters": 12} if kind is CQLConfig else {}
    algo = learner(kind, episodes, steps=10, **more).build_algo()
    algo.train()
    algo.save_to_path(tmp_path / "saved")
    losses = algo.train()["learners"]["default_policy"]
    algo.stop()

    resumed = type(algo).from_checkpoint(tmp_path / "saved", settings={"input_": episodes})
    found = resumed.train()["learners"]["default_policy"]

    for name in ("policy_loss", "qf_loss", "total_loss", "num_target_updates"):
        assert found[name] == losses[name]
    resumed.stop()


def test_copies_wait_for_steps_that_were_learnt_from():
    """No step is sampled, so that those learnt from count."""
    algo = learner(IQLConfig, watched(2), target_network_update_freq=400).build_algo()

    result = algo.train()

    assert result["learners"]["default_policy"]["num_target_updates"] == 5
    algo.stop()


@pytest.mark.parametrize(
    "training",
    [{"n_step": 3}, {"replay_buffer_config": {"capacity": 5}}, {"training_intensity": 2.0}],
)
def test_what_buffers_are_set_by_is_refused(training):
    """CQL has no buffer: a setting of one would change nothing."""
    with pytest.raises(ConfigError, match="recorded"):
        CQLConfig().training(**training)
