"""Hostile exported programs: nothing in them is unpickled or evaluated, even with the opt-in."""

import hashlib
import io
import json
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import rlconnect
from rlconnect.bridge.exported.archive import check_onnx, checked_pt2
from rlconnect.core.errors import (
    CorruptCheckpointError,
    ProgramNotAllowedError,
    RlconnectError,
    UnsafeCheckpointError,
)

SAMPLES = Path(__file__).parents[2] / "examples" / "checkpoints"
CONFIG = "archive/data/weights/model_weights_config.json"
MODEL = "archive/models/model.json"
pytestmark = [
    pytest.mark.torch("2.9"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Evil:
    """Creates a file when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def members_of(file):
    """The files of an archive, by name."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(members, compression=zipfile.ZIP_STORED):
    """An archive of files, by name."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def torch_file(gadget):
    """A file of `torch.save` whose pickle runs a gadget."""
    import torch

    data = io.BytesIO()
    torch.save(gadget, data)
    return data.getvalue()


def pickled_weight(members, gadget):
    config = json.loads(members[CONFIG])
    next(iter(config["config"].values()))["use_pickle"] = True
    name = next(name for name in members if name.endswith("weight_0"))
    return {**members, CONFIG: json.dumps(config), name: torch_file(gadget)}


def pickled_constant(members, gadget):
    config = json.loads(members[CONFIG])
    payload = {**next(iter(config["config"].values())), "use_pickle": True}
    config = {"config": {"c": {**payload, "path_name": "tensor_0"}}}
    return {
        **members,
        "archive/data/constants/model_constants_config.json": json.dumps(config),
        "archive/data/constants/tensor_0": torch_file(gadget),
    }


def opaque_constant(members, gadget):
    config = json.loads(members[CONFIG])
    payload = {**next(iter(config["config"].values())), "use_pickle": False}
    config = {"config": {"c": {**payload, "path_name": "opaque_obj_0"}}}
    return {
        **members,
        "archive/data/constants/model_constants_config.json": json.dumps(config),
        "archive/data/constants/opaque_obj_0": pickle.dumps(gadget),
    }


def custom_object(members, gadget):
    return {**members, "archive/data/constants/custom_obj_0": pickle.dumps(gadget)}


def legacy_archive(members, gadget):
    document = members[MODEL]
    return {
        "version": "8.20",
        "serialized_exported_program.json": document,
        "serialized_state_dict.pt": torch_file(gadget),
        "serialized_constants.pt": torch_file(gadget),
        "serialized_example_inputs.pt": torch_file(gadget),
    }


def library(members, gadget):
    return {**members, "archive/data/aotinductor/model/a.so": b"\x7fELF"}


def extra_file(members, gadget):
    return {**members, "archive/extra/run.py": b"print()"}


def second_model(members, gadget):
    return {**members, "archive/models/other.json": members[MODEL]}


def expression(members, gadget):
    text = members[MODEL].decode()
    symbol = "Symbol('s"
    assert symbol in text
    code = f"__import__('pathlib').Path('{gadget.mark}').touch() or Symbol('s"
    return {**members, MODEL: text.replace(symbol, code)}


def guards(members, gadget):
    document = json.loads(members[MODEL])
    document["guards_code"] = [f"__import__('pathlib').Path({str(gadget.mark)!r}).touch()"]
    return {**members, MODEL: json.dumps(document)}


def operator(members, gadget):
    text = members[MODEL].decode()
    assert "torch.ops.aten.tanh.default" in text
    return {**members, MODEL: text.replace("torch.ops.aten.tanh.default", "torch.load")}


def call_operator(members, gadget):
    text = members[MODEL].decode()
    return {**members, MODEL: text.replace("torch.ops.aten.tanh.default", "_operator.call")}


def long_expression(members, gadget):
    text = members[MODEL].decode()
    return {**members, MODEL: text.replace("Symbol('s", "1" * 10_000 + "!Symbol('s")}


def power(members, gadget):
    text = members[MODEL].decode()
    return {**members, MODEL: text.replace("Symbol('s", "9**9**9+Symbol('s")}


HOSTILE = [
    pickled_weight,
    pickled_constant,
    opaque_constant,
    custom_object,
    legacy_archive,
    library,
    extra_file,
    second_model,
    expression,
    operator,
    call_operator,
    long_expression,
    power,
]


def placed(data, manifest, folder):
    """A program and a manifest whose checksum matches, as an attacker writes them."""
    folder.mkdir(exist_ok=True)
    document = json.loads(manifest.read_text(encoding="utf-8"))
    document["sha256"] = hashlib.sha256(data).hexdigest()
    (folder / "policy.pt2").write_bytes(data)
    (folder / "policy.pt2.json").write_text(json.dumps(document), encoding="utf-8")
    return folder / "policy.pt2"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """An exported policy."""
    from rlconnect.bridge import Actor, export_actor

    path = tmp_path_factory.mktemp("program") / "policy.pt2"
    export_actor(Actor.from_checkpoint(SAMPLES / "ppo-cartpole-ray-2.60"), path)
    return path


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda make: make.__name__)
def test_hostile_programs_execute_nothing(program, tmp_path, hostile):
    """Loading is refused without the opt-in, and with it before torch reads the archive."""
    mark = tmp_path / "executed"
    data = archive_of(hostile(members_of(program), Evil(mark)))
    file = placed(data, program.with_name("policy.pt2.json"), tmp_path / "program")

    for path in (file, file.parent):
        with pytest.raises(ProgramNotAllowedError, match="a program is code"):
            rlconnect.load(path)
        with pytest.raises((UnsafeCheckpointError, CorruptCheckpointError)):
            rlconnect.load(path, allow_program=True)
        with pytest.raises(RlconnectError):
            rlconnect.verify(SAMPLES / "ppo-cartpole-ray-2.60", path)
        with pytest.raises(RlconnectError):
            rlconnect.adapt(path, env="CartPole-v1")

    assert not mark.exists()


def sample_inputs(members, gadget):
    return {**members, "archive/data/sample_inputs/model.pt": torch_file(gadget)}


@pytest.mark.parametrize("hostile", [sample_inputs, guards], ids=lambda make: make.__name__)
def test_sample_inputs_and_guards_never_reach_torch(program, tmp_path, hostile):
    """A program runs without them, so they are removed before torch reads the archive."""
    mark = tmp_path / "executed"
    members = hostile(members_of(program), Evil(mark))
    file = placed(archive_of(members), program.with_name("policy.pt2.json"), tmp_path / "program")

    policy = rlconnect.load(file, allow_program=True).only

    assert policy.act(np.zeros(4, np.float32)) in (0, 1)
    assert not mark.exists()


def test_a_checkpoint_is_preferred_to_a_program(program, tmp_path):
    """A program next to a complete checkpoint is ignored, even with the opt-in."""
    folder = tmp_path / "both"
    shutil.copytree(SAMPLES / "ppo-cartpole-ray-2.60", folder)
    for name in ("policy.pt2", "policy.pt2.json"):
        shutil.copy(program.with_name(name), folder)

    for options in ({}, {"allow_program": True}):
        assert "exported" not in repr(rlconnect.load(folder, **options).only)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: archive_of({"archive/x": b"0" * 1_000_000}, zipfile.ZIP_DEFLATED),
        lambda data: archive_of({MODEL: b"[" * 100_000}),
        lambda data: archive_of({**members_of(io.BytesIO(data)), CONFIG: b"[]"}),
        lambda data: archive_of({**members_of(io.BytesIO(data)), CONFIG: b'{"config": {"a": 1}}'}),
    ],
    ids=["cut", "empty", "compressed", "deep", "list", "number"],
)
def test_damaged_archives_raise_typed_errors(program, change):
    """Whatever is in the file, it is a `CheckpointError`."""
    with pytest.raises((CorruptCheckpointError, UnsafeCheckpointError)):
        checked_pt2(change(program.read_bytes()))


def field(number, content):
    """A field of a protobuf message: its bytes, or an integer."""
    if isinstance(content, int):
        return bytes([number << 3, content]) if number < 16 else varint(number << 3) + b"\x01"
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    """An integer of protobuf."""
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


EXTERNAL = field(13, field(1, b"location") + field(2, b"../../etc/passwd")) + field(14, 1)
NODE = field(1, b"x")


@pytest.mark.parametrize(
    "graph",
    [
        field(5, EXTERNAL),
        field(5, field(14, 1)),
        field(15, field(1, EXTERNAL)),
        field(1, NODE + field(5, field(5, EXTERNAL))),
        field(1, NODE + field(5, field(6, field(5, EXTERNAL)))),
        field(1, NODE + field(7, b"com.evil")),
    ],
    ids=["initializer", "location", "sparse", "attribute", "subgraph", "custom operator"],
)
def test_onnx_models_with_custom_operators_or_external_data_are_refused(graph):
    """Before onnxruntime opens them, wherever in the graph it is."""
    with pytest.raises(UnsafeCheckpointError, match=r"custom operators|other files"):
        check_onnx(field(7, graph))


@pytest.mark.parametrize("data", [b"\x3a\xff", b"\xff" * 20, b"\x3b", b"\x3a\x80"])
def test_bytes_that_are_not_an_onnx_model_raise_typed_errors(data):
    """A length past the end, an integer without an end, and an unknown wire type."""
    with pytest.raises(CorruptCheckpointError, match="not an ONNX model"):
        check_onnx(data)


def generated(members, gadget):
    """Programs with a pickle or code in every place that can hold one."""
    code = f"__import__('pathlib').Path({str(gadget.mark)!r}).touch()"
    pickles = {"pickle": pickle.dumps(gadget), "torch": torch_file(gadget)}
    for label, data in pickles.items():
        for name in members:
            yield f"{label} as {name}", {**members, name: data}
        for name in ("weights/weight_999", "constants/custom_obj_0", "constants/opaque_obj_0"):
            yield f"{label} at {name}", {**members, f"archive/data/{name}": data}
        for name in ("extra/a.pkl", "data/aotinductor/model/a.so", "models/b.json", "../a.pkl"):
            yield f"{label} at {name}", {**members, f"archive/{name}": data}
    for name in [name for name in members if name.endswith(".json")]:
        document = json.loads(members[name])
        for place, key, value in text_places(document):
            place[key] = code
            yield f"code in {name} {key}", {**members, name: json.dumps(document)}
            place[key] = value


def text_places(document):
    """One text for each key that has texts, and for lists one for the key of the list."""
    seen, waiting = set(), [("", document)]
    while waiting:
        name, item = waiting.pop()
        pairs = item.items() if isinstance(item, dict) else enumerate(item)
        for key, value in list(pairs):
            label = key if isinstance(item, dict) else name
            if isinstance(value, (dict, list)):
                waiting.append((label, value))
            elif isinstance(value, str) and (label, type(item)) not in seen:
                seen.add((label, type(item)))
                yield item, key, value


def test_generated_programs_execute_nothing(program, tmp_path):
    """With the opt-in, each is refused by a typed error or loaded without what was put in."""
    mark = tmp_path / "executed"
    manifest = program.with_name("policy.pt2.json")
    refused, foreign = 0, {}
    for name, members in generated(members_of(program), Evil(mark)):
        file = placed(archive_of(members), manifest, tmp_path / "program")
        try:
            rlconnect.load(file, allow_program=True)
        except RlconnectError:
            refused += 1
        except Exception as error:
            foreign[name] = repr(error)[:200]
        assert not mark.exists(), name
    assert foreign == {}
    assert refused > 20


SCHEMA = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""Where ONNX's schema has tensors and operators, by field number."""


def onnx_places(message="model", depth=7):
    """The way to each tensor and operator of a model, as field numbers, with what is there."""
    for number, part in SCHEMA[message].items():
        if part in ("tensor", "node"):
            yield (number,), part
        if depth > 1:
            for way, last in onnx_places(part, depth - 1):
                yield (number, *way), last


def test_external_data_and_custom_operators_are_refused_everywhere():
    """In every tensor and every operator that a model can have, as far as graphs are nested."""
    harm = {"tensor": (EXTERNAL, field(14, 1)), "node": (field(7, b"com.evil"),)}
    cases = [(way, content) for way, part in onnx_places() for content in harm[part]]
    assert len(cases) > 50

    accepted = []
    for way, content in cases:
        model = content
        for number in reversed(way):
            model = field(number, model)
        try:
            check_onnx(model)
        except UnsafeCheckpointError:
            continue
        accepted.append(way)
    assert accepted == []
