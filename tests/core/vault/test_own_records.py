"""Records survive our own format: what is saved is what is opened, arrays read when asked."""

import dataclasses

import numpy as np
import pytest
from rlconnect.core.errors import CorruptCheckpointError, MissingPartError
from rlconnect.core.vault import Checkpoint, PolicyRecord, open_checkpoint, save_records
from rlconnect.core.vault.own.own_format import StoredArray
from rlconnect.core.vault.plain import Plainer

from .recorded import MULTI_AGENT, NEW_ALGORITHM, PENDULUM, RECORDINGS, WORKER, open_once, pairs

LSTM = "legacy/2.7.2/ppo_lstm_prev/algo_checkpoint"
MEANSTD_2_0 = "legacy/2.0.1/ppo_cartpole_meanstd/algo_checkpoint"
FLAT_DICT = "legacy/2.60.0/ppo_dict_obs_flat/algo_checkpoint"


def facts(record):
    """Everything a policy or module record says, arrays as lists, comparable by `==`."""
    told = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if field.name == "weights":
            value = {name: (a.dtype, a.tolist()) for name, a in value.items()}
        elif field.name in ("observation_space", "action_space"):
            value = (repr(value), repr(getattr(value, "original_space", None)))
        elif field.name.endswith("_connectors"):
            value = value and pairs_of(value)
        elif field.name == "filters":
            value = [(f.kind, f.count, [m.tolist() for m in f.mean]) for f in value]
        elif field.name in ("where",):
            continue
        else:
            value = listed(Plainer()(dict(value) if hasattr(value, "keys") else value))
        told[field.name] = value
    return told


def listed(value):
    """Plain data whose arrays and tuples are lists."""
    if isinstance(value, dict):
        return {key: listed(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [listed(part) for part in value]
    return (str(value.dtype), value.tolist()) if isinstance(value, np.ndarray) else value


def pairs_of(pipeline):
    """A pipeline's connectors as plain pairs."""
    return [(piece.name, listed(Plainer()(piece.params))) for piece in pipeline.flat()]


@pytest.mark.parametrize(
    "name", [PENDULUM, MULTI_AGENT, WORKER, LSTM, MEANSTD_2_0, FLAT_DICT, NEW_ALGORITHM]
)
@pytest.mark.parametrize("target", ["saved", "saved.json"])
def test_what_is_saved_is_what_is_opened(name, target, tmp_path):
    """Spaces, config, connectors, filters and weights come back equal from folder and file."""
    before = open_once(RECORDINGS / name)

    save_records(tmp_path / target, before)
    after = open_checkpoint(tmp_path / target)

    assert after.stack == "rlconnect"
    assert (after.algorithm, after.environment) == (before.algorithm, before.environment)
    assert (after.kind, after.ray_version) == (before.kind, before.ray_version)
    assert after.training_iteration == before.training_iteration
    assert list(after.acting) == list(before.acting)
    for policy_id, record in before.acting.items():
        assert facts(after.acting[policy_id]) == facts(record)


def test_saving_again_changes_nothing(tmp_path):
    """A checkpoint of ours that is opened and saved holds the same files, byte for byte."""
    save_records(tmp_path / "a", open_once(RECORDINGS / PENDULUM))
    save_records(tmp_path / "b", open_checkpoint(tmp_path / "a"))

    first, second = (open_checkpoint(tmp_path / name) for name in "ab")

    assert facts(first.policies["default_policy"]) == facts(second.policies["default_policy"])
    assert (tmp_path / "a/arrays.safetensors").read_bytes() == (
        tmp_path / "b/arrays.safetensors"
    ).read_bytes()


def test_weights_are_read_when_asked(tmp_path, monkeypatch):
    """Names and shapes are known without the numbers; those are read one array at a time."""
    save_records(tmp_path / "saved", open_once(RECORDINGS / "legacy/2.7.2/td3/algo_checkpoint"))
    asked = []
    read = StoredArray.read
    monkeypatch.setattr(StoredArray, "read", lambda array: asked.append(array) or read(array))

    table = open_checkpoint(tmp_path / "saved").policies["default_policy"].weights
    known = {name: table.describe(name) for name in table}
    before = len(asked)
    name = next(iter(table))
    array = table[name]

    assert (before, len(asked)) == (0, 1)
    assert known[name] == (array.shape, str(array.dtype))


def test_a_lost_array_file_is_named(tmp_path):
    """A folder that lost its arrays says which file to fetch."""
    save_records(tmp_path / "saved", open_once(RECORDINGS / PENDULUM))
    (tmp_path / "saved/arrays.safetensors").unlink()

    with pytest.raises(MissingPartError, match="arrays"):
        open_checkpoint(tmp_path / "saved")


def test_extra_entries_are_kept(tmp_path):
    """What a caller adds to the document comes back in `extra`."""
    save_records(tmp_path / "s", open_once(RECORDINGS / PENDULUM), extra={"certificate": {"a": 1}})

    assert open_checkpoint(tmp_path / "s").extra["certificate"] == {"a": 1}


def test_a_dead_writers_leftover_is_read(tmp_path):
    """Where a writer died between two renames the old folder is still found."""
    target = tmp_path / "saved"
    save_records(target, open_once(RECORDINGS / PENDULUM))
    target.rename(tmp_path / ".saved.old-0123456789ab")

    assert list(open_checkpoint(target).policies) == ["default_policy"]


def test_an_unknown_kind_is_corrupt(tmp_path):
    """A manifest that claims a kind nobody has described is refused."""
    from rlconnect.core.vault.own.writer import save_folder

    save_folder(tmp_path / "odd", {"policies": {}}, kind="teapot", meta={})

    with pytest.raises(CorruptCheckpointError, match="unknown kind"):
        open_checkpoint(tmp_path / "odd")


def test_connectors_compare_by_their_pairs():
    """The comparison above would see a connector that is missing."""
    pipeline = open_once(RECORDINGS / PENDULUM).policies["default_policy"].agent_connectors

    assert len(pairs_of(pipeline)) == 5
    assert pairs(pipeline)[0] == "AgentConnectorPipeline"


def test_tuples_of_a_policys_state_stay_tuples(tmp_path):
    """What an exploration or optimiser saved as a tuple is no list when it is opened again."""
    record = PolicyRecord("p", exploration_state=(1, (2.0, "x")), optimizer=({"step": 3},))
    before = Checkpoint(str(tmp_path), "policy", "old", "1.0", policies={"p": record})

    save_records(tmp_path / "saved", before)

    after = open_checkpoint(tmp_path / "saved").policies["p"]
    assert (after.exploration_state, after.optimizer) == ((1, (2.0, "x")), ({"step": 3},))
