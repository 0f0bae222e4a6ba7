"""Episodes become forward batches, through the default pieces and through users' own."""

import numpy as np
import pytest
import rlconnect.v2 as v2
import torch
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError, PieceError, SpaceError
from rlconnect.v2 import (
    AddObservationsFromEpisodesToBatch,
    AddStatesFromEpisodesToBatch,
    AddTimeDimToBatchAndZeroPad,
    AgentToModuleMapping,
    BatchIndividualItems,
    ConnectorV2,
    DefaultPPOTorchRLModule,
    FlattenObservations,
    FrameStackingEnvToModule,
    MeanStdFilter,
    MultiAgentEpisode,
    ObservationPreprocessor,
    SingleAgentEpisode,
    SingleAgentObservationPreprocessor,
    TorchRLModule,
    WriteObservationsToEpisodes,
)
from rlconnect.v2.connectors.common.agent_to_module_mapping import AgentMapping
from rlconnect.v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline

BOX = Box(-100.0, 100.0, (2,), np.float32)


def vec(*numbers):
    return np.array(numbers, np.float32)


def episode(name="e0", steps=0, space=BOX, first=None):
    made = SingleAgentEpisode(id_=name, observation_space=space, action_space=Discrete(3))
    made.add_env_reset(observation=vec(0, 0) if first is None else first)
    for step in range(1, steps + 1):
        made.add_env_step(observation=vec(step, -step), action=step % 3, reward=step * 0.5)
    return made


def several(name="M0", done=()):
    made = MultiAgentEpisode(id_=name, agent_to_module_mapping_fn=lambda a, e: f"p_{a}")
    made.add_env_reset(observations={"a": vec(1, 1), "b": vec(2, 2)})
    if done:
        made.add_env_step(
            observations={"a": vec(3, 3), "b": vec(4, 4)},
            actions={"a": 0, "b": 0},
            rewards={"a": 0.0, "b": 0.0},
            terminateds={agent: True for agent in done},
        )
    return made


def run(piece, episodes, batch=None, rl_module=None, shared=None):
    return piece(
        rl_module=rl_module,
        batch={} if batch is None else batch,
        episodes=episodes,
        explore=True,
        shared_data={} if shared is None else shared,
    )


def lstm():
    config = {"fcnet_hiddens": [4], "use_lstm": True, "lstm_cell_size": 3, "max_seq_len": 5}
    return DefaultPPOTorchRLModule(
        observation_space=BOX, action_space=Discrete(3), model_config=config
    )


def test_stateless_pipeline_batches_the_last_observations():
    """One row for each episode, in their order."""
    shared = {}

    batch = run(
        env_to_module_pipeline(BOX, Discrete(3)), [episode("x", 2), episode("y")], {}, None, shared
    )

    np.testing.assert_array_equal(batch["obs"], [[2, -2], [0, 0]])
    assert shared["memorized_map_structure"] == ["x", "y"]


def test_recurrent_pipeline_adds_time_and_states():
    """A stateful module gets a time axis, and its initial state at first."""
    module, shared = lstm(), {}

    batch = run(env_to_module_pipeline(BOX, Discrete(3)), [episode()], {}, module, shared)

    assert batch["obs"].shape == (1, 1, 2)
    assert shared["_added_single_ts_time_rank"] is True
    assert module.forward_exploration(batch)["state_out"]


def test_agents_go_to_their_modules_and_done_ones_stay_out():
    """Items are regrouped by module; an agent that is done does not act."""
    spaces = Dict({"a": BOX, "b": BOX})
    agents = AgentMapping(["p_a", "p_b"], lambda agent_id, episode: f"p_{agent_id}")
    pipeline = env_to_module_pipeline(spaces, spaces, agents=agents)
    shared = {}

    batch = run(pipeline, [several("M0"), several("M1", done="a")], {}, None, shared)

    assert {key: len(own["obs"]) for key, own in batch.items()} == {"p_a": 1, "p_b": 2}
    assert shared["memorized_map_structure"] == {
        "p_a": [("M0", "a")],
        "p_b": [("M0", "b"), ("M1", "b")],
    }
    assert pipeline.observation_space == Dict({"p_a": BOX, "p_b": BOX})


