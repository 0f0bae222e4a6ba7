"""Rewriting sources: what is written, what is left, and what is never touched."""

import importlib
import json
import os
import shutil
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from rlconnect.compat.codemod import codemod
from rlconnect.core.arrays.compare import check
from rlconnect.core.errors import ConfigError, MissingExtraError

libcst = pytest.importorskip("libcst", reason="the extra `codemod` is not installed")

USER_CODE = Path(__file__).parents[1] / "aliases" / "user_code"
GOLDEN = Path(__file__).parents[2] / "golden" / "aliases" / "user_code.json"


@pytest.fixture
def rewritten(tmp_path):
    """The text a source becomes, and the report."""

    def rewrite(source):
        file = tmp_path / "source.py"
        file.write_text(dedent(source), encoding="utf-8")
        report = codemod(file, write=True)
        return file.read_text(encoding="utf-8"), report

    return rewrite


def test_imports_go_to_the_flat_names(rewritten):
    """Both stacks' names are imported from where rlconnect has them all."""
    text, report = rewritten(
        """
        from ray.rllib.connectors.connector_v2 import ConnectorV2
        from ray.rllib.policy.sample_batch import SampleBatch as Batch
        """
    )

    assert text == (
        "\nfrom rlconnect.v2 import ConnectorV2\n"
        "from rlconnect.legacy import SampleBatch as Batch\n"
    )
    assert report.is_complete


def test_one_import_of_many_homes_is_split(rewritten):
    """What lies in two places becomes two imports, and what is lacking stays with a comment."""
    text, report = rewritten(
        "from ray.rllib.utils.metrics import ALL_MODULES, ENV_RUNNER_RESULTS, Nowhere\n"
    )

    assert text.splitlines() == [
        "from rlconnect.v2 import ALL_MODULES",
        "from rlconnect.v2.metrics.names import ENV_RUNNER_RESULTS",
        "from ray.rllib.utils.metrics import Nowhere  # rlconnect: lacks Nowhere",
    ]
    assert [left.what for left in report.files[0].left] == ["ray.rllib.utils.metrics.Nowhere"]
    assert not report.is_complete


def test_formatting_and_comments_stay(rewritten):
    """What is not an import from Ray keeps every space and comment."""
    text, _ = rewritten(
        """
        # Why we need it.
        from ray.rllib.core.columns import (
            Columns,  # the names
        )  # noqa: F401

        x = {  'a':1 }   # odd
        """
    )

    assert text == dedent(
        """
        # Why we need it.
        from rlconnect.v2 import (
            Columns,  # the names
        )  # noqa: F401

        x = {  'a':1 }   # odd
        """
    )


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        ("import ray", "nothing uses it"),
        ("import ray, os", "import its names instead"),
        ("from ray import serve", "lacks serve"),
        ("from ray.rllib.agents.dqn import DQNTrainer", "lacks DQNTrainer"),
        ("from ray.rllib.agents.ppo import DEFAULT_CONFIG as D", "lacks DEFAULT_CONFIG"),
        ("from ray.rllib.core import *", "import its names instead"),
        ("from ray.rllib.env import BaseEnv", "lacks BaseEnv"),
    ],
)
def test_what_cannot_be_rewritten_is_marked(rewritten, line, comment):
    """A line that is left says why, beside the comment it had."""
    text, report = rewritten(f"{line}  # kept\n")

    assert text == f"{line}  # kept  # rlconnect: {comment}\n"
    assert len(report.files[0].left) == 1


