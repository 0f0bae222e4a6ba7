"""Modules read from folders that real RLlib wrote, and folders of ours read back."""

import json
import pickle
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect import open_checkpoint, v2
from rlconnect.core.errors import (
    CheckpointNotFoundError,
    CheckpointWriteError,
    ConfigError,
    MissingPartError,
    NotACheckpointError,
    WeightsError,
)
from rlconnect.core.vault import save_records
from rlconnect.v2.saving.reference_pickle import dump

GOLDEN = Path(__file__).parents[1] / "golden"
MODULES = GOLDEN / "module_checkpoints"
OUTPUTS = np.load(MODULES / "outputs.npz")
OBS = torch.as_tensor(OUTPUTS["obs"])
SINGLE = {
    "appo": v2.DefaultAPPOTorchRLModule,
    "bc": v2.DefaultBCTorchRLModule,
    "dqn": v2.DefaultDQNTorchRLModule,
    "ppo": v2.DefaultPPOTorchRLModule,
    "ppo_choices": v2.DefaultPPOTorchRLModule,
    "ppo_dataclass": v2.DefaultPPOTorchRLModule,
    "ppo_inference": v2.DefaultPPOTorchRLModule,
    "ppo_lstm": v2.DefaultPPOTorchRLModule,
    "ppo_lstm_msgpack": v2.DefaultPPOTorchRLModule,
    "ppo_msgpack": v2.DefaultPPOTorchRLModule,
    "ppo_separate": v2.DefaultPPOTorchRLModule,
    "sac": v2.DefaultSACTorchRLModule,
}
B3 = Box(-1, 1, (3,), np.float32)


class TheirNet(v2.DefaultPPOTorchRLModule):
    """Stands for the class that `their_class` names."""


class TheirCatalog(v2.PPOCatalog):
    """Stands for the catalog that `their_catalog` names."""


def batch_for(module):
    if not module.is_stateful():
        return {"obs": OBS}
    state = {key: torch.zeros(4, 1, 3) for key in ("h", "c")}
    return {"obs": OBS[:, None], "state_in": state}


def answer(module):
    out = module.forward_inference(batch_for(module))
    return (out["actions"] if "actions" in out else out["action_dist_inputs"]).numpy()


def assert_answers(module, name):
    np.testing.assert_allclose(answer(module), OUTPUTS[name], rtol=1e-5, atol=1e-6)


def small(cls=v2.DefaultPPOTorchRLModule, **config):
    return cls(
        observation_space=B3,
        action_space=Discrete(2),
        model_config={"fcnet_hiddens": [4], **config},
    )


