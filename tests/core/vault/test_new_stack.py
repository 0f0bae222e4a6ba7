"""New-stack checkpoints that have lost parts: what survives is offered, what is gone is named."""

import pytest
from rlconnect.core.errors import CorruptCheckpointError, MissingPartError
from rlconnect.core.vault import open_checkpoint

from .recorded import NEW_ALGORITHM, NEW_MODULE, RECORDINGS, copy_of, cut, remove, rewrite

RL_MODULE = "learner_group/learner/rl_module"
MODULE = f"{RL_MODULE}/default_policy"


def places(checkpoint):
    """Where each problem lies, and of what kind it is."""
    return [(problem.where, problem.kind) for problem in checkpoint.problems]


@pytest.mark.parametrize("lost", [f"{MODULE}/module_state.pkl", MODULE], ids=["file", "folder"])
def test_a_module_without_weights_is_described(lost, tmp_path):
    """Class, spaces and config are told from what is left; the file to fetch is named."""
    path = copy_of(NEW_ALGORITHM, tmp_path)
    remove(path, lost)

    checkpoint = open_checkpoint(path)
    module = checkpoint.modules["default_policy"]

    assert not module.weights
    assert module.module_class.endswith(".DefaultPPOTorchRLModule")
    assert repr(module.action_space) == "Discrete(2)"
    assert places(checkpoint) == [(f"{MODULE}/module_state.pkl", "missing")]


def test_a_cut_module_state_is_told_once(tmp_path):
    """A damaged state file is one problem, not two."""
    path = copy_of(NEW_ALGORITHM, tmp_path)
    cut(path / MODULE / "module_state.pkl")

    assert places(open_checkpoint(path)) == [(f"{MODULE}/module_state.pkl", "damaged")]


def test_an_algorithm_without_its_learner_says_so(tmp_path):
    """Config and pipelines are still read where the folder with the modules is gone."""
    path = copy_of(NEW_ALGORITHM, tmp_path)
    remove(path, "learner_group")

    checkpoint = open_checkpoint(path)

    assert (checkpoint.algorithm, checkpoint.environment) == ("PPO", "CartPole-v1")
    assert places(checkpoint) == [(RL_MODULE, "missing")]
    assert any(part.filters for part in checkpoint.components)


def test_modules_survive_the_rest(tmp_path):
    """Without runner, class file and algorithm state the modules are whole."""
    path = copy_of(NEW_ALGORITHM, tmp_path)
    remove(path, "env_runner", "class_and_ctor_args.pkl", "algorithm_state.pkl")

    checkpoint = open_checkpoint(path)

    assert checkpoint.modules["default_policy"].weights
    assert {problem.kind for problem in checkpoint.problems} == {"note"}
    assert {problem.where for problem in checkpoint.problems} == {
        "class_and_ctor_args.pkl",
        "algorithm_state",
    }


def test_a_module_is_described_by_its_multi_module(tmp_path):
    """A module that lost its own class file takes class and spaces from the folder above."""
    path = copy_of(NEW_ALGORITHM, tmp_path)
    remove(path, f"{MODULE}/class_and_ctor_args.pkl", f"{MODULE}/metadata.json")

    module = open_checkpoint(path).modules["default_policy"]

    assert module.module_class.endswith(".DefaultPPOTorchRLModule")
    assert module.observation_space is not None
    assert module.weights


def test_a_bare_module_state_is_weights(tmp_path):
    """One surviving module_state.pkl is a module with names and shapes, and nothing else."""
    path = copy_of(NEW_MODULE, tmp_path)
    remove(path, "class_and_ctor_args.pkl", "metadata.json")

    (module,) = open_checkpoint(path).modules.values()

    assert module.weights["pi.net.mlp.0.weight"].shape == (3, 4)
    assert (module.module_class, module.observation_space) == ("", None)


def test_a_state_file_is_found_without_its_ending(tmp_path):
    """The JSON names `module_state`; whichever ending lies there is read, absolute path or not."""
    path = copy_of(NEW_MODULE, tmp_path)
    rewrite(path / "metadata.json", state_file="/tmp/elsewhere/module_state")

    assert open_checkpoint(path).has_weights


def test_an_unknown_version_is_read_as_its_files_look(tmp_path):
    """Version 3 of the new stack costs a note where its files look like version 2's."""
    path = copy_of(NEW_ALGORITHM, tmp_path)
    rewrite(path / "rllib_checkpoint.json", checkpoint_version="3.0", novelty=[1])

    checkpoint = open_checkpoint(path)

    assert (checkpoint.version, checkpoint.stack) == ("3.0", "new")
    assert places(checkpoint) == [("", "note")]


def test_json_alone_says_what_is_missing(tmp_path):
    """A module folder that kept only its JSON file names what is gone."""
    path = copy_of(NEW_MODULE, tmp_path)
    remove(path, "module_state.pkl", "class_and_ctor_args.pkl")

    with pytest.raises(MissingPartError) as caught:
        open_checkpoint(path)

    assert "module_state.pkl" in caught.value.missing
    assert "class_and_ctor_args.pkl" in caught.value.missing


def test_a_part_that_cannot_be_read_at_all_is_an_error(tmp_path):
    """A piece saved alone whose files are all cut leaves nothing to describe."""
    path = copy_of("new/2.60.0-filter", tmp_path)
    cut(path / "state.pkl")
    cut(path / "class_and_ctor_args.pkl")

    with pytest.raises(CorruptCheckpointError, match=r"nothing in .* can be read"):
        open_checkpoint(path)


def test_each_file_is_read_once(monkeypatch):
    """A component and the module in it ask for one class file; it is decoded once."""
    from rlconnect.core.vault import decoding

    read = []

    def noting(path, limits, **options):
        read.append(path)
        return read_passing(path, limits, **options)

    read_passing = decoding.read_passing
    monkeypatch.setattr(decoding, "read_passing", noting)

    open_checkpoint(RECORDINGS / NEW_MODULE)
    open_checkpoint(RECORDINGS / NEW_ALGORITHM)

    assert read
    assert len(read) == len(set(read))
