"""Pipelines are read from a download cache."""

import gymnasium as gym
import rlconnect.v2 as v2
from rlconnect.core.vault.files.reading import cached_file

from tests.core.vault.recorded import cached


def test_contents_that_lie_beside_no_snapshots_are_refused(tmp_path):
    """A folder `blobs` somewhere above is not enough."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "x").write_bytes(b"x")
    (tmp_path / "versions" / "a").mkdir(parents=True)
    (tmp_path / "versions" / "a" / "f").symlink_to("../../blobs/x")

    assert cached_file(tmp_path / "versions" / "a" / "f") is None


def test_a_save_of_ours_is_held_to_its_manifest_in_a_cache(tmp_path):
    """A pipeline with its manifest, through `part_of` for each of its pieces."""
    pipeline = v2.EnvToModulePipeline(
        gym.spaces.Box(-1, 1, (3,)),
        gym.spaces.Discrete(2),
        connectors=[v2.MeanStdFilter(), v2.FlattenObservations()],
    )
    pipeline.save_to_path(tmp_path / "p")

    found = v2.EnvToModulePipeline.from_checkpoint(cached(tmp_path / "p", tmp_path))

    assert [type(piece) for piece in found] == [v2.MeanStdFilter, v2.FlattenObservations]
