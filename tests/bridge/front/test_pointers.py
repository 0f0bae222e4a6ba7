"""A checkpoint whose files git-LFS did not fetch."""

import shutil
from pathlib import Path

import pytest
import rlconnect
from rlconnect.core.errors import CheckpointError

from tests.core.vault.files.test_other_files import POINTER

RECORDED = Path(__file__).parents[2] / "golden" / "checkpoints"


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("2.0.1-ppo_cartpole_meanstd", "checkpoint-*"),
        ("2.10.0-ppo_user_module/algo_checkpoint", "*.pkl"),
        ("2.10.0-ppo_user_module/algo_checkpoint", "policy_state.pkl"),
        ("2.60.0-ppo_new_stack/algo", "*.pkl"),
        ("2.60.0-ppo_new_stack/algo", "module_state.pkl"),
        ("2.60.0-ppo_new_stack/module", "module_state.pkl"),
    ],
)
def test_a_pointer_of_git_lfs_names_the_file_and_the_command(folder, files, tmp_path):
    """Cloned without git-LFS, a checkpoint says which file is missing and how to get it."""
    copy = shutil.copytree(RECORDED / folder, tmp_path / "run")
    for each in copy.rglob(files):
        if "metadata" not in each.name:
            each.write_bytes(POINTER)
            path = each.parent if files == "checkpoint-*" else copy

    with pytest.raises(CheckpointError, match=r"(?s)git-LFS.*git lfs pull"):
        rlconnect.load(path)
