"""Module specs from a config: classes, spaces and settings, for one module and for several."""

import gymnasium as gym
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import (
    DefaultModelConfig,
    DefaultPPOTorchRLModule,
    MultiRLModuleSpec,
    PolicySpec,
    PPOConfig,
    RLModuleSpec,
)

B, D = Box(-1.0, 1.0, (3,)), Discrete(2)
ONE = {"default_policy": (B, D)}
TWO = {"a": (B, D), "b": (B, Discrete(5))}


class Mine(DefaultPPOTorchRLModule):
    pass


def _two(**more):
    config = PPOConfig().multi_agent(
        policies={"a", "b"}, policy_mapping_fn=lambda agent, *a, **k: agent
    )
    return config.rl_module(**more)


def test_the_default_module():
    """Without a spec: the algorithm's class, its own setting, the env's spaces."""
    env = gym.make("CartPole-v1")

    spec = PPOConfig().get_rl_module_spec(env=env)

    assert spec.module_class is DefaultPPOTorchRLModule
    assert (spec.observation_space, spec.action_space) == (env.observation_space, env.action_space)
    assert spec.model_config == {"vf_share_layers": False}
    assert type(spec.build()) is DefaultPPOTorchRLModule


def test_settings_of_algorithm_config_and_spec_add_up():
    """As in Ray 2.60: the algorithm's, then the config's, then the spec's own."""
    config = PPOConfig().rl_module(
        model_config={"a": 1, "x": 1}, rl_module_spec=RLModuleSpec(model_config={"b": 2, "x": 2})
    )

    found = config.get_rl_module_spec(spaces=ONE).model_config

    assert found == {"vf_share_layers": False, "a": 1, "b": 2, "x": 2}


def test_a_dataclass_shares_layers():
    """A DefaultModelConfig says everything, and its layers are shared."""
    spec = RLModuleSpec(model_config=DefaultModelConfig(fcnet_hiddens=[3]))

    found = PPOConfig().rl_module(rl_module_spec=spec).get_rl_module_spec(spaces=ONE).model_config

    assert (found["vf_share_layers"], found["fcnet_hiddens"]) == (True, [3])


def test_a_spec_of_ones_own_keeps_its_spaces_and_stays_unchanged():
    """What a spec says is kept, and what is filled in is filled in a copy."""
    own = Box(0.0, 1.0, (9,))
    given = RLModuleSpec(module_class=Mine, observation_space=own)
    config = PPOConfig().rl_module(rl_module_spec=given)

    spec = config.get_rl_module_spec(spaces=ONE, inference_only=True)

    assert (spec.module_class, spec.observation_space, spec.inference_only) == (Mine, own, True)
    assert spec.action_space == D
    assert given == RLModuleSpec(module_class=Mine, observation_space=own)


def test_given_spaces_of_the_module_win():
    """Spaces by module id are those after connectors, so they come before the env's."""
    spec = PPOConfig().get_rl_module_spec(env=gym.make("CartPole-v1"), spaces=ONE)

    assert spec.observation_space == B


def test_several_modules_by_default():
    """Each policy gets the default class and its own spaces."""
    specs = _two().get_multi_rl_module_spec(spaces=TWO).rl_module_specs

    assert {key: spec.action_space.n for key, spec in specs.items()} == {"a": 2, "b": 5}
    assert {spec.module_class for spec in specs.values()} == {DefaultPPOTorchRLModule}


def test_several_modules_by_a_spec_of_each():
    """Specs by id are filled where they are empty; policies without one get the default."""
    config = _two(
        model_config={"x": 1},
        rl_module_spec=MultiRLModuleSpec(
            rl_module_specs={"a": RLModuleSpec(module_class=Mine, model_config={"b": 2})}
        ),
    )

    specs = config.get_multi_rl_module_spec(spaces=TWO).rl_module_specs

    assert {key: spec.module_class for key, spec in specs.items()} == {
        "a": Mine,
        "b": DefaultPPOTorchRLModule,
    }
    assert specs["a"].model_config == {"vf_share_layers": False, "x": 1, "b": 2}
    assert specs["b"].model_config == {"vf_share_layers": False, "x": 1}


def test_one_spec_for_all():
    """A single spec applies to every module, each with a copy."""
    config = _two(rl_module_spec=RLModuleSpec(module_class=Mine))

    specs = config.get_multi_rl_module_spec(spaces=TWO).rl_module_specs

    assert [spec.module_class for spec in specs.values()] == [Mine, Mine]
    assert specs["a"] is not specs["b"]


def test_modules_for_acting_only():
    """Acting leaves out what only learners hold; learning keeps what a spec says."""
    config = _two(
        rl_module_spec=MultiRLModuleSpec(
            rl_module_specs={"a": RLModuleSpec(), "b": RLModuleSpec(learner_only=True)}
        )
    )

    acting = config.get_multi_rl_module_spec(spaces=TWO, inference_only=True)
    learning = config.get_multi_rl_module_spec(spaces=TWO)

    assert {key: spec.inference_only for key, spec in acting.rl_module_specs.items()} == {"a": True}
    assert acting.inference_only
    assert sorted(learning.rl_module_specs) == ["a", "b"]
    assert not learning.inference_only


def test_spaces_by_agent_become_spaces_by_module():
    """Spaces of an env by agent reach the module that serves the agent."""
    config = PPOConfig().multi_agent(
        policies={"pa", "pb"}, policy_mapping_fn=lambda agent, *a, **k: f"p{agent}"
    )
    spaces = {"__env_single__": (Dict({"a": B, "b": B}), Dict({"a": D, "b": Discrete(5)}))}

    specs = config.get_multi_rl_module_spec(spaces=spaces).rl_module_specs

    assert {key: spec.action_space.n for key, spec in specs.items()} == {"pa": 2, "pb": 5}
    assert specs["pa"].observation_space == B


def test_policy_specs_say_spaces():
    """A PolicySpec or a tuple of four with spaces of its own keeps them."""
    config = PPOConfig().multi_agent(
        policies={"a": PolicySpec(), "b": (None, B, Discrete(7), {})},
        policy_mapping_fn=lambda *a, **k: "a",
    )

    specs = config.get_multi_rl_module_spec(spaces={"__env_single__": (B, D)}).rl_module_specs

    assert {key: spec.action_space.n for key, spec in specs.items()} == {"a": 2, "b": 7}


def test_settings_of_one_module():
    """An override of model_config is that of one module."""
    config = _two(
        algorithm_config_overrides_per_module={"a": PPOConfig.overrides(model_config={"y": 3})}
    )

    specs = config.get_multi_rl_module_spec(spaces=TWO).rl_module_specs

    assert specs["a"].model_config == {"vf_share_layers": False, "y": 3}
    assert specs["b"].model_config == {"vf_share_layers": False}


def test_one_module_of_several_specs():
    """Asking for the one module of several is an error, unless the default one is among them."""
    several = PPOConfig().rl_module(
        rl_module_spec=MultiRLModuleSpec(rl_module_specs={"a": RLModuleSpec()})
    )
    default = PPOConfig().rl_module(
        rl_module_spec=MultiRLModuleSpec(
            rl_module_specs={"default_policy": RLModuleSpec(module_class=Mine)}
        )
    )

    with pytest.raises(ConfigError, match="get_multi_rl_module_spec"):
        several.get_rl_module_spec(spaces=ONE)
    assert default.get_rl_module_spec(spaces=ONE).module_class is Mine
