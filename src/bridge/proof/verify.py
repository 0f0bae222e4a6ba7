"""Prove that two policies do the same, or show where they part first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.arrays.stage_differences import Differences
from ...core.errors import PieceError
from ...core.spaces.values import Course, sampled_courses
from ...core.types import Nest
from ...legacy.policy.policy import Policy
from ...legacy.policy.stages import LegacyStages
from ..environments import has_agents, live_env
from ..loading.mapping import PolicyMapping
from ..loading.natives import natives_of
from ..played_episodes import play_alone
from ..triple import V2Triple
from .evidence import Evidence, Side
from .paired_settings import (
    PairedSettings,
    paired_settings,
    paired_weights,
    settings_stage,
    weights_of,
)
from .recorded import action_row, courses_for
from .staged import PlayedStages, Staged, in_form_of
from .verdict import Returns, Verdict, together

_AT_ONCE = 256


def verify(
    a: Any,
    b: Any,
    *,
    policy: str | None = None,
    env: Any = None,
    policy_mapping_fn: PolicyMapping = None,
    episodes: int = 8,
    observations: str | os.PathLike[str] | Sequence[Any] | None = None,
    samples: int = 64,
    length: int = 4,
    seed: int = 0,
    absolute: float = 1e-5,
    relative: float = 1e-5,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Verdict:
    """Run two policies on the same observations and compare what each stage gives.

    Several policies are compared policy by policy: the verdict's `policies` holds each, and its
    stages are those of all.

    Args:
        a: A path, what `rlconnect.load` gave, a policy of either stack, several by id, or anything
            with stages.
        b: Another one, for the same environment.
        policy: Which policy of several.
        env: An environment, its id or a function that makes one; `a` acts in it, and then each
            alone with the same seeds. It may be one of several agents.
        policy_mapping_fn: Which policy plays an agent there; the agent's own name, or the only
            policy, if neither this nor `a` says so.
        episodes: How many episodes are played there.
        observations: Recorded ones: one episode, a list of episodes, or a file or folder of them
            (`.npy`, `.npz`, or whatever `rlconnect.offline.open_dataset` reads).
        samples: How many random episodes are drawn from the observation space, beside its
            corners, where nothing else is given.
        length: How many steps each of those has.
        seed: Of draws and episodes.
        absolute: The tolerance for numbers near 0.
        relative: The tolerance as a share of the number.
        progress: Called with how many steps are done and how many there are.
        **options: As for `rlconnect.load`, of paths.

    Returns:
        The comparison; `verdict.is_equal` is the answer.

    Raises:
        PieceError: The two see different observations or take different actions, or hold
            different policies.
    """
    if env is not None and observations is not None:
        raise PieceError(
            "verify() with an environment and with recorded observations",
            expected="one of both",
            hint="compare twice; both have to be equal.",
        )
    ours, mapping = _acting(a, policy, options)
    theirs, _ = _acting(b, policy, options)
    tolerance: dict[str, Any] = {"absolute": absolute, "relative": relative, "seed": seed}
    drawn: dict[str, Any] = {"observations": observations, "samples": samples, "length": length}
    opened, is_made_here = (None, False) if env is None else live_env(env)
    try:
        if opened is not None and has_agents(opened):
            from .agents import verify_agents

            mapping = policy_mapping_fn or mapping
            by_policy = verify_agents(
                ours,
                theirs,
                opened,
                policy_mapping_fn=mapping,
                episodes=episodes,
                progress=progress,
                **tolerance,
            )
            return together(by_policy)
        how: dict[str, Any] = {
            **tolerance,
            **drawn,
            "env": opened,
            "episodes": episodes,
            "progress": progress,
        }
        if len(ours) == len(theirs) == 1:
            ((mine,), (yours,)) = ours.values(), theirs.values()
            is_path = [isinstance(source, (str, os.PathLike)) for source in (a, b)]
            sides = (a if is_path[0] else mine), (b if is_path[1] else yours)
            return _compared(mine, yours, sides, **how)
        if opened is not None or observations is not None:
            raise PieceError(
                f"there are {max(len(ours), len(theirs))} policies and one agent",
                found=", ".join(ours),
                hint="name one: policy=ID; in a terminal --policy ID.",
            )
        pairs = paired(ours, theirs)
        return together({name: _compared(*pair, pair, **how) for name, pair in pairs.items()})
    finally:
        if is_made_here and opened is not None:
            opened.close()


def _acting(
    source: Any, policy: str | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], PolicyMapping]:
    """What acts in anything, by id, and which agent has which."""
    if _has_stages(source):
        return {source.name: source}, None
    natives = natives_of(source, policy, **options)
    return dict(natives.policies), natives.mapping


def paired(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What both hold, by id; a single one of each is a pair whatever they are called."""
    if len(ours) == len(theirs) == 1:
        return {name: (policy, *theirs.values()) for name, policy in ours.items()}
    if set(ours) != set(theirs):
        raise PieceError(
            "these hold different policies",
            expected=", ".join(ours),
            found=", ".join(theirs),
            hint="choose those that both have.",
        )
    return {name: (policy, theirs[name]) for name, policy in ours.items()}


