"""Pieces know their spaces and arguments; pipelines chain, nest, edit and keep state."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import PieceError, PipelineError
from rlconnect.v2 import (
    ConnectorPipelineV2,
    ConnectorV2,
    EnvToModulePipeline,
    MeanStdFilter,
    check,
    one_hot,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "checkpoints"
BOX = Box(-1.0, 1.0, (3,), np.float32)


class Double(ConnectorV2):
    def __init__(self, input_observation_space=None, input_action_space=None, *, times=2):
        super().__init__(input_observation_space, input_action_space)
        self.times = times  # after super().__init__, and the hook below reads it

    def recompute_output_observation_space(self, in_obs, in_act):
        return Box(-1, 1, (in_obs.shape[0] * self.times,), np.float32)

    def __call__(self, *, batch, **kwargs):
        return {**batch, "seen": [*batch.get("seen", ()), self.times]}


class Count(ConnectorV2):
    count = 0

    def __call__(self, *, batch, data, **kwargs):
        assert data is batch
        self.count += 1
        return batch

    def get_state(self, components=None, *, not_components=None, **kwargs):
        return {"count": self.count}

    def set_state(self, state):
        self.count = state["count"]

    def merge_states(self, states):
        return {"count": self.count + sum(state["count"] for state in states)}


def run(pipeline, batch=None):
    return pipeline(rl_module=None, batch=batch or {}, episodes=[])


def test_one_hot_connector_of_the_document():
    """The document's example runs, only its import line changed."""

    class OneHotConnector(ConnectorV2):
        def recompute_output_observation_space(self, input_observation_space, input_action_space):
            return Box(0.0, 1.0, (input_observation_space.n,), np.float32)

        def __call__(
            self,
            *,
            rl_module,
            batch,
            episodes,
            explore=None,
            shared_data=None,
            metrics=None,
            **kwargs,
        ):
            assert "obs" in batch
            batch["obs"] = one_hot(batch["obs"])
            return batch

    connector = OneHotConnector(input_observation_space=Discrete(2))
    batch = {"obs": np.array([1, 0, 0], np.int32)}

    output = connector(rl_module=None, batch=batch, episodes=None)

    check(output, {"obs": np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])})
    assert connector.observation_space == Box(0.0, 1.0, (2,), np.float32)


def test_spaces_may_be_given_before_own_attributes_are_set():
    """The space hook runs when the whole constructor has run, whatever came first in it."""
    piece = Double(BOX, Discrete(2), times=3)

    assert piece.observation_space.shape == (9,)
    assert piece.action_space == Discrete(2)


def test_constructor_arguments_are_those_of_the_outermost_constructor():
    """Arguments come back by name, defaults included, and build an equal piece."""
    args, kwargs = Double(BOX, times=5).get_ctor_args_and_kwargs()

    assert args == ()
    assert kwargs == {"input_observation_space": BOX, "input_action_space": None, "times": 5}


def test_a_reassigned_argument_is_recorded_as_it_was_given():
    """What a constructor does to its arguments later is of no matter."""

    class Changing(Double):
        def __init__(self, *spaces, factor):
            super().__init__(*spaces, times=factor + 1)
            factor = None

    args, kwargs = Changing(BOX, factor=1).get_ctor_args_and_kwargs()

    assert (args, kwargs) == ((BOX,), {"factor": 1})


def test_old_space_hook_is_called_with_one_warning():
    """The older spelling of the space hook works; each class warns once."""

    class Old(Double):
        recompute_output_observation_space = ConnectorV2.recompute_output_observation_space

        def recompute_observation_space_from_input_spaces(self):
            return Box(0, 1, (self.input_observation_space.shape[0] + self.times,), np.float32)

    with pytest.warns(DeprecationWarning, match="old spelling"):
        first = Old(BOX)
    second = Old(BOX)

    assert first.observation_space.shape == second.observation_space.shape == (5,)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_pieces_and_pipelines_can_be_copied(again):
    """A copy has the same spaces and constructor arguments."""
    pipeline = ConnectorPipelineV2(BOX, Discrete(2), connectors=[Double(), Double(times=3)])

    twin = again(pipeline)

    assert twin.observation_space.shape == (18,)
    assert twin[1].get_ctor_args_and_kwargs()[1]["times"] == 3


