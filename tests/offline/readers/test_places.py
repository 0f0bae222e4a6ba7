"""Archives of recorded data: damaged ones and crowded ones are told."""

import io
import zipfile

import pytest
from rlconnect.core.errors import CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS
from rlconnect.offline import open_dataset


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
