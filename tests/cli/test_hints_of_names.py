"""Hints of the command line name what was probably meant."""

import pytest
from rlconnect.cli.app import main
from rlconnect.core.vault.files import remote

from ..core.vault.recorded import ROOT

TRAIN = ["train", "--env", "CartPole-v1", "--dry-run"]
EXAMPLES = ROOT / "examples/checkpoints"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([*TRAIN, "--algo", "ppo"], "did you mean 'PPO'?"),
        ([*TRAIN, "--algo", "A2C"], "PPO trains the same networks"),
        ([*TRAIN, "--algo", "PPO", "--set", "learning_rate=0.1"], "did you mean 'lr'?"),
        ([*TRAIN, "--algo", "PPO", "--set", "qqqqqqq=0.1"], "it has: "),
        (["inspect", f"{EXAMPLES}/ppo-pendulum-ray-2.8"], "ppo-pendulum-ray-2.7'?"),
        (["inspect", f"{ROOT}/exampels/checkpoints/ppo-pendulum-ray-2.7"], f"'{EXAMPLES}/ppo-"),
        (["inspect", f"{ROOT}/nothing/like/it"], "check the path"),
    ],
)
def test_a_slip_gets_the_right_hint(words, hint, capsys):
    """The nearest name or path, and never an option that has nothing to do with it."""
    assert main(words) == 2

    said = capsys.readouterr().err.splitlines()[-1]
    assert hint in said
    assert "--map" not in said


def test_a_url_without_its_package_names_the_extra(monkeypatch, capsys):
    """Not only fsspec's own words."""
    fsspec = pytest.importorskip("fsspec.core")

    def missing(url):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", missing)

    assert main(["inspect", "s3://bucket/run"]) == 2
    assert 'hint: pip install "fsspec[s3]"' in capsys.readouterr().err
    assert remote._EXTRAS["https"] == "http"


@pytest.mark.filterwarnings("default")
def test_a_run_that_began_from_a_policy_is_read_as_its_newest_checkpoint(tmp_path, capsys):
    """The policy in `start` is not one of the checkpoints of the run."""
    begin = str(EXAMPLES / "sac-pendulum-ray-2.0")
    small = ["min_sample_timesteps_per_iteration=2", "min_time_s_per_iteration=0"]
    sizes = [f"--set={each}" for each in small]
    words = ["--from", begin, "--env", "Pendulum-v1", "--stop", "iterations=1", *sizes]
    assert main(["train", "--algo", "SAC", *words, "--out", str(tmp_path / "run")]) == 0

    code = main(["rollout", str(tmp_path / "run"), "--env", "Pendulum-v1", "--episodes", "1"])

    assert code == 0
    assert "checkpoint_000001" in capsys.readouterr().err
