"""The walks of the cookbook, taken again."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest
from gymnasium.spaces import Box
from rlconnect.bridge import (
    Actor,
    compile_actor,
    load_triple,
    plan_migration,
    register_twin,
    save_migrated,
)
from rlconnect.bridge.twins import twin
from rlconnect.core.errors import CheckpointError, PieceError
from rlconnect.legacy import ActionConnector, Policy, create_connectors_for_policy
from rlconnect.legacy.connectors import registry
from rlconnect.v2 import RLModule
from rlconnect.v2.connectors.table import Rows, Table

from tests.test_docs import ROOT, blocks

WALKS = (ROOT / "docs/cookbook.md").read_text(encoding="utf-8")
SEEN, TAKEN = Box(-1, 1, (3,), np.float32), Box(-2, 2, (2,), np.float32)


class DeadZoneConnector(ActionConnector):
    """The connector of the old stack that the walk's piece takes over from."""

    def __init__(self, ctx=None, width=0.3):
        super().__init__(ctx)
        self.width = width

    def transform(self, ac_data):
        actions, states, fetches = ac_data.output
        ac_data.output = np.where(abs(actions) > self.width, actions, 0), states, fetches
        return ac_data

    def to_state(self):
        return "DeadZoneConnector", {"width": self.width}

    @staticmethod
    def from_state(ctx, params):
        return DeadZoneConnector(ctx, **params)


@pytest.fixture
def old(monkeypatch):
    """A policy with that connector, some of whose actions are near zero and some are not."""
    monkeypatch.setattr(twin, "_WORDS", {})
    monkeypatch.setattr(registry, "_ADDED", {"DeadZoneConnector": DeadZoneConnector})
    policy = Policy(SEEN, TAKEN, {"seed": 0})
    policy.set_weights(
        {name: own * (50 if "logits" in name else 1) for name, own in policy.get_weights().items()}
    )
    create_connectors_for_policy(policy, policy.config)
    policy.action_connectors.append(DeadZoneConnector())
    return policy


def walked(monkeypatch):
    """The module that the page shows, imported."""
    module = types.ModuleType("dead_zone")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(blocks(WALKS)[0], vars(module))
    return module


def step_of(plan):
    """What becomes of the connector."""
    return next(step for step in plan.steps if step.name == "DeadZoneConnector")


def test_a_piece_of_ones_own_migrates_and_is_fast_and_acts(old, monkeypatch, tmp_path, rng):
    """The module of the page alone does it: nothing in the library knows of the piece."""
    assert step_of(plan_migration(old)).kind == "code"
    piece = walked(monkeypatch).DeadZone

    plan = plan_migration(old).apply()

    assert step_of(plan).is_applied
    assert step_of(plan).proof["is_equal"]
    assert step_of(plan).twin.text == "DeadZone(width=0.3)"
    (line,) = plan.triple().module_to_env.explain().splitlines()[1:]
    assert "DeadZone" in line
    assert line.endswith(": together")

    save_migrated(plan, tmp_path / "new")
    triple = load_triple(tmp_path / "new")
    assert [type(each) for each in triple.module_to_env.connectors].count(piece) == 1
    actor = Actor.from_checkpoint(tmp_path / "new")
    seen = rng.uniform(-1, 1, (64, 3)).astype(np.float32)
    acted = actor.act(seen)
    assert not actor.missing
    assert 0 < (acted == 0).sum() < acted.size
    assert np.allclose(compile_actor(actor)(seen)[0].numpy(), acted, atol=1e-5)


def test_a_piece_is_not_called_one_by_one(old, monkeypatch):
    """Rows of many environments pass it at once, with the result that single actions have."""
    piece = walked(monkeypatch).DeadZone(width=0.3)
    rows = np.array([[0.2, -1.0], [0.5, 0.1]], np.float32)
    table = Table({None: Rows(["a", "b"], {"actions": rows})})
    items = {"actions": {("a",): [rows[0]], ("b",): [rows[1]]}}

    together = piece(batch=table, rl_module=None).blocks[None].columns["actions"]
    alone = piece(batch=items, rl_module=None)["actions"]

    assert np.array_equal(together, np.float32([[0, -1], [0.5, 0]]))
    assert np.array_equal(together, [alone[("a",)][0], alone[("b",)][0]])


def test_what_takes_over_is_said_of_ones_own_connectors_alone(old, monkeypatch):
    """The library's have their pieces, and a piece is a class of the new stack's."""
    piece = walked(monkeypatch).DeadZone

    with pytest.raises(PieceError, match="of the library's"):
        register_twin("ClipActionsConnector", piece)
    with pytest.raises(PieceError, match="derived from ConnectorV2"):
        register_twin(DeadZoneConnector, DeadZoneConnector)


