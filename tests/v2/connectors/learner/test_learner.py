"""Sampled episodes become train batches with advantages, padded where modules have a state."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import PieceError
from rlconnect.v2 import (
    AddInfosFromEpisodesToTrainBatch,
    AddNextObservationsFromEpisodesToTrainBatch,
    AddOneTsToEpisodesAndTruncate,
    ComputeReturnsToGo,
    ConnectorV2,
    DefaultPPOTorchRLModule,
    FrameStackingLearner,
    GeneralAdvantageEstimation,
    MultiAgentEpisode,
    SingleAgentEpisode,
    add_one_ts_to_episodes_and_truncate,
    remove_last_ts_from_episodes_and_restore_truncateds,
)
from rlconnect.v2.connectors.learner.learner_connector_pipeline import learner_pipeline
from rlconnect.v2.connectors.learner.value_forward import predicted_values

BOX = Box(-10.0, 10.0, (2,), np.float32)
OWN = "default_policy"


def vec(*numbers):
    return np.array(numbers, np.float32)


def episode(name="x", steps=3, done="term", has_state=False):
    made = SingleAgentEpisode(id_=name, observation_space=BOX, action_space=Discrete(3))
    made.add_env_reset(observation=vec(0, 0), infos={"t": 0})
    for t in range(1, steps + 1):
        outputs = {"action_logp": -0.5 * t}
        if has_state:
            outputs["state_out"] = {"h": vec(t, 0, 0)[None], "c": vec(-t, 0, 0)[None]}
        made.add_env_step(
            observation=vec(t, -t),
            action=t % 3,
            reward=float(t),
            infos={"t": t},
            terminated=done == "term" and t == steps,
            truncated=done == "trunc" and t == steps,
            extra_model_outputs=outputs,
        )
    return made.to_numpy()


def modules(**config):
    torch.manual_seed(0)
    return DefaultPPOTorchRLModule(
        observation_space=BOX,
        action_space=Discrete(3),
        model_config={"fcnet_hiddens": [4], **config},
    ).as_multi_rl_module()


def run(piece, episodes, rl_module=None, shared=None):
    return piece(
        rl_module=rl_module,
        batch={},
        episodes=episodes,
        explore=False,
        shared_data={} if shared is None else shared,
    )


def ppo_pipeline(custom=(), gamma=0.9, lambda_=0.8):
    pipeline = learner_pipeline(BOX, Discrete(3), custom=custom)
    pipeline.prepend(AddOneTsToEpisodesAndTruncate())
    pipeline.append(GeneralAdvantageEstimation(gamma=gamma, lambda_=lambda_))
    return pipeline


def test_all_steps_lie_end_to_end():
    """A stateless train batch has one row for each step of each episode."""
    batch = run(learner_pipeline(BOX, Discrete(3)), [episode(steps=3), episode("y", 2)], modules())

    assert batch[OWN]["rewards"].tolist() == [1, 2, 3, 1, 2]
    assert batch[OWN]["terminateds"].tolist() == [False, False, True, False, True]
    assert batch[OWN]["obs"][:, 0].tolist() == [0, 1, 2, 0, 1]


def test_recurrent_batches_are_cut_and_padded():
    """Rows of `max_seq_len` steps, the rest zeros, with the state before each row."""
    own = modules(use_lstm=True, lstm_cell_size=3, max_seq_len=2, vf_share_layers=True)
    pipeline = learner_pipeline(
        BOX, Discrete(3), custom=[AddNextObservationsFromEpisodesToTrainBatch()]
    )

    batch = run(pipeline, [episode(steps=3, has_state=True)], own)[OWN]

    assert batch["obs"][..., 0].tolist() == [[0, 1], [2, 0]]
    assert batch["loss_mask"].tolist() == [[True, True], [True, False]]
    assert batch["seq_lens"].tolist() == [2, 1]
    assert batch["state_in"]["h"][:, 0, 0].tolist() == [0, 2]
    assert batch["next_state_in"]["h"][:, 0, 0].tolist() == [1, 3]


def plain_gae(values, rewards, is_terminated, gamma, lambda_):
    """Targets of one episode, step by step; the last value is the appended step's."""
    targets, running = [], 0.0
    following = 0.0 if is_terminated else values[-1]
    for value, reward in zip(values[-2::-1], rewards[::-1], strict=True):
        running = reward + gamma * following - value + gamma * lambda_ * running
        following = value
        targets.append(running + value)
    return targets[::-1]


