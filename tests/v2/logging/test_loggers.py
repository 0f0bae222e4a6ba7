"""Results written down: CSV, JSON lines, TensorBoard's records, a line of progress."""

import csv
import io
import json
import os
import struct

import numpy as np
import pytest
from rlconnect.core.data.plain_data import as_json
from rlconnect.core.errors import CorruptCheckpointError, UnsafeCheckpointError
from rlconnect.core.text.visible import visible
from rlconnect.v2 import CSVLogger, JsonLogger, PPOConfig, ProgressLine, TBXLogger, UnifiedLogger
from rlconnect.v2.logging.event_file import EventFile, crc32c, masked_crc32c
from rlconnect.v2.logging.flat_result import at, flat, scalars
from rlconnect.v2.logging.progress_line import progress_text

RESULT = {
    "env_runners": {"episode_return_mean": np.float64(20.5), "num_episodes": 3},
    "config": {"lr": 0.1},
    "num_env_steps_sampled_lifetime": 128,
    "training_iteration": 1,
    "date": "today",
    "bad": float("nan"),
}


def test_results_become_flat():
    """Names joined by slashes; the config is left out, and of numbers only finite ones stay."""
    assert "config/lr" not in flat(RESULT)
    assert scalars(RESULT) == {
        "env_runners/episode_return_mean": 20.5,
        "env_runners/num_episodes": 3.0,
        "num_env_steps_sampled_lifetime": 128.0,
        "training_iteration": 1.0,
    }
    assert at(RESULT, ("env_runners", "num_episodes")) == 3
    assert at(RESULT, ("env_runners", "x", "y")) is None


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (np.float32(0.5), 0.5),
        (np.arange(2), [0, 1]),
        ({"a"}, ["a"]),
        ({1: (None, True)}, {"1": [None, True]}),
        (float("inf"), "inf"),
        (int, "<class 'int'>"),
    ],
)
def test_anything_fits_into_json(value, made):
    """Arrays, numpy's numbers, sets, classes: JSON has a word for each."""
    assert as_json(value) == made
    json.dumps(as_json(value), allow_nan=False)


@pytest.mark.parametrize("name", ["\x1b[2J", "\u202egnp", "a\nb,c", "\ud800", "\0"])
def test_names_and_texts_of_results_are_spelt_out(tmp_path, name):
    """A module's name from a file is one column, one tag and one line, whatever it says."""
    with_names = {"learners": {name: {"loss": 0.5}}, "told": name, "training_iteration": 1}
    logger = UnifiedLogger({name: name}, tmp_path)
    logger.on_result(with_names)
    logger.on_result({**with_names, f"more {name}": 1})
    logger.close()

    for file in tmp_path.iterdir():
        if "tfevents" in file.name:
            data = file.read_bytes()
            assert f"ray/tune/learners/{visible(name)}/loss".encode() in data
            assert name.encode("utf-8", "surrogatepass") not in data or name == "\0"
        else:
            text = file.read_bytes().decode()
            assert [c for c in text if not c.isprintable() and c not in "\r\n"] == []
    lines = (tmp_path / "progress.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3
    assert f"learners/{visible(name)}/loss" in next(csv.reader(lines))
    assert (
        json.loads((tmp_path / "result.json").read_text(encoding="utf-8").splitlines()[0])["told"]
        == name
    )


def test_csv_learns_new_columns(tmp_path):
    """Earlier rows get empty fields; a later logger adds to the same file."""
    logger = CSVLogger({}, tmp_path)
    logger.on_result({"a": 1})
    logger.on_result({"a": 2, "b": {"c": 0.5}})
    logger.close()
    again = CSVLogger({}, tmp_path)
    again.on_result({"b": {"c": 1.5}})
    again.close()
    with (tmp_path / "progress.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {"a": "1", "b/c": ""},
        {"a": "2", "b/c": "0.5"},
        {"a": "", "b/c": "1.5"},
    ]


def test_json_lines(tmp_path):
    """A line for each result, all of it; the settings lie beside."""
    logger = JsonLogger({"lr": 0.1, "env": dict}, tmp_path)
    logger.on_result(RESULT)
    logger.on_result(RESULT)
    logger.close()
    lines = (tmp_path / "result.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0])["env_runners"] == {"episode_return_mean": 20.5, "num_episodes": 3}
    assert json.loads((tmp_path / "params.json").read_text(encoding="utf-8"))["lr"] == 0.1


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"123456789", 0xE3069283), (b"", 0), (b"\x00" * 32, 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)],
)
def test_checksum_is_that_of_the_standard(data, value):
    """The test vectors of RFC 3720, and the mask put on them."""
    assert crc32c(data) == value
    rotated = ((value >> 15) | (value << 17)) & 0xFFFFFFFF
    assert masked_crc32c(data) == (rotated + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    """The events of a file, their checksums checked."""
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked_crc32c(data[:8])
        event, data = data[12 : 12 + length], data[12 + length :]
        assert struct.unpack("<I", data[:4])[0] == masked_crc32c(event)
        data = data[4:]
        yield event


def test_events_are_tensorboards_records(tmp_path):
    """Bytes as the protocol buffers have them; TensorBoard 2.21 read such a file."""
    file = EventFile(tmp_path)
    file.add_scalars({"a/b": 0.5}, step=300)
    file.close()
    first, second = records(file.path)
    assert file.path.name.startswith("events.out.tfevents.")
    assert first[:1] == b"\x09"  # field 1, a double: when
    assert first[9:] == b"\x1a\x0dbrain.Event:2"
    summary = b"\x0a\x0a" + b"\x0a\x03a/b" + b"\x15" + struct.pack("<f", 0.5)
    assert second[9:] == b"\x10\xac\x02" + b"\x2a\x0c" + summary


def test_tensorboard_gets_numbers_over_steps(tmp_path):
    """Every finite number of a result has a tag, at the steps sampled so far."""
    logger = TBXLogger({}, tmp_path)
    logger.on_result(RESULT)
    logger.close()
    (path,) = tmp_path.iterdir()
    _, event = records(path)
    assert b"\x10\x80\x01" in event  # step 128
    assert b"ray/tune/env_runners/episode_return_mean" in event
    assert b"bad" not in event


def test_an_algorithm_writes_its_results(tmp_path):
    """`logger_creator` gets the settings; files are complete after each iteration."""
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size=32, minibatch_size=32, num_epochs=1)
    )
    algo = config.build_algo(logger_creator=lambda given: UnifiedLogger(given, tmp_path / "run"))
    algo.train()
    algo.train()
    assert algo.logdir == str(tmp_path / "run")
    with (tmp_path / "run" / "progress.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["num_env_steps_sampled_lifetime"] for row in rows] == ["32", "64"]
    assert len((tmp_path / "run" / "result.json").read_text(encoding="utf-8").splitlines()) == 2
    algo.stop()


def test_progress_line_tells_return_speed_and_times():
    """Sampling, connecting and learning share the time; the pipeline is no part of learning."""
    result = {
        **RESULT,
        "env_runners": {"episode_return_mean": 20.5, "num_env_steps_sampled": 100},
        "time_this_iter_s": 0.5,
        "timers": {"env_runner_sampling_timer": 6.0, "learner_update_timer": 4.0},
        "learners": {"__all_modules__": {"learner_connector": {"connector_pipeline_timer": 1.0}}},
    }
    told = progress_text(result)
    assert told == (
        "iteration 1  128 steps  return 20.5  200 steps/s  sample 60% connect 10% learn 30%"
    )
    file = io.StringIO()
    line = ProgressLine(file)
    line.on_result(result)
    line.close()
    assert "return 20.5" in file.getvalue()


@pytest.mark.parametrize(
    ("kind", "name"), [(CSVLogger, "progress.csv"), (JsonLogger, "result.json")]
)
def test_half_a_line_of_a_killed_process_goes(kind, name, tmp_path):
    """A run that goes on adds its lines behind the last whole one."""
    name = {CSVLogger: "progress.csv", JsonLogger: "result.json"}[kind]
    logger = kind({}, tmp_path)
    for number in (1, 2):
        logger.on_result({"a": number})
    logger.close()
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole + whole.splitlines()[-1][:-1])

    again = kind({}, tmp_path)
    again.on_result({"a": 2})
    again.close()

    lines = whole.splitlines()
    assert (tmp_path / name).read_bytes().splitlines() == [*lines, lines[-1]]