def test_a_twin_that_gives_other_numbers_is_taken_back(old, monkeypatch):
    """Its author's word counts until a proof speaks against it."""
    piece = walked(monkeypatch).DeadZone
    register_twin("DeadZoneConnector", piece, lambda old: {"width": 2 * old.width})

    step = step_of(plan_migration(old).apply())

    assert not step.is_applied
    assert "other numbers" in step.differed


def changed(tree, file):
    """Make the change that the page shows of a file."""
    (lines,) = re.findall(rf"^    --- src/{file}\n((?:    [-+].*\n)+)", WALKS, re.M)
    old = "".join(f"{line[5:]}\n" for line in lines.splitlines() if line[4] == "-")
    new = "".join(f"{line[5:]}\n" for line in lines.splitlines() if line[4] == "+")
    source = (tree / file).read_text(encoding="utf-8")
    place = old or next(line for line in source.splitlines(True) if '": Algorithm(' in line)
    assert source.count(place) == 1
    changed = source.replace(place, new if old else place + new)
    (tree / file).write_text(changed, encoding="utf-8")


RENAMED = """
import os, sys, numpy as np
from rlconnect.v2 import RLModule

one, two = map(RLModule.from_checkpoint, sys.argv[1:3])
other = two.get_state()
assert all(np.array_equal(value, other[name]) for name, value in one.get_state().items())
two.save_to_path("module")
print(*sorted(os.listdir("module")))
"""
FAMILY = """
from gymnasium.spaces import Box
from rlconnect.bridge import plan_migration
from rlconnect.legacy import Policy

spaces = Box(-1, 1, (4,), np.float32), Box(-2, 2, (2,), np.float32)
policy = Policy(*spaces, {"seed": 0}, algorithm="CrossEntropyTrainer")
seen = np.random.default_rng(0).uniform(-1, 1, (2000, 4)).astype(np.float32)
acted = policy.compute_actions(seen, explore=True)[0]  # so many rows go through torch
policy.export_checkpoint("policy")
again = Policy.from_checkpoint("policy")
assert np.allclose(again.compute_actions(seen[:100])[0], acted[:100], atol=1e-6)
plan = plan_migration("policy").apply()
assert plan.is_done and all(step.proof["is_equal"] for step in plan.steps if step.is_applied)
print(again.algorithm)
"""
PIECE = """
import rlconnect.ray_pieces
from rlconnect.v2 import DeadZone, ModuleToEnvPipeline

ModuleToEnvPipeline(connectors=[DeadZone(width=0.5)]).save_to_path("pipeline")
(piece,) = ModuleToEnvPipeline.from_checkpoint("pipeline").connectors
print(type(piece) is DeadZone, piece.width, "DeadZone" in dir(rlconnect.ray_pieces))
"""


def test_changes_to_the_library_are_as_small_as_shown(tmp_path):
    """A renamed file is one line; a family, and a piece of the library's, one file and one row.

    Both layouts are read with the same weights, and the new one is written. Policies of the family
    act in numpy as in torch, are saved and loaded, and migrate. The piece has a public name, is
    saved under it, and Ray finds the class that it has not.
    """
    old, new = ROOT / "tests/golden/module_checkpoints/ppo", tmp_path / "new"
    shutil.copytree(old, new)
    (new / "module_state.pkl").rename(new / "module_weights.pkl")
    (new / "metadata.json").unlink()
    with pytest.raises(CheckpointError):
        RLModule.from_checkpoint(new)
    tree = tmp_path / "lib/rlconnect"
    shutil.copytree(ROOT / "src", tree, ignore=shutil.ignore_patterns("__pycache__"))

    changed(tree, "core/vault/file_names.py")
    family = re.search(r"cross_entropy.py`:\n\n((?:(?:    .*)?\n)+)", WALKS)[1]
    (tree / "legacy/heads/cross_entropy.py").write_text(textwrap.dedent(family), encoding="utf-8")
    changed(tree, "core/algorithms.py")
    source = blocks(WALKS)[0].replace("@rlconnect.trust\n", "").partition("register_twin(")[0]
    (tree / "v2/connectors/module_to_env/dead_zone.py").write_text(source, encoding="utf-8")
    (row,) = re.findall(r"`(\.connectors\.module_to_env\.dead_zone: DeadZone)`", WALKS)
    names = (tree / "names/v2.py").read_text(encoding="utf-8")
    before = ".connectors.module_to_env.get_actions:"
    (tree / "names/v2.py").write_text(names.replace(before, f"{row}\n{before}"), encoding="utf-8")

    env = {**os.environ, "PYTHONPATH": str(tree.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RENAMED + FAMILY + PIECE, str(old), str(new)],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "class_and_ctor_args.pkl metadata.json module_weights.pkl",
        "CEM",
        "True 0.5 True",
    ]