@settings(derandomize=True, max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.sampled_from(["term", "trunc", None])),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_targets_are_those_of_a_plain_loop(shapes, has_state):
    """Value targets of whole batches, padded or not, are what a loop over steps gives."""
    kind = {"use_lstm": True, "lstm_cell_size": 3, "max_seq_len": 3} if has_state else {}
    own = modules(**kind)
    episodes = [episode(f"n{n}", steps, done) for n, (steps, done) in enumerate(shapes)]

    batch = run(ppo_pipeline(), episodes, own)[OWN]

    with torch.no_grad():
        values = own[OWN].compute_values(batch).numpy()
    is_step = _is_step(batch, values)
    values, found = values[is_step], batch["value_targets"].numpy()[is_step]
    start = 0
    for steps, done in shapes:
        own_values = values[start : start + steps + 1]
        want = plain_gae(own_values, np.arange(1.0, steps + 1), done == "term", 0.9, 0.8)
        np.testing.assert_allclose(found[start : start + steps], want, rtol=1e-4, atol=1e-5)
        start += steps + 1


def _is_step(batch, values):
    if values.ndim == 1:
        return np.ones(len(values), bool)
    return np.arange(values.shape[1]) < batch["seq_lens"].numpy()[:, None]


def test_advantages_are_normalised_and_appended_steps_masked():
    """Advantages of a module have mean 0 and deviation 1; appended steps do not count as data."""
    batch = run(ppo_pipeline(), [episode(steps=4), episode("y", 2, "trunc")], modules())[OWN]

    advantages = batch["advantages"]
    assert abs(float(advantages.mean())) < 1e-6
    assert float(advantages.std(unbiased=False)) == pytest.approx(1, abs=1e-5)
    assert batch["loss_mask"].tolist() == [True] * 4 + [False] + [True] * 2 + [False]


def test_a_subclass_computes_advantages_of_its_own():
    """`gamma`, `lambda_` and the piece that makes tensors are there for subclasses."""

    class Mine(GeneralAdvantageEstimation):
        def __call__(self, *, rl_module, batch, episodes, **kwargs):
            batch[OWN]["advantages"] = batch[OWN]["rewards"].numpy() * self.gamma * self.lambda_
            return self._numpy_to_tensor_connector(
                rl_module=rl_module, batch=batch, episodes=episodes
            )

    pipeline = learner_pipeline(BOX, Discrete(3))
    pipeline.append(Mine(gamma=0.5, lambda_=0.5))

    batch = run(pipeline, [episode(steps=2)], modules())[OWN]

    assert batch["advantages"].tolist() == [0.25, 0.5]
    assert isinstance(batch["advantages"], torch.Tensor)


def test_the_appended_step_can_be_taken_back():
    """Adding a step and removing it leaves data, length and flags as they were."""
    episodes = [episode("x", 3, None), episode("y", 2), episode("z", 1, "trunc")]
    before = [one.get_state() for one in episodes]

    flags = add_one_ts_to_episodes_and_truncate(episodes)
    longer = [len(one) for one in episodes]
    remove_last_ts_from_episodes_and_restore_truncateds(episodes, flags)

    assert longer == [4, 3, 2]
    assert [one.is_truncated for one in episodes] == [False, False, True]
    for one, was in zip(episodes, before, strict=True):
        np.testing.assert_array_equal(one.get_observations(), was["observations"]["data"])
        assert (one.t, len(one)) == (was["t"], was["t"] - was["t_started"])


def test_ids_become_unique():
    """Pieces of one episode do not merge in a train batch."""
    episodes = [episode("x"), episode("x")]

    run(AddOneTsToEpisodesAndTruncate(), episodes)

    assert [one.id_ for one in episodes] == ["x_0", "x_1"]


def test_agents_are_numbered_through_all_episodes():
    """As recorded from Ray 2.60: M0_0 has agents 0 and 1, M1_1 has 2 and 3."""
    episodes = [MultiAgentEpisode(id_=f"M{number}") for number in range(2)]
    for each in episodes:
        each.add_env_reset(observations={"a": vec(0, 0), "b": vec(1, 1)})
        for single in each.agent_episodes.values():
            single.id_ = "x"

    run(AddOneTsToEpisodesAndTruncate(), episodes)

    assert [each.id_ for each in episodes] == ["M0_0", "M1_1"]
    singles = [single for each in episodes for single in each.agent_episodes.values()]
    assert [single.id_ for single in singles] == ["x_0", "x_1", "x_2", "x_3"]
    assert singles[-1].multi_agent_episode_id == "M1_1"