def test_old_names_of_classes_become_todays(rewritten):
    """A renamed class is renamed wherever the file says it, unless it has an alias of its own."""
    text, _ = rewritten(
        """
        from ray.rllib.algorithms.callbacks import DefaultCallbacks
        from ray.rllib.core.rl_module.rl_module import SingleAgentRLModuleSpec as Spec

        class Mine(DefaultCallbacks):
            parent = other.DefaultCallbacks
            spec = Spec()
        """
    )

    assert "from rlconnect.v2 import RLlibCallback\n" in text
    assert "from rlconnect.v2 import RLModuleSpec as Spec\n" in text
    assert "class Mine(RLlibCallback):" in text
    assert "other.DefaultCallbacks" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "class C(X):\n    def __call__(self, *, rl_module, data, episodes, **kw):\n"
            "        self.data = data\n        return super().__call__(data=data, **kw)\n",
            "class C(X):\n    def __call__(self, *, rl_module, batch, episodes, **kw):\n"
            "        self.data = batch\n        return super().__call__(batch=batch, **kw)\n",
        ),
        (
            "class C(X):\n    def __call__(self, data):\n        return data\n",
            "class C(X):\n    def __call__(self, data):\n        return data\n",
        ),
        (
            "class C(X):\n    def recompute_observation_space_from_input_spaces(self):\n"
            "        return self.input_observation_space\n",
            "class C(X):\n    def recompute_output_observation_space(self, "
            "input_observation_space, input_action_space):\n"
            "        return self.input_observation_space\n",
        ),
        (
            "if not sa_episode.is_finalized:\n    sa_episode.finalize()\n",
            "if not sa_episode.is_numpy:\n    sa_episode.to_numpy()\n",
        ),
        (
            "weakref.finalize(x, y)\nthing.finalize()\n",
            "weakref.finalize(x, y)\nthing.finalize()\n",
        ),
        (
            "class MyModule(X):\n    def setup(self):\n        c = self.config.get_catalog()\n"
            "        d = self.config.model_config_dict\n",
            "class MyModule(X):\n    def setup(self):\n        c = self.catalog\n"
            "        d = self.model_config\n",
        ),
        ("s = RLModuleSpec(model_config_dict={})\n", "s = RLModuleSpec(model_config={})\n"),
        (
            "c.env_runners(env_to_module_connector=lambda env: P())\n",
            "c.env_runners(env_to_module_connector=lambda env, spaces, device: P())\n",
        ),
        (
            "def make(env):\n    return P()\nc.env_runners(module_to_env_connector=make)\n",
            "def make(env, spaces, device):\n    return P()\n"
            "c.env_runners(module_to_env_connector=make)\n",
        ),
        (
            "c.training(lr=1, learner_connector=f, gamma=2)\n",
            "c.training(lr=1, gamma=2).learners(learner_connector=f)\n",
        ),
        ("c.training(learner_class=L).build()\n", "c.learners(learner_class=L).build()\n"),
        (
            "c.experimental(_enable_new_api_stack=True)\n",
            "c.api_stack(enable_rl_module_and_learner=True, "
            "enable_env_runner_and_connector_v2=True)\n",
        ),
    ],
)
def test_changes_between_releases(rewritten, old, new):
    """What RLlib renamed or moved is brought to today's form, and nothing that only looks alike."""
    head = "from rlconnect.v2 import RLModuleSpec\n"

    text, _ = rewritten(head + old)

    assert text == head + new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "import ray.rllib.agents.ppo as ppo\n"
            "c = ppo.DEFAULT_CONFIG.copy()\nt = ppo.PPOTrainer(config=c)\n",
            "from rlconnect import v2 as ppo\n"
            "c = ppo.PPOConfig().to_dict().copy()\nt = ppo.PPO(config=c)\n",
        ),
        (
            "from ray.rllib.agents.ppo.ppo import DEFAULT_CONFIG, PPOTrainer\n"
            "t = PPOTrainer(config={**DEFAULT_CONFIG, 'lr': 1})\n",
            "from rlconnect.v2 import PPOConfig, PPO\n"
            "t = PPO(config={**PPOConfig().to_dict(), 'lr': 1})\n",
        ),
        (
            "from ray import air, tune\nt = tune.Tuner('PPO', run_config=air.RunConfig())\n"
            "tune.register_env('e', make)\n",
            "from rlconnect.v2 import tuning as air, tuning as tune\n"
            "t = tune.Tuner('PPO', run_config=air.RunConfig())\ntune.register_env('e', make)\n",
        ),
        (
            "from ray.rllib.agents.callbacks import DefaultCallbacks\n"
            "class Mine(DefaultCallbacks):\n    def on_train_result(self, *, algorithm, result):\n"
            "        print(result['episode_reward_mean'])\n",
            "from rlconnect.v2 import RLlibCallback\n"
            "class Mine(RLlibCallback):\n    def on_train_result(self, *, algorithm, result):\n"
            "        print(result['env_runners']['episode_return_mean'])\n",
        ),
    ],
)
def test_what_ray_1_wrote(rewritten, old, new):
    """Trainers, their settings and modules under their names of Ray 1 are brought to ours."""
    text, report = rewritten(old)

    assert text == new
    assert report.is_complete


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "c = PPOConfig().rollouts(num_rollout_workers=1).exploration(explore=False)\n",
            "c = PPOConfig().env_runners(num_env_runners=1).env_runners(explore=False)\n",
        ),
        (
            "config.training(sgd_minibatch_size=8, num_sgd_iter=2, clip_param=0.1)\n",
            "config.training(minibatch_size=8, num_epochs=2, clip_param=0.1)\n",
        ),
        ("algo = config.build()\n", "algo = config.build_algo()\n"),
        (
            "r = algo.train()\nprint(f\"{r['sampler_results']['episode_reward_max']:.1f}\")\n",
            "r = algo.train()\nprint(f\"{r['env_runners']['episode_return_max']:.1f}\")\n",
        ),
        (
            "x = algo.train()['timesteps_total']\n",
            "x = algo.train()['num_env_steps_sampled_lifetime']\n",
        ),
        (
            "run(stop={'episode_reward_mean': 9}, metric='episode_len_mean')\n",
            "run(stop={'env_runners/episode_return_mean': 9}, "
            "metric='env_runners/episode_len_mean')\n",
        ),
        (
            "best = grid.get_best_result('episode_reward_mean', mode='max')\n",
            "best = grid.get_best_result('env_runners/episode_return_mean', mode='max')\n",
        ),
    ],
)
def test_configs_and_results_of_older_releases(rewritten, old, new):
    """Methods, settings and keys of results that were renamed are brought to today's."""
    head = "from rlconnect.v2 import PPOConfig\n"

    text, report = rewritten(head + old)

    assert text == head + new
    assert report.is_complete


