"""What would break elsewhere is seen here: encodings, names of files, parts of POSIX alone."""

import ast
import os
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from rlconnect.core.data.file_names import names_trouble
from rlconnect.core.errors import ConfigError
from rlconnect.core.vault.own import flushing
from rlconnect.v2.saving import checkpointable

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
OPENS = re.compile(r"\bopen\b|_text\b|\btext\s*=")
"""What stands in each source with a call that opens text."""
NUMPY_INT = re.compile(r"\b(?:int_?|long)\b['\"]?\s*[,)]")
POSIX_ALONE = {"fcntl", "resource", "pwd", "grp", "pty", "termios"}


def calls_that_open_text(tree):
    """Calls that read or write text and leave the encoding to the machine's locale."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(word.arg == "encoding" for word in node.keywords):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ("read_text", "write_text"):
            yield node
        if any(word.arg == "text" for word in node.keywords) and "subprocess" in ast.unparse(node):
            yield node
        if name != "open":
            continue
        modes = [each.value for each in node.args if isinstance(each, ast.Constant)]
        modes += [getattr(word.value, "value", "") for word in node.keywords if word.arg == "mode"]
        is_text = not any(isinstance(mode, str) and "b" in mode for mode in modes)
        if ast.unparse(node.func) == "archive.open":
            continue  # a zip file's members are bytes
        is_path = isinstance(node.func, ast.Attribute) and not node.args
        says_mode = (
            modes
            and isinstance(modes[-1], str)
            and 0 < len(modes[-1]) < 4
            and {*modes[-1]} <= {*"rwaxt+"}
        )
        if is_text and (says_mode or (is_path and node.keywords)):
            yield node


@cache
def tree_of(path):
    """A file's syntax, read once."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["src", "examples", "benchmarks"])
def test_every_text_has_its_encoding(name):
    """A locale's encoding (cp1252, ASCII) would write files that other machines cannot read."""
    found = [
        f"{source.relative_to(ROOT)}:{call.lineno}"
        for source in sorted((ROOT / name).rglob("*.py"))
        if "golden" not in source.parts and OPENS.search(source.read_text(encoding="utf-8"))
        for call in calls_that_open_text(tree_of(source))
    ]

    assert found == []


@pytest.mark.parametrize(
    ("code", "is_seen"),
    [
        ("path.write_text(x)", True),
        ("path.open('a', newline='')", True),
        ("path.open(newline='')", True),
        ("open(p, 'w')", True),
        ("subprocess.run(x, text=True)", True),
        ("path.open('rb')", False),
        ("path.write_text(x, encoding='utf-8')", False),
    ],
)
def test_a_text_without_encoding_is_seen(code, is_seen):
    """The search above finds what it looks for."""
    assert bool([*calls_that_open_text(ast.parse(code))]) == is_seen


def _root(node):
    """The name in front of all dots."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")


def calls_that_take_the_default_int(tree):
    """Calls whose `int` is 32 bits wide on Windows with numpy 1, and 64 elsewhere."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", "")
        of_numpy = _root(node.func) == "np"
        places = [word.value for word in node.keywords if word.arg == "dtype"]
        places += node.args[:1] if name in ("astype", "view") else []
        places += node.args[1:] if of_numpy and name != "issubdtype" else []
        words = [ast.unparse(each) for each in places if not isinstance(each, ast.Call)]
        if not {"int", "np.int_", "'int'", "np.long"}.isdisjoint(words):
            yield node


def test_numbers_say_how_wide_they_are():
    """What is saved or counted is as wide on every system: `np.int64`, or `np.intp` for places."""
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in SOURCES
        if NUMPY_INT.search(path.read_text(encoding="utf-8"))
        for call in calls_that_take_the_default_int(tree_of(path))
    ]

    assert found == []


@pytest.mark.parametrize(
    ("code", "is_seen"),
    [
        ("x.astype(int)", True),
        ("np.zeros(3, int)", True),
        ("np.full(3, 1, dtype=np.int_)", True),
        ("np.zeros(3, np.int64)", False),
        ("isinstance(x, int)", False),
        ("np.issubdtype(x, int)", False),
    ],
)
def test_a_default_int_is_seen(code, is_seen):
    """The search above finds what it looks for."""
    assert bool([*calls_that_take_the_default_int(ast.parse(code))]) == is_seen


def test_no_module_needs_posix_to_be_imported():
    """`fcntl` and its kin are imported where they are used, and missed where they are not there."""
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in (*SOURCES, *TESTS)
        if any(word in path.read_text(encoding="utf-8") for word in POSIX_ALONE)
        for node in tree_of(path).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (getattr(node, "module", None), *(each.name for each in node.names))
        if name in POSIX_ALONE
    ]

    assert found == []


@pytest.mark.parametrize(
    ("names", "where"),
    [
        (["a:b"], {"win32"}),
        (["CON"], {"win32"}),
        (["nul.txt"], {"win32"}),
        (["p."], {"win32"}),
        (["p "], {"win32"}),
        (["what?"], {"win32"}),
        (["agent", "Agent"], {"win32", "darwin"}),
        (["agent", "agent_2", "Ägypten"], set()),
        (["a/b"], {"win32", "darwin", "linux"}),
        ([".."], {"win32", "darwin", "linux"}),
        ([""], {"win32", "darwin", "linux"}),
    ],
)
def test_names_that_are_no_files_are_told_where_they_are_none(names, where):
    """A module id is a folder's name in RLlib's layout: each system has names it cannot give."""
    troubled = {each for each in ("win32", "darwin", "linux") if names_trouble(names, each)}

    assert troubled == where


def test_a_save_refuses_ids_that_windows_would_mix_up(monkeypatch, tmp_path):
    """Nothing is written over another module's weights."""
    from gymnasium.spaces import Box, Discrete
    from rlconnect.v2 import DefaultPPOTorchRLModule, MultiRLModuleSpec, RLModuleSpec

    if sys.platform != "win32":
        monkeypatch.setattr(
            checkpointable, "names_trouble", lambda names: names_trouble(names, "win32")
        )
    spec = RLModuleSpec(DefaultPPOTorchRLModule, Box(-1, 1, (2,)), Discrete(2))
    module = MultiRLModuleSpec(rl_module_specs={"agent": spec, "Agent": spec}).build()

    with pytest.raises(ConfigError, match="differ in case alone"):
        module.save_to_path(tmp_path / "module")

    assert not [*tmp_path.rglob("*state*")]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no fcntl")
@pytest.mark.parametrize("is_refused", [False, True])
def test_macos_is_asked_for_more_than_fsync(monkeypatch, tmp_path, is_refused):
    """Its `fsync` does not reach the disk; a disk that knows nothing else gets `fsync`."""
    import fcntl

    asked = []

    def full_flush(descriptor, command):
        asked.append(command)
        if is_refused:
            raise OSError(45, "not supported")
        return 0

    monkeypatch.setattr(flushing, "_FULL_FLUSH", 51)
    monkeypatch.setattr(fcntl, "fcntl", full_flush)
    monkeypatch.setattr(os, "fsync", lambda descriptor: asked.append("fsync"))
    (tmp_path / "file").write_text("text", encoding="utf-8")

    flushing.flush_file(tmp_path / "file")

    assert asked == ([51, "fsync"] if is_refused else [51])
