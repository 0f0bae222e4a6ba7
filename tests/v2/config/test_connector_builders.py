"""Pipelines from a config: whose pieces, in which order, with which spaces."""

import functools

import gymnasium as gym
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import ConnectorV2, PPOConfig
from rlconnect.v2.config.connector_builders import call_with_fitting

SPACES = (Box(-1.0, 1.0, (2,)), Discrete(3))
GIVEN = {"__env_single__": SPACES}


class Mine(ConnectorV2):
    def __call__(self, *, batch, **kwargs):
        return batch


class Other(Mine):
    pass


def _names(pipeline):
    return [type(piece).__name__ for piece in pipeline.connectors]


def _built(config, kind):
    if kind == "learner_connector":
        return config.build_learner_connector(*SPACES)
    return getattr(config, f"build_{kind}")(spaces=GIVEN)


def _with(kind, setting, builder, **more):
    config = PPOConfig()
    method = config.learners if kind == "learner_connector" else config.env_runners
    return method(**{setting: builder}, **more)


KINDS = ["env_to_module_connector", "module_to_env_connector", "learner_connector"]
SWITCHES = {
    "env_to_module_connector": "add_default_connectors_to_env_to_module_pipeline",
    "module_to_env_connector": "add_default_connectors_to_module_to_env_pipeline",
    "learner_connector": "add_default_connectors_to_learner_pipeline",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [lambda: Mine(), lambda: [Mine(), Other()], lambda: (Mine(),)])
def test_builders_of_any_number_of_arguments(kind, given):
    """A builder may take all arguments or just the first, and give one piece, a list or a tuple."""
    expected = [type(piece).__name__ for piece in _as_list(given())]

    for builder in (lambda *all_of_them: given(), lambda first: given(), lambda a, b: given()):
        config = _with(kind, kind, builder, **{SWITCHES[kind]: False})

        assert _names(_built(config, kind)) == expected


def _as_list(given):
    return [*given] if isinstance(given, (list, tuple)) else [given]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rubbish", [3, "x", None, [1.5], Mine])
def test_rubbish_names_setting_and_value(kind, rubbish):
    """What is no piece is an error that names the setting and shows the value."""
    config = _with(kind, kind, lambda *given: rubbish)

    with pytest.raises(ConfigError, match=kind) as caught:
        _built(config, kind)

    assert repr(rubbish) in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_at_the_end(kind):
    """`..._end` puts pieces after all default ones, which RLlib has no setting for."""
    plain = _names(_built(PPOConfig(), kind))

    config = _with(kind, f"{kind}_end", lambda *given: [Mine(), Other()])

    assert _names(_built(config, kind)) == [*plain, "Mine", "Other"]


def test_builders_errors_come_through():
    """A TypeError inside a builder is the user's own, and no reason to call it again."""
    calls = []

    def builder(env, spaces, device):
        calls.append(env)
        raise TypeError("takes 1 positional argument but I raised this myself")

    config = PPOConfig().env_runners(env_to_module_connector=builder)

    with pytest.raises(TypeError, match="myself"):
        config.build_env_to_module_connector(spaces=GIVEN)
    assert len(calls) == 1


def test_builders_that_are_no_plain_functions():
    """A partial and a class with `__call__` are asked how much they take."""

    class Builder:
        def __call__(self, env):
            return env

    def three(env, spaces, device):
        return device

    assert call_with_fitting(Builder(), (1, 2, 3)) == 1
    assert call_with_fitting(functools.partial(three, device=9), (1, 2)) == 9
    assert call_with_fitting(print, ()) is None


def test_builders_get_env_spaces_and_device():
    """A builder sees what the pipeline is built for."""
    seen = []
    config = PPOConfig().env_runners(
        env_to_module_connector=lambda env, spaces, device: [seen.append((env, spaces, device))][
            :0
        ],
        module_to_env_connector=lambda env, spaces: [seen.append((env, spaces))][:0],
    )
    env = gym.make("CartPole-v1")

    config.build_env_to_module_connector(env=env, spaces=GIVEN, device="cpu")
    config.build_module_to_env_connector(env=env, spaces=GIVEN)

    assert seen == [(env, GIVEN, "cpu"), (env, GIVEN)]


@pytest.mark.parametrize(
    ("env", "spaces", "found"),
    [
        (gym.make("CartPole-v1"), None, "env"),
        (gym.make_vec("CartPole-v1", num_envs=2), GIVEN, "env"),
        (None, GIVEN, "spaces"),
        (None, {"default_policy": SPACES}, "spaces"),
        (None, None, "config"),
    ],
)
def test_where_spaces_come_from(env, spaces, found):
    """The env's single spaces, else the given ones, else the config's."""
    own = Box(0.0, 9.0, (5,))
    config = PPOConfig().environment(observation_space=own, action_space=Discrete(9))
    expected = {
        "env": gym.make("CartPole-v1").observation_space,
        "spaces": SPACES[0],
        "config": own,
    }[found]

    pipeline = config.build_env_to_module_connector(env=env, spaces=spaces)

    assert pipeline.input_observation_space == expected


def test_a_learner_pipeline_falls_back_to_the_configs_spaces():
    """A learner that knows no spaces still gives the user's builder those of the config."""
    seen = []
    config = (
        PPOConfig()
        .environment(observation_space=SPACES[0], action_space=SPACES[1])
        .learners(learner_connector=lambda *spaces: [seen.append(spaces)][:0])
    )

    config.build_learner_connector(None, None)

    assert seen == [SPACES]


def test_several_agents():
    """A multi-agent config's pipelines map agents to modules and back."""
    config = PPOConfig().multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, *a, **k: "p")
    spaces = {"__env_single__": (Dict({"a": SPACES[0]}), Dict({"a": SPACES[1]}))}

    to_module = config.build_env_to_module_connector(spaces=spaces)

    assert "AgentToModuleMapping" in _names(to_module)
    assert "ModuleToAgentUnmapping" in _names(config.build_module_to_env_connector(spaces=spaces))
    assert to_module.observation_space == Dict({"p": SPACES[0]})


def test_actions_are_stretched_and_clipped_as_the_config_says():
    """`environment(normalize_actions=, clip_actions=)` reach the piece that does it."""
    config = PPOConfig().environment(normalize_actions=False, clip_actions=True)

    (piece,) = config.build_module_to_env_connector(spaces=GIVEN)["NormalizeAndClipActions"]

    assert (piece.normalize_actions, piece.clip_actions) == (False, True)
