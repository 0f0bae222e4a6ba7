"""A file of a few kilobytes that asks for a gibibyte gets a typed error, whatever kind it is."""

import io
import json
import os
import struct
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
import rlconnect
from rlconnect.bridge.actor.actor import Actor
from rlconnect.bridge.migrate.checkpoint import load_migrated
from rlconnect.bridge.migrate.plan import MigrationPlan
from rlconnect.core.adapters import AdapterChain
from rlconnect.core.data.budget import Budget
from rlconnect.core.data.ray_arrays import decode_ray_array, encode_ray_array
from rlconnect.core.errors import CheckpointError, RlconnectError
from rlconnect.core.spaces.own_layout import space_from_data
from rlconnect.core.vault.own.manifest import sign
from rlconnect.core.vault.own.writer import save_file, save_folder
from rlconnect.legacy import Policy
from rlconnect.v2 import RLModule, read_episodes

GIB = 1 << 30
MOST = 160 << 20
"""What a load may hold at its peak here: its allowance, and as much again on the way."""

FILLED = {"dtype": "float32", "shape": [2**20], "fill": 0.0}
WIDE = {"kind": "Box", "dtype": "float32", "shape": [2**20], "low": 0.0, "high": 1.0}

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files with holes")


def with_hole(path, head=b""):
    """A file that begins with `head` and is a gibibyte long, of which nothing else is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(GIB)


def policy_pickle(folder):
    with_hole(folder / "policy_state.pkl", b"\x80\x04}\x8c\x07weights\x8e" + struct.pack("<Q", GIB))
    return Policy.from_checkpoint


def policy_msgpack(folder):
    with_hole(folder / "policy_state.msgpck", b"\x81\xa7weights\xc6" + struct.pack(">I", GIB - 64))
    return Policy.from_checkpoint


def torch_archive(folder):
    from tests.core.vault.attacks.assembly import call, group, name, number, program, text

    parts = (text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"))
    storage = group(*parts, number(GIB // 4)) + b"Q"
    size, steps = group(number(GIB // 4)), group(number(1))
    tensor = call(
        name("torch._utils", "_rebuild_tensor_v2"), storage, number(0), size, steps, b"\x89", b"}"
    )
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", program(tensor))
        archive.writestr("a/data/0", bytes(123_457))
    lying = held.getvalue().replace(struct.pack("<I", 123_457), struct.pack("<I", GIB))
    (folder / "module_state.pt").write_bytes(lying)
    return RLModule.from_checkpoint


def own_document(folder):
    policies = {f"p{i}": {"observation_space": WIDE, "weights": {}} for i in range(300)}
    save_file(folder / "a.json", {"policies": policies}, kind="policies")
    return lambda folder: Policy.from_checkpoint(folder / "a.json")


def own_arrays(folder):
    save_folder(folder / "a", {"modules": {"m": {"weights": {"w": np.ones(3)}}}}, kind="module")
    with_hole(folder / "a" / "arrays.safetensors")
    manifest = json.loads((folder / "a" / "rlconnect.json").read_text(encoding="utf-8"))
    manifest["files"]["arrays.safetensors"]["size"] = GIB
    manifest["checksum"] = "0" * 64
    (folder / "a" / "rlconnect.json").write_bytes(sign(json.dumps(manifest).encode()))
    return lambda folder: rlconnect.load(folder / "a")


def rays_array(folder):
    text = encode_ray_array(np.zeros(2**22))
    return lambda folder: [
        decode_ray_array(text, budget=Budget.of_bytes(1 << 20)) for _ in range(32)
    ]


def space(folder):
    return lambda folder: space_from_data({**WIDE, "shape": [GIB // 4]})


def migration(folder):
    with_hole(folder / "migration.json", b'{"explore": true}')
    return load_migrated


def migration_of_zeros(folder):
    os.symlink("/dev/zero", folder / "migration.json")
    return load_migrated


def migration_of_a_pipe(folder):
    os.mkfifo(folder / "migration.json")
    return load_migrated


def plan(folder):
    with_hole(folder / "plan.json", b'{"format": 1}')
    return lambda folder: MigrationPlan.load(folder / "plan.json")


def actor(folder):
    with_hole(folder / "actor.json", b"{}")
    return Actor.from_checkpoint


def episodes(folder):
    with_hole(folder / "a.msgpack", b"\xc6" + struct.pack(">I", GIB - 64))
    return read_episodes


def adapter(folder):
    steps = [{"step": "scale", "factor": FILLED}] * 300
    return lambda folder: AdapterChain.from_data({"obs": steps})


@pytest.mark.parametrize(
    "kind",
    [
        *(policy_pickle, policy_msgpack, torch_archive, own_document, own_arrays, rays_array),
        *(space, migration, migration_of_zeros, migration_of_a_pipe, plan, actor, episodes),
        adapter,
    ],
    ids=lambda kind: kind.__name__,
)
def test_a_gibibyte_that_is_not_there_is_refused(kind, tmp_path):
    """Neither read nor made: the error is ours, and memory stays within the allowance."""
    load = kind(tmp_path)

    tracemalloc.start()
    try:
        with pytest.raises(RlconnectError):
            load(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < MOST


@pytest.mark.parametrize("part", ["rl_module", "env_to_module_connector", "player_0", "policies"])
def test_links_in_a_folder_are_not_followed(part, tmp_path):
    """What a checkpoint holds lies in its folder: a link to elsewhere is named, not read."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    elsewhere.mkdir()
    folder.mkdir()
    (folder / part).symlink_to(elsewhere, target_is_directory=True)
    save_file(folder / "actor.json", {"format": "rlconnect actor", "players": ["a"]}, kind="x")

    with pytest.raises(CheckpointError) as caught:
        Actor.from_checkpoint(folder)

    assert str(elsewhere) not in str(caught.value)
