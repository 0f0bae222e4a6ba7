"""One front for everything that acts: load gives it, every verb takes it, and they compose."""

import pickle
import shutil

import gymnasium as gym
import numpy as np
import pytest
import rlconnect
from rlconnect.bridge import Actor, load_triple
from rlconnect.bridge.triple import V2Triple
from rlconnect.core import adapters
from rlconnect.core.errors import (
    ChosenCheckpointWarning,
    ConfigError,
    NotACheckpointError,
    PieceError,
    UnknownNameError,
    UnsafeContentWarning,
)
from rlconnect.legacy import Policy

from tests.core.vault.recorded import PENDULUM, RECORDINGS, cached, copy_of
from tests.legacy.replay import GOLDEN

CHECKPOINTS = GOLDEN.parent / "checkpoints"
OLD = CHECKPOINTS / "2.60.0-ppo_cartpole_meanstd" / "algo_checkpoint"
SEVERAL = CHECKPOINTS / "2.3.1-ppo_multiagent" / "algo_checkpoint"
NEW = GOLDEN / "new" / "2.60.0-algo_pkl"
PROGRAM = "examples/checkpoints/ppo-pendulum.onnx"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """One policy as each of our writers leaves it."""
    folder = tmp_path_factory.mktemp("written")
    rlconnect.load(OLD).save(folder / "saved")
    rlconnect.migrate(OLD, folder / "migrated")
    rlconnect.migrate(OLD, folder / "ray", to="ray")
    rlconnect.load(folder / "migrated").save(folder / "migrated, saved")
    Actor.from_checkpoint(OLD).save(folder / "actor")
    shutil.make_archive(str(folder / "packed"), "gztar", OLD)
    return folder


def seen_by(policy, rng, rows=3):
    """Observations of a policy's space, as a batch."""
    shape = policy.observation_space.shape
    return rng.uniform(-0.5, 0.5, (rows, *shape)).astype(np.float32)


def test_what_is_loaded_is_one_kind_of_thing(rng):
    """Policies by id, each with its spaces and actions, whichever stack they are of."""
    for path, native in ((OLD, Policy), (NEW, V2Triple)):
        loaded = rlconnect.load(path)
        (name,) = loaded
        policy = loaded.only

        assert policy.id == name == rlconnect.load(path, name).id
        assert isinstance(policy.native, native)
        assert policy.act(seen_by(policy, rng)).shape[0] == 3
        assert policy.act(policy.observation_space.sample()) in policy.action_space
        assert len(repr(policy)) < 200
        assert name in policy._repr_html_()


@pytest.mark.parametrize(
    "name", ["saved", "migrated", "ray", "migrated, saved", "actor", "packed.tar.gz"]
)
def test_every_writer_of_ours_is_read(written, name, rng):
    """load, open_checkpoint and the verbs take what load, migrate and actors wrote."""
    source = rlconnect.load(OLD).only
    policy = rlconnect.load(written / name).only
    obs = seen_by(source, rng)

    assert rlconnect.open_checkpoint(written / name).acting
    np.testing.assert_array_equal(policy.act(obs), source.act(obs))
    assert rlconnect.verify(written / name, OLD, samples=2, length=2).is_equal


def test_the_stages_of_a_policy_end_in_its_action(rng):
    """stages() of one observation or of a batch: what the network saw and gave."""
    policy = rlconnect.load(OLD).only
    obs = seen_by(policy, rng)

    many, one = policy.stages(obs), policy.stages(obs[0])

    assert next(iter(many)) == "observation"
    np.testing.assert_array_equal(many["action"], policy.act(obs))
    np.testing.assert_allclose(one["outputs"], many["outputs"][0], rtol=1e-5, atol=1e-6)


def test_verbs_take_what_verbs_gave(tmp_path, rng):
    """load -> adapt -> save -> load -> migrate -> adapt -> verify, nothing but the front."""
    loaded = rlconnect.load(OLD)
    old = loaded.only.observation_space
    wider = gym.spaces.Box(-np.inf, np.inf, (old.shape[0] + 1,), old.dtype)
    change = {
        "observation_space": wider,
        "action_space": loaded.only.action_space,
        "obs": adapters.DropFeatures([0]),
    }

    adapted = rlconnect.adapt(loaded, **change)
    adapted.save(tmp_path / "adapted")
    rlconnect.migrate(tmp_path / "adapted", tmp_path / "migrated")
    again = rlconnect.adapt(OLD, **change)
    triple = rlconnect.adapt(rlconnect.load(NEW).only.native, **change)

    obs = rng.uniform(-0.5, 0.5, (4, *wider.shape)).astype(np.float32)
    assert isinstance(adapted, rlconnect.LoadedPolicy)
    assert isinstance(triple, V2Triple)
    for each in (tmp_path / "adapted", tmp_path / "migrated", again):
        np.testing.assert_array_equal(
            rlconnect.Actor.from_checkpoint(each).act(obs), loaded.act(obs[:, 1:])
        )
    assert rlconnect.verify(adapted, tmp_path / "migrated", samples=2, length=2).is_equal


