"""Checkpoints in one `.zip`: names stay inside, sizes are bounded."""

import zipfile

import pytest
from rlconnect.core.errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault import Limits, open_checkpoint
from rlconnect.core.vault.zipped import unzipped, write_zip

from .recorded import PENDULUM, RECORDINGS


def test_a_zipped_folder_opens(tmp_path):
    """Any checkpoint that somebody zipped, its own folder inside or not."""
    write_zip(RECORDINGS / PENDULUM, tmp_path / "a.zip")

    found = open_checkpoint(tmp_path / "a.zip")

    assert found.path == str(tmp_path / "a.zip")
    assert found.policies["default_policy"].weights


@pytest.mark.parametrize("name", ["../evil.txt", "/tmp/evil.txt", "a/../../evil.txt", "..\\x"])
def test_names_that_lead_elsewhere_are_refused(name, tmp_path):
    """Nothing is written outside the folder made for it."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "x")

    with (
        pytest.raises(CorruptCheckpointError, match="named"),
        unzipped(tmp_path / "a.zip", Limits()),
    ):
        pass


def test_bombs_are_refused(tmp_path):
    """What unfolds to much more than it is, is not unpacked."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.pkl", b"\0" * 2**20)

    with pytest.raises(LimitExceededError), unzipped(tmp_path / "a.zip", Limits(max_file_bytes=9)):
        pass


def test_a_cut_archive_is_a_typed_error(tmp_path):
    """Damage is told in two lines."""
    write_zip(RECORDINGS / PENDULUM, tmp_path / "a.zip")
    data = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(data[: len(data) // 2])

    with pytest.raises(CheckpointError):
        open_checkpoint(tmp_path / "a.zip")
