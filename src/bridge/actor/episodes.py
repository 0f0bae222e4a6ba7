"""Whole episodes of an actor in an environment of any kind, and what it earned."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core import nest
from ...core.errors import PieceError
from ...core.types import Array
from ...core.video import MODE, filmed, frame_of, frames_a_second
from ..environments import by_agent, close, has_agents, is_vector, live_env
from ..lived_episodes import EpisodeRecorder
from ..played_episodes import play_alone, play_together

Progress = Callable[[int, int], None] | None


@dataclass(frozen=True)
class Played:
    """Results of a rollout, by episode.

    Args:
        returns: The sum of rewards of each episode, over all agents.
        lengths: The number of steps of each episode.
    """

    returns: tuple[float, ...]
    lengths: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(np.mean(self.returns))

    @property
    def half_interval(self) -> float:
        """Half of the mean's 95 % confidence interval; infinite for one episode."""
        if len(self.returns) < 2:
            return float("inf")
        return float(1.96 * np.std(self.returns, ddof=1) / np.sqrt(len(self.returns)))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        half = self.half_interval
        return {
            **asdict(self),
            "mean": self.mean,
            "half_interval": half if np.isfinite(half) else None,
        }


def play(
    actor: Any,
    env: Any,
    *,
    episodes: int,
    seed: int,
    explore: bool,
    progress: Progress = None,
    record: str | os.PathLike[str] | None = None,
    video: str | os.PathLike[str] | None = None,
) -> Played:
    """Let an actor play whole episodes; the arguments are those of `rollout`."""
    env, is_ours = live_env(env, **({} if video is None else {"render_mode": MODE}))
    try:
        if explore:
            actor.rng = np.random.default_rng(seed)
        if is_vector(env) and video is not None:
            raise PieceError(
                "a film shows one environment", found="many that step together: a vector"
            )
        if not is_vector(env):
            env = by_agent(env)
        recorder = None if record is None else EpisodeRecorder(record, env)
        rollout = _Rollout(actor, env, episodes, seed, explore, progress, recorder)
        film = nullcontext() if video is None else filmed(video, frames_a_second(env))
        try:
            with film as add:
                if is_vector(env):
                    return _vector(rollout)
                shoot = None if add is None else lambda: add(frame_of(env))
                return _one_by_one(rollout, shoot)
        finally:
            if recorder is not None:
                recorder.write()
    finally:
        if is_ours:
            close(env)


class _Rollout(NamedTuple):
    """The arguments of `rollout`, and what records its episodes."""

    actor: Any
    env: Any
    episodes: int
    seed: int
    explore: bool
    progress: Progress
    recorder: EpisodeRecorder | None


def _one_by_one(rollout: _Rollout, film: Callable[[], None] | None) -> Played:
    """Episodes one after the other, each with its own seed and memory."""
    actor, env, episodes, seed, explore, progress, recorder = rollout
    play_one: Callable[..., tuple[float, int, Any]]
    play_one = play_together if has_agents(env) else play_alone
    played = []
    for number in range(episodes):
        slot = f"rollout-{seed + number}"
        obs, info = env.reset(seed=seed + number)
        after = None
        if recorder is not None:
            recorder.begin(slot, obs, info)
            after = partial(recorder.step, slot)
        if film is not None:
            film()
            after = partial(_then, after, film)

        def act(obs: Any, reward: Any, slot: str = slot) -> Any:
            return actor.act(obs, env_ids=slot, reward=reward, explore=explore)

        played.append(play_one(env, obs, act, after))
        actor.reset(slot)
        if progress is not None:
            progress(number + 1, episodes)
    return Played(tuple(total for total, *_ in played), tuple(length for _, length, _ in played))


def _then(first: Callable[..., None] | None, film: Callable[[], None], *came: Any) -> None:
    """Record a step, if episodes are recorded, and film it."""
    if first is not None:
        first(*came)
    film()


def _vector(rollout: _Rollout) -> Played:
    """Episodes of a vector environment, as many of each sub-environment: no bias to short ones."""
    actor, env, episodes, seed, explore, progress, recorder = rollout
    count = int(env.num_envs)
    quota = np.full(count, episodes // count) + (np.arange(count) < episodes % count)
    mode = _autoreset(env)
    before, actor.autoreset = actor.autoreset, "next_step" if mode == "next_step" else "same_step"
    ids = [f"rollout-{seed}-{row}" for row in range(count)]
    by_env: list[list[tuple[float, int]]] = [[] for _ in range(count)]
    totals, lengths = np.zeros(count), np.zeros(count, np.int64)
    obs, _ = env.reset(seed=seed)
    if recorder is not None:
        for row in np.flatnonzero(quota):
            recorder.begin(ids[row], nest.taken(obs, row))
    reward: Array | None = None
    ended = was_over = np.zeros(count, bool)
    try:
        while any(
            len(done) < quota_of_env for done, quota_of_env in zip(by_env, quota, strict=True)
        ):
            actions = actor.act(obs, env_ids=ids, reward=reward, terminated=ended, explore=explore)
            obs, reward, terminated, truncated, infos = env.step(actions)
            ended = np.asarray(terminated) | np.asarray(truncated)
            # After an episode's last step, a next-step environment resets instead of stepping.
            counts = ~was_over if mode == "next_step" else np.ones(count, bool)
            totals += np.where(counts, np.asarray(reward), 0.0)
            lengths += counts
            if recorder is not None:
                for row in np.flatnonzero(counts & [ids[row] in recorder for row in range(count)]):
                    after = _final_obs(infos, row) if ended[row] and mode == "same_step" else None
                    recorder.step(
                        ids[row],
                        nest.taken(actions, row),
                        nest.taken(obs, row) if after is None else after,
                        reward[row],
                        terminated[row],
                        truncated[row],
                    )
            for row in np.flatnonzero(ended):
                by_env[row].append((float(totals[row]), int(lengths[row])))
                if progress is not None:
                    done = sum(map(min, map(len, by_env), quota))
                    progress(int(done), episodes)
            totals[ended], lengths[ended] = 0.0, 0
            if mode == "disabled" and ended.any():
                obs, _ = env.reset(options={"reset_mask": ended})
            if recorder is not None:
                for row in np.flatnonzero(was_over if mode == "next_step" else ended):
                    if len(by_env[row]) < quota[row]:
                        recorder.begin(ids[row], nest.taken(obs, row))
            was_over = ended
    finally:
        actor.autoreset = before
        actor.reset(ids)
    played = [
        one for done, quota_of_env in zip(by_env, quota, strict=True) for one in done[:quota_of_env]
    ]
    return Played(tuple(total for total, _ in played), tuple(length for _, length in played))


def _final_obs(infos: Any, row: Any) -> Any:
    """Return the last observation of an episode that a vector environment reset in this step."""
    for name in ("final_obs", "final_observation"):  # of gymnasium 1 and of before
        if name in infos:
            return infos[name][row]
    return None


def _autoreset(env: Any) -> str:
    """When a vector environment resets what has ended: "next_step", "same_step", "disabled"."""
    import gymnasium

    mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
    if mode is not None:
        return str(getattr(mode, "name", mode)).lower()
    return "same_step" if gymnasium.__version__.startswith("0.") else "next_step"
