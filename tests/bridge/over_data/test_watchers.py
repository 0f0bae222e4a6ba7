"""Policies that watch recorded episodes, of every kind and by every way."""

import copy

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge import adapt, export_actor, load_artifact, policy_to_v2
from rlconnect.bridge.actor.actor import Actor
from rlconnect.bridge.actor.legacy_plan import legacy_plan
from rlconnect.bridge.actor.players import PipelinePlayer, player_of
from rlconnect.bridge.over_data.replay import Manner
from rlconnect.bridge.over_data.replay import answers_to as answers_to_all
from rlconnect.bridge.over_data.watchers import (
    EpisodeWatcher,
    LegacyWatcher,
    PlannedWatcher,
    watcher_of,
)
from rlconnect.core.adapters import DropFeatures, MapActions
from rlconnect.core.errors import PieceError
from rlconnect.legacy import Policy, create_connectors_for_policy, local_policy_inference
from rlconnect.offline.recordings import Recording, Recordings
from rlconnect.v2 import PPOConfig

SEEN = Box(-2, 2, (3,), np.float32)
MANNER = Manner()
THREE = Discrete(3)
MODELS = {
    "dense": {"fcnet_hiddens": [8]},
    "lstm": {"use_lstm": True, "lstm_cell_size": 4, "fcnet_hiddens": [8]},
    "lstm that sees actions and rewards": {
        "use_lstm": True,
        "lstm_cell_size": 4,
        "fcnet_hiddens": [8],
        "lstm_use_prev_action": True,
        "lstm_use_prev_reward": True,
    },
}


def policy_of(model, actions=THREE, **config):
    settings = {"seed": 0, "model": MODELS[model], "observation_filter": "MeanStdFilter", **config}
    policy = Policy(SEEN, actions, settings)
    create_connectors_for_policy(policy, policy.config)
    policy.agent_connectors.in_training()
    rng = np.random.default_rng(1)
    for _ in range(20):  # so that the filter has something to do
        local_policy_inference(policy, "e", "a", rng.uniform(0, 2, 3).astype(np.float32), 0.5)
    policy.reset_connectors("e")
    policy.agent_connectors.in_eval()
    return policy


def episodes(rng, actions=THREE, lengths=(4, 7, 1, 5)):
    def taken(count):
        if isinstance(actions, Discrete):
            return rng.integers(0, actions.n, count)
        return rng.uniform(-1, 1, (count, *actions.shape)).astype(np.float32)

    return [
        Recording(
            str(place),
            rng.uniform(-2, 2, (count + 1, 3)).astype(np.float32),
            taken(count),
            rng.normal(size=count),
            True,
            {},
        )
        for place, count in enumerate(lengths)
    ]


def answers_to(watcher, held):
    """What a policy makes of each episode."""
    joined = Recordings.joined(list(map(Recordings.of, held)))
    return list(answers_to_all(watcher, joined).by_episode(joined.lengths))


