"""Learners in forks of the process of the tests, which has imported everything."""

import pytest
import torch
from rlconnect.v2.learning import extra_learners


@pytest.fixture
def forked(monkeypatch):
    """Start learners quickly; if there is a GPU, which forks cannot use, start them as usual."""
    if not torch.cuda.is_available():
        monkeypatch.setattr(extra_learners, "START_METHOD", "fork")
