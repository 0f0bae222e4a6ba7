"""Switching Ray's names on and off, and what is told about names that rlconnect lacks."""

import importlib
import subprocess
import sys
import warnings
from typing import Optional

import numpy as np
import pytest
import rlconnect.legacy as legacy
import rlconnect.v2 as v2
from rlconnect.compat import ray_aliases
from rlconnect.compat.aliases import ray_front
from rlconnect.core.errors import ConfigError, MissingExtraError, UnknownNameError


@pytest.fixture
def ray_names():
    with ray_aliases.activate(force=True) as activation:
        yield activation


def test_names_are_found_while_active_and_gone_afterwards():
    """Ray's paths lead to rlconnect inside the context only; what was imported stays usable."""
    with ray_aliases.activate(force=True):
        module = importlib.import_module("ray.rllib.connectors.connector_v2")
        found = module.ConnectorV2

    assert found is v2.ConnectorV2
    assert not ray_aliases.is_active()
    assert not [name for name in sys.modules if name == "ray" or name.startswith("ray.")]


def test_contexts_nest():
    """An inner context does not take the names away from the outer one."""
    with ray_aliases.activate(force=True):
        with ray_aliases.activate(force=True):
            pass

        assert importlib.import_module("ray.rllib.core.columns").Columns is v2.Columns


def test_deactivate_ends_every_activation():
    """`deactivate()` counts for all calls of `activate()`, and doing it twice does no harm."""
    ray_aliases.activate(force=True)
    ray_aliases.activate(force=True)

    ray_aliases.deactivate()
    ray_aliases.deactivate()

    assert not ray_aliases.is_active()


def test_steps_aside_where_ray_is_installed(tmp_path, monkeypatch):
    """A real `ray` on the import path is what `import ray` gives, but for RLlib if forced."""
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text("real = True\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    with ray_aliases.activate() as activation:
        given_way = activation.steps_aside and not ray_aliases.is_active()
    with ray_aliases.activate(force=True):
        real = importlib.import_module("ray")
        forced = importlib.import_module("ray.rllib.core.columns").Columns

    assert given_way
    assert real.real
    assert forced is v2.Columns
    assert not hasattr(real, "rllib")


def test_an_empty_folder_named_ray_is_not_ray(tmp_path, monkeypatch):
    """A namespace package without code does not make rlconnect step aside."""
    (tmp_path / "ray").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    assert not ray_aliases.is_ray_installed()


def test_force_refuses_when_real_ray_is_loaded(monkeypatch):
    """Modules of real Ray that are loaded already are not replaced under the user's feet."""
    monkeypatch.setitem(sys.modules, "ray.rllib", type(sys)("ray.rllib"))

    with pytest.raises(ConfigError, match="imported already"):
        ray_aliases.activate(force=True)


def test_one_name_is_another_thing_in_another_module(ray_names):
    """Names are mapped by module: a filter of the old stack is no piece of the new one."""
    from ray.rllib.connectors.env_to_module import MeanStdFilter as Piece
    from ray.rllib.models.torch.torch_action_dist import TorchCategorical as OldCategorical
    from ray.rllib.utils.filter import MeanStdFilter as Filter

    assert Piece is v2.MeanStdFilter
    assert Filter is legacy.MeanStdFilter
    assert OldCategorical is legacy.TorchCategorical is not v2.TorchCategorical


def test_both_one_hots_take_what_upstreams_take(ray_names):
    """The numpy one is given a depth, the torch one a space."""
    import gymnasium as gym
    import torch
    from ray.rllib.utils.numpy import one_hot
    from ray.rllib.utils.torch_utils import one_hot as torch_one_hot

    np.testing.assert_array_equal(one_hot(np.array([1]), depth=3), [[0, 1, 0]])
    rows = torch_one_hot(torch.tensor([1]), gym.spaces.Discrete(3))
    np.testing.assert_array_equal(rows.numpy(), [[0, 1, 0]])


def test_a_module_hands_out_what_it_imports_itself(ray_names):
    """`from ...ppo import Columns` works as it does with Ray, as long as it can mean one thing."""
    from ray.rllib.algorithms.ppo.ppo import Columns

    assert Columns is v2.Columns


def test_an_ambiguous_name_is_not_guessed(ray_names):
    """A name that means different things elsewhere is not handed out by a third module."""
    with pytest.raises(ImportError, match=r"rlconnect lacks ray\.rllib\.core\.columns\.Mean"):
        from ray.rllib.core.columns import MeanStdFilter  # noqa: F401


def test_star_import_gives_the_public_names(ray_names):
    """`import *` fetches what the module has."""
    namespace = {}

    exec("from ray.rllib.utils.metrics import *", namespace)

    assert namespace["ENV_RUNNER_RESULTS"] == "env_runners"


def test_modules_are_reached_as_attributes(ray_names):
    """`import ray` is enough to walk to everything below it."""
    import ray

    assert ray.rllib.core.rl_module.rl_module.RLModule is v2.RLModule
    assert {"PPO", "PPOConfig", "ppo"} <= set(dir(ray.rllib.algorithms.ppo))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("from ray.rllib.core.columns import Colums", "did you mean ray.rllib.core.columns.Colu"),
        ("from ray.rllib.core.learner import DoubleLearner", "rlconnect lacks ray.rllib.core.lea"),
        ("from ray.rllib.utils.framwork import try_import_tf", "did you mean ray.rllib.utils.fram"),
        ("import ray.rllib.offline.d4rl_reader", "nothing of the module ray.rllib.offline"),
    ],
)
def test_what_is_lacking_is_told(ray_names, line, words):
    """An import that cannot work names the path, the nearest name and what to do."""
    with pytest.raises(ImportError) as caught:
        exec(line)

    assert words in str(caught.value)
    assert "where Ray is installed" in str(caught.value)
    assert isinstance(caught.value, UnknownNameError)


