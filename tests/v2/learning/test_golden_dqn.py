"""Twenty updates of DQN one after the other are those of real Ray."""

import json
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.v2 import DQNConfig, SingleAgentEpisode
from rlconnect.v2.replay.steps import Steps

GOLDEN = Path(__file__).parents[2] / "golden" / "v2_dqn"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.npz"))
OBS, ACTS = Box(-10.0, 10.0, (3,), np.float32), Discrete(3)
SPACES = {"default_policy": (OBS, ACTS)}
TOLERANCE = {"rtol": 5e-4, "atol": 5e-6}


class Recorded:
    """One recording."""

    def __init__(self, name):
        with np.load(GOLDEN / f"{name}.npz") as held:
            self.arrays = {key: held[key] for key in held.files}
        self.about = json.loads(str(self.arrays.pop("about")))
        self.batches = self._split()

    def below(self, first):
        """The arrays of one part, by the rest of their names."""
        found = {key: own for key, own in self.arrays.items() if key.startswith(f"{first}/")}
        return {key.partition("/")[2]: own for key, own in found.items()}

    @property
    def config(self):
        """The same settings."""
        config = DQNConfig().environment(observation_space=OBS, action_space=ACTS)
        config.training(**self.about["training"]).rl_module(model_config=self.about["model"])
        return config.debugging(seed=1).reporting(log_gradients=True)

    def learner(self):
        """A learner of the same settings and weights."""
        learner = self.config.build_learner(spaces=SPACES)
        learner.module.set_state({"default_policy": self.below("before")})
        return learner

    def _split(self):
        columns, counts = self.below("batch"), self.below("count")
        parts = {key: np.split(own, counts[key].cumsum()[:-1]) for key, own in columns.items()}
        parts["td_errors"] = np.split(self.arrays["td_errors"], counts["td_errors"].cumsum()[:-1])
        return [dict(zip(parts, batch, strict=True)) for batch in zip(*parts.values(), strict=True)]


def steps_of(batch):
    """Single steps as a buffer draws them."""
    return Steps(
        {
            "obs": batch["obs"][::2],
            "new_obs": batch["obs"][1::2],
            **{key: batch[key] for key in ("actions", "rewards", "terminateds", "truncateds")},
            **{key: batch[key] for key in ("n_step", "weights")},
        }
    )


def sequences_of(batch):
    """Stretches of episodes."""
    ends = batch["lens"].cumsum()
    starts = ends - batch["lens"]
    made = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        own = slice(start, end)
        outputs = {key: batch[key][own] for key in ("n_step", "weights")}
        outputs["state_out"] = {key: batch[f"state_{key}"][own] for key in ("h", "c")}
        made.append(
            SingleAgentEpisode(
                f"{place}_",
                observations=batch["obs"][start + place : end + place + 1],
                actions=batch["actions"][own],
                rewards=batch["rewards"][own],
                terminated=bool(batch["terminateds"][place]),
                truncated=bool(batch["truncateds"][place]),
                extra_model_outputs=outputs,
                len_lookback_buffer=0,
            )
        )
    return made


@pytest.mark.parametrize("name", NAMES)
def test_twenty_updates_are_rays(name):
    """The same losses, errors, gradients and weights, those of the target networks included."""
    recorded = Recorded(name)
    learner = recorded.learner()
    module = learner.module["default_policy"]
    is_recurrent = "state_h" in recorded.batches[0]
    gradients, plain = {}, learner.postprocess_gradients

    def noted(given):
        for key, param in module.named_parameters():
            if param in given:
                gradients.setdefault(key, given[param].numpy().copy())
        return plain(given)

    learner.postprocess_gradients = noted

    for number, batch in enumerate(recorded.batches):
        results = learner.update(
            episodes=(sequences_of if is_recurrent else steps_of)(batch),
            timesteps={"num_env_steps_sampled_lifetime": 10 * (number + 1)},
        )["default_policy"]

        assert float(results["total_loss"].peek()) == pytest.approx(
            recorded.arrays["losses"][number], **_by_pytest()
        )
        errors = np.concatenate([np.asarray(each) for each in results.pop("td_error").values()])
        expected = batch["td_errors"].reshape(errors.shape)
        if is_recurrent:
            is_there = np.concatenate([_is_there(steps, 5) for steps in batch["lens"]])
            errors, expected = errors[is_there], expected[is_there]
        np.testing.assert_allclose(errors, expected, **TOLERANCE)
        if number == 0:
            _check(module, recorded.below("first"))
    _check(module, recorded.below("last"))
    _check_arrays(gradients, recorded.below("gradient"))
    told = {key: float(stat.peek()) for key, stat in results.items()}
    expected = recorded.about["results"]
    expected = {key: value for key, value in expected.items() if value == value}  # Ray tells once
    assert {key: told[key] for key in expected} == pytest.approx(expected, **_by_pytest())


