"""From an old checkpoint to one of the new stack in one call."""

from __future__ import annotations

import os
from typing import Any, Literal

from ...core.errors import ConfigError
from ..loading.natives import Source
from .checkpoint import save_migrated
from .plan import MigrationPlan, plan_migration
from .ray_checkpoint import to_ray


def migrate(
    path_or_policy: Source,
    out: str | os.PathLike[str] | None = None,
    to: Literal["v2", "ray"] = "v2",
    *,
    policy: str | None = None,
    policy_id: str | None = None,
    **options: Any,
) -> MigrationPlan:
    """Migrate an old policy: every step that can be native is, each proven equal to the source.

    Args:
        path_or_policy: A path, what `rlconnect.load` gave, or a policy of the old stack.
        out: The folder to write; None writes nothing, the plan tells what would be.
        to: "v2" for rlconnect, or "ray" for a checkpoint that Ray's new stack loads.
        policy: Which policy of several.
        policy_id: Another spelling of `policy`.
        **options: As for `plan_migration`.

    Returns:
        The plan, applied.

    Raises:
        ConfigError: Ray has no class for a part of the policy.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> from rlconnect.legacy import Policy
        >>> plan = migrate(Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0}))
        >>> plan.is_done, plan.steps[-1].proof["is_equal"]
        (True, True)
    """
    if to not in ("v2", "ray"):
        raise ConfigError("the target of a migration", expected="'v2' or 'ray'", found=repr(to))
    plan = plan_migration(path_or_policy, policy or policy_id, **options).apply()
    if out is not None:
        if to == "ray":
            to_ray(plan, out)
        else:
            save_migrated(plan, out)
        plan.written = os.fspath(out), to
    return plan
