"""Whatever is wrong with a checkpoint of ours, by accident or on purpose, is named and harmless."""

import contextlib
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import (
    CheckpointError,
    CorruptCheckpointError,
    LimitExceededError,
    MissingPartError,
    NotACheckpointError,
    UnknownFormatError,
    UnsafeCheckpointError,
)
from rlconnect.core.vault.decode.load_limits import Limits
from rlconnect.core.vault.own.own_format import read_folder
from rlconnect.core.vault.own.writer import save_folder

from .own_checkpoints import DOCUMENT, put, sign, with_header


@pytest.fixture
def folder(tmp_path):
    """A sound checkpoint to damage."""
    save_folder(tmp_path / "a", DOCUMENT, kind="policy", meta={"from": "there"})
    return tmp_path / "a"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The files of two sound checkpoints, by their `inline_up_to`, as bytes to damage."""
    found = {}
    for up_to in (0, 3):
        path = tmp_path_factory.mktemp("sound") / "a"
        save_folder(path, DOCUMENT, kind="policy", inline_up_to=up_to)
        found[up_to] = {name: (path / name).read_bytes() for name in sorted(os.listdir(path))}
    return found


@pytest.mark.parametrize(
    ("damage", "error", "match"),
    [
        (lambda f: (f / "document.json").unlink(), MissingPartError, "document.json is missing"),
        (lambda f: (f / "arrays.safetensors").unlink(), MissingPartError, "arrays.safetensors"),
        (lambda f: (f / "rlconnect.json").unlink(), MissingPartError, "rlconnect.json is missing"),
        (
            lambda f: [file.unlink() for file in f.iterdir()],
            NotACheckpointError,
            "no rlconnect checkpoint",
        ),
        (
            lambda f: os.truncate(f / "arrays.safetensors", 50),
            CorruptCheckpointError,
            "arrays.safetensors is damaged: it has 50 bytes",
        ),
        (lambda f: os.truncate(f / "document.json", 0), CorruptCheckpointError, "document.json"),
        (lambda f: os.truncate(f / "rlconnect.json", 0), CorruptCheckpointError, "rlconnect.json"),
        (
            lambda f: sign(f, lambda m: m.update(format="other")),
            NotACheckpointError,
            "no rlconnect checkpoint",
        ),
        (
            lambda f: sign(f, lambda m: m.update(format_version=2)),
            UnknownFormatError,
            r"newer rlconnect: expected format_version 1 or lower, found 2\.\n.*upgrade",
        ),
        (
            lambda f: sign(f, lambda m: m.update(format_version="1")),
            CorruptCheckpointError,
            "format_version is no number",
        ),
        (lambda f: sign(f, lambda m: m.pop("kind")), CorruptCheckpointError, "kind is no text"),
        (lambda f: sign(f, lambda m: m.pop("files")), CorruptCheckpointError, "list of files"),
        (
            lambda f: sign(f, lambda m: m.update(parts=["config"])),
            CorruptCheckpointError,
            "parts are not those",
        ),
        (
            lambda f: sign(f, lambda m: m["files"].pop("document.json")),
            MissingPartError,
            "names no document",
        ),
        (
            lambda f: sign(f, lambda m: m["files"].pop("arrays.safetensors")),
            CorruptCheckpointError,
            "no array 'weights/fc.weight' in arrays.safetensors",
        ),
        (
            lambda f: sign(f, lambda m: m.update(document={})),
            CorruptCheckpointError,
            "holds a document and names another",
        ),
        (
            lambda f: sign(f, lambda m: m.update(meta={"$array": "x", "dtype": "i1", "shape": []})),
            CorruptCheckpointError,
            "rlconnect.json is damaged",
        ),
        (
            lambda f: sign(f, lambda m: m["files"]["document.json"].update(size=-1)),
            CorruptCheckpointError,
            "entry of document.json is malformed",
        ),
        (
            lambda f: sign(f, lambda m: m["files"]["document.json"].update(sha256="0" * 64)),
            CorruptCheckpointError,
            "document.json is damaged: its checksum differs",
        ),
    ],
)
def test_damage_is_named(folder, damage, error, match):
    """Each kind of damage has its own error, which names the file."""
    damage(folder)

    with pytest.raises(error, match=match) as caught:
        read_folder(folder)
    assert caught.value.hint
    assert len(str(caught.value).split("\n")) == 2


@pytest.mark.parametrize(
    "name",
    [
        *("../a/document.json", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "C:x"),
        *("a\0b", ".hidden", "ä.json", "x" * 200, "a\n"),
    ],
)
def test_names_never_lead_out_of_the_folder(folder, name):
    """A file name in the manifest is a plain one, or the checkpoint is refused."""
    sign(folder, lambda manifest: manifest["files"].update({name: {"size": 1, "sha256": "0"}}))

    with pytest.raises(UnsafeCheckpointError, match="no plain file name"):
        read_folder(folder)


@pytest.mark.parametrize("name", ["document.json", "arrays.safetensors", "rlconnect.json"])
def test_links_and_pipes_are_refused(folder, name):
    """A file that is a link or a pipe could be anything, or never end."""
    data = (folder / name).read_bytes()
    (folder.parent / "elsewhere").write_bytes(data)
    (folder / name).unlink()
    (folder / name).symlink_to(folder.parent / "elsewhere")

    with pytest.raises(UnsafeCheckpointError, match=f"{name} in .* is a link"):
        read_folder(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(UnsafeCheckpointError, match=f"{name} in .* is no plain file"):
        read_folder(folder)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "header is longer than the file"),
        (b"\xff" * 8, "header is longer than the file"),
        (with_header(b"[]"), "header is no object"),
        (with_header(b"{"), "no valid JSON"),
        (with_header(b'{"a": 1}'), "entry of 'a' is malformed"),
        (with_header(b'{"a": {}, "a": {}}'), "stands twice"),
        (with_header({"a": {"dtype": "F4", "shape": [1], "data_offsets": [0, 4]}}), "dtype 'F4'"),
        (with_header({"a": {"dtype": [], "shape": [1], "data_offsets": [0, 4]}}), "unknown dtype"),
        (
            with_header({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}),
            "malformed shape",
        ),
        (
            with_header({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4]}}, b"1234"),
            "malformed shape or place",
        ),
        (
            with_header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"1234"),
            "does not fill its place",
        ),
        (
            with_header({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}),
            "end at byte 4,398,046",
        ),
        (
            with_header(
                {
                    "a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                    "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]},
                },
                b"123456",
            ),
            "overlap or leave holes",
        ),
        (
            with_header({"a": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}, b"123456"),
            "overlap or leave holes",
        ),
        (
            with_header({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}, b"123456"),
            "end at byte",
        ),
        (
            with_header({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}, b"1234"),
            "no array 'weights/fc.weight'",
        ),
    ],
)
def test_an_array_file_is_not_believed(folder, data, match):
    """Each claim of the header is held against the file, although every checksum fits."""
    (folder / "arrays.safetensors").write_bytes(data)
    sign(folder)

    with pytest.raises(CorruptCheckpointError, match=match):
        read_folder(folder)


def test_a_reference_must_fit_its_array(folder):
    """Dtype and shape in the document are those of the array file."""
    text = (folder / "document.json").read_text(encoding="utf-8")
    (folder / "document.json").write_text(
        text.replace('"shape": [3, 4]', '"shape": [4, 3]'), encoding="utf-8"
    )
    sign(folder)

    with pytest.raises(CorruptCheckpointError, match=r"weights/fc\.weight' has another dtype"):
        read_folder(folder)


def test_bools_are_zero_or_one(tmp_path):
    """A byte that is no bool is damage when it is read, not a strange value later."""
    save_folder(tmp_path / "a", {"mask": np.array([True, False])}, kind="policy")
    path = tmp_path / "a" / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-2] + b"\x01\x07")
    sign(tmp_path / "a")

    own = read_folder(tmp_path / "a")

    with pytest.raises(CorruptCheckpointError, match="mask: a bool is neither 0 nor 1"):
        own.arrays["mask"].read()


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        (Limits(max_file_bytes=100), "arrays.safetensors is too large"),
        (Limits(max_json_bytes=10), "rlconnect.json is too large"),
        (Limits(max_depth=2), "nested"),
        (Limits(max_operations=5, bytes_per_operation=1000), "steps to decode"),
    ],
)
def test_limits_hold_before_reading(folder, limits, match):
    """A caller's limits on size, depth and work are kept."""
    with pytest.raises(LimitExceededError, match=match):
        read_folder(folder, limits=limits)


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000], ids=["lists", "objects"])
def test_depth_bombs_are_refused_wherever_they_are(folder, data):
    """Nesting without end is a limit exceeded, in each of the three files."""
    (folder / "document.json").write_bytes(data)
    sign(folder)
    with pytest.raises(LimitExceededError, match=r"document\.json is nested 100,000 deep"):
        read_folder(folder)
    (folder / "arrays.safetensors").write_bytes(with_header(data))
    (folder / "document.json").write_text("{}", encoding="utf-8")
    sign(folder)
    with pytest.raises(LimitExceededError, match=r"header of arrays\.safetensors is nested"):
        read_folder(folder)
    (folder / "rlconnect.json").write_bytes(data)
    with pytest.raises(LimitExceededError, match=r"rlconnect\.json is nested"):
        read_folder(folder)


