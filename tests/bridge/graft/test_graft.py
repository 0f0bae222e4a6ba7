"""A grafted policy does what the adapted one does, whatever is new, and all of it can learn."""

from functools import cache

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from rlconnect import adapt, graft, load, migrate
from rlconnect.bridge.proof.verify import at_rest
from rlconnect.core.adapters import (
    AdapterChain,
    DropFeatures,
    DropKeys,
    ExtendAction,
    KeepBeside,
    MapActions,
    MaskActions,
    PickKey,
    SelectFeatures,
    StackFrames,
)
from rlconnect.core.errors import ConfigError, PieceError, SpaceError
from rlconnect.core.formulas.preprocessors import preprocessor_for
from rlconnect.core.spaces.values import sampled_courses
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.v2 import PPOConfig

TWO = Discrete(2)
FOUR, SIX = Box(-2, 2, (4,), np.float32), Box(-2, 2, (6,), np.float32)
PARTS = {"a": Box(-1, 1, (3,), np.float32), "m": Discrete(3)}
IMAGE, IMAGE_AND_DEPTH = (Box(0, 1, (16, 16, n), np.float32) for n in (3, 4))
SMALL = {"fcnet_hiddens": [8, 8]}
RELU = {**SMALL, "fcnet_activation": "relu"}
CONVOLUTIONS = {"conv_filters": [[4, [4, 4], 2], [8, [8, 8], 8]], "conv_activation": "relu"}
KNOWN = {"observation_space": SIX, "obs": DropFeatures([4, 5])}
THREE = {"action_space": Discrete(3), "action": MapActions([0, 2], 3)}


def old(observations=FOUR, actions=TWO, model=SMALL, algorithm="PPO", **config):
    if isinstance(observations, (Dict, Discrete)):
        observations = preprocessor_for(observations).output_space
    if algorithm == "DQN":
        config["exploration_config"] = {"type": "EpsilonGreedy"}
    settings = {"seed": 0, "model": dict(model), **config}
    return Policy(observations, actions, settings, algorithm=algorithm)


def filtered():
    policy = old(observation_filter="MeanStdFilter")
    create_connectors_for_policy(policy, policy.config)
    (own,) = policy.agent_connectors["MeanStdObservationFilterAgentConnector"]
    rng = np.random.default_rng(0)
    for row in rng.uniform(-2, 2, (50, 4)).astype(np.float32):
        own.filter(row, update=True)
    return policy


@cache
def native(make):
    """An old policy in the new stack; tests look at it."""
    return migrate(make()).triple()


CASES = {
    "features": (old, KNOWN),
    "some features": (old, {**KNOWN, "features": [5]}),
    "nothing": (old, {"observation_space": FOUR}),
    "actions": (old, {**KNOWN, **THREE}),
    "filter": (filtered, {**KNOWN, **THREE}),
    "wider": (old, {**KNOWN, "network": {"fcnet_hiddens": [11, 16]}}),
    "deeper": (lambda: old(model=RELU), {**KNOWN, "network": {"fcnet_hiddens": [9, 8, 12]}}),
    "deeper heads": (
        old,
        {**KNOWN, "network": {"head_fcnet_hiddens": [16, 20], "head_fcnet_activation": "relu"}},
    ),
    "memory": (old, {**KNOWN, "network": {"use_lstm": True, "lstm_cell_size": 7}}),
    "one encoder": (lambda: old(model={**SMALL, "vf_share_layers": True}), KNOWN),
    "an LSTM": (
        lambda: old(model={**SMALL, "use_lstm": True, "lstm_cell_size": 6}),
        {**KNOWN, **THREE, "network": {"fcnet_hiddens": [8, 10], "lstm_cell_size": 9}},
    ),
    "numbers": (
        lambda: old(actions=Box(-1, 1, (2,), np.float32)),
        {
            **KNOWN,
            "action_space": Box(np.float32([-1, 0, -1]), np.float32([1, 4, 1])),
            "action": ExtendAction([3.0], [1]),
        },
    ),
    "free deviations": (
        lambda: old(actions=Box(-1, 1, (2,), np.float32), model={**SMALL, "free_log_std": True}),
        {
            **KNOWN,
            "action_space": Box(np.float32([-1, -1, -3]), np.float32([1, 1, 3])),
            "action": ExtendAction([0.5]),
        },
    ),
    "several choices": (
        old,
        {**KNOWN, "action_space": MultiDiscrete([2, 4]), "action": ExtendAction([2])},
    ),
    "parts": (
        lambda: old(Dict(PARTS)),
        {
            "observation_space": Dict({**PARTS, "b": Box(-1, 1, (2,)), "z": Discrete(2)}),
            "obs": DropKeys(["b", "z"]),
        },
    ),
    "a number among parts": (
        lambda: old(Discrete(4)),
        {
            "observation_space": Dict({"old": Discrete(4), "new": Box(-1, 1, (2,))}),
            "obs": PickKey("old"),
        },
    ),
    "an image": (
        lambda: old(IMAGE, model=CONVOLUTIONS),
        {
            "observation_space": IMAGE_AND_DEPTH,
            "obs": SelectFeatures([0, 1, 2]),
            "network": {"conv_filters": [[6, [4, 4], 2], [9, [8, 8], 8]]},
        },
    ),
    "frames": (
        lambda: old(Box(-2, 2, (8,), np.float32)),
        {"observation_space": FOUR, "obs": StackFrames(2), "network": {"fcnet_hiddens": [9, 9]}},
    ),
    "DQN": (lambda: old(algorithm="DQN", dueling=False, hiddens=[]), {**KNOWN, **THREE}),
    "dueling DQN": (
        lambda: old(algorithm="DQN", dueling=True, double_q=True, hiddens=[8]),
        {**KNOWN, **THREE, "network": {"fcnet_hiddens": [12, 8]}},
    ),
    "distributional DQN": (
        lambda: old(algorithm="DQN", dueling=True, num_atoms=5, hiddens=[8], v_min=-1, v_max=1),
        {**KNOWN, **THREE},
    ),
    "BC": (lambda: old(algorithm="BC"), {**KNOWN, **THREE}),
}


