"""One agent's history as batches; the numbers are in the golden scenarios."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from rlconnect.core.errors import PieceError
from rlconnect.legacy.views.collector import AgentCollector, GrowingColumn
from rlconnect.legacy.views.views import ViewRequirement as View

SPACE = Dict({"x": Box(-1, 1, (2,)), "k": Discrete(9)})
PAIR = Tuple((Discrete(9), Box(-1, 1, (1,))))
NEEDS = {
    "obs": View(space=SPACE),
    "new_obs": View("obs", SPACE, shift=1, used_for_compute_actions=False),
    "actions": View(space=PAIR, used_for_compute_actions=False),
    "stack": View("obs", SPACE, shift="-2:0"),
    "prev_actions": View("actions", PAIR, shift=-1),
    "prev_rewards": View("rewards", shift=-1),
}


def obs(i):
    return {"x": np.full(2, i * 1.0), "k": i}


def step(i):
    return {
        "new_obs": obs(i),
        "actions": (i, np.array([0.5 * i])),
        "rewards": i * 1.0,
        "terminateds": False,
        "truncateds": False,
        "infos": {"i": i},
        "t": i - 1,
    }


def run(count, **options):
    collector = AgentCollector(NEEDS, disable_action_flattening=False, **options)
    collector.add_init_obs(1, 2, 3, obs(0))
    rows = [collector.build_for_inference()]
    for i in range(1, count + 1):
        collector.add_action_reward_next_obs(step(i))
        rows.append(collector.build_for_inference())
    return collector, rows


def test_acting_and_learning_see_the_same():
    """Row t of the training batch is what the policy acted on at t."""
    collector, rows = run(6)

    batch = collector.build_for_training(NEEDS)

    assert len(batch) == 6
    for t in range(6):
        for name in ("prev_actions", "prev_rewards"):
            np.testing.assert_array_equal(batch[name][t], rows[t][name][0])
        np.testing.assert_array_equal(batch["stack"]["x"][t], rows[t]["stack"]["x"][0])
        assert batch["obs"]["k"][t] == rows[t]["obs"]["k"][0]
    assert batch["actions"].shape == (6, 2)


def test_evaluation_keeps_only_what_views_reach():
    """A collector that does not train acts alike and does not grow."""
    _, training = run(9)
    collector, evaluating = run(9, is_training=False)

    for one, other in zip(training, evaluating, strict=True):
        np.testing.assert_array_equal(one["stack"]["x"], other["stack"]["x"])
        np.testing.assert_array_equal(one["prev_actions"], other["prev_actions"])
    assert {len(leaf) for leaves in collector.buffers.values() for leaf in leaves} == {3}


def test_a_trajectory_goes_on_after_a_batch():
    """The next batch begins where the last one ended and still looks back into it."""
    collector, _ = run(3)
    collector.build_for_training(NEEDS)
    for i in (4, 5):
        collector.add_action_reward_next_obs(step(i))

    batch = collector.build_for_training(NEEDS)

    assert batch["obs"]["k"].tolist() == [3, 4]
    assert batch["stack"]["k"].tolist() == [[1, 2, 3], [2, 3, 4]]
    assert batch["prev_rewards"].tolist() == [3.0, 4.0]


def test_ids_stand_in_every_row():
    """Episode, environment, agent and unroll ids fill their columns."""
    collector, _ = run(2)
    needs = {name: View() for name in ("eps_id", "env_id", "agent_index", "unroll_id", "t")}

    batch = collector.build_for_training(needs)

    assert batch["eps_id"].tolist() == [1, 1]
    assert batch["agent_index"].tolist() == [2, 2]
    assert batch["env_id"].tolist() == [3, 3]
    assert batch["t"].tolist() == [0, 1]
    assert len(set(batch["unroll_id"].tolist())) == 1


def test_a_column_must_not_vanish():
    """A step without a column that was there before is refused by name."""
    collector, _ = run(1)
    late = step(2)
    del late["rewards"]

    with pytest.raises(PieceError, match="rewards"):
        collector.add_action_reward_next_obs(late)


def test_the_future_is_refused_to_act():
    """A view into the future works for training only."""
    collector = AgentCollector({"next": View("obs", shift=1)})
    collector.add_init_obs(0, 0, 0, 1.0)

    with pytest.raises(PieceError, match="future"):
        collector.build_for_inference()


def test_flags_read_back():
    """A new collector is empty and trains until told otherwise."""
    collector = AgentCollector(NEEDS)

    assert collector.is_empty()
    assert collector.training
    collector.is_training(False)
    assert not collector.training


def test_rows_survive_growth():
    """Beyond any doubling, all rows are there in order."""
    column = GrowingColumn({"a": 0.0, "b": (np.zeros(2),)})
    for i in range(1, 40):
        column.append({"a": float(i), "b": (np.full(2, i),)})

    rows = column.rows()

    assert len(column) == 40
    assert rows["a"].tolist() == list(range(40))
    assert rows["b"][0][:, 1].tolist() == list(range(40))


def test_beyond_the_end_are_zeros():
    """Places after the last row give zeros of the same dtype."""
    column = GrowingColumn(5)

    assert column.at(np.array([0, 3])).tolist() == [5, 0]


def test_the_end_may_be_kept():
    """Keeping the last rows forgets the others; more than there are keeps all."""
    column = GrowingColumn(0)
    for i in range(1, 5):
        column.append(i)

    column.keep_last(2)
    column.keep_last(9)

    assert column.rows().tolist() == [3, 4]


def test_infos_stay_whole():
    """Dicts as values are objects, not columns."""
    column = GrowingColumn({"lives": 3}, is_object=True)
    column.append({})

    assert column.rows().tolist() == [{"lives": 3}, {}]
