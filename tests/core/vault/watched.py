"""Decode hostile files while Python's audit hook watches what the process does.

    python tests/core/vault/watched.py RESULTS.json [PART PARTS]

A hook cannot be taken off again, so this runs in a process of its own: it writes every attack
into a folder, reads it by every way a user could, and notes what came out and each audit event
that reading data has no business to raise. `test_attacks.py` judges the notes.
"""

import codecs
import contextlib
import io
import json
import os
import pickle
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from attacks import archives, arrays, bombs, calls, folders, packed
from rlconnect.core.errors import CheckpointError
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.decode.constructors import CONSTRUCTORS, Storage
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.msgpack_file import decode_msgpack
from rlconnect.core.vault.decode.pickle_machine import PickleMachine
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque, PersistentRef
from rlconnect.core.vault.decode.torch_file import decode_torch
from rlconnect.core.vault.description import describe_checkpoint
from rlconnect.core.vault.files import archives as _archives  # noqa: F401
from rlconnect.core.vault.files import remote  # noqa: F401
from rlconnect.core.vault.readers import (  # noqa: F401  # so that no load imports them
    new_stack,
    old_stack,
    own_records,
    worker_file,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "checkpoints"
ATTACKS = [*calls.ATTACKS, *bombs.ATTACKS, *arrays.ATTACKS, *archives.ATTACKS, *packed.ATTACKS]
# Whole folders are built around these; larger files are decoded by themselves only.
LARGEST_IN_FOLDER = 60_000
MAX_EVENT = 200
# Reading file names, and Python looking at its own frames and objects.
_QUIET = {"os.listdir", "os.scandir", "sys._getframe", "sys._getframemodulename", "builtins.id"}
_PLAIN = (
    *(type(None), bool, int, float, complex, str, bytes, memoryview),
    *(np.generic, np.dtype, GlobalRef),
)


class Watch:
    """Notes every audit event that reading data has no business to raise, while it is on.

    Args:
        root: Files below it may be opened for reading.
    """

    def __init__(self, root):
        self.root = str(root)
        self.events = None
        sys.addaudithook(self._hook)

    def _hook(self, event, args):
        if self.events is None or event in _QUIET or self._is_read(event, args):
            return
        notes, self.events = self.events, None  # writing the note must not raise notes
        try:
            notes.append(f"{event} {args!r}"[:MAX_EVENT])
        finally:
            self.events = notes

    def _is_read(self, event, args):
        if event != "open":
            return False
        path, mode, flags = args
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        if mode not in (None, "r", "rb") or flags & writes:
            return False
        if isinstance(path, int):  # a descriptor that `os.open` asked about already
            return True
        full = os.path.join(self.root, os.fsdecode(path))  # a bare name is one of this folder
        return os.path.normpath(full).startswith(self.root + os.sep)

    @contextlib.contextmanager
    def on(self):
        """Collect events of this block."""
        self.events = notes = []
        try:
            yield notes
        finally:
            self.events = None


def decode(data, kind):
    """The value in one file, by the decoder of its kind."""
    budget = Budget(Limits(), len(data))

    def machine(content):
        return PickleMachine(content, budget, constructors=CONSTRUCTORS)

    if kind == "msgpack":
        return decode_msgpack(data, budget)
    return decode_torch(data, machine) if kind == "torch" else machine(data).load()


def strangers(value):
    """Types in decoded data that are neither plain nor inert."""
    seen, pending, found = set(), [value], set()
    while pending:
        part = pending.pop()
        if isinstance(part, _PLAIN) or id(part) in seen:
            continue
        seen.add(id(part))
        if type(part) is dict:
            pending += [*part.keys(), *part.values()]
        elif type(part) in (list, tuple, set, frozenset):
            pending += part
        elif type(part) is np.ndarray:
            pending += part.ravel().tolist() if part.dtype.hasobject else []
        elif type(part) is Opaque:
            pending += [part.ref, part.args, part.kwargs, part.state, part.items, part.entries]
        elif type(part) is PersistentRef:
            pending.append(part.id)
        elif type(part) is not Storage:
            found.add(f"{type(part).__module__}.{type(part).__qualname__}")
    return sorted(found)


def layouts(data, kind, folder):
    """The file under every name a reader looks for; the folders to open."""
    suffix = {"pickle": ".pkl", "torch": ".pt", "msgpack": ".msgpck"}[kind]
    for name, metadata, files in [
        ("old", "1.1", ["algorithm_state", "policies/default_policy/policy_state"]),
        (
            "new",
            "2.1",
            [
                "algorithm_state",
                "learner_group/learner/state",
                "learner_group/learner/rl_module/default_policy/module_state",
                "env_runner/env_to_module_connector/MeanStdFilter/state",
            ],
        ),
    ]:
        top = folder / name
        for file in files:
            path = top / f"{file}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            if name == "new" and kind == "pickle":
                (path.parent / "class_and_ctor_args.pkl").write_bytes(data)
        (top / "rllib_checkpoint.json").write_text(
            json.dumps({"type": "Algorithm", "checkpoint_version": metadata}), encoding="utf-8"
        )
        yield top
    if kind == "pickle":
        for name, content in [("worker", data), ("inner", pickle.dumps({"worker": data}))]:
            top = folder / name
            top.mkdir()
            (top / "checkpoint-1").write_bytes(content)
            yield top


class Session:
    """One run over every `parts`-th attack from `part` on; `notes` is what the test reads."""

    def __init__(self, root, part=0, parts=1):
        self.root = root
        self.share = slice(part, None, parts)
        self.watch = Watch(root)
        self.notes = []

    def attempt(self, attack, way, function):
        """Call `function` under watch and note how it ended."""
        ended, detail, odd = "data", "", []
        with self.watch.on() as events:
            try:
                value = function()
            except CheckpointError as error:
                ended, detail = type(error).__name__, str(error)
            except BaseException as error:  # what a hostile file must never reach
                ended, detail = "escaped", f"{type(error).__name__}: {error}"[:500]
            else:
                odd = strangers(value) if way == "decode" else []
        self.notes.append(
            {
                "attack": attack,
                "way": way,
                "ended": ended,
                "detail": detail[:500],
                "length": len(detail),
                "strangers": odd,
                "events": events,
            }
        )

    def run(self):
        """Everything, honest files first: they load what is loaded late."""
        for metadata in GOLDEN.rglob("rllib_checkpoint.json"):
            self._warm_up(metadata.parent)
        for codec in ("raw-unicode-escape", "cp437"):  # loaded by Python when first used
            codecs.lookup(codec)
        self.notes.clear()
        for index, attack in enumerate(ATTACKS[self.share]):
            self.attempt(attack.name, "decode", lambda a=attack: decode(a.data, a.kind))
            if len(attack.data) <= LARGEST_IN_FOLDER:
                folder = self.root / f"{index}"
                folder.mkdir()
                for path in layouts(attack.data, attack.kind, folder):
                    self.attempt(
                        attack.name,
                        f"open {path.name}",
                        lambda path=path: len(repr(open_checkpoint(path))),
                    )
        for index, hostile in enumerate(folders.FOLDERS[self.share]):
            folder = self.root / f"folder-{index}"
            folder.mkdir()
            hostile.build(folder)
            self.attempt(hostile.name, "open", lambda f=folder: len(repr(open_checkpoint(f))))
            if hostile.is_shown:
                self.attempt(hostile.name, "describe", lambda f=folder: _described(f))

    def _warm_up(self, path):
        with contextlib.suppress(CheckpointError):
            describe_checkpoint(open_checkpoint(path))

    def control(self):
        """What the hook notes when plain pickle reads harmless relatives of these files."""
        target = str(self.root / "written-by-pickle")
        for name, data in {
            "compile": calls.program(
                calls.call(
                    calls.name("builtins", "compile"),
                    *map(calls.text, ("1", "hostile.py", "eval")),
                )
            ),
            "open": calls.program(
                calls.call(calls.name("builtins", "open"), calls.text(target), calls.text("w"))
            ),
            "import": calls.program(calls.name("this", "s")),
        }.items():
            with self.watch.on() as events, contextlib.redirect_stdout(io.StringIO()):
                value = pickle.loads(data)
            if name == "open":
                value.close()
            self.notes.append({"attack": name, "way": "control", "events": events})


def _described(path):
    return json.dumps(describe_checkpoint(open_checkpoint(path)))


if __name__ == "__main__":
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as made:
        session = Session(Path(made).resolve(), *map(int, sys.argv[2:]))
        session.run()
        session.control()
    Path(sys.argv[1]).write_text(json.dumps(session.notes), encoding="utf-8")
