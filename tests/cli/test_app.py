"""The command line: exit codes, two-line errors, pages that no file can break."""

import json
import os
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rlconnect
from rlconnect.cli.app import main, program
from rlconnect.cli.environments import Environment
from rlconnect.core.errors import ConfigError
from rlconnect.core.vault import save_records
from rlconnect.serve.settings import ServeSettings

from ..core.vault.recorded import (
    MULTI_AGENT,
    NEW_ALGORITHM,
    PENDULUM,
    RECORDINGS,
    WORKER,
    copy_of,
    cut,
    policy_state,
    remove,
    write_policy,
)

SAMPLE = Path(__file__).parents[2] / "examples/checkpoints/ppo-cartpole-ray-2.60"
DETECT = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"  # or it looks at the shell that runs us
HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]\x9b1m\u202egnp\n:smile:\ud800\0"


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    """Pages are 100 columns wide, whatever terminal runs the tests."""
    monkeypatch.setenv("COLUMNS", "100")


def complaint(capsys, as_json=False):
    """What a failed command printed: its two lines; one document on standard output with --json."""
    said = capsys.readouterr()
    if as_json:
        assert {"error", "expected", "found", "hint", "type"} <= set(json.loads(said.out))
    else:
        assert said.out == ""
    lines = said.err.splitlines()
    assert len(lines) == 2, said.err
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")
    return lines


