"""What a newcomer tries first works: every example, and the code on the README's first screen."""

import re
import shlex
from pathlib import Path

import pytest
from rlconnect.core.importing.torch_needed import has_torch

from tests.docs import gallery

ROOT = Path(__file__).parents[1]
FIRST_SCREEN = 60  # lines
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def first_screen(text):
    """(python snippets, `rlconnect ...` command lines) among the first lines of a page.

    A block that opens on the first screen is read to its end. Shell lines that do not call
    rlconnect (`pip install`, `make`, ...) are left out.
    """
    cut = sum(len(line) for line in text.splitlines(keepends=True)[:FIRST_SCREEN])
    blocks = [match.groups() for match in FENCE.finditer(text) if match.start() < cut]
    python = [body for kind, body in blocks if kind == "python"]
    lines = [
        line.removeprefix("$ ").strip()
        for kind, body in blocks
        if kind in {"bash", "console", "sh", "shell"}
        for line in body.splitlines()
    ]
    return python, [line for line in lines if line.startswith("rlconnect ")]


ENTRY = "import sys; from rlconnect.cli.app import entry; sys.exit(entry())"


PYTHON, COMMANDS = first_screen((ROOT / "README.md").read_text(encoding="utf-8"))


SHOWN = gallery.recorded()
NEEDS = {"08_run_an_exported_policy.py": ["onnxruntime"], "12_film_a_policy.py": ["PIL", "pygame"]}
TORCH_IS_MISSING = "needs torch, which is not installed.\n"


def imports(done, example):
    """Whether a line of the example's own imports something that is not there, none of ours."""
    files = re.findall(r'^  File "(.+?)"', done.stderr, re.MULTILINE)
    return "\nModuleNotFoundError: " in done.stderr and Path(files[-1]).name == example


@pytest.fixture
def workplace(tmp_path):
    """An empty folder from which the examples are seen as from the repository's root."""
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    return tmp_path


@pytest.mark.parametrize("example", sorted(path.name for path in ROOT.glob("examples/*.py")))
def test_an_example_runs_as_it_stands(example, workplace):
    """Each finishes with its defaults, from any folder, and prints what the gallery shows."""
    for package in NEEDS.get(example, ()):
        pytest.importorskip(package)
    done = gallery.run(example, workplace)

    if not has_torch() and (
        TORCH_IS_MISSING in done.stdout + done.stderr or imports(done, example)
    ):
        pytest.skip("torch is not installed")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if example in SHOWN:
        assert gallery.differences(SHOWN[example], done.stdout) == []
    for film in workplace.glob("*.gif"):
        assert frames_in(film) == frames_in(gallery.PICTURES / f"{Path(example).stem}.gif")


def frames_in(film):
    """How many pictures a film has, and of which size."""
    from PIL import Image

    with Image.open(film) as opened:
        return opened.n_frames, opened.size


def test_the_gallery_is_made_of_the_examples():
    """What their docstrings say, all of them: `python -m tests.docs.gallery` writes the page."""
    assert gallery.page(SHOWN) == gallery.PAGE.read_text(encoding="utf-8")
    adapter = gallery.PICTURES / gallery.ADAPTER
    assert gallery.adapter_picture() == adapter.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("shown", "printed", "differ"),
    [
        ("loss 0.387\n", "loss  0.3871\n", []),
        ("loss 0.387\n", "loss 0.5\n", ["loss 0.5"]),
        ("loss 0.387\n", "cost 0.387\n", ["cost 0.387"]),
        ("a\nb\n", "a\n", ["1 lines instead of 2"]),
        ("25 us an answer\n", "900 us an answer\n", []),
    ],
)
def test_the_gallery_holds_words_and_numbers(shown, printed, differ):
    """Words as they are, numbers within a tolerance, none that depend on the machine."""
    assert gallery.differences(shown, printed) == differ


@pytest.mark.parametrize("snippet", PYTHON)
def test_readme_python_runs(snippet, workplace):
    """Python on the README's first screen runs from the repository's root."""
    done = gallery.run(["-c", snippet], workplace)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_commands_run(command, workplace):
    """Commands on the README's first screen end well: done (0) or with a finding (1)."""
    arguments = shlex.split(command, comments=True)[1:]

    done = gallery.run(["-c", ENTRY, *arguments], workplace)

    assert done.returncode in {0, 1}, done.stderr
    assert "Traceback" not in done.stderr


def test_readme_shows_the_setup_of_a_fresh_machine():
    """`make demo` and `make test` stand one under the other, and both are targets."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert re.search(r"^ {4}make demo\b.*\n {4}make test\b", readme, re.MULTILINE)
    assert {"demo", "test"} <= set(re.findall(r"^(\w+): \$\(STAMP\)", makefile, re.MULTILINE))


def test_first_screen_reads_blocks_and_commands():
    """Python blocks come whole, commands without their prompt; later screens are left alone."""
    page = (
        "# x\n```console\n$ rlconnect inspect a  # see\npip install rlconnect\n```\n"
        "```python\nprint(1)\n```\n" + "\n" * FIRST_SCREEN + "```python\nprint(2)\n```\n"
    )

    python, commands = first_screen(page)

    assert python == ["print(1)\n"]
    assert commands == ["rlconnect inspect a  # see"]
