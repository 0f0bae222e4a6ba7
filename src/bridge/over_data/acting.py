"""A policy over recorded observations, by the million: its actions, streamed into files.

Episodes are read in groups of some thousand steps, acted on here or in other processes (`hands`),
and written in the order they were read; no more is held than a few groups. A policy with a memory
goes along each episode as if it played it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from ...core import nest
from ...core.arrays.padding import places_by_time
from ...core.errors import CheckpointWriteError, ConfigError, MissingExtraError, PieceError
from ...core.step.plan import ActPlan
from ...core.types import Array, Nest
from ...core.vault.own.atomic import replaced_file
from ...core.vault.own.write_errors import refusals
from ...legacy.policy.policy import Policy
from ...offline.recordings import Recordings
from ..actor.actor import Actor
from ..actor.legacy_plan import legacy_plan
from ..actor.player import PlannedPlayer
from ..actor.players import player_of
from ..actor.v2_plan import v2_plan
from ..loading.natives import Native, natives_of, policy_spaces
from .hands import Hands
from .watched import Form, dataset_at, groups_of, in_space, is_behind_connectors, network_space
from .watchers import not_behind_connectors

if TYPE_CHECKING:
    from ..loading.natives import Source

Format = Literal["parquet", "json"]

AT_ONCE: Final = 8_192
_MANIFEST: Final = "act.json"
_ROWS_A_FILE: Final = 1 << 17
_Write = Callable[[Path, Mapping[str, Any]], None]


@dataclass(frozen=True)
class Acted:
    """What was acted on.

    Args:
        rows: How many steps.
        episodes: How many episodes they are of.
        files: How many files there are.
        kept: How many of them an earlier run had written.
    """

    rows: int
    episodes: int
    files: int
    kept: int

    def to_dict(self) -> dict[str, int]:
        """As plain data."""
        return asdict(self)


def infer(policy: Source, observations: Any, *, explore: bool = False, **options: Any) -> Nest:
    """The actions of a policy for many observations, each the first of an episode.

    Args:
        policy: A path, what `rlconnect.load` gave, a policy of either stack, or an `Actor`.
        observations: An array with a row for each, or a nest of arrays.
        explore: Whether to explore.
        **options: As for `rlconnect.load`, of a path.
    """
    actor = policy if isinstance(policy, Actor) else Actor.from_policy(policy, **options)
    count = len(nest.a_leaf(observations))
    if not count:
        raise ConfigError("there is no observation to act on", hint="give some.")
    parts = []
    for start in range(0, count, AT_ONCE):
        rows = nest.taken(observations, slice(start, start + AT_ONCE))
        parts.append(actor.act(rows, explore=explore))
        if actor.remembers:
            actor.reset()
    return nest.joined(parts)


def act_on(
    policy: Source,
    data: Any,
    out: str | os.PathLike[str],
    *,
    policy_id: str | None = None,
    observations: Form = "auto",
    explore: bool = False,
    seed: int = 0,
    processes: int = 1,
    ray: bool = False,
    to: Format | None = None,
    name: str = "",
    **options: Any,
) -> Acted:
    """Let a policy act on recorded observations, and write what it does.

    A file lies in `out` whole or not at all; a run that was broken off goes on where it stopped.

    Args:
        policy: A path, what `rlconnect.load` gave, or a policy of either stack.
        data: A path for `open_dataset`, or what it gave.
        out: The folder to write.
        policy_id: Which of several policies; its agents are acted for.
        observations: As for `evaluate`.
        explore: Whether to explore.
        seed: Of exploration.
        processes: How many act at the same time.
        ray: Whether they act in actors of Ray, wherever its cluster has room.
        to: "parquet" (the extra `offline`) or "json"; None takes the first that is there.
        name: What to call the policy in the folder's manifest.
        **options: As for `rlconnect.load`, of a path.

    Raises:
        MissingExtraError: Ray is asked for, or pyarrow, and is not installed.
        CheckpointWriteError: `out` holds what another run wrote.
        SpaceError: The data is of another environment.
    """
    kind = to or ("parquet" if find_spec("pyarrow") else "json")
    write = _writer(kind)
    dataset = dataset_at(data)
    native = natives_of(policy, policy_id, **options).only
    folder = Path(out)
    order = {
        "policy": name or policy_id or native.name,
        "data": str(data) if isinstance(data, (str, os.PathLike)) else dataset.format,
        "explore": explore,
        "seed": seed,
        "format": kind,
    }
    parts = dataset.recordings_at_once(native.name)
    first = next(parts, None)
    if first is None:
        raise PieceError("the data has no steps", hint="see info()['damaged'] of the dataset.")
    is_seen = is_behind_connectors(native, first.observations, observations)
    space = None if is_seen else policy_spaces(native)[0]
    actor = actor_behind(native) if is_seen else Actor.from_policy(native)
    parts = (in_space(part, space) for part in chain([first], parts))
    rows = episodes = files = files_kept = 0
    with Hands(Acting(actor, explore, seed), processes, on_ray=ray) as hands:
        _claim(folder, order)
        for number, group in enumerate(groups_of(parts, _ROWS_A_FILE)):
            rows, episodes, files = rows + len(group.rewards), episodes + len(group), files + 1
            file = folder / f"actions-{number:06d}.{kind}"
            if os.path.isfile(file):
                files_kept += 1
                continue
            for done, columns in hands.take(file, group, number):
                with replaced_file(done) as staged:
                    write(staged, columns)
        for done, columns in hands.rest():
            with replaced_file(done) as staged:
                write(staged, columns)
    return Acted(rows, episodes, files, files_kept)


def actor_behind(native: Native) -> Actor:
    """An actor that takes observations as the network sees them, behind all connectors."""
    player = player_of(native)
    if not isinstance(player, PlannedPlayer):
        raise not_behind_connectors(player)
    source = player.policy
    return Actor({native.name: PlannedPlayer(_plan_behind(source), source, _plan_behind)})


def _plan_behind(source: Any) -> ActPlan:
    plan = legacy_plan(source) if isinstance(source, Policy) else v2_plan(source)
    return replace(plan, obs=(), observation_space=network_space(source) or plan.observation_space)


class BatchActor:
    """Acts on batches of rows, for `map_batches` of Ray Data and the like.

    Args:
        policy: As for `infer`; loaded once, where it acts.
        column: Which column holds the observations.
        explore: Whether to explore.
        **options: As for `rlconnect.load`, of a path.

    Example:
        >>> actor = BatchActor("examples/checkpoints/ppo-cartpole-ray-2.60")
        >>> actor({"obs": np.zeros((3, 4), np.float32)})["actions"].shape
        (3,)
    """

    def __init__(
        self, policy: Source, column: str = "obs", *, explore: bool = False, **options: Any
    ) -> None:
        self._actor = policy if isinstance(policy, Actor) else Actor.from_policy(policy, **options)
        self._column, self._explore = column, explore

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The batch with the policy's actions beside the other columns.

        Raises:
            PieceError: It has no such column.
        """
        if self._column not in batch:
            raise PieceError(
                f"this batch has no column {self._column!r}",
                found=", ".join(map(repr, batch)),
                hint="name it: column=...",
            )
        obs = batch[self._column]
        if isinstance(obs, np.ndarray) and obs.dtype.hasobject:  # lists, as Parquet holds them
            obs = np.stack([np.asarray(row) for row in obs])
        space = self._actor.observation_space
        if space.dtype is not None and isinstance(obs, np.ndarray):
            obs = obs.astype(space.dtype, copy=False)
        return {**batch, **_named(infer(self._actor, obs, explore=self._explore))}


