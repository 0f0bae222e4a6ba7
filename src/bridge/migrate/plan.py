"""A migration, step by step: show, apply, verify, undo, save and continue."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gymnasium.spaces import Space

from ...core.data.budget import one_load
from ...core.data.checked import mapping
from ...core.data.damage import at
from ...core.errors import (
    ConfigError,
    CorruptCheckpointError,
    UnknownNameError,
)
from ...core.spaces.own_layout import space_from_data, space_to_data
from ...core.spaces.values import Course, sampled_courses
from ...legacy.connectors.adapted import seen_space
from ...legacy.policy.certificate import certificate_of
from ...legacy.policy.default_connectors import create_connectors_for_policy
from ...legacy.policy.policy import Policy
from ...legacy.policy.stages import LegacyStages
from ...v2.connectors.connector import ConnectorV2
from ..loading.natives import Natives, natives_of
from ..loading.options import words_of
from ..loading.triples import migrated_in
from ..proof.evidence import Evidence
from ..proof.recorded import courses_for, played_courses
from ..proof.v2_stages import V2Stages, without_checks
from ..proof.verdict import Verdict
from ..proof.verify import verify
from ..triple import V2Triple, is_triple
from ..twins.mixture import learner_pieces, mixture
from ..twins.native_module import native_module
from ..twins.step_order import steps_of
from ..twins.twin import proof_from
from .ray_config import training_settings
from .saved_plan import (
    FORMAT,
    NATIVE,
    VERSION,
    history_in,
    is_migrated,
    keep_source,
    origin_of,
    proofs_in,
    saved_plan,
    write_plan,
)
from .ways_on import ways_on


class MigrationPlan:
    """The migration of one old policy to the new stack, one piece per step.

    Old and new pieces run together after any steps; each step is proven against the source and
    taken back where it is not equal.

    Args:
        policy: The source, with connectors; it is not changed.
        source: Where it was loaded from; a plan of a live policy has none until it is saved.
        custom: Custom classes that its network needs, such as
            `{"custom_models": {...}}`.
        observation_space: The observation space of the environment, if a custom connector changes
            it; by default the policy's space.
        samples: Number of random episodes per verification, in addition to the corners of the
            space.
        length: Number of steps of each.
        seed: Seed of these episodes.
        absolute: Absolute tolerance.
        relative: Relative tolerance.

    Attributes:
        steps: In the order in which they are applied.
        module: The native module, or a `Refusal`.
        proof: Result of comparing the fully wrapped policy with the source; {} until a step ran.
        met: Recorded episodes used in verification, in addition to random ones.
        history: Previous saved states, with date, command and versions; oldest first.
        origin: The original source of the policy, and the checksum of its files at that time.
        written: The folder it was written to last, and for what: "v2" or "ray".
    """

    def __init__(
        self,
        policy: Policy,
        *,
        source: str = "",
        custom: Mapping[str, Any] | None = None,
        observation_space: Space[Any] | None = None,
        samples: int = 8,
        length: int = 3,
        seed: int = 0,
        absolute: float = 1e-5,
        relative: float = 1e-5,
    ) -> None:
        if policy.agent_connectors is None or policy.action_connectors is None:
            create_connectors_for_policy(policy, policy.config)
        self.policy = policy
        self.source = source
        self.custom = dict(custom or {})
        self.observation_space = observation_space or seen_space(policy)
        drawn = {"samples": samples, "length": length, "seed": seed}
        self.proofs = {**drawn, "absolute": absolute, "relative": relative}
        self.module = native_module(policy)
        self.steps = steps_of(policy, self.module)
        self.training = training_settings(policy.config)
        self.proof: dict[str, Any] = {}
        self.met: list[Course] = []
        self.history: list[dict[str, Any]] = []
        self.origin: dict[str, Any] = {}
        self.written: tuple[str, str] | None = None

    @property
    def natives(self) -> Natives:
        """The policy after the steps applied so far."""
        return Natives({self.policy.name: self.triple()})

    @property
    def explore(self) -> bool:
        """Whether the policy explores by default, according to its training config."""
        return bool(self.policy.config.get("explore", True))

    @property
    def is_done(self) -> bool:
        """Whether every step that can be applied is."""
        return all(step.is_applied for step in self.steps if step.is_native)

    def triple(self) -> V2Triple:
        """Return the pipelines and the module after the steps applied so far."""
        return mixture(
            self.policy,
            self.steps,
            self.module,
            custom=self.custom,
            observation_space=self.observation_space,
        )

    def learner_pieces(self) -> list[ConnectorV2]:
        """Native pieces for the front of the learner's pipeline."""
        return learner_pieces(self.steps)

    def apply(self, until: str | int | None = None) -> MigrationPlan:
        """Apply steps in order, each proven equal to the source or taken back.

        Args:
            until: The last step to apply, by name or place; None applies all.

        Returns:
            The plan itself.

        Raises:
            UnknownNameError: There is no such step.
        """
        last = len(self.steps) - 1 if until is None else self._place(until)
        if not self.proof:
            self.proof = self.verify().summary()
        for step in self.steps[: last + 1]:
            if step.is_applied or not step.is_native:
                continue
            step.is_applied = True
            try:
                verdict = self.verify()
            except Exception as error:  # the mixture may include custom pieces
                step.is_applied = False
                step.differed = f"its native twin fails: {type(error).__name__}: {error}"[:300]
                continue
            if verdict.is_equal:
                step.proof = verdict.summary()
                continue
            step.is_applied = False
            step.differed = f"its native twin gives other numbers: {verdict.summary()['words']}"
        return self

    def revert(self, name: str | int | None = None) -> MigrationPlan:
        """Take steps back.

        Args:
            name: Which one, by name or place; None takes all back.

        Returns:
            The plan itself.

        Raises:
            UnknownNameError: There is no such step.
        """
        chosen = self.steps if name is None else [self.steps[self._place(name)]]
        for step in chosen:
            step.is_applied, step.proof = False, {}
        return self

    def prove_on(
        self,
        *,
        env: Any = None,
        episodes: int = 8,
        observations: str | os.PathLike[str] | Sequence[Any] | None = None,
        samples: int | None = None,
        seed: int = 0,
    ) -> MigrationPlan:
        """Verify steps on observations of the source's rollouts, in addition to random ones.

        Args:
            env: An environment, its id or a function that makes one; the source plays in it.
            episodes: How many episodes it plays.
            observations: Recorded ones, as for `verify`.
            samples: How many random episodes each proof draws.
            seed: Of draws and episodes.

        Returns:
            The plan itself.
        """
        if samples is not None:
            self.proofs["samples"] = samples
        self.proofs["seed"] = seed
        source = LegacyStages(self.policy, observation_space=self.observation_space)
        if env is not None:
            self.met += played_courses(source, env, episodes=episodes, seed=seed)
        if observations is not None:
            self.met += courses_for(self.observation_space, observations)
        return self

    def verify(self, **options: Any) -> Verdict:
        """Compare the mixture of this moment with the source; options as of `verify`."""
        source = LegacyStages(self.policy, observation_space=self.observation_space)
        how: dict[str, Any] = {**self.proofs, **options}
        is_told = "env" in options or "observations" in options
        if self.met and not is_told:
            courses = sampled_courses(
                self.observation_space,
                count=how["samples"],
                length=how["length"],
                seed=how["seed"],
            )
            how["observations"] = [*courses, *self.met]
        mixed = V2Stages(without_checks(self.triple()), is_mine=True)
        verdict = verify(mixed, source, **how)
        if not self.met or is_told:
            return verdict
        words = f"{len(self.met)} recorded episodes, {how['samples']} random ones and corners"
        return replace(verdict, source=f"from {words}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state of the plan as JSON, and export a live policy to the same folder.

        The policy of an older plan is kept until the new plan is on disk.

        Args:
            path: The file to write.

        Raises:
            CheckpointWriteError: Writing failed; existing files are unchanged.
        """
        write_plan(Path(path), self.to_dict(), self.source, self.policy.export_checkpoint)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> MigrationPlan:
        """Load a saved plan, to continue it.

        Args:
            path: The file, or a folder that `save_migrated` wrote.
            **options: As for `Policy.from_checkpoint`: the author's own classes.

        Raises:
            CorruptCheckpointError: It is no such plan, or of another policy.
            MissingPartError: The policy that was migrated is not there any more.
        """
        target = Path(path)
        with one_load(), at(target.name):
            data, source = saved_plan(target)
            plan = _at_rest(cls, source, data, options)
            plan.history = history_in(data)
            plan.origin = dict(mapping(data.get("origin") or {}))
            plan.proof = proof_from(data.get("proof") or {})
            names = [step.name for step in plan.steps]
            steps = data.get("steps") or []
            saved = [step["name"] for step in steps]
            if names != saved:
                raise CorruptCheckpointError(
                    f"{target} is the plan of another policy",
                    expected=str(saved)[:200],
                    found=str(names),
                )
            for step, part in zip(plan.steps, steps, strict=True):
                with at("steps", step.name):
                    step.take(part)
            return plan

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "policy": self.policy.name,
            "source": self.source,
            "origin": self.origin or origin_of(self.source),
            "ray_version": getattr(getattr(self.policy, "record", None), "ray_version", ""),
            "observation_space": space_to_data(self.observation_space),
            "proofs": self.proofs,
            "explore": self.explore,
            "training": self.training,
            "proof": self.proof,
            "steps": [step.to_data() for step in self.steps],
            "history": self.history,
        }

    def certificate(self) -> dict[str, Any]:
        """Return the outputs of the source for a few observations, to save with the result."""
        return certificate_of(self.policy)

    def keep_source(self, folder: Path) -> str:
        """Save the source together with the result; return the reason if that is impossible."""
        return keep_source(self.policy, folder)

    def note(self, command: str = "") -> None:
        """Append the applied steps to the history if they changed; `command` led there."""
        applied = [step.name for step in self.steps if step.is_applied]
        if self.history and self.history[-1].get("applied") == applied:
            return
        now = Evidence.of_now(command=command, tell_host=False)
        entry = {"date": now.date, "command": command, "versions": dict(now.versions)}
        self.history.append({**entry, "applied": applied})

    def _place(self, name: str | int) -> int:
        if isinstance(name, int):
            if not -len(self.steps) <= name < len(self.steps):
                raise UnknownNameError(
                    f"there is no step {name}", expected=f"0 to {len(self.steps)}"
                )
            return name % len(self.steps)
        for place, step in enumerate(self.steps):
            if step.name == name:
                return place
        raise UnknownNameError(
            f"there is no step {name!r}", expected=", ".join(step.name for step in self.steps)
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self).splitlines()[0]}>"

    def __str__(self) -> str:
        done = sum(step.is_applied for step in self.steps)
        head = f"{self.policy.algorithm} {self.policy.name}: {done} of {len(self.steps)} applied"
        return "\n".join([head, *map(str, self.steps), *self.ways_on()])

    def ways_on(self) -> list[str]:
        """Return what can be done with the result: load it, train it, load it in Ray."""
        if not self.written:
            return []
        lines = ways_on(self.policy, *self.written)
        return [f"{word:<9}{line}" for word, line in (("written", self.written[0]), *lines)]


def plan_migration(
    path_or_policy: Any,
    policy_id: str | None = None,
    *,
    observation_space: Space[Any] | None = None,
    **options: Any,
) -> MigrationPlan:
    """Plan the migration of an old policy to the new stack, without changing anything.

    Args:
        path_or_policy: A path, a result of `rlconnect.load`, or an old-stack policy.
        policy_id: The policy to migrate, if the checkpoint contains several.
        observation_space: The observation space of the environment, if a custom connector changes
            it.
        **options: Those of `Policy.from_checkpoint`: `custom_models` and so on.

    Raises:
        ConfigError: The checkpoint holds several policies and none was named.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> plan = plan_migration(Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0}))
        >>> [step.name for step in plan.steps if not step.is_native]
        []
    """
    is_path = isinstance(path_or_policy, (str, os.PathLike))
    if is_path and is_migrated(path_or_policy):
        return MigrationPlan.load(path_or_policy, **options)
    native = one_native(path_or_policy, policy_id, **options)
    source = os.path.abspath(path_or_policy) if is_path else ""
    if isinstance(native, V2Triple):
        from .native_plan import NativePlan

        return NativePlan(native, source=source, custom=_custom(options))
    return MigrationPlan(
        native, source=source, custom=_custom(options), observation_space=observation_space
    )


def _at_rest(
    kind: type[MigrationPlan], source: str, data: Mapping[str, Any], options: Mapping[str, Any]
) -> MigrationPlan:
    """The plan of a saved policy, with no step taken yet."""
    arguments: dict[str, Any] = {"source": source, "custom": _custom(options)}
    if data.get("kind") == NATIVE:
        from .native_plan import NativePlan

        return NativePlan(migrated_in(source, words_of(options)), migration=data, **arguments)
    policy = one_native(source, str(data["policy"]), **options)
    if not isinstance(policy, Policy):
        raise ConfigError(
            "this is no policy of the old stack",
            found="a module of the new stack",
            hint="it is there already: load it, adapt it, verify it, export it.",
        )
    space_data = data.get("observation_space")
    space = None if space_data is None else space_from_data(space_data)
    return kind(policy, observation_space=space, **arguments, **proofs_in(data))


def one_native(source: Any, policy_id: str | None, **options: Any) -> Policy | V2Triple:
    """A policy of either stack, of a checkpoint or of anything that holds one."""
    natives = natives_of(source, **options)
    by_name = natives.policies or {"": natives.only}
    names = ", ".join(map(repr, by_name))
    if policy_id not in by_name and len(by_name) != 1:
        if policy_id is not None:
            raise UnknownNameError(f"no policy {policy_id!r} in {source}", expected=names)
        raise ConfigError(
            f"{source} holds {len(by_name)} policies",
            expected=f"policy_id=, one of {names}",
            hint="name one: migrate(PATH, policy=ID); in a terminal --policy ID.",
        )
    policy = next(
        native for name, native in by_name.items() if name == policy_id or len(by_name) == 1
    )
    if isinstance(policy, Policy):
        return policy
    if is_triple(policy):
        return V2Triple.of(policy)
    raise ConfigError(
        "an exported program cannot be migrated",
        found=type(policy).__name__,
        hint="migrate the checkpoint that it was exported from, and export that.",
    )


def _custom(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that name an author's classes."""
    prefixes = ("custom_", "trust")
    return {name: value for name, value in options.items() if value and name.startswith(prefixes)}
