"""Exported files take raw observations, give the environment's actions, and say what they are."""

import errno
import hashlib
import inspect
import json
import os

import numpy as np
import pytest
import rlconnect
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.bridge.compiled.artifact import export_actor
from rlconnect.bridge.compiled.program import compile_actor
from rlconnect.bridge.exported import files
from rlconnect.core.errors import CheckpointWriteError, MissingExtraError, PieceError
from rlconnect.legacy import ConnectorContext, register_lambda_agent_connector

from tests.bridge.compiled.chains import a_new_chain, an_old_chain, made
from tests.bridge.compiled.test_tensor_step import stacked
from tests.core.vault.own.windows_files import as_on_windows
from tests.legacy.replay import GOLDEN

# torch's own loader and compiler call parts of torch that it has deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.torch("2.9"),
]
CASES = [
    ("ppo_lstm_prev", "pt2"),
    ("ppo_dict_obs_complex", "onnx"),
]
PENDULUM = GOLDEN / "legacy" / "2.7.2" / "ppo_pendulum_norm_meanstd" / "algo_checkpoint"


def manifest_of(path):
    """What lies beside a file."""
    return json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))


def runner(path):
    """What runs a file: named arrays in, arrays out."""
    names = [each["name"] for each in manifest_of(path)["inputs"]]
    if path.suffix == ".onnx":
        onnxruntime = pytest.importorskip("onnxruntime")
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        wanted = {each.name for each in session.get_inputs()}
        return lambda given: session.run(None, {n: given[n] for n in names if n in wanted})
    with path.open("rb") as file:
        module = torch.export.load(file).module()

    def run(given):
        with torch.no_grad():
            return [each.numpy() for each in module(*(torch.from_numpy(given[n]) for n in names))]

    return run


def played(path, actor, rng, rows=4):
    """Hold a file to an actor over a course of steps."""
    manifest = manifest_of(path)
    run = runner(path)
    names = [each["name"] for each in manifest["outputs"]]
    actions = sum(name.startswith("action") for name in names)
    given = {
        each["name"]: np.zeros((rows, *each["shape"]), each["dtype"]) for each in manifest["inputs"]
    }
    plain = actor.observation_space
    for step in range(3):
        samples = [plain.sample() for _ in range(rows)]
        obs = {"obs": np.stack(samples)} if not isinstance(plain, spaces.Dict) else None
        if obs is None:
            obs = _by_path("obs", samples)
        given.update({name: value.astype(given[name].dtype) for name, value in obs.items()})
        if "reward" in given:
            given["reward"] = rng.normal(size=rows).astype(np.float32)
        if "first" in given:
            given["first"] = np.full(rows, step == 0)
        found = run(given)
        wanted = actor.act(samples, reward=None if step == 0 else given.get("reward"))
        assert np.allclose(found[0], wanted, atol=1e-5)
        for name, value in zip(names[actions:], found[actions:], strict=True):
            given[name.removeprefix("next_")] = value


def _by_path(path, samples):
    if isinstance(samples[0], (dict, tuple)):
        keys = samples[0] if isinstance(samples[0], dict) else range(len(samples[0]))
        found = {}
        for key in keys:
            found.update(_by_path(f"{path}.{key}", [sample[key] for sample in samples]))
        return found
    return {path: np.stack([np.asarray(sample) for sample in samples])}