def by_hand(policy, recording):
    """One step after the other through the connectors, with the recorded action as the last one."""
    policy = copy.deepcopy(policy)
    agent = policy.agent_connectors
    agent.in_eval()
    found = []
    state = policy.get_initial_state()
    before, earned = np.zeros(1, np.int64), 0.0
    for t in range(len(recording)):
        seen = recording.observations[t]
        for connector in agent.connectors:
            if "Filter" in type(connector).__name__:
                seen = connector.filter(seen, update=False)
        logp = policy.compute_log_likelihoods(
            recording.actions[t : t + 1],
            np.asarray(seen, np.float32)[None],
            [each[None] for each in state],
            before,
            np.array([earned], np.float32),
        )
        columns = {"obs": np.asarray(seen, np.float32)[None], "prev_actions": before}
        columns["prev_rewards"] = np.array([earned], np.float32)
        columns |= {f"state_in_{i}": each[None] for i, each in enumerate(state)}
        _, after, _ = policy.compute_actions_from_input_dict(columns, explore=False)
        state = [each[0] for each in after]
        before, earned = recording.actions[t : t + 1], recording.rewards[t]
        found.append(np.exp(logp[0]))
    return np.array(found)


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_are_those_of_single_steps(model, rng):
    """Filters, states, earlier actions and rewards are those of the episode as it was recorded."""
    policy, held = policy_of(model), episodes(rng)

    found = answers_to(watcher_of(policy, MANNER), held)

    for recording, answers in zip(held, found, strict=True):
        steps = len(recording)
        np.testing.assert_allclose(answers.chances[:steps], by_hand(policy, recording), rtol=1e-4)
        np.testing.assert_allclose(answers.all_chances.sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_connectors_that_run_as_they_are_say_the_same(model, rng):
    """A plan, the old connectors and pipelines around a wrapped policy agree."""
    policy, held = policy_of(model), episodes(rng)
    player = PipelinePlayer(copy.deepcopy(policy), legacy_plan(policy))
    wrapped = watcher_of(policy_to_v2(policy), MANNER)

    planned = watcher_of(policy, MANNER)

    assert isinstance(planned, PlannedWatcher)
    assert isinstance(wrapped, EpisodeWatcher)
    for other in (LegacyWatcher(player, MANNER), wrapped):
        for mine, theirs in zip(answers_to(planned, held), answers_to(other, held), strict=True):
            np.testing.assert_allclose(mine.all_chances, theirs.all_chances, atol=1e-5)


@pytest.mark.parametrize("with_memory", [False, True])
def test_a_module_of_the_new_stack_watches(with_memory, rng):
    """Its plan, and its pipelines over episodes, agree; a state goes along the episode."""
    config = PPOConfig().environment(observation_space=SEEN, action_space=Discrete(3))
    config.rl_module(model_config={"use_lstm": with_memory, "lstm_cell_size": 4})
    module = config.get_rl_module_spec(
        spaces={"default_policy": (SEEN, Discrete(3))}, inference_only=True
    ).build()
    held = episodes(rng)
    player = player_of((None, module, None))

    planned = answers_to(watcher_of((None, module, None), MANNER), held)

    from rlconnect.bridge.actor.episode_player import EpisodePlayer
    from rlconnect.bridge.triple import V2Triple

    stepwise = EpisodePlayer(V2Triple(None, module, None).with_pipelines(), player.plan)
    pieces = answers_to(EpisodeWatcher(stepwise, MANNER), held)
    for mine, theirs in zip(planned, pieces, strict=True):
        np.testing.assert_allclose(mine.all_chances, theirs.all_chances, atol=1e-5)
    if with_memory:
        first = held[0]
        alone = Recording(
            "", first.observations[1:], first.actions[1:], first.rewards[1:], True, {}
        )
        (later,) = answers_to(watcher_of((None, module, None), MANNER), [alone])
        assert np.abs(later.all_chances - planned[0].all_chances[1:]).max() > 1e-4


def test_continuous_actions_have_densities(rng):
    """In the range of the network, or as an environment takes them."""
    actions = Box(-3, 3, (2,), np.float32)
    policy, held = policy_of("dense", actions), episodes(rng, actions)
    stretched = [Recording(r.id, r.observations, r.actions * 3, r.rewards, True, {}) for r in held]

    own = answers_to(watcher_of(policy, MANNER), held)
    theirs = answers_to(watcher_of(policy, Manner(is_normalized=False)), stretched)

    for mine, other in zip(own, theirs, strict=True):
        assert mine.all_chances is None
        np.testing.assert_allclose(mine.chances, other.chances, rtol=1e-4)
    with pytest.raises(PieceError, match="one action for sure"):
        answers_to(watcher_of(policy, Manner(is_greedy=True)), held)


@pytest.mark.torch("2.9")
@pytest.mark.parametrize("model", ["dense", "lstm that sees actions and rewards"])
def test_an_exported_program_takes_its_best_action_for_sure(model, rng, tmp_path):
    """It says of each action whether it would have taken it, after what was really done."""
    policy, held = policy_of(model), episodes(rng)
    file = tmp_path / "policy.pt2"
    export_actor(Actor.from_policy(policy), file)

    found = answers_to(watcher_of(load_artifact(file), MANNER), held)

    greedy = answers_to(watcher_of(policy, Manner(is_greedy=True)), held)
    for mine, theirs in zip(found, greedy, strict=True):
        np.testing.assert_array_equal(mine.all_chances, theirs.all_chances)


def test_an_adapted_policy_is_judged_by_what_the_environment_takes(rng):
    """Observations come through the adapter, actions of the policy count as the new ones."""
    policy, held = policy_of("lstm that sees actions and rewards"), episodes(rng)
    wider = [
        Recording(
            r.id,
            np.concatenate([r.observations, r.observations[:, :1]], 1),
            np.array([2, 0, 4])[r.actions],
            r.rewards,
            True,
            {},
        )
        for r in held
    ]
    adapted = adapt(
        policy,
        obs=[DropFeatures([3])],
        action=[MapActions([2, 0, 4], size=5)],
        observation_space=Box(-2, 2, (4,), np.float32),
        action_space=Discrete(5),
    )

    found = answers_to(watcher_of(adapted, MANNER), wider)

    plain = answers_to(watcher_of(policy, MANNER), held)
    for mine, theirs in zip(found, plain, strict=True):
        np.testing.assert_allclose(mine.all_chances[:, [2, 0, 4]], theirs.all_chances, rtol=1e-5)
        assert not mine.all_chances[:, [1, 3]].any()
