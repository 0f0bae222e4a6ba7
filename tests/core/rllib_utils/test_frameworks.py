"""A framework that is not there is None; asked for loudly, an ImportError."""

import pytest
import torch
from rlconnect.core.rllib_utils import frameworks


@pytest.mark.torch
def test_torch_is_there():
    """The modules themselves."""
    assert frameworks.try_import_torch() == (torch, torch.nn)


def test_what_is_missing(monkeypatch):
    """Every place is None, or the error comes through."""
    monkeypatch.setattr(frameworks, "find_spec", lambda name: None)
    assert frameworks.try_import_torch() == (None, None)
    assert frameworks.try_import_tf() == (None, None, None)
    assert frameworks.try_import_tfp() is None
    assert frameworks.try_import_jax() == (None, None)

    with pytest.raises(ImportError):
        frameworks._module("no_such_module_anywhere", error=True)
