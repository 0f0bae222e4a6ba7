"""A legacy policy as a module: acting in env runners, learning, copies and checkpoints."""

import copy
import pickle

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge import (
    LegacyMultiPolicyModule,
    LegacyPolicyModule,
    policy_to_v2,
    use_policy,
)
from rlconnect.core.errors import ConfigError, PieceError
from rlconnect.legacy import (
    Policy,
    create_connectors_for_policy,
    local_policy_inference,
)
from rlconnect.v2 import (
    EnvToModulePipeline,
    PPOConfig,
    RLModuleSpec,
    SingleAgentEnvRunner,
)

from tests.bridge.wrap.walking import Walker
from tests.legacy.replay import GOLDEN, Recording

LSTM = {
    "use_lstm": True,
    "lstm_cell_size": 8,
    "max_seq_len": 4,
    "lstm_use_prev_action": True,
    "lstm_use_prev_reward": True,
    "fcnet_hiddens": [8],
}
MODELS = {"plain": {"fcnet_hiddens": [8]}, "lstm": LSTM}


def made(model, space=None, **config):
    policy = Policy(
        Box(-np.inf, np.inf, (4,), np.float32) if space is None else space,
        Discrete(2),
        {"model": MODELS[model], "seed": 3, **config},
    )
    create_connectors_for_policy(policy, policy.config)
    return policy


@pytest.mark.parametrize("model", list(MODELS))
def test_env_runner_acts_as_the_policy(model):
    """What a runner records of a wrapped policy is what the policy answers, exploring as seeded."""
    policy = made(model)
    config = use_policy(PPOConfig().environment("CartPole-v1").debugging(seed=1), policy)
    runner = SingleAgentEnvRunner(config=config)

    episodes = runner.sample(num_episodes=2)

    first = episodes[0]
    for t in range(len(first)):
        policy_says = local_policy_inference(
            policy,
            "env",
            "0",
            first.get_observations(t),
            reward=None if t == 0 else float(first.get_rewards(t - 1)),
            explore=True,
        )
        ((action, _, fetches),) = policy_says
        assert int(action) == int(first.get_actions(t))
        np.testing.assert_array_equal(
            fetches["action_dist_inputs"], first.get_extra_model_outputs("action_dist_inputs", t)
        )
        assert fetches["action_logp"] == first.get_extra_model_outputs("action_logp", t)


@pytest.mark.parametrize("model", list(MODELS))
def test_ppo_learner_changes_the_old_network(model):
    """Gradients reach the policy's own torch network, and acting follows the new weights."""
    policy = made(model)
    config = use_policy(
        PPOConfig()
        .environment("CartPole-v1")
        .training(train_batch_size=64, minibatch_size=32, num_epochs=1, lr=0.01)
        .debugging(seed=1),
        policy,
    )
    runner = SingleAgentEnvRunner(config=config)
    learner = config.build_learner(env=runner.env, spaces=runner.get_spaces())
    before = learner.module["default_policy"].get_state()

    learner.update(episodes=runner.sample(num_timesteps=64))

    after = learner.module["default_policy"].get_state()
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    assert len(changed) >= 6
    assert all(np.isfinite(part).all() for part in after.values())
    runner.set_weights({"default_policy": after}, weights_seq_no=1)
    seen = {"obs": torch.zeros(1, 4)}
    if model == "plain":
        ours = runner.module.forward_inference(seen)["action_dist_inputs"]
        theirs = learner.module["default_policy"].forward_train(seen)["action_dist_inputs"]
        torch.testing.assert_close(ours, theirs.detach())
        stale = LegacyPolicyModule.of(policy).forward_inference(seen)["action_dist_inputs"]
        assert not torch.equal(ours, stale)