def test_a_users_column_goes_through_the_pipeline():
    """A piece that adds one item per episode finds them batched at the end."""

    class AddMean(ConnectorV2):
        def __call__(self, *, episodes, batch, rl_module, explore, shared_data, **kwargs):
            for one in self.single_agent_episode_iterator(episodes):
                last = one.get_rewards(indices=[-3, -2, -1], fill=0.0)
                self.add_batch_item(batch, "mean", np.mean(last), one)
            return batch

    batch = run(
        env_to_module_pipeline(BOX, Discrete(3), custom=[AddMean()]),
        [episode("x", 4), episode("y", 1)],
    )

    np.testing.assert_allclose(batch["mean"], [1.5, 0.5 / 3])


def test_int_observation_to_one_hot_of_the_document():
    """The document's preprocessor writes into the episode, with its new space."""

    class IntObservationToOneHotTensor(SingleAgentObservationPreprocessor):
        def recompute_output_observation_space(self, in_obs_space, in_act_space):
            return Box(0.0, 1.0, (in_obs_space.n,), np.float32)

        def preprocess(self, observation, episode):
            new_obs = np.zeros(shape=self.observation_space.shape, dtype=np.float32)
            new_obs[observation] = 1.0
            return new_obs

    piece = IntObservationToOneHotTensor(Discrete(4), Discrete(2))
    one = episode(space=Discrete(4), first=2)

    run(piece, [one])

    np.testing.assert_array_equal(one.get_observations(-1), [0, 0, 1, 0])
    assert one.observation_space == piece.observation_space


def test_the_older_preprocessor_spelling_works_and_warns_once():
    """The older document's hooks, without spaces and without an episode, still run."""

    class OneHot(ObservationPreprocessor):
        def recompute_observation_space_from_input_spaces(self):
            return Box(0.0, 1.0, (self.input_observation_space.n,), np.float32)

        def preprocess(self, observation):
            new_obs = np.zeros(shape=(self.input_observation_space.n,), dtype=np.float32)
            new_obs[observation] = 1.0
            return new_obs

    with pytest.warns(DeprecationWarning, match="recompute_observation_space"):
        piece = OneHot(Discrete(3), Discrete(2))
    with pytest.warns(DeprecationWarning, match="preprocess"):
        run(piece, [episode(space=Discrete(3), first=1)])
    last = episode(space=Discrete(3), first=1)
    run(piece, [last])

    np.testing.assert_array_equal(last.get_observations(-1), [0, 1, 0])


def test_observations_of_the_batch_are_written_back():
    """What a piece made of the column can be kept in the episodes."""
    episodes = [episode("x", 1), episode("y", 2)]
    batch = run(AddObservationsFromEpisodesToBatch(), episodes)

    ConnectorV2.foreach_batch_item_change_in_place(batch, "obs", lambda item, *ids: item * 100)
    run(WriteObservationsToEpisodes(BOX, Discrete(3)), episodes, batch)

    assert [one.get_observations(-1).tolist() for one in episodes] == [[100, -100], [200, -200]]


