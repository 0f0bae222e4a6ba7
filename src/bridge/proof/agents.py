"""Two sets of policies, compared while they play an environment of several agents."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from ...core.arrays.stage_differences import Differences
from ..environments import by_agent
from ..loading.mapping import Casting, PolicyMapping
from ..played_episodes import play_together
from .evidence import Evidence, Side
from .paired_settings import paired_settings, weights_of
from .recorded import action_row
from .staged import Staged
from .verdict import Returns, Verdict
from .verify import add_copied, at_rest, beside, check_alike, paired, verify


def verify_agents(
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    env: Any,
    *,
    policy_mapping_fn: PolicyMapping = None,
    episodes: int = 8,
    seed: int = 0,
    absolute: float = 1e-5,
    relative: float = 1e-5,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Verdict]:
    """Let one set of policies play, have the other see the same, and compare by policy.

    Args:
        ours: Policies by id; they act.
        theirs: As many, by the same ids; a single pair may have different ones.
        env: A live environment in RLlib's form of several agents, or one of PettingZoo's.
        policy_mapping_fn: Which policy plays an agent; see `Casting`.
        episodes: How many are played.
        seed: Of the first.
        absolute: The tolerance for numbers near 0.
        relative: The tolerance as a share of the number.
        progress: Called with how many episodes are done and how many there are.

    Returns:
        A comparison by policy id; returns are those of all agents together. Policies that no agent
        was played by are compared on random observations.

    Raises:
        PieceError: The two sets hold different policies.
    """
    pairs = paired(ours, theirs)
    mine = {name: at_rest(pair[0]) for name, pair in pairs.items()}
    yours = {name: at_rest(pair[1]) for name, pair in pairs.items()}
    for name in mine:
        check_alike(mine[name], yours[name])
    settings = {name: paired_settings(mine[name], yours[name]) for name in mine}
    table = _Table(by_agent(env), Casting(list(mine), policy_mapping_fn), absolute, relative)
    earned: tuple[list[float], list[float]] = ([], [])
    for number in range(episodes):
        earned[0].append(table.play(seed + number, mine, yours))
        earned[1].append(table.play(seed + number, yours))
        if progress is not None:
            progress(number + 1, episodes)
    returns = Returns(tuple(earned[0]), tuple(earned[1]))
    for name, differences in table.differences.items():
        add_copied(differences, mine[name], yours[name], settings[name])
    idle = [name for name in pairs if name not in table.differences]
    tolerance: dict[str, Any] = {"absolute": absolute, "relative": relative}
    rest = {name: verify(mine[name], yours[name], seed=seed, **tolerance) for name in idle}
    played = {
        name: Verdict(
            mine[name].name,
            yours[name].name,
            differences.stages(),
            table.steps[name],
            f"from {episodes} episodes played by all agents",
            (absolute, relative),
            returns,
            tuple(mine[name].pieces()),
            Evidence.of_now(
                Side.of(pairs[name][0], mine[name]), Side.of(pairs[name][1], yours[name]), seed=seed
            ),
        )
        for name, differences in table.differences.items()
    }
    return {name: played[name] if name in played else rest[name] for name in pairs}


class _Table:
    """An environment, the policy of each agent in it, and the differences found so far."""

    def __init__(self, env: Any, casting: Casting, absolute: float, relative: float) -> None:
        self.env = env
        self.casting = casting
        self.tolerance = absolute, relative
        self.differences: dict[str, Differences] = {}
        self.steps: dict[str, int] = {}

    def play(
        self, seed: int, actors: Mapping[str, Staged], watchers: Mapping[str, Staged] | None = None
    ) -> float:
        """One episode; the sum of all rewards."""
        obs, _ = self.env.reset(seed=seed)
        total, _, agents = play_together(
            self.env, obs, lambda seen, earned: self._act(seed, seen, earned, actors, watchers)
        )
        for side in (*actors.values(), *(watchers or {}).values()):
            side.reset([f"{seed}/{agent}" for agent in agents])
        return total

    def _act(
        self,
        seed: int,
        obs: Mapping[Hashable, Any],
        by_agent: Mapping[Hashable, float] | None,
        actors: Mapping[str, Staged],
        watchers: Mapping[str, Staged] | None,
    ) -> dict[Hashable, Any]:
        """Everybody's action, policy by policy."""
        groups: dict[str, list[Hashable]] = {}
        for agent in obs:
            groups.setdefault(self.casting(agent), []).append(agent)
        actions: dict[Hashable, Any] = {}
        for name, agents in groups.items():
            slots = [f"{seed}/{agent}" for agent in agents]
            observations = [obs[agent] for agent in agents]
            rewards = None if by_agent is None else [by_agent[agent] for agent in agents]
            mine = actors[name].step(slots, observations, rewards)
            actions |= {agent: action_row(mine["action"], row) for row, agent in enumerate(agents)}
            if watchers is None:
                continue
            other = watchers[name].step(slots, observations, rewards)
            if name not in self.differences:
                weights = weights_of(actors[name], watchers[name])
                self.differences[name] = Differences(*self.tolerance, weights)
            differences = self.differences[name]
            differences.add(
                beside(actors[name], mine, other), beside(watchers[name], other, mine), observations
            )
            self.steps[name] = self.steps.get(name, 0) + len(agents)
        return {agent: actions[agent] for agent in obs}
