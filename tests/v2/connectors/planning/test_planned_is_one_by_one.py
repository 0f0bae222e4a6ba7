"""A planned pipeline does what its pieces do one by one, wherever users put pieces of their own."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import torch
from gymnasium.spaces import Dict
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.v2 import (
    AddObservationsFromEpisodesToBatch,
    AddStatesFromEpisodesToBatch,
    AddTimeDimToBatchAndZeroPad,
    AgentToModuleMapping,
    BatchIndividualItems,
    EnvToModulePipeline,
    FlattenObservations,
    GetActions,
    ListifyDataForVectorEnv,
    MeanStdFilter,
    ModuleToAgentUnmapping,
    ModuleToEnvPipeline,
    NormalizeAndClipActions,
    NumpyToTensor,
    RemoveSingleTsTimeRankFromBatch,
    SingleAgentEpisode,
    TensorToNumpy,
    UnBatchToIndividualItems,
)

from . import scenes, users_pieces


def before_module(is_multi):
    mapping = AgentToModuleMapping(
        rl_module_specs={"p0", "p1"},
        agent_to_module_mapping_fn=lambda agent, episode: f"p{int(agent[1:]) % 2}",
    )
    return [
        AddObservationsFromEpisodesToBatch(),
        AddTimeDimToBatchAndZeroPad(),
        AddStatesFromEpisodesToBatch(),
        *([mapping] if is_multi else []),
        BatchIndividualItems(multi_agent=is_multi),
        NumpyToTensor(),
    ]


def after_module(is_multi, normalize=True, clip=False):
    return [
        GetActions(),
        TensorToNumpy(),
        UnBatchToIndividualItems(),
        *([ModuleToAgentUnmapping()] if is_multi else []),
        RemoveSingleTsTimeRankFromBatch(),
        NormalizeAndClipActions(normalize_actions=normalize, clip_actions=clip),
        ListifyDataForVectorEnv(),
    ]


def insert(data, pieces, kinds):
    """Up to three of the users' pieces at any places."""
    for kind in data.draw(st.lists(st.sampled_from(kinds), max_size=3), label="users"):
        pieces.insert(data.draw(st.integers(0, len(pieces)), label="place"), kind())
    return pieces


def draw_episodes(data, is_multi, has_state, action_space=scenes.CHOICE):
    count = data.draw(st.integers(1, 4), label="episodes")
    steps = [data.draw(st.integers(0, 3), label="steps") for _ in range(count)]
    if not is_multi:
        is_cut = data.draw(st.booleans(), label="cut")
        return [
            scenes.single(number, many, has_state, action_space, is_cut and many > 0)
            for number, many in enumerate(steps)
        ]
    done = data.draw(st.sampled_from([(), ("a1",), ("a0", "a2")]), label="done")
    return [
        scenes.several(number, many, has_state, action_space, done)
        for number, many in enumerate(steps)
    ]


def draw_module(data, is_multi, action_space=scenes.CHOICE):
    if not is_multi:
        has_state = data.draw(st.booleans(), label="state")
        return scenes.module(has_state, action_space), has_state
    ids = data.draw(st.sampled_from([(), ("p0",), ("p0", "p1")]), label="states")
    return scenes.modules(ids, action_space), bool(ids)


def spaces(is_multi, action_space=scenes.CHOICE):
    if not is_multi:
        return scenes.OBS, action_space
    names = [f"a{place}" for place in range(4)]
    return Dict(dict.fromkeys(names, scenes.OBS)), Dict(dict.fromkeys(names, action_space))


def assert_same(found, where):
    for one, other, what in zip(
        *found, ("batch", "identity", "notes", "episodes", "draws"), strict=True
    ):
        assert scenes.is_same(one, other), f"{what} of {where}:\n{one}\nis not\n{other}"


@given(st.data())
def test_on_the_way_to_the_module(data):
    """Batches, notes and what is written back to episodes are the same, and so are errors."""
    is_multi = data.draw(st.booleans(), label="several agents")
    rl_module, has_state = draw_module(data, is_multi)
    episodes = draw_episodes(data, is_multi, has_state)
    pieces = insert(data, before_module(is_multi), users_pieces.BEFORE_A_MODULE)
    if data.draw(st.booleans(), label="filter"):
        pieces.insert(0, MeanStdFilter(multi_agent=is_multi))
    if data.draw(st.booleans(), label="flatten"):
        pieces.insert(0, FlattenObservations(multi_agent=is_multi))
    pipeline = EnvToModulePipeline(*spaces(is_multi), connectors=pieces)
    if not data.draw(st.booleans(), label="a module"):
        rl_module = None

    found = scenes.both(pipeline, {}, episodes, rl_module)

    assert_same(found, pipeline)


