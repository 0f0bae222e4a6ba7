"""Pieces of the new stack at work in legacy pipelines, and saved with a policy."""

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge import V2AsLegacyConnector
from rlconnect.core.errors import PieceError, UnknownNameError
from rlconnect.legacy import (
    AgentConnectorDataType,
    ConnectorContext,
    Policy,
    create_connectors_for_policy,
    get_connector,
    local_policy_inference,
)
from rlconnect.v2 import (
    ConnectorV2,
    FlattenObservations,
    MeanStdFilter,
    NormalizeAndClipActions,
    SingleAgentEpisode,
    SingleAgentObservationPreprocessor,
)

BOX = spaces.Box(-5, 5, (3,), np.float32)


def record(obs, env="e", **columns):
    return AgentConnectorDataType(env, "a", {"new_obs": obs, **columns})


def test_filter_sees_what_it_sees_in_its_own_stack():
    """A native filter in a legacy pipeline gives what it gives on episodes."""
    context = ConnectorContext(observation_space=BOX, action_space=spaces.Discrete(2))
    connector = V2AsLegacyConnector(context, piece=MeanStdFilter())
    native, episode = MeanStdFilter(BOX), SingleAgentEpisode(id_="x")

    for t, seen in enumerate(np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)):
        columns = {} if t == 0 else {"rewards": 1.0}
        (made,) = connector([record(seen, **columns)])
        if t == 0:
            episode.add_env_reset(seen)
        else:
            episode.add_env_step(seen, 0, 1.0)
        native(rl_module=None, batch={}, episodes=[episode])
        np.testing.assert_array_equal(made.data["new_obs"], episode.get_observations(-1))


def test_actions_pass_a_native_piece():
    """A native action piece unsquashes in an action pipeline."""
    space = spaces.Box(0.0, 10.0, (1,), np.float32)
    policy = Policy(BOX, space, {"seed": 0, "normalize_actions": False})
    create_connectors_for_policy(policy, policy.config)
    ((wanted, _, _),) = local_policy_inference(policy, "e", "a", np.zeros(3), explore=False)
    piece = NormalizeAndClipActions(normalize_actions=True, clip_actions=False)
    context = ConnectorContext.from_policy(policy)
    policy.action_connectors.insert_before(
        "ImmutableActionsConnector", V2AsLegacyConnector(context, piece=piece)
    )

    ((action, _, _),) = local_policy_inference(policy, "e", "a", np.zeros(3), explore=False)

    np.testing.assert_allclose(action, np.clip((wanted + 1) * 5, 0, 10), rtol=1e-6)


class History(SingleAgentObservationPreprocessor):
    """A user's piece that looks at rewards and actions of the episode."""

    def preprocess(self, observation, episode):
        known = len(episode)
        last = episode.get_actions(-1) if known else -1
        return np.float32([observation[0], episode.get_return(), last])


def test_piece_sees_the_episode_until_reset():
    """The piece finds actions and rewards in its episode; a reset begins another one."""
    context = ConnectorContext(observation_space=BOX, action_space=spaces.Discrete(9))
    policy = Policy(BOX, spaces.Discrete(9), {"seed": 0})
    create_connectors_for_policy(policy, policy.config)
    connector = V2AsLegacyConnector(context, piece=History())
    policy.agent_connectors.prepend(connector)
    seen = []
    for t in range(3):
        reward = None if t == 0 else 2.0
        ((action, _, _),) = local_policy_inference(policy, "e", "a", np.zeros(3), reward)
        seen.append(int(action))

    (made,) = connector([record(np.zeros(3), rewards=2.0)])
    assert made.data["new_obs"].tolist() == [0.0, 6.0, seen[-1]]
    connector.reset("e")
    (fresh,) = connector([record(np.zeros(3))])
    assert fresh.data["new_obs"].tolist() == [0.0, 0.0, -1.0]


def test_saved_with_a_policy(tmp_path):
    """An exported policy brings its native pieces back, with what they have learnt."""
    policy = Policy(BOX, spaces.Discrete(2), {"seed": 0})
    policy = Policy(BOX, spaces.Discrete(2), {"seed": 0}, weights=policy.get_weights())
    create_connectors_for_policy(policy, policy.config)
    context = ConnectorContext.from_policy(policy)
    connector = V2AsLegacyConnector(context, piece=MeanStdFilter())
    policy.agent_connectors.prepend(connector)
    for seen in np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32):
        connector([record(seen)])
    policy.reset_connectors("e")
    policy.export_checkpoint(tmp_path / "saved")

    loaded = Policy.from_checkpoint(tmp_path / "saved", check=True)

    probe = np.float32([1, -1, 0.5])
    ours, theirs = (
        local_policy_inference(each, "f", "a", probe, explore=False)[0][2]["action_dist_inputs"]
        for each in (policy, loaded)
    )
    np.testing.assert_array_equal(ours, theirs)
    assert isinstance(loaded.agent_connectors.connectors[0].piece, MeanStdFilter)


def test_says_what_it_cannot_read():
    """Records of another form and pieces of unknown classes are told by name."""
    context = ConnectorContext(observation_space=BOX)
    connector = V2AsLegacyConnector(context, piece=FlattenObservations())
    with pytest.raises(PieceError, match="new_obs"):
        connector([AgentConnectorDataType("e", "a", 3)])
    name, params = connector.to_state()
    with pytest.raises(UnknownNameError, match="nowhere"):
        get_connector(name, context, {**params, "class": "nowhere.Piece"})


class Cut(ConnectorV2):
    """A user's piece that adds a column."""

    def __call__(self, *, batch, episodes, **kwargs):
        for episode in episodes:
            self.add_batch_item(batch, "age", episode.t, episode)
        return batch


def test_columns_become_columns_of_the_record():
    """What a piece adds to the batch is there for the connectors behind."""
    context = ConnectorContext(observation_space=BOX, action_space=spaces.Discrete(2))
    connector = V2AsLegacyConnector(context, piece=Cut())

    for t in range(300):
        (made,) = connector([record(np.zeros(3, np.float32))])

        assert made.data["age"] == t
