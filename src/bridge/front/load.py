"""Whatever RLlib or rlconnect wrote, as policies that act."""

from __future__ import annotations

import os
from typing import Any, overload

from ..loading.mapping import PolicyMapping
from ..loading.natives import Source, natives_in, natives_of
from .loaded_policies import LoadedPolicies
from .loaded_policy import LoadedPolicy


@overload
def load(
    path: str | os.PathLike[str],
    policy: None = None,
    *,
    policy_mapping_fn: PolicyMapping = None,
    **options: Any,
) -> LoadedPolicies: ...
@overload
def load(
    path: str | os.PathLike[str],
    policy: str,
    *,
    policy_mapping_fn: PolicyMapping = None,
    **options: Any,
) -> LoadedPolicy: ...
def load(
    path: str | os.PathLike[str],
    policy: str | None = None,
    *,
    policy_mapping_fn: PolicyMapping = None,
    **options: Any,
) -> LoadedPolicies | LoadedPolicy:
    """Load what a checkpoint holds; nothing of it runs.

    Args:
        path: Whatever RLlib or rlconnect wrote: a checkpoint of either stack or of a part of one, a
            trial's folder, what `migrate`, `adapt`, `export` or an actor wrote, an archive of one
            (`.zip`, `.tgz`), or a URL (`s3://...`, `hf://...`; with the `remote` extra).
        policy: Only the policy or module of this id.
        policy_mapping_fn: Which policy plays an agent: a function or a dict, for checkpoints of
            several agents whose own mapping was code.
        **options: As for `Policy.from_checkpoint` or `RLModule.from_checkpoint`: `trust` for your
            own classes that it names.

    Returns:
        The policies by id, `.only` for the only one; or that of the id asked for.

    Raises:
        CheckpointError: The checkpoint cannot be read.
        UnknownNameError: It holds nothing by that id.

    Example:
        >>> import rlconnect
        >>> policy = rlconnect.load("examples/checkpoints/ppo-cartpole-ray-2.60").only
        >>> policy.act([[0.1, 0.0, -0.1, 0.0]] * 3).shape
        (3,)
    """
    ids = None if policy is None else [policy]
    policies = LoadedPolicies(natives_in(path, ids, policy_mapping_fn=policy_mapping_fn, **options))
    return policies if policy is None else policies[policy]


def as_policies(source: Source, policy: str | None = None, **options: Any) -> LoadedPolicies:
    """Anything that acts, as a user holds it.

    That is a path or URL, what `load` gave, a `Policy`, a `V2Triple` or its three parts, a mapping
    of such by id, an `Actor`, or a migration's plan. Options are those of `load`, for a path.
    """
    if isinstance(source, LoadedPolicies) and policy is None and not options:
        return source
    return LoadedPolicies(natives_of(source, policy, **options))