@pytest.mark.parametrize("model", list(MODELS))
def test_training_pass_equals_acting(model):
    """Logits and values of a train pass are those the policy acts by, along whole sequences."""
    module = LegacyPolicyModule.of(made(model))
    lead = (3, 5) if model == "lstm" else (15,)
    batch = {"obs": torch.randn(*lead, 4)}
    if model == "lstm":
        batch["prev_actions"] = torch.randint(0, 2, lead)
        batch["prev_rewards"] = torch.randn(*lead)
        batch["state_in"] = {f"state_{place}": torch.randn(3, 8) for place in range(2)}

    acting, training = module.forward_inference(batch), module.forward_train(batch)

    for name in ("action_dist_inputs", "vf_preds"):
        assert training[name].shape[: len(lead)] == lead
        torch.testing.assert_close(acting[name], training[name].detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(module.compute_values(batch), training["embeddings"])
    if model == "lstm":
        for name, state in acting["state_out"].items():
            assert state.shape == (3, 8)
            torch.testing.assert_close(
                state, training["state_out"][name].detach(), rtol=1e-5, atol=1e-5
            )


def test_memory_of_attention_moves_by_sequences():
    """One pass over a sequence leaves the memory that passes over its steps leave."""
    module = LegacyPolicyModule.of(
        Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_attention").load("default_policy")
    )
    start = {
        name: torch.as_tensor(state)[None] for name, state in module.get_initial_state().items()
    }
    seen = torch.randn(1, 4, 4)

    at_once = module.forward_inference({"obs": seen, "state_in": start})["state_out"]
    state = start
    for t in range(4):
        state = module.forward_inference({"obs": seen[:, t : t + 1], "state_in": state})[
            "state_out"
        ]

    assert at_once["state_0"].shape == start["state_0"].shape
    torch.testing.assert_close(at_once["state_0"], state["state_0"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda held: pickle.loads(pickle.dumps(held))])
def test_copies_stand_alone(copied):
    """A copy answers the same, shares no weight, and has one network for acting and learning."""
    module = LegacyPolicyModule.of(made("plain"))
    twin = copied(module)
    seen = {"obs": torch.ones(2, 4)}
    wanted = module.forward_exploration(seen)

    with torch.no_grad():
        for weight in module.parameters():
            weight.zero_()
    found = twin.forward_exploration(seen)

    for name, column in wanted.items():
        torch.testing.assert_close(found[name], column, rtol=0, atol=0)
    assert not torch.equal(module.forward_inference(seen)["vf_preds"], found["vf_preds"])
    assert twin.network is twin.policy.model


def test_checkpoint_of_a_triple(tmp_path):
    """Folders of pipelines and module give back a triple that answers the same."""
    recording = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_pendulum_norm_meanstd")
    policy = recording.load("default_policy")
    triple = policy_to_v2(policy)
    for name, part in zip(("there", "module", "back"), triple, strict=True):
        part.save_to_path(tmp_path / name)

    restored = (
        EnvToModulePipeline.from_checkpoint(tmp_path / "there"),
        LegacyPolicyModule.from_checkpoint(tmp_path / "module"),
        type(triple[2]).from_checkpoint(tmp_path / "back"),
    )

    ours, theirs = Walker(triple), Walker(restored)
    for _, _, starts, obs, keywords in recording.steps("default_policy"):
        wanted = ours.step(obs, starts=starts, **keywords)
        found = theirs.step(obs, starts=starts, **keywords)
        np.testing.assert_array_equal(wanted[0], found[0])
        np.testing.assert_array_equal(
            wanted[1]["action_dist_inputs"], found[1]["action_dist_inputs"]
        )
    held = (tmp_path / "module" / "class_and_ctor_args.pkl").stat().st_size
    state = (tmp_path / "module" / "module_state.pkl").stat().st_size
    assert held < 8_000 + state / 10, "the constructor's arguments hold no second set of weights"


def test_filter_statistics_travel_as_state():
    """A pipeline's state carries what its filter has learnt to a pipeline that has not."""
    policy = made("plain", observation_filter="MeanStdFilter")
    taught, _, _ = policy_to_v2(policy)
    taught.connectors[0].is_training = True
    walker = Walker((taught, *policy_to_v2(policy)[1:]))
    for t in range(5):
        walker.step(np.full(4, t, np.float32), starts=t == 0)
    fresh, _, _ = policy_to_v2(policy)

    fresh.set_state(taught.get_state())

    filters = [
        pipeline.connectors[0].connector["MeanStdObservationFilterAgentConnector"][0].filter
        for pipeline in (taught, fresh)
    ]
    assert filters[0].running_stats.n == filters[1].running_stats.n == 5


def test_modules_by_id():
    """Several policies act by id, each with its own weights."""
    policies = {name: made("plain", seed=seed) for seed, name in enumerate(("a", "b"))}
    spec = LegacyMultiPolicyModule.spec_of(policies)
    seen = torch.ones(1, 4)

    outputs = spec.build().forward_inference({name: {"obs": seen} for name in policies})

    for name, policy in policies.items():
        _, _, fetches = policy.compute_actions(seen.numpy(), explore=False)
        np.testing.assert_array_equal(
            outputs[name]["action_dist_inputs"], fetches["action_dist_inputs"]
        )


def test_says_what_is_missing():
    """Settings without a policy, and batches without a column it looks at, are told by name."""
    spec = RLModuleSpec(LegacyPolicyModule, Box(-1, 1, (4,)), Discrete(2))
    with pytest.raises(ConfigError, match="legacy_policy"):
        spec.build()
    module = LegacyPolicyModule.of(made("lstm"))
    with pytest.raises(PieceError, match=r"prev_actions.*prev_rewards.*state_in"):
        module.forward_inference({"obs": torch.zeros(1, 1, 4)})
