"""Gradients are cut to size in place, and targets drawn towards their nets."""

import pytest
import torch
from rlconnect.core.errors import ConfigError
from rlconnect.core.rllib_utils.gradients import (
    clip_gradients,
    compute_global_norm,
    update_target_network,
)


@pytest.mark.parametrize(
    ("by", "norms"),
    [("value", [4.24, 3.0]), ("norm", [3.0, 3.0]), ("global_norm", [1.15, 2.77])],
)
def test_gradients_are_cut(by, norms):
    """Numbers, each norm, or the norm of all together come down to the bound."""
    gradients = {"a": torch.tensor([3.0, -4.0]), "b": torch.tensor([12.0]), "none": None}

    total = clip_gradients(gradients, grad_clip=3.0, grad_clip_by=by)

    assert [float(gradients[k].norm()) for k in "ab"] == pytest.approx(norms, abs=0.01)
    assert gradients["none"] is None
    assert (total is None) == (by != "global_norm")


def test_small_gradients_stay():
    """What lies within the bound is not touched."""
    gradients = {"a": torch.tensor([0.3, 0.4])}

    clip_gradients(gradients, grad_clip=1.0, grad_clip_by="global_norm")

    torch.testing.assert_close(gradients["a"], torch.tensor([0.3, 0.4]))


@pytest.mark.parametrize("places", [(0, 2), (2, 0), (0, 3)])
def test_parts_of_one_tensor_are_cut_like_others(places):
    """Parts that fill it in order, in another order, or with a gap between them."""
    whole = torch.tensor([3.0, -4.0, 12.0, 5.0])
    gradients = {place: whole[place : place + 2] for place in places}
    apart = {place: part.clone() for place, part in gradients.items()}

    total = clip_gradients(gradients, grad_clip=3.0, grad_clip_by="global_norm")

    expected = clip_gradients(apart, grad_clip=3.0, grad_clip_by="global_norm")
    torch.testing.assert_close(total, expected)
    torch.testing.assert_close(gradients, apart)


def test_another_way_to_cut_is_refused():
    """A misspelled way is told, with those there are."""
    with pytest.raises(ConfigError, match="'value', 'norm' or 'global_norm'"):
        clip_gradients({}, grad_clip=1.0, grad_clip_by="size")


def test_the_norm_of_nothing_is_zero():
    """No gradients at all are no error."""
    assert float(compute_global_norm([None])) == 0.0


@pytest.mark.parametrize("tau", [0.0, 0.25, 1.0])
def test_a_target_goes_part_of_the_way(tau):
    """Each weight moves by tau of the difference."""
    main, target = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    expected = (1 - tau) * target.weight.detach() + tau * main.weight.detach()

    update_target_network(main, target, tau)

    torch.testing.assert_close(target.weight.detach(), expected)
