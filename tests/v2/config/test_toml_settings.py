"""Settings as TOML and back: what is plain data comes back the same, the rest is named."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError, UnknownNameError
from rlconnect.v2 import AlgorithmConfig, BCConfig, MeanStdFilter, PPOConfig, RLlibCallback
from rlconnect.v2.config.section import UnknownSettingError
from rlconnect.v2.config.told_settings import add_told
from rlconnect.v2.envs.registry import UnknownEnvError, register_env

WORDS = st.text(st.characters(codec="utf-8"), max_size=8)
SCALARS = st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS
LISTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
DATA = st.recursive(
    LISTS | st.none(),
    lambda inner: st.dictionaries(
        WORDS.filter(lambda key: "." not in key and key not in ("entry_point", "id")),
        inner,
        max_size=3,
    ),
    max_leaves=8,
)
TABLES = st.dictionaries(WORDS.filter(lambda key: "." not in key), DATA, max_size=4)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "lr": st.floats(1e-8, 1) | st.just([[0, 1e-3], [1000, 1e-5]]),
        "gamma": st.floats(0, 1),
        "lambda": st.floats(0, 1),
        "grad_clip": st.none() | st.floats(0.1, 10),
        "minibatch_size": st.none() | st.integers(1, 100),
        "seed": st.none() | st.integers(0, 2**40),
        "num_envs_per_env_runner": st.integers(1, 9),
        "rollout_fragment_length": st.just("auto") | st.integers(1, 99),
        "framework": st.just("torch"),
        "explore": st.booleans(),
        "env_config": TABLES,
        "model_config": TABLES,
        "evaluation_config": TABLES.map(lambda each: {"env_config": each}),
        "policies": st.just({"a", "b"}) | st.just({"a": {"lr": 0.5}, "b": {"gamma": 0.25}}),
        "policies_to_train": st.just(["a"]),
    },
)


@given(SETTINGS)
def test_plain_settings_come_back(settings):
    """Any of them, nested and odd; so does the text with every setting in it."""
    config = PPOConfig().environment("CartPole-v1").update_from_dict(settings)

    for text in (config.to_toml(), config.to_toml(whole=True)):
        assert PPOConfig.from_toml(text).to_dict() == config.to_dict()
        assert type(AlgorithmConfig.from_toml(text)) is PPOConfig


def test_only_what_differs_is_said():
    """Defaults are left out."""
    assert PPOConfig().to_toml() == 'algorithm = "PPO"\n'
    assert PPOConfig().training(lr=0.5).to_toml().endswith("[training]\nlr = 0.5\n")


def test_all_that_cannot_be_said_is_named():
    """Classes, functions, None in lists, keys that are no text: in one error, with their places."""

    class Mine(RLlibCallback):
        pass

    config = (
        PPOConfig()
        .callbacks(Mine)
        .env_runners(env_to_module_connector=lambda *_: MeanStdFilter())
        .environment(env_config={"sizes": [1, None], "by": {3: 4}})
        .training(lr=0.5)
    )

    with pytest.raises(ConfigError, match="cannot be said") as caught:
        config.to_toml()

    for place in ("callbacks.callbacks_class", "env_runners.env_to_module_connector"):
        assert place in caught.value.found
    assert "environment.env_config (None in a list)" in caught.value.found
    assert "lr" not in caught.value.found
    whole = config.to_toml(whole=True)
    assert "# env_to_module_connector = a function" in whole
    assert PPOConfig.from_toml(whole).lr == 0.5


def test_a_file_imports_nothing(tmp_path, monkeypatch):
    """A module before an environment's id stays where it is; one that is registered is known."""
    (tmp_path / "mine_to_import.py").write_text("raise SystemExit", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    text = '[environment]\nenv = "mine_to_import:{}"\n'

    assert PPOConfig.from_toml(text.format("CartPole-v1")).env == "CartPole-v1"
    with pytest.raises(UnknownEnvError, match="mine_to_import:Theirs-v0"):
        PPOConfig.from_toml(text.format("Theirs-v0"))
    register_env("mine_to_import:Theirs-v0", lambda context: None)
    assert PPOConfig.from_toml(text.format("Theirs-v0")).env == "mine_to_import:Theirs-v0"
    assert "mine_to_import" not in sys.modules


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("[trainin]\nlr = 1", UnknownNameError, r"\[training\]"),
        ("[training]\nlrr = 1", UnknownSettingError, "'lr'"),
        ("[training]\nlr = 'fast'", ConfigError, "a number"),
        ("training = 3", ConfigError, "a table"),
        ("none = ['lr']", ConfigError, "TABLE.SETTING"),
        ("none = [3]", ConfigError, "places"),
        ("none = ['training.lr']", ConfigError, "a number"),
        ("algorithm = 'BC'", ConfigError, '"PPO"'),
        ("a = = 3", ConfigError, "no TOML"),
        ("[environment]\nenv = 'CartPol-v1'", UnknownEnvError, "'CartPole-v1'"),
    ],
)
def test_mistakes_are_told(text, error, match):
    """With what was expected, or the nearest name."""
    with pytest.raises(error, match=match):
        PPOConfig.from_toml(text)


def test_any_algorithm_is_found_by_its_name(tmp_path):
    """From a file, too; one that nobody has is told."""
    file = tmp_path / "run.toml"
    file.write_text(BCConfig().training(lr=0.25).to_toml(), encoding="utf-8")

    assert AlgorithmConfig.from_toml(file).lr == 0.25
    assert isinstance(AlgorithmConfig.from_toml(str(file)), BCConfig)
    with pytest.raises(UnknownNameError, match="did you mean 'PPO'"):
        AlgorithmConfig.from_toml('algorithm = "PPPO"')


@pytest.mark.parametrize(
    ("words", "data"),
    [
        (["lr=3e-4"], {"training": {"lr": 3e-4}}),
        (["training.lr=.5"], {"training": {"lr": 0.5}}),
        (["lambda=0.9"], {"training": {"lambda_": 0.9}}),
        (["train_batch_size=1e3"], {"training": {"train_batch_size": 1000}}),
        (["explore=False"], {"env_runners": {"explore": False}}),
        (["env_config.a.b=x"], {"environment": {"env_config": {"a": {"b": "x"}}}}),
        (["grad_clip=none"], {"training": {}, "none": ["training.grad_clip"]}),
        (["grad_clip=none", "grad_clip=2"], {"training": {"grad_clip": 2}}),
        (
            ["model_config.fcnet_hiddens=[8, 8]", "model_config.conv_filters=none"],
            {
                "rl_module": {"model_config": {"fcnet_hiddens": [8, 8]}},
                "none": ["rl_module.model_config.conv_filters"],
            },
        ),
    ],
)
def test_a_setting_in_a_word(words, data):
    """Typed, dotted, with or without its table; the last word counts."""
    found = {}
    for word in words:
        add_told(found, PPOConfig, word)

    assert found == data


@pytest.mark.parametrize(
    ("word", "match"),
    [
        ("lr", "NAME=VALUE"),
        ("lrr=1", "'lr'"),
        ("lr=fast", "a number"),
        ("train_batch_size=1.5", "an integer"),
        ("model_config.fcnet_hidens=[1]", "'fcnet_hiddens'"),
        ("lr.a=1", "no further settings"),
        ("env_runners.lr=1", r"\[env_runners\]"),
    ],
)
def test_a_wrong_word_is_told(word, match):
    """With the nearest name, or what the setting takes."""
    with pytest.raises(ConfigError, match=match):
        add_told({}, PPOConfig, word)
