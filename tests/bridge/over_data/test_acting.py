"""Policies that act on recorded observations."""

import json
import sys

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.bridge import Actor
from rlconnect.core.errors import (
    CheckpointWriteError,
    ConfigError,
    MissingExtraError,
    PieceError,
    SpaceError,
)
from rlconnect.legacy import Policy, create_connectors_for_policy, get_preprocessor
from rlconnect.offline import BatchActor, act_on, infer

SEEN = Box(-2, 2, (3,), np.float32)
FIVE = Box(-1, 1, (5,), np.float32)


def policy_of(model=None, actions=None, space=SEEN):
    settings = {"seed": 0, "model": {"fcnet_hiddens": [8], **(model or {})}}
    policy = Policy(space, actions or Discrete(4), settings)
    create_connectors_for_policy(policy, policy.config)
    rng = np.random.default_rng(4)
    weights = policy.get_weights()
    policy.set_weights(
        {name: rng.normal(0, 1, w.shape).astype("f4") for name, w in weights.items()}
    )
    return policy


@pytest.fixture
def data(tmp_path, rng):
    """Thirty episodes of one to six steps, in two files."""
    lines = []
    for number in range(30):
        count = int(rng.integers(1, 7))
        obs = rng.uniform(-2, 2, (count + 1, 3))
        lines.append(
            {
                "type": "SampleBatch",
                "obs": obs[:-1].tolist(),
                "new_obs": obs[1:].tolist(),
                "actions": [0] * count,
                "rewards": [1.0] * count,
                "dones": [False] * (count - 1) + [True],
                "eps_id": [number] * count,
            }
        )
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.json").write_text("\n".join(map(json.dumps, lines[:20])))
    (folder / "b.json").write_text("\n".join(map(json.dumps, lines[20:])))
    return folder, [np.array(each["obs"], np.float32) for each in lines]


