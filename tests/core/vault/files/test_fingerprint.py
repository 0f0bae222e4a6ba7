"""One checksum for a checkpoint's files."""

import hashlib
import os

from rlconnect.core.vault.files.reading import fingerprint_of


def test_it_is_what_the_shell_gives(tmp_path):
    """The digest of `sha256sum` lines in the order of bytes; links are left out."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two").write_bytes(b"2")
    (tmp_path / "B").write_bytes(b"1")
    os.symlink("B", tmp_path / "link")
    lines = [(b"1", "./B"), (b"2", "./b/two")]
    text = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for data, name in lines)

    assert fingerprint_of(tmp_path) == hashlib.sha256(text.encode()).hexdigest()
    assert fingerprint_of(tmp_path / "B") == hashlib.sha256(b"1").hexdigest()


def test_nothing_has_no_checksum(tmp_path):
    """A URL, an empty folder or nothing at all is no error."""
    assert fingerprint_of(tmp_path) == ""
    assert fingerprint_of(tmp_path / "nowhere") == ""