class Acting:
    """An actor that goes along recorded episodes; it travels into other processes.

    Each group of episodes has its own seed of exploration.
    """

    def __init__(self, actor: Actor, explore: bool = False, seed: int = 0) -> None:
        self.actor, self.explore, self.seed = actor, explore, seed

    def __call__(self, group: Recordings, number: int = 0) -> dict[str, Any]:
        """Columns of all steps of some episodes: episode, agent, time and action."""
        if self.explore:
            self.actor.rng = np.random.default_rng((self.seed, number))
        obs = nest.taken(group.observations, group.here)
        return {
            **_repeated("eps_id", group.ids, group.lengths),
            **_repeated("agent_id", group.agents, group.lengths),
            "t": group.times,
            **_named(
                self._along(group, obs)
                if self.actor.remembers
                else infer(self.actor, obs, explore=self.explore)
            ),
        }

    def _along(self, group: Recordings, obs: Nest) -> Nest:
        """Episodes side by side, the longest first."""
        earned = np.where(group.times > 0, np.roll(group.rewards, 1), 0.0)
        times = places_by_time(group.lengths)
        self.actor.reset()
        self.actor.max_sessions = max(self.actor.max_sessions, len(group))
        steps = [
            self.actor.act(
                nest.taken(obs, places),
                env_ids=range(len(places)),
                reward=earned[places],
                explore=self.explore,
            )
            for places in times
        ]
        self.actor.reset()
        return nest.taken(nest.joined(steps), np.argsort(np.concatenate(times)))