def rows_in(folder):
    files = sorted(folder.glob("actions-*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.parametrize("model", [{}, {"use_lstm": True, "lstm_cell_size": 4}])
def test_actions_are_those_of_an_actor_step_by_step(model, data, tmp_path):
    """In the order of the data, each episode with a memory of its own."""
    folder, episodes = data
    policy = policy_of(model)

    done = act_on(policy, folder, tmp_path / "out", to="json")

    rows = rows_in(tmp_path / "out")
    actor = Actor.from_policy(policy)
    expected = []
    for number, seen in enumerate(episodes):
        actor.reset()
        expected += [
            {"eps_id": str(number), "t": t, "actions": int(actor.act(each, env_ids="one"))}
            for t, each in enumerate(seen)
        ]
    assert rows == expected
    assert (done.rows, done.episodes, done.files, done.kept) == (len(rows), 30, 1, 0)


@pytest.mark.slow
def test_processes_do_the_same_in_the_same_order(data, tmp_path, monkeypatch):
    """Whoever acts; exploring draws by the place in the data."""
    monkeypatch.setattr("rlconnect.bridge.over_data.acting._ROWS_A_FILE", 20)
    folder, _ = data
    for name, processes in (("alone", 1), ("two", 2)):
        act_on(policy_of(), folder, tmp_path / name, to="json", explore=True, processes=processes)

    assert len(list((tmp_path / "alone").glob("actions-*"))) > 3
    assert rows_in(tmp_path / "alone") == rows_in(tmp_path / "two")


@pytest.mark.ray
def test_actors_of_ray_do_the_same(data, tmp_path, monkeypatch):
    """Exploring and remembering, in the same order."""
    ray = pytest.importorskip("ray")
    monkeypatch.setattr("rlconnect.bridge.over_data.acting._ROWS_A_FILE", 20)
    folder, _ = data
    policy = policy_of({"use_lstm": True, "lstm_cell_size": 4})

    act_on(policy, folder, tmp_path / "alone", to="json", explore=True)
    act_on(policy, folder, tmp_path / "ray", to="json", explore=True, ray=True, processes=2)
    ray.shutdown()

    assert len(list((tmp_path / "alone").glob("actions-*"))) > 3
    assert rows_in(tmp_path / "alone") == rows_in(tmp_path / "ray")


def test_without_ray_it_is_told_what_to_install(data, tmp_path, monkeypatch):
    """In an error of ours, before anything is acted on."""
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingExtraError, match=r"rlconnect\[ray\]"):
        act_on(policy_of(), data[0], tmp_path / "out", to="json", ray=True)


def test_what_was_broken_off_goes_on(data, tmp_path, monkeypatch):
    """Files that are there stay; a folder of something else is left alone."""
    monkeypatch.setattr("rlconnect.bridge.over_data.acting._ROWS_A_FILE", 20)
    folder, _ = data
    out = tmp_path / "out"
    whole = act_on(policy_of(), folder, out, to="json")
    before = rows_in(out)
    (out / "actions-000001.json").unlink()

    again = act_on(policy_of(), folder, out, to="json")

    assert again.kept == whole.files - 1
    assert rows_in(out) == before
    with pytest.raises(CheckpointWriteError, match="another run"):
        act_on(policy_of(), folder, out, to="json", explore=True)
    with pytest.raises(CheckpointWriteError, match="not empty"):
        act_on(policy_of(), folder, folder, to="json")


def test_nested_actions_are_columns(data, tmp_path):
    """One a part, by its path."""
    space = Dict({"go": Discrete(2), "turn": Box(-1, 1, (2,), np.float32)})

    act_on(policy_of(actions=space), data[0], tmp_path / "out", to="json")

    row = rows_in(tmp_path / "out")[0]
    assert row["actions.go"] in (0, 1)
    assert len(row["actions.turn"]) == 2


def test_parquet_holds_the_same(data, tmp_path):
    """With pyarrow."""
    parquet = pytest.importorskip("pyarrow.parquet")
    policy = policy_of(actions=Box(-1, 1, (2,), np.float32))
    for kind in ("json", "parquet"):
        act_on(policy, data[0], tmp_path / kind, to=kind)

    table = parquet.read_table(tmp_path / "parquet/actions-000000.parquet").to_pylist()

    for mine, theirs in zip(table, rows_in(tmp_path / "json"), strict=True):
        assert mine["eps_id"] == theirs["eps_id"]
        np.testing.assert_allclose(mine["actions"], theirs["actions"], rtol=1e-6)


def test_many_rows_are_acted_on_at_once(rng):
    """As one by one; a policy with a memory begins anew with each."""
    seen = rng.uniform(-2, 2, (50, 3)).astype(np.float32)
    for model in ({}, {"use_lstm": True, "lstm_cell_size": 4}):
        policy = policy_of(model)

        found = infer(policy, seen)

        assert found.tolist() == [int(Actor.from_policy(policy).act(each)) for each in seen]


def test_observations_behind_connectors_are_taken_as_they_are(tmp_path):
    """Old workers record them so: one-hot rows of a Discrete are what the network sees."""
    policy = policy_of(space=get_preprocessor(Discrete(3))(Discrete(3)).observation_space)
    seen = np.eye(3)[[0, 2, 1, 1, 0]]
    line = {"type": "SampleBatch", "obs": seen[:-1].tolist(), "new_obs": seen[1:].tolist()}
    line |= {"actions": [0] * 4, "rewards": [0.0] * 4, "dones": [False] * 3 + [True]}
    (tmp_path / "data.json").write_text(json.dumps(line))

    act_on(policy, tmp_path / "data.json", tmp_path / "out", to="json")

    found = [row["actions"] for row in rows_in(tmp_path / "out")]
    assert found == infer(policy, np.array([0, 2, 1, 1])).tolist()


def test_batches_of_rows_get_actions(rng):
    """As Ray Data hands them out: lists of doubles in object columns, or arrays."""
    policy = policy_of()
    seen = rng.uniform(-2, 2, (9, 3)).astype(np.float32)
    lists = np.empty(9, object)
    lists[:] = [row.tolist() for row in seen]

    found = BatchActor(policy, "seen")({"seen": lists, "t": np.arange(9)})

    assert found["actions"].tolist() == infer(policy, seen).tolist()
    assert found["t"].tolist() == list(range(9))
    with pytest.raises(PieceError, match="no column 'obs'"):
        BatchActor(policy)({"seen": seen})


def test_ray_data_gives_the_same(rng):
    """Where Ray is installed: the same actions from actors of its own."""
    ray_data = pytest.importorskip("ray.data")
    policy = policy_of()
    seen = rng.uniform(-2, 2, (9, 3)).astype(np.float32)

    dataset = ray_data.from_items([{"obs": row} for row in seen])
    done = dataset.map_batches(BatchActor, fn_constructor_args=(policy,), concurrency=1)

    rows = {tuple(row["obs"]): row["actions"] for row in done.take_all()}
    assert [rows[tuple(each)] for each in seen] == infer(policy, seen).tolist()


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"to": "csv"}, ConfigError, "'parquet' or 'json'"),
        (
            {"policy": policy_of(space=Box(-1, 1, (5,), np.float32))},
            SpaceError,
            "not of the policy's space",
        ),
    ],
)
def test_mistakes_are_told(given, error, match, data, tmp_path):
    """Before anything is written that would stand in the way."""
    given = {"policy": policy_of(), "to": "json", **given}
    with pytest.raises(error, match=match):
        act_on(data=data[0], out=tmp_path / "out", **given)


def test_no_rows_are_refused():
    """There is nothing to act on."""
    with pytest.raises(ConfigError, match="no observation"):
        infer(policy_of(), np.zeros((0, 3), np.float32))
