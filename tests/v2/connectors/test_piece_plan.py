"""A plan joins consecutive pieces of a room, is kept, and follows every edit of the pipeline."""

import copy
import pickle

from rlconnect.v2 import ConnectorPipelineV2, ConnectorV2
from rlconnect.v2.connectors.piece_plan import Room, timer_name


class Add(ConnectorV2):
    """Adds its amount to the sum; planned pieces note that they ran as one."""

    def __init__(self, input_observation_space=None, input_action_space=None, *, amount=1):
        super().__init__(input_observation_space, input_action_space)
        self.amount = amount

    def __call__(self, *, batch, **kwargs):
        return {**batch, "sum": batch["sum"] + self.amount}


class UsersAdd(Add):
    """A user's piece: a subclass of one that can run with others."""


def join(pieces):
    def run(batch, call):
        if batch.get("is_odd"):
            return None
        together = sum(piece.amount for piece in pieces)
        return {**batch, "sum": batch["sum"] + together, "runs": [*batch["runs"], len(pieces)]}

    return run


ROOM = Room(lambda piece: type(piece) is Add, join)


class Adding(ConnectorPipelineV2):
    """A kind of pipeline with a room of its own."""

    def _room(self):
        return ROOM


class Timers:
    """A metrics logger that remembers names only."""

    def __init__(self):
        self.names = []

    def log_time(self, name):
        self.names.append(name[-1])
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def run(pipeline, metrics=None, **batch):
    batch = {"sum": 0, "runs": [], **batch}
    return pipeline(rl_module=None, batch=batch, episodes=[], metrics=metrics)


def test_consecutive_pieces_run_as_one_and_a_subclass_stands_between():
    """Exact types are joined; a subclass is the user's piece and runs alone."""
    made = run(Adding(connectors=[Add(), Add(), UsersAdd(), Add(), Add(), Add()]))

    assert made == {"sum": 6, "runs": [2, 3]}


def test_a_run_that_cannot_serve_leaves_it_to_the_pieces():
    """None from a run means: one by one."""
    made = run(Adding(connectors=[Add(), Add()]), is_odd=True)

    assert made == {"sum": 2, "runs": [], "is_odd": True}


def test_settings_are_read_in_each_call():
    """A setting assigned later counts, planned or not."""
    pipeline = Adding(connectors=[Add(), Add()])
    run(pipeline)

    pipeline[0].amount = 10

    assert run(pipeline)["sum"] == 11


def test_every_edit_of_the_list_makes_a_new_plan():
    """`connectors` is a plain list: in place, by method, or replaced."""
    pipeline = Adding(connectors=[Add(), Add()])
    run(pipeline)

    pipeline.connectors[1] = UsersAdd(amount=5)
    assert run(pipeline) == {"sum": 6, "runs": []}
    pipeline.append(Add())
    pipeline.append(Add())
    assert run(pipeline) == {"sum": 8, "runs": [2]}
    pipeline.connectors = [Add(amount=3), Add()]
    assert run(pipeline) == {"sum": 4, "runs": [2]}


def test_pipelines_inside_of_pipelines_plan_for_themselves():
    """An edit inside is followed, too."""
    inner = Adding(connectors=[Add(), Add()])
    outer = Adding(connectors=[Add(), inner, Add()])
    assert run(outer) == {"sum": 4, "runs": [2]}

    inner.connectors.append(Add())

    assert run(outer) == {"sum": 5, "runs": [3]}


def test_a_run_has_one_timer_named_by_its_ends():
    """A piece alone has its own timer, a run one for all, and a run that failed leaves theirs."""
    timers = Timers()
    run(Adding(connectors=[Add(), Add(), UsersAdd()]), timers)
    odd = Timers()
    run(Adding(connectors=[Add(), Add()]), odd, is_odd=True)

    assert timers.names == ["connector_pipeline_timer", "add_to_add", "users_add"]
    assert odd.names[1:] == ["add_to_add", "add", "add"]
    assert timer_name(UsersAdd) == "users_add"


def test_copies_of_a_pipeline_plan_anew():
    """A plan is bound to the very pieces it was made of, so it never travels."""
    pipeline = Adding(connectors=[Add(), Add()])
    run(pipeline)

    for twin in (copy.deepcopy(pipeline), pickle.loads(pickle.dumps(pipeline))):
        twin[0].amount = 7
        assert run(twin)["sum"] == 8
    assert run(pipeline)["sum"] == 2
