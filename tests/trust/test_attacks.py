"""Names in files, before there was one door for them, ran code: now they end typed."""

import sys

import gymnasium as gym
import pytest
import rlconnect
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge import Actor, V2AsLegacyConnector, load_triple
from rlconnect.core.errors import (
    ConfigError,
    CorruptCheckpointError,
    RlconnectError,
    UnknownClassError,
    UnsafeCheckpointError,
)
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.v2 import (
    Algorithm,
    EnvToModulePipeline,
    FlattenObservations,
    MeanStdFilter,
    PPOConfig,
    RLModule,
    register_env,
)
from rlconnect.v2.envs.registry import env_of_file

from tests.trust import hostile
from tests.trust.hostile import called, plant, ref, with_pieces, with_settings

pytestmark = pytest.mark.filterwarnings("ignore::rlconnect.core.errors.UnsafeContentWarning")

PREFIX = "ray.rllib.connectors.env_to_module.env_to_module_pipeline."


@pytest.fixture(scope="module")
def victims():
    """A loaded module of somebody's, full of what could be called."""
    yield plant()
    del sys.modules["victim_module"]


@pytest.fixture(autouse=True)
def nothing_fires():
    """Whatever a test loads, no victim is called."""
    hostile.FIRED.clear()
    yield
    assert hostile.FIRED == []


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A saved run of PPO on CartPole."""
    path = tmp_path_factory.mktemp("run") / "saved"
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size=32, minibatch_size=16, num_epochs=1)
        .rl_module(model_config={"fcnet_hiddens": [4]})
    )
    algo = config.build_algo()
    algo.save_to_path(path)
    algo.stop()
    return path


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """A saved pipeline with a filter."""
    made = EnvToModulePipeline(Box(-1, 1, (2,)), Discrete(2), connectors=[MeanStdFilter()])
    return made.save_to_path(tmp_path_factory.mktemp("pipeline") / "saved")


SETTINGS = [
    "env",
    "env_runner_cls",
    "callbacks_class",
    "callbacks_on_episode_step",
    "callbacks_on_algorithm_init",
    "_env_to_module_connector",
    "_module_to_env_connector",
    "_learner_connector",
    "_learner_class",
    "policy_mapping_fn",
    "policies_to_train",
    "custom_evaluation_function",
    "input_",
    "env_config",
    "_rl_module_spec",
    "seed",
]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["subprocess.Popen", "os.system", "victim_module.fire"])
def test_no_setting_is_what_a_module_holds(run, tmp_path, victims, setting, name):
    """A loaded module's attribute is no setting, whichever; the error names it and the setting."""
    folder = with_settings(run, tmp_path / "run", **{setting: ref(name), "env_config": {"args": 1}})
    if setting == "env_config":
        folder = with_settings(run, tmp_path / "again", env_config={"args": ref(name)})

    with pytest.raises(UnknownClassError, match=setting) as caught:
        Algorithm.from_checkpoint(folder)
    assert caught.value.missing == [name]


@pytest.mark.parametrize(
    "name", ["OfEnv", "OfRLlibCallback", "OfLearner", "OfSingleAgentEnvRunner"]
)
def test_no_setting_is_a_loaded_class(run, tmp_path, victims, name):
    """Not even one that is of the right kind for its place."""
    settings = ("env", "callbacks_class", "_learner_class", "env_runner_cls")
    held = ref(f"victim_module.{name}")
    folder = with_settings(run, tmp_path / "run", **dict.fromkeys(settings, held))

    with pytest.raises(UnknownClassError):
        Algorithm.from_checkpoint(folder)


def test_no_setting_is_a_call(run, tmp_path):
    """An object that a pickle would make by calling something is not made."""
    folder = with_settings(run, tmp_path / "run", callbacks_class=called("os.system", "true"))

    with pytest.raises(UnknownClassError, match=r"os\.system"):
        Algorithm.from_checkpoint(folder)