def hostile_policy(folder):
    """A policy whose every name is written to be acted upon by a terminal."""
    state = policy_state(**{HOSTILE: 1})
    state["weights"] = {HOSTILE: np.ones(2, np.float32)}
    spec = state["policy_spec"]
    spec["policy_class"] = f"evil.{HOSTILE}"
    spec["config"] |= {"env": HOSTILE, HOSTILE: HOSTILE, "model": {"custom_model": HOSTILE}}
    spec["config"]["exploration_config"] = {"type": HOSTILE}
    pieces = [[HOSTILE, {HOSTILE: HOSTILE}], ["MeanStd", {"running_stats": HOSTILE}]]
    state["connector_configs"] = {"agent": ["AgentConnectorPipeline", pieces]}
    path = write_policy(folder, state)
    told = {"type": "Policy", "ray_version": HOSTILE, "checkpoint_version": HOSTILE}
    (path / "rllib_checkpoint.json").write_text(json.dumps(told), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", [PENDULUM, MULTI_AGENT, WORKER, NEW_ALGORITHM, "new/2.60.0-pipe"])
@pytest.mark.parametrize("options", [(), ("--weights",), ("--json",)])
def test_inspect_shows_any_checkpoint(name, options, capsys):
    """Whole checkpoints of each stack end with 0 and fill the page."""
    assert main(["inspect", str(RECORDINGS / name), *options]) == 0

    assert len(capsys.readouterr().out.splitlines()) > 10


def test_inspect_says_what_matters(capsys):
    """Algorithm, release, spaces, network, connectors, filter and the next command are there."""
    main(["inspect", str(RECORDINGS / PENDULUM)])

    page = capsys.readouterr().out
    for words in (
        "PPO algorithm checkpoint",
        "Ray 2.7.2, old API stack",
        "Box(1,) float32 in [-2, 2]",
        "dense 32-32 tanh",
        "ClipReward → ObsPreprocessor → MeanStd → StateBuffer → ViewRequirement",
        "over 150 observations",
        "● complete",
        "--weights",
    ):
        assert words in page, words


def test_inspect_json_is_one_document(capsys):
    """`--json` prints the whole description and nothing beside it."""
    main(["inspect", str(RECORDINGS / PENDULUM), "--json"])

    told = json.loads(capsys.readouterr().out)
    assert told["policies"]["default_policy"]["weights"]["count"] == 2467


def test_inspect_one_policy(capsys):
    """`--policy` shows one of many."""
    assert main(["inspect", str(RECORDINGS / MULTI_AGENT), "--policy", "pol_1"]) == 0

    page = capsys.readouterr().out
    assert "policy pol_1" in page
    assert "policy pol_0" not in page


def test_weights_that_are_not_numbers_are_told(tmp_path, capsys):
    """A network that diverged is seen at a glance."""
    weights = {"w": np.array([np.nan, 1.0], np.float32), "empty": np.ones((0, 3), np.float32)}
    path = write_policy(tmp_path / "policy", policy_state(weights=weights))

    assert main(["inspect", str(path), "--weights"]) == 0

    assert "1 of 2" in capsys.readouterr().out


def test_a_finding_is_exit_code_1(tmp_path, capsys):
    """A damaged policy is shown with what survives, and found by the exit code."""
    path = copy_of(MULTI_AGENT, tmp_path)
    cut(path / "policies/pol_1/policy_state.pkl")

    assert main(["inspect", str(path)]) == 1
    assert main(["scan", str(tmp_path)]) == 1

    page = capsys.readouterr().out
    assert "policies/pol_1/policy_state.pkl" in page
    assert "○ damaged" in page


def bad_paths(folder):
    """Every mistaken path of a day's work, with words its complaint must hold."""
    empty = folder / "empty"
    empty.mkdir()
    (folder / "model.onnx").write_text("x", encoding="utf-8")
    whole = copy_of(PENDULUM, folder)
    for trial in ("trial", "other_trial"):
        at = folder / "experiment" / trial
        copy_of(PENDULUM, at).rename(at / "checkpoint_000001")
    gone = copy_of(PENDULUM, folder / "gone")
    remove(gone, "policies", "algorithm_state.pkl")
    broken = write_policy(folder / "broken")
    cut(broken / "policy_state.pkl")
    odd = write_policy(folder / "odd")
    (odd / "policy_state.pkl").write_bytes(b"")
    other = folder / "other"
    other.mkdir()
    (other / "checkpoint-1").write_bytes(pickle.dumps({"worker": b"\x80\x04N."}))
    return {
        folder / "nowhere": "nothing lies at",
        empty: "empty folder",
        folder / "model.onnx": "is a file",
        whole / "algorithm_state.pkl": "is a file",
        gone: "algorithm_state.pkl",
        broken: "policy_state.pkl",
        odd: "policy_state.pkl",
        other: "checkpoint-1",
        folder / ("x" * 3000): "cannot be read",
        f"{folder}/a\0b": "embedded null",
    }


def test_every_bad_path_is_two_lines_and_code_2(tmp_path, capsys):
    """Each mistake is one error and one hint, exit code 2, no traceback, nothing on stdout."""
    for path, words in bad_paths(tmp_path).items():
        for options in ((), ("--json",)):
            assert main(["inspect", str(path), *options]) == 2
            assert words in " ".join(complaint(capsys, as_json=bool(options)))


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect"],
        ["inspect", "a", "b"],
        ["inspect", "--nonsense", "a"],
        ["inspect", "a", "--policy"],
        ["scan"],
        ["scan", "nowhere"],
        ["scan", __file__],
        ["teapot"],
        ["--nonsense"],
        ["inspect", str(RECORDINGS / MULTI_AGENT), "--policy", "pol_9"],
        ["inspect", str(RECORDINGS / MULTI_AGENT), "--policy", HOSTILE],
    ],
    ids=lambda arguments: " ".join(arguments)[:24].encode("unicode_escape").decode(),
)
def test_every_wrong_command_line_is_two_lines_and_code_2(arguments, capsys):
    """A mistaken command line is told the same way."""
    assert main(arguments) == 2

    complaint(capsys)


def test_no_permission_is_two_lines(tmp_path, monkeypatch, capsys):
    """A folder of somebody else's is told as that."""

    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)

    for command in ("inspect", "scan"):
        assert main([command, str(tmp_path)]) == 2
        assert "no permission to read" in complaint(capsys)[0]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full disk to write to")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_full_disk_is_two_lines(options):
    """Output that cannot be written is told, without a traceback."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run("inspect", str(RECORDINGS / PENDULUM), *options, stdout=full)

    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("error: the output cannot be written")
    assert len(done.stderr.splitlines()) == 2


def test_a_reader_that_stops_is_no_error():
    """`rlconnect inspect ... | head -1` ends quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = run("inspect", str(RECORDINGS / PENDULUM), "--json", stdout=pipe)

    assert (done.returncode, done.stderr) == (0, "")


def run(*arguments, **options):
    """`rlconnect` in a process of its own."""
    options = {"stdout": subprocess.PIPE, **options}
    code = "from rlconnect.cli.app import entry; entry()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        **{"encoding": "utf-8", **options},
    )


def test_a_terminal_of_another_alphabet_gets_a_page():
    """Where the encoding lacks our marks they are replaced, not raised about."""
    done = run(
        "inspect",
        str(RECORDINGS / PENDULUM),
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )

    assert done.returncode == 0
    assert "PPO algorithm checkpoint" in done.stdout


