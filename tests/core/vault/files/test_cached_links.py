"""A checkpoint in a download cache is read through its links; no other link is followed."""

import numpy as np
import pytest
from rlconnect.core.errors import UnsafeCheckpointError
from rlconnect.core.vault import Limits, open_checkpoint
from rlconnect.core.vault.files.reading import cached_file, part_of, read_bytes
from rlconnect.core.vault.own.manifest import file_of
from rlconnect.core.vault.own.own_format import read_folder
from rlconnect.core.vault.own.writer import save_folder

from tests.core.vault.recorded import RECORDINGS, cached, recordings

OLD = recordings(RECORDINGS)[0][1]
NEW = RECORDINGS / "new/2.60.0-algo_pkl"


@pytest.mark.parametrize("folder", [OLD, NEW], ids=["old", "new"])
@pytest.mark.parametrize("way", ["itself", "a link"])
def test_a_cached_checkpoint_is_read(tmp_path, folder, way):
    """Its weights, classes and sizes are those of the folder that was uploaded."""
    snapshot = cached(folder, tmp_path)
    if way == "a link":
        (tmp_path / "mine").symlink_to(snapshot)
        snapshot = tmp_path / "mine"

    found, wanted = open_checkpoint(snapshot), open_checkpoint(folder)

    assert found.problems == wanted.problems
    assert found.files == wanted.files
    assert found.policies.keys() == wanted.policies.keys()
    for name, policy in wanted.policies.items():
        np.testing.assert_equal(dict(found.policies[name].weights), dict(policy.weights))


def test_our_own_format_is_read_from_a_cache(tmp_path):
    """Documents and arrays too, each held to its checksum."""
    save_folder(tmp_path / "a", {"w": np.arange(900.0)}, kind="module")
    snapshot = cached(tmp_path / "a", tmp_path)

    np.testing.assert_equal(read_folder(snapshot).document, {"w": np.arange(900.0)})
    assert part_of(snapshot, "rlconnect.json").name == "rlconnect.json"


def _elsewhere(root, repo, link):
    (root / "blobs").mkdir()
    (root / "blobs" / "x").write_bytes(b"secret")
    link.symlink_to(root / "blobs" / "x")


def _another_repository(root, repo, link):
    other = root / "models--z"
    other.joinpath("blobs").mkdir(parents=True)
    (other / "blobs" / "x").write_bytes(b"secret")
    link.symlink_to("../../../models--z/blobs/x")


def _contents_are_a_link(root, repo, link):
    (repo / "blobs").rename(root / "elsewhere")
    (repo / "blobs").symlink_to(root / "elsewhere")
    link.symlink_to("../../blobs/x")


def _content_is_a_link(root, repo, link):
    (root / "secret").write_bytes(b"secret")
    (repo / "blobs" / "y").symlink_to(root / "secret")
    link.symlink_to("../../blobs/y")


def _below_contents(root, repo, link):
    (repo / "blobs" / "sub").mkdir()
    (repo / "blobs" / "sub" / "x").write_bytes(b"secret")
    link.symlink_to("../../blobs/sub/x")


def _a_folder(root, repo, link):
    (repo / "blobs" / "sub").mkdir()
    link.symlink_to("../../blobs/sub")


def _nothing(root, repo, link):
    link.symlink_to("../../blobs/none")


def _beside_in_the_snapshot(root, repo, link):
    link.with_name("real").write_bytes(b"x")
    link.symlink_to("real")


@pytest.mark.parametrize(
    "form",
    [
        _elsewhere,
        _another_repository,
        _contents_are_a_link,
        _content_is_a_link,
        _below_contents,
        _a_folder,
        _nothing,
        _beside_in_the_snapshot,
    ],
)
def test_any_other_link_is_refused(tmp_path, form):
    """By each of the three readers, wherever it leads."""
    repo = tmp_path / "models--x--y"
    snapshot = repo / "snapshots" / "8f1e"
    snapshot.mkdir(parents=True)
    (repo / "blobs").mkdir()
    (repo / "blobs" / "x").write_bytes(b"x")
    form(tmp_path, repo, snapshot / "state.json")

    assert cached_file(snapshot / "state.json") is None
    with pytest.raises(UnsafeCheckpointError, match="is a link"):
        read_bytes(snapshot / "state.json", Limits())
    with pytest.raises(UnsafeCheckpointError, match="is a link"):
        part_of(snapshot, "state.json")
    with pytest.raises(UnsafeCheckpointError, match="is a link"):
        file_of(snapshot, "state.json", 10)
