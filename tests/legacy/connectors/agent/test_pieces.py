"""Agent connectors one by one; Ray's numbers are in the golden scenarios."""

import numpy as np
import pytest
import rlconnect.legacy as legacy
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from rlconnect.core.errors import PieceError
from rlconnect.legacy.batches.sample_batch import SampleBatch
from rlconnect.legacy.connectors.agent.flatten import FlattenDataAgentConnector
from rlconnect.legacy.connectors.agent.mean_std_filter import (
    ConcurrentMeanStdObservationFilterAgentConnector,
    MeanStdObservationFilterAgentConnector,
    SyncedFilterAgentConnector,
)
from rlconnect.legacy.connectors.agent.obs_preproc import ObsPreprocessorConnector
from rlconnect.legacy.connectors.agent.state_buffer import StateBufferConnector
from rlconnect.legacy.connectors.agent.view_requirement import ViewRequirementAgentConnector
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.connectors.types import (
    ActionConnectorDataType,
    AgentConnectorDataType,
    AgentConnectorsOutput,
)
from rlconnect.legacy.views.views import ViewRequirement

NESTED = Dict({"x": Box(-1, 1, (2,)), "k": Discrete(3)})
CTX = ConnectorContext(
    {},
    [np.ones(2, np.float32)],
    Box(-1, 1, (2,)),
    Discrete(2),
    {"obs": ViewRequirement(space=Box(-1, 1, (2,)))},
)


def record(agent="a", **data):
    return AgentConnectorDataType("e", agent, data)


# A row for each: a class that is gone takes its own tests with it, and no others.
TABLE = {
    "ClipRewardAgentConnector": {"limit": 1.0},
    "EnvSamplingAgentConnector": {},
    "ObsPreprocessorConnector": {},
    "MeanStdObservationFilterAgentConnector": {},
    "ConcurrentMeanStdObservationFilterAgentConnector": {},
    "StateBufferConnector": {},
    "ViewRequirementAgentConnector": {},
}
NEEDING_DICTS = [name for name in TABLE if name[:7] not in ("EnvSamp", "ViewReq")]


@pytest.fixture
def piece(name):
    return getattr(legacy, name)(CTX, **TABLE[name])


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("count", [1, 3])
def test_given_records_are_left_alone(piece, count):
    """No piece writes into the records, dicts or arrays it is given."""
    given = [record(i, new_obs=np.full(2, 0.5, np.float32), rewards=3.0) for i in range(count)]
    for each in given:
        each.data["new_obs"].flags.writeable = False
    before = [dict(each.data) for each in given]

    made = piece(given)

    assert len(made) == count
    assert [each.data for each in given] == before


@pytest.mark.parametrize("name", TABLE)
def test_pieces_come_back_from_their_state(piece):
    """Name and params build an equal piece, and the params are plain."""
    name, params = piece.to_state()

    again = type(piece).from_state(CTX, params)

    assert name == type(again).__name__
    assert again.to_state()[0] == name
    assert isinstance(params, (dict, type(None)))


@pytest.mark.parametrize("name", NEEDING_DICTS)
def test_records_that_are_no_dicts_are_refused(piece):
    """A piece put behind the views says what it expected."""
    late = AgentConnectorDataType("e", "a", AgentConnectorsOutput({}, SampleBatch()))

    for records in ([late], [late, late]):
        with pytest.raises(PieceError, match="expected a dict"):
            piece(records)


def test_a_sign_and_a_limit_contradict():
    """One of the two may clip."""
    with pytest.raises(PieceError, match="sign"):
        legacy.ClipRewardAgentConnector(CTX, sign=True, limit=1.0)


@pytest.mark.parametrize("space", [NESTED, Discrete(3), Tuple((Discrete(2), Box(-1, 1, (2, 2))))])
def test_preprocessing_together_equals_one_by_one(space):
    """A list is preprocessed as one batch with what each record gets alone."""
    space.seed(0)
    raw = Box(-1, 1, (9,))
    raw.original_space = space
    piece = ObsPreprocessorConnector(ConnectorContext(observation_space=raw))
    records = [record(i, new_obs=space.sample()) for i in range(5)]

    together = piece(records)

    assert not piece.is_identity()
    for one, given in zip(together, records, strict=True):
        np.testing.assert_array_equal(one.data["new_obs"], piece([given])[0].data["new_obs"])


def test_preprocessing_reaches_both_columns():
    """ "obs" and "new_obs" are transformed where they are; records without pass."""
    piece = ObsPreprocessorConnector(ConnectorContext(observation_space=Discrete(2)))

    made = piece([record(obs=0, new_obs=1), record("b", rewards=1.0), record("c", new_obs=0)])

    assert made[0].data["obs"].tolist() == [1, 0]
    assert made[0].data["new_obs"].tolist() == [0, 1]
    assert made[1].data == {"rewards": 1.0}
    assert made[2].data["new_obs"].tolist() == [1, 0]


