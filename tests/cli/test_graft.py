"""`rlconnect graft`: what is new is told, and the folder loads."""

import shlex
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box, Discrete
from rlconnect import load
from rlconnect.bridge.front.load import as_policies
from rlconnect.cli.app import main
from rlconnect.legacy import Policy

SAMPLE = Path(__file__).parents[2] / "examples" / "checkpoints" / "ppo-cartpole-ray-2.60"
CARTPOLE = ["--env", "CartPole-v1"]


def test_the_command_grows_and_writes(tmp_path, capsys):
    """`rlconnect graft` tells what is new, and writes a folder that loads."""
    settings = {"seed": 0, "model": {"fcnet_hiddens": [8, 8]}}
    old = Policy(Box(-2, 2, (4,), np.float32), Discrete(2), settings)
    as_policies(old).save(tmp_path / "old")
    (tmp_path / "wider.py").write_text(
        "import gymnasium as gym, numpy as np\n"
        "class Wider(gym.Env):\n"
        "    observation_space = gym.spaces.Box(-2, 2, (6,), np.float32)\n"
        "    action_space = gym.spaces.Discrete(2)\n",
        encoding="utf-8",
    )
    env = f"{tmp_path / 'wider.py'}:Wider"
    words = [str(tmp_path / "old"), "--env", env, "--obs", "drop_features([4, 5])"]

    code = main(
        [
            "graft",
            *words,
            "--network",
            "use_lstm=true",
            "--out",
            str(tmp_path / "new"),
            "--samples",
            "16",
        ]
    )

    said = capsys.readouterr().out
    assert code == 0, said
    assert "[4], [5]" in said
    assert load(tmp_path / "new").only.native.module.is_stateful()


def test_what_was_grafted_is_trained_on(tmp_path, capsys):
    """The folder is what `train --from` begins with, and its run is a checkpoint that loads."""
    grown, run = str(tmp_path / "grown"), str(tmp_path / "run")
    memory = ["--network", "use_lstm=true", "--network", "lstm_cell_size=4"]
    small = ["--set", "train_batch_size_per_learner=64", "--set", "minibatch_size=32"]

    assert main(["graft", str(SAMPLE), *CARTPOLE, *memory, "--samples", "8", "--out", grown]) == 0
    said = capsys.readouterr().out
    printed = [line.split(None, 3)[-1] for line in said.splitlines() if "rlconnect train" in line]
    (words,) = [shlex.split(each)[shlex.split(each).index("train") :] for each in printed]
    once = ["--stop", "iterations=1", "--out", run, *small, "--set", "num_epochs=1", "--seed", "0"]
    assert main([*words, *once]) == 0

    assert "iterations reached" in capsys.readouterr().out
    trained = load(f"{run}/checkpoint_000001").only.native.module
    assert trained.is_stateful()
