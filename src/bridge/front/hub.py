"""A policy into a repository of the Hugging Face Hub, where `hf://user/name` opens it again."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...core.errors import CheckpointWriteError, ConfigError
from ...core.importing.torch_needed import extra_needed
from ...core.vault.convert import Conversion, convert
from ...core.vault.description import describe_checkpoint
from ...core.vault.opening import open_checkpoint
from .model_card import model_card

_REPO: Final = re.compile(r"(?:hf://)?([\w.-]+/[\w.-]+)/?")


@dataclass(frozen=True)
class Pushed:
    """What `push` brought to a hub.

    Args:
        url: What opens it: "hf://user/name".
        page: Where people see it; empty if nothing was sent.
        card: The model card.
        copy: What the copy holds, and what not.
    """

    url: str
    page: str
    card: str
    copy: Conversion


def push(
    path: str | os.PathLike[str],
    repo: str,
    *,
    policies: Iterable[str] | None = None,
    measured: Mapping[str, Any] | None = None,
    private: bool = False,
    message: str = "",
    dry_run: bool = False,
) -> Pushed:
    """Bring a copy without a pickle in it, and a model card, to the Hugging Face Hub.

    What lies in the repository under other names stays. Who pushes is who is logged in there
    (`hf auth login`, or `HF_TOKEN`).

    Args:
        path: Any checkpoint, or a URL of one.
        repo: "hf://user/name"; it is made if it is not there.
        policies: Only these policies or modules; all of them otherwise.
        measured: What it earned, for the card: "env", "mean", "episodes", and "half_interval" or
            None.
        private: Whether a repository that is made is private.
        message: Of the commit.
        dry_run: Do all of it, but send nothing.

    Raises:
        CheckpointError: The checkpoint cannot be read.
        CheckpointWriteError: The hub refuses, or cannot be reached.
        ConfigError: That is no name of a repository.
        MissingExtraError: huggingface_hub is not installed.
    """
    found = _REPO.fullmatch(repo)
    if found is None:
        raise ConfigError(f"repository {repo!r}", expected="hf://USER/NAME")
    name = found[1]
    wanted = None if policies is None else [*policies]
    facts = describe_checkpoint(open_checkpoint(path), policies=wanted)
    card = model_card(facts, name, measured)
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as place:
        folder = Path(place, "copy")
        copy = convert(path, folder, policies=wanted)
        (folder / "README.md").write_text(card, encoding="utf-8")
        page = "" if dry_run else _sent(folder, name, private, message or _message(copy))
    return Pushed(f"hf://{name}", page, card, copy)


def _message(copy: Conversion) -> str:
    return f"Bring {', '.join(copy.names[:4])} by rlconnect"


def _sent(folder: Path, repo: str, private: bool, message: str) -> str:
    """Send a folder; gives the address of its page."""
    with extra_needed("huggingface_hub", "the Hugging Face Hub", "hub"):
        from huggingface_hub import HfApi
    api = HfApi(library_name="rlconnect")
    try:
        page = api.create_repo(repo, private=private, exist_ok=True)
        api.upload_folder(repo_id=repo, folder_path=folder, commit_message=message)
    except Exception as error:  # errors of its own, of its HTTP client, of the network
        raise CheckpointWriteError(
            f"{repo} on the Hugging Face Hub cannot be written",
            found=" ".join(f"{type(error).__name__}: {error}".split())[:300],
            hint="log in with a token that may write: hf auth login.",
        ) from None
    return str(page)
