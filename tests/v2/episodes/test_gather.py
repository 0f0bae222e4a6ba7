"""Columns of many episodes at once are what batching their items one by one gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.arrays.batching import batch
from rlconnect.v2 import MultiAgentEpisode, SingleAgentEpisode
from rlconnect.v2.episodes.gather import (
    concat_column,
    last_rows,
    last_rows_by_module,
    outputs_in_journal,
)


def observation(step, kind):
    if kind == "dict":
        return {"a": step, "b": np.array([step, 1], np.float32)}
    if kind == "tuple":
        return (step, np.array([step, 1], np.float32))
    return np.array([step, 1], np.float32) if kind == "array" else step


def episode_of(steps, kind="array", numpy=False, started=0):
    episode = SingleAgentEpisode()
    episode.add_env_reset(observation(started, kind))
    for step in range(started + 1, started + steps + 1):
        episode.add_env_step(
            observation(step, kind),
            step,
            step / 2,
            extra_model_outputs={"logp": np.float32(-step)},
        )
    return episode.to_numpy() if numpy else episode


FORMS = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=5)
COLUMNS = st.sampled_from(["obs", "actions", "rewards", "logp"])


def read(episode, column, indices):
    if column == "logp":
        return episode.get_extra_model_outputs("logp", indices)
    return getattr(episode, "get_observations" if column == "obs" else f"get_{column}")(indices)


@given(FORMS, COLUMNS, st.sampled_from(["array", "dict", "tuple", "number"]), st.integers(0, 2))
def test_whole_columns_are_the_batch_of_all_items(forms, column, kind, lookback):
    """Look-back is left out, and the last observation if asked; in lists or in arrays."""
    is_numpy = forms[0][1]
    episodes = [
        episode_of(steps + lookback, kind, is_numpy).slice(
            slice(lookback, None), len_lookback_buffer=lookback
        )
        for steps, _ in forms
    ]
    without_last = column == "obs"

    column_of_all, counts = concat_column(episodes, column, without_last=without_last)

    items = [read(one, column, step) for one in episodes for step in range(len(one))]
    np.testing.assert_equal(column_of_all, batch(items))
    assert counts == [len(one) for one in episodes]


@pytest.mark.parametrize("column", ["obs", "nope", "infos"])
def test_what_makes_no_batch_is_none(column):
    """Other shapes, no such column, infos that differ: the caller goes item by item."""
    one, other = episode_of(1), SingleAgentEpisode()
    other.add_env_reset(np.zeros(3), {"only": 1})

    assert concat_column([one, other], column) is None


def test_lists_beside_arrays_make_no_column():
    """Items that come one by one and items that come in arrays are no batch for pieces either."""
    assert concat_column([episode_of(2), episode_of(2, numpy=True)], "obs") is None


def several(names="xy"):
    episodes = []
    for name in names:
        episode = MultiAgentEpisode(
            id_=name, agent_to_module_mapping_fn=lambda agent, episode: "m" + min(agent, "b")
        )
        episode.add_env_reset(observations={"a": 0, "b": 1, "c": 2})
        step(episode, {"a": 3, "b": 4, "c": 5})
        episodes.append(episode)
    return episodes


def step(episode, seen, **ends):
    episode.add_env_step(seen, dict.fromkeys(seen, 0), dict.fromkeys(seen, 0.0), **ends)


def test_rows_of_agents_keep_the_journal():
    """Last observations of many agents come with their keys, and nothing is handed out for them."""
    episodes = several()
    for episode in episodes:
        step(episode, {"a": 6, "b": 7, "c": 8})

    keys, rows = last_rows(episodes)
    by_module = last_rows_by_module(episodes)

    assert keys == [(name, agent, "m" + min(agent, "b")) for name in "xy" for agent in "abc"]
    assert rows == [6, 7, 8, 6, 7, 8]
    assert by_module == {
        "ma": ([("x", "a"), ("y", "a")], [6, 6]),
        "mb": ([("x", "b"), ("x", "c"), ("y", "b"), ("y", "c")], [7, 8, 7, 8]),
    }
    assert all(episode.journal.rows for episode in episodes)


def test_rows_by_module_follow_the_agents_that_act():
    """Agents that are done are left out from the next step on; new rows follow those handed out."""
    (episode,) = several("x")
    step(episode, {"a": 6, "b": 7, "c": 8}, terminateds={"b": True})
    assert last_rows_by_module([episode]) is None  # b observed, but does not act.

    step(episode, {"a": 9, "c": 11})
    episode.get_rewards()
    step(episode, {"a": 12, "c": 14})

    assert last_rows_by_module([episode]) == {
        "ma": ([("x", "a")], [12]),
        "mb": ([("x", "c")], [14]),
    }
    assert last_rows_by_module([episode, episode]) is None


def test_rows_by_module_are_none_once_somebody_holds_an_agents_episode():
    """It may be edited by whoever holds it, so it is read itself."""
    (episode,) = several("x")

    episode.agent_episodes["a"].module_id = "other"

    assert last_rows_by_module([episode]) is None
    assert last_rows([episode])[0][0] == ("x", "a", "other")


@pytest.mark.parametrize("keys", [("state",), ("logp", "state")])
def test_outputs_are_in_a_journal_until_they_are_handed_out(keys):
    """A step's outputs by agent, of one key or many; nothing for keys that modules do not give."""
    episode = MultiAgentEpisode()
    episode.add_env_reset(observations={"a": 0, "b": 1})
    told = {agent: {key: f"{key} of {agent}" for key in keys} for agent in "ab"}
    for _ in range(2):
        step(episode, {"a": 2, "b": 3}, extra_model_outputs=told)

    assert outputs_in_journal(episode, "state") == {"a": "state of a", "b": "state of b"}
    assert outputs_in_journal(episode, "other") == {}
    episode.get_rewards()
    assert outputs_in_journal(episode, "state") is None
