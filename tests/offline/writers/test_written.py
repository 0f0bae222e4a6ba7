"""Data in another form: read back it is what it was, and an interruption loses nothing."""

import json
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.legacy import MultiAgentBatch, SampleBatch
from rlconnect.offline import open_dataset
from rlconnect.offline.writers import files, written
from rlconnect.offline.writers.batch_lines import line_of
from rlconnect.offline.writers.minari_files import write_minari
from rlconnect.v2 import SingleAgentEpisode, write_episodes

from tests.offline.columns import leaves

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")

GOLDEN = Path(__file__).parents[2] / "golden/offline"
CASES = [
    *("2.60.0/episodes_tuple", "2.60.0/columns_tuple", "2.60.0/json_box", "2.2.0/json_dict_nested"),
    *("1.13.0/json_box_infos_packed", "2.60.0/json_multi", "0.5.4/minari_hdf5_tuple"),
]
FORMATS = {"parquet": "episode-parquet", "json": "sample-batch-json", "minari": "minari"}


def columns_of(episode):
    """All of an episode as arrays by path."""
    steps = len(episode)
    held = {"obs": episode.get_observations(slice(0, steps + 1))}
    held |= {"actions": episode.get_actions(slice(0, steps))}
    held |= {name: episode.get_extra_model_outputs(name) for name in episode.extra_model_outputs}
    made = {path: np.asarray(own) for name in held for path, own in leaves(held[name], name)}
    made["ends"] = np.array([episode.is_terminated, episode.is_truncated], bool)
    made["rewards"] = np.asarray(episode.get_rewards(slice(0, steps)), np.float64)
    infos = [repr(as_plain(each)) for each in episode.get_infos(slice(0, steps + 1))]
    return {**made, "infos": np.array(infos), "first": np.array(episode.t_started)}


def as_plain(infos):
    return json.loads(json.dumps(infos, default=lambda value: value.tolist(), sort_keys=True))


def agents_of(episode):
    return getattr(episode, "agent_episodes", {"": episode})


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_what_was_written_reads_like_what_it_was_made_of(case, form, tmp_path):
    """Episodes keep ids, columns with their dtypes, ends and infos."""
    data = open_dataset(GOLDEN / case / "data")
    is_several = "multi" in case
    if is_several and form == "minari":
        with pytest.raises(ConfigError, match="several agents"):
            data.write(tmp_path / "out", form)
        return

    data.write(tmp_path / "out", form)
    again = open_dataset(tmp_path / "out")

    assert again.format == FORMATS[form]
    theirs = {each.id_: each for each in data.episodes()}
    mine = {each.id_: each for each in again.episodes()}
    assert mine.keys() == theirs.keys()
    for id_, episode in theirs.items():
        assert agents_of(mine[id_]).keys() == agents_of(episode).keys()
        for agent, part in agents_of(episode).items():
            made = columns_of(agents_of(mine[id_])[agent])
            for path, array in columns_of(part).items():
                np.testing.assert_array_equal(made[path], array, err_msg=path)
                assert made[path].dtype == array.dtype


def test_episodes_of_several_agents_become_batches_again(tmp_path):
    """Times, policies, infos and what each agent did are those that were recorded."""
    source = GOLDEN / "2.60.0/json_multi/data"
    open_dataset(source).write(tmp_path / "episodes", "parquet")
    data = open_dataset(tmp_path / "episodes")

    data.write(tmp_path / "lines", "json")
    batches = list(data.sample_batches(10_000))

    (batch,) = batches
    assert set(batch.policy_batches) == {"even", "odd"}
    first, again = (
        sorted(open_dataset(each).episodes(), key=lambda episode: episode.id_)
        for each in (source, tmp_path / "lines")
    )
    assert [each.id_ for each in again] == [each.id_ for each in first]
    for mine, told in zip(again, first, strict=True):
        assert mine.env_t == told.env_t
        assert {mine.module_for(agent) for agent in mine.agent_ids} == {"even", "odd"} & {
            told.module_for(agent) for agent in told.agent_ids
        }
        returns = [
            sorted((len(each), each.get_return()) for each in whole.agent_episodes.values())
            for whole in (mine, told)
        ]
        assert returns[0] == returns[1]
        maps = [
            sorted(str(list(each.data)) for each in whole.env_t_to_agent_t.values())
            for whole in (mine, told)
        ]
        assert maps[0] == maps[1]


