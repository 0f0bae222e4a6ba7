"""Settings that ask for other networks than the weights beside them are of."""

import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import MissingPartError, UnknownClassError, WeightsError
from rlconnect.core.limits.asking import AskedTooMuchError
from rlconnect.v2 import (
    DefaultDQNTorchRLModule,
    DefaultPPOTorchRLModule,
    DefaultSACTorchRLModule,
    MultiRLModuleSpec,
    PPOCatalog,
    RLModule,
    RLModuleSpec,
)
from rlconnect.v2.modules.catalogs import DQNCatalog, SACCatalog

from tests import warm

OBS = Box(-1, 1, (4,))
KINDS = {
    "ppo": (DefaultPPOTorchRLModule, PPOCatalog, Box(-1, 1, (2,)), {}),
    "free": (DefaultPPOTorchRLModule, PPOCatalog, Box(-1, 1, (2,)), {"free_log_std": True}),
    "lstm": (
        DefaultPPOTorchRLModule,
        PPOCatalog,
        Discrete(2),
        {"use_lstm": True, "lstm_cell_size": 8},
    ),
    "dqn": (DefaultDQNTorchRLModule, DQNCatalog, Discrete(2), {"dueling": True, "num_atoms": 1}),
    "sac": (DefaultSACTorchRLModule, SACCatalog, Box(-1, 1, (2,)), {"twin_q": True}),
}
FLIPS = [
    ("ppo", "fcnet_hiddens", [8, 16]),
    ("ppo", "fcnet_hiddens", [8]),
    ("ppo", "fcnet_hiddens", [10**6, 10**6]),
    ("ppo", "head_fcnet_hiddens", [10**9]),
    ("ppo", "use_lstm", True),
    ("ppo", "free_log_std", True),
    ("ppo", "fcnet_use_layernorm", True),
    ("free", "free_log_std", False),
    ("lstm", "use_lstm", False),
    ("lstm", "lstm_cell_size", 16),
    ("lstm", "lstm_cell_size", 10**6),
    ("dqn", "dueling", False),
    ("dqn", "num_atoms", 51),
    ("dqn", "num_atoms", 10**9),
    ("sac", "twin_q", False),
    ("sac", "fusionnet_hiddens", [10**6]),
]


def saved(folder, kind, **settings):
    """A module's folder whose settings are others than those it was built with."""
    cls, catalog, action_space, own = KINDS[kind]
    own = {"fcnet_hiddens": [8, 8], **own}
    module = cls(
        observation_space=OBS, action_space=action_space, model_config=own, catalog_class=catalog
    )
    module.model_config = {**own, **settings}
    return module.save_to_path(folder)


@pytest.mark.parametrize(("kind", "setting", "value"), FLIPS)
def test_settings_and_weights_that_disagree_are_told_with_both(tmp_path, kind, setting, value):
    """The error names the setting with its value, and the weights that say otherwise."""
    path = saved(tmp_path / "m", kind, **{setting: value})

    with pytest.raises(WeightsError, match=r"weight|net\.|lstm|std") as caught:
        RLModule.from_checkpoint(path)

    assert f"{setting}={value!r}"[:60] in str(caught.value)


def test_nothing_far_beyond_the_weights_is_made(tmp_path):
    """A process with little memory to spare refuses such files and lives."""
    paths = [
        saved(tmp_path / str(place), kind, **{setting: value})
        for place, (kind, setting, value) in enumerate(FLIPS)
        if "000" in repr(value)
    ]
    script = """
import resource, sys
from rlconnect.core.errors import MissingPartError, UnknownClassError, WeightsError
from rlconnect.v2 import RLModule
RLModule.from_checkpoint(sys.argv[1])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 200 * 2**20,) * 2)
for path in sys.argv[2:]:
    try:
        RLModule.from_checkpoint(path)
    except WeightsError:
        print("refused")
"""
    honest = saved(tmp_path / "honest", "lstm")

    done = warm.run(["-c", script, honest, *paths])

    assert (done.returncode, done.stdout.split()) == (0, ["refused"] * len(paths)), done.stderr


