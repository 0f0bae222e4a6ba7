"""`rlconnect adapt`, `verify` and `rollout` as a person types them."""

import dataclasses
import json
import shlex
from pathlib import Path

import gymnasium as gym
import pytest
from rlconnect.cli import export_command
from rlconnect.cli.app import main
from rlconnect.cli.options import Chosen

CARTPOLE = str(Path(__file__).parents[2] / "examples" / "checkpoints" / "ppo-cartpole-ray-2.60")
MY_ENV = "wider_cartpole:WiderCartPole"
STEPS = ("--obs", "drop_features([4, 5])", "--action", "extend_action([0])")

SOURCE = """
import gymnasium as gym
import numpy as np


class WiderCartPole(gym.Env):
    def __init__(self):
        self.env = gym.make("CartPole-v1")
        self.observation_space = gym.spaces.Box(-10, 10, (6,), np.float32)
        self.action_space = gym.spaces.MultiDiscrete([2, 2])

    def seen(self, obs):
        return np.hstack([obs, [8.0, 6.0]]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        obs, info = self.env.reset(seed=seed)
        return self.seen(obs), info

    def step(self, action):
        obs, *rest = self.env.step(action[0])
        return self.seen(obs), *rest
"""

DRAWN = """
import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv


class Drawn(CartPoleEnv):
    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def render(self):
        return np.full((8, 8, 3), 200, np.uint8) if self.render_mode else None
"""


@pytest.fixture(autouse=True)
def my_env(tmp_path, monkeypatch):
    """An environment of the user's own, importable by name."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "wider_cartpole.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """An empty folder to work in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_adapt_shows_what_it_has_to_ask(in_folder, capsys):
    """A dry run tells changes, steps and questions, writes nothing and ends with 1.

    The command that goes on from there works as it is printed.
    """
    assert main(["adapt", CARTPOLE, "--env", MY_ENV]) == 1

    page = capsys.readouterr().out
    assert "2 features are new" in page
    assert "drop_features(indices=[4, 5])" in page
    command = shlex.split(page.splitlines()[-1])
    assert command[:3] == ["next", "rlconnect", "adapt"]
    assert main(command[2:]) == 0


def test_adapt_writes_a_policy_that_verifies_and_plays(tmp_path, capsys):
    """From checkpoint to adapted checkpoint to return, in three commands."""
    out = tmp_path / "adapted"

    assert main(["adapt", CARTPOLE, "--env", MY_ENV, *STEPS, "--out", str(out)]) == 0
    assert main(["verify", str(out)]) == 0
    assert main(["rollout", str(out), "--env", MY_ENV, "--episodes", "2", "--json"]) == 0
    assert main(["rollout", CARTPOLE, "--env", "CartPole-v1", "--episodes", "2", "--json"]) == 0

    printed = capsys.readouterr().out
    assert "● equal" in printed
    adapted, old = (json.loads("{" + each) for each in printed.split("\n{")[1:])
    assert adapted["returns"] == old["returns"]


def test_accept_takes_the_proposals(tmp_path, capsys):
    """With --accept the proposed steps are used as they are."""
    out = tmp_path / "adapted"

    code = main(["adapt", CARTPOLE, "--env", MY_ENV, "--accept", "--out", str(out), "--json"])

    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert told["steps"]["obs"] == ["drop_features(indices=[4, 5])"]
    assert told["written"] == str(out)
    assert (out / "rlconnect.json").exists()


def test_verify_compares_two_checkpoints_and_writes_the_report(tmp_path, capsys):
    """A checkpoint beside itself is equal; the page lies where it was asked for."""
    report = tmp_path / "report.html"

    code = main(["verify", CARTPOLE, CARTPOLE, "--samples", "4", "--report", str(report)])

    assert code == 0
    assert "outputs" in capsys.readouterr().out
    assert "Both do the same" in report.read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_says_why(tmp_path, capsys):
    """The hint is about the reason: a folder that is not there is no full disk."""
    report = tmp_path / "nowhere" / "report.html"

    code = main(["verify", CARTPOLE, CARTPOLE, "--samples", "4", "--report", str(report)])

    told = capsys.readouterr().err
    assert code == 2
    assert "no such file or directory" in told
    assert "make the folder" in told
    assert "free some space" not in told


