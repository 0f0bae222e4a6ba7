"""Record what real RLlib computes: numbers for tests/core, never read at test time.

    python record.py            in an environment with ray[rllib] 2.60.0 and torch (CPU)
    python record.py pixels     in one with opencv-python-headless 4.11, scikit-image 0.24, numpy<2

See README.md beside this file for versions and what each file holds.
"""

import logging
import runpy
import sys
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

F32 = np.float32


def cases(name):
    return runpy.run_path(str(HERE / "cases.py"))[name]


def actions():
    from ray.rllib.utils.spaces import space_utils as su

    out = {}
    for space_name, space in cases("ACTION_SPACES").items():
        for action_name, action in cases("ACTIONS").items():
            for name in ("clip_action", "unsquash_action", "normalize_action"):
                out[f"{space_name}/{action_name}/{name}"] = getattr(su, name)(action, space)
    nested = {"b": np.ones((2, 3)), "a": (1, np.array([2, 3], np.int32))}
    out["flat"] = su.flatten_to_single_ndarray(nested)
    return out


def preprocessors():
    from gymnasium.spaces import Discrete
    from ray.rllib.connectors.env_to_module import FlattenObservations
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode
    from ray.rllib.models.preprocessors import get_preprocessor
    from ray.rllib.utils.numpy import one_hot
    from ray.rllib.utils.spaces.repeated import Repeated

    out = {}
    for name, (space, observation) in cases("OBSERVATIONS").items():
        preprocessor = get_preprocessor(space)(space)
        out[f"old/{name}"] = preprocessor.transform(observation)
        out[f"old/{name}/shape"] = np.array(preprocessor.shape)
    for name, (child, max_len, value) in cases("REPEATED").items():
        space = Repeated(child, max_len=max_len)
        out[f"repeated/{name}"] = get_preprocessor(space)(space).transform(value)
    for name, (space, observation, keys) in cases("FLATTENED").items():
        piece = FlattenObservations(
            input_observation_space=space,
            input_action_space=Discrete(2),
            keys_to_remove=list(keys) or None,
        )
        episode = SingleAgentEpisode(observation_space=space)
        episode.add_env_reset(observation)
        piece(rl_module=None, batch={}, episodes=[episode], explore=False, shared_data={})
        out[f"new/{name}"] = episode.get_observations(-1)
        assert piece.observation_space.shape == out[f"new/{name}"].shape
    out["one_hot/plain"] = one_hot(np.array([1, 9, 3]))
    out["one_hot/values"] = one_hot(
        np.array([[1], [3]]), depth=4, on_value=2, off_value=-1, dtype=np.int8
    )
    return out


def statistics():
    from gymnasium.spaces import Box, Discrete
    from ray.rllib.connectors.env_to_module import MeanStdFilter as V2Filter
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode
    from ray.rllib.utils.filter import MeanStdFilter, RunningStat

    rng = np.random.default_rng(7)
    rows = (rng.normal(size=(12, 3)) * [1, 20, 0.01] + [5, -300, 0]).astype(F32)
    out = {"rows": rows}
    stat, other = RunningStat((3,)), RunningStat((3,))
    means, sums = [], []
    for row in rows[:8]:
        stat.push(row)
        means.append(stat.mean_array.copy())
        sums.append(stat.sum_sq_diff_array.copy())
    out["means"], out["sums"] = np.array(means), np.array(sums)
    for row in rows[8:]:
        other.push(row)
    stat.update(other)
    out["merged_mean"], out["merged_sum"] = stat.mean_array, stat.sum_sq_diff_array
    out["merged_var"] = stat.var
    state = stat.to_state()
    out["state_keys"] = np.array(list(state))
    out["state_mean_text"] = np.array(state["mean_array"])
    for name, options in {
        "plain": {},
        "keeps_mean": {"demean": False},
        "keeps_std": {"destd": False},
        "clip_1": {"clip": 1.0},
        "no_clip": {"clip": None},
    }.items():
        one = MeanStdFilter((3,), **options)
        out[f"filter/{name}"] = np.array([one(row) for row in rows])
        out[f"frozen/{name}"] = np.array([one(row * 2, update=False) for row in rows])
    out["filter/fresh"] = MeanStdFilter((2,))(np.ones(2), update=False)

    space = Box(-1000, 1000, (3,))
    piece = V2Filter()
    piece.input_action_space, piece.input_observation_space = Discrete(2), space
    seen = []
    for part in rows.reshape(3, 4, 3):  # Three steps of four environments.
        episodes = []
        for row in part:
            episodes.append(SingleAgentEpisode(observation_space=space))
            episodes[-1].add_env_reset(row)
        piece(rl_module=None, batch={}, episodes=episodes, explore=False, shared_data={})
        seen += [episode.get_observations(-1) for episode in episodes]
    out["v2_filter"] = np.array(seen)
    return out


