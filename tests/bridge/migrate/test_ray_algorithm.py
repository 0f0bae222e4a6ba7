"""Whole algorithms as folders that Ray's `Algorithm.from_checkpoint` opens."""

import builtins
import io
import json
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect import adapt
from rlconnect.bridge import load_triple, plan_migration, to_ray
from rlconnect.bridge.migrate.faces import own_class
from rlconnect.core.adapters import DropFeatures, MapActions
from rlconnect.core.errors import ConfigError
from rlconnect.legacy import Policy
from rlconnect.legacy.connectors.adapted import acted_space
from rlconnect.v2 import MultiRLModule

from tests.bridge.migrate.networks import POLICIES, REFUSED, all_native
from tests.bridge.migrate.networks import policy_of as network_of
from tests.bridge.migrate.test_ray_checkpoint import plan_of

SEEN, ACTIONS = Box(-1, 1, (4,), np.float32), Discrete(2)


class Stand:
    """In the place of a class of Ray's."""

    def __setstate__(self, state):
        self.held = state


class Reader(pickle.Unpickler):
    """Reads what Ray would, with stand-ins for its classes and ours for those of ray_pieces."""

    def find_class(self, module, name):
        if module == "rlconnect.ray_pieces":
            return own_class(name)
        if name == "get_variable":
            return lambda value, framework="tf", trainable=False, tf_name="": value
        if module.startswith("ray."):
            return type(name, (Stand,), {"__module__": module})
        if module == "builtins":
            return getattr(builtins, name)
        assert module.startswith(("numpy", "gymnasium", "functools", "collections")), module
        return super().find_class(module, name)


def settings_of(folder):
    """The class and the settings that Ray makes the algorithm of."""
    held = Reader(io.BytesIO((folder / "class_and_ctor_args.pkl").read_bytes())).load()
    return held["class"].__name__, held["ctor_args_and_kwargs"][0][0]


def policy_of(name="default_policy", algorithm="PPO", **config):
    return Policy(SEEN, ACTIONS, {"seed": 0, **config}, algorithm=algorithm, name=name)


def plan(policy):
    return all_native(plan_migration(policy))


def test_settings_are_rays_classes_and_plain_values(tmp_path):
    """The algorithm, its settings and its module are Ray's, by name; pieces come when asked."""
    needs = to_ray(plan_of("2.7.2/ppo_pendulum_norm_meanstd"), tmp_path / "ray")
    algorithm, settings = settings_of(tmp_path / "ray")

    pieces = settings["_env_to_module_connector"]("env", {}, None)
    spec = settings["_rl_module_spec"].held
    after = [each[0].__name__ for each in settings["_module_to_env_connector"]("env", {})]

    assert (algorithm, settings["class"].__name__) == ("PPO", "PPOConfig")
    assert [each[0].__name__ for each in pieces] == ["MeanStdFilter"]
    assert spec["module_class"].__module__.startswith("ray.rllib.algorithms.ppo")
    assert after[0] == "GetActions"
    assert after[-1] == "ListifyDataForVectorEnv"
    assert settings["env"] == needs.env == "legacy_pendulum"
    assert needs.algorithm == "PPO"
    assert needs.no_training == ""


def test_what_lies_in_it_acts_here_as_the_source(tmp_path):
    """The parts below the algorithm are the very parts."""
    to_ray(plan(policy_of()), tmp_path / "ray")

    modules = MultiRLModule.from_checkpoint(tmp_path / "ray" / "learner_group/learner/rl_module")
    _, module, _ = load_triple(tmp_path / "ray")

    held = modules["default_policy"].get_state()
    for name, weight in module.get_state().items():
        np.testing.assert_array_equal(np.asarray(held[name]), np.asarray(weight))


@pytest.mark.parametrize(
    ("given", "algorithm", "trains"),
    [
        ("A2C", "PPO", True),
        ("MARWIL", "PPO", True),
        ("IMPALA", "IMPALA", True),
        ("APPO", "APPO", True),
        ("DQN", "DQN", True),
        ("noisy DQN", "PPO", False),
        ("BC", "PPO", False),
    ],
)
def test_each_goes_on_with_an_algorithm_that_ray_has(given, algorithm, trains, tmp_path):
    """What Ray has dropped becomes what learns with such a network; if none does, it is told."""
    q_policies = {"DQN": "dueling", "noisy DQN": "noisy"}
    if given in q_policies:
        policy = network_of({**POLICIES, **REFUSED}[q_policies[given]])
    else:
        policy = policy_of(algorithm=given)

    needs = to_ray(plan(policy), tmp_path / "ray")

    assert needs.algorithm == settings_of(tmp_path / "ray")[0] == algorithm
    assert (needs.no_training == "") == trains
    assert json.loads((tmp_path / "ray" / "ray.json").read_text(encoding="utf-8"))["words"] == str(
        needs
    )


