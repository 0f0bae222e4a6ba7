"""Draws with torch's generator that leave no trace."""

import pytest
from rlconnect.core.runtime.torch_draws import drawing

torch = pytest.importorskip("torch")


def test_draws_on_the_cpu_leave_other_generators_alone(monkeypatch):
    """They are what `torch.manual_seed` gives there; those of GPUs go on as they were."""
    seeded = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    before = torch.get_rng_state()

    with drawing(7, "cpu"):
        drawn = torch.rand(3)

    assert seeded == []
    assert torch.equal(before, torch.get_rng_state())
    with drawing(7):
        assert torch.equal(drawn, torch.rand(3))
    assert seeded == [7]
