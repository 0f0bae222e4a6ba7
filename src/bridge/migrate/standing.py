"""How a migration stands: what is native, what is left, and whether its proof still holds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ...core.vault.files.reading import fingerprint_of
from ...legacy.policy.stages import LegacyStages
from ..loading.options import words_of
from ..loading.triples import migrated_in
from ..proof.certified import verify_certificate
from ..proof.v2_stages import without_checks
from ..proof.verdict import Verdict
from ..proof.verify import verify
from .native_plan import NativePlan
from .plan import MigrationPlan


@dataclass(frozen=True)
class Standing:
    """Result of checking a migrated folder.

    Args:
        left: Steps that could be native and are not.
        code: Steps that require custom code.
        verdict: Comparison of the folder with its source policy.
        origin: The original source of the policy.
        has_origin_changed: Whether the files of the origin have changed; None if they cannot be
            read.
    """

    left: tuple[str, ...]
    code: tuple[str, ...]
    verdict: Verdict
    origin: str = ""
    has_origin_changed: bool | None = None

    @property
    def is_good(self) -> bool:
        """Whether no step is left and the proof holds."""
        return not self.left and not self.code and self.verdict.is_equal

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "is_good": self.is_good,
            "left": list(self.left),
            "code": list(self.code),
            "origin": self.origin,
            "has_origin_changed": self.has_origin_changed,
            "verdict": self.verdict.to_dict(),
        }


def check_migration(path: str | os.PathLike[str], *, samples: int = 64, **options: Any) -> Standing:
    """Compare a migrated folder with the policy that it was made from."""
    plan = MigrationPlan.load(path, **options)
    triple = migrated_in(path, words_of(options))
    if isinstance(plan, NativePlan):
        verdict = verify_certificate(triple)
    else:
        source = LegacyStages(plan.policy, observation_space=plan.observation_space)
        how: dict[str, Any] = {**plan.proofs, "samples": samples}
        verdict = verify(without_checks(triple), source, **how)
    origin = plan.origin.get("path", "")
    now = fingerprint_of(origin) if origin else ""
    return Standing(
        left=tuple(s.name for s in plan.steps if s.is_native and not s.is_applied),
        code=tuple(s.name for s in plan.steps if s.kind == "code"),
        verdict=verdict,
        origin=str(origin),
        has_origin_changed=now != plan.origin.get("checksum") if now else None,
    )