@pytest.mark.parametrize("name", ["both", "lstm"])
def test_two_learners_make_the_updates_of_rays_one(name, forked):
    """Each has half of the rows; losses, the norm of gradients and weights are those recorded."""
    recorded = Recorded(name)
    is_recurrent = "state_h" in recorded.batches[0]
    group = recorded.config.learners(num_learners=2).build_learner_group(spaces=SPACES)
    try:
        group.set_weights({"default_policy": recorded.below("before")})
        for number, batch in enumerate(recorded.batches):
            (results,) = group.update(
                episodes=(sequences_of if is_recurrent else steps_of)(batch),
                timesteps={"num_env_steps_sampled_lifetime": 10 * (number + 1)},
            )
            loss = float(results["default_policy"]["total_loss"].peek())
            assert loss == pytest.approx(recorded.arrays["losses"][number], **_by_pytest())
        weights = group.get_weights()["default_policy"]
    finally:
        group.shutdown()

    _check_arrays(weights, recorded.below("last"))
    expected = recorded.about["results"]["gradients_default_optimizer_global_norm"]
    told = results["default_policy"]["gradients_default_optimizer_global_norm"].peek()
    assert float(told) == pytest.approx(expected, **_by_pytest())


@pytest.mark.parametrize("name", ["both", "weights", "atoms_dueling"])
def test_drawn_steps_are_episodes_to_the_learner(name):
    """Steps in columns go the short way; as episodes through the pipeline they give the same."""
    recorded = Recorded(name)
    found = []

    for form in (lambda steps: steps, lambda steps: steps.episodes()):
        learner = recorded.learner()
        for batch in recorded.batches[:3]:
            results = learner.update(episodes=form(steps_of(batch)))
        found.append((learner.module.get_state()["default_policy"], results))

    _check_arrays(found[0][0], found[1][0], rtol=1e-6, atol=1e-7)
    for module_id in ("default_policy", "__all_modules__"):
        assert set(found[0][1][module_id]) == set(found[1][1][module_id])


def test_there_are_recordings():
    """Each variant is there."""
    assert {"plain", "double", "dueling", "both", "atoms", "n_steps", "weights", "lstm"} <= {*NAMES}
    assert all(Recorded(name).about["ray"].startswith("2.") for name in NAMES)
    assert all(len(Recorded(name).batches) == 20 for name in NAMES)


def _is_there(steps, length):
    """Which steps of a stretch cut into rows are no padding."""
    rows = -(-int(steps) // length)
    return (np.arange(rows * length) < steps).reshape(rows, length)


def _check(module, expected):
    state = {name: value.numpy() for name, value in module.state_dict().items()}
    _check_arrays(state, expected)


def _check_arrays(found, expected, **tolerance):
    assert set(found) == set(expected)
    if expected["af.net.mlp.0.weight"].size == 4 * ACTS.n * 4:
        # With four atoms the value of the state shifts all scores alike, which changes nothing: its
        # gradients are what rounding leaves, and Adam makes steps of that.
        expected = {name: own for name, own in expected.items() if "vf." not in name}
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, err_msg=name, **{**TOLERANCE, **tolerance})


def _by_pytest():
    return {"rel": TOLERANCE["rtol"], "abs": TOLERANCE["atol"]}
