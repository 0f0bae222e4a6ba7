"""A save is whole, equal for equal data, easy to diff, and never harms what is not ours."""

import difflib
import hashlib
import json
import os

import numpy as np
import pytest
from rlconnect.core.errors import CheckpointWriteError
from rlconnect.core.vault.own import atomic
from rlconnect.core.vault.own.own_format import read_folder
from rlconnect.core.vault.own.writer import is_own, save_file, save_folder
from safetensors.numpy import load_file

from .own_checkpoints import content, document


def changed_lines(old, new):
    lines = difflib.unified_diff(old.decode().split("\n"), new.decode().split("\n"), n=0)
    return [line for line in list(lines)[2:] if line[0] in "+-"]


def test_folder_is_what_the_specification_says(tmp_path):
    """Any JSON reader and the safetensors library can read a save without our code."""
    save_folder(tmp_path / "a", document(), kind="policy", meta={"from": "there"})

    manifest = json.loads((tmp_path / "a" / "rlconnect.json").read_text(encoding="utf-8"))
    tree = json.loads((tmp_path / "a" / "document.json").read_text(encoding="utf-8"))
    arrays = load_file(tmp_path / "a" / "arrays.safetensors")

    assert list(manifest)[:5] == ["format", "format_version", "checksum", "kind", "written_by"]
    assert (manifest["format"], manifest["format_version"]) == ("rlconnect", 1)
    assert (manifest["kind"], manifest["meta"]) == ("policy", {"from": "there"})
    assert manifest["parts"] == ["config", "weights"]
    assert set(manifest["files"]) == {"arrays.safetensors", "document.json"}
    for name, entry in manifest["files"].items():
        data = (tmp_path / "a" / name).read_bytes()
        assert entry == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert tree["weights"]["fc.bias"] == {
        "$array": "weights/fc.bias",
        "dtype": "float64",
        "shape": [3],
    }
    np.testing.assert_array_equal(arrays["weights/fc.weight"], np.ones(1000, np.float32))


def test_manifest_checksum_is_of_itself_with_zeros(tmp_path):
    """The manifest vouches for its own text, in a way anyone can compute."""
    save_file(tmp_path / "a.json", document(), kind="policy")

    data = (tmp_path / "a.json").read_bytes()
    checksum = json.loads(data)["checksum"]

    assert hashlib.sha256(data.replace(checksum.encode(), b"0" * 64)).hexdigest() == checksum


@pytest.mark.parametrize("arrays", ["file", "inline"])
def test_equal_saves_are_equal_bytes(tmp_path, arrays):
    """Nothing of the moment, the place or the process goes into a file."""
    save_folder(tmp_path / "a", document(), kind="policy", arrays=arrays)
    save_folder(tmp_path / "b" / "c", document(), kind="policy", arrays=arrays)

    assert content(tmp_path / "a") == content(tmp_path / "b" / "c")


def test_a_date_is_written_only_on_request(tmp_path):
    """A save can carry a date, which its caller chooses."""
    save_folder(tmp_path / "a", {}, kind="policy")
    save_folder(tmp_path / "b", {}, kind="policy", created="2024-05-01T12:00:00Z")

    assert read_folder(tmp_path / "a").created is None
    assert read_folder(tmp_path / "b").created == "2024-05-01T12:00:00Z"


def test_one_changed_entry_is_one_changed_line(tmp_path):
    """A diff shows what changed: one line, and the checksums of the files it is in."""
    save_folder(tmp_path / "a", document(lr=0.001), kind="policy")
    save_folder(tmp_path / "b", document(lr=0.002), kind="policy")

    old, new = content(tmp_path / "a"), content(tmp_path / "b")

    assert changed_lines(old["document.json"], new["document.json"]) == [
        '-    "lr": 0.001,',
        '+    "lr": 0.002,',
    ]
    assert old["arrays.safetensors"] == new["arrays.safetensors"]
    moved = changed_lines(old["rlconnect.json"], new["rlconnect.json"])
    assert sorted(line.split(":")[0].strip("+- ") for line in moved) == [
        *['"checksum"'] * 2,
        *['"sha256"'] * 2,
    ]


def test_changed_numbers_leave_the_structure_alone(tmp_path):
    """New weights of the same shapes change the array file and its checksum only."""
    save_folder(tmp_path / "a", document(fill=1.0), kind="policy")
    save_folder(tmp_path / "b", document(fill=2.0), kind="policy")

    old, new = content(tmp_path / "a"), content(tmp_path / "b")

    assert old["document.json"] == new["document.json"]
    assert old["arrays.safetensors"] != new["arrays.safetensors"]


