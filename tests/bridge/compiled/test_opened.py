"""Exported files are opened again: held to their manifests, then run."""

from pathlib import Path

import numpy as np
import pytest
import torch
from rlconnect.bridge import Actor, export_actor, load_artifact
from rlconnect.core.errors import CorruptCheckpointError, UnknownFormatError

SAMPLES = Path(__file__).parents[3] / "examples" / "checkpoints"
CHECKPOINT = SAMPLES / "ppo-pendulum-ray-2.7"


@pytest.fixture(scope="module")
def pt2(tmp_path_factory):
    """An exported policy."""
    path = tmp_path_factory.mktemp("exported") / "policy.pt2"
    export_actor(Actor.from_checkpoint(CHECKPOINT), path)
    return path


def answers(artifact):
    """What a file and its policy make of the same observations."""
    actor = Actor.from_checkpoint(CHECKPOINT)
    obs = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    return artifact(obs=obs)["action"], np.stack([actor.act(each) for each in obs])


def test_an_onnx_file_of_the_examples_acts():
    """As the checkpoint beside it does."""
    pytest.importorskip("onnxruntime")

    found, wanted = answers(load_artifact(SAMPLES / "ppo-pendulum.onnx"))

    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.torch("2.9")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_pt2_file_acts(pt2):
    """Its manifest tells which torch wrote it."""
    artifact = load_artifact(pt2)

    found, wanted = answers(artifact)

    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert artifact.manifest["torch"] == torch.__version__


@pytest.mark.torch("2.9")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_pt2_file_of_another_torch_is_told_by_both_versions(pt2, monkeypatch):
    """What torch itself says of it helps nobody."""

    def refuse(*args, **kwargs):
        raise RuntimeError("aten op schema mismatch")

    monkeypatch.setattr(torch.export, "load", refuse)

    with pytest.raises(UnknownFormatError, match=r"that wrote it, .*found torch"):
        load_artifact(pt2)


def test_a_file_that_its_manifest_does_not_know_is_not_run(tmp_path):
    """A byte more, and nothing is opened."""
    source = SAMPLES / "ppo-pendulum.onnx"
    (tmp_path / "p.onnx").write_bytes(source.read_bytes() + b"\0")
    (tmp_path / "p.onnx.json").write_bytes(source.with_name("ppo-pendulum.onnx.json").read_bytes())

    with pytest.raises(CorruptCheckpointError, match="not the file that its manifest tells of"):
        load_artifact(tmp_path / "p.onnx")
