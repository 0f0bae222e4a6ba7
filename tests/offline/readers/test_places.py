"""Files of recorded data: packed, damaged, too many, of several kinds."""

import gzip
import io
import json
import zipfile

import numpy as np
import pytest
from rlconnect.core.errors import CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS
from rlconnect.offline import DamagedDataWarning, open_dataset


def test_a_damaged_directory_of_a_zip_is_a_typed_error(tmp_path):
    """The end of an archive that says it is one, and a directory that is none."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("a.json", "{}")
    data = bytearray(held.getvalue())
    place = data.index(b"PK\x01\x02")
    data[place : place + 4] = b"XXXX"
    (tmp_path / "a.zip").write_bytes(bytes(data))

    with pytest.raises(CorruptCheckpointError, match="unpacked"):
        open_dataset(tmp_path / "a.zip")


def test_files_without_end_are_refused(tmp_path):
    """An archive lists as many files as a folder may."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(DEFAULT_LIMITS.max_entries + 1):
            archive.writestr(f"{number}.json", "")

    with pytest.raises(LimitExceededError):
        open_dataset(tmp_path / "a.zip")


def lines(count):
    """So many batches of one episode of three steps each."""
    columns = {"obs": [[0.0], [1.0], [2.0]], "new_obs": [[1.0], [2.0], [3.0]]}
    columns |= {"actions": [0, 1, 0], "rewards": [1.0] * 3, "dones": [False, False, True]}
    made = [{"type": "SampleBatch", **columns, "eps_id": [each] * 3} for each in range(count)]
    return "\n".join(map(json.dumps, made)).encode()


@pytest.mark.parametrize("name", ["output.json.gz", "output.jsonl.gz"])
def test_lines_packed_with_gzip_are_read(name, tmp_path):
    """As Ray's reader reads them; one that was cut costs what comes after the cut."""
    packed = gzip.compress(lines(200), 0)
    (tmp_path / name).write_bytes(packed)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / name).write_bytes(packed[: len(packed) // 2])

    whole, cut = open_dataset(tmp_path / name).info(), open_dataset(tmp_path / "cut").info()

    assert whole["counts"] == {"rows": 600, "episodes": 200}
    assert not whole["damaged"]
    assert 50 < cut["counts"]["episodes"] < 110
    assert "cannot be read on" in cut["damaged"][0]["why"]


def test_data_of_another_kind_in_a_folder_is_told(tmp_path):
    """One kind is read; that the other one is not does not pass in silence."""
    (tmp_path / "output.json").write_bytes(lines(2))
    (tmp_path / "params.json").write_text('{"lr": 0.1}')
    ends = np.array([False, True])
    np.savez(tmp_path / "b.npz", observations=ends, actions=ends, rewards=ends, terminals=ends)

    data = open_dataset(tmp_path)

    (told,) = data.info()["damaged"]
    assert told["file"] == "output.json"
    assert "sample-batch-json, 2 files; open it by itself" in told["why"]
    with pytest.warns(DamagedDataWarning, match="another kind"):
        assert len(list(data.episodes())) == 1
