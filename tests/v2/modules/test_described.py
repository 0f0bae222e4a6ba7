"""Modules whose network is data compute what real Ray computed with their authors' classes."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from rlconnect.core.errors import ConfigError, UnknownClassError
from rlconnect.v2 import DescribedTorchRLModule, RLModule

NEW = Path(__file__).parents[2] / "golden" / "custom_networks" / "new"
NAMES = sorted(file.stem for file in NEW.glob("*.toml"))


def tensors(value):
    return (
        {k: torch.tensor(v) for k, v in value.items()}
        if isinstance(value, dict)
        else (torch.tensor(value))
    )


def check(module, name):
    """The module's outputs, values and states are those of the recording."""
    kept = json.loads((NEW / f"{name}.json").read_text(encoding="utf-8"))
    batch = {"obs": tensors(kept["obs"])}
    if "state_in" in kept:
        names = module.get_initial_state()
        batch["state_in"] = dict(zip(names, tensors(kept["state_in"]).values(), strict=True))

    found = module.forward_inference(batch)
    with torch.no_grad():
        values = module.compute_values(batch)

    np.testing.assert_allclose(
        found["action_dist_inputs"].numpy(), kept["action_dist_inputs"], rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(values.numpy(), kept["vf_preds"], rtol=1e-5, atol=1e-5)
    after = kept.get("state_out", {})
    for own, other in zip(found.get("state_out", {}).values(), after.values(), strict=True):
        np.testing.assert_allclose(own.numpy(), other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_described_modules_compute_what_ray_did(name, tmp_path):
    """Saved in RLlib's layout they load again without the description, and no file is added."""
    module = RLModule.from_checkpoint(NEW / name, model=NEW / f"{name}.toml")
    check(module, name)

    module.save_to_path(tmp_path / "saved")
    again = RLModule.from_checkpoint(tmp_path / "saved")

    assert type(again) is DescribedTorchRLModule
    check(again, name)


def test_without_a_description_the_class_is_missing():
    """The class of its author's is told, and a module without its description is refused."""
    with pytest.raises(UnknownClassError):
        RLModule.from_checkpoint(NEW / "cnn")
    with pytest.raises(ConfigError, match="needs its description"):
        DescribedTorchRLModule(model_config={})