@settings(derandomize=True, max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_filtering_together_is_filtering_one_by_one(counts):
    """Environments side by side get what they would get one after the other."""
    together, apart = MeanStdFilter(BOX), MeanStdFilter(BOX)
    numbers = np.random.default_rng(sum(counts))

    for count in counts:
        rows = [numbers.uniform(-9, 9, 2).astype(np.float32) for _ in range(count)]
        left = [episode(first=row) for row in rows]
        right = [episode(first=row) for row in rows]
        run(together, left)
        for one in right:
            run(apart, [one])
        for one, other in zip(left, right, strict=True):
            np.testing.assert_allclose(
                one.get_observations(-1), other.get_observations(-1), rtol=1e-5, atol=1e-5
            )


def test_merged_filters_count_every_observation_once():
    """After any number of rounds the statistics are those of all observations."""
    rows = np.random.default_rng(0).uniform(40, 60, (12, 2)).astype(np.float32)
    root, workers = MeanStdFilter(BOX), [MeanStdFilter(BOX), MeanStdFilter(BOX)]

    for part in np.split(rows, 3):
        for worker, own in zip(workers, np.split(part, 2), strict=True):
            run(worker, [episode(first=row) for row in own])
        state = root.merge_states([worker.get_state() for worker in workers])
        for each in (root, *workers):
            each.set_state(state)

    (stat,) = root._stats[None]
    assert stat.n == 12
    np.testing.assert_allclose(stat.mean, rows.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(stat.std, rows.std(axis=0, ddof=1), rtol=1e-6)


def test_a_filter_comes_back_from_its_folder(tmp_path):
    """Statistics are saved as data, in either format."""
    piece = MeanStdFilter(BOX)
    run(piece, [episode(first=vec(1, 2)), episode(first=vec(3, 5))])

    for use_msgpack in (False, True):
        path = piece.save_to_path(tmp_path / str(use_msgpack), use_msgpack=use_msgpack)
        assert MeanStdFilter.from_checkpoint(path)._stats[None][0].n == 2


def test_filters_merge_if_those_that_counted_have_the_same_settings():
    """Who merges may have settings of its own, as in Ray 2.60."""
    wide, narrow = MeanStdFilter(BOX), MeanStdFilter(BOX, clip_by_value=1.0)
    for filter_ in (wide, narrow):
        run(filter_, [episode()])

    merged = narrow.merge_states([wide.get_state()])

    assert merged[None]["clip_by_value"] == 1.0
    assert merged[None]["running_stats"][0]["num_pushes"] == 2
    with pytest.raises(ConfigError, match="same settings"):
        MeanStdFilter(BOX).merge_states([wide.get_state(), narrow.get_state()])


def test_a_filter_has_a_state_as_soon_as_it_knows_its_agents():
    """Ray 2.60 gives counts of 0 for all agents of the space, also after a reset."""
    space = Dict({"a": BOX, "b": BOX})
    filter_ = MeanStdFilter(space, multi_agent=True)

    before = filter_.get_state()
    run(filter_, [several()])
    filter_.reset_state()

    for state in (before, filter_.get_state()):
        assert [own["running_stats"][0]["num_pushes"] for own in state.values()] == [0, 0]
        assert list(state) == ["a", "b"]
    assert MeanStdFilter().get_state() == {}


def test_initial_states_are_as_narrow_as_those_put_out():
    """Ray 2.60 makes float32 and int32 of what `get_initial_state` gives."""

    class Stateful(TorchRLModule):
        def setup(self):
            pass

        def get_initial_state(self):
            return {"x": np.ones(1), "n": np.arange(2)}

    module = Stateful(observation_space=BOX, action_space=Discrete(2), model_config={})

    (state,) = run(AddStatesFromEpisodesToBatch(), [episode()], rl_module=module)["state_in"]["e0",]

    assert (state["x"].dtype, state["n"].dtype) == (np.float32, np.int32)


def test_frames_before_the_episode_are_zeros():
    """A young episode's stack begins with zeros, the newest frame is last."""
    space = Box(0.0, 255.0, (2, 2, 1), np.float32)
    one = episode(space=space, first=np.full((2, 2, 1), 9, np.float32))

    batch = run(FrameStackingEnvToModule(space, Discrete(2), num_frames=3), [one])

    assert batch["obs"][("e0",)][0][0, 0].tolist() == [0, 0, 9]


@pytest.mark.parametrize("count", [1, 2, 9, 20])
@pytest.mark.parametrize("is_odd", [False, True])
def test_frames_of_many_episodes_are_stacked_as_those_of_each(count, is_odd):
    """Stacks made together hold what each episode alone gives, also where one is young."""
    space = Box(0, 255, (3, 2, 1), np.uint8)
    space.seed(count)
    piece = FrameStackingEnvToModule(space, Discrete(2), num_frames=3)
    episodes = [
        SingleAgentEpisode(
            id_=f"e{place}",
            observations=[space.sample() for _ in range(2 if is_odd and not place else 5)],
            actions=[0] * (1 if is_odd and not place else 4),
            rewards=[0.0] * (1 if is_odd and not place else 4),
        )
        for place in range(count)
    ]

    together = run(piece, episodes)["obs"]

    alone = {key: items for each in episodes for key, items in run(piece, [each])["obs"].items()}
    assert list(together) == list(alone)
    for key, (stack,) in together.items():
        assert stack.dtype == np.uint8
        np.testing.assert_array_equal(stack, alone[key][0])


def test_flat_observations_fit_their_space():
    """Nested observations are written back as vectors of the declared space."""
    space = Dict({"b": Discrete(3), "a": BOX})
    piece = FlattenObservations(space, Discrete(2))
    one = episode(space=space, first={"b": 2, "a": vec(0.5, -0.5)})

    run(piece, [one])

    assert one.get_observations(-1).tolist() == [0.5, -0.5, 0, 0, 1]
    assert piece.observation_space.contains(one.get_observations(-1))


def test_learners_flatten_whole_episodes():
    """As a learner's piece it flattens all observations."""
    space = Dict({"b": Discrete(3), "a": BOX})
    one = SingleAgentEpisode(
        observations=[{"b": n, "a": vec(n, n)} for n in range(3)],
        observation_space=space,
        actions=[0, 0],
        rewards=[0.0, 0.0],
        len_lookback_buffer=0,
    ).to_numpy()

    run(FlattenObservations(space, as_learner_connector=True), [one])

    assert one.get_observations().shape == (3, 5)


def test_previous_actions_and_rewards_are_told():
    """The newest is last, zeros stand for what was not there."""
    piece = v2.PrevActionsPrevRewards(BOX, Discrete(3), n_prev_actions=2, n_prev_rewards=2)
    one = episode(steps=1)

    run(piece, [one])

    told = one.get_observations(-1)
    assert told["prev_n_actions"].tolist() == [[0, 0, 0], [0, 1, 0]]
    assert told["prev_n_rewards"].tolist() == [0, 0.5]


@pytest.mark.parametrize(("actions", "rewards", "more"), [(1, 0, [1, 0, 0]), (0, 2, [1, 1.5])])
def test_what_is_not_told_takes_no_place_in_a_flat_observation(actions, rewards, more):
    """Its key is in the space but not in the observation, as in RLlib (2.60)."""
    told = v2.PrevActionsPrevRewards(
        BOX, Discrete(3), n_prev_actions=actions, n_prev_rewards=rewards
    )
    flat = FlattenObservations(told.observation_space, Discrete(3))
    one = episode(steps=3)

    run(told, [one])
    run(flat, [one])

    assert one.get_observations(-1).tolist() == [3, -3, *more]
    assert flat.observation_space.shape == (2 + len(more),)


def test_tensors_come_in_single_precision():
    """Floats become float32, other numbers keep their width, infos stay."""
    batch = {"x": np.zeros(2), "n": np.arange(2, dtype=np.uint8), "infos": [{}], "s": np.array("a")}

    out = run(env_to_module_pipeline().connectors[-1], [], batch, lstm())

    assert (out["x"].dtype, out["n"].dtype) == (torch.float32, torch.uint8)
    assert out["infos"] == [{}]
    assert isinstance(out["s"], np.ndarray)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: run(AddObservationsFromEpisodesToBatch(), [episode(steps=1).to_numpy()]),
            PieceError,
            "running episodes",
        ),
        (lambda: run(WriteObservationsToEpisodes(), [episode()]), PieceError, "'obs'"),
        (lambda: run(MeanStdFilter(BOX), [several()]), KeyError, "multi_agent=True"),
        (lambda: run(MeanStdFilter(), [episode()]), PieceError, "observation space"),
        (lambda: MeanStdFilter(update_stats=False).reset_state(), ValueError, "update_stats"),
        (lambda: run(FlattenObservations(), [episode()]), PieceError, "observation space"),
        (lambda: FrameStackingEnvToModule(BOX), SpaceError, "last axis"),
        (lambda: v2.PrevActionsPrevRewards(BOX, BOX), SpaceError, "Discrete"),
        (
            lambda: run(BatchIndividualItems(), [], {"x": [vec(1), vec(1, 2)]}),
            PieceError,
            "column 'x'",
        ),
        (
            lambda: run(
                AgentToModuleMapping(rl_module_specs=[], agent_to_module_mapping_fn=id),
                [],
                {"x": {("e0",): [1]}},
            ),
            PieceError,
            "column 'x'",
        ),
    ],
)
def test_mistakes_are_named(call, error, match):
    """Each error names the piece and the column, agent or setting it is about."""
    with pytest.raises(error, match=match):
        call()


def test_a_stateful_module_needs_a_row_length():
    """Cutting episodes into rows without knowing how long tells which setting is missing."""
    module = lstm()
    module.model_config = {}
    one = episode("x", 2)
    batch = run(AddObservationsFromEpisodesToBatch(as_learner_connector=True), [one])

    with pytest.raises(PieceError, match="max_seq_len"):
        run(AddTimeDimToBatchAndZeroPad(as_learner_connector=True), [one], batch, module)