@pytest.mark.parametrize("name", sorted(SINGLE))
def test_a_module_rllib_saved_comes_back_alone(name):
    """Class, settings and weights are found without the algorithm; outputs and values are equal."""
    module = v2.RLModule.from_checkpoint(MODULES / name)

    assert type(module) is SINGLE[name]
    recorded = name.removesuffix("_msgpack")
    assert_answers(module, recorded)
    if f"{recorded}/values" in OUTPUTS:
        values = module.compute_values(batch_for(module)).detach()
        np.testing.assert_allclose(values, OUTPUTS[f"{recorded}/values"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["appo", "sac"])
def test_copies_that_were_saved_are_not_lost(name):
    """Target networks in the file are created and filled."""
    module = v2.RLModule.from_checkpoint(MODULES / name)

    saved = open_checkpoint(MODULES / name).modules["default_policy"].weights

    assert set(module.get_state()) == set(saved)


def test_a_multi_module_comes_back_with_all_its_modules():
    """Each module is of its own class; a class only the user has is taken from the caller."""
    multi = v2.MultiRLModule.from_checkpoint(
        MODULES / "multi", module_classes={"somebodys_modules.TheirNet": TheirNet}
    )

    kinds = [v2.DefaultPPOTorchRLModule, v2.DefaultDQNTorchRLModule, TheirNet]
    assert [type(multi[key]) for key in ("a", "b", "c")] == kinds
    for key in ("a", "b", "c"):
        assert_answers(multi[key], f"multi/{key}")


def test_the_base_class_finds_out_whether_it_is_one_or_many():
    """`RLModule.from_checkpoint` gives a multi-module for a multi-module's folder."""
    given = {"TheirNet": TheirNet}

    multi = v2.RLModule.from_checkpoint(MODULES / "multi", module_classes=given)
    alone = v2.RLModule.from_checkpoint(MODULES / "multi" / "b")

    assert isinstance(multi, v2.MultiRLModule)
    assert isinstance(alone, v2.DefaultDQNTorchRLModule)


def test_an_algorithms_folder_holds_its_modules():
    """A whole algorithm's checkpoint may be given; its learner's modules are taken."""
    multi = v2.RLModule.from_checkpoint(GOLDEN / "checkpoints" / "2.60.0-ppo_new_stack" / "algo")

    assert list(multi) == ["default_policy"]
    assert multi["default_policy"].compute_values({"obs": torch.zeros(2, 4)}).shape == (2,)


@pytest.mark.parametrize("part", ["", "default_policy"])
def test_the_module_state_of_ray_2_7_is_read(part):
    """`rl_module_metadata.json` with `module_state.pt`: old class name, old settings, no bound."""
    root = GOLDEN / "checkpoints" / "2.7.2-ppo_rlmodule" / "algo_checkpoint" / "learner"
    module = v2.RLModule.from_checkpoint(root / "module_state" / part)
    module = module["default_policy"] if isinstance(module, v2.MultiRLModule) else module

    assert isinstance(module, v2.DefaultPPOTorchRLModule)
    state = module.get_state()
    assert state["encoder.critic_encoder.net.mlp.2.weight"].shape == (32, 32)
    assert np.isinf(state["pi.log_std_clip_param_const"]).all()


def test_an_unknown_class_is_named_and_its_weights_stay_readable():
    """Never an empty module: the error names the class and carries the arrays."""
    with pytest.raises(v2.UnknownClassError, match=r"somebodys_modules\.TheirNet") as caught:
        v2.RLModule.from_checkpoint(MODULES / "their_class")

    error = caught.value
    assert error.class_name == "somebodys_modules.TheirNet"
    assert error.weights["pi.net.mlp.0.weight"].shape == (2, 4)
    again = pickle.loads(pickle.dumps(error))
    assert again.weights["pi.net.mlp.0.weight"].shape == (2, 4)


def test_an_unknown_class_of_a_multi_module_keeps_all_weights():
    """The error carries one table of weights per module id."""
    with pytest.raises(v2.UnknownClassError) as caught:
        v2.RLModule.from_checkpoint(MODULES / "multi")

    assert sorted(caught.value.weights) == ["a", "b", "c"]
    assert caught.value.module_id == "c"


@pytest.mark.parametrize(
    "key", ["somebodys_modules.TheirNet", "somebodys_modules:TheirNet", "TheirNet"]
)
def test_a_users_class_is_given_by_any_of_its_names(key):
    """Dotted path, `module:qualname` and bare name all do."""
    module = v2.RLModule.from_checkpoint(MODULES / "their_class", module_classes={key: TheirNet})

    assert_answers(module, "their_class")


def test_the_called_class_is_the_saved_one_if_the_names_agree():
    """`TheirNet.from_checkpoint` needs no further word."""
    assert_answers(TheirNet.from_checkpoint(MODULES / "their_class"), "their_class")


def test_a_users_catalog_is_asked_for_and_taken():
    """An unknown catalog is an error that names it; given, the module is built by it."""
    with pytest.raises(v2.UnknownClassError, match=r"somebodys_modules\.TheirCatalog"):
        v2.RLModule.from_checkpoint(MODULES / "their_catalog")

    module = v2.RLModule.from_checkpoint(
        MODULES / "their_catalog", module_classes={"somebodys_modules.TheirCatalog": TheirCatalog}
    )

    assert type(module.catalog) is TheirCatalog
    assert_answers(module, "their_catalog")


class Flying:
    """Named after a module that is not loaded; `<` lets it be written without a look."""

    __module__ = "antigravity"
    __qualname__ = "<locals>.Flying"


@pytest.mark.filterwarnings("ignore::rlconnect.core.errors.UnsafeContentWarning")
@pytest.mark.parametrize("named", [subprocess.Popen, Flying])
def test_no_class_is_used_or_imported_because_a_file_names_it(named, tmp_path):
    """A class this process has loaded is used only if it is a module; nothing is imported."""
    folder = tmp_path / "module"
    small().save_to_path(folder)
    held = {"class": named, "ctor_args_and_kwargs": ((["true"],), {})}
    (folder / "class_and_ctor_args.pkl").write_bytes(dump(held))

    with pytest.raises(v2.UnknownClassError, match=named.__module__):
        v2.RLModule.from_checkpoint(folder)

    assert "antigravity" not in sys.modules


def test_settings_may_be_overridden():
    """Keyword arguments go before the saved ones: acting needs no critic."""
    module = v2.RLModule.from_checkpoint(MODULES / "ppo_separate", inference_only=True)

    assert not any(name.startswith(("vf", "encoder.critic")) for name in module.get_state())
    assert_answers(module, "ppo_separate")


def test_a_wrong_class_is_refused():
    """A class that the folder does not hold is an error that names what it does hold."""
    with pytest.raises(ConfigError, match="DefaultPPOTorchRLModule"):
        v2.DefaultDQNTorchRLModule.from_checkpoint(MODULES / "ppo")
    with pytest.raises(ConfigError, match="MultiRLModule"):
        v2.DefaultPPOTorchRLModule.from_checkpoint(
            MODULES / "multi", module_classes={"TheirNet": TheirNet}
        )


def test_what_is_not_there_is_said(tmp_path):
    """No folder, no module, no weights: each has an error of its own."""
    with pytest.raises(CheckpointNotFoundError, match="nowhere"):
        v2.RLModule.from_checkpoint(tmp_path / "nowhere")
    with pytest.raises(NotACheckpointError, match="old stack"):
        v2.RLModule.from_checkpoint(
            GOLDEN / "checkpoints" / "2.10.0-ppo_user_module" / "algo_checkpoint"
        )
    folder = tmp_path / "lost"
    shutil.copytree(MODULES / "ppo", folder)
    (folder / "module_state.pkl").unlink()
    with pytest.raises(MissingPartError, match="weights of module"):
        v2.RLModule.from_checkpoint(folder)


def test_weights_that_do_not_fit_are_an_error_unless_asked(tmp_path):
    """A missing weight is never filled with chance; `strict=False` says so to want it."""
    folder = tmp_path / "cut"
    shutil.copytree(MODULES / "ppo", folder)
    module = v2.RLModule.from_checkpoint(folder)
    state = module.get_state()
    del state["pi.net.mlp.0.bias"]
    state["more"] = np.zeros(3)
    (folder / "module_state.pkl").write_bytes(pickle.dumps(state))

    with pytest.raises(WeightsError, match=r"pi\.net\.mlp\.0\.bias") as caught:
        v2.RLModule.from_checkpoint(folder)

    assert (caught.value.missing, caught.value.unexpected) == (["pi.net.mlp.0.bias"], ["more"])
    assert (
        v2.RLModule.from_checkpoint(folder, strict=False).get_state()["pi.net.mlp.0.weight"].shape
    )


@pytest.mark.parametrize("use_msgpack", [False, True])
@pytest.mark.parametrize("name", sorted(SINGLE))
def test_ours_is_saved_in_rllibs_layout_and_comes_back(name, use_msgpack, tmp_path):
    """Three files, RLlib's class name in them; what comes back answers the same."""
    module = v2.RLModule.from_checkpoint(MODULES / name)

    returned = module.save_to_path(tmp_path / "saved", use_msgpack=use_msgpack)

    state_file = f"module_state.{'msgpack' if use_msgpack else 'pkl'}"
    files = sorted(path.name for path in Path(returned).iterdir())
    assert files == ["class_and_ctor_args.pkl", "metadata.json", state_file]
    record = open_checkpoint(returned).modules["default_policy"]
    assert record.module_class.startswith("ray.rllib.")
    again = v2.RLModule.from_checkpoint(returned)
    assert type(again) is type(module)
    np.testing.assert_array_equal(answer(again), answer(module))


def test_a_multi_module_is_saved_module_by_module(tmp_path):
    """One folder per id; the whole and a part come back, into new and into living modules."""
    multi = v2.MultiRLModuleSpec(
        rl_module_specs={
            key: v2.RLModuleSpec(v2.DefaultPPOTorchRLModule, B3, Discrete(2), model_config={})
            for key in ("a", "b")
        }
    ).build()

    multi.save_to_path(tmp_path / "multi")

    again = v2.MultiRLModule.from_checkpoint(tmp_path / "multi")
    part = v2.RLModule.from_checkpoint(tmp_path / "multi" / "b")
    other = v2.MultiRLModuleSpec.from_module(multi).build()
    other.restore_from_path(tmp_path / "multi", component="a")
    for key, module in (("a", again["a"]), ("b", again["b"]), ("b", part), ("a", other["a"])):
        np.testing.assert_array_equal(answer(module), answer(multi[key]))
    assert not np.array_equal(answer(other["b"]), answer(multi["b"]))


def test_a_local_class_is_saved_by_reference_and_said_to_be_missing(tmp_path):
    """What cannot be found again is named; given, it is built."""

    class Local(v2.DefaultPPOTorchRLModule):
        pass

    small(Local).save_to_path(tmp_path / "local")

    with pytest.raises(v2.UnknownClassError, match="Local"):
        v2.RLModule.from_checkpoint(tmp_path / "local")
    assert type(Local.from_checkpoint(tmp_path / "local")) is Local


def test_a_users_class_that_is_loaded_needs_a_word(tmp_path, monkeypatch):
    """What this process has imported counts for nothing; passed alone, the class is enough."""
    package = types.ModuleType("their_package")
    package.Net = type("Net", (v2.DefaultPPOTorchRLModule,), {"__module__": "their_package"})
    monkeypatch.setitem(sys.modules, "their_package", package)

    small(package.Net).save_to_path(tmp_path / "theirs")

    with pytest.raises(v2.UnknownClassError, match=r"trust=\[Net\]"):
        v2.RLModule.from_checkpoint(tmp_path / "theirs")
    loaded = v2.RLModule.from_checkpoint(tmp_path / "theirs", trust=[package.Net])
    assert type(loaded) is package.Net


def test_restoring_takes_the_weights_over(tmp_path):
    """A living module takes a saved one's weights, of RLlib and of ours."""
    module = small(vf_share_layers=False)
    theirs = v2.RLModule.from_checkpoint(MODULES / "ppo_separate")

    module.restore_from_path(MODULES / "ppo_separate")

    np.testing.assert_array_equal(answer(module), answer(theirs))
    with pytest.raises(CheckpointNotFoundError, match="nowhere"):
        module.restore_from_path(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no component"):
        module.restore_from_path(MODULES / "ppo_separate", component="x")


def test_saving_replaces_a_checkpoint_and_keeps_strangers_files(tmp_path):
    """An older checkpoint is replaced as a whole; other things in the folder stay."""
    folder = tmp_path / "module"
    small().save_to_path(folder, use_msgpack=True)
    module = small()

    module.save_to_path(folder)

    assert not (folder / "module_state.msgpack").exists()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    other = small()
    other.save_to_path(folder)
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"
    np.testing.assert_array_equal(answer(v2.RLModule.from_checkpoint(folder)), answer(other))
    assert [path.name for path in tmp_path.iterdir()] == ["module"]


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path):
    """What cannot be written is said, and the folder is as before."""
    folder = tmp_path / "module"
    module = small()
    module.save_to_path(folder)
    before = answer(module)
    module.model_config["callback"] = open(folder / "metadata.json")  # noqa: SIM115

    try:
        with pytest.raises(CheckpointWriteError, match="cannot be saved"):
            module.save_to_path(folder)
    finally:
        module.model_config.pop("callback").close()

    np.testing.assert_array_equal(answer(v2.RLModule.from_checkpoint(folder)), before)


def test_the_json_file_says_which_layout_it_is(tmp_path):
    """Names of the files and the version of the layout, as RLlib writes them; the save's files."""
    small().save_to_path(tmp_path / "module")

    said = json.loads((tmp_path / "module" / "metadata.json").read_text(encoding="utf-8"))
    assert "module_state.pkl" in said.pop("ray_ignores")["files"]
    assert said == {
        "checkpoint_version": "2.1",
        "class_and_ctor_args_file": "class_and_ctor_args.pkl",
        "state_file": "module_state",
    }


def test_without_a_path_a_folder_is_made():
    """`save_to_path()` gives the path of a new temporary folder."""
    path = small().save_to_path()

    try:
        assert isinstance(v2.RLModule.from_checkpoint(path), v2.DefaultPPOTorchRLModule)
    finally:
        shutil.rmtree(path)


@pytest.mark.parametrize("name", ["ppo", "multi"])
def test_records_saved_in_our_own_format_become_modules(name, tmp_path):
    """What the vault saves for keeping is read back into the same modules."""
    given = {"TheirNet": TheirNet}
    save_records(tmp_path / "kept", open_checkpoint(MODULES / name))

    module = v2.RLModule.from_checkpoint(tmp_path / "kept", module_classes=given)

    if isinstance(module, v2.MultiRLModule):
        for key in ("a", "b", "c"):
            assert_answers(module[key], f"multi/{key}")
    else:
        assert_answers(module, name)
    assert isinstance(module, v2.MultiRLModule) == (name == "multi")
