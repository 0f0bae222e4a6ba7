"""Containers that are built to harm: nothing is executed, and memory and time have bounds."""

import random
import sys

import pytest

from tests.trust.containers import containers, damaged
from tests.trust.measured import measured

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="measures by /proc"),
]
SMALL = 100_000
MOST_MEMORY, MOST_FACTOR, MOST_CPU = 304, 64, 15


def test_hostile_containers_stay_within_the_documented_bounds(tmp_path):
    """See `docs/bounds.md`; each file is opened in a process of its own."""
    pytest.importorskip("h5py")
    pytest.importorskip("pyarrow")
    rng = random.Random(0)
    cases = []
    for name, doors, data in containers():
        stem, _, suffix = name.partition(".")
        is_good = stem in ("good", "few", "few-zstd", "pickle")
        contents = [data, *(damaged(data, rng) if is_good and len(data) < SMALL else ())]
        for number, content in enumerate(contents):
            path = tmp_path / f"{stem}-{number}.{suffix}"
            path.write_bytes(content)
            cases += [(door, path) for door in (doors[:1] if number else doors)]

    results = measured(cases, tmp_path)

    bad = []
    for (door, path), result in zip(cases, results, strict=True):
        most = MOST_MEMORY + MOST_FACTOR * path.stat().st_size / 2**20
        is_right = result["memory"] <= most and result["cpu"] <= MOST_CPU
        is_typed = not result["outcome"].startswith(("foreign", "died"))
        if not is_right or not is_typed or result["executed"]:
            bad.append((door, path.name, result))
    assert bad == []
    assert {"read", "LimitExceededError", "CorruptCheckpointError"} <= {
        result["outcome"] for result in results
    }