def test_lists_become_arrays_for_a_box():
    """An observation given as a list goes on as an array, alone or among others."""
    piece = ObsPreprocessorConnector(CTX)

    alone = piece([record(new_obs=[0.5, 0.25])])
    among = piece([record(new_obs=np.zeros(2, np.float32)), record("b", new_obs=[0.5, 0.25])])

    assert alone[0].data["new_obs"].dtype == np.float32
    assert among[1].data["new_obs"].tolist() == [0.5, 0.25]


def test_a_wrong_shape_among_many_is_refused():
    """One agent's observation of another shape fails the list, with the space in the words."""
    piece = ObsPreprocessorConnector(CTX)

    with pytest.raises(ValueError, match="outside of its space"):
        piece([record(new_obs=np.zeros(2, np.float32)), record("b", new_obs=np.zeros(3))])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("space", [Box(-1, 1, (2,)), NESTED])
def test_filtering_together_equals_one_by_one(training, space):
    """A list is filtered as one batch with what each record gets in its turn."""
    space.seed(1)
    pieces = [
        MeanStdObservationFilterAgentConnector(ConnectorContext(observation_space=space))
        for _ in range(2)
    ]
    records = [record(i, new_obs=space.sample()) for i in range(6)]
    for piece in pieces:
        piece(records[:3])
        piece.in_training() if training else piece.in_eval()

    together = pieces[0](records)
    alone = [pieces[1]([each])[0] for each in records]

    for one, other in zip(together, alone, strict=True):
        mine, theirs = one.data["new_obs"], other.data["new_obs"]
        if isinstance(mine, dict):
            assert mine["k"] == theirs["k"]
            mine, theirs = mine["x"], theirs["x"]
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_filters_merge_through_their_connectors():
    """apply_changes and sync take connectors and filters, in training only."""
    main, worker = (MeanStdObservationFilterAgentConnector(CTX) for _ in range(2))
    for value in (1.0, 2.0):
        worker([record(new_obs=np.full(2, value))])

    main.apply_changes(worker)
    main.sync(worker.filter)
    main.reset_state()

    assert main.filter.running_stats.n == 2
    assert main.filter.buffer.n == 0
    assert main.copy().running_stats.n == main.as_serializable().running_stats.n == 2
    main.in_eval()
    with pytest.raises(PieceError, match="in_training"):
        main.reset_state()


def test_the_concurrent_filter_ignores_its_settings():
    """As in RLlib it clips at 10 whatever it is told, and is saved as the plain one."""
    piece = ConcurrentMeanStdObservationFilterAgentConnector(CTX, clip=None)

    assert piece.filter.clip == 10.0
    assert piece.to_state()[0] == "MeanStdObservationFilterAgentConnector"


def test_a_synced_filter_says_what_to_override():
    """The base merges nothing by itself."""
    base = SyncedFilterAgentConnector(CTX, "taken", too=True)

    for call in (
        base.copy,
        base.reset_state,
        base.as_serializable,
        lambda: base.sync(base),
        lambda: base.apply_changes(base),
    ):
        with pytest.raises(PieceError, match="override it"):
            call()


def test_answers_survive_in_plain_data():
    """A buffer's state goes on where it was; bytes that Ray pickled are passed over."""
    piece = StateBufferConnector(CTX)
    output = (np.int64(1), [np.zeros(2)], {"vf_preds": 0.5})
    piece.on_policy_output(ActionConnectorDataType("e", "a", {}, output))

    again = StateBufferConnector.from_state(CTX, piece.to_state()[1])
    afresh = StateBufferConnector.from_state(CTX, b"\x80\x05cposix\nsystem\n.")

    assert again([record()])[0].data["vf_preds"] == 0.5
    assert afresh([record()])[0].data["actions"] == 0
    assert afresh.to_state() == ("StateBufferConnector", None)


def test_answers_of_many_equal_those_of_each():
    """Agents with and without an answer, in one list."""
    piece = StateBufferConnector(CTX)
    piece.on_policy_output(ActionConnectorDataType("e", "a", {}, (1, [np.zeros(2)], {"q": 3})))
    records = [record("a", new_obs=1), record("b", new_obs=2)]

    together = piece(records)
    alone = [piece([each])[0] for each in records]

    for one, other in zip(together, alone, strict=True):
        assert list(one.data) == list(other.data)
        assert one.data["actions"] == other.data["actions"]
    assert together[0].data["q"] == 3


def test_first_actions_cannot_be_written_into():
    """The zeros before the first answer are shared, so they are read-only."""
    first = StateBufferConnector(CTX)([record()])[0].data["actions"]

    with pytest.raises(ValueError, match="read-only"):
        first += 1


