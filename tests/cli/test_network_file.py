"""The network of a policy whose code is not here: proposed, written, passed, acted with."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import rlconnect
from rlconnect.cli.app import main
from rlconnect.core.errors import ConfigError
from rlconnect.legacy import Policy

GOLDEN = Path(__file__).parents[1] / "golden" / "custom_networks"
PAGE = Path(__file__).parents[2] / "docs" / "custom-networks.md"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with one checkpoint and what it computed in it, and nothing else."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(GOLDEN / "old" / "gauss", "trial/gauss")
    shutil.copy(GOLDEN / "old" / "gauss.json", "kept.json")
    return tmp_path


@pytest.mark.torch
def test_from_the_error_to_a_policy_that_acts(place, capsys):
    """The error names a command; what that writes, looked over, makes the policy act."""
    with pytest.raises(ConfigError, match="--write-model gauss-network") as raised:
        Policy.from_checkpoint("trial/gauss")
    assert "`rlconnect inspect trial/gauss --write-model gauss-network.toml`" in raised.value.hint

    assert main(["inspect", "trial/gauss", "--write-model", "network.toml"]) == 0
    assert "guesses" in capsys.readouterr().out
    text = Path("network.toml").read_text(encoding="utf-8")
    assert text.count("# activation: relu is a guess") == 3
    Path("network.toml").write_text(text.replace('"relu"', '"tanh"'), encoding="utf-8")

    policy = Policy.from_checkpoint("trial/gauss", model="network.toml")
    kept = json.loads(Path("kept.json").read_text(encoding="utf-8"))
    fetches = policy.compute_actions(np.array(kept["obs"], np.float32), explore=False)[2]
    np.testing.assert_allclose(fetches["vf_preds"], kept["vf_preds"], rtol=1e-5, atol=1e-5)
    assert main(["migrate", "trial/gauss", "--model", "network.toml", "--out", "new"]) == 0
    assert main(["verify", "trial/gauss", "new", "--model", "network.toml"]) == 0


def test_recorded_outputs_decide(place, capsys):
    """With --data the file holds what gives them again, and nothing in it is a guess."""
    assert main(["inspect", "trial/gauss", "--write-model", "n.toml", "--data", "kept.json"]) == 0

    assert "reproduces the 6 recorded steps" in capsys.readouterr().out
    assert "guess" not in Path("n.toml").read_text(encoding="utf-8")
    assert Path("n.toml").read_text(encoding="utf-8").count('"tanh"') == 3


def test_the_page_and_the_document_tell_the_proposal(place, capsys):
    """Guesses are marked; the command that writes them is printed."""
    assert main(["inspect", "trial/gauss"]) == 0
    page = capsys.readouterr().out
    assert "actor.0: dense of obs, relu (?)" in page
    assert "rlconnect inspect trial/gauss --write-model gauss-network.toml" in page

    assert main(["inspect", "trial/gauss", "--json"]) == 0
    proposal = json.loads(capsys.readouterr().out)["policies"]["default_policy"]["proposal"]
    assert proposal["guessed"] == ["actor.0", "actor.2", "critic.0"]
    Path("n.json").write_text(json.dumps(proposal["network"]), encoding="utf-8")
    assert main(["inspect", "trial/gauss", "--data", "kept.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["network"]["outputs"]["value"] == "critic.2"
    Policy.from_checkpoint("trial/gauss", model="n.json")


def test_a_file_with_something_else_stays(place, capsys):
    """What a user wrote is not written over; the same text may be written again."""
    Path("n.toml").write_text("mine", encoding="utf-8")
    assert main(["inspect", "trial/gauss", "--write-model", "n.toml"]) == 2
    assert "there already" in capsys.readouterr().err
    assert Path("n.toml").read_text(encoding="utf-8") == "mine"

    for _ in range(2):
        assert main(["inspect", "trial/gauss", "--write-model", "other.toml"]) == 0


def test_a_described_policy_needs_no_code(place, capsys):
    """Saved with its description, its page calls it complete and tells the layers."""
    Policy.from_checkpoint("trial/gauss", model=GOLDEN / "old" / "gauss.toml").export_checkpoint(
        "s"
    )

    assert main(["inspect", "s"]) == 0

    page = capsys.readouterr().out
    assert "described: 2 dense tanh, dense, parameter, dense tanh, dense -> logits, value" in page
    assert "needs code" not in page
    assert main(["inspect", "s", "--write-model", "again.toml"]) == 0
    Policy.from_checkpoint("trial/gauss", model="again.toml")


COMMANDS = re.findall(
    r"```console\n\$ rlconnect (.*)\n(?:\$ rlconnect (.*)\n)?```", PAGE.read_text(encoding="utf-8")
)


@pytest.mark.torch
def test_the_commands_of_the_page(place):
    """Run one after the other beside such a checkpoint, each ends well."""
    shutil.copytree("trial/gauss", "policy")
    shutil.rmtree("trial")
    shutil.move("policy", "trial")
    shutil.copy("kept.json", "samples.json")

    for command in (each for pair in COMMANDS for each in pair if each):
        assert main(shlex.split(command)) == 0, command
    assert len(COMMANDS) == 3


@pytest.mark.torch
def test_a_module_of_its_authors_is_described_too(place, capsys):
    """The hint of the command line names both ways, and the file it writes makes the module act."""
    shutil.copytree(GOLDEN / "new" / "dict", "theirs")
    assert main(["export", "theirs", "--out", "x.pt2"]) == 2
    hint = capsys.readouterr().err
    assert "--trust FILE.py:TinyDict. Or describe it as data" in hint
    assert "Then give --model FILE." in hint

    assert main(["inspect", "theirs", "--write-model", "theirs-network.toml"]) == 0
    assert main(["inspect", "theirs"]) == 0
    assert len(rlconnect.load("theirs", model="theirs-network.toml")) == 1
