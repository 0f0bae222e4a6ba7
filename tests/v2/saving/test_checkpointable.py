"""Components that save themselves: names, states, parts inside parts."""

import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.spaces import Dict as DictSpace
from rlconnect import v2
from rlconnect.core.errors import CheckpointError, ConfigError, LimitExceededError
from rlconnect.core.trust import find
from rlconnect.v2.saving.class_names import saved_name
from rlconnect.v2.saving.class_slots import MODULE
from rlconnect.v2.saving.reference_pickle import dump


class Counter(v2.Checkpointable):
    """A part with a state."""

    def __init__(self, space=None, *, step=1):
        self.space, self.step, self.count = space, step, np.zeros(2)

    def get_state(self, components=None, *, not_components=None, **kwargs):
        return {"count": self.count} if self.count.any() else {}

    def set_state(self, state):
        if "count" in state:
            self.count = np.asarray(state["count"])

    def get_ctor_args_and_kwargs(self):
        return (self.space,), {"step": self.step}


class Pair(Counter):
    """A part with parts."""

    def __init__(self, kind=Counter):
        super().__init__()
        self.kind = kind
        self.parts = {"one": kind(), "two": kind()}

    def get_checkpointable_components(self):
        return list(self.parts.items())

    def get_state(self, components=None, *, not_components=None, **kwargs):
        own = super().get_state()
        for name, part in self.parts.items():
            if self._check_component(name, components, not_components):
                own[name] = part.get_state(self._get_subcomponents(name, components))
        return own

    def get_ctor_args_and_kwargs(self):
        return (), {"kind": self.kind}


class QuietPair(Pair):
    """A pair whose parts get no folder while they have no state."""

    SAVES_WITHOUT_STATE = False


GIVEN = {cls.__name__: cls for cls in (Counter, Pair, QuietPair)}


@pytest.mark.parametrize("use_msgpack", [False, True])
def test_a_component_comes_back_with_its_parts(use_msgpack, tmp_path):
    """Arguments, own state and the states of the parts, in either encoding."""
    pair = Pair()
    pair.count[:], pair.parts["two"].count[:] = 3, 5

    pair.save_to_path(tmp_path / "pair", use_msgpack=use_msgpack)

    again = Pair.from_checkpoint(tmp_path / "pair", module_classes=GIVEN)
    assert again.count.tolist() == [3, 3]
    assert again.parts["two"].count.tolist() == [5, 5]
    assert (tmp_path / "pair" / "one" / "metadata.json").is_file()


def test_spaces_and_numbers_are_arguments(tmp_path):
    """What the constructor was given comes back live, nested spaces too."""
    space = DictSpace({"a": Box(-1, 1, (2,), np.float32), "b": Discrete(3)})

    Counter(space, step=7).save_to_path(tmp_path / "counter")

    again = Counter.from_checkpoint(tmp_path / "counter")
    assert (again.space, again.step) == (space, 7)


def test_a_state_may_be_given(tmp_path):
    """`state=` is saved in place of the object's own, part by part."""
    state = {"count": np.ones(2), "one": {"count": np.full(2, 9.0)}}

    Pair().save_to_path(tmp_path / "pair", state=state)

    again = Pair.from_checkpoint(tmp_path / "pair", module_classes=GIVEN)
    assert again.count.tolist() == [1, 1]
    assert again.parts["one"].count.tolist() == [9, 9]


def test_a_part_without_state_may_go_without_a_folder(tmp_path):
    """The class of the whole says so; its absence is no error when restoring."""
    pair = QuietPair()
    pair.parts["two"].count[:] = 1

    pair.save_to_path(tmp_path / "pair")

    assert not (tmp_path / "pair" / "one").exists()
    again = QuietPair.from_checkpoint(tmp_path / "pair", module_classes=GIVEN)
    assert again.parts["two"].count.tolist() == [1, 1]


def test_one_part_may_be_restored_alone(tmp_path):
    """`component=` leaves everything else as it was."""
    pair, other = Pair(), Pair()
    pair.count[:], pair.parts["one"].count[:] = 1, 2
    pair.save_to_path(tmp_path / "pair")

    other.restore_from_path(tmp_path / "pair", component="one")

    assert (other.count.tolist(), other.parts["one"].count.tolist()) == ([0, 0], [2, 2])


