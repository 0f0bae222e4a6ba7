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
from rlconnect.core.errors import ConfigError

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


def test_changes_between_releases(rewritten):
    """Settings and methods of configs that RLlib renamed have their new names."""
    head = "from rlconnect.v2 import RLModuleSpec\n"
    pairs = {
        "s = RLModuleSpec(model_config_dict={})\n": "s = RLModuleSpec(model_config={})\n",
        "weakref.finalize(x, y)\n": "weakref.finalize(x, y)\n",
        "c = PPOConfig().rollouts(num_rollout_workers=1).exploration(explore=False)\n": "c = "
        "PPOConfig().env_runners(num_env_runners=1).env_runners(explore=False)\n",
        "config.training(sgd_minibatch_size=8, num_sgd_iter=2, clip_param=0.1)\n": "config."
        "training(minibatch_size=8, num_epochs=2, clip_param=0.1)\n",
        "team.rollouts(count=2)\n": "team.rollouts(count=2)\n",
    }

    for old, new in pairs.items():
        text, report = rewritten(head + old)

        assert text == head + new
        assert report.is_complete


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
    ],
)
def test_what_ray_1_wrote(rewritten, old, new):
    """Trainers, their settings and modules under their names of Ray 1 are brought to ours."""
    text, report = rewritten(old)

    assert text == new
    assert report.is_complete


@pytest.mark.parametrize(
    ("line", "what", "why"),
    [
        ("ray.init(num_cpus=2)", "ray.init", "leave it out"),
        ("y = ray.get(x)", "ray.get", "call it directly"),
        ("t = ray.rllib.agents.ppo.PPOTrainer", "PPOTrainer", "from rlconnect.v2 import PPO"),
        ("ray.tune.run(f)", "ray.tune.run", "from rlconnect.v2.tuning import run"),
        ("tune.nowhere()", "tune.nowhere", "lacks ray.tune.nowhere"),
        ("if d['episode_reward_mean'] > 1:\n    pass", "'episode_reward_mean'", "have this as"),
        ("d.get('episode_reward_mean')", "'episode_reward_mean'", "have this as"),
        ("run(stop={\n    'episode_reward_mean': 3,\n})", "'episode_reward_mean'", "return_mean"),
        ("c.training(learner_class=L)", "training(learner_class=)", "to learners()"),
        ("@ray.remote\ndef f(): pass", "ray.remote", "call it directly"),
        ("t = PPO(c)\nt.compute_action(o)", "t.compute_action", "act with rlconnect.load"),
        ("def on_episode_end(self, worker): pass", "on_episode_end(worker)", "env_runner"),
        ("episode.custom_metrics['x'] = 1", "episode.custom_metrics", "log_value"),
        ("if sa_episode.is_finalized: pass", "sa_episode.is_finalized", "is_numpy"),
    ],
)
def test_lines_for_a_person_are_marked_where_they_are(rewritten, line, what, why):
    """Each line that is left is in the report with its number, and marked once in the source."""
    source = f"import ray\nfrom ray import tune\n\n{line}\n"

    text, report = rewritten(source)
    again, second = rewritten(text)

    (told,) = [each for each in report.files[0].left if what in each.what]
    assert why in told.why
    assert told.line == 4 + ("compute_action" in line or "run(stop" in line)
    assert why in text.partition("\n\n")[2]
    assert again == text
    assert len(second.files[0].left) == len(report.files[0].left)


def test_names_that_only_look_like_modules_are_left(rewritten):
    """A name that the file also uses for something else is no module of Ray to rewrite."""
    source = (
        "from ray.rllib.core.columns import Columns\nfrom ray.rllib.agents import ppo\n"
        "def f(ppo):\n    return ppo.PPOTrainer\n"
    )

    text, _ = rewritten(source)

    assert "return ppo.PPOTrainer\n" in text
    assert "import ppo  # rlconnect: lacks ppo" in text


def test_no_input_takes_more_than_its_size(tmp_path):
    """Sources made to be slow are rewritten with all their lines, or refused by name."""
    word = "'episode_reward_mean'"
    sources = {
        "blank": "import ray\n# x\n" + "\n" * 100_000,
        "imports": "from ray.rllib.core.columns import Columns\n" * 20_000,
        "lacking": "".join(f"from ray.rllib import Nowhere{i}\n" for i in range(20_000)),
        "attribute": "import ray\nx = ray" + ".a" * 100_000 + "\n",
        "sum": "import ray\nx = " + "+".join("1" * 50_000) + "\n",
        "line": f"import ray\nx = [{f'{word}, ' * 50_000}]\n",
        "large": "import ray\n" + "x = 1\n" * 500_000,
    }
    refused = {}
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")

    report = codemod(tmp_path)

    refused = {each.path: each.why for each in report.unreadable}
    assert refused.keys() == {"attribute.py", "sum.py", "large.py"}
    assert "2 MiB" in refused["large.py"]
    counts = {each.path: len(each.changes) + len(each.left) for each in report.files}
    assert counts == {"blank.py": 1, "imports.py": 20_000, "lacking.py": 20_000, "line.py": 50_001}


def test_odd_strings_are_read_without_a_warning(rewritten):
    """An escape that Python warns of is the author's; suites that forbid warnings run, too."""
    text, report = rewritten("from ray.rllib.core.columns import Columns\nx = '\\d'\n")

    assert text == "from rlconnect.v2 import Columns\nx = '\\d'\n"
    assert report.unreadable == ()


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