@pytest.mark.parametrize(("case", "ending"), CASES)
def test_an_exported_file_acts_as_the_actor(case, ending, exported, rng):
    """Memory and nested observations are inside; the batch is free."""
    path, actor = exported(case, ending)
    actor.observation_space.seed(1)
    manifest = manifest_of(path)

    assert manifest["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert manifest["kind"] == ending
    assert manifest["origin"]["ray_version"] == "2.7.2"
    for rows in (1, 6):
        actor.reset()
        played(path, actor, rng, rows)


def test_an_exported_program_of_nested_observations_is_compared(exported):
    """It shows its actions alone, whatever form the other's observation has."""
    program, actor = exported("ppo_dict_obs_complex", "onnx")

    assert rlconnect.verify(
        actor, rlconnect.load(program, allow_program=True), samples=2, length=2
    ).is_equal


def test_a_torch_that_is_too_old_is_told_what_is_needed(monkeypatch, tmp_path):
    """Nothing is written; the error names both versions and the line that helps."""
    monkeypatch.setattr(torch, "__version__", "2.6.0+cpu")
    actor = Actor.from_checkpoint(PENDULUM)

    with pytest.raises(MissingExtraError, match=r"torch 2\.9 or newer, found torch 2\.6\.0\+cpu"):
        export_actor(actor, tmp_path / "policy.pt2")

    assert list(tmp_path.iterdir()) == []


def test_an_onnxscript_that_is_too_old_is_told_what_is_needed(monkeypatch, tmp_path):
    """What comes with the newest packages beside it fails in the middle of them."""
    onnxscript = pytest.importorskip("onnxscript")
    monkeypatch.setattr(onnxscript, "__version__", "0.5.4")

    with pytest.raises(MissingExtraError, match=r"onnxscript 0\.6\.2 or newer, found .* 0\.5\.4"):
        export_actor(Actor.from_checkpoint(PENDULUM), tmp_path / "policy.onnx")

    assert list(tmp_path.iterdir()) == []


def test_what_torch_cannot_write_as_onnx_is_told(monkeypatch, tmp_path):
    """Errors of the packages below become one of ours, which names a way out."""
    pytest.importorskip("onnxscript")

    def refused(*_, **__):
        raise NameError("name 'L' is not defined")

    monkeypatch.setattr(torch.onnx, "export", refused)

    with pytest.raises(PieceError, match=r"no ONNX model .*name 'L' is not defined") as told:
        export_actor(Actor.from_checkpoint(PENDULUM), tmp_path / "policy.onnx")

    assert ".pt2" in told.value.hint


def test_torch_is_given_a_name_for_each_input(exported, monkeypatch, tmp_path):
    """torch 2.9 writes programs that cannot check inputs which came as one `*tensors`."""
    path, actor = exported("ppo_lstm_prev", "pt2")
    seen = []

    def spy(module, *args, **kwargs):
        seen.extend(inspect.signature(module.forward).parameters.values())
        raise ValueError("seen")

    monkeypatch.setattr(torch.export, "export", spy)

    with pytest.raises(PieceError, match=r"cannot trace .*seen"):
        export_actor(actor, tmp_path / "policy.pt2")

    assert len(seen) == len(manifest_of(path)["inputs"])
    assert not any(each.kind is each.VAR_POSITIONAL for each in seen)


@pytest.mark.parametrize("chain", [an_old_chain, a_new_chain])
def test_a_chain_of_every_piece_as_onnx(chain, onnx_functions, tmp_path):
    """Adapter, flattening, earlier steps, filter and state are in the file."""
    chain = chain()
    chain.wide.seed(1)
    path = tmp_path / "chain.onnx"

    manifest = export_actor(chain.actor, path)

    assert manifest["kind"] == "onnx"
    for rows in (1, 4):
        chain.actor.reset()
        played(path, chain.actor, np.random.default_rng(rows), rows)
    assert rlconnect.verify(
        chain.actor, rlconnect.load(path, allow_program=True), samples=2, length=3
    ).is_equal


@pytest.mark.parametrize(("case", "ending"), CASES)
def test_no_file_tells_where_it_was_made(case, ending, exported):
    """Neither names nor folders of this machine are in an artifact."""
    data = exported(case, ending)[0].read_bytes()

    assert b"site-packages" not in data
    assert b".py" not in data


def test_what_cannot_be_exported_is_named(tmp_path):
    """Random numbers, several policies or an unknown ending: said, and nothing written."""
    policy = made(spaces.Box(-1, 1, (4,)), spaces.Discrete(2))
    noisy = register_lambda_agent_connector(
        "NoisyObs",
        lambda data: {**data, "new_obs": data["new_obs"] + np.random.default_rng().normal()},
    )
    policy.agent_connectors.prepend(noisy(ConnectorContext.from_policy(policy)))
    with pytest.warns(UserWarning, match="item by item"):
        actor = Actor.from_policy(policy)

    with pytest.raises(PieceError, match=r"NoisyObs \(returns different results"):
        export_actor(actor, tmp_path / "a.pt2")
    with pytest.raises(PieceError, match=r"what a\.bin is to be"):
        export_actor(actor, tmp_path / "a.bin")
    several = Actor.from_checkpoint(
        GOLDEN / "legacy" / "2.7.2" / "ppo_multiagent" / "algo_checkpoint"
    )
    with pytest.raises(PieceError, match="several policies"):
        export_actor(several, tmp_path / "a.pt2")
    assert list(tmp_path.iterdir()) == []


def test_torchs_compiler_gives_the_same(monkeypatch, rng):
    """torch's compiler is given the step, and what it makes equals the actor's.

    It stops before it writes C++, which takes a minute of a compiler that is torch's affair.
    """
    asked, compiled = [], torch.compile

    def traced(module, **options):
        asked.append(options)
        return compiled(module, backend="aot_eager", **options)

    monkeypatch.setattr(torch, "compile", traced)
    policy, wide = stacked()
    actor = Actor.from_policy(policy)
    program = compile_actor(actor, batch=4, backend="inductor")
    states = program.start(4)
    for step in range(2):
        obs = rng.uniform(-3, 3, (4, *wide.shape)).astype(np.float32)
        found, states = program(obs, states, first=np.full(4, step == 0))
        assert np.allclose(actor.act(obs), found.numpy(), atol=1e-5)
    assert asked == [{"dynamic": False}]


def test_a_manifest_that_somebody_reads_keeps_its_artifact(tmp_path, monkeypatch):
    """Where open files stay in their place nothing is written, and the error says which one."""
    target = tmp_path / "a.pt2"
    files.write_artifact(target, b"old", "{}")
    as_on_windows(monkeypatch)

    with (tmp_path / "a.pt2.json").open("rb"), pytest.raises(CheckpointWriteError) as caught:
        files.write_artifact(target, b"new", "{}")

    assert "a.pt2.json: a program has the older one open" in str(caught.value)
    assert target.read_bytes() == b"old"
    files.write_artifact(target, b"new", "{}")
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("step", ["removed", "replace", "second replace"])
def test_an_artifact_never_lies_beside_the_manifest_of_another(tmp_path, monkeypatch, step):
    """Wherever an export stops, a manifest that is there is of the artifact that is there."""
    target, beside = tmp_path / "a.pt2", tmp_path / "a.pt2.json"

    def manifest(data):
        return json.dumps({"sha256": hashlib.sha256(data).hexdigest()})

    def is_pair():
        if not beside.exists():
            return None
        return json.loads(beside.read_text(encoding="utf-8")) == json.loads(
            manifest(target.read_bytes())
        )

    files.write_artifact(target, b"old", manifest(b"old"))
    assert is_pair()
    calls = {"replace": 0}
    replace = os.replace

    def failing(old, new):
        calls["replace"] += 1
        if calls["replace"] == (2 if step.startswith("second") else 1):
            raise OSError(errno.EIO, "no")
        replace(old, new)

    with monkeypatch.context() as patch:
        if step == "removed":
            patch.setattr(files, "removed", lambda path: 1 / 0)
        else:
            patch.setattr(files.os, "replace", failing)
        with pytest.raises((ZeroDivisionError, CheckpointWriteError)):
            files.write_artifact(target, b"new", manifest(b"new"))

    assert is_pair() is not False
    files.write_artifact(target, b"new", manifest(b"new"))
    assert is_pair()
    assert target.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["a.pt2", "a.pt2.json"]
