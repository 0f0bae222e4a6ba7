"""Configs: settings go in checked, come out as attributes or keys, and freeze."""

import copy
import inspect
import pickle

import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import (
    PPO,
    AlgorithmConfig,
    DefaultModelConfig,
    DefaultPPOTorchRLModule,
    MultiRLModuleSpec,
    NotProvided,
    PolicySpec,
    PPOConfig,
    RLModuleSpec,
)
from rlconnect.v2.config import section
from rlconnect.v2.config.section import UnknownSettingError
from rlconnect.v2.config.store import FrozenConfigError


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [
        ("training", {"lrr": 1}, "did you mean 'lr'"),
        ("training", {"clip_parm": 1}, "did you mean 'clip_param'"),
        ("environment", {"env_confg": {}}, "did you mean 'env_config'"),
        ("env_runners", {"num_env_runer": 1}, "did you mean 'num_env_runners'"),
        ("callbacks", {"on_episode_ends": print}, "did you mean 'on_episode_end'"),
        ("update_from_dict", {"gama": 1}, "did you mean 'gamma'"),
    ],
)
def test_unknown_settings_name_the_nearest(method, given, words):
    """A misspelt setting raises, naming itself and what was meant."""
    apply = getattr(PPOConfig(), method)

    with pytest.raises(UnknownSettingError, match=words) as caught:
        apply(given) if method == "update_from_dict" else apply(**given)

    assert repr(next(iter(given))) in str(caught.value)


def test_nobody_looks_for_a_name_that_nobody_reads(monkeypatch):
    """`getattr` with a default asks for no suggestion; the message has one, pickled or not."""
    asked = []
    hint = "did you mean 'lr'?"
    monkeypatch.setattr(section, "did_you_mean", lambda *given, **_: asked.append(given) or hint)

    assert getattr(PPOConfig(), "lrr", 3) == 3
    with pytest.raises(UnknownSettingError) as caught:
        PPOConfig().lrr  # noqa: B018
    assert not asked
    assert "did you mean 'lr'" in str(pickle.loads(pickle.dumps(caught.value)))
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [
        ("training", {"gamma": 1.5}, "from 0 to 1"),
        ("training", {"lr": "x"}, "step, value"),
        ("training", {"lr": [[1, 0.1], [2, 0.2]]}, "first at step 0"),
        ("training", {"lr": [[0, 0.1]]}, "two or more"),
        ("training", {"grad_clip_by": "x"}, "global_norm"),
        ("training", {"num_epochs": 0}, "1 or more"),
        ("training", {"kl_coeff": -1}, "not negative"),
        ("training", {"model": {"fcnet_hiddens": [1]}}, "rl_module"),
        ("training", {"lr_schedule": [[0, 1], [1, 2]]}, "give lr the schedule"),
        ("training", {"use_gae": False}, "lambda_=1.0"),
        ("training", {"entropy_coeff": -0.1}, "0 or more"),
        ("env_runners", {"num_envs_per_env_runner": 0}, "1 or more"),
        ("env_runners", {"rollout_fragment_length": "x"}, "'auto'"),
        ("env_runners", {"rollout_fragment_length": 0}, "'auto'"),
        ("env_runners", {"batch_mode": "x"}, "complete_episodes"),
        ("env_runners", {"explore": 1}, "True or False"),
        ("env_runners", {"env_to_module_connector": 3}, "a function"),
        ("env_runners", {"observation_filter": "MeanStdFilter"}, "env_to_module_connector"),
        ("environment", {"env": 3}, "gymnasium id"),
        ("environment", {"action_space": 3}, "gymnasium space"),
        ("multi_agent", {"policies": 3}, "module ids"),
        ("multi_agent", {"policies": {"a": 3}}, "'a'"),
        ("multi_agent", {"policy_mapping_fn": 3}, "a function"),
        ("multi_agent", {"count_steps_by": "x"}, "agent_steps"),
        ("multi_agent", {"policies_to_train": 3}, "module ids"),
        ("rl_module", {"model_config": 3}, "DefaultModelConfig"),
        ("rl_module", {"rl_module_spec": 3}, "RLModuleSpec"),
        ("callbacks", {"callbacks_class": 3}, "class"),
        ("callbacks", {"on_episode_end": 3}, "function"),
        ("framework", {"framework": "tf2"}, "torch only"),
        ("api_stack", {"enable_rl_module_and_learner": False}, "legacy"),
        ("resources", {"num_gpus": 1}, "num_gpus_per_learner"),
        ("debugging", {"seed": "x"}, "an integer"),
    ],
)
def test_wrong_values_raise_at_once(method, given, words):
    """A value that cannot be is refused where it is given; the setting and the value are named."""
    with pytest.raises(ConfigError, match=words) as caught:
        getattr(PPOConfig(), method)(**given)

    name, value = next(iter(given.items()))
    assert name in str(caught.value)
    assert isinstance(value, dict) or repr(value) in str(caught.value)