def test_a_pipe_gets_no_colour_and_a_terminal_may(monkeypatch, capsys):
    """Escape sequences are for terminals; FORCE_COLOR asks for them elsewhere."""
    main(["inspect", str(RECORDINGS / PENDULUM)])
    plain = capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["inspect", str(RECORDINGS / PENDULUM)])
    coloured = capsys.readouterr().out

    assert "\x1b" not in plain
    assert "\x1b[" in coloured


@pytest.mark.parametrize("options", [(), ("--weights",), ("--json",)])
def test_hostile_names_never_reach_the_terminal(options, tmp_path, capsys):
    """Names with escape sequences, markup, bidi marks and newlines are spelt out."""
    name = HOSTILE.replace("\0", "").replace("\ud800", "")
    path = hostile_policy(tmp_path / "policies" / name)

    code = main(["inspect", str(path), *options])

    page = capsys.readouterr().out
    assert code == 0
    assert [c for c in page if not (c.isprintable() or c == "\n")] == []
    assert "gnp" in page
    assert "[bold red]" in page
    if "--json" in options:
        assert HOSTILE in json.loads(page)["config"]


def test_hostile_names_do_not_break_the_table(tmp_path, capsys):
    """`scan` spells them out too, one line each."""
    hostile_policy(tmp_path / "policies" / "a\x1b[2Jpolicy")

    main(["scan", str(tmp_path)])

    page = capsys.readouterr().out
    assert [c for c in page if not (c.isprintable() or c == "\n")] == []
    assert "\\x1b[2J" in page


def test_hostile_errors_are_two_lines(tmp_path, capsys):
    """A path or message with newlines and escapes is still two harmless lines."""
    assert main(["inspect", str(tmp_path / "a\x1b[2J\nb")]) == 2

    lines = complaint(capsys)
    assert "\x1b" not in "".join(lines)


