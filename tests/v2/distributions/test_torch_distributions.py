"""Distributions, held to numbers of real RLlib and to what each of them promises."""

from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from rlconnect import v2
from rlconnect.core.errors import ConfigError, SpaceError

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "v2_distributions" / "recorded.npz")
LENS = [2, 1, 5]
NESTED = {
    "child_distribution_cls_struct": {"b": v2.TorchDiagGaussian, "a": v2.TorchCategorical},
    "input_lens": {"b": 4, "a": 4},
}
KINDS = {
    "categorical": (v2.TorchCategorical, {}),
    "gaussian": (v2.TorchDiagGaussian, {}),
    "multi_categorical": (v2.TorchMultiCategorical, {"input_lens": LENS}),
    "nested": (v2.TorchMultiDistribution, NESTED),
    "squashed": (v2.TorchSquashedGaussian, {"low": -1.0, "high": 1.0}),
    "squashed_wide": (v2.TorchSquashedGaussian, {"low": -2.5, "high": 4.0}),
}


def given(name):
    return torch.as_tensor(GOLDEN[name])


def made(name, logits="logits"):
    kind, settings = KINDS[name]
    return kind.from_logits(given(logits), **settings)


def action(name):
    if name == "nested":
        return {"a": given("choice") % 4, "b": given("real")[:, :2]}
    return given({"categorical": "choice", "multi_categorical": "choices"}.get(name, "real"))


