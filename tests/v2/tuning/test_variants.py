"""Settings of trials, made of a space."""

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2.tuning import BasicVariantGenerator, grid_search, sample_from, uniform


def test_the_first_of_a_grid_runs_fastest():
    """The order of trials and their tags are those recorded from Ray 2.60."""
    space = {
        "z": {"q": grid_search([1, 2])},
        "a": grid_search(["x", "y"]),
        "m": [grid_search([7, 8]), 3],
        "lr": 0.1,
    }

    made = BasicVariantGenerator().variants(space, 1)

    assert [variant.tag for variant in made] == [
        f"a={a},0={m},q={q}" for q in (1, 2) for m in (7, 8) for a in "xy"
    ]
    assert made[1].config == {"z": {"q": 1}, "a": "y", "m": [7, 3], "lr": 0.1}
    assert space["m"] == [{"grid_search": [7, 8]}, 3]


def test_functions_see_what_was_drawn(monkeypatch):
    """Draws follow the order of the space, functions come last; recorded from Ray 2.60."""
    monkeypatch.setattr(np, "random", np.random.RandomState(0))
    space = {
        "s": sample_from(lambda spec: (spec.config.z.q, spec.config["a"])),
        "z": {"q": uniform(0, 1)},
        "a": uniform(0, 1),
    }

    (made,) = BasicVariantGenerator().variants(space, 1)

    assert made.config["s"] == (0.5488135039273248, 0.7151893663724195)
    assert made.tag == "a=0.7152,q=0.5488"


def test_a_seed_gives_the_same_trials():
    """What is drawn with a seed is what Ray draws, in every run."""
    space = {"a": uniform(0, 1)}

    made = BasicVariantGenerator(random_state=42).variants(space, 3)

    found = [variant.config["a"] for variant in made]
    assert found == [0.7739560485559633, 0.4388784397520523, 0.8585979199113825]


def test_no_trials_are_refused():
    """A run has one trial at least."""
    with pytest.raises(ConfigError, match="num_samples"):
        BasicVariantGenerator().variants({}, 0)
