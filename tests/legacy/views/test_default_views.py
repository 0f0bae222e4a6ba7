"""What policies ask to see is what Ray's asked for."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.legacy import ViewRequirement
from rlconnect.legacy.views.default_views import default_views, lstm_views

from tests.legacy.replay import GOLDEN, Recording, folders
from tests.legacy.test_recordings import MODELS, names

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
