"""Pipelines of connectors: editing, indexing, printing, saving, switching."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import PieceError, PipelineError
from rlconnect.legacy.connectors.action.immutable import ImmutableActionsConnector
from rlconnect.legacy.connectors.action.normalize import NormalizeActionsConnector
from rlconnect.legacy.connectors.action.to_numpy import ConvertToNumpyConnector
from rlconnect.legacy.connectors.agent.mean_std_filter import (
    ConcurrentMeanStdObservationFilterAgentConnector,
    MeanStdObservationFilterAgentConnector,
)
from rlconnect.legacy.connectors.agent.obs_preproc import ObsPreprocessorConnector
from rlconnect.legacy.connectors.agent.state_buffer import StateBufferConnector
from rlconnect.legacy.connectors.agent.view_requirement import ViewRequirementAgentConnector
from rlconnect.legacy.connectors.connector import ActionConnector, AgentConnector
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.connectors.pipeline import ActionConnectorPipeline, AgentConnectorPipeline
from rlconnect.legacy.connectors.rows import Rows
from rlconnect.legacy.connectors.types import ActionConnectorDataType, AgentConnectorDataType
from rlconnect.legacy.views.views import ViewRequirement

SPACE = Box(-1, 1, (2,))


def context(**options):
    views = {"obs": ViewRequirement(space=SPACE)}
    return ConnectorContext({}, [], SPACE, Discrete(2), views, **options)


class HalfActions(ActionConnector):
    """A user's connector."""

    def transform(self, ac_data):
        actions, states, fetches = ac_data.output
        return ActionConnectorDataType(
            ac_data.env_id, ac_data.agent_id, ac_data.input_dict, (actions / 2, states, fetches)
        )


def actions(*names):
    classes = {
        c.__name__: c
        for c in (
            ConvertToNumpyConnector,
            HalfActions,
            ImmutableActionsConnector,
            NormalizeActionsConnector,
        )
    }
    return ActionConnectorPipeline(context(), [classes[name](context()) for name in names])


def names(pipeline):
    return [str(connector) for connector in pipeline.connectors]


def test_edits_land_where_they_aim():
    """Each edit puts the connector at the place it names."""
    pipeline = actions("HalfActions")

    pipeline.insert_before("HalfActions", ConvertToNumpyConnector(context()))
    pipeline.insert_after("HalfActions", ImmutableActionsConnector(context()))
    pipeline.insert_after(ConvertToNumpyConnector, NormalizeActionsConnector(context()))
    pipeline.prepend(HalfActions(context()))
    pipeline.append(ConvertToNumpyConnector(context()))
    pipeline.remove("HalfActions")

    assert names(pipeline) == [
        "ConvertToNumpyConnector",
        "NormalizeActionsConnector",
        "HalfActions",
        "ImmutableActionsConnector",
        "ConvertToNumpyConnector",
    ]


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: p.insert_before("ImutableActionsConnector", ConvertToNumpyConnector()),
        lambda p: p.insert_after("ImutableActionsConnector", ConvertToNumpyConnector()),
    ],
)
def test_edits_aimed_at_nothing_are_refused(edit):
    """A missing target raises with a suggestion and leaves the pipeline alone."""
    pipeline = actions("HalfActions", "ImmutableActionsConnector")

    with pytest.raises(PipelineError, match="did you mean 'ImmutableActionsConnector'"):
        edit(pipeline)

    assert len(pipeline) == 2


def test_removing_what_is_not_there_warns():
    """As RLlib does: the document removes connectors that not every release had."""
    pipeline = actions("HalfActions")

    with pytest.warns(UserWarning, match="no connector 'FlattenDataAgentConnector'"):
        pipeline.remove("FlattenDataAgentConnector")

    assert names(pipeline) == ["HalfActions"]


def test_connectors_are_a_live_list():
    """What is done to the plain list counts at the next call."""
    pipeline = actions("ConvertToNumpyConnector", "ImmutableActionsConnector")

    pipeline.connectors.pop()
    actions_out, _, _ = pipeline(
        ActionConnectorDataType("e", "a", {}, (np.zeros(1), [], {}))
    ).output

    assert actions_out.flags.writeable


def test_indexing_gives_lists():
    """A position, a name and a class each give the list of connectors they fit."""
    ctx = context()
    plain = MeanStdObservationFilterAgentConnector(ctx)
    locked = ConcurrentMeanStdObservationFilterAgentConnector(ctx)
    pipeline = AgentConnectorPipeline(ctx, [ObsPreprocessorConnector(ctx), plain, locked])

    assert pipeline[1] == [plain]
    assert pipeline["ConcurrentMeanStdObservationFilterAgentConnector"] == [locked]
    assert pipeline[MeanStdObservationFilterAgentConnector] == [plain, locked]
    assert pipeline["Missing"] == []


def test_indexing_by_something_else_is_refused():
    """A slice is neither; a position beyond the end names the length."""
    pipeline = actions("HalfActions")

    with pytest.raises(NotImplementedError):
        pipeline[0:1]
    with pytest.raises(PipelineError, match="holds 1 connectors"):
        pipeline[3]


def test_printing_indents_children():
    """Children stand four columns in, nested pipelines eight."""
    inner = actions("HalfActions")
    pipeline = ActionConnectorPipeline(context(), [inner, ImmutableActionsConnector()])

    assert str(pipeline).splitlines() == [
        "ActionConnectorPipeline",
        "    ActionConnectorPipeline",
        "        HalfActions",
        "    ImmutableActionsConnector",
    ]