def test_methods_chain_and_set():
    """Each method gives the config back."""
    config = PPOConfig()

    given = (
        config.environment("CartPole-v1", env_config={"a": 1})
        .training(lambda_=0.9, lr=[[0, 1e-3], [100, 1e-4]])
        .debugging(seed=3)
        .framework("torch")
    )

    assert given is config
    assert (config.env, config.lambda_, config["lambda"], config.seed) == (
        "CartPole-v1",
        0.9,
        0.9,
        3,
    )


def test_not_provided_leaves_a_setting_alone():
    """A method that hands its own defaults on changes nothing."""
    config = PPOConfig().training(gamma=0.5).training(gamma=NotProvided, lr=0.1)

    assert (config.gamma, config.lr) == (0.5, 0.1)
    assert pickle.loads(pickle.dumps(NotProvided)) is NotProvided


@pytest.mark.parametrize(
    ("method", "name", "first", "second", "expected"),
    [
        ("environment", "env_config", {"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ("evaluation", "evaluation_config", {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ("learners", "learner_config_dict", {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ("training", "optimizer", {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    ],
)
def test_dicts_add_up(method, name, first, second, expected):
    """As in Ray 2.60, a second dict adds to the first, and neither is changed."""
    config = PPOConfig()

    getattr(config, method)(**{name: first})
    getattr(config, method)(**{name: second})

    assert config[name] == expected
    assert first != expected


def test_model_config_of_a_dict_and_of_a_dataclass():
    """A dict keeps the algorithm's own setting; a dataclass says everything."""
    by_dict = PPOConfig().rl_module(model_config={"fcnet_hiddens": [2]}).model_config
    by_class = PPOConfig().rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[2]))

    assert by_dict == {"vf_share_layers": False, "fcnet_hiddens": [2]}
    assert by_class.model_config["vf_share_layers"] is True


def test_frozen_configs_refuse_and_copies_may_change():
    """Freezing holds for every way to set something; a copy can be thawed."""
    config = PPOConfig()
    config.freeze()

    for change in (
        lambda: setattr(config, "lr", 1),
        lambda: config.training(lr=0.1),
        lambda: config.update_from_dict({"lr": 0.1}),
        lambda: config.__setitem__("lr", 0.1),
    ):
        with pytest.raises(FrozenConfigError, match="lr"):
            change()
    with pytest.raises(FrozenConfigError):
        config.copy().training(lr=0.1)
    assert config.copy(copy_frozen=False).training(lr=0.1).lr == 0.1
    assert config.lr == 5e-5


def test_copies_share_no_containers():
    """What is done to a copy's dicts stays there, but spaces and functions are the same ones."""
    space = Box(-1, 1, (2,))
    config = PPOConfig().environment(env_config={"a": [1]}, observation_space=space)

    for other in (config.copy(), copy.deepcopy(config)):
        other.env_config["a"].append(2)
        other.policies["new"] = PolicySpec()

        assert other.observation_space is space
    assert config.env_config == {"a": [1]}
    assert [*config.policies] == ["default_policy"]


def test_dict_and_back():
    """`from_dict` takes all that `to_dict` gives, whatever was set."""
    config = (
        PPOConfig()
        .environment("CartPole-v1", env_config={"a": 1})
        .training(lambda_=0.5, train_batch_size_per_learner=50, minibatch_size=10)
        .multi_agent(policies={"a": (None, Box(-1, 1, (1,)), Discrete(2), {"lr": 1.0}), "b": None})
        .rl_module(model_config={"use_lstm": True})
        .callbacks(on_episode_end=print)
        .env_runners(module_to_env_connector_end=lambda env, spaces: [])
    )

    given = config.to_dict()
    other = PPOConfig.from_dict(given)

    assert given["lambda"] == 0.5
    assert other.to_dict() == given
    assert other.get_config_for_module("a").lr == 1.0


def test_update_from_dict_knows_the_other_spellings():
    """Keys of trainer dicts are taken: "lambda", "framework", "callbacks" and "multiagent"."""
    config = PPOConfig().update_from_dict(
        {"lambda": 0.3, "framework": "torch", "multiagent": {"policies": {"a", "b"}}}
    )

    assert config.lambda_ == 0.3
    assert config.is_multi_agent


def test_state_goes_round():
    """A config's state makes the same config again."""
    config = PPOConfig().training(lr=0.5)

    other = AlgorithmConfig.from_state(config.get_state())

    assert type(other) is PPOConfig
    assert other.to_dict() == config.to_dict()


def test_reading_like_a_dict():
    """`in`, `get`, `keys`, `items` and `[]` work, and a missing name is also a KeyError."""
    config = PPOConfig()

    assert "lr" in config
    assert "foo" not in config
    assert config.get("foo", 3) == 3
    assert dict(config.items())["clip_param"] == 0.3
    with pytest.raises(KeyError):
        config["foo"]
    with pytest.raises(AttributeError, match="did you mean 'train_batch_size'"):
        config.train_batch_sise  # noqa: B018
    assert not hasattr(config, "foo")


def test_gone_methods_name_the_new_ones():
    """`exploration` and `rollouts` tell what took their place."""
    for method in ("exploration", "rollouts"):
        with pytest.raises(ConfigError, match="env_runners"):
            getattr(PPOConfig(), method)(explore=False)


@pytest.mark.parametrize(
    ("method", "given", "now"),
    [
        ("training", {"num_sgd_iter": 3}, {"num_epochs": 3}),
        ("training", {"sgd_minibatch_size": 3}, {"minibatch_size": 3}),
        ("env_runners", {"num_rollout_workers": 3}, {"num_env_runners": 3}),
        ("env_runners", {"num_workers": 3}, {"num_env_runners": 3}),
        ("rl_module", {"model_config_dict": {"a": 3}}, {"model_config": {"a": 3}}),
        ("training", {"learner_config_dict": {"a": 3}}, {"learner_config_dict": {"a": 3}}),
    ],
)
def test_old_names_warn_and_work(method, given, now):
    """A setting that was renamed or has moved is taken, with a warning."""
    config = PPOConfig()

    with pytest.warns(DeprecationWarning, match=next(iter(given))):
        getattr(config, method)(**given)

    for name, value in now.items():
        found = config[name]
        assert found == value or value.items() <= found.items()


def test_fragment_lengths_add_up_to_the_train_batch():
    """Remainders go to the first runners: 4000 steps over 3 runners of 3 environments."""
    config = PPOConfig().env_runners(num_env_runners=3, num_envs_per_env_runner=3)

    assert [config.get_rollout_fragment_length(i) for i in range(4)] == [445, 445, 445, 444]
    assert PPOConfig().env_runners(num_env_runners=0).get_rollout_fragment_length() == 4000


def test_batch_sizes():
    """The size per learner decides, where it is given."""
    config = PPOConfig().learners(num_learners=2)

    assert (config.total_train_batch_size, config.train_batch_size_per_learner) == (4000, 2000)
    config.training(train_batch_size_per_learner=300)
    assert (config.total_train_batch_size, config.train_batch_size) == (600, 4000)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (PPOConfig().training(minibatch_size=5000), "minibatch_size"),
        (PPOConfig().multi_agent(policies={"a"}, policies_to_train=["b"]), "policies_to_train"),
        (PPOConfig().multi_agent(policies={"a", "b"}), "policy_mapping_fn"),
        (
            PPOConfig().rl_module(algorithm_config_overrides_per_module={"a": {"lrr": 1}}),
            "did you mean 'lr'",
        ),
    ],
)
def test_contradictions_raise_before_building(config, words):
    """`validate` finds what one setting alone cannot tell; it can be turned off."""
    with pytest.raises(ConfigError, match=words):
        config.validate()

    config.experimental(_validate_config=False).validate()


