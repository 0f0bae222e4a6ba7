"""Train batches of recorded data: those that RLlib's own learner pipelines made of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.offline import open_dataset, train_batches
from rlconnect.v2 import BCConfig, ConnectorV2, DefaultModelConfig, MARWILConfig, OfflinePreLearner

from tests.offline.columns import leaves
from tests.offline.spaces import from_text

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

GOLDEN = Path(__file__).parents[1] / "golden/offline/2.60.0"
CASES = sorted(GOLDEN.glob("*/train_*.json"))
KINDS = {"bc": BCConfig, "marwil": MARWILConfig}


def config_of(told, **offline):
    spaces = {key: from_text(told[key]) for key in ("observation_space", "action_space")}
    offline = {"input_read_episodes": told["input_read_episodes"], **offline}
    return (
        KINDS[told["algo"]]()
        .environment(**spaces)
        .training(**told["training"])
        .offline_data(**offline)
        .rl_module(model_config=DefaultModelConfig(**told["model_config"]))
    )


def made_of(case, **offline):
    """The one batch of a case, by path, and what RLlib made."""
    told, truth = json.loads(case.read_text(encoding="utf-8")), np.load(case.with_suffix(".npz"))
    weights = {key[7:]: truth[key] for key in truth.files if key.startswith("before|")}
    (batch,) = train_batches(
        open_dataset(case.parent / "data"),
        config_of(told, **offline),
        module_state={"default_policy": weights},
        picks=told["picks"] or None,
    )
    prefix = "batch|default_policy|"
    wanted = {key[len(prefix) :]: truth[key] for key in truth.files if key.startswith(prefix)}
    columns = batch["default_policy"]
    return {
        path: np.asarray(own) for name in columns for path, own in leaves(columns[name], name)
    }, wanted


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_batches_are_those_that_rllib_made(case):
    """Every column is there with RLlib's numbers and dtypes, rows in an order of its own."""
    made, wanted = made_of(case)

    assert set(wanted) <= set(made)
    for path, array in wanted.items():
        assert made[path].dtype == array.dtype
        np.testing.assert_allclose(made[path], array, rtol=0, atol=1e-5, err_msg=path)


class Untouched(ConnectorV2):
    """A piece of a user's that changes nothing, so that the pipeline works on episodes."""

    def __call__(self, *, batch, **kwargs):
        return batch


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_whole_columns_are_what_episodes_would_give(case, monkeypatch):
    """With a piece that needs episodes the batch is the same as without."""
    quick, _ = made_of(case)
    for kind in KINDS.values():
        build = kind.build_learner_connector

        def with_piece(self, *args, build=build, **kwargs):
            pipeline = build(self, *args, **kwargs)
            pipeline.insert_after("AddNextObservationsFromEpisodesToTrainBatch", Untouched())
            return pipeline

        monkeypatch.setattr(kind, "build_learner_connector", with_piece)

    slow, _ = made_of(case)

    assert set(quick) == set(slow)
    for path, array in slow.items():
        assert quick[path].dtype == array.dtype
        np.testing.assert_allclose(quick[path], array, atol=1e-6, err_msg=path)


def rows(folder, names=None, **columns):
    """Four steps of two episodes."""
    held = {"obs": [[0.0], [1.0], [5.0], [6.0]], "new_obs": [[1.0], [2.0], [6.0], [7.0]]}
    held |= {"actions": [0, 1, 1, 0], "rewards": [1.0, 2.0, 3.0, 4.0]}
    held |= {"dones": [False, True, False, True], "eps_id": ["a", "a", "b", "b"], **columns}
    present = {name: own for name, own in held.items() if own is not None}
    parquet.write_table(pa.table(present), folder / "rows.parquet")
    return open_dataset(folder, columns=names)


def plain(size=10, **offline):
    told = {
        "algo": "bc",
        "observation_space": "Box(-9, 9, (1,), float32)",
        "action_space": "Discrete(2)",
    }
    told |= {"training": {"train_batch_size_per_learner": size}, "model_config": {}}
    return config_of({**told, "input_read_episodes": False}, **offline)


@pytest.mark.parametrize(("size", "counts"), [(10, [4]), (3, [3, 1]), (2, [2, 2])])
def test_rows_come_once_in_batches_of_a_size(tmp_path, size, counts):
    """All rows of a file are in one batch each, as many in a batch as it has."""
    batches = [each["default_policy"] for each in train_batches(rows(tmp_path), plain(size))]

    assert [len(each["rewards"]) for each in batches] == counts
    assert np.concatenate([each["rewards"] for each in batches]).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.concatenate([each["terminateds"] for each in batches]).tolist() == [False, True] * 2


def test_columns_may_have_other_names(tmp_path):
    """Names of a stranger's file are told when it is opened."""
    schema, seen = {"obs": "seen"}, [[0.0], [1.0], [5.0], [6.0]]
    data = rows(tmp_path, schema, obs=None, seen=seen, new_obs=None)

    (batch,) = train_batches(data, plain(ignore_final_observation=True))

    assert batch["default_policy"]["obs"].flatten().tolist() == [0.0, 1.0, 5.0, 6.0]
    assert not batch["default_policy"]["new_obs"].any()


def test_steps_without_an_end_are_told(tmp_path):
    """Steps that lack the observation after them say how BC learns of them all the same."""
    data = rows(tmp_path, new_obs=None)

    with pytest.raises(ConfigError, match="ignore_final_observation"):
        next(train_batches(data, plain()))


def test_draws_are_of_all_steps_and_repeatable(tmp_path):
    """Steps of episodes are drawn each as likely, from the config's seed, until a batch is full."""
    config = plain(2000, input_read_episodes=True).debugging(seed=4)

    first, again = (next(train_batches(rows(tmp_path), config)) for _ in range(2))

    rewards = first["default_policy"]["rewards"].tolist()
    assert rewards == again["default_policy"]["rewards"].tolist()
    shares = [rewards.count(value) / 2000 for value in (1.0, 2.0, 3.0, 4.0)]
    np.testing.assert_allclose(shares, 0.25, atol=0.05)


class Doubling(OfflinePreLearner):
    """A user's: rewards count twice."""

    def _map_to_episodes(self, batch, to_numpy=False):
        return super()._map_to_episodes({**batch, "rewards": 2 * batch["rewards"]}, to_numpy)


def test_a_class_of_your_own_maps_rows(tmp_path):
    """`prelearner_class` makes the episodes that the pipeline is given."""
    (batch,) = train_batches(rows(tmp_path), plain(prelearner_class=Doubling))

    assert batch["default_policy"]["rewards"].tolist() == [2.0, 4.0, 6.0, 8.0]


def test_a_call_gives_flat_columns(tmp_path):
    """As RLlib calls it: columns in, tensors by "module/column" out; a module may be left out."""
    (columns,) = rows(tmp_path).steps(10)
    config = plain()

    flat = OfflinePreLearner(config=config)(columns)
    none = OfflinePreLearner(config=config.copy().multi_agent(policies_to_train=["other"]))(columns)

    assert flat["default_policy/actions"].tolist() == [0, 1, 1, 0]
    assert none == {}
