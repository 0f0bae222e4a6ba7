"""Whoever loads, by whatever function or command, may say what the file's names mean."""

import json
import shutil

import pytest
from rlconnect import load, migrate
from rlconnect.bridge import Actor
from rlconnect.cli.app import main
from rlconnect.legacy.connectors.connector import AgentConnector
from rlconnect.legacy.connectors.registry import UnknownConnectorError
from rlconnect.legacy.policy.policy import Policy

from tests.fuzz.samples import GOLDEN
from tests.trust.hostile import changed

PLAIN = GOLDEN / "recordings/legacy/2.60.0/ppo_cartpole/algo_checkpoint"


class Passing(AgentConnector):
    """A connector of the user's that changes nothing."""

    def transform(self, ac_data):
        return ac_data

    def to_state(self):
        return "Passing", None

    @staticmethod
    def from_state(ctx, params):
        return Passing(ctx)


class Also(Passing):
    """Another one."""

    def to_state(self):
        return "Also", None

    @staticmethod
    def from_state(ctx, params):
        return Also(ctx)


@pytest.fixture
def theirs(tmp_path):
    """A checkpoint of the old stack with two connectors of somebody's own."""
    folder = tmp_path / "theirs"
    shutil.copytree(PLAIN, folder)
    for file in folder.rglob("policy_state.pkl"):
        changed(file, _with_own)
    return folder


def _with_own(tree):
    name, children = tree["connector_configs"]["agent"]
    own = [("Also", None), ("Passing", None)]
    tree["connector_configs"]["agent"] = (name, [*own, *children])


def loaders(folder, words):
    """Each way to load a policy, with what the caller says."""
    policy = next((folder / "policies").iterdir())
    return {
        "Policy": lambda: Policy.from_checkpoint(folder, trust=words),
        "Policy folder": lambda: Policy.from_checkpoint(policy, trust=words),
        "load": lambda: load(folder, trust=words),
        "Actor": lambda: Actor.from_checkpoint(folder, trust=words),
        "migrate": lambda: migrate(folder, trust=words),
    }


@pytest.mark.filterwarnings("ignore::rlconnect.bridge.actor.actor.SlowPieceWarning")
@pytest.mark.parametrize("name", ["Policy", "Policy folder", "load", "Actor", "migrate"])
def test_every_loader_takes_the_callers_classes(theirs, name):
    """Without a word one error names both connectors; with it, they are built."""
    with pytest.raises(UnknownConnectorError) as caught:
        loaders(theirs, None)[name]()
    assert "'Also'" in str(caught.value)
    assert "'Passing'" in str(caught.value)
    assert "trust=[Also, Passing]" in caught.value.hint

    assert loaders(theirs, [Passing, Also])[name]()
    assert loaders(theirs, {"Passing": Passing, "Also": Also})[name]()


def test_a_policy_keeps_the_words_it_was_loaded_with(theirs):
    """A state that is set later may name the same classes."""
    policy = Policy.from_checkpoint(next((theirs / "policies").iterdir()), trust=[Passing, Also])
    state = policy.get_state()

    policy.set_state(state)
    again = Policy.from_state(state, trust=[Passing, Also])
    for each in (policy, again):
        assert [type(piece) for piece in each.agent_connectors.connectors[:2]] == [Also, Passing]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::rlconnect.bridge.actor.actor.SlowPieceWarning")
def test_the_command_line_takes_words(theirs, tmp_path, monkeypatch, capsys):
    """`--trust module:NAME` imports what the user names, from the current folder too."""
    (tmp_path / "my_pieces.py").write_text(
        "from tests.trust.test_words_everywhere import Also, Passing\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    words = ["--trust", "my_pieces:Passing", "--trust", "my_pieces:Also"]
    commands = [
        ["rollout", str(theirs), "--env", "CartPole-v1", "--episodes", "1", "--json"],
        ["verify", str(theirs), str(theirs), "--samples", "1", "--json"],
        ["adapt", str(theirs), "--env", "CartPole-v1", "--json"],
        ["migrate", str(theirs), "--json"],
    ]

    for command in commands:
        assert main(command) == 2
        assert "Passing" in capsys.readouterr().err
        assert main([*command, *words]) in (0, 1)
        json.loads(capsys.readouterr().out)
    assert main([*commands[0], "--trust", "no_such_module:Thing"]) == 2
    assert "no_such_module" in capsys.readouterr().err
    assert str(tmp_path) not in __import__("sys").path


def test_a_module_beside_a_checkpoint_stands_in_for_nothing(tmp_path, monkeypatch, capsys):
    """The current folder is looked at last: a file there replaces no library."""
    (tmp_path / "json.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text(
        "import json\n\n\ndef fn():\n    return json.dumps(1)\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)

    code = main(
        [
            "rollout",
            str(PLAIN),
            "--env",
            "CartPole-v1",
            "--episodes",
            "1",
            "--trust",
            "mine:fn",
        ]
    )

    assert code == 0, capsys.readouterr().err
