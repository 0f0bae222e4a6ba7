"""A legacy policy in pipelines of the new stack answers what it answers in its own, bit for bit."""

import copy

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge import LegacyActionConnectorV2, LegacyAgentConnectorV2, policy_to_v2
from rlconnect.legacy import (
    AgentConnector,
    AgentConnectorDataType,
    ConnectorContext,
    Policy,
    batch_policy_inference,
    create_connectors_for_policy,
    local_policy_inference,
)
from rlconnect.v2 import (
    ConnectorV2,
    SingleAgentEpisode,
)

from tests.bridge.wrap.walking import Walker, difference
from tests.legacy.replay import GOLDEN, Recording, folders
from tests.legacy.test_recordings import MODELS

CASES = [
    (folder, policy_id, explore)
    for folder in folders(GOLDEN / "legacy")
    for policy_id in Recording(folder).policy_ids
    for explore in (False, True)
]
SPLIT = ["ppo_lstm_prev", "ppo_pendulum_norm_meanstd", "ppo_framestack_view", "ppo_attention"]


@pytest.mark.parametrize(("folder", "policy_id", "explore"), CASES)
def test_recorded_policies_act_the_same(folder, policy_id, explore):
    """Actions, states and fetches of every recorded checkpoint are the same, seeded draws too."""
    assert difference(Recording(folder), policy_id, explore=explore) == ""


class Nothing(ConnectorV2):
    """A user's native piece that changes nothing."""

    def __call__(self, *, batch, **kwargs):
        return batch


def split(policy, custom):
    """The triple with each connector wrapped alone, and native pieces in between."""
    env_to_module, module, module_to_env = policy_to_v2(policy, custom=custom)
    context = ConnectorContext.from_policy(policy)
    wholes = (
        (env_to_module, policy.agent_connectors, LegacyAgentConnectorV2),
        (module_to_env, policy.action_connectors, LegacyActionConnectorV2),
    )
    for pipeline, connectors, kind in wholes:
        (place,) = [
            place for place, piece in enumerate(pipeline.connectors) if isinstance(piece, kind)
        ]
        pieces = []
        for connector in copy.deepcopy(connectors.connectors):
            pieces += [kind(connector=connector, context=context), Nothing()]
        pipeline.connectors[place : place + 1] = pieces
    return env_to_module, module, module_to_env


@pytest.mark.parametrize("name", SPLIT)
@pytest.mark.parametrize("explore", [False, True])
def test_wrapped_one_by_one(name, explore):
    """Wrapping each connector by itself, with native pieces in between, changes nothing."""
    recording = Recording(GOLDEN / "legacy" / "2.7.2" / name)

    why = difference(recording, "default_policy", explore=explore, triple_of=split)

    assert why == ""


def test_many_environments_at_once():
    """Rows of one batch are what the old stack answers to the same batch."""
    policy = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_lstm_prev").load("default_policy")
    env_to_module, module, module_to_env = policy_to_v2(policy)
    episodes = [SingleAgentEpisode(id_=f"e{place}") for place in range(5)]
    space = policy.observation_space
    draws = np.random.default_rng(0)
    shared, answers = {}, None

    for t in range(6):
        seen = draws.normal(size=(5, *space.shape)).astype(np.float32)
        rewards = draws.normal(size=5)
        wanted = batch_policy_inference(
            policy, range(5), ["0"] * 5, seen, None if t == 0 else rewards, explore=True
        )
        for place, episode in enumerate(episodes):
            if t == 0:
                episode.add_env_reset(observation=seen[place])
            else:
                outputs = {
                    name: column[place]
                    for name, column in answers.items()
                    if not name.startswith("actions")
                }
                episode.add_env_step(
                    seen[place],
                    answers["actions"][place],
                    rewards[place],
                    extra_model_outputs=outputs,
                )
        given = {"rl_module": module, "episodes": episodes, "explore": True, "shared_data": shared}
        batch = env_to_module(batch={}, **given)
        answers = module_to_env(batch=module.forward_exploration(batch), **given)

        for place, (action, states, fetches) in enumerate(wanted):
            assert answers["actions_for_env"][place] == action
            np.testing.assert_array_equal(answers["state_out"][place]["state_0"], states[0])
            np.testing.assert_array_equal(
                answers["action_dist_inputs"][place], fetches["action_dist_inputs"]
            )


def test_asking_twice_is_asking_once():
    """A pipeline called again for the same step gives the same batch and moves no history."""
    recording = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_pendulum_norm_meanstd")
    policy = recording.load("default_policy")
    walker = Walker(policy_to_v2(policy))
    (_, _, _, obs, _), *_ = recording.steps("default_policy")
    walker.step(obs, starts=True)

    batches = [
        walker.env_to_module(
            rl_module=walker.module, batch={}, episodes=[walker.episode], shared_data={}
        )
        for _ in range(2)
    ]

    np.testing.assert_array_equal(batches[0]["obs"], batches[1]["obs"])


def test_an_id_may_be_used_again():
    """An episode that begins under an id known already begins without a history."""
    policy = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_framestack_view")
    custom = {"custom_models": MODELS}
    env_to_module, module, _ = policy_to_v2(policy.load("default_policy", **custom), custom=custom)

    def first_batch(value):
        episode = SingleAgentEpisode(id_="same")
        episode.add_env_reset(observation=np.full(4, value, np.float32))
        return env_to_module(rl_module=module, batch={}, episodes=[episode], shared_data={})

    first_batch(0.1)
    again = first_batch(0.2)

    assert np.asarray(again["prev_n_obs"]).min() == np.float32(0.2)


def setting(record):
    record.data["new_obs"] = record.data["new_obs"] * 2
    return record


def updating(record):
    record.data.update(new_obs=record.data["new_obs"] * 2)
    return record


def writing(record):
    record.data["new_obs"] *= 2
    return record


def writing_rows(record):
    record.data["new_obs"][:] = record.data["new_obs"] * 2
    return record


def copying(record):
    data = {**record.data, "new_obs": record.data["new_obs"] * 2}
    return AgentConnectorDataType(record.env_id, record.agent_id, data)


class Doubling(AgentConnector):
    """A user's connector, written in one of the ways in which people write them."""

    way = staticmethod(copying)

    def transform(self, record):
        return self.way(record)

    def to_state(self):
        return type(self).__name__, None


@pytest.mark.parametrize("way", [setting, updating, writing, writing_rows, copying])
@pytest.mark.parametrize("place", ["first", "before the views"])
@pytest.mark.parametrize("is_split", [False, True])
def test_users_connectors_may_write_in_place(way, place, is_split):
    """However a connector hands on what it makes, the network sees it, as in the old stack."""
    policy = Policy(Box(-9, 9, (4,)), Discrete(2), {"seed": 0})
    create_connectors_for_policy(policy, policy.config)
    connector = Doubling(ConnectorContext.from_policy(policy))
    connector.way = way
    if place == "first":
        policy.agent_connectors.prepend(connector)
    else:
        policy.agent_connectors.insert_before("StateBufferConnector", connector)
    walker = Walker(split(policy, None) if is_split else policy_to_v2(policy))
    draws = np.random.default_rng(0)

    for t in range(4):
        seen = draws.normal(size=4).astype(np.float32)
        ((_, _, fetches),) = local_policy_inference(
            policy, "e", "a", seen.copy(), None if t == 0 else 0.0, explore=False
        )
        found = walker.step(seen.copy(), starts=t == 0)

        np.testing.assert_array_equal(found[1]["action_dist_inputs"], fetches["action_dist_inputs"])