def test_actions_may_be_held_back():
    """Ray 2.3 to 2.5 gave zeros; loaded policies of theirs do, with all other answers kept."""
    piece = StateBufferConnector(CTX)
    piece.carries_actions = False

    piece.on_policy_output(ActionConnectorDataType("e", "a", {}, (1, [np.zeros(2)], {"q": 3})))
    data = piece([record()])[0].data

    assert (data["actions"], data["q"]) == (0, 3)


@pytest.mark.parametrize("ids", [(None, "a"), ("e", None)])
def test_buffers_need_ids(ids):
    """Neither a record nor an answer may be nobody's."""
    piece = StateBufferConnector(CTX)

    for call in (
        lambda: piece([AgentConnectorDataType(*ids, {})]),
        lambda: piece([AgentConnectorDataType(*ids, {}), record()]),
        lambda: piece.on_policy_output(ActionConnectorDataType(*ids, {}, (1, [], {}))),
    ):
        with pytest.raises(PieceError, match="env_id and agent_id"):
            call()


@pytest.mark.parametrize(
    "build", [ObsPreprocessorConnector, MeanStdObservationFilterAgentConnector]
)
def test_spaces_must_be_known(build):
    """Without an observation space there is nothing to preprocess or filter."""
    with pytest.raises(PieceError, match="observation_space"):
        build(ConnectorContext())
    with pytest.raises(PieceError, match="action_space"):
        StateBufferConnector(ConnectorContext())([record()])


def test_flattening_lists_the_leaves():
    """A lone array gains an axis, equal leaves are stacked, others joined; some columns stay."""
    columns = {
        "obs": {"a": np.ones((1, 2)), "b": np.zeros((1, 2))},
        "img": np.zeros((1, 2, 2)),
        "mix": (np.ones(2), np.zeros(1)),
        "actions": np.zeros((1, 2)),
        "none": None,
        "infos": np.array([{}]),
        "state_out_0": np.zeros((1, 3)),
    }
    given = AgentConnectorsOutput({"raw": 1}, SampleBatch.of(columns))

    made = FlattenDataAgentConnector(CTX)([AgentConnectorDataType("e", "a", given)])[0].data

    shapes = {k: np.shape(v) for k, v in made.sample_batch.items()}
    assert shapes == {
        "obs": (2, 1, 2),
        "img": (1, 1, 2, 2),
        "mix": (1, 3),
        "actions": (1, 2),
        "none": (),
        "infos": (1,),
        "state_out_0": (1, 3),
    }
    assert made.raw_dict == {"raw": 1}
    with pytest.raises(PieceError, match="after ViewRequirementAgentConnector"):
        FlattenDataAgentConnector(CTX)([record()])


def test_batches_of_a_list_may_be_replaced():
    """A row cut out of many agents' batch can be set, like any attribute."""
    made = ViewRequirementAgentConnector(CTX)(
        [record(i, new_obs=np.full(2, float(i))) for i in range(2)]
    )

    made[0].data.sample_batch = SampleBatch({"obs": np.zeros((1, 2))})

    assert made[0].data.sample_batch["obs"].tolist() == [[0, 0]]
    assert made[1].data.sample_batch["obs"].tolist() == [[1, 1]]
    assert made[1].data.sample_batch is made[1].data.sample_batch


def test_what_is_kept_of_agents_can_be_looked_at():
    """Steps and rows by environment and agent, as far as a view looks; none after a reset."""
    views = {"obs": ViewRequirement(), "past": ViewRequirement("obs", shift="-2:0")}
    plain = ViewRequirementAgentConnector(ConnectorContext(view_requirements={"obs": views["obs"]}))
    far = ViewRequirementAgentConnector(ConnectorContext(view_requirements=views))

    for connector in (plain, far):
        for step in range(5):
            connector([AgentConnectorDataType(0, 1, {"new_obs": np.array([step, step + 1.0])})])

    assert plain.agent_collectors[0][1].agent_steps == 4
    assert np.array(plain.agent_collectors[0][1].buffers["obs"][0]).tolist() == [[4, 5]]
    assert far.agent_collectors[0][1].buffers["obs"][0].tolist() == [[2, 3], [3, 4], [4, 5]]
    assert list(plain.agent_collectors) == [0]
    plain.reset(0)
    assert plain.agent_collectors[0][1].is_empty()
    assert plain.agent_collectors[0][1].agent_steps == 0


def test_steps_of_several_agents_are_counted_together():
    """A batch of agents counts as one by one does."""
    connector = ViewRequirementAgentConnector(
        ConnectorContext(view_requirements={"obs": ViewRequirement()})
    )
    for _ in range(3):
        connector([AgentConnectorDataType(0, i, {"new_obs": np.zeros(2)}) for i in range(4)])

    collectors = connector.agent_collectors[0]

    assert [collectors[i].agent_steps for i in range(4)] == [2] * 4
    assert collectors[0].buffers == {}
