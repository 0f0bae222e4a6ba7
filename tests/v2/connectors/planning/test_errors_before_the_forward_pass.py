"""What would fail obscurely in a forward pass is told before it: piece, column, whose it is."""

import numpy as np
import pytest
import torch
from rlconnect.core.errors import PieceError
from rlconnect.v2 import ConnectorV2, EnvToModulePipeline, ModuleToEnvPipeline, NumpyToTensor
from rlconnect.v2.connectors.piece_plan import Plan

from . import scenes
from .test_planned_is_one_by_one import after_module, before_module


class Piece(ConnectorV2):
    """A user's piece, given as a function."""

    def __init__(self, input_observation_space=None, input_action_space=None, *, does=None):
        super().__init__(input_observation_space, input_action_space)
        self.does = does

    def __call__(self, *, batch, episodes, **kwargs):
        return self.does(self, batch, [*self.single_agent_episode_iterator(episodes)])


def message_of(does, episodes, rl_module, is_multi=False, place=1):
    pieces = before_module(is_multi)
    pieces.insert(place, Piece(does=does))
    with pytest.raises(PieceError) as caught:
        EnvToModulePipeline(connectors=pieces)(
            rl_module=rl_module, episodes=episodes, shared_data={}
        )
    return str(caught.value)


def test_a_piece_that_returns_nothing():
    """It is named, and told how to end."""
    message = message_of(lambda *_: None, [scenes.single(0, 1)], scenes.module())

    assert "Piece returned no batch" in message
    assert "return batch" in message


def test_a_column_that_an_agent_has_not():
    """Of single agents and of several."""

    def for_first(piece, batch, episodes):
        piece.add_batch_item(batch, "goal", np.ones(2), episodes[0])
        return batch

    singles = [scenes.single(0, 1), scenes.single(1, 1)]
    alone = message_of(for_first, singles, scenes.module())
    several = message_of(for_first, [scenes.several(0, 1)], scenes.modules(), is_multi=True)

    assert "'goal' has no items of ('e1',)" in alone
    assert "AgentToModuleMapping: column 'goal' has no items of ('m0', 'a2', 'p0')" in several


def test_items_of_different_shapes():
    """The first odd one is told by its episode."""

    def wide(piece, batch, episodes):
        for number, episode in enumerate(episodes):
            piece.add_batch_item(batch, "goal", np.ones(2 + number // 2), episode)
        return batch

    message = message_of(wide, [scenes.single(number, 1) for number in range(4)], scenes.module())

    assert "column 'goal'" in message
    assert "('e2',) has the first odd one" in message


def test_a_module_that_is_not_there():
    """Agent, episode and module are named, and what there is."""
    stray = scenes.MultiAgentEpisode(id_="m9", agent_to_module_mapping_fn=lambda *_: "p9")
    stray.add_env_reset(observations={"a0": np.ones(3, np.float32)})

    message = message_of(lambda _, batch, __: batch, [stray], scenes.modules(), is_multi=True)

    assert "agent 'a0' of episode 'm9' is mapped to module 'p9'" in message
    assert "['p0', 'p1']" in message


def test_numbers_that_are_not_finite():
    """An opt-in check of the last piece names column, row and episode."""

    def spoil(piece, batch, episodes):
        batch["obs"][("e1",)][0] = np.float32([0, np.nan, 0])
        return batch

    pieces = [*before_module(False)[:-1], NumpyToTensor(check_finite=True)]
    pieces.insert(1, Piece(does=spoil))
    episodes = [scenes.single(0, 1), scenes.single(1, 1)]
    with pytest.raises(PieceError, match="column 'obs' is not finite in row 1, of episode 'e1'"):
        EnvToModulePipeline(connectors=pieces)(
            rl_module=scenes.module(), episodes=episodes, shared_data={}
        )


def test_outputs_of_a_wrong_number_of_rows():
    """The column is named with both numbers."""
    outputs = {"action_dist_inputs": torch.zeros(3, 3)}

    with pytest.raises(PieceError, match="'action_dist_inputs' has another number of rows") as got:
        ModuleToEnvPipeline(scenes.OBS, scenes.CHOICE, connectors=after_module(False))(
            rl_module=scenes.module(),
            batch=outputs,
            episodes=[scenes.single(0, 1)],
            explore=True,
            shared_data={"memorized_map_structure": ["e0"]},
        )

    assert "1 rows" in str(got.value)
    assert "3" in got.value.found


def test_outputs_without_the_time_axis():
    """A module with a state that drops the time axis is told, with column and episode."""
    outputs = {"action_dist_inputs": torch.zeros(1, 3)}
    shared = {"memorized_map_structure": ["e0"], "_added_single_ts_time_rank": True}

    with pytest.raises(PieceError, match="'action_dist_inputs', episode 'e0', is not one step"):
        ModuleToEnvPipeline(scenes.OBS, scenes.CHOICE, connectors=after_module(False))(
            rl_module=scenes.module(True),
            batch=outputs,
            episodes=[scenes.single(0, 1)],
            explore=True,
            shared_data=shared,
        )


def test_a_plan_of_nothing_is_empty():
    """A pipeline without pieces has no steps."""
    assert Plan([], None, None).steps == ()