def test_inline_folder_is_one_file(tmp_path):
    """With inline arrays everything stands in the manifest."""
    save_folder(tmp_path / "a", document(), kind="policy", arrays="inline")

    assert os.listdir(tmp_path / "a") == ["rlconnect.json"]
    assert read_folder(tmp_path / "a").document["weights"]["fc.bias"].tolist() == [0, 0, 0]


def test_only_small_arrays_move_inline_on_request(tmp_path):
    """A caller may have small arrays readable and large ones in their file."""
    save_folder(tmp_path / "a", document(), kind="policy", inline_up_to=3)

    assert list(load_file(tmp_path / "a" / "arrays.safetensors")) == ["weights/fc.weight"]


@pytest.mark.parametrize("without_exchange", [False, True])
def test_a_save_replaces_an_older_one(tmp_path, monkeypatch, without_exchange):
    """The new checkpoint is there, whole, and nothing of the old one or of the work is left."""
    if without_exchange:
        monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    save_folder(tmp_path / "a", document(fill=1.0), kind="policy")
    save_folder(tmp_path / "a", {"only": 1}, kind="module")

    assert read_folder(tmp_path / "a").document == {"only": 1}
    assert sorted(os.listdir(tmp_path / "a")) == ["document.json", "rlconnect.json"]
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_at_the_path_is_followed(tmp_path):
    """`latest -> run_7` stays a link, and `run_7` is replaced."""
    save_folder(tmp_path / "run_7", {"n": 1}, kind="policy")
    (tmp_path / "latest").symlink_to("run_7")

    save_folder(tmp_path / "latest", {"n": 2}, kind="policy")

    assert (tmp_path / "latest").is_symlink()
    assert read_folder(tmp_path / "run_7").document == {"n": 2}


def test_an_empty_folder_may_be_filled(tmp_path):
    """An empty folder holds nothing to lose."""
    (tmp_path / "a").mkdir()

    save_folder(tmp_path / "a", {"n": 1}, kind="policy", overwrite=False)

    assert read_folder(tmp_path / "a").document == {"n": 1}


def test_overwrite_false_keeps_the_old_one(tmp_path):
    """A caller may ask that nothing is ever replaced."""
    save_folder(tmp_path / "a", {"n": 1}, kind="policy")
    save_file(tmp_path / "a.json", {"n": 1}, kind="policy")

    with pytest.raises(CheckpointWriteError, match="a checkpoint lies there"):
        save_folder(tmp_path / "a", {"n": 2}, kind="policy", overwrite=False)
    with pytest.raises(CheckpointWriteError, match="a checkpoint lies there"):
        save_file(tmp_path / "a.json", {"n": 2}, kind="policy", overwrite=False)

    assert read_folder(tmp_path / "a").document == {"n": 1}
    assert read_folder(tmp_path / "a.json").document == {"n": 1}


def test_single_file_is_replaced_only_if_ours(tmp_path):
    """One JSON file follows the same rules as a folder."""
    (tmp_path / "mine.json").write_text('{"mine": 1}', encoding="utf-8")
    save_file(tmp_path / "ours.json", {"n": 1}, kind="policy")

    save_file(tmp_path / "ours.json", {"n": 2}, kind="policy")
    with pytest.raises(CheckpointWriteError, match="did not write the file"):
        save_file(tmp_path / "mine.json", {"n": 2}, kind="policy")
    with pytest.raises(CheckpointWriteError, match="a folder lies there"):
        save_file(tmp_path, {"n": 2}, kind="policy")

    assert read_folder(tmp_path / "ours.json").document == {"n": 2}
    assert (tmp_path / "mine.json").read_text(encoding="utf-8") == '{"mine": 1}'
    assert sorted(os.listdir(tmp_path)) == ["mine.json", "ours.json"]


def test_is_own_looks_at_the_first_lines_only(tmp_path):
    """Ours is told from other folders and files without reading them."""
    save_folder(tmp_path / "a", {"n": 1}, kind="policy")
    save_file(tmp_path / "a.json", {"n": 1}, kind="policy")
    (tmp_path / "b.json").write_text('{"n": 1}', encoding="utf-8")

    assert is_own(tmp_path / "a")
    assert is_own(tmp_path / "a.json")
    assert not is_own(tmp_path / "b.json")
    assert not is_own(tmp_path)
    assert not is_own(tmp_path / "nowhere")