@given(data=st.data())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_no_flipped_or_cut_byte_goes_unnoticed(tmp_path_factory, sound, data):
    """Any one byte changed, dropped or added, in any file, is refused with a typed error."""
    folder = put(tmp_path_factory.mktemp("own"), sound[0])
    name = data.draw(st.sampled_from(sorted(os.listdir(folder))))
    content = bytearray((folder / name).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    match data.draw(st.sampled_from(["flip", "drop", "add", "cut"])):
        case "flip":
            content[at] ^= data.draw(st.integers(1, 255))
        case "drop":
            del content[at]
        case "add":
            content.insert(at, data.draw(st.integers(0, 255)))
        case _:
            del content[at:]
    (folder / name).write_bytes(content)

    with pytest.raises(CheckpointError):
        read_folder(folder)


@given(data=st.data())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_forged_files_end_typed(tmp_path_factory, sound, data):
    """With checksums that fit, changed bytes read as data or end in a typed error."""
    folder = put(tmp_path_factory.mktemp("own"), sound[data.draw(st.sampled_from([0, 3]))])
    name = data.draw(st.sampled_from(["document.json", "arrays.safetensors"]))
    content = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / name).write_bytes(content)
    sign(folder)

    with contextlib.suppress(CheckpointError):
        assert isinstance(read_folder(folder).document, dict)