@pytest.mark.parametrize(
    ("line", "what", "why"),
    [
        ("ray.init(num_cpus=2)", "ray.init", "leave this out"),
        ("y = ray.get(x)", "ray.get", "call it directly"),
        ("t = ray.rllib.agents.ppo.PPOTrainer", "PPOTrainer", "from rlconnect.v2 import PPO"),
        ("ray.tune.run(f)", "ray.tune.run", "from rlconnect.v2.tuning import run"),
        ("tune.run('IMPALA')", "tune.run('IMPALA')", "IMPALA is not trained here"),
        ("tune.nowhere()", "tune.nowhere", "lacks ray.tune.nowhere"),
        ("if d['episode_reward_mean'] > 1:\n    pass", "['episode_reward_mean']", "has this as"),
        ("d.get('episode_reward_mean')", "['episode_reward_mean']", "has this as"),
        ("config.rollouts(enable_connectors=True)", "(enable_connectors=)", "there is no setting"),
        ("config.training(model={'dim': 4})", "training(model=)", "use config.rl_module"),
        ("config.framework('tf2')", "framework(framework=)", "torch only"),
        ("@ray.remote\ndef f(): pass", "ray.remote", "call it directly"),
        ("t = PPO(c)\nt.compute_action(o)", "t.compute_action", "act with rlconnect.load"),
        ("def on_episode_end(self, worker): pass", "on_episode_end(worker)", "env_runner"),
        ("episode.custom_metrics['x'] = 1", "episode.custom_metrics", "log_value"),
    ],
)
def test_lines_for_a_person_are_marked_where_they_are(rewritten, line, what, why):
    """Each line that is left is in the report with its number, and marked once in the source."""
    source = f"import ray\nfrom ray import tune\n\n{line}\n"

    text, report = rewritten(source)
    again, second = rewritten(text)

    (told,) = [each for each in report.files[0].left if what in each.what]
    assert why in told.why
    assert told.line == (5 if "compute_action" in line else 4)
    assert why in text.partition("\n\n")[2]
    assert again == text
    assert len(second.files[0].left) == len(report.files[0].left)


def test_a_default_of_a_setting_that_is_gone_is_no_finding(rewritten):
    """Settings that take no other value than their default are left in peace with it."""
    text, report = rewritten(
        "from rlconnect.v2 import PPOConfig\n"
        "c = PPOConfig().framework('torch').resources(num_gpus=0).training(model={})\n"
    )

    assert report.files == ()
    assert "# rlconnect" not in text


@pytest.mark.parametrize(
    "line",
    [
        "encoder = MLPEncoderConfig(input_dims=[4]).build(framework='torch')",
        "encoder = self.encoder_config.build()",
        "model.training(lr=1)",
        "house.build()",
        "x = names['episode']",
    ],
)
def test_what_only_looks_like_a_config_is_left(rewritten, line):
    """Methods of the same names that belong to something else stay as they are."""
    source = f"from rlconnect.v2 import PPOConfig\n{line}\n"

    assert rewritten(source) == (source, rewritten(source)[1])
    assert rewritten(source)[1].is_complete


def test_names_that_only_look_like_modules_are_left(rewritten):
    """A name that the file also uses for something else is no module of Ray to rewrite."""
    source = (
        "from ray.rllib.core.columns import Columns\nfrom ray.rllib.agents import ppo\n"
        "def f(ppo):\n    return ppo.PPOTrainer\n"
    )

    text, _ = rewritten(source)

    assert "return ppo.PPOTrainer\n" in text
    assert "import ppo  # rlconnect: lacks ppo" in text


