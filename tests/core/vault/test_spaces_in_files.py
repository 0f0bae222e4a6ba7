"""Spaces are built from what a file holds, or their loss is noted; nothing is raised."""

import numpy as np
import pytest
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque
from rlconnect.core.vault.decoding import Decoding
from rlconnect.core.vault.readers.spaces_in_files import as_space

from .recorded import RECORDINGS, open_once, recordings


@pytest.fixture
def decoding(tmp_path):
    """Collects problems."""
    return Decoding(tmp_path, DEFAULT_LIMITS)


def pickled(name, **state):
    """A pickled gym or gymnasium space."""
    space = Opaque(GlobalRef(f"gym.spaces.{name.lower()}", name))
    space.state = state
    return space


def test_a_described_space_is_built(decoding):
    """The dicts of Ray 2.1 and later name the kind of space."""
    space = as_space({"space": {"space": "discrete", "n": 4, "start": 0}}, decoding, "x")

    assert repr(space) == "Discrete(4)"
    assert as_space(None, decoding, "x") is None


def test_a_pickled_space_of_spaces_is_built(decoding):
    """Spaces inside spaces are built too, whatever dict held them."""
    parts = Opaque(GlobalRef("collections", "OrderedDict"))
    parts.entries = [("a", pickled("Discrete", n=3, start=0)), ("b", pickled("Discrete", n=2))]

    space = as_space(pickled("Dict", spaces=parts), decoding, "x")

    assert sorted(space.spaces) == ["a", "b"]
    assert space["a"].n == 3
    assert decoding.problems == []


def of_author(**state):
    """A pickled space of a class that is neither gym's nor Ray's."""
    space = Opaque(GlobalRef("shop.spaces", "Shelf"))
    space.state = {"_shape": (2,), "dtype": np.dtype("f4"), "_np_random": None, **state}
    return space


@pytest.mark.parametrize("around", [lambda part: part, lambda part: pickled("Dict", spaces=part)])
def test_a_space_class_of_the_authors_is_named_with_a_hint(around, decoding):
    """It is not called corrupt: the class is named, alone or within a Dict, and what to do."""
    part = of_author()
    assert as_space(around(part if around(part) is part else {"a": part}), decoding, "x") is None

    (problem,) = decoding.problems
    assert "shop.spaces.Shelf is a space class of the author's own" in problem.what
    assert "observation_space=" in problem.hint


def test_an_authors_subclass_of_a_box_in_a_dict_is_a_box(decoding):
    """As it is by itself."""
    bounds = np.zeros(2, np.float32), np.ones(2, np.float32)
    part = of_author(low=bounds[0], high=bounds[1])

    space = as_space(pickled("Dict", spaces={"a": part}), decoding, "x")

    assert repr(space["a"]) == "Box(0.0, 1.0, (2,), float32)"
    assert decoding.problems == []


def nested(depth):
    """A Tuple space in a Tuple space in a ..."""
    space = pickled("Discrete", n=2)
    for _ in range(depth):
        space = pickled("Tuple", spaces=(space,))
    return space


@pytest.mark.parametrize(
    "value",
    [
        5,
        "Box",
        {},
        {"space": {"space": "teapot"}},
        {"space": {"space": "box", "low": "x"}},
        Opaque(GlobalRef("shop.spaces", "Shelf")),
        pickled("Discrete", n="many"),
        pickled("Discrete", n=-1),
        pickled("Box", low=np.ones(2), high=np.ones(3)),
        pickled("MultiDiscrete", nvec=np.array([-1])),
        nested(40),
    ],
)
def test_a_space_that_cannot_be_built_is_a_note(value, decoding):
    """Whatever stands where a space should, the rest of the checkpoint is read without it."""
    assert as_space(value, decoding, "spec: space") is None

    assert [problem.where for problem in decoding.problems] == ["spec: space"]


@pytest.mark.parametrize(
    ("facts", "path"), [pair for pair in recordings(RECORDINGS) if "dict_obs" in str(pair[0])]
)
def test_recorded_spaces_sample_themselves(facts, path):
    """Spaces from files are live: they sample what they contain, and are known to their record."""
    for policy in open_once(path).policies.values():
        for space in (policy.observation_space, policy.action_space, policy.environment_space):
            assert space.contains(space.sample())
    assert facts.exists()
