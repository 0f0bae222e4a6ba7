"""A dataset as one policy sees it: columns of weights, rewards and, for models, of what it saw."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from gymnasium.spaces import Box, Space

from ...core import nest
from ...core.errors import ConfigError, PieceError, SpaceError
from ...core.step.plan import narrowed
from ...core.types import Array, Nest
from ...legacy.batches.step_rows import zero_of
from ...legacy.policy.policy import Policy
from ...offline.dataset import Dataset, open_dataset
from ...offline.estimators import Steps
from ...offline.fitted_critic import FittedCritic
from ...offline.fitted_q import FittedQ, FittedQSettings, Transitions
from ...offline.recordings import Recordings
from ..loading.natives import Native, policy_spaces
from .replay import Answers, Manner, answers_to
from .watchers import watcher_of

Form = Literal["auto", "raw", "seen"]

_AT_ONCE: Final = 1 << 14
_DRAWS: Final = 4
_MOST_BYTES: Final = 1 << 26
_ENVIRONMENT_ACTIONS: Final = frozenset({"minari", "npz"})
"""Kinds of data whose actions are those that the environment took."""


def dataset_at(data: Any) -> Dataset:
    """A dataset, opened if it is named by a path."""
    if isinstance(data, Dataset):
        return data
    if isinstance(data, (str, os.PathLike, list, tuple)):
        return open_dataset(data)
    raise PieceError("this is no recorded data", expected="a path or a Dataset", found=repr(data))


@dataclass
class Watched:
    """Recorded steps beside what a policy makes of them.

    Args:
        lengths: How many steps each episode has, `(E,)`.
        rewards: `(N,)`.
        chances: How probable the policy finds each action, `(N,)`; None where it takes one of many
            for sure.
        behavior: How probable it was where it was recorded; None where nobody says.
        ids: The episodes'.
        model: What models are fitted to; None if nobody asked.
    """

    lengths: Array
    rewards: Array
    chances: Array | None
    behavior: Array | None
    ids: list[str]
    model: ModelColumns | None = None

    @property
    def has_weights(self) -> bool:
        """Whether recorded actions can be weighed."""
        return self.chances is not None and self.behavior is not None

    def steps(self, epsilon: float = 0.0, actions: int = 0, *, needs_weights: bool = True) -> Steps:
        """As estimators take it.

        Of so many actions the policy takes the share `epsilon` at random. Without `needs_weights`
        it is of use even where nothing can be weighed.
        """
        if not (self.has_weights or needs_weights):
            return Steps(self.lengths, self.rewards, np.ones(len(self.rewards)))
        if self.chances is None:
            raise PieceError(
                "the policy takes one of many actions for sure, which nothing recorded is",
                expected="a policy that draws its actions, or few actions to choose from",
                hint="judge it by a model alone: method 'dm'.",
            )
        if self.behavior is None:
            raise PieceError(
                "the data has no column 'action_prob'",
                expected="how probable each action was: 'action_prob' or 'action_logp'",
                hint="name the policy that recorded it: behavior=PATH; in a terminal "
                "--behavior PATH. Or judge by a model alone: method 'dm'.",
            )
        chances = self.chances
        if epsilon:
            chances = chances * (1 - epsilon) + epsilon / actions
        return Steps(self.lengths, self.rewards, chances / self.behavior)


@dataclass
class ModelColumns:
    """What models are fitted to, a row a step but where it says otherwise.

    Args:
        seen: The observations as the network sees them, one more an episode.
        choices: What the policy would do there: how probable each possible action is, `(N, n)`;
            some that it draws, `(N, k, d)`, where they are not few.
        actions: What was done, `(N,)` or `(N, d)`.
        is_last: After which nothing comes.
    """

    seen: Array
    choices: Array
    actions: Array
    is_last: Array


class Watching:
    """A policy that is about to watch data.

    Args:
        native: A `Policy`, a `V2Triple` or an exported `Artifact`.
        data: What was recorded.
        form: Whether observations are the environment's ("raw") or as the policy that recorded
            them saw them behind its connectors ("seen"); "auto" tells by their shapes.
        is_normalized: Whether actions are as networks give them; None tells by the kind of data.
        is_greedy: Whether the policy is judged as one that always takes its best action.
    """

    def __init__(
        self,
        native: Native,
        data: Dataset,
        *,
        form: Form = "auto",
        is_normalized: bool | None = None,
        is_greedy: bool = False,
    ) -> None:
        if form not in ("auto", "raw", "seen"):
            raise ConfigError(
                f"observations={form!r}", expected="'raw', 'seen' or 'auto'", hint="leave it out."
            )
        self.native, self.data, self.form, self.is_greedy = native, data, form, is_greedy
        if is_normalized is None:
            is_normalized = data.format not in _ENVIRONMENT_ACTIONS
            if isinstance(native, Policy) and is_normalized:
                is_normalized = bool(native.config.get("actions_in_input_normalized", True))
        self.is_normalized = is_normalized

    def answers(
        self, parts: Iterable[Recordings], draws: int = 0
    ) -> Iterator[tuple[Recordings, Answers]]:
        """Episodes with what the policy makes of them, some thousand steps at a time.

        `draws` is how many actions the policy is to draw at each step, where they are not few.
        """
        watcher = None
        for group in groups_of(parts):
            if watcher is None:
                _check_actions(group.actions, policy_spaces(self.native)[1])
                is_seen = is_behind_connectors(self.native, group.observations, self.form)
                manner = Manner(is_seen, self.is_normalized, self.is_greedy, draws)
                watcher = watcher_of(self.native, manner)
                space = None if manner.is_seen else policy_spaces(self.native)[0]
            yield group, answers_to(watcher, in_space(group, space))


def _check_actions(actions: Nest, space: Space[Any]) -> None:
    """Expect as many numbers an action as the policy gives; others would be stretched to fit."""
    recorded, known = nest.flatten(actions), nest.flatten(zero_of(space))
    if len(recorded) == len(known) == 1 and recorded[0][:1].size != np.size(known[0]):
        raise SpaceError(
            "recorded actions are not of the policy's space",
            expected=str(space),
            found=f"{recorded[0].shape[1:]} an action",
            hint="the data is of another environment; adapt the policy to that one.",
        )


def is_behind_connectors(native: Native, observations: Nest, form: Form = "auto") -> bool:
    """Whether recorded observations are as a network sees them, rather than the environment's.

    Observations are of one episode, `(T + 1, ...)`; `form` is "raw" or "seen" if the caller says
    so.
    """
    if form != "auto":
        return form == "seen"
    obs_space, network = policy_spaces(native)[0], network_space(native)
    if _fits(observations, obs_space):
        return False
    if network is not None and _fits(observations, network):
        return True
    raise SpaceError(
        "recorded observations are not of the policy's space",
        expected=f"{obs_space}" + ("" if network is None else f", or {network} behind connectors"),
        found=str(nest.map_structure(lambda leaf: tuple(leaf.shape[1:]), observations)),
        hint="adapt the policy to the environment of the data first: rlconnect adapt.",
    )


def watched(
    watching: Watching,
    *,
    policy: str = "",
    by_episode: bool = True,
    with_model: bool | None = False,
    behavior: Watching | None = None,
) -> Watched:
    """Go through all of the data once.

    Without `by_episode` each step is judged by itself, as for bandits. `with_model` keeps what
    models are fitted to; None does where it can. `behavior` is the policy that recorded the data,
    where that does not say how probable its actions were.
    """
    columns: dict[str, list[Any]] = {}
    ids: list[str] = []

    def keep(**parts: Any) -> None:
        for name, value in parts.items():
            columns.setdefault(name, []).append(value)

    groups = watching.data.recordings_at_once(policy, keep=True)
    if not by_episode:
        groups = (group.rows() for group in groups)
    for group, answers in watching.answers(groups, 0 if with_model is False else _DRAWS):
        ids += group.ids
        keep(
            lengths=group.lengths,
            rewards=group.rewards,
            chances=None if answers.chances is None else answers.chances[group.here],
            behavior=group.probabilities,
        )
        is_few = answers.all_chances is not None
        if with_model is None:
            with_model = is_few or _may_be_vectors(answers)
        if with_model:
            if not is_few and not _may_be_vectors(answers):
                raise PieceError(
                    "models of values of many actions look at vectors alone",
                    expected="a Discrete action space, or observations that are no images",
                    found=f"observations of shape {answers.seen.shape[1:]}",
                    hint="use weights alone: methods 'is', 'wis'.",
                )
            is_last = group.is_step_last.copy()
            is_last[is_last] = group.is_terminated
            done = answers.done
            keep(
                seen=answers.seen,
                choices=answers.all_chances if is_few else answers.draws,
                actions=np.asarray(group.actions).reshape(len(is_last))
                if done is None
                else done[group.here],
                is_last=is_last,
            )
    if not ids:
        raise PieceError("the data has no steps", hint="see info()['damaged'] of the dataset.")
    joined = {
        name: np.concatenate(parts)
        for name, parts in columns.items()
        if name != "behavior" and parts[0] is not None
    }
    is_recorded = all(part is not None for part in columns["behavior"])
    recorded = np.concatenate(columns["behavior"]) if is_recorded else None
    if recorded is None and behavior is not None:
        again = watched(behavior, policy=policy, by_episode=by_episode)
        recorded = again.chances
    return Watched(
        joined["lengths"],
        joined["rewards"],
        joined.get("chances"),
        recorded,
        ids,
        ModelColumns(*(joined[n] for n in ("seen", "choices", "actions", "is_last")))
        if with_model
        else None,
    )


def with_values(
    steps: Steps, columns: ModelColumns, gamma: float, settings: FittedQSettings
) -> Steps:
    """Steps beside the values of a model that is fitted to them."""
    count = len(steps.rewards)
    episodes = np.repeat(np.arange(len(steps.lengths)), steps.lengths)
    here = np.arange(count) + episodes  # one row more an episode
    is_few = columns.choices.ndim == 2
    transitions = Transitions(
        columns.seen[here],
        columns.actions.astype(np.int64 if is_few else np.float32),
        steps.rewards,
        columns.seen[here + 1],
        columns.choices[here + 1],
        columns.is_last,
    )
    model = (
        FittedQ(columns.seen.shape[1:], columns.choices.shape[1], settings)
        if is_few
        else FittedCritic(transitions, settings)
    )
    model.fit(transitions, gamma)
    choices = columns.choices[here]
    chosen, values = model.judged(transitions.seen, transitions.actions, choices)
    return replace(
        steps,
        chosen=chosen,
        values=values,
        influence=model.influence(transitions, steps.starts, choices[steps.starts], gamma),
        reach=model.reach,
    )


def _may_be_vectors(answers: Answers) -> bool:
    return answers.draws is not None and answers.seen.ndim == 2


def groups_of(parts: Iterable[Recordings], most_steps: int = _AT_ONCE) -> Iterator[Recordings]:
    """Episodes of one form some at a time: so many steps, or bytes, that the next one is enough."""
    group: list[Recordings] = []
    steps = size = 0
    for part in parts:
        if group and part.form != group[0].form:
            yield Recordings.joined(group)
            group, steps, size = [], 0, 0
        row_size = sum(leaf[:1].nbytes for leaf in nest.flatten(part.observations))
        begin = 0
        while begin < len(part):
            ended = np.cumsum(part.lengths[begin:])
            rows_seen = ended + np.arange(1, len(ended) + 1)
            is_enough = (steps + ended >= most_steps) | (size + rows_seen * row_size >= _MOST_BYTES)
            count = int(is_enough.argmax()) + 1 if is_enough.any() else len(ended)
            group.append(part.part(begin, begin + count))
            steps, size = steps + int(ended[count - 1]), size + int(rows_seen[count - 1]) * row_size
            if is_enough.any():
                yield Recordings.joined(group)
                group, steps, size = [], 0, 0
            begin += count
    if group:
        yield Recordings.joined(group)


def network_space(native: Native) -> Space[Any] | None:
    """What a policy's network sees; None of an exported program."""
    if isinstance(native, Policy):
        return native.observation_space
    module = getattr(native, "module", None)
    return None if module is None else module.observation_space


def _fits(observations: Nest, space: Space[Any]) -> bool:
    """Whether rows of observations have the form of a space."""
    expected = nest.flatten_with_path(zero_of(space))
    recorded = nest.flatten_with_path(observations)
    return [(path, np.shape(leaf)) for path, leaf in expected] == [
        (path, np.shape(leaf)[1:]) for path, leaf in recorded
    ]


def in_space(recording: Recordings, space: Space[Any] | None) -> Recordings:
    """Observations in the dtypes of their space: plain JSON has only its own."""
    if space is None:
        return replace(recording, observations=nest.map_structure(narrowed, recording.observations))
    obs = recording.observations
    if isinstance(space, Box) and isinstance(obs, np.ndarray) and obs.dtype == space.dtype:
        return recording

    def cast(like: Any, leaf: Any) -> Any:
        return leaf.astype(like.dtype, copy=False) if hasattr(like, "dtype") else leaf

    try:
        cast_ones = nest.map_structure(cast, zero_of(space), obs)
    except (TypeError, ValueError):
        raise SpaceError(
            f"the observations of episode {recording.ids[0]} are of another space",
            expected=str(space),
        ) from None
    return replace(recording, observations=cast_ones)
