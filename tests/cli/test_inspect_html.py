"""`rlconnect inspect --html`: the page of a checkpoint."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
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
    page = inspect_html(SimpleNamespace(acting=acting), description)

    assert "<script" not in page
    assert "<b>" not in page
    assert "1 not finite" in page
