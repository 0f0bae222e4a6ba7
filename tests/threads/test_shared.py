"""A sample of what `stress.py` shares among threads, held to what one thread gets."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from rlconnect.bridge.actor.actor import Actor
from rlconnect.bridge.migrate.plan import plan_migration
from rlconnect.legacy import Policy, TorchModelV2, create_connectors_for_policy
from rlconnect.v2 import TorchRLModule
from torch import nn

from tests.threads.plays import actor_plays, module_plays, policy_plays, triple_plays
from tests.threads.sharing import shared

THREADS = 8
BOX = gym.spaces.Box(-1, 1, (4,), np.float32)
NESTED = gym.spaces.Dict({"a": gym.spaces.Box(-1, 1, (3,), np.float32), "b": BOX})
IMAGE = gym.spaces.Box(0, 1, (10, 10, 3), np.float32)
SMALL = {"fcnet_hiddens": [16], "conv_filters": [[4, 4, 2], [8, 5, 1]]}


class Own(TorchModelV2, nn.Module):
    """A network of a user's own, which keeps in an attribute what `value_function` reads."""

    def __init__(self, obs_space, action_space, num_outputs, model_config, name):
        TorchModelV2.__init__(self, obs_space, action_space, num_outputs, model_config, name)
        nn.Module.__init__(self)
        self.layer = nn.Linear(4, 16)
        self.logits, self.values = nn.Linear(16, num_outputs), nn.Linear(16, 1)

    def forward(self, input_dict, state, seq_lens):
        self.features = torch.relu(self.layer(input_dict["obs_flat"].float()))
        return self.logits(self.features), state

    def value_function(self):
        return self.values(self.features).squeeze(1)


KINDS = {
    "convolution": (IMAGE, {}, {}),
    "nested": (NESTED, {}, {}),
    "lstm": (BOX, {"use_lstm": True, "lstm_cell_size": 8, "lstm_use_prev_action": True}, {}),
    "attention": (BOX, {"use_attention": True, "attention_dim": 8, "attention_head_dim": 4}, {}),
    "own": (BOX, {"custom_model": "own"}, {"custom_models": {"own": Own}}),
}


def policy_of(kind):
    space, model, options = KINDS[kind]
    config = {"seed": 3, "model": {**SMALL, **model}}
    if kind == "nested":
        config["_disable_preprocessor_api"] = True
        config["model"]["_disable_preprocessor_api"] = True
    policy = Policy(space, gym.spaces.Discrete(3), config, **options)
    create_connectors_for_policy(policy, policy.config)
    return policy


def hold(plays, rounds):
    for what, play in plays:
        found = shared(play, threads=THREADS, rounds=rounds)
        assert not found.errors, f"{what}: {found.errors[0]}"
        assert not found.differences, f"{what}: {found.differences} of {found.calls} differ"


@pytest.fixture(autouse=True)
def one_thread_in_torch():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_share_a_policy(kind):
    """Eight threads with a policy get what one thread gets, sessions interleaved."""
    hold(policy_plays(policy_of(kind)), rounds=3)


@pytest.mark.parametrize("kind", ["convolution", "lstm"])
def test_threads_share_an_actor(kind):
    """Eight threads with an actor get what one thread gets, each in sessions of its own."""
    hold(actor_plays(Actor.from_policy(policy_of(kind)), "actor"), rounds=3)


@pytest.mark.parametrize("kind", ["lstm"])
def test_threads_share_a_migrated_policy(kind):
    """Pipelines and module of a migrated policy answer threads as they answer one."""
    triple = plan_migration(policy_of(kind)).apply().triple()

    hold(triple_plays(triple, "pipelines"), rounds=1)
    hold(module_plays(triple[1], "module"), rounds=1)


def test_a_module_stays_in_evaluation_mode_until_the_last_thread_is_done():
    """Dropout stays off in every thread that acts, and is back on when all are done."""

    class Dropping(TorchRLModule):
        def setup(self):
            self.layers = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5), nn.Linear(64, 3))

        def _forward(self, batch, **kwargs):
            return {"action_dist_inputs": self.layers(batch["obs"])}

    module = Dropping(observation_space=BOX, action_space=gym.spaces.Discrete(3))
    obs = torch.ones(3, 4)

    def play(number, name):
        return [module.forward_inference({"obs": obs * number}) for _ in range(20)]

    hold([("module", play)], rounds=5)
    assert module.training


def test_threads_that_explore_draw_as_one_thread_after_the_other():
    """Explored draws of all threads are those of one, in another order; every step is counted."""
    policy = Policy(BOX, gym.spaces.Discrete(50), {"seed": 0, "model": SMALL})
    obs = np.zeros((1, 4), np.float32)
    alone = [int(policy.compute_actions(obs, explore=True)[0][0]) for _ in range(THREADS * 50)]
    policy.seed(0)
    before = policy.global_timestep
    drawn = []

    def play(number, name):
        if "together" in name:
            drawn.extend(int(policy.compute_actions(obs, explore=True)[0][0]) for _ in range(50))
        return []

    shared(play, threads=THREADS, rounds=1)

    assert sorted(drawn) == sorted(alone)
    assert policy.global_timestep == before + THREADS * 50


def test_threads_build_one_torch_network():
    """Threads that need a policy's torch network at the same time get one and the same."""
    policy = Policy(BOX, gym.spaces.Discrete(3), {"model": SMALL})
    policy.networks._torch = None
    found = []

    shared(lambda number, name: found.append(policy.model) or [], threads=THREADS, rounds=1)

    assert len(set(map(id, found[:]))) == 1


def test_threads_share_a_session():
    """Steps of two threads in one session come one after the other: none is lost."""
    policy = policy_of("lstm")
    actor = Actor.from_policy(policy)
    obs = np.zeros(4, np.float32)
    for _ in range(THREADS * 5):
        actor.act(obs, env_ids="one")
    alone = actor.state_dict()["default_policy"]["memory"]
    actor.reset()

    def play(number, name):
        if "together" in name:
            for _ in range(5):
                actor.act(obs, env_ids="one")
        return []

    shared(play, threads=THREADS, rounds=1)

    for one, other in zip(alone, actor.state_dict()["default_policy"]["memory"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
