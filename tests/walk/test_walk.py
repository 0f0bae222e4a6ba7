"""The whole way, in Python and on the command line, for one checkpoint of each kind.

`make walk FOLDERS=...` walks every checkpoint below some folders, exports included.
"""

import shutil
from pathlib import Path

import pytest
from rlconnect.bridge import Actor

from tests.legacy.replay import GOLDEN

from .walk import RIGHT, WRONG, walked

CHECKPOINTS = GOLDEN.parent / "checkpoints"
KINDS = {
    "old stack, one policy": CHECKPOINTS / "2.60.0-ppo_cartpole_meanstd" / "algo_checkpoint",
    "old stack, several": CHECKPOINTS / "2.3.1-ppo_multiagent" / "algo_checkpoint",
    "old stack, recurrent": GOLDEN / "legacy" / "2.2.0" / "ppo_lstm_prev" / "algo_checkpoint",
    "TensorFlow": CHECKPOINTS / "1.0-ppo_tf2" / "checkpoint",
    "new stack": GOLDEN / "new" / "2.60.0-algo_pkl",
    "a module alone": GOLDEN.parent / "module_checkpoints" / "ppo_lstm",
}
REFUSALS = {"migrate", "adapt: migrate", "adapt migrated: migrate", "$ migrate --out"}
"""What a policy of the new stack answers, which is there already."""


# The whole of the new stack is exported, too.
NEEDS_TORCH = {"new stack": pytest.mark.torch("2.9"), "a module alone": pytest.mark.torch}


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=NEEDS_TORCH.get(each, ())) for each in KINDS]
)
def test_every_stage_ends_right(kind):
    """Each verb takes what each verb gave, and the actions stay the same."""
    whole = kind in ("new stack", "TensorFlow")
    steps = walked(KINDS[kind], export=kind == "new stack", commands=whole)

    assert [step for step in steps if step.end == WRONG] == []
    assert {step.name for step in steps if step.end != RIGHT} <= REFUSALS


def test_what_our_writers_leave_goes_the_same_way(tmp_path):
    """A saved actor of several players, in an archive."""
    Actor.from_checkpoint(KINDS["old stack, several"]).save(tmp_path / "saved")
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "saved")

    steps = walked(tmp_path / "packed.zip", export=False, commands=False)

    assert [step for step in steps if step.end == WRONG] == []
    assert {step.name for step in steps if step.end != RIGHT} <= REFUSALS


def test_a_wrong_action_shows():
    """The walk itself can fail: a policy that acts otherwise than its copy is told."""
    from .walk import Walk, same

    walk = Walk(Path("nowhere"), "unused")
    walk.step("other", lambda: same([1.0], [1.1]))
    walk.step("foreign", lambda: {}["key"])

    assert [step.end for step in walk.steps] == [WRONG, WRONG]
