"""NumpyToTensor from checkpoints of every release."""

import pickle

import pytest
from rlconnect.v2 import NumpyToTensor


@pytest.mark.parametrize("name", ["pin_memory", "pin_mempory"])
def test_both_of_rays_spellings_are_read(name, tmp_path):
    """Ray misspelt a setting from November 2024 to January 2025; such a file is not damaged."""
    given = ((), {name: True, "device": "cpu"})
    saved = {"class": NumpyToTensor, "ctor_args_and_kwargs": given}
    (tmp_path / "class_and_ctor_args.pkl").write_bytes(pickle.dumps(saved))

    piece = NumpyToTensor.from_checkpoint(tmp_path)

    assert (piece.pin_memory, piece.device) == (True, "cpu")
