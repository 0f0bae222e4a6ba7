"""Modules of the new stack act through an actor as they do through their own pipelines."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor, SlowPieceWarning, policy_to_v2
from rlconnect.bridge.actor.episode_player import EpisodePlayer
from rlconnect.bridge.actor.players import triple_player
from rlconnect.bridge.actor.v2_plan import v2_plan
from rlconnect.bridge.compiled.program import compile_actor
from rlconnect.bridge.loading.triples import load_triple
from rlconnect.bridge.migrate.checkpoint import save_migrated
from rlconnect.bridge.migrate.plan import plan_migration
from rlconnect.bridge.triple import V2Triple
from rlconnect.core.adapters import AdapterChain, DropFeatures, MapActions
from rlconnect.core.errors import CorruptCheckpointError, PieceError, UnknownNameError
from rlconnect.core.step.part import Contribution, Part
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.v2 import (
    AdaptActions,
    AdaptObservations,
    ConnectorV2,
    FlattenObservations,
    FrameStackingEnvToModule,
    MeanStdFilter,
    RLModule,
    RLModuleSpec,
    TorchRLModule,
)
from rlconnect.v2.connectors.columnar import ColumnarPiece
from rlconnect.v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
from rlconnect.v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline
from rlconnect.v2.connectors.table import Table
from rlconnect.v2.modules.dqn import DefaultDQNTorchRLModule
from rlconnect.v2.modules.ppo import DefaultPPOTorchRLModule

from tests.legacy.replay import GOLDEN

MODULES = GOLDEN.parent / "module_checkpoints"
ALGORITHM = GOLDEN / "new" / "2.60.0-algo_pkl"
NAMES = ["appo", "bc", "dqn", "ppo", "ppo_choices", "ppo_inference", "ppo_lstm", "sac"]


def through_pipelines(triple):
    """An actor that runs the pipelines themselves, whatever they hold."""
    return Actor({"default_policy": EpisodePlayer(triple, v2_plan(triple))})


def module_for(observation_space, action_space, **model):
    """A fresh module of PPO."""
    return RLModuleSpec(
        module_class=DefaultPPOTorchRLModule,
        observation_space=observation_space,
        action_space=action_space,
        model_config={"fcnet_hiddens": [8], **model},
    ).build()


@pytest.mark.parametrize("explore", [False, True])
@pytest.mark.parametrize("name", ["bc", "dqn", "ppo", "ppo_inference", "ppo_lstm", "sac"])
def test_a_plan_fetches_what_pipelines_put_out(name, explore, rng):
    """Values, inputs and probabilities by RLlib's names; memory moves on as without them."""
    triple = V2Triple(None, RLModule.from_checkpoint(MODULES / name), None).with_pipelines()
    planned, piped = Actor.from_policy(triple), through_pipelines(triple)
    wanted = {"bc": {"action_dist_inputs", "action_logp"}, "dqn": {"qf_preds"}}.get(name)
    for _ in range(3):
        obs = rng.normal(size=(4, *planned.observation_space.shape)).astype(np.float32)

        _, mine = planned.act_and_fetch(obs, explore=explore)
        _, its = piped.act_and_fetch(obs, explore=explore)

        assert mine.keys() == its.keys() >= (wanted or {"action_dist_inputs"})
        assert ("vf_preds" in mine) == (name in ("ppo", "ppo_lstm"))
        for column in mine.keys() - ({"action_logp"} if explore else set()):
            assert np.allclose(mine[column], its[column], atol=1e-5), column
            assert len(mine[column]) == 4
        assert np.isfinite(mine.get("action_logp", 0.0)).all()


def same_course(fast, slow, space, rng, *, rows=4, steps=4):
    """Hold two actors to one another over a course, in which one slot ends early."""
    space.seed(7)
    for step in range(steps):
        obs = [space.sample() for _ in range(rows)]
        ended = np.arange(rows) == 1 if step == 2 else None

        mine, its = (each.act(obs, reward=np.ones(rows), terminated=ended) for each in (fast, slow))

        assert np.allclose(mine, its, atol=1e-5), step
        assert mine.dtype == its.dtype


