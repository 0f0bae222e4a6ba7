"""One attack: a checkpoint or a state is changed, a door is opened, and what comes of it is told.

A case is its seed and its number: the same two give the same attack, whatever ran before it.
"""

import os
import random
import shutil
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from rlconnect.core.errors import RlconnectError

from tests.core.vault.fuzz import mutated
from tests.fuzz import doors, trees
from tests.fuzz.encodings import encoding_of, sign_folder, signed, written
from tests.fuzz.samples import all_samples
from tests.fuzz.states import all_states

SOURCE = f"{os.sep}src{os.sep}"
SHARE_OF_STATES = 0.35
SHARE_OF_BYTES = 0.1


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Attributes:
        kind: "value", "typed", or what was found: "foreign", "executed", "imported", "wrote",
            "memory"; "time-out" and "crash" are told by whoever watches the process.
        where: What was opened, and where in it.
        what: The error or event.
        place: Where in our code it came up; findings of one kind and place are one.
    """

    kind: str
    where: str
    what: str = ""
    place: str = ""

    @property
    def is_finding(self):
        """Whether this must not be."""
        return self.kind not in ("value", "typed", "unwritten")


class Cases:
    """Attacks by their numbers.

    Args:
        seed: Of all of them.
        scratch: A folder of our own.
        watch: What sees the process; None for none.
        kinds: Only samples and states whose names hold this text.
        door: Only doors whose names hold this text.
    """

    def __init__(self, seed, scratch, watch=None, kinds="", door=None):
        self.seed = seed
        self.scratch = Path(scratch)
        self.watch = watch
        self.door = door
        self.samples = [s for s in all_samples(scratch) if kinds in s.name and s.files]
        self.makers = {name: make for name, make in all_states().items() if kinds in name}
        self._trees = {}
        self._states = {}
        if not self.samples and not self.makers:
            raise SystemExit(f"there is no kind {kinds!r}")

    def run(self, number):
        """Carry out one attack."""
        rng = random.Random(f"{self.seed} {number}")
        is_state = rng.random() < SHARE_OF_STATES
        if self.makers and (is_state or not self.samples):
            return self._state(rng)
        return self._file(rng)

    def _state(self, rng):
        name = rng.choice(list(self.makers))
        if name not in self._states:
            self._states[name] = self.makers[name]()
        held = self._states[name]
        tree, told = trees.Mutation(rng, [held.state]).of(held.state)
        outcome = self._opened(f"state {name}", told, lambda: held.take(tree))
        if outcome.kind != "value":
            del self._states[name]  # it may be half of each
        return outcome

    def _file(self, rng):
        sample = rng.choice(self.samples)
        copy = self.scratch / "case" / sample.name
        shutil.rmtree(copy.parent, ignore_errors=True)
        shutil.copytree(sample.root, copy)
        told = []
        for _ in range(rng.choice((1, 1, 1, 2))):
            file = rng.choice(sample.files)
            other = rng.choice(rng.choice(self.samples).files)
            tree = self._tree(sample, file)
            others = [tree if other not in sample.files else self._tree(sample, other)]
            try:
                if rng.random() < SHARE_OF_BYTES or isinstance(tree, bytes):
                    data, what = mutated((copy / file).read_bytes(), b"\x80\x04N.", rng), "bytes"
                else:
                    changed, what = trees.Mutation(rng, others).of(tree)
                    data = _bytes(changed, copy / file)
                (copy / file).write_bytes(data)
                sign_folder(copy)
            except Exception as error:  # not everything can be written: a key that is a list
                return Outcome("unwritten", sample.name, repr(error)[:200])
            told.append(f"{file}: {what}")
        name, door = doors.draw(sample.doors, rng, self.door)
        path = doors.given_path(copy)
        return self._opened(f"{sample.name} by {name}", "; ".join(told), lambda: door(path))

    def _tree(self, sample, file):
        key = (sample.name, file)
        if key not in self._trees:
            self._trees[key] = sample.tree(file)
        return self._trees[key]

    def _opened(self, where, told, act):
        where = f"{where} | {told}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.watch is None:
                return _ended(act, where)
            with self.watch:
                outcome = _ended(act, where)
        seen = self.watch.findings()
        if seen:
            return Outcome(seen[0].split()[0], where, "; ".join(seen)[:300], seen[0][:60])
        return outcome


def _ended(act, where):
    try:
        act()
    except RlconnectError as error:
        try:
            return Outcome("typed", where, f"{type(error).__name__}: {error}"[:300])
        except Exception as own:
            return Outcome(
                "foreign", where, f"telling {type(error).__name__}: {own!r}"[:300], "str"
            )
    except MemoryError as error:
        return Outcome("memory", where, _last(error), _place(error))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # what this program looks for
        return Outcome("foreign", where, _last(error), _place(error))
    return Outcome("value", where)


def _last(error):
    return f"{type(error).__name__}: {error}"[:300].encode("ascii", "backslashreplace").decode()


def _place(error):
    """The last line of ours that an error came through, and its type."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if SOURCE in f.filename]
    if not frames:
        return type(error).__name__
    last = frames[-1]
    file = last.filename.rpartition(SOURCE)[2]
    return f"{type(error).__name__} at {file}:{last.lineno} in {last.name}"


def _bytes(tree, path):
    encoding = encoding_of(path)
    if encoding == "json" and isinstance(tree, dict) and tree.get("format") == "rlconnect":
        return signed(tree)
    return written(tree, encoding)