def test_returns_to_go_are_discounted_sums():
    """From each step to the end of its own episode."""
    batch = run(ComputeReturnsToGo(gamma=0.5), [episode(steps=3)])

    np.testing.assert_allclose(batch["returns_to_go"][("x",)][0], [2.75, 3.5, 3.0])


def test_frames_are_stacked_at_every_step():
    """Each step sees the frames before it, zeros where there are none."""
    frames = SingleAgentEpisode(
        id_="f",
        observations=[np.full((2, 2, 1), t, np.float32) for t in range(4)],
        actions=[0] * 3,
        rewards=[0.0] * 3,
        len_lookback_buffer=1,
        t_started=1,
    ).to_numpy()

    (stacked,) = run(FrameStackingLearner(num_frames=3), [frames])["obs"][("f",)]

    assert stacked[:, 0, 0].tolist() == [[0, 0, 1], [0, 1, 2]]


def test_infos_stay_dicts():
    """Infos go into the train batch as they are."""
    pipeline = learner_pipeline(BOX, Discrete(3), custom=[AddInfosFromEpisodesToTrainBatch()])

    batch = run(pipeline, [episode(steps=2)], modules())

    assert batch[OWN]["infos"] == [{"t": 0}, {"t": 1}]


def test_a_users_column_is_batched():
    """Already batched items of a user's piece are laid end to end."""

    class Square(ConnectorV2):
        def __call__(self, *, batch, episodes, **kwargs):
            for one in self.single_agent_episode_iterator(episodes, False):
                self.add_n_batch_items(batch, "squares", one.get_rewards() ** 2, len(one), one)
            return batch

    pipeline = learner_pipeline(BOX, Discrete(3), custom=[Square()])

    batch = run(pipeline, [episode(steps=2), episode("y", 1)], modules())

    assert batch[OWN]["squares"].tolist() == [1, 4, 1]


def test_the_value_behind_the_last_agents_cut_is_bootstrapped():
    """Whether agents are truncated one by one or with `"__all__"`; a terminated one is not."""
    targets = {}
    for name, flags in {
        "one by one": {"truncateds": {"a": True}},
        "all": {"truncateds": {"__all__": True}},
        "terminated": {"terminateds": {"a": True}},
    }.items():
        made = MultiAgentEpisode(agent_to_module_mapping_fn=lambda agent, episode: OWN)
        made.add_env_reset(observations={"a": vec(1, 2)})
        made.add_env_step(
            {"a": vec(3, 4)},
            {"a": 1},
            {"a": 1.0},
            extra_model_outputs={"a": {"action_logp": -0.5}},
            **flags,
        )
        batch = run(ppo_pipeline(), [made.to_numpy()], modules())[OWN]
        targets[name] = batch["value_targets"][0].item()

    assert targets["one by one"] == targets["all"]
    assert targets["terminated"] == 1.0 != targets["all"]


def test_advantages_need_modules_by_id():
    """A single module is refused with what to call."""
    piece = GeneralAdvantageEstimation(gamma=0.9, lambda_=0.9)

    with pytest.raises(PieceError, match="as_multi_rl_module"):
        run(piece, [], modules()[OWN])


def test_values_are_asked_piece_by_piece_of_columns_of_any_form():
    """Each piece has the rows of all columns: tensors, dicts and tuples of them, lists, none."""
    rows = torch.arange(5.0)
    columns = {
        "obs": {"a": rows[:, None], "b": (rows * 2,)},
        "infos": [{"row": row} for row in range(5)],
        "nothing": {},
    }
    asked = []

    class Module:
        def is_stateful(self):
            return False

        def compute_values(self, batch, embeddings=None):
            asked.append(batch)
            return batch["obs"]["a"][:, 0] + batch["obs"]["b"][0]

    values = predicted_values(Module(), columns, 2)

    assert values.tolist() == [0.0, 3.0, 6.0, 9.0, 12.0]
    pieces = [asked[0], *asked[-2:]]  # A few rows alone are asked once more, after the first.
    assert [[info["row"] for info in piece["infos"]] for piece in pieces] == [[0, 1], [2, 3], [4]]
    assert all(piece["nothing"] == {} and list(piece) == list(columns) for piece in pieces)


def test_values_are_asked_at_once_where_a_column_has_other_rows():
    """A list shorter than the others cannot be split beside them."""

    class Module:
        def is_stateful(self):
            return False

        def compute_values(self, batch, embeddings=None):
            return batch["obs"] * len(batch["infos"])

    values = predicted_values(Module(), {"obs": torch.ones(5), "infos": [{}] * 4}, 2)

    assert values.tolist() == [4.0] * 5