def test_a_chain_of_calls_stays_valid(rewritten):
    """Settings that move out of a call over several lines leave sources that compile."""
    text, _ = rewritten(
        """
        from ray.rllib.algorithms.ppo import PPOConfig
        config = (
            PPOConfig()
            .training(
                lr=0.1,
                learner_connector=lambda o, a: None,
            )
            .debugging(seed=1)
        )
        """
    )

    compile(text, "source", "exec")
    assert ".learners(learner_connector=lambda o, a: None)" in text


def test_a_dry_run_writes_nothing_and_shows_the_diff(tmp_path):
    """Without `write` the files stay as they are and the diff says what would change."""
    file = tmp_path / "package" / "a.py"
    file.parent.mkdir()
    file.write_text("from ray.rllib.core.columns import Columns\n", encoding="utf-8")

    report = codemod(tmp_path)

    assert file.read_text(encoding="utf-8") == "from ray.rllib.core.columns import Columns\n"
    assert "--- a/package/a.py" in report.diff
    assert "+from rlconnect.v2 import Columns" in report.diff
    assert not report.written
    assert json.loads(json.dumps(report.to_dict()))["files"][0]["path"] == "package/a.py"
    assert str(report).startswith("1 of 1 files would change")


def test_unreadable_files_are_told_and_left(tmp_path):
    """Python of another age, odd encodings and other people's folders are not touched."""
    (tmp_path / "old.py").write_text("from ray.rllib import x\nprint 'two'\n", encoding="utf-8")
    (tmp_path / "bytes.py").write_bytes(b"# -*- coding: nonsense -*-\nimport ray\n")
    (tmp_path / "mine.py").write_text("import os\n", encoding="utf-8")
    for hidden in (".git", "venv", "__pycache__"):
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "x.py").write_text(
            "from ray.rllib.core.columns import Columns\n", encoding="utf-8"
        )
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.py")}

    report = codemod(tmp_path, write=True)

    assert {each.path for each in report.unreadable} == {"old.py", "bytes.py"}
    assert report.seen == 3
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.py")} == before
    assert not report.is_complete


def test_line_ends_and_modes_survive(tmp_path):
    """A file of another system's line ends, or one that can be executed, stays so."""
    file = tmp_path / "run.py"
    file.write_bytes(b"#!/usr/bin/env python\r\nfrom ray.rllib.core.columns import Columns\r\n")
    file.chmod(0o755)

    codemod(file, write=True)

    assert file.read_bytes() == b"#!/usr/bin/env python\r\nfrom rlconnect.v2 import Columns\r\n"
    assert os.access(file, os.X_OK)


def test_rewritten_user_code_runs_and_a_second_run_changes_nothing(tmp_path, monkeypatch):
    """Code written against Ray runs on rlconnect alone once rewritten, with the same results."""
    tree = tmp_path / "user_code"
    shutil.copytree(USER_CODE, tree, ignore=shutil.ignore_patterns("__pycache__"))
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8"))["results"]

    first = codemod(tree, write=True)
    second = codemod(tree, write=True)

    assert len(first.changed) >= 25
    assert second.changed == ()
    monkeypatch.syspath_prepend(tree)
    for name in ("advantages_of_my_own", "edited_pipelines", "old_model", "relabelled"):
        result = importlib.import_module(name).run()
        check(_plain(result), recorded[name], rtol=1e-5, atol=1e-6)
    for file in tree.glob("*.py"):
        monkeypatch.delitem(sys.modules, file.stem, raising=False)


def test_what_was_left_is_marked_once(rewritten):
    """A second run finds the same things left and changes nothing."""
    source = "import ray\nfrom ray.rllib.core import Columns, Nowhere\n"
    text, first = rewritten(source)

    again, second = rewritten(text)

    assert again == text
    assert second.changed == ()
    assert len(second.files[0].left) == len(first.files[0].left) == 2


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def test_nothing_there_is_told(tmp_path):
    """A wrong path is a mistake in use."""
    with pytest.raises(ConfigError, match="nothing lies at"):
        codemod(tmp_path / "none")


def test_without_libcst_the_extra_is_named(tmp_path, monkeypatch):
    """Where LibCST is missing, the error says how to get it."""
    monkeypatch.setattr("rlconnect.compat.codemod.tree.find_spec", lambda name: None)

    with pytest.raises(MissingExtraError, match="LibCST") as caught:
        codemod(tmp_path)

    assert "rlconnect[codemod]" in caught.value.hint
