"""Every block of code on the pages of the site runs, in the order of its page."""

import doctest
import re
import shlex
import shutil
import socket
import threading

import pytest
from rlconnect.cli.app import main

from .blocks import PAGES, PARTS, ROOT, fences
from .excerpts import IN_USE

SAMPLE = "ppo-pendulum-ray-2.7"
NEEDS = {
    "guides/old-checkpoint.md": "onnxruntime",
    "howto/act-on-samples.md": "pyarrow",
    "howto/evaluate.md": "pyarrow",
    "howto/compile.md": "onnxruntime",
    "howto/export.md": "onnxruntime",
    "howto/film.md": "pygame",
    "howto/mlflow.md": "mlflow.pyfunc",
    "howto/learn-from-samples.md": "pyarrow",
    "howto/optuna.md": "optuna",
}  # of the extras
LOOKS = {"inspect", "scan", "adapt", "codemod", "verify", "evaluate"}  # 1 tells what they found


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder as a reader has it, after `rlconnect sample .`, and a port that is free."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")
    monkeypatch.syspath_prepend(tmp_path)
    shutil.copytree(ROOT / "src/samples" / SAMPLE, tmp_path / SAMPLE)
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


def shell(lines, capsys, port):
    """Run the lines of a shell that call rlconnect; a server answers in a thread."""
    for line in lines.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["rlconnect"] or words[1] == "sample":
            continue
        if words[1] == "serve":
            threading.Thread(target=main, args=(words[1:],), daemon=True).start()
            wait_for(port)
            continue
        code = main(words[1:])
        said = capsys.readouterr()
        assert code in ((0, 1) if words[1] in LOOKS else (0,)), f"{line}\n{said.err}{said.out}"


def prompted(code, names, page):
    """Run what is typed at prompts, and compare the answers."""
    example = doctest.DocTestParser().get_doctest(code, names, page, page, 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=flags).run(example).failed == 0


def wait_for(port):
    """Until a server listens."""
    while True:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", int(port))) == 0:
                return


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::rlconnect.core.errors.UnsafeContentWarning")
@pytest.mark.filterwarnings("ignore::rlconnect.bridge.actor.actor.SlowPieceWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if fences(page) and page not in PARTS])
def test_the_code_of_a_page_runs(page, place, tmp_path, capsys):
    """Blocks of a page share their names, files and folder, as a reader's do."""
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    names = {"__name__": "page"}
    for kind, options, code in fences(page):
        code = code.replace("8000", place)
        title = re.search(r'title="(.+?)"', options)
        if title:
            (tmp_path / title[1]).write_text(code, encoding="utf-8")
        elif kind == "python":
            exec(compile(code, f"{page}", "exec"), names)
        elif kind == "pycon":
            prompted(code, names, page)
        elif kind == "sh":
            shell(code, capsys, place)


@pytest.mark.torch
@pytest.mark.parametrize("file", IN_USE, ids=lambda file: file.stem)
def test_names_in_use_do_what_is_shown(file, place):
    """What the reference shows where no page is about a name."""
    torch = pytest.importorskip("torch")
    deterministic = torch.are_deterministic_algorithms_enabled()
    try:
        prompted(file.read_text(encoding="utf-8"), {"__name__": "page"}, file.name)
    finally:
        torch.use_deterministic_algorithms(deterministic)