def test_the_weights_decide_about_one_encoder_or_two(tmp_path):
    """Where settings contradict the weights in what they share, a warning says what decided."""
    path = saved(tmp_path / "m", "ppo", vf_share_layers=False)

    with pytest.warns(UserWarning, match="vf_share_layers=False, but its weights are of one enc"):
        module = RLModule.from_checkpoint(path)

    assert module.model_config["vf_share_layers"]


def test_the_caller_may_ask_for_any_size(tmp_path):
    """Settings that the caller gives are built as they are."""
    path = saved(tmp_path / "m", "ppo", fcnet_hiddens=[10**9])

    module = RLModule.from_checkpoint(path, model_config={"fcnet_hiddens": [8, 8]})

    assert module.model_config == {"fcnet_hiddens": [8, 8]}


def test_layers_of_a_file_have_a_bound(tmp_path):
    """A file cannot ask for thousands of layers."""
    path = saved(tmp_path / "m", "ppo", fcnet_hiddens=[1] * 10_000)

    with pytest.raises(AskedTooMuchError, match="fcnet_hiddens"):
        RLModule.from_checkpoint(path)


def test_a_space_of_a_file_has_a_bound(tmp_path):
    """A file cannot ask for observations of a thousand million choices."""
    module = DefaultPPOTorchRLModule(
        observation_space=OBS, action_space=Discrete(2), catalog_class=PPOCatalog
    )
    module.action_space = Discrete(10**9)
    path = module.save_to_path(tmp_path / "m")

    with pytest.raises(AskedTooMuchError, match="action_space"):
        RLModule.from_checkpoint(path)


@pytest.fixture
def saved_pair(tmp_path):
    """Two modules in one folder."""
    spec = RLModuleSpec(
        module_class=DefaultPPOTorchRLModule,
        observation_space=Box(-1, 1, (4,)),
        action_space=Discrete(2),
        model_config={"fcnet_hiddens": [8]},
    )
    MultiRLModuleSpec(rl_module_specs={"a": spec, "b": spec}).build().save_to_path(tmp_path / "m")
    return tmp_path / "m"


def test_spaces_given_by_id_reach_their_modules(saved_pair):
    """A dict of spaces gives each module its own; one without an entry keeps the saved one."""
    wide = Box(-2, 2, (4,))

    module = RLModule.from_checkpoint(saved_pair, observation_space={"a": wide})

    assert module["a"].observation_space == wide
    assert module["b"].observation_space == Box(-1, 1, (4,))


def test_given_spaces_are_held_against_the_weights(saved_pair):
    """What does not fit is refused, and what the shapes tell is proposed."""
    with pytest.raises(WeightsError, match=r"action_space=Discrete\(3\)") as caught:
        RLModule.from_checkpoint(saved_pair, action_space=Discrete(3))

    assert "its first layer takes 4 numbers and its head gives 2" in caught.value.hint


def test_lost_classes_are_told_with_whose_weights_they_look_like(saved_pair):
    """Without class files the error names a class, which loads each module with given spaces."""
    for file in saved_pair.rglob("class_and_ctor_args.pkl"):
        file.unlink()
    spaces = {"observation_space": Box(-1, 1, (4,)), "action_space": Discrete(2)}
    settings = {"fcnet_hiddens": [8]}

    with pytest.raises(UnknownClassError, match="DefaultPPOTorchRLModule"):
        RLModule.from_checkpoint(saved_pair, **spaces)
    with pytest.raises(MissingPartError, match="its first layer takes 4 numbers"):
        DefaultPPOTorchRLModule.from_checkpoint(saved_pair / "a")
    DefaultPPOTorchRLModule.from_checkpoint(saved_pair / "a", model_config=settings, **spaces)
