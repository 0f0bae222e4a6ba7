"""Whether the policies of a checkpoint load and run, found by loading and running them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Final

from ...core.errors import MissingExtraError, RlconnectError, UnknownClassError
from ...core.text.first_line import first_line
from ...core.vault import Checkpoint
from ...core.vault.verdict import Attempt, Verdict
from ...legacy.batches.step_rows import zero_of
from ...legacy.connectors.registry import UnknownConnectorError
from ...legacy.policy.policy import Policy
from ..actor.actor import Actor
from ..loading.natives import Native, Natives, natives_in, policy_spaces

_COMPLETE: Final = Verdict("complete", "all files are present; it loads and computes actions")


def try_loading(
    checkpoint: Checkpoint, policy_ids: Collection[str] | None = None
) -> dict[str, Attempt]:
    """Load each policy or module and compute one action with it; return what came of it, by id.

    No code of the checkpoint is executed. Old policies are built from the records that are read
    already. The key "" stands for a checkpoint without policies. What needs a package that is not
    installed is left out: nothing is known of it.
    """
    ids = [name for name in checkpoint.acting if policy_ids is None or name in policy_ids]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if checkpoint.policies and checkpoint.kind != "actor":
            tried = {name: _run(_loaded(checkpoint, name), name) for name in ids}
        else:
            together = _loaded(checkpoint, None)
            tried = {name: _run(together, name) for name in ids or [""]}
    return {name: attempt for name, attempt in tried.items() if attempt is not None}


def _loaded(checkpoint: Checkpoint, name: str | None) -> Mapping[str, Native] | RlconnectError:
    """Policies by id; the loader's error if it refuses them."""
    try:
        if name is None:
            return natives_in(checkpoint.path).policies
        policy = Policy.from_checkpoint(checkpoint, [name])
        return policy if isinstance(policy, dict) else {name: policy}
    except RlconnectError as error:
        return error


def _run(loaded: Mapping[str, Native] | RlconnectError, name: str) -> Attempt | None:
    if isinstance(loaded, MissingExtraError):
        return None
    if isinstance(loaded, RlconnectError):
        needs_code = isinstance(loaded, (UnknownClassError, UnknownConnectorError))
        reason = first_line(Exception(loaded.summary), 300)
        return Attempt(Verdict("needs code" if needs_code else "not loadable", reason))
    if not name:
        return Attempt(_COMPLETE)
    spaces = None
    try:
        (native,) = [loaded[name]] if name in loaded else loaded.values()
        spaces = policy_spaces(native)
        Actor.from_policy(Natives({name: native})).act(zero_of(spaces[0]))
    except MissingExtraError:
        return None
    except Exception as error:  # of torch, numpy or gymnasium, about odd weights or spaces
        summary = error.summary if isinstance(error, RlconnectError) else first_line(error)
        verdict = Verdict("not runnable", f"it loads, but computes no action: {summary}")
        return Attempt(verdict, spaces)
    return Attempt(_COMPLETE, spaces)
