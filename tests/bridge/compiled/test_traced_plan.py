"""Policies with functions of a user's own: whole programs and files that act as they do."""

import json
import warnings

import numpy as np
import pytest
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor, SlowPieceWarning
from rlconnect.bridge.compiled.artifact import export_actor, plan_of
from rlconnect.bridge.compiled.program import SplitWarning, compile_actor
from rlconnect.core.arrays.batching import batch
from rlconnect.core.errors import PieceError
from rlconnect.core.spaces.values import sample
from rlconnect.legacy import (
    ConnectorContext,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)

from tests.bridge.compiled.chains import OLD_LSTM, made
from tests.legacy.replay import GOLDEN, Recording, gap, leaves

# torch's own loader and compiler call parts of torch that it has deprecated.
pytestmark = [
    pytest.mark.torch("2.9"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
CARTPOLE = GOLDEN / "legacy" / "2.10.0" / "ppo_adapt_cartpole"
VECTOR = spaces.Box(-1, 1, (4,), np.float32)


def v2_to_v1_obs(data):
    """The documentation's own: the last two features go."""
    data["new_obs"] = data["new_obs"][:-2]
    return data


def v1_to_v2_action(actions, states, fetches):
    """The documentation's own: a placeholder action more."""
    return np.hstack((actions, [0])), states, fetches


def actor_of(policy, *, obs=None, action=None, at=0):
    """An actor of a policy with functions before and behind it; it acts item by item."""
    ctx = ConnectorContext.from_policy(policy)
    if obs is not None:
        kind = register_lambda_agent_connector("ChangedObs", obs)
        policy.agent_connectors.connectors.insert(at, kind(ctx))
    if action is not None:
        kind = register_lambda_action_connector("ChangedAction", action)
        policy.action_connectors.append(kind(ctx))
    with pytest.warns(SlowPieceWarning):
        return Actor.from_policy(policy)


def whole(actor, **options):
    """Compile without a split."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return compile_actor(actor, **options)


def seen_as(obs):
    """A function of the record from one of the observation."""
    return lambda data: {**data, "new_obs": obs(data["new_obs"])}


@pytest.mark.parametrize("ending", ["pt2", "onnx"])
def test_the_documented_adaptation_is_one_file(ending, onnx_functions, tmp_path, rng):
    """The specification's two functions: eager, compiled and exported actions are the same."""
    policy = Recording(CARTPOLE).load("default_policy")
    policy.agent_connectors.remove("DropLastTwoFeatures")
    policy.action_connectors.remove("AddFakeAction")
    actor = actor_of(policy, obs=v2_to_v1_obs, action=v1_to_v2_action)
    obs = np.hstack((rng.uniform(-0.4, 0.4, (7, 4)), np.full((7, 2), [8.0, 6.0])))
    obs = obs.astype(np.float32)
    path = tmp_path / f"cartpole.{ending}"

    wanted = actor.act(obs)
    program = whole(actor)
    manifest = export_actor(actor, path)

    found = program(obs)[0]
    assert wanted.shape == (7, 2)
    assert np.array_equal(wanted, found)
    assert wanted.dtype == found.numpy().dtype
    assert np.array_equal(_run(path, obs), wanted)
    assert np.array_equal(_run(path, obs[:1]), wanted[:1])
    assert manifest["pieces"][0] == "ChangedObs (traced)"
    assert manifest["pieces"][-1] == "ChangedAction (traced)"
    assert manifest["inputs"] == [{"name": "obs", "shape": [6], "dtype": "float32"}]
    assert manifest["outputs"] == [{"name": "action", "shape": [2], "dtype": "int64"}]


def _run(path, obs):
    manifest = json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in manifest["inputs"]] == ["obs"]
    if path.suffix == ".onnx":
        onnxruntime = pytest.importorskip("onnxruntime")
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return session.run(None, {"obs": obs})[0]
    with path.open("rb") as file, torch.no_grad():
        return torch.export.load(file).module()(torch.from_numpy(obs))[0].numpy()


@pytest.mark.parametrize("case", ["2.7.2/ppo_lambda_connectors", "2.10.0/ppo_adapt_cartpole"])
def test_recorded_functions_act_as_recorded(case):
    """Ray's own actions come out of the whole program, step by step."""
    recording = Recording(GOLDEN / "legacy" / case)
    with pytest.warns(SlowPieceWarning):
        actor = Actor.from_policy(recording.load("default_policy"))
    program = whole(actor)
    wanted = recording.rows("default_policy", "out")

    count = 0
    for step, _, _, obs, _ in recording.steps("default_policy"):
        actions, _ = program(obs[None])
        found = actions[0] if torch.is_tensor(actions) else {k: v[0] for k, v in actions.items()}
        for path, value in leaves({"actions": found}):
            assert not gap(wanted[path][step], value)
            count += 1

    assert count >= recording.meta["policies"]["default_policy"]["num_steps"]


ACTIONS = {
    "discrete": spaces.Discrete(5),
    "box": spaces.Box(-2, 1, (2,), np.float32),
    "multi": spaces.MultiDiscrete([3, 4]),
    "tuple": spaces.Tuple([spaces.Discrete(3), spaces.Box(-1, 1, (2,), np.float32)]),
    "dict": spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(-1, 1, (1,), np.float32)}),
}


