"""Checkpoint folders whose JSON, names or file kinds are meant to mislead."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .assembly import array, call, dtype, get, group, name, number, program, put, raw, table, text

EVIL = program(call(name("os", "system"), text("touch /tmp/rlconnect-was-here")))
_NAMES = {
    "absolute": "/etc/passwd",
    "upwards": "../../../../etc/passwd",
    "Windows": "C:\\Windows\\system.ini",
    "network": "\\\\host\\share\\state.pkl",
    "url": "http://127.0.0.1:9/state.pkl",
    "NUL": "policy_state.pkl\0.json",
    "dot": ".",
    "dots": "..",
    "empty": "",
    "long": "a" * 5000,
    "surrogate": "\ud800.pkl",
    "device": "/dev/zero",
    "itself": "rllib_checkpoint.json",
    "number": 5,
    "list": ["policy_state.pkl"],
    "object": {"policy_state.pkl": 1},
    "true": True,
    "null": None,
}


@dataclass(frozen=True)
class Folder:
    """A hostile folder.

    Args:
        name: What a failing test is called.
        build: Makes it in an empty folder.
        is_shown: Whether the shell's pages of it are made too.
    """

    name: str
    build: Any
    is_shown: bool = True


def _policy(folder: Path, metadata: Any, *, file: str = "rllib_checkpoint.json") -> None:
    """A policy folder with an evil pickle and the given JSON, as bytes or as data."""
    data = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
    (folder / file).write_bytes(data)
    (folder / "policy_state.pkl").write_bytes(EVIL)


def _with_json(metadata: Any, file: str = "rllib_checkpoint.json") -> Any:
    return lambda folder: _policy(folder, metadata, file=file)


def _by_key() -> Any:
    base = {"type": "Policy", "checkpoint_version": "1.1", "format": "cloudpickle"}
    for key in (
        "state_file",
        "policy_ids",
        "class_and_ctor_args_file",
        "type",
        "checkpoint_version",
        "ray_version",
        "ray_commit",
        "format",
        "module_ids",
        "rl_module_class",
    ):
        for what, value in _NAMES.items():
            for file in ("rllib_checkpoint.json", "metadata.json"):
                build = _with_json({**base, key: value}, file)
                is_shown = what in {"NUL", "surrogate"} or (key == "ray_version" and file[0] == "r")
                yield Folder(f"{file} {key} {what}", build, is_shown=is_shown)


def _by_text() -> Any:
    for what, data in {
        "depth bomb": b"[" * 100_000,
        "closed depth bomb": b"[" * 50_000 + b"]" * 50_000,
        "object depth bomb": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        "huge number": b'{"checkpoint_version": ' + b"9" * 10**6 + b"}",
        "huge exponent": b'{"checkpoint_version": 1e999999999}',
        "NaN": b'{"checkpoint_version": NaN, "a": Infinity}',
        "the same key twice": b'{"type": "Policy", "type": "Algorithm"}',
        "not UTF-8": b'{"type": "\xff\xfe"}',
        "UTF-16": '{"type": "Policy"}'.encode("utf-16"),
        "byte order mark": b'\xef\xbb\xbf{"type": "Policy"}',
        "nothing": b"",
        "a number": b"5",
        "a list": b"[]",
        "null": b"null",
        "cut": b'{"type": "Pol',
        "a pickle": EVIL,
        "two documents": b"{}{}",
        "many keys": b"{" + b",".join(b'"%d":0' % i for i in range(30_000)) + b"}",
        "many lists": b"[" + b"[]," * 40_000 + b"[]]",
        "escape sequences": b'{"ray_version": "\\u001b[2J\\u0007", "type": "Policy"}',
        "markup": b'{"ray_version": "[link=file:///etc/passwd]x[/link]", "type": "Policy"}',
    }.items():
        for file in ("rllib_checkpoint.json", "metadata.json", "rlconnect.json"):
            yield Folder(f"{file}: {what}", _with_json(data, file))


def _pipe(folder: Path) -> None:
    _policy(folder, {"type": "Policy"})
    (folder / "policy_state.pkl").unlink()
    os.mkfifo(folder / "policy_state.pkl")


def _json_pipe(folder: Path) -> None:
    _policy(folder, {})
    (folder / "rllib_checkpoint.json").unlink()
    os.mkfifo(folder / "rllib_checkpoint.json")


def _link(target: str) -> Any:
    def build(folder: Path) -> None:
        _policy(folder, {"type": "Policy", "state_file": "policy_state.pkl"})
        (folder / "policy_state.pkl").unlink()
        (folder / "policy_state.pkl").symlink_to(target)

    return build


def _directory(folder: Path) -> None:
    (folder / "policy_state.pkl").mkdir()
    (folder / "algorithm_state.pkl").mkdir()
    (folder / "rllib_checkpoint.json").mkdir()


def _loop(folder: Path) -> None:
    _policy(folder, {"type": "Algorithm"})
    (folder / "policies").mkdir()
    (folder / "policies" / "default_policy").symlink_to(folder, target_is_directory=True)
    (folder / "learner_group").symlink_to(folder / "learner_group")


def _crowd(folder: Path) -> None:
    (folder / "policies").mkdir()
    for i in range(100):
        below = folder / "policies" / f"p{i}"
        below.mkdir()
        (below / "policy_state.pkl").write_bytes(EVIL)


def _deep(folder: Path) -> None:
    for _ in range(200):
        folder = folder / "a"
        folder.mkdir()
    (folder / "policy_state.pkl").write_bytes(EVIL)


def _strange_names(folder: Path) -> None:
    (folder / "algorithm_state.pkl").write_bytes(EVIL)
    for strange in ("\x1b[2J", "[red]", "-rf", "\udcff", "a\nb", "\u202e"):
        below = folder / "policies" / strange
        below.mkdir(parents=True)
        (below / "policy_state.pkl").write_bytes(EVIL)


def _odd_weights(folder: Path) -> None:
    numbers = array(group(number(2)), dtype("f4"), raw(bytes(8)))
    evil = name("os", "system")
    weights = table(evil, numbers, number(10**400), numbers, group(text("a")), numbers)
    circle = name("a", "B") + b")R" + put(0) + table(text("w"), get(0), text("x"), numbers) + b"b"
    for file, content in {"module_state.pkl": weights, "policy_state.pkl": circle}.items():
        below = folder / file[:6]
        below.mkdir()
        (below / file).write_bytes(program(content))
        (below / "metadata.json").write_text('{"checkpoint_version": "2.1"}', encoding="utf-8")


def _by_file() -> Any:
    yield Folder("weights with odd names", _odd_weights)
    yield Folder("a pipe as state", _pipe)
    yield Folder("a pipe as JSON", _json_pipe)
    yield Folder("a link to a device", _link("/dev/zero"))
    yield Folder("a link to a file outside", _link("/etc/passwd"))
    yield Folder("a link to itself", _link("policy_state.pkl"))
    yield Folder("a link to nothing", _link("nowhere"))
    yield Folder("folders named like files", _directory)
    yield Folder("links in a circle", _loop)
    yield Folder("100 policies", _crowd)
    yield Folder("200 folders deep", _deep)
    yield Folder("names that move the cursor", _strange_names)


FOLDERS = [*_by_key(), *_by_text(), *_by_file()]