def test_settings_of_evaluation_are_settings(run, tmp_path):
    """What differs in evaluation goes by the same table, as do settings of one module."""
    nested = {"env": ref("subprocess.Popen"), "env_config": {"args": "true"}}
    for name, held in (
        ("evaluation_config", nested),
        ("evaluation_config", {"callbacks": ref("os.system")}),
        ("algorithm_config_overrides_per_module", {"default_policy": nested}),
        ("policies", {"default_policy": (None, None, None, nested)}),
        ("evaluation_config", {"evaluation_config": nested}),
    ):
        folder = with_settings(
            run, tmp_path / f"{name}{len(list(tmp_path.iterdir()))}", **{name: held}
        )
        with pytest.raises(UnknownClassError):
            Algorithm.from_checkpoint(folder)


def test_all_unknown_settings_are_told_at_once(run, tmp_path):
    """One error names each of them, and the call that lets them in."""
    folder = with_settings(
        run, tmp_path / "run", env=ref("mine.Env"), policy_mapping_fn=ref("mine.mapping")
    )

    with pytest.raises(UnknownClassError) as caught:
        Algorithm.from_checkpoint(folder)
    assert caught.value.missing == ["mine.Env", "mine.mapping"]
    assert "trust=[Env, mapping]" in caught.value.hint


def test_what_the_caller_trusts_is_used(run, tmp_path):
    """The same settings load once the caller says what they mean."""
    asked = []

    def mapping(agent, *args, **kwargs):
        asked.append(agent)
        return "default_policy"

    class Env(gym.Wrapper):
        def __init__(self, config):
            super().__init__(gym.make("CartPole-v1"))

    folder = with_settings(
        run, tmp_path / "run", env=ref("mine.Env"), policy_mapping_fn=ref("mine.mapping")
    )
    algo = Algorithm.from_checkpoint(folder, trust=[Env, mapping])
    assert algo.config.env is Env
    assert algo.config.policy_mapping_fn is mapping
    algo.stop()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A current folder with a module in it that tells when it is imported."""
    (tmp_path / "lying_here.py").write_text(
        "import gymnasium as gym\n"
        "from tests.trust.hostile import FIRED\n"
        "FIRED.append('imported')\n"
        "gym.register('Lying-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    gym.registry.pop("Lying-v0", None)
    sys.modules.pop("lying_here", None)


@pytest.mark.parametrize("env", ["lying_here:Lying-v0", "lying_here:CartPoles-v1", "lying_here:x"])
@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point"])
def test_no_module_is_imported_for_an_environment(run, here, env, mode):
    """A module before the id is not followed, in whatever way environments are made."""
    folder = with_settings(run, here / "run", env=env, gym_env_vectorize_mode=mode)

    with pytest.raises(UnknownClassError, match="an environment"):
        Algorithm.from_checkpoint(folder)


def test_the_callers_environment_goes_first(run, here):
    """What the caller names may be a module's, and the file's is not looked at."""
    folder = with_settings(run, here / "run", env=ref("os.system"), env_config={})

    algo = Algorithm.from_checkpoint(folder, env="lying_here:Lying-v0")
    assert hostile.FIRED == ["imported"]
    hostile.FIRED.clear()
    algo.stop()


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("CartPole-v1", "CartPole-v1"),
        ("anything:CartPole-v1", "CartPole-v1"),
        ("CartPole", "CartPole-v1"),
        ("CartPole-v77", None),
        ("GymV21Environment-v0", None),
        ("shimmy:GymV26Environment-v0", None),
        ("os:system", None),
        (":", None),
        ("", None),
        ("registered by somebody", "registered by somebody"),
    ],
)
def test_what_an_environments_name_may_mean(name, means):
    """What is registered already, here or with gymnasium; nothing that makes something else."""
    register_env("registered by somebody", lambda context: gym.make("CartPole-v1"))

    assert env_of_file(name) == means


@pytest.mark.parametrize("word", ["id", "vectorization_mode", "wrappers", "vector_kwargs"])
@pytest.mark.parametrize("where", ["here", "evaluation"])
def test_settings_of_an_environment_do_not_steer_gymnasium(run, tmp_path, word, where):
    """Words of `gym.make` itself are refused where a file has them."""
    held = {"env_config": {word: "x"}}
    settings = held if where == "here" else {"evaluation_config": held}
    folder = with_settings(run, tmp_path / "run", **settings)

    with pytest.raises(UnsafeCheckpointError, match=word):
        Algorithm.from_checkpoint(folder)


OURS_BUT_NO_PIECES = [
    "ray.rllib.algorithms.ppo.ppo.PPO",
    "rlconnect.v2.algorithms.ppo.PPO",
    "rlconnect.v2.tuning.Tuner",
    "rlconnect.v2.RLModule",
    "ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module.DefaultPPOTorchRLModule",
    "ray.rllib.env.single_agent_env_runner.SingleAgentEnvRunner",
    "rlconnect.v2.register_env",
    "rlconnect.core.trust.words.Trust",
    "rlconnect.legacy.policy.policy.Policy",
    "rlconnect.__main__.main",
    "victim_module.OfConnectorV2",
    "victim_module.fire",
    "os.system",
    "pathlib.Path.write_text",
    "torch.nn.Linear",
]


@pytest.mark.torch
@pytest.mark.parametrize("name", OURS_BUT_NO_PIECES)
def test_a_pipeline_holds_pieces_alone(pipeline, tmp_path, victims, name):
    """What is no piece of ours, or nobody's word, is told by name; nothing is built."""
    folder = with_pieces(pipeline, tmp_path / "p", (name, ["echo", 1], {"config": {"env": "x"}}))

    with pytest.raises(UnknownClassError, match="a piece of a pipeline") as caught:
        EnvToModulePipeline.from_checkpoint(folder)
    assert caught.value.missing == [name]