def test_validate_finds_what_was_set_behind_the_methods():
    """An attribute set directly is checked in the end."""
    config = PPOConfig()
    config.lr = "x"

    with pytest.raises(ConfigError, match="lr"):
        config.validate()


@pytest.mark.parametrize("method", ["rl_module", "multi_agent"])
def test_modules_can_have_settings_of_their_own(method):
    """Overrides apply to one module; the others get the config itself, frozen or not."""
    config = getattr(PPOConfig(), method)(
        algorithm_config_overrides_per_module={"a": PPOConfig.overrides(lr=0.5)}
    )
    config.freeze()

    assert config.get_config_for_module("a").lr == 0.5
    assert config.get_config_for_module("b") is config
    with pytest.raises(FrozenConfigError):
        config.get_config_for_module("a").training(lr=0.1)
    with pytest.raises(UnknownSettingError):
        PPOConfig.overrides(lrr=0.5)


def test_which_modules_are_trained():
    """All, some by id, or whatever a function says."""
    config = PPOConfig().multi_agent(policies={"a", "b"})

    assert config.is_trained("a")
    assert not config.multi_agent(policies_to_train={"b"}).is_trained("a")
    assert config.multi_agent(policies_to_train=lambda key, batch=None: key == "a").is_trained("a")


def test_evaluation_config():
    """Evaluations get the config with `evaluation_config` on top."""
    config = PPOConfig().evaluation(
        evaluation_interval=1, evaluation_config={"explore": False, "env_config": {"a": 1}}
    )

    found = config.get_evaluation_config_object()

    assert (found.in_evaluation, found.explore, found.env_config) == (True, False, {"a": 1})
    assert (found.num_env_runners, found.rollout_fragment_length) == (0, 1)
    assert (config.in_evaluation, config.explore) == (False, True)