def test_parts_are_chosen_by_name():
    """`components` and `not_components`, as text or as a list."""
    pair = Pair()

    assert sorted(pair.get_state()) == ["one", "two"]
    assert sorted(pair.get_state("one")) == ["one"]
    assert sorted(pair.get_state(["one/deep", "two"])) == ["one", "two"]
    assert sorted(pair.get_state(not_components="one")) == ["two"]
    assert Pair._get_subcomponents("one", ["one/deep", "two"]) == ["deep"]
    assert Pair._check_component("one", None, None) is True
    assert Pair._check_component("one", "two", None) is False
    assert Pair._check_component("one", "one/deep", "two") is True
    assert Pair._check_component("one", "one", "one") is False


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", "a\0b"])
def test_a_part_cannot_lead_out_of_the_folder(name, tmp_path):
    """A name that is no plain folder name is refused; nothing is written."""
    pair = Pair()
    pair.parts = {name: Counter()}

    with pytest.raises(ConfigError, match="cannot be those of folders"):
        pair.save_to_path(tmp_path / "pair")

    assert list(tmp_path.iterdir()) == []


def test_only_local_files_are_written(tmp_path):
    """Another filesystem is refused at once."""
    with pytest.raises(ConfigError, match="filesystem"):
        Counter().save_to_path(tmp_path / "x", filesystem=object())
    with pytest.raises(ConfigError, match="filesystem"):
        Counter.from_checkpoint(tmp_path / "x", object())


def test_a_lost_class_file_falls_back_to_the_called_class(tmp_path):
    """What the caller names is built without arguments; the base class cannot be."""
    counter = Counter()
    counter.count[:] = 4
    counter.save_to_path(tmp_path / "counter")
    (tmp_path / "counter" / "class_and_ctor_args.pkl").unlink()

    assert Counter.from_checkpoint(tmp_path / "counter").count.tolist() == [4, 4]
    with pytest.raises(CheckpointError):
        v2.Checkpointable.from_checkpoint(tmp_path / "counter")


def test_a_reference_to_what_nobody_has_is_named(tmp_path):
    """A function among the arguments has to be given by its name."""

    class Held(Counter):
        def get_ctor_args_and_kwargs(self):
            return (len,), {}

    Held().save_to_path(tmp_path / "held")

    with pytest.raises(v2.UnknownClassError, match=r"builtins\.len"):
        Held.from_checkpoint(tmp_path / "held")
    assert Held.from_checkpoint(tmp_path / "held", module_classes={"len": max}).space is max


def test_our_classes_are_written_by_rllibs_names():
    """Ray finds its own class in what we save; others keep their names."""
    assert saved_name(v2.PPOCatalog) == ("ray.rllib.algorithms.ppo.ppo_catalog", "PPOCatalog")
    assert saved_name(Counter) == (Counter.__module__, "Counter")
    assert b"ray.rllib.core.rl_module.multi_rl_module" in dump(v2.MultiRLModule)
    assert pickle.loads(dump({"a": np.arange(3), "f": len}))["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("ray.rllib.algorithms.ppo.torch.ppo_torch_rl_module.PPOTorchRLModule", "PPO"),
        ("ray.rllib.algorithms.impala.torch.impala_torch_rl_module.ImpalaTorchRLModule", "PPO"),
        ("ray.rllib.algorithms.sac.torch.sac_torch_rl_module.SACTorchRLModule", "SAC"),
        ("ray.rllib.algorithms.dqn.dqn_rainbow.DQNRainbowTorchRLModule", "DQN"),
    ],
)
def test_older_class_names_are_known(path, found):
    """Each default module's names of earlier releases lead to today's class."""
    kind = find(path, MODULE)

    assert kind is getattr(v2, f"Default{found}TorchRLModule")


@pytest.mark.parametrize(
    "path", ["ray.rllib.nowhere.Nothing", "ray.rllib.core.columns.Columns", "os.path", "nodots"]
)
def test_what_is_no_module_is_not_found(path):
    """A name of ours that is no module, a loaded thing that is none, an unknown name."""
    assert find(path, MODULE) is None


@pytest.mark.parametrize("inside", [False, True])
def test_pieces_ask_for_no_more_than_a_file_may(inside, tmp_path, monkeypatch):
    """A number of frames is held to a bound, in a pipeline's folder and in one of its own."""
    kind = v2.FrameStackingEnvToModule
    piece = kind(Box(0, 1, (4, 4, 1)), Discrete(2), num_frames=3)
    saved = v2.EnvToModulePipeline(connectors=[piece]) if inside else piece
    with monkeypatch.context() as patched:
        asked = ((), {"num_frames": 10**9})
        patched.setattr(kind, "get_ctor_args_and_kwargs", lambda self: asked)
        saved.save_to_path(tmp_path / "saved")

    with pytest.raises(LimitExceededError, match="num_frames"):
        type(saved).from_checkpoint(tmp_path / "saved")