def test_asking_for_an_attribute_is_no_import(ray_names):
    """`hasattr` and `getattr` with a default work as on any module."""
    import ray.rllib.core as core

    assert not hasattr(core, "nothing_like_that")
    assert getattr(core, "nothing_like_that", 3) == 3


def test_stand_ins_can_be_named_and_subclassed_but_not_used(ray_names):
    """Annotations and mixed files import; using the class says what it would need."""
    from ray.rllib.env import BaseEnv
    from ray.rllib.evaluation import RolloutWorker
    from ray.rllib.models.tf.tf_modelv2 import TFModelV2

    class Model(TFModelV2):
        def build(self, env: Optional[BaseEnv], worker: RolloutWorker):  # noqa: UP045
            return env

    assert not isinstance(3, BaseEnv)
    with pytest.raises(ray_aliases.StandInError, match="needs RLlib's TFModelV2"):
        Model()
    with pytest.raises(ray_aliases.StandInError, match=r"BaseEnv\.to_base_env"):
        BaseEnv.to_base_env()


def test_scripts_for_tune_import(ray_names):
    """A training script can name what it needs of Tune; using it names what to install."""
    from ray import train, tune
    from ray.tune.schedulers import PopulationBasedTraining
    from ray.tune.stopper import Stopper

    class Never(Stopper):
        def stop_all(self):
            return False

    assert train.Checkpoint("folder").path == "folder"
    assert tune.Tuner is v2.tuning.Tuner
    for used in (PopulationBasedTraining, Never, lambda: tune.grid_search([1, 2])):
        with pytest.raises(ray_aliases.StandInError, match="needs Ray Tune") as caught:
            used()
        assert 'pip install "ray[tune]"' in caught.value.hint
    if not ray_aliases.is_ray_installed():
        with pytest.raises(MissingExtraError, match="needs Ray Tune"):
            tune.Tuner("PPO")