@pytest.mark.parametrize("name", NAMES)
def test_saved_modules_act_as_through_pipelines(name, rng):
    """A module saved alone gets the default pieces; the answers are those of real pipelines."""
    actor = Actor.from_checkpoint(MODULES / name)
    module = RLModule.from_checkpoint(MODULES / name)
    module = module if not hasattr(module, "items") else module["default_policy"]
    to_env = module_to_env_pipeline(module.observation_space, module.action_space)
    to_module = env_to_module_pipeline(module.observation_space, module.action_space)

    assert not actor.missing
    slow = through_pipelines(V2Triple(to_module, module, to_env))
    same_course(actor, slow, module.observation_space, rng)


def test_an_algorithm_of_ray_acts_with_its_filter(rng):
    """The pipelines of an algorithm's folder come along, their filters frozen."""
    actor = Actor.from_checkpoint(ALGORITHM)
    to_module, module, to_env = load_triple(ALGORITHM)
    for piece in to_module.connectors:
        if isinstance(piece, MeanStdFilter):
            piece.update_stats = False

    slow = through_pipelines(V2Triple(to_module, module, to_env))
    same_course(actor, slow, module_space(actor), rng)
    assert "MeanStdFilter" in actor.only.plan.origin["connectors"]
    with pytest.raises(UnknownNameError, match="no module 'other'"):
        Actor.from_checkpoint(ALGORITHM, policy_ids="other")


def module_space(actor):
    """The actor's observations, within reach."""
    return spaces.Box(-1, 1, actor.observation_space.shape, np.float32)


@pytest.mark.parametrize("lstm", [False, True])
def test_pieces_become_parts(lstm, rng):
    """Adapter, flattening and a frozen filter: an actor, its tensors and the pipelines agree."""
    given = spaces.Dict({"gear": spaces.Discrete(3), "speed": spaces.Box(-1, 1, (2,))})
    acts = spaces.Discrete(2)
    mean_std = MeanStdFilter(update_stats=False)
    pieces = [
        FlattenObservations(),
        AdaptObservations(chain=AdapterChain(obs=[DropFeatures([0])])),
        mean_std,
    ]
    to_module = env_to_module_pipeline(given, acts, custom=pieces)
    module = module_for(to_module.observation_space, acts, use_lstm=lstm, max_seq_len=4)
    for stat in mean_std.stats_of(None):
        stat.push_batch(rng.normal(2, 3, (50, 4)))
    wider = AdaptActions(None, acts, chain=AdapterChain(action=[MapActions([4, 1])]))
    to_env = module_to_env_pipeline(given, acts, custom=[])
    to_env.append(wider)
    actor = Actor.from_v2(to_module, module, to_env)

    same_course(actor, through_pipelines(V2Triple(to_module, module, to_env)), given, rng)

    assert not actor.missing
    program = compile_actor(actor)
    obs = [given.sample() for _ in range(5)]
    rows = {name: np.stack([each[name] for each in obs]) for name in given.spaces}
    found, _ = program(rows, program.start(5), first=np.ones(5, bool))
    actor.reset()
    assert np.array_equal(found.numpy(), actor.act(rows))
    assert set(found.tolist()) <= {1, 4}


def test_frames_are_stacked_a_row_a_slot(rng):
    """Frame stacking keeps the frames before in arrays; zeros stand for those before the first."""
    frame = spaces.Box(-1, 1, (6, 1), np.float32)
    to_module = env_to_module_pipeline(
        frame, spaces.Discrete(3), custom=[FrameStackingEnvToModule(num_frames=3)]
    )
    flat = spaces.Box(-1, 1, (18,), np.float32)
    plan = v2_plan(V2Triple(to_module, module_for(flat, spaces.Discrete(3)), None))

    assert [part.name for part in plan.obs] == ["FrameStackingEnvToModule"]
    assert plan.start[0].shape == (6, 2)


def test_slots_have_their_parts_of_nested_actions(rng):
    """Through pipelines as by a plan, one step after the other."""
    sees = spaces.Box(-1, 1, (3,), np.float32)
    takes = spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(-1, 1, (2,), np.float32)})
    triple = V2Triple(None, module_for(sees, takes), None).with_pipelines()
    slow, fast = through_pipelines(triple), Actor.from_policy(triple)

    for _ in range(3):
        obs = rng.uniform(-1, 1, (4, 3)).astype(np.float32)
        mine, its = fast.act(obs), slow.act(obs)
        assert np.array_equal(mine["a"], its["a"])
        assert np.allclose(mine["b"], its["b"], atol=1e-5)


