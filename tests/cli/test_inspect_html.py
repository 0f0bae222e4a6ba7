"""`rlconnect inspect --html`: the page of a checkpoint."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import rlconnect
from gymnasium.spaces import Box, Discrete
from rlconnect.adapters import DropFeatures, MapActions
from rlconnect.cli.app import main
from rlconnect.cli.inspect_html import inspect_html
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.description import describe_checkpoint

EXAMPLES = Path(__file__).parents[2] / "examples" / "checkpoints"


def page_of(name, tmp_path):
    page = tmp_path / "page.html"
    assert main(["inspect", str(EXAMPLES / name), "--html", str(page)]) == 0
    return page.read_text(encoding="utf-8")


def test_it_shows_pieces_filters_and_every_array(tmp_path):
    """In the order in which data passes them."""
    page = page_of("ppo-pendulum-ray-2.7", tmp_path)

    names = ("ClipReward", "MeanStd", "network")
    places = [page.index(f"<strong>{name}</strong>") for name in names]
    assert places == sorted(places)
    assert page.count("feature ") >= 3
    assert page.count("<h3>") == 12
    assert "over 150 observations" in page


@pytest.mark.parametrize(
    "name", ["ppo-frozenlake-tensorflow-2022", "ppo-module-ray-2.60", "sac-pendulum-ray-2.0"]
)
def test_all_kinds_have_one(name, tmp_path):
    """TensorFlow's, the new stack's, one file's; nothing on the page is loaded from elsewhere."""
    page = page_of(name, tmp_path)

    assert "Weights of" in page
    assert "rlconnect rollout" in page or "rlconnect inspect" in page
    assert "src=" not in page
    assert "<script" not in page


@pytest.mark.torch
@pytest.mark.parametrize("name", ["ppo-cartpole-ray-2.7", "migrated"])
def test_an_adapted_policy_shows_what_adapts_it(name, tmp_path):
    """Of either stack: which number goes where, and what the environment gives now."""
    source = EXAMPLES / "ppo-cartpole-ray-2.7"
    if name == "migrated":
        source, old = tmp_path / name, source
        assert main(["migrate", str(old), "--out", str(source)]) == 0
    adapted = rlconnect.adapt(
        source,
        observation_space=Box(-np.inf, np.inf, (5,), np.float32),
        action_space=Discrete(3),
        obs=DropFeatures([2]),
        action=MapActions([0, 2]),
    )
    adapted.save(tmp_path / "adapted")

    page = page_of(tmp_path / "adapted", tmp_path)

    for shown in (page, adapted._repr_html_()):
        assert "<title>obs[3] to obs[2]</title>" in shown
        assert "action 1 never taken" in shown
    assert page.count("<strong>environment</strong><span>Box(5,) float32</span>") == 2


def test_what_a_file_says_is_text(tmp_path):
    """A name cannot become a tag, and a number that is none is told."""
    checkpoint = open_checkpoint(EXAMPLES / "ppo-pendulum-ray-2.7")
    description = describe_checkpoint(checkpoint)
    description["environment"] = "<script>alert(1)</script>"
    weights = checkpoint.acting["default_policy"].weights
    name = next(iter(weights))
    broken = {key: np.array(weights[key]) for key in weights}
    broken[name].flat[0] = np.nan

    class Weights(dict):
        def describe(self, key):
            return self[key].shape, str(self[key].dtype)

    acting = {"<b>": SimpleNamespace(weights=Weights(broken))}
    page = inspect_html(SimpleNamespace(acting=acting, policies={}, components=()), description)

    assert "<script" not in page
    assert "<b>" not in page
    assert "1 not finite" in page
