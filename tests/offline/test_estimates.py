"""What a policy is worth by recorded data: the numbers that Ray computed."""

import json
from pathlib import Path

import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.legacy import Policy
from rlconnect.offline import evaluate, open_dataset

CASE = Path(__file__).parents[1] / "golden/offline/2.60.0/ope_episodes"
TRUTH = json.loads((CASE / "truth.json").read_text())


@pytest.mark.parametrize("key", [key for key in TRUTH["estimates"] if key[0] in "iw"])
def test_importance_sampling_is_rays(key):
    """Values and their spread over episodes are those of Ray's own estimators."""
    method, epsilon, _, split = (part.split("=")[-1] for part in key.split("|"))

    found = evaluate(
        Policy.from_checkpoint(CASE / "policy"),
        open_dataset(CASE / "data"),
        method=method,
        gamma=TRUTH["gamma"],
        epsilon_greedy=float(epsilon),
        by_episode=split == "True",
    )

    for name in ("v_behavior", "v_behavior_std", "v_target", "v_target_std", "v_delta"):
        assert getattr(found, name) == pytest.approx(TRUTH["estimates"][key][name], abs=1e-5)


def test_an_unknown_method_is_told():
    """A misspelt method names those that there are."""
    with pytest.raises(ConfigError, match="'is' or 'wis'"):
        evaluate(Policy.from_checkpoint(CASE / "policy"), open_dataset(CASE / "data"), method="x")