def test_nested_pipelines_hold_pieces_alone(pipeline, tmp_path):
    """A pipeline inside a pipeline is looked at in the same way; all is told together."""
    inner = {"connectors": [(ref("os.system"), ("true",), {}), (ref("mine.Piece"), (), {})]}
    folder = with_pieces(pipeline, tmp_path / "p", (f"{PREFIX}EnvToModulePipeline", [], inner))

    with pytest.raises(UnknownClassError) as caught:
        EnvToModulePipeline.from_checkpoint(folder)
    assert caught.value.missing == ["os.system", "mine.Piece"]


@pytest.mark.parametrize("held", [called("os.system", "true"), ref("os.system")])
def test_arguments_of_pieces_are_data(pipeline, tmp_path, held):
    """A name or a call among them is not let in."""
    folder = with_pieces(
        pipeline,
        tmp_path / "p",
        ("ray.rllib.connectors.common.numpy_to_tensor.NumpyToTensor", [], {"device": held}),
    )

    with pytest.raises(UnknownClassError, match=r"os\.system"):
        EnvToModulePipeline.from_checkpoint(folder)


@pytest.mark.parametrize("held", [3, "text", [1], [("only", "two")], [(ref("a.B"), 3, {})]])
def test_pieces_of_another_form(pipeline, tmp_path, held):
    """A list of pieces that is none is damage."""
    folder = hostile.copied(pipeline, tmp_path / "p")
    hostile.changed(
        folder / hostile.CLASS_FILE,
        lambda tree: tree["ctor_args_and_kwargs"][1].update(connectors=held),
    )

    with pytest.raises(CorruptCheckpointError):
        EnvToModulePipeline.from_checkpoint(folder)