def _more(actions, states, fetches):
    if isinstance(actions, dict):
        return {**actions, "c": actions["a"] + 1}, states, fetches
    if isinstance(actions, tuple):
        return [actions[0] * 2, actions[1].sum()], states, fetches
    return {"old": actions, "new": (np.asarray(actions) * 2, 3)}, states, fetches


@pytest.mark.parametrize("kind", ACTIONS)
def test_actions_of_every_kind(kind, rng):
    """Numbers, vectors and nests: values, forms and dtypes of the actor's own."""
    actor = actor_of(made(VECTOR, ACTIONS[kind], model={"fcnet_hiddens": [8]}), action=_more)
    obs = rng.uniform(-1, 1, (6, 4)).astype(np.float32)

    found, _ = whole(actor)(obs)

    wanted = actor.act(obs)
    flat, others = dict(leaves(wanted)), dict(leaves(found))
    assert flat.keys() == others.keys()
    for path, value in flat.items():
        assert value.dtype == others[path].dtype
        assert np.allclose(value, others[path], atol=1e-5)


def test_a_policy_with_a_state(rng):
    """Memory, rewards and earlier actions go through beside a traced function."""
    for at in (0, 2):  # before and behind StateBufferConnector
        policy = made(VECTOR, spaces.Discrete(3), model={"fcnet_hiddens": [8], **OLD_LSTM})
        actor = actor_of(policy, obs=seen_as(lambda obs: np.clip(obs, -0.5, 0.5)), at=at)
        program = whole(actor)
        states = program.start(5)
        for step in range(4):
            obs = rng.uniform(-1, 1, (5, 4)).astype(np.float32)
            reward = rng.normal(size=5)

            found, states = program(obs, states, reward=reward, first=np.full(5, step == 0))

            wanted = actor.act(obs, reward=None if step == 0 else reward)
            assert np.array_equal(wanted, found)


def test_one_that_changes_what_the_network_sees_beside():
    """Rewards may change where nobody looks at them."""

    def no_rewards(data):
        return {**data, "rewards": 0.0}

    plain = actor_of(made(VECTOR, spaces.Discrete(2)), obs=no_rewards)
    assert plan_of(plain).missing == ()
    policy = made(VECTOR, spaces.Discrete(2), model=OLD_LSTM)
    looking = actor_of(policy, obs=no_rewards)
    assert plan_of(looking).missing == ("ChangedObs (traced) (changes rewards)",)