def test_scan_json_is_a_list(capsys):
    """`scan --json` gives one object for each checkpoint."""
    assert main(["scan", str(RECORDINGS / "new"), "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert {row["level"] for row in rows} == {"complete", "state only"}
    assert all(os.path.isabs(row["path"]) for row in rows)


def test_our_own_format_is_shown(tmp_path, capsys):
    """What rlconnect saved is inspected and scanned like anything else."""
    save_records(tmp_path / "own", rlconnect.open_checkpoint(RECORDINGS / PENDULUM))

    assert main(["inspect", str(tmp_path / "own"), "--weights"]) == 0
    assert main(["scan", str(tmp_path)]) == 0
    assert "rlconnect 1" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_one_line(option, capsys):
    """`--version` and `-V` print name and version."""
    assert main([option]) == 0

    assert capsys.readouterr().out == f"rlconnect {rlconnect.__version__}\n"


@pytest.mark.parametrize("option", ["bash", "zsh", "fish"])
def test_shells_get_a_script(option, monkeypatch, capsys):
    """It asks the program what may follow."""
    monkeypatch.setenv(DETECT, "1")
    monkeypatch.setattr("rlconnect.cli.app.program", program.__wrapped__)

    assert main(["--show-completion", option]) == 0

    assert "_RLCONNECT_COMPLETE" in capsys.readouterr().out


def test_shells_complete_commands():
    """The program answers what a shell's script asks."""
    asked = {
        "_RLCONNECT_COMPLETE": "complete_bash",
        "COMP_WORDS": "rlconnect in",
        "COMP_CWORD": "1",
    }

    done = run(env={**os.environ, **asked})

    assert done.stdout.split() == ["inspect"]


def test_help_of_a_command_is_its_help(capsys):
    """`help COMMAND` and `COMMAND --help` print the same; one that is not there is told."""
    assert main(["verify", "--help"]) == 0
    shown = capsys.readouterr().out

    assert main(["help", "verify"]) == 0

    assert capsys.readouterr().out == shown
    assert main(["help", "teapot"]) == 2
    assert "no command 'teapot'" in complaint(capsys)[0]


def test_wrong_command_lines_are_json_too(capsys):
    """A script that asked for JSON reads why its command line was refused."""
    assert main(["inspect", "--nonsense", "--json"]) == 2

    told = json.loads(capsys.readouterr().out)
    assert (told["type"], told["code"]) == ("UsageError", 2)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"], ["inspect", "--help"]])
def test_help_is_done(arguments, capsys):
    """No arguments at all and every form of asking for help end well."""
    assert main(arguments) == 0

    assert "inspect" in capsys.readouterr().out


def test_help_loads_little_and_inspect_no_torch():
    """Help loads neither torch nor the vault nor gymnasium, a look into a checkpoint no torch."""
    path = str(RECORDINGS / PENDULUM)
    code = (
        "import sys; from rlconnect.cli.app import main; main(['--version']); main(['--help']);"
        "print(sorted({'torch', 'gymnasium', 'numpy', 'ray', 'optree'} & set(sys.modules)));"
        f"main(['inspect', {path!r}]); print(sorted({{'torch', 'ray'}} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8"
    )

    lines = done.stdout.splitlines()
    assert (lines.count("[]"), lines[-1]) == (2, "[]"), done.stdout + done.stderr


@pytest.mark.filterwarnings("always::rlconnect.core.errors.ChosenCheckpointWarning")
@pytest.mark.parametrize("words", [["inspect"], ["convert", "--out", "copy"]])
def test_a_trial_stands_for_its_newest_checkpoint(words, tmp_path, monkeypatch, capsys):
    """For commands that only read as for `load`; the choice is told, once."""
    monkeypatch.chdir(tmp_path)
    for number in (2, 10):
        copy_of(PENDULUM, tmp_path / "trial").rename(tmp_path / f"trial/checkpoint_{number:06}")

    assert main([words[0], "trial", *words[1:]]) == 0

    said = capsys.readouterr()
    assert said.err.count("loading the newest below it, checkpoint_000010") == 1


@pytest.mark.filterwarnings("always::rlconnect.core.errors.ChosenCheckpointWarning")
def test_warnings_of_ours_are_one_line(capsys):
    """What a command chose is told without the place in our sources."""
    trial = Path(__file__).parents[1] / "golden" / "checkpoints" / "2.60.0-ppo_cartpole_meanstd"

    assert main(["verify", str(trial), str(trial), "--samples", "1"]) == 0

    said = capsys.readouterr().err
    assert "warning: " in said
    assert "loading the newest below it, algo_checkpoint" in said
    assert "ChosenCheckpointWarning" not in said


def test_files_that_are_trusted_may_take_more(capsys, tmp_path):
    """The hint of a bound is the command that widens it; what is no bound is told."""
    command = ["convert", str(RECORDINGS / PENDULUM), "--out", str(tmp_path / "new")]
    assert main(["--limit", "base_memory=10", "--limit", "memory_factor=0", *command]) == 2
    hint = complaint(capsys)[1]
    again = ["--limit", "base_memory=NUMBER", "--limit", "memory_factor=0", *command]
    assert hint.endswith(f"say rlconnect {shlex.join(again)}")
    assert main(["--limit", f"base_memory={1 << 30}", "--limit", "memory_factor=0", *command]) == 0
    capsys.readouterr()
    for bound in ("memory=1", "max_depth", "max_depth=many"):
        assert main(["--limit", bound, *command]) == 2
        assert bound.partition("=")[0] in complaint(capsys)[0]


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_error(closed):
    """Output to a closed stream is discarded."""
    command = f"{shlex.quote(sys.executable)} -m rlconnect inspect {shlex.quote(str(SAMPLE))}"

    done = subprocess.run(["sh", "-c", f"{command} --json {closed}"], capture_output=True)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "nowhere", "--port", "99999"],
        ["rollout", "nowhere", "--env", "os:path"],
        ["rollout", "nowhere", "--env", "{folder}/mine.py:nothing"],
    ],
)
def test_a_wrong_port_or_environment_is_no_defect_of_ours(words, tmp_path, capsys):
    """Only our own bugs are to be reported."""
    (tmp_path / "mine.py").write_text("def nothing(config):\n    return None\n")
    environment = Environment(env="os:path")

    code = main([word.format(folder=tmp_path) for word in words])

    assert code == 2
    assert "itself failed" not in capsys.readouterr().err
    with pytest.raises(ConfigError, match="not an environment"):
        environment.make("nowhere")
    with pytest.raises(ConfigError, match="not an environment"):
        Environment(env=f"{tmp_path}/mine.py:nothing").make("nowhere")
    with pytest.raises(ConfigError, match="'port'"):
        ServeSettings.read({"port": 99999}, {})
