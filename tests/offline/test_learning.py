"""Algorithms of the new stack learn from files that anybody recorded."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.offline import open_dataset
from rlconnect.v2 import BCConfig, Columns, MARWILConfig, SingleAgentEpisode, write_episodes

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")

OBS = gym.spaces.Box(-5, 5, (4,), np.float32)
GOLDEN = Path(__file__).parents[1] / "golden/offline"


def recorded(folder, form, rng):
    """Episodes of somebody who acts by the sign of the third feature, in files of a kind."""
    episodes = []
    for number in range(12):
        seen = rng.uniform(-1, 1, (41, 4)).astype(np.float32)
        acts, ends = (seen[:-1, 2] > 0).astype(np.int64), {"terminated": True}
        episodes.append(
            SingleAgentEpisode(
                f"{number}", observations=seen, actions=acts, rewards=np.ones(40), **ends,
                observation_space=OBS, action_space=gym.spaces.Discrete(2), len_lookback_buffer=0,
            )
        )  # fmt: skip
    write_episodes(folder / "own/all", episodes)
    open_dataset(folder / "own").write(folder / form, form)
    return folder / form


def config_of(kind, **offline):
    return (
        kind()
        .environment(observation_space=OBS, action_space=gym.spaces.Discrete(2))
        .training(train_batch_size_per_learner=120, lr=0.01)
        .rl_module(model_config={"fcnet_hiddens": [16]})
        .offline_data(dataset_num_iters_per_learner=15, **offline)
        .debugging(seed=1)
    )


def likeness(algo, rng):
    """How often the module does what the teacher does."""
    import torch

    seen = rng.uniform(-1, 1, (200, 4)).astype(np.float32)
    out = algo.get_module().forward_inference({Columns.OBS: torch.from_numpy(seen)})
    chosen = out[Columns.ACTION_DIST_INPUTS].argmax(-1).numpy()
    return float((chosen == (seen[:, 2] > 0)).mean())


@pytest.mark.parametrize("kind", [BCConfig, MARWILConfig])
@pytest.mark.parametrize("form", ["parquet", "json", "minari"])
def test_the_teacher_is_learnt_from_files(kind, form, tmp_path, rng):
    """A path of any kind of data is learnt from, steps drawn as RLlib draws them."""
    algo = config_of(kind, input_=str(recorded(tmp_path, form, rng))).build_algo()

    for _ in range(5):
        result = algo.train()

    assert likeness(algo, rng) > 0.85
    assert result["learners"]["default_policy"]["num_module_steps_trained"] > 0
    algo.stop()


@pytest.mark.parametrize("materialize_mapped_data", [True, False])
def test_rows_that_ray_recorded_are_learnt_from(materialize_mapped_data):
    """Rows are kept in memory or read from the files again and again, with equal steps a batch."""
    space = {"input_": [str(GOLDEN / "2.60.0/columns_box/data")]}
    algo = config_of(
        MARWILConfig,
        **space,
        materialize_data=False,
        materialize_mapped_data=materialize_mapped_data,
    ).build_algo()

    losses = [algo.train()["learners"]["default_policy"]["total_loss"] for _ in range(3)]

    assert np.isfinite(losses).all()
    algo.stop()


def test_data_of_several_agents_is_told():
    """Files of several agents say what to do instead."""
    algo = config_of(BCConfig, input_=str(GOLDEN / "2.60.0/json_multi/data")).build_algo()

    with pytest.raises(ConfigError, match="several agents"):
        algo.train()
    algo.stop()


@pytest.mark.parametrize(("kind", "written_by"), [(BCConfig, "2.7.2"), (MARWILConfig, "2.60.0")])
def test_an_expert_that_ray_recorded_is_reached(kind, written_by):
    """Two episodes of an expert teach what it gets in CartPole: 500 from starts it was never in."""
    algo = (
        kind()
        .environment("CartPole-v1")
        .training(train_batch_size_per_learner=200, lr=5e-3)
        .rl_module(model_config={"fcnet_hiddens": [32, 32]})
        .offline_data(
            input_=[str(GOLDEN / written_by / "expert/data")], dataset_num_iters_per_learner=1000
        )
        .evaluation(evaluation_duration=3, evaluation_config={"explore": False})
        .debugging(seed=0)
        .build_algo()
    )

    algo.train()
    returns = algo.evaluate()["env_runners"]

    assert returns["episode_return_min"] >= 475
    algo.stop()
