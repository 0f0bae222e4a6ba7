"""Does a policy still do what its parity certificate says?"""

from __future__ import annotations

from typing import Any

from ...core import nest
from ...core.arrays.stage_differences import StageComparison
from ...core.data.damage import at
from ...core.vault.file_names import CERTIFICATE_FILE
from ...legacy.policy.certificate import compare_stages, compare_with_certificate
from ...legacy.policy.policy import Policy
from ...legacy.policy.stages import LegacyStages
from ..triple import V2Triple
from .evidence import Evidence, Side
from .paired_settings import weights_behind
from .staged import Staged, in_form_of
from .verdict import Verdict


def verify_certificate(
    policy: Policy | V2Triple, *, absolute: float = 1e-5, relative: float = 1e-5
) -> Verdict:
    """Compare a loaded policy with the certificate that it was saved with.

    Args:
        policy: Loaded from a checkpoint that rlconnect wrote, migrated or not.
        absolute: The tolerance for numbers near 0.
        relative: The tolerance as a share of the number.

    Raises:
        WeightsError: It has no certificate.
    """
    shown: Staged
    if isinstance(policy, Policy):
        extra: Any = {} if policy.record is None else policy.record.extra
        certificate: Any = extra.get("certificate") or {}
        stages = compare_with_certificate(policy, certificate, absolute=absolute, relative=relative)
        shown = LegacyStages(policy)
    else:
        certificate = policy.certificate
        stages = compare_with_source(policy, absolute=absolute, relative=relative)
        from .v2_stages import V2Stages  # with torch

        shown = V2Stages(policy)
    return Verdict(
        shown.name,
        "its certificate",
        stages,
        sum(len(nest.a_leaf(step["action"])) for step in certificate["steps"]),
        "kept in its certificate",
        (absolute, relative),
        None,
        tuple(shown.pieces()),
        Evidence.of_now(Side.of(policy, shown)),
    )


@at(CERTIFICATE_FILE)
def compare_with_source(
    migrated: V2Triple, *, absolute: float = 1e-5, relative: float = 1e-5
) -> tuple[StageComparison, ...]:
    """What a migrated policy makes of its certificate's observations, and what its source did."""
    from .v2_stages import V2Stages, without_checks  # with torch

    space = migrated.env_to_module.input_observation_space
    stages = V2Stages(without_checks(migrated))
    return compare_stages(
        stages,
        migrated.certificate,
        absolute=absolute,
        relative=relative,
        weights=weights_behind(stages) or {},
        in_form=lambda saved, mine: in_form_of(saved, mine, space),
    )
