"""Explain why a policy could not compute actions: which observation caused it, and why.

These functions only run after an error in `inference` or `acting`, so they may be thorough and
slow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ...core import nest
from ...core.errors import PieceError, RlconnectError, SpaceError, WeightsError
from ...core.spaces.fit import explain_mismatch
from ...core.types import Array
from ..connectors.adapted import seen_space

if TYPE_CHECKING:
    from .policy import Policy

OURS = __name__.partition(".")[0] + "."


NUMBERS: Final = "biufO"
"""Kinds of arrays an observation may be; objects may be numbers."""


class Asked(NamedTuple):
    """One observation that a policy was asked about, as the caller gave it."""

    env_id: Any
    agent_id: Any
    obs: Any = None
    reward: Any = None


def nan_refusal(policy: Any, columns: Mapping[str, Any], outputs: Array) -> RlconnectError:
    """Return the error for NaN outputs: caused by a column, the weights, or large numbers."""
    row = int(np.flatnonzero(np.isnan(outputs.reshape(len(outputs), -1)).any(axis=1))[0])
    for name, column in columns.items():
        for leaf in nest.flatten(column):
            number = _not_finite(leaf, row)
            if number:
                return SpaceError(
                    f"policy {policy.name!r} cannot act on {number} in column {name!r}",
                    expected="finite numbers",
                    found=_shown(leaf, row),
                    hint="fix the environment or the connector before the policy; then reset() the "
                    "environment, whose history holds the value.",
                    row=row,
                    column=name,
                )
    broken = [name for name, part in policy.get_weights().items() if not np.isfinite(part).all()]
    if broken:
        return WeightsError(
            f"policy {policy.name!r} holds weights that are no finite numbers",
            found=", ".join(broken[:8]),
            hint="its training diverged, or the file is damaged; take an earlier checkpoint.",
        )
    return SpaceError(
        f"policy {policy.name!r} has no finite answer to an observation",
        found=_shown(nest.a_leaf(columns["obs"]), row),
        hint="its numbers are too large for float32.",
        row=row,
    )


def odd_shape(policy: Any, obs: Array) -> SpaceError:
    """The error for a batch whose rows are no observations of a policy's."""
    return SpaceError(
        f"observations do not fit policy {policy.name!r}",
        expected=f"shape {('B', *(policy.observation_space.shape or ()))}".replace("'B'", "B"),
        found=f"shape {obs.shape}",
        hint="this takes preprocessed observations with a batch axis; local_policy_inference() "
        "takes raw ones, one at a time.",
    )


def column_refusal(policy: Any, columns: Mapping[str, Any], error: Exception) -> Exception:
    """Return the error for invalid columns; `error` itself if they are valid."""
    needed = {
        name: view
        for name, view in policy.view_requirements.items()
        if view.used_for_compute_actions
    }
    if "obs" not in columns or isinstance(error, KeyError):
        missing = [name for name in needed if name not in columns]
        if missing:
            return PieceError(
                f"policy {policy.name!r} also looks at {', '.join(map(repr, missing))}",
                found=f"columns {list(columns)}",
                hint="pass the columns, or use local_policy_inference(), which stores them.",
            )
    if isinstance(error, RlconnectError):
        return error
    for name, view in needed.items():
        reason = _misfit_row(view, columns[name]) if name in columns else None
        if reason:
            return SpaceError(
                f"column {name!r} does not fit policy {policy.name!r}: {reason}",
                hint="each column has a leading batch axis.",
            )
    return error


def _misfit_row(view: Any, column: Any) -> str | None:
    """Why a column's first row is not of its view's space; columns of ranges are not judged."""
    if len(view.shift_arr) > 1:
        return None
    try:
        row = nest.map_structure(lambda leaf: np.asarray(leaf)[0], column)
    except IndexError:
        return "there is no batch axis"
    return explain_mismatch(view.space, row)


def no_numbers(obs: Array) -> SpaceError:
    """The error for an array that no network can take."""
    return SpaceError(
        "an observation is no array of real numbers",
        expected="a dtype of integers, booleans or floats",
        found=str(obs.dtype),
    )


