"""A policy into a repository of the Hugging Face Hub, where `hf://user/name` opens it again."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...core.errors import CheckpointWriteError, ConfigError
from ...core.importing.torch_needed import extra_needed
from ...core.text.visible import visible
from ...core.vault.convert import Conversion, convert
from ...core.vault.description import describe_checkpoint
from ...core.vault.opening import of_newest, open_checkpoint
from ...core.version import __version__

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
    address = _REPO.fullmatch(repo)
    if address is None:
        raise ConfigError(f"repository {repo!r}", expected="hf://USER/NAME")
    name = address[1]
    policy_names = None if policies is None else [*policies]
    checkpoint = of_newest(path, open_checkpoint)
    facts = describe_checkpoint(checkpoint, policies=policy_names)
    card = model_card(facts, name, measured)
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as place:
        folder = Path(place, "copy")
        copy = convert(checkpoint.path, folder, policies=policy_names)
        (folder / "README.md").write_text(card, encoding="utf-8")
        page = "" if dry_run else _send(folder, name, private, message or _message(copy))
    return Pushed(f"hf://{name}", page, card, copy)


def _message(copy: Conversion) -> str:
    return f"Bring {', '.join(copy.names[:4])} by rlconnect"


def _send(folder: Path, repo: str, private: bool, message: str) -> str:
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


_TASK: Final = "reinforcement-learning"


def model_card(
    facts: Mapping[str, Any], repo: str, measured: Mapping[str, Any] | None = None
) -> str:
    """A card in Markdown, with its facts in front as hubs read them; a licence is left to people.

    Args:
        facts: What `describe_checkpoint` gave.
        repo: Where it lies: "user/name".
        measured: What it earned: "env", "mean", "episodes", and "half_interval" or None.
    """
    env = (measured or {}).get("env") or facts["environment"]
    algorithm = facts["algorithm"] or ""
    tags = [_TASK, "rllib", *(visible(word) for word in (algorithm, env) if word)]
    front = [
        "library_name: rlconnect",
        f"pipeline_tag: {_TASK}",
        f"tags: {json.dumps(tags, ensure_ascii=False)}",
    ]
    front.append("# license: choose one, and take away the # before it")
    if measured is not None:
        front += _index(repo, visible(env), measured)
    actors = {**facts["policies"], **facts["modules"]}
    what = f"`{_code(algorithm)}` " if algorithm else ""
    title = repo.rpartition("/")[2]
    of_env = f" for `{_code(env)}`" if env else ""
    lines = ["---", *front, "---", "", f"# {title}", "", f"A {what}policy of RLlib{of_env}."]
    if len(actors) > 1:
        lines[-1] = f"{len(actors)} {what}policies of RLlib{of_env}."
    if measured is not None:
        lines += ["", _earned(visible(env), measured)]
    for name, actor in actors.items():
        lines += ["", f"## `{_code(name)}`", "", "| | |", "|---|---|"]
        lines += [f"| {label} | `{_code(text)}` |" for label, text in _rows(actor) if text]
    call = f'policies = rlconnect.load("hf://{repo}")'
    lines += ["", "## Use it", "", "```sh", 'pip install "rlconnect[hub]"', "```", ""]
    lines += ["```python", "import rlconnect", "", call]
    lines += [f'actor = rlconnect.Actor.from_policy("hf://{repo}")', "```", ""]
    lines += [
        "Ray is not needed. Nothing in the files runs when they are opened: none is a pickle."
    ]
    release = _code(facts["ray_version"] or "")
    lines += (
        ["", f"Trained by Ray `{release}`; copied by rlconnect {__version__}."] if release else []
    )
    return "\n".join(lines) + "\n"


def _rows(actor: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of one policy, each with its label."""
    pieces = actor.get("connectors") or {}
    names = {
        side: ", ".join(piece["name"] for piece in pieces.get(side) or ())
        for side in ("agent", "action")
    }
    spaces = {
        side: (actor.get(f"{side}_space") or {}).get("text", "")
        for side in ("observation", "action")
    }
    return [
        ("class", actor.get("policy_class") or actor.get("module_class") or ""),
        ("observations", spaces["observation"]),
        ("actions", spaces["action"]),
        ("network", actor.get("network") or ""),
        ("connectors to it", names["agent"]),
        ("connectors from it", names["action"]),
    ]


def _earned(env: str, measured: Mapping[str, Any]) -> str:
    half = measured.get("half_interval")
    spread = "" if half is None else f" ± {half:.3g} (95 %)"
    count = measured["episodes"]
    episodes = f"{count} episodes" if count > 1 else "one episode"
    return f"It earned {measured['mean']:.5g}{spread} on average in {episodes} of `{_code(env)}`."


def _index(repo: str, env: str, measured: Mapping[str, Any]) -> list[str]:
    """The measured return as hubs list it."""
    half = measured.get("half_interval")
    value = f"{measured['mean']:.2f}" + ("" if half is None else f" +/- {half:.2f}")
    result = {
        "task": {"type": _TASK, "name": _TASK},
        "dataset": {"name": env, "type": env},
        "metrics": [{"type": "mean_reward", "value": value, "name": "mean_reward"}],
    }
    index = [{"name": repo.rpartition("/")[2], "results": [result]}]
    return [f"model-index: {json.dumps(index, ensure_ascii=False)}"]  # JSON is YAML


def _code(text: Any) -> str:
    """Strangers' text between backticks, in a cell of a table."""
    return visible(text, 400).replace("`", "'").replace("|", "\\|")
