"""Every distribution gives the numbers recorded from Ray, in torch and in numpy."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from rlconnect.core import nest
from rlconnect.legacy import (
    TorchBeta,
    TorchCategorical,
    TorchDeterministic,
    TorchDiagGaussian,
    TorchDirichlet,
    TorchMultiCategorical,
    TorchSquashedGaussian,
)
from rlconnect.legacy.distributions import families
from rlconnect.legacy.distributions.action_leaves import map_actions
from rlconnect.legacy.distributions.choice import distribution_for

GOLDEN = Path(__file__).parents[2] / "golden" / "distributions" / "torch_distributions.npz"
NESTED = Dict(
    b=Tuple([Discrete(3), Box(-1, 1, (2,))]), a=MultiDiscrete([2, 4]), c=Box(0, 2, (2,), np.int64)
)
INT_BOX = Box(0, 3, (2, 2), np.int32)


def chosen(space):
    choice = distribution_for(space)
    return choice.torch_class(), choice.arrays()


def gaussian(size):
    space = Box(-1, 1, (size,))
    return partial(TorchDiagGaussian, action_space=space), families.DiagGaussian(2 * size)


# case -> (torch class, numpy twin)
CASES = {
    "categorical_2": (TorchCategorical, families.Categorical(2)),
    "categorical_5": (TorchCategorical, families.Categorical(5)),
    "categorical_7": (TorchCategorical, families.Categorical(7)),
    "temperature_4": (partial(TorchCategorical, temperature=2.5), families.Categorical(4, 2.5)),
    "multi_categorical": (
        partial(TorchMultiCategorical, input_lens=[3, 2, 5]),
        families.MultiCategorical((3, 2, 5)),
    ),
    "int_box": chosen(INT_BOX),
    "diag_gaussian_1": gaussian(1),
    "diag_gaussian_3": gaussian(3),
    "diag_gaussian_scalar": chosen(Box(-1, 1, ())),
    "squashed_gaussian_1": (TorchSquashedGaussian, families.SquashedGaussian(2)),
    "squashed_gaussian_3": (TorchSquashedGaussian, families.SquashedGaussian(6)),
    "squashed_gaussian_edge": (TorchSquashedGaussian, families.SquashedGaussian(4)),
    "squashed_gaussian_range": (
        partial(TorchSquashedGaussian, low=-2.0, high=5.0),
        families.SquashedGaussian(4, -2.0, 5.0),
    ),
    "beta_2": (TorchBeta, families.Beta(4)),
    "beta_range": (partial(TorchBeta, low=-1.0, high=3.0), families.Beta(2, -1.0, 3.0)),
    "deterministic_3": (TorchDeterministic, families.Deterministic(3)),
    "dirichlet_4": (TorchDirichlet, families.Dirichlet(4)),
    "nested": chosen(NESTED),
    "flat_columns": chosen(Tuple([Discrete(3), Box(-1, 1, (2,))])),
}


with np.load(GOLDEN) as recorded:
    RECORDED = {key: recorded[key] for key in recorded.files}

DIVERGENCES = [key.split("|") for key in RECORDED if key.endswith(("|entropy", "|kl"))]


@pytest.fixture
def golden():
    return RECORDED


def leaves(golden, case, name):
    """The recorded leaves of one field; a flat field is its own only leaf."""
    whole = golden.get(f"{case}|{name}")
    if whole is not None:
        return [whole]
    found, index = [], 0
    while (leaf := golden.get(f"{case}|{name}.{index}")) is not None:
        found.append(leaf)
        index += 1
    return found


def given_actions(golden, case):
    found = leaves(golden, case, "actions")
    if case != "nested":
        return found[0]
    return {"a": found[0], "b": (found[1], found[2]), "c": found[3]}


def assert_same(got, want, rtol=2e-6):
    for one, other in zip(nest.flatten(got), want, strict=True):
        one = np.asarray(one)
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("case", CASES)
def test_the_deterministic_action_is_rays(case, golden):
    """Without exploration torch and numpy choose the action Ray chose, shape for shape."""
    build, twin = CASES[case]
    inputs = golden[f"{case}|inputs"]

    by_torch = build(torch.from_numpy(inputs), None).deterministic_sample()
    by_numpy = twin.deterministic(inputs)

    assert_same(by_torch, leaves(golden, case, "deterministic"))
    assert_same(by_numpy, leaves(golden, case, "deterministic"))


@pytest.mark.parametrize("case", [case for case in CASES if case != "deterministic_3"])
def test_log_probabilities_are_rays(case, golden):
    """The log-probability of given actions is Ray's, in torch and in numpy."""
    build, twin = CASES[case]
    inputs, actions = golden[f"{case}|inputs"], given_actions(golden, case)

    by_torch = build(torch.from_numpy(inputs), None).logp(map_actions(torch.as_tensor, actions))
    by_numpy = twin.logp(inputs, actions)

    assert_same(by_torch, [golden[f"{case}|logp"]])
    assert_same(by_numpy, [golden[f"{case}|logp"]], rtol=2e-5 if "edge" in case else 4e-6)


@pytest.mark.parametrize(("case", "field"), DIVERGENCES)
def test_entropy_and_divergence_are_rays(case, field, golden):
    """Entropy and divergence have Ray's values and shapes, summed where Ray sums."""
    build, _ = CASES[case]
    inputs, other = golden[f"{case}|inputs"], golden[f"{case}|other"]
    one, two = build(torch.from_numpy(inputs), None), build(torch.from_numpy(other), None)

    got = one.entropy() if field == "entropy" else one.kl(two)

    assert_same(got, [golden[f"{case}|{field}"]], rtol=1e-5)


@pytest.mark.torch("2.9")
@pytest.mark.parametrize("case", [case for case in CASES if case != "deterministic_3"])
def test_a_seeded_sample_is_the_one_ray_draws(case, golden):
    """With torch's global seed set, the draw and its log-probability are Ray's own."""
    build, _ = CASES[case]
    dist = build(torch.from_numpy(golden[f"{case}|inputs"]), None)

    torch.manual_seed(3)
    drawn = dist.sample()

    assert_same(drawn, leaves(golden, case, "sample"), rtol=1e-5)
    assert_same(dist.sampled_action_logp(), [golden[f"{case}|sample_logp"]], rtol=5e-4)


@pytest.mark.parametrize("case", CASES)
def test_a_generator_makes_sampling_repeatable(case, golden):
    """One generator state gives one sample, whatever the global seed is."""
    build, twin = CASES[case]
    inputs = golden[f"{case}|inputs"]

    def draw(global_seed):
        torch.manual_seed(global_seed)
        generator = torch.Generator().manual_seed(11)
        return build(torch.from_numpy(inputs), None).sample(generator=generator)

    assert_same(draw(1), nest.flatten(map_actions(np.asarray, draw(2))), rtol=0)
    first = twin.sample(inputs, np.random.default_rng(5))
    again = twin.sample(inputs, np.random.default_rng(5))
    assert_same(first, nest.flatten(again), rtol=0)


@pytest.mark.parametrize("case", CASES)
def test_numpy_actions_leave_as_a_policy_hands_them_out(case, golden):
    """Numpy actions are int32 or float32, deterministic and sampled alike."""
    _, twin = CASES[case]
    inputs = golden[f"{case}|inputs"]

    found = nest.flatten(twin.deterministic(inputs))
    found += nest.flatten(twin.sample(inputs, np.random.default_rng(0)))

    assert {leaf.dtype for leaf in found} <= {np.dtype(np.int32), np.dtype(np.float32)}