def test_batches_are_written_as_they_were(tmp_path):
    """JSON of JSON has the same batches: lines, columns per sequence; infos as today's RLlib."""
    data = open_dataset(GOLDEN / "2.2.0/json_rnn/data")

    data.write(tmp_path / "out", "json")
    pairs = zip(open_dataset(tmp_path / "out").sample_batches(), data.sample_batches(), strict=True)

    for mine, theirs in pairs:
        assert mine.count == theirs.count
        assert not isinstance(mine, MultiAgentBatch)
        for name in set(theirs) - {"infos"}:
            np.testing.assert_array_equal(mine[name], theirs[name])


def test_columns_may_be_plain(tmp_path):
    """What is not packed lies there as lists, for readers without LZ4."""
    open_dataset(GOLDEN / "2.60.0/json_box/data").write(
        tmp_path / "out", "json", compress_columns=()
    )

    (file,) = (tmp_path / "out").glob("*.json")
    line = json.loads(file.read_text().splitlines()[0])

    assert isinstance(line["policy_batches"]["default_policy"]["obs"], list)


def played(folder, count):
    episodes = [
        SingleAgentEpisode(
            f"e{number}",
            observations=np.full((4, 1), number, np.float32),
            actions=np.arange(3),
            rewards=np.full(3, float(number)),
            terminated=True,
            len_lookback_buffer=0,
        )
        for number in range(count)
    ]
    folder.mkdir()
    write_episodes(folder / "all", episodes)
    return open_dataset(folder)


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_an_interrupted_write_goes_on(form, tmp_path, monkeypatch):
    """Files that are whole stay; the same call makes the others, and nothing comes twice."""
    monkeypatch.setattr(written, "STEPS_A_FILE", 6)
    data = played(tmp_path / "in", 7)
    seen = []

    def stop(steps):
        seen.append(steps)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        data.write(tmp_path / "out", form, progress=stop)
    first = {file: file.stat().st_mtime_ns for file in (tmp_path / "out").iterdir()}
    again = []
    data.write(tmp_path / "out", form, progress=again.append)

    assert sum(again) == 21
    assert not (tmp_path / "out" / files.MARK).exists()
    whole = [file for file in first if file.suffix]
    assert all(file.stat().st_mtime_ns == first[file] for file in whole)
    ids = [each.id_ for each in open_dataset(tmp_path / "out").episodes()]
    assert ids == [f"e{number}" for number in range(7)]


def test_a_folder_of_other_data_is_left_alone(tmp_path):
    """Neither a folder with something in it nor one begun from other data is written to."""
    data = played(tmp_path / "in", 2)
    data.write(tmp_path / "out")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / files.MARK).write_text("{}")

    with pytest.raises(ConfigError, match="is there already"):
        data.write(tmp_path / "out")
    with pytest.raises(ConfigError, match="begun from other data"):
        data.write(tmp_path / "begun")
    with pytest.raises(ConfigError, match="no format"):
        data.write(tmp_path / "new", "xml")


def test_texts_for_minari_are_refused(tmp_path):
    """Observations that are no numbers have no place in Minari's files, which is told."""
    episode = SingleAgentEpisode(
        "e", observations=["a", "b"], actions=[0], rewards=[1.0], terminated=True,
        len_lookback_buffer=0,
    )  # fmt: skip
    write_episodes(tmp_path / "own/all", [episode])

    with pytest.raises(ConfigError, match="no place in a dataset of Minari"):
        open_dataset(tmp_path / "own").write(tmp_path / "out", "minari")


def test_infos_that_are_no_dicts_are_refused(tmp_path):
    """A damaged file may hold lists there."""
    episode = SingleAgentEpisode(
        "e", observations=np.zeros((2, 1)), actions=[0], rewards=[1.0], terminated=True,
        infos=[({},), {}], len_lookback_buffer=0,
    )  # fmt: skip

    with pytest.raises(ConfigError, match="no dicts"):
        write_minari(tmp_path, [episode], "data-v0")


@pytest.mark.parametrize("name", ["", ".", "a/b", "a\x00b", "\ud800"])
def test_names_that_minari_cannot_hold_are_refused(name, tmp_path):
    """Its files take them for something else, or not at all."""
    episode = SingleAgentEpisode(
        "e", observations=np.zeros((2, 1)), actions=[0], rewards=[1.0], terminated=True,
        extra_model_outputs={name: np.zeros(1)}, len_lookback_buffer=0,
    )  # fmt: skip

    with pytest.raises(ConfigError, match="no place in a dataset of Minari"):
        write_minari(tmp_path, [episode], "data-v0")


@pytest.mark.parametrize("info", [{b"name": 1}, {"name": {1, 2}}])
def test_infos_that_json_has_no_word_for_are_told(info):
    """Odd keys as well as odd values."""
    with pytest.raises(ConfigError, match="cannot be written as JSON"):
        line_of(SampleBatch({"rewards": np.zeros(1), "infos": [info]}))
