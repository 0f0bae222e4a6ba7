"""A user's script over the whole front, as a strict type checker reads it."""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.typing.stubs import SRC

pytest.importorskip("mypy", reason="mypy comes with the extra `dev`")
ROOT = SRC.parent
SCRIPT = Path(__file__).with_name("user_script.py")
WRONG = """
import rlconnect
from rlconnect.legacy import Policy
from rlconnect.v2 import PPOConfig, SingleAgentRLModuleSpec

reveal_type(PPOConfig().training(lr=0.1).env_runners(explore=False))
reveal_type(rlconnect.load("path"))
reveal_type(rlconnect.load("path", "id"))
reveal_type(rlconnect.adapt("path", env="CartPole-v1"))
reveal_type(rlconnect.adapt(Policy.from_state({}), env="CartPole-v1"))
reveal_type(SingleAgentRLModuleSpec())
PPOConfig().training(lrr=0.1)
PPOConfig().env_runners(num_env_runners="two")
rlconnect.rollout(3, "CartPole-v1")
rlconnect.laod("path")
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """What `mypy --strict` says of a file, as one who has installed rlconnect runs it."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, symlinks=True)
    site, python = next(home.glob("[lL]ib/**/site-packages")), next(home.glob("[bS]*/python*"))
    (site / "rlconnect").symlink_to(SRC, target_is_directory=True)
    (site / "others.pth").write_text("\n".join(filter(os.path.isdir, sys.path)), encoding="utf-8")

    def check(file):
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml"]
        done = subprocess.run(
            [*command, "--python-executable", str(python), str(file)],
            cwd=ROOT,  # for its cache, which `make types` fills
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        return done.stdout

    return check


@pytest.mark.slow
def test_a_script_over_the_whole_front_passes(checked):
    """Every verb, both stacks, pieces, episodes and trials, without a cast or an ignore."""
    source = SCRIPT.read_text(encoding="utf-8")

    assert "Success" in checked(SCRIPT)
    assert not re.search(r"cast\(|type: *ignore", source)


@pytest.mark.slow
def test_what_is_wrong_is_seen(checked, tmp_path):
    """Types are those that come back, and what is misspelt or of another kind is an error."""
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")

    said = checked(tmp_path / "wrong.py")

    revealed = re.findall(r'Revealed type is "(?:.*\.)?(\w+)"', said)
    assert revealed == [
        *("PPOConfig", "LoadedPolicies", "LoadedPolicy", "LoadedPolicy", "Policy", "RLModuleSpec")
    ]
    assert 'Unexpected keyword argument "lrr"' in said
    assert '"num_env_runners" to "env_runners"' in said or "incompatible type" in said
    assert 'has no attribute "laod"' in said
    assert said.count(": error:") == 4
