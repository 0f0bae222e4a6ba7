"""What every built-in piece obeys: spaces, settings, copies, state and saving."""

import copy

import numpy as np
import pytest
import rlconnect.v2 as v2
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.adapters import AdapterChain, DropFeatures, MapActions, Scale

BOX = Box(-10.0, 10.0, (2,), np.float32)
IMAGE = Box(0.0, 255.0, (4, 4, 1), np.float32)
AGENTS = Dict({"a": BOX, "b": BOX})
PICK = {"rl_module_specs": ["p"], "agent_to_module_mapping_fn": v2.Columns}  # any named function
DROP = AdapterChain(obs=[DropFeatures([0])]).to_data()
SWAP = AdapterChain(action=[MapActions([1, 0, 2])]).to_data()
HALVE = AdapterChain(reward=[Scale(0.5)]).to_data()

# name, observation space, action space, settings; a new piece adds one line
TABLE = [
    ("AdaptActions", BOX, Discrete(3), {"chain": SWAP}),
    ("AdaptObservations", BOX, Discrete(3), {"chain": DROP}),
    ("AdaptRewards", BOX, Discrete(3), {"chain": HALVE}),
    ("AddColumnsFromEpisodesToTrainBatch", BOX, Discrete(3), {}),
    ("AddInfosFromEpisodesToTrainBatch", BOX, Discrete(3), {}),
    ("AddNextObservationsFromEpisodesToTrainBatch", BOX, Discrete(3), {}),
    ("AddObservationsFromEpisodesToBatch", BOX, Discrete(3), {"as_learner_connector": True}),
    ("AddOneTsToEpisodesAndTruncate", BOX, Discrete(3), {}),
    ("AddPreviousSteps", BOX, Discrete(3), {"rewards": None}),
    ("AddStatesFromEpisodesToBatch", BOX, Discrete(3), {"as_learner_connector": True}),
    ("AddTimeDimToBatchAndZeroPad", BOX, Discrete(3), {"as_learner_connector": True}),
    ("AgentToModuleMapping", AGENTS, AGENTS, PICK),
    ("BatchIndividualItems", BOX, Discrete(3), {"multi_agent": True}),
    ("ClipRewards", BOX, Discrete(3), {"limit": 2.0}),
    ("ComputeReturnsToGo", BOX, Discrete(3), {"gamma": 0.9}),
    ("FlattenObservations", AGENTS, Discrete(3), {"keys_to_remove": ["b"]}),
    ("FrameStacking", IMAGE, Discrete(3), {"num_frames": 3}),
    ("FrameStackingEnvToModule", IMAGE, Discrete(3), {"num_frames": 3}),
    ("FrameStackingLearner", IMAGE, Discrete(3), {"num_frames": 3}),
    ("GeneralAdvantageEstimation", BOX, Discrete(3), {"gamma": 0.9, "lambda_": 0.5}),
    ("GetActions", BOX, Discrete(3), {}),
    ("ListifyDataForVectorEnv", BOX, Discrete(3), {}),
    ("MeanStdFilter", BOX, Discrete(3), {"clip_by_value": 3.0, "lone_variance": "mean_squared"}),
    ("ModuleToAgentUnmapping", BOX, Discrete(3), {}),
    ("NormalizeAndClipActions", BOX, BOX, {"normalize_actions": True, "clip_actions": False}),
    ("NumpyToTensor", BOX, Discrete(3), {"pin_memory": True}),
    ("PreprocessObservations", Dict({"b": BOX, "a": Discrete(2)}), Discrete(3), {}),
    ("PrevActionsPrevRewards", BOX, Discrete(3), {"n_prev_actions": 2}),
    ("RemoveSingleTsTimeRankFromBatch", BOX, Discrete(3), {}),
    ("SquashGreedyActions", BOX, BOX, {}),
    ("TensorToNumpy", BOX, Discrete(3), {}),
    ("UnBatchToIndividualItems", BOX, Discrete(3), {}),
    ("WriteObservationsToEpisodes", BOX, Discrete(3), {}),
]
pieces = pytest.mark.parametrize(("name", "obs", "act", "settings"), TABLE)


@pieces
def test_spaces_are_constructor_arguments_or_set_later(name, obs, act, settings):
    """Both ways of giving spaces lead to the same output spaces."""
    at_once = getattr(v2, name)(obs, act, **settings)
    later = getattr(v2, name)(**settings)

    later.input_action_space = act
    later.input_observation_space = obs

    assert at_once.observation_space == later.observation_space is not None
    assert at_once.action_space == later.action_space is not None


@pieces
def test_constructor_arguments_build_the_piece_again(name, obs, act, settings):
    """What it was constructed with is known by name."""
    args, kwargs = getattr(v2, name)(obs, act, **settings).get_ctor_args_and_kwargs()

    again = getattr(v2, name)(*args, **kwargs)

    assert args == ()
    assert kwargs.items() >= {**settings, "input_observation_space": obs}.items()
    assert again.get_ctor_args_and_kwargs() == (args, kwargs)


@pytest.mark.parametrize(("name", "obs", "act", "settings"), [row for row in TABLE if row[3]])
def test_a_misspelt_setting_is_refused(name, obs, act, settings):
    """A piece with settings of its own swallows no others."""
    with pytest.raises(TypeError, match="no_such_setting"):
        getattr(v2, name)(obs, act, **settings, no_such_setting=1)


@pieces
def test_copies_and_states(name, obs, act, settings):
    """A copy is its own piece, and a fresh state can be set again."""
    piece = getattr(v2, name)(obs, act, **settings)

    twin = copy.deepcopy(piece)
    twin.set_state(piece.get_state())

    assert twin.observation_space == piece.observation_space
    assert twin.get_state() == piece.get_state()
    assert str(piece) == name


class Same(v2.ConnectorV2):
    """Changes nothing."""

    def __call__(self, *, batch, **kwargs):
        return batch


def test_what_goes_out_may_be_said_before_spaces_come_in():
    """It goes before what is computed, in pipelines too, and may be said anew."""
    told, after, other = Same(), Same(), Box(-3, 3, (7,))
    told.observation_space = other
    told.action_space = Discrete(9)

    pipeline = v2.EnvToModulePipeline(BOX, Discrete(3), connectors=[told, after])

    assert pipeline.observation_space == after.observation_space == other
    assert pipeline.action_space == Discrete(9)
    told.observation_space = Box(0, 1, (2,))
    assert pipeline.observation_space == after.observation_space == Box(0, 1, (2,))


def test_what_follows_from_what_comes_in_is_not_set():
    """A piece that has its spaces says how to change what it puts out."""
    piece = Same(BOX, Discrete(3))

    with pytest.raises(AttributeError, match="set input_observation_space"):
        piece.observation_space = BOX
    with pytest.raises(AttributeError, match="input_action_space"):
        piece.action_space = Discrete(9)


def test_a_space_set_in_a_constructor_stays():
    """Pieces of strangers' set what they put out where they are made."""

    class Wider(v2.ConnectorV2):
        def __init__(self, input_observation_space=None, input_action_space=None):
            super().__init__(input_observation_space, input_action_space)
            self.observation_space = Box(-3, 3, (7,))

        def __call__(self, *, batch, **kwargs):
            return batch

    assert v2.EnvToModulePipeline(
        BOX, Discrete(3), connectors=[Wider()]
    ).observation_space.shape == (7,)
