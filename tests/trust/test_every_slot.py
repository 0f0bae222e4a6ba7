"""Gadgets in slots of files, drawn from the whole product; `make slots` carries all of it out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_a_gadget_in_a_slot_does_nothing():
    """Under an audit hook that sees what a control does, no loader does anything of the kind."""
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "tests.trust.every_slot", "--count", "16", "--recorded"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8"
    )

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["seen_by_control"] >= 2
    assert told["values"] + told["typed"] + told.get("foreign", 0) >= 12