class Doubled(ConnectorV2):
    """A user's piece."""

    def __call__(self, *, batch, episodes, **kwargs):
        for episode in episodes:
            seen = episode.get_observations(-1)
            self.add_batch_item(batch, "obs", 2 * seen, episode)
        return batch


def test_a_users_piece_runs_as_it_is(rng):
    """It is named, and the pipelines run; the states of an LSTM go through episodes."""
    space = spaces.Box(-1, 1, (3,), np.float32)
    module = module_for(space, spaces.Box(-2, 2, (1,)), use_lstm=True, max_seq_len=4)
    to_module = env_to_module_pipeline(space, module.action_space, custom=[Doubled()])
    to_env = module_to_env_pipeline(space, module.action_space)

    with pytest.warns(SlowPieceWarning, match="Doubled"):
        actor = Actor.from_v2(to_module, module, to_env)
    plain = Actor.from_v2(None, module, to_env)

    for _ in range(3):
        obs = rng.uniform(-0.5, 0.5, (4, 3)).astype(np.float32)
        assert np.allclose(actor.act(obs), plain.act(2 * obs), atol=1e-5)
    state = actor.state_dict()
    actor.reset()
    actor.load_state_dict(state)
    obs = rng.uniform(-0.5, 0.5, (4, 3)).astype(np.float32)
    assert np.allclose(actor.act(obs), plain.act(2 * obs), atol=1e-5)


def test_a_wrapped_policy_acts_as_the_policy(rng):
    """An old policy in the new stack's form gives an actor that does the same."""
    path = GOLDEN / "legacy" / "2.7.2" / "ppo_pendulum_norm_meanstd" / "algo_checkpoint"
    policy = Policy.from_checkpoint(path)["default_policy"]

    with pytest.warns(SlowPieceWarning, match="LegacyAgentConnectorV2"):
        actor = Actor.from_v2(*policy_to_v2(policy))

    same_course(Actor.from_policy(policy), actor, module_space(actor), rng)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_exploring_is_drawn_by_the_seed(device):
    """The same seed draws the same actions of a distribution, others than the best ones."""
    ppo = Actor.from_checkpoint(MODULES / "ppo").to(device)
    obs = np.zeros((64, *ppo.observation_space.shape), np.float32)

    first, again = (ppo.act(obs, explore=True, seed=4) for _ in range(2))

    assert np.array_equal(first, again)
    assert len(set(first.tolist())) > 1


@pytest.mark.parametrize("device", [None, "cpu"])
def test_an_epsilon_falls_with_the_steps_explored(device):
    """DQN's exploration pass acts: at random at first, by its schedule less and less."""
    module = dqn_module([(0, 1.0), (100, 0.0)])
    actor = Actor.from_v2(None, module, None).to(device)
    obs = np.zeros((100, 3), np.float32)

    greedy = actor.act(obs)
    at_first = actor.act(obs, explore=True, seed=2)
    later = actor.act(obs, explore=True, seed=2)

    assert len(set(greedy.tolist())) == 1
    assert set(at_first.tolist()) == {0, 1, 2}
    assert np.array_equal(later, greedy)
    assert at_first.dtype == greedy.dtype == np.int32


def test_an_algorithms_epsilon_is_that_of_the_steps_it_sampled():
    """Its runner's count goes on; what item by item acts by its pipelines counts likewise."""
    module = dqn_module([(0, 1.0), (64, 0.0)])
    obs = np.zeros((100, 3), np.float32)
    assert Actor.from_checkpoint(ALGORITHM).only._source.timestep == 64

    for timestep, is_random in ((0, True), (64, False)):
        triple = V2Triple(None, module, None, "dqn", timestep)
        pipelines = (
            env_to_module_pipeline(module.observation_space, module.action_space),
            module,
            module_to_env_pipeline(module.observation_space, module.action_space),
        )
        slow = EpisodePlayer(V2Triple(*pipelines, "dqn", timestep), v2_plan(triple))
        for actor in (Actor({"dqn": triple_player(triple)}), Actor({"dqn": slow})):
            explored = actor.act(obs, explore=True, seed=1)
            assert (len(set(explored.tolist())) > 1) is is_random


