"""Checkpoints in one `.zip` or `.tgz`: names stay inside, sizes are bounded."""

import io
import lzma
import shutil
import struct
import tarfile
import tracemalloc
import zipfile
from functools import partial

import numpy as np
import pytest
from rlconnect.core.data.file_names import names_trouble
from rlconnect.core.errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault import Limits, open_checkpoint
from rlconnect.core.vault.files import archives
from rlconnect.core.vault.files.archives import unpacked, write_zip
from rlconnect.core.vault.files.number_files import read_arrays

from tests.core.vault.recorded import PENDULUM, RECORDINGS


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
        unpacked(tmp_path / "a.zip", Limits()),
    ):
        pass


def test_bombs_are_refused(tmp_path):
    """What unfolds to much more than it is, is not unpacked."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.pkl", b"\0" * 2**20)

    with pytest.raises(LimitExceededError), unpacked(tmp_path / "a.zip", Limits(max_file_bytes=9)):
        pass


def test_a_cut_archive_is_a_typed_error(tmp_path):
    """Damage is told in two lines."""
    write_zip(RECORDINGS / PENDULUM, tmp_path / "a.zip")
    data = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(data[: len(data) // 2])

    with pytest.raises(CheckpointError):
        open_checkpoint(tmp_path / "a.zip")


@pytest.mark.parametrize(
    ("kind", "ending"), [("gztar", ".tar.gz"), ("tar", ".tar"), ("zip", ".zip")]
)
def test_packed_by_other_programs(kind, ending, tmp_path):
    """Whatever packed the folder, what is in it opens under the archive's name."""
    shutil.make_archive(str(tmp_path / "a"), kind, RECORDINGS / PENDULUM)

    found = open_checkpoint(tmp_path / f"a{ending}")

    assert found.path == str(tmp_path / f"a{ending}")
    assert found.policies["default_policy"].weights


def tarred(path, name, kind=tarfile.REGTYPE, data=b"x", link=""):
    """A `.tgz` with one member."""
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.size, member.linkname = kind, len(data), link
        archive.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize(
    "member",
    [
        {"name": "../evil.txt"},
        {"name": "/tmp/evil.txt"},
        {"name": "a", "kind": tarfile.SYMTYPE, "data": b"", "link": "/etc/passwd"},
        {"name": "a", "kind": tarfile.LNKTYPE, "data": b"", "link": "/etc/passwd"},
        {"name": "a", "kind": tarfile.FIFOTYPE, "data": b""},
    ],
    ids=lambda member: f"{member['name']} {member.get('kind', b'').decode()}",
)
def test_members_of_a_tar_that_lead_elsewhere_are_refused(member, tmp_path):
    """Neither names nor links nor devices leave the folder made for it."""
    tarred(tmp_path / "a.tgz", **member)

    with pytest.raises(CorruptCheckpointError), unpacked(tmp_path / "a.tgz", Limits()):
        pass


def test_a_tar_bomb_is_refused(tmp_path):
    """What unfolds to much more than it is, is not unpacked."""
    tarred(tmp_path / "a.tgz", "state.pkl", data=b"\0" * 2**20)

    with pytest.raises(LimitExceededError), unpacked(tmp_path / "a.tgz", Limits(max_file_bytes=9)):
        pass