def test_spaces_flow_through_nested_pipelines():
    """Each piece gets what the one before it makes, in nested pipelines too."""
    inner = ConnectorPipelineV2(connectors=[Double(), Double()])
    outer = ConnectorPipelineV2(BOX, Discrete(2), connectors=[Double(), inner])

    assert outer.observation_space.shape == (24,)
    assert inner.input_observation_space.shape == (6,)


def test_nested_pipelines_run():
    """A pipeline is a piece: it can be called by another."""
    inner = ConnectorPipelineV2(connectors=[Double(times=2), Count()])
    outer = ConnectorPipelineV2(connectors=[Double(times=1), inner, Double(times=3)])

    assert run(outer) == {"seen": [1, 2, 3]}


@pytest.mark.parametrize("edit", ["insert_before", "insert_after"])
@pytest.mark.parametrize("target", ["Nope", dict])
def test_edits_aimed_at_a_missing_piece_change_nothing(edit, target):
    """An edit that has no target raises and leaves the pipeline as it was."""
    pipeline = ConnectorPipelineV2(connectors=[Double(), Count()])
    before = list(pipeline.connectors)

    with pytest.raises(PipelineError, match="holds no piece"):
        getattr(pipeline, edit)(target, Count())

    assert pipeline.connectors == before


def test_edits_find_a_piece_itself():
    """Of two pieces of one class, each can be meant."""
    first, second = Double(), Double(times=3)
    pipeline = ConnectorPipelineV2(connectors=[first, second])

    assert pipeline.insert_before(second, Count()) is second
    assert pipeline.insert_after(second, Count()) is second
    pipeline.remove(second)

    assert [type(piece).__name__ for piece in pipeline.connectors] == ["Double", "Count", "Count"]
    with pytest.raises(PipelineError, match="no piece 'Double'"):
        pipeline.insert_before(second, Count())


def test_no_space_is_no_news():
    """Setting None keeps the spaces that go out, as in Ray 2.60."""
    piece = Double(BOX, Discrete(2))

    piece.input_observation_space = None
    piece.input_action_space = None

    assert piece.observation_space.shape == (6,)
    assert piece.action_space == Discrete(2)


def test_removing_a_missing_piece_warns():
    """As in RLlib, `remove` of a piece that is not there is no error."""
    pipeline = ConnectorPipelineV2(connectors=[Count()])

    with pytest.warns(UserWarning, match="Nope"):
        pipeline.remove("Nope")

    assert len(pipeline) == 1


def test_the_list_of_pieces_is_live():
    """What is done to `connectors` directly counts, for spaces too."""
    pipeline = ConnectorPipelineV2(BOX, Discrete(2), connectors=[Double()])

    pipeline.connectors.append(Double(times=3))

    assert pipeline.observation_space.shape == (18,)
    pipeline.connectors.pop(0)
    assert pipeline.observation_space.shape == (9,)
    assert run(pipeline) == {"seen": [3]}


def test_an_edit_of_a_nested_pipeline_reaches_the_outer_one():
    """Spaces follow an edit inside, at the pieces behind it too."""
    inner = ConnectorPipelineV2(connectors=[Double()])
    outer = ConnectorPipelineV2(BOX, Discrete(2), connectors=[inner, Double()])

    inner.append(Double(times=3))

    assert outer.observation_space.shape == (36,)


def test_pieces_are_found_by_place_class_and_name():
    """An index is a place, a class or a class name."""
    pipeline = ConnectorPipelineV2(connectors=[Double(), Count(), Double()])

    assert pipeline[-1] is pipeline.connectors[2]
    assert pipeline["Double"] == pipeline[Double] == pipeline.connectors[::2]
    assert len(pipeline[ConnectorV2]) == 3