def test_explored_steps_are_kept(tmp_path):
    """By a state, a pickle and a saved actor: the epsilon goes on where it was."""
    module = dqn_module([(0, 1.0), (100, 0.0)])
    actor = Actor.from_v2(None, module, None)
    obs = np.zeros((100, 3), np.float32)
    actor.act(obs, explore=True)

    actor.save(tmp_path / "saved")
    actor.save(tmp_path / "saved")

    told = Actor.from_v2(None, module, None)
    told.load_state_dict(actor.state_dict())
    saved = Actor.from_checkpoint(tmp_path / "saved")
    for each in (told, saved, pickle.loads(pickle.dumps(actor))):
        assert each.only.timestep == 100
        assert np.array_equal(each.act(obs, explore=True), each.act(obs))


def dqn_module(epsilon):
    """A fresh module of DQN with a schedule."""
    torch.manual_seed(0)
    return RLModuleSpec(
        module_class=DefaultDQNTorchRLModule,
        observation_space=spaces.Box(-1, 1, (3,), np.float32),
        action_space=spaces.Discrete(3),
        model_config={"fcnet_hiddens": [4], "epsilon": epsilon},
    ).build()


class Careful(TorchRLModule):
    """A user's module that explores by another pass than it acts by, and by none at all."""

    def _forward_inference(self, batch, **kwargs):
        return {"actions": batch["obs"][:, 0].long()}

    def _forward(self, batch, **kwargs):
        if self.model_config["explores"]:
            return {"actions": batch["obs"][:, 0].long() + 1}
        return {"values": batch["obs"]}


@pytest.mark.parametrize("device", [None, "cpu"])
def test_a_users_exploration_pass_is_taken(device):
    """Whichever pass RLlib would take; one that gives nothing to act by says so."""
    space, acts = spaces.Box(0, 5, (2,), np.float32), spaces.Discrete(8)
    obs = np.full((3, 2), 4, np.float32)
    bold, shy = (
        Actor.from_v2(
            None,
            Careful(observation_space=space, action_space=acts, model_config={"explores": each}),
            None,
        ).to(device)
        for each in (True, False)
    )

    assert bold.act(obs).tolist() == [4, 4, 4]
    assert bold.act(obs, explore=True).tolist() == [5, 5, 5]
    assert shy.act(obs).tolist() == [4, 4, 4]
    with pytest.raises(PieceError, match="gives nothing to act by"):
        shy.act(obs, explore=True)


@pytest.mark.parametrize("source", [MODULES / "ppo_lstm", ALGORITHM], ids=["module", "algorithm"])
def test_a_module_is_saved_with_its_pipelines(source, tmp_path, rng):
    """What is loaded again acts as what was saved, filter included."""
    actor = Actor.from_checkpoint(source)

    actor.save(tmp_path / "saved")

    again = Actor.from_checkpoint(tmp_path / "saved")
    assert not again.missing
    same_course(actor, again, module_space(actor), rng)


def test_modules_and_policies_are_saved_side_by_side(tmp_path, rng):
    """Two modules and an old policy are one actor again, each with its agents; or a part of it."""
    modules = [Actor.from_checkpoint(MODULES / name).only for name in ("ppo", "ppo_lstm")]
    old = made_policy()
    players = {"new": modules[0], "lstm": modules[1], "old": Actor.from_policy(old).only}
    mapping = {"a": "new", "b": "old", ("c", 1): "lstm"}
    actor = Actor(players, policy_mapping_fn=mapping)
    shapes = {agent: players[name].observation_space.shape for agent, name in mapping.items()}
    courses = [
        {agent: rng.normal(size=shape).astype(np.float32) for agent, shape in shapes.items()}
        for _ in range(3)
    ]

    actor.save(tmp_path / "saved")
    actor.save(tmp_path / "saved")

    again = Actor.from_checkpoint(tmp_path / "saved")
    for obs in courses:
        wanted, found = actor.act(obs), again.act(obs)
        assert all(np.array_equal(found[agent], wanted[agent]) for agent in mapping)
    assert list(Actor.from_checkpoint(tmp_path / "saved", policy_ids="old").players) == ["old"]
    with pytest.raises(UnknownNameError, match="no player 'nobody'"):
        Actor.from_checkpoint(tmp_path / "saved", policy_ids="nobody")