def test_a_cut_tar_is_a_typed_error(tmp_path):
    """Damage has our type, and says to fetch it again."""
    tarred(tmp_path / "a.tgz", "state.pkl", data=bytes(range(256)) * 40)
    data = (tmp_path / "a.tgz").read_bytes()
    (tmp_path / "a.tgz").write_bytes(data[: len(data) // 2])

    with pytest.raises(CorruptCheckpointError, match="unpacked"):
        open_checkpoint(tmp_path / "a.tgz")


@pytest.mark.parametrize("name", ["C:/windows/x.json", "policies/a:b/x.json", "CON", "a./x.json"])
def test_names_that_windows_reads_otherwise_are_refused_there(tmp_path, monkeypatch, name):
    """A drive would lead out of the folder, a colon into a hidden stream of a file."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "{}")
    on_windows = partial(names_trouble, platform="win32")
    monkeypatch.setattr(archives, "names_trouble", on_windows)

    with pytest.raises(CorruptCheckpointError, match="cannot lie on this disk"):
        open_checkpoint(tmp_path / "a.zip")


_HUGE = 100 << 20
_TAR_KINDS = {
    "pax": tarfile.XHDTYPE,
    "global pax": tarfile.XGLTYPE,
    "Solaris pax": tarfile.SOLARIS_XHDTYPE,
    "long name": tarfile.GNUTYPE_LONGNAME,
    "long link": tarfile.GNUTYPE_LONGLINK,
    "file": tarfile.REGTYPE,
    "contiguous file": tarfile.CONTTYPE,
    "unknown type": b"Z",
}


def _tar_bomb(path, mode, kind, count, size):
    """Members of zeros, written by hand: `tarfile` would not write them."""
    quick = {"preset": 0} if mode == "w:xz" else {}
    with tarfile.open(path, mode, **quick) as archive:
        for number in range(count):
            member = tarfile.TarInfo(f"{number}")
            member.type, member.size = kind, size
            archive.fileobj.write(member.tobuf(tarfile.USTAR_FORMAT))
            for _ in range(size >> 20):
                archive.fileobj.write(bytes(1 << 20))


def _peak_of(call):
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError):
            call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _unpack(path):
    with unpacked(path, Limits()):
        pass


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("kind", _TAR_KINDS)
@pytest.mark.parametrize("count", [1, 100])
def test_a_tar_of_any_member_type_stays_within_the_limits(ending, kind, count, tmp_path):
    """One large member or many: neither headers nor content are read beyond the limits."""
    path = tmp_path / f"a.tar.{ending}"
    _tar_bomb(path, f"w:{ending}", _TAR_KINDS[kind], count, _HUGE // count >> 20 << 20)

    assert _peak_of(lambda: _unpack(path)) < 48 << 20


@pytest.mark.parametrize("count", [1, 100])
def test_a_zip_of_zeros_stays_within_the_limits(count, tmp_path):
    """What a zip unpacks to counts against the limits for its packed size."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(count):
            archive.writestr(f"{number}.pkl", bytes(_HUGE // count))

    with pytest.raises(LimitExceededError), unpacked(path, Limits()):
        pass


@pytest.mark.parametrize("count", [1, 100])
def test_an_npz_of_zeros_stays_within_the_limits(count, tmp_path):
    """Arrays are refused before they are read."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **{f"a{i}": np.zeros(_HUGE // count, "u1") for i in range(count)})

    assert _peak_of(lambda: read_arrays(path)) < 48 << 20


def _zip_of_entries(count):
    """A zip whose directory has entries for files that are not there."""
    entry = b"PK\x01\x02" + struct.pack("<HHHHHHIIIHHHHHII", *[20, 20, *[0] * 7, 1, *[0] * 6])
    directory = (entry + b"a") * count
    end = struct.pack("<HHHHIIH", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), 0, 0)
    return directory + b"PK\x05\x06" + end


@pytest.mark.parametrize("read", [_unpack, read_arrays, open_checkpoint])
def test_the_directory_of_a_zip_is_checked_before_it_is_read(read, tmp_path):
    """An object per entry would take twenty times the memory of the file."""
    path = tmp_path / f"a.{'npz' if read is read_arrays else 'zip'}"
    path.write_bytes(_zip_of_entries(100_000))

    with pytest.raises(LimitExceededError, match="more than 20,000 files"):
        read(path)
    assert _peak_of(lambda: read(path)) < 24 << 20


def test_zip_members_compressed_with_lzma_are_refused(tmp_path):
    """A dictionary there may be 4 GiB."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.pkl", b"a")

    with pytest.raises(CorruptCheckpointError, match="method 14"):
        _unpack(tmp_path / "a.zip")


def test_the_dictionary_of_an_xz_is_limited(tmp_path):
    """It is allocated before a byte is unpacked; `xz -9` takes 65 MiB."""
    for dictionary in (64 << 20, 128 << 20):
        filters = [{"id": lzma.FILTER_LZMA2, "dict_size": dictionary}]
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("a.txt"))
        path = tmp_path / f"{dictionary}.tar.xz"
        path.write_bytes(lzma.compress(tar.getvalue(), filters=filters))

    with unpacked(tmp_path / f"{64 << 20}.tar.xz", Limits()) as folder:
        assert [file.name for file in folder.iterdir()] == ["a.txt"]
    with pytest.raises(LimitExceededError, match="larger dictionary"):
        _unpack(tmp_path / f"{128 << 20}.tar.xz")


@pytest.mark.parametrize("damage", ["none", "cut"])
def test_an_xz_of_two_streams_is_read_to_its_end(damage, tmp_path):
    """As `cat a.xz b.xz` writes it; one that is cut is damaged."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = 1 << 16
        archive.addfile(member, io.BytesIO(bytes(range(256)) * 256))
    half = len(tar.getvalue()) // 2
    packed = lzma.compress(tar.getvalue()[:half]) + lzma.compress(tar.getvalue()[half:])
    (tmp_path / "a.tar.xz").write_bytes(packed if damage == "none" else packed[:-100])

    if damage == "cut":
        with pytest.raises(CorruptCheckpointError):
            _unpack(tmp_path / "a.tar.xz")
        return
    with unpacked(tmp_path / "a.tar.xz", Limits()) as folder:
        assert (folder / "a.txt").read_bytes() == bytes(range(256)) * 256


def test_holes_of_an_archive_do_not_count_as_its_size(tmp_path):
    """A sparse file of zeros on disk would allow 6 times its length."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.pkl", bytes(_HUGE))
    with open(tmp_path / "a.zip", "wb") as file:
        file.truncate(_HUGE // 2)
        file.seek(0, io.SEEK_END)
        file.write(data.getvalue())

    with pytest.raises(LimitExceededError):
        _unpack(tmp_path / "a.zip")


@pytest.mark.parametrize("shape", ["(True, 4)", "(4, False)", "(-1,)", "(2, -2)", "4", "None"])
def test_impossible_shapes_of_an_npy_are_typed_errors(shape, tmp_path):
    """Sizes are whole numbers from 0 up."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    (tmp_path / "a.npy").write_bytes(start + header + bytes(16))

    with pytest.raises(CorruptCheckpointError):
        read_arrays(tmp_path / "a.npy")


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_in_a_tar_are_read(form, tmp_path):
    """Names that need a header of their own are no attack."""
    name = "/".join(["part" * 20] * 4) + "/a.txt"
    with tarfile.open(tmp_path / "a.tgz", "w:gz", format=form) as archive:
        member = tarfile.TarInfo(name)
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))

    with unpacked(tmp_path / "a.tgz", Limits()) as folder:
        assert [file.read_bytes() for file in folder.rglob("a.txt")] == [b"abc"]
