"""Every file at a path, however a pickle in it is wrapped."""

import base64
import io
import json
import os
import pickle
import zipfile
import zlib

import numpy as np
import pytest
import rlconnect
from rlconnect.core.errors import CheckpointNotFoundError
from rlconnect.core.vault.audit.files import audit, with_audit

from ..attacks.calls import ATTACKS
from ..recorded import MULTI_AGENT, NEW_ALGORITHM, PENDULUM, RECORDINGS, WORKER, copy_of

msgpack = pytest.importorskip("msgpack")
POLICY = f"{PENDULUM}/policies/default_policy"
EVIL = pickle.dumps({"a": type("R", (), {"__reduce__": lambda self: (os.system, ("x",))})()})


def zipped(data, name="archive/data.pkl"):
    """A zip with one member, as torch writes it."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(name, data)
    return held.getvalue()


def objects():
    """An `.npy` file of objects around the pickle."""
    held = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        held, {"descr": "|O", "fortran_order": False, "shape": (1,)}
    )
    return held.getvalue() + EVIL


def text(data):
    """Bytes as base64."""
    return base64.b64encode(data).decode()


PICKLED_ARRAY = {"nd": True, "type": "O", "kind": b"O", "shape": [1], "data": EVIL}
PLAIN_CALLS = ("reduce os.", "reduce subprocess.", "reduce posix.")
WRAPPED = {
    "state.pkl": EVIL,
    "weights.bin": EVIL,
    "model.pt": zipped(EVIL),
    "constants.zip": zipped(EVIL, "x/constants.pkl"),
    "nested.pkl": pickle.dumps({"worker": EVIL}),
    "twice.pkl": pickle.dumps({"worker": pickle.dumps([EVIL])}),
    "second.pkl": pickle.dumps({}) + EVIL,
    "array.npy": objects(),
    "packed.gz": zlib.compress(EVIL),
    "space.json": json.dumps({"space": text(zlib.compress(objects()))}).encode(),
    "tune.json": json.dumps([{"_type": "CLOUDPICKLE_FALLBACK", "value": EVIL.hex()}]).encode(),
    "lines.jsonl": b'{"a": 1}\n' + json.dumps(text(EVIL)).encode(),
    "text.pkl": b"cos\nsystem\n(S'x'\ntR.",
    "text.json": json.dumps("cos\nsystem\n(S'x'\ntR.").encode(),
    "state.msgpack": msgpack.packb({"a": PICKLED_ARRAY}),
    "held.msgpack": msgpack.packb({"worker": EVIL}),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_pickle_is_found_in_any_wrapping(name, tmp_path):
    """What a file is, its bytes say: neither its name nor its wrapping hides a call."""
    (tmp_path / name).write_bytes(WRAPPED[name])

    found = rlconnect.audit(tmp_path)

    assert [call.name.rpartition(".")[2] for call in found.unsafe] == ["system"]
    assert found.unsafe[0].where.startswith(name)


def test_a_wrong_checksum_hides_nothing(tmp_path):
    """Torch reads members whose checksum is wrong, so the audit does."""
    data = bytearray(zipped(EVIL))
    data[14:18] = b"\0\0\0\0"
    where = data.rindex(b"PK\x01\x02")
    data[where + 16 : where + 20] = b"\0\0\0\0"
    (tmp_path / "model.pt").write_bytes(data)

    assert audit(tmp_path / "model.pt").unsafe


@pytest.mark.parametrize(
    "attack",
    [
        a
        for a in ATTACKS
        if a.name.startswith(("reduce os.", "reduce subprocess.", "reduce posix."))
    ],
    ids=lambda attack: attack.name,
)
def test_attacks_are_told(attack, tmp_path):
    """The hostile files of the vault's own tests are runners."""
    (tmp_path / "f.pkl").write_bytes(attack.data)

    assert audit(tmp_path).unsafe


@pytest.mark.parametrize("name", [PENDULUM, MULTI_AGENT, WORKER, NEW_ALGORITHM])
def test_honest_checkpoints_run_nothing(name):
    """Recorded checkpoints name no program runner, and every file is read to its end."""
    found = audit(RECORDINGS / name)

    assert found.unsafe == ()
    assert found.unread == ()
    assert found.of_kind("rebuilding")


def test_weights_survive_beside_a_call(tmp_path):
    """A call spliced into an honest file is told; everything else is read."""
    path = copy_of(POLICY, tmp_path)
    file = path / "policy_state.pkl"
    data = file.read_bytes()
    honest = rlconnect.open_checkpoint(path)
    file.write_bytes(data[:2] + b"cos\nsystem\n(S'x'\ntR0" + data[2:])

    checkpoint = rlconnect.open_checkpoint(path)

    assert [call.name for call in checkpoint.unsafe] == ["os.system"]
    assert [call.name for call in with_audit(checkpoint).unsafe] == ["os.system"]
    (before,), (after,) = honest.policies.values(), checkpoint.policies.values()
    assert all(np.array_equal(before.weights[name], after.weights[name]) for name in before.weights)


def test_files_nobody_decodes_are_audited(tmp_path):
    """A pickle that lies beside a checkpoint is none of its parts, and still told."""
    path = copy_of(POLICY, tmp_path)
    (path / "extra.dat").write_bytes(EVIL)
    checkpoint = rlconnect.open_checkpoint(path)

    assert checkpoint.unsafe == ()
    assert with_audit(checkpoint).unsafe


def test_what_is_not_there_is_an_error(tmp_path):
    """Nothing at a path is no clean bill."""
    with pytest.raises(CheckpointNotFoundError):
        audit(tmp_path / "gone")


def test_damage_is_told(tmp_path):
    """A file that cannot be read to its end is not called harmless."""
    (tmp_path / "f.pkl").write_bytes(b"\x80\x04]q")

    assert audit(tmp_path).unread


def test_a_link_is_not_looked_behind(tmp_path):
    """A folder cannot have other files of the machine read; what lies behind is told as unread."""
    (tmp_path / "secret.pkl").write_bytes(EVIL)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "f.dat").symlink_to(tmp_path / "secret.pkl")

    found = audit(tmp_path / "run")

    assert found.calls == ()
    assert [problem.where for problem in found.unread] == ["f.dat"]
    assert audit(tmp_path / "run" / "f.dat").unsafe  # the caller's own word


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 5000,
        b"[" + b"[]," * 30_000_00 + b"0]",
        b'{"a": ' * 300 + b"1" + b"}" * 300,
    ],
    ids=["open", "many", "deep"],
)
def test_json_without_bounds_is_not_read_to_its_end(tmp_path, text):
    """Depth and number of values are held against the load before it is parsed."""
    (tmp_path / "f.json").write_bytes(text)

    assert [problem.where for problem in audit(tmp_path).unread] == ["f.json"]


def test_numbers_of_json_cost_nothing(tmp_path):
    """A number without end hides no text beside it, nor does a key that stands twice."""
    held = base64.b64encode(EVIL).decode()
    text = f'{{"n": {"9" * 100_000}, "a": "{held}", "a": "x"}}'
    (tmp_path / "f.json").write_text(text, encoding="utf-8")

    assert audit(tmp_path).unsafe