@given(st.data())
def test_on_the_way_to_the_module_with_journals(data):
    """Episodes that are no copies still hold steps in journals; what is seen is the same."""
    ids = data.draw(st.sampled_from([(), ("p0",)]), label="states")
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4), label="episodes")
    last = data.draw(st.sampled_from(["done", "shown", "hangs", "read", "nothing"]), label="last")
    pipeline = EnvToModulePipeline(*spaces(True), connectors=before_module(True))
    found = []
    for run in (pipeline.__call__, partial(scenes.one_by_one, pipeline)):
        episodes = [scenes.several(number, 2, bool(ids), agents=3) for number in numbers]
        scenes.go_on(episodes[-1], last, bool(ids))
        notes = {}
        call = partial(run, batch={}, episodes=episodes, explore=True, shared_data=notes)
        made = scenes.outcome(partial(call, rl_module=scenes.modules(ids)))
        found.append((made, None if isinstance(made, tuple) else notes))

    assert scenes.is_same(*found)


def outputs(rng, rows, has_state, has_time, action_space, kind):
    """What a forward pass might give for so many rows."""
    width = 3 if action_space is scenes.CHOICE else 4
    lead = (rows, 1) if has_time else (rows,)
    made = {"action_dist_inputs": torch.from_numpy(rng.random((*lead, width), np.float32))}
    if kind == "actions":
        made = {"actions": torch.from_numpy(rng.random((*lead, 2)))}
    if kind == "values":
        made["vf_preds"] = torch.from_numpy(rng.random(lead, np.float32)).requires_grad_()
    if has_state:
        made["state_out"] = {
            key: torch.from_numpy(rng.random((rows, 4), np.float32)) for key in ("h", "c")
        }
    return made


@given(st.data())
def test_on_the_way_back(data):
    """One seed gives the same actions, log-probabilities, lists and notes, and the same errors."""
    is_multi = data.draw(st.booleans(), label="several agents")
    action_space = data.draw(st.sampled_from([scenes.CHOICE, scenes.REACH]), label="actions")
    rl_module, has_state = draw_module(data, is_multi, action_space)
    episodes = draw_episodes(data, is_multi, has_state, action_space)
    shared = {}
    first = EnvToModulePipeline(*spaces(is_multi), connectors=before_module(is_multi))
    batch = first(rl_module=rl_module, episodes=episodes, shared_data=shared)
    kind = data.draw(st.sampled_from(["inputs", "values", "actions"]), label="outputs")
    rng = np.random.default_rng(0)
    if is_multi:
        given_back = {
            name: outputs(
                rng,
                len(own["obs"]),
                rl_module[name].is_stateful(),
                rl_module[name].is_stateful(),
                action_space,
                kind,
            )
            for name, own in batch.items()
        }
    else:
        given_back = outputs(rng, len(episodes), has_state, has_state, action_space, kind)
    pieces = after_module(is_multi, data.draw(st.booleans()), data.draw(st.booleans()))
    pieces = insert(data, pieces, users_pieces.AFTER_A_MODULE)
    pipeline = ModuleToEnvPipeline(*spaces(is_multi, action_space), connectors=pieces)
    explore = data.draw(st.booleans(), label="explore")

    found = scenes.both(pipeline, given_back, episodes, rl_module, explore, shared)

    assert_same(found, pipeline)


@given(st.data())
def test_on_the_way_back_again_and_again(data):
    """What a pipeline keeps of the agents of one call is right for the next one, whoever acts."""
    kept = ModuleToEnvPipeline(*spaces(True), connectors=after_module(True))
    first = EnvToModulePipeline(*spaces(True), connectors=before_module(True))
    rl_module = scenes.modules()
    for _ in range(4):
        numbers = data.draw(st.sampled_from([(0, 1, 2), (1, 0)]), label="episodes")
        done = data.draw(st.sampled_from([(), ("a1",)]), label="done")
        episodes = [scenes.several(number, 2, done=done) for number in numbers]
        shared = {}
        batch = first(rl_module=rl_module, episodes=episodes, shared_data=shared)
        rng = np.random.default_rng(0)
        made = {
            name: outputs(rng, len(own["obs"]), False, False, scenes.CHOICE, "inputs")
            for name, own in batch.items()
        }
        changes = ["none", "renamed", "turned", "left", "one module", "ended"]
        change = data.draw(st.sampled_from(changes), label="change")
        if change == "renamed":
            shared["vector_env_episodes_map"] = {episodes[0].id_: "new"}
            episodes[0].id_ = "new"
        elif change == "turned":
            episodes.reverse()
        elif change == "left":
            episodes.pop()
        elif change == "one module":
            del made["p1"]
        elif change == "ended":
            episodes = [scenes.several(number, 2, done=("a2",)) for number in numbers]
        found = []
        for run in (kept.__call__, partial(scenes.one_by_one, kept)):
            torch.manual_seed(0)
            own = {name: {**columns} for name, columns in made.items()}
            call = partial(run, batch=own, episodes=episodes, explore=True, shared_data=shared)
            found.append(scenes.outcome(partial(call, rl_module=rl_module)))

        assert scenes.is_same(*found), change


