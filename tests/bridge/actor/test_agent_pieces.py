"""Pipelines for several agents become one plan a module, equal to what they do together."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.bridge.compiled.program import compile_actor
from rlconnect.bridge.loading.triples import has_own_pieces
from rlconnect.core.adapters import AdapterChain, MapActions
from rlconnect.core.errors import PieceError
from rlconnect.core.step.part import Contribution, Part
from rlconnect.v2 import (
    AdaptActions,
    ConnectorV2,
    FlattenObservations,
    MeanStdFilter,
    MultiAgentEpisode,
    MultiRLModule,
    RLModuleSpec,
    SingleAgentObservationPreprocessor,
)
from rlconnect.v2.connectors.common.agent_to_module_mapping import AgentMapping
from rlconnect.v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
from rlconnect.v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline
from rlconnect.v2.modules.ppo import DefaultPPOTorchRLModule

PLACE = spaces.Box(-1, 1, (2,), np.float32)
PLAYER = spaces.Dict({"gear": spaces.Discrete(3), "place": PLACE})
SPACES = spaces.Dict({"ann": PLAYER, "bob": PLAYER, "cat": PLACE})
ACTS = spaces.Dict(
    {
        "ann": spaces.Discrete(3),
        "bob": spaces.Discrete(3),
        "cat": spaces.Box(-4, 2, (1,), np.float32),
    }
)


def who_plays(agent_id, episode, **kwargs):
    """Two players share a module."""
    return "cats" if agent_id == "cat" else "people"


class Own(ConnectorV2):
    """A user's piece."""

    def __call__(self, *, batch, **kwargs):
        return batch


def made(*custom, after=()):
    """Pipelines for three agents, and the modules of what comes out."""
    agents = AgentMapping(["people", "cats"], who_plays)
    to_module = env_to_module_pipeline(SPACES, ACTS, custom=custom, agents=agents)
    to_env = module_to_env_pipeline(SPACES, ACTS, is_multi_agent=True)
    for piece in after:
        to_env.append(piece)
    specs = {
        name: RLModuleSpec(
            module_class=DefaultPPOTorchRLModule,
            observation_space=to_module.observation_space[name],
            action_space=ACTS["cat" if name == "cats" else "ann"],
            model_config={"fcnet_hiddens": [8]},
        )
        for name in ("people", "cats")
    }
    torch.manual_seed(0)
    return to_module, MultiRLModule(rl_module_specs=specs), to_env


def loaded(folder, parts):
    """An actor of what a folder holds once the parts are saved there."""
    names = ("env_to_module_connector", "rl_module", "module_to_env_connector")
    for name, part in zip(names, parts, strict=True):
        part.save_to_path(folder / name)
    classes = {f"{each.__module__}.{each.__qualname__}": each for each in (who_plays, Own, Doubled)}
    return Actor.from_checkpoint(
        folder, policy_mapping_fn=lambda agent: who_plays(agent, None), module_classes=classes
    )


def together(parts, obs):
    """What the pipelines for several agents do with one observation each."""
    to_module, module, to_env = parts
    episode = MultiAgentEpisode(
        observation_space=SPACES, action_space=ACTS, agent_to_module_mapping_fn=who_plays
    )
    episode.add_env_reset(observations=dict(obs), infos={})
    given = {"episodes": [episode], "rl_module": module, "explore": False, "shared_data": {}}
    made = to_env(batch=module.forward_inference(to_module(batch={}, **given)), **given)
    return made.get("actions_for_env", made["actions"])[0]


def filtered(rng, *, is_alike=True):
    """A filter that has seen something, the same of both who share a module."""
    piece = MeanStdFilter(multi_agent=True, update_stats=False)
    parts = made(FlattenObservations(multi_agent=True), piece)
    for at, agent in enumerate(SPACES.spaces):
        for stat in piece.stats_of(agent):
            seed = 1 if is_alike and agent != "cat" else at
            stat.push_batch(np.random.default_rng(seed).normal(2, 3, (30, *stat.mean.shape)))
    return parts


@pytest.mark.parametrize("has_filter", [False, True])
def test_each_module_has_a_plan_of_its_own(has_filter, tmp_path, rng):
    """Flattening, filter, unsquashing and an adapter: the actor does what the pipelines do."""
    SPACES.seed(3)
    adapter = AdapterChain(action=[MapActions([4, 0, 2])])
    after = [AdaptActions(chain=adapter, multi_agent=True, agent_ids=["ann", "bob"])]
    flat = FlattenObservations(multi_agent=True)
    parts = filtered(rng) if has_filter else made(flat, after=after)

    actor = loaded(tmp_path, parts)

    assert not actor.missing
    for _ in range(8):
        obs = SPACES.sample()
        found, wanted = actor.act(obs), together(parts, obs)
        assert found.keys() == wanted.keys()
        for agent in obs:
            np.testing.assert_allclose(found[agent], wanted[agent], atol=1e-5)
    program = compile_actor(actor, policy="people")
    rows = {"gear": np.arange(3), "place": np.zeros((3, 2), np.float32)}
    want = actor.players["people"].act(rows, (None, None, None, False, rng, False))
    assert np.array_equal(program(rows)[0].numpy(), want)


class Doubled(SingleAgentObservationPreprocessor):
    """A user's piece that says what it does to one agent."""

    def preprocess(self, observation, episode):
        return observation * 2

    def part(self):
        return Contribution(obs=(Part("Doubled", lambda value: value * 2),))


def test_a_piece_of_ones_own_that_says_its_part_is_taken_apart(tmp_path):
    """What it does to one agent depends on nothing of the others."""
    SPACES.seed(3)
    parts = made(FlattenObservations(multi_agent=True), Doubled())

    actor = loaded(tmp_path, parts)

    assert not actor.missing
    for _ in range(8):
        obs = SPACES.sample()
        found, wanted = actor.act(obs), together(parts, obs)
        for agent in obs:
            np.testing.assert_allclose(found[agent], wanted[agent], atol=1e-5)


def test_agents_of_a_module_must_be_treated_alike(tmp_path, rng):
    """Filters of their own cannot be one program; a user's piece is not taken apart."""
    with pytest.raises(PieceError, match="'ann' and 'bob' of module 'people' meet different"):
        loaded(tmp_path / "filters", filtered(rng, is_alike=False))
    with pytest.raises(PieceError, match=r"pieces of another kind.*found Own"):
        loaded(tmp_path / "own", made(FlattenObservations(multi_agent=True), Own()))


def test_default_pieces_are_no_own_pieces():
    """Unless their settings are others than always."""
    assert not has_own_pieces(module_to_env_pipeline(SPACES, ACTS, is_multi_agent=True))
    assert has_own_pieces(module_to_env_pipeline(SPACES, ACTS, normalize_actions=False))