def _compared(
    a: Any,
    b: Any,
    sides: tuple[Any, Any],
    *,
    env: Any,
    episodes: int,
    observations: Any,
    samples: int,
    length: int,
    seed: int,
    absolute: float,
    relative: float,
    progress: Callable[[int, int], None] | None,
) -> Verdict:
    """One policy beside another one."""
    ours, theirs = at_rest(a), at_rest(b)
    differences = Differences(absolute, relative, weights_of(ours, theirs))
    check_alike(ours, theirs)
    settings = paired_settings(ours, theirs)  # before filters and memories see anything
    returns = None
    if env is not None:
        steps, returns = _play(ours, theirs, env, episodes, seed, differences, progress)
        source = f"from {episodes} episodes played"
    else:
        if observations is None:
            space = ours.observation_space
            courses = sampled_courses(space, count=samples, length=length, seed=seed)
            source = f"drawn from the space: {samples} random episodes and its corners"
        else:
            courses = courses_for(ours.observation_space, observations)
            source = f"recorded, {len(courses)} episodes"
        steps = _walk(ours, theirs, courses, differences, progress)
    add_copied(differences, ours, theirs, settings)
    return Verdict(
        ours.name,
        theirs.name,
        differences.stages(),
        steps,
        source,
        (absolute, relative),
        returns,
        tuple(ours.pieces()),
        Evidence.of_now(Side.of(sides[0], ours), Side.of(sides[1], theirs), seed=seed),
    )


def add_copied(
    differences: Differences, ours: Staged, theirs: Staged, settings: PairedSettings | None
) -> None:
    """Compare what no output may show: weights and settings, where both are built alike."""
    weights = paired_weights(ours, theirs)
    if weights is not None:
        differences.add({"weights": weights[0]}, {"weights": weights[1]})
    if settings is not None:
        mine, yours, note = settings_stage(*settings)
        if mine:
            differences.add({"settings": mine}, {"settings": yours})
        if note:
            differences.note("settings", note)


def staged(policy: Any, name: str = "") -> Staged:
    """A policy as something whose stages can be looked at."""
    if _has_stages(policy):
        stages: Staged = policy
        return stages
    native = natives_of(policy).only
    if isinstance(native, Policy):
        return LegacyStages(native, name)
    if isinstance(native, V2Triple):
        from .v2_stages import V2Stages

        return V2Stages(native, name)
    from ..actor.program_player import ProgramPlayer

    return PlayedStages(ProgramPlayer(native), native.manifest["pieces"], name)


def at_rest(policy: Any) -> Staged:
    """Likewise, with filters that stand still, so that what comes first changes nothing later."""
    side = staged(policy)
    if hasattr(side, "is_at_rest"):
        side.is_at_rest = True
    return side


def _has_stages(policy: Any) -> bool:
    return all(hasattr(policy, name) for name in ("step", "reset", "name", "pieces"))


def _walk(
    ours: Staged,
    theirs: Staged,
    courses: list[Course],
    differences: Differences,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Take both through all courses, many side by side."""
    total = sum(map(len, courses))
    done = 0
    for start in range(0, len(courses), _AT_ONCE):
        batch = courses[start : start + _AT_ONCE]
        slots = [f"course-{start + place}" for place in range(len(batch))]
        for side in (ours, theirs):
            side.reset(slots)
        for step in range(max(map(len, batch))):
            active = [place for place, course in enumerate(batch) if step < len(course)]
            names = [slots[place] for place in active]
            observations = [batch[place][step] for place in active]
            rewards = None if step == 0 else [0.0] * len(active)
            mine, yours = (side.step(names, observations, rewards) for side in (ours, theirs))
            differences.add(beside(ours, mine, yours), beside(theirs, yours, mine), observations)
            done += len(active)
            if progress is not None:
                progress(done, total)
        for side in (ours, theirs):
            side.reset(slots)
    return done


def _play(
    ours: Staged,
    theirs: Staged,
    env: Any,
    episodes: int,
    seed: int,
    differences: Differences,
    progress: Callable[[int, int], None] | None,
) -> tuple[int, Returns]:
    """Both watch the first one play; then each plays alone with the same seeds."""
    steps = 0
    earned: tuple[list[float], list[float]] = ([], [])
    for number in range(episodes):
        total, count = _episode(env, seed + number, ours, theirs, differences)
        earned[0].append(total)
        steps += count
        total, count = _episode(env, seed + number, theirs)
        earned[1].append(total)
        if progress is not None:
            progress(number + 1, episodes)
    return steps, Returns(tuple(earned[0]), tuple(earned[1]))


def _episode(
    env: Any,
    seed: int,
    actor: Staged,
    watcher: Staged | None = None,
    differences: Differences | None = None,
) -> tuple[float, int]:
    slots = [f"episode-{seed}"]

    def act(obs: Any, reward: Any) -> Any:
        rewards = None if reward is None else [reward]
        outputs = actor.step(slots, [obs], rewards)
        if watcher is not None and differences is not None:
            other = watcher.step(slots, [obs], rewards)
            differences.add(beside(actor, outputs, other), beside(watcher, other, outputs), [obs])
        return action_row(outputs["action"])

    both = [side for side in (actor, watcher) if side is not None]
    for side in both:
        side.reset(slots)
    obs, _ = env.reset(seed=seed)
    total, count, _ = play_alone(env, obs, act)
    for side in both:
        side.reset(slots)
    return total, count


def beside(staged: Staged, outputs: dict[str, Nest], other: dict[str, Nest]) -> dict[str, Nest]:
    """What one gave, its nested observation flat where the other's network takes it flat."""
    if not isinstance(staged, LegacyStages):
        return outputs
    return in_form_of(outputs, other, staged.policy.observation_space)


def check_alike(ours: Staged, theirs: Staged) -> None:
    """Refuse two that see different observations or take different actions."""
    for what in ("observation", "action"):
        mine, yours = (getattr(side, f"{what}_space") for side in (ours, theirs))
        if type(mine) is not type(yours) or mine.shape != yours.shape:
            raise PieceError(
                f"{ours.name} and {theirs.name} have different {what}s",
                expected=str(mine),
                found=str(yours),
                hint="adapt one of them to the other's environment first.",
            )
