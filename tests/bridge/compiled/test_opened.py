"""Exported files are opened again: held to their manifests, then run."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import rlconnect
import torch
from rlconnect.bridge import Actor, export_actor, load_artifact
from rlconnect.bridge.exported.files import program_in
from rlconnect.core.errors import (
    CorruptCheckpointError,
    MissingExtraError,
    MissingPartError,
    PieceError,
    UnknownFormatError,
)

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


def as_if_written_by(version, pt2, folder):
    """A file whose manifest names another torch."""
    for name in ("policy.pt2", "policy.pt2.json"):
        shutil.copy(pt2.with_name(name), folder)
    beside = folder / "policy.pt2.json"
    manifest = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps({**manifest, "torch": version}), encoding="utf-8")
    return folder / "policy.pt2"


@pytest.mark.torch("2.9")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("stage", ["read", "run"])
def test_a_pt2_file_of_another_torch_is_told_by_both_versions(pt2, monkeypatch, stage, tmp_path):
    """What torch itself says of it helps nobody; it is told at once, not at the first step."""

    def refuse(*args, **kwargs):
        raise RuntimeError("aten op schema mismatch")

    class _Program:
        def module(self):
            return refuse

    file = as_if_written_by("2.5.1+cu128", pt2, tmp_path)
    read = refuse if stage == "read" else lambda *args, **kwargs: _Program()
    monkeypatch.setattr(torch.export, "load", read)

    with pytest.raises(
        UnknownFormatError, match=r"that wrote it, 2\.5\.1\+cu128, found torch"
    ) as met:
        rlconnect.load(file, allow_program=True)
    with pytest.raises(UnknownFormatError):
        rlconnect.verify(CHECKPOINT, rlconnect.load(file, allow_program=True))

    assert met.value.hint.startswith("pip install torch==2.5.1, or export its checkpoint again")


@pytest.mark.torch("2.9")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_no_version_is_no_command(pt2, monkeypatch, tmp_path):
    """A manifest is a file as others are: what it says goes into no line for a shell."""
    monkeypatch.delattr(torch.export, "load")

    with pytest.raises(UnknownFormatError) as met:
        load_artifact(as_if_written_by("2.9; rm -r /", pt2, tmp_path))

    assert "pip" not in met.value.hint


@pytest.mark.torch("2.9")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_exported_policy_is_held_to_its_checkpoint(pt2):
    """`verify` compares a file with what it was made of."""
    assert rlconnect.verify(CHECKPOINT, rlconnect.load(pt2, allow_program=True))
    onnx = SAMPLES / "ppo-pendulum.onnx"
    pytest.importorskip("onnxruntime")
    assert rlconnect.verify(CHECKPOINT, rlconnect.load(onnx, allow_program=True))


def test_an_onnx_file_of_a_newer_opset_says_so(monkeypatch):
    """The runtime that is here, what it would have to know, and the line that gets it."""
    onnxruntime = pytest.importorskip("onnxruntime")

    def refuse(*args, **kwargs):
        raise RuntimeError("Opset 18 is under development")

    monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)

    with pytest.raises(UnknownFormatError, match=r"opset 18, found onnxruntime \d") as met:
        rlconnect.load(SAMPLES / "ppo-pendulum.onnx", allow_program=True)

    assert "pip install --upgrade onnxruntime" in met.value.hint


def test_onnx_files_need_their_runtime_alone(monkeypatch):
    """Not the exporters, and no newer torch."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(MissingExtraError) as met:
        rlconnect.load(SAMPLES / "ppo-pendulum.onnx", allow_program=True)

    assert met.value.hint == "pip install onnxruntime"


@pytest.mark.parametrize("ending", ["onnx", "pt2"])
def test_a_file_without_its_manifest_says_what_is_missing(tmp_path, ending):
    """It is no folder that something is missing in."""
    (tmp_path / f"p.{ending}").write_bytes(b"a program")

    with pytest.raises(MissingPartError, match=rf"without its manifest, p\.{ending}\.json"):
        rlconnect.load(tmp_path / f"p.{ending}", allow_program=True)


@pytest.mark.parametrize(
    "damage",
    [
        {"inputs": None},
        {"inputs": [{"name": "obs"}]},
        {"inputs": [{"name": "obs", "shape": [2**40], "dtype": "float32"}]},
        {"outputs": [{"name": "action", "shape": [1], "dtype": "object"}]},
        {"observation_space": {"space": "no such"}},
        {"action_space": None},
        {"states": []},
        {"states": {"h": {}}},
        {"origin": []},
    ],
    ids=lambda damage: "-".join(damage),
)
def test_a_damaged_manifest_is_told_by_its_place(tmp_path, damage):
    """Nothing that it says is taken for what it should be."""
    for name in ("ppo-pendulum.onnx", "ppo-pendulum.onnx.json"):
        shutil.copy(SAMPLES / name, tmp_path)
    beside = tmp_path / "ppo-pendulum.onnx.json"
    manifest = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps({**manifest, **damage}), encoding="utf-8")

    with pytest.raises(CorruptCheckpointError, match=r"ppo-pendulum\.onnx\.json"):
        rlconnect.load(tmp_path / "ppo-pendulum.onnx", allow_program=True)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "expected obs, found none"),
        ({"observation": np.zeros((1, 3))}, "expected obs, found observation"),
        ({"obs": np.zeros((2, 4))}, r"expected \(2, 3\), found \(2, 4\)"),
    ],
)
def test_other_inputs_are_refused_before_they_are_run(given, match):
    """By the names and shapes that the manifest tells."""
    pytest.importorskip("onnxruntime")

    with pytest.raises(PieceError, match=match):
        load_artifact(SAMPLES / "ppo-pendulum.onnx")(**given)


def test_a_file_that_its_manifest_does_not_know_is_not_run(tmp_path):
    """A byte more, and nothing is opened."""
    source = SAMPLES / "ppo-pendulum.onnx"
    (tmp_path / "p.onnx").write_bytes(source.read_bytes() + b"\0")
    (tmp_path / "p.onnx.json").write_bytes(source.with_name("ppo-pendulum.onnx.json").read_bytes())

    with pytest.raises(CorruptCheckpointError, match="not the file that its manifest tells of"):
        load_artifact(tmp_path / "p.onnx")


def test_a_program_is_looked_for_in_the_folder_alone(tmp_path):
    """Not below it, where links could lead round in circles."""
    below = tmp_path / "export"
    below.mkdir()
    for name in ("policy.onnx", "policy.onnx.json"):
        (below / name).write_text("{}", encoding="utf-8")

    assert program_in(below) == below / "policy.onnx"
    assert program_in(tmp_path) is None


def test_the_onnx_runtime_prints_nothing(capfd):
    """An operator that fails is raised; the runtime's log has colors of a terminal."""
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    from rlconnect.bridge.exported.opened import onnx_session

    make, number = onnx.helper, onnx.TensorProto
    graph = make.make_graph(
        [make.make_node("Reshape", ["x", "shape"], ["y"])],
        "graph",
        [make.make_tensor_value_info("x", number.FLOAT, [None])],
        [make.make_tensor_value_info("y", number.FLOAT, [None, None])],
        [make.make_tensor("shape", number.INT64, [2], [2, 2])],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=9)
    session = onnx_session(model.SerializeToString())

    with pytest.raises(Exception, match="Reshape"):
        session.run(None, {"x": np.zeros(3, np.float32)})

    assert capfd.readouterr() == ("", "")
