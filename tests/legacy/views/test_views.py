"""View requirements and the plans made of them."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import PieceError
from rlconnect.legacy import (
    AgentConnectorDataType,
    ConnectorContext,
    ViewRequirementAgentConnector,
)
from rlconnect.legacy.views.views import ViewPlan, ViewRequirement, default_views, lstm_views

from tests.legacy.replay import GOLDEN, Recording, folders
from tests.legacy.test_recordings import MODELS, names

SPACE = Box(-1, 1, (2,))


@pytest.mark.parametrize(
    ("shift", "expected"),
    [
        (0, [0]),
        (-1, [-1]),
        ([-3, -1], [-3, -1]),
        ("-3:0", [-3, -2, -1, 0]),
        ("-4:0:2", [-4, -2, 0]),
        ("0:2", [0, 1, 2]),
        ("-1:-1", [-1]),
        (np.int64(-2), [-2]),
    ],
)
def test_shifts(shift, expected):
    """A number, a list, or a range with both ends in it."""
    assert ViewRequirement(shift=shift).shift_arr.tolist() == expected


@pytest.mark.parametrize("shift", ["a:b", "-1", "1:0", "0:2:0", "0:1:2:3", 1.5, [], [[1]]])
def test_shifts_that_say_nothing(shift):
    """Anything else is refused with the forms that work."""
    with pytest.raises(PieceError, match="expected"):
        ViewRequirement(shift=shift)


def test_views_compare_and_survive_as_plain_data():
    """A view equals the one built from its plain data; a missing space is a scalar float."""
    view = ViewRequirement("obs", SPACE, shift="-3:0", used_for_training=False)

    again = ViewRequirement.from_dict(view.to_dict())

    assert again == view
    assert again != ViewRequirement("obs", SPACE, shift="-2:0", used_for_training=False)
    assert view != "view"
    assert ViewRequirement.from_dict({"data_col": "obs"}).space == Box(-np.inf, np.inf, ())


def test_a_plan_sorts_views_by_what_they_need():
    """Only ranges and older values need a history; its depth is the longest reach."""
    needs = {
        "obs": ViewRequirement(space=SPACE),
        "last": ViewRequirement("actions", Discrete(2), shift=-1),
        "stack": ViewRequirement("obs", SPACE, shift="-3:0"),
        "older": ViewRequirement("actions", Discrete(2), shift=-2),
        "new_obs": ViewRequirement("obs", shift=1, used_for_compute_actions=False),
    }

    plan = ViewPlan.for_inference(needs, [], flatten_actions=True)

    assert [view.name for view in plan.views] == ["obs", "last", "stack", "older"]
    assert [view.column for view in plan.kept] == ["obs", "actions"]
    assert plan.depth == 4


def test_the_future_is_refused():
    """A policy cannot act on what comes later."""
    needs = {"next": ViewRequirement("obs", shift="-1:1")}

    with pytest.raises(PieceError, match=r"'next' looks into the future"):
        ViewPlan.for_inference(needs, [], flatten_actions=True)


def test_states_need_initial_states():
    """A view of states a policy does not have is told at once."""
    needs = {"state_in_1": ViewRequirement("state_out_1", shift=-1)}

    with pytest.raises(PieceError, match="1 initial states"):
        ViewPlan.for_inference(needs, [np.zeros(2)], flatten_actions=True)


# Read off Ray 2.60 and 2.7.2: at step t every column holds t, and the views saw this at step 4.
RAY_READS = [
    ([-2, -1], [-3, -2, -1], False, [2, 3], [4, 2, 3]),
    ([-1], [-1], False, [4], [4]),
    ([-2], [-2], False, [4], [4]),
    ([-2, -1], [-1], False, [4, 3], [3]),
    ([-1], [-1], True, [3], [3]),
    ([-2], [-2], True, [2], [2]),
]


@pytest.mark.parametrize(("actions", "rewards", "has_memory", "seen", "earned"), RAY_READS)
def test_earlier_actions_and_rewards_are_read_as_ray_reads_them(
    actions, rewards, has_memory, seen, earned
):
    """Where a view looks back further than one step, earlier actions come a step late."""
    needs = {
        "obs": ViewRequirement(),
        "prev_actions": ViewRequirement("actions", shift=actions),
        "prev_rewards": ViewRequirement("rewards", shift=rewards),
    }
    if has_memory:  # what a transformer looks at
        needs["state_in_0"] = ViewRequirement("state_out_0", shift="-4:-1")
    context = ConnectorContext(
        view_requirements=needs, action_space=Discrete(9), initial_states=[np.zeros(())]
    )
    connector = ViewRequirementAgentConnector(context)

    for step in range(5):
        data = {"new_obs": 0.0, "actions": step, "rewards": float(step), "state_out_0": 0.0}
        made = connector([AgentConnectorDataType("env", "agent", data)])[0].data.sample_batch

    assert np.ravel(made["prev_actions"]).tolist() == seen
    assert np.ravel(made["prev_rewards"]).tolist() == earned


CASES = folders(GOLDEN / "legacy")
OBS, ACT = Box(-1, 1, (2,)), Discrete(3)


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_views_that_act_are_those_of_the_recording(case):
    """Each column a policy of Ray's needed to act: where from, how far back."""
    recording = Recording(case)
    for policy_id in recording.policy_ids:
        wanted = recording.meta["policies"][policy_id].get("view_requirements") or {}
        views = recording.load(policy_id, custom_models=MODELS).view_requirements

        acting = {name for name, view in views.items() if view.used_for_compute_actions}

        assert acting == {n for n, v in wanted.items() if v["used_for_compute_actions"]}
        for name in acting:
            assert (views[name].data_col or name) == (wanted[name]["data_col"] or name)
            assert list(views[name].shift_arr) == wanted[name]["shift_arr"]


def test_a_model_has_its_say():
    """What a model asks for replaces or joins the defaults, as objects or as arguments."""
    views = default_views(
        OBS, ACT, {"obs": ViewRequirement(shift="-1:0"), "past": {"data_col": "rewards"}}, []
    )

    assert list(views["obs"].shift_arr) == [-1, 0]
    assert views["past"].data_col == "rewards"


def test_states_are_looked_back_at():
    """A recurrent policy reads the state it put out one step before."""
    views = default_views(OBS, ACT, {}, [np.zeros(4, np.float32)], max_seq_len=7)

    assert views["state_in_0"].data_col == "state_out_0"
    assert list(views["state_in_0"].shift_arr) == [-1]
    assert views["state_in_0"].batch_repeat_value == 7
    assert not views["state_out_0"].used_for_compute_actions


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, set()),
        ({"lstm_use_prev_action": True}, {"prev_actions"}),
        (
            {"lstm_use_prev_action": True, "lstm_use_prev_reward": True},
            {"prev_actions", "prev_rewards"},
        ),
    ],
)
def test_an_lstm_asks_by_its_settings(settings, asked):
    """Earlier actions and rewards are looked at only where the settings say so."""
    assert set(lstm_views(settings, ACT)) == asked
