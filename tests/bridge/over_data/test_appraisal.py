"""What recorded data says of a policy, and whether it can."""

import json

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge.over_data.appraisal import appraise
from rlconnect.core.errors import ConfigError, PieceError, SpaceError
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.offline import evaluate, open_dataset

SEEN = Box(-2, 2, (3,), np.float32)
ROUGH = {"n_iters": 20, "solves": True}
"""A model of values that has not settled, where its worth is not the question."""


def policy_of(seed, space=SEEN):
    policy = Policy(
        space, Discrete(2), {"seed": seed, "gamma": 0.9, "model": {"fcnet_hiddens": [4]}}
    )
    create_connectors_for_policy(policy, policy.config)
    rng = np.random.default_rng(seed)
    policy.set_weights(
        {
            name: rng.normal(0, 0.7, each.shape).astype(np.float32)
            for name, each in policy.get_weights().items()
        }
    )
    return policy


def write(folder, policy, rng, episodes=200, *, columns=("action_prob",), lengths=(2, 6)):
    """Episodes in which `policy` acted, as RLlib writes them; action 1 earns what it is shown."""
    lines = []
    for number in range(episodes):
        count = int(rng.integers(*lengths))
        obs = rng.uniform(-2, 2, (count + 1, 3)).astype(np.float32)
        actions, _, fetches = policy.compute_actions(obs[:-1], explore=True)
        ends = [False] * (count - 1) + [True]
        batch = {
            "type": "SampleBatch",
            "obs": obs[:-1].tolist(),
            "new_obs": obs[1:].tolist(),
            "actions": actions.tolist(),
            "rewards": (actions * obs[:-1, 0] + rng.normal(0, 0.1, count)).tolist(),
            "terminateds": ends,
            "truncateds": [False] * count,
            "eps_id": [number] * count,
            "t": list(range(count)),
        }
        probabilities = np.exp(fetches["action_logp"])
        told = {"action_prob": probabilities, "action_logp": fetches["action_logp"]}
        lines.append(json.dumps({**batch, **{name: told[name].tolist() for name in columns}}))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "output.json").write_text("\n".join(lines))
    return folder


@pytest.fixture
def data(tmp_path, rng):
    """What policy 1 did."""
    return write(tmp_path / "data", policy_of(1), rng)


def test_a_policy_on_its_own_data_is_worth_what_it_got(data):
    """Every method, in its interval; each episode speaks for it, and the discount is its own."""
    found = appraise(policy_of(1), data)

    assert found.answers
    assert found.gamma == 0.9
    assert found.weights.effective == pytest.approx(200, rel=1e-3)
    assert {"is", "wis", "dm", "dr"} == set(found.estimates)
    for name in ("is", "wis"):
        assert found.estimates[name].v_target == pytest.approx(found.behavior, abs=1e-4)
    for each in found.estimates.values():
        assert each.interval.holds(found.behavior)


def test_two_policies_on_the_same_episodes_are_told_apart(data):
    """One that likes what is rewarded, beside one that does not; alone their intervals overlap."""
    weights = policy_of(1).get_weights()
    likes, dislikes = policy_of(1), policy_of(1)
    name = "_logits._model.0.bias"
    likes.set_weights({**weights, name: weights[name] + np.array([0, 0.05], np.float32)})
    dislikes.set_weights({**weights, name: weights[name] - np.array([0, 0.05], np.float32)})

    found = appraise(likes, data, against=dislikes, q_model=ROUGH)

    assert found.against is not None
    for method, (more, interval) in found.differences.items():
        mine, yours = found.estimates[method], found.against.estimates[method]
        assert more == pytest.approx(mine.v_target - yours.v_target)
        width = mine.interval.high - mine.interval.low
        assert interval.high - interval.low < width / 2