def test_state_round_trip():
    """A pipeline rebuilt from its state, tuples or lists, has the same state."""
    pipeline = AgentConnectorPipeline(
        context(),
        [
            MeanStdObservationFilterAgentConnector(context(), clip=2.0),
            StateBufferConnector(context()),
            ViewRequirementAgentConnector(context()),
        ],
    )

    name, params = pipeline.to_state()
    again = AgentConnectorPipeline.from_state(context(), [list(child) for child in params])

    assert name == "AgentConnectorPipeline"
    assert again.serialize() == (name, params)


@pytest.mark.parametrize("params", [None, {"a": 1}, [("HalfActions",)], ["Clip"]])
def test_state_of_another_form_is_refused(params):
    """Only a list of pairs describes a pipeline."""
    with pytest.raises(PipelineError, match="cannot be restored"):
        ActionConnectorPipeline.from_state(context(), params)


def test_switches_reach_every_connector():
    """in_eval, in_training and Ray 2.0's is_training act on all children."""
    pipeline = AgentConnectorPipeline(
        context(), [ObsPreprocessorConnector(), StateBufferConnector()]
    )

    pipeline.in_eval()
    were_off = [child._is_training for child in pipeline.connectors]
    pipeline.is_training(True)

    assert were_off == [False, False]
    assert [child._is_training for child in pipeline.connectors] == [True, True]


def test_reset_and_answers_reach_every_connector():
    """An answer is given back until its environment is reset; action pipelines reset too."""
    pipeline = AgentConnectorPipeline(
        context(), [StateBufferConnector(), ViewRequirementAgentConnector()]
    )
    record = AgentConnectorDataType("e", "a", {"new_obs": np.zeros(2, np.float32)})

    pipeline.on_policy_output(ActionConnectorDataType("e", "a", {}, (1, [], {"vf_preds": 2.0})))
    before = pipeline([record])[0].data.raw_dict
    pipeline.reset("e")
    after = pipeline([record])[0].data.raw_dict

    assert before["actions"] == 1
    assert before["vf_preds"] == 2.0
    assert after["actions"] == 0
    assert "vf_preds" not in after
    assert actions("HalfActions").reset("e") is None


def test_pipelines_hand_their_context_to_bare_connectors():
    """The document's way: connectors are built without a context and get the pipeline's."""
    pipeline = AgentConnectorPipeline(
        context(), [StateBufferConnector(), ViewRequirementAgentConnector()]
    )

    pipeline.insert_before("ViewRequirementAgentConnector", ObsPreprocessorConnector())
    made = pipeline([AgentConnectorDataType("e", "a", {"new_obs": np.zeros(2, np.float32)})])

    assert made[0].data.sample_batch["obs"].shape == (1, 2)


def test_a_lone_record_is_refused():
    """Agent connectors take lists; the error says so."""
    pipeline = AgentConnectorPipeline(context(), [ViewRequirementAgentConnector()])

    with pytest.raises(PieceError, match="put the record into a list"):
        pipeline(AgentConnectorDataType("e", "a", {}))


def test_connectors_may_change_the_number_of_records():
    """A connector that overrides __call__ may drop records; the rest go on."""

    class DropFirst(AgentConnector):
        def __call__(self, acd_list):
            return tuple(acd_list[1:])

    pipeline = AgentConnectorPipeline(context(), [DropFirst(), ViewRequirementAgentConnector()])
    records = [AgentConnectorDataType("e", i, {"new_obs": np.full(2, i)}) for i in range(3)]

    made = pipeline(records)

    assert [record.agent_id for record in made] == [1, 2]


def test_stacked_columns_do_not_outlive_the_last_connector():
    """A connector after the views gets a plain list: stacked columns would be stale after it."""

    class Zero(AgentConnector):
        def __call__(self, acd_list):
            for record in acd_list:
                record.data.sample_batch["obs"] *= 0
            return acd_list

    records = [AgentConnectorDataType("e", i, {"new_obs": np.ones(2)}) for i in range(2)]
    plain = AgentConnectorPipeline(context(), [ViewRequirementAgentConnector()])
    changed = AgentConnectorPipeline(context(), [ViewRequirementAgentConnector(), Zero()])

    assert plain.passed(Rows.of(records)).built["obs"].tolist() == [[1, 1]] * 2
    made = changed.passed(Rows.of(records))
    assert not isinstance(made, Rows)
    assert [each.data.sample_batch["obs"].tolist() for each in made] == [[[0, 0]]] * 2


def test_pipelines_leave_out_what_changes_nothing_until_it_does():
    """A connector that is bound to another space counts at the next call."""
    stretch = NormalizeActionsConnector()
    pipeline = ActionConnectorPipeline(ConnectorContext(action_space=Discrete(2)), [stretch])
    answer = ActionConnectorDataType("e", "a", {}, (np.float32([0.5]), [], {}))

    assert pipeline(answer) is answer
    stretch.bind(ConnectorContext(action_space=Box(0, 10, (1,))))
    assert pipeline(answer).output[0].tolist() == [7.5]


def test_a_subclass_of_what_changes_nothing_is_called():
    """That a class changes nothing says nothing of those derived from it."""

    class Doubling(NormalizeActionsConnector):
        def transform_all(self, output):
            return (2 * output[0], *output[1:])

    context = ConnectorContext(action_space=Discrete(2))
    pipeline = ActionConnectorPipeline(context, [Doubling(context)])

    assert pipeline(ActionConnectorDataType("e", "a", {}, (3, [], {}))).output[0] == 6
