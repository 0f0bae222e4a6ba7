"""Which number goes where through an adapter, found by trying, and its picture."""

from xml.etree import ElementTree

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Text
from rlconnect.core.adapters import (
    AdapterChain,
    AddRates,
    ApplyFunction,
    ConcatKeys,
    DropFeatures,
    ExtendAction,
    InsertFeatures,
    MapActions,
    ResizeImage,
    Scale,
    SelectFeatures,
    StackFrames,
    Undiscretise,
    register_function,
)
from rlconnect.core.adapters.drawing import drawn, wiring_of
from rlconnect.core.pages.charts import alone


def wired(chain, observation_space=None, action_space=None):
    """How a chain wires observations, or actions where there are no observations."""
    bound = chain.bind(observation_space or Box(-1, 1, (1,)), action_space or Discrete(2))
    if chain.obs:
        ends = bound.env_observation_space, bound.observation_space
        return wiring_of(*ends, lambda value: [bound.observe(value)], "obs")
    ends = bound.policy_action_space, bound.action_space
    return wiring_of(*ends, lambda value: [bound.act(value)], "action")


def lines(wiring):
    return {(wiring.before[a], wiring.after[b]): same for a, b, same in wiring.wires}


def test_numbers_are_dropped_moved_scaled_and_filled():
    """Each keeps, changes or loses its way; what depends on nothing says what stands there."""
    steps = [SelectFeatures([2, 0, 1]), Scale([1, 100, 1]), InsertFeatures([0], [0.5])]

    found = wired(AdapterChain(obs=steps), Box(-1, 1, (4,)))

    assert lines(found) == {
        ("obs[2]", "obs[1]"): True,
        ("obs[0]", "obs[2]"): False,
        ("obs[1]", "obs[3]"): True,
    }
    assert [*found.dropped] == ["obs[3]"]
    assert found.notes == {0: "= 0.5"}


def test_parts_of_a_dict_go_by_their_keys():
    """Small ones number by number, an image as a whole."""
    space = Dict(
        pos=Box(-np.inf, np.inf, (2,)),
        vel=Box(-1, 1, (1,)),
        camera=Box(0, 255, (9, 9, 3), np.uint8),
    )

    found = wired(AdapterChain(obs=[ConcatKeys(["vel", "pos"])]), space)

    assert lines(found) == {
        ("vel[0]", "obs[0]"): True, ("pos[0]", "obs[1]"): True, ("pos[1]", "obs[2]"): True
    }  # fmt: skip
    assert [*found.dropped] == ["camera (9, 9, 3)"]


def test_an_image_is_one_part():
    """And is not the same when it has another size."""
    found = wired(AdapterChain(obs=[ResizeImage(4, 4)]), Box(0, 255, (8, 8, 3), np.uint8))

    assert lines(found) == {("obs (8, 8, 3)", "obs (4, 4, 3)"): False}


def test_choices_go_to_choices():
    """One the policy never takes says so; vectors are told as they are."""
    mapped = wired(AdapterChain(action=[MapActions([0, 2])]))
    vectors = wired(AdapterChain(action=[Undiscretise([[0.5, 1.0], [0.0, -1.0]])]))

    assert lines(mapped) == {("action 0", "action 0"): True, ("action 1", "action 2"): False}
    assert mapped.notes == {1: "never taken"}
    assert [after for _, after in lines(vectors)] == ["[0.5, 1. ]", "[ 0., -1.]"]


def test_an_action_that_grew_is_filled():
    """The environment's new number is always the same."""
    found = wired(AdapterChain(action=[ExtendAction([0.25])]), action_space=Box(-2, 2, (1,)))

    assert lines(found) == {("action[0]", "action[0]"): True}
    assert found.notes == {1: "= 0.25"}


@pytest.mark.parametrize(
    ("step", "reached"), [(StackFrames(2), {0: 2, 1: 2}), (AddRates([0]), {0: 2, 1: 1})]
)
def test_what_is_remembered_counts(step, reached):
    """A number also reaches what it becomes a step later."""
    bound = AdapterChain(obs=[step]).bind(Box(-1, 1, (2,)), Discrete(2))

    page = drawn(bound)

    for place, count in reached.items():
        assert page.count(f"<title>obs[{place}] to ") == count


def test_large_spaces_and_others_are_left_to_their_steps():
    """Many choices, text, an odd function: boxes alone, and no error."""

    def odd(value):
        if len(value) > 4:
            raise ValueError("not so many")
        return value

    register_function("odd_in_large_batches", odd)
    chains = [
        AdapterChain(action=[MapActions(range(100))]).bind(Box(-1, 1, (1,)), Discrete(100)),
        AdapterChain(obs=[ApplyFunction("odd_in_large_batches")]).bind(
            Box(-1, 1, (2,)), Discrete(2)
        ),
    ]

    assert wiring_of(Text(3), Text(3), lambda value: [value], "obs") is None
    for bound in chains:
        assert "<svg" not in drawn(bound)
        assert "<strong>policy</strong>" in drawn(bound)


def test_the_picture_says_all_of_it():
    """Names, lines of two kinds, what is left out and filled; it stands alone, too."""
    steps = [DropFeatures([1]), Scale([1, 3]), InsertFeatures([2], [0.5])]
    bound = AdapterChain(obs=steps, reward=[Scale(2)], agents={"<new>": "old"}).bind(
        Box(-1, 1, (3,)), Discrete(2)
    )

    page = bound._repr_html_()

    assert page.count('class="wire"') == 2 + 2
    for each in ("obs[2] = 0.5", "as it is", "changed", "left out", "agent &lt;new&gt;", "reward"):
        assert each in page
    found = wired(AdapterChain(obs=steps), Box(-1, 1, (3,)))
    assert ElementTree.fromstring(alone(found.drawn(("a", "b")))).tag.endswith("svg")