def _claim(folder: Path, order: Mapping[str, Any]) -> None:
    """Make the folder this run's, or find it so."""
    file = folder / _MANIFEST
    with refusals(folder):
        folder.mkdir(parents=True, exist_ok=True)
        before = file.read_text(encoding="utf-8") if os.path.isfile(file) else None
        text = json.dumps(order, indent=2) + "\n"
        if before is None and any(folder.iterdir()):
            raise CheckpointWriteError(
                f"{folder} is not empty", hint="name a folder that is empty or not there yet."
            )
        if before is not None and before != text:
            raise CheckpointWriteError(
                f"{folder} holds what another run wrote",
                expected=" ".join(text.split())[:300],
                found=" ".join(before.split())[:300],
                hint="name another folder.",
            )
        if before is None:
            with replaced_file(file) as staged:
                staged.write_text(text, encoding="utf-8")


def _repeated(name: str, values: Sequence[str], lengths: Array) -> dict[str, list[str]]:
    """A column of texts, one for each step; none where there are none."""
    if not any(values):
        return {}
    pairs = zip(values, lengths.tolist(), strict=True)
    return {name: [value for value, count in pairs for _ in range(count)]}


def _named(actions: Nest) -> dict[str, Array]:
    """Actions as columns: one, or one a part."""
    return {name: np.asarray(leaf) for name, leaf in nest.named_leaves("actions", actions)}


def _writer(kind: str) -> _Write:
    if kind == "json":
        return _write_json
    if kind != "parquet":
        raise ConfigError(f"to={kind!r}", expected="'parquet' or 'json'")
    if find_spec("pyarrow") is None:
        raise MissingExtraError(
            "writing Parquet needs pyarrow, which is not installed",
            hint='pip install "rlconnect[offline]", or --to json.',
        )
    return _write_parquet


def _write_json(file: Path, columns: Mapping[str, Any]) -> None:
    plain = {
        name: column.tolist() if isinstance(column, np.ndarray) else column
        for name, column in columns.items()
    }
    rows = (dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True))
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _write_parquet(file: Path, columns: Mapping[str, Any]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: _arrow(column) for name, column in columns.items()})
    parquet.write_table(table, file)


def _arrow(column: Any) -> Any:
    """A column with one number, or one list of numbers, a row."""
    import pyarrow as pa

    if not isinstance(column, np.ndarray) or column.ndim == 1:
        return pa.array(column)
    width = int(np.prod(column.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(pa.array(column.reshape(-1)), width)
