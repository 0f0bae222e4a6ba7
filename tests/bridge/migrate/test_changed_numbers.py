"""Whichever number of a migrated folder is changed, `verify` says so."""

import copy
import shutil

import numpy as np
import pytest
from gymnasium.spaces import Box
from rlconnect.bridge import load_migrated, migrate, verify
from rlconnect.core.vault.own.own_format import read_folder
from rlconnect.core.vault.own.writer import save_folder
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.v2 import ClipRewards

from tests.bridge.migrate.networks import POLICIES, policy_of
from tests.legacy.replay import GOLDEN, Recording

SOURCES = [
    "2.7.2/ppo_pendulum_norm_meanstd",
    "2.7.2/ppo_lstm_prev",
    "2.7.2/ppo_attention",
    "2.7.2/dqn_c51",
    "2.7.2/sac_cont",
]
PLACES = 2
# What only learning by the old stack reads, and spaces that others say again.
UNREAD = ("policy_spec", "observation_space", "action_space")


def numbers_in(value, path=()):
    """The places of arrays and numbers of plain data."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers_in(part, (*path, key))
    elif isinstance(value, (list, tuple)):
        for place, part in enumerate(value):
            yield from numbers_in(part, (*path, place))
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        if np.abs(value[np.isfinite(value)]).max(initial=0):
            yield path
    elif isinstance(value, float) and value and np.isfinite(value):
        yield path


def changed(value, path, rng):
    """A copy of plain data, one number at a place changed by a thousandth of what is there."""
    if path:
        key, *rest = path
        if isinstance(value, dict):
            return {**value, key: changed(value[key], rest, rng)}
        parts = list(value)
        parts[key] = changed(parts[key], rest, rng)
        return type(value)(parts)
    if isinstance(value, float):
        return value * 1.001
    array = np.array(value)
    array.flat[rng.integers(array.size)] += np.abs(array[np.isfinite(array)]).max() * 1e-3
    return array


def places_of(folder):
    """Every number that is saved in the folder of a policy: its document and its place in it."""
    for document in sorted(folder.glob("*/*.rlconnect")):
        content = read_folder(document).document
        for path in numbers_in(content):
            words = [str(step) for step in path]
            if not any(part in word for part in UNREAD for word in words):
                yield document, path


def change(document, path, rng):
    """Change one number of a document and write it anew."""
    content = changed(read_folder(document).document, path, rng)
    shutil.rmtree(document)
    save_folder(document, content, kind="component")


@pytest.mark.parametrize("name", SOURCES)
def test_a_thousandth_shows_wherever_it_is(name, tmp_path, rng):
    """Weights, statistics of filters and settings of connectors, of acting and of learning."""
    recording = Recording(GOLDEN / "legacy" / name)
    policy = recording.load(recording.policy_ids[0])
    migrate(policy, tmp_path / "v2")
    found = list(places_of(tmp_path / "v2"))
    chosen = [found[place] for place in rng.permutation(len(found))[:PLACES]]
    # Each document at least once, however few numbers it holds.
    chosen += [next(each for each in found if each[0] == kind) for kind, _ in dict(found).items()]

    assert verify(policy, tmp_path / "v2", samples=1, length=1).is_equal
    unseen = []
    for number, (document, path) in enumerate(chosen):
        folder = tmp_path / f"changed-{number}"
        shutil.copytree(tmp_path / "v2", folder)
        change(folder / document.relative_to(tmp_path / "v2"), path, rng)
        if verify(policy, folder, samples=1, length=1).is_equal:
            unseen.append((document.relative_to(tmp_path / "v2").as_posix(), path))

    assert unseen == []


def test_what_only_learning_sees_is_compared(tmp_path):
    """The bound of clipped rewards acts nowhere."""
    policy = policy_of(POLICIES["own value net"])
    policy.config["clip_rewards"] = 2.5
    migrate(policy, tmp_path / "v2")
    triple = load_migrated(tmp_path / "v2")
    assert verify(policy, triple, samples=1).is_equal

    triple.learner.connectors[0] = ClipRewards(limit=3.0)
    verdict = verify(policy, triple, samples=1)

    assert verdict.first_difference.name == "settings"
    assert "ClipRewards" in verdict.first_difference.worst.output


@pytest.mark.parametrize("side", ["observation", "action"])
def test_other_bounds_are_other_settings(side):
    """Spaces of one shape with other bounds: what an environment gives is another thing."""
    policy = policy_of(POLICIES["own value net"] if side == "observation" else POLICIES["bc"])
    other = copy.deepcopy(policy)
    space = getattr(other, f"{side}_space")
    wider = Box(space.low * 2, space.high * 2, dtype=space.dtype)
    other = Policy(
        wider if side == "observation" else other.observation_space,
        wider if side == "action" else other.action_space,
        other.config,
        algorithm=other.algorithm,
    )
    other.set_weights(policy.get_weights())
    for each in (policy, other):
        create_connectors_for_policy(each, each.config)

    verdict = verify(policy, other, samples=1)

    (settings,) = [stage for stage in verdict.stages if stage.name == "settings"]
    assert settings.worst.output.startswith(f"0 spaces.{side}.")