def test_data_that_cannot_answer_says_so(tmp_path, rng, data):
    """Too few episodes, actions never taken, probabilities of somebody else."""
    few = appraise(policy_of(1), write(tmp_path / "few", policy_of(1), rng, 8), methods=["is"])
    other = policy_of(1)
    other.set_weights({name: each * -8 for name, each in other.get_weights().items()})
    long = write(tmp_path / "long", policy_of(1), rng, 60, lengths=(10, 15))
    never = appraise(other, long, methods=["is"])
    lines = [json.loads(each) for each in (data / "output.json").read_text().splitlines()]
    for each in lines:
        each["action_prob"] = [0.9] * len(each["action_prob"])
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong/output.json").write_text("\n".join(map(json.dumps, lines)))
    false = appraise(policy_of(1), tmp_path / "wrong", methods=["is"])

    assert not few.answers
    assert "8 episodes" in few.findings[0]
    assert not never.answers
    assert "hardly ever recorded" in never.findings[0]
    assert not false.answers
    assert "where 1 is due" in false.findings[-1]


def test_probabilities_come_from_the_policy_that_recorded(tmp_path, rng):
    """Logarithms serve as well; with neither, that policy is asked, or a model alone answers."""
    folder = write(
        tmp_path / "logs", policy_of(1), np.random.default_rng(0), columns=["action_logp"]
    )
    bare = write(tmp_path / "bare", policy_of(1), np.random.default_rng(0), columns=[])
    target = policy_of(3)

    told = evaluate(target, folder, "is", 0.9)
    asked = evaluate(target, bare, "is", 0.9, behavior=policy_of(1))
    alone = appraise(target, bare, q_model=ROUGH)

    assert asked.v_target == pytest.approx(told.v_target, rel=1e-3)
    assert set(alone.estimates) == {"dm"}
    assert "--behavior" in alone.notes[0]
    with pytest.raises(PieceError, match="behavior=PATH"):
        evaluate(target, bare, "is", 0.9)


def test_a_greedy_policy_is_judged_by_its_best_actions(data):
    """Episodes in which something else was done have no weight."""
    found = appraise(policy_of(1), data, greedy=True, methods=["is"])

    assert found.weights.zero_share > 0.2


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"methods": ["x"]}, ConfigError, "no method 'x'"),
        ({"q_model": {"layers": 3}}, ConfigError, "fcnet_hiddens"),
        ({"gamma": None, "data": 3}, PieceError, "no recorded data"),
    ],
)
def test_mistakes_are_told(given, error, match, data):
    """Each says what would be right."""
    with pytest.raises(error, match=match):
        appraise(policy_of(1), given.pop("data", data), **given)


def test_data_of_another_environment_is_refused(data):
    """With both spaces, and what to do."""
    with pytest.raises(SpaceError, match="not of the policy's space"):
        evaluate(policy_of(1, Box(-1, 1, (5,), np.float32)), open_dataset(data))


@pytest.mark.parametrize("method", ["is", "dm"])
def test_actions_of_another_environment_are_refused(tmp_path, method):
    """Two numbers an action are no action of a policy that gives one."""
    rows = {"obs": [[0.0] * 3] * 2, "new_obs": [[0.0] * 3] * 2, "rewards": [1.0, 1.0]}
    rows |= {"actions": [[0.1, 0.2]] * 2, "action_prob": [0.5] * 2, "dones": [False, True]}
    (tmp_path / "output.json").write_text(json.dumps({"type": "SampleBatch", **rows}))
    policy = Policy(SEEN, Box(-1, 1, (1,)), {"seed": 0})
    create_connectors_for_policy(policy, policy.config)

    with pytest.raises(SpaceError, match="recorded actions") as caught:
        evaluate(policy, open_dataset(tmp_path), method=method)
    assert "(2,)" in caught.value.found


def test_an_appraisal_as_data(data):
    """Estimates and differences with their intervals survive JSON."""
    found = appraise(policy_of(1), data, against=policy_of(2), q_model=ROUGH)

    plain = json.loads(json.dumps(found.to_dict()))

    assert plain["differences"]["is"]["interval"][0] < plain["differences"]["is"]["value"]
    assert plain["estimates"]["dr"]["value"] == found.estimates["dr"].v_target