def outputs(policy, courses):
    """Outputs, values and actions of a policy along some episodes."""
    stages = at_rest(policy)
    slots = list(range(len(courses)))
    rows = [
        stages.step(
            slots, [course[t] for course in courses], None if t == 0 else [0.0] * len(slots)
        )
        for t in range(len(courses[0]))
    ]
    return {
        name: np.stack([np.asarray(row[name]) for row in rows])
        for name in ("outputs", "value", "action")
        if name in rows[0]
    }


@pytest.mark.parametrize("name", list(CASES))
def test_at_first_it_does_what_the_adapted_policy_does(name):
    """Values and actions are equal on observations that the proof did not draw."""
    make, changes = CASES[name]
    words = {key: value for key, value in changes.items() if key not in ("network", "features")}

    grown = graft(native(make), **changes, samples=8)

    space = changes["observation_space"]
    courses = sampled_courses(space, count=30, length=3, seed=7, with_corners=False)
    mine, theirs = outputs(grown, courses), outputs(adapt(make(), **words), courses)
    np.testing.assert_allclose(mine["action"], theirs["action"], atol=2e-6)
    if "value" in mine:
        np.testing.assert_allclose(mine["value"], theirs["value"], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["features", "memory", "deeper heads", "an image", "actions"])
def test_every_weight_can_learn(name):
    """After two steps along a random gradient no new weight stands where it stood."""
    make, changes = CASES[name]
    module = graft(native(make), **changes, samples=16).module
    rng = torch.Generator().manual_seed(0)
    space = module.observation_space
    obs = torch.rand((32, 5, *space.shape), generator=rng)
    if not module.is_stateful():
        obs = obs.flatten(0, 1)
    state = {"state_in": _rows(module.get_initial_state(), 32)} if module.is_stateful() else {}
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    start = {key: value.clone() for key, value in module.named_parameters()}

    for _ in range(3):
        out = module.forward_train({"obs": obs, **state})
        values = module.compute_values({"obs": obs, **state}, out.get("embeddings"))
        inputs = out["action_dist_inputs"]
        loss = (inputs * torch.randn(inputs.shape, generator=rng)).sum() + values.sin().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    still = [key for key, value in module.named_parameters() if torch.equal(value, start[key])]
    assert not still


def _rows(state, count):
    if isinstance(state, dict):
        return {key: _rows(value, count) for key, value in state.items()}
    return state.expand(count, *state.shape).clone()


def test_new_actions_are_as_likely_as_asked_for():
    """Silent at first, or taken now and then, so that they are tried."""
    courses = sampled_courses(SIX, count=200, length=1, seed=3, with_corners=False)

    def probability(share):
        grown = graft(native(old), **KNOWN, **THREE, new_action_probability=share, samples=200)
        logits = torch.as_tensor(outputs(grown, courses)["outputs"])
        return logits.softmax(-1)[..., 1].numpy()

    assert probability(0.0).max() < 1e-6
    assert abs(probability(0.1).mean() - 0.1) < 0.02


def test_new_features_have_names_and_start_without_weight():
    """What is new is told by the names of its parts; the filter's counts stay."""
    space = Dict({"old": FOUR, "wind": Box(-1, 1, (2,), np.float32)})

    grown = graft(filtered(), observation_space=space, obs=PickKey("old"), samples=16)

    told = grown.migration["graft"]
    assert told["features"] == ["wind[0]", "wind[1]"]
    assert told["proof"]["is_equal"]
    first = dict(grown.module.named_parameters())["encoder.actor_encoder.net.mlp.0.weight"]
    assert not first[:, 4:].any()
    assert first[:, :4].all()
    stats = grown.env_to_module["MeanStdFilter"][0].get_state()[None]["running_stats"][0]
    assert int(np.asarray(stats["num_pushes"])) == 50


