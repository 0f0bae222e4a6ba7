"""A converted checkpoint acts as its source does."""

import numpy as np
import pytest
import rlconnect
from rlconnect.bridge.actor.actor import Actor
from rlconnect.core.errors import UnknownNameError
from rlconnect.core.vault.convert import convert

from tests.core.vault.recorded import (
    NEW_ALGORITHM,
    PENDULUM,
    RECORDINGS,
    weights_of,
)


def test_a_new_stack_copy_acts_as_its_source(tmp_path):
    """Pipelines and their statistics travel: the actor of the copy acts the same."""
    convert(RECORDINGS / NEW_ALGORITHM, tmp_path / "copy")
    convert(RECORDINGS / NEW_ALGORITHM, tmp_path / "copy.zip")
    actors = [
        Actor.from_checkpoint(path)
        for path in (RECORDINGS / NEW_ALGORITHM, tmp_path / "copy", tmp_path / "copy.zip")
    ]
    space = actors[0].observation_space
    space.seed(0)
    sampled = space.sample()

    told = [actor.act(sampled, explore=False) for actor in actors]

    assert np.array_equal(told[0], told[1])
    assert np.array_equal(told[0], told[2])


def test_an_old_stack_copy_acts_as_its_source(tmp_path):
    """Filters and connectors travel as well."""
    convert(RECORDINGS / PENDULUM, tmp_path / "copy")
    first, second = (
        Actor.from_checkpoint(path) for path in (RECORDINGS / PENDULUM, tmp_path / "copy")
    )
    first.observation_space.seed(0)
    sampled = first.observation_space.sample()

    assert np.array_equal(first.act(sampled, explore=False), second.act(sampled, explore=False))


def several(folder):
    """A saved actor of two players, one of each stack."""
    one, two = (Actor.from_checkpoint(RECORDINGS / name) for name in (NEW_ALGORITHM, PENDULUM))
    players = {"new": one.players["default_policy"], "old": two.players["default_policy"]}
    Actor(players, policy_mapping_fn={"a": "new", "b": "old"}).save(folder)
    return folder


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_an_actor_of_several_players_is_converted_whole(tmp_path, ending):
    """Each player's arrays, who plays whom, and no pickle; players are chosen by their folder."""
    source, out = several(tmp_path / "actor"), tmp_path / f"copy{ending}"

    found = convert(source, out)

    assert found.kind == "actor"
    assert rlconnect.audit(out).calls == ()
    actors = [Actor.from_checkpoint(path) for path in (source, out)]
    assert [list(actor.players) for actor in actors] == [["new", "old"]] * 2
    assert dict(actors[1].casting.mapping) == {"a": "new", "b": "old"}
    for name in ("new", "old"):
        first, second = (Actor({name: actor.players[name]}) for actor in actors)
        first.observation_space.seed(0)
        seen = first.observation_space.sample()
        assert np.array_equal(first.act(seen, explore=False), second.act(seen, explore=False))
    with pytest.raises(UnknownNameError, match="folders instead of names") as caught:
        convert(source, tmp_path / "one", policies=["new"])
    assert "player_0" in caught.value.hint
    assert sorted(p.name for p in tmp_path.iterdir()) == ["actor", out.name]


def test_an_actor_of_one_module_is_converted(tmp_path):
    """Its pipelines too; the manifest of its save stays behind, since the files are others."""
    Actor.from_checkpoint(RECORDINGS / NEW_ALGORITHM).save(tmp_path / "actor")

    convert(tmp_path / "actor", tmp_path / "copy")

    before, after = weights_of(tmp_path / "actor"), weights_of(tmp_path / "copy")
    assert before.keys() == after.keys() != set()
    first, second = (Actor.from_checkpoint(tmp_path / name) for name in ("actor", "copy"))
    first.observation_space.seed(0)
    sampled = first.observation_space.sample()
    assert np.array_equal(first.act(sampled, explore=False), second.act(sampled, explore=False))
