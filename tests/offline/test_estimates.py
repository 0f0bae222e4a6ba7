"""What a policy is worth by recorded data: the numbers that Ray computed."""

import json
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.legacy import Policy
from rlconnect.offline import evaluate, open_dataset
from rlconnect.offline.estimators import Steps, judged

GOLDEN = Path(__file__).parents[1] / "golden/offline"
CASE = Path(__file__).parents[1] / "golden/offline/2.60.0/ope_episodes"
TRUTH = json.loads((CASE / "truth.json").read_text(encoding="utf-8"))


TRUTH_MODEL = {
    **TRUTH["q_model"],
    "weights": {
        name.removeprefix("q_before|"): weight
        for name, weight in np.load(CASE / "truth.npz").items()
        if name.startswith("q_before|")
    },
}


@pytest.mark.parametrize("key", TRUTH["estimates"])
def test_estimates_are_rays(key):
    """Values and their spread over episodes are those of Ray's own estimators and fitted models."""
    method, epsilon, rounds, split = (part.split("=")[-1] for part in key.split("|"))
    model = None if rounds == "None" else {**TRUTH_MODEL, "n_iters": int(rounds)}

    found = evaluate(
        Policy.from_checkpoint(CASE / "policy"),
        open_dataset(CASE / "data"),
        method=method,
        gamma=TRUTH["gamma"],
        epsilon_greedy=float(epsilon),
        by_episode=split == "True",
        q_model=model,
    )

    for name in ("v_behavior", "v_behavior_std", "v_target", "v_target_std", "v_delta"):
        assert getattr(found, name) == pytest.approx(TRUTH["estimates"][key][name], abs=1e-4)


def test_an_unknown_method_is_told():
    """A misspelt method names those that there are."""
    with pytest.raises(ConfigError, match="one of 'is', 'pdis'"):
        evaluate(Policy.from_checkpoint(CASE / "policy"), open_dataset(CASE / "data"), method="x")


@pytest.mark.parametrize("method", ["is", "pdis", "dm", "dr"])
def test_estimates_are_those_of_scope_rl(method):
    """Episode by episode; it calls importance sampling by decision "pdis"."""
    with np.load(GOLDEN / "scope_rl/episodes.npz") as held:
        columns = {name: held[name] for name in held.files}
    gamma = float(columns.pop("gamma"))
    expected = columns[f"by_{'pdis' if method == 'is' else method}"]
    steps = Steps(**{name: column for name, column in columns.items() if name[:3] != "by_"})

    found = judged(method, steps, gamma)

    np.testing.assert_allclose(found.values, expected, atol=1e-6)