def test_an_environment_that_only_functions_know(rng):
    """A space may be said; without it, several widths that would do are no answer."""
    actor = actor_of(made(VECTOR, spaces.Discrete(3)), obs=seen_as(lambda obs: obs[1:5]))
    wide = spaces.Box(-1, 1, (7,), np.float32)
    obs = rng.uniform(-1, 1, (5, 7)).astype(np.float32)
    with pytest.warns(SplitWarning, match=r"ChangedObs .*say observation_space="):
        split = compile_actor(actor)

    found, _ = whole(actor, observation_space=wide)(obs)

    wanted = actor.act(obs)
    assert np.array_equal(found, wanted)
    assert np.array_equal(split(obs)[0], wanted)
    nested = actor_of(
        made(VECTOR, spaces.Discrete(3)),
        obs=seen_as(lambda obs: np.concatenate([obs["a"], [obs["b"]]])),
    )
    space = spaces.Dict({"a": spaces.Box(-1, 1, (3,), np.float32), "b": spaces.Discrete(3)})
    items = {"a": obs[:, :3], "b": np.arange(5) % 3}
    assert whole(nested, observation_space=space)(items)[0].shape == (5,)
    with pytest.raises(PieceError, match="knows what its environment gives"):
        compile_actor(Actor.from_policy(made(VECTOR, spaces.Discrete(3))), observation_space=wide)


def test_images_and_places(rng):
    """Bytes become floats; behind a preprocessor is a place, behind the views is none."""
    obs = rng.uniform(-1, 1, (3, 4)).astype(np.float32)
    picture = spaces.Box(0, 255, (2, 3), np.uint8)
    flat = made(spaces.Box(0, 1, (6,), np.float32), spaces.Discrete(2))
    actor = actor_of(flat, obs=seen_as(lambda x: (x / 255.0).ravel().astype(np.float32)))
    bytes_given = rng.integers(0, 255, (3, 2, 3)).astype(np.uint8)
    program = whole(actor, observation_space=picture)
    assert program(bytes_given)[0].shape == (3,)

    recording = Recording(GOLDEN / "legacy" / "2.60.0" / "ppo_dict_obs_flat")
    flattened = recording.load("default_policy")
    space = flattened.observation_space.original_space
    nested = actor_of(flattened, obs=seen_as(lambda x: np.tanh(x)), at=1)
    items = batch([sample(space, seed) for seed in range(5)])
    found = whole(nested)(items)[0]
    assert np.allclose(found, nested.act(items), atol=1e-5)
    narrow = actor_of(recording.load("default_policy"), obs=seen_as(lambda x: x[:2]), at=1)
    assert "ChangedObs (traced) (makes what the network cannot take" in plan_of(narrow).missing[0]

    behind = actor_of(made(VECTOR, spaces.Discrete(2)), obs=lambda data: data, at=3)
    assert "stands behind ViewRequirementAgentConnector" in plan_of(behind).missing[0]
    assert behind.act(obs).shape == (3,)


def test_a_split_says_why_and_keeps_what_it_can(rng):
    """What cannot be traced runs item by item; functions between it and the network do not."""
    policy = made(VECTOR, spaces.Discrete(3))
    halved = register_lambda_agent_connector("Halved", seen_as(lambda x: x * 0.5))
    policy.agent_connectors.prepend(halved(ConnectorContext.from_policy(policy)))
    actor = actor_of(policy, obs=seen_as(lambda x: x if x[0] > 0 else -x))
    obs = rng.uniform(-1, 1, (5, 4)).astype(np.float32)

    with pytest.warns(
        SplitWarning, match=r"ChangedObs \(decides by a value at test_traced_plan.py, line"
    ):
        program = compile_actor(actor)

    assert [type(each).__name__ for each in program.before] == ["ChangedObs"]
    assert [part.name for part in program.plan.obs] == ["Halved (traced)"]
    assert np.array_equal(program(obs)[0], actor.act(obs))
    with pytest.raises(
        PieceError, match=r"ChangedObs \(decides by a value at test_traced_plan.py, line"
    ):
        export_actor(actor, "never.pt2")
