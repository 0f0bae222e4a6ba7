"""What a repository says of the policy in it: a model card, as hubs of models show it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ...core.text.visible import visible
from ...core.version import __version__

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
    tags = [_TASK, "rllib", *(visible(each) for each in (algorithm, env) if each)]
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
        lines += ["", f"## {_code(name)}", "", "| | |", "|---|---|"]
        lines += [f"| {label} | `{_code(said)}` |" for label, said in _rows(actor) if said]
    call = f'policies = rlconnect.load("hf://{repo}")'
    lines += ["", "## Use it", "", "```sh", 'pip install "rlconnect[hub]"', "```", ""]
    lines += ["```python", "import rlconnect", "", call]
    lines += [f'actor = rlconnect.Actor.from_policy("hf://{repo}")', "```", ""]
    lines += [
        "Ray is not needed. Nothing in the files runs when they are opened: none is a pickle."
    ]
    release = visible(facts["ray_version"] or "")
    lines += (
        ["", f"Trained by Ray {release}; copied by rlconnect {__version__}."] if release else []
    )
    return "\n".join(lines) + "\n"


def _rows(actor: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is told of one policy."""
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
    told = f"{count} episodes" if count > 1 else "one episode"
    return f"It earned {measured['mean']:.5g}{spread} on average in {told} of `{_code(env)}`."


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