def test_verify_ends_with_1_where_they_differ(tmp_path, capsys):
    """A damaged copy parts at its outputs; JSON tells by how much."""
    from rlconnect.legacy import Policy

    policy = Policy.from_checkpoint(CARTPOLE)
    policy = next(iter(policy.values())) if isinstance(policy, dict) else policy
    weights = policy.get_weights()
    policy.set_weights({name: weight * 1.5 for name, weight in weights.items()})
    policy.export_checkpoint(tmp_path / "other")

    code = main(["verify", CARTPOLE, str(tmp_path / "other"), "--samples", "4", "--json"])

    (told,) = json.loads(capsys.readouterr().out)
    assert code == 1
    assert told["is_equal"] is False
    assert next(s["name"] for s in told["stages"] if s["beyond"]) == "outputs"


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["adapt", CARTPOLE], "which environment"),
        (["adapt", CARTPOLE, "--env", "No-Such-v0"], "No-Such-v0"),
        (["adapt", CARTPOLE, "--env", "no_such_module:Env"], "no_such_module.py"),
        (["adapt", CARTPOLE, "--env", MY_ENV, "--obs", "drop_feature([4])"], "drop_features"),
        (["adapt", CARTPOLE, "--env", MY_ENV, "--obs", "__import__('os')"], "no adapter step"),
        (["adapt", CARTPOLE, "--env", MY_ENV, "--obs", "drop_features(open('x'))"], "plain values"),
        (["verify", CARTPOLE], "no parity certificate"),
        (["verify", CARTPOLE, "--env", "CartPole-v1"], "second checkpoint"),
        (["rollout", "nowhere", "--env", "CartPole-v1"], "nowhere"),
    ],
)
def test_mistakes_are_two_lines_and_2(words, match, capsys):
    """A mistake in use names what is wrong and what to do; nothing of a step is run."""
    assert main(words) == 2

    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert said.out == ""
    assert len(lines) == 2
    assert match in said.err


BROKEN = """
import gymnasium as gym


class Broken(gym.Env):
    observation_space = gym.spaces.Box(-10, 10, (4,), "float32")
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.reward()

    def reward(self):
        return 1 / 0


class Odd(Broken):
    def step(self, action):
        raise SystemExit(0)
"""


@pytest.mark.parametrize("name", ["Broken", "Odd"])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_crash_in_the_users_code_shows_their_frames_and_3(
    name, options, my_env, tmp_path, capsys
):
    """Only their own lines stand there, none of ours."""
    (tmp_path / "code" / "broken_env.py").write_text(BROKEN, encoding="utf-8")

    code = main(["rollout", CARTPOLE, "--env", f"broken_env:{name}", *options])

    said = capsys.readouterr()
    assert code == 3
    assert "broken_env.py" in said.err
    assert "in step" in said.err
    assert "rollout.py" not in said.err
    if options:
        assert json.loads(said.out)["code"] == 3


MINE = """
import gymnasium as gym
from rlconnect.v2 import register_env


class Long(gym.Env):
    def __init__(self, config):
        self.env = gym.make("CartPole-v1", max_episode_steps=config.get("length", 3))
        self.observation_space = self.env.observation_space
        self.action_space = self.env.action_space

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed)

    def step(self, action):
        return self.env.step(action)


register_env("long_cartpole", Long)
gym.register("LongPole-v0", lambda: Long({}))
"""


