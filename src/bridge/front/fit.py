"""Whether the policies of a checkpoint load and run, found by loading and running them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping

from ...core.errors import MissingExtraError, RlconnectError, UnknownClassError
from ...core.text.first_line import first_line
from ...core.vault import Checkpoint
from ...core.vault.verdict import Verdict
from ...legacy.batches.step_rows import zero_of
from ...legacy.connectors.registry import UnknownConnectorError
from ...legacy.policy.policy import Policy
from ..actor.actor import Actor
from ..loading.natives import Native, Natives, natives_in, policy_spaces

RUNNABLE = Verdict("complete", "all files are present; it loads and computes actions")


def try_loading(
    checkpoint: Checkpoint, policy_ids: Collection[str] | None = None
) -> dict[str, Verdict]:
    """Return a verdict per policy or module, by loading each and computing one action with it.

    No code of the checkpoint is executed. Old policies are built from the records that are read
    already. The key "" stands for a checkpoint without policies. What needs a package that is not
    installed is left out: nothing is known of it.
    """
    ids = [name for name in checkpoint.acting if policy_ids is None or name in policy_ids]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if checkpoint.policies and checkpoint.kind != "actor":
            tried = {name: _tried(checkpoint, name) for name in ids}
        else:
            together = _loaded(checkpoint, None)
            tried = {name: _run(together, name) for name in ids or [""]}
    return {name: verdict for name, verdict in tried.items() if verdict is not None}


def _tried(checkpoint: Checkpoint, name: str) -> Verdict | None:
    return _run(_loaded(checkpoint, name), name)


def _loaded(checkpoint: Checkpoint, name: str | None) -> Mapping[str, Native] | RlconnectError:
    """Policies by id; the loader's error if it refuses them."""
    try:
        if name is None:
            return natives_in(checkpoint.path).policies
        policy = Policy.from_checkpoint(checkpoint, [name])
        return policy if isinstance(policy, dict) else {name: policy}
    except RlconnectError as error:
        return error


def _run(loaded: Mapping[str, Native] | RlconnectError, name: str) -> Verdict | None:
    if isinstance(loaded, MissingExtraError):
        return None
    if isinstance(loaded, (UnknownClassError, UnknownConnectorError)):
        return Verdict("needs code", first_line(Exception(loaded.summary), 300))
    if isinstance(loaded, RlconnectError):
        return Verdict("not loadable", first_line(Exception(loaded.summary), 300))
    if not name:
        return RUNNABLE
    try:
        native = loaded[name]
        Actor.from_policy(Natives({name: native})).act(zero_of(policy_spaces(native)[0]))
    except MissingExtraError:
        return None
    except Exception as error:  # of torch, numpy or gymnasium, about odd weights or spaces
        summary = error.summary if isinstance(error, RlconnectError) else first_line(error)
        return Verdict("not runnable", f"it loads, but computes no action: {summary}")
    return RUNNABLE
