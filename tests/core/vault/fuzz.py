"""Mutate real checkpoints and open them: records or a CheckpointError may come out, nothing else.

`test_fuzz.py` runs the first few thousand mutations; `make fuzz` uses them, too, beside others.
"""

import pickletools
import random
import shutil
from collections import Counter
from pathlib import Path

from rlconnect.core.errors import CheckpointError
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.decode.load_limits import Limits
from rlconnect.core.vault.description import describe_checkpoint

GOLDEN = Path(__file__).parents[2] / "golden" / "checkpoints"
# Mutated files are small; what they may unfold to is kept small too, so that runs are quick.
LIMITS = Limits(base_memory=8 * 2**20, max_operations=200_000)
_OPCODES = [bytes([code]) for code in range(256) if chr(code) in pickletools.code2op]
_NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
_PAYLOADS = [
    b"cos\nsystem\n(Vtrue\ntR",
    b"cbuiltins\ngetattr\n",
    b"cnumpy\ndtype\n(VO\ntR",
    b"\x93",
    b"\x8e" + b"\xff" * 8,
    b"\x8f(K\x01\x90",
    b"]\x94h\x00a",
    b"\xdd\xff\xff\xff\xff",
    b"PK\x03\x04",
    b"..",
]


def samples(largest=40_000):
    """Real files of all kinds: (checkpoint folder, file in it)."""
    found = []
    for path in sorted(GOLDEN.rglob("*")):
        if path.is_file() and path.suffix != ".md" and 0 < path.stat().st_size <= largest:
            top = GOLDEN / path.relative_to(GOLDEN).parts[0]
            roots = [p for p in path.parents if p != top and top in p.parents]
            # Mostly the file's own folder, at times the outermost, which takes longer.
            found += [(root, path) for root in (roots[0], roots[0], roots[0], roots[-1])]
    return found


def mutated(data, other, rng):
    """`data` after one to three random changes; `other` is a second file to splice from."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(changed) + 1)
        to = min(len(changed), at + rng.choice((1, 1, 2, 4, 8, 30, 200)))
        rng.choice(_CHANGES)(changed, at, to, other, rng)
    return bytes(changed)


def _flip_bit(data, at, to, other, rng):
    for _ in range(rng.choice((1, 1, 8))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _random_bytes(data, at, to, other, rng):
    data[at:to] = rng.randbytes(to - at)


def _cut(data, at, to, other, rng):
    del data[at:]


def _remove(data, at, to, other, rng):
    del data[at:to]


def _duplicate(data, at, to, other, rng):
    data[at:at] = data[at:to] * rng.choice((1, 2, 50))


def _splice(data, at, to, other, rng):
    start = rng.randrange(len(other))
    data[at:to] = other[start : start + rng.choice((4, 40, 400))]


def _number(data, at, to, other, rng):
    width = rng.choice((1, 2, 4, 8))
    value = rng.choice(_NUMBERS) & ((1 << 8 * width) - 1)
    data[at : at + width] = value.to_bytes(width, rng.choice(("little", "big")))


def _opcode(data, at, to, other, rng):
    data[at : at + rng.choice((0, 1))] = rng.choice(_OPCODES)


def _payload(data, at, to, other, rng):
    data[at:at] = rng.choice(_PAYLOADS)


def _at_opcode(data, at, to, other, rng):
    """Change, drop or repeat a whole opcode of a pickle, where the bytes still are one."""
    try:
        spots = [place for _, _, place in pickletools.genops(bytes(data))]
    except Exception:  # whatever pickletools says about a damaged pickle, it is none
        return _opcode(data, at, to, other, rng)
    if len(spots) < 2:
        return None
    index = rng.randrange(len(spots) - 1)
    start, end = spots[index], spots[index + 1]
    action = rng.randrange(4)
    if action == 0:
        data[start : start + 1] = rng.choice(_OPCODES)
    elif action == 1:
        del data[start:end]
    elif action == 2:
        data[start:start] = data[start:end] * rng.choice((1, 10))
    else:
        data[start:start] = rng.choice(_PAYLOADS)
    return None


_CHANGES = [
    *(_flip_bit, _random_bytes, _cut, _remove, _duplicate, _splice, _number, _opcode),
    *(_payload, _at_opcode, _at_opcode, _at_opcode, _at_opcode),
]


class Fuzzer:
    """An endless row of mutated checkpoints, the same for the same seed.

    Args:
        seed: Where the row begins.
        scratch: A folder of our own, for copies.
    """

    def __init__(self, seed, scratch):
        self.rng = random.Random(seed)
        self.samples = samples()
        self.scratch = Path(scratch)
        self.contents = {path: path.read_bytes() for _, path in self.samples}
        self.ends = Counter()

    def step(self):
        """Open one mutated checkpoint; the mutated bytes and what broke, or None."""
        root, path = self.rng.choice(self.samples)
        _, other = self.rng.choice(self.samples)
        data = mutated(self.contents[path], self.contents[other], self.rng)
        copy = self._copy(root)
        target = copy / path.relative_to(root)
        target.write_bytes(data)
        try:
            checkpoint = open_checkpoint(copy, limits=LIMITS)
            if self.rng.random() < 0.3:
                repr(checkpoint)
                describe_checkpoint(checkpoint)
            self.ends["problems" if checkpoint.problems else "whole"] += 1
        except CheckpointError as error:
            self.ends[type(error).__name__] += 1
        except Exception as error:  # what this program looks for
            self.ends["broken"] += 1
            return path, data, error
        finally:
            target.write_bytes(self.contents[path])
        return None

    def _copy(self, root):
        copy = self.scratch / "-".join(root.relative_to(GOLDEN).parts)
        if not copy.exists():
            shutil.copytree(root, copy)
        return copy