def returns():
    from ray.rllib.evaluation.postprocessing import (
        adjust_nstep,
        compute_advantages,
        discount_cumsum,
    )
    from ray.rllib.policy.sample_batch import SampleBatch
    from ray.rllib.utils.postprocessing.value_predictions import (
        compute_value_targets,
        extract_bootstrapped_values,
    )

    rng = np.random.default_rng(3)
    n = 57
    values, rewards = rng.normal(size=(2, n)).astype(F32)
    terminateds, truncateds = np.zeros((2, n), bool)
    terminateds[[4, 5, 30]] = True
    truncateds[[11, 40, n - 1]] = True
    out = {
        "values": values,
        "rewards": rewards,
        "terminateds": terminateds,
        "truncateds": truncateds,
    }
    for gamma, lambda_ in ((0.95, 0.9), (1.0, 1.0), (0.5, 0.0)):
        out[f"targets/{gamma}/{lambda_}"] = compute_value_targets(
            values, rewards, terminateds, truncateds, gamma, lambda_
        )
    out["open_end"] = compute_value_targets(
        values, rewards, terminateds, np.zeros(n, bool), 0.95, 0.9
    )
    out["cumsum"] = discount_cumsum(rewards, 0.97)
    for use_gae, use_critic in ((True, True), (False, True), (False, False)):
        rollout = SampleBatch({"rewards": rewards, "vf_preds": values, "obs": np.zeros((n, 1))})
        compute_advantages(rollout, 0.7, 0.9, 0.8, use_gae, use_critic)
        for name in ("advantages", "value_targets"):
            out[f"rollout/{use_gae}/{use_critic}/{name}"] = rollout[name]
    for steps in (1, 3, 9):
        batch = SampleBatch(
            {
                "obs": np.arange(5.0)[:, None],
                "actions": np.arange(5),
                "rewards": np.arange(1.0, 6.0, dtype=F32),
                "new_obs": np.arange(1.0, 6.0)[:, None],
                "terminateds": np.array([0, 0, 0, 0, 1], bool),
                "truncateds": np.zeros(5, bool),
            }
        )
        adjust_nstep(steps, 0.9, batch)
        for name in ("rewards", "new_obs", "terminateds", "truncateds"):
            out[f"nstep/{steps}/{name}"] = batch[name]
    out["bootstrapped/2"] = extract_bootstrapped_values(np.arange(13.0), [3, 4, 3], 2)
    out["bootstrapped/3"] = extract_bootstrapped_values(np.arange(14.0), [1, 2, 1, 3, 2], 3)
    return out


def padding():
    from ray.rllib.policy.rnn_sequencing import chop_into_sequences
    from ray.rllib.utils.postprocessing.zero_padding import (
        create_mask_and_seq_lens,
        split_and_zero_pad,
        split_and_zero_pad_n_episodes,
        unpad_data_if_necessary,
    )
    from ray.rllib.utils.spaces.space_utils import BatchedNdArray

    out = {}
    for length, T in ((5, 3), (6, 3), (2, 3), (0, 3)):
        masks, lens = create_mask_and_seq_lens(length, T)
        out[f"mask/{length}/{T}"], out[f"lens/{length}/{T}"] = np.array(masks), np.array(lens)
    tagged = [BatchedNdArray(np.arange(10.0).reshape(5, 2)), BatchedNdArray(np.ones((3, 2)))]
    out["split/numbers"] = np.array(split_and_zero_pad([0, 1, 2, 3, 4], 3))
    out["split/tagged"] = np.array(split_and_zero_pad(tagged, 3))
    data = np.arange(14).reshape(7, 2)
    out["split/episodes"] = np.array(split_and_zero_pad_n_episodes(data, [4, 3], 3))
    out["unpadded"] = unpad_data_if_necessary([4, 3], np.arange(9.0).reshape(3, 3))
    columns = {"episode_ids": [1, 1, 5, 5, 5, 5], "unroll_ids": [0] * 6}
    columns["agent_indices"] = [0, 0, 0, 0, 0, 1]
    columns = {name: np.array(ids) for name, ids in columns.items()}
    for name, options in {
        "ids": {**columns, "max_seq_len": 3},
        "static": {**columns, "max_seq_len": 4, "dynamic_max": False},
        "lens": {"seq_lens": np.array([2, 4]), "max_seq_len": 3},
        "last": {"seq_lens": np.array([2, 4]), "max_seq_len": 4, "padding": "last"},
        "extra": {"seq_lens": np.array([2, 4]), "max_seq_len": 4, "_extra_padding": 2},
    }.items():
        features, states, lens = chop_into_sequences(
            feature_columns=[np.arange(12.0).reshape(6, 2)],
            state_columns=[np.arange(6.0) * 10],
            **options,
        )
        out[f"chop/{name}/feature"], out[f"chop/{name}/state"] = features[0], states[0]
        out[f"chop/{name}/lens"] = np.asarray(lens)
    return out


def pixels():
    import cv2
    from skimage.transform import resize

    rng = np.random.default_rng(11)
    out = {}
    for old, new in ((160, 84), (84, 42), (84, 20), (60, 15), (40, 50)):
        frame = rng.integers(0, 256, (old, old, 3), dtype=np.uint8)
        unit = (frame[..., :1] / 255).astype(F32)
        name = f"{old}/{new}"
        out[f"{name}/frame"] = frame
        out[f"{name}/area"] = cv2.resize(frame, (new, new), interpolation=cv2.INTER_AREA)
        area = cv2.resize(unit, (new, new), interpolation=cv2.INTER_AREA)
        out[f"{name}/area_float"] = area[..., None]
        out[f"{name}/smooth"] = resize(frame, (new, new)).astype(F32)
        out[f"{name}/smooth_float"] = resize(unit, (new, new))
    return out


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    tables = [pixels] if "pixels" in sys.argv else [actions, preprocessors, statistics]
    tables += [] if "pixels" in sys.argv else [returns, padding]
    for table in tables:
        np.savez_compressed(HERE / f"{table.__name__}.npz", **table())
