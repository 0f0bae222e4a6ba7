"""How a single-agent episode grows where calls count, and where its columns are no plain lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.errors import EpisodeError
from .lookback_buffer import InfiniteLookbackBuffer

if TYPE_CHECKING:
    from .single_agent import SingleAgentEpisode


def append_step(
    episode: SingleAgentEpisode,
    observation: Any,
    action: Any,
    reward: Any,
    infos: Any,
    step_outputs: Mapping[str, Any],
) -> None:
    """Add one item to each column; flags and times are the caller's.

    What `add_env_step` does in place, for many agents in a step: each call less counts.
    """
    outputs = episode.extra_model_outputs
    earned = episode.rewards.raw
    steps = len(earned)
    if not steps or len(step_outputs) != len(outputs):
        begin_outputs(episode, step_outputs, steps)
    try:
        for key, value in step_outputs.items():
            outputs[key].raw.append(value)
        episode.observations.raw.append(observation)
        episode.actions.raw.append(action)
        episode.infos.raw.append({} if infos is None else infos)
        earned.append(reward)
    except (KeyError, AttributeError):
        add_carefully(episode, observation, action, reward, infos, step_outputs, steps)
    episode.t += 1


def begin_outputs(episode: SingleAgentEpisode, step_outputs: Mapping[str, Any], steps: int) -> None:
    """Before the first step: begin the columns of its outputs. Later outputs must be those."""
    outputs = episode.extra_model_outputs
    if steps:
        raise EpisodeError(
            f"episode {episode.id_} needs the same extra model outputs in every step",
            expected=f"{sorted(map(str, outputs))}",
            found=f"{sorted(map(str, step_outputs))}",
            hint="an output must be there from the first step on; start a new episode.",
        )
    if not episode.is_reset:
        raise EpisodeError(
            f"episode {episode.id_} has no first observation",
            hint="call add_env_reset() before add_env_step().",
        )
    if step_outputs.keys() != outputs.keys():
        outputs.clear()
        outputs.update({key: InfiniteLookbackBuffer() for key in step_outputs})


def add_carefully(
    episode: SingleAgentEpisode,
    observation: Any,
    action: Any,
    reward: Any,
    infos: dict[Any, Any] | None,
    step_outputs: Mapping[str, Any],
    steps: int,
) -> None:
    """Add a step to columns of any form; an error leaves all of them as they were."""
    outputs = episode.extra_model_outputs
    items = [
        (episode.observations, steps + 1, observation),
        (episode.actions, steps, action),
        (episode.rewards, steps, reward),
        (episode.infos, steps + 1, {} if infos is None else infos),
        *((column, steps, step_outputs.get(key)) for key, column in outputs.items()),
    ]

    def take_back() -> None:
        for column, count, _ in items:
            while column.len_incl_lookback() > count:
                column.pop()

    take_back()
    if step_outputs.keys() != outputs.keys():
        begin_outputs(episode, step_outputs, steps)
    try:
        for column, _, item in items:
            column.append(item)
    except EpisodeError:
        take_back()
        raise