def test_a_module_without_pipelines_is_adapted_and_saved(tmp_path, rng):
    """A module saved alone has the default pieces where an adapter needs a pipeline."""
    module = GOLDEN.parent / "module_checkpoints" / "ppo"
    policy = rlconnect.load(module).only
    space = policy.observation_space
    wider = gym.spaces.Box(-10, 10, (space.shape[0] + 2,), space.dtype)

    adapted = rlconnect.adapt(
        policy,
        observation_space=wider,
        action_space=policy.action_space,
        obs=adapters.DropFeatures([0, 1]),
    )
    adapted.save(tmp_path / "adapted")

    obs = rng.uniform(-1, 1, (3, *wider.shape)).astype(space.dtype)
    wanted = policy.act(obs[:, 2:])
    np.testing.assert_allclose(rlconnect.load(tmp_path / "adapted").act(obs), wanted, rtol=1e-5)


def test_an_exported_program_is_a_policy(tmp_path, rng):
    """It is loaded by its file, its manifest or its folder; it acts, is compared and saved."""
    pytest.importorskip("onnxruntime")
    source = rlconnect.load("examples/checkpoints/ppo-pendulum-ray-2.7").only
    program = rlconnect.load(PROGRAM, allow_program=True)
    program.save(tmp_path / "copy")

    obs = seen_by(source, rng)
    for path in (f"{PROGRAM}.json", tmp_path / "copy", tmp_path / "copy" / "policy.onnx"):
        found = rlconnect.load(path, allow_program=True).act(obs)
        np.testing.assert_allclose(found, source.act(obs), rtol=1e-5, atol=1e-5)
    assert rlconnect.verify(program, source, samples=2, length=2).is_equal
    with pytest.raises(PieceError, match="exported"):
        rlconnect.adapt(program, env="CartPole-v1")
    with pytest.raises(PieceError, match="explore"):
        program.act(obs, explore=True)


@pytest.mark.torch("2.9")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_recurrent_program_remembers_by_slot(exported, rng):
    """Its states are kept for each environment, and forgotten when the episode is over."""
    path, source = exported("ppo_lstm_prev", "pt2")
    program = rlconnect.load(path, allow_program=True).only
    source.reset()

    for step in range(4):
        obs = seen_by(source, rng, rows=2)
        ended = np.array([step == 1, False])
        told = {"env_ids": ["a", "b"], "terminated": ended, "reward": rng.normal(size=2)}
        found, wanted = (each.act(obs, **told) for each in (program, source))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_several_policies_ask_which_one():
    """Nothing is chosen in silence: the error names them, and how to say which."""
    loaded = rlconnect.load(SEVERAL)

    for ask in (lambda: loaded.only, lambda: rlconnect.adapt(SEVERAL, env="CartPole-v1")):
        with pytest.raises(PieceError, match="name one"):
            ask()
    with pytest.raises(UnknownNameError, match="nobody"):
        rlconnect.load(SEVERAL, "nobody")
    first = next(iter(loaded))
    assert rlconnect.load(SEVERAL, first).id == first


def test_a_trial_stands_for_its_newest_checkpoint(tmp_path):
    """The choice is told; where several trials lie below there is none, and they are named."""
    for number in ("000002", "000010"):
        shutil.copytree(OLD, tmp_path / "trial" / f"checkpoint_{number}")
    shutil.copytree(OLD, tmp_path / "other" / "checkpoint_000001")

    with pytest.warns(ChosenCheckpointWarning, match="checkpoint_000010"):
        rlconnect.load(tmp_path / "trial")
    with pytest.raises(NotACheckpointError, match="checkpoint_000001"):
        rlconnect.load(tmp_path)


def test_options_of_the_other_stack_are_named():
    """What would say nothing is no silent option."""
    with pytest.raises(ConfigError, match="config"):
        rlconnect.load(NEW, config={"lr": 1})
    with pytest.raises(ConfigError, match="model_config"):
        rlconnect.load(OLD, model_config={})


def test_what_is_no_policy_is_told():
    """A verb that is given anything else says what it takes."""
    with pytest.raises(PieceError, match="no policy"):
        rlconnect.verify(3, OLD)


def test_pipelines_alone_are_parts(tmp_path):
    """A folder of a pipeline opens; it holds no policy, and says where its pieces are."""
    load_triple(NEW)[0].save_to_path(tmp_path / "pipeline")

    loaded = rlconnect.load(tmp_path / "pipeline")

    assert [type(part).__name__ for part in loaded.parts.values()] == ["EnvToModulePipeline"]
    with pytest.raises(PieceError, match="parts"):
        _ = loaded.only


def test_loaded_policies_travel_between_processes(rng):
    """They pickle without what they remember."""
    policy = rlconnect.load(OLD).only
    obs = seen_by(policy, rng)

    copy = pickle.loads(pickle.dumps(policy))

    np.testing.assert_array_equal(copy.act(obs), policy.act(obs))


def test_a_cached_policy_acts(tmp_path):
    """What needs every file of a folder finds every file."""
    snapshot = cached(OLD, tmp_path)

    assert rlconnect.load(snapshot).keys() == rlconnect.load(OLD).keys()


def test_a_policy_beside_a_call_loads_with_a_warning(tmp_path):
    """A call spliced into an honest file is told by its name; the policy is there."""
    path = copy_of(f"{PENDULUM}/policies/default_policy", tmp_path)
    file = path / "policy_state.pkl"
    data = file.read_bytes()
    file.write_bytes(data[:2] + b"cos\nsystem\n(S'x'\ntR0" + data[2:])

    with pytest.warns(UnsafeContentWarning, match="os.system"):
        loaded = rlconnect.load(path)

    assert (
        loaded.only.observation_space
        == rlconnect.load(RECORDINGS / PENDULUM).only.observation_space
    )