@pytest.mark.torch
@pytest.mark.parametrize(
    "name",
    [
        *OURS_BUT_NO_PIECES,
        "rlconnect.core.importing.lazy_names.lazy_names",
        "rlconnect.v2.saving.checkpoint_files.write_component",
        "rlconnect.compat.ray_aliases.run_script",
        "rlconnect.no_such_module.Thing",
    ],
)
def test_a_wrapped_piece_is_a_piece(victims, name):
    """The state of a V2AsLegacyConnector names a piece, or the error names it."""
    context = ConnectorContext(observation_space=Box(-1, 1, (2,)))
    state = {"class": name, "args": ["true"], "kwargs": {}, "spaces": {}, "state": {}}

    with pytest.raises(UnknownClassError, match="a piece of a pipeline"):
        V2AsLegacyConnector.from_state(context, state)


@pytest.mark.parametrize("state", [None, {}, [], {"class": 3}, {"class": "x", "args": 3}, "text"])
def test_a_wrapped_piece_of_another_form(state):
    """What describes no piece is damage, or an unknown name."""
    with pytest.raises(RlconnectError):
        V2AsLegacyConnector.from_state(ConnectorContext(), state)


def test_a_wrapped_piece_comes_back():
    """An honest state makes the piece again."""
    context = ConnectorContext(observation_space=Box(-1, 1, (2,)))
    piece = FlattenObservations()
    state = {
        "class": f"{type(piece).__module__}.{type(piece).__qualname__}",
        **{"args": [], "kwargs": {}, "spaces": {}, "state": {}},
    }

    made = V2AsLegacyConnector.from_state(context, state)
    assert type(made.piece) is FlattenObservations


@pytest.mark.parametrize("slot", ["class", "catalog_class"])
def test_a_module_is_ours_or_the_callers(run, tmp_path, victims, slot):
    """A loaded module class, catalog or anything else is not what a file's name means."""
    place = hostile.copied(run, tmp_path / "run") / "learner_group/learner/rl_module/default_policy"
    names = ["victim_module.OfDefaultPPOTorchRLModule", "victim_module.OfCatalog", "os.system"]
    for name in names:

        def change(tree, name=name):
            held = tree if slot == "class" else tree["ctor_args_and_kwargs"][1]
            held[slot] = ref(name)

        hostile.changed(place / hostile.CLASS_FILE, change)
        with pytest.raises(UnknownClassError, match=name):
            RLModule.from_checkpoint(place)


def test_names_of_all_parts_are_told_together(run, tmp_path):
    """Two pipelines and a module, one error."""
    place = hostile.copied(run, tmp_path / "run")
    runner = place / "env_runner"
    for folder, name in (("env_to_module_connector", "a.A"), ("module_to_env_connector", "b.B")):
        held = [(ref(name), (), {})]
        hostile.changed(
            runner / folder / hostile.CLASS_FILE,
            lambda tree, held=held: tree["ctor_args_and_kwargs"][1].update(connectors=held),
        )
    module = place / "learner_group/learner/rl_module/default_policy" / hostile.CLASS_FILE
    hostile.changed(module, lambda tree: tree.update({"class": ref("c.C")}))

    for load in (load_triple, Actor.from_checkpoint):
        with pytest.raises(UnknownClassError) as caught:
            load(place)
        assert sorted(caught.value.missing) == ["a.A", "b.B", "c.C"]


def test_settings_are_of_a_class_of_settings():
    """`from_state` calls no other class."""
    with pytest.raises(ConfigError, match="class of settings"):
        PPOConfig.from_state({"class": dict, "env": "x"})


def test_module_ids_that_are_no_text_are_passed_over(tmp_path):
    """A hostile file may use anything as a key of its specs."""
    from tests.core.vault.recorded import NEW_ALGORITHM, copy_of, remove

    path = copy_of(NEW_ALGORITHM, tmp_path)
    remove(path, "learner_group/learner/rl_module/default_policy/module_state.pkl")
    specs = {3: {}, None: {}, ("a",): {}, "gone": {}}

    def change(tree):
        tree["ctor_args_and_kwargs"] = ((), {"rl_module_specs": specs})

    hostile.changed(path / "learner_group/learner/rl_module/class_and_ctor_args.pkl", change)

    assert {"gone"} <= {*rlconnect.open_checkpoint(path).modules} <= {"gone", "default_policy"}