def test_a_learner_is_told_what_its_module_is(tmp_path):
    """DQN's learner looks up in the algorithm's settings how the module was built."""
    to_ray(plan_of("2.7.2/dqn_c51"), tmp_path / "ray")
    _, settings = settings_of(tmp_path / "ray")
    held = settings["_rl_module_spec"].held["model_config"]

    for name in ("double_q", "dueling", "num_atoms", "v_min", "v_max"):
        assert settings[name] == held[name]


def test_what_is_learnt_by_goes_along(tmp_path):
    """Settings of learning stand where Ray's own settings keep them."""
    policy = policy_of(train_batch_size=128, gamma=0.9, sgd_minibatch_size=32)

    to_ray(plan(policy), tmp_path / "ray")
    _, settings = settings_of(tmp_path / "ray")

    assert settings["_train_batch_size_per_learner"] == 128
    assert (settings["gamma"], settings["minibatch_size"]) == (0.9, 32)


def test_a_known_environment_need_not_be_registered(tmp_path):
    """What gymnasium has is there; a name of the caller's takes the place of the config's."""
    policy = policy_of(env="mine")

    assert to_ray(plan(policy), tmp_path / "a").env == "mine"
    assert to_ray(plan(policy), tmp_path / "b", env="CartPole-v1").env == ""
    assert settings_of(tmp_path / "b")[1]["env"] == "CartPole-v1"


def test_an_adapted_policy_knows_what_its_module_gives(tmp_path):
    """Ray tells pieces what the environment takes; those of ours keep what the module gives."""
    adapted = adapt(
        policy_of(),
        obs=DropFeatures([1]),
        action=MapActions([0, 2]),
        observation_space=Box(-1, 1, (5,), np.float32),
        action_space=Discrete(3),
    )
    assert acted_space(adapted) != ACTIONS

    needs = to_ray(plan(adapted), tmp_path / "ray")
    _, settings = settings_of(tmp_path / "ray")

    told = {
        kind.__name__: kwargs.get("module_action_space")
        for kind, _, kwargs in settings["_module_to_env_connector"](None, None)
    }
    assert {"AdaptObservations", "AdaptActions"} <= set(needs.faces)
    assert told["AdaptActions"] == told["NormalizeAndClipActions"] == ACTIONS


@pytest.mark.parametrize(
    ("mapping", "wanted"), [(None, "one"), ({"one": "two"}, "two"), ({"other": "two"}, "episode")]
)
def test_several_policies_make_one_algorithm(mapping, wanted, tmp_path):
    """Native pieces serve all agents where they are the same; an agent's module is said."""
    plans = {name: plan(policy_of(name)) for name in ("one", "two")}

    needs = to_ray(plans, tmp_path / "ray", policy_mapping_fn=mapping)
    _, settings = settings_of(tmp_path / "ray")
    specs = settings["_rl_module_spec"].held["rl_module_specs"]

    assert needs.faces == ()
    assert set(settings["policies"]) == set(specs) == {"one", "two"}
    assert settings["policy_mapping_fn"]("one", "episode") == wanted
    kinds = [each[0].__name__ for each in settings["_module_to_env_connector"](None, None)]
    assert "ModuleToAgentUnmapping" in kinds


def test_several_with_pieces_of_their_own_stay_wrapped(tmp_path):
    """Each policy's filter is its own, so each keeps its connectors and network."""
    plans = {
        name: plan(policy_of(name, observation_filter=kind))
        for name, kind in (("one", "MeanStdFilter"), ("two", "NoFilter"))
    }

    needs = to_ray(plans, tmp_path / "ray")

    pieces = settings_of(tmp_path / "ray")[1]["_env_to_module_connector"](None, None)
    assert {"LegacyPolicyModule", "LegacyAgentConnectorV2", "LegacyColumnsV2"} <= set(needs.faces)
    assert [kind.__name__ for kind, _, _ in pieces] == [
        "LegacyAgentConnectorV2",
        "LegacyAgentConnectorV2",
        "AddObservationsFromEpisodesToBatch",
        "LegacyColumnsV2",
    ]


def test_an_algorithm_has_policies(tmp_path):
    """No policies make none."""
    with pytest.raises(ConfigError, match="no policies"):
        to_ray({}, tmp_path / "ray")


def test_several_that_clip_rewards_otherwise_are_refused(tmp_path):
    """One learner has one pipeline; nothing is written."""
    plans = {
        name: plan(policy_of(name, clip_rewards=clip)) for name, clip in (("a", True), ("b", False))
    }

    with pytest.raises(ConfigError, match="one by one"):
        to_ray(plans, tmp_path / "ray")
    assert not (tmp_path / "ray").exists()
