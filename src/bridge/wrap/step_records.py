"""A step of an episode as the record of the old stack, and that record from piece to piece."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from ...core.columns import Columns
from ...v2.connectors.batch_items import key_of

_CARRIED: Final = "legacy_records"
_NO_FETCH: Final = frozenset({Columns.STATE_OUT, "weights_seq_no"})


def step_data(episode: Any, observation: Any) -> dict[str, Any]:
    """The columns of a record: the last observation, and what the step to it brought."""
    data: dict[str, Any] = {"new_obs": observation}
    if _has_stepped(episode):
        over, cut = bool(episode.is_terminated), bool(episode.is_truncated)
        data["rewards"] = episode.get_rewards(-1)
        data["terminateds"], data["truncateds"], data["dones"] = over, cut, over or cut
    info = episode.get_infos(-1)
    if info:
        data["infos"] = info
    return data


def last_answer(
    episode: Any, skipped: Collection[str], windows: Collection[int], initial: Sequence[Any]
) -> tuple[Any, list[Any], dict[str, Any]] | None:
    """What the policy answered one step ago: actions, states, fetches; None if it did not.

    Outputs that are `skipped` are no fetches of the policy. Of states that are windows on the last
    ones, the newest row is the state. `initial` stands for states that a module of the new stack
    keeps in another form, for itself.
    """
    if not _has_stepped(episode):
        return None
    fetches = {
        name: episode.get_extra_model_outputs(name, -1)
        for name in episode.extra_model_outputs
        if name not in _NO_FETCH and name not in skipped
    }
    states = list(initial)
    if states and Columns.STATE_OUT in episode.extra_model_outputs:
        state_out = episode.get_extra_model_outputs(Columns.STATE_OUT, -1)
        names = [state_name(place) for place in range(len(states))]
        if all(name in state_out for name in names):
            last = [state_out[name] for name in names]
            states = [part[-1] if place in windows else part for place, part in enumerate(last)]
    return episode.get_actions(-1), states, fetches


def state_name(place: int) -> str:
    """What a module calls the state at a place of the policy's list."""
    return f"state_{place}"


def carried(shared_data: dict[str, Any] | None, episode: Any) -> Any:
    """The record of this step from the wrapped piece before; None if there was none."""
    record = (shared_data or {}).get(_CARRIED, {}).get(key_of(episode))
    return None if record is None or record[0] != episode.t else record[1]


def carry(shared_data: dict[str, Any] | None, kept: Mapping[Any, Any], alive: Any) -> None:
    """Leave the records of this step to the wrapped pieces behind.

    By the key of an episode there are step and record; those of keys that are not `alive` are
    dropped.
    """
    if shared_data is not None:
        before = shared_data.get(_CARRIED, {})
        others = {key: before[key] for key in alive if key in before}
        shared_data[_CARRIED] = {**others, **kept}


def _has_stepped(episode: Any) -> bool:
    return bool(episode.t) and episode.rewards.len_incl_lookback() > 0