@pytest.mark.parametrize(
    ("words", "length"),
    [
        (["--env", "{0}:Long"], 3),
        (["--env", "{0}.py:Long"], 3),
        (["--env", "{0}:Long", "--env-config", "length=5"], 5),
        (["--env", "{0}:Long", "--env-config", '{{"length": 4}}'], 4),
        (["--env", "long_cartpole", "--import", "{0}.py", "--env-config", "length=6"], 6),
        (["--env", "{0}:LongPole-v0"], 3),
        (["--env", "CartPole-v1", "--env-config", "max_episode_steps=7"], 7),
    ],
)
def test_an_environment_is_found_in_this_folder_and_takes_settings(
    words, length, in_folder, request, capsys
):
    """By module, by file, by what importing it registers; with JSON or KEY=VALUE."""
    gym.registry.pop("LongPole-v0", None)
    name = f"mine{abs(hash(request.node.name))}"
    (in_folder / f"{name}.py").write_text(MINE, encoding="utf-8")

    words = [each.format(name) for each in words]
    assert main(["rollout", CARTPOLE, *words, "--episodes", "1", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["lengths"] == [length]


def test_the_checkpoints_own_environment_is_the_default(capsys):
    """Without --env the one that the checkpoint names plays, where gymnasium has it."""
    lake = str(Path(CARTPOLE).with_name("ppo-frozenlake-tensorflow-2022"))

    assert main(["rollout", lake, "--episodes", "1", "--json"]) == 0

    assert len(json.loads(capsys.readouterr().out)["lengths"]) == 1


AGENTS = """
import gymnasium as gym
from rlconnect.v2 import MultiAgentEnv


class Two(MultiAgentEnv):
    def __init__(self, config=None):
        super().__init__()
        self.envs = {name: gym.make("CartPole-v1", max_episode_steps=4) for name in "ab"}
        self.agents = self.possible_agents = ["a", "b"]
        self.observation_spaces = {n: e.observation_space for n, e in self.envs.items()}
        self.action_spaces = {n: e.action_space for n, e in self.envs.items()}

    def reset(self, *, seed=None, options=None):
        return {name: env.reset(seed=seed)[0] for name, env in self.envs.items()}, {}

    def step(self, actions):
        made = {name: self.envs[name].step(action) for name, action in actions.items()}
        parts = [{name: each[part] for name, each in made.items()} for part in range(5)]
        for part in (2, 3):
            parts[part]["__all__"] = any(parts[part].values())
        return tuple(parts)


class Parallel:

    metadata = {}

    def __init__(self):
        self.inner = Two()
        self.possible_agents = self.agents = ["a", "b"]

    def observation_space(self, agent):
        return self.inner.observation_spaces[agent]

    def action_space(self, agent):
        return self.inner.action_spaces[agent]

    def reset(self, seed=None, options=None):
        self.agents = ["a", "b"]
        return self.inner.reset(seed=seed)

    def step(self, actions):
        obs, rewards, ends, cuts, infos = self.inner.step(actions)
        if ends.pop("__all__") | cuts.pop("__all__"):
            self.agents = []
            ends = dict.fromkeys(ends, True)
        return obs, rewards, ends, cuts, infos
"""


@pytest.fixture(scope="module")
def two_policies(tmp_path_factory):
    """A checkpoint of two policies, and one whose second was changed."""
    from rlconnect.legacy import Policy, export_policies

    folder = tmp_path_factory.mktemp("two")
    policy = Policy.from_checkpoint(CARTPOLE)["default_policy"]
    changed = Policy.from_checkpoint(CARTPOLE)["default_policy"]
    changed.set_weights({name: each * 1.5 for name, each in changed.get_weights().items()})
    export_policies({"x": policy, "y": policy}, folder / "same")
    export_policies({"x": policy, "y": changed}, folder / "other")
    return folder


@pytest.mark.parametrize("kind", ["Two", "Parallel"])
def test_several_agents_play_and_are_compared(kind, two_policies, my_env, tmp_path, capsys):
    """By --map each agent has its policy; the one that differs is told by its policy."""
    (tmp_path / "code" / "two_agents.py").write_text(AGENTS, encoding="utf-8")
    given = ["--env", f"two_agents:{kind}", "--map", "a=x", "--map", "b=y", "--episodes", "2"]
    same, other = (str(two_policies / name) for name in ("same", "other"))

    assert main(["rollout", same, *given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["returns"] == [8.0, 8.0]
    assert main(["verify", same, same, *given]) == 0
    capsys.readouterr()
    assert main(["verify", same, other, *given, "--json"]) == 1

    told = json.loads(capsys.readouterr().out)
    assert [each["is_equal"] for each in told] == [True, False]


def test_policies_are_chosen_alike_everywhere(two_policies, tmp_path, capsys):
    """`--policy`, repeated, and `--all`; one is needed where a command works on one."""
    same = str(two_policies / "same")
    adapt = ["adapt", same, "--env", "CartPole-v1"]

    assert main(["verify", same, same, "--policy", "x", "--policy", "y", "--samples", "2"]) == 0
    assert capsys.readouterr().out.count("● equal") == 2
    assert main([*adapt, "--all", "--out", str(tmp_path / "all")]) == 0
    assert main(["verify", str(tmp_path / "all"), same, "--samples", "2"]) == 0
    assert main([*adapt, "--policy", "x", "--json"]) == 0
    capsys.readouterr()

    assert main(adapt) == 2
    assert "--policy ID" in capsys.readouterr().err
    assert main([*adapt, "--all", "--policy", "x"]) == 2
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--env", "nowhere.py:Env"], "nothing lies there"),
        (["--env", "odd:"], "MODULE:NAME"),
        (["--env-config", "size", "--env", "CartPole-v1"], "JSON or KEY=VALUE"),
        (["--env-config", "[1]", "--env", "CartPole-v1"], "JSON or KEY=VALUE"),
        (["--env-config", "nonsense=1", "--env", "CartPole-v1"], "nonsense"),
        (["--import", "no_such_module_here", "--env", "CartPole-v1"], "no_such_module_here"),
        (["--map", "a", "--env", "CartPole-v1"], "AGENT=ID"),
        (["--config", "nowhere.json", "--env", "CartPole-v1"], "JSON file"),
        (["--trust", "json:nothing_such", "--env", "CartPole-v1"], "a name in json"),
        (["--env", "No-Such-v0"], "FILE.py:NAME"),
    ],
)
def test_options_that_cannot_be_used_say_why(words, match, capsys):
    """Each names what was expected; none is a traceback."""
    assert main(["rollout", CARTPOLE, *words]) == 2

    assert match in capsys.readouterr().err


def test_a_module_that_does_not_import_is_the_users(in_folder, capsys):
    """A mistake in it shows its own place and ends with 3."""
    (in_folder / "half.py").write_text("x = 1\nimport not_a_package_of_anybody\n", encoding="utf-8")
    (in_folder / "odd.py").write_text("def f(:\n", encoding="utf-8")

    assert main(["rollout", CARTPOLE, "--env", "half:Env"]) == 3
    told = capsys.readouterr().err
    assert main(["rollout", CARTPOLE, "--env", "odd.py:Env"]) == 3

    assert "half.py" in told
    assert "not_a_package_of_anybody" in told
    assert "odd.py" in capsys.readouterr().err


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """A checkpoint that has lost its spaces."""
    from rlconnect.core.vault import open_checkpoint, save_records

    checkpoint = open_checkpoint(CARTPOLE)
    policy = checkpoint.policies["default_policy"]
    without = dataclasses.replace(
        policy,
        observation_space=None,
        action_space=None,
        agent_connectors=None,
        action_connectors=None,
        config={name: each for name, each in policy.config.items() if "space" not in name},
    )
    path = tmp_path_factory.mktemp("lost") / "lost"
    save_records(path, dataclasses.replace(checkpoint, policies={policy.id: without}))
    return str(path)


def test_lost_spaces_are_those_of_the_environment(lost, capsys):
    """Where it plays they are taken from --env; elsewhere the hint names the option that works."""
    assert main(["rollout", lost, "--env", "CartPole-v1", "--episodes", "1"]) == 0
    capsys.readouterr()

    assert main(["verify", lost, CARTPOLE, "--samples", "2"]) == 2
    assert "--trained-in ENV" in capsys.readouterr().err
    given = ["--trained-in", "CartPole-v1"]
    assert main(["verify", lost, CARTPOLE, "--samples", "2", *given]) == 0
    assert main(["adapt", lost, "--env", "CartPole-v1", *given]) == 0


def test_hints_speak_of_options(capsys):
    """What is Python in a hint of the library is an option here."""
    from rlconnect.cli.hints import shell_hint

    told = {
        "give the actor a policy_mapping_fn, or a dict from agents to policies.": "--map AGENT=ID",
        "pass algorithm=... if it was another.": "--algorithm NAME",
        "supply it: from_checkpoint(path, custom_models={'m': M})": "--trust FILE.py:NAME",
    }
    for hint, option in told.items():
        assert option in shell_hint(hint)
        assert "=..." not in shell_hint(hint)
    assert shell_hint("pass it: f(trust=[Net])", ["my.Net"]).endswith("--trust FILE.py:Net")


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["left", "right"], ["left.onnx", "right.onnx"]),
        (["a:b", "a b"], ["a-b-0.onnx", "a-b-1.onnx"]),
        (["agent", "Agent"], ["agent-0.onnx", "Agent-1.onnx"]),
        (["CON", "other"], ["CON-0.onnx", "other-1.onnx"]),
    ],
)
def test_each_policy_gets_a_file_that_every_system_has(ids, names):
    """What Windows keeps for itself or mixes up is numbered, here too."""
    files = export_command._files(ids, "path", Path("out"), None, Chosen(None, True))

    assert [file.name for file in files.values()] == names


def test_rollout_films(in_folder, capsys):
    """A user's environment gets its `render_mode`; one that cannot be filmed is told kindly."""
    image = pytest.importorskip("PIL.Image")
    Path("drawn.py").write_text(DRAWN, encoding="utf-8")
    line = ["rollout", CARTPOLE, "--episodes", "1", "--env"]

    assert main([*line, "drawn.py:Drawn", "--video", "film.gif", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    with image.open("film.gif") as film:
        assert film.n_frames == told["lengths"][0] + 1
    assert told["video"] == "film.gif"

    assert (
        main([*line, "drawn.py:Drawn", "--env-config", "render_mode=ansi", "--video", "b.gif"]) == 2
    )
    assert "render_mode='rgb_array'" in capsys.readouterr().err
    assert main([*line, "drawn.py:Drawn", "--video", "film.png"]) == 2
    assert ".gif or .mp4" in capsys.readouterr().err