def test_what_is_no_piece_is_refused():
    """A class or anything else in place of a piece raises at once."""
    with pytest.raises(PipelineError, match=r"add Count\(\)"):
        ConnectorPipelineV2(connectors=[Count])


def test_a_piece_that_returns_nothing_is_named():
    """The error says which piece forgot to return its batch."""

    class Culprit(ConnectorV2):
        def __call__(self, **kwargs):
            return None

    with pytest.raises(PieceError, match=r"Culprit[\s\S]*return batch"):
        run(ConnectorPipelineV2(connectors=[Culprit()]))


def test_two_pieces_of_a_class_keep_their_own_state():
    """State keys are unique, and go back to where they came from; merging goes by name."""
    pipeline = ConnectorPipelineV2(connectors=[Double(), Count(), Count()])
    pipeline.connectors[1].count = 5

    run(pipeline)
    state = pipeline.get_state()
    twin = ConnectorPipelineV2(connectors=[Double(), Count(), Count()])
    twin.set_state(state)

    assert state == {"Count": {"count": 6}, "Count_1": {"count": 1}}
    assert [piece.count for piece in twin[Count]] == [6, 1]
    assert twin.merge_states([state, state])["Count_1"] == {"count": 3}


def test_a_pipeline_saves_itself(tmp_path):
    """A pipeline with stateless pieces goes to a folder and comes back."""
    pipeline = EnvToModulePipeline(BOX, Discrete(2), connectors=[Double(), Count()])
    run(pipeline)
    classes = {f"{cls.__module__}.{cls.__qualname__}": cls for cls in (Double, Count)}

    path = pipeline.save_to_path(tmp_path / "pipeline")
    twin = EnvToModulePipeline.from_checkpoint(path, module_classes=classes)

    assert [type(piece) for piece in twin.connectors] == [Double, Count]
    assert twin.get_state() == pipeline.get_state()


@pytest.mark.parametrize("name", ["env_to_module_connector", "module_to_env_connector"])
def test_pipelines_that_rllib_saved_come_back(name):
    """Pieces, spaces and statistics are read from the folders that real RLlib wrote."""
    saved = GOLDEN / "2.60.0-ppo_new_stack" / "algo" / "env_runner" / name

    pipeline = ConnectorPipelineV2.from_checkpoint(saved)

    assert pipeline.observation_space.shape == (4,)
    assert len(pipeline) >= 6
    for piece in pipeline[MeanStdFilter]:
        assert piece.get_state()[None]["running_stats"][0]["num_pushes"] > 0


def test_metrics_get_a_timer_for_each_piece():
    """A logger is told how long the pipeline and each of its pieces took."""

    class Logger:
        def __init__(self):
            self.keys = []

        def log_time(self, key):
            from contextlib import nullcontext

            self.keys.append(key)
            return nullcontext()

        def log_value(self, key, value):
            self.keys.append(key)

    logger = Logger()

    EnvToModulePipeline(connectors=[Double()])(rl_module=None, episodes=[], metrics=logger)

    assert logger.keys == [
        "env_to_module_sum_episodes_length_in",
        ("connector_pipeline_timer",),
        ("timers", "connectors", "double"),
        "env_to_module_sum_episodes_length_out",
    ]


def test_saved_pieces_are_named_as_rllib_names_them(tmp_path):
    """Our folders carry RLlib's class names, so that Ray can read them."""
    pipeline = EnvToModulePipeline(BOX, Discrete(2), connectors=[MeanStdFilter()])

    path = pipeline.save_to_path(tmp_path / "pipeline")

    found = (Path(path) / "class_and_ctor_args.pkl").read_bytes()
    assert b"ray.rllib.connectors.env_to_module.mean_std_filter" in found
    assert ConnectorV2.from_checkpoint(path)[MeanStdFilter]