@pytest.mark.parametrize("others", [(), ("notes.txt",)])
def test_a_smaller_actor_takes_the_place_of_a_larger_one(others, tmp_path):
    """The folder is replaced as a whole; only a user's own files stay."""
    modules = [Actor.from_checkpoint(MODULES / name).only for name in ("ppo", "ppo_lstm", "ppo")]
    three, two = dict(zip("abc", modules, strict=True)), dict(zip("ab", modules[:2], strict=True))
    Actor(three, policy_mapping_fn={0: "a", 1: "b", 2: "c"}).save(tmp_path / "saved")
    for name in others:
        (tmp_path / "saved" / name).write_text("mine", encoding="utf-8")

    Actor(two, policy_mapping_fn={0: "a", 1: "b"}).save(tmp_path / "saved")

    assert not (tmp_path / "saved" / "player_2").exists()
    assert all((tmp_path / "saved" / name).read_text(encoding="utf-8") == "mine" for name in others)
    assert list(Actor.from_checkpoint(tmp_path / "saved").players) == ["a", "b"]


@pytest.mark.parametrize("content", ["{}", "[]", '{"format": "rlconnect actor", "players": []}'])
def test_a_foreign_actor_file_is_refused(content, tmp_path):
    """A file of that name that we did not write says so."""
    (tmp_path / "actor.json").write_text(content, encoding="utf-8")

    with pytest.raises(CorruptCheckpointError, match="actor"):
        Actor.from_checkpoint(tmp_path)


def made_policy():
    """A fresh policy of the old stack."""
    return Policy(spaces.Box(-1, 1, (3,), np.float32), spaces.Discrete(2), {"seed": 0})


@pytest.mark.parametrize("is_applied", [False, True], ids=["wrapped", "native"])
def test_a_migrated_folder_acts_as_its_parts(is_applied, tmp_path, rng):
    """What `rlconnect migrate` wrote is a checkpoint like any other."""
    policy = made_policy()
    create_connectors_for_policy(policy, policy.config)
    plan = plan_migration(policy)
    if is_applied:
        plan.apply()
    save_migrated(plan, tmp_path / "out")
    obs = rng.uniform(-1, 1, (4, 3)).astype(np.float32)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowPieceWarning)
        found = Actor.from_checkpoint(tmp_path / "out").act(obs)

    np.testing.assert_array_equal(found, Actor.from_policy(policy).act(obs))


class Halved(ColumnarPiece):
    """A new piece, described in one place: its `columns` and its `part`."""

    TAKES_ROWS = True

    def columns(self, batch, call):
        if type(batch) is not Table:
            self.foreach_batch_item_change_in_place(
                batch, "actions_for_env", lambda item, *_: item / 2
            )
            return batch
        for rows in batch.blocks.values():
            rows.columns["actions_for_env"] = rows.columns["actions_for_env"] / 2
        return batch

    def part(self):
        return Contribution(action=(Part("Halved", lambda actions: actions / 2),))


def test_a_new_piece_runs_with_others_and_acts_planned(rng):
    """No table names it: it runs together with built-in pieces, and an actor plans it."""
    given, acts = spaces.Box(-1, 1, (3,)), spaces.Box(-2.0, 4.0, (2,))
    to_module = env_to_module_pipeline(given, acts)
    module = module_for(given, acts)
    to_env = module_to_env_pipeline(given, acts)
    to_env.insert_before("ListifyDataForVectorEnv", Halved())
    actor = Actor.from_v2(to_module, module, to_env)
    plain = Actor.from_v2(to_module, module, module_to_env_pipeline(given, acts))

    same_course(actor, through_pipelines(V2Triple(to_module, module, to_env)), given, rng)

    assert not actor.missing
    assert to_env.explain().count("together") == 1
    assert "one by one" not in to_env.explain()
    obs = np.stack([given.sample() for _ in range(3)])
    assert np.allclose(actor.act(obs), plain.act(obs) / 2)
