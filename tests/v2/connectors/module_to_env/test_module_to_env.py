"""Outputs of modules become actions, batch by batch and agent by agent."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import EpisodeError, PieceError
from rlconnect.v2 import (
    ConnectorV2,
    DefaultPPOTorchRLModule,
    GetActions,
    ListifyDataForVectorEnv,
    ModuleToAgentUnmapping,
    ModuleToEnvPipeline,
    MultiAgentEpisode,
    NormalizeAndClipActions,
    RemoveSingleTsTimeRankFromBatch,
    SingleAgentEpisode,
    TensorToNumpy,
    UnBatchToIndividualItems,
)
from rlconnect.v2.connectors.common.agent_to_module_mapping import AgentMapping
from rlconnect.v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
from rlconnect.v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline

BOX = Box(-10.0, 10.0, (2,), np.float32)
WIDE = Box(0.0, 10.0, (2,), np.float32)


def vec(*numbers):
    return np.array(numbers, np.float32)


def episodes(count=2):
    made = [SingleAgentEpisode(id_=f"e{n}") for n in range(count)]
    for n, one in enumerate(made):
        one.add_env_reset(observation=vec(n, -n))
    return made


def several(name="M0"):
    made = MultiAgentEpisode(id_=name, agent_to_module_mapping_fn=lambda a, e: f"p_{a}")
    made.add_env_reset(observations={"a": vec(0, 1), "b": vec(2, 3)})
    return made


def module(act, **config):
    torch.manual_seed(0)
    return DefaultPPOTorchRLModule(
        observation_space=BOX, action_space=act, model_config={"fcnet_hiddens": [4], **config}
    )


def run(piece, batch, eps=(), rl_module=None, shared=None, explore=False):
    return piece(
        rl_module=rl_module,
        batch=batch,
        episodes=eps,
        explore=explore,
        shared_data={} if shared is None else shared,
    )


def there_and_back(act, custom=(), explore=False, **config):
    own, eps, shared = module(act, **config), episodes(), {}
    batch = run(env_to_module_pipeline(BOX, act), {}, eps, own, shared, explore)
    outputs = own.forward_inference(batch)
    pipeline = module_to_env_pipeline(BOX, act, custom=custom)
    return outputs, run(pipeline, dict(outputs), eps, own, shared, explore)


def test_greedy_discrete_actions_are_the_likeliest():
    """One action for each environment, as one array."""
    outputs, actions = there_and_back(Discrete(3))

    likeliest = outputs["action_dist_inputs"].argmax(-1).numpy()
    np.testing.assert_array_equal(actions["actions"], likeliest)
    np.testing.assert_array_equal(actions["actions_for_env"], likeliest)


def test_box_actions_are_stretched_for_the_environment_only():
    """What is learnt from stays in [-1, 1]; what is sent fills the bounds."""
    _, actions = there_and_back(WIDE)

    want = np.clip(5 * (actions["actions"] + 1), 0, 10)
    np.testing.assert_allclose(actions["actions_for_env"], want, rtol=1e-6)


def test_recurrent_actions_lose_their_time_axis():
    """States keep their form, everything else is one item for each environment."""
    _, actions = there_and_back(Discrete(3), use_lstm=True, lstm_cell_size=3, max_seq_len=5)

    assert actions["actions"].shape == (2,)
    assert actions["action_dist_inputs"][0].shape == (3,)


def test_a_users_piece_sees_single_items_before_normalising():
    """The user's pieces stand between unbatching and normalising."""

    class Flip(ConnectorV2):
        def __call__(self, *, batch, **kwargs):
            self.foreach_batch_item_change_in_place(batch, "actions", lambda a, *ids: 2 - a)
            return batch

    _, plain = there_and_back(Discrete(3))
    _, flipped = there_and_back(Discrete(3), [Flip()])

    np.testing.assert_array_equal(flipped["actions_for_env"], 2 - plain["actions"])


def test_exploring_adds_the_log_probability_of_each_action():
    """Sampled actions come with their own log-probabilities."""
    logits = torch.tensor([[0.1, 2.0, 0.3], [3.0, 2.0, 1.0]])

    batch = run(GetActions(), {"action_dist_inputs": logits}, (), module(Discrete(3)), explore=True)

    want = torch.log_softmax(logits, -1).gather(1, batch["actions"].long()[:, None])[:, 0]
    torch.testing.assert_close(batch["action_logp"], want)


@pytest.mark.parametrize(
    ("other", "width", "dtype"),
    [(Box(-1, 1, (2,), np.float32), 7, torch.float32), (Discrete(2), 5, torch.int64)],
)
def test_greedy_actions_of_several_parts_are_certain(other, width, dtype):
    """One zero for each row, whatever the parts look like; whole where all of them are."""
    act = Dict({"d": Discrete(3), "c": other})

    batch = run(GetActions(), {"action_dist_inputs": torch.zeros(2, width)}, (), module(act))

    assert batch["action_logp"].tolist() == [0, 0]
    assert batch["action_logp"].dtype == dtype