def test_signatures_and_help_show_the_settings():
    """A method's settings can be read where people look for them."""
    parameters = inspect.signature(PPOConfig.training).parameters

    assert parameters["clip_param"].default is NotProvided
    assert "clip_param" not in inspect.signature(AlgorithmConfig.training).parameters
    assert "clip_param: " in PPOConfig.training.__doc__


def test_a_config_of_ones_own():
    """A subclass adds settings and a method's keywords as strangers do."""

    class MyConfig(PPOConfig):
        def __init__(self, algo_class=None):
            super().__init__(algo_class)
            self.curiosity = 1.0

        def training(self, *, curiosity=NotProvided, **kwargs):
            super().training(**kwargs)
            if curiosity is not NotProvided:
                self.curiosity = curiosity
            return self

    config = MyConfig().training(curiosity=2.0, lr=0.1)

    assert (config.curiosity, config.lr, config.copy()["curiosity"]) == (2.0, 0.1, 2.0)
    assert MyConfig.from_dict(config.to_dict()).curiosity == 2.0


def test_help_tells_what_changes_nothing():
    """A setting that is only taken for RLlib's sake says so."""
    lines = AlgorithmConfig.env_runners.__doc__.splitlines()

    (line,) = [line for line in lines if line.strip().startswith("compress_observations:")]

    assert "changes nothing here" in line


def test_a_config_of_no_algorithm_says_so():
    """The base config builds nothing, and names what does."""
    with pytest.raises(ConfigError, match="PPOConfig"):
        AlgorithmConfig().build_algo()
    with pytest.raises(NotImplementedError, match="default module"):
        AlgorithmConfig().get_rl_module_spec()
    with pytest.raises(NotImplementedError, match="default learner"):
        AlgorithmConfig().learner_class  # noqa: B018


def test_build_warns_and_builds():
    """`build` is `build_algo`, with a warning; the algorithm gets a copy."""

    class Algo:
        def __init__(self, config):
            self.config = config

    config = PPOConfig(algo_class=Algo)

    with pytest.warns(DeprecationWarning, match="build_algo"):
        built = config.build(env="CartPole-v1")

    assert isinstance(built, Algo)
    assert (built.config.env, config.env) == ("CartPole-v1", None)


def test_an_atari_environment_is_told_by_name_or_setting():
    """Names of the arcade environments count, unless the setting says otherwise."""
    plain, arcade = (PPOConfig().environment(name) for name in ("CartPole-v1", "ALE/Pong-v5"))

    found = [plain.is_atari, arcade.is_atari, arcade.copy().environment(is_atari=False).is_atari]

    assert found == [False, True, False]


def test_a_config_of_ones_own_makes_the_algorithm_of_its_base():
    """A subclass that names no algorithm builds that of the config it comes from."""

    class Mine(PPOConfig):
        pass

    assert Mine().algo_class is Mine().get_algo_class() is PPO


def test_messages_that_tests_of_others_look_for():
    """A frozen config and an unknown property are told in RLlib's words."""
    frozen = PPOConfig()
    frozen.freeze()

    with pytest.raises(
        AttributeError, match=r"attribute .lr. of an already frozen AlgorithmConfig"
    ):
        frozen.lr = 0.1
    with pytest.raises(KeyError, match="Invalid property name nope for config class PPOConfig"):
        PPOConfig.overrides(lr=0.1, nope=1)


def test_a_config_is_told_as_data():
    """Classes and functions by their names, everything else as it is; popping leaves a setting."""
    config = PPOConfig().callbacks(on_episode_end=test_a_config_is_told_as_data)

    told = config.serialize()

    assert told["callbacks_on_episode_end"].endswith(".test_a_config_is_told_as_data")
    assert told["lr"] == config.pop("lr") == config.lr
    assert config.pop("nothing", 3) == 3


def test_a_default_for_several_modules_alone_is_no_default_for_one():
    """An algorithm of several modules asks for a class of each."""

    class Several(AlgorithmConfig):
        def get_default_rl_module_spec(self):
            return MultiRLModuleSpec(rl_module_specs={"a": RLModuleSpec(DefaultPPOTorchRLModule)})

    spaces = {"a": (Box(-1, 1, (3,)), Discrete(2)), "b": (Box(-1, 1, (3,)), Discrete(2))}
    config = Several().multi_agent(policies={"a", "b"}, policy_mapping_fn=lambda *a, **k: "a")

    specs = config.get_multi_rl_module_spec(spaces=spaces).rl_module_specs

    assert specs["a"].module_class is DefaultPPOTorchRLModule
    with pytest.raises(ConfigError, match="module_class"):
        specs["b"].build()
