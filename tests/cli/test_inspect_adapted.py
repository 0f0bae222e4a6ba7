"""What `inspect` shows of policies that were adapted or migrated."""

import io

import pytest
import rlconnect
from gymnasium.spaces import Box
from rich.console import Console
from rlconnect.bridge.front.fit import try_loading
from rlconnect.bridge.migrate.checkpoint import save_migrated
from rlconnect.bridge.migrate.plan import plan_migration
from rlconnect.cli.inspect_page import inspect_page
from rlconnect.cli.theme import THEME
from rlconnect.core.vault.description import describe_checkpoint
from rlconnect.legacy import Policy

from ..core.vault.recorded import PENDULUM, RECORDINGS

PATH = RECORDINGS / PENDULUM


@pytest.fixture(scope="module")
def adapted():
    """A policy behind steps that drop two of five features."""
    policy = rlconnect.load(PATH).only
    steps = rlconnect.adapters.DropFeatures([1, 4])
    return rlconnect.adapt(
        policy, observation_space=Box(-8, 8, (5,)), action_space=policy.action_space, obs=steps
    )


def shown(path):
    """The description and the page of a checkpoint."""
    checkpoint = rlconnect.open_checkpoint(path)
    description = describe_checkpoint(checkpoint, tried=try_loading(checkpoint))
    out = Console(file=io.StringIO(), width=200, theme=THEME)
    out.print(inspect_page(checkpoint, description, width=200))
    return description, out.file.getvalue()


def test_an_adapted_policy_is_for_its_new_environment(adapted, tmp_path):
    """Space, steps and Ray version are shown; Pendulum, which it was trained in, is not offered."""
    adapted.save(tmp_path / "adapted")

    description, page = shown(tmp_path / "adapted")

    (policy,) = description["policies"].values()
    assert policy["observation_space"]["text"] == "Box(5,) float32 in [-8, 8]"
    assert policy["preprocessed_space"]["text"].startswith("Box(3,)")
    assert "AdaptObservations(drop_features(indices=[1, 4]))" in page
    assert "written by  rlconnect, from Ray 2.7.2" in page
    assert not any("--env" in step["command"] for step in description["next"])


@pytest.mark.torch
def test_a_migrated_adapted_policy_is_too(adapted, tmp_path):
    """The pipelines of the new stack have the same steps."""
    plan = plan_migration(adapted.native).apply()
    save_migrated(plan, tmp_path / "migrated")

    description, page = shown(tmp_path / "migrated")

    (module,) = description["modules"].values()
    assert module["observation_space"]["text"] == "Box(5,) float32 in [-8, 8]"
    assert "AdaptObservations(drop_features(indices=[1, 4]))" in page


@pytest.mark.torch
def test_a_migrated_policy_keeps_its_name_and_ray_version(tmp_path):
    """It is not called default_policy, and the release it is from is shown."""
    policy = Policy.from_checkpoint(PATH)["default_policy"]
    policy.name = "shared_policy"
    save_migrated(plan_migration(policy).apply(), tmp_path / "migrated")

    description, page = shown(tmp_path / "migrated")

    assert list(description["modules"]) == ["shared_policy"]
    assert "rlconnect, from Ray 2.7.2, in Ray's layout" in page
    assert list(rlconnect.load(tmp_path / "migrated")) == ["shared_policy"]
