"""Losses, gradients, weights and results of an update are those of real Ray."""

import numpy as np
import pytest

from tests.v2.learning.learning_cases import GOLDEN, Recorded, weights_of

NAMES = sorted(path.stem for path in GOLDEN.glob("*.npz"))
TOLERANCE = {"rtol": 2e-4, "atol": 2e-6}


def recording(cls):
    """The learner, writing down what passes through it."""

    class Recording(cls):
        def build(self):
            self.losses, self.first_gradients, self.first_weights = [], None, None
            super().build()

        def compute_losses(self, *, fwd_out, batch):
            losses = super().compute_losses(fwd_out=fwd_out, batch=batch)
            self.losses.append({key: loss.item() for key, loss in losses.items()})
            return losses

        def postprocess_gradients(self, gradients_dict):
            if self.first_gradients is None:
                self.first_gradients = {
                    f"{module_id}/{name}": gradients_dict[param].numpy().copy()
                    for module_id, module in self.module.items()
                    for name, param in module.named_parameters()
                    if param in gradients_dict
                }
            return super().postprocess_gradients(gradients_dict)

        def apply_gradients(self, gradients_dict):
            super().apply_gradients(gradients_dict)
            if self.first_weights is None:
                self.first_weights = weights_of(self)

    return Recording


@pytest.mark.parametrize("name", NAMES)
def test_an_update_is_rays(name):
    """Same weights, same episodes, same order: the same losses and weights, step by step."""
    recorded = Recorded(name)
    learner = recorded.learner(recording)

    results = learner.update(
        episodes=recorded.episodes(),
        timesteps={"num_env_steps_sampled_lifetime": 50},
        **recorded.facts["update"],
    )

    assert len(learner.losses) == len(recorded.facts["losses"])
    for ours, theirs in zip(learner.losses, recorded.facts["losses"], strict=True):
        assert ours == pytest.approx(theirs, rel=2e-4, abs=2e-6)
    parts = (learner.first_gradients, learner.first_weights, weights_of(learner))
    for part, held in zip(("gradient", "first", "after"), parts, strict=True):
        expected = recorded.below(part)
        assert set(held) == set(expected)
        for key, value in expected.items():
            np.testing.assert_allclose(held[key], value, err_msg=f"{part} {key}", **TOLERANCE)
    is_recurrent = recorded.case["model"].get("use_lstm")
    for module_id, stats in recorded.facts["results"].items():
        if is_recurrent:  # Ray takes it from the first step of each sequence only
            stats = {key: value for key, value in stats.items() if "explained" not in key}
        ours = {key: float(results[module_id][key].peek()) for key in stats}
        assert ours == pytest.approx(stats, rel=5e-4, abs=5e-6)


def test_there_are_recordings():
    """The recordings are there, of each algorithm."""
    cases = [Recorded(name) for name in NAMES]

    assert {case.case.get("algorithm", "PPO") for case in cases} == {"PPO", "MARWIL", "BC"}
    assert all(case.facts["ray"].startswith("2.") for case in cases)
