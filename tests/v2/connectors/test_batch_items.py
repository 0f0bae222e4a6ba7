"""Items get into a half-built batch, out of it and into order as RLlib documents it."""

import numpy as np
import pytest
from rlconnect.core.errors import PieceError
from rlconnect.v2 import (
    BatchedNdArray,
    ConnectorV2,
    MultiAgentEpisode,
    SingleAgentEpisode,
    check,
)


def single(name="SA-EPS0"):
    return SingleAgentEpisode(
        id_=name, observations=[0, 1, 2, 3], actions=[1, 2, 3], rewards=[1.0, 2.0, 3.0]
    )


def several():
    return MultiAgentEpisode(
        id_="MA-EPS1",
        observations=[{"ag0": 0, "ag1": 1}, {"ag0": 2, "ag1": 4}],
        actions=[{"ag0": 0, "ag1": 1}],
        rewards=[{"ag0": -0.1, "ag1": -0.2}],
        agent_to_module_mapping_fn=lambda aid, eps: f"mod{aid[2:]}",
    )


def test_items_without_an_episode_make_a_list():
    """Without an episode a column is one list."""
    batch = {}

    ConnectorV2.add_batch_item(batch, "test_col", item_to_add=5)
    ConnectorV2.add_batch_item(batch, "test_col", item_to_add=6)
    ConnectorV2.add_batch_item(batch, "test_col_2", item_to_add=-10)

    assert batch == {"test_col": [5, 6], "test_col_2": [-10]}


def test_items_of_one_agent_lie_under_the_episode():
    """With an episode a column maps `(episode id,)` to lists."""
    batch = {}
    episode = single()

    ConnectorV2.add_batch_item(batch, "test_col", 5, episode)
    ConnectorV2.add_batch_item(batch, "test_col", 6, episode)
    ConnectorV2.add_batch_item(batch, "test_col_2", -10, episode)

    assert batch == {"test_col": {("SA-EPS0",): [5, 6]}, "test_col_2": {("SA-EPS0",): [-10]}}


def test_items_of_an_agent_lie_under_its_three_ids():
    """With an agent's episode a column maps `(episode, agent, module)` to lists."""
    batch = {}
    agents = several().agent_episodes

    ConnectorV2.add_batch_item(batch, "c", item_to_add=5, single_agent_episode=agents["ag0"])
    ConnectorV2.add_batch_item(batch, "c", item_to_add=6, single_agent_episode=agents["ag0"])
    ConnectorV2.add_n_batch_items(batch, "c", [10], 1, agents["ag1"])

    assert batch == {"c": {("MA-EPS1", "ag0", "mod0"): [5, 6], ("MA-EPS1", "ag1", "mod1"): [10]}}


def test_already_batched_items_are_kept_whole_and_shared():
    """A nest of arrays is appended once, marked, and not copied."""
    batch = {}
    rows = np.array([3, 5])

    ConnectorV2.add_n_batch_items(batch, "c", {"a": rows, "b": np.array([4, 6])}, num_items=2)
    ConnectorV2.add_n_batch_items(
        batch, "c", {"a": np.array([7, 7, 7]), "b": np.array([8, 8, 8])}, num_items=3
    )

    check(
        batch["c"],
        [
            {"a": np.array([3, 5]), "b": np.array([4, 6])},
            {"a": np.array([7, 7, 7]), "b": np.array([8, 8, 8])},
        ],
    )
    assert isinstance(batch["c"][0]["a"], BatchedNdArray)
    assert np.shares_memory(batch["c"][0]["a"], rows)


def test_change_in_place_reaches_lists_episodes_and_agents():
    """Each item is replaced by what the function makes of it and of its ids."""
    change = ConnectorV2.foreach_batch_item_change_in_place
    plain = {"col1": [0, 1, 2, 3], "col2": [0, -1, -2, -3]}
    by_agent = {
        "col1": {
            ("eps1", "ag1", "mod1"): [1, 2],
            ("eps2", "ag1", "mod2"): [400, 500],
            ("eps2", "ag2", "mod3"): [-1, -2],
        }
    }

    change(batch=plain, column="col1", func=lambda item, *ids: item + 1)
    change(plain, ["col1", "col2"], lambda items, *ids: (items[0] + 1, -items[1]))
    change(
        by_agent,
        "col1",
        lambda item, eps, agent, module: (
            item - 1 if eps == "eps1" else item / 100 if module == "mod2" else -item
        ),
    )

    assert plain == {"col1": [2, 3, 4, 5], "col2": [0, 1, 2, 3]}
    assert list(by_agent["col1"].values()) == [[0, 1], [4, 5], [1, 2]]


def test_iterator_walks_agents_in_the_order_they_appeared():
    """Episodes of several agents are taken apart; the order never depends on hashing."""
    episode = several()

    found = list(ConnectorV2.single_agent_episode_iterator([single(), episode]))

    assert [one.agent_id for one in found] == [None, "ag0", "ag1"]


def test_iterator_hands_out_the_items_of_a_column():
    """A zipped column gives each episode its next item."""
    episodes = [single("e0"), single("e1")]
    column = {("e0",): [7], ("e1",): [8]}

    pairs = list(ConnectorV2.single_agent_episode_iterator(episodes, True, column))

    assert [(episode.id_, item) for episode, item in pairs] == [("e0", 7), ("e1", 8)]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: ConnectorV2.add_n_batch_items({}, "c", [1, 2], 3), "num_items=3, found 2"),
        (
            lambda: ConnectorV2.add_batch_item(
                {"mod0": {}}, "c", 1, several().agent_episodes["ag0"]
            ),
            "before AgentToModuleMapping",
        ),
        (lambda: ConnectorV2.add_batch_item({"c": np.zeros(2)}, "c", 1), "no single items"),
        (lambda: ConnectorV2.add_batch_item({"c": [1]}, "c", 1, single()), "no single items"),
        (
            lambda: ConnectorV2.foreach_batch_item_change_in_place({"obs": []}, "nope", id),
            "'nope'.*'obs'",
        ),
        (
            lambda: ConnectorV2.foreach_batch_item_change_in_place(
                {"obs": [1], "x": [2]}, ["obs", "x"], lambda items, *ids: 3
            ),
            "one item for each",
        ),
        (
            lambda: list(ConnectorV2.single_agent_episode_iterator([single()], True, ["x", "y"])),
            "zip_with_batch_column",
        ),
        (
            lambda: list(ConnectorV2.single_agent_episode_iterator([single("e")], True, {})),
            "too few items",
        ),
    ],
)
def test_mistakes_are_named(call, match):
    """A mistake is told where it is made, with the column or setting it is about."""
    with pytest.raises(PieceError, match=match):
        call()