def test_agents_act_together():
    """From agents to modules and back; each episode gets a dict of its agents' actions."""
    spaces = Dict({"a": BOX, "b": BOX})
    acts = Dict({"a": Discrete(3), "b": WIDE})
    agents = AgentMapping(["p_a", "p_b"], lambda agent_id, episode: f"p_{agent_id}")
    multi = module(Discrete(3)).as_multi_rl_module()
    multi.remove_module("default_policy")
    multi.add_module("p_a", module(Discrete(3)))
    multi.add_module("p_b", module(WIDE))
    eps, shared = [several("M0"), several("M1")], {}

    batch = run(env_to_module_pipeline(spaces, acts, agents=agents), {}, eps, multi, shared)
    outputs = multi.forward_inference(batch)
    pipeline = module_to_env_pipeline(spaces, acts, is_multi_agent=True)
    actions = run(pipeline, outputs, eps, multi, shared)["actions_for_env"]

    assert [sorted(own) for own in actions] == [["a", "b"], ["a", "b"]]
    assert all(acts["b"].contains(own["b"]) for own in actions)


def test_given_actions_are_not_changed_by_the_environment():
    """What is sent to the environment shares no memory with what is kept."""
    piece = NormalizeAndClipActions(None, WIDE, normalize_actions=False, clip_actions=True)
    batch = run(piece, {"actions": {("e0",): [vec(3, 30)]}})

    batch["actions_for_env"][("e0",)][0][0] = 99

    assert batch["actions"][("e0",)][0].tolist() == [3, 30]
    assert batch["actions_for_env"][("e0",)][0].tolist() == [99, 10]


def test_single_precision_comes_back():
    """Arrays are float32 and int32, single numbers Python's."""
    batch = {"f": torch.ones(2, dtype=torch.float64), "i": np.arange(2), "n": torch.tensor(3)}

    out = run(TensorToNumpy(), batch)

    assert (out["f"].dtype, out["i"].dtype, out["n"]) == (np.float32, np.int32, 3)


def test_no_time_axis_is_taken_that_was_not_added():
    """Without the mark of the other pipeline nothing is squeezed."""
    batch = {"actions": {("e0",): [vec(1, 2)[None]]}}

    assert run(RemoveSingleTsTimeRankFromBatch(), batch)["actions"][("e0",)][0].shape == (1, 2)


ORDER = {"p_a": [("M0", "a")]}


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: run(
                UnBatchToIndividualItems(),
                {"px": {"actions": np.zeros(1)}},
                [several()],
                None,
                {"memorized_map_structure": ORDER},
            ),
            KeyError,
            "'px'.*memorized_map_structure",
        ),
        (
            lambda: run(
                UnBatchToIndividualItems(),
                {"p_a": {"actions": np.zeros(1)}},
                [several("M9")],
                None,
                {"memorized_map_structure": ORDER},
            ),
            EpisodeError,
            "'M0'",
        ),
        (
            lambda: run(
                UnBatchToIndividualItems(),
                {"actions": np.zeros(3)},
                episodes(),
                None,
                {"memorized_map_structure": ["e0", "e1"]},
            ),
            PieceError,
            "column 'actions'",
        ),
        (
            lambda: run(
                NormalizeAndClipActions(normalize_actions=True, clip_actions=False),
                {"actions": []},
            ),
            PieceError,
            "action space",
        ),
        (
            lambda: run(
                NormalizeAndClipActions(None, WIDE, normalize_actions=True, clip_actions=False),
                {"x": []},
            ),
            KeyError,
            "column 'actions'",
        ),
        (
            lambda: run(ListifyDataForVectorEnv(), {"x": {("M9", "a", "p"): [1]}}, [several()]),
            EpisodeError,
            "'M9'",
        ),
    ],
)
def test_mistakes_are_named(call, error, match):
    """Each error names the module, episode or column it is about."""
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("is_planned", [False, True])
def test_rows_of_a_renamed_episode_keep_their_key_and_find_their_environment(is_planned):
    """Keys as recorded from Ray 2.60; `vector_env_episodes_map` says who runs the episode now."""
    shared = {
        "memorized_map_structure": {"p_a": [("before", "a")]},
        "vector_env_episodes_map": {"before": "M1"},
    }
    pieces = [UnBatchToIndividualItems(), ModuleToAgentUnmapping(), ListifyDataForVectorEnv()]
    running = [several("M0"), several("M1")]
    batch = {"p_a": {"actions": np.array([3])}}

    keys = run(pieces[0], batch, running, shared=shared)["p_a"]["actions"]
    if is_planned:
        batch = run(ModuleToEnvPipeline(connectors=pieces), batch, running, shared=shared)
    else:
        for piece in pieces:
            batch = run(piece, batch, running, shared=shared)

    assert list(keys) == [("before", "a", "p_a")]
    assert batch["actions"] == [{}, {"a": 3}]
