"""`module.config`, as older releases handed it out."""

import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.v2 import DefaultPPOTorchRLModule, PPOCatalog, RLModuleConfig, TorchRLModule

SPACES = {"observation_space": Box(-1, 1, (3,)), "action_space": Discrete(2)}


class Asking(TorchRLModule):
    """Reads its settings the old way while it is set up."""

    def setup(self):
        self.size = self.config.model_config_dict["size"]


class Own(TorchRLModule):
    """Has something of its own under that name."""

    def setup(self):
        self.config = {"mine": 1}


def test_a_module_knows_what_it_was_made_of():
    """Spaces and settings are there before `setup`."""
    module = Asking(**SPACES, model_config={"size": 7})

    assert module.size == 7
    assert module.config == RLModuleConfig(
        **SPACES, inference_only=None, model_config_dict={"size": 7}
    )


def test_a_config_makes_its_catalog():
    """The catalog is made for the spaces; without a class there is none."""
    module = DefaultPPOTorchRLModule(**SPACES, model_config={}, catalog_class=PPOCatalog)

    assert isinstance(module.config.get_catalog(), PPOCatalog)
    assert RLModuleConfig().get_catalog() is None


def test_a_config_of_ones_own_stays():
    """What a module keeps under that name is not covered."""
    assert Own(**SPACES).config == {"mine": 1}
    with pytest.raises(AttributeError):
        _ = Own(**SPACES).config.model_config_dict
