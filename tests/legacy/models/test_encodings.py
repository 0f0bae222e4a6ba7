"""Earlier actions become the same features in torch and in numpy, whatever their nest."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from rlconnect.core.errors import SpaceError
from rlconnect.legacy.distributions.action_leaves import leaf_spaces
from rlconnect.legacy.models.encodings import encode_actions, one_hot
from rlconnect.legacy.models.leaves import action_encoder, action_width

NEST = Dict([("z", Discrete(3)), ("a", Tuple((Box(-1, 1, (2, 2)), MultiDiscrete([2, 3]))))])


def test_leaves_follow_sorted_keys():
    """Spaces are taken apart in the order of sorted keys."""
    assert leaf_spaces(NEST) == [Box(-1, 1, (2, 2)), MultiDiscrete([2, 3]), Discrete(3)]
    assert action_width(NEST) == 4 + 5 + 3
    assert action_width(MultiBinary((2, 3))) == 6
    assert action_width(Box(-1, 1, ())) == 1


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize(
    "space", [NEST, Discrete(3), MultiDiscrete([[2, 3], [1, 2]]), Box(-1, 1, (2,)), MultiBinary(3)]
)
def test_torch_and_numpy_encode_alike(space, rows, formula):
    """Discrete parts one-hot, the rest flat."""
    actions = formula.draw(space, rows, "act")

    as_torch = encode_actions(
        {
            k: tuple(map(torch.from_numpy, v)) if k == "a" else torch.from_numpy(v)
            for k, v in actions.items()
        }
        if isinstance(actions, dict)
        else torch.from_numpy(actions),
        space,
    )

    assert as_torch.shape == (rows, action_width(space))
    np.testing.assert_array_equal(action_encoder(space)(actions), as_torch.numpy())


def test_several_steps_lie_oldest_first():
    """Each row holds its actions one after another."""
    encoded = encode_actions(torch.tensor([[0, 1], [1, 1]]), Discrete(2), steps=2)

    assert encoded.tolist() == [[1, 0, 0, 1], [0, 1, 0, 1]]


def test_start_is_not_taken_off():
    """As in Ray, a Discrete space with a start is encoded from zero; beyond it is an error."""
    space = Discrete(2, start=1)

    assert one_hot(torch.tensor([1]), space).tolist() == [[0.0, 1.0]]
    with pytest.raises(SpaceError, match="start=1"):
        one_hot(torch.tensor([2]), space)


def test_only_discrete_spaces():
    """A box has no classes."""
    with pytest.raises(SpaceError, match="Box"):
        one_hot(torch.tensor([1.0]), Box(-1, 1, (1,)))


def test_values_outside_a_discrete_space():
    """A negative earlier action is an error, not the last one counted from the end."""
    with pytest.raises(IndexError):
        action_encoder(Discrete(2))(np.array([-1, 0]))
