"""Datasets as a policy would have seen them."""

import json

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.adapters import AdapterChain, DropFeatures, StackFrames
from rlconnect.core.errors import PieceError
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.offline import open_dataset

SEEN = Box(-2, 2, (3,), np.float32)


@pytest.fixture
def data(tmp_path, rng):
    """Two episodes of three features, raw, as plain JSON has them."""
    lines = []
    for number in range(2):
        obs = rng.uniform(-2, 2, (4 + number, 3))
        count = len(obs) - 1
        line = {"type": "SampleBatch", "obs": obs[:-1].tolist(), "new_obs": obs[1:].tolist()}
        line |= {"actions": [1] * count, "rewards": [0.5] * count, "eps_id": [number] * count}
        line |= {"dones": [False] * (count - 1) + [True], "action_prob": [0.5] * count}
        lines.append(line)
    (tmp_path / "data.json").write_text("\n".join(map(json.dumps, lines)))
    return open_dataset(tmp_path / "data.json")


def test_a_policys_filter_has_been_at_the_observations(data):
    """Batches and episodes hold what the network would have got; all else is as recorded."""
    policy = Policy(SEEN, Discrete(2), {"observation_filter": "MeanStdFilter", "seed": 0})
    create_connectors_for_policy(policy, policy.config)
    (connector,) = [c for c in policy.agent_connectors.connectors if hasattr(c, "filter")]
    rng = np.random.default_rng(0)
    for _ in range(30):
        connector.filter(rng.uniform(-1, 2, 3).astype(np.float32), update=True)

    seen = data.through(policy)

    (first, _), (whole, _) = seen.episodes(), data.episodes()
    raw = whole.get_observations(slice(0, len(whole) + 1)).astype(np.float32)
    expected = np.stack([connector.filter(row, update=False) for row in raw])
    np.testing.assert_allclose(first.get_observations(slice(0, 4)), expected, rtol=1e-5)
    assert first.get_return() == whole.get_return()
    assert first.is_terminated
    batch = next(seen.sample_batches())
    np.testing.assert_allclose(batch["new_obs"], expected[1:], rtol=1e-5)
    assert set(batch["action_prob"]) == {0.5}
    assert seen.info()["counts"] == data.info()["counts"]


def test_steps_of_an_adapter_go_along_the_episode(data):
    """Those that remember begin anew with each."""
    chain = AdapterChain(obs=[DropFeatures([1]), StackFrames(2)])

    seen = list(data.through(chain, observation_space=SEEN).episodes())

    for mine, theirs in zip(seen, data.episodes(), strict=True):
        raw = theirs.get_observations(slice(0, len(theirs) + 1))[:, [0, 2]]
        found = mine.get_observations(slice(0, len(mine) + 1)).reshape(len(raw), -1)
        np.testing.assert_allclose(
            np.sort(found[1:], 1), np.sort(np.hstack([raw[:-1], raw[1:]]), 1)
        )
    with pytest.raises(PieceError, match="observation_space="):
        data.through(chain)