def assert_recorded(found, name):
    if isinstance(found, dict):
        for key, part in found.items():
            assert_recorded(part, f"{name}/{key}")
        return
    np.testing.assert_allclose(found.numpy(), GOLDEN[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_log_densities_and_best_actions_are_rllibs(name):
    """The same logits give the same log-densities and the same best actions."""
    dist = made(name)

    assert_recorded(dist.logp(action(name)), f"{name}/logp")
    assert_recorded(dist.to_deterministic().sample(), f"{name}/best")


def test_the_best_of_near_ties_is_that_of_the_logits():
    """Logits that normalising makes one number are still told apart, as RLlib does."""
    dist = v2.TorchCategorical(logits=torch.tensor([[1e-9, 3e-9, 2e-9]]))

    assert dist.logits.log_softmax(-1).unique().numel() == 1
    assert dist.to_deterministic().sample().tolist() == [1]
    assert v2.TorchCategorical(probs=torch.tensor([[0.2, 0.7]])).to_deterministic().loc == 1


@pytest.mark.parametrize("name", [n for n in KINDS if f"{n}/kl" in GOLDEN])
def test_divergences_and_entropies_are_rllibs(name):
    """Where both are defined, they are the recorded ones, one per row."""
    dist, other = made(name), made(name, "other")

    assert_recorded(dist.kl(other), f"{name}/kl")
    assert_recorded(dist.entropy(), f"{name}/entropy")


@pytest.mark.parametrize("name", KINDS)
def test_a_sample_has_the_structure_of_an_action(name):
    """Samples are shaped as recorded, and further axes come in front."""
    dist = made(name)

    sample, many = dist.sample(), dist.sample(sample_shape=(7,))

    parts = (
        [(sample[k], many[k], f"/{k}") for k in sample]
        if name == "nested"
        else [(sample, many, "")]
    )
    for one, more, path in parts:
        recorded = GOLDEN[f"{name}/sample{path}"]
        assert (one.shape, str(one.numpy().dtype)) == (recorded.shape, str(recorded.dtype))
        assert more.shape == (7, *recorded.shape)


@pytest.mark.parametrize("name", ["squashed", "squashed_wide"])
def test_squashed_actions_stay_in_bounds_and_know_their_density(name):
    """Samples lie in [low, high]; the density of a sample is the one asked for afterwards."""
    dist = made(name)

    actions, logp = dist.sample_and_logp(sample_shape=(50,))

    low, high = KINDS[name][1]["low"], KINDS[name][1]["high"]
    assert float(actions.min()) >= low
    assert float(actions.max()) <= high
    inside = ((actions > low + 0.01) & (actions < high - 0.01)).all(dim=-1)
    np.testing.assert_allclose(logp[inside], dist.logp(actions)[inside], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["categorical", "gaussian", "squashed", "multi_categorical"])
def test_gradients_flow_through_rsample(name):
    """What `rsample` draws has a gradient with respect to the logits; `sample` has none."""
    logits = given("logits").clone().requires_grad_()
    kind, settings = KINDS[name]
    dist = kind.from_logits(logits, **settings)

    weights = torch.arange(float(dist.rsample().shape[-1]))
    (dist.rsample() * weights).sum().backward()

    assert float(logits.grad.abs().sum()) > 0
    assert not dist.sample().requires_grad


def test_bounds_may_differ_per_component():
    """`low` and `high` may be tensors."""
    low, high = torch.tensor([-1.0, 0.0, 2.0, -9.0]), torch.tensor([1.0, 5.0, 3.0, -8.0])
    dist = v2.TorchSquashedGaussian.from_logits(given("logits"), low=low, high=high)

    actions = dist.sample(sample_shape=(20,))

    assert bool(((actions >= low) & (actions <= high)).all())


def test_actions_side_by_side_are_taken_apart():
    """A nested distribution takes all actions of a row in one tensor, leaves in sorted order."""
    dist = made("nested")
    one = action("nested")

    flat = torch.cat([one["a"].unsqueeze(-1).float(), one["b"]], dim=-1)

    np.testing.assert_allclose(dist.logp(flat), dist.logp(one))


def test_the_best_nested_action_is_certain_once_per_row():
    """Its log-density is one zero per row, whatever the shapes of the leaves."""
    best = made("nested").to_deterministic()

    assert best.logp(best.sample()).shape == (6,)
    assert float(best.logp(best.sample()).abs().sum()) == 0.0


def test_a_deterministic_action_repeats_itself():
    """`loc` is the sample, as often as asked; densities are zeros like it."""
    dist = v2.TorchDeterministic(loc=torch.tensor([[1.5, 2.5]]))

    assert dist.sample(sample_shape=(3,)).tolist() == [[[1.5, 2.5]]] * 3
    assert dist.logp(None).tolist() == [[0.0, 0.0]]
    assert dist.to_deterministic() is dist
    for call, kind in (
        (dist.entropy, RuntimeError),
        (lambda: dist.kl(dist), RuntimeError),
        (dist.rsample, NotImplementedError),
        (lambda: v2.TorchDeterministic.from_logits(torch.zeros(2)), NotImplementedError),
    ):
        with pytest.raises(kind):
            call()


def test_what_is_not_defined_is_refused():
    """A squashed distribution has no entropy; a categorical wants logits or probs, not both."""
    squashed = made("squashed")
    for call in (
        squashed.entropy,
        lambda: squashed.kl(squashed),
        v2.TorchCategorical,
        lambda: v2.TorchCategorical(torch.zeros(2), torch.ones(2)),
        lambda: v2.TorchSquashedGaussian.from_logits(torch.zeros(1, 2), low=1.0, high=1.0),
    ):
        with pytest.raises(ConfigError):
            call()


@pytest.mark.parametrize(
    ("kind", "space", "width"),
    [
        (v2.TorchCategorical, Discrete(5), 5),
        (v2.TorchDiagGaussian, Box(-1, 1, (2, 3)), 12),
        (v2.TorchSquashedGaussian, Box(-1, 1, (3,)), 6),
        (v2.TorchDeterministic, Box(-1, 1, (3,)), 3),
        (v2.TorchMultiCategorical, MultiDiscrete([[2, 3], [4, 5]]), 14),
    ],
)
def test_the_width_of_logits_follows_from_the_space(kind, space, width):
    """`required_input_dim` says how wide; a space of another kind is refused."""
    assert kind.required_input_dim(space) == width
    with pytest.raises(SpaceError, match=kind.__name__):
        kind.required_input_dim(Dict({"a": Discrete(2)}))


@pytest.mark.parametrize(
    "make",
    [
        lambda: v2.TorchMultiCategorical.from_logits(torch.zeros(1, 5), input_lens=[2, 2]),
        lambda: v2.TorchMultiDistribution.from_logits(torch.zeros(1, 9), **NESTED),
        lambda: made("nested").logp({"a": given("choice")}),
        lambda: made("nested").logp(torch.zeros(6, 7)),
    ],
)
def test_widths_that_do_not_fit_are_refused(make):
    """Logits or actions of another width than the parts need are an error that gives both."""
    with pytest.raises(SpaceError, match="expected"):
        make()


def test_temperatures_flatten_the_choices():
    """Logits of each choice are divided by its temperature."""
    logits = torch.tensor([[3.0, 0.0, 3.0, 0.0]])

    dist = v2.TorchMultiCategorical.from_logits(logits, input_lens=[2, 2], temperatures=[1.0, 3.0])

    cold, warm = (float(cat._dist.probs[0, 0]) for cat in dist._cats)
    assert cold == pytest.approx(1 / (1 + np.exp(-3.0)))
    assert warm == pytest.approx(1 / (1 + np.exp(-1.0)))


def test_a_partial_class_has_fixed_arguments():
    """It is a subclass, knows its width, and takes no fixed argument twice."""
    kind = v2.TorchMultiCategorical.get_partial_dist_cls(input_lens=[3, 5])

    dist = kind.from_logits(given("logits"))

    assert isinstance(dist, v2.TorchMultiCategorical)
    assert kind.__name__ == "TorchMultiCategoricalPartial"
    assert kind.required_input_dim(space=MultiDiscrete([3, 5])) == 8
    with pytest.raises(ConfigError, match="input_lens"):
        kind.from_logits(given("logits"), input_lens=[4, 4])


def test_known_actions_of_several_kinds_have_one_density_a_row():
    """A choice and a vector, both known for sure, have one number a row, as sampled ones do."""
    kind = v2.TorchMultiDistribution.get_partial_dist_cls(
        child_distribution_cls_struct=(v2.TorchCategorical, v2.TorchDiagGaussian),
        input_lens=(3, 4),
    )
    drawn = kind.from_logits(torch.zeros(5, 7))
    known = drawn.to_deterministic()

    assert drawn.logp(drawn.sample()).shape == (5,)
    torch.testing.assert_close(known.logp(known.sample()), torch.zeros(5))


def test_a_space_may_be_fixed_beside_the_lengths():
    """As custom modules for MultiDiscrete actions write it."""
    space = MultiDiscrete([2, 3])
    kind = v2.TorchMultiCategorical.get_partial_dist_cls(space=space, input_lens=[2, 3])

    assert kind.required_input_dim(space) == 5
    assert kind.from_logits(torch.zeros(4, 5)).sample().shape == (4, 2)
