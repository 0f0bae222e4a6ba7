"""What is no checkpoint is told for what it is, with a way to the checkpoint itself."""

import json
import shutil

import pytest
from rlconnect.core.errors import MissingPartError, NotACheckpointError
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.files.other_files import other_kind, pointer_error

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    b"size 2012345\n"
)
SAMPLES = json.dumps({"type": "SampleBatch", "t": [0, 1], "obs": "BCJNGGhA"}).encode() + b"\n"


def test_a_pointer_alone_is_told_with_the_size_of_the_file():
    """The error says how much is to come."""
    error = pointer_error("checkpoint-9", POINTER)

    assert isinstance(error, MissingPartError)
    assert "2,012,345 bytes" in error.expected
    assert pointer_error("checkpoint-9", b"\x80\x04}") is None


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (SAMPLES, "recorded steps"),
        (b"PAR1\x15\x04\x15", "a parquet file"),
        (b"<!DOCTYPE html>", "a web page"),
        (b"\x1f\x8b\x08\x00", "packed with gzip"),
        (b'{"a": 1}', "JSON"),
        (b"\x80\x04\x95", ""),
        (b"", ""),
    ],
)
def test_first_bytes_tell_what_a_file_is(content, what):
    """Data of other kinds have a name; a pickle has none here."""
    assert what in other_kind(content)[0]
    assert bool(other_kind(content)[0]) is bool(what)


@pytest.mark.parametrize("content", [SAMPLES, b"PAR1\x15\x04\x15" * 9])
def test_samples_are_not_called_damaged(content, tmp_path):
    """A file of recorded steps is told as that: by its path, by its folder, and as a state file."""
    kind = "recorded steps" if content is SAMPLES else "parquet"
    file = tmp_path / "output-2021-03-01_12-00-00_worker-0_0.json"
    file.write_bytes(content)
    beside = tmp_path / "run" / "checkpoint-7"
    beside.parent.mkdir()
    beside.write_bytes(content)

    for path in (file, tmp_path / "run", beside):
        with pytest.raises(NotACheckpointError, match=kind) as caught:
            open_checkpoint(path)
        assert "rlconnect scan" in caught.value.hint
    shutil.rmtree(beside.parent)
    with pytest.raises(NotACheckpointError, match=kind):
        open_checkpoint(tmp_path)
