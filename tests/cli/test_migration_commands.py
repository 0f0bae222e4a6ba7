"""`rlconnect migration current|history|check|undo` as a person types them."""

import json
import shlex
import shutil
from pathlib import Path

import pytest
from rlconnect.cli.app import main
from rlconnect.legacy import Policy

pytestmark = pytest.mark.torch

CARTPOLE = Path(__file__).parents[2] / "examples" / "checkpoints" / "ppo-cartpole-ray-2.60"


@pytest.fixture
def folder(tmp_path, capsys):
    """A migrated folder."""
    out = str(tmp_path / "v2")
    assert main(["migrate", str(CARTPOLE), "--out", out, "--samples", "1"]) == 0
    capsys.readouterr()
    return out


def test_the_page_of_a_migration_says_what_to_do_with_it(tmp_path, capsys):
    """How to load it, to train on it, to prove it and to open it in Ray; each line works."""
    out = str(tmp_path / "it is here")
    assert main(["migrate", str(CARTPOLE), "--out", out, "--samples", "1"]) == 0

    lines = capsys.readouterr().out.splitlines()
    told = {line[:9].strip(): line[9:] for line in lines[lines.index(f"written  {out}") + 1 :]}

    assert set(told) == {"load", "train", "check", "in Ray"}
    config = eval(told["train"].partition(".environment")[0], {"rlconnect": v2_names()})
    assert config.observation_space.shape == (4,)
    assert list(eval(told["load"], {"rlconnect": v2_names()})) == ["default_policy"]
    assert main([*shlex.split(told["check"])[1:], "--samples", "1"]) == 0
    words = shlex.split(told["in Ray"])
    assert main([str(tmp_path / "ray") if each == "DIR" else each for each in words[1:]]) == 0
    assert (tmp_path / "ray" / "rl_module").is_dir()


def v2_names():
    """What a script has after `import rlconnect.v2`."""
    import rlconnect.v2

    return rlconnect


def test_current_tells_what_is_native(folder, capsys):
    """Each step with its proof; as JSON, too."""
    assert main(["migration", "current", folder]) == 0
    page = capsys.readouterr().out
    assert main(["migration", "current", folder, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert "network  becomes DefaultPPOTorchRLModule" in page
    assert all(step["is_applied"] for step in told["steps"])


def test_history_tells_each_save(folder, capsys):
    """Where it came from, and what was done by which command."""
    assert main(["migration", "undo", folder]) == 0
    assert main(["migration", "history", folder, "--json"]) == 0
    told = json.loads(capsys.readouterr().out.partition("{")[2].join("{ "))
    assert main(["migration", "history", folder]) == 0
    page = capsys.readouterr().out

    assert told["origin"]["path"] == str(CARTPOLE)
    assert [len(each["applied"]) for each in told["history"]] == [7, 6]
    assert told["history"][1]["command"] == f"rlconnect migration undo {folder}"
    assert told["history"][1]["command"] in page
    assert "6 of 7 applied" in page


def test_check_is_for_continuous_integration(folder, capsys):
    """0 as long as nothing is left and the proof holds; 1 when a step is left."""
    assert main(["migration", "check", folder, "--samples", "1"]) == 0
    assert main(["migration", "undo", folder, "--step", "network"]) == 0
    assert main(["migration", "check", folder, "--samples", "1"]) == 1
    assert "left to apply: network" in capsys.readouterr().out
    assert main(["migrate", folder, "--out", folder]) == 0
    assert main(["migration", "check", folder, "--samples", "1", "--json"]) == 0


def test_check_tells_changed_numbers(folder, tmp_path, capsys):
    """A folder whose module is another one: the proof no longer holds."""
    from rlconnect.v2 import RLModule

    module = RLModule.from_checkpoint(Path(folder, "rl_module"))
    state = module.get_state()
    name = next(iter(state))
    module.set_state({**state, name: state[name] * 1.001})
    module.save_to_path(Path(folder, "rl_module"))

    assert main(["migration", "check", folder, "--samples", "1"]) == 1
    assert "the proof no longer holds" in capsys.readouterr().out


def test_undo_gives_back_one_step_all_of_them_or_the_old_policy(folder, tmp_path, capsys):
    """In place or elsewhere; nothing to undo is a mistake that names the way out."""
    half, none, old = (str(tmp_path / name) for name in ("half", "none", "old"))

    assert main(["migration", "undo", folder, "--out", half]) == 0
    assert main(["migration", "undo", folder, "--all", "--out", none, "--json"]) == 0
    assert main(["migration", "undo", none]) == 2
    hint = capsys.readouterr().err.partition("--source DIR")
    assert hint[1]
    assert main(["migration", "undo", none, "--source", old]) == 0

    weights = Policy.from_checkpoint(CARTPOLE).values()
    (source,) = weights
    found = Policy.from_checkpoint(old).get_weights()
    assert all((found[name] == each).all() for name, each in source.get_weights().items())


@pytest.mark.parametrize("verb", ["current", "history", "check", "undo"])
def test_other_folders_are_told(verb, capsys, tmp_path):
    """What was expected there, and what to do."""
    shutil.copytree(CARTPOLE, tmp_path / "old")

    assert main(["migration", verb, str(tmp_path / "old")]) == 2
    assert "holds no migrated policy" in capsys.readouterr().err
