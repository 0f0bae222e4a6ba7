"""Each algorithm's head gives the outputs recorded from real Ray, from the same weights."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import WeightsError
from rlconnect.legacy.exploration.config import exploration_for
from rlconnect.legacy.heads.registry import build_head

from tests.legacy.heads.acted import compute_actions


def head_of(recorded, **how):
    algorithm, spaces = recorded.meta["algorithm"], recorded.spaces
    return build_head(algorithm, *spaces, recorded.config, weights=recorded.weights, **how)


def run(head, recorded, **how):
    columns = {k: torch.from_numpy(np.array(v)) for k, v in recorded.columns.items()}
    state = [columns[k] for k in sorted(columns) if k.startswith("state_in")]
    exploration = exploration_for(head.distribution.space, recorded.config)
    rng = np.random.default_rng(0)
    lens = torch.ones(len(columns["obs"]), dtype=torch.long)
    how = {"exploration": exploration, "explore": False, "timestep": 0, "rng": rng, **how}
    return compute_actions(head, columns, state, lens, **how)


def assert_same(got, want):
    if isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            assert_same(got[key], want[key])
    elif isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_same(one, other)
    else:
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        scale = max(1.0, float(np.abs(want).max()))
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * scale)


def in_fetch_order(fetches):
    own = [name for name in ("vf_preds", "q_values") if name in fetches]
    return {k: fetches[k] for k in [*own, "action_dist_inputs", "action_prob", "action_logp"]}


def test_greedy_outputs_are_rays(case, recording):
    """Actions, states and fetches without exploration: same names, dtypes, shapes, numbers."""
    recorded = recording(case)
    head = head_of(recorded, noise="ray")

    torch.manual_seed(980)  # only noisy nets draw
    actions, state, fetches = run(head, recorded)

    assert_same(actions, recorded.greedy["actions"])
    assert_same(tuple(state), recorded.greedy.get("states", ()))
    assert_same(fetches, in_fetch_order(recorded.greedy["fetches"]))


def test_weights_round_trip_under_rays_names(case, recording):
    """All weights are loaded, the unused ones as well, and come back bit for bit."""
    recorded = recording(case)

    again = {k: v.numpy() for k, v in head_of(recorded).model.state_dict().items()}

    assert sorted(again) == sorted(recorded.weights)
    for name, value in recorded.weights.items():
        np.testing.assert_array_equal(again[name], value)


def test_log_probabilities_of_explored_actions_are_rays(sampled_case, recording):
    """For the actions Ray sampled, the log-probability it reported comes out again."""
    recorded = recording(sampled_case)
    distribution = head_of(recorded).distribution
    actions, fetches = recorded.explored["actions"], recorded.explored["fetches"]

    got = distribution.arrays().logp(fetches["action_dist_inputs"], actions)

    # Near the edge of a squashed Gaussian one float32 step of the action moves the result a lot.
    squashed = distribution.kind == "squashed_gaussian"
    inner = (np.abs(actions) < 0.99).all(-1) if squashed else slice(None)
    want = fetches["action_logp"][inner]
    np.testing.assert_allclose(got[inner], want, atol=1e-3 if squashed else 1e-5)


def test_exploring_reports_what_was_sampled(sampled_case, recording):
    """With exploration the fetches agree with each other and with the network's outputs."""
    recorded = recording(sampled_case)
    head = head_of(recorded, noise="mean")

    actions, _, fetches = run(head, recorded, explore=True, timestep=10**7)

    inputs = fetches["action_dist_inputs"]
    logp = head.distribution.arrays().logp(inputs, actions)
    np.testing.assert_allclose(fetches["action_logp"], logp, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(fetches["action_prob"], np.exp(fetches["action_logp"]))
    assert list(fetches) == list(in_fetch_order(recorded.explored["fetches"]))


def test_mean_noise_leaves_a_noisy_net_alone(recording):
    """With noise="mean" a noisy net gives the same outputs each time, unlike with "ray"."""
    recorded = recording("2.7.2-dqn_noisy")

    def twice(noise):
        head = head_of(recorded, noise=noise)
        return [run(head, recorded)[2]["q_values"] for _ in range(2)]

    np.testing.assert_array_equal(*twice("mean"))
    one, two = twice("ray")
    assert np.abs(one - two).max() > 1e-3


def test_weights_of_another_head_are_refused(recording):
    """Weights of a plain DQN do not load into a dueling one; the missing names are listed."""
    recorded = recording("2.7.2-dqn_plain")
    config = {**recorded.config, "hiddens": [16], "dueling": True}

    with pytest.raises(WeightsError, match=r"value_module\.V"):
        build_head("DQN", *recorded.spaces, config, weights=recorded.weights)


def test_rl_modules_report_values_only_when_they_explore():
    """Weights of an RLModule make its own network; greedy fetches are the inputs alone."""
    rng = np.random.default_rng(0)
    shapes = {
        "encoder.actor_encoder.net.mlp.0": (6, 4),
        "encoder.critic_encoder.net.mlp.0": (6, 4),
        "pi.net.mlp.0": (2, 6),
        "vf.net.mlp.0": (1, 6),
    }
    weights = {f"{k}.weight": rng.normal(size=v).astype(np.float32) for k, v in shapes.items()}
    weights |= {f"{k}.bias": rng.normal(size=v[0]).astype(np.float32) for k, v in shapes.items()}
    config = {"model": {"fcnet_hiddens": [6]}}
    head = build_head("PPO", Box(-1, 1, (4,)), Discrete(2), config, weights=weights)
    columns = {"obs": torch.zeros(3, 4)}
    how = {"exploration": exploration_for(Discrete(2)), "timestep": 0, "rng": rng}

    calm = compute_actions(head, columns, explore=False, **how)[2]
    lively = compute_actions(head, columns, explore=True, **how)[2]

    assert list(calm) == ["action_dist_inputs"]
    assert list(lively) == ["vf_preds", "action_dist_inputs", "action_prob", "action_logp"]


def test_recurrent_q_networks_carry_their_state():
    """R2D2: Q branches on an LSTM; a state goes in and the next one comes out."""
    config = {
        "model": {"fcnet_hiddens": [6], "use_lstm": True, "lstm_cell_size": 5},
        "hiddens": [4],
        "dueling": True,
    }
    head = build_head("R2D2", Box(-1, 1, (4,)), Discrete(3), config)
    state = [torch.as_tensor(part)[None].repeat(2, 1) for part in head.get_initial_state()]

    out = head.policy_outputs({"obs": torch.ones(2, 4)}, state, torch.ones(2, dtype=torch.long))

    assert [tuple(part.shape) for part in out.state_out] == [(2, 5), (2, 5)]
    assert out.state_out[0].abs().max() > 0
    assert tuple(out.extra["q_values"].shape) == (2, 3)


def test_recurrent_sac_carries_all_states():
    """RNNSAC: the policy net's state moves on, the Q nets' states come along unchanged."""
    net = {"fcnet_hiddens": [6], "use_lstm": True, "lstm_cell_size": 3}
    config = {"policy_model_config": net, "q_model_config": net, "twin_q": True}
    head = build_head("RNNSAC", Box(-1, 1, (4,)), Discrete(2), config)
    state = [torch.full((2, 3), 0.5) for _ in head.get_initial_state()]

    out = head.policy_outputs({"obs": torch.ones(2, 4)}, state, torch.ones(2, dtype=torch.long))

    assert len(out.state_out) == len(state) == 6
    assert not torch.equal(out.state_out[0], state[0])
    assert all(after is before for after, before in zip(out.state_out[2:], state[2:], strict=True))
