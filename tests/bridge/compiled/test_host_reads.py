"""A step reads no number back to the host, which a GPU would have to wait for."""

import warnings

import pytest
import torch
from hypothesis import given, settings
from rlconnect.bridge import Actor, SlowPieceWarning
from rlconnect.bridge.compiled.flat_step import FlatStep
from rlconnect.core.step.tensor_step import placed
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from tests.bridge.compiled.chains import new_chains, old_chains
from tests.legacy.replay import GOLDEN, Recording, folders
from tests.legacy.test_recordings import MODELS

pytestmark = pytest.mark.torch("2.6")
OLD = [folder for folder in folders(GOLDEN / "legacy") if folder.parent.name == "2.7.2"]
NEW = ("appo", "bc", "dqn", "ppo", "ppo_choices", "ppo_lstm", "ppo_separate", "sac")


def reads_nothing(actor):
    """Run each step on tensors without numbers: whatever asks for one raises."""
    ran = 0
    for player in actor.players.values():
        if player.missing:
            continue
        step = FlatStep(player.plan)
        with FakeTensorMode(allow_non_fake_inputs=True) as fakes, torch.no_grad():
            step(*(fakes.from_tensor(placed(port.zeros(3), "cpu")) for port in step.inputs))
        ran += 1
    return ran


@pytest.mark.parametrize("folder", OLD, ids=[folder.name for folder in OLD])
def test_steps_of_the_old_stack(folder):
    """Filters, memories, attention, images, nested observations, actions of every kind."""
    recording = Recording(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowPieceWarning)
        for policy_id in recording.policy_ids:
            actor = Actor.from_policy(recording.load(policy_id, custom_models=MODELS))
            assert reads_nothing(actor) or actor.missing


@pytest.mark.parametrize("name", NEW)
def test_steps_of_modules(name):
    """RLlib's default modules, as it saved them."""
    assert reads_nothing(Actor.from_checkpoint(GOLDEN.parent / "module_checkpoints" / name))


@settings(max_examples=10, derandomize=True, deadline=None)
@given(old_chains())
def test_random_chains_of_the_old_stack(chain):
    """Adapters, filters and states in any order."""
    assert reads_nothing(chain.actor)


@settings(max_examples=10, derandomize=True, deadline=None)
@given(new_chains())
def test_random_chains_of_the_new_stack(chain):
    """Flattening, earlier steps, adapters, filters and states in any order."""
    assert reads_nothing(chain.actor)


def test_a_number_read_is_noticed():
    """What asks a tensor without numbers for one raises."""
    with FakeTensorMode() as fakes, pytest.raises(DataDependentOutputException):
        bool(fakes.from_tensor(torch.zeros(1)))