def test_pretty_print_leaves_the_settings_out(ray_names):
    """Results are shown as indented lines, sorted by key."""
    from ray.tune.logger import pretty_print

    shown = pretty_print(
        {"b": {"c": np.float64(2), "n": None}, "a": np.arange(2), "t": True, "config": {}}
    )

    assert shown == "a:\n- 0\n- 1\nb:\n  c: 2.0\n  n: null\nt: true\n"


def test_distributions_of_the_old_path_are_the_new_stack_s(ray_names):
    """`models.torch.torch_distributions` is where they lay before they got a folder."""
    from ray.rllib.models.torch.torch_distributions import TorchMultiCategorical

    assert TorchMultiCategorical is v2.TorchMultiCategorical


def test_init_says_once_that_nothing_starts(ray_names, monkeypatch):
    """`ray.init()` is harmless, warns once, and sends nothing anywhere."""
    import ray

    monkeypatch.setattr(ray_front, "_told", set())
    with pytest.warns(UserWarning, match="starts nothing"):
        ray.init(num_cpus=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ray.init()
    ray.shutdown()

    assert not ray.is_initialized()


def test_what_needs_processes_is_refused(ray_names):
    """Decorating works; sending away, putting and getting do not."""
    import ray

    @ray.remote
    def add(a, b):
        return a + b

    @ray.remote(num_cpus=1)
    class Counter:
        pass

    assert add.local(1, 2) == 3
    for used in (lambda: add.remote(1, 2), Counter.remote, lambda: ray.get(1), lambda: ray.put(1)):
        with pytest.raises(ray_front.NoClusterError, match="without any"):
            used()


def test_registered_environments_are_found_again(ray_names):
    """`register_env` and Ray's registry speak of the same environments."""
    from ray.tune.registry import ENV_CREATOR, _global_registry, get_trainable_cls, register_env

    register_env("of_the_alias_test", lambda config: dict(config))

    assert _global_registry.contains(ENV_CREATOR, "of_the_alias_test")
    assert _global_registry.get(ENV_CREATOR, "of_the_alias_test")({"a": 1}) == {"a": 1}
    assert get_trainable_cls("PPO") is v2.PPO
    with pytest.raises(UnknownNameError, match="no algorithm 'IMPALA'"):
        get_trainable_cls("IMPALA")


@pytest.mark.parametrize("place", ["compat", "bridge"])  # bridge is where it lay before
def test_a_script_runs_as_it_is(place, tmp_path):
    """`python -m rlconnect.compat.ray_aliases SCRIPT ARGS` gives it arguments and neighbours."""
    (tmp_path / "neighbour.py").write_text(
        "from ray.rllib.connectors.connector_v2 import ConnectorV2\n", encoding="utf-8"
    )
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom neighbour import ConnectorV2\n"
        "if __name__ == '__main__':\n    print(ConnectorV2.__module__, sys.argv[1:])\n",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        f"rlconnect.{place}.ray_aliases",
        "--force",
        str(script),
        "--n=1",
    ]

    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")

    assert done.stdout.strip() == "rlconnect.v2.connectors.connector ['--n=1']"


def test_a_missing_script_is_told(tmp_path):
    """A wrong path is a message and exit code 2 on the command line, an error from Python."""
    command = [sys.executable, "-m", "rlconnect.compat.ray_aliases", str(tmp_path / "none.py")]

    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")

    assert done.returncode == 2
    assert "no script at" in done.stderr
    with pytest.raises(ConfigError, match="no script at"):
        ray_aliases.run(tmp_path / "none.py")


def test_log_once_is_told_once_by_key(ray_names, monkeypatch):
    """The first to ask with a key is told so, from either place that Ray has it in."""
    monkeypatch.setattr(ray_front, "_logged", set())
    util = importlib.import_module("ray.util")
    debug = importlib.import_module("ray.util.debug")

    assert [util.log_once("a"), debug.log_once("a"), util.log_once("b")] == [True, False, True]
