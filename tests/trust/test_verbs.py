"""Every public verb is called with garbage, and raises nothing but errors of this package."""

import os
from pathlib import Path

import pytest
from rlconnect.core.errors import RlconnectError

from tests.trust.verbs import arguments, verbs

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
TEXTS = {
    "long": "x" * 5000,
    "long name": "x" * 250,
    "deep": "a/" * 3000,
    "null": "a\0b",
    "empty": "",
    "surrogate": "\ud800",
    "glob": "*" * 5000,
    "home": "~" * 300,
    "url": "hf://",
    "address": "http://[::1",
    "memory": "/proc/self/mem",
}


def garbage_files(folder):
    """Things on the disk that are no checkpoint."""
    (folder / "memory").symlink_to("/proc/self/mem")
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    (folder / "empty").mkdir()
    (folder / "noise").write_bytes(bytes(range(256)) * 8)
    return sorted(folder.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and /proc")
@pytest.mark.parametrize("name", sorted(verbs()))
def test_garbage_raises_typed_errors(name, tmp_path, monkeypatch):
    """A verb that is new is found by its signature."""
    monkeypatch.chdir(tmp_path)
    verb = verbs()[name]
    foreign = {}
    for garbage in [*TEXTS.values(), Path("x" * 5000), *garbage_files(tmp_path)]:
        try:
            verb(*arguments(verb, garbage, str(tmp_path / "out")))
        except RlconnectError:
            continue
        except Exception as error:
            foreign[str(garbage)[:40]] = repr(error)[:200]
    assert foreign == {}


def test_the_verbs_are_found():
    """Those that everybody uses, and a method of each stack."""
    names = {name.partition(".")[2] for name in verbs()}

    assert {
        "load",
        "migrate",
        "verify",
        "audit",
        "convert",
        "export",
        "offline.open_dataset",
    } <= names
    assert {"legacy.Policy.from_checkpoint", "v2.Algorithm.from_checkpoint"} <= names