@pytest.mark.parametrize("name", ["progress.csv", "result.json"])
@pytest.mark.parametrize("is_there", [True, False])
def test_loggers_write_through_no_link(tmp_path, name, is_there):
    """A run's folder cannot make its logger go on in a file of somebody else's."""
    elsewhere = tmp_path / "mine.txt"
    if is_there:
        elsewhere.write_text("precious", encoding="utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(elsewhere)

    with pytest.raises(UnsafeCheckpointError, match="is a link"):
        UnifiedLogger({}, tmp_path / "run", [CSVLogger if "csv" in name else JsonLogger])

    assert (elsewhere.read_text(encoding="utf-8") if is_there else elsewhere.exists()) == (
        "precious" if is_there else False
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("kind", [CSVLogger, JsonLogger])
def test_loggers_wait_for_no_pipe(tmp_path, kind):
    """What is no file is refused at once."""
    for name in ("progress.csv", "result.json"):
        os.mkfifo(tmp_path / name)

    with pytest.raises(CorruptCheckpointError, match="not a regular file"):
        kind({}, tmp_path)


def test_a_long_half_line_is_cut(tmp_path):
    """However long the line is that a killed process left, the lines before it stay."""
    (tmp_path / "result.json").write_bytes(b'{"a": 1}\n' + b"x" * 600_000)

    JsonLogger({}, tmp_path).close()

    assert (tmp_path / "result.json").read_bytes() == b'{"a": 1}\n'


def test_a_table_that_is_none_is_told(tmp_path):
    """A field without end in the file of an earlier run is an error of ours."""
    (tmp_path / "progress.csv").write_text("a," + "b" * 200_000 + "\n", encoding="utf-8")

    with pytest.raises(CorruptCheckpointError, match="no table that can go on"):
        CSVLogger({}, tmp_path)


def test_tensorboard_reads_what_is_written(tmp_path):
    """By its own reader: tags, steps and numbers, and of a run that went on the later ones."""
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    first = TBXLogger({}, tmp_path)
    for step in (10, 20, 30):
        told = {"learners": {"loss": step / 4}, "name": "x", "num_env_steps_sampled_lifetime": step}
        first.on_result({**told, "training_iteration": step // 10})
    first.close()
    file = EventFile(tmp_path, ".1")
    file.begin_again(20)
    file.add_scalars({"ray/tune/learners/loss": -1.5}, 20)
    file.close()

    found = reading.EventAccumulator(str(tmp_path)).Reload()

    assert "ray/tune/learners/loss" in found.Tags()["scalars"]
    rows = [(each.step, each.value) for each in found.Scalars("ray/tune/learners/loss")]
    assert rows == [(10, 2.5), (20, -1.5)]