def told(policy: Policy, records: Sequence[Asked], error: Exception) -> Exception:
    """Return the error to raise in place of `error`, with its cause.

    Errors of rlconnect get the policy, environment and agent concerned. Errors of numpy are
    explained if an id or the observation caused them. All others are returned unchanged.
    """
    for one in records:
        for name, value in (("env_id", one.env_id), ("agent_id", one.agent_id)):
            if not _is_taken(hash, value):
                return PieceError(
                    f"{name} cannot tell slots apart",
                    expected="something hashable, such as text or a number",
                    found=f"a {type(value).__name__}, {value!r:.80}",
                )
        if one.reward is not None and not _is_taken(float, one.reward):
            reward = f"{one.reward!r:.80}"
            return _located(PieceError("a reward is no number", found=reward), policy, one)
    culprit = _culprit(policy, records, error)
    is_about_space = isinstance(error, (SpaceError, TypeError, ValueError))
    if culprit is not None and is_about_space and not getattr(error, "facts", None):
        reason = _misfit(policy, culprit.obs)
        if reason is not None and (
            isinstance(error, SpaceError) or not isinstance(error, RlconnectError)
        ):
            unfit = SpaceError(
                f"an observation does not fit its space: {reason.replace('value', 'obs', 1)}",
                hint="pass it as the environment gave it while the policy was trained.",
            )
            return _located(unfit, policy, culprit)
    return _located(error, policy, culprit) if isinstance(error, RlconnectError) else error


def _culprit(policy: Policy, records: Sequence[Asked], error: Exception) -> Asked | None:
    """Which slot an error is about, if that can be known."""
    row = getattr(error, "facts", {}).get("row")
    if isinstance(row, int) and row < len(records):
        return records[row]
    if len(records) == 1:
        return records[0]
    unfit = [one for one in records if _misfit(policy, one.obs)]
    return next((one for one in unfit if _has_odd_shape(policy, one.obs)), next(iter(unfit), None))


def _has_odd_shape(policy: Policy, obs: Any) -> bool:
    shape = seen_space(policy).shape
    return shape is not None and getattr(obs, "shape", shape) != shape


def _misfit(policy: Policy, obs: Any) -> str | None:
    """Why an observation is not of the environment's space, as far as it reaches that untouched."""
    pipeline = policy.agent_connectors
    pieces = [] if pipeline is None else pipeline.connectors
    if not all(type(piece).__module__.startswith(OURS) for piece in pieces):
        return None
    return explain_mismatch(seen_space(policy), obs)


def _located(error: RlconnectError, policy: Policy, record: Asked | None) -> RlconnectError:
    if "env_id" in error.facts:
        return error  # already complete
    where = [f"policy {policy.name!r}"] if repr(policy.name) not in error.message else []
    if record is not None:
        where += [f"environment {record.env_id!r}", f"agent {record.agent_id!r}"]
    facts = {**error.facts, "policy": policy.name}
    if record is not None:
        facts.update(env_id=record.env_id, agent_id=record.agent_id)
    message = f"{error.message.rstrip('.')} ({', '.join(where)})" if where else error.message
    return type(error)(
        message, expected=error.expected, found=error.found, hint=error.hint, **facts
    )


def _not_finite(leaf: Any, row: int) -> str:
    value = np.asarray(leaf)
    if value.dtype.kind not in "fcO" or not value.ndim or row >= len(value):
        return ""
    try:
        numbers = value[row].astype(np.float64)
    except (TypeError, ValueError):
        return ""
    if np.isnan(numbers).any():
        return "NaN"
    return "infinity" if np.isinf(numbers).any() else ""


def _shown(leaf: Any, row: int) -> str:
    return np.array2string(np.asarray(leaf)[row], threshold=8, precision=4)


def _is_taken(function: Callable[[Any], Any], value: Any) -> bool:
    try:
        function(value)
    except (TypeError, ValueError):
        return False
    return True
