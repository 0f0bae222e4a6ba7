"""Our own checkpoint reads back as it was, lazily, and damage of any kind is named."""

import hashlib
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from rlconnect.core.errors import (
    CheckpointAccessError,
    CheckpointNotFoundError,
    CorruptCheckpointError,
    MissingPartError,
    NotACheckpointError,
)
from rlconnect.core.vault.own import atomic
from rlconnect.core.vault.own.array_file import ArrayFile
from rlconnect.core.vault.own.own_format import read_file, read_folder
from rlconnect.core.vault.own.writer import save_file, save_folder

from .document_strategies import DOCUMENTS, fingerprint
from .own_checkpoints import DOCUMENT, sign


@pytest.fixture
def folder(tmp_path):
    """A sound checkpoint to damage."""
    save_folder(tmp_path / "a", DOCUMENT, kind="policy", meta={"from": "there"})
    return tmp_path / "a"


@given(document=DOCUMENTS)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_folder_round_trip_is_exact(tmp_path_factory, document):
    """Any document comes back from the disk as it was, down to the bit."""
    path = tmp_path_factory.mktemp("own") / "a"

    save_folder(path, document, kind="any")

    assert fingerprint(read_folder(path).document) == fingerprint(document)


@given(document=DOCUMENTS)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_file_round_trip_is_exact(tmp_path_factory, document):
    """The same holds for one JSON file."""
    path = tmp_path_factory.mktemp("own") / "a.json"

    save_file(path, document, kind="any")

    assert fingerprint(read_folder(path).document) == fingerprint(document)


def test_facts_are_there_before_any_array(folder, monkeypatch):
    """Names, shapes and dtypes cost no reading of numbers; each array is read when asked for."""
    read, asked = ArrayFile.read, []
    monkeypatch.setattr(
        ArrayFile, "read", lambda self, name: [asked.append(name), read(self, name)][1]
    )

    own = read_folder(folder)

    assert (own.kind, own.meta, own.format_version) == ("policy", {"from": "there"}, 1)
    assert own.written_by.startswith("rlconnect ")
    assert {name: (a.shape, a.dtype.str) for name, a in own.arrays.items()} == {
        "weights/fc.weight": ((3, 4), "<f4"),
        "weights/fc.bias": ((3,), ">f8"),
        "weights/phase": ((), "<c8"),
    }
    assert own.outline["weights"]["fc.weight"] is own.arrays["weights/fc.weight"]
    assert own.outline["config"] == DOCUMENT["config"]
    assert asked == []
    assert own.arrays["weights/fc.bias"].read().sum() == 3
    assert asked == ["weights/fc.bias"]
    assert np.add(own.arrays["weights/fc.weight"], 1).shape == (3, 4)
    assert np.asarray(own.arrays["weights/fc.weight"], np.float64).dtype == np.float64
    assert fingerprint(own.document) == fingerprint(DOCUMENT)
    assert own.document["weights"]["fc.weight"].flags.writeable


def test_what_was_opened_stays_after_it_is_replaced(folder):
    """An opened checkpoint keeps its numbers although a newer one took its place."""
    own = read_folder(folder)

    save_folder(folder, {"weights": {"fc.weight": np.zeros(5)}}, kind="policy")

    np.testing.assert_array_equal(
        own.document["weights"]["fc.weight"], DOCUMENT["weights"]["fc.weight"]
    )


@pytest.mark.parametrize("without_exchange", [False, True])
def test_readers_see_one_save_or_the_other(tmp_path, monkeypatch, without_exchange):
    """While writers replace a folder again and again, each read is of one whole save."""
    if without_exchange:
        monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    path, stop, failures = tmp_path / "a", threading.Event(), []

    def save(number):
        content = {"n": number, "w": np.full(500, number), "text": str(number) * 500}
        save_folder(path, content, kind=str(number))

    def write():
        number = 1
        while not stop.is_set():
            save(number % 8)
            number += 1

    save(0)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(150):
            own = read_folder(path)
            number = own.document["n"]
            if (own.kind, own.document["text"]) != (str(number), str(number) * 500) or (
                own.document["w"] != number
            ).any():
                failures.append(number)
    finally:
        stop.set()
        writer.join()

    assert failures == []


def test_a_folder_moved_aside_by_a_dead_writer_is_read(folder):
    """A crash between two renames hides the path; a reader finds the old one, untouched."""
    aside = folder.with_name(".a.old-0123456789ab")
    folder.rename(aside)

    own = read_folder(folder)

    assert own.kind == "policy"
    assert os.listdir(folder.parent) == [aside.name]


def test_hand_edits_can_be_read_on_request(folder):
    """Without verification an edited value is read; sizes and structure still count."""
    text = (folder / "document.json").read_text(encoding="utf-8")
    (folder / "document.json").write_text(text.replace("0.001", "0.002"), encoding="utf-8")

    with pytest.raises(CorruptCheckpointError, match="verify=False"):
        read_folder(folder)
    assert read_folder(folder, verify=False).document["config"]["lr"] == 0.002


def test_unknown_entries_and_files_are_kept(folder):
    """What a later writer adds to the manifest is offered as it is."""
    (folder / "notes.txt").write_text("hello", encoding="utf-8")
    sign(folder, lambda manifest: manifest.update(added={"by": "later"}))
    sign(
        folder,
        lambda manifest: manifest["files"].update(
            {"notes.txt": {"size": 5, "sha256": hashlib.sha256(b"hello").hexdigest()}}
        ),
    )

    own = read_folder(folder)

    assert own.extra == {"added": {"by": "later"}}
    assert own.files["notes.txt"].size == 5


def test_wrong_paths_are_typed(folder, monkeypatch):
    """Nothing there, a file that is none of ours, half of ours, no permission: each is said."""
    (folder.parent / "empty").mkdir()
    (folder.parent / "other.json").write_text("{}", encoding="utf-8")

    with pytest.raises(CheckpointNotFoundError, match="nothing lies at"):
        read_folder(folder.parent / "nowhere")
    with pytest.raises(CheckpointNotFoundError, match="nothing lies at"):
        read_file(folder.parent / "nowhere.json")
    with pytest.raises(NotACheckpointError, match=r"a file rlconnect\.json"):
        read_folder(folder.parent / "empty")
    with pytest.raises(NotACheckpointError, match=r"other\.json"):
        read_folder(folder.parent / "other.json")
    with pytest.raises(MissingPartError, match=r"(?s)manifest of a folder.*give the folder"):
        read_folder(folder / "rlconnect.json")

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(CheckpointAccessError, match="no permission"):
        read_folder(folder)
    with pytest.raises(CheckpointAccessError, match="no permission"):
        read_file(Path(folder / "rlconnect.json"))
