"""What the comparison of two policies found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...core.arrays.stage_differences import StageComparison
from ...core.data.plain_data import as_json
from ...core.text.visible import visible
from .evidence import Evidence

_MOST_NUMBERS: Final = 10_000


@dataclass(frozen=True)
class Returns:
    """What two policies earned in the same episodes, each acting alone with the same seeds."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def difference(self) -> tuple[float, float]:
        """The mean of the paired differences, and half of its 95 % confidence interval."""
        apart = np.subtract(self.ours, self.theirs)
        if len(apart) < 2:
            return float(apart.mean()), float("inf")
        return float(apart.mean()), float(1.96 * apart.std(ddof=1) / np.sqrt(len(apart)))


@dataclass(frozen=True)
class Verdict:
    """What the comparison of two policies found.

    Args:
        ours: The first policy's name.
        theirs: The second's.
        stages: The comparison of each stage, in the order in which data passes them.
        steps: How many observations both were given.
        source: Where the observations are from, in words.
        tolerance: How much may differ, absolutely and relatively.
        returns: What they earned, if there was an environment.
        pieces: A title and a detail for each piece the first one's data passes.
        evidence: When, where and with what they were compared.
        policies: Where there are several, the comparison of each, by its id; stages are then those
            of all, with the policy in front of their names.
    """

    ours: str
    theirs: str
    stages: tuple[StageComparison, ...]
    steps: int
    source: str
    tolerance: tuple[float, float]
    returns: Returns | None = None
    pieces: tuple[tuple[str, str], ...] = ()
    evidence: Evidence | None = None
    policies: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def first_difference(self) -> StageComparison | None:
        """The first stage at which they part; None if they never do."""
        return next((stage for stage in self.stages if not stage.is_equal), None)

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs by more than the tolerance."""
        return self.first_difference is None

    @property
    def touches_actions(self) -> bool:
        """Whether the environment gets other actions somewhere."""
        return any(not stage.is_equal for stage in self._actions())

    @property
    def touches_returns(self) -> bool | None:
        """Whether they earn something else in some episode; None where none was played."""
        return None if self.returns is None else self.returns.ours != self.returns.theirs

    @property
    def worst_stage(self) -> StageComparison | None:
        """The stage with the largest difference; None where all are equal."""
        if self.first_difference is not None:
            return self.first_difference
        return max((s for s in self.stages if s.worst), key=lambda s: s.largest, default=None)

    def consequences(self) -> list[str]:
        """What the differences do to actions and returns, in words."""
        actions = self._actions()
        sentences = []
        if actions:
            agreement = min(stage.agreement for stage in actions)
            sentences.append(
                f"actions: other ones on {1 - agreement:.2%} of the observations"
                if self.touches_actions
                else "actions: the same on all observations"
            )
        if self.returns is None:
            return [*sentences, "returns: not compared, no environment was played"]
        apart = np.abs(np.subtract(self.returns.ours, self.returns.theirs))
        count, other = len(apart), int((apart != 0).sum())
        if not other:
            return [*sentences, f"returns: the same in all {count} episodes"]
        words = f"others in {other} of {count} episodes, at most {apart.max():.2g} apart"
        return [*sentences, f"returns: {words}"]

    def _actions(self) -> list[StageComparison]:
        return [stage for stage in self.stages if stage.name.rpartition(" ")[2] == "action"]

    def meaning(self) -> str:
        """What equal means here, and what shares and percentiles are of."""
        absolute, relative = self.tolerance
        most = max((stage.rounding for stage in self.stages), default=0.0)
        rounding = f" plus rounding (two ulps of the first layer's sums, {most:.1e} at most)"
        return (
            f"equal means within {absolute:g} plus {relative:g} of the number"
            f"{rounding if most else ''}; weights and "
            f"settings within {relative:g} of the largest beside them. Median and percentiles are "
            "of the differences of all numbers at a stage."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can hold."""
        data: dict[str, Any] = as_json(
            {
                **asdict(self),
                "is_equal": self.is_equal,
                "touches_actions": self.touches_actions,
                "touches_returns": self.touches_returns,
            },
            _MOST_NUMBERS,
        )
        return data

    def summary(self) -> dict[str, Any]:
        """What a migration keeps of it: a few numbers, and a line in words."""
        largest = {stage.name: stage.largest for stage in self.stages}
        first = self.first_difference
        words = (
            f"equal to the source on {self.steps} observations, "
            f"at most {max(largest.values(), default=0.0):.1e} apart"
            if first is None
            else f"parts from the source at {first.name}: {first.note or f'{first.largest:.2g}'}"
        )
        return {
            "is_equal": self.is_equal,
            "steps": self.steps,
            "largest": largest,
            "words": words,
        }

    def with_evidence(self, evidence: Evidence) -> Verdict:
        """The same verdict with what the caller knows of how it came about."""
        return replace(self, evidence=evidence)

    def save_report(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML page that needs nothing else."""
        from ...core.vault.own.atomic import replaced_file
        from .page import page_of

        with replaced_file(Path(path)) as staged:
            staged.write_text(page_of(self), encoding="utf-8")

    def __repr__(self) -> str:
        first = self.first_difference
        found = "equal" if first is None else f"they part at {first.name}"
        return visible(f"<Verdict {found}: {self.ours}, {self.theirs}, {self.steps} observations>")

    def __str__(self) -> str:
        lines = [
            f"{self.ours}  and  {self.theirs}",
            f"{self.steps} observations {self.source}",
            f"{'stage':<12} {'largest':>10} {'99 %':>10} {'agree':>8}",
        ]
        for stage in self.stages:
            mark = "" if stage.is_equal else "  <- differs"
            lines.append(
                f"{stage.name:<12} {stage.largest:>10.2g} {stage.quantiles[2]:>10.2g} "
                f"{stage.agreement:>7.1%}{mark} {stage.note}".rstrip()
            )
        if self.returns is not None:
            mean, half = self.returns.difference
            lines.append(
                f"return {np.mean(self.returns.ours):.4g} beside {np.mean(self.returns.theirs):.4g}"
                f", difference {mean:.3g} +- {half:.2g}"
            )
        lines += self.consequences()
        first = self.first_difference
        lines.append("equal" if first is None else f"they part at: {first.name}")
        return "\n".join(lines)


def together(verdicts: Mapping[str, Verdict]) -> Verdict:
    """The comparisons of several policies as one; of a single one that one."""
    if len(verdicts) == 1:
        return next(iter(verdicts.values()))
    every = list(verdicts.values())
    stages = [
        replace(stage, name=f"{name} {stage.name}")
        for name, verdict in verdicts.items()
        for stage in verdict.stages
    ]
    sides = [
        side for verdict in every if verdict.evidence is not None for side in verdict.evidence.sides
    ]
    first = every[0]
    evidence = None if first.evidence is None else replace(first.evidence, sides=tuple(sides))
    return Verdict(
        ", ".join(verdict.ours for verdict in every),
        ", ".join(verdict.theirs for verdict in every),
        tuple(stages),
        sum(verdict.steps for verdict in every),
        first.source,
        first.tolerance,
        next((verdict.returns for verdict in every if verdict.returns is not None), None),
        (),
        evidence,
        dict(verdicts),
    )
