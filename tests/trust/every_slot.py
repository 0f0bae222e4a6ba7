"""Put every gadget into every slot of every kind of file, and give it to every loader.

    python -m tests.trust.every_slot [--count 500] [--seed 7] [--recorded]

A slot is a place where a file holds a name, or a setting that may be called. Files are written with
no name looked up, loaders run under an audit hook, and what must not happen is counted: programs
that run, modules imported, files written elsewhere, a planted class or function called. Without
--count it is the whole product. The last line is JSON; exit code 1 tells of findings.
"""

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from rlconnect.core.errors import RlconnectError
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque

from tests.fuzz import gadgets
from tests.fuzz.doors import DOORS, given_path
from tests.fuzz.encodings import encoding_of, sign_folder, written
from tests.fuzz.samples import GOLDEN, RECORDED, _sample, all_samples
from tests.fuzz.trees import copied, places, read, write
from tests.fuzz.watch import Watch

_CALLED = ("env", "class", "callback", "connector", "mapping", "input", "learner", "fn", "type")
_MOST_ALIKE = 3


def slots(tree):
    """Places of a tree that hold a name or may be called, a few of each kind."""
    seen = Counter()
    for container, key in places(tree):
        if container is None:
            continue
        held = read(container, key, tree)
        named = isinstance(key, str) and any(word in key.lower() for word in _CALLED)
        is_name = isinstance(held, (GlobalRef, Opaque)) or (isinstance(held, str) and "." in held)
        alike = (type(container).__name__, str(key) if isinstance(key, str) else "", is_name)
        if (named or is_name) and seen[alike] < _MOST_ALIKE:
            seen[alike] += 1
            yield container, key


def fillings():
    """Each gadget as a reference, as a call and as text."""
    for name in dict.fromkeys(gadgets._NAMES):
        module, _, last = name.rpartition(".")
        ref = GlobalRef(module, last)
        yield f"<{name}>", ref
        yield f"{name}('true')", Opaque(ref, ("true",))
        yield name, name
    for text in ("fuzz_unread:Env-v0", "fuzz_unread.thing", "fuzz_canary:Env", "os:system"):
        yield text, text


def cases(samples):
    """All of it: sample, file, number of the slot, name and value of the filling."""
    filled = list(fillings())
    for sample in samples:
        for file in sample.files:
            with contextlib.suppress(Exception):  # what is no tree holds no names
                for number, _ in enumerate(slots(sample.tree(file))):
                    for what, value in filled:
                        yield sample, file, number, what, value


def run(samples, count, seed, scratch):
    """Carry the cases out, each by one door after the other."""
    rng = random.Random(seed)
    chosen = list(cases(samples))
    whole = len(chosen)
    if count:
        chosen = rng.sample(chosen, min(count, whole))
    watch = Watch(scratch)
    with watch:
        os.system("true")
        __import__("fuzz_canary").fire()
    told = Counter(fillings=whole, cases=len(chosen), seen_by_control=len(watch.findings()))
    found = []
    for sample, file, number, what, value in chosen:
        folder = Path(scratch) / "case"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sample.root, folder)
        tree = copied(sample.tree(file))
        container, key = list(slots(tree))[number]
        tree = write(tree, container, key, value)
        try:
            (folder / file).write_bytes(written(tree, encoding_of(folder / file)))
        except Exception:
            told["unwritten"] += 1
            continue
        sign_folder(folder)
        doors = list(DOORS[sample.doors].items())
        for door, call in rng.sample(doors, 1) if count else doors:
            with watch, contextlib.redirect_stdout(io.StringIO()):
                try:
                    call(given_path(folder))
                    told["values"] += 1
                except RlconnectError:
                    told["typed"] += 1
                except Exception as error:
                    told["foreign"] += 1
                    print(f"foreign {type(error).__name__}: {sample.name} {key!r} {what}")
            for each in watch.findings():
                told["findings"] += 1
                found.append(f"{sample.name} {file} {key!r} = {what} by {door}: {each}")
    return told, found


def main():
    """Carry out what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=0, help="only so many, drawn; 0 for all")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--recorded", action="store_true", help="only recorded checkpoints")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch._dynamo  # noqa: F401  # it makes a folder of its own when an optimiser is first made

    with tempfile.TemporaryDirectory(prefix="slots-") as scratch:
        Path(scratch, "fuzz_unread.py").write_text(
            "raise SystemExit('imported')\n", encoding="utf-8"
        )
        tempfile.tempdir = scratch
        os.chdir(scratch)
        sys.path.append(scratch)
        if options.recorded:
            names = ("policy msgpack", "new algorithm", "module", "pipeline", "own algorithm")
            held = [(name, *RECORDED[name]) for name in names if name in RECORDED]
            samples = [_sample(name, GOLDEN / path, doors) for name, path, doors in held]
        else:
            samples = all_samples(scratch)
        told, found = run(samples, options.count, options.seed, scratch)
    for line in found:
        print("FOUND", line)
    print(json.dumps(told))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
