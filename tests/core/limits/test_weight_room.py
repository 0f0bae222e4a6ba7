"""What is built in a room takes about as much as its weights, and is not made if it would not."""

import pytest
import torch
from rlconnect.core.limits.asking import as_the_caller_says, loading_from, room_of_the_load
from rlconnect.core.limits.weight_room import BeyondWeightsError, WeightRoom
from torch import nn


@pytest.mark.parametrize(
    "build",
    [
        lambda: nn.Linear(10**6, 10**6),
        lambda: nn.LSTM(10**5, 10**5),
        lambda: nn.LSTM(4, 4, num_layers=10**9),
        lambda: nn.Conv2d(10**5, 10**5, 3),
        lambda: nn.Embedding(10**9, 10),
        lambda: nn.ModuleList(nn.Linear(1, 1) for _ in range(10**7)),
        lambda: torch.eye(10**6),
        lambda: torch.arange(10**11),
        lambda: torch.ones(3, 1).repeat(10**6, 10**5),
        lambda: torch.zeros(1).new_zeros(10**11),
        lambda: torch.linspace(0, 1, 10**11),
        lambda: torch.tril_indices(10**6, 10**6),
    ],
)
def test_what_is_far_beyond_the_weights_is_not_made(build):
    """Each way of making a large tensor, or very many, is refused before it is made."""
    with pytest.raises(BeyondWeightsError, match="far larger than its weights"):  # noqa: SIM117
        with WeightRoom(100, 2, "a module"):
            build()


def test_the_room_grows_with_the_weights():
    """Large networks are made where large weights are there."""
    with pytest.raises(BeyondWeightsError), WeightRoom(0, 0, "a module"):
        torch.empty(20 * 2**20)

    with WeightRoom(80 * 2**20, 1, "a module"):
        made = torch.empty(20 * 2**20)

    assert made.shape == (20 * 2**20,)


def test_a_room_draws_the_same_numbers():
    """A network made in a room has the weights that it has without."""
    torch.manual_seed(1)
    expected = nn.LSTM(3, 5).state_dict()
    torch.manual_seed(1)

    with WeightRoom(100, 2, "a module"):
        made = nn.LSTM(3, 5).state_dict()

    assert all(torch.equal(made[name], part) for name, part in expected.items())


@pytest.mark.torch
def test_a_load_has_one_room(tmp_path):
    """What is made in parts during a load is counted together, and nothing is after it."""
    (tmp_path / "state").write_bytes(bytes(1000))

    def make(floats):
        with room_of_the_load(), room_of_the_load():
            torch.empty(floats)

    with loading_from(tmp_path, "config=..."):
        make(10 * 2**20)
        with pytest.raises(BeyondWeightsError, match=r"config=\.\.\."):
            make(10 * 2**20)
        with as_the_caller_says():
            make(20 * 2**20)
    make(20 * 2**20)


def test_torchs_compiler_stays_out():
    """What torch would wrap to keep its compiler off imports that compiler at the first tensor."""
    assert not hasattr(WeightRoom.__torch_dispatch__, "__wrapped__")