def test_an_adapter_that_merges_actions_stays_in_front():
    """No head gives two choices' probability to one, so the adapter goes on doing it."""
    grown = graft(
        old(actions=Discrete(3)),
        **KNOWN,
        action_space=Discrete(3),
        action=MaskActions([1], 0),
        samples=64,
    )

    assert grown.migration["graft"]["in_front"] == ["MaskActions(forbidden=(1,), instead=0)"]
    assert grown.module_to_env["AdaptActions"]


def test_an_adapted_policy_is_grafted_through_its_adapter():
    """Features that an earlier adapter leaves out reach the network as well."""
    adapted = adapt(old(), env=None, **KNOWN)

    grown = graft(adapted, observation_space=SIX, samples=32)

    assert grown.module.observation_space.shape == (6,)
    assert grown.migration["graft"]["features"] == ["[4]", "[5]"]


REFUSED = {
    "narrower": ({"network": {"fcnet_hiddens": [4, 8]}}, "narrower"),
    "fewer layers": ({"network": {"fcnet_hiddens": [8]}}, "lose layers"),
    "a layer of tanh": ({"network": {"fcnet_hiddens": [8, 8, 8]}}, "head_fcnet_hiddens"),
    "another activation": ({"network": {"fcnet_activation": "relu"}}, "keeps its activations"),
    "no setting": ({"network": {"hidden": [8]}}, "no setting 'hidden'"),
    "a shared encoder": ({"network": {"vf_share_layers": True}}, "keeps its vf_share_layers"),
    "no such feature": ({"features": [9]}, "feature 9"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_cannot_be_grafted_is_refused_by_name(name):
    """The error says what stands against it."""
    words, says = REFUSED[name]
    with pytest.raises((PieceError, ConfigError), match=says):
        graft(native(old), **KNOWN, **words)


def test_steps_that_leave_too_little_are_refused():
    """Before anything is grown the error says what the policy knows, and what it would get."""
    with pytest.raises(SpaceError, match=r"what the policy knows(?s:.*)\(4,\)(?s:.*)\(2,\)"):
        graft(old(), observation_space=SIX, obs=DropFeatures([2, 3, 4, 5]))


def test_a_network_without_a_native_one_is_refused():
    """Attention has no module of the new stack to grow."""
    model = {"use_attention": True, "attention_dim": 8, "attention_head_dim": 4, **SMALL}
    with pytest.raises(PieceError, match="attention"):
        graft(old(model=model), **KNOWN)


def test_it_is_saved_and_trained_on(tmp_path):
    """A grafted policy lies in a folder like a migrated one, and PPO goes on from it."""
    grown = graft(old(), **KNOWN, network={"use_lstm": True, "lstm_cell_size": 5}, samples=16)
    migrate(grown, tmp_path / "grown")
    again = load(tmp_path / "grown").only
    courses = sampled_courses(SIX, count=8, length=3, seed=1, with_corners=False)
    np.testing.assert_array_equal(
        outputs(again.native, courses)["outputs"], outputs(grown, courses)["outputs"]
    )
    assert again.native.migration["graft"]["network"]["use_lstm"] is True

    config = PPOConfig().from_migrated(tmp_path / "grown").environment(TenSteps)
    config.training(train_batch_size=64, minibatch_size=32, num_epochs=2, lr=1e-2)
    algorithm = config.build_algo()
    algorithm.train()

    gate = algorithm.get_module().encoder.actor_encoder.gate.weight
    algorithm.stop()
    assert gate.abs().sum() > 0


class TenSteps(gym.Env):
    """Six numbers in, two choices, ten steps."""

    observation_space, action_space = SIX, TWO

    def __init__(self, config=None):
        self.t = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._seen(), {}

    def step(self, action):
        self.t += 1
        return self._seen(), float(action), False, self.t == 10, {}

    def _seen(self):
        return self.np_random.uniform(-2, 2, 6).astype(np.float32)


def test_the_step_is_data():
    """`KeepBeside` is written down and read back with the steps inside it."""
    chain = AdapterChain(obs=[KeepBeside([SelectFeatures([1]), StackFrames(2)], [2])])

    again = AdapterChain.from_data(chain.to_data())

    assert again == chain
    bound = again.bind(Box(-1, 1, (3,), np.float32), Discrete(2))
    first, memory = bound.observe_next(np.float32([[1, 2, 3]]), bound.start(1), np.array([True]))
    second, _ = bound.observe_next(np.float32([[4, 5, 6]]), memory, np.array([False]))
    np.testing.assert_array_equal([first[0], second[0]], [[2, 2, 3], [2, 5, 6]])