@pytest.mark.parametrize("kind", users_pieces.BEFORE_A_MODULE)
@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("is_multi", [False, True])
def test_each_users_piece_at_each_place(kind, has_state, is_multi):
    """Alone, and before, between and after all built-in pieces."""
    episodes = [
        scenes.several(number, 2, has_state) if is_multi else scenes.single(number, 2, has_state)
        for number in range(3)
    ]
    ids = ("p0",) if has_state else ()
    rl_module = scenes.modules(ids) if is_multi else scenes.module(has_state)
    alone = EnvToModulePipeline(*spaces(is_multi), connectors=[kind()])
    assert_same(scenes.both(alone, {}, episodes, rl_module), alone)
    for place in range(len(before_module(is_multi)) + 1):
        pieces = before_module(is_multi)
        pieces.insert(place, kind())
        pipeline = EnvToModulePipeline(*spaces(is_multi), connectors=pieces)

        assert_same(scenes.both(pipeline, {}, episodes, rl_module), pipeline)


ODD = {
    "numbers": [1, 2],
    "mixed numbers": [1, 2.5],
    "numpy numbers": [np.float32(1), np.float64(2)],
    "lists": [[1.0, 2.0], [3.0, 4.0]],
    "list and array": [np.float32([1, 2]), [3.0, 4.0]],
    "dicts of lists": [{"a": [1.0, 2.0]}, {"a": [3.0, 4.0]}],
    "dicts": [{"b": np.ones(2), "a": np.int8(1)}, {"b": np.zeros(2), "a": np.int8(2)}],
    "dicts of other keys": [{"a": 1}, {"b": 1}],
    "tuples": [(np.ones(2), 1), (np.zeros(2), 2)],
    "texts": ["one", "two"],
    "shapes": [np.ones(2), np.ones(3)],
    "dtypes": [np.ones(2, np.float32), np.ones(2, np.int64)],
    "objects": [np.array([None, {}], object), np.array([1, "x"], object)],
    "flags": [True, False],
    "read-only": [np.frombuffer(bytes(8), np.float32), np.ones(2, np.float32)],
    "nothing": [None, None],
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("has_state", [False, True])
def test_odd_observations(name, has_state):
    """Whatever observations are: the same batch, or the same error."""
    episodes = [SingleAgentEpisode(id_=f"e{number}") for number in range(2)]
    for episode, observation in zip(episodes, ODD[name], strict=True):
        episode.add_env_reset(observation)
    pipeline = EnvToModulePipeline(connectors=before_module(False))

    assert_same(scenes.both(pipeline, {}, episodes, scenes.module(has_state)), name)


ODD_OUTPUTS = {
    "wide numbers": lambda: {"x": torch.ones(2, 1, dtype=torch.float64), "y": np.ones((2, 1))},
    "half numbers": lambda: {"x": torch.ones(2, 1).half(), "y": np.ones((2, 1), np.float16)},
    "flags and counts": lambda: {"x": torch.tensor([[True], [False]]), "y": np.ones((2, 1), int)},
    "nests": lambda: {"x": {"a": torch.ones(2, 1), "b": {"c": np.ones((2, 1, 3))}}},
    "a nest of nothing": lambda: {"x": {}},
    "tuples": lambda: {"x": (torch.ones(2, 1), torch.ones(2, 1))},
    "lists": lambda: {"x": [1.0, 2.0]},
    "texts": lambda: {"x": ["one", "two"]},
    "objects": lambda: {"x": np.array([[None], [{}]], object)},
    "a number": lambda: {"x": torch.tensor(3.0)},
    "rows of none": lambda: {"x": torch.ones(3, 1)},
    "no axis of time": lambda: {"x": torch.ones(2)},
    "two steps": lambda: {"x": torch.ones(2, 2)},
    "a gradient": lambda: {"x": torch.ones(2, 1, requires_grad=True)},
    "a subclass": lambda: {"x": torch.nn.Parameter(torch.ones(2, 1))},
    "a state of one array": lambda: {"state_out": torch.ones(2, 4)},
    "a state of three": lambda: {"state_out": {key: torch.ones(2, 4) for key in "abc"}},
    "a state of nests": lambda: {"state_out": {"a": {"b": torch.ones(2, 4)}, "c": np.ones(2)}},
    "a part named as the state": lambda: {"x": {"state_out": torch.ones(2, 1)}},
    "actions": lambda: {"actions": torch.ones(2, 1, 2), "action_logp": torch.ones(2, 1)},
    "actions in a dict": lambda: {"actions": {"a": torch.ones(2, 1), "b": torch.ones(2, 1, 2)}},
    "actions as numbers": lambda: {"actions": torch.ones(2, 1)},
    "actions for the environment": lambda: {"actions_for_env": torch.ones(2, 1, 2)},
    "bad numbers": lambda: {"action_dist_inputs": torch.full((2, 1, 4), torch.nan)},
}


@pytest.mark.parametrize("name", ODD_OUTPUTS)
@pytest.mark.parametrize(
    ("has_state", "action_space"), [(False, scenes.CHOICE), (True, scenes.REACH)]
)
def test_odd_outputs(name, has_state, action_space):
    """Whatever a module gives, for two episodes or for one twice: the same lists, or one error."""
    rl_module = scenes.module(has_state, action_space)
    episodes = [scenes.single(number, 1, has_state, action_space) for number in range(2)]
    usual = outputs(np.random.default_rng(0), 2, has_state, has_state, action_space, "inputs")
    pipeline = ModuleToEnvPipeline(*spaces(False, action_space), connectors=after_module(False))
    for order in (["e0", "e1"], ["e0", "e0"], ("e0", "e1"), None):
        shared = {"memorized_map_structure": order, "_added_single_ts_time_rank": has_state}
        found = scenes.both(
            pipeline, {**usual, **ODD_OUTPUTS[name]()}, episodes, rl_module, shared=shared
        )

        assert_same(found, f"{name}, {order}")


def test_usual_outputs_go_through_no_piece(monkeypatch):
    """The default pieces of a single agent are done at once, without a call of each."""
    monkeypatch.setattr(TensorToNumpy, "columns", lambda *_: pytest.fail("was called"))
    given_back = outputs(np.random.default_rng(0), 2, True, True, scenes.REACH, "inputs")
    pipeline = ModuleToEnvPipeline(*spaces(False, scenes.REACH), connectors=after_module(False))

    answers = pipeline(
        rl_module=scenes.module(True, scenes.REACH),
        batch=given_back,
        episodes=[],
        explore=True,
        shared_data={"memorized_map_structure": ["e0", "e1"], "_added_single_ts_time_rank": True},
    )

    assert answers["actions_for_env"].shape == (2, 2)
    assert [*answers["state_out"][1]] == ["h", "c"]


class Timers:
    """A logger that remembers the names of timers only."""

    def __init__(self):
        self.names = []

    def log_time(self, name):
        self.names.append(name[-1])
        return nullcontext()

    def log_value(self, name, value):
        return None


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("is_multi", [False, True])
def test_default_pipelines_are_one_run_each_way(has_state, is_multi):
    """No built-in piece is called by itself: the run has one timer, and no piece has another."""
    episodes = [
        scenes.several(number, 2, has_state) if is_multi else scenes.single(number, 2, has_state)
        for number in range(3)
    ]
    ids = ("p0",) if has_state else ()
    rl_module = scenes.modules(ids) if is_multi else scenes.module(has_state)
    shared, timers = {}, Timers()
    first = EnvToModulePipeline(*spaces(is_multi), connectors=before_module(is_multi))
    last = ModuleToEnvPipeline(*spaces(is_multi), connectors=after_module(is_multi))
    given = {"rl_module": rl_module, "episodes": episodes, "metrics": timers, "shared_data": shared}

    batch = first(**given)
    rng = np.random.default_rng(0)
    if is_multi:
        made = {
            name: outputs(rng, len(own["obs"]), name in ids, name in ids, scenes.CHOICE, "values")
            for name, own in batch.items()
        }
    else:
        made = outputs(rng, 3, has_state, has_state, scenes.CHOICE, "values")
    last(batch=made, explore=True, **given)

    assert timers.names == [
        "connector_pipeline_timer",
        "add_observations_from_episodes_to_batch_to_numpy_to_tensor",
        "connector_pipeline_timer",
        "get_actions_to_listify_data_for_vector_env",
    ]
