"""Result of migrating a set of old policies: native, wrapped and missing pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from .plan import MigrationPlan


@dataclass
class Score:
    """Counts over a set of plans.

    Args:
        policies: How many policies there were.
        wrapped_equal: How many are equal to their source when wholly wrapped.
        mixtures: How many mixtures of old and new pieces ran.
        mixtures_equal: How many of them are equal to their source.
        connectors: How many connectors of the old stack's own became native, stay wrapped, ...
        networks: The same of networks.
        own: The same of what is the authors' own.
        largest: How far any number was apart in a mixture that is equal.
        reasons: Why pieces stay, with how often.
    """

    policies: int = 0
    wrapped_equal: int = 0
    mixtures: int = 0
    mixtures_equal: int = 0
    connectors: Counter[str] = field(default_factory=Counter)
    networks: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    largest: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def share_native(self) -> float:
        """The share of the old stack's own pieces, networks included, that became native."""
        counts = self.connectors + self.networks
        total = sum(counts.values())
        return (counts["native"] + counts["gone"]) / total if total else 1.0

    def add(self, plan: MigrationPlan) -> None:
        """Count a plan that was applied."""
        self.policies += 1
        self.wrapped_equal += bool(plan.proof.get("is_equal"))
        for step in plan.steps:
            if not step.is_builtin:
                self.own[step.kind] += 1
            else:
                (self.networks if step.side == "network" else self.connectors)[step.kind] += 1
            if step.kind in ("wrapped", "code"):
                self.reasons[f"{step.name}: {step.reason}"] += 1
            if step.is_applied or step.differed:
                self.mixtures += 1
                self.mixtures_equal += step.is_applied
                apart = step.proof.get("largest", {}).values()
                self.largest = max(self.largest, *apart, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {**asdict(self), "share_native": self.share_native}

    def __str__(self) -> str:
        def row(name: str, counts: Counter[str]) -> str:
            words = ("native", "gone", "wrapped", "code")
            return f"{name:<12}" + "".join(f"{counts[word]:>9}" for word in words)

        return "\n".join(
            [
                f"{self.wrapped_equal} of {self.policies} policies equal when wholly wrapped",
                f"{self.mixtures_equal} of {self.mixtures} mixtures of old and new pieces equal, "
                f"at most {self.largest:.1e} apart",
                f"{'':<12}{'native':>9}{'gone':>9}{'wrapped':>9}{'yours':>9}",
                row("connectors", self.connectors),
                row("networks", self.networks),
                row("authors' own", self.own),
                f"{self.share_native:.1%} of the old stack's own pieces become native",
                *(f"{count:>4} x {reason}" for reason, count in self.reasons.most_common()),
            ]
        )


def scoreboard(
    plans: Iterable[MigrationPlan], progress: Callable[[MigrationPlan], None] | None = None
) -> Score:
    """Apply all plans completely and count the results.

    Args:
        plans: One per policy; steps that are not applied yet are applied here.
        progress: Called with each plan after it was counted.
    """
    score = Score()
    for plan in plans:
        score.add(plan.apply())
        if progress is not None:
            progress(plan)
    return score
